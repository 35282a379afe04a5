/* Costs of exchanges: the table of formulas, and what token buckets do to their results. */
#include "models/exchange.h"

#include <math.h>
#include <stddef.h>

#include "models/exchange_follow.h"

const char *const cc_union_names[] = {"expected", "same", "disjoint", "measured", NULL};

#define MODEL(id, symbol, ...) &cc_exchange_model_##symbol,
static const struct cc_exchange_model *const models[] = {CC_EXCHANGES(MODEL)};

int cc_exchange_check(enum cc_exchange x, enum cc_reduction r, const char *scheme,
                      struct cc_error *e)
{
    if (!cc_exchange_has(x, CC_X_MERGES) || r != CC_REDUCE_DECODED)
        return CC_OK;
    return cc_usage(e,
                    "%s merges index-value pairs, and %s sends none: exchange it by ps, "
                    "allgather or ring",
                    cc_exchange_names[x], scheme);
}

enum cc_element cc_exchange_plain(enum cc_exchange x, enum cc_element dtype)
{
    return cc_exchange_has(x, CC_X_LIBRARY) || cc_exchange_has(x, CC_X_MERGES) ? CC_ELEMENT_FP32
                                                                               : dtype;
}

/* Whether payloads travel by allgather because the exchange cannot sum them and the setting has it
 * so. */
static bool by_allgather(enum cc_exchange x, enum cc_reduction r, enum cc_via via)
{
    return r != CC_REDUCE_SUM && via == CC_VIA_ALLGATHER && cc_exchange_has(x, CC_X_RECODES);
}

/* A message in chunks, each one stage behind the one before: all of the first, and for each other
 * one what the busiest of the links and the processor does for it. */
static void in_chunks(enum cc_exchange x, const struct cc_exchange_case *k, struct cc_cost *out)
{
    const double chunks = k->cluster->chunks;
    struct cc_payload_cost part = {0};
    double *to = (double *)&part;
    const double *from = (const double *)k->message;
    for (size_t i = 0; i < sizeof part / sizeof *to; i++)
        to[i] = from[i] / chunks;
    struct cc_exchange_case of = *k;
    struct cc_cost one = {0};
    of.message = &part;
    models[x]->cost(&of, &one);
    const double all = cc_cost_comm(&one) + cc_cost_codec(&one) - cc_cost_beside(&one);
    const double work = cc_cost_codec(&one) + one.reduce_s;
    const double links = fmax(one.push_inner_s, one.push_transfer_s - one.push_inner_s);
    /* The next one begins after a round. */
    const double behind = fmax(fmax(work, links), all / fmax(1, one.rounds));
    cc_cost_add(out, &one, chunks);
    out->chunks_beside_s = fmax(0, (chunks - 1) * (all - behind));
}

/* How the message is followed; without a schedule, it is not. A ring over hosts of several workers
 * passes messages on in order, each alone on its link, which ring's formula has. Between sites,
 * ranks of equal places in their hosts differ. */
static struct cc_followed followed(enum cc_exchange x, const struct cc_cluster *c)
{
    const struct cc_exchange_model *m = models[x];
    const bool sites = c->sites > 1;
    const bool by_formula = (m->in_chunks_only && c->chunks <= 1 && !sites) ||
                            (x == CC_HIERARCHICAL && c->per_host <= 1 && !sites) ||
                            (cc_exchange_has(x, CC_X_NEIGHBOUR) && cc_cluster_two_classes(c));
    return (struct cc_followed){.build = by_formula ? NULL : m->schedule,
                                .alike =
                                    m->all_differ || sites ? c->workers : cc_cluster_per_host(c)};
}

/* Sets what the stages of a cost do at the same time, so that together they take that long. */
static void set_together(enum cc_reduction r, double takes, struct cc_cost *c)
{
    c->chunks_beside_s = 0;
    /* Encoding before and decoding after are not part of a sum of floats. */
    const double all =
        cc_cost_comm(c) - cc_cost_beside(c) + (r == CC_REDUCE_SUM ? 0 : cc_cost_codec(c));
    c->chunks_beside_s = fmax(0, all - takes);
    c->push_latency_s += fmax(0, takes - all);
}

void cc_exchange_cost(enum cc_exchange x, const struct cc_payload_cost *m, enum cc_reduction r,
                      const struct cc_cluster *cluster, const struct cc_link *l, double share,
                      double messages, struct cc_cost *out)
{
    const struct cc_exchange_case k = {.message = m,
                                       .reduction = r,
                                       .cluster = cluster,
                                       .link = l,
                                       .share = share,
                                       .messages = messages};
    *out = (struct cc_cost){0};
    if (!cc_exchange_has(x, CC_X_SERVERS) && cluster->workers == 1)
        return;
    if (by_allgather(x, r, cluster->via))
        cc_cost_allgather(&k, out);
    else if (cluster->chunks > 1 && cc_exchange_has(x, CC_X_RECODES) && !models[x]->own_chunks)
        in_chunks(x, &k, out);
    else
        models[x]->cost(&k, out);
    const struct cc_followed by = followed(x, cluster);
    if (!by_allgather(x, r, cluster->via) && by.build != NULL && cc_can_follow(&k, by))
        set_together(r, cc_follow(&k, by), out);
    out->formula_s = cluster->by_formula ? cc_cost_comm(out) : 0;
    if (r == CC_REDUCE_DECODED && m->verbatim == m->values) { /* no codec works: values are added */
        out->reduce_s += out->hop_codec_s;
        out->hop_codec_s = 0;
    }
}

double cc_exchange_off(enum cc_exchange x, enum cc_reduction r, const struct cc_cluster *c,
                       const struct cc_link *l)
{
    /* Codecs of one chunk work beside the links of another: simulated up to 16%; between sites, one
     * also goes while another waits for their latency: up to 38%. */
    static const double IN_CHUNKS = 0.16, IN_CHUNKS_FAR = 0.38;
    const struct cc_exchange_case k = {.cluster = c, .link = l};
    const struct cc_followed by = followed(x, c);
    if (c->workers < 2 || by_allgather(x, r, c->via))
        return CC_EXCHANGE_OFF;
    if (by.build != NULL && cc_can_follow(&k, by))
        return c->chunks <= 1 ? CC_EXCHANGE_OFF : models[x]->followed_off;
    if (models[x]->off != NULL)
        return models[x]->off(c);
    if (c->chunks > 1 && c->sites > 1 && cc_exchange_has(x, CC_X_RECODES))
        return IN_CHUNKS_FAR;
    return c->chunks > 1 && r != CC_REDUCE_SUM && cc_exchange_has(x, CC_X_RECODES)
               ? IN_CHUNKS
               : CC_EXCHANGE_OFF;
}

double cc_exchange_encodings(enum cc_exchange x, enum cc_reduction r, const struct cc_cluster *c)
{
    bool alone = !cc_exchange_has(x, CC_X_SERVERS) && c->workers == 1;
    if (r == CC_REDUCE_SUM || alone || by_allgather(x, r, c->via) || models[x]->encodings == NULL)
        return 1;
    if (c->op == CC_ALL_GATHER)
        return 1;
    return models[x]->encodings(c) - (c->op == CC_REDUCE_SCATTER ? 1 : 0);
}

double cc_exchange_encoded_bytes(enum cc_exchange x, const struct cc_payload_cost *m,
                                 enum cc_reduction r, const struct cc_cluster *c)
{
    if (r == CC_REDUCE_SUM || by_allgather(x, r, c->via) || models[x]->encoded_bytes == NULL)
        return m->push_bytes;
    return models[x]->encoded_bytes(m, c);
}

double cc_exchange_encoded_share(enum cc_exchange x, enum cc_reduction r,
                                 const struct cc_cluster *c)
{
    const struct cc_payload_cost one = {.values = 1, .push_bytes = 1, .pull_bytes = 1};
    const double share = c->op != CC_ALLREDUCE ? cc_exchange_encoded_bytes(x, &one, r, c) : 1;
    return share > 0 ? share : 1; /* one worker encodes nothing */
}

/* --- token buckets --- */

/* Time a port needs beyond its token bucket: `takes` seconds of sending in `bursts` bursts, `idle`
 * s apart, in which the bucket is refilled up to its size. */
static double past_bucket(double takes, double burst, double bursts, double idle)
{
    return fmax(0, takes - burst - fmax(0, bursts - 1) * fmin(burst, idle));
}

void cc_cost_shaped(enum cc_exchange x, const struct cc_cost *sum, const struct cc_link *l,
                    struct cc_cost *out)
{
    double burst = cc_link_burst_s(l), comm = cc_cost_comm(sum);
    struct cc_cost c = *sum;
    if (cc_exchange_has(x, CC_X_SERVERS)) {
        /* Pushes and pulls take turns: while one direction is used, the other's buckets fill. */
        double all = comm + cc_cost_codec(sum), bursts = sum->rounds / 2;
        double pushed = (all - sum->push_transfer_s) / bursts;
        double pulled = (all - sum->pull_transfer_s) / bursts;
        c.push_worker_s = past_bucket(sum->push_worker_s, burst, bursts, pushed);
        c.push_server_s = past_bucket(sum->push_server_s, burst, bursts, pushed);
        c.pull_worker_s = past_bucket(sum->pull_worker_s, burst, bursts, pulled);
        c.pull_server_s = past_bucket(sum->pull_server_s, burst, bursts, pulled);
        cc_cost_bound_transfers(&c);
    } else {
        double idle =
            (comm - sum->push_transfer_s + sum->hop_codec_s - sum->hop_beside_s) / sum->rounds;
        c.push_transfer_s = past_bucket(sum->push_transfer_s, burst, sum->rounds, idle);
    }
    *out = sum->rounds > 0 ? c : *sum;
}

double cc_cost_port(enum cc_exchange x, const struct cc_cost *sum)
{
    return cc_exchange_has(x, CC_X_SERVERS) ? fmax(sum->push_transfer_s, sum->pull_transfer_s)
                                            : sum->push_transfer_s;
}

/* The parts of a cost, all of which are doubles. */
enum { PARTS = offsetof(struct cc_cost, chosen) / sizeof(double) };

void cc_cost_add(struct cc_cost *sum, const struct cc_cost *c, double times)
{
    double *to = (double *)sum;
    const double *part = (const double *)c;
    for (size_t i = 0; i < PARTS; i++)
        to[i] += times * part[i];
}

void cc_cost_most(struct cc_cost *most, const struct cc_cost *c)
{
    double *to = (double *)most;
    const double *part = (const double *)c;
    for (size_t i = 0; i < PARTS; i++)
        to[i] = fmax(to[i], part[i]);
}
