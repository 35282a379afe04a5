/* Measuring a profile: a scheme's speed and sizes at each size of tensor, on synthetic values or on
 * a trace, in the points that models interpolate. */
#include "bench/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"
#include "core/interrupt.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/trace/synth.h"
#include "core/trace/trace_dtype.h"

const size_t cc_profile_sizes[CC_PROFILE_SIZES] = {10,     100,     1000,    10000,
                                                   100000, 1000000, 3000000, 10000000};

struct cc_speed_limits cc_profile_limits(double seconds)
{
    return (struct cc_speed_limits){
        .discard = 3, .least = 5, .most = 100, .seconds = seconds, .per_tensor = true};
}

/* --- points --- */

struct sized_tensor {
    size_t values, tensor;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct sized_tensor *x = a, *y = b;
    return x->values < y->values ? -1 : x->values > y->values;
}

static struct cc_profile_point average(struct cc_speed *speed, size_t scheme,
                                       const struct sized_tensor *list, size_t count, double load)
{
    double values = 0, bytes = 0, spread = 0, seconds[CC_CALLS] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t at = scheme * speed->tensors + list[i].tensor;
        values += (double)list[i].values;
        bytes += speed->tensor_bytes[at];
        for (int c = 0; c < CC_CALLS; c++) {
            const struct cc_stats s =
                cc_stats_of(&speed->tensor_seconds[c][at * speed->most], speed->taken[scheme]);
            seconds[c] += s.median;
            spread = fmax(spread, cc_stats_spread(&s));
        }
    }
    return (struct cc_profile_point){.values = round(values / (double)count),
                                     .bits_per_value = 8 * bytes / values,
                                     .encode_ns = 1e9 * seconds[CC_ENCODE] / values,
                                     .decode_ns = 1e9 * seconds[CC_DECODE] / values,
                                     .decode_add_ns = 1e9 * seconds[CC_DECODE_ADD] / values,
                                     .spread = spread,
                                     .load = load};
}

static double total_ns(const struct cc_profile_point *p)
{
    return p->encode_ns + p->decode_ns + p->decode_add_ns;
}

int cc_profile_add(struct cc_profile *p, const struct cc_bench_config *config,
                   struct cc_speed *speed, bool keep_faster, struct cc_error *e)
{
    struct sized_tensor *list;
    size_t count = 0;
    int status = CC_OK;
    CC_TRY(CC_NEW(list, speed->tensors, e));
    for (size_t t = 0; t < speed->tensors; t++) {
        size_t n = cc_trace_tensor(config->trace, t)->shape.n;
        list[count] = (struct sized_tensor){.values = n, .tensor = t};
        count += n > 0 && n >= config->min_size;
    }
    qsort(list, count, sizeof *list, compare_sizes);
    const double load = cc_load_now(&p->copy_gb_per_s);
    for (size_t s = 0; s < config->schemes->count && count > 0; s++) {
        if (cc_bench_failed(config, s))
            continue;
        for (size_t i = 0, next; i < count; i = next) {
            for (next = i + 1; next < count; next++)
                if ((double)list[next].values >= 1.1 * (double)list[i].values)
                    break;
            const char *name = config->schemes->item[s]->name;
            const struct cc_profile_point point = average(speed, s, &list[i], next - i, load);
            const struct cc_profile_point *kept =
                keep_faster ? cc_profile_point(p, name, point.values) : NULL;
            if (kept == NULL || total_ns(&point) < total_ns(kept))
                CC_TRY_OUT(cc_profile_put(p, name, &point, e));
        }
    }
out:
    free(list);
    return status;
}

/* --- on synthetic values --- */

int cc_profile_begin(struct cc_profile *p, const struct cc_profile_config *config,
                     struct cc_error *e)
{
    *p = (struct cc_profile){.threads = config->threads, .dtype = config->dtype};
    CC_TRY(cc_text(&p->trace, e, "synthetic:%s", cc_distribution_names[config->distribution]));
    CC_TRY(cc_text(&p->cpu, e, "%s", config->cpu));
    CC_TRY(cc_text(&p->isa, e, "%s", cc_isa_name(cc_isa())));
    return cc_text(&p->time, e, "%s", config->time);
}

enum { LARGE = 1000000 };

/* Different steps. Large tensors take long to draw, and differ little in how fast they are. */
static size_t steps_of(size_t values)
{
    return values < LARGE ? 8 : 2;
}

/* Samples until the medians are precise, or their share of the time has passed. Calls on large
 * tensors take long, and vary less; `again`: the faster of two measurements counts. */
static struct cc_speed_limits limits_of(size_t values, size_t schemes, bool again)
{
    const double each_s = values < LARGE ? 0.01 : 0.03;
    return (struct cc_speed_limits){.discard = 1,
                                    .least = values < LARGE && !again ? 5 : 3,
                                    .most = 50,
                                    .seconds = each_s * (double)schemes,
                                    .precision = 0.02,
                                    .per_tensor = true};
}

int cc_profile_measure(struct cc_profile *p, const struct cc_spec_list *schemes, size_t values,
                       const struct cc_profile_config *config, struct cc_error *e)
{
    const struct cc_tensor_info tensor = {.name = "values", .shape = cc_shape_flat(values)};
    const struct cc_synth synth = {.distribution = config->distribution,
                                   .seed = config->seed,
                                   .steps = steps_of(values),
                                   .ranks = 1,
                                   .decay = 0.1};
    const struct cc_speed_limits limits = limits_of(values, schemes->count, config->keep_faster);
    struct cc_bench_config bench = {.schemes = schemes,
                                    .steps = synth.steps,
                                    .seed = config->seed,
                                    .threads = config->threads,
                                    .progress = config->progress,
                                    .progress_arg = config->progress_arg};
    struct cc_speed speed = {0};
    int status = CC_OK;
    CC_TRY_OUT(cc_trace_synth(&synth, &tensor, 1, "profile", &bench.trace, e));
    cc_trace_set_element(bench.trace, config->dtype);
    CC_TRY_OUT(CC_NEW(bench.failed, schemes->count, e));
    CC_TRY_OUT(cc_speed_measure(&bench, &limits, &speed, e));
    if (cc_interrupted())
        CC_TRY_OUT(cc_fail(e, "interrupted"));
    CC_TRY_OUT(cc_profile_add(p, &bench, &speed, config->keep_faster, e));
    for (size_t s = 0; s < schemes->count && status == CC_OK; s++)
        if (cc_bench_failed(&bench, s))
            status = cc_fail(e, "%s", bench.failed[s].text);
out:
    cc_speed_free(&speed);
    free(bench.failed);
    cc_trace_close(bench.trace);
    return status;
}
