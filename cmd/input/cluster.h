/* The net, the cluster and the training step: the options that all commands share which predict or
 * measure steps, read into one structure, and the settings that their lists make. */
#ifndef CC_CMD_INPUT_CLUSTER_H
#define CC_CMD_INPUT_CLUSTER_H

#include "cmd/input/codec_models.h"
#include "cmd/input/sharded.h"
#include "cmd/input/source.h"
#include "core/trace/trace.h"
#include "models/device.h"
#include "models/system.h"
#include "models/system_file.h"

struct cc_slot_list;

/* The links: which bandwidths, with which latencies. */
struct cc_link_options {
    struct cc_given given;
    struct cc_link *bw;
    double *latency;
    size_t bws, latencies;
    double burst_bytes, message_s, overhead;
    double bw_up, bw_down; /* of one direction, in place of bw's; 0: not given */
    struct cc_link intra;  /* inside a host */
    double intra_latency;  /* 0 and not given: the link's own */
    const char *calibration;
    struct cc_link inside; /* a host, by the calibration; bw_bps 0: it has none */
};
extern const struct cc_option cc_link_options[];

/* The most local steps from one exchange of a tensor to the next. */
#define CC_MOST_LOCAL_STEPS (1 << 20)

/* How an option's argument becomes a struct cc_link: between hosts, and inside one. */
int cc_option_link(const char *text, void *member, struct cc_error *e);
int cc_option_intra(const char *text, void *member, struct cc_error *e);

/* The consistency of steps: one, or those of a list, each once. The other members are of those that
 * they go with. Formulas are of a push in each step: --communicate is of commands that have such
 * steps done. */
struct cc_consistency_args {
    struct cc_given given;
    struct cc_consistencies {
        enum cc_consistency item[CC_CONSISTENCIES];
        size_t count;
    } how;
    int staleness;
    struct cc_communicating {
        enum cc_communicate when;
        double growth; /* the X of norm:X */
    } communicate;
};
#define CC_CONSISTENCY_HELP                                                                        \
    "bulk (all workers wait for the slowest), stale (the fastest is at most --staleness steps "    \
    "ahead) or async (no worker waits); the latter two with ps"
extern const struct cc_option cc_consistency_options[];

/* The options of a command that predicts or measures steps, for its list. */
/* clang-format off */
#define CC_CLUSTER_OPTIONS                                                                         \
    {.rows = cc_source_options, .names = "net",                                                    \
     .own = {.group = CC_GROUP_SEND, .words = cc_net_names,                                        \
             .help = "the model that is trained: a name, a .json file, a .safetensors file, of "    \
                     "which only the header is read, or a language model of `train`, as in "       \
                     "gpt:layers=2,width=96"}},                                            \
    {.rows = cc_source_options, .names = "values",                                                 \
     .own = {.group = CC_GROUP_SEND,                                                               \
             .help = "instead of a net, a single tensor of this many values, as in 25M"}},         \
    {.rows = cc_source_options, .names = "dtype",                                                  \
     .own = {.group = CC_GROUP_SEND, .otherwise = "the net's (docs/traces.md)",                    \
             .help = "what gradients are: {words}. Sizes, ratios and speedups refer to gradients " \
                     "of this type as they are, and sums are made in float32"}},                   \
    {.rows = cc_link_options},                                                                     \
    {.rows = cc_cluster_options},                                                                  \
    {.rows = cc_sharded_options},                                                                  \
    {.rows = cc_consistency_options, .names = "consistency staleness"},                            \
    {.rows = cc_source_options, .names = "seed",                                                   \
     .own = {.group = CC_GROUP_RUN,                                                                \
             .help = "seed of --stragglers; run, sim: also of synthetic values and stochastic "    \
                     "schemes"}},                                                                  \
    {.rows = cc_plugin_options},                                                                   \
    {.rows = cc_profile_options}
/* clang-format on */

/* --system: a system by its name, or a file; then id is CC_SYSTEM_COUNT. */
struct cc_system_choice {
    enum cc_system_id id;
    const char *file;
};
int cc_system_choice_parse(const char *text, void *choice, struct cc_error *e);

/* The options, and what they make. Each list has at least one element. */
struct cc_cluster_args {
    struct cc_given given;
    struct cc_source_options source;
    struct cc_link_options network;
    struct cc_consistency_args consistency;
    struct cc_sharded_args sharded;
    struct cc_system_choice system;
    struct cc_system_file own; /* --system FILE */
    const char *keep_text, *device_name, *gather_text, *inner_text;
    struct cc_spec_list gather;                      /* --gather-scheme: one, or none */
    struct cc_spec_list inner;                       /* --intra-scheme: likewise */
    uint64_t wanted_batch;                           /* 0: the published one */
    size_t *local_steps;                             /* --local-steps: H, or none */
    size_t local_counts, stream_parts, stream_delay; /* delay 0: not given */
    struct cc_net *net;
    struct cc_trace *trace;    /* --trace, opened, where the command has it; NULL: not given */
    struct cc_setting setting; /* with the first element of every list */
    struct cc_link *link;      /* --bw x --latency, the latter fastest */
    enum cc_exchange *exchange;
    int *workers, *servers;
    size_t links, exchanges, worker_counts, server_counts;
    const char *sequential_for;       /* steps are sequential because of this option; or NULL */
    bool server_per_worker;           /* as many servers as workers, instead of `servers` */
    const struct cc_slot_list *slots; /* set before parsing: the hosts' room for ranks; or NULL */
    size_t min_size;
    double raw_share_wanted;       /* --raw-share */
    bool *raw;                     /* per tensor: travels as fp32 in any scheme */
    double raw_share;              /* the share of the values in raw tensors */
    bool compute_given;            /* the compute time is the user's */
    struct cc_device *accelerator; /* --device; or NULL */
    char device[512];              /* where the compute time is from, if from it; or empty */
    /* and of --device: the samples of a worker's step, and those that it trains on a second */
    double batch, batch_per_s;
    char batch_unit[32]; /* "images" */
};
extern const struct cc_option cc_cluster_options[];

/* Reads the options above, opens the net and the trace, and checks every setting that the lists
 * make, but for the schemes. Without --system, the system is the option's default, or ps if other
 * options ask for servers. Free with cc_cluster_args_free, also after an error if *out was zeroed
 * before. */
int cc_cluster_args_parse(const struct cc_args *args, struct cc_cluster_args *out,
                          struct cc_error *e);
void cc_cluster_args_free(struct cc_cluster_args *c);

/* Checks the options of sites, once they are read: --topology sites, where the command has it, and
 * --sites above 1 mean the same. */
int cc_cluster_choose_sites(const struct cc_args *args, struct cc_cluster_args *out,
                            struct cc_error *e);

/* Calls each(arg, setting) for all elements of all lists: exchanges, then servers (if the exchange
 * has any), workers, links, the last fastest. Stops at the first status that is not CC_OK, and
 * returns it. */
int cc_cluster_args_each(const struct cc_cluster_args *c,
                         int (*each)(void *arg, const struct cc_setting *s, struct cc_error *e),
                         void *arg, struct cc_error *e);

/* The first option given that decides how gradients are exchanged, beside --system; or NULL. */
const char *cc_cluster_pinned(const struct cc_cluster_args *c);

/* Reads the file of --system, if it is one. The system stays as long as *c is in its place. */
int cc_cluster_system(struct cc_cluster_args *c, const struct cc_system **out, struct cc_error *e);

/* Refuses options, once they are read, that the setting's collectives, if it has any, ignore. */
int cc_cluster_check_sharded(const struct cc_cluster_args *c, struct cc_error *e);

/* Makes the cluster that of one of the groups of workers that have the same part of the net, with
 * --tp, once links and places are known. The net has been divided (cc_net_divide). */
int cc_cluster_choose_tp(struct cc_cluster_args *c, struct cc_error *e);

/* The local steps of a setting: from one exchange of a tensor to the next, 0 or one of the list. */
int cc_cluster_local(const struct cc_cluster_args *c, size_t local_steps,
                     struct cc_local_timing *out, struct cc_error *e);

/* Applies --local-steps and the options that go with it: steps are sequential and exchanges whole,
 * unless options say otherwise. */
int cc_cluster_choose_local(struct cc_cluster_args *out, struct cc_error *e);

/* Sets the numbers of workers, and of those on a host, by out->slots, where no option does. */
int cc_cluster_choose_places(struct cc_cluster_args *out, struct cc_error *e);

/* Sets the link inside a host by the options that were read, and by the calibration that
 * cc_links_make read, which --intra-bw replaces. */
int cc_cluster_choose_intra(struct cc_cluster_args *out, struct cc_error *e);

/* Reads --gather-scheme and --intra-scheme for the exchanges that were read. */
int cc_cluster_parse_stages(struct cc_cluster_args *out, struct cc_error *e);

/* The links that the options make; the latency varies fastest. With `classes`, a bare rate has the
 * latency and headers of its class, and else those of TCP. Sets o->inside. The caller frees *out.
 */
int cc_links_make(struct cc_link_options *o, bool classes, struct cc_link **out, size_t *count,
                  struct cc_error *e);

/* Whether one of the exchanges has the flag. */
/* Fails if an exchange is a formula alone, for commands whose ranks run it. */
int cc_cluster_check_code(const struct cc_cluster_args *c, struct cc_error *e);
bool cc_cluster_has(const struct cc_cluster_args *c, enum cc_exchange_flag flag);

/* Reads --consistency, --staleness and --communicate, each of which a command may lack. CC_USAGE if
 * one of the latter has no effect, unless a recipe set it. */
int cc_consistency_parse(const struct cc_args *args, bool recipe, struct cc_consistency_args *out,
                         struct cc_error *e);
/* A worker that withholds gradients does so in steps that its scheme sends something in: CC_USAGE
 * if the scheme chooses its steps itself. */
int cc_consistency_check(const struct cc_consistency_args *c, const struct cc_spec *spec,
                         struct cc_error *e);
/* The column `communicate` of a row: --communicate as it was given. */
int cc_consistency_put_communicate(const struct cc_consistency_args *c, struct cc_record *record,
                                   size_t row, struct cc_error *e);

#endif
