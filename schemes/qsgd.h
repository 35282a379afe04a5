/* The two codes of qsgd (fixed width, Elias) and what they share. In struct cc_qsgd_form the bucket
 * is at most the tensor's length. Sizes are in bytes. */
#ifndef CC_SCHEMES_QSGD_H
#define CC_SCHEMES_QSGD_H

#include "schemes/kernels/qsgd.h"
#include "schemes/scheme.h"

/* A bucket's payload begins with its norm, f32. */
#define CC_QSGD_HEADER sizeof(float)

/* Quantizes values first .. first + n - 1 of the tensor, all of one bucket with norm > 0; x points
 * to the first of them. Returns the number of nonzero levels. */
size_t cc_qsgd_quantize(const struct cc_qsgd_form *f, const struct cc_context *ctx, const float *x,
                        size_t first, size_t n, float norm, int16_t *levels);

/* The largest payload of a bucket of that many values. */
size_t cc_qsgd_fixed_bytes(const struct cc_qsgd_form *f, size_t values);
size_t cc_qsgd_elias_bytes(const struct cc_qsgd_form *f, size_t values);

/* The largest payload of n values, from that of a bucket. Elias codes need more room while they are
 * encoded in parts, and scratch memory. */
size_t cc_qsgd_total_bytes(const struct cc_qsgd_form *f, size_t n,
                           size_t (*bytes)(const struct cc_qsgd_form *, size_t));
size_t cc_qsgd_elias_room(const struct cc_qsgd_form *f, size_t n);
size_t cc_qsgd_elias_scratch(const struct cc_qsgd_form *f, size_t n);

/* encode and decode of struct cc_scheme for each code. */
int cc_qsgd_fixed_encode(const struct cc_qsgd_form *f, const struct cc_codec *c,
                         const struct cc_context *ctx, struct cc_elements x, uint8_t *out,
                         size_t *len, struct cc_error *e);
int cc_qsgd_elias_encode(const struct cc_qsgd_form *f, const struct cc_codec *c,
                         const struct cc_context *ctx, const float *x, uint8_t *out, size_t *len,
                         struct cc_error *e);

int cc_qsgd_fixed_decode(const struct cc_qsgd_form *f, const struct cc_codec *c, const uint8_t *in,
                         size_t len, const struct cc_qsgd_use *use, float *y, struct cc_error *e);
int cc_qsgd_elias_decode(const struct cc_qsgd_form *f, const struct cc_codec *c, const uint8_t *in,
                         size_t len, const struct cc_qsgd_use *use, float *y, struct cc_error *e);

/* CC_FAIL: a norm that is negative or not finite, at this offset of the payload. */
int cc_qsgd_bad_norm(float norm, size_t offset, struct cc_error *e);

#endif
