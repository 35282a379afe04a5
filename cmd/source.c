#include "cmd/source.h"

#include <stdlib.h>

#include "models/net.h"

static int refuse_both(const struct cc_args *args, const char *a, const char *b, struct cc_error *e)
{
    if (cc_arg(args, a) != NULL && cc_arg(args, b) != NULL)
        return cc_usage(e, "--%s and --%s exclude each other", a, b);
    return CC_OK;
}

int cc_source_net(const struct cc_args *args, struct cc_net **out, struct cc_error *e)
{
    const char *name = cc_arg(args, "net");
    uint64_t values = 0;
    int status = refuse_both(args, "net", "values", e);
    if (status == CC_OK)
        status = cc_arg_count(args, "values", 1, SIZE_MAX / 64, &values, e);
    if (status != CC_OK)
        return status;
    if (values > 0)
        return cc_net_flat(cc_arg(args, "values"), (size_t)values, out, e);
    status = cc_net_open(name != NULL ? name : "resnet110", out, e);
    if (status != CC_OK && name != NULL)
        cc_error_in(e, "--net");
    return status;
}

int cc_source_synth(const struct cc_args *args, const struct cc_synth *how, struct cc_trace **out,
                    struct cc_error *e)
{
    struct cc_synth made = *how;
    struct cc_net *net;
    int distribution = CC_MIXTURE;
    made.seed = 1;
    made.decay = 0.1; /* as in captured gradients: docs/traces.md */
    int status = cc_arg_count(args, "seed", 0, CC_MAX_SEED, &made.seed, e);
    if (status == CC_OK)
        status = cc_source_net(args, &net, e);
    if (status != CC_OK)
        return status;
    cc_arg_choice(args, "synthetic", &distribution);
    made.distribution = (enum cc_distribution)distribution;
    status = cc_trace_synth(&made, net->tensors, net->count, net->name, out, e);
    cc_net_free(net);
    return status;
}

int cc_source_open(const struct cc_args *args, struct cc_trace **out, struct cc_error *e)
{
    static const char *const others[] = {"synthetic", "net", "values"};
    uint64_t steps = 8;
    int status = CC_OK;
    for (size_t i = 0; status == CC_OK && i < sizeof others / sizeof others[0]; i++)
        status = refuse_both(args, "trace", others[i], e);
    if (status == CC_OK && cc_arg(args, "trace") != NULL)
        return cc_trace_open(cc_arg(args, "trace"), out, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "steps", 1, 1000000, &steps, e);
    if (status != CC_OK)
        return status;
    struct cc_synth how = {.steps = (size_t)steps, .ranks = 1, .pulls = true};
    return cc_source_synth(args, &how, out, e);
}
