/* How wrong the schemes are that advise ranks: a small bench of sizes and errors. */
#include <math.h>
#include <stdlib.h>

#include "bench/quality.h"
#include "cmd/model/advise.h"
#include "core/memory.h"
#include "core/trace/synth.h"

/* Many steps, as residuals take their time to fill; of a larger net they would take longer than all
 * the rest. */
enum { STEPS = 32, MOST_VALUES = 500000 };

static int open_trace(const struct advise *a, struct cc_trace **out, struct cc_error *e)
{
    const struct cc_synth config = {
        .distribution = CC_MIXTURE, .seed = 1, .steps = STEPS, .ranks = 1, .decay = 0.1};
    const struct cc_net *own = a->forecast.cluster.net;
    const char *path = cc_arg(a->forecast.args, "trace");
    struct cc_net *usual;
    if (a->own_trace)
        return cc_trace_open(path, out, e);
    if (own->values <= MOST_VALUES)
        return cc_trace_synth(&config, own->tensors, own->count, own->name, out, e);
    int status = cc_net_open("resnet20", &usual, e);
    if (status != CC_OK)
        return status;
    status = cc_trace_synth(&config, usual->tensors, usual->count, usual->name, out, e);
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

static int measure(struct advise *a, struct cc_bench_config *plan, struct cc_error *e)
{
    size_t schemes = plan->schemes->count, tensors = cc_trace_tensors(plan->trace), done = 0;
    struct cc_quality *q = cc_alloc0(schemes * tensors * sizeof *q, e);
    size_t *passes = cc_alloc0(schemes * sizeof *passes, e);
    plan->failed = cc_alloc0(schemes * sizeof *plan->failed, e);
    int status = q == NULL || passes == NULL || plan->failed == NULL ? CC_FAIL : CC_OK;
    for (size_t i = 0; i < schemes && status == CC_OK; i++)
        passes[i] = 1;
    if (status == CC_OK)
        status = cc_quality_measure(plan, passes, q, &done, e);
    for (size_t i = 0; i < schemes && status == CC_OK; i++) {
        bool known = i < done && !cc_bench_failed(plan, i);
        a->error[i] =
            known ? error_of(&q[i * tensors], tensors) : (struct cc_advise_error){NAN, NAN, NAN};
    }
    free(plan->failed);
    free(passes);
    free(q);
    return status;
}

/* What --min-size and --raw-share mean for this trace. */
static int choose_raw(const struct advise *a, const struct cc_trace *trace, bool **out,
                      struct cc_error *e)
{
    const struct cc_cluster_args *c = &a->forecast.cluster;
    size_t count = cc_trace_tensors(trace);
    double share, *size = cc_alloc(count * sizeof *size, e);
    bool *raw = size != NULL ? cc_alloc(count * sizeof *raw, e) : NULL;
    int status = CC_FAIL;
    for (size_t t = 0; raw != NULL && t < count; t++)
        size[t] = (double)cc_trace_tensor(trace, t)->shape.n;
    if (raw != NULL)
        status = cc_raw_tensors(size, count, c->min_size, c->raw_wanted, raw, &share, e);
    free(size);
    if (status == CC_OK)
        *out = raw;
    else
        free(raw);
    return status;
}

int cc_advise_measure(struct advise *a, struct cc_error *e)
{
    struct cc_spec *raw = NULL;
    const struct cc_spec_list *schemes = &a->forecast.args->schemes;
    struct cc_bench_config plan = {.schemes = schemes, .seed = 1, .threads = 1};
    bool *raw_tensor = NULL;
    a->error = cc_alloc0(schemes->count * sizeof *a->error, e);
    if (a->error == NULL)
        return CC_FAIL;
    int status = cc_spec_parse(CC_RAW_SCHEME, &raw, e);
    plan.raw = raw;
    if (status == CC_OK)
        status = open_trace(a, &plan.trace, e);
    if (status == CC_OK)
        status = choose_raw(a, plan.trace, &raw_tensor, e);
    if (status == CC_OK) {
        plan.raw_tensor = raw_tensor;
        plan.steps = a->error_steps = cc_trace_steps(plan.trace, 0);
        a->error_source = cc_strdup(cc_trace_name(plan.trace), e);
        status = a->error_source != NULL ? measure(a, &plan, e) : CC_FAIL;
    }
    cc_trace_close(plan.trace);
    cc_spec_free(raw);
    free(raw_tensor);
    return status;
}
