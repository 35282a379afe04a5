/* Exchanges that reduce whole vectors. Where payloads cannot be summed, every hop decodes, adds and
 * encodes again; so that all workers end with the same bits, each also decodes what it has sent
 * where it goes on with it itself. */
#include "models/exchange_impl.h"

/* The worker encodes before and decodes after an exchange that sums payloads as they are. */
static void around(const struct cc_exchange_case *k, struct cc_cost *c)
{
    c->encode_s = k->message->push_encode_s;
    c->decode_s = k->message->push_decode_s;
}

/* Pipe-SGD, equation 5, after Thakur 2005: chunks of a P-th go round once to be reduced and once to
 * be spread. A chunk is encoded before each of the P - 1 hops of the first round and once when it
 * is complete; then it is forwarded as it is, and everyone decodes all P. */
void cc_cost_ring(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    double p = k->cluster->workers, part = (p - 1) / p;
    cc_rounds(k, 2 * (p - 1), m->push_bytes / p, true, c);
    if (k->reduction == CC_REDUCE_SUM) {
        around(k, c);
        c->reduce_s = part * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        c->hop_codec_s = m->push_encode_s + part * m->push_add_s;
        c->decode_s = m->push_decode_s;
    }
}

/* Whole vectors between ranks 1, 2, 4, ... apart. The ranks beyond a power of two hand theirs to a
 * partner before, and get the result after. */
void cc_cost_recdouble(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    int power = cc_power_below(k->cluster->workers);
    double log = cc_log2(power), more = power < k->cluster->workers;
    cc_rounds(k, more, m->push_bytes, false, c);
    cc_rounds(k, log + more, m->push_bytes, true, c);
    if (k->reduction == CC_REDUCE_SUM) {
        around(k, c);
        c->reduce_s = (log + more) * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        c->hop_codec_s = (log + 2 * more) * m->push_encode_s + (log + more) * m->push_add_s +
                         log * m->push_decode_s;
        c->decode_s = more * m->push_decode_s;
    }
}

/* Rabenseifner 2004: halves, quarters, ... are reduced, then gathered the other way round. The
 * ranks beyond a power of two hand their whole vector to a partner before, and get the result
 * after. */
void cc_cost_rabenseifner(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    double power = cc_power_below(k->cluster->workers), part = (power - 1) / power;
    double log = cc_log2((int)power), more = power < k->cluster->workers;
    cc_rounds(k, 2 * log, part / log * m->push_bytes, true, c);
    cc_rounds(k, more, m->push_bytes, false, c);
    cc_rounds(k, more, m->push_bytes, true, c);
    if (k->reduction == CC_REDUCE_SUM) {
        around(k, c);
        c->reduce_s = (part + more) * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        /* Of every half that is sent, and once of the rank's own part of the sum. */
        c->hop_codec_s =
            (part + 1 / power + more) * m->push_encode_s + (part + more) * m->push_add_s;
        c->decode_s = m->push_decode_s;
    }
}

/* Bruck's: ceil(log2 P) rounds that double what each has; every worker adds up all P payloads. */
void cc_cost_allgather(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    double p = k->cluster->workers, rounds = cc_log2_up(k->cluster->workers);
    cc_rounds(k, rounds, (p - 1) / rounds * m->push_bytes, true, c);
    c->encode_s = m->push_encode_s;
    c->decode_s = p * m->push_add_s;
}
