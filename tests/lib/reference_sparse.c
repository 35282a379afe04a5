/* Schemes that send some of the values: sparse, topk, threshold, randk, dgc, pairs. */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdlib.h>

/* --- the largest values --- */

static int by_size(const void *a, const void *b)
{
    const float *p = a, *q = b;
    return *p > *q ? -1 : *p < *q;
}

/* Marks the k largest magnitudes of x[0, n), of equal ones those of lower index; no zeros unless
 * requested. */
static void mark_largest(const float *x, size_t n, size_t k, bool zeros, uint8_t *kept)
{
    float *sorted = ref_room(n, sizeof *sorted);
    size_t ties = 0;
    for (size_t i = 0; i < n; i++)
        sorted[i] = fabsf(x[i]);
    qsort(sorted, n, sizeof *sorted, by_size);
    const float least = k > 0 ? sorted[k - 1] : INFINITY;
    for (size_t j = 0; j < k; j++)
        ties += sorted[j] == least;
    for (size_t i = 0; i < n; i++) {
        const bool tie = fabsf(x[i]) == least && ties > 0;
        ties -= tie;
        kept[i] = (tie || fabsf(x[i]) > least) && (zeros || x[i] != 0);
    }
    free(sorted);
}

static size_t count_of(double density, size_t n)
{
    double k = ceil(density * (double)n);
    if (k < 1)
        k = 1;
    return k > (double)n ? n : (size_t)k;
}

/* The threshold from a sample. False if the sample would be too small. */
static bool sampled_threshold(const struct cc_context *ctx, const float *x, size_t n, size_t k,
                              float *threshold)
{
    const size_t S = smaller(n / 32, 131072);
    if (n < 65536 || S * k < 3600 * n)
        return false;
    float *sample = ref_room(S, sizeof *sample);
    for (size_t i = 0; i < S; i++) {
        const size_t from = i * n / S, to = (i + 1) * n / S;
        const uint64_t draw = ref_random(ctx, ctx->rank, 1, i);
        sample[i] = fabsf(x[from + ((to - from) * draw >> 32)]);
    }
    qsort(sample, S, sizeof *sample, by_size);
    const size_t rank = (S * k + n - 1) / n;
    *threshold = sample[rank - 1] > 0 ? sample[rank - 1] : 0x1p-149f;
    free(sample);
    return true;
}

static void mark_sampled(const struct cc_context *ctx, const float *x, size_t n, size_t k,
                         uint8_t *kept)
{
    float threshold;
    if (sampled_threshold(ctx, x, n, k, &threshold)) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            kept[i] = fabsf(x[i]) >= threshold;
            count += kept[i];
        }
        const size_t off = count > k ? count - k : k - count;
        if (10 * off <= k)
            return;
    }
    mark_largest(x, n, k, false, kept);
}

/* --- pairs and bitmaps --- */

static void put_pairs(struct ref_out *out, const float *x, size_t n, const uint8_t *kept)
{
    for (size_t i = 0; i < n; i++) {
        if (kept[i]) {
            put_u32(out, (uint32_t)i);
            put_f32(out, x[i]);
        }
    }
}

static bool get_pairs(struct ref_in *in, float *y, size_t n, uint8_t *kept)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = 0;
        kept[i] = 0;
    }
    while (in->pos < in->len && !in->bad) {
        const size_t index = get_u32(in);
        const float value = get_f32(in);
        if (index < next || index >= n) {
            in->bad = true;
            break;
        }
        y[index] = value;
        kept[index] = 1;
        next = index + 1;
    }
    return get_end(in);
}

static void put_bitmap(struct ref_out *out, const float *x, size_t n, const uint8_t *kept)
{
    uint32_t *bit = ref_room(n, sizeof *bit);
    for (size_t i = 0; i < n; i++)
        bit[i] = kept[i];
    put_codes(out, bit, n, 1);
    free(bit);
    for (size_t i = 0; i < n; i++)
        if (kept[i])
            put_f32(out, x[i]);
}

static bool get_bitmap(struct ref_in *in, float *y, size_t n, uint8_t *kept)
{
    const size_t whole = (n + 7) / 8 * 8;
    uint32_t *bit = ref_room(whole, sizeof *bit);
    get_codes(in, bit, whole, 1);
    for (size_t i = n; i < whole; i++)
        if (bit[i] != 0)
            in->bad = true;
    for (size_t i = 0; i < n; i++) {
        kept[i] = bit[i] != 0;
        y[i] = kept[i] ? get_f32(in) : 0;
    }
    free(bit);
    return get_end(in);
}

/* --- sparse --- */

static bool sparse_read(const struct ref *r, struct ref_in *in, float *y, uint8_t *kept)
{
    if (setting_is(r->spec, "index", "u32"))
        return get_pairs(in, y, r->shape.n, kept);
    return get_bitmap(in, y, r->shape.n, kept);
}

static bool sparse_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                          float *y)
{
    (void)ctx;
    uint8_t *kept = ref_room(r->shape.n, 1);
    bool ok = sparse_read(r, in, y, kept);
    free(kept);
    return ok;
}

static void sparse_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                          struct ref_out *out)
{
    const size_t n = r->shape.n, k = count_of(setting_real(r->spec, "density"), n);
    uint8_t *kept = ref_room(n, 1);
    if (setting_is(r->spec, "select", "sampled"))
        mark_sampled(ctx, x, n, k, kept);
    else
        mark_largest(x, n, k, false, kept);
    (setting_is(r->spec, "index", "u32") ? put_pairs : put_bitmap)(out, x, n, kept);
    free(kept);
}

/* --- topk --- */

static void topk_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                        struct ref_out *out)
{
    (void)ctx;
    const size_t n = r->shape.n, bucket = (size_t)setting_int(r->spec, "bucket");
    for (size_t at = 0; at < n; at += bucket) {
        const size_t m = smaller(bucket, n - at);
        uint8_t *kept = ref_room(m, 1);
        mark_largest(x + at, m, smaller((size_t)setting_int(r->spec, "k"), m), true, kept);
        for (size_t i = 0; i < m; i++)
            if (kept[i])
                put_u16(out, (unsigned)i);
        for (size_t i = 0; i < m; i++)
            if (kept[i])
                put_f32(out, x[at + i]);
        free(kept);
    }
}

static bool topk_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const size_t n = r->shape.n, bucket = (size_t)setting_int(r->spec, "bucket");
    for (size_t at = 0; at < n; at += bucket) {
        const size_t m = smaller(bucket, n - at);
        const size_t c = smaller((size_t)setting_int(r->spec, "k"), m);
        size_t *index = ref_room(c, sizeof *index);
        size_t next = 0;
        for (size_t i = 0; i < m; i++)
            y[at + i] = 0;
        for (size_t j = 0; j < c; j++) {
            index[j] = get_u16(in);
            if (index[j] < next || index[j] >= m)
                in->bad = true;
            next = index[j] + 1;
        }
        for (size_t j = 0; j < c && !in->bad; j++)
            y[at + index[j]] = get_f32(in);
        free(index);
    }
    return get_end(in);
}

/* --- threshold --- */

static void threshold_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                             struct ref_out *out)
{
    (void)ctx;
    const float tau = (float)setting_real(r->spec, "tau");
    put_f32(out, tau);
    for (size_t i = 0; i < r->shape.n; i++)
        if (fabsf(x[i]) >= tau)
            put_u32(out, (uint32_t)(2 * i + (x[i] < 0)));
}

static bool threshold_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                             float *y)
{
    (void)ctx;
    const float tau = get_scale(in);
    size_t next = 0;
    for (size_t i = 0; i < r->shape.n; i++)
        y[i] = 0;
    while (in->pos < in->len && !in->bad) {
        const uint32_t v = get_u32(in);
        if (v / 2 < next || v / 2 >= r->shape.n) {
            in->bad = true;
            break;
        }
        y[v / 2] = v % 2 == 1 ? -tau : tau;
        next = v / 2 + 1;
    }
    return get_end(in);
}

/* --- randk --- */

/* A walk through a keyed permutation of [0, 4^b). */
static size_t walked_index(const struct cc_context *ctx, size_t n, size_t j)
{
    unsigned b = 4;
    while (b < 31 && (uint64_t)1 << (2 * b) < n)
        b++;
    const uint64_t half = (uint64_t)1 << b;
    uint64_t v = j;
    do {
        uint64_t L = v / half, R = v % half;
        for (uint64_t t = 0; t < 8; t++) {
            const uint64_t mixed = L ^ (ref_random(ctx, -1, t, R) % half);
            L = R;
            R = mixed;
        }
        v = L * half + R;
    } while (v >= n);
    return (size_t)v;
}

/* One index in each of k strata, all shifted. */
static size_t drawn_index(const struct ref *r, const struct cc_context *ctx, size_t k, size_t j)
{
    const size_t n = r->shape.n;
    if (setting_is(r->spec, "draw", "any"))
        return walked_index(ctx, n, j);
    const size_t begin = n / k * j + (j < n % k ? j : n % k);
    const size_t length = n / k + (j < n % k);
    const double in = floor((double)ref_random(ctx, -1, 0, j) / 0x1p32 * (double)length);
    /* 64 random bits as a fraction of n, which is small here: in long division by 2^32. */
    const uint64_t low = ref_random(ctx, -1, 1, 1) * (uint64_t)n >> 32;
    const uint64_t shift = (ref_random(ctx, -1, 1, 0) * (uint64_t)n + low) >> 32;
    return (begin + (size_t)in + (size_t)shift) % n;
}

static float randk_factor(const struct ref *r, size_t k)
{
    return (float)((double)r->shape.n / (double)k);
}

static bool randk_overflows(const struct ref *r, const struct cc_context *ctx, const float *x)
{
    const size_t n = r->shape.n;
    if (n == 0 || r->feedback)
        return false;
    const size_t k = count_of(setting_real(r->spec, "density"), n);
    for (size_t j = 0; j < k; j++)
        if (!is_finite(x[drawn_index(r, ctx, k, j)] * randk_factor(r, k)))
            return true;
    return false;
}

static void randk_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                         struct ref_out *out)
{
    const size_t n = r->shape.n, k = count_of(setting_real(r->spec, "density"), n);
    const float factor = randk_factor(r, k);
    for (size_t j = 0; j < k; j++) {
        const float value = x[drawn_index(r, ctx, k, j)];
        put_f32(out, r->feedback ? value : value * factor);
    }
}

static bool randk_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                         float *y)
{
    const size_t n = r->shape.n, k = count_of(setting_real(r->spec, "density"), n);
    for (size_t i = 0; i < n; i++)
        y[i] = 0;
    for (size_t j = 0; j < k && !in->bad; j++)
        y[drawn_index(r, ctx, k, j)] = get_f32(in);
    return get_end(in);
}

/* --- dgc --- */

static bool dgc_begin(struct ref *r, const struct cc_context *ctx, const float *gradient)
{
    (void)ctx;
    const float momentum = (float)setting_real(r->spec, "momentum");
    for (size_t i = 0; i < r->shape.n; i++) {
        const float product = momentum * r->u[i];
        r->u[i] = product + gradient[i];
        r->v[i] = r->v[i] + r->u[i];
        r->x[i] = r->v[i];
        if (!is_finite(r->u[i]) || !is_finite(r->v[i]))
            return false;
    }
    return true;
}

static void dgc_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                       struct ref_out *out)
{
    const size_t n = r->shape.n;
    const uint64_t warmup = (uint64_t)setting_int(r->spec, "warmup");
    double density = setting_real(r->spec, "density");
    if (ctx->step < warmup) {
        double early = 0.25;
        for (uint64_t i = 0; i < 5 * ctx->step / warmup; i++)
            early *= 0.25;
        density = early > density ? early : density;
    }
    uint8_t *kept = ref_room(n, 1);
    mark_largest(x, n, count_of(density, n), false, kept);
    put_pairs(out, x, n, kept);
    for (size_t i = 0; i < n; i++)
        if (kept[i])
            r->u[i] = r->v[i] = 0;
    free(kept);
}

static const char *dgc_finish(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                              size_t len)
{
    float *y = ref_room(r->shape.n, sizeof *y);
    const char *why = ref_verify(r, ctx, payload, len, y);
    free(y);
    return why;
}

static bool dgc_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                       float *y)
{
    (void)ctx;
    uint8_t *kept = ref_room(r->shape.n, 1);
    bool ok = get_pairs(in, y, r->shape.n, kept);
    free(kept);
    return ok;
}

/* --- pairs --- */

static void pairs_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                         struct ref_out *out)
{
    (void)ctx;
    uint8_t *kept = ref_room(r->shape.n, 1);
    for (size_t i = 0; i < r->shape.n; i++)
        kept[i] = bits_of(x[i]) != 0;
    put_pairs(out, x, r->shape.n, kept);
    free(kept);
}

const struct ref_row ref_rows_sparse[] = {
    {.id = "sparse", .feedback = IF_EF, .encode = sparse_encode, .decode = sparse_decode},
    {.id = "topk", .feedback = IF_EF, .encode = topk_encode, .decode = topk_decode},
    {.id = "threshold", .feedback = IF_EF, .encode = threshold_encode, .decode = threshold_decode},
    {.id = "randk",
     .feedback = IF_EF,
     .encode = randk_encode,
     .decode = randk_decode,
     .overflows = randk_overflows},
    {.id = "dgc",
     .begin = dgc_begin,
     .encode = dgc_encode,
     .finish = dgc_finish,
     .decode = dgc_decode},
    {.id = "pairs", .feedback = NEVER, .encode = pairs_encode, .decode = dgc_decode},
    {.id = NULL},
};
