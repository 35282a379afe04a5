# commcomp. `make` builds build/bin/commcomp; `make help` lists the rest.

CC      ?= cc
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build

VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)
ARCH    := $(shell $(CC) -dumpmachine | cut -d- -f1)

WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPT      ?= -O3 -g
SANITIZE ?=
# No contraction: the same sums on every machine. fp32 kernels must not depend on the compiler.
CPPFLAGS += -I. -D_GNU_SOURCE -DCC_VERSION='"$(VERSION)"'
CFLAGS   += -std=c11 $(WARN) $(OPT) -ffp-contract=off -fno-math-errno -fopenmp -pthread $(SANITIZE)
LDFLAGS  += -fopenmp -pthread $(SANITIZE)
LDLIBS   += -lcjson -lcsv -lgsl -lgslcblas -lzstd -llz4 -lzfp -lm

# Kernel templates (*.k.c) are compiled once per instruction set.
ifeq ($(ARCH),x86_64)
ISAS := scalar avx2 avx512
else
ISAS := scalar
endif
ISA_scalar := -fno-tree-vectorize
ISA_avx2   := -mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt -mf16c -mfma
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl -mavx512vbmi \
              -mavx512vbmi2 -mprefer-vector-width=512

KERNELS := $(wildcard core/*.k.c schemes/kernels/*.k.c bench/*.k.c)
LIB_SRC := $(filter-out %.k.c,$(wildcard core/*.c schemes/*.c schemes/kernels/*.c models/*.c bench/*.c results/*.c))
CMD_SRC := $(wildcard cmd/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) \
           $(foreach isa,$(ISAS),$(KERNELS:%.k.c=$(BUILD)/obj/%.$(isa).o))
LIB     := $(BUILD)/libcommcomp.a
BIN     := $(BUILD)/bin/commcomp

# Unit and property tests: each tests/test_*.c is a program of its own; tests/lib/*.c is shared.
TEST_SRC := $(wildcard tests/test_*.c)
TEST_LIB := $(wildcard tests/lib/*.c)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)

all: $(BIN)

$(BIN): $(CMD_SRC:%.c=$(BUILD)/obj/%.o) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The built-in nets are carried inside the program.
$(BUILD)/obj/models/net.o: $(wildcard models/nets/*.json)

# What prints the version is compiled again when the version changes.
$(BUILD)/obj/results/host.o $(BUILD)/obj/cmd/main.o: $(BUILD)/version
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@

define isa_rule
$(BUILD)/obj/%.$(1).o: %.k.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) $$(CFLAGS) -DCC_ISA=$(1) $$(ISA_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

$(BUILD)/tests/%: tests/%.c $(TEST_LIB:%.c=$(BUILD)/obj/%.o) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< \
	    $(TEST_LIB:%.c=$(BUILD)/obj/%.o) $(LIB) $(LDLIBS) -lcmocka

tests: $(TESTS)

# --- for people ---

DEPS_BUILD := gcc libc6-dev make git libcsv-dev libcjson-dev libgsl-dev libzstd-dev liblz4-dev \
              libzfp-dev
DEPS_TEST  := $(DEPS_BUILD) libcmocka-dev clang libclang-rt-14-dev libomp-dev python3 \
              python3-jsonschema gnuplot-nox
DEPS_LINT  := $(DEPS_BUILD) libcmocka-dev clang clang-format clang-tidy libomp-dev
JOBS       ?= $(shell nproc)
SAN_FLAGS  := -fsanitize=address,undefined -fno-sanitize-recover=all

help:
	@echo 'make             build $(BIN)'
	@echo 'make quickstart  install what the build needs, build, and run the main job'
	@echo 'make check       install what the tests need and run them all'
	@echo 'make install     into PREFIX (/usr/local), DESTDIR honoured: program, man page, library'
	@echo 'make asan        the tests under AddressSanitizer and UBSan'
	@echo 'make fuzz        fuzz every decoder and reader, FUZZ_SECONDS (60) in all'
	@echo 'make lint        clang-format and clang-tidy; make format mends the format'

quickstart:
	@tools/install-deps.sh $(DEPS_BUILD)
	@$(MAKE) -s -j$(JOBS)
	$(BIN) bench

check:
	@tools/install-deps.sh $(DEPS_TEST)
	@$(MAKE) -s -j$(JOBS) all tests
	@tests/run.sh "unit and property tests" $(TESTS)
	@COMMCOMP=$(BIN) tests/run.sh "command line" $(filter-out tests/run.sh,$(wildcard tests/*.sh))
	@$(MAKE) -s asan
	@$(MAKE) -s fuzz

asan:
	@$(MAKE) -s -j$(JOBS) BUILD=$(BUILD)/asan OPT="-O1 -g" SANITIZE="$(SAN_FLAGS)" all tests
	@tests/run.sh "under AddressSanitizer and UBSan" $(TESTS:$(BUILD)/%=$(BUILD)/asan/%)

$(BUILD)/commcomp.1: $(BIN)
	$(BIN) --man > $@

install: $(BIN) $(LIB) $(BUILD)/commcomp.1
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib \
	    $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/include/commcomp/core \
	    $(DESTDIR)$(PREFIX)/include/commcomp/schemes
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib/
	install -m 644 $(BUILD)/commcomp.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 core/*.h $(DESTDIR)$(PREFIX)/include/commcomp/core/
	install -m 644 schemes/*.h $(DESTDIR)$(PREFIX)/include/commcomp/schemes/

C_FILES := $(filter-out $(BUILD)/%,$(wildcard core/*.[ch] schemes/*.[ch] schemes/kernels/*.[ch] \
           models/*.[ch] bench/*.[ch] results/*.[ch] cmd/*.[ch] tests/*.[ch] tests/*/*.[ch]))

format:
	clang-format -i $(C_FILES)

lint:
	@tools/install-deps.sh $(DEPS_LINT)
	clang-format --dry-run --Werror $(C_FILES)
	@$(MAKE) -s -j$(JOBS) BUILD=$(BUILD)/clang CC=clang SANITIZE=-Werror all tests
	printf '%s\n' $(filter-out %.k.c,$(LIB_SRC)) $(CMD_SRC) | \
	    xargs -P $(JOBS) -n 4 clang-tidy --quiet -- $(CPPFLAGS) -std=c11 -fopenmp
	printf '%s\n' $(KERNELS) | xargs -P $(JOBS) -n 4 clang-tidy --quiet -- $(CPPFLAGS) -std=c11 \
	    -DCC_ISA=avx512 $(filter-out -mprefer-vector-width=512,$(ISA_avx512))

clean:
	rm -rf $(BUILD)

.PHONY: all tests help quickstart check asan install format lint clean FORCE
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
