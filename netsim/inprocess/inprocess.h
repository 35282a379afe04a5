/* Exchanges in one process, which plays all workers and servers in turn: for training without MPI.
 * The exchanges are those of netsim/exchange, over the transport of netsim/transport/process.h; so
 * what the workers receive is what they receive over MPI, bit for bit. training.h trains with them.
 */
#ifndef CC_NETSIM_INPROCESS_INPROCESS_H
#define CC_NETSIM_INPROCESS_INPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/exchange/pack/pack.h"
#include "schemes/spec.h"

struct cc_inprocess_config {
    /* The job's exchange, workers, servers, seed, via, dense_bits, tensors and offsets count; data
     * is true and keep 0. All that is pointed to must outlive the exchange. */
    const struct cc_job *job;
    const struct cc_job_row *row; /* its messages, period, reduction and choices */
    const struct cc_spec *spec;   /* the row's scheme, */
    const struct cc_spec *raw;    /* fp32, for raw tensors, */
    const struct cc_spec *pull;   /* and what the server encodes with; NULL: spec */
    /* Servers only: turns the mean of the pushes of values [from, to) into what the workers pull,
     * in place. NULL: they pull the mean. */
    int (*serve)(void *arg, size_t from, size_t to, float *mean, struct cc_error *e);
    void *arg;
};

/* The bytes that a step has sent. */
struct cc_inprocess_step {
    uint64_t push_bytes; /* payload that the workers encoded, all of them; partial sums that are
                            encoded again on their way do not count */
    uint64_t pull_bytes; /* payload that the server encoded: once, not once per worker */
    bool sent;           /* false: the scheme sends nothing in this step */
    /* Seconds of codec work, of processor time, that one worker, or the server, has on the critical
     * path if each had a processor of its own: as struct cc_codec_times in models/payload_cost.h.
     */
    double encode_s, hop_s, server_s, decode_s;
};

struct cc_inprocess;

/* Fails with CC_USAGE for exchanges that need a library, and for those that merge pairs where the
 * scheme sends none. Close it with cc_inprocess_close, which NULL is allowed for. */
int cc_inprocess_open(const struct cc_inprocess_config *config, struct cc_inprocess **out,
                      struct cc_error *e);
void cc_inprocess_close(struct cc_inprocess *x);

/* Whether an exchange can be opened at all. */
bool cc_inprocess_has(enum cc_exchange x);

/* One step of all workers: gradient[worker] and result are flat steps. Adds to result what every
 * worker receives: the mean over the workers, as they encoded it, or what the server makes of it.
 * Values that are not finite are refused with a message that names tensor and value (CC_DIVERGED);
 * after an error the exchange can only be closed. */
int cc_inprocess_exchange(struct cc_inprocess *x, uint64_t step, const float *const *gradient,
                          float *result, struct cc_inprocess_step *out, struct cc_error *e);

/* The packs with which a rank, a worker or after them a server, encodes: their codecs' states
 * (cc_pack_state) are all that an exchange keeps from one step to the next, but ssar-auto. They
 * come in the order in which such a rank makes them over MPI (struct cc_rank_state). */
const struct cc_pack_list *cc_inprocess_packs(const struct cc_inprocess *x, int rank);

#endif
