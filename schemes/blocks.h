/* Everything but the numbers of the schemes that cut a tensor into blocks, each with a scale and a
 * code for each value: fp8, mxfp4, fp4, int4, and int8 with blocks or a rotation. Payload: the
 * scales of all blocks, then the codes.
 *
 * With a rotation, groups of values are rotated before they are encoded, and back when they are
 * decoded (schemes/kernels/hadamard.h): one large value of a group becomes many alike, so that the
 * largest of a block, which its scale follows, is smaller. What a residual keeps is in the
 * gradient's own coordinates. */
#ifndef CC_SCHEMES_BLOCKS_H
#define CC_SCHEMES_BLOCKS_H

#include "schemes/kernels/blocks.h"
#include "schemes/kernels/hadamard.h"
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
    size_t block;     /* values with a common scale; 0: all of the tensor */
    size_t hadamard;  /* values that are rotated together; 0: none */
    uint32_t flip;    /* the seed of their signs; 0: none */
    bool random;      /* codes are rounded at random */
};

/* The most values of a block. */
enum { CC_BLOCK_MOST = 4096 };

/* As the functions of struct cc_scheme. r: the residual, or NULL. */
size_t cc_blocks_bound(const struct cc_block_form *f, size_t n);
int cc_blocks_encode(const struct cc_block_form *f, const struct cc_codec *c,
                     const struct cc_context *ctx, struct cc_elements x, float *r, uint8_t *out,
                     size_t *len, struct cc_error *e);
int cc_blocks_decode(const struct cc_block_form *f, const struct cc_codec *c, const uint8_t *in,
                     size_t len, const float *factor, float *y, struct cc_error *e);

/* The names of a parameter `rounding`: to the nearest, and at random; and the parameters of schemes
 * of 4 bits, which round at random unless told otherwise. */
extern const char *const cc_roundings[];
struct cc_block_params {
    int64_t ef, rounding, hadamard, flip;
};
extern const struct cc_param cc_block_params[];

/* The parameters `block`, and `hadamard` and `flip`, of a struct, and their check: the first two
 * are powers of two, or 0 where that is allowed (`whole`: of block). */
#define CC_PARAM_BLOCK(st, d, least, most, text)                                                   \
    CC_PARAM_INT(st, block, d, least, most, "values", text)
#define CC_PARAM_HADAMARD(st)                                                                      \
    CC_PARAM_INT(st, hadamard, 0, 0, K_HADAMARD_MOST, "values",                                    \
                 "values that are rotated together, a power of two from 16 on; 0: none"),          \
        CC_PARAM_INT(st, flip, 0, 0, INT32_MAX, "seed",                                            \
                     "of random signs that values get before the rotation; 0: none")
/* The parameters `rounding`, whose default is d, `hadamard`, `flip` and `ef`, which schemes of
 * blocks share. */
#define CC_PARAMS_ROUNDING(st, d)                                                                  \
    CC_PARAM_CHOICE(st, rounding, d, cc_roundings,                                                 \
                    "to the nearest code, or at random to one of the two around"),                 \
        CC_PARAM_HADAMARD(st), CC_PARAM_EF(0, "keep the rounding error for the next step")
int cc_blocks_check(int64_t block, int64_t most, bool whole, int64_t hadamard, int64_t flip,
                    struct cc_error *e);

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
    static int encode_from(const struct cc_codec *c, const struct cc_context *ctx,                 \
                           struct cc_elements x, uint8_t *out, size_t cap, size_t *len,            \
                           struct cc_error *e)                                                     \
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
    .bound = bound, .traffic = traffic, .state_bytes = cc_ef_state_bytes,                          \
    .encode_from = encode_from, .decode = decode

#endif
