/* The order in which the payloads of a step are made whose sizes stand for those of a cluster: of
 * pushes, of what servers send back, and of partial sums. For bench, whose codecs are those of one
 * piece of a tensor at a time, and for netsim, whose packs are those of whole steps. */
#ifndef CC_SCHEMES_SUM_ORDER_H
#define CC_SCHEMES_SUM_ORDER_H

#include <stddef.h>

#include "core/error.h"

/* Every worker has codecs of its own for pushes, and others for partial sums. */
struct cc_sum_order {
    size_t workers;
    /* Points *x to the worker's gradient, which stays valid until the next call. */
    int (*gradient)(void *arg, size_t worker, const float **x, struct cc_error *e);
    /* Encodes it as a push, and adds what servers decode to their sum. */
    int (*push)(void *arg, size_t worker, const float *x, struct cc_error *e);
    /* Encodes a partial sum, and sets it to what the next worker decodes; NULL: there are none. */
    int (*hop)(void *arg, size_t worker, float *sum, struct cc_error *e);
    /* Encodes what servers send back for the pushes until now, where that is wanted; or NULL. */
    int (*pull)(void *arg, size_t pushes, struct cc_error *e);
    void *arg;
};

/* One step: worker by worker a push and, as in a ring, the partial sum of the workers until this
 * one, which it decodes onto its own gradient and encodes. partial: room for n values; may be NULL
 * without hop. */
int cc_sum_order_step(const struct cc_sum_order *o, float *partial, size_t n, struct cc_error *e);

#endif
