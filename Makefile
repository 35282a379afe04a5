# commcomp. `make` builds build/bin/commcomp; `make help` lists the rest.

CC      ?= cc
PREFIX  ?= /usr/local
LIBDIR  ?= lib
DESTDIR ?=
BUILD   ?= build

# The version, and with the commit that is built, if git knows it: "0.2.0 (0123abc-dirty)".
VERSION := $(shell cat VERSION)
COMMIT  := $(shell git describe --always --dirty --exclude='*' 2>/dev/null)
VERSION_TEXT := $(VERSION)$(if $(COMMIT), ($(COMMIT)))
ARCH    := $(shell $(CC) -dumpmachine 2>/dev/null | cut -d- -f1)

WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPT      ?= -O3 -g
SANITIZE ?=
# No contraction: the same sums on every machine. fp32 kernels must not depend on the compiler.
# Position independent: the library is also linked into commcomp-rank-sim, which is a shared object.
CPPFLAGS += -I. -D_GNU_SOURCE
CFLAGS   += -std=c11 $(WARN) $(OPT) -ffp-contract=off -fno-math-errno -fopenmp -pthread -fPIC \
            -fno-semantic-interposition $(SANITIZE)
LDFLAGS  += -fopenmp -pthread $(SANITIZE)
LDLIBS   += -lcjson -lcsv -lgsl -lgslcblas -lzstd -llz4 -lzfp -lzip -lz -lm

# Kernel templates (*.k.c) are compiled once per instruction set. Their functions begin on lines of the
# cache, so that their speed does not depend on the code before them: on Zen 4, 3lc adds at 20 to 28
# GB/s by the place of one loop within its line.
KERNEL_FLAGS := -falign-functions=64
ifeq ($(ARCH),x86_64)
ISAS := scalar avx2 avx512
else ifeq ($(ARCH),aarch64)
ISAS := scalar neon
else
ISAS := scalar
endif
# Without nosimd, __ARM_NEON is defined in every copy.
ISA_scalar := -fno-tree-vectorize $(if $(filter aarch64,$(ARCH)),-march=armv8-a+nosimd)
ISA_neon   := -march=armv8-a
ISA_avx2   := -mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt -mf16c -mfma
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl -mavx512vbmi \
              -mavx512vbmi2 -mprefer-vector-width=512
# GCC assumes that local arrays for these vectors are aligned to 64 bytes, also in the frames that AddressSanitizer
# puts elsewhere to find uses after return, which are aligned to 32: a fault of the compiler.
ifeq ($(findstring clang,$(CC))$(findstring address,$(SANITIZE)),address)
ISA_avx512 += --param=asan-use-after-return=0
endif

# Every .c file of a folder and of the folders in it.
sources = $(wildcard $(addsuffix /*.c,$(1)) $(addsuffix /*/*.c,$(1)) $(addsuffix /*/*/*.c,$(1)))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %.k.c,$(1))) \
          $(foreach isa,$(ISAS),$(patsubst %.k.c,$(BUILD)/obj/%.$(isa).o,$(filter %.k.c,$(1))))
CMD_SRC := $(filter-out cmd/rank.c cmd/platform.c,$(call sources,cmd))
BIN     := $(BUILD)/bin/commcomp

# Two archives: the codecs and traces, which are installed, and what else the programs are made of. The
# files that include mpi.h belong to the rank programs alone.
PUBLIC_SRC   := $(call sources,core schemes binding)
MPI_SRC      := $(wildcard netsim/rank/*.c netsim/transport/mpi*.c netsim/transport/runtime*.c)
INTERNAL_SRC := $(filter-out $(MPI_SRC),$(call sources,models train bench netsim results))
LIB_ALL  := $(PUBLIC_SRC) $(INTERNAL_SRC)
KERNELS  := $(filter %.k.c,$(LIB_ALL))
LIB_SRC  := $(filter-out %.k.c,$(LIB_ALL))
ARCHIVE  := $(BUILD)/libcommcomp.a
INTERNAL := $(BUILD)/libcommcomp-internal.a
LIB      := $(INTERNAL) $(ARCHIVE)

# The shared libraries of binding/commcomp.h. Reading traces is a library of its own, for files need
# cJSON, libcsv and libzip, which codecs do not.
SHARED     := $(BUILD)/libcommcomp.so.0 $(BUILD)/libcommcomp-traces.so.0
LINKS      := $(SHARED:%.0=%)
TRACES_SRC := binding/trace.c
LIBS_CODECS := -lzstd -llz4 -lzfp -lm
LIBS_TRACES := -lcjson -lcsv -lzip $(LIBS_CODECS)

# The rank program, where an MPI is installed.
MPICC    := $(shell command -v mpicc 2>/dev/null)
RANK_SRC := cmd/rank.c $(filter-out netsim/transport/runtime_sim%,$(MPI_SRC))
RANK_OBJ := $(RANK_SRC:%.c=$(BUILD)/mpi/%.o)
RANK     := $(if $(MPICC),$(BUILD)/bin/commcomp-rank)

# The rank program under SimGrid, where SMPI is installed: a shared object that smpirun loads. smpicc
# tells the headers and the library; the compiler is the same as for everything else.
SMPICC    := $(shell command -v smpicc 2>/dev/null)
SMPI_SHOW := $(if $(SMPICC),$(shell smpicc -show))
SMPI_INC  := $(patsubst -I%,-isystem %,$(filter-out -I/usr/include,$(filter -I%,$(SMPI_SHOW))))
SMPI_LIBS := $(filter -L% -l%,$(SMPI_SHOW))
SIM_SRC   := cmd/rank.c $(filter-out netsim/transport/runtime_real%,$(MPI_SRC))
SIM_OBJ   := $(SIM_SRC:%.c=$(BUILD)/smpi/%.o)
SIM       := $(if $(SMPICC),$(BUILD)/bin/commcomp-rank-sim)

# The reader of platform files, which asks SimGrid.
PLATFORM := $(if $(SMPICC),$(BUILD)/bin/commcomp-platform)

# Unit and property tests: each tests/ROOM/test_*.c is a program of its own, for the folder ROOM;
# tests/lib/*.c is shared. The long ones come first.
ROOMS    := core schemes bench models train netsim results cmd binding
TEST_SRC := $(wildcard $(ROOMS:%=tests/%/test_*.c))
TEST_LONG := $(addprefix tests/schemes/test_,reference.c selection.c changing.c property.c parts.c zerorun.c stochastic.c) \
    tests/netsim/test_launch.c
TEST_SRC := $(TEST_LONG) $(filter-out $(TEST_LONG),$(TEST_SRC))
TEST_LIB := $(wildcard tests/lib/*.c)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
# Test scripts; the long ones first, so that the last one to end is a short one.
SCRIPTS  := $(addprefix tests/,sim_ranks.sh mpi.sh cli/sim.sh cli/validate.sh sim_off.sh lab_faults.sh \
            lab_cluster.sh compilers.sh)
SCRIPTS  += $(filter-out $(SCRIPTS) tests/headers.sh tests/smoke.sh tests/cli/lib.sh tests/run.sh tests/check_csv.sh, \
            $(wildcard tests/*.sh tests/cli/*.sh tests/faults/*.sh tests/witness/*.sh))
# `make test`: what gives an answer while one waits for it.
QUICK    := tests/smoke.sh $(addprefix tests/cli/,program.sh schemes.sh damaged.sh data.sh nets.sh trace.sh npz.sh compare.sh plot.sh report.sh) \
            $(filter-out $(addprefix %/test_,changing large launch lab lab_config lab_kill paper_check platform_sim smpirun \
              smpirun_real speed), \
            $(TESTS))
# `make asan`: the command lines that stay short under a sanitizer, the long ones first.
ASAN_SCRIPTS := $(addprefix tests/cli/,bench.sh advise.sh plugin.sh profiled.sh encode.sh program.sh trace.sh plot.sh nets.sh damaged.sh data.sh \
                completion.sh npz.sh compare.sh report.sh schemes.sh)
# `make check-arm`: tests of every kernel, those that take long first.
ARM_TESTS := $(addprefix $(BUILD)/arm64/tests/,schemes/test_property schemes/test_elements train/test_sequence schemes/test_selection \
             netsim/test_pair_stream core/test_synth train/test_convnet train/test_mlp \
             $(addprefix schemes/test_,sparse zerorun draw scatter natural qsgd threelc onebit blocks powersgd exponent) core/test_parallel \
             schemes/test_int8 core/test_container core/test_element)
# The tests that tests/mpi.sh runs under mpirun.
MPI_TEST_SRC := $(wildcard tests/mpi/test_*.c)
MPI_TEST_LIB := $(filter-out $(MPI_TEST_SRC),$(wildcard tests/mpi/*.c))
MPI_TESTS    := $(if $(MPICC),$(MPI_TEST_SRC:tests/%.c=$(BUILD)/tests/%))
# Programs that tests run under SMPI: shared objects for smpirun, built without sanitizers.
SIM_PROBE_SRC := $(wildcard tests/sim/*.c)
SIM_PROBES   := $(if $(SMPICC),$(SIM_PROBE_SRC:tests/%.c=$(BUILD)/tests/%))
# The same under smpirun: tests/sim_ranks.sh.
SIM_TESTS    := $(if $(SMPICC),$(patsubst tests/mpi/%.c,$(BUILD)/tests/sim/%, \
                $(filter-out tests/mpi/test_rank.c,$(MPI_TEST_SRC))))
TEST_LIB_OBJ := $(TEST_LIB:%.c=$(BUILD)/obj/%.o)

# Fuzz targets: each tests/fuzz/fuzz_X.c, with seeds in tests/fuzz/corpus/X.txt (tests/fuzz/corpus.py).
# fuzz_X is libFuzzer's, replay_X runs the target over files.
FUZZ_SRC     := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_NAMES   := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)
FUZZ_SEEDS   := $(BUILD)/fuzz/seeds
FUZZ_SECONDS ?= 60
ASAN_BUILD   := BUILD=$(BUILD)/asan OPT="-O1 -g" \
                SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all"
FUZZ_BUILD   := BUILD=$(BUILD)/fuzzing CC=clang OPT="-O1 -g" \
                SANITIZE="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
TSAN_TESTS   := threads/test_threads threads/test_busy
TSAN_BUILD   := BUILD=$(BUILD)/tsan CC=clang OPT="-O1 -g" SANITIZE=-fsanitize=thread
# An aarch64 system of Debian's packages: the cross compiler takes its libraries, qemu runs programs in it.
ARM_ROOT     := $(abspath $(BUILD)/arm64/root)
ARM_RUN      := qemu-aarch64 -L $(ARM_ROOT)
ARM_BUILD    := BUILD=$(BUILD)/arm64 CC="aarch64-linux-gnu-gcc --sysroot=$(ARM_ROOT)" OPT=-O3 MPICC= SMPICC=
COVERAGE_BUILD := BUILD=$(BUILD)/coverage CC=clang OPT="-O1 -g" \
                SANITIZE="-fsanitize=fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping"

all: $(BIN) $(RANK) $(SIM) $(PLATFORM) $(SHARED) $(LINKS)

$(BIN): $(CMD_SRC:%.c=$(BUILD)/obj/%.o) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/bin/commcomp-rank: $(RANK_OBJ) $(LIB)
	@mkdir -p $(@D)
	OMPI_CC="$(CC)" mpicc $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/bin/commcomp-platform: $(BUILD)/obj/cmd/platform.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lsimgrid

# OMPI_CC: with the compiler that was asked for.
$(BUILD)/mpi/%.o: %.c
	@mkdir -p $(@D)
	OMPI_CC="$(CC)" mpicc $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/bin/commcomp-rank-sim: $(SIM_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(CC) -shared $(LDFLAGS) -o $@ $^ $(SMPI_LIBS) $(LDLIBS)

$(BUILD)/smpi/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SMPI_INC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(ARCHIVE): $(call objects,$(PUBLIC_SRC))
$(INTERNAL): $(call objects,$(INTERNAL_SRC))
$(BUILD)/libcommcomp-traces.a: $(call objects,$(TRACES_SRC))
$(LIB) $(BUILD)/libcommcomp-traces.a:
	@rm -f $@
	$(AR) rcs $@ $^

# A shared library has the objects of the archive that its part of the interface needs. A symbol that
# no library of its own has is an error, so nothing of the codecs can come to need another.
$(BUILD)/libcommcomp.so.0: $(call objects,core/version.c $(filter-out $(TRACES_SRC),$(call sources,binding)))
$(BUILD)/libcommcomp.so.0: LIBS = $(LIBS_CODECS)
$(BUILD)/libcommcomp-traces.so.0: $(call objects,$(TRACES_SRC))
$(BUILD)/libcommcomp-traces.so.0: LIBS = $(LIBS_TRACES)
$(SHARED): $(ARCHIVE) binding/commcomp.map
	$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=binding/commcomp.map \
	    $(if $(SANITIZE),,-Wl,-z,defs) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVE) \
	    -Wl,--as-needed $(LIBS)

$(LINKS): %: %.0
	ln -sf $(<F) $@

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The built-in nets, the digits and what pages consist of are embedded in the program.
$(BUILD)/obj/models/net_open.o: $(wildcard models/nets/*.json)
$(BUILD)/obj/cmd/input/evidence.o: cmd/input/evidence.csv
$(BUILD)/obj/models/recipe.o: $(wildcard recipes/*/*.json)
$(BUILD)/obj/models/device.o: $(wildcard models/devices/*.json)
$(BUILD)/obj/models/paper/paper.o $(BUILD)/obj/models/paper/inventory.o: $(wildcard models/papers/*.json)
$(BUILD)/obj/results/page.o: results/page.css results/page.js
$(BUILD)/obj/train/data/digits.o: $(wildcard train/data/digits/*.gz)
$(BUILD)/obj/train/data/text.o: $(wildcard train/data/text/*.gz)

# The file that prints the version is compiled again when the version changes.
$(BUILD)/obj/core/version.o: $(BUILD)/version
$(BUILD)/obj/core/version.o: CPPFLAGS += -DCC_VERSION='"$(VERSION_TEXT)"'
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION_TEXT)' | cmp -s - $@ || echo '$(VERSION_TEXT)' > $@

define isa_rule
$(BUILD)/obj/%.$(1).o: %.k.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) $$(CFLAGS) -DCC_ISA=$(1) $$(ISA_$(1)) $$(KERNEL_FLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

# Not installed: images per second, beside PyTorch's (tools/train_torch.py).
$(BUILD)/train_speed: tools/train_speed.c $(LIB)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)

TEST_COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@
TEST_LINK    = $(TEST_LIB_OBJ) $(LIB) $(LDLIBS) -lcmocka

# The files that tests share are a library, as linking them into a hundred programs takes long.
TEST_SHARED := $(BUILD)/tests/libtests.so
$(TEST_SHARED): $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-Bsymbolic $(LDFLAGS) -o $@ $(TEST_LIB_OBJ) -Wl,--whole-archive $(LIB) \
	    -Wl,--no-whole-archive $(LDLIBS) -lcmocka

$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(TEST_SHARED)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o %.so,$^) -Wl,-rpath,'$$ORIGIN/..' $(LDLIBS) -lcmocka

# Tests of the command line link what reads it.
$(filter $(BUILD)/tests/cmd/%,$(TESTS)): $(addprefix $(BUILD)/obj/cmd/cli/,args.o option.o options.o)

# The test of measured rows needs the whole command but its main.
$(BUILD)/tests/cmd/test_measured: $(filter-out $(BUILD)/obj/cmd/main.o,$(CMD_SRC:%.c=$(BUILD)/obj/%.o))

$(MPI_TESTS): $(BUILD)/tests/mpi/%: $(BUILD)/mpi/tests/mpi/%.o $(MPI_TEST_LIB:%.c=$(BUILD)/mpi/%.o) \
                      $(filter-out $(BUILD)/mpi/cmd/%,$(RANK_OBJ)) $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	OMPI_CC="$(CC)" mpicc $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(SIM_PROBES): $(BUILD)/tests/sim/%: tests/sim/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(SMPI_INC) -std=c11 $(WARN) -O1 -g -fPIC -shared -o $@ $< $(SMPI_LIBS)

$(SIM_TESTS): $(BUILD)/tests/sim/%: $(BUILD)/smpi/tests/mpi/%.o $(MPI_TEST_LIB:%.c=$(BUILD)/smpi/%.o) \
                      $(filter-out $(BUILD)/smpi/cmd/%,$(SIM_OBJ)) $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(CC) -shared $(LDFLAGS) -o $@ $^ $(SMPI_LIBS) $(LDLIBS) -lcmocka

# The tests of threads with the library for programs alone: the rest takes long to build.
$(BUILD)/threads/%: $(BUILD)/obj/tests/binding/%.o $(patsubst %,$(BUILD)/obj/tests/lib/%.o,data scratch settings text tier) \
                    $(ARCHIVE)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

# Not a test: what `make count-arm` and `make count-x86` count.
$(BUILD)/instructions: tests/count/instructions.c $(TEST_LIB_OBJ) $(LIB)
	$(TEST_COMPILE) $< $(TEST_LINK)

tests: $(BUILD)/headers.checked $(TESTS) $(MPI_TESTS) $(SIM_PROBES) $(SIM_TESTS)

# Every header by itself, and all in one unit.
HEADERS := $(shell find core schemes binding models train bench netsim results cmd -name '*.h')
$(BUILD)/headers.checked: tests/headers.sh $(HEADERS)
	@mkdir -p $(@D)
	CC="$(CC)" CPPFLAGS='$(CPPFLAGS)' CFLAGS='-std=c11 $(WARN) -fopenmp' \
	    MPI_FLAGS="$(if $(MPICC),$$(mpicc --showme:compile))" tests/headers.sh
	@touch $@

# A fuzz target as libFuzzer's program, and as one that runs it over files.
$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(TEST_COMPILE) -fsanitize=fuzzer $< $(TEST_LINK)

$(BUILD)/fuzz/replay_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/standalone.o $(TEST_SHARED)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o %.so,$^) -Wl,-rpath,'$$ORIGIN/../tests' $(LDLIBS)

$(BUILD)/fuzz/seeds_%: tests/fuzz/seeds_%.c $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(TEST_COMPILE) $< $(TEST_LINK)

replay: $(FUZZ_NAMES:%=$(BUILD)/fuzz/replay_%)

fuzz-build:
	@$(MAKE) -s -j$(JOBS) $(FUZZ_BUILD) $(FUZZ_NAMES:%=$(BUILD)/fuzzing/fuzz/fuzz_%)

# FUZZ_SECONDS in all; findings, logs and new seeds stay in $(BUILD)/fuzzing.
FUZZ_EACH = $(shell echo $$(($(FUZZ_SECONDS) / $(words $(FUZZ_NAMES)))))

fuzz:
	@tools/install-deps.sh $(DEPS_FUZZ)
	@tests/run.sh --part build "fuzz targets" $(MAKE) -s fuzz-build
	@tests/run.sh --part fuzz "$(FUZZ_SECONDS) s of libFuzzer" $(MAKE) -s fuzz-run

fuzz-run:
	@tests/fuzz/corpus.py unpack $(FUZZ_SEEDS)
	@if ! [ "$(FUZZ_EACH)" -ge 1 ]; then \
	    echo "FUZZ_SECONDS=$(FUZZ_SECONDS): at least $(words $(FUZZ_NAMES)), one for each target" >&2; \
	    exit 1; \
	fi
	@for name in $(FUZZ_NAMES); do \
	    log=$(BUILD)/fuzzing/$$name.log; \
	    mkdir -p $(BUILD)/fuzzing/corpus/$$name; \
	    rm -f $(BUILD)/fuzzing/$$name-* $$log; \
	    echo "fuzzing $$name for $(FUZZ_EACH) s"; \
	    $(BUILD)/fuzzing/fuzz/fuzz_$$name -verbosity=0 -timeout=20 \
	        -max_total_time=$(FUZZ_EACH) -print_final_stats=1 \
	        -artifact_prefix=$(BUILD)/fuzzing/$$name- \
	        $(BUILD)/fuzzing/corpus/$$name $(FUZZ_SEEDS)/$$name >$$log 2>&1; \
	    status=$$?; \
	    grep number_of_executed $$log; \
	    if [ $$status -ne 0 ] || ls $(BUILD)/fuzzing/$$name-* >/dev/null 2>&1; then \
	        tail -n 40 $$log; \
	        echo "fuzz_$$name: exit $$status; all of it is in $$log"; \
	        exit 1; \
	    fi; \
	done

# Every seed and every finding through its target.
fuzz-replay: replay
	@tests/fuzz/corpus.py unpack $(FUZZ_SEEDS)
	@for name in $(FUZZ_NAMES); do \
	    find $(FUZZ_SEEDS)/$$name -type f | xargs $(BUILD)/fuzz/replay_$$name || exit 1; \
	done

# Adds to the seeds, of what `make fuzz` has collected, the few inputs that reach code which they do not.
fuzz-merge: fuzz-build
	@tests/fuzz/corpus.py unpack $(FUZZ_SEEDS)
	@for name in $(FUZZ_NAMES); do \
	    $(BUILD)/fuzzing/fuzz/fuzz_$$name -set_cover_merge=1 -use_counters=0 -timeout=20 \
	        $(FUZZ_SEEDS)/$$name $(BUILD)/fuzzing/corpus/$$name >$(BUILD)/fuzzing/$$name.log 2>&1 && \
	        tests/fuzz/corpus.py add $$name $(FUZZ_SEEDS)/$$name || exit 1; \
	done

# How much of the readers the seeds reach: docs/security.md has the ranges.
fuzz-coverage:
	@tools/install-deps.sh $(DEPS_FUZZ) llvm
	@$(MAKE) -s -j$(JOBS) $(COVERAGE_BUILD) $(FUZZ_NAMES:%=$(BUILD)/coverage/fuzz/fuzz_%)
	@tests/fuzz/corpus.py unpack $(FUZZ_SEEDS)
	@tests/fuzz/coverage.sh $(BUILD)/coverage/fuzz $(FUZZ_SEEDS)

# Writes the seeds that are made of real payloads.
fuzz-seeds: $(BUILD)/fuzz/seeds_decode
	rm -rf $(FUZZ_SEEDS)/made
	mkdir -p $(FUZZ_SEEDS)/made
	$< $(FUZZ_SEEDS)/made
	tests/fuzz/corpus.py add decode $(FUZZ_SEEDS)/made

# --- for people ---

DEPS_BUILD := gcc libc6-dev make git libcsv-dev libcjson-dev libgsl-dev libzstd-dev liblz4-dev \
              libzfp-dev libzip-dev zlib1g-dev openmpi-bin libopenmpi-dev iproute2 libsimgrid-dev
DEPS_CHECK := $(DEPS_BUILD) libcmocka-dev g++ pkgconf python3 python3-jsonschema python3-numpy gnuplot-nox
DEPS_FUZZ  := $(DEPS_CHECK) clang libclang-rt-14-dev libomp-dev
DEPS_TSAN  := $(DEPS_BUILD) libcmocka-dev clang libclang-rt-14-dev libomp-dev
DEPS_PYTHON := $(DEPS_BUILD) g++ python3-torch python3-numpy python3-pytest python3-pip \
               python3-setuptools python3-wheel
DEPS_SITE   := $(DEPS_BUILD) gnuplot-nox mkdocs
DEPS_REPORT := $(DEPS_SITE) python3 chromium tidy
DEPS_LINT  := $(DEPS_BUILD) libcmocka-dev clang clang-format clang-tidy libomp-dev
DEPS_COUNT := $(DEPS_BUILD) libcmocka-dev python3 llvm-16
DEPS_ARM   := $(DEPS_BUILD) gcc-aarch64-linux-gnu qemu-user
# Libraries for arm64 that the build and its tests need.
LIBS_ARM   := libcsv-dev libcjson-dev libgsl-dev libzstd-dev liblz4-dev libzfp-dev libzip-dev zlib1g-dev \
              libcmocka-dev
JOBS       ?= $(shell nproc)

help:
	@echo 'make               build $(BIN)'
	@echo 'make quickstart    install what the build needs, build, and run the main job'
	@echo 'make test          install what the tests need and run the quick ones, in a minute'
	@echo 'make check         run all that can fail on this machine, in ten minutes'
	@echo 'make check-all     run what CI runs, in 45 minutes: that, and all that is below but install and count'
	@echo 'make check-python  install PyTorch and run the tests of the Python package'
	@echo 'make check-report  install a browser and look at pages of `report` in it'
	@echo 'make check-arm     cross-compile for aarch64 and run the tests of kernels under qemu'
	@echo 'make site          docs, a gallery and a report as static pages, in $(BUILD)/site'
	@echo 'make install       into PREFIX (/usr/local), DESTDIR honoured: programs, libraries, headers, docs,'
	@echo '                   man page, completion; make uninstall removes them'
	@echo 'make deb           Debian packages of what is committed; make wheel: the Python package; make dist: a tarball'
	@echo 'make asan          the tests under AddressSanitizer and UBSan'
	@echo 'make mutate        put plausible bugs into the sources, one at a time: which are noticed by no test'
	@echo '                   (hours; MUTATE_FLAGS: tests/mutants/mutate.py --help)'
	@echo 'make tsan          threads that encode and decode, under ThreadSanitizer'
	@echo 'make count-x86     cycles a value of the kernels, by llvm-mca and as measured (COUNT: of some schemes);'
	@echo '                   make count-arm: instructions a value on aarch64'
	@echo 'make fuzz          fuzz every decoder and reader, FUZZ_SECONDS (60) in all'
	@echo 'make lint          clang-format and clang-tidy; make format mends the format'

quickstart:
	@tools/install-deps.sh $(DEPS_BUILD) gnuplot-nox
	@$(MAKE) -s -j$(JOBS)
	$(BIN) bench -o $(BUILD)/quickstart.json
	@$(BIN) plot $(BUILD)/quickstart.json --kind error -o $(BUILD)/quickstart.svg
	@$(BIN) report $(BUILD)/quickstart.json -o $(BUILD)/quickstart.html
	@echo
	@echo 'a picture of this is $(BUILD)/quickstart.svg, a page $(BUILD)/quickstart.html'

test:
	@tools/install-deps.sh $(DEPS_CHECK)
	@$(MAKE) -s -j$(JOBS) all $(BUILD)/headers.checked $(TESTS)
	@tests/run.sh --reset
	@status=0; COMMCOMP_TEST=quick COMMCOMP=$(BIN) tests/run.sh "" $(QUICK) || status=1; \
	    tests/run.sh --summary && exit $$status

check:
	@tools/install-deps.sh $(DEPS_CHECK)
	@tests/run.sh --reset
	@status=0; $(MAKE) -s native || status=1; tests/run.sh --summary && exit $$status

# Every part also runs by itself. One that fails does not keep the next from running; it may fail before its
# first test, so the summary alone does not tell.
check-all:
	@tools/install-deps.sh $(sort $(DEPS_CHECK) $(DEPS_FUZZ) $(DEPS_TSAN) $(DEPS_ARM) $(DEPS_PYTHON) $(DEPS_REPORT) $(DEPS_LINT))
	@tests/run.sh --reset
	@failed=; for part in clang "native OTHERS=$(BUILD)/clang/bin/commcomp" mutate-sample asan tsan fuzz check-arm check-python check-report lint; do \
	    $(MAKE) -s $$part || failed="$$failed $${part%% *}"; \
	done; \
	tests/run.sh --summary || exit 1; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# Every test, as the program is installed. OTHERS are programs of other compilers, whose results must be equal.
# EVERY=1: every scheme over every exchange with any number of ranks, not a sample.
native:
	@tests/run.sh --part build gcc $(MAKE) -s -j$(JOBS) all tests
	@COMMCOMP=$(BIN) COMMCOMP_OTHERS="$(OTHERS)" COMMCOMP_TEST_EVERY=$(or $(EVERY),0) tests/run.sh "" $(SCRIPTS) $(TESTS)

clang:
	@tests/run.sh --part build clang $(MAKE) -s -j$(JOBS) BUILD=$(BUILD)/clang CC=clang SANITIZE=-Werror all tests

# The tests of the Python package, with Debian's Python, for which Debian's PyTorch is built.
check-python:
	@tools/install-deps.sh $(DEPS_PYTHON)
	@$(MAKE) -s -j$(JOBS)
	@PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 COMMCOMP=$(BIN) tests/run.sh --part python pytest \
	    /usr/bin/python3 -m pytest -q -ra -p no:cacheprovider $(PYTEST_FLAGS) tests/python

# With the exchanges, which tests/mpi.sh starts by itself, among the sanitized programs.
asan:
	@tools/install-deps.sh $(DEPS_CHECK)
	@tests/run.sh --part build sanitizers $(MAKE) -s -j$(JOBS) $(ASAN_BUILD) all tests replay
	@COMMCOMP_TEST=sanitized COMMCOMP=$(BUILD)/asan/bin/commcomp COMMCOMP_TEST_RANKS="3 4" \
	    ASAN_OPTIONS=detect_stack_use_after_return=1 \
	    tests/run.sh sanitizers tests/mpi.sh $(ASAN_SCRIPTS) \
	    $(TESTS:$(BUILD)/%=$(BUILD)/asan/%)
	@tests/run.sh --part sanitizers "seeds of the fuzz targets" $(MAKE) -s $(ASAN_BUILD) fuzz-replay

# libomp tells ThreadSanitizer by its tool Archer when its threads wait for each other, and has accesses of its
# own, which it must not look at.
tsan:
	@tools/install-deps.sh $(DEPS_TSAN)
	@tests/run.sh --part build "thread sanitizer" $(MAKE) -s -j$(JOBS) $(TSAN_BUILD) $(TSAN_TESTS:%=$(BUILD)/tsan/%)
	@COMMCOMP_TEST=sanitized TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
	    tests/run.sh sanitizers $(TSAN_TESTS:%=$(BUILD)/tsan/%)

# The kept list and mutants that are drawn: tests/mutants/mutate.py says how. An hour or two; a call that is
# interrupted is continued by the next.
MUTATE_FLAGS ?= --with-list --generate 200
mutate:
	@tools/install-deps.sh $(DEPS_CHECK)
	@$(MAKE) -s -j$(JOBS) all tests
	@PYTHONDONTWRITEBYTECODE=1 tests/mutants/mutate.py $(MUTATE_FLAGS)

# Four of the list and another, which the day decides: a minute or two.
mutate-sample:
	@tools/install-deps.sh $(DEPS_CHECK)
	@$(MAKE) -s -j$(JOBS) all tests
	@PYTHONDONTWRITEBYTECODE=1 tests/run.sh --part mutants "a sample by the date" \
	    tests/mutants/mutate.py --sample $$(date -u +%F)

# Pages in a browser. Not a part of `make check`: a browser is large.
check-report:
	@tools/install-deps.sh $(DEPS_REPORT)
	@$(MAKE) -s -j$(JOBS) $(BIN)
	@COMMCOMP=$(BIN) tests/run.sh --part browser pages tests/browser/check.sh
	@tests/run.sh --part browser site tools/site.sh $(BIN) $(BUILD)/site

site:
	@tools/install-deps.sh $(DEPS_SITE)
	@$(MAKE) -s -j$(JOBS) $(BIN)
	@tools/site.sh $(BIN) $(BUILD)/site

# aarch64: the tests of kernels under qemu, and the same containers as those of this machine.
check-arm:
	@tools/install-deps.sh $(DEPS_ARM)
	@tools/arm64-root.sh $(ARM_ROOT) $(LIBS_ARM)
	@$(MAKE) -s -j$(JOBS) $(BIN)
	@tests/run.sh --part aarch64 big-endian tests/arm/big_endian.sh aarch64-linux-gnu-gcc
	@tests/run.sh --part build aarch64 $(MAKE) -s -j$(JOBS) $(ARM_BUILD) $(BUILD)/arm64/bin/commcomp $(ARM_TESTS)
	@printf '#!/bin/sh\nexec $(ARM_RUN) $(abspath $(BUILD)/arm64/bin/commcomp) "$$@"\n' >$(BUILD)/arm64/commcomp
	@chmod +x $(BUILD)/arm64/commcomp
	@COMMCOMP_TEST=quick COMMCOMP_TEST_RUNNER="$(ARM_RUN)" COMMCOMP=$(BIN) COMMCOMP_OTHERS=$(BUILD)/arm64/commcomp \
	    tests/run.sh aarch64 tests/compilers.sh $(ARM_TESTS)

# The instructions a value: the table of docs/aarch64.md.
count-arm:
	@tools/install-deps.sh $(DEPS_ARM)
	@tools/arm64-root.sh $(ARM_ROOT) $(LIBS_ARM)
	@$(MAKE) -s -j$(JOBS) $(ARM_BUILD) $(BUILD)/arm64/instructions
	@$(CC) -std=c11 $(WARN) -O2 -shared -fPIC -o $(BUILD)/arm64/count.so tests/count/qemu.c
	@tests/count/arm.sh "$(ARM_RUN)" $(BUILD)/arm64/count.so $(BUILD)/arm64/instructions

# The cycles a value on x86, by llvm-mca and as measured: the tables of docs/kernels.md. Needs a quiet
# machine for some minutes; COUNT names the schemes.
count-x86:
	@tools/install-deps.sh $(DEPS_COUNT)
	@$(MAKE) -s -j$(JOBS) $(BIN) $(BUILD)/instructions
	@$(CC) -std=c11 $(WARN) -D_GNU_SOURCE -O2 -shared -fPIC -o $(BUILD)/steps.so tests/count/steps.c
	@tests/count/x86.py $(abspath $(BUILD)/steps.so) $(BUILD)/instructions $(BIN) llvm-mca-16 $(COUNT)

# The man pages: one of the program, and one of each command that main.c lists.
COMMANDS := $(shell sed -n 's/^    COMMAND(\([a-z_]*\)).*/\1/p' cmd/main.c)
MAN      := $(BUILD)/commcomp.1 $(foreach command,$(COMMANDS),$(BUILD)/commcomp-$(subst _,-,$(command)).1)

$(BUILD)/commcomp.1: $(BIN)
	$(BIN) --man > $@

$(BUILD)/commcomp-%.1: $(BIN)
	$(BIN) --man $(subst -, ,$*) > $@

$(BUILD)/completion.%: $(BIN)
	$(BIN) --completion $* > $@

# --- installation ---

# Headers for schemes of one's own, and for programs that link libcommcomp.a.
PUBLIC := $(addprefix core/,bytes.h element.h error.h exchange.h isa.h memory.h param.h random.h tensor.h trace/trace.h trace/synth.h) \
          schemes/plugin.h schemes/scheme.h schemes/spec.h

# pc NAME, DESCRIPTION, MORE: a file for pkg-config.
define pc
@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/$(LIBDIR)' 'includedir=$${prefix}/include' '' \
    'Name: $(1)' 'Description: $(2)' 'Version: $(VERSION)' $(3) > $@
endef

$(BUILD)/commcomp.pc: FORCE
	@mkdir -p $(@D)
	$(call pc,commcomp,gradient compression codecs,'Cflags: -I$${includedir}/commcomp' \
	    'Libs: -L$${libdir} -lcommcomp' 'Requires.private: libzstd liblz4' \
	    'Libs.private: -lzfp -lm -fopenmp -pthread')

$(BUILD)/commcomp-traces.pc: FORCE
	@mkdir -p $(@D)
	$(call pc,commcomp-traces,recorded gradients,'Requires: commcomp' \
	    'Libs: -L$${libdir} -lcommcomp-traces' 'Requires.private: libcjson libzip' \
	    'Libs.private: -lcsv')

# The files to install, as MODE:SOURCE:DESTINATION; `make uninstall` removes the same. The programs that
# commcomp starts are installed beside it if they could be built.
PROGRAMS  := $(BIN) $(RANK) $(SIM) $(PLATFORM)
installed = $(foreach file,$(2),$(1):$(file):$(3)/$(notdir $(file)))
INSTALLED := $(call installed,755,$(PROGRAMS),bin) \
             $(call installed,644,$(ARCHIVE) $(BUILD)/libcommcomp-traces.a,$(LIBDIR)) \
             $(call installed,644,$(SHARED),$(LIBDIR)) \
             $(call installed,644,$(BUILD)/commcomp.pc $(BUILD)/commcomp-traces.pc,$(LIBDIR)/pkgconfig) \
             $(call installed,644,binding/commcomp.h,include/commcomp) \
             $(foreach header,$(PUBLIC),644:$(header):include/commcomp/$(header)) \
             $(call installed,644,$(MAN),share/man/man1) \
             $(call installed,644,README.md LICENSE,share/doc/commcomp) \
             $(foreach page,$(wildcard docs/*.* docs/*/*.*),644:$(page):share/doc/commcomp/$(page)) \
             644:$(BUILD)/completion.bash:share/bash-completion/completions/commcomp \
             644:$(BUILD)/completion.zsh:share/zsh/site-functions/_commcomp
# The links, and the folders that are ours alone.
INSTALLED_LINKS := $(patsubst $(BUILD)/%,$(LIBDIR)/%,$(LINKS))
OUR_FOLDERS     := include/commcomp share/doc/commcomp

INTO := $(DESTDIR)$(PREFIX)
install: $(foreach file,$(INSTALLED),$(word 2,$(subst :, ,$(file))))
	@for file in $(INSTALLED); do \
	    names=$${file#*:}; \
	    install -D -m $${file%%:*} $${names%%:*} "$(INTO)/$${names#*:}" || exit 1; \
	done
	@for link in $(INSTALLED_LINKS); do ln -sf $${link##*/}.0 "$(INTO)/$$link" || exit 1; done
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true # so that programs find the libraries
	@echo "installed into $(INTO)"

# The files that are committed.
DIST := commcomp-$(shell cat VERSION)
dist:
	@mkdir -p $(BUILD)
	@git archive --prefix=$(DIST)/ HEAD | gzip -9n > $(BUILD)/$(DIST).tar.gz
	@echo "$(BUILD)/$(DIST).tar.gz"

# Debian packages of what is committed, for the system that builds them.
deb: dist
	@tools/install-deps.sh $(DEPS_BUILD) debhelper dh-python python3 fakeroot
	@rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb && tar -xzf $(BUILD)/$(DIST).tar.gz -C $(BUILD)/deb
	@cd $(BUILD)/deb/$(DIST) && DEB_BUILD_OPTIONS="parallel=$(JOBS) $$DEB_BUILD_OPTIONS" dpkg-buildpackage -b -us -uc
	@ls $(BUILD)/deb/*.deb

# A wheel of the Python package, which finds the library where `make install` or libcommcomp0 has put it.
wheel:
	@tools/install-deps.sh python3-pip python3-setuptools python3-wheel
	@/usr/bin/python3 -m pip wheel -q --no-build-isolation --no-deps -w $(BUILD)/wheel ./python
	@ls $(BUILD)/wheel/*.whl

uninstall:
	@for file in $(INSTALLED); do rm -f "$(INTO)/$${file##*:}" || exit 1; done
	@for link in $(INSTALLED_LINKS); do rm -f "$(INTO)/$$link" || exit 1; done
	@for folder in $(OUR_FOLDERS); do \
	    [ ! -d "$(INTO)/$$folder" ] || find "$(INTO)/$$folder" -depth -type d -empty -delete; \
	done
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

C_FILES := $(shell git ls-files -co --exclude-standard "*.c" "*.h")

TIDY_FLAGS := -I. -D_GNU_SOURCE -std=c11 -fopenmp -DCC_VERSION=0

format:
	clang-format -i $(C_FILES)

lint:
	@tools/install-deps.sh $(DEPS_LINT)
	@tests/run.sh --part lint clang-format clang-format --dry-run --Werror $(C_FILES)
	@$(MAKE) -s clang
	@tests/run.sh --part lint clang-tidy $(MAKE) -s -k -j$(JOBS) tidy

# Each file by itself, each time. A failure names its file; a run of clang-tidy that ends without an error of its
# own (as when it is killed for memory) is repeated once.
TIDY_COMMON  := $(LIB_SRC) $(CMD_SRC) cmd/platform.c
TIDY_SIM     := $(wildcard netsim/transport/runtime_sim*.c)
TIDY_TARGETS := $(addprefix tidy/,$(TIDY_COMMON) $(RANK_SRC) $(TIDY_SIM) $(KERNELS))

tidy: $(TIDY_TARGETS)
$(RANK_SRC:%=tidy/%): TIDY_MORE = $$(mpicc --showme:compile)
$(TIDY_SIM:%=tidy/%): TIDY_MORE = $$(smpicc -show | tr " " "\n" | grep ^-I)
$(KERNELS:%=tidy/%): TIDY_MORE = -DCC_ISA=avx512 $(filter-out -mprefer-vector-width=512,$(ISA_avx512))
$(TIDY_TARGETS): tidy/%:
	@for try in 1 2; do \
	    said=$$(clang-tidy --quiet $* -- $(TIDY_FLAGS) $(TIDY_MORE) 2>&1) && exit; code=$$?; \
	    echo "clang-tidy $*: exit status $$code"; echo "$$said"; \
	    case $$said in *error:*) exit 1 ;; esac; \
	done; exit 1

clean:
	rm -rf $(BUILD)

.PHONY: all tests dist deb wheel help quickstart test check check-all native clang tidy check-arm count-arm count-x86 check-python check-report site asan tsan mutate mutate-sample install uninstall format lint clean $(TIDY_TARGETS) FORCE replay \
        fuzz-build fuzz fuzz-run fuzz-replay fuzz-merge fuzz-coverage fuzz-seeds
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)
