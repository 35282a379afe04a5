/* SparCML's sparse allreduces, section 4. Streams are pairs of a 32-bit index and a float, or dense
 * where that is shorter (its section 3). Sums are dense from the start. */
#include <math.h>

#include "models/exchange_impl.h"

enum { PAIR_BYTES = 8, VALUE_BYTES = 4 };

double cc_union_size(enum cc_union overlap, double n, double k, double m)
{
    if (overlap == CC_UNION_SAME)
        return k;
    if (overlap == CC_UNION_DISJOINT)
        return fmin(n, m * k);
    /* n (1 - (1 - k/n)^m), exact also where k/n is tiny. */
    return n > 0 ? -n * expm1(m * log1p(-fmin(1, k / n))) : 0;
}

/* Bytes of the sum of m workers' streams. */
static double stream_bytes(const struct cc_exchange_case *k, double m)
{
    const struct cc_payload_cost *p = k->message;
    if (k->reduction == CC_REDUCE_SUM)
        return p->push_bytes;
    double pairs = cc_union_size(k->cluster->overlap, p->values, p->pairs, m);
    return fmin(PAIR_BYTES * pairs, VALUE_BYTES * p->values);
}

static void merge(const struct cc_exchange_case *k, double bytes, struct cc_cost *c)
{
    c->reduce_s += bytes * k->cluster->reduce_byte_s;
}

static void around(const struct cc_exchange_case *k, struct cc_cost *c)
{
    c->encode_s = k->message->push_encode_s;
    c->decode_s = k->message->push_decode_s;
}

/* Recursive doubling of growing unions. Beyond a power of two, the first r of the ranks that take
 * part begin with two workers' sets: in round t the largest union is that of 2^t + min(2^t, r). */
void cc_cost_ssar_recdouble(const struct cc_exchange_case *k, struct cc_cost *c)
{
    int workers = k->cluster->workers, power = cc_power_below(workers), more = workers - power;
    around(k, c);
    if (more > 0) {
        cc_rounds(k, 1, stream_bytes(k, 1), false, c);
        merge(k, stream_bytes(k, 1), c);
    }
    for (int held = 1; held < power; held *= 2) {
        double bytes = stream_bytes(k, held + (held < more ? held : more));
        cc_rounds(k, 1, bytes, true, c);
        merge(k, bytes, c);
    }
    if (more > 0)
        cc_rounds(k, 1, stream_bytes(k, workers), true, c);
}

/* The first stage of both: worker i's part for worker j goes to it directly, in P - 1 rounds. */
static void split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    double p = k->cluster->workers, bytes = stream_bytes(k, 1) / p;
    around(k, c);
    cc_rounds(k, p - 1, bytes, true, c);
    merge(k, (p - 1) * bytes, c);
}

/* The second: everyone's reduced part to all, by Bruck's allgather. */
static void gather(const struct cc_exchange_case *k, double part_bytes, struct cc_cost *c)
{
    double p = k->cluster->workers, rounds = cc_log2_up(k->cluster->workers);
    cc_rounds(k, rounds, (p - 1) / rounds * part_bytes, true, c);
}

void cc_cost_ssar_split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    split(k, c);
    gather(k, stream_bytes(k, k->cluster->workers) / k->cluster->workers, c);
}

void cc_cost_dsar_split(const struct cc_exchange_case *k, struct cc_cost *c)
{
    double dense = k->reduction == CC_REDUCE_SUM
                       ? k->message->push_bytes * k->cluster->dense_bits / 32
                       : k->message->values * k->cluster->dense_bits / 8;
    split(k, c);
    gather(k, dense / k->cluster->workers, c);
}
