/* The net, the cluster and the training step: the options that all commands share which predict or
 * measure steps, parsed once into one structure. */
#ifndef CC_CMD_INPUT_CLUSTER_H
#define CC_CMD_INPUT_CLUSTER_H

#include "cmd/cli/command.h"
#include "core/trace/trace.h"
#include "models/device.h"
#include "models/system.h"

/* clang-format off */
/* Parsed by cc_consistency_parse. `words` is .choices, or for a command that takes a list .words, and
 * `list` what its help says about it. CC_COMMUNICATE_OPTION is of the commands that have such steps
 * done; formulas are of a push in each step. */
#define CC_CONSISTENCY_OPTIONS(words, list)                                                        \
    {.name = "consistency", .value = "HOW", .def = "bulk", words = cc_consistency_names,           \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "bulk (all workers wait for the slowest), stale (the fastest is at most --staleness " \
             "steps ahead) or async (no worker waits); the latter two with ps" list},              \
    {.name = "staleness", .value = "STEPS", .def = "3",                                            \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "steps that the fastest worker may lead (--consistency stale)"}
#define CC_COMMUNICATE_OPTION                                                                      \
    {.name = "communicate", .value = "WHEN", .def = "step",                                        \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "--consistency stale or async: a worker pushes the sum of its gradients since its "   \
             "last push, and pulls, after each step; stale: only when its parameters would be too " \
             "old for its next step (bound); or when the norm of the sum has grown to X times the " \
             "mean norm of the gradients in it, and at the bound (norm:X)"}
#define CC_CLUSTER_OPTIONS                                                                         \
    {.name = "net", .value = "NAME|FILE", .file = CC_READS_FILE, .def = "resnet110",               \
     .group = CC_GROUP_SEND, .often = true, .words = cc_net_names,                                 \
     .help = "the model that is trained: a name, a .json file, or a .safetensors file, of which "  \
             "only the header is read"},                                                           \
    {.name = "values", .value = "COUNT",                                                           \
     .group = CC_GROUP_SEND,                                                                       \
     .help = "instead of a net, a single tensor of this many values, as in 25M"},                  \
    {.name = "bw", .value = "RATE", .def = "1gbps",                                                \
     .group = CC_GROUP_CLUSTER, .often = true,                                                     \
     .help = "bandwidth of every host's link, each way: bits per second as 10mbps, 10Mbit/s or "   \
             "2.5gbit, bytes with a capital B as 125MB/s or 125MBps; or a link known by name: wan, "\
             "ethernet, infiniband, 3lc, sparcml-daint, sparcml-greina-ib, "                       \
             "sparcml-greina-ge, sparcml-ec2, pipesgd, thesis; a list gives a row for each"},      \
    {.name = "burst", .value = "BYTES", .def = "0, or the link's own; run: chosen from the rate",  \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "bytes that the token bucket which shapes a link lets pass at once when full"},       \
    {.name = "calibration", .value = "FILE", .file = CC_READS_FILE,                                \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "instead of --bw, a link as measured by `commcomp calibrate` (docs/model.md)"},       \
    {.name = "latency", .value = "TIME", .def = "50us, or the link's own",                         \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "latency of a message, whatever its size; a list gives a row for each"},              \
    {.name = "message-cost", .value = "TIME", .def = "0, or the link's own",                       \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "processor time of a host for each message that it sends: what a server needs for "   \
             "one worker after the other. `calibrate` measures it"},                               \
    {.name = "overhead", .value = "HEADERS", .def = "tc, or the link's own",                       \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "bytes on the wire beyond the payload: tc (66 for each 1,448), ethernet (90/1448), "  \
             "jumbo (90/8948), infiniband (26/4096), none, or HEADER/PAYLOAD"},                    \
    {.name = "system", .value = "NAME", .def = "ps; advise: ddp", .choices = cc_system_names,      \
     .group = CC_GROUP_CLUSTER, .often = true,                                                     \
     .help = "the defaults of a training system for --exchange, --mode, --fuse, --servers and "    \
             "--pulls, which win where they are given: ddp (PyTorch: a ring, overlapped, buckets " \
             "of 25 MiB of gradients, the first of 1 MiB), horovod (the same, fused to 64 MiB), "  \
             "byteps (a server on every worker's host, overlapped, 4 MB), ps (a server, sequential) "   \
             "or 3lc (a server, overlapped tensor by tensor, pulls in forward order)"},            \
    {.name = "exchange", .value = "NAME", .def = "ps, or the system's",                            \
     .group = CC_GROUP_CLUSTER, .often = true, .words = cc_exchange_names,                         \
     .help = CC_EXCHANGE_HELP "or several: a list gives a row for each"},                          \
    {.name = "workers", .value = "COUNT", .def = "10",                                             \
     .group = CC_GROUP_CLUSTER, .often = true,                                                     \
     .help = "number of workers; a list gives a row for each"},                                    \
    {.name = "servers", .value = "COUNT", .def = "1, or the system's",                             \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "hosts that share the parameter server's work; a list gives a row for each"},         \
    {.name = "placement", .value = "HOW", .def = "split", .choices = cc_placement_names,           \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "where tensors lie on several servers: split (each cut evenly), round-robin, or lpt (the "\
             "largest first, each to the least loaded)"},                                          \
    {.name = "colocate",                                                                           \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "servers are on the workers' hosts, whose links they share: server i on the host of " \
             "worker i; no more servers than workers"},                                            \
    {.name = "via", .value = "HOW", .def = "hops", .choices = cc_via_names,                        \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "how ring, recdouble and rabenseifner carry payloads that cannot be summed: "         \
             "decoded, added and encoded at every hop, or by allgather instead"},                  \
    {.name = "union", .value = "HOW", .def = "measured", .choices = cc_union_names,                \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "sparse exchanges: how the workers' index sets overlap: as measured on the trace or " \
             "on synthetic gradients of up to 16 workers, as expected of uniform sets, or the "    \
             "extremes: all equal (same), or disjoint"},                                           \
    {.name = "dense-bits", .value = "BITS", .def = "32",                                           \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "bits of a value in the dense stage of dsar-split and ssar-auto; SparCML also uses 4"}, \
    {.name = "keep", .value = "COUNT|SHARE", .def = "everything",                                  \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "sparse exchanges: how many values of a step, or which share of them (1%), the sums "  \
             "keep; workers get back into their residuals what they sent in vain (docs/run.md)"},  \
    {.name = "wire", .value = "FORM", .def = "auto", .choices = cc_wire_names,                     \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "sparse exchanges: how index-value pairs are sent: auto (the shortest of pairs, "      \
             "16-bit indices, a bitmap and all values) or pairs (as SparCML, or all values)"},     \
    {.name = "compute", .value = "TIME", .def = "the net's preset, or 0",                          \
     .group = CC_GROUP_STEP, .often = true,                                                        \
     .help = "time of the forward and backward pass of a step"},                                   \
    {.name = "device", .value = "NAME", .choices = cc_device_names, .group = CC_GROUP_STEP,        \
     .often = true,                                                                                \
     .help = "instead of --compute, that of an accelerator by its published throughput: v100, "    \
             "a100 or h100 (docs/traces.md has nets, batches and sources)"},                       \
    {.name = "batch", .value = "COUNT", .def = "the published one", .group = CC_GROUP_STEP,        \
     .help = "--device: a worker's samples (or tokens) in a step, at the same throughput"},        \
    {.name = "update", .value = "TIME", .def = "0", .group = CC_GROUP_STEP,                        \
     .help = "time of applying the update"},                                                       \
    {.name = "forward", .value = "SHARE", .def = "0.333",                                          \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "share of the compute time that is the forward pass"},                                \
    {.name = "hidden", .value = "SHARE", .def = "0",                                               \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "sequential: share of the compute time that overlaps the exchange"},                  \
    {.name = "mode", .value = "HOW", .def = "sequential, or the system's", .choices = cc_step_names,\
     .group = CC_GROUP_STEP,                                                                       \
     .help = "sequential (compute, then communicate), overlap (wait-free backpropagation) or pipe "\
             "(Pipe-SGD)"},                                                                        \
    {.name = "depth", .value = "K", .def = "2",                                                    \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "pipe: steps under way at a time, Pipe-SGD's K"},                                     \
    {.name = "unlimited",                                                                          \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "pipe: with processors and links for all K steps (its equation 3)"},                  \
    {.name = "fuse", .value = "BYTES", .def = "the whole step; overlapped, a tensor; or the system's",\
     .group = CC_GROUP_STEP,                                                                       \
     .help = "gather tensors into messages of up to this many payload bytes (with --system ddp or "\
             "byteps: bytes of gradients)"},                                                       \
    {.name = "pulls", .value = "ORDER", .def = "ready, or the system's", .choices = cc_pull_names, \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "overlap with ps: servers send tensors back as they get ready, or from the first "    \
             "layer on, as the forward pass needs them"},                                          \
    {.name = "sync", .value = "TIME", .def = "0",                                                  \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "time of a global synchronization for each message: Pipe-SGD's S"},                   \
    CC_CONSISTENCY_OPTIONS(.choices, ""),                                                          \
    {.name = "stragglers", .value = "HOW", .def = "none", .choices = cc_straggler_names,           \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "each worker's compute time varies from step to step: lognormal, gamma or uniform"},  \
    {.name = "spread", .value = "X", .def = "0.2",                                                 \
     .group = CC_GROUP_STEP,                                                                       \
     .help = "standard deviation / mean of the compute times (--stragglers)"},                     \
    {.name = "seed", .value = "N", .def = "1",                                                     \
     .group = CC_GROUP_RUN,                                                                        \
     .help = "seed of --stragglers; run, sim: also of synthetic values and stochastic schemes"},   \
    {.name = "min-size", .value = "COUNT", .def = "0",                                             \
     .group = CC_GROUP_SEND,                                                                       \
     .help = "tensors with fewer values are sent as fp32, as the papers do for small layers"},     \
    {.name = "raw-share", .value = "SHARE", .def = "0",                                            \
     .group = CC_GROUP_SEND,                                                                       \
     .help = "share of the values that is sent as fp32: tensors below --min-size, and then from "  \
             "the largest to the smallest each tensor that still fits"},                           \
    CC_PLUGIN_OPTION,                                                                              \
    {.name = "profile", .value = "FILE", .file = CC_READS_FILE,                                    \
     .group = CC_GROUP_SEND, .before = cc_profile_schemes_add,                                     \
     .help = "sizes and times of the codecs (docs/profile.md); by default those of this machine, " \
             "measured on first use and kept in ~/.cache/commcomp. Schemes that it names and that "\
             "commcomp does not have are known by it: `model`, `advise` and `sim` take them, beside "\
             "this machine's profile if it has no others"},                               \
    {.name = "pull-profile", .value = "FILE", .file = CC_READS_FILE,                               \
     .group = CC_GROUP_SEND,                                                                       \
     .help = "another profile for what servers send, as `bench --stream pull --profile-out` "      \
             "makes of captured model deltas; by default their sizes are measured on sums of "     \
             "several workers, and their times are those of pushes"},                              \
    {.name = "remeasure", .group = CC_GROUP_SEND,                                                  \
     .help = "measure this machine's codecs again"}
/* clang-format on */

/* The parsed options. Each list has at least one element. */
struct cc_cluster_args {
    struct cc_net *net;
    struct cc_trace *trace;    /* --trace, opened, where the command has it; NULL: not given */
    bool skip;                 /* --skip-nonfinite is given */
    struct cc_setting setting; /* with the first element of every list */
    struct cc_link *link;      /* --bw x --latency, the latter fastest */
    enum cc_exchange *exchange;
    int *workers, *servers;
    size_t links, exchanges, worker_counts, server_counts;
    bool server_per_worker; /* as many servers as workers, instead of `servers` */
    size_t min_size;
    double raw_share_wanted;                     /* --raw-share */
    bool *raw;                                   /* per tensor: travels as fp32 in any scheme */
    double raw_share;                            /* of the values, in raw tensors */
    bool calibrated;                             /* the link is that of --calibration */
    bool bw_given, latency_given, compute_given; /* options whose default others replace */
    char device[512]; /* what --device takes the compute time from, or empty */
    /* and of --device: the samples of a worker's step, and those that it trains on a second */
    double batch, batch_per_s;
    char batch_unit[32]; /* "images" */
    bool batch_given;    /* by --batch */
};

/* Parses the options above, opens the net and the trace, and checks every setting that the lists
 * make, but for the schemes. Without --system, the system is `usual`, or ps if other options ask
 * for servers. Free with cc_cluster_args_free, also after an error if *out was zeroed before. */
int cc_cluster_args_parse(const struct cc_args *args, enum cc_system_id usual,
                          struct cc_cluster_args *out, struct cc_error *e);
void cc_cluster_args_free(struct cc_cluster_args *c);

/* Calls each(arg, setting) for all elements of all lists: exchanges, then servers (if the exchange
 * has any), workers, links, the last fastest. Stops at the first status that is not CC_OK, and
 * returns it. */
int cc_cluster_args_each(const struct cc_cluster_args *c,
                         int (*each)(void *arg, const struct cc_setting *s, struct cc_error *e),
                         void *arg, struct cc_error *e);

/* The links of --bw, --latency and --overhead alone, for a command that has no more of the options
 * above; the latency varies fastest. The caller frees *out, also after an error. */
int cc_cluster_links(const struct cc_args *args, struct cc_link **out, size_t *count,
                     struct cc_error *e);

/* Chooses which of `count` tensors, of `size` values each, travel as fp32 by --min-size and
 * --raw-share. The caller frees *out; *share becomes their share of the values. */
int cc_cluster_raw_tensors(const struct cc_cluster_args *c, const double *size, size_t count,
                           bool **out, double *share, struct cc_error *e);

/* The consistency of steps: one, or those of a list, each once. The other members are of those that
 * they go with. */
struct cc_consistency_args {
    enum cc_consistency item[CC_ASYNC + 1];
    size_t count;
    int staleness;
    enum cc_communicate communicate;
    double growth; /* of norm:X */
};

/* Parses --consistency, --staleness and --communicate, each of which a command may lack. CC_USAGE
 * if --communicate has no effect. */
int cc_consistency_parse(const struct cc_args *args, struct cc_consistency_args *out,
                         struct cc_error *e);
/* A worker that withholds gradients does so in steps that its scheme sends something in: CC_USAGE
 * if the scheme chooses its steps itself. */
int cc_consistency_check(const struct cc_consistency_args *c, const struct cc_spec *spec,
                         struct cc_error *e);
/* The column `communicate` of a row: --communicate as it was given. */
int cc_consistency_put_communicate(const struct cc_consistency_args *c, struct cc_record *record,
                                   size_t row, struct cc_error *e);

#endif
