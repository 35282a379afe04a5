/* SparCML's sparse allreduces (section 4 of the paper), as the ranks run them.
 *
 * S(m) is the size of the sum of m workers' streams of k pairs of N values: the shortest form on
 * the wire (docs/wire.md), min(8 K, 6 K + N / 16384, 4 K + N / 8, 4 N) bytes for K pairs in the
 * union of m sets (enum cc_union); with --wire pairs min(8 K, 4 N), as in section 3. Every message
 * has h = 32 bytes more: its length and the head of its stream. P workers, p' the largest power of
 * two up to P, r = P - p'.
 *
 *   ssar-recdouble  sum over t = 0 .. lg p' - 1 of alpha + (h + S(2^t + min(2^t, r))) beta,
 *                   r>0: + alpha + (h + S(1)) beta before, + alpha + (h + S(P)) beta after
 *   ssar-split      2 alpha + (P-1) (2 h + (S(1) + S(P)) / P) beta
 *   ssar-rabenseifner
 *                   sum over t = 0 .. lg p' - 1 of
 *                   alpha + (h + S(2^t + min(2^t, r)) / 2^(t+1)) beta,
 *                   then lg p' alpha + (p' - 1) (h + S(P) / p') beta; r>0 as above
 *   dsar-split      as ssar-split, with N x dense_bits / 8 in the place of S(P); below 32 bits
 *                   QSGD's scales, 4 bytes for each 512 values, come on top
 *
 * With --keep, the owners of sums leave out all but the share that is kept, and S(P) is the size of
 * these.
 *
 * The P - 1 messages of each stage of a split are under way together, so that they take one alpha.
 * Merging reads all streams that it adds from memory, as 8 bytes a pair or all values: own ones and
 * received ones. SparCML's own formulas (as_printed) have sends that block, P - 1 alpha, and
 * Bruck's allgather, ceil(lg P) alpha, in ssar-split and dsar-split, merge what is received, and
 * have no heads.
 *
 * Payloads that are floats travel as streams that are dense from the start. docs/model.md,
 * "Index-value pairs". */
#include <math.h>
#include <stddef.h>

#include "models/exchange_formula.h"

enum { PAIR_BYTES = 8, VALUE_BYTES = 4, BUCKET_VALUES = 512, HEAD_BYTES = 32 };

static double union_pairs(const struct cc_exchange_case *k, int m)
{
    return cc_union_size(k->cluster, k->message->values, k->message->pairs, m);
}

/* Bytes of the sum of m workers' streams in memory. */
static double memory_bytes(const struct cc_exchange_case *k, int m)
{
    return fmin(PAIR_BYTES * union_pairs(k, m), VALUE_BYTES * k->message->values);
}

/* Bytes of a stream of `pairs` pairs as it is sent. A part of the values has the same part of
 * them. */
static double pairs_bytes(const struct cc_exchange_case *k, double pairs)
{
    const double values = k->message->values;
    const double plain = fmin(PAIR_BYTES * pairs, VALUE_BYTES * values);
    if (k->reduction == CC_REDUCE_SUM)
        return k->message->push_bytes;
    if (k->cluster->wire == CC_WIRE_PAIRS)
        return plain;
    return fmin(plain, fmin(6 * pairs + values / 16384, 4 * pairs + values / 8));
}

/* S(m), of a sum that has yet to grow. */
static double stream_bytes(const struct cc_exchange_case *k, int m)
{
    return pairs_bytes(k, union_pairs(k, m));
}

/* S(P), of the whole sum, of which not everything may be kept. */
static double whole_bytes(const struct cc_exchange_case *k)
{
    const double pairs = union_pairs(k, k->cluster->workers), keep = k->cluster->keep;
    return pairs_bytes(k, keep > 0 ? fmin(pairs, keep * k->message->values) : pairs);
}

/* Bytes of a message with `streams` streams of that many bytes together. */
static double message_bytes(const struct cc_exchange_case *k, double streams, double bytes)
{
    const bool headless = k->reduction == CC_REDUCE_SUM || k->cluster->as_printed;
    return bytes + (headless ? 0 : streams * HEAD_BYTES);
}

/* Adds `sets` streams of sums of m workers' gradients, this rank's own among them, or `share` of
 * each. */
static void merge(const struct cc_exchange_case *k, double sets, int m, double share,
                  struct cc_cost *c)
{
    const struct cc_cluster *cluster = k->cluster;
    const double received = (sets - 1) * share * stream_bytes(k, m);
    if (k->reduction == CC_REDUCE_SUM || cluster->as_printed)
        c->reduce_s += received * cluster->reduce_byte_s;
    else
        c->reduce_s += sets * share * memory_bytes(k, m) * cluster->merge_byte_s;
}

/* Before the rounds among a power of two: ranks beyond it hand their streams to others. */
static void hand_over(const struct cc_exchange_case *k, int more, struct cc_rounds *r,
                      struct cc_cost *c)
{
    if (more == 0)
        return;
    cc_round(r, CC_PAIR_EXTRAS, 1, message_bytes(k, 1, stream_bytes(k, 1)), false);
    merge(k, 2, 1, 1, c);
}

/* The streams that are exchanged grow with the union. Beyond a power of two, the first r of the
 * ranks that take part begin with two workers' sets: in round t the largest union is that of
 * 2^t + min(2^t, r) sets. */
static void ssar_recdouble(const struct cc_exchange_case *k, struct cc_cost *c)
{
    int workers = k->cluster->workers, power = cc_power_below(workers), more = workers - power;
    struct cc_rounds r = {.count = 0};
    cc_encode_once(k, c);
    hand_over(k, more, &r, c);
    for (int held = 1; held < power; held *= 2) {
        const int sets = cc_most_summed(held, more);
        cc_round(&r, CC_PAIR_MEMBERS, held, message_bytes(k, 1, stream_bytes(k, sets)), true);
        merge(k, 2, sets, 1, c);
    }
    if (more > 0)
        cc_round(&r, CC_PAIR_EXTRAS, 1, message_bytes(k, 1, whole_bytes(k)), true);
    cc_add_partners(k, &r, c);
}

/* In round t of the halving, the largest of the sums is as above, of a part of the values of which
 * half is sent. */
static void ssar_rabenseifner(const struct cc_exchange_case *k, struct cc_cost *c)
{
    int workers = k->cluster->workers, power = cc_power_below(workers), more = workers - power;
    const double all = whole_bytes(k);
    struct cc_rounds r = {.count = 0};
    cc_encode_once(k, c);
    hand_over(k, more, &r, c);
    for (int held = 1; held < power; held *= 2) {
        const int sets = cc_most_summed(held, more);
        cc_round(&r, CC_PAIR_MEMBERS, power / (2 * held),
                 message_bytes(k, 1, stream_bytes(k, sets) / (2 * held)), true);
        merge(k, 2, sets, 0.5 / held, c);
    }
    for (int held = 1; held < power; held *= 2)
        cc_round(&r, CC_PAIR_MEMBERS, held, message_bytes(k, held, all / power * held), true);
    if (more > 0)
        cc_round(&r, CC_PAIR_EXTRAS, 1, message_bytes(k, power, all), true);
    cc_add_partners(k, &r, c);
}

/* Both split exchanges: worker i sends worker j's part of its stream to worker j, which adds all of
 * them; then every worker sends its sum to all others. `whole`: bytes of all sums together. */
static void split(const struct cc_exchange_case *k, double whole, struct cc_cost *c)
{
    const double p = k->cluster->workers, log = cc_log2_up(k->cluster->workers);
    cc_encode_once(k, c);
    if (k->cluster->as_printed) {
        cc_add_rounds(k, p - 1, stream_bytes(k, 1) / p, true, c);
        cc_add_rounds(k, log, (p - 1) / log * whole / p, true, c);
    } else {
        cc_add_stage(k, message_bytes(k, 1, stream_bytes(k, 1) / p), c);
        cc_add_stage(k, message_bytes(k, 1, whole / p), c);
    }
    merge(k, p, 1, 1 / p, c);
}

static void ssar_split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    split(k, whole_bytes(k), c);
}

static void dsar_split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const double bits = k->cluster->dense_bits;
    const double scales = bits < 32 && !k->cluster->as_printed ? 32.0 / BUCKET_VALUES : 0;
    split(k,
          k->reduction == CC_REDUCE_SUM ? k->message->push_bytes * bits / 32
                                        : k->message->values * (bits + scales) / 8,
          c);
}

/* --- the fastest of them --- */

static const struct cc_exchange_candidate candidates[] = {{CC_SSAR_RECDOUBLE, ssar_recdouble},
                                                          {CC_SSAR_SPLIT, ssar_split},
                                                          {CC_SSAR_RABENSEIFNER, ssar_rabenseifner},
                                                          {CC_DSAR_SPLIT, dsar_split}};

/* The fastest and its cost. Without quantization dsar-split sends what ssar-split may send, too. */
static enum cc_exchange fastest(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const size_t all = sizeof candidates / sizeof candidates[0];
    return cc_cost_fastest(k, candidates, k->cluster->dense_bits < 32 ? all : all - 1, c);
}

static void ssar_auto(const struct cc_exchange_case *k, struct cc_cost *c)
{
    c->chosen = fastest(k, c);
}

/* A message with that many pairs in each gradient. */
static enum cc_exchange fastest_of(const struct cc_exchange_case *k, double pairs)
{
    struct cc_payload_cost message = *k->message;
    struct cc_exchange_case with = *k;
    struct cc_cost cost = {0};
    message.pairs = pairs;
    with.message = &message;
    return fastest(&with, &cost);
}

/* Half an octave is finer than the ranges in which an exchange is fastest; where two of these meet
 * is then found to within a hundredth. */
size_t cc_exchange_choices(const struct cc_cluster *c, const struct cc_link *l, enum cc_reduction r,
                           double values, struct cc_exchange_choice *out)
{
    enum { HALF_OCTAVES = 48, BISECTIONS = 6 };
    const struct cc_payload_cost message = {.values = values, .push_bytes = VALUE_BYTES * values};
    const struct cc_exchange_case k = {
        .message = &message, .reduction = r, .cluster = c, .link = l, .share = 1, .messages = 1};
    const double all = values * c->workers;
    size_t count = 0;
    if (c->workers == 1) {
        out[0] = (struct cc_exchange_choice){all, candidates[0].exchange};
        return 1;
    }
    enum cc_exchange before = fastest_of(&k, values * exp2(-HALF_OCTAVES / 2.0));
    for (int i = 1 - HALF_OCTAVES; i <= 0 && count + 1 < CC_EXCHANGE_CHOICES; i++) {
        double low = exp2((i - 1) / 2.0), high = exp2(i / 2.0);
        const enum cc_exchange next = fastest_of(&k, values * high);
        if (next == before)
            continue;
        for (int j = 0; j < BISECTIONS; j++) {
            const double mid = sqrt(low * high);
            if (fastest_of(&k, values * mid) == before)
                low = mid;
            else
                high = mid;
        }
        out[count++] = (struct cc_exchange_choice){all * low, before};
        before = next;
    }
    out[count++] = (struct cc_exchange_choice){all, before};
    return count;
}

const struct cc_exchange_model cc_exchange_model_ssar_auto = {.cost = ssar_auto};
const struct cc_exchange_model cc_exchange_model_ssar_recdouble = {.cost = ssar_recdouble};
const struct cc_exchange_model cc_exchange_model_ssar_split = {.cost = ssar_split};
const struct cc_exchange_model cc_exchange_model_ssar_rabenseifner = {.cost = ssar_rabenseifner};
const struct cc_exchange_model cc_exchange_model_dsar_split = {.cost = dsar_split};
