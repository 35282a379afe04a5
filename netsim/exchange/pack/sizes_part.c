/* Tensors of one shape are one kind; those that travel as fp32 are another, whatever their shape.
 * Each kind gets a piece of at most `largest` values, the largest power of two with which all
 * pieces together have no more values than allowed. With more than MOST_KINDS kinds, pieces are
 * taken at equal distances in the net's order, and a kind without one has the piece nearest in
 * size. */
#include "netsim/exchange/pack/sizes_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "schemes/spec.h"

enum { MOST_KINDS = 256 };

/* --- kinds --- */

static bool alike(const struct cc_job_tensor *a, const struct cc_job_tensor *b)
{
    if (a->raw || b->raw)
        return a->raw == b->raw;
    return a->shape.ndim == b->shape.ndim &&
           memcmp(a->shape.dim, b->shape.dim, sizeof a->shape.dim) == 0;
}

/* The pieces' place of the nearest tensor: of its kind, else the nearest in size, among matrices or
 * vectors, and never fp32 for another scheme. */
static size_t nearest(const struct cc_job *whole, const size_t *origin, size_t count, size_t tensor)
{
    const struct cc_job_tensor *t = &whole->tensor[tensor];
    double least = INFINITY;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cc_job_tensor *o = &whole->tensor[origin[i]];
        if (alike(t, o))
            return i;
        const bool kin = (o->shape.ndim > 1) == (t->shape.ndim > 1);
        const double far = fabs(log((double)o->shape.n / (double)cc_larger(t->shape.n, 1))) +
                           (kin ? 0 : 1e3) + (o->raw ? 1e6 : 0);
        if (far < least) {
            least = far;
            found = i;
        }
    }
    return found;
}

/* Sets origin[] to the first tensor of each kind, and returns how many there are. */
static size_t find_kinds(const struct cc_job *whole, size_t *origin)
{
    size_t kinds = 0;
    for (size_t t = 0; t < whole->tensors; t++) {
        size_t k = 0;
        while (k < kinds && !alike(&whole->tensor[t], &whole->tensor[origin[k]]))
            k++;
        if (k == kinds && whole->tensor[t].shape.n > 0)
            origin[kinds++] = t;
    }
    if (kinds <= MOST_KINDS)
        return kinds;
    for (size_t i = 0; i < MOST_KINDS; i++)
        origin[i] = origin[(2 * i + 1) * kinds / (2 * (size_t)MOST_KINDS)];
    return MOST_KINDS;
}

/* --- pieces --- */

/* A shape with at most `largest` values: the first rows, or both fewer rows and fewer columns. */
static struct cc_shape cut(const struct cc_shape *shape, bool captured, size_t largest)
{
    if (shape->n <= largest)
        return *shape;
    if (shape->ndim < 2)
        return cc_shape_flat(largest);
    size_t rows = shape->dim[0], columns = shape->dim[1], inner = shape->n / rows / columns;
    if (captured && shape->n / rows <= largest)
        rows = largest / (shape->n / rows);
    while (rows * columns * inner > largest) {
        size_t *side = !captured && rows > columns ? &rows : columns > 1 ? &columns : &inner;
        side = captured && rows > 1 ? &rows : side;
        *side = (*side + 1) / 2;
    }
    return (struct cc_shape){
        .n = rows * columns * inner, .dim = {rows, columns, inner}, .ndim = inner > 1 ? 3 : 2};
}

static size_t largest_piece(const struct cc_job *whole, const size_t *origin, size_t kinds,
                            size_t values)
{
    size_t largest = values;
    for (;; largest /= 2) {
        size_t sum = 0;
        for (size_t i = 0; i < kinds; i++)
            sum += cc_smaller(whole->tensor[origin[i]].shape.n, largest);
        if (sum <= values || largest == 1)
            return largest;
    }
}

int cc_sizes_part_make(const struct cc_job *whole, bool captured, size_t values,
                       struct cc_sizes_part *out, struct cc_error *e)
{
    *out = (struct cc_sizes_part){.job = *whole};
    out->job.tensor = NULL;
    out->job.offset = NULL;
    CC_TRY(CC_NEW(out->origin, whole->tensors, e));
    CC_TRY(CC_NEW(out->piece, whole->tensors, e));
    const size_t kinds = find_kinds(whole, out->origin);
    const size_t largest = largest_piece(whole, out->origin, kinds, values);
    CC_TRY(CC_NEW(out->job.tensor, kinds, e));
    out->job.tensors = kinds;
    for (size_t i = 0; i < kinds; i++) {
        out->job.tensor[i] = whole->tensor[out->origin[i]];
        out->job.tensor[i].shape = cut(&out->job.tensor[i].shape, captured, largest);
    }
    for (size_t t = 0; t < whole->tensors; t++)
        out->piece[t] = nearest(whole, out->origin, kinds, t);
    return cc_job_lay_out(&out->job, e);
}

void cc_sizes_part_free(struct cc_sizes_part *p)
{
    free(p->job.tensor); /* whose names are the whole job's */
    free(p->job.offset);
    free(p->origin);
    free(p->piece);
}

/* --- tables --- */

/* The most bytes that a tensor's payload has. */
static uint64_t bound_of(const struct cc_spec *spec, const struct cc_job_tensor *t)
{
    const struct cc_codec c = {.scheme = spec->scheme, .params = spec->params, .shape = t->shape};
    return cc_bound(&c);
}

/* A table of lines, of payloads' bytes or, if `bound` is NULL, of pairs. bound[0] has the pieces',
 * bound[1] the tensors'. */
static int expand(const struct cc_sizes_part *p, const struct cc_job *whole, size_t lines,
                  uint64_t *const bound[2], uint64_t **table, struct cc_error *e)
{
    uint64_t *all;
    if (*table == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(all, lines * whole->tensors, e));
    for (size_t i = 0; i < lines * whole->tensors; i++) {
        const size_t t = i % whole->tensors, k = p->piece[t];
        const uint64_t is = (*table)[i / whole->tensors * p->job.tensors + k];
        const uint64_t most = bound != NULL ? bound[1][t] : whole->tensor[t].shape.n;
        const double times = (double)whole->tensor[t].shape.n / (double)p->job.tensor[k].shape.n;
        const double size = round((double)is * times);
        const bool full = bound != NULL && is == bound[0][k];
        all[i] = full || size > (double)most ? most : (uint64_t)size;
    }
    free(*table);
    *table = all;
    return CC_OK;
}

static int find_bounds(const struct cc_job *job, const struct cc_job_row *row, uint64_t **out,
                       struct cc_error *e)
{
    struct cc_spec *spec = NULL, *raw = NULL;
    int status = CC_OK;
    CC_TRY_OUT(CC_NEW(*out, job->tensors, e));
    CC_TRY_OUT(cc_spec_parse(row->scheme, &spec, e));
    CC_TRY_OUT(cc_spec_parse(cc_job_row_raw(job, row), &raw, e));
    for (size_t i = 0; i < job->tensors; i++)
        if (job->tensor[i].shape.n > 0)
            (*out)[i] = bound_of(job->tensor[i].raw ? raw : spec, &job->tensor[i]);
out:
    cc_spec_free(spec);
    cc_spec_free(raw);
    return status;
}

int cc_sizes_part_expand(const struct cc_sizes_part *p, const struct cc_job *whole,
                         struct cc_job_row *row, struct cc_error *e)
{
    struct cc_job_sizes *s = &row->sizes;
    uint64_t *bound[2] = {NULL, NULL};
    int status = CC_OK;
    if (s->fixed)
        return CC_OK;
    CC_TRY_OUT(find_bounds(&p->job, row, &bound[0], e));
    CC_TRY_OUT(find_bounds(whole, row, &bound[1], e));
    CC_TRY_OUT(expand(p, whole, s->workers * s->steps, bound, &s->push, e));
    CC_TRY_OUT(expand(p, whole, s->steps, bound, &s->pull, e));
    CC_TRY_OUT(expand(p, whole, s->sums * s->steps, bound, &s->hop, e));
    CC_TRY_OUT(expand(p, whole, s->sums * s->steps, NULL, &s->pairs, e));
out:
    free(bound[0]);
    free(bound[1]);
    return status;
}
