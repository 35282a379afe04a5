/* Between the files of the exchanges; for them only. */
#ifndef CC_MODELS_EXCHANGE_IMPL_H
#define CC_MODELS_EXCHANGE_IMPL_H

#include <stdbool.h>

#include "models/exchange.h"

/* What every formula is given. */
struct cc_exchange_case {
    const struct cc_payload_cost *message;
    enum cc_reduction reduction;
    const struct cc_cluster *cluster;
    const struct cc_link *link;
};

/* `count` messages of `bytes` one after the other on the critical path; `sent`: by the busiest host
 * too. */
void cc_rounds(const struct cc_exchange_case *k, double count, double bytes, bool sent,
               struct cc_cost *c);

/* The largest power of two up to p, its logarithm, and the smallest logarithm that reaches p. */
int cc_power_below(int p);
int cc_log2(int power);
int cc_log2_up(int p);

/* Payloads that can be summed as they are, or are decoded, added and encoded at every hop. */
void cc_cost_ring(const struct cc_exchange_case *k, struct cc_cost *c);
void cc_cost_recdouble(const struct cc_exchange_case *k, struct cc_cost *c);
void cc_cost_rabenseifner(const struct cc_exchange_case *k, struct cc_cost *c);
void cc_cost_allgather(const struct cc_exchange_case *k, struct cc_cost *c);

/* Pairs, or sums as dense streams. */
void cc_cost_ssar_recdouble(const struct cc_exchange_case *k, struct cc_cost *c);
void cc_cost_ssar_split(const struct cc_exchange_case *k, struct cc_cost *c);
void cc_cost_dsar_split(const struct cc_exchange_case *k, struct cc_cost *c);

#endif
