#include "bench/calls.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"

enum { GROUP_VALUES = 2 * 1024 * 1024, BATCH_VALUES = 128 * 1024 };

const char *const cc_call_names[CC_CALLS] = {"encode", "decode", "decode_add"};

/* --- groups --- */

static int make_groups(struct cc_calls *w, bool per_tensor, struct cc_error *e)
{
    for (size_t t = 0; t < w->tensors; t++) {
        size_t n = cc_trace_tensor(w->plan->trace, t)->shape.n;
        struct cc_group *last = w->groups > 0 ? &w->group[w->groups - 1] : NULL;
        if (last != NULL && !per_tensor && last->values + n <= GROUP_VALUES) {
            last->count++;
            last->values += n;
            continue;
        }
        struct cc_group g = {.first = t, .count = 1, .values = n};
        g.step = cc_alloc0(w->plan->schemes->count * sizeof *g.step, e);
        if (g.step == NULL)
            return CC_FAIL;
        w->group[w->groups++] = g;
    }
    return CC_OK;
}

/* How a scheme is timed over a group. */
struct batch {
    size_t rounds; /* times that the clock is read */
    size_t steps;  /* encoded between two readings */
    size_t slots;  /* of which so many have values and a payload of their own */
};

static struct batch batch_of(const struct cc_calls *w, size_t scheme, const struct cc_group *g)
{
    const struct cc_spec *s = w->plan->schemes->item[scheme];
    size_t period = cc_period(s->scheme, s->params), values = g->values > 0 ? g->values : 1;
    if (values > BATCH_VALUES / period)
        return (struct batch){.rounds = period, .steps = 1, .slots = 1};
    size_t steps = (BATCH_VALUES + period * values - 1) / (period * values) * period;
    size_t different = cc_bench_steps(w->plan, scheme);
    return (struct batch){
        .rounds = 1, .steps = steps, .slots = steps < different ? steps : different};
}

/* Whether the threads work on this tensor together, one tensor after the other. */
static bool is_large(const struct cc_calls *w, const struct cc_group *g, size_t tensor)
{
    size_t n = cc_trace_tensor(w->plan->trace, tensor)->shape.n;
    return w->plan->threads > 1 &&
           (g->count == 1 || n / CC_PART_VALUES >= (size_t)w->plan->threads);
}

/* --- memory --- */

int cc_calls_check(const struct cc_bench_config *p, struct cc_error *e)
{
    size_t need = 0;
    for (size_t s = 0; s < p->schemes->count; s++)
        for (size_t t = 0; t < cc_trace_tensors(p->trace); t++) {
            struct cc_codec c = cc_bench_codec(p, s, t);
            if (__builtin_add_overflow(need, cc_state_bytes(&c), &need))
                need = SIZE_MAX;
        }
    int status = cc_memory_check(need, "the states of all schemes together", e);
    if (status != CC_OK)
        cc_error_in(e, "bench fewer schemes at a time, or sizes and errors alone (--no-speed)");
    return status;
}

static size_t lines(size_t values)
{
    const size_t line = CC_ALIGN / sizeof(float);
    return (values + line - 1) / line * line;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What the group that needs most of each needs. */
struct need {
    size_t load, decoded; /* values */
    size_t payload, slots, cells;
    size_t scratch, shared_scratch;
};

static void need_of_group(const struct cc_calls *w, size_t scheme, const struct cc_group *g,
                          struct need *need)
{
    struct batch b = batch_of(w, scheme, g);
    size_t values = 0, bound = 0;
    for (size_t t = g->first; t < g->first + g->count; t++) {
        const struct cc_codec *c = &w->codecs[scheme].codec[t];
        values += lines(c->shape.n);
        bound += cc_bound(c);
        size_t scratch = cc_scratch_bytes(c);
        need->scratch = larger(need->scratch, scratch);
        if (!is_large(w, g, t))
            need->shared_scratch = larger(need->shared_scratch, scratch);
    }
    need->load = larger(need->load, b.slots * values);
    need->decoded = larger(need->decoded, values);
    need->payload = larger(need->payload, b.slots * bound);
    need->slots = larger(need->slots, b.slots);
    need->cells = larger(need->cells, b.slots * g->count);
}

static int allocate_buffers(struct cc_calls *w, struct cc_error *e)
{
    struct need need = {0};
    for (size_t s = 0; s < w->plan->schemes->count; s++)
        for (size_t g = 0; g < w->groups; g++)
            need_of_group(w, s, &w->group[g], &need);
    size_t threads = (size_t)w->plan->threads;
    w->shared_scratch = (need.shared_scratch + CC_ALIGN - 1) / CC_ALIGN * CC_ALIGN;
    w->load = cc_alloc(need.load * sizeof(float), e);
    w->decoded = cc_alloc0(need.decoded * sizeof(float), e);
    w->payload = cc_alloc(need.payload, e);
    w->scratch = cc_alloc(larger(need.scratch, threads * w->shared_scratch), e);
    w->x = cc_alloc(need.cells * sizeof *w->x, e);
    w->at = cc_alloc(need.cells * sizeof *w->at, e);
    w->len = cc_alloc(need.cells * sizeof *w->len, e);
    w->value_at = cc_alloc(w->tensors * sizeof *w->value_at, e);
    w->of_step = cc_alloc(need.slots * sizeof *w->of_step, e);
    w->failed = cc_alloc0(threads * sizeof *w->failed, e);
    bool ok = w->load != NULL && w->decoded != NULL && w->payload != NULL && w->scratch != NULL &&
              w->x != NULL && w->at != NULL && w->len != NULL && w->value_at != NULL &&
              w->of_step != NULL && w->failed != NULL;
    return ok ? CC_OK : CC_FAIL;
}

int cc_calls_open(const struct cc_bench_config *p, bool per_tensor, struct cc_calls *out,
                  struct cc_error *e)
{
    struct cc_calls *w = out;
    *w = (struct cc_calls){.plan = p, .tensors = cc_trace_tensors(p->trace)};
    w->group = cc_alloc0(w->tensors * sizeof *w->group, e);
    w->codecs = cc_alloc0(p->schemes->count * sizeof *w->codecs, e);
    int status = w->group == NULL || w->codecs == NULL ? CC_FAIL : make_groups(w, per_tensor, e);
    if (status == CC_OK)
        status = cc_calls_check(p, e);
    for (size_t s = 0; s < p->schemes->count && status == CC_OK; s++)
        status = cc_codec_set_open(p, s, &w->codecs[s], e);
    if (status == CC_OK)
        status = allocate_buffers(w, e);
    if (status == CC_OK && cc_memory_limits(cc_trace_largest(p->trace)))
        status = cc_cache_flush_open(&w->flush, e);
    if (status != CC_OK)
        cc_calls_close(w);
    return status;
}

void cc_calls_close(struct cc_calls *w)
{
    for (size_t s = 0; w->codecs != NULL && s < w->plan->schemes->count; s++)
        cc_codec_set_close(&w->codecs[s]);
    for (size_t g = 0; g < w->groups; g++)
        free(w->group[g].step);
    cc_cache_flush_close(&w->flush);
    free(w->codecs);
    free(w->group);
    free(w->x);
    free(w->at);
    free(w->len);
    free(w->value_at);
    free(w->of_step);
    free(w->failed);
    free(w->load);
    free(w->decoded);
    free(w->payload);
    free(w->scratch);
    *w = (struct cc_calls){0};
}

void cc_calls_release(struct cc_calls *w)
{
    w->loaded = NULL;
    cc_trace_release(w->plan->trace, w->plan->stream, SIZE_MAX);
}

/* --- one batch --- */

/* Brings the values of the batch within reach, unless they are, as they were the last scheme's;
 * touches each page so that no fault is timed. */
static int load(struct cc_calls *w, size_t scheme, const struct cc_group *g, struct batch b,
                struct cc_error *e)
{
    const struct cc_bench_config *p = w->plan;
    size_t first = (size_t)(g->step[scheme] % p->steps);
    float *buffer = w->load;
    if (w->loaded == g && w->loaded_step == first && w->loaded_slots >= b.slots)
        return CC_OK;
    w->loaded = NULL;
    for (size_t i = 0; i < b.slots * g->count; i++) {
        size_t t = g->first + i % g->count, step = (first + i / g->count) % p->steps;
        size_t n = cc_trace_tensor(p->trace, t)->shape.n;
        int status = cc_trace_load(p->trace, p->stream, step, t, buffer, &w->x[i], e);
        if (status != CC_OK)
            return status;
        volatile float touched = 0;
        for (size_t k = 0; k < n; k += 1024)
            touched = w->x[i][k];
        (void)touched;
        buffer += lines(n);
    }
    w->loaded = g;
    w->loaded_step = first;
    w->loaded_slots = b.slots;
    return CC_OK;
}

/* Says where the payloads and the decoded values lie. */
static void place(struct cc_calls *w, size_t scheme, const struct cc_group *g, struct batch b)
{
    size_t payload_at = 0, value_at = 0;
    for (size_t i = 0; i < b.slots * g->count; i++) {
        size_t t = g->first + i % g->count;
        const struct cc_codec *c = &w->codecs[scheme].codec[t];
        w->at[i] = payload_at;
        payload_at += cc_bound(c);
        if (i < g->count) {
            w->value_at[t] = value_at;
            value_at += lines(c->shape.n);
        }
    }
}

struct task {
    struct cc_calls *w;
    const struct cc_group *group;
    size_t scheme, slot;
    enum cc_call call;
};

/* One tensor, on one thread or all. */
static int one(const struct task *k, size_t t, bool all_threads)
{
    struct cc_calls *w = k->w;
    int thread = all_threads ? 0 : omp_get_thread_num();
    size_t i = k->slot * k->group->count + t - k->group->first;
    struct cc_context ctx = cc_bench_context(w->plan, t, w->of_step[k->slot]);
    struct cc_codec c = w->codecs[k->scheme].codec[t];
    struct cc_error *e = &w->failed[thread];
    c.threads = all_threads ? w->plan->threads : 1;
    c.scratch = w->scratch + (size_t)thread * w->shared_scratch;
    uint8_t *payload = w->payload + w->at[i];
    float *y = w->decoded + w->value_at[t];
    switch (k->call) {
    case CC_ENCODE:
        return cc_encode(&c, &ctx, w->x[i], payload, cc_bound(&c), &w->len[i], e);
    case CC_DECODE:
        return cc_decode(&c, &ctx, payload, w->len[i], y, e);
    default:
        return cc_decode_add(&c, &ctx, payload, w->len[i], 0.5F, y, e);
    }
}

/* The group's tensors in one step; returns how many failed. */
static size_t one_step(const struct task *k)
{
    const struct cc_group *g = k->group;
    int threads = k->w->plan->threads;
    size_t bad = 0, small = 0;
    for (size_t t = g->first; t < g->first + g->count; t++) {
        bool large = is_large(k->w, g, t);
        small += !large;
        if (large || threads == 1)
            bad += one(k, t, large) != CC_OK;
    }
    if (threads == 1 || small == 0)
        return bad;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : bad)
    for (size_t t = g->first; t < g->first + g->count; t++)
        if (!is_large(k->w, g, t))
            bad += one(k, t, false) != CC_OK;
    return bad;
}

/* One call for all steps of the batch; seconds a step, or -1 after an error. */
static double timed(struct task *k, struct batch b)
{
    uint64_t step = k->group->step[k->scheme];
    size_t bad = 0;
    if (cc_memory_limits(k->group->values))
        cc_cache_flush_run(&k->w->flush);
    double begin = cc_now();
    for (size_t i = 0; i < b.steps && bad == 0; i++) {
        k->slot = i % b.slots;
        if (k->call == CC_ENCODE)
            k->w->of_step[k->slot] = step + i;
        bad = one_step(k);
    }
    double seconds = cc_now() - begin;
    return bad > 0 ? -1 : seconds / (double)b.steps;
}

/* Gives the scheme up. */
static void give_up(const struct cc_calls *w, size_t scheme, uint64_t step)
{
    struct cc_error *e = &w->plan->failed[scheme];
    for (int i = 0; i < w->plan->threads; i++) {
        if (w->failed[i].text[0] != '\0')
            *e = w->failed[i];
        w->failed[i].text[0] = '\0';
    }
    cc_bench_error_in(w->plan, (size_t)(step % w->plan->steps),
                      w->plan->schemes->item[scheme]->name, e);
}

int cc_calls_group(struct cc_calls *w, size_t scheme, size_t group, double seconds[CC_CALLS],
                   double *bytes, cc_on_decoded *on_decoded, void *arg, struct cc_error *e)
{
    struct cc_group *g = &w->group[group];
    struct batch b = batch_of(w, scheme, g);
    struct task k = {.w = w, .group = g, .scheme = scheme};
    for (size_t i = 0; i < b.rounds && !cc_interrupted(); i++) {
        int status = load(w, scheme, g, b, e);
        if (status != CC_OK)
            return status;
        place(w, scheme, g, b);
        for (k.call = 0; k.call < CC_CALLS; k.call++) {
            double each = timed(&k, b);
            if (each < 0) {
                give_up(w, scheme, w->of_step[k.slot]);
                return CC_OK;
            }
            seconds[k.call] += each / (double)b.rounds;
            for (size_t t = 0; k.call == CC_DECODE && on_decoded != NULL && t < g->count; t++)
                on_decoded(arg, g->first + t, w->decoded + w->value_at[g->first + t]);
        }
        for (size_t c = 0; c < b.slots * g->count; c++)
            *bytes += (double)w->len[c] / (double)(b.slots * b.rounds);
        g->step[scheme] += b.steps;
    }
    return CC_OK;
}
