/* sparse: the values of largest magnitude of the tensor; the others wait in the residual.
 *
 * Encoding is one selection over the whole tensor (selection.h) of gradient + residual: exactly the
 * k = ceil(density n) largest, or everything above a threshold from a random sample, which saves a
 * pass and keeps k to within a tenth. The selection yields a bit array of the kept places and the
 * kept values in order, and clears them in the residual.
 *
 * index=bitmap sends just these two: n bits, then an f32 for each set bit, which is smaller above a
 * density of 1/32. index=u32 sends (u32 index, f32 value) instead (pairs.h); the bit array then
 * lies in scratch memory.
 *
 * Decoding a bitmap, every part of the tensor first counts its set bits; the running sum tells
 * where its values begin, and all parts expand at once.
 *
 * Source: Aji & Heafield, Sparse Communication for Distributed Gradient Descent, EMNLP 2017,
 * section 3 (dropping by a sampled threshold, residuals); the bitmap: 3LC, section 4.2, "5%
 * sparsification".
 */
#include "core/cache.h"
#include "core/copy.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/tile.h"
#include "schemes/kernels/expand.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

enum { SAMPLED, EXACT };
enum { BITMAP, U32 };
static const char *const select_names[] = {"sampled", "exact", NULL};
static const char *const index_names[] = {"bitmap", "u32", NULL};

struct params {
    int64_t ef, select, index;
    double density;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, density, 0.05, 0, 1, "", "the share of the values that is sent",
                  .min_open = true),
    CC_PARAM_EF(1, "error feedback: keep what was not sent in a residual"),
    CC_PARAM_CHOICE(
        struct params, select, SAMPLED, select_names,
        "a threshold from a sample (within a tenth of density), or exactly the largest"),
    CC_PARAM_CHOICE(
        struct params, index, BITMAP, index_names,
        "where the values were: 1 bit for each value, or 32 bits for each that is sent"),
    {.name = NULL},
};

static enum cc_select_mode mode_of(const struct params *p)
{
    return p->select == EXACT ? CC_SELECT_EXACT : CC_SELECT_SAMPLED;
}

static size_t most_sent(const struct params *p, size_t n)
{
    return cc_select_most(p->density, n, mode_of(p));
}

static size_t select_bytes(const struct params *p, size_t n)
{
    return cc_select_scratch(p->density, n, mode_of(p));
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    const size_t most = most_sent(p, shape->n);
    return p->index == U32 ? cc_bytes_product(most, CC_PAIR_BYTES)
                           : cc_bytes_sum(cc_float_bytes(most), cc_bit_bytes(shape->n));
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    const size_t own = select_bytes(p, shape->n);
    return p->index == U32 ? cc_select_pairs_scratch(own, most_sent(p, shape->n), shape->n)
                           : cc_align_up(own);
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    struct cc_traffic t = cc_traffic_one(p->ef != 0);
    if (mode_of(p) == CC_SELECT_EXACT && p->density > 1.0 / CC_SELECT_FEW) {
        t.passes = 2;
        t.pass[1].reads = p->ef == 0;
        t.pass[1].updates = p->ef != 0;
    }
    return t;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n;
    const struct cc_selection_input from = {.gradient = x, .sum = cc_ef_residual(c), .n = n};
    if (p->index == U32) {
        CC_TRY(cc_pairs_check(n, ctx, "index=u32", "use index=bitmap", e));
        return cc_select_pairs(&from, p->density, mode_of(p), c->threads, ctx, c->scratch,
                               select_bytes(p, n), most_sent(p, n), out, len, e);
    }
    struct cc_selection to = {.bits = out, .values = out + cc_bit_bytes(n)};
    CC_TRY(cc_select(&from, p->density, mode_of(p), c->threads, ctx, c->scratch, &to, e));
    *len = cc_bit_bytes(n) + sizeof(float) * to.count;
    return CC_OK;
}

/* --- decoding a bitmap --- */

struct expansion {
    const uint8_t *bits, *values;
    size_t n, count;
    int parts;
    size_t before[CC_PARTS_MAX + 1]; /* set bits before each part */
    const float *scale;              /* NULL: decode */
    float *y;
    bool changed[CC_PARTS_MAX]; /* the part's bits, since they were counted */
};

static size_t border(const struct expansion *x, int part)
{
    return cc_part_begin(x->n, x->parts, part, CC_SELECT_BLOCK);
}

static void count_part(void *arg, int part)
{
    struct expansion *x = arg;
    size_t begin = border(x, part), end = border(x, part + 1);
    x->before[part + 1] = k_expand()->popcount(x->bits + begin / 8, end - begin);
}

/* k_expand's expand around the cache, to a y that begins anywhere. */
static size_t expand_unaligned(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                               float *y)
{
    struct cc_sink sink;
    size_t count = 0;
    cc_sink_open(&sink, y, SIZE_MAX);
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_sink_tile(&sink, n - i);
        size_t here = k_expand()->expand(bits + i / 8, m, values + sizeof *y * count, left - count,
                                         false, cc_sink_room(&sink));
        if (here == SIZE_MAX)
            return SIZE_MAX;
        count += here;
        cc_sink_put(&sink, m * sizeof *y);
    }
    cc_sink_close(&sink);
    return count;
}

static void expand_part(void *arg, int part)
{
    struct expansion *x = arg;
    size_t begin = border(x, part), n = border(x, part + 1) - begin, before = x->before[part];
    const size_t count = x->before[part + 1] - before;
    const uint8_t *bits = x->bits + begin / 8, *values = x->values + sizeof(float) * before;
    float *y = x->y + begin;
    if (x->scale != NULL) {
        x->changed[part] =
            k_expand()->expand_add(bits, n, values, x->count - before, *x->scale, y) != count;
        return;
    }
    bool nontemporal = cc_use_nontemporal(x->n * sizeof(float));
    if (nontemporal && (uintptr_t)y % CC_ALIGN != 0) {
        x->changed[part] = expand_unaligned(bits, n, values, x->count - before, y) != count;
        return;
    }
    x->changed[part] =
        k_expand()->expand(bits, n, values, x->count - before, nontemporal, y) != count;
    k_copy()->fence();
}

/* Checks that the bitmap is whole, ends with zeros, and has a value for every set bit; counts the
 * bits of the parts. */
static int check_bitmap(struct expansion *x, size_t len, struct cc_error *e)
{
    size_t n = x->n, bytes = cc_bit_bytes(n);
    if (len < bytes)
        return cc_bad_payload(len, e, "the payload ends in its bitmap of %zu bytes", bytes);
    if (n % 8 != 0 && x->bits[bytes - 1] >> n % 8 != 0)
        return cc_bad_payload(bytes - 1, e, "the bitmap has bits set after the last of %zu values",
                              n);
    cc_parallel(x->parts, count_part, x);
    for (int p = 0; p < x->parts; p++)
        x->before[p + 1] += x->before[p];
    x->count = x->before[x->parts];
    x->values = x->bits + bytes;
    if (len != bytes + sizeof(float) * x->count)
        return cc_bad_length(len, bytes + sizeof(float) * x->count, e);
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    const struct params *p = c->params;
    size_t n = c->shape.n;
    if (p->index == U32)
        return cc_pairs_decode(c, ctx, in, len, scale, y, e);
    struct expansion x = {.bits = in,
                          .n = n,
                          .parts = cc_parts(c->threads, n, CC_PART_VALUES),
                          .scale = scale,
                          .y = y};
    CC_TRY(check_bitmap(&x, len, e));
    cc_parallel(x.parts, expand_part, &x);
    for (int part = 0; part < x.parts; part++)
        if (x.changed[part])
            return cc_changed_payload(e);
    return CC_OK;
}

/* --- reading as pairs --- */

static struct cc_pair_cost pair_cost(const void *params)
{
    const struct params *p = params;
    return p->index == U32 ? cc_pairs_cost(params)
                           : (struct cc_pair_cost){.value_bits = 1, .pair_bits = 32};
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    const struct params *p = c->params;
    const size_t n = c->shape.n;
    if (p->index == U32)
        return cc_pairs_read(c, ctx, in, len, base, out, cap, count, e);
    struct expansion x = {.bits = in, .n = n, .parts = cc_parts(c->threads, n, CC_PART_VALUES)};
    CC_TRY(check_bitmap(&x, len, e));
    CC_TRY(cc_check_pairs_room(x.count, cap, e));
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    const uint8_t *value = x.values;
    size_t left = x.count;
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        const size_t m = n - i < CC_SELECT_BLOCK ? n - i : CC_SELECT_BLOCK;
        const size_t set = k_select()->indices(x.bits + i / 8, m, base + (uint32_t)i, index);
        if (set > left)
            return cc_changed_payload(e);
        left -= set;
        for (size_t j = 0; j < set; j++, value += sizeof(float))
            *out++ = (struct cc_index_value){index[j], cc_get_f32(value)};
    }
    *count = x.count;
    return left == 0 ? CC_OK : cc_changed_payload(e);
}

const struct cc_scheme cc_scheme_sparse = {
    .id = "sparse",
    .title = "sparsification by magnitude",
    .reference = "Aji & Heafield, Sparse Communication for Distributed Gradient Descent, EMNLP "
                 "2017, section 3; the bitmap: Lim et al., 3LC, MLSys 2019, section 4.2",
    .layout = "index=bitmap: n bits (1 = sent), then an f32 for each; index=u32: (u32 index, f32 "
              "value) for each",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_PAIRS,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .state_bytes = cc_ef_state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
    .residual_at = cc_ef_residual_at,
};
