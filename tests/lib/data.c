#include "tests/lib/data.h"

#include <float.h>
#include <math.h>

/* An xorshift generator with a multiplied output. */
uint64_t data_random(uint64_t *state)
{
    uint64_t s = *state + 0x1234567;
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    *state = s;
    return s * UINT64_C(0x2545f4914f6cdd1d);
}

double data_unit(uint64_t *state)
{
    return (double)(data_random(state) >> 11) * 0x1p-53;
}

const char *data_name(enum data_kind kind)
{
    static const char *const names[DATA_KINDS] = {
        [DATA_LAPLACE] = "laplace",   [DATA_GAUSSIAN] = "gaussian",
        [DATA_MIXED] = "mixed",       [DATA_MODERATE] = "moderate",
        [DATA_TIES] = "ties",         [DATA_ALTERNATING] = "alternating",
        [DATA_CONSTANT] = "constant", [DATA_NEGATIVE] = "negative",
        [DATA_ONE_HOT] = "one-hot",   [DATA_ZEROS] = "zeros",
        [DATA_DENORMAL] = "denormal", [DATA_HUGE] = "huge",
    };
    return names[kind];
}

static float value(enum data_kind kind, uint64_t *s, size_t i, size_t n, size_t hot)
{
    const double sign = data_random(s) >> 63 ? -1 : 1, u = data_unit(s);
    switch (kind) {
    case DATA_LAPLACE:
        return (float)(-0.01 * sign * log(1 - u));
    case DATA_GAUSSIAN:
        return (float)(sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * data_unit(s)));
    case DATA_MIXED:
        return (float)(sign * (1 + u) * exp2(floor(80 * data_unit(s)) - 60));
    case DATA_MODERATE:
        return (float)(sign * (1 + u) * exp2(floor(8 * data_unit(s)) - 8));
    case DATA_TIES:
        return (float)(sign * floor(4 * u) / 4);
    case DATA_ALTERNATING:
        return i % 2 == 0 ? 1.0f : -1.0f;
    case DATA_CONSTANT:
        return 0.1f;
    case DATA_NEGATIVE:
        return (float)-u;
    case DATA_ONE_HOT:
        return i == hot % n ? -0.3f : 0.0f;
    case DATA_ZEROS:
        return (float)(sign * 0.0);
    case DATA_DENORMAL:
        return (float)(sign * floor(600 * u) * 0x1p-149);
    case DATA_HUGE:
        return (float)(sign * (u < 0.1 ? 1 : u) * (double)FLT_MAX);
    case DATA_KINDS:
        break;
    }
    return 0;
}

void data_fill(enum data_kind kind, uint64_t seed, float *x, size_t n)
{
    uint64_t s = seed * 977 + (uint64_t)kind + 1;
    const size_t hot = (size_t)data_random(&s);
    for (size_t i = 0; i < n; i++)
        x[i] = value(kind, &s, i, n, hot);
}
