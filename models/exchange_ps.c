/* Parameter servers: workers push, servers add, workers pull the sum.
 *
 * P workers, S servers, payloads of n bytes up and m bytes down, framing f for each message,
 * alpha and beta of a link, share = the busiest server's part of a message (1/S if it is cut
 * evenly):
 *
 *   push   = alpha + max(max(n + S f, P (share n + f)) beta, (S - 1) o)
 *   server = share (P decode-adds + one encode)
 *   pull   = alpha + max(max(m + S f, P (share m + f)) beta, (P - 1) o)
 *
 * o is the processor's time for each message that a host sends one after the other (LogP's
 * overhead: Culler et al., PPoPP 1993); that of the first is in alpha.
 *
 * With colocated servers, P - 1 in the place of P: what a worker sends to the server on its own
 * host needs no network.
 *
 * The maximum is over the two ports that a direction occupies: the worker's, which sends its own
 * payload, and the busiest server's, which gets its part of everyone's. docs/model.md, "Exchanges".
 */
#include <math.h>

#include "models/exchange_formula.h"

/* The share of a message that a worker sends to other hosts. A colocated server's port is always at
 * least as busy as a worker's: it gets (P - 1) share n, where share is at least 1/S, and S <= P. */
static double remote_share(const struct cc_exchange_case *k)
{
    const struct cc_cluster *c = k->cluster;
    return c->colocated && k->messages > 1 && c->servers == c->workers ? 1 - 1.0 / c->servers : 1;
}

double cc_cost_sent_s(const struct cc_cluster *cluster, const struct cc_link *l,
                      const struct cc_cost *c)
{
    const double remote = cluster->workers - 1;
    /* A host sends over all of its interfaces at once. */
    const double all = (double)cc_cluster_per_host(cluster) / cc_cluster_per_nic(cluster);
    if (!cluster->colocated)
        return fmax(all * c->push_worker_s, c->pull_server_s);
    /* With a server for each worker, the worker's transfer is without its own part already. */
    const double sent_s = c->push_server_s * cc_link_down_bps(l) / cc_link_up_bps(l);
    const double own = cluster->servers < cluster->workers && remote > 0 ? sent_s / remote : 0;
    return c->pull_server_s + c->push_worker_s - own;
}

/* The links between sites. */
static void add_wan(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_cluster *cluster = k->cluster;
    if (cluster->sites <= 1)
        return;
    const bool split = k->messages > 1 && cluster->servers > 1;
    const double flows = cc_wan_flows(cluster, split ? cluster->servers : 1);
    const double slower = k->link->bw_bps / cluster->wan_bps;
    c->push_wan_s = flows * slower * c->push_flow_s;
    c->pull_wan_s = flows * slower * c->pull_flow_s;
    c->push_latency_s += flows > 0 ? cluster->wan_latency_s : 0;
    c->pull_latency_s += flows > 0 ? cluster->wan_latency_s : 0;
}

static void cost(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const struct cc_link *l = k->link;
    const double workers = k->cluster->workers, byte_s = cc_link_byte_s(l);
    const double framing = l->message_bytes, sharing = cc_cluster_per_nic(k->cluster);
    const double up = l->bw_bps / cc_link_up_bps(l), down = l->bw_bps / cc_link_down_bps(l);
    double pull_bytes = cc_pull_bytes(m, k->cluster->workers);
    double remote = workers - k->cluster->colocated, elsewhere = remote_share(k);
    c->push_flow_s = cc_framed(l, k->share * m->push_bytes) * byte_s;
    c->pull_flow_s = cc_framed(l, k->share * pull_bytes) * byte_s;
    c->push_worker_s = sharing * up * elsewhere * (m->push_bytes + k->messages * framing) * byte_s;
    c->push_server_s = down * remote * c->push_flow_s;
    c->pull_worker_s = sharing * down * elsewhere * (pull_bytes + k->messages * framing) * byte_s;
    c->pull_server_s = up * remote * c->pull_flow_s;
    c->push_latency_s = c->pull_latency_s = l->latency_s;
    add_wan(k, c);
    c->push_send_s = fmax(0, k->messages - 1) * l->message_s;
    c->pull_send_s = fmax(0, remote - 1) * l->message_s;
    cc_cost_bound_transfers(c);
    c->encode_s = m->push_encode_s;
    c->server_encode_s = k->share * m->pull_encode_s;
    c->server_codec_s = k->share * workers * m->push_add_s + c->server_encode_s;
    c->decode_s = m->pull_decode_s;
    c->rounds = 2;
    c->messages = k->cluster->colocated ? k->messages - 1 + remote : fmax(k->messages, workers);
    c->wire_bytes = cc_cost_sent_s(k->cluster, l, c) * cc_link_up_bps(l) / 8;
}

/* The server encodes the sum once more, which has P times the squared norm of one gradient. */
static double encodings(const struct cc_cluster *c)
{
    (void)c;
    return 2;
}

const struct cc_exchange_model cc_exchange_model_ps = {.cost = cost, .encodings = encodings};

void cc_cost_bound_transfers(struct cc_cost *c)
{
    c->push_transfer_s =
        fmax(fmax(c->push_send_s, c->push_wan_s), fmax(c->push_worker_s, c->push_server_s));
    c->pull_transfer_s =
        fmax(fmax(c->pull_send_s, c->pull_wan_s), fmax(c->pull_worker_s, c->pull_server_s));
}
