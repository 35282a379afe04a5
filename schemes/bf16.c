/* bf16: the upper half of a binary32 (8 bits of exponent, 7 of fraction), saturating at the largest
 * finite value. Same range as fp32, no scale needed. Rounded to the nearest, ties to even
 * (floats.h, kernels/half.k.c); or at random to one of the two numbers around, with the probability
 * that makes the value the expectation (kernels/residual.k.c), so that sums of many roundings keep
 * what each would lose. Numbers that bf16 has stay as they are either way. */
#include <string.h>

#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/blocks.h"
#include "schemes/floats.h"
#include "schemes/kernels/residual.h"

struct params {
    int64_t rounding;
};

static const struct cc_param table[] = {
    CC_PARAM_CHOICE(struct params, rounding, 0, cc_roundings,
                    "to the nearest number, or at random to one of the two around"),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bytes_product(shape->n, sizeof(uint16_t));
}

struct job {
    const struct cc_context *ctx;
    struct cc_elements x;
    uint8_t *out;
    size_t n;
};

/* Rounds m values, at most CC_TILE, from index i of the codec on. The key changes where the index
 * in the tensor passes a multiple of 2^32. */
static void round_tile(const struct job *j, const float *x, size_t i, size_t m, uint16_t *out)
{
    for (size_t k = 0, some; k < m; k += some) {
        const uint64_t index = j->ctx->offset + i + k, same_key = cc_same_key(index);
        some = m - k < same_key ? m - k : (size_t)same_key;
        k_residual()->narrow(x + k, cc_context_key(j->ctx, index, 0), (uint32_t)index, out + k,
                             some);
    }
}

/* Returns the largest bits of |x|. */
static size_t random_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    uint32_t most = 0;
    float room[CC_TILE];
    uint16_t half[CC_TILE];
    struct cc_sink sink;
    cc_sink_open(&sink, j->out + 2 * first, cc_elements_bytes(j->x, j->n) + 2 * j->n);
    for (size_t i = first, m; i < end; i += m) {
        m = end - i < CC_TILE ? end - i : CC_TILE;
        cc_sink_ahead(&sink, cc_elements_from(j->x, i).at, cc_elements_bytes(j->x, m));
        const float *x = cc_elements_read(j->x, i, m, room);
        const uint32_t bits = k_reduce()->absmax(x, m);
        most = bits > most ? bits : most;
        round_tile(j, x, i, m, half);
        memcpy(cc_sink_room(&sink), half, 2 * m); /* at any address */
        cc_sink_put(&sink, 2 * m);
    }
    cc_sink_close(&sink);
    return most;
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    struct job j = {.ctx = ctx, .x = x, .out = out, .n = c->shape.n};
    if (p->rounding == 0)
        return cc_floats_encode(&k_half()->bf16, sizeof(uint16_t), c, ctx, x, out, len, e);
    *len = bound(p, &c->shape);
    return cc_finite_bits(cc_parallel_values(c->threads, j.n, CC_TILE, random_range, &j))
               ? CC_OK
               : cc_refuse_from(ctx, x, NULL, j.n, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    return cc_floats_decode(&k_half()->bf16, sizeof(uint16_t), c, in, len, scale, y, e);
}

const struct cc_scheme cc_scheme_bf16 = {
    .id = "bf16",
    .title = "bfloat16, rounded",
    .reference = "Wang and Kanwar 2019, bfloat16",
    .layout = "n x u16: upper half of binary32, nearest even or random, saturating",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = cc_reads_once,
    .encode_from = encode_from,
    .decode = decode,
};
