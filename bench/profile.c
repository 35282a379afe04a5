#include "bench/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/stats.h"

const size_t cc_profile_sizes[CC_PROFILE_SIZES] = {10, 100, 1000, 10000, 100000, 1000000, 10000000};

struct cc_speed_limits cc_profile_limits(double seconds)
{
    return (struct cc_speed_limits){
        .discard = 3, .least = 5, .most = 100, .seconds = seconds, .per_tensor = true};
}

/* --- points --- */

/* Puts a point where it belongs, unless its size is there. */
static int put_point(struct cc_profile_codec *c, const struct cc_profile_point *point,
                     struct cc_error *e)
{
    size_t at = 0;
    while (at < c->points && c->point[at].values < point->values)
        at++;
    if (at < c->points && c->point[at].values == point->values)
        return CC_OK;
    void *list = c->point;
    size_t capacity = c->points;
    if (cc_grow(&list, &capacity, c->points + 1, sizeof *point, e) != CC_OK)
        return CC_FAIL;
    c->point = list;
    memmove(&c->point[at + 1], &c->point[at], (c->points - at) * sizeof *point);
    c->point[at] = *point;
    c->points++;
    return CC_OK;
}

static struct cc_profile_codec *codec_of(struct cc_profile *p, const char *scheme,
                                         struct cc_error *e)
{
    for (size_t i = 0; i < p->codecs; i++)
        if (strcmp(p->codec[i].scheme, scheme) == 0)
            return &p->codec[i];
    void *list = p->codec;
    size_t capacity = p->codecs;
    char *name = cc_strdup(scheme, e);
    if (name == NULL || cc_grow(&list, &capacity, p->codecs + 1, sizeof *p->codec, e) != CC_OK) {
        free(name);
        return NULL;
    }
    p->codec = list;
    p->codec[p->codecs] = (struct cc_profile_codec){.scheme = name};
    return &p->codec[p->codecs++];
}

/* Tensors by their size. */
struct sized {
    size_t values, tensor;
};

static int by_size(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    return x->values < y->values ? -1 : x->values > y->values;
}

/* What tensors of about one size come to together. */
static struct cc_profile_point point_of(struct cc_speed *speed, size_t scheme,
                                        const struct sized *list, size_t count)
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

static int add_scheme(struct cc_profile *p, const struct cc_bench_config *plan, size_t scheme,
                      struct cc_speed *speed, const struct sized *list, size_t count,
                      struct cc_error *e)
{
    struct cc_profile_codec *c = codec_of(p, plan->schemes->item[scheme]->name, e);
    int status = c != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0, next; i < count && status == CC_OK; i = next) {
        for (next = i + 1; next < count; next++)
            if ((double)list[next].values >= 1.1 * (double)list[i].values)
                break;
        struct cc_profile_point point = point_of(speed, scheme, &list[i], next - i);
        status = put_point(c, &point, e);
    }
    return status;
}

int cc_profile_add(struct cc_profile *p, const struct cc_bench_config *plan, struct cc_speed *speed,
                   struct cc_error *e)
{
    struct sized *list = cc_alloc(speed->tensors * sizeof *list, e);
    size_t count = 0;
    if (list == NULL)
        return CC_FAIL;
    for (size_t t = 0; t < speed->tensors; t++) {
        size_t n = cc_trace_tensor(plan->trace, t)->shape.n;
        list[count] = (struct sized){.values = n, .tensor = t};
        count += n > 0 && n >= plan->min_size;
    }
    qsort(list, count, sizeof *list, by_size);
    int status = CC_OK;
    for (size_t s = 0; s < plan->schemes->count && status == CC_OK && count > 0; s++)
        if (!cc_bench_failed(plan, s))
            status = add_scheme(p, plan, s, speed, list, count, e);
    free(list);
    return status;
}

/* --- on synthetic values --- */

static int one_size(const struct cc_spec_list *schemes, const struct cc_profile_config *config,
                    size_t values, struct cc_profile *p, struct cc_error *e)
{
    const struct cc_tensor_info tensor = {.name = "values", .shape = cc_shape_flat(values)};
    const struct cc_synth synth = {.distribution = config->distribution,
                                   .seed = config->seed,
                                   .steps = 8,
                                   .ranks = 1,
                                   .decay = 0.1};
    const struct cc_speed_limits limits = cc_profile_limits(config->seconds / CC_PROFILE_SIZES);
    struct cc_bench_config plan = {.schemes = schemes,
                                   .steps = synth.steps,
                                   .seed = config->seed,
                                   .threads = config->threads,
                                   .progress = config->progress,
                                   .progress_arg = config->progress_arg};
    struct cc_speed speed;
    int status = cc_trace_synth(&synth, &tensor, 1, "profile", &plan.trace, e);
    if (status != CC_OK)
        return status;
    plan.failed = cc_alloc0(schemes->count * sizeof *plan.failed, e);
    status = plan.failed != NULL ? cc_speed_measure(&plan, &limits, &speed, e) : CC_FAIL;
    if (status == CC_OK) {
        status = cc_interrupted() ? cc_fail(e, "interrupted") : cc_profile_add(p, &plan, &speed, e);
        cc_speed_free(&speed);
    }
    for (size_t s = 0; s < schemes->count && status == CC_OK; s++)
        if (cc_bench_failed(&plan, s))
            status = cc_fail(e, "%s", plan.failed[s].text);
    free(plan.failed);
    cc_trace_close(plan.trace);
    return status;
}

/* Where the numbers come from. */
static int describe(const struct cc_profile_config *config, struct cc_profile *p,
                    struct cc_error *e)
{
    char trace[64];
    (void)snprintf(trace, sizeof trace, "synthetic:%s",
                   cc_distribution_names[config->distribution]);
    p->threads = config->threads;
    p->trace = cc_strdup(trace, e);
    p->cpu = cc_strdup(config->cpu, e);
    p->isa = cc_strdup(cc_isa_name(cc_isa()), e);
    p->time = cc_strdup(config->time, e);
    return p->trace == NULL || p->cpu == NULL || p->isa == NULL || p->time == NULL ? CC_FAIL
                                                                                   : CC_OK;
}

int cc_profile_measure(const struct cc_spec_list *schemes, const struct cc_profile_config *config,
                       struct cc_profile *out, struct cc_error *e)
{
    struct cc_profile p = {0};
    int status = describe(config, &p, e);
    for (size_t i = 0; i < CC_PROFILE_SIZES && status == CC_OK; i++)
        status = one_size(schemes, config, cc_profile_sizes[i], &p, e);
    if (status == CC_OK)
        *out = p;
    else
        cc_profile_free(&p);
    return status;
}
