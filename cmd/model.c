/* commcomp model: what a training step would take, by formulas. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cluster.h"
#include "cmd/coders.h"
#include "cmd/command.h"
#include "core/memory.h"

static const struct cc_column columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default"},
    {"net", "net", "", NULL, 0, "the model that is trained"},
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step"},
    {"exchange", "exchange", "", NULL, 0, "how payloads move and are reduced"},
    {"mode", "mode", "", NULL, 0, "how computing and communicating follow one another in a step"},
    {"workers", "workers", "", "%.0f", 0, "hosts that compute gradients"},
    {"servers", "servers", "", "%.0f", 0, "hosts that sum them; empty but for ps"},
    {"link", NULL, "", NULL, 0, "the link's name"},
    {"bw_bps", "bandwidth", "Mbit/s", "%.6g", 1e-6,
     "line rate of a host's link in each direction, bits per second"},
    {"latency_s", "latency", "us", "%.6g", 1e6, "of a message, whatever its size"},
    {"overhead", NULL, "", "%.4f", 0, "header bytes on the wire for each byte of payload"},
    {"payload_bytes", "payload", "kB", "%.2f", 1e-3,
     "bytes of a worker's push per step, scale factors included (mean over whole periods of the "
     "scheme)"},
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},
    {"ratio", NULL, "", "%.1f", 0, "32 / bits per value"},
    {"bits_push", NULL, "bits", "%.3f", 0,
     "bits per value from worker to server, or to the others"},
    {"bits_pull", NULL, "bits", "%.3f", 0, "bits per value from server to worker"},
    {"compute_s", "compute", "ms", "%.3f", 1e3, "forward and backward pass, and the update"},
    {"codec_s", "codec", "ms", "%.3f", 1e3,
     "encoding and decoding, where nothing hides it: worker, every hop, server, worker"},
    {"comm_s", "comm", "ms", "%.3f", 1e3, "the network: latencies, transfers, adding on the way"},
    {"step_s", "step", "ms", "%.3f", 1e3,
     "a step; less than compute + codec + comm where they overlap"},
    {"step_s_sd", "+-", "ms", "%.3f", 1e3, "standard deviation over steps, with stragglers"},
    {"speedup", "speedup", "", "%.2f", 0,
     "step time of fp32 / step time of the scheme, on the same everything else"},
    {"bottleneck", "bottleneck", "", NULL, 0,
     "what takes longest: compute, codec, latency, bandwidth (of a worker's link) or server port"},
    {"encode_s", NULL, "s", "%.6g", 0, "part of codec_s: the worker encodes"},
    {"hop_codec_s", NULL, "s", "%.6g", 0, "part of codec_s: decode, add, encode between hops"},
    {"server_codec_s", NULL, "s", "%.6g", 0,
     "part of codec_s: the busiest server decodes every push and encodes once"},
    {"decode_s", NULL, "s", "%.6g", 0, "part of codec_s: the worker decodes what comes back"},
    {"alpha_s", NULL, "s", "%.6g", 0, "part of comm_s: latencies"},
    {"transfer_s", NULL, "s", "%.6g", 0, "part of comm_s: bytes over bandwidth"},
    {"reduce_s", NULL, "s", "%.6g", 0, "part of comm_s: adding floats, merging pairs"},
    {"push_s", NULL, "s", "%.6g", 0, "part of comm_s towards the server, or all of it"},
    {"pull_s", NULL, "s", "%.6g", 0, "part of comm_s back from the server"},
    {"wait_s", NULL, "s", "%.6g", 0, "of a worker for slower ones, with stragglers"},
    {"messages", NULL, "", "%.6g", 0, "sent per step by the busiest host"},
    {"rounds", NULL, "", "%.6g", 0, "messages one after another on the critical path of a step"},
    {"wire_bytes", NULL, "", "%.0f", 0, "sent per step by the busiest host, headers included"},
    {"imbalance", "imbalance", "", "%.3f", 0,
     "bytes at the busiest server / mean over the servers; empty with one server"},
    {"efficiency", NULL, "", "%.4f", 0, "compute_s / step_s: Pipe-SGD's scaling efficiency"},
    {"min_size", NULL, "", "%.0f", 0,
     "tensors with fewer values travel as fp32, and count as such"},
    {"profile", NULL, "", NULL, 0, "where sizes and times of the codecs come from"},
    {.key = NULL},
};

static const struct cc_option options[] = {
    CC_CLUSTER_OPTIONS,
    {.name = NULL},
};

struct model {
    struct cc_args *args;
    struct cc_record *record;
    struct cc_cluster_args cluster;
    struct cc_coders coders;
    struct cc_predictor predictor;
    struct cc_parcels *parcels; /* one a scheme */
    struct cc_parcels raw;
    struct cc_error refused; /* why the first scheme that an exchange cannot carry is left out */
    size_t left_out;
};

/* --- rows --- */

static int text_columns(struct model *m, size_t row, size_t scheme, const struct cc_setting *s,
                        const struct cc_prediction *p, struct cc_error *e)
{
    const struct {
        const char *key, *text;
    } all[] = {{"scheme", m->args->schemes.item[scheme]->name},
               {"net", s->net->name},
               {"exchange", cc_exchange_names[s->exchange]},
               {"mode", cc_step_names[s->timing.mode]},
               {"link", s->link.name},
               {"bottleneck", cc_bottleneck_names[p->bottleneck]},
               {"profile", m->coders.source}};
    int status = CC_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == CC_OK; i++)
        status = cc_record_text(m->record, row, all[i].key, all[i].text, e);
    return status;
}

static void setting_columns(struct cc_record *r, size_t row, const struct cc_setting *s,
                            const struct cc_prediction *p)
{
    cc_record_number(r, row, "workers", s->cluster.workers);
    if (s->exchange == CC_PS)
        cc_record_number(r, row, "servers", s->cluster.servers);
    if (s->exchange == CC_PS && s->cluster.servers > 1)
        cc_record_number(r, row, "imbalance", p->imbalance);
    cc_record_number(r, row, "bw_bps", s->link.bw_bps);
    cc_record_number(r, row, "latency_s", s->link.latency_s);
    cc_record_number(r, row, "overhead", s->link.overhead);
    if (s->timing.straggler != CC_STEADY) {
        cc_record_number(r, row, "step_s_sd", p->step_sd);
        cc_record_number(r, row, "wait_s", p->wait_s);
    }
}

static void prediction_columns(struct cc_record *r, size_t row, const struct cc_prediction *p,
                               double fp32_step_s)
{
    const struct {
        const char *key;
        double value;
    } all[] = {{"values", p->values},
               {"payload_bytes", p->payload_bytes},
               {"bits_per_value", p->bits_push},
               {"ratio", 32 / p->bits_push},
               {"bits_push", p->bits_push},
               {"bits_pull", p->bits_pull},
               {"compute_s", p->compute_s},
               {"codec_s", p->codec_s},
               {"comm_s", p->comm_s},
               {"step_s", p->step_s},
               {"speedup", fp32_step_s / p->step_s},
               {"encode_s", p->encode_s},
               {"hop_codec_s", p->hop_codec_s},
               {"server_codec_s", p->server_codec_s},
               {"decode_s", p->decode_s},
               {"alpha_s", p->latency_s},
               {"transfer_s", p->transfer_s},
               {"reduce_s", p->reduce_s},
               {"push_s", p->push_s},
               {"pull_s", p->pull_s},
               {"messages", p->messages},
               {"rounds", p->rounds},
               {"wire_bytes", p->wire_bytes},
               {"efficiency", p->efficiency}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cc_record_number(r, row, all[i].key, all[i].value);
}

static int add_row(struct model *m, size_t scheme, const struct cc_setting *s, double fp32_step_s,
                   struct cc_error *e)
{
    struct cc_prediction p;
    int status = cc_predict(&m->predictor, s, &m->parcels[scheme], &p, e);
    if (status != CC_OK)
        return status;
    size_t row = cc_record_add(m->record, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    setting_columns(m->record, row, s, &p);
    prediction_columns(m->record, row, &p, fp32_step_s);
    cc_record_number(m->record, row, "min_size", (double)m->cluster.min_size);
    return text_columns(m, row, scheme, s, &p, e);
}

/* --- the reading aid --- */

static double number(const struct cc_record *r, size_t row, const char *key)
{
    return cc_record_value(r, row, key)->number;
}

enum { MOST_NOTES = 12 };

/* Which of rows [first, end) is fastest. */
static int note_fastest(struct model *m, size_t first, const struct cc_setting *s,
                        struct cc_error *e)
{
    struct cc_record *r = m->record;
    size_t best = first;
    if (r->row_count - first < 2 || r->note_count >= MOST_NOTES)
        return CC_OK;
    for (size_t i = first; i < r->row_count; i++)
        if (number(r, i, "step_s") < number(r, best, "step_s"))
            best = i;
    return cc_record_note(r, e,
                          "%s at %s, %d workers: %s is fastest, %.3g ms a step, %.2f times as fast "
                          "as fp32; what takes longest is %s",
                          cc_exchange_names[s->exchange], s->link.name, s->cluster.workers,
                          cc_record_value(r, best, "scheme")->text, 1e3 * number(r, best, "step_s"),
                          number(r, best, "speedup"), cc_record_value(r, best, "bottleneck")->text);
}

static int one_setting(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    struct model *m = arg;
    struct cc_setting s = *given;
    struct cc_prediction raw;
    size_t first = m->record->row_count;
    s.cluster.reduce_byte_s = cc_coders_reduce_byte_s(&m->coders, (double)s.net->values);
    int status = cc_predict(&m->predictor, &s, &m->raw, &raw, e);
    for (size_t i = 0; i < m->args->schemes.count && status == CC_OK; i++) {
        struct cc_error why;
        if (cc_exchange_check(s.exchange, m->parcels[i].reduction, m->parcels[i].scheme, &why) ==
            CC_OK)
            status = add_row(m, i, &s, raw.step_s, e);
        else if (m->left_out++ == 0)
            m->refused = why;
    }
    return status == CC_OK ? note_fastest(m, first, &s, e) : status;
}

static int notes(struct model *m, struct cc_error *e)
{
    struct cc_record *r = m->record;
    const struct cc_net *net = m->cluster.net;
    const struct cc_profile *p = &m->coders.profile;
    int status = CC_OK;
    if (r->row_count == 0)
        return cc_usage(e, "%s", m->refused.text);
    if (m->left_out > 0)
        status = cc_record_note(r, e, "%zu rows are left out: %s%s", m->left_out, m->refused.text,
                                m->left_out > 1 ? "; likewise the others" : "");
    if (status == CC_OK)
        status = cc_record_note(r, e, "codec profile: %s (%s, %s, %s, %s)", m->coders.source,
                                p->trace, p->cpu, p->isa, p->time);
    if (status == CC_OK && m->coders.raw_given)
        status = cc_record_note(r, e,
                                "the profile has no fp32: it is taken as 32 bits a value that "
                                "cost no codec time");
    if (status == CC_OK && cc_arg(m->args, "compute") == NULL)
        status = net->compute_s > 0
                     ? cc_record_note(r, e, "compute time: %.4g ms, the preset of %s (%s)",
                                      1e3 * net->compute_s, net->name, net->compute_source)
                     : cc_record_note(r, e, "compute time: 0, as %s has no preset; give --compute",
                                      net->name);
    return status;
}

/* --- the command --- */

static int make_parcels(struct model *m, struct cc_error *e)
{
    const struct cc_net *net = m->cluster.net;
    const struct cc_coder *raw = &m->coders.raw;
    m->parcels = cc_alloc0(m->args->schemes.count * sizeof *m->parcels, e);
    if (m->parcels == NULL || cc_parcels_make(net, raw, raw, 0, &m->raw, e) != CC_OK)
        return CC_FAIL;
    for (size_t i = 0; i < m->args->schemes.count; i++)
        if (cc_parcels_make(net, &m->coders.coder[i], raw, m->cluster.min_size, &m->parcels[i],
                            e) != CC_OK)
            return CC_FAIL;
    return CC_OK;
}

static void close_model(struct model *m)
{
    for (size_t i = 0; m->parcels != NULL && i < m->args->schemes.count; i++)
        cc_parcels_free(&m->parcels[i]);
    free(m->parcels);
    cc_parcels_free(&m->raw);
    cc_predictor_free(&m->predictor);
    cc_coders_free(&m->coders);
    cc_cluster_args_free(&m->cluster);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct model m = {.args = args, .record = &args->record};
    int status = cc_cluster_args_parse(args, &m.cluster, e);
    if (status == CC_OK && args->schemes.count == 0)
        status = cc_spec_list_parse("all", &args->schemes, e);
    if (status == CC_OK)
        status = cc_coders_open(args, &args->schemes, &m.coders, e);
    if (status == CC_OK)
        status = make_parcels(&m, e);
    if (status == CC_OK)
        status = cc_cluster_args_each(&m.cluster, one_setting, &m, e);
    if (status == CC_OK)
        status = notes(&m, e);
    close_model(&m);
    return status;
}

const struct cc_command cc_command_model = {
    .name = "model",
    .summary = "what a training step would take on your network, by formulas",
    .operands = "",
    .description =
        "Predicts the time of a step for each scheme, its parts, and the speedup over 32-bit "
        "floats, from the net's tensors, the cluster, the exchange's formula and the codecs' "
        "profile. docs/model.md has every formula and where it comes from.\n\n--bw, --latency, "
        "--workers, --servers and --exchange take lists: a row for every combination. Without "
        "--scheme, the whole catalogue.",
    .examples =
        "  commcomp model --bw 10mbps                          # every scheme, ten workers\n"
        "  commcomp model --net resnet50 --bw 1gbps,10gbps,25gbps --workers 4,16,64 "
        "--scheme paper\n"
        "  commcomp model --net bert-base --exchange ring,rabenseifner --bw infiniband\n"
        "  commcomp model --net vgg16 --servers 4 --placement lpt --mode overlap\n"
        "  commcomp model --exchange ssar-split,dsar-split --scheme topk,dgc,fp32\n"
        "  commcomp model --stragglers lognormal --consistency stale --staleness 3\n"
        "  commcomp model --net my.json --compute 80ms --profile mine.json --bw wan\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
