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
#include "schemes/accumulate.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/plain.h"

#define MINUS_ZERO 0x80000000u

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bytes_product(shape->n, CC_PAIR_BYTES);
}

/* Part p finds the pairs of values [border(p), border(p + 1)). */
struct job {
    const float *x;
    size_t n;
    bool any; /* values need not be finite */
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
        found += count_block(j->x + i, cc_smaller(end - i, CC_SELECT_BLOCK), &most);
        if (!cc_finite_bits(most) && !j->any)
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
        const size_t n = cc_smaller(end - i, CC_SELECT_BLOCK);
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
    for (int p = 0; p < j->parts; p++)
        if (j->bad[p] < j->n)
            return cc_accumulate_refuse(ctx, j->x, NULL, j->bad[p], j->n, e);
    return CC_OK;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const size_t n = c->shape.n;
    CC_TRY(cc_pairs_check(n, ctx, "pairs", "cut the tensor", e));
    struct job j = {.x = x,
                    .n = n,
                    .any = cc_passes(c, ctx),
                    .parts = cc_parts(c->threads, n, CC_PART_VALUES),
                    .out = out};
    cc_parallel(j.parts, count_part, &j);
    CC_TRY(refuse_bad(&j, ctx, e));
    for (int p = 0; p < j.parts; p++)
        j.before[p + 1] += j.before[p];
    cc_parallel(j.parts, put_part, &j);
    CC_TRY(refuse_bad(&j, ctx, e));
    *len = CC_PAIR_BYTES * j.before[j.parts];
    return CC_OK;
}

const struct cc_scheme cc_scheme_nonzeros = {
    .id = "pairs",
    .title = "the values that are not zero",
    .reference = "Renggli et al., SparCML, SC 2019, section 3",
    .layout = "(u32 index, f32 value) for each value but +0",
    .flags = CC_SPARSE,
    .kind = CC_PAIRS,
    CC_NO_PARAMS,
    .bound = bound,
    .traffic = cc_reads_twice,
    .encode = encode,
    .decode = cc_pairs_decode,
    .pair_cost = cc_pairs_cost,
    .to_pairs = cc_pairs_read,
};
