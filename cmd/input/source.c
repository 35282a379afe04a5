/* Opens the tensors that options name, and refuses options that contradict each other. */
#include "cmd/input/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/memory.h"
#include "core/cache.h"
#include "core/format/contents.h"
#include "core/memory.h"
#include "core/trace/trace_check.h"
#include "core/trace/trace_dtype.h"
#include "core/units.h"
#include "models/net.h"
#include "train/gpt.h"

#define DEFAULT_NET "resnet110"

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_source_options, m)
const struct cc_option cc_source_options[] = {
    {.name = "trace", MEMBER(trace), .value = "PATH", .file = CC_READS_FILE,
     .brief = "captured gradients, a file or a folder",
     .help = "captured tensors: a " CC_TENSOR_FILES " file, or a directory of them"},
    {.name = "skip-nonfinite", MEMBER(skip), .group = CC_GROUP_SEND,
     .help = "leave out the steps of --trace in which a value is NaN or infinite, as training does "
             "when its scaled loss overflows"},
    {.name = "synthetic", MEMBER(distribution), .value = "DISTRIBUTION", .def = "mixture",
     .choices = cc_distribution_names,
     .help = "draw values at random: laplace, gaussian, student, or mixture, which resembles "
             "captured gradients most"},
    {.name = "nonzeros", CC_OPTION_LIST(struct cc_source_options, nonzeros, shares),
     .kind = CC_TAKES_SHARE, .value = "SHARE", .otherwise = "all; with --bw none 1%",
     .group = CC_GROUP_SEND,
     .help = "share of the drawn values that are not zero, as in 1% or 0.01; with --bw none, a "
             "list gives a row for each"},
    {.name = "indices", MEMBER(indices), .value = "HOW", .def = "uniform",
     .choices = cc_indices_names, .group = CC_GROUP_SEND,
     .help = "where these lie: uniform (each by itself) or clustered (in runs of 64)"},
    {.name = "net", MEMBER(net), .value = "NAME|FILE", .file = CC_READS_FILE,
     .brief = "the model (`commcomp nets` lists them)",
     .otherwise = DEFAULT_NET,
     .help = "make the tensors of this net: a name, a .json file (docs/traces.md), or a language "
             "model of `train`, as in gpt:layers=2,width=96"},
    {.name = "values", MEMBER(values), .value = "COUNT",
     .help = "instead of a net's tensors, make a single one of this many values, as in 25M (bench "
             "takes several, as in 1K,100K,10M, one after the other; l2: an eighth of the "
             "second-level cache; cache: three times the last-level cache)"},
    {.name = "seed", MEMBER(seed), .kind = CC_TAKES_COUNT, .max = CC_MAX_SEED, .value = "N",
     .def = "1", .help = "seed of synthetic values and stochastic schemes"},
    {.name = "steps", MEMBER(steps), .kind = CC_TAKES_COUNT, .min = 1, .max = 1000000, .value = "N",
     .help = "steps to make (default 8), or how many of a captured trace to use (default all)"},
    {.name = "dtype", MEMBER(dtype), .value = "TYPE", .choices = cc_element_names,
     .group = CC_GROUP_SEND, .help = "type of the gradients: {words}"},
    {.name = NULL},
};
/* clang-format on */

int cc_source_read(const struct cc_args *args, struct cc_source_options *out, struct cc_error *e)
{
    *out = (struct cc_source_options){.trace = NULL};
    return cc_options_read(args, cc_source_options, out, e);
}

/* Refuses an option if another one was given, too: names, or NULL. */
static int refuse_both(const char *a, const char *b, struct cc_error *e)
{
    if (a != NULL && b != NULL)
        return cc_usage(e, "--%s and --%s exclude each other", a, b);
    return CC_OK;
}

/* The type in which a trace has its largest tensor. */
static enum cc_element type_of_trace(const struct cc_trace *t)
{
    size_t largest = 0;
    for (size_t i = 1; i < cc_trace_tensors(t); i++)
        if (cc_trace_tensor(t, i)->shape.n > cc_trace_tensor(t, largest)->shape.n)
            largest = i;
    return cc_dtype_element(cc_trace_dtype(t, largest));
}

/* The net whose tensors are those of a trace. */
static int net_of_trace(const struct cc_trace *t, struct cc_net **out, struct cc_error *e)
{
    const size_t count = cc_trace_tensors(t);
    struct cc_tensor_info *list;
    CC_TRY(CC_NEW(list, count, e));
    for (size_t i = 0; i < count; i++)
        list[i] = *cc_trace_tensor(t, i);
    const int status = cc_net_of(cc_trace_name(t), list, count, out, e);
    free(list);
    if (status == CC_OK)
        (*out)->dtype = type_of_trace(t);
    return cc_status_in(status, e, "--trace %s", cc_trace_name(t));
}

/* A number of values from 1 on. */
static int parse_values(const char *text, size_t *out, struct cc_error *e)
{
    uint64_t values;
    CC_TRY(cc_parse_count(text, &values, e));
    if (values < 1 || values > CC_MOST_VALUES)
        return cc_usage(e, "%s is not between 1 and %zu", text, CC_MOST_VALUES);
    *out = (size_t)values;
    return CC_OK;
}

/* The name of an option that was given, or NULL. */
#define GIVEN(o, member) cc_given(o, &(o)->member)

int cc_input_net(const struct cc_source_options *o, const struct cc_trace *trace,
                 struct cc_net **out, struct cc_error *e)
{
    CC_TRY(refuse_both(GIVEN(o, net), GIVEN(o, values), e));
    if (o->values != NULL) {
        size_t values;
        CC_TRY_IN(parse_values(o->values, &values, e), e, "--values");
        return cc_net_flat(o->values, values, out, e);
    }
    if (o->net == NULL && trace != NULL)
        return net_of_trace(trace, out, e);
    const int status = o->net != NULL && cc_gpt_is(o->net)
                           ? cc_input_language(o->net, out, e)
                           : cc_net_open(o->net != NULL ? o->net : DEFAULT_NET, out, e);
    if (status != CC_OK && o->net != NULL)
        cc_error_in(e, "--net");
    return status;
}

/* Draws a trace of the net's tensors, by --seed and --synthetic. */
static int synthesize(const struct cc_source_options *o, const struct cc_synth *config,
                      const struct cc_net *net, struct cc_trace **out, struct cc_error *e)
{
    struct cc_synth all = *config;
    all.seed = o->seed;
    all.decay = 0.1; /* as in captured gradients: docs/traces.md */
    all.distribution = o->distribution;
    return cc_trace_synth(&all, net->tensors, net->count, net->name, out, e);
}

int cc_input_synth(const struct cc_source_options *o, const struct cc_synth *config,
                   struct cc_trace **out, struct cc_error *e)
{
    struct cc_net *net;
    CC_TRY(cc_input_net(o, NULL, &net, e));
    const int status = synthesize(o, config, net, out, e);
    cc_net_free(net);
    return status;
}

/* Synthetic traces for measuring codecs: a worker's pushes and the server's pulls, --steps of them.
 */
static struct cc_synth for_codecs(const struct cc_source_options *o)
{
    return (struct cc_synth){
        .steps = o->steps > 0 ? (size_t)o->steps : 8, .ranks = 1, .pulls = true};
}

int cc_input_captured(const struct cc_source_options *o, struct cc_trace **out, struct cc_error *e)
{
    struct cc_trace *t;
    *out = NULL;
    if (o->trace == NULL)
        return o->skip ? cc_usage(e, "--skip-nonfinite is for the steps of --trace") : CC_OK;
    CC_TRY(cc_trace_open(o->trace, &t, e));
    if (o->skip && cc_trace_skip_nonfinite(t, e) != CC_OK) {
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
    return cc_status_in(status, e, "--trace %s", cc_trace_name(t));
}

int cc_input_note_trace(struct cc_record *r, struct cc_trace *t, struct cc_error *e)
{
    const uint64_t *number;
    const size_t skipped = cc_trace_skipped(t, &number);
    char list[128] = "";
    size_t same, i = 0;
    for (; i < skipped && strlen(list) < sizeof list - 32; i++)
        cc_list_add(list, sizeof list, ", ", "%llu", (unsigned long long)number[i]);
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

int cc_input_trace(const struct cc_source_options *o, struct cc_trace **out, struct cc_error *e)
{
    const char *const trace = GIVEN(o, trace);
    const struct cc_synth config = for_codecs(o);
    CC_TRY(refuse_both(trace, GIVEN(o, distribution), e));
    CC_TRY(refuse_both(trace, GIVEN(o, net), e));
    CC_TRY(refuse_both(trace, GIVEN(o, values), e));
    CC_TRY(cc_input_captured(o, out, e));
    return *out != NULL ? CC_OK : cc_input_synth(o, &config, out, e);
}

int cc_input_flat_trace(const struct cc_source_options *o, const char *label, size_t values,
                        struct cc_trace **out, struct cc_error *e)
{
    const struct cc_synth config = for_codecs(o);
    struct cc_net *net;
    CC_TRY(refuse_both(GIVEN(o, trace), GIVEN(o, values), e));
    CC_TRY(refuse_both(GIVEN(o, net), GIVEN(o, values), e));
    CC_TRY(cc_net_flat(label, values, &net, e));
    const int status = synthesize(o, &config, net, out, e);
    cc_net_free(net);
    return status;
}

size_t cc_input_beyond_cache(void)
{
    return 3 * cc_cache_bytes() / sizeof(float);
}

/* A count, or a word of --values. */
static int parse_size(const char *text, void *member, struct cc_error *e)
{
    size_t *out = member;
    *out = strcmp(text, "l2") == 0      ? cc_l2_values()
           : strcmp(text, "cache") == 0 ? cc_input_beyond_cache()
                                        : 0;
    if (*out > 0)
        return CC_OK;
    if (text[0] >= 'a' && text[0] <= 'z')
        return cc_usage(e, "'%s' is neither a count such as 25M nor l2 or cache", text);
    return parse_values(text, out, e);
}

int cc_input_values(const char *text, struct cc_values *out, struct cc_error *e)
{
    static const struct cc_option row = {.name = "values",
                                         .kind = CC_TAKES_COUNT,
                                         CC_OPTION_LIST(struct cc_values, item, count),
                                         .parse = parse_size};
    return cc_option_read(&row, text, out, e);
}
