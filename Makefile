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
CFLAGS   += -std=c11 $(WARN) $(OPT) -ffp-contract=off -fopenmp -pthread $(SANITIZE)
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

KERNELS := $(wildcard core/*.k.c schemes/kernels/*.k.c)
LIB_SRC := $(filter-out %.k.c,$(wildcard core/*.c schemes/*.c schemes/kernels/*.c models/*.c results/*.c))
CMD_SRC := $(wildcard cmd/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) \
           $(foreach isa,$(ISAS),$(KERNELS:%.k.c=$(BUILD)/obj/%.$(isa).o))
LIB     := $(BUILD)/libcommcomp.a
BIN     := $(BUILD)/bin/commcomp

# Unit and property tests: each tests/test_*.c is a program of its own; tests/lib/*.c is shared.
TEST_SRC := $(wildcard tests/test_*.c)
TEST_LIB := $(wildcard tests/lib/*.c)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
TEST_LIB_OBJ := $(TEST_LIB:%.c=$(BUILD)/obj/%.o)

# Fuzz targets: each tests/fuzz/fuzz_X.c, with seeds in tests/fuzz/corpus/X. fuzz_X is libFuzzer's,
# replay_X runs the target over files.
FUZZ_SRC     := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_NAMES   := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)
FUZZ_SECONDS ?= 60
ASAN_BUILD   := BUILD=build-asan OPT="-O1 -g" \
                SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all"
FUZZ_BUILD   := BUILD=build-fuzz CC=clang OPT="-O1 -g" \
                SANITIZE="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"

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

define isa_rule
$(BUILD)/obj/%.$(1).o: %.k.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) $$(CFLAGS) -DCC_ISA=$(1) $$(ISA_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

TEST_COMPILE = $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@
TEST_LINK    = $(TEST_LIB_OBJ) $(LIB) $(LDLIBS) -lcmocka

$(BUILD)/tests/%: tests/%.c $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(TEST_COMPILE) $< $(TEST_LINK)

tests: $(TESTS)

# Shows what failed; everything is in the log.
$(BUILD)/tests/%.passed: $(BUILD)/tests/%
	@echo $<
	@$< >$@.log 2>&1 || { grep -v '^\[ RUN\|^\[       OK' $@.log; exit 1; }
	@grep COMMCOMP_ $@.log || true
	@touch $@

check: $(TESTS:%=%.passed) fuzz-replay

# The same under the address and undefined-behaviour sanitizers.
check-asan:
	$(MAKE) $(ASAN_BUILD) check

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(TEST_COMPILE) -fsanitize=fuzzer $< $(TEST_LINK)

$(BUILD)/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/standalone.c $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(TEST_COMPILE) $< tests/fuzz/standalone.c $(TEST_LINK)

$(BUILD)/fuzz/seeds_%: tests/fuzz/seeds_%.c $(TEST_LIB_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(TEST_COMPILE) $< $(TEST_LINK)

fuzz-build:
	$(MAKE) $(FUZZ_BUILD) $(FUZZ_NAMES:%=build-fuzz/fuzz/fuzz_%)

# FUZZ_SECONDS in all; what is found lands in build-fuzz, as new seeds do.
fuzz: fuzz-build
	@for name in $(FUZZ_NAMES); do \
	    mkdir -p build-fuzz/corpus/$$name; \
	    build-fuzz/fuzz/fuzz_$$name -max_total_time=$$(($(FUZZ_SECONDS) / $(words $(FUZZ_NAMES)))) \
	        -timeout=20 -print_final_stats=1 -artifact_prefix=build-fuzz/$$name- \
	        build-fuzz/corpus/$$name tests/fuzz/corpus/$$name || exit 1; \
	done

# Every seed through every target, with this build, and with the sanitizers.
fuzz-replay: $(FUZZ_NAMES:%=$(BUILD)/fuzz/replay_%)
	@for name in $(FUZZ_NAMES); do \
	    find tests/fuzz/corpus/$$name -type f | xargs $(BUILD)/fuzz/replay_$$name || exit 1; \
	done

fuzz-regress:
	$(MAKE) $(ASAN_BUILD) fuzz-replay

# Writes the seeds that are made of real payloads.
fuzz-seeds: $(BUILD)/fuzz/seeds_decode
	mkdir -p tests/fuzz/corpus/decode
	$< tests/fuzz/corpus/decode

clean:
	rm -rf $(BUILD)

.PHONY: all tests check check-asan fuzz-build fuzz fuzz-replay fuzz-regress fuzz-seeds clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
