/* Exchanges that reduce whole vectors: ring, recursive doubling, Rabenseifner's algorithm,
 * two-shot, Bruck's allgather, and the MPI library's own allreduce.
 *
 * P workers, p' the largest power of two up to P, r = P - p', payloads of n bytes; a message of b
 * bytes takes alpha + b beta, adding a byte of floats gamma; E, D and A are the times to encode a
 * payload, to decode it, and to decode it onto a sum. Payloads that are floats:
 *
 *   ring          2 (P-1) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma      Pipe-SGD, equation 5
 *   recdouble     (lg p' + 2 [r>0]) (alpha + n beta) + (lg p' + [r>0]) n gamma
 *   rabenseifner  2 lg p' alpha + 2 (p'-1)/p' n beta + (p'-1)/p' n gamma
 *                 + [r>0] (2 alpha + 2 n beta + n gamma)                  Rabenseifner 2004
 *   twoshot       2 alpha + 2 (P-1)/P n beta + (P-1)/P n gamma
 *   hierarchical  twoshot's among the G workers of a host, with alpha and beta inside it; and among
 *                 the H hosts, of n/G bytes
 *   allgather     ceil(lg P) alpha + (P-1) n beta                         Bruck et al. 1997
 *   mpi           the fastest of the first three
 *
 * Other payloads are decoded, added to and encoded at every hop. All workers must end with the same
 * bits, so a worker that goes on with a sum that it has sent decodes its own encoding of it. n is
 * then the size of the partial sum that travels: hop(m) bytes over m workers, hop(1) = n. Which
 * sums add up to a partial one differs between these exchanges, and hop() has been measured as the
 * ring adds them. docs/model.md, "Exchanges".
 */
#include <math.h>
#include <stddef.h>

#include "models/exchange_formula.h"

/* Bytes of a partial sum over `workers` workers; sums of floats are all of one size. */
static double partial(const struct cc_exchange_case *k, int workers)
{
    return k->reduction == CC_REDUCE_SUM ? k->message->push_bytes
                                         : cc_hop_bytes(k->message, workers);
}

/* The mean of hop(1) to hop(workers); in a ring, a worker encodes one chunk as the sum of each
 * number of gradients. */
static double mean_hop_bytes(const struct cc_payload_cost *m, int workers)
{
    const int different = workers < CC_SUM_WORKERS ? workers : CC_SUM_WORKERS;
    double sum = (workers - different) * cc_hop_bytes(m, CC_SUM_WORKERS);
    for (int i = 1; i <= different; i++)
        sum += cc_hop_bytes(m, i);
    return sum / workers;
}

/* The time of encoding a sum, which is float32 whatever gradients are. */
static double sum_encode_s(const struct cc_payload_cost *m)
{
    return m->push_encode_s + m->sum_more_s;
}

/* The same of sums whose share of `encoded` encodings is not the gradient itself. */
static double encode_s(const struct cc_payload_cost *m, double encoded, double sums)
{
    return encoded * m->push_encode_s + sums * m->sum_more_s;
}

/* One of a ring's two tours. */
static void ring_tour(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const double p = k->cluster->workers, part = (p - 1) / p;
    const bool sums = k->reduction == CC_REDUCE_SUM, reduces = cc_reduces(k->cluster);
    const double each = (sums      ? m->push_bytes
                         : reduces ? mean_hop_bytes(m, k->cluster->workers - 1)
                                   : cc_hop_bytes(m, 1)) /
                        p;
    const double work = !reduces ? 0
                        : sums   ? part * m->push_bytes * k->cluster->reduce_byte_s
                                 : encode_s(m, part, part - 1 / p) + part * m->push_add_s;
    const double left = cc_add_ring(k, 1, each, 0, work, c);
    *(sums ? &c->reduce_s : &c->hop_codec_s) = work;
    c->hop_beside_s = work * (1 - left);
    if (!sums && !reduces) {
        /* As in the second tour of both: a chunk is decoded while the next one comes. */
        const double round_s = (c->push_latency_s + c->push_transfer_s) / (p - 1);
        c->encode_s = m->push_encode_s / p;
        c->decode_s = m->push_decode_s;
        c->decode_beside_s = (p - 1) * fmin(m->push_decode_s / p, round_s);
    }
}

/* Chunks of n/P bytes travel round the ring once to be reduced and once more to reach everyone. A
 * chunk is encoded before each of the P - 1 hops of the first tour and once when it is complete;
 * the second tour forwards it unchanged, and every worker decodes all P chunks. */
static void ring(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    double p = k->cluster->workers, part = (p - 1) / p;
    if (k->cluster->op != CC_ALLREDUCE) {
        ring_tour(k, c);
    } else if (k->reduction == CC_REDUCE_SUM) {
        const double work = part * m->push_bytes * k->cluster->reduce_byte_s;
        c->reduce_s = work;
        c->hop_beside_s =
            work * (1 - cc_add_ring(k, 2, m->push_bytes / p, m->push_bytes / p, work, c));
        cc_encode_once(k, c);
    } else {
        const double work = encode_s(m, 1, part) + part * m->push_add_s;
        const double second = cc_hop_bytes(m, k->cluster->workers) / p;
        const double first = mean_hop_bytes(m, k->cluster->workers - 1) / p;
        c->hop_codec_s = work;
        c->hop_beside_s = work * (1 - cc_add_ring(k, 2, first, second, work, c));
        c->decode_s = m->push_decode_s;
        /* A chunk is decoded while the next one comes, but for the last. */
        const double round_s = (c->push_latency_s + c->push_transfer_s) / (2 * (p - 1));
        c->decode_beside_s = (p - 1) * fmin(m->push_decode_s / p, round_s);
    }
}

static double ring_encoded_bytes(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    const double p = c->workers;
    if (c->op == CC_ALL_GATHER)
        return cc_hop_bytes(m, 1) / p;
    return c->op == CC_ALLREDUCE ? mean_hop_bytes(m, c->workers)
                                 : (p - 1) / p * mean_hop_bytes(m, c->workers - 1);
}

/* Encoding a sum of m gradients adds m parts of P to the squared error: (1 + 2 + ... + P) / P. */
static double ring_encodings(const struct cc_cluster *c)
{
    return (c->workers + 1.0) / 2;
}

/* Whole vectors travel between ranks 1, 2, 4, ... apart. Each of the r ranks beyond the power of
 * two hands its vector to a partner first and gets the result last. */
static void recdouble(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    int workers = k->cluster->workers, power = cc_power_below(workers), extra = workers - power;
    double log = cc_log2(power), more = extra > 0;
    struct cc_rounds r = {.count = 0};
    if (extra > 0)
        cc_round(&r, CC_PAIR_EXTRAS, 1, partial(k, 1), false)->add_s = m->push_add_s;
    for (int held = 1; held < power; held *= 2)
        cc_round(&r, CC_PAIR_MEMBERS, held, partial(k, cc_most_summed(held, extra)), true)->add_s =
            m->push_decode_s + m->push_add_s;
    for (int i = 0; i < r.count; i++)
        r.item[i].encode_s = i == 0 ? m->push_encode_s : sum_encode_s(m);
    if (extra > 0) {
        struct cc_partners *whole = cc_round(&r, CC_PAIR_EXTRAS, 1, partial(k, workers), true);
        whole->back = true;
        whole->encode_s = sum_encode_s(m);
        whole->own_s = whole->after_s = m->push_decode_s;
    }
    cc_add_partners(k, &r, c);
    if (k->reduction == CC_REDUCE_SUM) {
        cc_encode_once(k, c);
        c->reduce_s = (log + more) * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        c->hop_codec_s = encode_s(m, log + 2 * more, log + 2 * more - 1) +
                         (log + more) * m->push_add_s + log * m->push_decode_s;
        c->decode_s = more * m->push_decode_s;
        cc_hide_work(k, &r, c);
    }
}

/* Every gradient is encoded in each of the lg p' rounds; those of the r ranks once before, and the
 * result once after. */
static double recdouble_encodings(const struct cc_cluster *c)
{
    double p = c->workers, rounds = floor(log2(p)), rest = p - exp2(rounds);
    return rounds + (rest > 0 ? rest / p + 1 : 0);
}

/* Halves, quarters, ... are reduced and then gathered in the opposite order. Each of the r ranks
 * beyond the power of two hands its vector to a partner first and gets the result last. */
static void rabenseifner(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    int workers = k->cluster->workers, ranks = cc_power_below(workers), extra = workers - ranks;
    double power = ranks, part = (power - 1) / power, more = extra > 0;
    struct cc_rounds r = {.count = 0};
    struct cc_partners *p;
    if (extra > 0) {
        p = cc_round(&r, CC_PAIR_EXTRAS, 1, partial(k, 1), false);
        p->encode_s = m->push_encode_s;
        p->add_s = m->push_add_s;
    }
    for (int held = 1; held < ranks; held *= 2) {
        p = cc_round(&r, CC_PAIR_MEMBERS, ranks / (2 * held),
                     partial(k, cc_most_summed(held, extra)) / (2 * held), true);
        p->encode_s = (r.count == 1 ? m->push_encode_s : sum_encode_s(m)) / (2 * held);
        p->add_s = m->push_add_s / (2 * held);
    }
    for (int held = 1; held < ranks; held *= 2) {
        p = cc_round(&r, CC_PAIR_MEMBERS, held, held / power * partial(k, workers), true);
        p->encode_s = held == 1 ? sum_encode_s(m) / power : 0;
        p->own_s = held == 1 ? m->push_decode_s / power : 0;
        p->after_s = held / power * m->push_decode_s;
    }
    if (extra > 0) {
        p = cc_round(&r, CC_PAIR_EXTRAS, 1, partial(k, workers), true);
        p->back = true;
        p->after_s = m->push_decode_s;
    }
    cc_add_partners(k, &r, c);
    if (k->reduction == CC_REDUCE_SUM) {
        cc_encode_once(k, c);
        c->reduce_s = (part + more) * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        /* Encoded: every half that is sent, and once the rank's own part of the sum. */
        const double all = part + 1 / power + more, first = extra > 0 || ranks == 1 ? more : 0.5;
        c->hop_codec_s = encode_s(m, all, all - first) + (part + more) * m->push_add_s;
        c->decode_s = m->push_decode_s;
        cc_hide_work(k, &r, c);
    }
}

/* A worker encodes half of a gradient, a quarter of the sum of two, ..., and its own part of the
 * result. */
static double rabenseifner_encoded_bytes(const struct cc_payload_cost *m,
                                         const struct cc_cluster *c)
{
    const int power = cc_power_below(c->workers);
    double sum = cc_hop_bytes(m, c->workers) / power;
    for (int held = 1; held < power; held *= 2)
        sum += cc_hop_bytes(m, held) / (2 * held);
    return sum;
}

/* Half of every gradient is encoded in each round, those of the r ranks once before, and the
 * result's parts once. */
static double rabenseifner_encodings(const struct cc_cluster *c)
{
    double p = c->workers, rounds = floor(log2(p)), rest = p - exp2(rounds);
    return rounds / 2 + rest / p + 1;
}

/* Bruck's: in each round a worker sends what it has, or what the other still lacks. */
void cc_cost_allgather(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const int workers = k->cluster->workers;
    struct cc_rounds r = {.count = 0};
    for (int have = 1; have < workers; have *= 2)
        cc_round(&r, CC_PAIR_BELOW, have,
                 (have < workers - have ? have : workers - have) * m->push_bytes, true);
    cc_add_partners(k, &r, c);
    c->encode_s = m->push_encode_s;
    c->decode_s = workers * m->push_add_s;
}

/* The codec work of a two-shot exchange that is done while its messages are under way: a payload is
 * encoded while those before are sent, and those that come first are added before the last is
 * there. A rank decodes its own part of the sum while others' come. Nothing of the kind holds for
 * these, which come together. */
static void two_shots_beside(const struct cc_exchange_case *k, const double transfer_s[2],
                             struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const double p = k->cluster->workers, part = (p - 1) / p, latency_s = k->link->latency_s;
    if (cc_reduces(k->cluster)) {
        const double apart = part * (m->push_encode_s + m->push_add_s) + latency_s + transfer_s[0];
        const double hidden = apart - cc_stage_sums_s(p - 1, m->push_encode_s / p, latency_s,
                                                      transfer_s[0] / (p - 1), m->push_add_s / p);
        c->encode_beside_s = fmin(hidden, (p - 2) / p * m->push_encode_s);
        c->hop_beside_s = fmax(0, hidden - c->encode_beside_s);
    }
    c->decode_beside_s = fmin(c->decode_s / p, latency_s + transfer_s[1]);
}

/* Bytes of the whole sum, which may have a scheme of its own. */
static double whole_sum(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    const int workers = c->op == CC_ALL_GATHER ? 1 : c->workers; /* whose sum a part is */
    return c->gather != NULL ? m->pull_bytes : cc_hop_bytes(m, workers);
}

/* The time of encoding the whole sum; of an all-gather, the gradient. */
static double whole_encode_s(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    return c->gather != NULL        ? m->pull_encode_s
           : c->op == CC_ALL_GATHER ? m->push_encode_s
                                    : sum_encode_s(m);
}

/* Every worker sends part j of its payload to worker j, which adds what it gets; then every worker
 * sends its sum to all others. Each stage's P - 1 messages are under way together. */
static void twoshot(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const double p = k->cluster->workers, part = (p - 1) / p;
    const bool reduces = cc_reduces(k->cluster), gathers = cc_gathers(k->cluster);
    const bool sums = k->reduction == CC_REDUCE_SUM, gather = k->cluster->gather != NULL;
    const double first = partial(k, 1) / p;
    const double second = sums ? first : whole_sum(m, k->cluster) / p;
    if (reduces)
        cc_add_stage(k, first, c);
    double transfer_s[2] = {c->push_transfer_s, 0};
    if (gathers)
        cc_add_stage(k, second, c);
    transfer_s[1] = c->push_transfer_s - transfer_s[0];
    if (sums) {
        cc_encode_once(k, c);
        c->reduce_s = reduces * part * m->push_bytes * k->cluster->reduce_byte_s;
        return;
    }
    c->encode_s = reduces * part * m->push_encode_s;
    c->hop_codec_s = reduces * part * m->push_add_s + gathers * whole_encode_s(m, k->cluster) / p;
    c->decode_s = gathers * (gather ? m->pull_decode_s : m->push_decode_s);
    two_shots_beside(k, transfer_s, c);
}

static double twoshot_encoded_bytes(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    const double p = c->workers;
    return cc_reduces(c) * (p - 1) / p * cc_hop_bytes(m, 1) + cc_gathers(c) * whole_sum(m, c) / p;
}

/* A gradient is encoded but for the part that its worker sums, and every sum is encoded once. */
static double twoshot_encodings(const struct cc_cluster *c)
{
    return 2 - 1.0 / c->workers;
}

/* --- hierarchical --- */

/* Bytes of a payload inside a host, and between hosts of one of a host's sum; round a ring, the
 * mean of those of sums of 1, 2, ... of these. With a scheme of its own, sums inside are as large
 * as what they add up. */
static double inner_bytes(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    const int ranks = cc_cluster_per_host(c);
    return cc_stage_is_ring(c, true) && c->intra_scheme == NULL && ranks > 1
               ? mean_hop_bytes(m, ranks - 1)
               : m->inner_bytes;
}

static double outer_bytes(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    const int ranks = cc_cluster_per_host(c), others = cc_cluster_hosts(c) - 1;
    double sum = 0;
    if (!cc_stage_is_ring(c, false) || others < 1)
        return cc_hop_bytes(m, ranks);
    for (int i = 1; i <= others; i++)
        sum += cc_hop_bytes(m, i * ranks);
    return sum / others;
}

/* Two shots, the first of which is in two stages: inside the host, where G slices of n parts are
 * added, and between the n hosts. Whole sums go the way back as they are. */
static void hierarchical(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const struct cc_cluster *cluster = k->cluster;
    const double p = cluster->workers, ranks = cc_cluster_per_host(cluster), hosts = p / ranks;
    const bool sums = k->reduction == CC_REDUCE_SUM, gather = cluster->gather != NULL;
    const double whole = sums ? m->push_bytes : whole_sum(m, cluster);
    if (ranks == 1) {
        (cc_stage_is_ring(cluster, false) ? ring : twoshot)(k, c);
        return;
    }
    const bool reduces = cc_reduces(cluster), gathers = cc_gathers(cluster);
    if (reduces) {
        cc_add_group_stage(k, true, (sums ? m->push_bytes : inner_bytes(m, cluster)) / ranks, c);
        cc_add_group_stage(k, false, (sums ? m->push_bytes : outer_bytes(m, cluster)) / p, c);
    }
    if (gathers) {
        cc_add_group_stage(k, false, whole / p, c);
        cc_add_group_stage(k, true, whole / ranks, c);
    }
    /* The shares of the values that a worker sends and adds inside, and then between. */
    const double inner = (ranks - 1) / ranks, outer = (hosts - 1) / p;
    if (sums) {
        cc_encode_once(k, c);
        c->reduce_s = reduces * (inner + outer) * m->push_bytes * cluster->reduce_byte_s;
        return;
    }
    /* Round a ring, all slices inside but the first are sums. */
    const double summed =
        cc_stage_is_ring(cluster, true) && cluster->intra_scheme == NULL ? (ranks - 2) / ranks : 0;
    c->encode_s = reduces * (inner * m->inner_encode_s + summed * m->sum_more_s);
    c->hop_codec_s =
        reduces * (inner * m->inner_add_s + outer * (m->push_add_s + sum_encode_s(m))) +
        gathers * whole_encode_s(m, cluster) / p;
    c->decode_s = gathers * (gather ? m->pull_decode_s : m->push_decode_s);
}

static double hierarchical_encoded_bytes(const struct cc_payload_cost *m,
                                         const struct cc_cluster *c)
{
    const double p = c->workers, ranks = cc_cluster_per_host(c), hosts = p / ranks;
    const double first =
        (ranks - 1) / ranks * inner_bytes(m, c) + (hosts - 1) / p * outer_bytes(m, c);
    return cc_reduces(c) * first + cc_gathers(c) * whole_sum(m, c) / p;
}

/* A gradient is encoded inside but for the own slice, a host's sum between hosts but for the own
 * part, and every whole sum is. Round a ring, sums of 1, 2, ... of n are encoded. */
static double hierarchical_encodings(const struct cc_cluster *c)
{
    const double ranks = cc_cluster_per_host(c), hosts = cc_cluster_hosts(c);
    const double inside = cc_stage_is_ring(c, true) && ranks > 1 ? (ranks - 1) / 2 : 1 - 1 / ranks;
    const double between = cc_stage_is_ring(c, false) ? (hosts - 1) / 2 : 1 - 1 / hosts;
    return inside + between + 1;
}

/* The library sums floats by the fastest algorithm and gathers other payloads. */
static void library(const struct cc_exchange_case *k, struct cc_cost *c)
{
    static const struct cc_exchange_candidate candidates[] = {
        {CC_RING, ring}, {CC_RECDOUBLE, recdouble}, {CC_RABENSEIFNER, rabenseifner}};
    if (k->reduction == CC_REDUCE_SUM)
        (void)cc_cost_fastest(k, candidates, sizeof candidates / sizeof candidates[0], c);
    else
        cc_cost_allgather(k, c);
}

const struct cc_exchange_model cc_exchange_model_ring = {.cost = ring,
                                                         .schedule = cc_schedule_ring,
                                                         .in_chunks_only = true,
                                                         .followed_off = 0.12,
                                                         .encoded_bytes = ring_encoded_bytes,
                                                         .encodings = ring_encodings};
const struct cc_exchange_model cc_exchange_model_recdouble = {.cost = recdouble,
                                                              .encodings = recdouble_encodings};
const struct cc_exchange_model cc_exchange_model_rabenseifner = {
    .cost = rabenseifner,
    .encoded_bytes = rabenseifner_encoded_bytes,
    .encodings = rabenseifner_encodings};
const struct cc_exchange_model cc_exchange_model_twoshot = {.cost = twoshot,
                                                            .schedule = cc_schedule_split,
                                                            .in_chunks_only = true,
                                                            .followed_off = 0.12,
                                                            .encoded_bytes = twoshot_encoded_bytes,
                                                            .encodings = twoshot_encodings};
const struct cc_exchange_model cc_exchange_model_hierarchical = {
    .cost = hierarchical,
    .schedule = cc_schedule_hierarchical,
    .followed_off = 0.10,
    .encoded_bytes = hierarchical_encoded_bytes,
    .encodings = hierarchical_encodings};
const struct cc_exchange_model cc_exchange_model_allgather = {.cost = cc_cost_allgather};
const struct cc_exchange_model cc_exchange_model_mpi = {.cost = library};
