#include "bench/speed.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"

/* Tensors are timed in groups of about this many values, encode and then decode, so that the clock
 * costs nothing and the memory stays small; a larger tensor is a group of its own. */
enum { GROUP_VALUES = 2 * 1024 * 1024 };

struct group {
    size_t first, count, values;
};

struct work {
    const struct cc_plan *plan;
    const struct cc_speed_limits *limits;
    struct cc_bank *bank; /* one a scheme */
    struct group *group;
    size_t groups, tensors;
    float *load, *decoded; /* the largest group's values */
    uint8_t *payload;      /* the largest group's bounds */
    uint8_t *scratch;      /* scratch_bytes for each thread */
    size_t scratch_bytes;
    const float **x;         /* by tensor: its values in this step */
    size_t *at, *len;        /* by tensor: where its payload lies, and how long it is */
    size_t *value_at;        /* by tensor: where its decoded values lie */
    struct cc_error *failed; /* one a thread */
};

/* --- memory --- */

static void make_groups(struct work *w)
{
    for (size_t t = 0; t < w->tensors; t++) {
        size_t n = cc_trace_tensor(w->plan->trace, t)->shape.n;
        struct group *last = w->groups > 0 ? &w->group[w->groups - 1] : NULL;
        if (last == NULL || w->limits->per_tensor || last->values + n > GROUP_VALUES)
            w->group[w->groups++] = (struct group){.first = t, .count = 1, .values = n};
        else {
            last->count++;
            last->values += n;
        }
    }
}

/* The largest sum of bounds of a group under any scheme. */
static size_t largest_bound(const struct work *w)
{
    size_t largest = 0;
    for (size_t s = 0; s < w->plan->schemes->count; s++) {
        for (size_t g = 0; g < w->groups; g++) {
            size_t sum = 0;
            for (size_t t = w->group[g].first; t < w->group[g].first + w->group[g].count; t++)
                sum += cc_bound(&w->bank[s].codec[t]);
            largest = sum > largest ? sum : largest;
        }
    }
    return largest;
}

int cc_speed_check(const struct cc_plan *p, struct cc_error *e)
{
    size_t need = 0;
    for (size_t s = 0; s < p->schemes->count; s++)
        for (size_t t = 0; t < cc_trace_tensors(p->trace); t++) {
            struct cc_codec c = cc_plan_codec(p, s, t);
            if (__builtin_add_overflow(need, cc_state_bytes(&c), &need))
                need = SIZE_MAX;
        }
    int status = cc_memory_check(need, "the states of all schemes together", e);
    if (status != CC_OK)
        cc_error_in(e, "bench fewer schemes at a time, or sizes and errors alone (--no-speed)");
    return status;
}

static int allocate(struct work *w, struct cc_error *e)
{
    size_t values = 0;
    size_t threads = (size_t)w->plan->threads;
    w->group = cc_alloc(w->tensors * sizeof *w->group, e);
    w->x = cc_alloc(w->tensors * sizeof *w->x, e);
    w->at = cc_alloc(w->tensors * sizeof *w->at, e);
    w->len = cc_alloc(w->tensors * sizeof *w->len, e);
    w->value_at = cc_alloc(w->tensors * sizeof *w->value_at, e);
    w->failed = cc_alloc0(threads * sizeof *w->failed, e);
    w->bank = cc_alloc0(w->plan->schemes->count * sizeof *w->bank, e);
    if (w->group == NULL || w->x == NULL || w->at == NULL || w->len == NULL ||
        w->value_at == NULL || w->failed == NULL || w->bank == NULL)
        return CC_FAIL;
    make_groups(w);
    if (cc_speed_check(w->plan, e) != CC_OK)
        return CC_FAIL;
    for (size_t s = 0; s < w->plan->schemes->count; s++) {
        if (cc_bank_open(w->plan, s, &w->bank[s], e) != CC_OK)
            return CC_FAIL;
        size_t scratch = w->bank[s].scratch_bytes;
        w->scratch_bytes = scratch > w->scratch_bytes ? scratch : w->scratch_bytes;
    }
    w->scratch_bytes = (w->scratch_bytes + CC_ALIGN - 1) / CC_ALIGN * CC_ALIGN;
    for (size_t g = 0; g < w->groups; g++)
        values = w->group[g].values > values ? w->group[g].values : values;
    w->load = cc_alloc(values * sizeof(float) + w->tensors * CC_ALIGN, e);
    w->decoded = cc_alloc(values * sizeof(float) + w->tensors * CC_ALIGN, e);
    w->payload = cc_alloc(largest_bound(w), e);
    w->scratch = cc_alloc(threads * w->scratch_bytes, e);
    return w->load == NULL || w->decoded == NULL || w->payload == NULL || w->scratch == NULL
               ? CC_FAIL
               : CC_OK;
}

static void release(struct work *w)
{
    for (size_t s = 0; w->bank != NULL && s < w->plan->schemes->count; s++)
        cc_bank_close(&w->bank[s]);
    free(w->bank);
    free(w->group);
    free(w->x);
    free(w->at);
    free(w->len);
    free(w->value_at);
    free(w->failed);
    free(w->load);
    free(w->decoded);
    free(w->payload);
    free(w->scratch);
}

/* --- one group --- */

/* Brings the group's values within reach; touches each page so that no fault is timed. */
static int load_group(struct work *w, const struct group *g, size_t step, struct cc_error *e)
{
    float *buffer = w->load;
    for (size_t t = g->first; t < g->first + g->count; t++) {
        size_t n = cc_trace_tensor(w->plan->trace, t)->shape.n;
        int status = cc_trace_load(w->plan->trace, w->plan->stream, step, t, buffer, &w->x[t], e);
        if (status != CC_OK)
            return status;
        volatile float touched = 0;
        for (size_t i = 0; i < n; i += 1024)
            touched = w->x[t][i];
        (void)touched;
        size_t bytes = (n * sizeof(float) + CC_ALIGN - 1) / CC_ALIGN * CC_ALIGN;
        buffer += bytes / sizeof(float);
    }
    return CC_OK;
}

/* Where the group's payloads and decoded values lie; the latter on cache lines. */
static void place_payloads(struct work *w, const struct cc_bank *b, const struct group *g)
{
    const size_t line = CC_ALIGN / sizeof(float);
    size_t at = 0, value_at = 0;
    for (size_t t = g->first; t < g->first + g->count; t++) {
        w->at[t] = at;
        at += cc_bound(&b->codec[t]);
        w->value_at[t] = value_at;
        value_at += (b->codec[t].shape.n + line - 1) / line * line;
    }
}

/* Encodes (or decodes) one tensor on one thread. */
static int one(struct work *w, const struct cc_bank *b, size_t t, bool decode)
{
    int thread = omp_get_thread_num();
    struct cc_context ctx = cc_plan_context(w->plan, t, b->step);
    struct cc_codec c = b->codec[t];
    c.scratch = w->scratch + (size_t)thread * w->scratch_bytes;
    uint8_t *payload = w->payload + w->at[t];
    if (!decode)
        return cc_encode(&c, &ctx, w->x[t], payload, cc_bound(&c), &w->len[t], &w->failed[thread]);
    return cc_decode(&c, &ctx, payload, w->len[t], w->decoded + w->value_at[t], &w->failed[thread]);
}

/* All tensors of the group; returns the seconds, or -1 after an error. */
static double timed(struct work *w, const struct cc_bank *b, const struct group *g, bool decode)
{
    size_t bad = 0;
    double begin = cc_now();
    if (w->plan->threads == 1 || g->count == 1) {
        for (size_t t = g->first; t < g->first + g->count; t++)
            bad += one(w, b, t, decode) != CC_OK;
    } else {
#pragma omp parallel for schedule(dynamic) num_threads(w->plan->threads) reduction(+ : bad)
        for (size_t t = g->first; t < g->first + g->count; t++)
            bad += one(w, b, t, decode) != CC_OK;
    }
    double seconds = cc_now() - begin;
    return bad > 0 ? -1 : seconds;
}

/* Gives the scheme up. */
static void give_up(const struct work *w, size_t scheme, size_t step)
{
    struct cc_error *e = &w->plan->failed[scheme];
    for (int i = 0; i < w->plan->threads; i++) {
        if (w->failed[i].text[0] != '\0')
            *e = w->failed[i];
        w->failed[i].text[0] = '\0';
    }
    cc_plan_error_in(w->plan, step, w->plan->schemes->item[scheme]->name, e);
}

/* --- one sample --- */

struct sums {
    double encode, decode;
    double *tensor_encode, *tensor_decode; /* by tensor, `stride` apart; NULL: not wanted */
    size_t stride;
};

static int one_step(struct work *w, size_t scheme, struct sums *out, struct cc_error *e)
{
    struct cc_bank *b = &w->bank[scheme];
    size_t step = (size_t)(b->step % w->plan->steps);
    for (size_t i = 0; i < w->groups; i++) {
        const struct group *g = &w->group[i];
        int status = load_group(w, g, step, e);
        if (status != CC_OK)
            return status;
        place_payloads(w, b, g);
        double encode = timed(w, b, g, false);
        double decode = encode < 0 ? -1 : timed(w, b, g, true);
        if (decode < 0) {
            give_up(w, scheme, step);
            return CC_OK;
        }
        out->encode += encode;
        out->decode += decode;
        if (out->tensor_encode != NULL) {
            out->tensor_encode[g->first * out->stride] += encode;
            out->tensor_decode[g->first * out->stride] += decode;
        }
        if (cc_interrupted())
            return CC_OK;
    }
    cc_trace_release(w->plan->trace, w->plan->stream, step);
    b->step++;
    return CC_OK;
}

static int one_sample(struct work *w, size_t scheme, size_t sample, struct cc_speed *out,
                      struct cc_error *e)
{
    const struct cc_spec *spec = w->plan->schemes->item[scheme];
    size_t period = cc_period(spec->scheme, spec->params), tensors = w->tensors;
    struct sums sums = {.stride = out->most};
    if (out->tensor_encode != NULL) {
        sums.tensor_encode = &out->tensor_encode[scheme * tensors * out->most + sample];
        sums.tensor_decode = &out->tensor_decode[scheme * tensors * out->most + sample];
        for (size_t t = 0; t < tensors; t++)
            sums.tensor_encode[t * out->most] = sums.tensor_decode[t * out->most] = 0;
    }
    int status = CC_OK;
    for (size_t i = 0; i < period && status == CC_OK && !cc_interrupted(); i++)
        if (!cc_plan_failed(w->plan, scheme))
            status = one_step(w, scheme, &sums, e);
    double steps = (double)period;
    out->encode[scheme * out->most + sample] = sums.encode / steps;
    out->decode[scheme * out->most + sample] = sums.decode / steps;
    for (size_t t = 0; sums.tensor_encode != NULL && t < tensors; t++) {
        sums.tensor_encode[t * out->most] /= steps;
        sums.tensor_decode[t * out->most] /= steps;
    }
    return status;
}

/* Every scheme once; the samples of a discarded round are overwritten by the next one. */
static int one_round(struct work *w, size_t sample, struct cc_speed *out, struct cc_error *e)
{
    int status = CC_OK;
    for (size_t s = 0; s < w->plan->schemes->count && status == CC_OK && !cc_interrupted(); s++)
        status = one_sample(w, s, sample, out, e);
    return status;
}

static int rounds(struct work *w, struct cc_speed *out, struct cc_error *e)
{
    const struct cc_speed_limits *l = w->limits;
    double begin = cc_now();
    int status = CC_OK;
    for (size_t i = 0; i < l->discard && status == CC_OK && !cc_interrupted(); i++)
        status = one_round(w, 0, out, e);
    while (status == CC_OK && out->samples < l->most && !cc_interrupted()) {
        double elapsed = cc_now() - begin;
        if (out->samples >= l->least && elapsed >= l->seconds)
            break;
        if (w->plan->progress != NULL) {
            double by_count = (double)out->samples / (double)l->least;
            double by_time = l->seconds > 0 ? elapsed / l->seconds : 1;
            double done = by_count < by_time ? by_count : by_time;
            w->plan->progress(w->plan->progress_arg, "speeds", done < 1 ? done : 1);
        }
        status = one_round(w, out->samples, out, e);
        if (status == CC_OK && !cc_interrupted())
            out->samples++;
    }
    return status;
}

int cc_speed_measure(const struct cc_plan *p, const struct cc_speed_limits *limits,
                     struct cc_speed *out, struct cc_error *e)
{
    struct work w = {.plan = p, .limits = limits, .tensors = cc_trace_tensors(p->trace)};
    size_t cells = p->schemes->count * limits->most;
    *out = (struct cc_speed){.most = limits->most, .tensors = w.tensors};
    out->encode = cc_alloc(cells * sizeof(double), e);
    out->decode = cc_alloc(cells * sizeof(double), e);
    if (limits->per_tensor) {
        out->tensor_encode = cc_alloc(cells * w.tensors * sizeof(double), e);
        out->tensor_decode = cc_alloc(cells * w.tensors * sizeof(double), e);
    }
    bool short_of_memory =
        out->encode == NULL || out->decode == NULL ||
        (limits->per_tensor && (out->tensor_encode == NULL || out->tensor_decode == NULL));
    int status = short_of_memory ? CC_FAIL : allocate(&w, e);
    if (status == CC_OK)
        status = rounds(&w, out, e);
    release(&w);
    if (status != CC_OK)
        cc_speed_free(out);
    return status;
}

void cc_speed_free(struct cc_speed *s)
{
    free(s->encode);
    free(s->decode);
    free(s->tensor_encode);
    free(s->tensor_decode);
    *s = (struct cc_speed){0};
}
