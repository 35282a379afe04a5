/* A source of gradients: what a rank computes between its exchanges. The loop (step_modes.c) asks
 * it for one part of the work after another, hands the gradient to the exchange as soon as a
 * message's part of it is there, and returns the exchange's results. Sources know nothing of MPI,
 * messages' payloads or the order in which a step mode does things.
 *
 * The life of step t, in this order:
 *
 * Compute: part by part. A step begins with its first part. Once a backward part, or the whole
 * step, is done, the gradient of its tensors is final: the exchange may read it.
 *
 * Buffers: where the gradient of t is, and where the exchange of t adds the mean over the workers
 * of their encoded gradients.
 *
 * Apply: the result of a message's tensors, or of all, is complete: the model is updated.
 *
 * End: the buffers of t may be used for another step.
 *
 * Steps begin in order and end in order, but several may be in flight: a pipeline of depth K
 * computes step t while t-K+1 .. t-1 are exchanged. So gradients are K-1 steps old, and a source
 * must keep as many buffers as its `in_flight` says.
 *
 * Time. Emulated computing (`emulated`) takes no time itself: each call gives the seconds that its
 * work would take, and the loop lets them pass on the rank's clock. Real computing is polled: each
 * call works for a short time (a layer) and returns, so that messages make progress between calls;
 * it took the time that the clock says. Either way the part is complete once `done` is set.
 *
 * There are two. One emulates computing on gradients that are in memory beforehand, replayed from a
 * trace or drawn (source_preloaded.c). Training
 * (source_training.c) computes for real: forward and backward layer by layer, with the parameters
 * that apply has left; apply runs the optimizer on the mean gradient, or, where servers send model
 * deltas, the exchange has added them. It may be `emulated`, too: it computes in the call and gives
 * the seconds of the device that is emulated. Simulated ranks share a process and switch only where
 * they wait, never within a call: data sets and scratch memory are shared among them, models and
 * residuals not. */
#ifndef CC_NETSIM_RANK_SOURCE_H
#define CC_NETSIM_RANK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/evaluation.h"
#include "netsim/job/job.h"

enum cc_compute_part {
    CC_COMPUTE_STEP,     /* forward and backward pass of all tensors; without a message. With local
                            steps, all of them that are left */
    CC_COMPUTE_AHEAD,    /* local steps that are made before the results of the step before are
                            taken; without a message, and before CC_COMPUTE_STEP */
    CC_COMPUTE_FORWARD,  /* a message's tensors, in the order of the net */
    CC_COMPUTE_BACKWARD, /* a message's tensors, from the end of the net. Parts of the forward pass
                            that were not asked for before come with the first one */
};

/* How far a call of compute or apply has come. */
struct cc_source_progress {
    bool done;      /* otherwise call again */
    double seconds; /* emulated: what this call's work takes */
};

/* Flat steps; NULL without data. */
struct cc_source_buffers {
    const float *gradient;
    float *result;
    /* In a training whose parameters are divided: what the rank gathers of its own, and to which
     * what all gather is added; and means inside the host, where others follow. Otherwise NULL:
     * gradient and result stand in for them. */
    const float *parameters;
    float *gathered, *partial;
};

struct cc_source;

/* How a worker's batch was classified before its update; sent as doubles. */
struct cc_source_batch {
    double loss, correct; /* the mean loss, and the number of correct samples */
};

/* The state of a source that trains. */
struct cc_source_learned {
    const float *weights; /* flat; a server's copy is 0 where another one keeps the values */
    size_t values;
    const float *stats; /* a worker's running statistics; on servers nobody reads them */
    size_t stat_count;
    /* The optimizer's state, where this rank applies it; else none. On servers it is as `weights`.
     */
    const float *optimizer;
    size_t optimizer_count;
    /* A worker's batches, of each step of the row from the first on. */
    const struct cc_source_batch *batch;
    /* With local steps: a worker's own parameters and its optimizer's state; otherwise, and on
     * servers, none. */
    float *own;
    size_t own_count;
    /* The deltas that servers are about to encode in the step under way, or encoded last, as
     * weights; NULL unless the job captures them. */
    const float *pulled;
    /* A worker's results that have arrived and are not applied: of a pipeline's steps that have
     * begun and not ended, the oldest first. The list is the source's. */
    float *const *delayed;
    size_t delayed_count;
    /* With shards: the parameters and the optimizer's state of this worker's values, which is then
     * none above; otherwise NULL. To restore, `main` and `optimizer` are flat instead. */
    const struct cc_shard *shard;
    const float *main;
};

/* The operations that a source implements. Callers use the functions below, which check the order
 * of calls. */
struct cc_source_ops {
    int (*begin_row)(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e);
    int (*compute)(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                   const struct cc_message *m, struct cc_source_progress *out, struct cc_error *e);
    struct cc_source_buffers (*buffers)(struct cc_source *s, uint64_t step);
    int (*apply)(struct cc_source *s, int64_t step, const struct cc_message *m,
                 struct cc_source_progress *out, struct cc_error *e);
    void (*close)(struct cc_source *s);
    /* A training whose parameters are divided: a unit's message of a collective has ended. NULL:
     * nothing is to be done then. */
    void (*arrived)(struct cc_source *s, const struct cc_collective *of,
                    const struct cc_message *unit);
    /* A server, or with shards a worker, if the source `serves`: turns the mean of the workers'
     * gradients of values [from, to) into what they pull, in place; mean[0] is value `from`, and
     * `updates` of these values came before. Where steps are not bulk synchronous, `mean` is the
     * gradient of one worker, whose step it is. */
    int (*serve)(struct cc_source *s, uint64_t step, uint64_t updates, size_t from, size_t to,
                 float *mean, struct cc_error *e);
};

/* The head of every source. */
struct cc_source {
    const struct cc_source_ops *ops;
    const char *name; /* in messages */
    bool emulated, serves;
    size_t in_flight;      /* how many steps may be */
    uint64_t begun, ended; /* in this row: how many steps */
};

/* Starts a row: steps count from 0 again, and the results of earlier rows are forgotten. Call it
 * when the ranks' speeds are known (cc_runtime_speed). `row` must outlive its steps. */
int cc_source_begin_row(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e);

/* Works on a part of `step`, of which `m` selects the tensors; NULL for CC_COMPUTE_STEP. */
int cc_source_compute(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                      const struct cc_message *m, struct cc_source_progress *out,
                      struct cc_error *e);

/* The buffers of a step that has begun and not ended. */
struct cc_source_buffers cc_source_buffers(struct cc_source *s, uint64_t step);

/* Updates the model by the result of `step` for the tensors of `m`, or all (NULL). A pipeline that
 * is not full yet has negative steps: nothing is applied, but an emulated update takes its time. */
int cc_source_apply(struct cc_source *s, int64_t step, const struct cc_message *m,
                    struct cc_source_progress *out, struct cc_error *e);

/* A unit's message of a collective, of a step with sharded states, has ended. */
static inline void cc_source_arrived(struct cc_source *s, const struct cc_collective *of,
                                     const struct cc_message *unit)
{
    if (s->ops->arrived != NULL)
        s->ops->arrived(s, of, unit);
}

/* Ends the oldest step in flight, which must be `step`. */
int cc_source_end_step(struct cc_source *s, uint64_t step, struct cc_error *e);

/* NULL is nothing to close. */
void cc_source_close(struct cc_source *s);

/* --- sources that train (source_training.c) --- */

/* Starts the row behind its first `steps` steps, as if they had been done, with what had been
 * learned by then: weights and optimizer state of the whole step, own statistics. Call it before
 * its first step. */
int cc_source_restore(struct cc_source *s, uint64_t steps, const struct cc_source_learned *to,
                      struct cc_error *e);

/* The state after the steps that have ended; and scoring two copies of the parameters by
 * cc_training_score, which takes no time on a simulated clock. */
struct cc_source_learned cc_source_learned(struct cc_source *s);
int cc_source_score(struct cc_source *s, const float *workers, const float *servers,
                    const float *stats, struct cc_evaluation *out, struct cc_error *e);

/* Where parameters are divided: the sum of squares of this rank's parts of the mean gradient, when
 * all of it is there, and a factor on them. */
double cc_source_square(struct cc_source *s);
void cc_source_clip(struct cc_source *s, float by);
/* The parameters of which all units were gathered outside of a step: what the next one computes
 * with. They last until cc_source_forget, after which a step finds all as it was before. */
const float *cc_source_copy(struct cc_source *s);
void cc_source_forget(struct cc_source *s);

#endif
