/* The time of a step whose communication overlaps its computation (wait-free backpropagation), in
 * the steady state: from one backward pass to the next.
 *
 * message[0, count) are the step's messages, in the order in which they leave; share[0, tensors) is
 * each tensor's part of the compute time, from the input to the output. Every port has a token
 * bucket, full when the backward pass begins, that saves up to burst_s seconds of sending. */
#ifndef CC_MODELS_OVERLAP_H
#define CC_MODELS_OVERLAP_H

#include "models/fluid.h"
#include "models/step.h"

/* Exchanges without servers (overlap.c). available: scratch of `tensors` doubles. */
double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *message,
                       size_t count, const double *share, size_t tensors, double burst_s,
                       double *available);

/* --- parameter servers (overlap_servers.c) --- */

struct cc_step_cluster {
    int workers, servers;
    bool placed_whole; /* every server keeps whole tensors: messages have parts; else all have the
                          same part of each message */
    bool colocated;    /* server i is on the host of worker i */
    double window_s;   /* CC_QUEUE_BYTES on a link */
    double message_s;  /* a processor's work for each message that it sends (o) */
};

/* A message's part for one server, or for all of them alike. */
struct cc_overlap_part {
    const struct cc_cost *cost;
    size_t message, server; /* server: its kind */
    double begins;          /* when the push, or then the pull, begins; INFINITY while it waits */
    size_t missing;         /* pushes, by kind of worker */
    bool pulls;
};

/* A message on its way back to one kind of workers. */
struct cc_overlap_pull {
    size_t missing;   /* parts */
    double available; /* when it is decoded */
};

/* Memory, reused between calls: zero it before the first. */
struct cc_overlap_memory {
    struct cc_fluid net;
    struct cc_overlap_part *part;
    struct cc_overlap_pull *pull;
    double *free_at;
    size_t *to_come;
    size_t part_capacity, pull_capacity, free_capacity, to_come_capacity;
};

/* Makes room for steps of up to `parts` messages, or, where servers keep whole tensors, parts of
 * messages. A step has no more than tensors. */
int cc_overlap_reserve(struct cc_overlap_memory *m, const struct cc_step_cluster *c, size_t parts,
                       struct cc_error *e);
void cc_overlap_free(struct cc_overlap_memory *m);

/* Uses memory that was reserved for this cluster. */
double cc_step_overlap_servers(const struct cc_timing *t, const struct cc_step_message *message,
                               size_t count, const double *share, size_t tensors,
                               const struct cc_step_cluster *cluster, double burst_s,
                               struct cc_overlap_memory *memory);

#endif
