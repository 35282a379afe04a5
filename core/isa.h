/* Instruction sets. A kernel template is a file NAME.k.c; the Makefile compiles it once for each
 * instruction set, and each copy defines one table of functions, named by CC_K. Every copy gives
 * the same bytes.
 *
 *   kernels/foo.h:    struct k_foo { void (*f)(float *, size_t); };  CC_KERNELS(k_foo)
 *   kernels/foo.k.c:  static void f(...) {...}
 *                     const struct k_foo CC_K(k_foo) = {.f = f};
 *   a user:           k_foo()->f(x, n);
 */
#ifndef CC_CORE_ISA_H
#define CC_CORE_ISA_H

#include "core/error.h"

enum cc_isa {
    CC_SCALAR,
    CC_AVX2,   /* AVX2, BMI1, BMI2, LZCNT, POPCNT, F16C, FMA (never contracted) */
    CC_AVX512, /* and AVX-512 F, BW, CD, DQ, VL, VBMI, VBMI2: Ice Lake, Zen 4 and later */
    CC_ISAS
};

/* The one in use: the best of the machine, or what COMMCOMP_ISA or cc_isa_force says. */
enum cc_isa cc_isa(void);

/* "scalar", "avx2", "avx512". */
const char *cc_isa_name(enum cc_isa isa);

/* Whether the machine has it. */
int cc_isa_has(enum cc_isa isa);

/* Reads COMMCOMP_ISA; an unknown or missing instruction set is an error. Call before any codec. */
int cc_isa_init(struct cc_error *e);

/* For tests and benchmarks; not while a codec runs. Does nothing if the machine lacks it. */
void cc_isa_force(enum cc_isa isa);

#define CC_CAT_(a, b) a##_##b
#define CC_CAT(a, b)  CC_CAT_(a, b)
#ifdef CC_ISA
#define CC_K(name) CC_CAT(name, CC_ISA)
#endif

#if defined(__x86_64__)
#define CC_KERNELS(type)                                                                           \
    extern const struct type type##_scalar, type##_avx2, type##_avx512;                            \
    static inline const struct type *type(void)                                                    \
    {                                                                                              \
        const struct type *const all[] = {&type##_scalar, &type##_avx2, &type##_avx512};           \
        return all[cc_isa()];                                                                      \
    }
#else
#define CC_KERNELS(type)                                                                           \
    extern const struct type type##_scalar;                                                        \
    static inline const struct type *type(void)                                                    \
    {                                                                                              \
        return &type##_scalar;                                                                     \
    }
#endif

#endif
