/* Schemes that send some values of each chunk of a matrix: chunktopk and demo. */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- chunks --- */

struct part {
    size_t begin, length;
};

struct chunk {
    struct part rows, cols;
    size_t values;
};

struct matrix {
    size_t rows, cols, row_limit, col_limit;
};

static size_t parts_of(size_t d, size_t limit)
{
    return (d + limit - 1) / limit;
}

static struct part part_of(size_t d, size_t limit, size_t index)
{
    const size_t parts = parts_of(d, limit), longer = d % parts;
    return (struct part){.begin = d / parts * index + (index < longer ? index : longer),
                         .length = d / parts + (index < longer ? 1 : 0)};
}

static struct matrix matrix_of(const struct ref *r)
{
    struct matrix m = {.rows = r->shape.ndim < 2 ? 1 : r->shape.dim[0]};
    m.cols = r->shape.n / m.rows;
    m.row_limit = m.col_limit = 64;
    if (setting_has(r->spec, "side"))
        m.row_limit = m.col_limit = (size_t)setting_int(r->spec, "side");
    else if (m.rows < 64)
        m.col_limit = 4096 / m.rows;
    else if (m.cols < 64)
        m.row_limit = 4096 / m.cols;
    return m;
}

static size_t count_chunks(const struct matrix *m)
{
    return parts_of(m->rows, m->row_limit) * parts_of(m->cols, m->col_limit);
}

static struct chunk chunk_of(const struct matrix *m, size_t index)
{
    const size_t across = parts_of(m->cols, m->col_limit);
    struct chunk c = {.rows = part_of(m->rows, m->row_limit, index / across),
                      .cols = part_of(m->cols, m->col_limit, index % across)};
    c.values = c.rows.length * c.cols.length;
    return c;
}

static size_t index_of(const struct matrix *m, const struct chunk *c, size_t place)
{
    return (c->rows.begin + place / c->cols.length) * m->cols + c->cols.begin +
           place % c->cols.length;
}

static size_t share_of(const struct ref *r, size_t values, size_t whole)
{
    return (size_t)ceil((double)((size_t)setting_int(r->spec, "k") * values) / (double)whole);
}

/* --- the largest --- */

struct candidate {
    float magnitude;
    size_t place;
};

static int by_magnitude(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;
    if (p->magnitude != q->magnitude)
        return p->magnitude > q->magnitude ? -1 : 1;
    return p->place < q->place ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const size_t *p = a, *q = b;
    return *p < *q ? -1 : 1;
}

/* Sets place[0, k) to the places of the k largest magnitudes, ascending; the lower of equal ones.
 */
static void largest(const float *v, size_t n, size_t k, size_t *place)
{
    struct candidate *all = ref_room(n, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct candidate){fabsf(v[i]), i};
    qsort(all, n, sizeof *all, by_magnitude);
    for (size_t j = 0; j < k; j++)
        place[j] = all[j].place;
    qsort(place, k, sizeof *place, by_place);
    free(all);
}

/* --- places --- */

static unsigned low_bits(size_t count, size_t values)
{
    unsigned b = 0;
    for (unsigned i = 0; i <= 12; i++)
        if (16.0 * exp2(i) * (double)count <= 11.0 * (double)values)
            b = i;
    return b;
}

static void put_places(const struct ref *r, struct ref_out *out, const size_t *place, size_t count,
                       size_t values)
{
    const unsigned b = low_bits(count, values);
    uint32_t *bit = ref_room(8 * 4096 + 16 * count, sizeof *bit);
    size_t bits = 0;
    for (size_t j = 0; j < count; j++) {
        size_t d = j == 0 ? place[0] : place[j] - place[j - 1] - 1;
        if (setting_is(r->spec, "index", "u12")) {
            bit[j] = (uint32_t)place[j];
            continue;
        }
        for (size_t i = 0; i < d / ((size_t)1 << b); i++)
            bit[bits++] = 1;
        bit[bits++] = 0;
        for (unsigned i = 0; i < b; i++)
            bit[bits++] = d >> i & 1;
    }
    if (setting_is(r->spec, "index", "u12"))
        put_codes(out, bit, count, 12);
    else
        put_codes(out, bit, bits, 1);
    free(bit);
}

/* The next bit of the bytes from in->pos on. */
static unsigned get_bit(struct ref_in *in, unsigned *byte, unsigned *left)
{
    if (*left == 0) {
        *byte = get_u8(in);
        *left = 8;
    }
    const unsigned bit = *byte & 1;
    *byte >>= 1;
    --*left;
    return bit;
}

static void get_places(const struct ref *r, struct ref_in *in, size_t *place, size_t count,
                       size_t values)
{
    const bool fixed = setting_is(r->spec, "index", "u12");
    const unsigned b = fixed ? 12 : low_bits(count, values);
    unsigned byte = 0, left = 0;
    for (size_t j = 0; j < count && !in->bad; j++) {
        size_t v = 0, ones = 0;
        while (!fixed && !in->bad && get_bit(in, &byte, &left) != 0)
            ones++;
        for (unsigned i = 0; i < b; i++)
            v |= (size_t)get_bit(in, &byte, &left) << i;
        v += ones << b;
        if (!fixed)
            v += j == 0 ? 0 : place[j - 1] + 1;
        if (v >= values || (j > 0 && v <= place[j - 1]))
            in->bad = true;
        place[j] = v;
    }
}

/* --- chunktopk --- */

static float mean_of(double sum, size_t count)
{
    if (count == 0)
        return 0;
    const uint32_t bits = bits_of((float)(sum / (double)count));
    uint32_t upper = bits >> 16, lower = bits & 0xffff;
    if (lower > 0x8000 || (lower == 0x8000 && upper % 2 == 1))
        upper++;
    return float_of((upper > 0x7f7f ? 0x7f7f : upper) << 16);
}

static void topk_chunk(struct ref *r, const float *v, size_t values, struct ref_out *out)
{
    const size_t c = share_of(r, values, 4096);
    size_t *place = ref_room(c, sizeof *place), members[2] = {0, 0};
    uint32_t *code = ref_room(c, sizeof *code);
    double all = 0, sum[2] = {0, 0};
    largest(v, values, c, place);
    for (size_t j = 0; j < c; j++)
        all += fabs((double)v[place[j]]);
    for (size_t j = 0; j < c; j++) {
        const double magnitude = fabs((double)v[place[j]]);
        const int kind = magnitude >= all / (double)c;
        sum[kind] += magnitude;
        members[kind]++;
        code[j] = (uint32_t)(v[place[j]] < 0) + 2 * (uint32_t)kind;
    }
    for (int kind = 0; kind < 2; kind++)
        put_u16(out, bits_of(mean_of(sum[kind], members[kind])) >> 16);
    put_codes(out, code, c, 2);
    put_places(r, out, place, c, values);
    free(place);
    free(code);
}

static void topk_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                        struct ref_out *out)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    float v[4096];
    for (size_t i = 0; i < count_chunks(&m); i++) {
        const struct chunk c = chunk_of(&m, i);
        for (size_t p = 0; p < c.values; p++)
            v[p] = x[index_of(&m, &c, p)];
        topk_chunk(r, v, c.values, out);
    }
}

static bool topk_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    for (size_t i = 0; i < r->shape.n; i++)
        y[i] = 0;
    for (size_t i = 0; i < count_chunks(&m) && !in->bad; i++) {
        const struct chunk c = chunk_of(&m, i);
        const size_t count = share_of(r, c.values, 4096);
        size_t *place = ref_room(count, sizeof *place);
        uint32_t *code = ref_room(count, sizeof *code);
        float magnitude[2];
        for (int kind = 0; kind < 2; kind++) {
            magnitude[kind] = float_of((uint32_t)get_u16(in) << 16);
            if (!is_finite(magnitude[kind]) || magnitude[kind] < 0)
                in->bad = true;
        }
        get_codes(in, code, count, 2);
        get_places(r, in, place, count, c.values);
        for (size_t j = 0; j < count && !in->bad; j++)
            y[index_of(&m, &c, place[j])] =
                code[j] % 2 == 1 ? -magnitude[code[j] / 2] : magnitude[code[j] / 2];
        free(place);
        free(code);
    }
    return get_end(in);
}

/* --- demo --- */

/* The binary32 next to sqrt((u == 0 ? 1 : 2) / n) cos(pi (2 i + 1) u / (2 n)). */
static float basis_value(size_t n, size_t u, size_t i)
{
    if ((2 * i + 1) * u % (2 * n) == n)
        return 0; /* a quarter of a turn, which pi in double misses */
    const double angle = 3.14159265358979323846 * (double)((2 * i + 1) * u % (4 * n)) / 2;
    return (float)(sqrt((u == 0 ? 1.0 : 2.0) / (double)n) * cos(angle / (double)n));
}

/* The same for n <= 64, kept for the next call: most of a reference's time would go to cosines. */
static float basis(size_t n, size_t u, size_t i)
{
    static float kept[65][64][64];
    static bool known[65];
    for (size_t at = 0; !known[n] && at < n * n; at++)
        kept[n][at / n][at % n] = basis_value(n, at / n, at % n);
    known[n] = true;
    return kept[n][u][i];
}

/* The transform of n values that are `step` apart, in place. */
static void transform(float *x, size_t n, size_t step)
{
    float y[64];
    for (size_t u = 0; u < n; u++) {
        y[u] = 0;
        for (size_t i = 0; 2 * i + (u % 2) < n; i++) {
            const float a = x[i * step], b = x[(n - 1 - i) * step];
            const float v = 2 * i + 1 == n ? a : u % 2 == 0 ? a + b : a - b;
            const float product = basis(n, u, i) * v;
            y[u] = y[u] + product;
        }
    }
    for (size_t u = 0; u < n; u++)
        x[u * step] = y[u];
}

/* y from `count` coefficients at these places. */
static void restore(const struct chunk *c, const size_t *place, const float *q, size_t count,
                    float *y)
{
    const size_t rows = c->rows.length, cols = c->cols.length;
    for (size_t j = 0; j < cols; j++) {
        float t[64] = {0};
        bool used[64] = {false};
        for (size_t k = 0; k < count; k++) {
            const float product = q[k] * basis(cols, place[k] % cols, j);
            t[place[k] / cols] = t[place[k] / cols] + product;
            used[place[k] / cols] = true;
        }
        for (size_t i = 0; 2 * i < rows; i++) {
            float sum[2] = {0, 0};
            for (size_t u = 0; u < rows; u++) {
                const float product = basis(rows, u, i) * t[u];
                if (used[u])
                    sum[u % 2] = sum[u % 2] + product;
            }
            if (2 * i + 1 < rows)
                y[(rows - 1 - i) * cols + j] = sum[0] - sum[1];
            y[i * cols + j] = sum[0] + sum[1];
        }
    }
}

static size_t demo_share(const struct ref *r, size_t values)
{
    const size_t side = (size_t)setting_int(r->spec, "side");
    return share_of(r, values, side * side);
}

/* The coefficients of a chunk's values in v; *count of them, at `place`, are sent as q. False if
 * one is not finite. */
static bool coefficients(const struct ref *r, const struct chunk *c, float *v, size_t *place,
                         float *q, float *mean)
{
    const size_t rows = c->rows.length, cols = c->cols.length, count = demo_share(r, c->values);
    double sum = 0;
    for (size_t j = 0; j < cols; j++)
        transform(v + j, rows, cols);
    for (size_t i = 0; i < rows; i++)
        transform(v + i * cols, cols, 1);
    for (size_t i = 0; i < c->values; i++)
        if (!is_finite(v[i]))
            return false;
    largest(v, c->values, count, place);
    for (size_t j = 0; j < count; j++) {
        q[j] = v[place[j]];
        sum += fabs((double)q[j]);
    }
    *mean = (float)(sum / (double)count);
    for (size_t j = 0; j < count && setting_int(r->spec, "signs") == 1; j++)
        q[j] = q[j] >= 0 ? *mean : -*mean;
    return true;
}

static void demo_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                        struct ref_out *out)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    float v[4096], q[4096], mean;
    size_t place[4096];
    uint32_t bit[4096];
    for (size_t i = 0; i < count_chunks(&m); i++) {
        const struct chunk c = chunk_of(&m, i);
        const size_t count = demo_share(r, c.values);
        for (size_t p = 0; p < c.values; p++)
            v[p] = x[index_of(&m, &c, p)];
        (void)coefficients(r, &c, v, place, q, &mean);
        for (size_t j = 0; j < count; j++)
            bit[j] = v[place[j]] >= 0;
        if (setting_int(r->spec, "signs") == 1) {
            put_f32(out, mean);
            put_codes(out, bit, count, 1);
        } else {
            for (size_t j = 0; j < count; j++)
                put_f32(out, q[j]);
        }
        put_places(r, out, place, count, c.values);
    }
}

/* Whether a coefficient, or what it leaves, is not finite. */
static bool demo_overflows(const struct ref *r, const struct cc_context *ctx, const float *x)
{
    (void)ctx;
    if (r->shape.n == 0)
        return false;
    const struct matrix m = matrix_of(r);
    float v[4096], q[4096], y[4096], mean;
    size_t place[4096];
    for (size_t i = 0; i < count_chunks(&m); i++) {
        const struct chunk c = chunk_of(&m, i);
        for (size_t p = 0; p < c.values; p++)
            v[p] = x[index_of(&m, &c, p)];
        if (!coefficients(r, &c, v, place, q, &mean))
            return true;
        restore(&c, place, q, demo_share(r, c.values), y);
        for (size_t p = 0; p < c.values; p++)
            if (!is_finite(x[index_of(&m, &c, p)] - y[p]))
                return true;
    }
    return false;
}

static bool demo_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    float q[4096], of_chunk[4096];
    size_t place[4096];
    uint32_t bit[4096];
    for (size_t i = 0; i < count_chunks(&m) && !in->bad; i++) {
        const struct chunk c = chunk_of(&m, i);
        const size_t count = demo_share(r, c.values);
        if (setting_int(r->spec, "signs") == 1) {
            const float mean = get_scale(in);
            get_codes(in, bit, count, 1);
            for (size_t j = 0; j < count; j++)
                q[j] = bit[j] != 0 ? mean : -mean;
        } else {
            for (size_t j = 0; j < count; j++)
                q[j] = get_f32(in);
        }
        get_places(r, in, place, count, c.values);
        if (in->bad)
            break;
        restore(&c, place, q, count, of_chunk);
        for (size_t p = 0; p < c.values; p++)
            y[index_of(&m, &c, p)] = of_chunk[p];
    }
    return get_end(in);
}

const struct ref_row ref_rows_chunks[] = {
    {.id = "chunktopk", .feedback = IF_EF, .encode = topk_encode, .decode = topk_decode},
    {.id = "demo",
     .feedback = ALWAYS,
     .encode = demo_encode,
     .decode = demo_decode,
     .overflows = demo_overflows},
    {.id = NULL},
};
