/* Timing calls. Tensors are taken in groups of about GROUP_VALUES values, and a group's encode,
 * decode and decode_add are timed as wholes. A small group repeats its steps, over several
 * gradients and payloads in turn, until a reading of the clock costs nothing beside them. */
#include "bench/calls.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/trace/trace_dtype.h"

enum { GROUP_VALUES = 2 * 1024 * 1024, BATCH_STEPS = 1024 };

const char *const cc_call_names[CC_CALLS] = {"encode", "decode", "decode_add"};

static const struct cc_codec_memory states_only = {.state = true};

/* --- groups --- */

static int find_groups(struct cc_calls *w, bool per_tensor, struct cc_error *e)
{
    for (size_t t = 0; t < w->tensors; t++) {
        size_t n = cc_trace_tensor(w->config->trace, t)->shape.n;
        struct cc_group *last = w->groups > 0 ? &w->group[w->groups - 1] : NULL;
        if (last != NULL && !per_tensor && last->values + n <= GROUP_VALUES) {
            last->count++;
            last->values += n;
            continue;
        }
        struct cc_group g = {.first = t, .count = 1, .values = n};
        CC_TRY(CC_NEW(g.step, w->config->schemes->count, e));
        w->group[w->groups++] = g;
    }
    return CC_OK;
}

/* How a scheme is timed over a group: `rounds` times between two readings of the clock, `steps`
 * steps each time, which use `slots` gradients and payloads in turn. */
struct batch {
    size_t rounds, steps, slots;
};

size_t cc_batch_values(size_t values)
{
    const size_t usual = (size_t)128 * 1024, most = cc_l2_values();
    return values <= most && values >= most / 8 ? 8 * usual : usual;
}

static struct batch batch_of(const struct cc_calls *w, size_t scheme, const struct cc_group *g)
{
    const struct cc_spec *s = w->config->schemes->item[scheme];
    size_t period = cc_period(s->scheme, s->params), values = g->values > 0 ? g->values : 1;
    const size_t all = cc_batch_values(values);
    if (values > all / period)
        return (struct batch){.rounds = period, .steps = 1, .slots = 1};
    size_t periods = (all + period * values - 1) / (period * values);
    size_t most = (BATCH_STEPS + period - 1) / period;
    size_t steps = (periods < most ? periods : most) * period;
    size_t different = cc_bench_steps(w->config, scheme);
    size_t near = 2 * cc_l2_values() / values / period * period;
    different = different < near ? different : near > 0 ? near : period;
    return (struct batch){
        .rounds = 1, .steps = steps, .slots = steps < different ? steps : different};
}

/* Whether the threads work on this tensor together; smaller tensors are shared out among them. */
static bool is_large(const struct cc_calls *w, const struct cc_group *g, size_t tensor)
{
    size_t n = cc_trace_tensor(w->config->trace, tensor)->shape.n;
    return w->config->threads > 1 &&
           (g->count == 1 || n / CC_PART_VALUES >= (size_t)w->config->threads);
}

/* --- memory --- */

int cc_calls_check(const struct cc_bench_config *config, struct cc_error *e)
{
    size_t need = 0;
    for (size_t s = 0; s < config->schemes->count; s++)
        for (size_t t = 0; t < cc_trace_tensors(config->trace); t++) {
            const struct cc_codec_item item = cc_bench_codec(config, s, t);
            need = cc_bytes_sum(need, cc_codec_bytes(&item, 1, &states_only));
        }
    return cc_status_in(cc_memory_check(need, "the states of all schemes together", e), e,
                        "bench fewer schemes at a time, or sizes and errors alone (--no-speed)");
}

/* Values rounded up to whole lines of the cache. */
static size_t whole_lines(size_t values)
{
    return cc_align_up(values * sizeof(float)) / sizeof(float);
}

/* The bytes of a tensor's gradient, likewise. */
static size_t gradient_bytes(const struct cc_calls *w, size_t tensor)
{
    const size_t n = cc_trace_tensor(w->config->trace, tensor)->shape.n;
    return cc_align_up(n * cc_element_bytes[w->type]);
}

/* The size of each buffer: the most that any scheme needs over any group. */
struct buffer_sizes {
    size_t load, decoded; /* bytes; values */
    size_t payload, slots, cells;
    size_t scratch, thread_scratch;
};

static void add_group_sizes(const struct cc_calls *w, size_t scheme, const struct cc_group *g,
                            struct buffer_sizes *most)
{
    struct batch b = batch_of(w, scheme, g);
    size_t values = 0, bytes = 0, bound = 0;
    for (size_t t = g->first; t < g->first + g->count; t++) {
        const struct cc_codec_item *item = &w->codecs[scheme].item[t];
        values += whole_lines(item->codec.shape.n);
        bytes += gradient_bytes(w, t);
        bound += item->bound;
        size_t scratch = cc_scratch_bytes(&item->codec);
        most->scratch = cc_larger(most->scratch, scratch);
        if (!is_large(w, g, t))
            most->thread_scratch = cc_larger(most->thread_scratch, scratch);
    }
    most->load = cc_larger(most->load, b.slots * bytes);
    most->decoded = cc_larger(most->decoded, values);
    most->payload = cc_larger(most->payload, b.slots * bound);
    most->slots = cc_larger(most->slots, b.slots);
    most->cells = cc_larger(most->cells, b.slots * g->count);
}

static int allocate_buffers(struct cc_calls *w, struct cc_error *e)
{
    struct buffer_sizes most = {0};
    for (size_t s = 0; s < w->config->schemes->count; s++)
        for (size_t g = 0; g < w->groups; g++)
            add_group_sizes(w, s, &w->group[g], &most);
    size_t threads = (size_t)w->config->threads;
    w->thread_scratch = cc_align_up(most.thread_scratch);
    if (w->type != CC_ELEMENT_FP32)
        CC_TRY(CC_NEW(w->wide, cc_trace_largest(w->config->trace), e));
    w->load = cc_alloc_parts(most.load, w->config->threads, e);
    w->decoded = cc_alloc_parts(most.decoded * sizeof(float), w->config->threads, e);
    w->payload = cc_alloc_parts(most.payload, w->config->threads, e);
    w->scratch = cc_alloc(cc_larger(most.scratch, threads * w->thread_scratch), e);
    if (w->load == NULL || w->decoded == NULL || w->payload == NULL || w->scratch == NULL)
        return CC_FAIL;
    CC_TRY(CC_NEW(w->x, most.cells, e));
    CC_TRY(CC_NEW(w->payload_at, most.cells, e));
    CC_TRY(CC_NEW(w->len, most.cells, e));
    CC_TRY(CC_NEW(w->value_at, w->tensors, e));
    CC_TRY(CC_NEW(w->slot_step, most.slots, e));
    return CC_NEW(w->thread_error, threads, e);
}

int cc_calls_open(const struct cc_bench_config *config, bool per_tensor, struct cc_calls *w,
                  struct cc_error *e)
{
    int status = CC_OK;
    *w = (struct cc_calls){.config = config,
                           .tensors = cc_trace_tensors(config->trace),
                           .type = cc_trace_element(config->trace)};
    CC_TRY_OUT(CC_NEW(w->group, w->tensors, e));
    CC_TRY_OUT(CC_NEW(w->codecs, config->schemes->count, e));
    CC_TRY_OUT(find_groups(w, per_tensor, e));
    CC_TRY_OUT(cc_calls_check(config, e));
    for (size_t s = 0; s < config->schemes->count; s++)
        CC_TRY_OUT(cc_bench_codecs(config, s, &states_only, &w->codecs[s], e));
    CC_TRY_OUT(allocate_buffers(w, e));
    if (cc_memory_limits(cc_trace_largest(config->trace)))
        CC_TRY_OUT(cc_cache_flush_open(&w->flush, e));
out:
    if (status != CC_OK)
        cc_calls_close(w);
    return status;
}

void cc_calls_close(struct cc_calls *w)
{
    for (size_t s = 0; w->codecs != NULL && s < w->config->schemes->count; s++)
        cc_codec_set_free(&w->codecs[s]);
    for (size_t g = 0; w->group != NULL && g < w->groups; g++)
        free(w->group[g].step);
    cc_cache_flush_close(&w->flush);
    free(w->codecs);
    free(w->group);
    free(w->x);
    free(w->payload_at);
    free(w->len);
    free(w->value_at);
    free(w->slot_step);
    free(w->thread_error);
    free(w->load);
    free(w->wide);
    free(w->decoded);
    free(w->payload);
    free(w->scratch);
    *w = (struct cc_calls){0};
}

/* --- one batch --- */

/* Loads the gradients of the batch, unless the scheme before left them there. */
static int load_gradients(struct cc_calls *w, size_t scheme, const struct cc_group *g,
                          struct batch b, struct cc_error *e)
{
    const struct cc_bench_config *config = w->config;
    size_t first = (size_t)(g->step[scheme] % config->steps);
    uint8_t *buffer = w->load;
    if (w->loaded == g && w->loaded_step == first && w->loaded_slots >= b.slots)
        return CC_OK;
    w->loaded = NULL;
    for (size_t i = 0; i < b.slots * g->count; i++) {
        size_t t = g->first + i % g->count, step = (first + i / g->count) % config->steps;
        float *values = w->wide != NULL ? w->wide : (void *)buffer;
        CC_TRY(cc_trace_load(config->trace, config->stream, step, t, values, e));
        if (w->wide != NULL)
            cc_narrow(w->type, values, cc_trace_tensor(config->trace, t)->shape.n, buffer);
        w->x[i] = buffer;
        buffer += gradient_bytes(w, t);
    }
    w->loaded = g;
    w->loaded_step = first;
    w->loaded_slots = b.slots;
    return CC_OK;
}

/* Lays out the payloads, one directly after the other as in a message, and the decoded values. */
static void lay_out_batch(struct cc_calls *w, size_t scheme, const struct cc_group *g,
                          struct batch b)
{
    size_t payload_at = 0, value_at = 0;
    for (size_t i = 0; i < b.slots * g->count; i++) {
        size_t t = g->first + i % g->count;
        const struct cc_codec_item *item = &w->codecs[scheme].item[t];
        w->payload_at[i] = payload_at;
        payload_at += item->bound;
        if (i < g->count) {
            w->value_at[t] = value_at;
            value_at += whole_lines(item->codec.shape.n);
        }
    }
}

struct task {
    struct cc_calls *w;
    const struct cc_group *group;
    size_t scheme, slot;
    enum cc_call call;
};

/* One call of one tensor, on the calling thread or on all. */
static int call_tensor(const struct task *k, size_t t, bool all_threads)
{
    struct cc_calls *w = k->w;
    int thread = all_threads ? 0 : omp_get_thread_num();
    size_t i = k->slot * k->group->count + t - k->group->first;
    struct cc_context ctx = cc_bench_context(w->config, t, w->slot_step[k->slot]);
    const struct cc_codec_item *item = &w->codecs[k->scheme].item[t];
    struct cc_codec c = item->codec;
    struct cc_error *e = &w->thread_error[thread];
    c.threads = all_threads ? w->config->threads : 1;
    c.scratch = w->scratch + (size_t)thread * w->thread_scratch;
    uint8_t *payload = w->payload + w->payload_at[i];
    float *y = w->decoded + w->value_at[t];
    switch (k->call) {
    case CC_ENCODE:
        return cc_encode_from(&c, &ctx, (struct cc_elements){w->x[i], w->type}, payload,
                              item->bound, &w->len[i], e);
    case CC_DECODE:
        return cc_decode(&c, &ctx, payload, w->len[i], y, e);
    default:
        return cc_decode_add(&c, &ctx, payload, w->len[i], 0.5F, y, e);
    }
}

/* One call of all tensors of the group in one step; returns how many failed. */
static size_t call_group(const struct task *k)
{
    const struct cc_group *g = k->group;
    int threads = k->w->config->threads;
    size_t failures = 0, small = 0;
    for (size_t t = g->first; t < g->first + g->count; t++) {
        bool large = is_large(k->w, g, t);
        small += !large;
        if (large || threads == 1)
            failures += call_tensor(k, t, large) != CC_OK;
    }
    if (threads == 1 || small == 0)
        return failures;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : failures)
    for (size_t t = g->first; t < g->first + g->count; t++)
        if (!is_large(k->w, g, t))
            failures += call_tensor(k, t, false) != CC_OK;
    return failures;
}

/* One call for all steps of the batch; seconds per step, or -1 after a failure. */
static double time_batch(struct task *k, struct batch b)
{
    uint64_t step = k->group->step[k->scheme];
    size_t failures = 0;
    double (*const now)(void) = k->w->config->threads == 1 ? cc_thread_now : cc_now;
    if (cc_memory_limits(k->group->values))
        cc_cache_flush_run(&k->w->flush);
    double begin = now();
    for (size_t i = 0; i < b.steps && failures == 0; i++) {
        k->slot = i % b.slots;
        if (k->call == CC_ENCODE)
            k->w->slot_step[k->slot] = step + i;
        failures = call_group(k);
    }
    double seconds = now() - begin;
    return failures > 0 ? -1 : seconds / (double)b.steps;
}

/* Gives the scheme up, with the error of the last thread that has one. */
static void give_up(const struct cc_calls *w, size_t scheme, uint64_t step)
{
    struct cc_error *e = &w->config->failed[scheme];
    for (int i = 0; i < w->config->threads; i++) {
        if (w->thread_error[i].text[0] != '\0')
            *e = w->thread_error[i];
        w->thread_error[i].text[0] = '\0';
    }
    cc_bench_error_in(w->config, (size_t)(step % w->config->steps),
                      w->config->schemes->item[scheme]->name, e);
}

int cc_calls_group(struct cc_calls *w, size_t scheme, size_t group, double seconds[CC_CALLS],
                   double *bytes, cc_on_decoded *on_decoded, void *arg, struct cc_error *e)
{
    struct cc_group *g = &w->group[group];
    struct batch b = batch_of(w, scheme, g);
    struct task k = {.w = w, .group = g, .scheme = scheme};
    for (size_t i = 0; i < b.rounds && !cc_interrupted(); i++) {
        CC_TRY(load_gradients(w, scheme, g, b, e));
        lay_out_batch(w, scheme, g, b);
        for (k.call = 0; k.call < CC_CALLS; k.call++) {
            double each = time_batch(&k, b);
            if (each < 0) {
                give_up(w, scheme, w->slot_step[k.slot]);
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
