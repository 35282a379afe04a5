/* The source of a command's tensors: a captured trace, or a distribution over the tensors of a net.
 * The options are the same in every command. */
#ifndef CC_CMD_INPUT_SOURCE_H
#define CC_CMD_INPUT_SOURCE_H

#include "cmd/cli/command.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "models/net.h"

/* clang-format off */
#define CC_SYNTHETIC_OPTIONS                                                                       \
    {.name = "synthetic", .value = "DISTRIBUTION", .def = "mixture",                               \
     .choices = cc_distribution_names,                                                             \
     .help = "draw values at random: laplace, gaussian, student, or mixture, which resembles "     \
             "captured gradients most"},                                                           \
    {.name = "net", .value = "NAME|FILE", .file = CC_READS_FILE, .def = "resnet110",               \
     .help = "make the tensors of this net: a name, or a .json file (docs/traces.md)"},            \
    {.name = "values", .value = "COUNT",                                                           \
     .help = "instead of a net's tensors, make a single one of this many values, as in 25M (bench "\
             "takes several, as in 1K,100K,10M, one after the other; l2: an eighth of the "         \
             "second-level cache; cache: three times the last-level cache)"},                      \
    {.name = "seed", .value = "N", .def = "1",                                                     \
     .help = "seed of synthetic values and stochastic schemes"}
#define CC_SOURCE_OPTIONS                                                                          \
    {.name = "trace", .value = "PATH", .file = CC_READS_FILE,                                      \
     .help = "captured tensors: a .safetensors, .npy, .npz or .csv file, or a directory of them"},       \
    CC_SYNTHETIC_OPTIONS,                                                                          \
    {.name = "steps", .value = "N",                                                                \
     .help = "steps to make (default 8), or how many of a captured trace to use (default all)"}
#define CC_SKIP_OPTION                                                                             \
    {.name = "skip-nonfinite", .group = CC_GROUP_SEND,                                             \
     .help = "leave out the steps of --trace in which a value is NaN or infinite, as training does " \
             "when its scaled loss overflows"}
#define CC_SKIP_COLUMN CC_COLUMN(skipped_steps, CC_SETTING)
/* clang-format on */

/* Opens the trace of --trace, and leaves out steps by --skip-nonfinite; a command may lack these
 * options. *out is NULL without --trace; the caller closes it. */
int cc_input_captured(const struct cc_args *args, struct cc_trace **out, struct cc_error *e);

/* Fails, naming the trace, unless its tensors have the sizes of the net's, in the same order. */
int cc_input_check_trace(const struct cc_trace *t, const struct cc_net *net, struct cc_error *e);

/* Notes how many steps of the trace are skipped, and if its workers have the same gradients. */
int cc_input_note_trace(struct cc_record *r, struct cc_trace *t, struct cc_error *e);

/* Opens the trace that CC_SOURCE_OPTIONS name: that of --trace, or a synthetic one of a worker's
 * pushes and the server's pulls. The caller uses only the first --steps of a captured trace, and
 * closes *out, which is set on success only. */
int cc_input_trace(const struct cc_args *args, struct cc_trace **out, struct cc_error *e);

/* The same for a single tensor of `values` values, whatever --values is; `label` becomes part of
 * the trace's name. */
int cc_input_flat_trace(const struct cc_args *args, const char *label, size_t values,
                        struct cc_trace **out, struct cc_error *e);

/* The values of a tensor three times as large as the largest cache: enough that memory is the limit
 * of a codec's speed. */
size_t cc_input_beyond_cache(void);

/* Parses a list of counts from 1 to `most`, the argument of an option: "1,2". named: also the words
 * "cache" for cc_input_beyond_cache and "l2" for cc_l2_values. The caller frees *out. */
int cc_input_counts(const char *option, const char *text, uint64_t most, bool named, size_t **out,
                    size_t *count, struct cc_error *e);

/* Opens the net of --net or --values; without them the net of the tensors of `trace`, or resnet110
 * if that is NULL. The caller frees *out with cc_net_free. */
int cc_input_net(const struct cc_args *args, const struct cc_trace *trace, struct cc_net **out,
                 struct cc_error *e);

/* Makes a synthetic trace by --synthetic, --net, --values and --seed; *config has the rest, such as
 * the numbers of steps and workers. */
int cc_input_synth(const struct cc_args *args, const struct cc_synth *config, struct cc_trace **out,
                   struct cc_error *e);

#endif
