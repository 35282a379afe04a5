/* SparCML's sparse allreduces (section 4 of the paper).
 *
 * A stream is k pairs of a 32-bit index and a float, or N dense floats where that is shorter
 * (section 3): min(8 k, 4 N) bytes. S(m) is the size of the sum of m workers' streams; how their
 * index sets overlap is an assumption (enum cc_union). P workers, p' the largest power of two up to
 * P, r = P - p'; merging takes gamma for each byte received.
 *
 *   ssar-recdouble  sum over t = 0 .. lg p' - 1 of alpha + S(2^t + min(2^t, r)) beta,
 *                   r>0: + alpha + S(1) beta before, + alpha + S(P) beta after
 *   ssar-split      (P-1) alpha + (P-1)/P S(1) beta + ceil(lg P) alpha + (P-1)/P S(P) beta
 *   ssar-rabenseifner
 *                   sum over t = 0 .. lg p' - 1 of alpha + S(2^t + min(2^t, r)) / 2^(t+1) beta,
 *                   then lg p' alpha + (p'-1)/p' S(P) beta; r>0 as above
 *   dsar-split      the same with N x dense_bits / 8 in the place of S(P)
 *
 * Payloads that are floats travel as streams that are dense from the start. docs/model.md,
 * "Index-value pairs". */
#include <math.h>
#include <stddef.h>

#include "models/exchange_formula.h"

enum { PAIR_BYTES = 8, VALUE_BYTES = 4 };

/* Bytes of the sum of m workers' streams: S(m). */
static double stream_bytes(const struct cc_exchange_case *k, int m)
{
    const struct cc_payload_cost *p = k->message;
    if (k->reduction == CC_REDUCE_SUM)
        return p->push_bytes;
    double pairs = cc_union_size(k->cluster, p->values, p->pairs, m);
    return fmin(PAIR_BYTES * pairs, VALUE_BYTES * p->values);
}

static void merge(const struct cc_exchange_case *k, double bytes, struct cc_cost *c)
{
    c->reduce_s += bytes * k->cluster->reduce_byte_s;
}

/* The streams that are exchanged grow with the union. Beyond a power of two, the first r of the
 * ranks that take part begin with two workers' sets: in round t the largest union is that of
 * 2^t + min(2^t, r) sets. */
static void ssar_recdouble(const struct cc_exchange_case *k, struct cc_cost *c)
{
    int workers = k->cluster->workers, power = cc_power_below(workers), more = workers - power;
    cc_encode_once(k, c);
    if (more > 0) {
        cc_add_rounds(k, 1, stream_bytes(k, 1), false, c);
        merge(k, stream_bytes(k, 1), c);
    }
    for (int held = 1; held < power; held *= 2) {
        double bytes = stream_bytes(k, held + (held < more ? held : more));
        cc_add_rounds(k, 1, bytes, true, c);
        merge(k, bytes, c);
    }
    if (more > 0)
        cc_add_rounds(k, 1, stream_bytes(k, workers), true, c);
}

/* Stage 1 of the split exchanges: in P - 1 rounds, worker i sends worker j's part of its stream to
 * worker j, which merges it. */
static void split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    double p = k->cluster->workers, bytes = stream_bytes(k, 1) / p;
    cc_encode_once(k, c);
    cc_add_rounds(k, p - 1, bytes, true, c);
    merge(k, (p - 1) * bytes, c);
}

/* Stage 2: Bruck's allgather of the workers' reduced parts. */
static void gather(const struct cc_exchange_case *k, double part_bytes, struct cc_cost *c)
{
    double p = k->cluster->workers, rounds = cc_log2_up(k->cluster->workers);
    cc_add_rounds(k, rounds, (p - 1) / rounds * part_bytes, true, c);
}

/* In round t of the halving, the largest of the sums is as above, of a part of the values of which
 * half is sent. */
static void ssar_rabenseifner(const struct cc_exchange_case *k, struct cc_cost *c)
{
    int workers = k->cluster->workers, power = cc_power_below(workers), more = workers - power;
    double all = stream_bytes(k, workers);
    cc_encode_once(k, c);
    if (more > 0) {
        cc_add_rounds(k, 1, stream_bytes(k, 1), false, c);
        merge(k, stream_bytes(k, 1), c);
    }
    for (int held = 1; held < power; held *= 2) {
        double bytes = stream_bytes(k, held + (held < more ? held : more)) / (2 * held);
        cc_add_rounds(k, 1, bytes, true, c);
        merge(k, bytes, c);
    }
    for (int held = 1; held < power; held *= 2)
        cc_add_rounds(k, 1, all / power * held, true, c);
    if (more > 0)
        cc_add_rounds(k, 1, all, true, c);
}

static void ssar_split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    split(k, c);
    gather(k, stream_bytes(k, k->cluster->workers) / k->cluster->workers, c);
}

static void dsar_split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    double dense = k->reduction == CC_REDUCE_SUM
                       ? k->message->push_bytes * k->cluster->dense_bits / 32
                       : k->message->values * k->cluster->dense_bits / 8;
    split(k, c);
    gather(k, dense / k->cluster->workers, c);
}

const struct cc_exchange_model cc_exchange_model_ssar_recdouble = {ssar_recdouble, NULL};
const struct cc_exchange_model cc_exchange_model_ssar_split = {ssar_split, NULL};
const struct cc_exchange_model cc_exchange_model_ssar_rabenseifner = {ssar_rabenseifner, NULL};
const struct cc_exchange_model cc_exchange_model_dsar_split = {dsar_split, NULL};
