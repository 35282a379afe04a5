/* topk: in each bucket of consecutive values, the k of largest magnitude.
 *
 * Payload: per bucket k x u16 index in the bucket, ascending, then k x f32. Its size is fixed:
 * zeros are sent if there is nothing larger. Buckets are independent, so threads share them, and
 * indices take 2 bytes instead of 4.
 *
 * Encoding a small bucket (up to CC_PICK_BLOCK values, in the first-level cache):
 *  1. residual += gradient, and all values above a threshold are collected as candidates. With
 *     AVX-512 and few values to send the threshold comes from the bucket itself (`collect`).
 *     Elsewhere it is a guess, so that one pass does both: it lies a margin below the running mean
 *     of the k-th largest magnitude of the buckets before; the margin adapts so that a little more
 *     than k candidates are found. With fewer than k, the threshold is lowered and the values are
 *     collected again.
 *  2. The k largest candidates are selected, written and cleared in the residual: where they are
 *     few, by ranking them (`put`); otherwise by a search for the threshold (cc_kth_cached).
 * A large bucket is searched for its threshold directly, with the last bucket's as the first guess.
 * The guesses affect speed only, never the payload. Ties go to the lower index.
 *
 * Decoding copies each bucket's indices and checks the copy just before use. Adding changes only
 * the values that were sent, and fetches them ahead.
 *
 * Source: Renggli et al., SparCML, SC 2019, section 6.1 (k = 16 of 512); Stich et al., Sparsified
 * SGD with Memory, NeurIPS 2018. */
#include "core/cache.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/expand.h"
#include "schemes/kernels/pick.h"
#include "schemes/kernels/scatter.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"
#include "schemes/zeros.h"

struct params {
    int64_t ef, k, bucket;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, k, 16, 1, 65536, "values", "values sent from each bucket"),
    CC_PARAM_INT(struct params, bucket, 512, 1, 65536, "values", "values in a bucket"),
    CC_PARAM_EF(1, "error feedback: keep what was not sent in a residual"),
    {.name = NULL},
};

#define BUCKET_MOST 65536
#define ITEM_BYTES  6 /* u16 index, f32 value */

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    if (p->k <= p->bucket)
        return CC_OK;
    return cc_usage(e, "k=%lld is more than a bucket of %lld holds; lower k or raise bucket",
                    (long long)p->k, (long long)p->bucket);
}

/* Payloads always have this size. */
static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bucket = (size_t)p->bucket, k = (size_t)p->k;
    return cc_bytes_sum(cc_bytes_product(shape->n / bucket, ITEM_BYTES * k),
                        ITEM_BYTES * cc_smaller(shape->n % bucket, k));
}

/* --- parts: whole buckets --- */

struct job {
    const struct params *p;
    size_t n;
    int threads;
    /* encode */
    struct cc_elements x;
    float *residual;
    uint8_t *out;
    /* decode */
    const uint8_t *in;
    const float *scale; /* NULL: values are set, not added */
    float *y;
};

static struct job make_job(const struct cc_codec *c)
{
    return (struct job){.p = c->params, .n = c->shape.n, .threads = c->threads};
}

/* Goes through the buckets; returns where the first bad one begins, n if there is none. */
static size_t run(struct job *j, size_t (*work)(void *arg, size_t begin, size_t end))
{
    return j->n - cc_parallel_values(j->threads, j->n, (size_t)j->p->bucket, work, j);
}

static size_t bucket_at(const struct job *j, size_t begin)
{
    return cc_smaller(j->n - begin, (size_t)j->p->bucket);
}

static size_t payload_at(const struct job *j, size_t begin)
{
    return begin / (size_t)j->p->bucket * (size_t)j->p->k * ITEM_BYTES;
}

/* --- encoding --- */

/* Where to expect a bucket's k-th largest magnitude; magnitudes are compared by their bits. */
struct guess {
    uint32_t kth;    /* running mean of the k-th largest; 0: not known */
    uint32_t margin; /* distance of the threshold below it */
};

/* Takes in a bucket's k-th largest, and how many candidates the threshold gave. */
static void update_guess(struct guess *g, uint32_t kth, size_t k, size_t candidates)
{
    g->kth = g->kth == 0 ? kth : g->kth - g->kth / 8 + kth / 8;
    if (candidates < k + k / 4 && g->margin < UINT32_C(1) << 28)
        g->margin += g->margin / 2;
    else if (candidates > 2 * k)
        g->margin -= g->margin / 8;
}

/* Marks the k largest of c candidates. */
static void mark_largest(const float *value, size_t c, size_t k, uint32_t most, uint32_t guess,
                         uint8_t *bits)
{
    size_t ties;
    uint32_t t = cc_kth_cached(value, c, k, most, guess, &ties);
    k_select()->mark(value, c, t, bits);
    if (ties != SIZE_MAX)
        cc_drop_ties(value, c, t, &ties, bits);
}

/* Writes the k marked candidates: indices, then values; sets x to 0 there unless it is NULL.
 * Returns the bits of the least magnitude. */
static uint32_t put_small(const uint16_t *index, const float *value, const uint8_t *bits, size_t c,
                          size_t k, uint8_t *out, float *x)
{
    uint8_t *values = out + sizeof(uint16_t) * k;
    uint32_t least = UINT32_MAX;
    size_t base = 0;
    uint64_t w = cc_bits_word(bits, c, 0);
    for (size_t j = 0; j < k; j++, w &= w - 1) {
        while (w == 0)
            w = cc_bits_word(bits, c, base += 64);
        size_t from = base + (size_t)__builtin_ctzll(w), at = index[from];
        uint32_t v = cc_f32_bits(value[from]), m = v & 0x7fffffffu;
        cc_put_u16(out + sizeof(uint16_t) * j, (uint16_t)at);
        cc_put_u32(values + sizeof(float) * j, v);
        if (x != NULL)
            x[at] = 0;
        least = m < least ? m : least;
    }
    return least;
}

/* A small bucket between the two halves of its encoding. */
struct small {
    const float *x; /* the gradient */
    float *residual;
    size_t n, k;
    size_t ahead; /* the distance of prefetching, in bytes */
    uint8_t *out;
    uint32_t threshold, most; /* most: the largest magnitude */
    size_t count;             /* candidates */
    uint16_t index[CC_PICK_BLOCK + CC_PICK_SLACK];
    float room[CC_PICK_BLOCK]; /* the values, if they are widened */
};

/* Whether this instruction set finds a threshold in the bucket itself. */
static bool is_quick(const struct small *b)
{
    return k_pick()->collect != NULL && b->k <= CC_PICK_TOP;
}

/* Updates the residual of a bucket of at most CC_PICK_BLOCK values and collects its candidates.
 * False if a value is not finite. */
static bool begin_small(struct small *b, const struct guess *g)
{
    b->threshold = g->kth > g->margin ? g->kth - g->margin : 0;
    b->count = is_quick(b) ? k_pick()->collect(b->x, b->residual, b->n, b->ahead, b->k, b->index,
                                               &b->threshold, &b->most)
                           : k_pick()->candidates(b->x, b->residual, b->n, b->ahead, b->threshold,
                                                  b->index, &b->most);
    return cc_finite_bits(b->most);
}

/* Any number of candidates, and ties among them. */
static void put_many(struct small *b, const float *from, struct guess *g)
{
    float value[CC_PICK_BLOCK + CC_PICK_SLACK];
    uint8_t bits[CC_PICK_BLOCK / 8];
    uint32_t t = b->threshold, step = g->margin, again;
    size_t c = b->count;
    while (c < b->k) { /* lower it step by step: with 0 all values would be candidates */
        step = step < UINT32_C(1) << 28 ? 4 * step : step;
        t = t > step ? t - step : 0;
        c = k_pick()->candidates(from, NULL, b->n, 0, t, b->index, &again);
    }
    for (size_t j = 0; j < c; j++)
        value[j] = from[b->index[j]];
    mark_largest(value, c, b->k, b->most, g->kth, bits);
    uint32_t kth = put_small(b->index, value, bits, c, b->k, b->out, b->residual);
    update_guess(g, kth, b->k, b->count);
}

/* Selects among the candidates, writes the payload and clears the residual. */
static void end_small(struct small *b, struct guess *g)
{
    const float *from = b->residual != NULL ? b->residual : b->x;
    if (!is_quick(b) || b->count < b->k ||
        !k_pick()->put(from, b->residual, b->index, b->count, b->k, b->threshold, b->out))
        put_many(b, from, g);
}

/* Writes the c marked values of a bucket: indices, then values. False if it has not c, which
 * happens if x changes while they are counted. */
static bool put_large(const float *x, const uint8_t *bits, size_t n, size_t c, uint8_t *out)
{
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    float value[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    uint8_t *values = out + sizeof(uint16_t) * c;
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        size_t m = cc_smaller(n - i, CC_SELECT_BLOCK);
        size_t count = k_select()->indices(bits + i / 8, m, (uint32_t)i, index);
        k_select()->pack(x + i, bits + i / 8, m, value);
        if (count > c)
            return false;
        c -= count;
        for (size_t j = 0; j < count; j++)
            cc_put_u16(out + sizeof(uint16_t) * j, (uint16_t)index[j]);
        memcpy(values, value, sizeof(float) * count);
        out += sizeof(uint16_t) * count;
        values += sizeof(float) * count;
    }
    return c == 0;
}

static bool encode_large(const float *x, float *residual, size_t n, size_t k, uint32_t *kth,
                         uint8_t *out)
{
    uint8_t bits[BUCKET_MOST / 8];
    const float *from = residual != NULL ? residual : x;
    size_t ties;
    uint32_t most = residual != NULL ? k_select()->add(x, residual, n) : k_reduce()->absmax(x, n);
    if (!cc_finite_bits(most))
        return false;
    *kth = cc_kth_cached(from, n, k, most, *kth, &ties);
    k_select()->mark(from, n, *kth, bits);
    if (ties != SIZE_MAX)
        cc_drop_ties(from, n, *kth, &ties, bits);
    if (!put_large(from, bits, n, k, out))
        return false;
    if (residual != NULL)
        k_select()->clear(bits, n, residual);
    return true;
}

/* While a bucket's candidates are collected, those of the bucket before wait to be selected from:
 * their indices have then left the store buffer. */
static size_t encode_small_buckets(const struct job *j, size_t i, size_t end)
{
    const size_t bucket = (size_t)j->p->bucket, bytes = j->n * sizeof(float);
    struct guess guess = {.margin = UINT32_C(1) << 21};
    struct small turn[2];
    struct small *now = &turn[0], *before = NULL;
    for (; i < end; i += bucket) {
        now->n = bucket_at(j, i);
        now->k = cc_smaller((size_t)j->p->k, now->n);
        now->x = cc_elements_read(j->x, i, now->n, now->room);
        now->residual = j->residual != NULL ? j->residual + i : NULL;
        now->out = j->out + payload_at(j, i);
        now->ahead = is_quick(now) ? cc_pick_ahead(bytes) : cc_read_ahead(bytes);
        if (!begin_small(now, &guess))
            return i;
        if (before != NULL)
            end_small(before, &guess);
        before = now;
        now = before == &turn[0] ? &turn[1] : &turn[0];
    }
    if (before != NULL)
        end_small(before, &guess);
    return i;
}

static size_t encode_large_buckets(const struct job *j, size_t i, size_t end)
{
    const size_t bucket = (size_t)j->p->bucket;
    uint32_t kth = 0;
    for (; i < end; i += bucket) {
        size_t n = bucket_at(j, i), k = cc_smaller((size_t)j->p->k, n);
        float *residual = j->residual != NULL ? j->residual + i : NULL;
        if (!encode_large((const float *)j->x.at + i, residual, n, k, &kth,
                          j->out + payload_at(j, i)))
            return i;
    }
    return i;
}

static size_t encode_range(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    const size_t at = j->p->bucket <= CC_PICK_BLOCK ? encode_small_buckets(j, begin, end)
                                                    : encode_large_buckets(j, begin, end);
    return at < end ? j->n - at : 0;
}

/* Large buckets are read more than once. */
static bool widens(const void *params)
{
    return ((const struct params *)params)->bucket > CC_PICK_BLOCK;
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    struct job j = make_job(c);
    j.x = x;
    j.residual = cc_ef_residual(c);
    j.out = out;
    const size_t bad = run(&j, encode_range);
    if (bad < j.n)
        return cc_refuse_sum(ctx, cc_elements_from(x, bad),
                             j.residual != NULL ? j.residual + bad : NULL, bad, bucket_at(&j, bad),
                             e);
    *len = bound(c->params, &c->shape);
    return CC_OK;
}

/* --- decoding --- */

/* Indices copied and checked at a time. */
#define CHECK 512

/* Copies the indices of items j .. j + count - 1, as the payload may change; false unless they
 * ascend strictly, are larger than that of the item before, `before`, and below n. */
static bool take_indices(const uint8_t *in, size_t j, size_t count, long before, size_t n,
                         uint16_t *index)
{
    memcpy(index, in + sizeof(uint16_t) * j, sizeof(uint16_t) * count);
    return (long)index[0] > before && index[count - 1] < n && k_expand()->ascend16(index, count);
}

/* A bucket that is a single block: the indices become the places that are filled in. */
static bool decode_small(const uint8_t *in, size_t n, size_t k, struct cc_zeros *z)
{
    const uint8_t *values = in + sizeof(uint16_t) * k;
    struct cc_zeros_block block = cc_zeros_next(z, n);
    if (!take_indices(in, 0, k, -1, n, block.place))
        return false;
    for (size_t j = 0; j < k; j++)
        block.y[block.place[j]] = cc_get_f32(values + sizeof(float) * j);
    block.filled = k;
    cc_zeros_put(z, &block);
    return true;
}

static bool decode_large(const uint8_t *in, size_t n, size_t k, struct cc_zeros *z)
{
    const uint8_t *values = in + sizeof(uint16_t) * k;
    uint16_t index[CHECK];
    size_t begin = 0, m = cc_smaller(n, CC_ZEROS_BLOCK);
    struct cc_zeros_block block = cc_zeros_next(z, m);
    long before = -1;
    for (size_t j = 0, count; j < k; j += count) {
        count = cc_smaller(k - j, CHECK);
        if (!take_indices(in, j, count, before, n, index))
            return false;
        before = index[count - 1];
        for (size_t i = 0; i < count; i++) {
            while (index[i] - begin >= m) {
                cc_zeros_put(z, &block);
                begin += m;
                m = cc_smaller(n - begin, CC_ZEROS_BLOCK);
                block = cc_zeros_next(z, m);
            }
            cc_zeros_set(&block, index[i] - begin, cc_get_f32(values + sizeof(float) * (j + i)));
        }
    }
    cc_zeros_put(z, &block);
    for (begin += m; begin < n; begin += m) {
        m = cc_smaller(n - begin, CC_ZEROS_BLOCK);
        (void)cc_zeros_next(z, m);
    }
    return true;
}

/* Adding fetches values this far ahead: where most lines change, all of them, in order; where
 * few do, those that items name, some buckets ahead. */
#define AHEAD     512
#define AHEAD_FEW 2048

/* Items between two calls that fetch. */
#define STEP 16

/* Whether adding fetches all lines: if a quarter of them change or more, and the tensor is larger
 * than the cache. */
static bool fetches_all(const struct job *j)
{
    return 4 * j->p->k >= j->p->bucket / (int64_t)(CC_ALIGN / sizeof(float)) &&
           cc_use_nontemporal(j->n * sizeof(float));
}

/* Adds a bucket to y[0, n); `left` >= n values follow, of which the first *fetched are in the
 * cache. */
static bool add_bucket(const uint8_t *in, size_t n, size_t k, float scale, float *y, size_t left,
                       size_t *fetched)
{
    const uint8_t *values = in + sizeof(uint16_t) * k;
    uint16_t index[CHECK];
    long before = -1;
    for (size_t j = 0, count; j < k; j += count) {
        count = cc_smaller(k - j, CHECK);
        if (!take_indices(in, j, count, before, n, index))
            return false;
        before = index[count - 1];
        for (size_t i = 0, end; i < count; i = end) {
            end = cc_smaller(i + STEP, count);
            *fetched = cc_touch(y, *fetched, cc_smaller(index[end - 1] + AHEAD, left));
            for (; i < end; i++) {
                float v = cc_get_f32(values + sizeof(float) * (j + i));
                y[index[i]] = cc_add_scaled(y[index[i]], scale, v);
            }
        }
    }
    return true;
}

/* The indices may be bad: nothing is read. */
static void prefetch_bucket(const uint8_t *in, size_t k, const float *y)
{
    for (size_t j = 0; j < k; j++)
        __builtin_prefetch((const void *)((uintptr_t)y + sizeof *y * cc_get_u16(in + 2 * j)), 1);
}

static size_t add_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    const size_t bucket = (size_t)j->p->bucket, step = ITEM_BYTES * (size_t)j->p->k;
    const size_t ahead = AHEAD_FEW / bucket + 1;
    const bool all = fetches_all(j);
    size_t fetched = all ? 0 : SIZE_MAX;
    const uint8_t *in = j->in + payload_at(j, i);
    for (; i < end; i += bucket, in += step) {
        size_t n = bucket_at(j, i), k = cc_smaller((size_t)j->p->k, n);
        if (!all && end - i > (ahead + 1) * bucket)
            prefetch_bucket(in + ahead * step, k, j->y + i + ahead * bucket);
        if (!add_bucket(in, n, k, *j->scale, j->y + i, end - i, &fetched))
            return j->n - i;
        fetched = !all ? fetched : fetched > n ? fetched - n : 0;
    }
    return 0;
}

/* Buckets within the cache. */
static size_t decode_cached(const struct job *j, size_t i, size_t end)
{
    const size_t bucket = (size_t)j->p->bucket, k = (size_t)j->p->k, whole = (end - i) / bucket;
    const uint8_t *in = j->in + payload_at(j, i);
    const size_t good = k_scatter()->buckets(in, whole, bucket, k, j->y + i);
    i += good * bucket;
    if (good < whole || i == end)
        return good < whole ? j->n - i : 0;
    const size_t n = end - i;
    return k_scatter()->buckets(in + whole * ITEM_BYTES * k, 1, n, cc_smaller(k, n), j->y + i) == 1
               ? 0
               : j->n - i;
}

static size_t decode_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    const size_t bucket = (size_t)j->p->bucket;
    if (bucket <= CC_SCATTER_BUCKET && !cc_use_nontemporal(j->n * sizeof(float)))
        return decode_cached(j, i, end);
    struct cc_zeros z;
    cc_zeros_open(&z, j->y + i, j->n * sizeof(float), (double)j->p->k / (double)bucket);
    const uint8_t *in = j->in + payload_at(j, i);
    for (; i < end; i += bucket, in += ITEM_BYTES * (size_t)j->p->k) {
        size_t n = bucket_at(j, i), k = cc_smaller((size_t)j->p->k, n);
        if (!(n <= CC_ZEROS_BLOCK ? decode_small(in, n, k, &z) : decode_large(in, n, k, &z)))
            break;
    }
    cc_zeros_close(&z);
    return i < end ? j->n - i : 0;
}

/* CC_FAIL with the first index of a bucket that does not ascend or is out of range. */
static int refuse_bucket(const uint8_t *in, size_t offset, size_t n, size_t k, struct cc_error *e)
{
    size_t next = 0;
    for (size_t j = 0; j < k; j++) {
        size_t at = offset + sizeof(uint16_t) * j, index = cc_get_u16(in + at);
        if (index >= n)
            return cc_bad_payload(at, e, "index %zu is beyond the bucket's %zu values", index, n);
        if (index < next)
            return cc_bad_payload(at, e, "index %zu does not ascend: the one before is %zu", index,
                                  next - 1);
        next = index + 1;
    }
    return cc_changed_payload(e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    struct job j = make_job(c);
    size_t want = bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    j.in = in;
    j.scale = scale;
    j.y = y;
    const size_t bad = run(&j, scale == NULL ? decode_range : add_range), n = bucket_at(&j, bad);
    if (bad < j.n)
        return refuse_bucket(in, payload_at(&j, bad), n, cc_smaller((size_t)j.p->k, n), e);
    return CC_OK;
}

/* --- reading as pairs --- */

static struct cc_pair_cost pair_cost(const void *params)
{
    (void)params;
    return (struct cc_pair_cost){.pair_bits = 8 * ITEM_BYTES};
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    (void)ctx;
    const struct job j = make_job(c);
    const size_t want = bound(c->params, &c->shape), bucket = (size_t)j.p->bucket;
    if (len != want)
        return cc_bad_length(len, want, e);
    CC_TRY(cc_check_pairs_room(len / ITEM_BYTES, cap, e));
    for (size_t begin = 0; begin < j.n; begin += bucket) {
        const size_t n = bucket_at(&j, begin), k = cc_smaller((size_t)j.p->k, n);
        const uint8_t *item = in + payload_at(&j, begin), *value = item + sizeof(uint16_t) * k;
        for (size_t i = 0; i < k; i++)
            out[i] = (struct cc_index_value){
                base + (uint32_t)(begin + cc_get_u16(item + sizeof(uint16_t) * i)),
                cc_get_f32(value + sizeof(float) * i)};
        if (!cc_pairs_ascend(out, 0, k, base + (uint32_t)begin, n))
            return refuse_bucket(in, payload_at(&j, begin), n, k, e);
        out += k;
    }
    *count = len / ITEM_BYTES;
    return CC_OK;
}

const struct cc_scheme cc_scheme_topk = {
    .id = "topk",
    .title = "the k largest of each bucket",
    .reference = "Renggli et al., SparCML, SC 2019, section 6.1 (k = 16 of 512)",
    .layout = "per bucket: k x u16 index in the bucket, k x f32 value",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_PAIRS,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    .bound = bound,
    .traffic = cc_ef_once,
    .state_bytes = cc_ef_state_bytes,
    .encode_from = encode_from,
    .widens = widens,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
    .residual_at = cc_ef_residual_at,
};
