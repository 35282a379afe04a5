/* Everything but the numbers of the schemes that cut a tensor into blocks, each with a scale and a
 * code for each value: fp8, mxfp4 and int4. Payload: the scales of all blocks, then the codes. */
#ifndef CC_SCHEMES_BLOCKS_H
#define CC_SCHEMES_BLOCKS_H

#include "schemes/kernels/blocks.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

/* How scales are stored. */
enum cc_block_scale {
    CC_SCALE_F32,
    CC_SCALE_BF16, /* the upper half of a binary32, rounded up */
    CC_SCALE_E8M0, /* a biased exponent, of a power of two */
};

/* A codec's numbers. */
struct cc_block_form {
    const struct k_block_codes *codes;
    enum cc_block_scale scale;
    unsigned bits;    /* bits of a code: 4 or 8 */
    float largest;    /* its number */
    float most_scale; /* the largest scale whose product with `largest` is finite */
    size_t block;     /* values with a common scale, at most CC_TILE; 0: all of the tensor */
    bool random;      /* codes are rounded at random */
};

/* As the functions of struct cc_scheme. r: the residual, or NULL. */
size_t cc_blocks_bound(const struct cc_block_form *f, size_t n);
int cc_blocks_encode(const struct cc_block_form *f, const struct cc_codec *c,
                     const struct cc_context *ctx, const float *x, float *r, uint8_t *out,
                     size_t *len, struct cc_error *e);
int cc_blocks_decode(const struct cc_block_form *f, const struct cc_codec *c, const uint8_t *in,
                     size_t len, const float *factor, float *y, struct cc_error *e);

/* The names of a parameter `rounding`: to the nearest, and at random; and the parameters of schemes
 * of 4 bits, which round at random unless told otherwise. */
extern const char *const cc_roundings[];
struct cc_block_params {
    int64_t ef, rounding;
};
extern const struct cc_param cc_block_params[];

/* Defines the descriptor's functions, by `form`, a function that returns the struct cc_block_form
 * of the scheme's parameters. */
#define CC_BLOCKS(form)                                                                            \
    static size_t bound(const void *params, const struct cc_shape *shape)                          \
    {                                                                                              \
        const struct cc_block_form f = form(params);                                               \
        return cc_blocks_bound(&f, shape->n);                                                      \
    }                                                                                              \
    static struct cc_traffic traffic(const void *params)                                           \
    {                                                                                              \
        return form(params).block == 0 ? cc_ef_twice(params) : cc_ef_once(params);                 \
    }                                                                                              \
    static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,      \
                      uint8_t *out, size_t cap, size_t *len, struct cc_error *e)                   \
    {                                                                                              \
        (void)cap;                                                                                 \
        const struct cc_block_form f = form(c->params);                                            \
        return cc_blocks_encode(&f, c, ctx, x, cc_ef_residual(c), out, len, e);                    \
    }                                                                                              \
    static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,   \
                      size_t len, const float *scale, float *y, struct cc_error *e)                \
    {                                                                                              \
        (void)ctx;                                                                                 \
        const struct cc_block_form f = form(c->params);                                            \
        return cc_blocks_decode(&f, c, in, len, scale, y, e);                                      \
    }

/* These functions as members of the descriptor. */
#define CC_BLOCKS_MEMBERS                                                                          \
    .bound = bound, .traffic = traffic, .state_bytes = cc_ef_state_bytes, .encode = encode,        \
    .decode = decode

#endif
