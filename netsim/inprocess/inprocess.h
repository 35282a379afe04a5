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
#include "netsim/transport/process.h"
#include "schemes/spec.h"

/* Steps that are not bulk synchronous, in the order of a simulated clock: how long computing and
 * messages take decides in which order pushes arrive. A worker computes a step, and its messages
 * leave as they get ready. Its next step begins when it has computed this one and received all
 * pulls that it waits for (netsim/exchange/ps_stale.c). Neither codecs nor servers take time. */
struct cc_inprocess_clocks {
    struct cc_process_links links;
    double compute_s;    /* a step's */
    const double *slow;  /* [workers][steps]: factors on it; NULL: 1 */
    const double *ready; /* [messages]: when a message leaves, as a share of the step's time */
    /* Flat steps: a worker's gradient, which `compute` writes; the servers' model, which `serve`
     * updates by a push; and [workers] the workers' copies of it. */
    float *gradient, *model, *copy;
    int (*compute)(void *arg, size_t worker, size_t step, struct cc_error *e);
};

struct cc_inprocess_config {
    /* The job's exchange, workers, servers, seed, via, dense_bits, tensors and offsets count; data
     * is true and keep 0. All that is pointed to must outlive the exchange. */
    const struct cc_job *job;
    const struct cc_job_row *row; /* its messages, period, reduction and choices */
    const struct cc_spec *spec;   /* the row's scheme, */
    const struct cc_spec *raw;    /* fp32, for raw tensors, */
    const struct cc_spec *pull;   /* and what the server encodes with; NULL: spec */
    /* Servers only: as in struct cc_rank_state. */
    int (*serve)(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *mean,
                 struct cc_error *e);
    const struct cc_inprocess_clocks *clocks; /* only where the job is not bulk synchronous */
    void *arg;
};

/* The bytes that a step has sent. */
struct cc_inprocess_step {
    uint64_t push_bytes; /* payload that the workers encoded, all of them; partial sums that are
                            encoded again on their way do not count */
    uint64_t pull_bytes; /* payload that the server encoded: once, not once per worker; or what is
                            gathered of shards */
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

/* One step of all workers: gradient[worker] and result are flat steps. Adds to result what every
 * worker receives: the mean over the workers, as they encoded it, or what the server makes of it.
 * Values that are not finite are refused with a message that names tensor and value (CC_DIVERGED);
 * after an error the exchange can only be closed. */
int cc_inprocess_exchange(struct cc_inprocess *x, uint64_t step, const float *const *gradient,
                          float *result, struct cc_inprocess_step *out, struct cc_error *e);

/* Not bulk synchronous: continues until all workers together have ended `ended` steps: a step ends
 * when the servers have updated all parameters by it, or, if it sends nothing, when it is computed.
 * After the last step, or when interrupted, returns sooner. */
int cc_inprocess_run(struct cc_inprocess *x, uint64_t ended, struct cc_error *e);

/* Its figures, since the beginning. */
struct cc_inprocess_figures {
    double time_s;
    uint64_t ended; /* steps of all workers */
    double updates; /* updates of servers' parts of a message / the number of parts */
    double staleness, staleness_p95; /* age of these updates */
    double wait_s;                   /* for the bound, of all workers together */
    /* Payload of pushes that have arrived, and of pulls that have left: of all workers. */
    uint64_t push_bytes, pull_bytes;
};
struct cc_inprocess_figures cc_inprocess_figures(const struct cc_inprocess *x);
/* The updates by their staleness: [CC_CLOCKS_AGES] (netsim/exchange/pack/clocks.h). */
const uint64_t *cc_inprocess_ages(const struct cc_inprocess *x);

/* The packs with which a rank, a worker or after them a server, encodes: their codecs' states
 * (cc_pack_state) are all that an exchange keeps from one step to the next, but ssar-auto. They
 * come in the order in which such a rank makes them over MPI (struct cc_rank_state). */
const struct cc_pack_list *cc_inprocess_packs(const struct cc_inprocess *x, int rank);

#endif
