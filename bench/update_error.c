/* The measure of bench/update_error.h.
 *
 * A scheme runs over a sample of the tensors, window by window. Within a window each tensor is
 * taken on its own: it has a codec, and sums of what it received and lacks. A scheme without a
 * state needs no time to settle. With one, windows go on until two of them lie within CALM of the
 * two before, or for MOST_WINDOWS; the last USED count.
 *
 * The interval has two parts, which add up. One is the variance of a ratio of sums over the windows
 * that count: what randomness in schemes and signs leaves open. The variance of a ratio r of sums
 * over n parts, with numerators a and denominators b, is n / (n - 1) sum (a - r b)^2 / (sum a)^2
 * relative to it (Cochran, Sampling Techniques, section 6.3). The other is how far the few steps of
 * a trace may differ from those of the training. Without a state that is the same variance, of the
 * errors of single steps. With one, what is late in a window comes from other steps than the
 * window's own, and that of the steps' squared norms is taken. As two or four steps hardly tell
 * their variance, it is estimated together with a prior (scaled inverse chi-squared, PRIOR degrees
 * of freedom), whose size is what captured traces show, and the interval is that of Student's t. */
#include "bench/update_error.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/sample.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"

enum { MOST_WINDOWS = 16, USED = 4, MOST_STEPS = 64 };
#define CALM 0.05

/* The relative deviation between steps of the squared norm and of the error of a single step, in
 * captured traces; it counts like PRIOR steps. */
#define PRIOR_NORM  0.9
#define PRIOR_ERROR 0.3
#define PRIOR       8

/* A window has at least CC_ERROR_WINDOW steps, which of a scheme with a long period may be many. No
 * scheme encodes more values than this, however few windows remain. */
#define MOST_VALUES ((double)(1 << 30))

static const struct cc_sample_limits flat_limits = {
    .values = 300000, .largest = 1 << 16, .steps = MOST_STEPS, .kept = SIZE_MAX};
static const struct cc_sample_limits shape_limits = {
    .values = 1 << 21, .largest = 1 << 22, .steps = MOST_STEPS, .kept = SIZE_MAX};

/* The sums that one tensor adds to a window. */
struct window {
    double error_sq, raw_sq; /* the squares of the window's sums: (sum (u - g))^2, (sum g)^2 */
    double
        residual_sq; /* the square of the sum of u - g since the beginning, at the window's end */
    double step_error_sq[MOST_STEPS], step_raw_sq[MOST_STEPS]; /* by step of the pass */
    /* Sums over the gradients themselves, whatever the scheme's momentum: of <g - u, g>, ||u -
     * g||^2 and ||g||^2 over the window's steps. */
    double missed, own_error_sq, own_raw_sq;
};

/* One tensor under one scheme. */
struct track {
    const struct cc_sample_piece *piece;
    struct cc_codec_set set;
    float *gradient, *decoded;
    float *lacks, *due;     /* sums over the window of u - g and of g */
    float *total;           /* the sum of u - g since the beginning */
    float *rest;            /* memory for a sum that nobody needs */
    float *velocity, *sign; /* the gradient with the scheme's own momentum; signs of the pass */
    struct window window;
    struct cc_error error; /* why it failed, or empty */
};

/* One scheme. */
struct measuring {
    const struct cc_bench_config *config;
    size_t scheme;
    const struct cc_sample *sample;
    struct track *track; /* one per piece */
    double momentum;
    size_t steps; /* in a window */
    uint64_t step;
    int parts;
};

struct cc_update_error cc_update_error_unknown(void)
{
    const double n = (double)NAN;
    return (struct cc_update_error){n, n, n, n, n, n, n, n, n, false};
}

/* --- one tensor --- */

static void close_track(struct track *t)
{
    cc_codec_set_free(&t->set);
    free(t->gradient);
}

/* Memory for one tensor; to be closed also after a failure. */
static int open_track(const struct measuring *m, const struct cc_sample_piece *piece,
                      struct track *t, struct cc_error *e)
{
    const size_t n = piece->shape.n, each = cc_align_up(n * sizeof(float)) / sizeof(float);
    *t = (struct track){.piece = piece};
    CC_TRY(cc_codec_set_single(&t->set, cc_bench_spec(m->config, m->scheme, piece->tensor),
                               &piece->shape, &cc_memory_in_turn, e));
    CC_TRY(CC_NEW(t->gradient, 7 * each + piece->rows + piece->columns, e));
    t->decoded = t->gradient + each;
    t->lacks = t->decoded + each;
    t->due = t->lacks + each;
    t->total = t->due + each;
    t->rest = t->total + each;
    t->velocity = t->rest + each;
    t->sign = t->velocity + each;
    return CC_OK;
}

static void add(float *restrict sum, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

static int code(const struct measuring *m, struct track *t, uint64_t step, const float *x, float *y,
                struct cc_error *e)
{
    const struct cc_codec_item *item = t->set.item;
    const struct cc_context ctx = cc_bench_context(m->config, t->piece->tensor, step);
    size_t len;
    CC_TRY(cc_encode(&item->codec, &ctx, x, item->payload, item->bound, &len, e));
    return cc_decode(&item->codec, &ctx, item->payload, len, y, e);
}

/* The values that the optimizer is to receive: the gradient, or what the scheme's own momentum
 * makes of it. */
static const float *reference(const struct measuring *m, struct track *t)
{
    const float factor = (float)m->momentum;
    if (m->momentum == 0)
        return t->gradient;
    for (size_t i = 0; i < t->piece->shape.n; i++)
        t->velocity[i] = factor * t->velocity[i] + t->gradient[i];
    return t->velocity;
}

static int run_window(const struct measuring *m, struct track *t, struct cc_error *e)
{
    const size_t n = t->piece->shape.n;
    t->window = (struct window){.error_sq = 0};
    memset(t->lacks, 0, n * sizeof *t->lacks);
    memset(t->due, 0, n * sizeof *t->due);
    for (uint64_t step = m->step; step < m->step + m->steps && !cc_interrupted(); step++) {
        const size_t of = step % m->sample->steps;
        struct cc_compared sums = {0};
        cc_sample_gradient(m->sample, t->piece, m->config->seed, step, t->sign, t->gradient);
        CC_TRY(code(m, t, step, t->gradient, t->decoded, e));
        const float *g = reference(m, t);
        k_compare()->compare(t->decoded, g, t->lacks, n, &sums);
        add(t->due, g, n);
        t->window.step_error_sq[of] += sums.error_sq;
        t->window.step_raw_sq[of] += sums.raw_sq;
        if (g != t->gradient) {
            sums = (struct cc_compared){0};
            k_compare()->compare(t->decoded, t->gradient, t->rest, n, &sums);
        }
        t->window.missed += sums.raw_sq - sums.dot;
        t->window.own_error_sq += sums.error_sq;
        t->window.own_raw_sq += sums.raw_sq;
    }
    add(t->total, t->lacks, n);
    t->window.error_sq = k_reduce()->sum_sq(t->lacks, n);
    t->window.raw_sq = k_reduce()->sum_sq(t->due, n);
    t->window.residual_sq = k_reduce()->sum_sq(t->total, n);
    return CC_OK;
}

/* --- all tensors --- */

static void run_part(void *arg, int part)
{
    struct measuring *m = arg;
    for (size_t i = (size_t)part; i < m->sample->count; i += (size_t)m->parts)
        if (m->track[i].error.text[0] == '\0')
            (void)run_window(m, &m->track[i], &m->track[i].error);
}

static void add_window(struct window *sum, const struct window *w, double weight, size_t steps)
{
    sum->error_sq += weight * w->error_sq;
    sum->raw_sq += weight * w->raw_sq;
    sum->residual_sq += weight * w->residual_sq;
    sum->missed += weight * w->missed;
    sum->own_error_sq += weight * w->own_error_sq;
    sum->own_raw_sq += weight * w->own_raw_sq;
    for (size_t i = 0; i < steps; i++) {
        sum->step_error_sq[i] += weight * w->step_error_sq[i];
        sum->step_raw_sq[i] += weight * w->step_raw_sq[i];
    }
}

static int next_window(struct measuring *m, struct window *out, struct cc_error *e)
{
    *out = (struct window){.error_sq = 0};
    cc_parallel(m->parts, run_part, m);
    m->step += m->steps;
    for (size_t i = 0; i < m->sample->count; i++) {
        if (m->track[i].error.text[0] != '\0')
            return cc_fail(e, "%s", m->track[i].error.text);
        add_window(out, &m->track[i].window, m->sample->piece[i].weight, m->sample->steps);
    }
    return CC_OK;
}

static double ratio(double error, double of)
{
    return error == 0 ? 0 : error / of;
}

static double mean_error(const struct window *w)
{
    double error_sq = 0, raw_sq = 0;
    for (size_t i = 0; i < USED; i++) {
        error_sq += w[i].error_sq;
        raw_sq += w[i].raw_sq;
    }
    return ratio(error_sq, raw_sq);
}

/* Whether the last USED windows lie within CALM of as many before. */
static bool is_calm(const struct window *w, size_t windows)
{
    if (windows < (size_t)2 * USED)
        return false;
    const double late = mean_error(w + windows - USED);
    return fabs(late - mean_error(w + windows - (size_t)2 * USED)) <= CALM * late;
}

/* --- results --- */

/* n times the relative variance of sum a / sum b over n >= 2 parts. */
static double ratio_variance(const double *a, const double *b, size_t n)
{
    double error = 0, of = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        error += a[i];
        of += b[i];
    }
    for (size_t i = 0; i < n && error > 0; i++)
        sum += pow((a[i] - error / of * b[i]) / error, 2);
    return (double)n * (double)n / (double)(n - 1) * sum;
}

/* The interval of the error, from the sum of the windows that count, and these one by one. */
static void find_interval(const struct measuring *m, bool settles, const struct window *all,
                          const double *error, const double *of, size_t used,
                          struct cc_update_error *out)
{
    const size_t steps = m->sample->steps;
    const double known = (double)(steps - 1), prior = settles ? PRIOR_NORM : PRIOR_ERROR;
    double ones[MOST_STEPS], change = 0;
    if (steps < 2)
        return;
    for (size_t i = 0; i < steps; i++)
        ones[i] = 1;
    const double between = settles ? ratio_variance(all->step_raw_sq, ones, steps)
                                   : ratio_variance(all->step_error_sq, all->step_raw_sq, steps);
    const double of_steps = (known * between + PRIOR * prior * prior) / (known + PRIOR);
    const double of_windows = used > 1 ? ratio_variance(error, of, used) : 0;
    const double deviation = sqrt(of_steps / (double)steps + of_windows / (double)used);
    if (!out->settled && out->error > 0 && used > 0)
        change = fabs(ratio(error[used - 1], of[used - 1]) / out->error - 1);
    const double factor = exp(gsl_cdf_tdist_Pinv(0.975, known + PRIOR) * deviation) * (1 + change);
    out->low = out->error / factor;
    out->high = out->error * factor;
}

/* Fills in all but bias and variance, from the last windows. */
static void conclude(const struct measuring *m, bool settles, const struct window *w,
                     size_t windows, struct cc_update_error *out)
{
    const size_t used = windows < USED ? windows : USED;
    double error[USED], of[USED], step_error = 0, step_raw = 0;
    struct window all = {.error_sq = 0};
    for (size_t i = 0; i < used; i++) {
        const struct window *one = &w[windows - used + i];
        add_window(&all, one, 1, m->sample->steps);
        error[i] = one->error_sq;
        of[i] = one->raw_sq;
    }
    for (size_t i = 0; i < m->sample->steps; i++) {
        step_error += all.step_error_sq[i];
        step_raw += all.step_raw_sq[i];
    }
    out->error = ratio(all.error_sq, all.raw_sq);
    out->nmse = ratio(step_error, step_raw);
    out->late = fabs(ratio(all.missed, all.own_raw_sq));
    out->noise = fmax(0, ratio(all.own_error_sq, all.own_raw_sq) - out->late * out->late);
    if (cc_spec_has_feedback(m->config->schemes->item[m->scheme]) && step_raw > 0)
        out->delay = sqrt(all.residual_sq / (step_raw / (double)m->steps));
    find_interval(m, settles, &all, error, of, used, out);
}

/* Encodes the gradients of the first pass twice each, under different random numbers: d and d' are
 * two draws of the error. The mean of d d' is the square of the bias, that of (d - d')^2 / 2 the
 * variance. */
static int split(struct measuring *m, struct cc_update_error *out, struct cc_error *e)
{
    const bool random = (cc_spec_flags(m->config->schemes->item[m->scheme]) & CC_STOCHASTIC) != 0;
    double bias = 0, variance = 0, raw = 0;
    for (size_t i = 0; i < m->sample->count && !cc_interrupted(); i++) {
        struct track *t = &m->track[i];
        const float *again = random ? t->lacks : t->decoded;
        const double weight = t->piece->weight;
        for (uint64_t step = 0; step < m->sample->steps; step++) {
            cc_sample_gradient(m->sample, t->piece, m->config->seed, step, t->sign, t->gradient);
            CC_TRY(code(m, t, 2 * step, t->gradient, t->decoded, e));
            if (random)
                CC_TRY(code(m, t, 2 * step + 1, t->gradient, t->lacks, e));
            for (size_t k = 0; k < t->piece->shape.n; k++) {
                const double g = (double)t->gradient[k];
                const double d = (double)t->decoded[k] - g, other = (double)again[k] - g;
                raw += weight * g * g;
                bias += weight * d * other;
                variance += weight * (d - other) * (d - other) / 2;
            }
        }
    }
    out->bias = fmax(0, ratio(bias, raw));
    out->variance = ratio(variance, raw);
    return CC_OK;
}

static int run_windows(struct measuring *m, struct cc_update_error *out, struct cc_error *e)
{
    const struct cc_spec *spec = m->config->schemes->item[m->scheme];
    const size_t period = cc_period(spec->scheme, spec->params);
    struct window *w;
    size_t windows = 0, most = MOST_WINDOWS;
    int status = CC_OK;
    CC_TRY(CC_NEW(w, MOST_WINDOWS, e));
    m->steps = (CC_ERROR_WINDOW + period - 1) / period * period;
    const double affordable = MOST_VALUES / ((double)m->sample->values * (double)m->steps);
    if (affordable < MOST_WINDOWS)
        most = affordable < 2 ? 2 : (size_t)affordable;
    const bool settles = cc_sample_has_state(m->config, m->scheme, m->sample);
    while (windows < most && !cc_interrupted()) {
        CC_TRY_OUT(next_window(m, &w[windows++], e));
        out->settled = !settles ? windows == 2 : is_calm(w, windows);
        if (out->settled)
            break;
    }
    if (cc_interrupted())
        *out = cc_update_error_unknown();
    else
        conclude(m, settles, w, windows, out);
    if (!settles && !cc_interrupted())
        status = split(m, out, e);
out:
    free(w);
    return status;
}

static int measure(const struct cc_bench_config *config, size_t scheme,
                   const struct cc_sample *sample, struct cc_update_error *out, struct cc_error *e)
{
    const struct cc_spec *spec = config->schemes->item[scheme];
    struct measuring m = {.config = config,
                          .scheme = scheme,
                          .sample = sample,
                          .momentum = cc_own_momentum(spec->scheme, spec->params),
                          .parts = cc_parts(config->threads, sample->count, 1)};
    int status = CC_OK;
    CC_TRY(CC_NEW(m.track, sample->count, e));
    for (size_t i = 0; i < sample->count; i++)
        CC_TRY_OUT(open_track(&m, &sample->piece[i], &m.track[i], e));
    status = run_windows(&m, out, e);
out:
    for (size_t i = 0; i < sample->count; i++)
        close_track(&m.track[i]);
    free(m.track);
    return status;
}

/* --- all schemes --- */

struct all {
    const struct cc_bench_config *config;
    struct cc_sample sample[2]; /* for schemes that depend on the shape, the second */
    struct cc_update_error *out;
};

static bool is_lossy(const struct cc_spec *spec)
{
    return (spec->scheme->flags & CC_LOSSY) != 0;
}

bool cc_update_error_by_shape(const struct cc_spec *spec)
{
    return is_lossy(spec) && cc_sized_by_shape(spec->scheme, spec->params);
}

static bool by_shape(const struct cc_bench_config *config, size_t scheme)
{
    return cc_update_error_by_shape(config->schemes->item[scheme]);
}

/* Whether there are matrices whose values are drawn, with singular values unlike captured ones'. */
static bool draws_matrices(const struct cc_trace *t)
{
    bool found = false;
    for (size_t i = 0; i < cc_trace_tensors(t) && !found; i++)
        found = cc_trace_tensor(t, i)->shape.ndim > 1;
    return found && cc_trace_drawn(t);
}

/* Whether the scheme changes anything, was not given up, and the trace tells its error. */
static bool has_error(const struct cc_bench_config *config, size_t scheme)
{
    return is_lossy(config->schemes->item[scheme]) && !cc_bench_failed(config, scheme) &&
           !(by_shape(config, scheme) && draws_matrices(config->trace));
}

static void measure_scheme(void *arg, size_t scheme)
{
    struct all *all = arg;
    const struct cc_bench_config *config = all->config;
    struct cc_update_error *out = &all->out[scheme];
    if (has_error(config, scheme) && measure(config, scheme, &all->sample[by_shape(config, scheme)],
                                             out, &config->failed[scheme]) != CC_OK)
        *out = cc_update_error_unknown();
}

int cc_update_errors(const struct cc_bench_config *config, struct cc_update_error *out,
                     struct cc_error *e)
{
    const size_t schemes = config->schemes->count;
    struct all all = {.config = config, .out = out};
    int status = CC_OK;
    for (size_t s = 0; s < schemes; s++) {
        struct cc_sample *sample = &all.sample[by_shape(config, s)];
        out[s] = is_lossy(config->schemes->item[s])
                     ? cc_update_error_unknown()
                     : (struct cc_update_error){.delay = (double)NAN, .settled = true};
        if (has_error(config, s) && sample->piece == NULL)
            CC_TRY_OUT(cc_sample_open(config, by_shape(config, s) ? &shape_limits : &flat_limits,
                                      sample, e));
    }
    cc_bench_each_scheme(config, CC_PARTS_MAX, "errors", measure_scheme, &all);
out:
    cc_sample_free(&all.sample[0]);
    cc_sample_free(&all.sample[1]);
    return status;
}
