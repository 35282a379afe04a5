/* Steps: how computation, codec and exchange compose into the time of one training step. */
#ifndef CC_MODELS_STEP_H
#define CC_MODELS_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "models/exchange.h"

enum cc_consistency {
    CC_BULK,  /* all workers wait for the slowest in every step */
    CC_STALE, /* the fastest is at most `staleness` steps ahead of the slowest */
    CC_ASYNC  /* nobody waits */
};
extern const char *const cc_consistency_names[];

/* The factor on a worker's compute time in a step; mean 1, coefficient of variation `spread`. */
enum cc_straggler { CC_STEADY, CC_LOGNORMAL, CC_GAMMA, CC_UNIFORM };
extern const char *const cc_straggler_names[];

struct cc_timing {
    enum cc_step_mode mode;
    double compute_s;     /* forward and backward pass of one step */
    double update_s;      /* applying the update; Pipe-SGD's l_up */
    double forward_share; /* of compute_s; the rest is the backward pass. 1.0/3 usually */
    double hidden_share;  /* CC_SEQUENTIAL: of compute_s, that goes on beside the exchange */
    double fuse_bytes;    /* messages gather tensors up to so many pushed bytes; < 0: the default:
                             the whole step (per server), or, overlapped, each tensor by itself */
    double sync_s;        /* of each message; Pipe-SGD's S */
    enum cc_pulls pulls;
    int depth;     /* CC_PIPE: K, at least 1 */
    int unlimited; /* CC_PIPE: as many processors and links as steps in flight (equation 3) */
    enum cc_consistency consistency;
    int staleness;
    enum cc_straggler straggler;
    double spread;
    uint64_t seed;
};

/* The tensors of a message that one server keeps, and what they cost that server: of the cost, only
 * what is the server's counts. */
struct cc_part {
    int server;
    struct cc_payload_cost payload;
    struct cc_cost cost;
};

/* One message of a step, in the order in which they leave: that of the backward pass. */
struct cc_step_message {
    struct cc_cost cost;
    size_t first, last;         /* its tensors, by their place in the net */
    const struct cc_part *part; /* one for each server that gets some of it; */
    int parts;                  /* 0: every server has what `cost` says */
};

/* Pipe-SGD (NeurIPS 2018), equations 2 to 7, per step. `compute` is all that the processor does. */
double cc_pipe_sync(double update, double compute, double comm);           /* 2, with T = 1 */
double cc_pipe_ideal(double update, double compute, double comm, int k);   /* 3 */
double cc_pipe_limited(double update, double compute, double comm, int k); /* 4; K = 1 is 2 */
double cc_pipe_ring(double alpha, double beta, double gamma, double bytes, int workers,
                    int segments, double sync); /* communication of 5 (one segment) and 6 */
double cc_pipe_efficiency(double update, double compute, double step); /* 7 */

/* A share of the computation goes on beside something else. */
double cc_step_beside(double compute, double share, double beside);

/* The time of a step whose messages cost `sum` together. */
double cc_step_sequential(const struct cc_timing *t, const struct cc_cost *sum);
double cc_step_pipe(const struct cc_timing *t, const struct cc_cost *sum);

/* Overlapped steps in their steady state. Each serves in order: a worker's encoder, its port out,
 * every server's port in, codec and port out, the worker's port in, its decoder; an exchange
 * without servers (servers = 0) is one stage, the network. `share` holds each tensor's part of the
 * compute time, from the input to the output. The next forward pass waits at a tensor until what
 * comes back for it is decoded. Every port has a token bucket, full when the backward pass begins,
 * that saves up to burst_s. scratch: tensors + 5 * servers doubles. */
double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *ship, size_t count,
                       const double *share, size_t tensors, int servers, double burst_s,
                       double *scratch);

/* --- stragglers --- */

/* Steps with workers that differ: mean and deviation of the time of a worker's steps, and the mean
 * time it waits for others, a step. */
struct cc_spread {
    double step_s, step_sd, wait_s;
};

/* Of one step that sends and `rest` quiet ones together: the variance is the mean of theirs and the
 * variance of their means. */
struct cc_spread cc_spread_mix(const struct cc_spread *sending, const struct cc_spread *silent,
                               double rest);

/* The next draw of the factor on a worker's compute time; `generator` is a gsl_rng. */
double cc_straggler_draw(const struct cc_timing *t, void *generator);

/* Bulk synchronous: one step of `period` sends, and waits there for the slowest of `workers`; in
 * the others nobody waits. step(arg, sends, c) is a step's time if the compute time is c. Of a
 * period of more than 64 steps, 64 are drawn and scaled to the mean and variance of all. */
int cc_step_bulk(const struct cc_timing *t, int workers, double period,
                 double (*step)(void *arg, bool sends, double compute_s), void *arg,
                 struct cc_spread *out, struct cc_error *e);

/* Stale synchronous and asynchronous, by simulating every worker: it computes, encodes, pushes,
 * waits until the slowest is at most t->staleness steps behind (CC_STALE), pulls and decodes. Ports
 * and codecs of the servers serve in the order of arrival; what a worker pulls is encoded for it
 * alone. `sum` is the cost of a whole step of CC_PS. With a period, it first computes period - 1
 * times, each with quiet_s more, and staleness counts what is sent. */
int cc_step_stale(const struct cc_timing *t, const struct cc_cost *sum, int workers, double period,
                  double quiet_s, struct cc_spread *out, struct cc_error *e);

#endif
