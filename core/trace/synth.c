/* Synthetic traces. docs/traces.md describes what they imitate, and gives the figures of the fit.
 *
 * A value is the product of independent factors, each drawn from a stream of random numbers of its
 * own that depends on the seed and on what the factor belongs to:
 *
 *   scale of the tensor        once; vectors are smaller and vary more than matrices
 *   drift of the tensor        slowly over the steps
 *   size of a rank's step      each step of each rank
 *   row and column factors     once for each row and column (CC_MIXTURE only)
 *   the value itself           mean square 1, by the kernels of core/trace/synth_draw.h
 *   0 or 1                     whether the value, or its run of values, is zero (`zeros` only)
 *
 * All logarithms of scales are normal. Values last several steps (`decay`) and are partly common to
 * all ranks. Nothing is stored but the scales and, for a mixture, the factors of a tensor's first
 * rows and columns: any value of any step can be drawn at once, and tensors have any size. */
#include "core/trace/synth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/synth_draw.h"
#include "core/trace/trace_impl.h"

const char *const cc_distribution_names[] = {"laplace", "gaussian", "student", "mixture", NULL};
const char *const cc_indices_names[] = {"uniform", "clustered", NULL};

/* The norm of a tensor's gradient, which hardly depends on the tensor's size. SPREAD_*: standard
 * deviations of logarithms of scales. */
#define NORM_MATRIX   0.2
#define SPREAD_MATRIX 0.2
#define NORM_VECTOR   0.02
#define SPREAD_VECTOR 0.4
/* Factors of the rows and columns of a mixture, and how much these two spreads differ by tensor. */
#define SPREAD_ROW    0.33
#define SPREAD_COLUMN 0.26
#define SPREAD_SHAPE  0.45
/* Over the steps: the size of a rank's whole gradient in a step, and a slow drift of each tensor.
 */
#define SPREAD_STEP  0.25
#define SPREAD_DRIFT 0.2
#define DRIFT_STEPS  16
/* The part of the values that all ranks have in common; its square is the correlation between
 * ranks. The server's values are smaller by the learning rate, and last longer by momentum. */
#define SHARED     0.3
#define PULL_SCALE 0.1
#define PULL_DECAY 0.9

/* A longer vector has the rows and columns of a convolution: rows of 64 columns of 9 values. */
#define LONG_VECTOR    4096
#define VECTOR_COLUMNS 64
#define VECTOR_INNER   9

/* Streams of random numbers; schemes use none of these with the same seed. */
enum { VALUES = 0x53594e54, PHASES, SHARES, SCALES, STEPS, DRIFTS, SHAPES, ROWS, COLUMNS, ZEROS };

/* Factors of rows or columns are kept up to this number, and drawn block by block beyond it. */
enum { BLOCK = 4096, MOST_KEPT = 256 * BLOCK };

struct factors {
    struct cc_random_id id;
    double spread;
    size_t count, kept;
    float *first; /* [kept] */
};

struct layer {
    double scale; /* root mean square of the values, before the factors of the steps */
    size_t inner; /* a row has column.count x inner values; of a mixture only */
    struct factors row, column; /* of a mixture only */
};

struct synth {
    struct cc_synth config;
    struct layer *layers;
};

static const struct synth *own(const struct cc_trace *t)
{
    return t->own;
}

/* e^x with plain operations, the same on every machine; |x| < 700. */
static double exp_of(double x)
{
    double k = nearbyint(x * 1.4426950408889634);
    double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double sum = 1, term = 1;
    for (int i = 1; i < 16; i++) {
        term *= r / i;
        sum += term;
    }
    return ldexp(sum, (int)k);
}

/* The numbers [from, from + n) of the standard normal distribution that depend on id only; their
 * indices have the same upper 32 bits. */
static void normals(const struct cc_random_id *id, size_t from, float *out, size_t n)
{
    const struct cc_draw d = {.own = {cc_key(id, from), cc_key(id, from)}};
    k_synth()->gaussian(&d, (uint32_t)from, 1.0f, out, n);
}

static double normal(const struct cc_random_id *id)
{
    float z;
    normals(id, 0, &z, 1);
    return (double)z;
}

/* Draws the n factors from number `from` on, a multiple of BLOCK: their mean square is 1, and their
 * logarithm normal. */
static void draw_lognormal(const struct factors *f, size_t from, float *out, size_t n)
{
    normals(&f->id, from, out, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)exp_of(f->spread * (double)out[i] - f->spread * f->spread);
}

/* The block of factors from number `from` on, a multiple of BLOCK; buffer[BLOCK] may hold it. */
static const float *factors_at(const struct factors *f, size_t from, float *buffer)
{
    if (from < f->kept)
        return f->first + from;
    draw_lognormal(f, from, buffer, cc_smaller(f->count - from, BLOCK));
    return buffer;
}

/* --- factors that vary over the steps --- */

/* A normal number at every DRIFT_STEPS-th step, with linear interpolation between them. */
static double drift(const struct synth *s, uint64_t tensor, uint64_t step)
{
    struct cc_random_id id = {.seed = s->config.seed,
                              .rank = -1,
                              .step = step / DRIFT_STEPS,
                              .tensor = tensor,
                              .stream = DRIFTS};
    double from = normal(&id);
    id.step++;
    double to = normal(&id);
    return from + (to - from) * (double)(step % DRIFT_STEPS) / DRIFT_STEPS;
}

static double scale_at(const struct synth *s, struct cc_trace_sender stream, uint64_t step,
                       uint64_t tensor)
{
    double exponent = SPREAD_DRIFT * drift(s, tensor, step);
    double scale = s->layers[tensor].scale;
    if (stream.direction == CC_PULL)
        return PULL_SCALE * scale * exp_of(exponent);
    const struct cc_random_id id = {
        .seed = s->config.seed, .rank = stream.rank, .step = step, .stream = STEPS};
    return scale * exp_of(exponent + SPREAD_STEP * normal(&id));
}

/* The keys of the elements whose index has the upper 32 bits of `first`. A value lasts
 * 1 / (1 - decay) steps, so that successive steps have the correlation `decay`. */
static struct cc_draw draw_at(const struct synth *s, struct cc_trace_sender stream, uint64_t step,
                              uint64_t tensor, uint64_t first)
{
    bool pull = stream.direction == CC_PULL;
    double decay = pull ? fmax(PULL_DECAY, s->config.decay) : s->config.decay;
    double periods = (double)step * (1 - decay), whole = floor(periods);
    struct cc_random_id id = {.seed = s->config.seed,
                              .rank = -1,
                              .direction = stream.direction,
                              .step = (uint64_t)whole,
                              .tensor = tensor,
                              .stream = VALUES};
    struct cc_draw d = {.renewed = (uint32_t)((periods - whole) * 0x1p32),
                        .shared = pull ? 0 : (uint32_t)(SHARED * 0x1p32)};
    for (int i = 0; i < 2; i++, id.step++) {
        id.rank = -1;
        d.common[i] = cc_key(&id, first);
        id.rank = stream.rank;
        d.own[i] = cc_key(&id, first);
    }
    id.step = 0;
    id.stream = SHARES;
    d.share = cc_key(&id, first);
    id.rank = -1;
    id.stream = PHASES;
    d.phase = cc_key(&id, first);
    return d;
}

/* --- loading --- */

static void apply_factors(const struct layer *l, float *x, size_t n)
{
    const size_t row_values = l->column.count * l->inner;
    const float *row = NULL, *column = NULL;
    float row_buffer[BLOCK], column_buffer[BLOCK];
    for (size_t at = 0, r = 0; at < n; at += row_values, r++) {
        if (r % BLOCK == 0)
            row = factors_at(&l->row, r, row_buffer);
        const float f = row[r % BLOCK];
        for (size_t i = at, c = 0; c < l->column.count && i < n; c++) {
            if (c % BLOCK == 0)
                column = factors_at(&l->column, c, column_buffer);
            const float g = f * column[c % BLOCK];
            size_t end = i + l->inner < n ? i + l->inner : n;
            for (; i < end; i++)
                x[i] *= g;
        }
    }
}

/* Sets to 0 those of n values, from index `first` on, whose random number, or their run's, says so.
 * first is a multiple of 2^32. */
static void clear_zeros(const struct synth *s, struct cc_trace_sender stream, uint64_t step,
                        uint64_t tensor, uint64_t first, float *x, size_t n)
{
    const struct cc_random_id id = {.seed = s->config.seed,
                                    .rank = stream.rank,
                                    .direction = stream.direction,
                                    .step = step,
                                    .tensor = tensor,
                                    .stream = ZEROS};
    const struct cc_key key = cc_key(&id, first);
    const uint64_t below = (uint64_t)(s->config.zeros * 0x1p32);
    const size_t run = s->config.indices == CC_INDICES_CLUSTERED ? CC_SYNTH_RUN : 1;
    if (below == 0)
        return;
    for (size_t i = 0; i < n && run == 1; i++)
        x[i] = cc_random(key, (uint32_t)i) < below ? 0 : x[i];
    for (size_t i = 0; i < n && run > 1; i += run)
        if (cc_random(key, (uint32_t)i) < below)
            memset(x + i, 0, (n - i < run ? n - i : run) * sizeof *x);
}

static int load(struct cc_trace *t, size_t stream, size_t step, size_t tensor, size_t n, float *x,
                struct cc_error *e)
{
    (void)e;
    const struct synth *s = own(t);
    const struct k_synth *k = k_synth();
    cc_draw_fn *const fill[] = {[CC_LAPLACE] = k->laplace,
                                [CC_GAUSSIAN] = k->gaussian,
                                [CC_STUDENT] = k->student,
                                [CC_MIXTURE] = k->gaussian};
    const size_t part = (size_t)1 << 32;
    float scale = (float)scale_at(s, t->streams[stream], step, tensor);
    for (size_t at = 0; at < n; at += part) {
        struct cc_draw d = draw_at(s, t->streams[stream], step, tensor, at);
        fill[s->config.distribution](&d, 0, scale, x + at, n - at < part ? n - at : part);
    }
    if (s->config.distribution == CC_MIXTURE)
        apply_factors(&s->layers[tensor], x, n);
    for (size_t at = 0; at < n; at += part)
        clear_zeros(s, t->streams[stream], step, tensor, at, x + at, n - at < part ? n - at : part);
    return CC_OK;
}

static uint64_t step_number(const struct cc_trace *t, size_t stream, size_t step)
{
    (void)t;
    (void)stream;
    return step;
}

static void close_synth(struct cc_trace *t)
{
    struct synth *s = t->own;
    for (size_t i = 0; s->layers != NULL && i < t->count; i++) {
        free(s->layers[i].row.first);
        free(s->layers[i].column.first);
    }
    free(s->layers);
    free(s);
}

static const struct cc_trace_ops synth_ops = {
    .step_number = step_number, .load = load, .close = close_synth, .drawn = true};

/* --- making --- */

/* Draws those of the factors that are kept. */
static int keep_factors(struct factors *f, struct cc_error *e)
{
    f->kept = cc_smaller(f->count, MOST_KEPT);
    CC_TRY(CC_NEW(f->first, f->kept, e));
    draw_lognormal(f, 0, f->first, f->kept);
    return CC_OK;
}

/* The factors of a mixture: rows are the first dimension, columns the second. */
static int draw_factors(struct layer *l, const struct cc_shape *shape, struct cc_random_id id,
                        struct cc_error *e)
{
    size_t rows = shape->n, columns = 1;
    l->inner = 1;
    if (shape->ndim <= 1 && shape->n > LONG_VECTOR) {
        columns = VECTOR_COLUMNS;
        l->inner = VECTOR_INNER;
        rows = shape->n / (VECTOR_COLUMNS * VECTOR_INNER) + 1;
    } else if (shape->ndim > 1 && shape->n > 0) {
        rows = shape->dim[0];
        columns = shape->dim[1];
        l->inner = shape->n / rows / columns;
    }
    id.stream = SHAPES;
    const double heavy = exp_of(SPREAD_SHAPE * normal(&id));
    id.stream = ROWS;
    l->row = (struct factors){.id = id, .spread = SPREAD_ROW * heavy, .count = rows};
    id.stream = COLUMNS;
    l->column = (struct factors){
        .id = id, .spread = columns > 1 ? SPREAD_COLUMN * heavy : 0, .count = columns};
    CC_TRY(keep_factors(&l->row, e));
    return keep_factors(&l->column, e);
}

static int draw_layer(const struct synth *s, struct layer *l, size_t tensor,
                      const struct cc_shape *shape, struct cc_error *e)
{
    struct cc_random_id id = {
        .seed = s->config.seed, .rank = -1, .tensor = tensor, .stream = SCALES};
    bool matrix = shape->ndim > 1 || shape->n > LONG_VECTOR;
    double norm = (matrix ? NORM_MATRIX : NORM_VECTOR) *
                  exp_of((matrix ? SPREAD_MATRIX : SPREAD_VECTOR) * normal(&id));
    l->scale = norm / sqrt((double)(shape->n > 0 ? shape->n : 1));
    return s->config.distribution == CC_MIXTURE ? draw_factors(l, shape, id, e) : CC_OK;
}

static int add_streams(struct cc_trace *t, const struct cc_synth *config, struct cc_error *e)
{
    for (size_t r = 0; r < config->ranks; r++) {
        struct cc_trace_sender push = {.direction = CC_PUSH, .rank = (int64_t)r};
        CC_TRY(cc_trace_add_stream(t, push, config->steps, e));
    }
    struct cc_trace_sender pull = {.direction = CC_PULL, .rank = -1};
    return config->pulls ? cc_trace_add_stream(t, pull, config->steps, e) : CC_OK;
}

int cc_trace_synth(const struct cc_synth *config, const struct cc_tensor_info *tensors,
                   size_t count, const char *label, struct cc_trace **out, struct cc_error *e)
{
    char name[256];
    if (config->steps == 0 || (config->ranks == 0 && !config->pulls))
        return cc_fail(e, "a synthetic trace needs at least one step and one rank");
    if (!(config->decay >= 0 && config->decay < 1))
        return cc_fail(e, "a synthetic trace's decay of %.9g: it must be at least 0 and below 1",
                       config->decay);
    if (!(config->zeros >= 0 && config->zeros <= 1))
        return cc_fail(e, "a synthetic trace's share of zeros of %.9g: it must be from 0 to 1",
                       config->zeros);
    struct cc_trace *t;
    CC_TRY(cc_trace_new(&t, &synth_ops, sizeof(struct synth), e));
    struct synth *s = t->own;
    s->config = *config;
    (void)snprintf(name, sizeof name, "synthetic:%s:%s",
                   cc_distribution_names[config->distribution], label);
    int status = CC_OK;
    CC_TRY_OUT(cc_trace_set_tensors(t, name, tensors, count, e));
    CC_TRY_OUT(CC_NEW(s->layers, count, e));
    for (size_t i = 0; i < count; i++)
        CC_TRY_OUT(draw_layer(s, &s->layers[i], i, &tensors[i].shape, e));
    CC_TRY_OUT(add_streams(t, config, e));
    *out = t;
out:
    if (status != CC_OK)
        cc_trace_close(t);
    return status;
}
