#include "cmd/input/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/memory.h"
#include "core/cache.h"
#include "core/memory.h"
#include "core/trace/trace_check.h"
#include "core/units.h"
#include "models/net.h"

static int refuse_both(const struct cc_args *args, const char *a, const char *b, struct cc_error *e)
{
    if (cc_arg(args, a) != NULL && cc_arg(args, b) != NULL)
        return cc_usage(e, "--%s and --%s exclude each other", a, b);
    return CC_OK;
}

/* The net whose tensors are those of a trace. */
static int net_of_trace(const struct cc_trace *t, struct cc_net **out, struct cc_error *e)
{
    const size_t count = cc_trace_tensors(t);
    struct cc_tensor_info *list = cc_alloc((count + 1) * sizeof *list, e);
    if (list == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < count; i++)
        list[i] = *cc_trace_tensor(t, i);
    const int status = cc_net_of(cc_trace_name(t), list, count, out, e);
    if (status != CC_OK)
        cc_error_in(e, "--trace %s", cc_trace_name(t));
    free(list);
    return status;
}

int cc_input_net(const struct cc_args *args, const struct cc_trace *trace, struct cc_net **out,
                 struct cc_error *e)
{
    const char *name = cc_arg(args, "net");
    uint64_t values = 0;
    CC_TRY(refuse_both(args, "net", "values", e));
    CC_TRY(cc_arg_count(args, "values", 1, SIZE_MAX / 64, &values, e));
    if (values > 0)
        return cc_net_flat(cc_arg(args, "values"), (size_t)values, out, e);
    if (name == NULL && trace != NULL)
        return net_of_trace(trace, out, e);
    const int status = cc_net_open(name != NULL ? name : "resnet110", out, e);
    if (status != CC_OK && name != NULL)
        cc_error_in(e, "--net");
    return status;
}

/* Draws a trace of the net's tensors, by --seed and --synthetic. */
static int synthesize(const struct cc_args *args, const struct cc_synth *config,
                      const struct cc_net *net, struct cc_trace **out, struct cc_error *e)
{
    struct cc_synth all = *config;
    int distribution = CC_MIXTURE;
    all.seed = 1;
    all.decay = 0.1; /* as in captured gradients: docs/traces.md */
    CC_TRY(cc_arg_count(args, "seed", 0, CC_MAX_SEED, &all.seed, e));
    cc_arg_choice(args, "synthetic", &distribution);
    all.distribution = (enum cc_distribution)distribution;
    return cc_trace_synth(&all, net->tensors, net->count, net->name, out, e);
}

int cc_input_synth(const struct cc_args *args, const struct cc_synth *config, struct cc_trace **out,
                   struct cc_error *e)
{
    struct cc_net *net;
    CC_TRY(cc_input_net(args, NULL, &net, e));
    const int status = synthesize(args, config, net, out, e);
    cc_net_free(net);
    return status;
}

/* Synthetic traces for measuring codecs: a worker's pushes and the server's pulls, --steps of them.
 */
static int parse_steps(const struct cc_args *args, struct cc_synth *config, struct cc_error *e)
{
    uint64_t steps = 8;
    const int status = cc_arg_count(args, "steps", 1, 1000000, &steps, e);
    *config = (struct cc_synth){.steps = (size_t)steps, .ranks = 1, .pulls = true};
    return status;
}

int cc_input_captured(const struct cc_args *args, struct cc_trace **out, struct cc_error *e)
{
    struct cc_trace *t;
    const char *path = cc_arg_or_null(args, "trace");
    const bool skip = cc_arg_or_null(args, "skip-nonfinite") != NULL;
    *out = NULL;
    if (path == NULL)
        return skip ? cc_usage(e, "--skip-nonfinite is for the steps of --trace") : CC_OK;
    CC_TRY(cc_trace_open(path, &t, e));
    if (skip && cc_trace_skip_nonfinite(t, e) != CC_OK) {
        cc_trace_close(t);
        return CC_FAIL;
    }
    *out = t;
    return CC_OK;
}

int cc_input_check_trace(const struct cc_trace *t, const struct cc_net *net, struct cc_error *e)
{
    int status = CC_OK;
    if (cc_trace_tensors(t) != net->count)
        status = cc_fail(e, "it has %zu tensors, and %s has %zu", cc_trace_tensors(t), net->name,
                         net->count);
    for (size_t i = 0; i < net->count && status == CC_OK; i++) {
        const struct cc_tensor_info *has = cc_trace_tensor(t, i), *want = &net->tensors[i];
        if (has->shape.n != want->shape.n)
            status =
                cc_fail(e, "tensor %zu, \"%.100s\", has %zu values, and \"%.100s\" of %s has %zu",
                        i, has->name, has->shape.n, want->name, net->name, want->shape.n);
    }
    if (status != CC_OK)
        cc_error_in(e, "--trace %s", cc_trace_name(t));
    return status;
}

int cc_input_note_trace(struct cc_record *r, struct cc_trace *t, struct cc_error *e)
{
    const uint64_t *number;
    const size_t skipped = cc_trace_skipped(t, &number);
    char list[128] = "";
    size_t same, used = 0, i = 0;
    for (; i < skipped && used < sizeof list - 32; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu", i == 0 ? "" : ", ",
                                 (unsigned long long)number[i]);
    if (skipped > 0)
        CC_TRY(cc_record_note(r, e, "%zu step%s with values that are not finite %s skipped: %s%s",
                              skipped, skipped > 1 ? "s" : "", skipped > 1 ? "are" : "is", list,
                              i < skipped ? ", ..." : ""));
    CC_TRY(cc_trace_same_pushes(t, &same, e));
    if (same == 0)
        return CC_OK;
    return cc_record_note(r, e,
                          "the gradients of %zu other worker%s are bit for bit those of push %lld: "
                          "they were captured after averaging, and are smoother than what a worker "
                          "sends; docs/traces.md shows how to capture them before",
                          same, same > 1 ? "s" : "", (long long)cc_trace_stream(t, 0).rank);
}

int cc_input_trace(const struct cc_args *args, struct cc_trace **out, struct cc_error *e)
{
    static const char *const others[] = {"synthetic", "net", "values"};
    struct cc_synth config;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CC_TRY(refuse_both(args, "trace", others[i], e));
    CC_TRY(cc_input_captured(args, out, e));
    if (*out != NULL)
        return CC_OK;
    CC_TRY(parse_steps(args, &config, e));
    return cc_input_synth(args, &config, out, e);
}

int cc_input_flat_trace(const struct cc_args *args, const char *label, size_t values,
                        struct cc_trace **out, struct cc_error *e)
{
    struct cc_synth config;
    struct cc_net *net;
    CC_TRY(refuse_both(args, "trace", "values", e));
    CC_TRY(refuse_both(args, "net", "values", e));
    CC_TRY(parse_steps(args, &config, e));
    CC_TRY(cc_net_flat(label, values, &net, e));
    const int status = synthesize(args, &config, net, out, e);
    cc_net_free(net);
    return status;
}

size_t cc_input_beyond_cache(void)
{
    return 3 * cc_cache_bytes() / sizeof(float);
}

/* A count, or a word of --values. */
static int parse_size(const char *text, uint64_t *out, struct cc_error *e)
{
    *out = strcmp(text, "l2") == 0      ? cc_l2_values()
           : strcmp(text, "cache") == 0 ? cc_input_beyond_cache()
                                        : 0;
    if (*out > 0)
        return CC_OK;
    if (text[0] >= 'a' && text[0] <= 'z')
        return cc_usage(e, "'%s' is neither a count such as 25M nor l2 or cache", text);
    return cc_parse_count(text, out, e);
}

int cc_input_counts(const char *option, const char *text, uint64_t most, bool named, size_t **out,
                    size_t *count, struct cc_error *e)
{
    size_t capacity = 0, used = 0;
    char *copy = cc_strdup(text, e), *next = copy;
    size_t *list = NULL;
    int status = copy != NULL ? CC_OK : CC_FAIL;
    while (status == CC_OK && next != NULL) {
        const char *item = strsep(&next, ",");
        uint64_t value;
        CC_TRY_OUT(named ? parse_size(item, &value, e) : cc_parse_count(item, &value, e));
        if (value < 1 || value > most) {
            status = cc_usage(e, "%s is not between 1 and %llu", item, (unsigned long long)most);
            goto out;
        }
        CC_TRY_OUT(CC_GROW(list, &capacity, used + 1, e));
        list[used++] = (size_t)value;
    }
out:
    free(copy);
    if (status == CC_OK) {
        *out = list;
        *count = used;
        return CC_OK;
    }
    cc_error_in(e, "--%s", option);
    free(list);
    return status;
}
