#include "bench/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/trace/synth.h"

const size_t cc_profile_sizes[CC_PROFILE_SIZES] = {10, 100, 1000, 10000, 100000, 1000000, 10000000};

struct cc_speed_limits cc_profile_limits(double seconds)
{
    return (struct cc_speed_limits){
        .discard = 3, .least = 5, .most = 100, .seconds = seconds, .per_tensor = true};
}

/* --- points --- */

/* Inserts a point in order of size, unless there is one of that size. */
static int insert_point(struct cc_profile_codec *c, const struct cc_profile_point *point,
                        struct cc_error *e)
{
    size_t at = 0;
    while (at < c->points && c->point[at].values < point->values)
        at++;
    if (at < c->points && c->point[at].values == point->values)
        return CC_OK;
    void *list = c->point;
    size_t capacity = c->points;
    CC_TRY(cc_grow(&list, &capacity, c->points + 1, sizeof *point, e));
    c->point = list;
    memmove(&c->point[at + 1], &c->point[at], (c->points - at) * sizeof *point);
    c->point[at] = *point;
    c->points++;
    return CC_OK;
}

/* The profile's entry for a scheme, which is added if it is missing. */
static int find_codec(struct cc_profile *p, const char *scheme, struct cc_profile_codec **out,
                      struct cc_error *e)
{
    for (size_t i = 0; i < p->codecs; i++) {
        *out = &p->codec[i];
        if (strcmp(p->codec[i].scheme, scheme) == 0)
            return CC_OK;
    }
    void *list = p->codec;
    size_t capacity = p->codecs;
    char *name = cc_strdup(scheme, e);
    if (name == NULL || cc_grow(&list, &capacity, p->codecs + 1, sizeof *p->codec, e) != CC_OK) {
        free(name);
        return CC_FAIL;
    }
    p->codec = list;
    *out = &p->codec[p->codecs++];
    **out = (struct cc_profile_codec){.scheme = name};
    return CC_OK;
}

struct sized_tensor {
    size_t values, tensor;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct sized_tensor *x = a, *y = b;
    return x->values < y->values ? -1 : x->values > y->values;
}

/* Averages tensors of about one size into a point. */
static struct cc_profile_point average(struct cc_speed *speed, size_t scheme,
                                       const struct sized_tensor *list, size_t count)
{
    double values = 0, bytes = 0, seconds[CC_CALLS] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t at = scheme * speed->tensors + list[i].tensor;
        values += (double)list[i].values;
        bytes += speed->tensor_bytes[at];
        for (int c = 0; c < CC_CALLS; c++)
            seconds[c] +=
                cc_stats_of(&speed->tensor_seconds[c][at * speed->most], speed->samples).median;
    }
    return (struct cc_profile_point){.values = round(values / (double)count),
                                     .bits_per_value = 8 * bytes / values,
                                     .encode_ns = 1e9 * seconds[CC_ENCODE] / values,
                                     .decode_ns = 1e9 * seconds[CC_DECODE] / values,
                                     .decode_add_ns = 1e9 * seconds[CC_DECODE_ADD] / values};
}

int cc_profile_add(struct cc_profile *p, const struct cc_bench_config *config,
                   struct cc_speed *speed, struct cc_error *e)
{
    struct sized_tensor *list = cc_alloc(speed->tensors * sizeof *list, e);
    size_t count = 0;
    int status = CC_OK;
    if (list == NULL)
        return CC_FAIL;
    for (size_t t = 0; t < speed->tensors; t++) {
        size_t n = cc_trace_tensor(config->trace, t)->shape.n;
        list[count] = (struct sized_tensor){.values = n, .tensor = t};
        count += n > 0 && n >= config->min_size;
    }
    qsort(list, count, sizeof *list, compare_sizes);
    for (size_t s = 0; s < config->schemes->count && count > 0; s++) {
        struct cc_profile_codec *c;
        if (cc_bench_failed(config, s))
            continue;
        CC_TRY_OUT(find_codec(p, config->schemes->item[s]->name, &c, e));
        for (size_t i = 0, next; i < count; i = next) {
            for (next = i + 1; next < count; next++)
                if ((double)list[next].values >= 1.1 * (double)list[i].values)
                    break;
            const struct cc_profile_point point = average(speed, s, &list[i], next - i);
            CC_TRY_OUT(insert_point(c, &point, e));
        }
    }
out:
    free(list);
    return status;
}

/* --- on synthetic values --- */

/* Measures tensors of one size and adds the points. */
static int measure_size(const struct cc_spec_list *schemes, const struct cc_profile_config *config,
                        size_t values, struct cc_profile *p, struct cc_error *e)
{
    const struct cc_tensor_info tensor = {.name = "values", .shape = cc_shape_flat(values)};
    const struct cc_synth synth = {.distribution = config->distribution,
                                   .seed = config->seed,
                                   .steps = 8,
                                   .ranks = 1,
                                   .decay = 0.1};
    const struct cc_speed_limits limits = cc_profile_limits(config->seconds / CC_PROFILE_SIZES);
    struct cc_bench_config bench = {.schemes = schemes,
                                    .steps = synth.steps,
                                    .seed = config->seed,
                                    .threads = config->threads,
                                    .progress = config->progress,
                                    .progress_arg = config->progress_arg};
    struct cc_speed speed = {0};
    int status = CC_OK;
    CC_TRY_OUT(cc_trace_synth(&synth, &tensor, 1, "profile", &bench.trace, e));
    bench.failed = cc_alloc0(schemes->count * sizeof *bench.failed, e);
    if (bench.failed == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(cc_speed_measure(&bench, &limits, &speed, e));
    if (cc_interrupted()) {
        status = cc_fail(e, "interrupted");
        goto out;
    }
    CC_TRY_OUT(cc_profile_add(p, &bench, &speed, e));
    for (size_t s = 0; s < schemes->count && status == CC_OK; s++)
        if (cc_bench_failed(&bench, s))
            status = cc_fail(e, "%s", bench.failed[s].text);
out:
    cc_speed_free(&speed);
    free(bench.failed);
    cc_trace_close(bench.trace);
    return status;
}

int cc_profile_measure(const struct cc_spec_list *schemes, const struct cc_profile_config *config,
                       struct cc_profile *out, struct cc_error *e)
{
    struct cc_profile p = {.threads = config->threads};
    char trace[64];
    int status = CC_OK;
    (void)snprintf(trace, sizeof trace, "synthetic:%s",
                   cc_distribution_names[config->distribution]);
    p.trace = cc_strdup(trace, e);
    p.cpu = cc_strdup(config->cpu, e);
    p.isa = cc_strdup(cc_isa_name(cc_isa()), e);
    p.time = cc_strdup(config->time, e);
    if (p.trace == NULL || p.cpu == NULL || p.isa == NULL || p.time == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (size_t i = 0; i < CC_PROFILE_SIZES; i++)
        CC_TRY_OUT(measure_size(schemes, config, cc_profile_sizes[i], &p, e));
out:
    if (status == CC_OK)
        *out = p;
    else
        cc_profile_free(&p);
    return status;
}
