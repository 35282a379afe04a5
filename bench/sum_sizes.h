/* Payload sizes of sums of gradients, which servers send back to the workers, and which exchanges
 * that encode at every hop send on. */
#ifndef CC_BENCH_SUM_SIZES_H
#define CC_BENCH_SUM_SIZES_H

#include "bench/sample.h"
#include "models/payload_cost.h"

/* Residuals of sums go on filling after those of a worker have filled, more and more slowly. */
#define CC_SUM_SIZES_CALM      0.05
#define CC_SUM_SIZES_CALM_TEXT "5%" /* the same */

struct cc_sum_sizes_config {
    const struct cc_bench_config *bench;
    struct cc_sample *sample; /* [streams], all with the same pieces */
    size_t streams;           /* at least 1; workers share them if they are fewer */
    size_t steps;             /* to encode, from empty residuals on, */
    size_t counted;           /* the number of last steps that count */
};

/* The sizes of one piece. */
struct cc_piece_sums {
    double first, push; /* mean bytes of the first worker's payload, and of all workers' */
    struct cc_sum_sizes sums;
};

/* Encodes the gradients of CC_SUM_WORKERS workers as servers and a ring do, and sets out[i] to mean
 * bytes per step of piece i:
 *
 *   pulls: of P workers the servers decode what they push, and encode the mean;
 *   hops:  worker m decodes the sum of the workers before it, adds its own gradient, and encodes
 *          that.
 *
 * Every worker has residuals and random numbers of its own, apart for either use, and the servers
 * for each number of workers. *settled: whether the totals of the counted steps are within
 * CC_SUM_SIZES_CALM of those of as many steps before, if that many were taken. After an interrupt,
 * the results mean nothing. */
int cc_sum_sizes_measure(const struct cc_sum_sizes_config *config, size_t scheme,
                         struct cc_piece_sums *out, bool *settled, struct cc_error *e);

#endif
