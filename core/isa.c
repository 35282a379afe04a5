#include "core/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int active = -1;

const char *cc_isa_name(enum cc_isa isa)
{
    static const char *const names[CC_ISAS] = {"scalar", "avx2", "avx512", "neon"};
    return names[isa];
}

#if defined(__x86_64__)
/* Not by __builtin_cpu_supports: not every compiler knows these two. */
static int has_lzcnt_and_f16c(void)
{
    unsigned a, b, c, d;
    int lzcnt = __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 1u << 5) != 0;
    return lzcnt && __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 29) != 0;
}
#endif

int cc_isa_has(enum cc_isa isa)
{
    if (isa == CC_SCALAR)
        return 1;
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = has_lzcnt_and_f16c() && __builtin_cpu_supports("avx2") &&
               __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (isa == CC_AVX2)
        return avx2;
    return isa == CC_AVX512 && avx2 && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
#elif defined(__aarch64__)
    return isa == CC_NEON;
#else
    return 0;
#endif
}

static enum cc_isa best_isa(void)
{
    int isa = CC_ISAS - 1;
    while (!cc_isa_has((enum cc_isa)isa))
        isa--;
    return (enum cc_isa)isa;
}

enum cc_isa cc_isa(void)
{
    int isa = atomic_load_explicit(&active, memory_order_relaxed);
    if (isa < 0) {
        isa = (int)best_isa();
        atomic_store_explicit(&active, isa, memory_order_relaxed);
    }
    return (enum cc_isa)isa;
}

void cc_isa_force(enum cc_isa isa)
{
    if (cc_isa_has(isa))
        atomic_store(&active, (int)isa);
}

int cc_isa_init(struct cc_error *e)
{
    const char *wanted = getenv("COMMCOMP_ISA");
    if (wanted == NULL || wanted[0] == '\0')
        return CC_OK;
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (strcmp(wanted, cc_isa_name((enum cc_isa)isa)) != 0)
            continue;
        if (!cc_isa_has((enum cc_isa)isa))
            return cc_fail(e, "COMMCOMP_ISA=%s: this machine has no %s; its best is %s", wanted,
                           wanted, cc_isa_name(best_isa()));
        cc_isa_force((enum cc_isa)isa);
        return CC_OK;
    }
    return cc_fail(e, "COMMCOMP_ISA=%s: not one of scalar, avx2, avx512, neon", wanted);
}
