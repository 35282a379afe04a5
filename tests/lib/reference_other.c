/* powersgd, local, and the schemes of general compression libraries. */
#include "tests/lib/reference_rows.h"

#include <float.h>
#include <lz4.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zfp.h>
#include <zstd.h>

/* --- powersgd --- */

struct matrix {
    size_t rows, cols, rank; /* rank 0: values are sent as they are */
};

static struct matrix matrix_of(const struct ref *r)
{
    struct matrix m = {0};
    const size_t n = r->shape.n;
    if (r->shape.ndim < 2)
        return m;
    m.rows = r->shape.dim[0];
    m.cols = n / m.rows;
    m.rank = smaller((size_t)setting_int(r->spec, "rank"), smaller(m.rows, m.cols));
    if (m.rank * (m.rows + m.cols) >= n)
        m.rank = 0;
    return m;
}

static bool powersgd_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                            float *y)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    if (m.rank == 0) {
        for (size_t i = 0; i < r->shape.n; i++)
            y[i] = get_f32(in);
        return get_end(in);
    }
    float *P = ref_room(m.rows * m.rank, sizeof *P), *Q = ref_room(m.cols * m.rank, sizeof *Q);
    for (size_t i = 0; i < m.rows * m.rank; i++)
        P[i] = get_f32(in);
    for (size_t i = 0; i < m.cols * m.rank; i++)
        Q[i] = get_f32(in);
    for (size_t i = 0; i < m.rows; i++) {
        for (size_t j = 0; j < m.cols; j++) {
            float sum = P[i * m.rank] * Q[j * m.rank];
            for (size_t k = 1; k < m.rank; k++) {
                const float product = P[i * m.rank + k] * Q[j * m.rank + k];
                sum = sum + product;
            }
            y[i * m.cols + j] = sum;
        }
    }
    free(P);
    free(Q);
    return get_end(in);
}

/* The sum of a[i * step_a] * b[i * step_b] over the fixed tree. */
static double tree_product(const double *a, size_t step_a, const double *b, size_t step_b, size_t n)
{
    double total = 0;
    for (size_t block = 0; block < n; block += 4096) {
        double lane[16] = {0}, of_block = 0;
        for (size_t i = 0; i < 4096 && block + i < n; i++)
            lane[i % 16] += a[(block + i) * step_a] * b[(block + i) * step_b];
        for (size_t l = 0; l < 16; l++)
            of_block += lane[l];
        total += of_block;
    }
    return total;
}

/* Copies the Q of the step before, and draws its columns of zeros again. */
static void start_q(const float *kept, const struct matrix *m, double *Q)
{
    const struct cc_context first = {.rank = -1};
    for (size_t k = 0; k < m->rank; k++) {
        bool zeros = true;
        for (size_t j = 0; j < m->cols; j++)
            zeros = zeros && kept[j * m->rank + k] == 0;
        for (size_t j = 0; j < m->cols; j++) {
            const size_t i = j * m->rank + k;
            Q[i] = (double)(zeros ? 2 * unit_at(&first, i) - 1 : kept[i]);
        }
    }
}

static void make_orthonormal(const struct matrix *m, double *P)
{
    for (size_t k = 0; k < m->rank; k++) {
        double *column = P + k;
        const double before = sqrt(tree_product(column, m->rank, column, m->rank, m->rows));
        for (size_t l = 0; l < k; l++) {
            const double c = tree_product(P + l, m->rank, column, m->rank, m->rows);
            for (size_t i = 0; i < m->rows; i++)
                column[i * m->rank] -= c * P[i * m->rank + l];
        }
        const double left = sqrt(tree_product(column, m->rank, column, m->rank, m->rows));
        for (size_t i = 0; i < m->rows; i++) {
            if (left == 0 || left < 1e-6 * before)
                column[i * m->rank] = 0;
            else
                column[i * m->rank] /= left;
        }
    }
}

/* Writes the factors of x. False if a value of Q is too large. */
static bool factors(const struct ref *r, const struct matrix *m, const float *x, float *P, float *Q)
{
    double *start = ref_room(m->cols * m->rank, sizeof *start);
    double *M = ref_room(m->rows * m->cols, sizeof *M);
    double *left = ref_room(m->rows * m->rank, sizeof *left);
    bool fits = true;
    for (size_t i = 0; i < m->rows * m->cols; i++)
        M[i] = (double)x[i];
    start_q(r->u, m, start);
    for (size_t i = 0; i < m->rows; i++)
        for (size_t k = 0; k < m->rank; k++)
            left[i * m->rank + k] = tree_product(M + i * m->cols, 1, start + k, m->rank, m->cols);
    make_orthonormal(m, left);
    for (size_t i = 0; i < m->rows * m->rank; i++)
        P[i] = (float)left[i];
    for (size_t j = 0; j < m->cols; j++) {
        for (size_t k = 0; k < m->rank; k++) {
            double sum = 0;
            for (size_t i = 0; i < m->rows; i++)
                sum += M[i * m->cols + j] * (double)P[i * m->rank + k];
            Q[j * m->rank + k] = (float)sum;
            if (fabs(sum) > (double)FLT_MAX / (2 * (double)m->rank))
                fits = false;
        }
    }
    free(start);
    free(M);
    free(left);
    return fits;
}

static bool powersgd_sends_all(const struct ref *r)
{
    return matrix_of(r).rank == 0;
}

static void powersgd_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                            struct ref_out *out)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    float *P = ref_room(m.rows * m.rank, sizeof *P), *Q = ref_room(m.cols * m.rank, sizeof *Q);
    for (size_t i = 0; i < r->shape.n && m.rank == 0; i++)
        put_f32(out, x[i]);
    if (m.rank > 0)
        (void)factors(r, &m, x, P, Q);
    for (size_t i = 0; i < m.rows * m.rank; i++)
        put_f32(out, P[i]);
    for (size_t i = 0; i < m.cols * m.rank; i++) {
        put_f32(out, Q[i]);
        r->u[i] = Q[i];
    }
    free(P);
    free(Q);
}

static bool powersgd_overflows(const struct ref *r, const struct cc_context *ctx, const float *x)
{
    (void)ctx;
    if (r->shape.n == 0 || powersgd_sends_all(r))
        return false;
    const struct matrix m = matrix_of(r);
    float *P = ref_room(m.rows * m.rank, sizeof *P), *Q = ref_room(m.cols * m.rank, sizeof *Q);
    const bool fits = factors(r, &m, x, P, Q);
    free(P);
    free(Q);
    return !fits;
}

/* --- local --- */

static bool sends(const struct ref *r, const struct cc_context *ctx)
{
    return (ctx->step + 1) % (uint64_t)setting_int(r->spec, "every") == 0;
}

/* The residual is the sum of the steps that were not sent. */
static bool local_begin(struct ref *r, const struct cc_context *ctx, const float *gradient)
{
    for (size_t i = 0; i < r->shape.n; i++) {
        r->residual[i] = r->residual[i] + gradient[i];
        if (!is_finite(r->residual[i]))
            return false;
    }
    return !sends(r, ctx) || ref_begin(r->inner, ctx, r->residual);
}

static const char *local_finish(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                                size_t len)
{
    if (!sends(r, ctx))
        return len == 0 ? NULL : "a payload where none is due";
    for (size_t i = 0; i < r->shape.n; i++)
        r->residual[i] = 0;
    return ref_finish(r->inner, ctx, payload, len);
}

static bool local_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                         float *y)
{
    if (sends(r, ctx))
        return ref_decode(r->inner, ctx, in->at, in->len, y);
    for (size_t i = 0; i < r->shape.n; i++)
        y[i] = 0;
    return get_end(in);
}

/* --- zstd, lz4 --- */

/* Bytes of a value of a format. */
static size_t format_bytes(unsigned format)
{
    return format == 0 ? 4 : format < 3 ? 2 : 1;
}

static void get_words(unsigned format, const uint8_t *bytes, size_t n, float *y)
{
    struct ref_in in = {.at = bytes, .len = n * format_bytes(format)};
    for (size_t i = 0; i < n; i++)
        y[i] = value_of_word(format, format_bytes(format) == 4   ? get_u32(&in)
                                     : format_bytes(format) == 2 ? get_u16(&in)
                                                                 : get_u8(&in));
}

static bool zstd_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const unsigned format = in->len > 0 && in->at[0] > 0 && in->at[0] < 5 ? get_u8(in) : 0;
    const uint8_t *frame = in->at + in->pos;
    const size_t len = in->len - in->pos, bytes = r->shape.n * format_bytes(format);
    if (ZSTD_findFrameCompressedSize(frame, len) != len ||
        ZSTD_getFrameContentSize(frame, len) != bytes)
        return false;
    uint8_t *words = ref_room(bytes, 1);
    const bool good = ZSTD_decompress(words, bytes, frame, len) == bytes;
    if (good)
        get_words(format, words, r->shape.n, y);
    free(words);
    return good;
}

static bool lz4_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                       float *y)
{
    (void)ctx;
    const size_t n = r->shape.n, block = (size_t)1 << 20;
    uint8_t *words = ref_room(smaller(block, n), 4);
    bool good = true;
    for (size_t i = 0; i < n && good; i += block) {
        const uint32_t head = get_u32(in);
        const size_t m = smaller(block, n - i), size = head & 0xffffff;
        const unsigned format = head >> 24;
        const int bytes = (int)(m * format_bytes(format));
        good = !in->bad && format < 5 && size <= in->len - in->pos &&
               LZ4_decompress_safe((const char *)in->at + in->pos, (char *)words, (int)size,
                                   bytes) == bytes;
        if (good)
            get_words(format, words, m, y + i);
        in->pos += size;
    }
    free(words);
    return good && get_end(in);
}

static const char *lossless_check(struct ref *r, const struct cc_context *ctx, const float *x,
                                  const uint8_t *payload, size_t len)
{
    float *y = ref_room(r->shape.n, sizeof *y);
    const bool same =
        ref_decode(r, ctx, payload, len, y) && memcmp(x, y, r->shape.n * sizeof *y) == 0;
    free(y);
    return same ? NULL : "what is decoded is not what was encoded";
}

/* --- zfp --- */

static bool zfp_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                       float *y)
{
    (void)ctx;
    const float tolerance = get_scale(in);
    if (in->bad)
        return false;
    if (tolerance == 0) {
        for (size_t i = 0; i < r->shape.n; i++)
            y[i] = 0;
        return get_end(in);
    }
    zfp_field *field = zfp_field_1d(y, zfp_type_float, (unsigned)r->shape.n);
    zfp_stream *stream = zfp_stream_open(NULL);
    const double lift = tolerance < 0x1p-60f ? 0x1p64 : 1;
    (void)zfp_stream_set_accuracy(stream, (double)tolerance * lift);
    /* The library reads beyond the end: zeros follow there. */
    const size_t room = zfp_stream_maximum_size(stream, field) + in->len + 64;
    uint8_t *copy = ref_room(room, 1);
    memcpy(copy, in->at + in->pos, in->len - in->pos);
    bitstream *bits = stream_open(copy, room);
    zfp_stream_set_bit_stream(stream, bits);
    zfp_stream_rewind(stream);
    const size_t read = zfp_decompress(stream, field);
    stream_close(bits);
    zfp_stream_close(stream);
    zfp_field_free(field);
    free(copy);
    for (size_t i = 0; i < r->shape.n; i++) {
        y[i] = (float)((double)y[i] / lift);
        if (isinf(y[i]))
            y[i] = y[i] > 0 ? FLT_MAX : -FLT_MAX;
    }
    return read == in->len - in->pos;
}

static const char *zfp_check(struct ref *r, const struct cc_context *ctx, const float *x,
                             const uint8_t *payload, size_t len)
{
    float *y = ref_room(r->shape.n, sizeof *y);
    const float tolerance =
        (float)setting_real(r->spec, "tolerance") * largest_magnitude(x, r->shape.n);
    struct ref_in in = {.at = payload, .len = len};
    const char *why = NULL;
    if (bits_of(get_f32(&in)) != bits_of(tolerance))
        why = "the tolerance is not (float)tolerance * max|x|";
    (void)ref_decode(r, ctx, payload, len, y);
    for (size_t i = 0; i < r->shape.n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= (double)tolerance) && tolerance >= 0x1p-92f)
            why = "a value is off by more than the tolerance";
    free(y);
    return why;
}

const struct ref_row ref_rows_other[] = {
    {.id = "powersgd",
     .feedback = IF_EF,
     .encode = powersgd_encode,
     .decode = powersgd_decode,
     .sends_all = powersgd_sends_all,
     .overflows = powersgd_overflows},
    {.id = "local", .begin = local_begin, .finish = local_finish, .decode = local_decode},
    {.id = "zstd", .check = lossless_check, .decode = zstd_decode},
    {.id = "lz4", .check = lossless_check, .decode = lz4_decode},
    {.id = "zfp", .check = zfp_check, .decode = zfp_decode},
    {.id = NULL},
};
