#include "train/linear/objective.h"

#include <math.h>

#include "core/parallel.h"
#include "train/kernels/sparse.h"
#include "train/math.h"

/* Ranges of rows whose losses are added by themselves, by whatever thread, and then in order. */
enum { RANGES = 64 };

struct cc_linear_point cc_linear_point(enum cc_linear_loss loss, double z, unsigned class)
{
    const double y = class > 0 ? 1 : -1, m = y * z;
    if (loss == CC_HINGE)
        return (struct cc_linear_point){fmax(0, 1 - m), m < 1 ? -y : 0};
    /* With exp of a number below 0 alone, neither overflows. */
    const double small = cc_train_exp(-fabs(m));
    return (struct cc_linear_point){.loss = log1p(small) + (m < 0 ? -m : 0),
                                    .slope = -y * (m < 0 ? 1 : small) / (1 + small)};
}

double cc_linear_product(const struct cc_linear_objective *f, size_t sample, const float *w)
{
    const struct cc_sparse_rows *r = &f->samples->rows;
    const size_t at = r->begin[sample];
    return k_sparse()->dot(r->index + at, r->value + at, r->begin[sample + 1] - at, w);
}

struct cc_linear_point cc_linear_take(const struct cc_linear_objective *f, size_t sample, double z,
                                      struct cc_model_score *sum)
{
    const unsigned class = f->samples->label[sample];
    const struct cc_linear_point p = cc_linear_point(f->loss, z, class);
    sum->loss += p.loss;
    sum->correct += (z > 0) == (class > 0);
    return p;
}

struct cc_model_score cc_linear_slopes(const struct cc_linear_objective *f, const uint32_t *row,
                                       size_t count, const float *w, float *slope)
{
    struct cc_model_score all = {0};
    for (size_t i = 0; i < count; i++) {
        const size_t sample = row != NULL ? row[i] : i;
        const double z = cc_linear_product(f, sample, w);
        slope[i] = (float)cc_linear_take(f, sample, z, &all).slope;
    }
    all.loss /= count > 0 ? (double)count : 1;
    return all;
}

void cc_linear_add(const struct cc_linear_objective *f, const uint32_t *row, size_t count,
                   float scale, const float *slope, float *sum)
{
    const struct cc_sparse_rows *r = &f->samples->rows;
    for (size_t i = 0; i < count; i++) {
        const size_t sample = row != NULL ? row[i] : i, at = r->begin[sample];
        const float by = scale * slope[i];
        if (by != 0)
            k_sparse()->add(r->index + at, r->value + at, r->begin[sample + 1] - at, by, sum);
    }
}

struct scores {
    const struct cc_linear_objective *f;
    const float *w;
    struct cc_model_score range[RANGES]; /* loss: the sum */
};

static bool score_range(void *arg, size_t range)
{
    struct scores *s = arg;
    const struct cc_samples *samples = s->f->samples;
    struct cc_model_score sum = {0};
    const size_t end = cc_part_begin(samples->count, RANGES, (int)range + 1, 1);
    for (size_t i = cc_part_begin(samples->count, RANGES, (int)range, 1); i < end; i++)
        (void)cc_linear_take(s->f, i, cc_linear_product(s->f, i, s->w), &sum);
    s->range[range] = sum;
    return true;
}

struct cc_model_score cc_linear_score_all(const struct cc_linear_objective *f, const float *w,
                                          int threads)
{
    struct scores s = {.f = f, .w = w};
    struct cc_model_score all = {0};
    cc_parallel_items(threads, RANGES, score_range, &s);
    for (size_t i = 0; i < RANGES; i++) {
        all.loss += s.range[i].loss;
        all.correct += s.range[i].correct;
    }
    all.loss /= (double)f->samples->count;
    return all;
}

double cc_linear_value(const struct cc_linear_objective *f, const float *w, int threads)
{
    double squares = 0;
    for (size_t j = 0; j < f->features; j++)
        squares += (double)w[j] * (double)w[j];
    return cc_linear_score_all(f, w, threads).loss + f->l2 / 2 * squares;
}
