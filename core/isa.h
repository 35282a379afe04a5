/* Instruction sets and kernels. A kernel template is a file NAME.k.c, which the Makefile compiles
 * once for each instruction set; each copy defines one table of functions, whose name CC_K makes.
 * All copies give the same bytes. The instruction set in use is chosen once, at the first call.
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
    CC_NEON,   /* Advanced SIMD of aarch64, which every such machine has */
    CC_ISAS
};

/* The instruction set in use: the machine's best, unless cc_isa_init or cc_isa_force chose another.
 */
enum cc_isa cc_isa(void);

/* Its name: "scalar", "avx2", "avx512", "neon". */
const char *cc_isa_name(enum cc_isa isa);

/* Whether the machine has all instructions of the set. */
int cc_isa_has(enum cc_isa isa);

/* Chooses the instruction set that the environment variable COMMCOMP_ISA names; without it, changes
 * nothing. An unknown name and a set that the machine lacks are errors. Call before any codec. */
int cc_isa_init(struct cc_error *e);

/* Chooses an instruction set for tests and benchmarks, while no codec runs; does nothing if the
 * machine lacks it. */
void cc_isa_force(enum cc_isa isa);

/* In a kernel template, compiled with CC_ISA: the name of its table, k_foo_avx2 for k_foo. */
#define CC_CAT_(a, b) a##_##b
#define CC_CAT(a, b)  CC_CAT_(a, b)
#ifdef CC_ISA
#define CC_K(name) CC_CAT(name, CC_ISA)
#endif

/* Declares the tables of a kernel, and the function that returns the one in use. */
#if defined(__x86_64__)
#define CC_KERNELS(type)                                                                           \
    extern const struct type type##_scalar, type##_avx2, type##_avx512;                            \
    static inline const struct type *type(void)                                                    \
    {                                                                                              \
        const struct type *const all[] = {&type##_scalar, &type##_avx2, &type##_avx512};           \
        return all[cc_isa()];                                                                      \
    }
#elif defined(__aarch64__)
#define CC_KERNELS(type)                                                                           \
    extern const struct type type##_scalar, type##_neon;                                           \
    static inline const struct type *type(void)                                                    \
    {                                                                                              \
        return cc_isa() == CC_NEON ? &type##_neon : &type##_scalar;                                \
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
