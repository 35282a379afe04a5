/* Coordinate descent keeps the product of every row with the parameters; a step brings up to date
 * those of rows that have a changed coordinate. */
#include "train/linear/coordinates.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "train/data/order.h"

struct cc_coordinates {
    const struct cc_linear_objective *f;
    size_t workers, count;
    struct cc_order *order;        /* the features'; a slice is a worker's for good */
    struct cc_sparse_rows columns; /* the samples' */
    double *product;               /* by sample, with `seen` */
    float *seen;                   /* the parameters */
    float *bound;                  /* L_j of each feature */
    size_t next; /* the step whose beginning the products are of; SIZE_MAX: none */
};

static void set_bounds(struct cc_coordinates *c)
{
    const struct cc_sparse_rows *r = &c->columns;
    for (size_t j = 0; j < c->f->features; j++) {
        double squares = 0;
        for (size_t k = r->begin[j]; k < r->begin[j + 1]; k++)
            squares += (double)r->value[k] * (double)r->value[k];
        c->bound[j] = (float)(squares / (4 * (double)c->f->samples->count) + c->f->l2);
    }
}

/* The order of the features: all are of one class, so that shards by class are slices. */
static int open_order(struct cc_coordinates *c, uint64_t seed, struct cc_error *e)
{
    const size_t features = c->f->features;
    uint16_t *same;
    CC_TRY(CC_NEW(same, features, e));
    const struct cc_samples of = {.count = features, .label = same};
    const struct cc_order_config config = {
        .workers = c->workers, .batch = c->count, .by_class = 1, .seed = seed};
    const int status = cc_order_open(&of, &config, &c->order, e);
    free(same);
    return status;
}

int cc_coordinates_open(const struct cc_linear_objective *f, size_t workers, size_t count,
                        uint64_t seed, struct cc_coordinates **out, struct cc_error *e)
{
    int status = CC_OK;
    if (f->features / workers < count)
        return cc_fail(e,
                       "%zu features cut into slices for %zu workers are fewer than %zu "
                       "coordinates each: take fewer",
                       f->features, workers, count);
    struct cc_coordinates *c;
    CC_TRY(CC_NEW(c, 1, e));
    *c = (struct cc_coordinates){.f = f, .workers = workers, .count = count, .next = SIZE_MAX};
    CC_TRY_OUT(open_order(c, seed, e));
    CC_TRY_OUT(cc_rows_transpose(&f->samples->rows, f->features, &c->columns, e));
    CC_TRY_OUT(cc_alloc_floats(f->features, &c->seen, e));
    CC_TRY_OUT(cc_alloc_floats(f->features, &c->bound, e));
    CC_TRY_OUT(CC_NEW(c->product, f->samples->count, e));
    set_bounds(c);
    *out = c;
out:
    if (status != CC_OK)
        cc_coordinates_close(c);
    return status;
}

void cc_coordinates_close(struct cc_coordinates *c)
{
    if (c == NULL)
        return;
    cc_order_close(c->order);
    cc_rows_free(&c->columns);
    free(c->product);
    free(c->seen);
    free(c->bound);
    free(c);
}

size_t cc_coordinates_steps(const struct cc_coordinates *c)
{
    return cc_order_steps(c->order);
}

static void multiply_all(struct cc_coordinates *c, const float *w)
{
    memcpy(c->seen, w, c->f->features * sizeof *w);
    for (size_t i = 0; i < c->f->samples->count; i++)
        c->product[i] = cc_linear_product(c->f, i, w);
}

/* Adds the changes of the coordinates that all workers took in a step. */
static void add_changes(struct cc_coordinates *c, size_t step, const float *w)
{
    const struct cc_sparse_rows *r = &c->columns;
    for (size_t worker = 0; worker < c->workers; worker++) {
        const uint32_t *taken = cc_order_batch(c->order, step, worker);
        for (size_t i = 0; i < c->count; i++) {
            const uint32_t j = taken[i];
            const double change = (double)w[j] - (double)c->seen[j];
            for (size_t k = r->begin[j]; change != 0 && k < r->begin[j + 1]; k++)
                c->product[r->index[k]] += change * (double)r->value[k];
            c->seen[j] = w[j];
        }
    }
}

void cc_coordinates_update(struct cc_coordinates *c, size_t step, const float *w)
{
    if (c->next == SIZE_MAX || (step != c->next && step != c->next + 1))
        multiply_all(c, w);
    else if (step == c->next + 1)
        add_changes(c, c->next, w);
    c->next = step;
}

struct cc_model_score cc_coordinates_score(const struct cc_coordinates *c, const uint32_t *row,
                                           size_t count)
{
    struct cc_model_score all = {0};
    for (size_t i = 0; i < count; i++)
        (void)cc_linear_take(c->f, row[i], c->product[row[i]], &all);
    all.loss /= (double)count;
    return all;
}

void cc_coordinates_gradient(struct cc_coordinates *c, size_t step, size_t worker, const float *w,
                             float *gradient)
{
    const struct cc_sparse_rows *r = &c->columns;
    const struct cc_samples *s = c->f->samples;
    const uint32_t *taken = cc_order_batch(c->order, step, worker);
    memset(gradient, 0, c->f->features * sizeof *gradient);
    for (size_t i = 0; i < c->count; i++) {
        const uint32_t j = taken[i];
        double sum = 0;
        for (size_t k = r->begin[j]; k < r->begin[j + 1]; k++) {
            const uint32_t row = r->index[k];
            sum += cc_linear_point(c->f->loss, c->product[row], s->label[row]).slope *
                   (double)r->value[k];
        }
        const double slope = sum / (double)s->count + c->f->l2 * (double)w[j];
        if (c->bound[j] > 0)
            gradient[j] = (float)((double)c->workers * (slope / (double)c->bound[j]));
    }
}
