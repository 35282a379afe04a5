/* Choosing and keeping a sample. Tensors of one kind (matrices by their sides, others) stand for
 * each other: a few are kept with the weight of all, large ones cut to their first rows. Passes
 * after the first change signs of rows and columns at random. */
#include "bench/sample.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

/* Streams of random numbers; schemes and synthetic traces use none of these. */
enum { ROW_SIGNS = 0x5349474e, COLUMN_SIGNS };

/* --- the choice --- */

/* The tensor's shape without the rows that exceed `largest` values; a row that does is cut, too. */
static struct cc_shape cut(const struct cc_shape *shape, size_t largest)
{
    struct cc_shape s = *shape;
    if (s.n <= largest || s.ndim == 0)
        return s;
    const size_t row = s.n / s.dim[0];
    if (row > largest)
        return (struct cc_shape){.n = largest, .dim = {1, largest}, .ndim = 2};
    s.dim[0] = largest / row;
    s.n = s.dim[0] * row;
    return s;
}

/* One of the two kinds of tensors, whose gradients differ. */
struct kind {
    bool matrices;
    size_t count, values; /* those with values; values as cut */
};

static bool is_of(const struct kind *k, const struct cc_shape *shape)
{
    return shape->n > 0 && (shape->ndim > 1) == k->matrices;
}

static struct kind kind_of(const struct cc_trace *t, bool matrices, size_t largest)
{
    struct kind k = {.matrices = matrices};
    for (size_t i = 0; i < cc_trace_tensors(t); i++) {
        const struct cc_shape *shape = &cc_trace_tensor(t, i)->shape;
        if (!is_of(&k, shape))
            continue;
        k.count++;
        k.values += cut(shape, largest).n;
    }
    return k;
}

static void take(struct cc_sample *s, size_t tensor, struct cc_shape shape, double weight)
{
    const size_t rows = shape.ndim > 0 ? shape.dim[0] : 1;
    s->piece[s->count++] = (struct cc_sample_piece){.tensor = tensor,
                                                    .shape = shape,
                                                    .rows = rows,
                                                    .columns = shape.n / rows,
                                                    .weight = weight};
    s->values += shape.n;
}

/* Takes `picks` tensors of a kind, at equal distances. */
static void take_some(struct cc_sample *s, const struct cc_trace *t, const struct kind *k,
                      size_t picks, size_t largest)
{
    size_t seen = 0, taken = 0;
    for (size_t i = 0; i < cc_trace_tensors(t) && taken < picks; i++) {
        const struct cc_shape *shape = &cc_trace_tensor(t, i)->shape;
        if (!is_of(k, shape))
            continue;
        /* The middle of part `taken` of `picks` equal parts. */
        if (seen++ != (2 * taken + 1) * k->count / (2 * picks))
            continue;
        take(s, i, cut(shape, largest), (double)k->count / (double)picks);
        taken++;
    }
}

static void choose(struct cc_sample *s, const struct cc_trace *t,
                   const struct cc_sample_limits *limits)
{
    const struct kind kind[] = {kind_of(t, true, limits->largest),
                                kind_of(t, false, limits->largest)};
    if (cc_trace_values(t) <= limits->values) {
        for (size_t i = 0; i < cc_trace_tensors(t); i++)
            if (cc_trace_tensor(t, i)->shape.n > 0)
                take(s, i, cc_trace_tensor(t, i)->shape, 1);
        return;
    }
    /* Vectors get at most an eighth of the values, beside matrices. */
    const size_t most = kind[0].count > 0 ? limits->values / 8 : limits->values;
    const size_t vectors = kind[1].values < most ? kind[1].values : most;
    const size_t share[] = {limits->values - vectors, vectors};
    for (size_t i = 0; i < 2; i++) {
        const struct kind *k = &kind[i];
        if (k->count == 0)
            continue;
        double picks = (double)k->count * (double)share[i] / (double)k->values;
        picks = picks < 1 ? 1 : picks > (double)k->count ? (double)k->count : picks;
        take_some(s, t, k, (size_t)picks, limits->largest);
    }
}

/* --- gradients --- */

static int keep(const struct cc_bench_config *config, struct cc_sample *s, struct cc_error *e)
{
    for (size_t i = 0; i < s->count; i++) {
        struct cc_sample_piece *p = &s->piece[i];
        p->x = cc_alloc(s->steps * p->shape.n * sizeof(float), e);
        if (p->x == NULL)
            return CC_FAIL;
    }
    for (size_t step = 0; step < s->steps; step++)
        for (size_t i = 0; i < s->count; i++) {
            struct cc_sample_piece *p = &s->piece[i];
            CC_TRY(cc_trace_load_first(config->trace, config->stream, step, p->tensor, p->shape.n,
                                       p->x + step * p->shape.n, e));
        }
    return CC_OK;
}

int cc_sample_open(const struct cc_bench_config *config, const struct cc_sample_limits *limits,
                   struct cc_sample *out, struct cc_error *e)
{
    size_t most = 0, bytes;
    *out =
        (struct cc_sample){.steps = config->steps < limits->steps ? config->steps : limits->steps};
    CC_TRY(CC_NEW(out->piece, cc_trace_tensors(config->trace), e));
    choose(out, config->trace, limits);
    if (cc_mul(out->values, out->steps * sizeof(float), &bytes) && bytes <= limits->kept)
        return keep(config, out, e);
    for (size_t i = 0; i < out->count; i++)
        most = cc_larger(most, out->piece[i].shape.n);
    return CC_NEW(out->buffer, most, e);
}

int cc_sample_step(const struct cc_bench_config *config, struct cc_sample *s,
                   const struct cc_sample_piece *p, size_t step, const float **x,
                   struct cc_error *e)
{
    *x = p->x != NULL ? p->x + step % s->steps * p->shape.n : s->buffer;
    if (p->x != NULL)
        return CC_OK;
    return cc_trace_load_first(config->trace, config->stream, step % s->steps, p->tensor,
                               p->shape.n, s->buffer, e);
}

void cc_sample_free(struct cc_sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->piece[i].x);
    free(s->piece);
    free(s->buffer);
    *s = (struct cc_sample){0};
}

bool cc_sample_has_state(const struct cc_bench_config *config, size_t scheme,
                         const struct cc_sample *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct cc_sample_piece *p = &s->piece[i];
        const struct cc_codec_item item =
            cc_codec_item(cc_bench_spec(config, scheme, p->tensor), &p->shape);
        if (cc_state_bytes(&item.codec) > 0)
            return true;
    }
    return false;
}

/* --- passes --- */

static void draw_signs(const struct cc_random_id *id, float *sign, size_t n)
{
    for (size_t at = 0; at < n; at++)
        sign[at] = cc_random(cc_key(id, at), (uint32_t)at) >> 31 != 0 ? -1.0F : 1.0F;
}

void cc_sample_gradient(const struct cc_sample *s, const struct cc_sample_piece *p, uint64_t seed,
                        uint64_t step, float *sign, float *out)
{
    const float *x = p->x + step % s->steps * p->shape.n;
    struct cc_random_id id = {
        .seed = seed, .rank = -1, .step = step / s->steps, .tensor = p->tensor};
    if (step < s->steps) {
        memcpy(out, x, p->shape.n * sizeof *x);
        return;
    }
    float *column = sign + p->rows;
    if (step % s->steps == 0) {
        id.stream = ROW_SIGNS;
        draw_signs(&id, sign, p->rows);
        id.stream = COLUMN_SIGNS;
        draw_signs(&id, column, p->columns);
    }
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++)
            out[r * p->columns + c] = sign[r] * column[c] * x[r * p->columns + c];
}
