/* Steps: how computation, codec and exchange compose into the time of one training step. */
#ifndef CC_MODELS_STEP_H
#define CC_MODELS_STEP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "models/exchange.h"
#include "models/local_steps.h"

/* The factor on a worker's compute time in a step; mean 1, coefficient of variation `spread`. */
enum cc_straggler { CC_STEADY, CC_LOGNORMAL, CC_GAMMA, CC_UNIFORM };
extern const char *const cc_straggler_names[]; /* ends with NULL */

struct cc_timing {
    enum cc_step_mode mode;
    double compute_s;     /* forward and backward pass of one step */
    double update_s;      /* applying the update; Pipe-SGD's l_up */
    double forward_share; /* its share of compute_s; the rest is the backward pass */
    double hidden_share;  /* CC_SEQUENTIAL: of compute_s, that goes on beside the exchange */
    double fuse_bytes;    /* messages gather tensors up to this many pushed bytes; < 0: the default:
                             the whole step (per server), or, overlapped, each tensor by itself */
    double first_fuse_bytes; /* the same for a step's first message; < 0: like the others */
    bool fuse_gradients;     /* the two count the gradients' bytes, not those of the payloads */
    bool in_turn;     /* CC_OVERLAP without servers: one message after the other is exchanged, as
                         NCCL does; else all that are ready, as the ranks of run and sim do */
    double message_s; /* CC_OVERLAP without servers, all that are ready: a processor's work for each
                         message that it sends, in each round */
    double sync_s;    /* for each message; Pipe-SGD's S */
    /* CC_OVERLAP: the share of what overlapping saves over a sequential step that is lost all the
     * same, as where an accelerator's kernels wait for those of the exchange. */
    double unhidden;
    double pause_s; /* CC_SEQUENTIAL: for which ports rest between steps, beside them */
    struct cc_local_timing local;
    enum cc_pulls pulls;
    int depth;      /* CC_PIPE: K, at least 1 */
    bool unlimited; /* CC_PIPE: as many processors and links as steps in flight (equation 3) */
    enum cc_consistency consistency;
    int staleness;
    enum cc_straggler straggler;
    double spread;
    uint64_t seed;
};

/* The tensors of a message that one server keeps, and their cost at that server; the fields of the
 * cost that belong to workers do not count. */
struct cc_part {
    int server;
    struct cc_payload_cost payload;
    struct cc_cost cost;
};

/* One message of a step. Lists of them are in the order in which they leave, that of the backward
 * pass. */
struct cc_step_message {
    struct cc_cost cost;
    size_t first, last;         /* its tensors, by their place in the net */
    const struct cc_part *part; /* one for each server that gets some of it */
    int parts;                  /* 0: every server has the same part, whose cost is `cost` */
};

/* Pipe-SGD (NeurIPS 2018), equations 2 to 4 and 7, per step. `compute` is all of the processor's
 * work.
 */
double cc_pipe_sync(double update, double compute, double comm);           /* 2, with T = 1 */
double cc_pipe_ideal(double update, double compute, double comm, int k);   /* 3 */
double cc_pipe_limited(double update, double compute, double comm, int k); /* 4; K = 1 is 2 */
double cc_pipe_efficiency(double update, double compute, double step);     /* 7 */

/* The time of a computation of which a share overlaps with something that takes `beside`. */
double cc_step_beside(double compute, double share, double beside);

/* The time of a step whose messages cost `sum` together. */
double cc_step_sequential(const struct cc_timing *t, const struct cc_cost *sum);
double cc_step_pipe(const struct cc_timing *t, const struct cc_cost *sum);

/* A resource that serves in the order of arrival and is free again at *free_at: serves something
 * that arrives at `there` and takes `takes` seconds. Returns when that is done. */
static inline double cc_serve(double *free_at, double there, double takes)
{
    *free_at = fmax(*free_at, there) + takes;
    return *free_at;
}

/* The part after `since` of something that takes `takes` seconds and ends at `ends`. */
static inline double cc_served_after(double ends, double takes, double since)
{
    return fmax(0, ends - fmax(since, ends - takes));
}

/* --- steps whose communication overlaps their computation --- */

/* The time of a step in wait-free backpropagation, in the steady state: from one backward pass to
 * the next.
 *
 * message[0, count) are the step's messages, in the order in which they leave; share[0, tensors) is
 * each tensor's part of the compute time, from the input to the output. Every port has a token
 * bucket, full when the backward pass begins, that saves up to burst_s seconds of sending. */

/* Exchanges without servers. scratch: CC_STEP_SCRATCH * `tensors` doubles. *exposed_s, here and
 * below, if it is not NULL: the time for which a worker neither computes nor has a codec at work.
 */
enum { CC_STEP_SCRATCH = 5 };
double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *message,
                       size_t count, const double *share, size_t tensors, double burst_s,
                       double *scratch, double *exposed_s);

/* Parameter servers (overlap_servers.c). */
struct cc_step_cluster {
    int workers, servers;
    bool placed_whole; /* every server keeps whole tensors: messages have parts; else all have the
                          same part of each message */
    bool colocated;    /* server i is on the host of worker i */
    double window_s;   /* CC_QUEUE_BYTES on a link */
    double message_s;  /* a processor's work for each message that it sends (o) */
    int per_host;      /* workers that share a port; 0: 1 */
    /* Seconds that a port sends, or receives, for what takes the slower direction a second; 0: 1 */
    double up, down;
};

/* Memory, reused between calls; NULL: none. */
struct cc_overlap;
/* Makes room for steps of up to `parts` messages, or, where servers keep whole tensors, parts of
 * messages. A step has no more than tensors. */
int cc_overlap_reserve(struct cc_overlap **out, const struct cc_step_cluster *c, size_t parts,
                       struct cc_error *e);
void cc_overlap_free(struct cc_overlap *x);

/* Uses memory that was reserved for this cluster. */
double cc_step_overlap_servers(const struct cc_timing *t, const struct cc_step_message *message,
                               size_t count, const double *share, size_t tensors,
                               const struct cc_step_cluster *cluster, double burst_s,
                               struct cc_overlap *x, double *exposed_s);

/* --- stragglers --- */

/* Steps of workers that are not equally fast: mean and standard deviation of the time of a worker's
 * step, and its mean wait for others in a step. */
struct cc_spread {
    double step_s, step_sd, wait_s;
};

/* The spread over one sending step and `rest` silent steps: the variance is the mean of their
 * variances plus the variance of their means. */
struct cc_spread cc_spread_mix(const struct cc_spread *sending, const struct cc_spread *silent,
                               double rest);

/* Draws the next factor on a worker's compute time; `generator` is a gsl_rng. */
double cc_straggler_draw(const struct cc_timing *t, void *generator);

/* The share of a step in which a worker computes; NaN without compute time. */
double cc_step_utilization(double compute_s, double step_s);

/* Bulk synchronous steps. One step in `period` sends, and waits for the slowest of `workers`; in
 * the silent steps no worker waits. step(arg, sends, c) is the time of a step with compute time c.
 * If a period has more than 64 steps, 64 are drawn and scaled to the mean and variance of all.
 * CC_FAIL if memory is out. */
int cc_step_bulk(const struct cc_timing *t, int workers, double period,
                 double (*step)(void *arg, bool sends, double compute_s), void *arg,
                 struct cc_spread *out, struct cc_error *e);

/* Stale synchronous and asynchronous steps, by simulating every worker: it computes, encodes,
 * pushes, waits until the slowest is at most t->staleness steps behind (CC_STALE), pulls and
 * decodes. Messages that are in a server's port at the same time share it; its codec serves in the
 * order of arrival, and encodes every pull for one worker alone. `sum` is the cost of a whole step
 * of an exchange with servers. With a period, a worker first computes period - 1 silent steps, each
 * silent_s longer, and staleness counts sending steps. CC_FAIL if memory is out. */
int cc_step_stale(const struct cc_timing *t, const struct cc_cost *sum, int workers, double period,
                  double silent_s, struct cc_spread *out, struct cc_error *e);

#endif
