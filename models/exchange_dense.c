/* Exchanges that reduce whole vectors: ring, recursive doubling, Rabenseifner's algorithm, Bruck's
 * allgather, and the MPI library's own allreduce.
 *
 * P workers, p' the largest power of two up to P, r = P - p', payloads of n bytes; a message of b
 * bytes takes alpha + b beta, adding a byte of floats gamma; E, D and A are the times to encode a
 * payload, to decode it, and to decode it onto a sum. Payloads that are floats:
 *
 *   ring          2 (P-1) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma      Pipe-SGD, equation 5
 *   recdouble     (lg p' + 2 [r>0]) (alpha + n beta) + (lg p' + [r>0]) n gamma
 *   rabenseifner  2 lg p' alpha + 2 (p'-1)/p' n beta + (p'-1)/p' n gamma
 *                 + [r>0] (2 alpha + 2 n beta + n gamma)                  Rabenseifner 2004
 *   allgather     ceil(lg P) alpha + (P-1) n beta                         Bruck et al. 1997
 *   mpi           the fastest of the first three
 *
 * Other payloads are decoded, added to and encoded at every hop. All workers must end with the same
 * bits, so a worker that goes on with a sum that it has sent decodes its own encoding of it. A
 * partial sum is taken to have as many bytes as one worker's payload. docs/model.md, "Exchanges".
 */
#include <math.h>
#include <stddef.h>

#include "models/exchange_formula.h"

/* Chunks of n/P bytes travel round the ring once to be reduced and once more to reach everyone. A
 * chunk is encoded before each of the P - 1 hops of the first tour and once when it is complete;
 * the second tour forwards it unchanged, and every worker decodes all P chunks. */
static void ring(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    double p = k->cluster->workers, part = (p - 1) / p;
    cc_add_rounds(k, 2 * (p - 1), m->push_bytes / p, true, c);
    if (k->reduction == CC_REDUCE_SUM) {
        cc_encode_once(k, c);
        c->reduce_s = part * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        c->hop_codec_s = m->push_encode_s + part * m->push_add_s;
        c->decode_s = m->push_decode_s;
    }
}

/* Encoding a sum of m gradients adds m parts of P to the squared error: (1 + 2 + ... + P) / P. */
static double ring_encodings(int workers)
{
    return (workers + 1.0) / 2;
}

/* Whole vectors travel between ranks 1, 2, 4, ... apart. Each of the r ranks beyond the power of
 * two hands its vector to a partner first and gets the result last. */
static void recdouble(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    int power = cc_power_below(k->cluster->workers);
    double log = cc_log2(power), more = power < k->cluster->workers;
    cc_add_rounds(k, more, m->push_bytes, false, c);
    cc_add_rounds(k, log + more, m->push_bytes, true, c);
    if (k->reduction == CC_REDUCE_SUM) {
        cc_encode_once(k, c);
        c->reduce_s = (log + more) * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        c->hop_codec_s = (log + 2 * more) * m->push_encode_s + (log + more) * m->push_add_s +
                         log * m->push_decode_s;
        c->decode_s = more * m->push_decode_s;
    }
}

/* Every gradient is encoded in each of the lg p' rounds; those of the r ranks once before, and the
 * result once after. */
static double recdouble_encodings(int workers)
{
    double p = workers, rounds = floor(log2(p)), rest = p - exp2(rounds);
    return rounds + (rest > 0 ? rest / p + 1 : 0);
}

/* Halves, quarters, ... are reduced and then gathered in the opposite order. Each of the r ranks
 * beyond the power of two hands its vector to a partner first and gets the result last. */
static void rabenseifner(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    double power = cc_power_below(k->cluster->workers), part = (power - 1) / power;
    double log = cc_log2((int)power), more = power < k->cluster->workers;
    cc_add_rounds(k, 2 * log, part / log * m->push_bytes, true, c);
    cc_add_rounds(k, more, m->push_bytes, false, c);
    cc_add_rounds(k, more, m->push_bytes, true, c);
    if (k->reduction == CC_REDUCE_SUM) {
        cc_encode_once(k, c);
        c->reduce_s = (part + more) * m->push_bytes * k->cluster->reduce_byte_s;
    } else {
        /* Encoded: every half that is sent, and once the rank's own part of the sum. */
        c->hop_codec_s =
            (part + 1 / power + more) * m->push_encode_s + (part + more) * m->push_add_s;
        c->decode_s = m->push_decode_s;
    }
}

/* Half of every gradient is encoded in each round, those of the r ranks once before, and the
 * result's parts once. */
static double rabenseifner_encodings(int workers)
{
    double p = workers, rounds = floor(log2(p)), rest = p - exp2(rounds);
    return rounds / 2 + rest / p + 1;
}

/* The library sums floats by the fastest algorithm and gathers other payloads. */
static void library(const struct cc_exchange_case *k, struct cc_cost *c)
{
    static void (*const candidates[])(const struct cc_exchange_case *,
                                      struct cc_cost *) = {ring, recdouble, rabenseifner};
    if (k->reduction != CC_REDUCE_SUM) {
        cc_cost_allgather(k, c);
        return;
    }
    candidates[0](k, c);
    for (size_t i = 1; i < sizeof candidates / sizeof candidates[0]; i++) {
        struct cc_cost other = {0};
        candidates[i](k, &other);
        if (cc_cost_comm(&other) < cc_cost_comm(c))
            *c = other;
    }
}

const struct cc_exchange_model cc_exchange_model_ring = {ring, ring_encodings};
const struct cc_exchange_model cc_exchange_model_recdouble = {recdouble, recdouble_encodings};
const struct cc_exchange_model cc_exchange_model_rabenseifner = {rabenseifner,
                                                                 rabenseifner_encodings};
const struct cc_exchange_model cc_exchange_model_allgather = {cc_cost_allgather, NULL};
const struct cc_exchange_model cc_exchange_model_mpi = {library, NULL};
