/* Steps: how computation, codec and exchange compose into the time of one training step. */
#ifndef CC_MODELS_STEP_H
#define CC_MODELS_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "models/exchange.h"

enum cc_step_mode {
    CC_SEQUENTIAL, /* compute, then communicate */
    CC_OVERLAP,    /* wait-free backpropagation, tensor by tensor */
    CC_PIPE        /* Pipe-SGD: steps overlap, gradients are K - 1 steps late */
};
extern const char *const cc_step_names[];

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
    double fuse_bytes;    /* messages gather tensors up to so many pushed bytes; < 0: the default:
                             the whole step (per server), or, overlapped, each tensor by itself */
    double sync_s;        /* of each message; Pipe-SGD's S */
    int depth;            /* CC_PIPE: K, at least 1 */
    int unlimited; /* CC_PIPE: as many processors and links as steps in flight (equation 3) */
    enum cc_consistency consistency;
    int staleness;
    enum cc_straggler straggler;
    double spread;
    uint64_t seed;
};

/* One message of a step, in the order in which they leave. */
struct cc_shipment {
    struct cc_cost cost;
    double ready_s; /* overlapped: when its last gradient exists, after the backward pass began */
    int server;     /* which one takes it, or CC_EVERY_SERVER */
    size_t first_need; /* the tensor that the forward pass reaches first among its own */
};

/* A step's time, and what filled it. The parts may overlap: their sum is then more than step_s. */
struct cc_step {
    double step_s, step_sd; /* mean and deviation over steps; 0 without stragglers */
    double wait_s;          /* of a worker for other workers: stragglers, staleness */
    double exposed_s;       /* of step_s that is not compute and update */
};

/* Pipe-SGD (NeurIPS 2018), equations 2 to 7, per step. `compute` is all that the processor does. */
double cc_pipe_sync(double update, double compute, double comm);           /* 2, with T = 1 */
double cc_pipe_ideal(double update, double compute, double comm, int k);   /* 3 */
double cc_pipe_limited(double update, double compute, double comm, int k); /* 4; K = 1 is 2 */
double cc_pipe_ring(double alpha, double beta, double gamma, double bytes, int workers,
                    int segments, double sync); /* communication of 5 (one segment) and 6 */
double cc_pipe_efficiency(double update, double compute, double step); /* 7 */

/* Sequential and pipelined steps from the sum of all messages' costs. */
double cc_step_sequential(const struct cc_timing *t, const struct cc_cost *sum);
double cc_step_pipe(const struct cc_timing *t, const struct cc_cost *sum);

/* Overlapped steps in their steady state. Stages serve in order: a worker's encoder; its port out;
 * each server's port in, codec and port out; the worker's port in; its decoder. `share` holds each
 * tensor's part of the compute time, from the input to the output. The next forward pass waits at a
 * tensor until what was pulled for it is decoded. `scratch` has room for 2 * (tensors + servers) +
 * count doubles. */
double cc_step_overlap(const struct cc_timing *t, const struct cc_shipment *ship, size_t count,
                       const double *share, size_t tensors, const struct cc_cluster *cluster,
                       double *scratch);

/* Bulk synchronous, stale or asynchronous steps with stragglers: `workers` workers for many steps.
 * Without stragglers a bulk step is *base as it is. `per_worker`: of one worker alone, as the
 * servers' ports and codecs are shared by all. Stale and asynchronous steps need CC_PS. */
int cc_step_consistency(const struct cc_timing *t, const struct cc_cost *sum,
                        const struct cc_cluster *cluster, double base_s, struct cc_step *out,
                        struct cc_error *e);

#endif
