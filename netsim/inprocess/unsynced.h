/* Steps that are not bulk synchronous (the thesis, section 2.3.2), by simulated clocks: in which
 * order workers compute, servers update and workers pull. The caller does the work itself.
 *
 * A part is what one server keeps of one message. A worker computes a step and sends its parts as
 * they get ready; each occupies the worker's port out and the server's port in, in the order of
 * arrival. A server updates its parameters by a part when it arrives, and then sends the worker
 * what has changed: at once, or when the bound lets the worker read
 * (netsim/exchange/pack/clocks.h). A worker's next step begins when it has computed, and
 * received an answer to all parts that it has sent. Events at the same time are in the order of the
 * workers. */
#ifndef CC_NETSIM_INPROCESS_UNSYNCED_H
#define CC_NETSIM_INPROCESS_UNSYNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"

/* A step's part. */
struct cc_unsynced_part {
    /* To the caller: what the worker has would be too old for its next step, or this is its last
     * one. */
    bool due;
    /* From the caller: whether it sends the part, of `bytes` bytes, or withholds it, which the
     * server is told; silent: neither, since the scheme sends nothing in this step, which the
     * clocks do not count. */
    bool sends, silent;
    size_t bytes;
};

/* The caller's work. Any status but CC_OK ends cc_unsynced_run, which returns it. */
struct cc_unsynced_ops {
    /* `worker` computes `step`, from 0, with what it has received; part[parts]. */
    int (*compute)(void *arg, size_t worker, size_t step, struct cc_unsynced_part *part,
                   struct cc_error *e);
    /* The server updates its parameters by the worker's part. */
    int (*update)(void *arg, size_t worker, size_t part, struct cc_error *e);
    /* It sends the worker what has changed, and sets *bytes to its size. */
    int (*pull)(void *arg, size_t worker, size_t part, size_t *bytes, struct cc_error *e);
    int (*receive)(void *arg, size_t worker, size_t part, struct cc_error *e);
};

struct cc_unsynced_config {
    size_t workers, servers, parts;
    const size_t *server; /* [parts] */
    const double *ready;  /* [parts]: when a part is computed, as a share of the step's time */
    struct cc_job_consistency consistency; /* not CC_BULK */
    size_t steps;                          /* each worker's */
    double compute_s;
    const double *slow;                      /* [workers][steps]: factors on it; NULL: 1 */
    double byte_s, message_bytes, latency_s; /* as in struct cc_training_clocks */
    const struct cc_unsynced_ops *ops;
    void *arg;
};

struct cc_unsynced;

/* All that config points to must outlive it. Close it with cc_unsynced_close, which NULL is allowed
 * for. */
int cc_unsynced_open(const struct cc_unsynced_config *config, struct cc_unsynced **out,
                     struct cc_error *e);
void cc_unsynced_close(struct cc_unsynced *u);

/* Continues until all workers together have ended `ended` steps: a step ends when the servers have
 * updated all parameters by it, or, if it sends nothing, when it is computed. After the last step,
 * or when interrupted, returns sooner. */
int cc_unsynced_run(struct cc_unsynced *u, uint64_t ended, struct cc_error *e);

/* Figures since the beginning. */
struct cc_unsynced_figures {
    double time_s;
    uint64_t ended;                  /* steps of all workers */
    double updates;                  /* updates of parts / parts */
    double staleness, staleness_p95; /* that of the updates of parts */
    double wait_s;                   /* for the bound, of all workers together */
};
void cc_unsynced_figures(const struct cc_unsynced *u, struct cc_unsynced_figures *out);
/* The updates of all parts by their staleness: age[CC_CLOCKS_AGES]. */
void cc_unsynced_ages(const struct cc_unsynced *u, uint64_t *age);

#endif
