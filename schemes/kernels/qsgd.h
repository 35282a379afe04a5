/* QSGD: float32 values as signed levels of their bucket's norm, and levels as codes of a fixed
 * width. The overviews are in qsgd_put.k.c (encoding) and qsgd_get.k.c (decoding). */
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
    unsigned width; /* bits of a code: 2 to 16, two's complement */
    bool l2;        /* the norm is the 2-norm, not the largest magnitude */
};

/* The bytes of the codes of n values. */
static inline size_t cc_qsgd_code_bytes(const struct cc_qsgd_form *f, size_t n)
{
    return (n * f->width + 7) / 8;
}

static inline float cc_qsgd_two_norm(double sum_of_squares)
{
    double root = sqrt(sum_of_squares);
    return root < (double)FLT_MAX ? (float)root : FLT_MAX;
}

/* Bytes with any contents that may be written beyond the codes. */
#define CC_QSGD_SLACK 64

struct k_qsgd_put {
    /* The norm of a bucket; false if a value is not finite. */
    bool (*norm)(const struct cc_qsgd_form *f, const float *x, size_t n, float *norm);
    /* levels = x / norm * s, rounded at random to one of the two nearest integers, by the random
     * number of index first + i (modulo 2^32). norm > 0, |x[i]| <= norm, s <= 32767. Returns the
     * number of levels that are not 0. */
    size_t (*quantize)(const float *x, float norm, int s, struct cc_key key, uint32_t first,
                       int16_t *levels, size_t n);
    /* Writes levels as codes. */
    void (*pack)(const int16_t *levels, unsigned width, uint8_t *out, size_t n);
    /* Writes the codes of values of one bucket: the same as quantize, then pack. norm >= 0. far: x
     * is not in the cache, and the values behind it will be encoded next. */
    void (*codes)(const struct cc_qsgd_form *f, const float *x, float norm, struct cc_key key,
                  uint32_t first, bool far, uint8_t *out, size_t n);
    /* Writes norms and codes of whole buckets, the last of which may be short. Returns the end of
     * the output, or NULL if a value is not finite. */
    uint8_t *(*buckets)(const struct cc_qsgd_form *f, const float *x, struct cc_key key,
                        uint32_t first, bool far, uint8_t *out, size_t n);
};
CC_KERNELS(k_qsgd_put)

/* Where decoded values go. */
struct cc_qsgd_use {
    bool add;         /* y += scale * value; otherwise y = value */
    bool nontemporal; /* written around the cache */
    float scale;      /* with add */
};

struct k_qsgd_get {
    /* Reads codes as levels. May write up to 7 levels beyond n. */
    void (*unpack)(const uint8_t *in, unsigned width, int16_t *levels, size_t n);
    /* Decodes levels: the values are norm * (level / s). */
    void (*levels)(const struct cc_qsgd_form *f, const int16_t *levels, float norm,
                   const struct cc_qsgd_use *use, float *y, size_t n);
    /* Decodes codes of one bucket; returns whether all codes are in [-s, s]. */
    bool (*codes)(const struct cc_qsgd_form *f, const uint8_t *in, float norm,
                  const struct cc_qsgd_use *use, float *y, size_t n);
    /* Decodes whole buckets, the last of which may be short. Returns the number of values before
     * the first bucket with an impossible norm or code: n if there is none. */
    size_t (*buckets)(const struct cc_qsgd_form *f, const uint8_t *in,
                      const struct cc_qsgd_use *use, float *y, size_t n);
};
CC_KERNELS(k_qsgd_get)

#endif
