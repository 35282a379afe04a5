/* Taking samples. Rounds go on until each scheme's medians are as precise as the limits ask, or
 * time or samples run out; a scheme that is precise takes no further part. */
#include "bench/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/limits.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "schemes/plugin_guard.h"

/* Samples at least where memory is the limit (unless `most` allows fewer): on a busy machine their
 * median is good to a few per cent, that of ten is not. */
enum { LEAST_WITH_LIMITS = 20 };

struct run {
    const struct cc_bench_config *config;
    const struct cc_speed_limits *limits;
    struct cc_calls calls;
    struct cc_limits *memory; /* NULL: memory is not the limit, or not asked for */
    bool *precise;            /* by scheme: takes part no more */
    double *scratch;          /* room for the samples of a call */
};

/* Adds to a sum that begins with sample 0: a discarded round is overwritten. */
static void add_bytes(double *sum, size_t sample, double bytes)
{
    *sum = sample == 0 ? bytes : *sum + bytes;
}

/* Takes sample number `sample` of a scheme: every group, for at least one period. */
static int take_sample(struct run *r, size_t scheme, size_t sample, bool counts,
                       struct cc_speed *out, struct cc_error *e)
{
    double step[CC_CALLS] = {0}, bytes = 0;
    const bool limits = counts && r->memory != NULL;
    cc_on_decoded *on_decoded =
        limits && cc_limits_wants_decoded(r->memory, scheme) ? cc_limits_on_decoded : NULL;
    for (size_t g = 0; g < r->calls.groups && !cc_interrupted(); g++) {
        double seconds[CC_CALLS] = {0}, group_bytes = 0;
        if (cc_bench_failed(r->config, scheme))
            break;
        CC_TRY(
            cc_calls_group(&r->calls, scheme, g, seconds, &group_bytes, on_decoded, r->memory, e));
        bytes += group_bytes;
        for (int c = 0; c < CC_CALLS; c++)
            step[c] += seconds[c];
        if (out->tensor_bytes == NULL)
            continue;
        size_t at = scheme * out->tensors + r->calls.group[g].first;
        for (int c = 0; c < CC_CALLS; c++)
            out->tensor_seconds[c][at * out->most + sample] = seconds[c];
        add_bytes(&out->tensor_bytes[at], sample, group_bytes);
    }
    for (int c = 0; c < CC_CALLS; c++)
        out->seconds[c][scheme * out->most + sample] = step[c];
    add_bytes(&out->bytes[scheme], sample, bytes);
    if (limits && !cc_interrupted())
        return cc_limits_sample(r->memory, scheme, bytes, sample, e);
    return CC_OK;
}

/* Takes one sample of every scheme. The samples of a discarded round are overwritten by the next
 * one. */
static int run_round(struct run *r, size_t sample, bool counts, struct cc_speed *out,
                     struct cc_error *e)
{
    for (size_t s = 0; s < r->config->schemes->count && !cc_interrupted(); s++)
        if (!r->precise[s])
            CC_TRY(take_sample(r, s, sample, counts, out, e));
    return CC_OK;
}

/* Whether the medians of the scheme's calls are as precise as they should be. */
static bool is_precise(const struct run *r, size_t scheme, size_t samples,
                       const struct cc_speed *out)
{
    for (int c = 0; c < CC_CALLS; c++) {
        memcpy(r->scratch, &out->seconds[c][scheme * out->most], samples * sizeof *r->scratch);
        const struct cc_stats s = cc_stats_of(r->scratch, samples);
        if (cc_stats_median_error(&s) > r->limits->precision)
            return false;
    }
    return true;
}

/* Counts the round for the schemes that took part. False if all are precise. */
static bool count_round(const struct run *r, struct cc_speed *out)
{
    bool more = r->limits->precision == 0;
    out->samples++;
    for (size_t s = 0; s < r->config->schemes->count; s++) {
        if (r->precise[s])
            continue;
        out->taken[s] = out->samples;
        r->precise[s] = r->limits->precision > 0 && out->samples >= r->limits->least &&
                        (cc_bench_failed(r->config, s) || is_precise(r, s, out->samples, out));
        more = more || !r->precise[s];
    }
    return more;
}

static size_t least_samples(const struct run *r)
{
    const struct cc_speed_limits *l = r->limits;
    size_t least = r->memory != NULL && l->least < LEAST_WITH_LIMITS ? LEAST_WITH_LIMITS : l->least;
    return least < l->most ? least : l->most;
}

static void show_progress(const struct run *r, double samples, double elapsed)
{
    const struct cc_speed_limits *l = r->limits;
    if (r->config->progress == NULL)
        return;
    double by_count = samples / (double)least_samples(r);
    double by_time = l->seconds > 0 ? elapsed / l->seconds : 1;
    double done = by_count < by_time ? by_count : by_time;
    r->config->progress(r->config->progress_arg, "speeds", done < 1 ? done : 1);
}

static int run_rounds(struct run *r, struct cc_speed *out, struct cc_error *e)
{
    const struct cc_speed_limits *l = r->limits;
    double begin = cc_now();
    for (size_t i = 0; i < l->discard && !cc_interrupted(); i++) {
        show_progress(r, 0, 0);
        CC_TRY(run_round(r, 0, false, out, e));
    }
    while (out->samples < l->most && !cc_interrupted()) {
        double elapsed = cc_now() - begin;
        if (out->samples >= least_samples(r) && elapsed >= l->seconds)
            break;
        show_progress(r, (double)out->samples, elapsed);
        cc_plugin_timed(out->samples > 0);
        const int status = run_round(r, out->samples, true, out, e);
        cc_plugin_timed(false);
        CC_TRY(status);
        if (out->samples == 0 && r->memory != NULL)
            begin += cc_now() - begin - elapsed; /* the first round tries many copy loops */
        if (!cc_interrupted() && !count_round(r, out))
            break;
    }
    return CC_OK;
}

static void finish(const struct run *r, struct cc_speed *out)
{
    size_t schemes = r->config->schemes->count;
    for (size_t s = 0; s < schemes && out->samples > 0; s++)
        out->bytes[s] /= (double)out->taken[s];
    bool by_tensor = out->tensor_bytes != NULL && out->samples > 0;
    for (size_t s = 0; by_tensor && s < schemes; s++)
        for (size_t t = 0; t < out->tensors; t++)
            out->tensor_bytes[s * out->tensors + t] /= (double)out->taken[s];
    for (size_t s = 0; s < schemes; s++) /* the samples of limits end with the scheme's own */
        out->limit[s] = cc_limits_of(r->memory, s, out->taken[s]);
}

static int allocate(const struct cc_bench_config *config, bool per_tensor, struct cc_speed *out,
                    struct cc_error *e)
{
    const size_t schemes = config->schemes->count, cells = schemes * out->most;
    for (int c = 0; c < CC_CALLS; c++) {
        CC_TRY(CC_NEW(out->seconds[c], cells, e));
        if (per_tensor)
            CC_TRY(CC_NEW(out->tensor_seconds[c], cells * out->tensors, e));
    }
    CC_TRY(CC_NEW(out->limit, schemes, e));
    CC_TRY(CC_NEW(out->bytes, schemes, e));
    CC_TRY(CC_NEW(out->taken, schemes, e));
    return per_tensor ? CC_NEW(out->tensor_bytes, schemes * out->tensors, e) : CC_OK;
}

int cc_speed_measure(const struct cc_bench_config *config, const struct cc_speed_limits *limits,
                     struct cc_speed *out, struct cc_error *e)
{
    struct run r = {.config = config, .limits = limits};
    int status = CC_OK;
    *out = (struct cc_speed){.most = limits->most, .tensors = cc_trace_tensors(config->trace)};
    CC_TRY_OUT(allocate(config, limits->per_tensor, out, e));
    CC_TRY_OUT(CC_NEW(r.precise, config->schemes->count, e));
    CC_TRY_OUT(CC_NEW(r.scratch, limits->most, e));
    CC_TRY_OUT(cc_calls_open(config, limits->per_tensor, &r.calls, e));
    if (limits->roofline)
        CC_TRY_OUT(cc_limits_open(config, limits->most, &r.memory, e));
    CC_TRY_OUT(run_rounds(&r, out, e));
    finish(&r, out);
out:
    cc_limits_free(r.memory);
    cc_calls_close(&r.calls);
    free(r.precise);
    free(r.scratch);
    if (status != CC_OK)
        cc_speed_free(out);
    return status;
}

void cc_speed_free(struct cc_speed *s)
{
    for (int c = 0; c < CC_CALLS; c++) {
        free(s->seconds[c]);
        free(s->tensor_seconds[c]);
    }
    free(s->limit);
    free(s->bytes);
    free(s->taken);
    free(s->tensor_bytes);
    *s = (struct cc_speed){0};
}
