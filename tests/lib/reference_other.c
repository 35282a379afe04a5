/* powersgd, local, and the libraries that users know. */
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
    size_t rows, cols, rank; /* rank 0: the values as they are */
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

/* P = M Q with orthonormal columns, in double, at most 1 of a column's norm lost to cancellation:
 * returns the smallest share that was left of one. */
static double expected_p(const struct matrix *m, const float *M, const float *Q, double *P)
{
    double least = 1;
    for (size_t i = 0; i < m->rows; i++) {
        for (size_t k = 0; k < m->rank; k++) {
            P[i * m->rank + k] = 0;
            for (size_t j = 0; j < m->cols; j++)
                P[i * m->rank + k] += (double)M[i * m->cols + j] * (double)Q[j * m->rank + k];
        }
    }
    for (size_t k = 0; k < m->rank; k++) {
        double before = 0, after = 0;
        for (size_t i = 0; i < m->rows; i++)
            before += P[i * m->rank + k] * P[i * m->rank + k];
        for (size_t other = 0; other < k; other++) {
            double dot = 0;
            for (size_t i = 0; i < m->rows; i++)
                dot += P[i * m->rank + k] * P[i * m->rank + other];
            for (size_t i = 0; i < m->rows; i++)
                P[i * m->rank + k] -= dot * P[i * m->rank + other];
        }
        for (size_t i = 0; i < m->rows; i++)
            after += P[i * m->rank + k] * P[i * m->rank + k];
        const double share = before > 0 ? sqrt(after / before) : 0;
        least = share < least ? share : least;
        for (size_t i = 0; i < m->rows; i++)
            P[i * m->rank + k] = share < 1e-6 ? 0 : P[i * m->rank + k] / sqrt(after);
    }
    return least;
}

/* Columns of P are of length 1, or zero, and orthogonal to `tolerance`. */
static const char *check_orthonormal(const struct matrix *m, const float *P, double tolerance)
{
    for (size_t a = 0; a < m->rank; a++) {
        for (size_t b = 0; b <= a; b++) {
            double dot = 0;
            for (size_t i = 0; i < m->rows; i++)
                dot += (double)P[i * m->rank + a] * (double)P[i * m->rank + b];
            if (a == b && fabs(dot - 1) > 1e-5 && dot != 0)
                return "a column of P is neither of length 1 nor zero";
            if (a != b && fabs(dot) > tolerance)
                return "columns of P are not orthogonal";
        }
    }
    return NULL;
}

/* Q = transpose(M) P, to the rounding of a sum. */
static const char *check_q(const struct matrix *m, const float *M, const float *P, const float *Q)
{
    for (size_t j = 0; j < m->cols; j++) {
        for (size_t k = 0; k < m->rank; k++) {
            double sum = 0, magnitude = 0;
            for (size_t i = 0; i < m->rows; i++) {
                const double term = (double)M[i * m->cols + j] * (double)P[i * m->rank + k];
                sum += term;
                magnitude += fabs(term);
            }
            if (fabs(sum - (double)Q[j * m->rank + k]) > 1e-5 * magnitude + 0x1p-148)
                return "Q is not transpose(M) P";
        }
    }
    return NULL;
}

/* The Q of the step before. */
static const float *last_q(struct ref *r, const struct matrix *m)
{
    const struct cc_context first = {.rank = -1};
    for (size_t i = 0; i < m->cols * m->rank && !r->begun; i++)
        r->u[i] = 2 * ((float)(ref_random(&first, -1, 0, i) >> 8) / 16777216.0f) - 1;
    r->begun = true;
    return r->u;
}

static const char *check_factors(struct ref *r, const struct matrix *m, const float *x,
                                 const float *P, const float *Q)
{
    double *expected = ref_room(m->rows * m->rank, sizeof *expected);
    const double least = expected_p(m, x, last_q(r, m), expected);
    const double tolerance = 2e-5 / (least + 1e-30);
    const char *why = check_orthonormal(m, P, tolerance);
    for (size_t i = 0; i < m->rows * m->rank && why == NULL; i++)
        if (fabs((double)P[i] - expected[i]) > tolerance)
            why = "P is not M Q made orthonormal";
    free(expected);
    return why != NULL ? why : check_q(m, x, P, Q);
}

static const char *powersgd_check(struct ref *r, const struct cc_context *ctx, const float *x,
                                  const uint8_t *payload, size_t len)
{
    (void)ctx;
    const struct matrix m = matrix_of(r);
    struct ref_in in = {.at = payload, .len = len};
    if (m.rank == 0) {
        for (size_t i = 0; i < r->shape.n; i++)
            if (get_u32(&in) != bits_of(x[i]))
                return "a value is not sent as it is";
        return NULL;
    }
    float *P = ref_room(m.rows * m.rank, sizeof *P), *Q = ref_room(m.cols * m.rank, sizeof *Q);
    for (size_t i = 0; i < m.rows * m.rank; i++)
        P[i] = get_f32(&in);
    for (size_t i = 0; i < m.cols * m.rank; i++)
        Q[i] = get_f32(&in);
    const char *why = check_factors(r, &m, x, P, Q);
    memcpy(r->u, Q, m.cols * m.rank * sizeof *Q);
    free(P);
    free(Q);
    return why;
}

static bool powersgd_sends_all(const struct ref *r)
{
    return matrix_of(r).rank == 0;
}

/* M Q, before anything is done to its columns, does not fit into floats. */
static bool powersgd_overflows(struct ref *r, const struct cc_context *ctx, const float *x)
{
    (void)ctx;
    const struct matrix m = r->shape.n == 0 ? (struct matrix){0} : matrix_of(r);
    for (size_t i = 0; i < m.rows; i++) {
        for (size_t k = 0; k < m.rank; k++) {
            double sum = 0;
            for (size_t j = 0; j < m.cols; j++)
                sum += (double)x[i * m.cols + j] * (double)last_q(r, &m)[j * m.rank + k];
            if (!is_finite((float)sum))
                return true;
        }
    }
    return false;
}

/* --- local --- */

static bool sends(const struct ref *r, const struct cc_context *ctx)
{
    return (ctx->step + 1) % (uint64_t)setting_int(r->spec, "every") == 0;
}

/* The residual here is the sum that waits. */
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

static bool zstd_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const size_t bytes = r->shape.n * sizeof *y;
    return ZSTD_findFrameCompressedSize(in->at, in->len) == in->len &&
           ZSTD_getFrameContentSize(in->at, in->len) == bytes &&
           ZSTD_decompress(y, bytes, in->at, in->len) == bytes;
}

static bool lz4_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                       float *y)
{
    (void)ctx;
    const size_t bytes = r->shape.n * sizeof *y, block = (size_t)4 << 20;
    for (size_t at = 0; at < bytes; at += block) {
        const size_t m = smaller(block, bytes - at), size = get_u32(in);
        if (in->bad || size > in->len - in->pos)
            return false;
        if (LZ4_decompress_safe((const char *)in->at + in->pos, (char *)y + at, (int)size,
                                (int)m) != (int)m)
            return false;
        in->pos += size;
    }
    return get_end(in);
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
    (void)zfp_stream_set_accuracy(stream, (double)tolerance);
    /* The library reads on behind the end: give it zeros there. */
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
    for (size_t i = 0; i < r->shape.n; i++)
        if (isinf(y[i]))
            y[i] = y[i] > 0 ? FLT_MAX : -FLT_MAX;
    return read == in->len - in->pos;
}

static const char *zfp_check(struct ref *r, const struct cc_context *ctx, const float *x,
                             const uint8_t *payload, size_t len)
{
    float *y = ref_room(r->shape.n, sizeof *y);
    const float largest = largest_magnitude(x, r->shape.n);
    const float tolerance = (float)setting_real(r->spec, "tolerance") * largest;
    struct ref_in in = {.at = payload, .len = len};
    const char *why = NULL;
    if (bits_of(get_f32(&in)) != bits_of(tolerance))
        why = "the tolerance is not (float)tolerance * max|x|";
    (void)ref_decode(r, ctx, payload, len, y);
    for (size_t i = 0; i < r->shape.n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= (double)tolerance) && largest >= 0x1p-97f)
            why = "a value is off by more than the tolerance";
    free(y);
    return why;
}

const struct ref_row ref_rows_other[] = {
    {.id = "powersgd",
     .feedback = IF_EF,
     .check = powersgd_check,
     .decode = powersgd_decode,
     .sends_all = powersgd_sends_all,
     .overflows = powersgd_overflows},
    {.id = "local", .begin = local_begin, .finish = local_finish, .decode = local_decode},
    {.id = "zstd", .check = lossless_check, .decode = zstd_decode},
    {.id = "lz4", .check = lossless_check, .decode = lz4_decode},
    {.id = "zfp", .check = zfp_check, .decode = zfp_decode},
    {.id = NULL},
};
