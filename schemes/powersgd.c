/* powersgd: a matrix as the product of two thin factors.
 *
 * A tensor of two or more dimensions is read as a matrix M of `rows` (its first dimension) by
 * `cols`. With error feedback M is gradient + residual. One step of power iteration, starting from
 * the Q of the step before, gives P (rows x r) and Q (cols x r):
 *   1. P = M Q        2. orthonormalize the columns of P        3. Q = transpose(M) P
 * and M decodes to P transpose(Q). Starting from the last Q, the iterations of successive steps
 * approach the leading singular vectors, as gradients change slowly. Columns of Q that are zero,
 * all of them in the first step, are drawn at random, alike on all workers. A tensor of one
 * dimension, or whose factors would not be smaller, is sent as fp32.
 *
 * Over an allreduce (rounds) every step 1 and 3 is followed by a sum over all workers, as in the
 * paper: P and Q are linear in M, so the sums are those of the mean gradient.
 *
 * Numbers: products and norms in double with sums in a fixed order, so that results depend neither
 * on threads nor on the instruction set; factors are sent as f32. Each column of Q is scaled by a
 * power of two before step 1, which drops out in step 2. Threads share rows, or in step 3 columns.
 * P is orthonormalized by one thread, by modified Gram-Schmidt.
 *
 * State: Q (transposed), P between two rounds, residual. Scratch memory: struct work.
 *
 * Source: Vogels et al., PowerSGD, NeurIPS 2019, algorithms 1 and 2. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/accumulate.h"
#include "schemes/kernels/lowrank.h"
#include "schemes/scheme.h"

/* A column that orthogonalization leaves shorter than this fraction of its length is rounding
 * noise. */
#define NEGLIGIBLE 1e-6

/* Values of M that are added to the residual, then projected while they are in the cache. */
#define BLOCK 32768

/* Threads share the columns of Q in multiples of this: whole cache lines. */
#define COLUMNS 64

struct params {
    int64_t rank, ef;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, rank, 4, 1, 1024, "", "columns of the factors"),
    CC_PARAM_FLAG(struct params, ef, 1, "error feedback: keep what was not sent in a residual"),
    {.name = NULL},
};

extern const struct cc_scheme cc_scheme_fp32;

/* The matrix of a tensor and the rank of its factors. r = 0: the values are sent as fp32. */
struct plan {
    size_t n, rows, cols, r;
};

static struct plan make_plan(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    struct plan plan = {.n = shape->n};
    if (shape->ndim < 2 || shape->n == 0)
        return plan;
    plan.rows = shape->dim[0];
    plan.cols = shape->n / plan.rows;
    size_t r = (size_t)p->rank, values;
    r = plan.rows < r ? plan.rows : r;
    r = plan.cols < r ? plan.cols : r;
    if (cc_mul(r, plan.rows + plan.cols, &values) && values < plan.n)
        plan.r = r;
    return plan;
}

static size_t padded(size_t count, size_t element_bytes)
{
    return cc_align_up(count * element_bytes);
}

/* --- state: the transposed Q of the step before; P between two rounds; the residual --- */

static float *state_q(const struct cc_codec *c)
{
    return c->state;
}

static float *state_p(const struct cc_codec *c, const struct plan *m)
{
    return (float *)(void *)((char *)c->state + padded(m->r * m->cols, sizeof(float)));
}

static size_t factors_bytes(const struct plan *m)
{
    return padded(m->r * m->cols, sizeof(float)) + padded(m->r * m->rows, sizeof(float));
}

/* NULL without error feedback. */
static float *state_residual(const struct cc_codec *c, const struct plan *m)
{
    const struct params *p = c->params;
    return p->ef ? (float *)(void *)((char *)c->state + factors_bytes(m)) : NULL;
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    struct plan m = make_plan(params, shape);
    if (m.r == 0)
        return 0;
    return factors_bytes(&m) + (p->ef ? m.n * sizeof(float) : 0);
}

/* Scratch memory. The decoder uses p, and the memory of q for floats. */
struct work {
    double *q;       /* r x cols */
    float *p;        /* rows x r, as it is sent */
    double *columns; /* r x rows: P before and while it is made orthonormal */
};

static struct work work_of(const struct cc_codec *c, const struct plan *m)
{
    char *at = c->scratch;
    struct work w = {.q = c->scratch};
    at += padded(m->r * m->cols, sizeof(double));
    w.p = (float *)(void *)at;
    at += padded(m->r * m->rows, sizeof(float));
    w.columns = (double *)(void *)at;
    return w;
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    struct plan m = make_plan(params, shape);
    return padded(m.r * m.cols, sizeof(double)) + padded(m.r * m.rows, sizeof(float)) +
           padded(m.r * m.rows, sizeof(double));
}

static size_t payload_bytes(const struct plan *m)
{
    return (m->r == 0 ? m->n : m->r * (m->rows + m->cols)) * sizeof(float);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    struct plan m = make_plan(params, shape);
    return shape->n > SIZE_MAX / sizeof(float) ? SIZE_MAX : payload_bytes(&m);
}

/* Draws the columns of Q that are all zeros, which would otherwise stay zero for ever. Random
 * numbers depend on the position only, so that all workers begin alike. */
static void draw_zero_columns(float *q, const struct plan *m)
{
    const struct cc_random_id id = {.rank = -1};
    for (size_t k = 0; k < m->r; k++) {
        float *column = q + k * m->cols;
        if (k_reduce()->absmax(column, m->cols) != 0)
            continue;
        for (size_t j = 0; j < m->cols; j++) {
            uint64_t i = (uint64_t)j * m->r + k;
            column[j] = 2 * cc_unit(cc_random(cc_key(&id, i), (uint32_t)i)) - 1;
        }
    }
}

/* Copies Q to scratch memory. Each column is multiplied by the power of two that brings its largest
 * value into [1, 2): the factor drops out when P is made orthonormal, and M Q stays in the range of
 * a float where M does. */
static void load_q(const float *q, const struct plan *m, double *out)
{
    for (size_t k = 0; k < m->r; k++) {
        const float *column = q + k * m->cols;
        int exponent;
        (void)frexp((double)cc_bits_f32(k_reduce()->absmax(column, m->cols)), &exponent);
        double factor = ldexp(1, 1 - exponent);
        for (size_t j = 0; j < m->cols; j++)
            out[k * m->cols + j] = (double)column[j] * factor;
    }
}

/* A product that threads share: by rows, or for transpose(M) P by columns, so that each sum over
 * the rows is made by one thread in order. */
struct share {
    const struct plan *m;
    const float *x, *p, *q;
    float *matrix;   /* M: x itself, or the residual; the product's y */
    double *columns; /* M Q */
    double *sums;    /* the new Q */
    enum cc_lowrank_mode mode;
    float scale;
    bool ef;
};

/* Goes through `units`, rows or columns, by threads. */
static size_t run(const struct cc_codec *c, size_t units, size_t multiple, struct share *s,
                  size_t (*work)(void *arg, size_t begin, size_t end))
{
    return cc_parallel_ranges(cc_parts(c->threads, s->m->n, CC_PART_VALUES), units, multiple, work,
                              s);
}

/* Returns the number of values from the first block on in which one is not finite. */
static size_t project_rows(void *arg, size_t begin, size_t end)
{
    const struct share *w = arg;
    const struct plan *m = w->m;
    size_t step = BLOCK / m->cols + 1; // NOLINT(clang-analyzer-core.DivideZero)
    for (size_t i = begin; i < end; i += step) {
        size_t rows = end - i < step ? end - i : step, at = i * m->cols, n = rows * m->cols, good;
        if (w->ef)
            good = cc_accumulate(w->x + at, w->matrix + at, n);
        else
            good = cc_finite_bits(k_reduce()->absmax(w->x + at, n)) ? n : 0;
        if (good < n)
            return m->n - (at + good);
        k_lowrank()->project((w->ef ? w->matrix : w->x) + at, rows, m->cols, w->sums, m->r,
                             w->columns + i, m->rows);
    }
    return 0;
}

/* columns = M Q. M is x, or with a residual, residual += x. */
static int project(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                   float *residual, const struct plan *m, const struct work *w, struct cc_error *e)
{
    struct share s = {.m = m,
                      .x = x,
                      .matrix = residual,
                      .ef = residual != NULL,
                      .sums = w->q,
                      .columns = w->columns};
    const size_t left = run(c, m->rows, 1, &s, project_rows);
    return left == 0 ? CC_OK : cc_accumulate_refuse(ctx, x, residual, m->n - left, m->n, e);
}

/* Makes the columns orthonormal by modified Gram-Schmidt, and stores them in p. */
static void orthonormalize(const struct plan *m, const struct work *w)
{
    for (size_t k = 0; k < m->r; k++) {
        double *column = w->columns + k * m->rows;
        double before = sqrt(k_lowrank()->dot(column, column, m->rows));
        for (size_t l = 0; l < k; l++) {
            const double *other = w->columns + l * m->rows;
            k_lowrank()->subtract(column, k_lowrank()->dot(other, column, m->rows), other, m->rows);
        }
        double norm = sqrt(k_lowrank()->dot(column, column, m->rows));
        int keep = norm > 0 && norm >= NEGLIGIBLE * before;
        for (size_t i = 0; i < m->rows; i++) {
            column[i] = keep ? column[i] / norm : 0;
            w->p[i * m->r + k] = (float)column[i];
        }
    }
}

static size_t back_columns(void *arg, size_t begin, size_t end)
{
    const struct share *w = arg;
    const struct plan *m = w->m;
    k_lowrank()->back(w->x, m->rows, m->cols, begin, end, w->p, m->r, w->sums);
    return 0;
}

static int refuse_large(const struct cc_context *ctx, const char *what, size_t i,
                        struct cc_error *e)
{
    return cc_fail(e,
                   "tensor '%s', step %llu: the values of %s %zu are too large for powersgd; scale "
                   "the tensor down, or send it with fp32",
                   ctx->name != NULL ? ctx->name : "?", (unsigned long long)ctx->step, what, i);
}

/* The largest |Q| for which products with P cannot overflow. */
static double most_in_q(const struct plan *m)
{
    return (double)FLT_MAX / (2.0 * (double)m->r);
}

/* q = transpose(M) P, the new Q. */
static int project_back(const struct cc_codec *c, const struct cc_context *ctx, const float *matrix,
                        const struct plan *m, const struct work *w, const float *p, float *q,
                        struct cc_error *e)
{
    memset(w->q, 0, m->r * m->cols * sizeof(double));
    struct share s = {.m = m, .x = matrix, .p = p, .sums = w->q};
    (void)run(c, m->cols, COLUMNS, &s, back_columns);
    double most = most_in_q(m);
    for (size_t j = 0; j < m->r * m->cols; j++) {
        size_t column = j % m->cols; // NOLINT(clang-analyzer-core.DivideZero)
        if (!(fabs(w->q[j]) <= most))
            return refuse_large(ctx, "column", column, e);
        q[j] = (float)w->q[j];
    }
    return CC_OK;
}

static void write_q(const struct plan *m, const float *q, uint8_t *out)
{
    for (size_t j = 0; j < m->cols; j++)
        for (size_t k = 0; k < m->r; k++)
            cc_put_f32(out + 4 * (j * m->r + k), q[k * m->cols + j]);
}

static size_t product_rows(void *arg, size_t i, size_t end)
{
    const struct share *w = arg;
    const struct plan *m = w->m;
    return k_lowrank()->product(w->p + i * m->r, w->q, end - i, m->cols, m->r, w->mode, w->scale,
                                w->matrix + i * m->cols);
}

/* Sets y to P transpose(Q), or adds or subtracts it, by `mode`; returns the largest bits of |y|. */
static uint32_t product(const struct cc_codec *c, const struct plan *m, const float *p,
                        const float *q, enum cc_lowrank_mode mode, float scale, float *y)
{
    struct share s = {.m = m, .p = p, .q = q, .mode = mode, .scale = scale, .matrix = y};
    return (uint32_t)run(c, m->rows, 1, &s, product_rows);
}

/* w->columns = M Q with the Q of the step before. */
static int compute_columns(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                           const struct plan *m, const struct work *w, struct cc_error *e)
{
    draw_zero_columns(state_q(c), m);
    load_q(state_q(c), m, w->q);
    return project(c, ctx, x, state_residual(c, m), m, w, e);
}

/* Subtracts P transpose(Q) from the residual, which holds M. */
static int subtract_product(const struct cc_codec *c, const struct cc_context *ctx,
                            const struct plan *m, const float *p, struct cc_error *e)
{
    float *residual = state_residual(c, m);
    if (residual != NULL &&
        !cc_finite_bits(product(c, m, p, state_q(c), CC_LOWRANK_SUBTRACT, 1.0f, residual)))
        return cc_refuse(ctx, residual, NULL, m->n, e);
    return CC_OK;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    const struct plan m = make_plan(c->params, &c->shape);
    if (m.r == 0)
        return cc_scheme_fp32.encode_from(c, ctx, cc_elements_f32(x), out, cap, len, e);
    const struct work w = work_of(c, &m);
    const float *residual = state_residual(c, &m);
    CC_TRY(compute_columns(c, ctx, x, &m, &w, e));
    orthonormalize(&m, &w);
    CC_TRY(project_back(c, ctx, residual != NULL ? residual : x, &m, &w, w.p, state_q(c), e));
    memcpy(out, w.p, m.rows * m.r * sizeof(float));
    write_q(&m, state_q(c), out + m.rows * m.r * sizeof(float));
    *len = payload_bytes(&m);
    return subtract_product(c, ctx, &m, w.p, e);
}

/* Multiplies the factors of the payload, and sets y or adds to it as decode does. */
static void multiply(const struct cc_codec *c, const struct plan *m, const uint8_t *in,
                     const float *scale, float *y)
{
    struct work w = work_of(c, m);
    float *q = (float *)(void *)w.q;
    memcpy(w.p, in, m->rows * m->r * sizeof(float));
    in += m->rows * m->r * sizeof(float);
    for (size_t j = 0; j < m->cols; j++)
        for (size_t k = 0; k < m->r; k++)
            q[k * m->cols + j] = cc_get_f32(in + 4 * (j * m->r + k));
    (void)product(c, m, w.p, q, scale == NULL ? CC_LOWRANK_SET : CC_LOWRANK_ADD,
                  scale == NULL ? 1 : *scale, y);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    struct plan m = make_plan(c->params, &c->shape);
    if (m.r == 0)
        return cc_scheme_fp32.decode(c, ctx, in, len, scale, y, e);
    if (len != payload_bytes(&m))
        return cc_bad_length(len, payload_bytes(&m), e);
    multiply(c, &m, in, scale, y);
    return CC_OK;
}

/* --- rounds (algorithm 1): the sum of all workers' M Q, then of their transpose(M) P --- */

static size_t rounds(const void *params)
{
    (void)params;
    return 2;
}

static size_t round_bytes(const void *params, const struct cc_shape *shape, size_t round)
{
    struct plan m = make_plan(params, shape);
    if (m.r == 0)
        return round == 0 ? cc_scheme_fp32.bound(NULL, shape) : 0;
    return m.r * (round == 0 ? m.rows : m.cols) * sizeof(float);
}

static int encode_p(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                    const struct plan *m, uint8_t *out, struct cc_error *e)
{
    struct work w = work_of(c, m);
    CC_TRY(compute_columns(c, ctx, x, m, &w, e));
    for (size_t i = 0; i < m->rows; i++)
        for (size_t k = 0; k < m->r; k++) {
            double value = w.columns[k * m->rows + i];
            if (!(fabs(value) <= (double)FLT_MAX))
                return refuse_large(ctx, "row", i, e);
            cc_put_f32(out + 4 * (i * m->r + k), (float)value);
        }
    return CC_OK;
}

static int encode_q(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                    const struct plan *m, uint8_t *out, struct cc_error *e)
{
    struct work w = work_of(c, m);
    const float *residual = state_residual(c, m);
    CC_TRY(
        project_back(c, ctx, residual != NULL ? residual : x, m, &w, state_p(c, m), state_q(c), e));
    write_q(m, state_q(c), out);
    return CC_OK;
}

static int encode_round(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                        const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    struct plan m = make_plan(c->params, &c->shape);
    *len = round_bytes(c->params, &c->shape, round);
    if (m.r == 0)
        return round == 0 ? cc_scheme_fp32.encode_from(c, ctx, cc_elements_f32(x), out, cap, len, e)
                          : CC_OK;
    return round == 0 ? encode_p(c, ctx, x, &m, out, e) : encode_q(c, ctx, x, &m, out, e);
}

static int refuse_sum(const uint8_t *in, const uint8_t *at, struct cc_error *e)
{
    return cc_bad_payload((size_t)(at - in), e,
                          "the workers' sum is %g, too large for powersgd; scale the tensor down, "
                          "or send it with fp32",
                          (double)cc_get_f32(at));
}

/* The sum serves as well as the mean: the factor drops out when P is made orthonormal. */
static int absorb_p(const struct cc_codec *c, const struct plan *m, const uint8_t *in,
                    struct cc_error *e)
{
    struct work w = work_of(c, m);
    const uint8_t *at = in;
    for (size_t i = 0; i < m->rows; i++)
        for (size_t k = 0; k < m->r; k++, at += sizeof(float)) {
            float value = cc_get_f32(at);
            if (!cc_finite(value))
                return refuse_sum(in, at, e);
            w.columns[k * m->rows + i] = (double)value;
        }
    orthonormalize(m, &w);
    memcpy(state_p(c, m), w.p, m->rows * m->r * sizeof(float));
    return CC_OK;
}

static int absorb_q(const struct cc_codec *c, const struct cc_context *ctx, const struct plan *m,
                    const uint8_t *in, float scale, float *y, struct cc_error *e)
{
    float *q = state_q(c);
    const uint8_t *at = in;
    double most = most_in_q(m);
    for (size_t j = 0; j < m->cols; j++)
        for (size_t k = 0; k < m->r; k++, at += sizeof(float)) {
            double value = (double)scale * (double)cc_get_f32(at);
            if (!(fabs(value) <= most))
                return refuse_sum(in, at, e);
            q[k * m->cols + j] = (float)value;
        }
    (void)product(c, m, state_p(c, m), q, CC_LOWRANK_ADD, 1.0f, y);
    return subtract_product(c, ctx, m, state_p(c, m), e);
}

static int absorb(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                  const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e)
{
    struct plan m = make_plan(c->params, &c->shape);
    size_t want = round_bytes(c->params, &c->shape, round);
    if (len != want)
        return cc_bad_length(len, want, e);
    if (m.r == 0)
        return round == 0 ? cc_scheme_fp32.decode(c, ctx, in, len, &scale, y, e) : CC_OK;
    return round == 0 ? absorb_p(c, &m, in, e) : absorb_q(c, ctx, &m, in, scale, y, e);
}

static bool sized_by_shape(const void *params)
{
    (void)params;
    return true;
}

const struct cc_scheme cc_scheme_powersgd = {
    .id = "powersgd",
    .title = "low-rank factors of a matrix",
    .reference = "Vogels et al., PowerSGD, NeurIPS 2019, algorithms 1 and 2",
    .layout = "P, rows x r f32, then Q, cols x r f32; n x f32 if that is not smaller",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .sized_by_shape = sized_by_shape,
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
    .rounds = rounds,
    .round_bytes = round_bytes,
    .encode_round = encode_round,
    .absorb = absorb,
};
