/* `commcomp check`: what nccl-tests measured, beside what NCCL expects on the cluster. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/check/judge.h"
#include "cmd/cli/command.h"
#include "cmd/input/cluster.h"
#include "core/units.h"
#include "models/exchange_nccl.h"

static const struct cc_column columns[] = {
    CC_COLUMN(op, CC_SETTING),
    CC_COLUMN(workers, CC_SETTING),
    CC_COLUMN(hosts, CC_SETTING),
    CC_COLUMN(nics, CC_SETTING),
    CC_COLUMN(bw_bps, CC_SETTING),
    CC_COLUMN(size_bytes, CC_MAIN),
    CC_COLUMN(nccl_choice, CC_PART),
    CC_COLUMN(call_expected_s, CC_PART),
    CC_COLUMN(call_measured_s, CC_MAIN),
    CC_COLUMN(busbw_expected_gb_per_s, CC_MAIN),
    CC_COLUMN(busbw_gb_per_s, CC_MAIN),
    CC_COLUMN(busbw_in_place_gb_per_s, CC_DETAIL),
    CC_COLUMN(busbw_share, CC_ANSWER),
    CC_COLUMN(suspicious, CC_ANSWER),
    {.key = NULL},
};

struct check_options {
    struct cc_given given;
    int workers, per_host, op, device; /* 0, 0, -1, -1: by the log */
    int nics;
    struct cc_link network, intra;
};

#define MEMBER(m) CC_OPTION_AT(struct check_options, m)
static const struct cc_option own_options[] = {
    {.name = "workers",
     MEMBER(workers),
     .kind = CC_TAKES_COUNT,
     .min = 2,
     .max = 1 << 20,
     .value = "COUNT",
     .otherwise = "those of the log",
     .help = "number of accelerators (ranks)"},
    {.name = "per-host",
     MEMBER(per_host),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 1024,
     .value = "COUNT",
     .otherwise = "by the log's hosts, or all on one",
     .help = "accelerators on each host"},
    {.name = "bw",
     MEMBER(network),
     .parse = cc_option_link,
     .value = "RATE",
     .otherwise = "required of several hosts",
     .words = cc_link_names,
     .help = "bandwidth between hosts: of each of a host's interfaces (--nics), each way"},
    {.name = "nics",
     MEMBER(nics),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = CC_CLUSTER_NICS,
     .value = "COUNT",
     .def = "1",
     .help = "interfaces of a host, each of --bw, as everywhere: 8 of 200gbps carry 1600gbps"},
    {.name = "intra-bw",
     MEMBER(intra),
     .parse = cc_option_intra,
     .value = "RATE",
     .otherwise = "by the device: nvlink3 of A100, nvlink4 of H100, 150GB/s of V100, else pcie4",
     .words = cc_intra_names,
     .help = "bandwidth of an accelerator to the others of its host, each way: a rate, which is "
             "taken for NVLink's, or {words}"},
    {.name = "device",
     MEMBER(device),
     .choices = cc_nccl_generation_names,
     .value = "NAME",
     .brief = "v100, a100 or h100",
     .otherwise = "by the log's devices, else a100",
     .help = "the generation of accelerators: {words}"},
    {.name = "op",
     MEMBER(op),
     .choices = cc_operation_names,
     .value = "OP",
     .brief = "allreduce, reduce-scatter or all-gather",
     .otherwise = "by the program's name, or the ratio of busbw and algbw",
     .help = "the operation: {words}"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {{.rows = own_options}, {.rows = NULL}};

/* --- the cluster --- */

/* Devices of a generation that NCCL's constants are known for. */
static const struct known_device {
    const char *part; /* of the name */
    enum cc_nccl_generation generation;
} known_devices[] = {{"V100", CC_NCCL_VOLTA},  {"A100", CC_NCCL_AMPERE}, {"A800", CC_NCCL_AMPERE},
                     {"A30", CC_NCCL_AMPERE},  {"H100", CC_NCCL_HOPPER}, {"H200", CC_NCCL_HOPPER},
                     {"H800", CC_NCCL_HOPPER}, {"H20", CC_NCCL_HOPPER}};

/* The entry of a device by its name, as "NVIDIA A100-SXM4-40GB"; NULL if there is none. */
static const struct known_device *find_device(const char *name)
{
    for (size_t i = 0; i < sizeof known_devices / sizeof known_devices[0]; i++)
        if (strstr(name, known_devices[i].part) != NULL)
            return &known_devices[i];
    return NULL;
}

/* The generation of a device by its name, A100's of unknown ones, and whether it has NVLink to all
 * others of its host. */
static enum cc_nccl_generation generation_of(const char *name, bool *nvlink)
{
    const struct known_device *d = find_device(name);
    const enum cc_nccl_generation g = d != NULL ? d->generation : CC_NCCL_AMPERE;
    *nvlink = name[0] == '\0' || strstr(name, "SXM") != NULL ||
              (g == CC_NCCL_HOPPER && strstr(name, "PCIe") == NULL);
    return g;
}

/* The link inside hosts, if none is given. */
static int usual_intra(enum cc_nccl_generation g, bool nvlink, struct cc_link *out,
                       struct cc_error *e)
{
    static const char *const by_generation[] = {"150GB/s", "nvlink3", "nvlink4"};
    return cc_link_parse_intra(nvlink ? by_generation[g] : "pcie4", out, e);
}

static int find_ranks(const struct check_options *o, const struct cc_nccl_log *log,
                      const char *path, enum cc_operation op, struct cc_nccl_cluster *c,
                      struct cc_error *e)
{
    c->ranks = o->workers > 0 ? o->workers : cc_nccl_log_ranks(log, op);
    if (c->ranks < 2)
        return cc_usage(e,
                        "%s: neither devices nor bandwidths tell the number of ranks: give "
                        "--workers",
                        path);
    c->hosts = o->workers == 0 && log->hosts > 0 ? log->hosts : 1;
    if (o->per_host > 0) {
        if (c->ranks % o->per_host != 0)
            return cc_usage(e, "--per-host %d does not divide the %d ranks", o->per_host, c->ranks);
        c->hosts = c->ranks / o->per_host;
    }
    return CC_OK;
}

static int find_cluster(struct check_options *o, const struct cc_nccl_log *log, const char *path,
                        enum cc_operation op, struct cc_nccl_cluster *c, struct cc_error *e)
{
    bool nvlink;
    *c = (struct cc_nccl_cluster){.generation = generation_of(log->device, &nvlink)};
    if (o->device >= 0) {
        c->generation = (enum cc_nccl_generation)o->device;
        nvlink = true;
    }
    CC_TRY(find_ranks(o, log, path, op, c, e));
    if (c->hosts > 1 && cc_given(o, &o->network) == NULL)
        return cc_usage(
            e, "%s: %d hosts: give --bw, the bandwidth of each interface of a host, and --nics",
            path, c->hosts);
    if (cc_given(o, &o->intra) == NULL)
        CC_TRY(usual_intra(c->generation, nvlink, &o->intra, e));
    c->nvlink = cc_nccl_is_nvlink(&o->intra);
    c->switched = c->generation == CC_NCCL_HOPPER;
    const double line = o->intra.bw_bps / 8;
    c->intra = c->nvlink ? cc_nccl_nvlink_rate(c->generation, line) : 1 / cc_link_byte_s(&o->intra);
    if (c->hosts > 1)
        c->inter = o->nics / cc_link_byte_s(&o->network);
    return CC_OK;
}

/* --- the result --- */

static int add_row(struct cc_record *r, const struct cc_nccl_row *row,
                   const struct cc_judged_row *j, const struct cc_nccl_cluster *c,
                   enum cc_operation op, const struct check_options *o, struct cc_error *e)
{
    const bool several = c->hosts > 1;
    char choice[32];
    size_t at;
    (void)snprintf(choice, sizeof choice, "%s %s", cc_nccl_algorithm_names[j->expected.algorithm],
                   cc_nccl_protocol_names[j->expected.protocol]);
    const double in_place = row->bytes * cc_nccl_bus_factor(op, c->ranks) / row->in_place.time_s;
    const struct cc_number_column numbers[] = {
        {CC_KEY(workers), c->ranks},
        {CC_KEY(hosts), c->hosts},
        {CC_KEY(nics), several && o->nics > 1 ? o->nics : (double)NAN},
        {CC_KEY(bw_bps), several ? o->network.bw_bps : (double)NAN},
        {CC_KEY(size_bytes), row->bytes},
        {CC_KEY(call_expected_s), j->expected.latency_s + j->expected.transfer_s},
        {CC_KEY(call_measured_s), row->out_of_place.time_s},
        {CC_KEY(busbw_expected_gb_per_s), 1e-9 * j->busbw_expected},
        {CC_KEY(busbw_gb_per_s), 1e-9 * j->busbw},
        {CC_KEY(busbw_in_place_gb_per_s), 1e-9 * in_place},
        {CC_KEY(busbw_share), j->share}};
    const struct cc_text_column texts[] = {{CC_KEY(op), cc_operation_names[op]},
                                           {CC_KEY(nccl_choice), choice},
                                           {CC_KEY(suspicious), j->suspicious}};
    CC_TRY(cc_record_add(r, &at, e));
    cc_record_numbers(r, at, numbers, sizeof numbers / sizeof numbers[0]);
    return cc_record_texts(r, at, texts, sizeof texts / sizeof texts[0], e);
}

static void set_answer(struct cc_record *r, const struct cc_judged *j,
                       const struct cc_nccl_cluster *c, enum cc_operation op)
{
    char share[96] = "no messages of " CC_JUDGE_LARGE_TEXT " and more";
    if (j->large > 0)
        (void)snprintf(share, sizeof share, "%.0f%% of the expected bus bandwidth", 100 * j->share);
    cc_record_title(r, "%s of %d ranks on %d host%s: %s; %zu of %zu rows suspicious",
                    cc_operation_names[op], c->ranks, c->hosts, c->hosts == 1 ? "" : "s", share,
                    j->suspicious, j->rows);
}

/* Notes the usual causes where all large messages have a low share. */
static int note_low(struct cc_record *r, const struct cc_judged *j, const struct cc_nccl_cluster *c,
                    struct cc_error *e)
{
    if (!(j->share < 0.5))
        return CC_OK;
    return cc_record_note(
        r, e, "half of all large messages reach less than %.0f%%: %s", 100 * j->share,
        c->hosts > 1 ? "fewer interfaces in use than --bw counts (NCCL_IB_HCA), no GPUDirect, or a "
                       "slower link inside hosts"
                     : "no direct link between accelerators (NCCL_P2P_LEVEL), or a slower one than "
                       "--intra-bw");
}

static int print(struct cc_record *r, const char *path, const struct check_options *o,
                 const struct cc_nccl_log *log, const struct cc_nccl_cluster *c,
                 enum cc_operation op, const struct cc_judged *j, struct cc_error *e)
{
    char inside[32], between[48] = "";
    for (size_t i = 0; i < log->rows; i++)
        CC_TRY(add_row(r, &log->row[i], &j->row[i], c, op, o, e));
    set_answer(r, j, c, op);
    cc_print_si(c->intra, "B/s", inside, sizeof inside);
    if (c->hosts > 1)
        cc_print_si(c->inter, "B/s between hosts, ", between, sizeof between);
    CC_TRY(cc_record_note(r, e,
                          "expected: the fastest algorithm and protocol by the constants of NCCL "
                          "" CC_NCCL_VERSION ", with %s%s inside, %s (docs/model.md)",
                          between, inside, cc_nccl_generation_names[c->generation]));
    if (c->hosts == 1 && (cc_given(o, &o->network) != NULL || cc_given(o, &o->nics) != NULL))
        CC_TRY(cc_record_note(r, e,
                              "all ranks are taken to be on one host, so that --bw, the link "
                              "between hosts, is not used: --per-host says how many a host has"));
    if (log->device[0] != '\0')
        CC_TRY(cc_record_note(r, e, "devices of the log: %d of %s", log->ranks, log->device));
    if (log->most > log->fewest && o->per_host == 0 && o->workers == 0)
        CC_TRY(cc_record_warn(r, e,
                              "WARNING: the log's hosts have %d to %d devices each, and what is "
                              "expected is of %.3g on each",
                              log->fewest, log->most, (double)c->ranks / c->hosts));
    if (log->device[0] != '\0' && find_device(log->device) == NULL &&
        (o->device < 0 || cc_given(o, &o->intra) == NULL))
        CC_TRY(cc_record_warn(r, e,
                              "WARNING: no constants of %s are known, so that what is not given is "
                              "an A100's on PCIe: give --device, the nearest generation, and "
                              "--intra-bw",
                              log->device));
    CC_TRY(note_low(r, j, c, e));
    return j->wrong > 0 ? cc_fail(e, "%s: %.0f wrong values: the results are not those of %s", path,
                                  j->wrong, cc_operation_names[op])
                        : CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct check_options o = {.op = -1, .device = -1};
    struct cc_nccl_log log = {.row = NULL};
    struct cc_nccl_cluster c;
    struct cc_judged judged = {.row = NULL};
    enum cc_operation op;
    const char *path = args->operand[0];
    int status = CC_OK;
    CC_TRY(cc_options_read(args, own_options, &o, e));
    CC_TRY_OUT(cc_nccl_log_read(path, &log, e));
    op = (enum cc_operation)o.op;
    if (o.op < 0 && cc_nccl_log_op(&log, &op, e) != CC_OK) {
        cc_error_in(e, "%s", path);
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(find_cluster(&o, &log, path, op, &c, e));
    CC_TRY_OUT(cc_judge(&log, &c, op, &judged, e));
    CC_TRY_OUT(print(&args->record, path, &o, &log, &c, op, &judged, e));
out:
    cc_judged_free(&judged);
    cc_nccl_log_free(&log);
    cc_options_free(&o);
    return status;
}

const struct cc_command cc_command_check = {
    .name = "check",
    .summary = "nccl-tests' output against what NCCL's constants expect",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Reads what all_reduce_perf, reduce_scatter_perf or all_gather_perf printed, as text or as "
        "JSON (-J), and prints for each size the bus bandwidth that NCCL's own model expects of "
        "the cluster, the measured one, its share, and what is suspicious: a share far below the "
        "others', a latency far above the expected one, more than the link carries, wrong values. "
        "- reads standard input.\n\nRanks, hosts and accelerators come from the log, if it lists "
        "them; the bandwidth between hosts must be given.",
    .examples = "  commcomp check all_reduce.txt\n"
                "  all_reduce_perf -b 8 -e 8G -f 2 -g 8 | commcomp check -\n"
                "  commcomp check two_hosts.txt --nics 8 --bw 200gbps\n"
                "  commcomp check log.json --workers 32 --per-host 8 --bw 400gbps\n",
    .page = "docs/model.md",
    .options = options,
    .columns = columns,
    .run = run,
};
