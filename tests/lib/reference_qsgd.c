/* qsgd: levels of a norm, in codes of one width or in Elias's. */
#include "tests/lib/reference_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct form {
    int64_t s;
    unsigned width; /* bits of a fixed code */
    size_t bucket;
    bool l2, elias;
};

static struct form form_of(const struct ref *r)
{
    struct form f = {.s = setting_int(r->spec, "levels"),
                     .bucket = (size_t)setting_int(r->spec, "bucket"),
                     .l2 = setting_is(r->spec, "norm", "l2"),
                     .elias = setting_is(r->spec, "code", "elias")};
    if (f.s == 0)
        f.s = ((int64_t)1 << (setting_int(r->spec, "bits") - 1)) - 1;
    while (((int64_t)1 << f.width) < 2 * f.s + 1)
        f.width++;
    if (f.bucket == 0)
        f.bucket = r->shape.n;
    return f;
}

static float norm_of(const float *x, size_t n, const struct form *f)
{
    if (!f->l2)
        return largest_magnitude(x, n);
    const float norm = (float)sqrt(tree_sum(x, n, term_square));
    return norm > FLT_MAX ? FLT_MAX : norm;
}

static int64_t level_of(float x, float norm, float u, int64_t s)
{
    if (!(norm > 0))
        return 0;
    float quotient = fabsf(x) / norm;
    float a = quotient * (float)s;
    float below = floorf(a), rest = a - below;
    int64_t level = (int64_t)below;
    if (u < rest)
        level++;
    if (level > s)
        level = s;
    return x < 0 ? -level : level;
}

/* --- bits, most significant first; each is an element here --- */

struct bits {
    uint8_t *bit;
    size_t count, capacity;
};

static void add_bit(struct bits *b, unsigned v)
{
    if (b->count == b->capacity) {
        b->capacity = 2 * b->capacity + 64;
        b->bit = realloc(b->bit, b->capacity);
        if (b->bit == NULL)
            exit(1);
    }
    b->bit[b->count++] = (uint8_t)v;
}

static void add_omega(struct bits *b, uint64_t v)
{
    uint8_t front[256];
    size_t at = sizeof front;
    front[--at] = 0;
    while (v > 1) {
        uint64_t length = 0;
        for (uint64_t rest = v; rest > 0; rest /= 2) {
            front[--at] = (uint8_t)(rest % 2);
            length++;
        }
        v = length - 1;
    }
    for (; at < sizeof front; at++)
        add_bit(b, front[at]);
}

static void put_elias(struct ref_out *out, const int64_t *level, size_t n)
{
    struct bits b = {0};
    uint64_t nonzero = 0;
    for (size_t i = 0; i < n; i++)
        nonzero += level[i] != 0;
    add_omega(&b, nonzero + 1);
    int64_t before = -1;
    for (size_t i = 0; i < n; i++) {
        if (level[i] == 0)
            continue;
        add_omega(&b, (uint64_t)((int64_t)i - before));
        add_bit(&b, level[i] < 0);
        add_omega(&b, (uint64_t)llabs(level[i]));
        before = (int64_t)i;
    }
    while (b.count % 8 != 0)
        add_bit(&b, 0);
    for (size_t i = 0; i < b.count; i += 8) {
        unsigned byte = 0;
        for (size_t k = 0; k < 8; k++)
            byte = 2 * byte + b.bit[i + k];
        put_u8(out, byte);
    }
    free(b.bit);
}

static unsigned next_bit(struct ref_in *in, size_t *at)
{
    const size_t byte = *at / 8;
    if (byte >= in->len) {
        in->bad = true;
        return 0;
    }
    unsigned v = in->at[byte] >> (7 - *at % 8) & 1;
    ++*at;
    return v;
}

static uint64_t next_omega(struct ref_in *in, size_t *at)
{
    uint64_t v = 1;
    while (next_bit(in, at) == 1 && !in->bad) {
        uint64_t value = 1;
        if (v > 62) {
            in->bad = true; /* far above every position, count and level */
            return 1;
        }
        for (uint64_t k = 0; k < v; k++)
            value = 2 * value + next_bit(in, at);
        v = value;
    }
    return v;
}

static void get_elias(struct ref_in *in, int64_t *level, size_t n, int64_t s)
{
    size_t at = 8 * in->pos;
    int64_t position = -1;
    uint64_t left = next_omega(in, &at) - 1;
    for (; left > 0 && !in->bad; left--) {
        const uint64_t gap = next_omega(in, &at);
        const bool negative = next_bit(in, &at) == 1;
        const uint64_t magnitude = next_omega(in, &at);
        if (gap > n || (uint64_t)(position + (int64_t)gap) >= n || magnitude > (uint64_t)s) {
            in->bad = true;
            return;
        }
        position += (int64_t)gap;
        level[position] = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    }
    while (at % 8 != 0)
        if (next_bit(in, &at) != 0)
            in->bad = true;
    in->pos = at / 8;
}

/* --- buckets --- */

static void encode(struct ref *r, const struct cc_context *ctx, const float *x, struct ref_out *out)
{
    const struct form f = form_of(r);
    for (size_t at = 0; at < r->shape.n; at += f.bucket) {
        const size_t m = smaller(f.bucket, r->shape.n - at);
        const float norm = norm_of(x + at, m, &f);
        int64_t *level = ref_room(m, sizeof *level);
        uint32_t *code = ref_room(m, sizeof *code);
        for (size_t i = 0; i < m; i++) {
            level[i] = level_of(x[at + i], norm, unit_at(ctx, at + i), f.s);
            code[i] = (uint32_t)level[i];
        }
        put_f32(out, norm);
        if (!f.elias)
            put_codes(out, code, m, f.width);
        else if (norm > 0)
            put_elias(out, level, m);
        free(level);
        free(code);
    }
}

static bool decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in, float *y)
{
    (void)ctx;
    const struct form f = form_of(r);
    for (size_t at = 0; at < r->shape.n; at += f.bucket) {
        const size_t m = smaller(f.bucket, r->shape.n - at);
        const float norm = get_scale(in);
        int64_t *level = ref_room(m, sizeof *level);
        uint32_t *code = ref_room(m, sizeof *code);
        if (!f.elias) {
            get_codes(in, code, m, f.width);
            for (size_t i = 0; i < m; i++) {
                level[i] = (int64_t)code[i];
                if (level[i] >= (int64_t)1 << (f.width - 1))
                    level[i] -= (int64_t)1 << f.width;
                if (llabs(level[i]) > f.s)
                    in->bad = true;
            }
        } else if (norm > 0 && !in->bad) {
            get_elias(in, level, m, f.s);
        }
        for (size_t i = 0; i < m; i++) {
            float fraction = (float)level[i] / (float)f.s;
            y[at + i] = norm * fraction;
        }
        free(level);
        free(code);
    }
    return get_end(in);
}

const struct ref_row ref_rows_qsgd[] = {
    {.id = "qsgd", .encode = encode, .decode = decode},
    {.id = NULL},
};
