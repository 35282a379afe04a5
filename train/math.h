/* Functions of numbers in basic operations alone: the same bits on every machine, which a library's
 * need not give. */
#ifndef CC_TRAIN_MATH_H
#define CC_TRAIN_MATH_H

#include <stdint.h>
#include <string.h>

/* exp(x), within 1e-14 relative; x is taken to be within -700 .. 700, and NaN gives NaN. */
static inline double cc_train_exp(double x)
{
    const double log2e = 1.4426950408889634, ln2_high = 0.6931471803691238,
                 ln2_low = 1.9082149292705877e-10, round = 0x1.8p52;
    x = x < -700 ? -700 : x > 700 ? 700 : x;
    /* x = k ln 2 + r with |r| <= ln 2 / 2; k is in the low bits of `shifted`. */
    double shifted = x * log2e + round, k = shifted - round;
    double r = (x - k * ln2_high) - k * ln2_low;
    double p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t power;
    memcpy(&power, &shifted, sizeof power);
    power = (int64_t)((uint64_t)(power + 1023) << 52); /* 2^k as a double's bits */
    double scale;
    memcpy(&scale, &power, sizeof scale);
    return p * scale;
}

/* cos(pi x) for 0 <= x <= 1, within 1e-15. */
static inline double cc_train_cos_pi(double x)
{
    double sign = x > 0.5 ? -1 : 1;
    double y = 3.141592653589793 * (x > 0.5 ? 1 - x : x), term = 1, sum = 1;
    for (int i = 2; i <= 24; i += 2) {
        term *= -y * y / (i * (i - 1));
        sum += term;
    }
    return sign * sum;
}

#endif
