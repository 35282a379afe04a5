/* What the two codes of qsgd share. A call's form has the bucket cut to the tensor's length. */
#ifndef CC_SCHEMES_QSGD_H
#define CC_SCHEMES_QSGD_H

#include "schemes/kernels/qsgd.h"
#include "schemes/scheme.h"

/* A bucket begins with its norm, f32. */
#define CC_QSGD_HEADER sizeof(float)

/* Levels of values first .. first + n - 1 of the call, all of one bucket; returns how many are not
 * 0. norm > 0. */
size_t cc_qsgd_quantize(const struct cc_qsgd_form *f, const struct cc_context *ctx, const float *x,
                        size_t first, size_t n, float norm, int16_t *levels);

/* The values of a bucket's payload, at most. */
size_t cc_qsgd_fixed_bytes(const struct cc_qsgd_form *f, size_t values);
size_t cc_qsgd_elias_bytes(const struct cc_qsgd_form *f, size_t values);

/* The most for n values; Elias codes need room for their parts besides. */
size_t cc_qsgd_total_bytes(const struct cc_qsgd_form *f, size_t n,
                           size_t (*bytes)(const struct cc_qsgd_form *, size_t));
size_t cc_qsgd_elias_room(const struct cc_qsgd_form *f, size_t n);
size_t cc_qsgd_elias_scratch(const struct cc_qsgd_form *f, size_t n);

int cc_qsgd_fixed_encode(const struct cc_qsgd_form *f, const struct cc_codec *c,
                         const struct cc_context *ctx, const float *x, uint8_t *out, size_t *len,
                         struct cc_error *e);
int cc_qsgd_elias_encode(const struct cc_qsgd_form *f, const struct cc_codec *c,
                         const struct cc_context *ctx, const float *x, uint8_t *out, size_t *len,
                         struct cc_error *e);

int cc_qsgd_fixed_decode(const struct cc_qsgd_form *f, const struct cc_codec *c, const uint8_t *in,
                         size_t len, const struct cc_qsgd_use *use, float *y, struct cc_error *e);
int cc_qsgd_elias_decode(const struct cc_qsgd_form *f, const struct cc_codec *c, const uint8_t *in,
                         size_t len, const struct cc_qsgd_use *use, float *y, struct cc_error *e);

int cc_qsgd_bad_norm(float norm, size_t offset, struct cc_error *e);

#endif
