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

clean:
	rm -rf $(BUILD)

.PHONY: all tests clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
