/* The source of a command's tensors: a captured trace, or a distribution over the tensors of a net.
 * The options are the same in every command. */
#ifndef CC_CMD_INPUT_SOURCE_H
#define CC_CMD_INPUT_SOURCE_H

#include "cmd/cli/command.h"
#include "core/element.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "models/net.h"

/* The most values of a tensor. */
#define CC_MOST_VALUES (SIZE_MAX / 64)

/* Where tensors come from. Commands choose rows of the table, and their words for help. */
struct cc_source_options {
    struct cc_given given;
    const char *trace;
    bool skip; /* steps of the trace in which a value is not finite */
    enum cc_distribution distribution;
    double *nonzeros; /* shares of the values */
    size_t shares;
    enum cc_indices indices;  /* where these lie */
    const char *net, *values; /* values: a count; of some commands a list, with words */
    uint64_t seed, steps;     /* steps: 0 if not given */
    enum cc_element dtype;
};
extern const struct cc_option cc_source_options[];

#define CC_SKIP_COLUMN CC_COLUMN(skipped_steps, CC_SETTING)

/* Reads the options; cc_options_free releases them. */
int cc_source_read(const struct cc_args *args, struct cc_source_options *out, struct cc_error *e);

/* Opens the trace of --trace, and leaves out steps by --skip-nonfinite. *out is NULL without
 * --trace; the caller closes it. */
int cc_input_captured(const struct cc_source_options *o, struct cc_trace **out, struct cc_error *e);

/* Fails, naming the trace, unless its tensors have the sizes of the net's, in the same order. */
int cc_input_check_trace(const struct cc_trace *t, const struct cc_net *net, struct cc_error *e);

/* Notes how many steps of the trace are skipped, and if its workers have the same gradients. */
int cc_input_note_trace(struct cc_record *r, struct cc_trace *t, struct cc_error *e);

/* Opens the trace that the options name: that of --trace, or a synthetic one of a worker's pushes
 * and the server's pulls. The caller uses only the first --steps of a captured trace, and closes
 * *out, which is set on success only. */
int cc_input_trace(const struct cc_source_options *o, struct cc_trace **out, struct cc_error *e);

/* The same for a single tensor of `values` values, whatever --values is; `label` becomes part of
 * the trace's name. */
int cc_input_flat_trace(const struct cc_source_options *o, const char *label, size_t values,
                        struct cc_trace **out, struct cc_error *e);

/* The values of a tensor three times as large as the largest cache: enough that memory is the limit
 * of a codec's speed. */
size_t cc_input_beyond_cache(void);

/* Parses a list of --values, "1K,25M": counts, or the words "cache" for cc_input_beyond_cache and
 * "l2" for cc_l2_values. *out is empty before; the caller frees the items, also after an error. */
struct cc_values {
    size_t *item, count;
};
int cc_input_values(const char *text, struct cc_values *out, struct cc_error *e);

/* The tensors of a language model that `train` knows, as gpt:layers=2,width=96. */
int cc_input_language(const char *name, struct cc_net **out, struct cc_error *e);

/* Opens the net of --net or --values; without them the net of the tensors of `trace`, or resnet110
 * if that is NULL. The caller frees *out with cc_net_free. */
int cc_input_net(const struct cc_source_options *o, const struct cc_trace *trace,
                 struct cc_net **out, struct cc_error *e);

/* Makes a synthetic trace by --synthetic, --net, --values and --seed; *config has the rest, such as
 * the numbers of steps and workers. */
int cc_input_synth(const struct cc_source_options *o, const struct cc_synth *config,
                   struct cc_trace **out, struct cc_error *e);

#endif
