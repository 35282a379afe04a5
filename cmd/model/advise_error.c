/* The errors of the schemes that advise ranks: a small bench of sizes and errors. */
#include <math.h>
#include <stdlib.h>

#include "bench/quality.h"
#include "cmd/model/advise.h"
#include "core/memory.h"
#include "core/trace/synth.h"

/* Residuals take many steps to fill. With a net larger than MOST_VALUES, that would take longer
 * than everything else together, and a smaller net stands for it. */
enum { STEPS = 32, MOST_VALUES = 500000 };

static int synthesize(const struct cc_net *net, struct cc_trace **out, struct cc_error *e)
{
    const struct cc_synth config = {
        .distribution = CC_MIXTURE, .seed = 1, .steps = STEPS, .ranks = 1, .decay = 0.1};
    struct cc_net *usual;
    if (net->values <= MOST_VALUES)
        return cc_trace_synth(&config, net->tensors, net->count, net->name, out, e);
    CC_TRY(cc_net_open("resnet20", &usual, e));
    const int status = cc_trace_synth(&config, usual->tensors, usual->count, usual->name, out, e);
    cc_net_free(usual);
    return status;
}

static struct cc_advise_error error_of(const struct cc_quality *q, size_t tensors)
{
    struct cc_quality all = {0};
    for (size_t t = 0; t < tensors; t++)
        cc_quality_add(&all, &q[t]);
    return (struct cc_advise_error){
        .nmse = all.error_sq == 0 ? 0 : all.error_sq / all.raw_sq,
        .cumulative =
            all.cumulative_error_sq == 0 ? 0 : all.cumulative_error_sq / all.cumulative_raw_sq,
        .bits_per_value = 8 * (double)all.payload_bytes / ((double)all.values * (double)all.steps)};
}

static int measure(struct advise *a, struct cc_bench_config *config, struct cc_error *e)
{
    const size_t schemes = config->schemes->count, tensors = cc_trace_tensors(config->trace);
    size_t done = 0;
    int status = CC_FAIL;
    struct cc_quality *q = cc_alloc0(schemes * tensors * sizeof *q, e);
    size_t *passes = cc_alloc0(schemes * sizeof *passes, e);
    config->failed = cc_alloc0(schemes * sizeof *config->failed, e);
    if (q == NULL || passes == NULL || config->failed == NULL)
        goto out;
    for (size_t i = 0; i < schemes; i++)
        passes[i] = 1;
    CC_TRY_OUT(cc_quality_measure(config, passes, q, &done, e));
    for (size_t i = 0; i < schemes; i++)
        a->error[i] = i < done && !cc_bench_failed(config, i)
                          ? error_of(&q[i * tensors], tensors)
                          : (struct cc_advise_error){NAN, NAN, NAN};
out:
    free(config->failed);
    free(passes);
    free(q);
    return status;
}

/* Chooses the trace's tensors that travel as fp32 by --min-size and --raw-share. */
static int choose_raw(const struct cc_cluster_args *c, const struct cc_trace *trace, bool **out,
                      struct cc_error *e)
{
    const size_t count = cc_trace_tensors(trace);
    double share, *size = cc_alloc(count * sizeof *size, e);
    if (size == NULL)
        return CC_FAIL;
    for (size_t t = 0; t < count; t++)
        size[t] = (double)cc_trace_tensor(trace, t)->shape.n;
    const int status = cc_cluster_raw_tensors(c, size, count, out, &share, e);
    free(size);
    return status;
}

int cc_advise_measure(struct advise *a, struct cc_error *e)
{
    const struct cc_cluster_args *c = &a->forecast.cluster;
    struct cc_bench_config config = {
        .schemes = a->forecast.schemes, .trace = c->trace, .seed = 1, .threads = 1};
    struct cc_spec *raw = NULL;
    struct cc_trace *synthetic = NULL;
    bool *raw_tensor = NULL;
    int status = CC_FAIL;
    a->error = cc_alloc0(config.schemes->count * sizeof *a->error, e);
    if (a->error == NULL)
        return CC_FAIL;
    CC_TRY_OUT(cc_spec_parse(CC_RAW_SCHEME, &raw, e));
    if (c->trace == NULL) {
        CC_TRY_OUT(synthesize(c->net, &synthetic, e));
        config.trace = synthetic;
    }
    CC_TRY_OUT(choose_raw(c, config.trace, &raw_tensor, e));
    config.raw = raw;
    config.raw_tensor = raw_tensor;
    config.steps = a->error_steps = cc_trace_steps(config.trace, 0);
    a->error_source = cc_strdup(cc_trace_name(config.trace), e);
    status = a->error_source != NULL ? measure(a, &config, e) : CC_FAIL;
out:
    cc_trace_close(synthetic);
    cc_spec_free(raw);
    free(raw_tensor);
    return status;
}
