#include "train/linear/svrg.h"

#include <math.h>
#include <string.h>

#include "core/parallel.h"
#include "core/random.h"

/* Tells the draws of rows apart from other random numbers. */
#define STREAM UINT64_C(0x53565247)

struct cc_svrg_constants cc_svrg_constants(const struct cc_linear_objective *f)
{
    const struct cc_sparse_rows *r = &f->samples->rows;
    double most = 0;
    for (size_t i = 0; i < r->count; i++) {
        double squares = 0;
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++)
            squares += (double)r->value[k] * (double)r->value[k];
        most = fmax(most, squares);
    }
    return (struct cc_svrg_constants){.smooth = most / 4 + f->l2, .convex = f->l2};
}

/* The loss of a row and its slope at w. */
static struct cc_linear_point point(const struct cc_linear_objective *f, size_t row, const float *w,
                                    struct cc_model_score *sum)
{
    return cc_linear_take(f, row, cc_linear_product(f, row, w), sum);
}

static void add_row(const struct cc_linear_objective *f, size_t row, double by, double *sum)
{
    const struct cc_sparse_rows *r = &f->samples->rows;
    for (size_t k = r->begin[row]; k < r->begin[row + 1]; k++)
        sum[r->index[k]] += by * (double)r->value[k];
}

void cc_svrg_part(const struct cc_linear_objective *f, size_t worker, size_t workers,
                  const float *w, double *room, float *out)
{
    const size_t n = f->samples->count;
    const size_t end = cc_part_begin(n, (int)workers, (int)worker + 1, 1);
    const double share = (double)workers / (double)n;
    struct cc_model_score unused = {0};
    memset(room, 0, f->features * sizeof *room);
    size_t rows = 0;
    for (size_t i = cc_part_begin(n, (int)workers, (int)worker, 1); i < end; i++, rows++)
        add_row(f, i, share * point(f, i, w, &unused).slope, room);
    for (size_t j = 0; j < f->features; j++)
        out[j] = (float)(room[j] + share * (double)rows * f->l2 * (double)w[j]);
}

void cc_svrg_draw(uint64_t seed, uint64_t step, size_t worker, size_t n, size_t count,
                  uint32_t *row)
{
    const struct cc_random_id id = {
        .seed = seed, .rank = (int64_t)worker, .step = step, .stream = STREAM};
    const struct cc_key key = cc_key(&id, 0);
    for (size_t i = 0; i < count; i++)
        row[i] = (uint32_t)((uint64_t)cc_random(key, (uint32_t)i) * n >> 32);
}

struct cc_model_score cc_svrg_vector(const struct cc_linear_objective *f, const uint32_t *row,
                                     size_t count, const float *x, const float *y,
                                     const float *full, double *room, float *out)
{
    struct cc_model_score all = {0}, unused = {0};
    double loss = 0;
    for (size_t j = 0; j < f->features; j++)
        room[j] = f->l2 * ((double)x[j] - (double)y[j]) + (double)full[j];
    for (size_t i = 0; i < count; i++) {
        const struct cc_linear_point p = point(f, row[i], x, &all);
        add_row(f, row[i], (p.slope - point(f, row[i], y, &unused).slope) / (double)count, room);
        loss += p.loss / (double)count;
    }
    for (size_t j = 0; j < f->features; j++)
        out[j] = (float)room[j];
    all.loss = loss;
    return all;
}
