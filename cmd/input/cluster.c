/* The net, the cluster and the step of commands that predict or measure steps: the table of their
 * options, and what is made of them. Options that were given win over the choices of the system,
 * and these over the defaults of settings. */
#include "cmd/input/cluster.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"

/* --- options --- */

static int parse_exchange(const char *word, void *member, struct cc_error *e)
{
    const int found = cc_exchange_find(word);
    char all[256];
    if (found >= 0) {
        *(enum cc_exchange *)member = (enum cc_exchange)found;
        return CC_OK;
    }
    const char *near = cc_nearest(word, cc_exchange_names);
    if (near != NULL)
        return cc_usage(e, "'%s' is not an exchange; did you mean '%s'?", word, near);
    cc_word_list(cc_exchange_names, all, sizeof all);
    return cc_usage(e, "'%s' is not an exchange: it is one of %s", word, all);
}

static int parse_chunks(const char *word, void *member, struct cc_error *e)
{
    uint64_t count;
    if (strcmp(word, "auto") == 0) {
        *(int *)member = CC_CHUNKS_AUTO;
        return CC_OK;
    }
    if (cc_parse_count(word, &count, NULL) != CC_OK || count < 1 || count > CC_MOST_CHUNKS)
        return cc_usage(e, "%s: a number from 1 to %d, or auto", word, CC_MOST_CHUNKS);
    *(int *)member = (int)count;
    return CC_OK;
}

/* clang-format off */
#define MEMBER(m)        CC_OPTION_AT(struct cc_cluster_args, m)
#define LIST(m, counter) CC_OPTION_LIST(struct cc_cluster_args, m, counter)
const struct cc_option cc_cluster_options[] = {
    {.name = "system", MEMBER(system), .parse = cc_system_choice_parse, .value = "NAME|FILE", .def = "ddp",
     .otherwise = "ddp; ps with --exchange ps or options of servers", .words = cc_system_names,
     .group = CC_GROUP_CLUSTER, .brief = "ddp, horovod, byteps, ps, 3lc, zero1-3, fsdp, hsdp, ...",
     .help = "the defaults of a training system for --exchange, --mode, --fuse, --servers and "
             "--pulls, which win where they are given: ddp (PyTorch: a ring, overlapped, buckets "
             "of 25 MiB of gradients, the first of 1 MiB), horovod (the same, fused to 64 MiB), "
             "byteps (a server on every worker's host, overlapped, 4 MB), ps (a server, sequential), "
             "3lc (a server, overlapped tensor by tensor, pulls in forward order); or, with sharded "
             "states, zero1, zero2, zero3, fsdp, hsdp, zeropp, sdp4bit or a .json file (docs/sharded.md)"},
    {.name = "exchange", LIST(exchange, exchanges), .parse = parse_exchange, .value = "NAME",
     .otherwise = "ring, or the system's", .group = CC_GROUP_CLUSTER,
     .brief = "ps, ring, rabenseifner, allgather, ssar-split, ...",
     .words = cc_exchange_names, .exchanges = CC_X_IN_LIBRARIES,
     .help = CC_EXCHANGE_HELP "or several: a list gives a row for each"},
    {.name = "op", MEMBER(setting.cluster.op), .value = "NAME", .def = "allreduce",
     .choices = cc_operation_names, .group = CC_GROUP_CLUSTER, .exchanges = CC_X_HALVES,
     .help = "what is exchanged: allreduce, or, by {exchanges}, one of its halves: reduce-scatter (each "
             "worker gets the mean of its part of the values) or all-gather (each sends its part)"},
    {.name = "workers", LIST(workers, worker_counts), .kind = CC_TAKES_COUNT, .min = 1,
     .value = "COUNT", .def = "10", .group = CC_GROUP_CLUSTER, .brief = "workers, as in 16 or 4,16,64",
     .help = "number of workers; a list gives a row for each"},
    {.name = "per-host", MEMBER(setting.cluster.per_host), .kind = CC_TAKES_COUNT, .min = 1,
     .max = 1024, .value = "COUNT", .def = "1", .group = CC_GROUP_CLUSTER,
     .help = "workers on each host, an accelerator each: they reach each other by --intra-bw, and "
             "share the host's link, --bw; --workers counts accelerators"},
    {.name = "nics", MEMBER(setting.cluster.nics), .kind = CC_TAKES_COUNT, .min = 1,
     .max = CC_CLUSTER_NICS, .value = "COUNT", .def = "1", .group = CC_GROUP_CLUSTER,
     .help = "--per-host: interfaces of a host, each of --bw, so that a host has COUNT times that; its workers use them in turn"},
    {.name = "sites", MEMBER(setting.cluster.sites), .kind = CC_TAKES_COUNT, .min = 1, .max = 64,
     .value = "COUNT", .def = "1", .otherwise = "1; sim --topology sites: 2",
     .group = CC_GROUP_CLUSTER,
     .help = "sites, among which hosts and servers are divided in equal blocks; between any two "
             "of them is a link of its own, --wan-bw"},
    {.name = "wan-bw", MEMBER(setting.cluster.wan_bps), .kind = CC_TAKES_RATE, .value = "RATE",
     .def = "100mbps", .group = CC_GROUP_CLUSTER,
     .help = "--sites: bandwidth of the link between any two sites, in each direction"},
    {.name = "wan-latency", MEMBER(setting.cluster.wan_latency_s), .kind = CC_TAKES_TIME,
     .value = "TIME", .def = "40ms", .group = CC_GROUP_CLUSTER,
     .help = "--sites: latency between two sites, in addition to --latency"},
    {.name = "servers", LIST(servers, server_counts), .kind = CC_TAKES_COUNT, .min = 1,
     .value = "COUNT", .def = "1", .otherwise = "1, or the system's", .group = CC_GROUP_CLUSTER,
     .help = "hosts that share the parameter server's work; a list gives a row for each"},
    {.name = "placement", MEMBER(setting.placement), .value = "HOW", .def = "split",
     .choices = cc_placement_names, .group = CC_GROUP_CLUSTER,
     .help = "where tensors lie on several servers: split (each cut evenly), round-robin, or lpt "
             "(the largest first, each to the least loaded)"},
    {.name = "colocate", MEMBER(setting.cluster.colocated), .group = CC_GROUP_CLUSTER,
     .help = "servers are on the workers' hosts, whose links they share: server i on the host of "
             "worker i; no more servers than workers"},
    {.name = "via", MEMBER(setting.cluster.via), .value = "HOW", .def = "hops",
     .choices = cc_via_names, .group = CC_GROUP_CLUSTER, .exchanges = CC_X_RECODES,
     .help = "how {exchanges} carry payloads that cannot be summed: "
             "decoded, added and encoded at every hop, or by allgather instead"},
    {.name = "gather-scheme", MEMBER(gather_text), .value = "SCHEME", .otherwise = "that of the gradients",
     .group = CC_GROUP_CLUSTER, .exchanges = CC_X_STAGES,
     .help = "{exchanges}: the scheme of whole sums in the last stage, of payloads that are decoded "
             "to be added"},
    {.name = "chunks", MEMBER(setting.cluster.chunks), .parse = parse_chunks,
     .value = "COUNT|auto", .otherwise = "1; of tree and hierarchical, auto", .group = CC_GROUP_CLUSTER,
     .exchanges = CC_X_RECODES,
     .help = "{exchanges}: cut each message into so many chunks, each of which is a stage behind the one "
             "before, so that links and codecs work at the same time; auto: as many as the formulas "
             "expect the shortest step of"},
    {.name = "inner-exchange", MEMBER(setting.cluster.inner_exchange), .value = "EXCHANGE",
     .def = "twoshot", .choices = cc_stage_exchange_names, .group = CC_GROUP_CLUSTER,
     .exchanges = CC_X_INSIDE, .help = "{exchanges}: how values move inside a host: twoshot or ring"},
    {.name = "outer-exchange", MEMBER(setting.cluster.outer_exchange), .value = "EXCHANGE",
     .def = "twoshot", .choices = cc_stage_exchange_names, .group = CC_GROUP_CLUSTER,
     .exchanges = CC_X_INSIDE, .help = "{exchanges}: the same between hosts"},
    {.name = "intra-scheme", MEMBER(inner_text), .value = "SCHEME", .otherwise = "that of the gradients",
     .group = CC_GROUP_CLUSTER, .exchanges = CC_X_INSIDE,
     .help = "{exchanges}: the scheme of gradients that are added inside a host, before --scheme "
             "carries a host's sums to the others"},
    {.name = "union", MEMBER(setting.cluster.overlap), .value = "HOW", .def = "measured",
     .choices = cc_union_names, .group = CC_GROUP_CLUSTER,
     .help = "sparse exchanges: how the workers' index sets overlap: as measured on the trace or "
             "on synthetic gradients of up to 16 workers, as expected of uniform sets, or the "
             "extremes: all equal (same), or disjoint"},
    {.name = "dense-bits", MEMBER(setting.cluster.dense_bits), .kind = CC_TAKES_REAL,
     .value = "BITS", .def = "32", .group = CC_GROUP_CLUSTER, .exchanges = CC_X_DENSE_STAGE,
     .help = "bits of a value in the dense stage of {exchanges}; SparCML also uses 4"},
    {.name = "keep", MEMBER(keep_text), .value = "COUNT|SHARE", .otherwise = "everything",
     .group = CC_GROUP_CLUSTER,
     .help = "sparse exchanges: how many values of a step, or which share of them (1%), the sums "
             "keep; workers get back into their residuals what they sent in vain (docs/run.md)"},
    {.name = "wire", MEMBER(setting.cluster.wire), .value = "FORM", .def = "auto",
     .choices = cc_wire_names, .group = CC_GROUP_CLUSTER,
     .help = "sparse exchanges: how index-value pairs are sent: auto (the shortest of pairs, "
             "16-bit indices, a bitmap and all values) or pairs (as SparCML, or all values)"},
    {.name = "compute", MEMBER(setting.timing.compute_s), .kind = CC_TAKES_TIME, .value = "TIME",
     .otherwise = "the net's preset, or 0", .group = CC_GROUP_STEP,
     .brief = "forward and backward pass of a step, as in 80ms",
     .help = "time of the forward and backward pass of a step"},
    {.name = "device", MEMBER(device_name), .value = "NAME", .choices = cc_device_names,
     .group = CC_GROUP_STEP, .brief = "v100, a100, h100, ...: its published compute time",
     .help = "the accelerator: {words}. Without --compute, a published throughput of the net on it "
             "gives that (docs/traces.md has nets, batches and sources)"},
    {.name = "batch", MEMBER(wanted_batch), .kind = CC_TAKES_COUNT, .min = 1, .max = INT64_MAX,
     .value = "COUNT", .otherwise = "the published one", .group = CC_GROUP_STEP,
     .help = "--device: a worker's samples (or tokens) in a step, at the same throughput"},
    {.name = "update", MEMBER(setting.timing.update_s), .kind = CC_TAKES_TIME, .value = "TIME",
     .def = "0", .group = CC_GROUP_STEP, .help = "time of applying the update"},
    {.name = "forward", MEMBER(setting.timing.forward_share), .kind = CC_TAKES_REAL,
     .value = "SHARE", .otherwise = CC_FORWARD_SHARE_TEXT, .group = CC_GROUP_STEP,
     .help = "share of the compute time that is the forward pass"},
    {.name = "hidden", MEMBER(setting.timing.hidden_share), .kind = CC_TAKES_REAL,
     .value = "SHARE", .def = "0", .group = CC_GROUP_STEP,
     .help = "sequential: share of the compute time that overlaps the exchange"},
    {.name = "mode", MEMBER(setting.timing.mode), .value = "HOW",
     .otherwise = "overlap, or the system's; sequential with --errors, --hidden or --exchange mpi", .choices = cc_step_names, .group = CC_GROUP_STEP,
     .help = "sequential (compute, then communicate), overlap (wait-free backpropagation) or pipe "
             "(Pipe-SGD)"},
    {.name = "local-steps", LIST(local_steps, local_counts), .kind = CC_TAKES_COUNT, .min = 1,
     .max = CC_MOST_LOCAL_STEPS, .value = "H", .otherwise = "none", .group = CC_GROUP_STEP,
     .help = "every worker makes H steps on parameters of its own, and then differences are "
             "exchanged in place of gradients (DiLoCo); a list gives a row for each. Rows are means "
             "over steps, which are sequential unless --mode says otherwise"},
    {.name = "stream-parts", MEMBER(stream_parts), .kind = CC_TAKES_COUNT, .min = 1,
     .max = CC_MOST_LOCAL_STEPS, .value = "COUNT", .def = "1", .group = CC_GROUP_STEP,
     .help = "--local-steps: cut the net into this many parts, which are exchanged in turn, each "
             "after every H steps, as in Streaming DiLoCo"},
    {.name = "stream-delay", MEMBER(stream_delay), .kind = CC_TAKES_COUNT, .min = 1, .value = "N",
     .otherwise = "H / parts", .group = CC_GROUP_STEP,
     .help = "--local-steps with --mode overlap: steps that workers make beside an exchange before "
             "they take its results"},
    {.name = "depth", MEMBER(setting.timing.depth), .kind = CC_TAKES_COUNT, .min = 1,
     .max = 1000000, .value = "K", .def = "2", .group = CC_GROUP_STEP,
     .help = "pipe: steps under way at a time, Pipe-SGD's K"},
    {.name = "unlimited", MEMBER(setting.timing.unlimited), .group = CC_GROUP_STEP,
     .help = "pipe: with processors and links for all K steps (its equation 3)"},
    {.name = "fuse", MEMBER(setting.timing.fuse_bytes), .kind = CC_TAKES_COUNT, .max = INT64_MAX,
     .value = "BYTES", .otherwise = "25Mi of gradients (DDP's), or the system's",
     .group = CC_GROUP_STEP,
     .help = "gather tensors into messages of up to this many payload bytes (with --system ddp or "
             "byteps: bytes of gradients)"},
    {.name = "pulls", MEMBER(setting.timing.pulls), .value = "ORDER",
     .otherwise = "ready, or the system's", .choices = cc_pull_names, .group = CC_GROUP_STEP,
     .help = "overlap with ps: servers send tensors back as they get ready, or from the first "
             "layer on, as the forward pass needs them"},
    {.name = "sync", MEMBER(setting.timing.sync_s), .kind = CC_TAKES_TIME, .value = "TIME",
     .def = "0", .group = CC_GROUP_STEP,
     .help = "time of a global synchronization for each message: Pipe-SGD's S"},
    {.name = "stragglers", MEMBER(setting.timing.straggler), .value = "HOW", .def = "none",
     .choices = cc_straggler_names, .group = CC_GROUP_STEP,
     .help = "each worker's compute time varies from step to step: lognormal, gamma or uniform"},
    {.name = "spread", MEMBER(setting.timing.spread), .kind = CC_TAKES_REAL, .value = "X",
     .def = "0.2", .group = CC_GROUP_STEP,
     .help = "standard deviation / mean of the compute times (--stragglers)"},
    {.name = "min-size", MEMBER(min_size), .kind = CC_TAKES_COUNT, .max = INT64_MAX,
     .value = "COUNT", .def = "0", .group = CC_GROUP_SEND,
     .help = "tensors with fewer values are sent as fp32, as the papers do for small layers"},
    {.name = "raw-share", MEMBER(raw_share_wanted), .kind = CC_TAKES_REAL, .value = "SHARE",
     .def = "0", .group = CC_GROUP_SEND,
     .help = "share of the values that is sent as fp32: tensors below --min-size, and then from "
             "the largest to the smallest each tensor that still fits"},
    {.name = NULL},
};
/* clang-format on */

/* --- the accelerator --- */

/* Opens --device, and takes the compute time from it and --batch unless it is given. */
static int choose_device(struct cc_cluster_args *out, struct cc_error *e)
{
    const char *name = out->device_name;
    const uint64_t batch = out->wanted_batch;
    const struct cc_throughput *t;
    char compute[32];
    if (name == NULL)
        return batch == 0 ? CC_OK : cc_usage(e, "--batch goes with --device");
    CC_TRY(cc_device_open(name, &out->accelerator, e));
    const struct cc_device *d = out->accelerator;
    if (out->compute_given)
        return batch == 0 ? CC_OK : cc_usage(e, "--batch and --compute exclude each other");
    CC_TRY_IN(cc_device_throughput(d, out->net->name, &t, e), e, "--device %s", name);
    const double count = batch > 0 ? (double)batch : t->batch;
    out->setting.timing.compute_s = count / t->per_s;
    out->batch = count;
    out->batch_per_s = t->per_s;
    (void)snprintf(out->batch_unit, sizeof out->batch_unit, "%s", t->unit);
    cc_print_si(count / t->per_s, "s", compute, sizeof compute);
    (void)snprintf(out->device, sizeof out->device, "%s: %.0f %s at %.6g a second on %s, %s (%s)",
                   compute, count, t->unit, t->per_s, d->text, t->precision, t->source);
    return CC_OK;
}

/* --- the system --- */

/* Whether the options only make sense with parameter servers. */
static bool asks_for_servers(const struct cc_cluster_args *c)
{
    const struct cc_setting *s = &c->setting;
    const void *const of_servers[] = {&c->servers, &s->placement, &s->cluster.colocated,
                                      &s->timing.pulls, NULL};
    if (cc_given(c, &c->exchange) != NULL)
        return c->exchanges == 1 && c->exchange[0] == CC_PS;
    return cc_given_of(c, of_servers) != NULL ||
           cc_given(&c->consistency, &c->consistency.how) != NULL;
}

/* The option that only makes sense in sequential steps, or NULL: --errors, which are measured
 * between steps, --hidden, or --exchange mpi, whose calls return when they are done. */
static const char *asks_for_sequential(const struct cc_args *args, const struct cc_cluster_args *c)
{
    if (cc_arg(args, "errors") != NULL)
        return "errors";
    const char *hidden = cc_given(c, &c->setting.timing.hidden_share);
    return hidden == NULL && cc_cluster_has(c, CC_X_LIBRARY) ? "exchange mpi" : hidden;
}

/* Applies the choices of the system that no option has made. */
static int choose_system(const struct cc_args *args, struct cc_cluster_args *out,
                         struct cc_error *e)
{
    struct cc_setting *s = &out->setting;
    const struct cc_setting given = *s;
    if (cc_given(out, &out->system) == NULL && asks_for_servers(out))
        out->system.id = CC_SYSTEM_PS;
    const struct cc_system *system;
    CC_TRY(cc_cluster_system(out, &system, e));
    cc_system_apply(system, s);
    if (cc_given(out, &out->system) == NULL && cc_given(out, &s->timing.mode) == NULL &&
        system->mode != CC_SEQUENTIAL)
        out->sequential_for = asks_for_sequential(args, out);
    if (out->sequential_for != NULL)
        s->timing.mode = CC_SEQUENTIAL;
    s->placement = given.placement;
    s->cluster.colocated |= given.cluster.colocated;
    if (cc_given(out, &s->timing.mode) != NULL)
        s->timing.mode = given.timing.mode;
    if (cc_given(out, &s->timing.pulls) != NULL)
        s->timing.pulls = given.timing.pulls;
    if (cc_given(out, &s->timing.fuse_bytes) != NULL) {
        s->timing.fuse_bytes = given.timing.fuse_bytes;
        s->timing.first_fuse_bytes = -1;
    }
    out->server_per_worker = system->server_per_worker && cc_given(out, &out->servers) == NULL;
    if (out->exchanges > 0)
        return CC_OK;
    CC_TRY(CC_NEW(out->exchange, 1, e));
    out->exchange[0] = system->exchange;
    out->exchanges = 1;
    return CC_OK;
}

const char *cc_cluster_pinned(const struct cc_cluster_args *c)
{
    const struct cc_setting *s = &c->setting;
    const void *const of_exchanges[] = {&c->exchange,
                                        &c->servers,
                                        &s->placement,
                                        &s->cluster.colocated,
                                        &s->cluster.op,
                                        &s->cluster.via,
                                        &c->gather_text,
                                        &s->cluster.overlap,
                                        &s->cluster.dense_bits,
                                        &c->keep_text,
                                        &s->cluster.wire,
                                        &s->timing.hidden_share,
                                        &s->timing.mode,
                                        &s->timing.depth,
                                        &s->timing.unlimited,
                                        &s->timing.fuse_bytes,
                                        &s->timing.pulls,
                                        &s->timing.sync_s,
                                        NULL};
    const char *given = cc_given_of(c, of_exchanges);
    return given != NULL ? given : cc_given(&c->consistency, &c->consistency.how);
}

int cc_cluster_check_code(const struct cc_cluster_args *c, struct cc_error *e)
{
    for (size_t i = 0; i < c->exchanges; i++)
        if (cc_exchange_has(c->exchange[i], CC_X_FORMULA))
            return cc_usage(e,
                            "--exchange %s: its times come from formulas alone, and ranks have no "
                            "code for it: `commcomp model` and `advise` take it",
                            cc_exchange_names[c->exchange[i]]);
    return CC_OK;
}

bool cc_cluster_has(const struct cc_cluster_args *c, enum cc_exchange_flag flag)
{
    for (size_t i = 0; i < c->exchanges; i++)
        if (cc_exchange_has(c->exchange[i], flag))
            return true;
    return false;
}

/* --- links --- */

/* Whether bare rates have the latency and headers of their class: not in a lab, whose links are the
 * kernel's, and not for parameter servers without a system, which are those of the papers. */
static bool classes_of_links(const struct cc_args *args, const struct cc_cluster_args *out)
{
    static const char hosts[] = "hosts";
    bool servers = true;
    for (size_t i = 0; i < out->exchanges; i++)
        servers &= cc_exchange_has(out->exchange[i], CC_X_SERVERS);
    if (servers && cc_given(out, &out->system) == NULL && out->system.id == CC_SYSTEM_PS)
        return false;
    return cc_option_find(&args->options, hosts, strlen(hosts)) == SIZE_MAX ||
           cc_arg(args, hosts) != NULL || cc_arg(args, "hostfile") != NULL;
}

/* --- raw tensors --- */

static int choose_raw(struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_net *net = out->net;
    double *size;
    if (!(out->raw_share_wanted >= 0 && out->raw_share_wanted <= 1))
        return cc_usage(e, "--raw-share: a share of the values, from 0 to 1");
    CC_TRY(CC_NEW(out->raw, net->count, e));
    CC_TRY(CC_NEW(size, net->count, e));
    for (size_t i = 0; i < net->count; i++)
        size[i] = (double)net->tensors[i].shape.n;
    const int status = cc_raw_tensors(size, net->count, out->min_size, out->raw_share_wanted,
                                      out->raw, &out->raw_share, e);
    free(size);
    return status;
}

/* --- what sums keep --- */

/* "1%", "0.01", or a number of values of a step, such as "10K". */
static int parse_keep(struct cc_cluster_args *out, struct cc_error *e)
{
    const char *text = out->keep_text;
    double *keep = &out->setting.cluster.keep;
    uint64_t count = 0;
    int status = CC_OK;
    if (text == NULL)
        return CC_OK;
    if (!cc_cluster_has(out, CC_X_MERGES))
        return cc_usage(e, "--keep re-sparsifies sums of index-value pairs: give --exchange "
                           "ssar-split or another sparse one");
    if (strchr(text, '%') != NULL || strtod(text, NULL) < 1)
        status = cc_parse_share(text, keep, e);
    else if ((status = cc_parse_count(text, &count, e)) == CC_OK)
        *keep = (double)count / (double)out->net->values;
    if (status == CC_OK && !(*keep > 0 && *keep < 1))
        status = cc_usage(e, "'%s' of %zu values: more than none, and fewer than all", text,
                          out->net->values);
    if (status != CC_OK)
        cc_error_in(e, "--keep");
    else if (out->raw_share > 0)
        status = cc_usage(e, "--keep needs a residual for every value, and tensors that are sent "
                             "as fp32 have none: leave out --min-size and --raw-share");
    return status;
}

/* --- schemes of stages --- */

/* Reads the one scheme of a stage, whose values must arrive in every step. */
static int one_scheme(const char *option, const char *text, struct cc_spec_list *list,
                      const char **name, struct cc_error *e)
{
    CC_TRY_IN(cc_spec_list_parse(text, list, e), e, "%s", option);
    if (list->count != 1)
        return cc_usage(e, "%s %s: one scheme", option, text);
    const struct cc_spec *spec = list->item[0];
    if (cc_period(spec->scheme, spec->params) > 1)
        return cc_usage(e, "%s %s: it sends in some steps only, and sums must arrive in every step",
                        option, spec->name);
    *name = spec->name;
    return CC_OK;
}

static int parse_gather(struct cc_cluster_args *out, struct cc_error *e)
{
    const char *text = out->gather_text;
    char with[64];
    if (text == NULL)
        return CC_OK;
    cc_exchange_list(CC_X_STAGES, with, sizeof with);
    if (!cc_cluster_has(out, CC_X_STAGES))
        return cc_usage(e, "--gather-scheme is for --exchange %s, which encode whole sums once",
                        with);
    if (cc_cluster_has(out, CC_X_SERVERS))
        return cc_usage(e,
                        "--gather-scheme is for --exchange %s, and servers encode sums by the "
                        "scheme of the gradients: leave out --exchange ps",
                        with);
    if (out->setting.cluster.via == CC_VIA_ALLGATHER)
        return cc_usage(e, "--gather-scheme: by --via allgather, sums are not encoded: leave out "
                           "either");
    return one_scheme("--gather-scheme", text, &out->gather, &out->setting.cluster.gather, e);
}

static int parse_inner(struct cc_cluster_args *out, struct cc_error *e)
{
    char with[64];
    const bool levels = cc_sharded_has_levels(&out->setting);
    if (out->inner_text == NULL && levels && out->setting.cluster.per_host > 1)
        out->inner_text = out->setting.system->intra_scheme;
    if (out->inner_text == NULL)
        return CC_OK;
    cc_exchange_list(CC_X_INSIDE, with, sizeof with);
    if (!cc_cluster_has(out, CC_X_INSIDE) && !levels)
        return cc_usage(e, "--intra-scheme is for --exchange %s, which adds inside hosts first",
                        with);
    if (out->setting.cluster.per_host <= 1)
        return cc_usage(e, "--intra-scheme: hosts have one worker each, so that nothing is added "
                           "inside them: give --per-host");
    if (out->setting.cluster.via == CC_VIA_ALLGATHER)
        return cc_usage(e, "--intra-scheme: by --via allgather, nothing is added inside hosts: "
                           "leave out either");
    return one_scheme("--intra-scheme", out->inner_text, &out->inner,
                      &out->setting.cluster.intra_scheme, e);
}

int cc_cluster_parse_stages(struct cc_cluster_args *out, struct cc_error *e)
{
    CC_TRY(parse_gather(out, e));
    return parse_inner(out, e);
}

/* --- all of it --- */

/* Whether hosts have several accelerators: their links are of NVLink or PCIe. */
static bool joined_by_accelerators(const struct cc_cluster *c)
{
    return c->per_host > 1 && strcmp(c->intra.name, "shm") != 0 &&
           strcmp(c->intra.name, CC_LINK_MEMORY) != 0;
}

static int check_setting(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    (void)arg;
    return cc_setting_check(s, e);
}

int cc_cluster_args_parse(const struct cc_args *args, struct cc_cluster_args *out,
                          struct cc_error *e)
{
    struct cc_setting *s = &out->setting;
    CC_TRY(cc_source_read(args, &out->source, e));
    CC_TRY(cc_input_captured(&out->source, &out->trace, e));
    CC_TRY(cc_input_net(&out->source, out->trace, &out->net, e));
    cc_setting_defaults(out->net, s);
    if (cc_given(&out->source, &out->source.dtype) != NULL)
        s->dtype = out->source.dtype;
    CC_TRY(cc_options_read(args, cc_cluster_options, out, e));
    CC_TRY(cc_options_read(args, cc_link_options, &out->network, e));
    CC_TRY(cc_consistency_parse(args, false, &out->consistency, e));
    out->compute_given = cc_given(out, &s->timing.compute_s) != NULL;
    const bool colocate = s->cluster.colocated;
    CC_TRY(choose_system(args, out, e));
    CC_TRY(cc_sharded_args_parse(args, s, &out->sharded, e));
    CC_TRY(cc_cluster_check_sharded(out, e));
    cc_net_divide(out->net, (size_t)out->sharded.tensor_parallel);
    CC_TRY(cc_cluster_choose_local(out, e));
    CC_TRY(choose_raw(out, e));
    CC_TRY(choose_device(out, e));
    if (colocate && !cc_cluster_has(out, CC_X_SERVERS))
        return cc_usage(e, "--colocate places parameter servers: give --exchange ps");
    CC_TRY(parse_keep(out, e));
    CC_TRY(cc_cluster_parse_stages(out, e));
    CC_TRY(cc_links_make(&out->network, classes_of_links(args, out), &out->link, &out->links, e));
    CC_TRY(cc_cluster_choose_places(out, e));
    CC_TRY(cc_cluster_choose_intra(out, e));
    s->cluster.accelerated = out->accelerator != NULL || joined_by_accelerators(&s->cluster);
    CC_TRY(cc_cluster_choose_sites(args, out, e));
    CC_TRY(cc_cluster_choose_tp(out, e));
    s->timing.seed = out->source.seed;
    s->timing.consistency = out->consistency.how.item[0];
    s->timing.staleness = out->consistency.staleness;
    s->link = out->link[0];
    s->exchange = out->exchange[0];
    s->cluster.workers = out->workers[0];
    s->cluster.servers = out->server_per_worker ? out->workers[0] : out->servers[0];
    return cc_cluster_args_each(out, check_setting, NULL, e);
}

void cc_cluster_args_free(struct cc_cluster_args *c)
{
    cc_net_free(c->net);
    cc_trace_close(c->trace);
    cc_options_free(&c->source);
    cc_options_free(&c->network);
    cc_options_free(c);
    cc_spec_list_free(&c->gather);
    cc_spec_list_free(&c->inner);
    cc_sharded_args_free(&c->sharded);
    cc_device_free(c->accelerator);
    free(c->link);
    free(c->raw);
    *c = (struct cc_cluster_args){0};
}

int cc_cluster_args_each(const struct cc_cluster_args *c,
                         int (*each)(void *arg, const struct cc_setting *s, struct cc_error *e),
                         void *arg, struct cc_error *e)
{
    struct cc_setting s = c->setting;
    const size_t locals = c->local_counts > 0 ? c->local_counts : 1;
    const size_t all = c->exchanges * c->server_counts * c->worker_counts * locals * c->links;
    for (size_t i = 0; i < all; i++) {
        size_t at = i; /* digits of a number: the link's index is the last */
        s.link = c->link[at % c->links];
        s.cluster.reduce_byte_s = s.link.reduce_byte_s;
        at /= c->links;
        CC_TRY(cc_cluster_local(c, c->local_counts > 0 ? c->local_steps[at % locals] : 0,
                                &s.timing.local, e));
        at /= locals;
        s.cluster.workers = c->workers[at % c->worker_counts];
        at /= c->worker_counts;
        s.cluster.servers =
            c->server_per_worker ? s.cluster.workers : c->servers[at % c->server_counts];
        s.exchange = c->exchange[at / c->server_counts];
        s.cluster.colocated =
            c->setting.cluster.colocated && cc_exchange_has(s.exchange, CC_X_SERVERS);
        s.cluster.keep = cc_exchange_has(s.exchange, CC_X_MERGES) ? c->setting.cluster.keep : 0;
        s.cluster.gather =
            cc_exchange_has(s.exchange, CC_X_STAGES) ? c->setting.cluster.gather : NULL;
        s.cluster.chunks =
            cc_exchange_has(s.exchange, CC_X_RECODES) ? c->setting.cluster.chunks : 1;
        /* Exchanges whose stages take different links are slow in one piece. */
        if (s.cluster.chunks == 0 && (s.exchange == CC_TREE || s.exchange == CC_HIERARCHICAL))
            s.cluster.chunks = CC_CHUNKS_AUTO;
        s.cluster.intra_scheme =
            cc_exchange_has(s.exchange, CC_X_INSIDE) || cc_sharded_has_levels(&s)
                ? c->setting.cluster.intra_scheme
                : NULL;
        /* Without servers, their number makes no difference: one row only. */
        if (cc_exchange_has(s.exchange, CC_X_SERVERS) || at % c->server_counts == 0)
            CC_TRY(each(arg, &s, e));
    }
    return CC_OK;
}
