#include "cmd/input/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "models/net.h"
#include "core/trace/synth.h"

static int refuse_both(const struct cc_args *args, const char *a, const char *b, struct cc_error *e)
{
    if (cc_arg(args, a) != NULL && cc_arg(args, b) != NULL)
        return cc_usage(e, "--%s and --%s exclude each other", a, b);
    return CC_OK;
}

/* A net of a trace's tensors. */
static int net_of_trace(const char *path, struct cc_net **out, struct cc_error *e)
{
    struct cc_trace *t;
    int status = cc_trace_open(path, &t, e);
    if (status != CC_OK)
        return status;
    size_t count = cc_trace_tensors(t);
    struct cc_tensor_info *list = cc_alloc((count + 1) * sizeof *list, e);
    for (size_t i = 0; i < count && list != NULL; i++)
        list[i] = *cc_trace_tensor(t, i);
    status = list != NULL ? cc_net_of(path, list, count, out, e) : CC_FAIL;
    if (status != CC_OK)
        cc_error_in(e, "--trace %s", path);
    free(list);
    cc_trace_close(t);
    return status;
}

int cc_input_net(const struct cc_args *args, struct cc_net **out, struct cc_error *e)
{
    const char *name = cc_arg(args, "net");
    const char *trace = cc_arg_known(args, "trace") ? cc_arg(args, "trace") : NULL;
    uint64_t values = 0;
    int status = refuse_both(args, "net", "values", e);
    if (status == CC_OK && trace != NULL && name == NULL && cc_arg(args, "values") == NULL)
        return net_of_trace(trace, out, e);
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

/* The trace of a net's tensors, as the other options say. */
static int synth_of(const struct cc_args *args, const struct cc_synth *config,
                    const struct cc_net *net, struct cc_trace **out, struct cc_error *e)
{
    struct cc_synth made = *config;
    int distribution = CC_MIXTURE;
    made.seed = 1;
    made.decay = 0.1; /* as in captured gradients: docs/traces.md */
    int status = cc_arg_count(args, "seed", 0, CC_MAX_SEED, &made.seed, e);
    if (status != CC_OK)
        return status;
    cc_arg_choice(args, "synthetic", &distribution);
    made.distribution = (enum cc_distribution)distribution;
    return cc_trace_synth(&made, net->tensors, net->count, net->name, out, e);
}

int cc_input_synth(const struct cc_args *args, const struct cc_synth *config, struct cc_trace **out,
                   struct cc_error *e)
{
    struct cc_net *net;
    int status = cc_input_net(args, &net, e);
    if (status != CC_OK)
        return status;
    status = synth_of(args, config, net, out, e);
    cc_net_free(net);
    return status;
}

/* How bench and its like make traces. */
static int synth_steps(const struct cc_args *args, struct cc_synth *config, struct cc_error *e)
{
    uint64_t steps = 8;
    int status = cc_arg_count(args, "steps", 1, 1000000, &steps, e);
    *config = (struct cc_synth){.steps = (size_t)steps, .ranks = 1, .pulls = true};
    return status;
}

int cc_input_trace(const struct cc_args *args, struct cc_trace **out, struct cc_error *e)
{
    static const char *const others[] = {"synthetic", "net", "values"};
    struct cc_synth config;
    int status = CC_OK;
    for (size_t i = 0; status == CC_OK && i < sizeof others / sizeof others[0]; i++)
        status = refuse_both(args, "trace", others[i], e);
    if (status == CC_OK && cc_arg(args, "trace") != NULL)
        return cc_trace_open(cc_arg(args, "trace"), out, e);
    if (status == CC_OK)
        status = synth_steps(args, &config, e);
    return status == CC_OK ? cc_input_synth(args, &config, out, e) : status;
}

int cc_input_flat_trace(const struct cc_args *args, const char *label, size_t values,
                        struct cc_trace **out, struct cc_error *e)
{
    struct cc_synth config;
    struct cc_net *net;
    int status = refuse_both(args, "trace", "values", e);
    if (status == CC_OK)
        status = refuse_both(args, "net", "values", e);
    if (status == CC_OK)
        status = synth_steps(args, &config, e);
    if (status == CC_OK)
        status = cc_net_flat(label, values, &net, e);
    if (status != CC_OK)
        return status;
    status = synth_of(args, &config, net, out, e);
    cc_net_free(net);
    return status;
}

int cc_input_sizes(const char *text, size_t **out, size_t *count, struct cc_error *e)
{
    size_t capacity = 0, used = 0;
    void *list = NULL;
    int status = CC_OK;
    for (const char *at = text; at != NULL && status == CC_OK;) {
        char item[32];
        size_t length = strcspn(at, ",");
        uint64_t values = 0;
        (void)snprintf(item, sizeof item, "%.*s", length < sizeof item ? (int)length : 31, at);
        status = cc_parse_count(item, &values, e);
        if (status == CC_OK && (values < 1 || values > SIZE_MAX / 64))
            status = cc_usage(e, "%s is not between 1 and %zu", item, SIZE_MAX / 64);
        if (status == CC_OK)
            status = cc_grow(&list, &capacity, used + 1, sizeof(size_t), e);
        if (status == CC_OK)
            ((size_t *)list)[used++] = (size_t)values;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    if (status == CC_OK) {
        *out = list;
        *count = used;
        return CC_OK;
    }
    cc_error_in(e, "--values");
    free(list);
    return status;
}
