/* Float32 values as signed levels of a bucket's norm, and levels as codes of fixed width. */
#ifndef CC_SCHEMES_KERNELS_QSGD_H
#define CC_SCHEMES_KERNELS_QSGD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

struct cc_qsgd_form {
    size_t bucket;  /* values that share a norm */
    int s;          /* the highest level, up to 32767 */
    unsigned width; /* of a code: 2 to 16 bits, two's complement */
    bool l2;        /* the norm is the 2-norm, not the largest magnitude */
};

/* Of the codes of n values. */
static inline size_t cc_qsgd_code_bytes(const struct cc_qsgd_form *f, size_t n)
{
    return (n * f->width + 7) / 8;
}

static inline float cc_qsgd_two_norm(double sum_of_squares)
{
    double root = sqrt(sum_of_squares);
    return root < (double)FLT_MAX ? (float)root : FLT_MAX;
}

/* What may be written beyond the codes, of any value. */
#define CC_QSGD_SLACK 64

struct k_qsgd_put {
    /* The norm of a bucket; false if a value is not finite. */
    bool (*norm)(const struct cc_qsgd_form *f, const float *x, size_t n, float *norm);
    /* levels = x / norm * s, rounded at random to one of the two neighbouring integers; x[i] draws
     * the number of index first + i (modulo 2^32). norm > 0, |x[i]| <= norm, s <= 32767. Returns
     * how many are not 0. */
    size_t (*quantize)(const float *x, float norm, int s, struct cc_key key, uint32_t first,
                       int16_t *levels, size_t n);
    /* Levels as codes. */
    void (*pack)(const int16_t *levels, unsigned width, uint8_t *out, size_t n);
    /* The codes of values of one bucket: what quantize and pack give. norm >= 0. */
    void (*codes)(const struct cc_qsgd_form *f, const float *x, float norm, struct cc_key key,
                  uint32_t first, uint8_t *out, size_t n);
    /* Whole buckets, of which the last may be short: norms and codes. Returns the end of the
     * output, or NULL if a value is not finite. */
    uint8_t *(*buckets)(const struct cc_qsgd_form *f, const float *x, struct cc_key key,
                        uint32_t first, uint8_t *out, size_t n);
};
CC_KERNELS(k_qsgd_put)

/* What becomes of decoded values. */
struct cc_qsgd_use {
    bool add;         /* y += scale * value; otherwise y = value */
    bool nontemporal; /* written past the cache */
    float scale;      /* if they are added */
};

struct k_qsgd_get {
    void (*unpack)(const uint8_t *in, unsigned width, int16_t *levels, size_t n);
    /* Values norm * (level / s). */
    void (*levels)(const struct cc_qsgd_form *f, const int16_t *levels, float norm,
                   const struct cc_qsgd_use *use, float *y, size_t n);
    /* Values of codes of one bucket; returns whether all codes are from -s to s. */
    bool (*codes)(const struct cc_qsgd_form *f, const uint8_t *in, float norm,
                  const struct cc_qsgd_use *use, float *y, size_t n);
    /* Whole buckets, of which the last may be short. Returns how many values come before the first
     * bucket with an impossible norm or code: n if there is none. */
    size_t (*buckets)(const struct cc_qsgd_form *f, const uint8_t *in,
                      const struct cc_qsgd_use *use, float *y, size_t n);
};
CC_KERNELS(k_qsgd_get)

#endif
