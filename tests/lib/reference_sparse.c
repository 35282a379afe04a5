/* Schemes that send some of the values: sparse, topk, threshold, randk, dgc. */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- which values are largest --- */

struct entry {
    float magnitude;
    size_t index;
};

static int by_magnitude(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    if (p->magnitude != q->magnitude)
        return p->magnitude > q->magnitude ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

/* Marks the k largest magnitudes of x[0, n), ties to the lower index; no zeros unless asked. */
static void mark_largest(const float *x, size_t n, size_t k, bool zeros, uint8_t *kept)
{
    struct entry *all = ref_room(n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct entry){fabsf(x[i]), i};
        kept[i] = 0;
    }
    qsort(all, n, sizeof *all, by_magnitude);
    for (size_t j = 0; j < k; j++)
        if (zeros || all[j].magnitude > 0)
            kept[all[j].index] = 1;
    free(all);
}

static size_t count_of(double density, size_t n)
{
    double k = ceil(density * (double)n);
    if (k < 1)
        k = 1;
    return k > (double)n ? n : (size_t)k;
}

/* What the page demands of a selection by a sampled threshold: everything at or above the smallest
 * that was kept, no more than a tenth off k; or else the k largest. */
static const char *check_selection(const float *x, size_t n, size_t k, const uint8_t *kept)
{
    static char why[160];
    size_t count = 0, at_or_above = 0;
    float least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        count += kept[i];
        if (kept[i] && fabsf(x[i]) < least)
            least = fabsf(x[i]);
    }
    for (size_t i = 0; i < n; i++)
        at_or_above += fabsf(x[i]) >= least;
    const size_t off = count > k ? count - k : k - count;
    if (count == at_or_above && 10 * off <= k)
        return NULL;
    uint8_t *exact = ref_room(n, 1);
    mark_largest(x, n, k, false, exact);
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && exact[i] == kept[i];
    free(exact);
    if (same)
        return NULL;
    (void)snprintf(why, sizeof why,
                   "%zu values of %zu are kept, k is %zu, %zu are at or above the smallest kept, "
                   "and it is not the exact selection",
                   count, n, k, at_or_above);
    return why;
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

/* The selection may be free; which bytes it becomes is not. */
static const char *sparse_check(struct ref *r, const struct cc_context *ctx, const float *x,
                                const uint8_t *payload, size_t len)
{
    (void)ctx;
    const size_t n = r->shape.n, k = count_of(setting_real(r->spec, "density"), n);
    uint8_t *kept = ref_room(n, 1);
    float *y = ref_room(n, sizeof *y);
    struct ref_in in = {.at = payload, .len = len};
    const char *why = NULL;
    (void)sparse_read(r, &in, y, kept);
    if (setting_is(r->spec, "select", "sampled"))
        why = check_selection(x, n, k, kept);
    else
        mark_largest(x, n, k, false, kept);
    struct ref_out out = {0};
    (setting_is(r->spec, "index", "u32") ? put_pairs : put_bitmap)(&out, x, n, kept);
    bool same = out.len == len;
    for (size_t i = 0; i < len && same; i++)
        same = out.at[i] == payload[i];
    if (why == NULL && !same)
        why = "the selection or its bytes are not as the page says";
    free(out.at);
    free(kept);
    free(y);
    return why;
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
static size_t drawn_index(const struct cc_context *ctx, size_t n, size_t j)
{
    unsigned b = 1;
    while (b < 31 && (uint64_t)1 << (2 * b) < n)
        b++;
    const uint64_t half = (uint64_t)1 << b;
    uint64_t v = j;
    do {
        uint64_t L = v / half, R = v % half;
        for (uint64_t t = 0; t < 4; t++) {
            const uint64_t mixed = L ^ (ref_random(ctx, -1, t, R) % half);
            L = R;
            R = mixed;
        }
        v = L * half + R;
    } while (v >= n);
    return (size_t)v;
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
        if (!is_finite(x[drawn_index(ctx, n, j)] * randk_factor(r, k)))
            return true;
    return false;
}

static void randk_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                         struct ref_out *out)
{
    const size_t n = r->shape.n, k = count_of(setting_real(r->spec, "density"), n);
    const float factor = randk_factor(r, k);
    for (size_t j = 0; j < k; j++) {
        const float value = x[drawn_index(ctx, n, j)];
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
        y[drawn_index(ctx, n, j)] = get_f32(in);
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

static const char *dgc_finish(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                              size_t len)
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
    float *y = ref_room(n, sizeof *y);
    struct ref_in in = {.at = payload, .len = len};
    const char *why = NULL;
    if (!get_pairs(&in, y, n, kept))
        why = "the payload does not decode by the page";
    else if (n > 0)
        why = check_selection(r->x, n, count_of(density, n), kept);
    for (size_t i = 0; i < n && why == NULL; i++) {
        if (!kept[i])
            continue;
        if (bits_of(y[i]) != bits_of(r->v[i]))
            why = "a value sent is not v";
        r->u[i] = r->v[i] = 0;
    }
    free(kept);
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

const struct ref_row ref_rows_sparse[] = {
    {.id = "sparse", .feedback = IF_EF, .check = sparse_check, .decode = sparse_decode},
    {.id = "topk", .feedback = IF_EF, .encode = topk_encode, .decode = topk_decode},
    {.id = "threshold", .feedback = IF_EF, .encode = threshold_encode, .decode = threshold_decode},
    {.id = "randk",
     .feedback = IF_EF,
     .encode = randk_encode,
     .decode = randk_decode,
     .overflows = randk_overflows},
    {.id = "dgc", .begin = dgc_begin, .finish = dgc_finish, .decode = dgc_decode},
    {.id = NULL},
};
