#include "models/exchange.h"

#include <math.h>
#include <stddef.h>

#include "models/exchange_impl.h"

const char *const cc_exchange_names[] = {"ps",         "ring", "recdouble",      "rabenseifner",
                                         "allgather",  "mpi",  "ssar-recdouble", "ssar-split",
                                         "dsar-split", NULL};
const char *const cc_via_names[] = {"hops", "allgather", NULL};
const char *const cc_union_names[] = {"expected", "same", "disjoint", NULL};

int cc_power_below(int p)
{
    int power = 1;
    while (power <= p / 2)
        power *= 2;
    return power;
}

int cc_log2(int power)
{
    int log = 0;
    while (power > 1) {
        power /= 2;
        log++;
    }
    return log;
}

int cc_log2_up(int p)
{
    return cc_log2(cc_power_below(p)) + (cc_power_below(p) < p);
}

/* Payload and framing of a message on the wire, headers aside. */
static double framed(const struct cc_link *l, double bytes)
{
    return bytes + l->message_bytes;
}

void cc_rounds(const struct cc_exchange_case *k, double count, double bytes, bool sent,
               struct cc_cost *c)
{
    double wire = count * framed(k->link, bytes);
    c->push_latency_s += count * k->link->latency_s;
    c->push_transfer_s += wire * cc_link_byte_s(k->link);
    c->rounds += count;
    if (sent) {
        c->messages += count;
        c->wire_bytes += wire * (1 + k->link->overhead);
    }
}

/* Workers push to servers, which add, and pull what those send back: alpha + max(own bytes, bytes
 * at the busiest server) beta each way. */
static void parameter_server(const struct cc_exchange_case *k, double share, double pieces,
                             struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const struct cc_link *l = k->link;
    double workers = k->cluster->workers, byte_s = cc_link_byte_s(l), framing = l->message_bytes;
    c->push_worker_s = (m->push_bytes + pieces * framing) * byte_s;
    c->push_server_s = workers * framed(l, share * m->push_bytes) * byte_s;
    c->pull_worker_s = (m->pull_bytes + pieces * framing) * byte_s;
    c->pull_server_s = workers * framed(l, share * m->pull_bytes) * byte_s;
    c->push_latency_s = c->pull_latency_s = l->latency_s;
    c->push_transfer_s = fmax(c->push_worker_s, c->push_server_s);
    c->pull_transfer_s = fmax(c->pull_worker_s, c->pull_server_s);
    c->encode_s = m->push_encode_s;
    c->server_encode_s = share * m->pull_encode_s;
    c->server_codec_s = share * workers * m->push_add_s + c->server_encode_s;
    c->decode_s = m->pull_decode_s;
    c->rounds = 2;
    c->messages = fmax(pieces, workers);
    c->wire_bytes = fmax(c->push_worker_s, c->pull_server_s) / byte_s * (1 + l->overhead);
}

/* The library's own allreduce: taken to choose as well as possible. What it cannot sum is gathered.
 */
static void library(const struct cc_exchange_case *k, struct cc_cost *c)
{
    static void (*const formula[])(const struct cc_exchange_case *, struct cc_cost *) = {
        cc_cost_ring, cc_cost_recdouble, cc_cost_rabenseifner};
    cc_cost_ring(k, c);
    for (size_t i = 1; i < sizeof formula / sizeof formula[0]; i++) {
        struct cc_cost other = {0};
        formula[i](k, &other);
        if (cc_cost_comm(&other) < cc_cost_comm(c))
            *c = other;
    }
}

int cc_exchange_check(enum cc_exchange x, enum cc_reduction r, const char *scheme,
                      struct cc_error *e)
{
    bool sparse = x == CC_SSAR_RECDOUBLE || x == CC_SSAR_SPLIT || x == CC_DSAR_SPLIT;
    if (sparse && r == CC_REDUCE_DECODED)
        return cc_usage(e,
                        "%s merges index-value pairs, and %s sends none: exchange it by ps, "
                        "allgather or ring",
                        cc_exchange_names[x], scheme);
    return CC_OK;
}

void cc_exchange_cost(enum cc_exchange x, const struct cc_payload_cost *m, enum cc_reduction r,
                      const struct cc_cluster *cluster, const struct cc_link *l, double share,
                      double pieces, struct cc_cost *out)
{
    const struct cc_exchange_case k = {.message = m, .reduction = r, .cluster = cluster, .link = l};
    *out = (struct cc_cost){0};
    if (x == CC_PS) {
        parameter_server(&k, share, pieces, out);
        return;
    }
    if (cluster->workers == 1)
        return;
    bool gathers = r != CC_REDUCE_SUM && (x == CC_MPI || cluster->via == CC_VIA_ALLGATHER);
    switch (x) {
    case CC_SSAR_RECDOUBLE:
        cc_cost_ssar_recdouble(&k, out);
        break;
    case CC_SSAR_SPLIT:
        cc_cost_ssar_split(&k, out);
        break;
    case CC_DSAR_SPLIT:
        cc_cost_dsar_split(&k, out);
        break;
    case CC_RING:
        (gathers ? cc_cost_allgather : cc_cost_ring)(&k, out);
        break;
    case CC_RECDOUBLE:
        (gathers ? cc_cost_allgather : cc_cost_recdouble)(&k, out);
        break;
    case CC_RABENSEIFNER:
        (gathers ? cc_cost_allgather : cc_cost_rabenseifner)(&k, out);
        break;
    case CC_MPI:
        (gathers ? cc_cost_allgather : library)(&k, out);
        break;
    default:
        cc_cost_allgather(&k, out);
        break;
    }
}

/* --- token buckets --- */

/* A port sends for `takes` seconds in all, in so many goes with `idle` seconds between two; then as
 * much is there again as idle brought, or the bucket holds. */
static double past_bucket(double takes, double burst, double goes, double idle)
{
    return fmax(0, takes - burst - fmax(0, goes - 1) * fmin(burst, idle));
}

void cc_cost_shaped(enum cc_exchange x, const struct cc_cost *sum, const struct cc_link *l,
                    struct cc_cost *out)
{
    double burst = cc_link_burst_s(l), comm = cc_cost_comm(sum);
    struct cc_cost c = *sum;
    if (x == CC_PS) {
        /* A message goes one way and then the other; meanwhile the first way's ports wait. */
        double all = comm + cc_cost_codec(sum), goes = sum->rounds / 2;
        double pushed = (all - sum->push_transfer_s) / goes;
        double pulled = (all - sum->pull_transfer_s) / goes;
        c.push_worker_s = past_bucket(sum->push_worker_s, burst, goes, pushed);
        c.push_server_s = past_bucket(sum->push_server_s, burst, goes, pushed);
        c.pull_worker_s = past_bucket(sum->pull_worker_s, burst, goes, pulled);
        c.pull_server_s = past_bucket(sum->pull_server_s, burst, goes, pulled);
        c.push_transfer_s = fmax(c.push_worker_s, c.push_server_s);
        c.pull_transfer_s = fmax(c.pull_worker_s, c.pull_server_s);
    } else {
        double idle = (comm - sum->push_transfer_s + sum->hop_codec_s) / sum->rounds;
        c.push_transfer_s = past_bucket(sum->push_transfer_s, burst, sum->rounds, idle);
    }
    *out = sum->rounds > 0 ? c : *sum;
}

double cc_cost_port(enum cc_exchange x, const struct cc_cost *sum)
{
    return x == CC_PS ? fmax(sum->push_transfer_s, sum->pull_transfer_s) : sum->push_transfer_s;
}

void cc_cost_add(struct cc_cost *sum, const struct cc_cost *c, double times)
{
    sum->encode_s += times * c->encode_s;
    sum->push_latency_s += times * c->push_latency_s;
    sum->push_transfer_s += times * c->push_transfer_s;
    sum->reduce_s += times * c->reduce_s;
    sum->hop_codec_s += times * c->hop_codec_s;
    sum->server_codec_s += times * c->server_codec_s;
    sum->server_encode_s += times * c->server_encode_s;
    sum->pull_latency_s += times * c->pull_latency_s;
    sum->pull_transfer_s += times * c->pull_transfer_s;
    sum->decode_s += times * c->decode_s;
    sum->rounds += times * c->rounds;
    sum->messages += times * c->messages;
    sum->wire_bytes += times * c->wire_bytes;
    sum->push_worker_s += times * c->push_worker_s;
    sum->push_server_s += times * c->push_server_s;
    sum->pull_worker_s += times * c->pull_worker_s;
    sum->pull_server_s += times * c->pull_server_s;
}
