#include "bench/settle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"

#define CALM 0.01

static int open_codecs(const struct cc_bench_config *config, size_t scheme,
                       const struct cc_sample *sample, struct cc_codec_set *set, struct cc_error *e)
{
    CC_TRY(cc_codec_set_init(set, sample->count, e));
    for (size_t i = 0; i < sample->count; i++)
        set->item[i] = cc_codec_item(cc_bench_spec(config, scheme, sample->piece[i].tensor),
                                     &sample->piece[i].shape);
    return cc_codec_set_allocate(set, &cc_memory_in_turn, e);
}

/* One pass, tensor by tensor; adds the payloads to bytes[]. */
static int run_pass(const struct cc_bench_config *config, size_t scheme, struct cc_sample *sample,
                    const struct cc_codec_set *set, uint64_t first, double *bytes,
                    struct cc_error *e)
{
    const size_t steps = cc_bench_steps(config, scheme);
    int status = CC_OK;
    memset(bytes, 0, set->count * sizeof *bytes);
    for (size_t i = 0; i < set->count; i++) {
        const struct cc_codec_item *item = &set->item[i];
        for (size_t step = 0; step < steps && !cc_interrupted(); step++) {
            const struct cc_context ctx =
                cc_bench_context(config, sample->piece[i].tensor, first + step);
            const float *x;
            size_t len;
            status = cc_sample_step(config, sample, &sample->piece[i], step, &x, e);
            if (status == CC_OK)
                status = cc_encode(&item->codec, &ctx, x, item->payload, item->bound, &len, e);
            if (status != CC_OK) {
                cc_bench_error_in(config, step % config->steps, config->schemes->item[scheme]->name,
                                  e);
                return status;
            }
            bytes[i] += (double)len;
        }
    }
    return CC_OK;
}

/* The sum of the passes [from, from + count) over all pieces. */
static double sum_of(const double *bytes, size_t pieces, size_t from, size_t count)
{
    double sum = 0;
    for (size_t i = from * pieces; i < (from + count) * pieces; i++)
        sum += bytes[i];
    return sum;
}

static bool is_calm(const double *bytes, size_t pieces, size_t passes, size_t window)
{
    if (passes < 2 * window)
        return false;
    const double late = sum_of(bytes, pieces, passes - window, window);
    const double early = sum_of(bytes, pieces, passes - 2 * window, window);
    return fabs(late - early) <= CALM * late;
}

int cc_settle_sizes(const struct cc_bench_config *config, size_t scheme, struct cc_sample *sample,
                    const struct cc_settle_limits *limits, struct cc_codec_set *set, double *bytes,
                    struct cc_settled *out, struct cc_error *e)
{
    const size_t steps = cc_bench_steps(config, scheme), pieces = sample->count;
    const size_t window = (CC_SETTLE_STEPS + steps - 1) / steps;
    const double began = cc_now();
    size_t capacity = 0, used = 1;
    double *all = NULL; /* bytes of each pass and piece */
    int status = CC_OK;
    *out = (struct cc_settled){.passes = 0};
    CC_TRY_OUT(open_codecs(config, scheme, sample, set, e));
    const bool settles = cc_sample_has_state(config, scheme, sample);
    while (!out->settled && !cc_interrupted()) {
        CC_TRY_OUT(CC_GROW(all, &capacity, (out->passes + 1) * pieces, e));
        CC_TRY_OUT(run_pass(config, scheme, sample, set, out->passes * steps,
                            all + out->passes * pieces, e));
        out->passes++;
        out->settled = !settles || is_calm(all, pieces, out->passes, window);
        if (out->passes == limits->passes ||
            (limits->seconds > 0 && cc_now() - began > limits->seconds))
            break;
    }
    out->steps = out->passes * steps;
    if (settles)
        used = out->passes < window ? out->passes : window;
    for (size_t i = 0; i < pieces && out->passes > 0 && all != NULL; i++) {
        bytes[i] = 0;
        for (size_t p = out->passes - used; p < out->passes; p++)
            bytes[i] += all[p * pieces + i] / (double)(used * steps);
    }
out:
    free(all);
    return status;
}
