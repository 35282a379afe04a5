/* Measuring sizes and errors. A tensor goes through its steps with one codec, and bench/compare.h
 * adds up the squares; sums over all steps give the cumulative error. Where sizes have to settle,
 * bench/settle.h runs the codecs first, and one more pass measures with their states. */
#include "bench/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "core/reduce.h"

enum { BUFFERS = 3 };

/* Values of one tensor, or of the largest. */
struct buffers {
    float *load, *decoded, *cumulative;
};

static void free_buffers(struct buffers *b)
{
    free(b->load);
    free(b->decoded);
    free(b->cumulative);
}

/* To be freed also after a failure. `cumulative` is zero. */
static int allocate_buffers(struct buffers *b, size_t n, struct cc_error *e)
{
    *b = (struct buffers){.load = NULL};
    CC_TRY(cc_memory_check(cc_bytes_product(BUFFERS, cc_float_bytes(n)),
                           "a tensor, its decoded values and their sum", e));
    CC_TRY(CC_NEW(b->load, n, e));
    CC_TRY(CC_NEW(b->decoded, n, e));
    return CC_NEW(b->cumulative, n, e);
}

/* One step of one tensor: encode and, unless `sums` is NULL, decode and compare. Sets *sums, and
 * adds the differences to b->cumulative. */
static int measure_step(const struct cc_bench_config *config, const struct cc_codec_item *item,
                        size_t index, struct cc_context ctx, struct buffers *b, size_t *len,
                        struct cc_compared *sums, struct cc_error *e)
{
    int status = CC_OK;
    const float *g = b->load;
    CC_TRY_OUT(cc_trace_load(config->trace, config->stream, index, ctx.tensor, b->load, e));
    CC_TRY_OUT(cc_encode(&item->codec, &ctx, g, item->payload, item->bound, len, e));
    if (sums != NULL) {
        CC_TRY_OUT(cc_decode(&item->codec, &ctx, item->payload, *len, b->decoded, e));
        *sums = (struct cc_compared){0};
        k_compare()->compare(b->decoded, g, b->cumulative, item->codec.shape.n, sums);
    }
out:
    if (status != CC_OK)
        cc_bench_error_in(config, index, item->spec->name, e);
    return status;
}

/* --- sizes and errors --- */

static void add_sums(struct cc_compared *a, const struct cc_compared *b)
{
    a->error_sq += b->error_sq;
    a->raw_sq += b->raw_sq;
    a->output_sq += b->output_sq;
    a->dot += b->dot;
    a->max_error = fmax(a->max_error, b->max_error);
}

void cc_quality_add(struct cc_quality *a, const struct cc_quality *b)
{
    a->values += b->values;
    a->steps = b->steps;
    a->payload_bytes += b->payload_bytes;
    add_sums(&a->sums, &b->sums);
    a->cumulative_error_sq += b->cumulative_error_sq;
    a->cumulative_raw_sq += b->cumulative_raw_sq;
    a->entropy_bits += b->entropy_bits;
}

/* The sum of (sum over steps of g)^2 over the values of a tensor. Leaves b->cumulative zero. */
static int raw_cumulative(const struct cc_bench_config *config, struct buffers *b, size_t tensor,
                          size_t steps, double *out, struct cc_error *e)
{
    size_t n = cc_trace_tensor(config->trace, tensor)->shape.n;
    for (size_t i = 0; i < steps && !cc_interrupted(); i++) {
        CC_TRY(cc_trace_load(config->trace, config->stream, i % config->steps, tensor, b->load, e));
        for (size_t k = 0; k < n; k++)
            b->cumulative[k] += b->load[k];
    }
    *out = k_reduce()->sum_sq(b->cumulative, n);
    memset(b->cumulative, 0, n * sizeof(float));
    return CC_OK;
}

/* Runs `passes` passes of one tensor, the first from running step `step` on; the last one counts.
 */
static int measure_tensor(const struct cc_bench_config *config, size_t scheme, size_t tensor,
                          const struct cc_codec_item *item, uint64_t step, size_t passes,
                          struct buffers *b, struct cc_quality *q, struct cc_error *e)
{
    const size_t n = item->codec.shape.n, steps = cc_bench_steps(config, scheme);
    *q = (struct cc_quality){.values = n, .steps = steps};
    for (size_t pass = 0; pass < passes; pass++) {
        const bool last = pass + 1 == passes;
        for (size_t i = 0; i < steps && !cc_interrupted(); i++) {
            size_t len;
            struct cc_compared sums;
            struct cc_context ctx = cc_bench_context(config, tensor, step++);
            CC_TRY(measure_step(config, item, i % config->steps, ctx, b, &len, last ? &sums : NULL,
                                e));
            if (!last)
                continue;
            q->payload_bytes += len;
            add_sums(&q->sums, &sums);
            q->entropy_bits += cc_entropy_bits(&item->codec, b->load);
        }
    }
    q->cumulative_error_sq = k_reduce()->sum_sq(b->cumulative, n);
    memset(b->cumulative, 0, n * sizeof *b->cumulative);
    return CC_OK;
}

/* Fails if the tensor and scheme that need most do not fit into memory. */
static int check_memory(const struct cc_bench_config *config, struct cc_error *e)
{
    size_t most = 0;
    for (size_t t = 0; t < cc_trace_tensors(config->trace); t++)
        for (size_t s = 0; s < config->schemes->count; s++) {
            const struct cc_codec_item item = cc_bench_codec(config, s, t);
            const size_t buffers = cc_bytes_product(BUFFERS, cc_float_bytes(item.codec.shape.n));
            most = cc_larger(most,
                             cc_bytes_sum(buffers, cc_codec_bytes(&item, 1, &cc_memory_in_turn)));
        }
    return cc_memory_check(most, "the largest tensor", e);
}

/* cumulative_raw_sq of each tensor: the same for all schemes with equally many steps. */
struct raw_sums {
    double *cumulative_sq;
    size_t steps; /* for which cumulative_sq is known; 0: for none */
};

/* The schemes one after the other. */
struct measuring {
    const struct cc_bench_config *config;
    const struct cc_quality_plan *plan;
    struct raw_sums raw;
    struct cc_sample all; /* all tensors, for sizes that settle; opened when first needed */
    double *bytes;        /* by piece of `all`: the settled payload */
};

static void show_progress(const struct measuring *m, size_t scheme, size_t tensor)
{
    const struct cc_bench_config *config = m->config;
    const double tensors = (double)cc_trace_tensors(config->trace);
    if (config->progress != NULL)
        config->progress(config->progress_arg, "sizes and errors",
                         ((double)scheme + (double)tensor / tensors) /
                             (double)config->schemes->count);
}

/* One tensor under one scheme. With `settled` codecs, which have run before, sizes are known. */
static int one_tensor(struct measuring *m, size_t scheme, size_t tensor,
                      const struct cc_codec_item *settled, uint64_t step, struct cc_quality *out,
                      struct cc_error *e)
{
    const struct cc_bench_config *config = m->config;
    const struct cc_tensor_info *info = cc_trace_tensor(config->trace, tensor);
    const size_t steps = cc_bench_steps(config, scheme);
    struct cc_codec_set set = {0};
    struct buffers b;
    int status = CC_OK;
    CC_TRY_OUT(allocate_buffers(&b, info->shape.n, e));
    if (m->raw.steps != steps)
        CC_TRY_OUT(raw_cumulative(config, &b, tensor, steps, &m->raw.cumulative_sq[tensor], e));
    if (settled == NULL)
        CC_TRY_OUT(cc_codec_set_single(&set, cc_bench_spec(config, scheme, tensor), &info->shape,
                                       &cc_memory_in_turn, e));
    CC_TRY_OUT(measure_tensor(config, scheme, tensor, settled != NULL ? settled : set.item, step,
                              settled != NULL || m->plan->passes == 0 ? 1 : m->plan->passes, &b,
                              out, e));
out:
    out->cumulative_raw_sq = m->raw.cumulative_sq[tensor];
    free_buffers(&b);
    cc_codec_set_free(&set);
    return status;
}

static int measure_passes(struct measuring *m, size_t scheme, struct cc_quality *out,
                          struct cc_error *e)
{
    for (size_t t = 0; t < cc_trace_tensors(m->config->trace) && !cc_interrupted(); t++) {
        show_progress(m, scheme, t);
        CC_TRY(one_tensor(m, scheme, t, NULL, 0, &out[t], e));
    }
    return CC_OK;
}

static int measure_settled(struct measuring *m, size_t scheme, struct cc_quality *out,
                           struct cc_settled *settled, struct cc_error *e)
{
    const struct cc_bench_config *config = m->config;
    const struct cc_sample_limits all = {.values = SIZE_MAX,
                                         .largest = SIZE_MAX,
                                         .steps = SIZE_MAX,
                                         .kept = cc_memory_available() / 4};
    struct cc_codec_set set = {0};
    int status = CC_OK;
    show_progress(m, scheme, 0);
    if (m->all.piece == NULL)
        CC_TRY(cc_sample_open(config, &all, &m->all, e));
    CC_TRY_OUT(
        cc_settle_sizes(config, scheme, &m->all, &m->plan->settle, &set, m->bytes, settled, e));
    for (size_t i = 0; i < m->all.count && !cc_interrupted(); i++) {
        struct cc_quality *q = &out[m->all.piece[i].tensor];
        CC_TRY_OUT(
            one_tensor(m, scheme, m->all.piece[i].tensor, &set.item[i], settled->steps, q, e));
        q->payload_bytes = (uint64_t)llround(m->bytes[i] * (double)q->steps);
    }
    settled->passes++;
out:
    cc_codec_set_free(&set);
    return status;
}

static bool has_state(const struct cc_bench_config *config, size_t scheme)
{
    for (size_t t = 0; t < cc_trace_tensors(config->trace); t++) {
        const struct cc_codec_item item = cc_bench_codec(config, scheme, t);
        if (cc_state_bytes(&item.codec) > 0)
            return true;
    }
    return false;
}

int cc_quality_measure(const struct cc_bench_config *config, const struct cc_quality_plan *plan,
                       struct cc_quality *out, struct cc_settled *settled, size_t *done,
                       struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(config->trace);
    struct measuring m = {.config = config, .plan = plan};
    int status = CC_OK;
    *done = 0;
    CC_TRY_OUT(CC_NEW(m.raw.cumulative_sq, tensors, e));
    CC_TRY_OUT(CC_NEW(m.bytes, tensors, e));
    CC_TRY_OUT(check_memory(config, e));
    for (; *done < config->schemes->count; (*done)++) {
        const size_t s = *done;
        struct cc_error *failed = &config->failed[s];
        settled[s] = (struct cc_settled){.passes = plan->passes, .settled = true};
        if (cc_bench_failed(config, s))
            continue;
        const bool stateful = has_state(config, s);
        if (plan->passes > 0 || !stateful) {
            settled[s].unknown = stateful;
            settled[s].settled = !stateful;
            settled[s].passes = plan->passes > 0 ? plan->passes : 1;
            (void)measure_passes(&m, s, &out[s * tensors], failed);
        } else {
            (void)measure_settled(&m, s, &out[s * tensors], &settled[s], failed);
        }
        if (cc_interrupted())
            break; /* this scheme is not complete */
        m.raw.steps = cc_bench_failed(config, s) ? 0 : cc_bench_steps(config, s);
    }
out:
    cc_sample_free(&m.all);
    free(m.raw.cumulative_sq);
    free(m.bytes);
    return status;
}
