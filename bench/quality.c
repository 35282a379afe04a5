#include "bench/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/reduce.h"

static const struct cc_codec_memory codec_memory = {
    .state = true, .scratch = CC_SHARED, .payload = CC_SHARED};

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
    const size_t most = SIZE_MAX / (BUFFERS * sizeof(float));
    *b = (struct buffers){.load = NULL};
    CC_TRY(cc_memory_check(n < most ? BUFFERS * n * sizeof(float) : SIZE_MAX,
                           "a tensor, its decoded values and their sum", e));
    *b = (struct buffers){.load = cc_alloc(n * sizeof(float), e),
                          .decoded = cc_alloc(n * sizeof(float), e),
                          .cumulative = cc_alloc0(n * sizeof(float), e)};
    return b->load == NULL || b->decoded == NULL || b->cumulative == NULL ? CC_FAIL : CC_OK;
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

void cc_quality_add(struct cc_quality *a, const struct cc_quality *b)
{
    a->values += b->values;
    a->steps = b->steps;
    a->payload_bytes += b->payload_bytes;
    a->error_sq += b->error_sq;
    a->raw_sq += b->raw_sq;
    a->output_sq += b->output_sq;
    a->dot += b->dot;
    a->max_error = fmax(a->max_error, b->max_error);
    a->cumulative_error_sq += b->cumulative_error_sq;
    a->cumulative_raw_sq += b->cumulative_raw_sq;
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

static void add_step(struct cc_quality *q, size_t len, const struct cc_compared *sums)
{
    q->payload_bytes += len;
    q->error_sq += sums->error_sq;
    q->raw_sq += sums->raw_sq;
    q->output_sq += sums->output_sq;
    q->dot += sums->dot;
    q->max_error = fmax(q->max_error, sums->max_error);
}

static int measure_tensor(const struct cc_bench_config *config, size_t scheme, size_t tensor,
                          size_t passes, struct buffers *b, struct cc_quality *q,
                          struct cc_error *e)
{
    const size_t n = cc_trace_tensor(config->trace, tensor)->shape.n;
    const size_t steps = cc_bench_steps(config, scheme);
    struct cc_codec_set set = {0};
    uint64_t step = 0;
    int status = CC_OK;
    *q = (struct cc_quality){.values = n, .steps = steps};
    CC_TRY_OUT(cc_codec_set_single(&set, cc_bench_spec(config, scheme, tensor),
                                   &cc_trace_tensor(config->trace, tensor)->shape, &codec_memory,
                                   e));
    for (size_t pass = 0; pass < passes; pass++) {
        const bool last = pass + 1 == passes;
        for (size_t i = 0; i < steps && !cc_interrupted(); i++) {
            size_t len;
            struct cc_compared sums;
            struct cc_context ctx = cc_bench_context(config, tensor, step++);
            CC_TRY_OUT(measure_step(config, set.item, i % config->steps, ctx, b, &len,
                                    last ? &sums : NULL, e));
            if (last)
                add_step(q, len, &sums);
        }
    }
    q->cumulative_error_sq = k_reduce()->sum_sq(b->cumulative, n);
out:
    cc_codec_set_free(&set);
    return status;
}

/* Fails if the tensor and scheme that need most do not fit into memory. */
static int check_memory(const struct cc_bench_config *config, struct cc_error *e)
{
    size_t most = 0;
    for (size_t t = 0; t < cc_trace_tensors(config->trace); t++)
        for (size_t s = 0; s < config->schemes->count; s++) {
            const struct cc_codec_item item = cc_bench_codec(config, s, t);
            size_t need = cc_codec_bytes(&item, 1, &codec_memory);
            if (__builtin_add_overflow(need, 3 * item.codec.shape.n * sizeof(float), &need))
                need = SIZE_MAX;
            most = need > most ? need : most;
        }
    return cc_memory_check(most, "the largest tensor", e);
}

/* cumulative_raw_sq of each tensor: the same for all schemes with equally many steps. */
struct raw_sums {
    double *cumulative_sq;
    size_t steps; /* for which cumulative_sq is known; 0: for none */
};

/* One scheme over all tensors. */
static int measure_scheme(const struct cc_bench_config *config, size_t scheme, size_t passes,
                          struct raw_sums *raw, struct cc_quality *out, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(config->trace), steps = cc_bench_steps(config, scheme);
    double all = (double)cc_trace_values(config->trace) * (double)config->schemes->count;
    double done = (double)cc_trace_values(config->trace) * (double)scheme;
    bool known = raw->steps == steps;
    int status = CC_OK;
    for (size_t t = 0; t < tensors && status == CC_OK && !cc_interrupted(); t++) {
        size_t n = cc_trace_tensor(config->trace, t)->shape.n;
        struct buffers b;
        if (config->progress != NULL)
            config->progress(config->progress_arg, "sizes and errors", done / all);
        status = allocate_buffers(&b, n, e);
        if (status == CC_OK && !known)
            status = raw_cumulative(config, &b, t, steps, &raw->cumulative_sq[t], e);
        if (status == CC_OK)
            status = measure_tensor(config, scheme, t, passes, &b, &out[t], e);
        out[t].cumulative_raw_sq = raw->cumulative_sq[t];
        free_buffers(&b);
        done += (double)n;
    }
    raw->steps = status == CC_OK && !cc_interrupted() ? steps : 0;
    return status;
}

int cc_quality_measure(const struct cc_bench_config *config, const size_t *passes,
                       struct cc_quality *out, size_t *done, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(config->trace);
    struct raw_sums raw = {.cumulative_sq = cc_alloc0(tensors * sizeof(double), e)};
    int status = raw.cumulative_sq == NULL ? CC_FAIL : check_memory(config, e);
    for (*done = 0; *done < config->schemes->count && status == CC_OK; (*done)++) {
        size_t s = *done;
        if (!cc_bench_failed(config, s))
            (void)measure_scheme(config, s, passes[s], &raw, &out[s * tensors], &config->failed[s]);
        if (cc_interrupted())
            break; /* this scheme is not complete */
    }
    free(raw.cumulative_sq);
    return status;
}

/* --- how long residuals take to settle --- */

struct pass {
    double bytes, error_sq;
};

/* Runs all tensors over the trace once; *step counts on from pass to pass. */
static int settle_pass(const struct cc_bench_config *config, size_t scheme,
                       struct cc_codec_set *set, struct buffers *b, uint64_t *step,
                       struct pass *pass, struct cc_error *e)
{
    size_t steps = cc_bench_steps(config, scheme);
    *pass = (struct pass){0};
    for (size_t i = 0; i < steps; i++, (*step)++) {
        for (size_t t = 0; t < set->count && !cc_interrupted(); t++) {
            size_t len;
            struct cc_compared sums;
            CC_TRY(measure_step(config, &set->item[t], i % config->steps,
                                cc_bench_context(config, t, *step), b, &len, &sums, e));
            pass->bytes += (double)len;
            pass->error_sq += sums.error_sq;
        }
    }
    return CC_OK;
}

/* Compares the mean of WINDOW passes with that of the WINDOW passes before. */
enum { WINDOW = 5 };

static bool settled(const struct pass *pass, size_t passes)
{
    struct pass late = {0}, early = {0};
    if (passes < 2 * WINDOW)
        return false;
    for (size_t i = 0; i < WINDOW; i++) {
        late.bytes += pass[passes - 1 - i].bytes;
        late.error_sq += pass[passes - 1 - i].error_sq;
        early.bytes += pass[passes - 1 - WINDOW - i].bytes;
        early.error_sq += pass[passes - 1 - WINDOW - i].error_sq;
    }
    return fabs(late.bytes - early.bytes) <= 0.01 * late.bytes &&
           fabs(late.error_sq - early.error_sq) <= 0.05 * late.error_sq;
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

int cc_quality_settle(const struct cc_bench_config *config, size_t scheme, size_t most,
                      size_t *passes, struct cc_error *e)
{
    struct cc_codec_set set = {0};
    struct buffers b = {0};
    struct pass *pass = NULL;
    uint64_t step = 0;
    int status = CC_OK;
    *passes = 1;
    if (!has_state(config, scheme))
        return CC_OK;
    CC_TRY_OUT(cc_bench_codecs(config, scheme, &codec_memory, &set, e));
    CC_TRY_OUT(allocate_buffers(&b, cc_trace_largest(config->trace), e));
    pass = cc_alloc(most * sizeof *pass, e);
    if (pass == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (*passes = 0; *passes < most && !settled(pass, *passes) && !cc_interrupted();) {
        CC_TRY_OUT(settle_pass(config, scheme, &set, &b, &step, &pass[(*passes)++], e));
        if (config->progress != NULL)
            config->progress(config->progress_arg, "until residuals settle",
                             (double)*passes / (double)most);
    }
out:
    free(pass);
    free_buffers(&b);
    cc_codec_set_free(&set);
    return status;
}
