/* pairs: an index-value pair for each value that is not zero; nothing is lost. For gradients that
 * are sparse by nature, and for timing exchanges without a selection. -0 is sent, as its bits would
 * otherwise be lost.
 *
 * Encoding counts first, so that every part of the tensor knows where its pairs begin, and then
 * marks each block's values in the cache and writes their pairs. Decoding is that of pairs in
 * pairs.h.
 *
 * Source: Renggli et al., SparCML, SC 2019, section 3. */
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"

struct params {
    char none;
};

static const struct cc_param table[] = {{.name = NULL}};

#define MINUS_ZERO 0x80000000u

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes;
    return cc_mul(shape->n, CC_PAIR_BYTES, &bytes) ? bytes : SIZE_MAX;
}

static struct cc_traffic traffic(const void *params)
{
    (void)params;
    return cc_traffic_two(0);
}

/* Part p finds the pairs of values [border(p), border(p + 1)). */
struct job {
    const float *x;
    size_t n;
    int parts;
    uint8_t *out;
    size_t before[CC_PARTS_MAX + 1]; /* pairs before each part */
    size_t bad[CC_PARTS_MAX];        /* the first block with a value that is not finite, or with
                                        more pairs than were counted; n: none */
};

static size_t border(const struct job *j, int part)
{
    return cc_part_begin(j->n, j->parts, part, CC_SELECT_BLOCK);
}

static size_t block_at(size_t begin, size_t end)
{
    return end - begin < CC_SELECT_BLOCK ? end - begin : CC_SELECT_BLOCK;
}

/* Counts the values of a block whose bits are not all 0; *most: the largest bits of |x|. */
static size_t count_block(const float *x, size_t n, uint32_t *most)
{
    uint32_t found = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = cc_f32_bits(x[i]), magnitude = v & ~MINUS_ZERO;
        found += v != 0;
        largest = magnitude > largest ? magnitude : largest;
    }
    *most = largest;
    return found;
}

/* Sets the bits of the same values. */
static void mark_block(const float *x, size_t n, uint8_t *bits)
{
    uint32_t minus_zeros = 0;
    (void)k_select()->mark(x, n, 1, bits);
    for (size_t i = 0; i < n; i++)
        minus_zeros += cc_f32_bits(x[i]) == MINUS_ZERO;
    for (size_t i = 0; i < n && minus_zeros > 0; i++)
        if (cc_f32_bits(x[i]) == MINUS_ZERO)
            bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << i % 8);
}

static void count_part(void *arg, int part)
{
    struct job *j = arg;
    const size_t end = border(j, part + 1);
    size_t found = 0;
    uint32_t most = 0;
    j->bad[part] = j->n;
    for (size_t i = border(j, part); i < end && j->bad[part] == j->n; i += CC_SELECT_BLOCK) {
        found += count_block(j->x + i, block_at(i, end), &most);
        if (!cc_finite_bits(most))
            j->bad[part] = i;
    }
    j->before[part + 1] = found;
}

/* Writes as many pairs as were counted: x may have changed since. */
static void put_part(void *arg, int part)
{
    struct job *j = arg;
    const size_t end = border(j, part + 1);
    size_t left = j->before[part + 1] - j->before[part];
    uint8_t bits[CC_SELECT_BLOCK / 8], *out = j->out + CC_PAIR_BYTES * j->before[part];
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    for (size_t i = border(j, part); i < end; i += CC_SELECT_BLOCK) {
        const size_t n = block_at(i, end);
        mark_block(j->x + i, n, bits);
        const size_t found = k_select()->indices(bits, n, (uint32_t)i, index);
        if (found > left || (found < left && end - i <= CC_SELECT_BLOCK)) {
            j->bad[part] = i;
            return;
        }
        left -= found;
        for (size_t p = 0; p < found; p++, out += CC_PAIR_BYTES) {
            cc_put_u32(out, index[p]);
            cc_put_f32(out + 4, j->x[index[p]]);
        }
    }
}

static int refuse_bad(const struct job *j, const struct cc_context *ctx, struct cc_error *e)
{
    for (int p = 0; p < j->parts; p++) {
        const size_t bad = j->bad[p];
        struct cc_context here = *ctx;
        here.offset += bad;
        if (bad < j->n)
            return cc_refuse(&here, j->x + bad, NULL, block_at(bad, j->n), e);
    }
    return CC_OK;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const size_t n = c->shape.n;
    if (n > CC_PAIRS_MOST)
        return cc_fail(e, "tensor '%s': pairs has indices for 2^32 values only; cut the tensor",
                       ctx->name != NULL ? ctx->name : "?");
    struct job j = {.x = x, .n = n, .parts = cc_parts(c->threads, n, CC_PART_VALUES), .out = out};
    cc_parallel(j.parts, count_part, &j);
    CC_TRY(refuse_bad(&j, ctx, e));
    for (int p = 0; p < j.parts; p++)
        j.before[p + 1] += j.before[p];
    cc_parallel(j.parts, put_part, &j);
    CC_TRY(refuse_bad(&j, ctx, e));
    *len = CC_PAIR_BYTES * j.before[j.parts];
    return CC_OK;
}

static struct cc_indexed pairs_of(const struct cc_codec *c, const uint8_t *in, size_t len)
{
    return (struct cc_indexed){.payload = in, .end = len, .n = c->shape.n};
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const struct cc_indexed pairs = pairs_of(c, in, len);
    return cc_indexed_decode(&pairs, c->threads, scale, y, e);
}

static struct cc_pair_cost pair_cost(const void *params)
{
    (void)params;
    return (struct cc_pair_cost){.pair_bits = 8 * CC_PAIR_BYTES};
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    (void)ctx;
    const struct cc_indexed pairs = pairs_of(c, in, len);
    return cc_indexed_to_pairs(&pairs, base, out, cap, count, e);
}

const struct cc_scheme cc_scheme_nonzeros = {
    .id = "pairs",
    .title = "the values that are not zero",
    .reference = "Renggli et al., SparCML, SC 2019, section 3",
    .layout = "(u32 index, f32 value) for each value but +0",
    .flags = CC_SPARSE,
    .kind = CC_PAIRS,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
};
