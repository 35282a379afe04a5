/* Timelines: the activities of all ranks over time, as a JSON file in the Chrome trace event
 * format, which Perfetto (ui.perfetto.dev) and chrome://tracing show. Each row of results is a
 * process of the format with tracks for its ranks, and begins at time 0, so that rows can be
 * compared. docs/timeline.md describes the file. */
#ifndef CC_RESULTS_TIMELINE_H
#define CC_RESULTS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* A kind of activity: its name, and a colour of chrome://tracing's palette. */
struct cc_timeline_kind {
    const char *name, *colour;
};

/* An activity on a track; times in seconds from the beginning of the row. */
struct cc_timeline_slice {
    double begin, end;
    size_t step;
    const struct cc_timeline_kind *kind;
};

/* One end of a transfer; the other end, on another track of the row, has the same id and name. */
struct cc_timeline_end {
    double at;
    bool received;
    const char *id;   /* "3-10.0.17" */
    const char *name; /* "into server 0": transfers of a name are shown together */
    const char *from;
    size_t step, message;
    uint64_t bytes;
};

/* A row. */
struct cc_timeline_head {
    const char *name, *scheme;
    double up_bps, down_bps; /* rates at which a worker's host sends and receives; 0: not known */
};

struct cc_timeline;

/* The size of the file. */
struct cc_timeline_size {
    uint64_t bytes, events;
    uint64_t left_out; /* events beyond the limit */
};

/* Begins a file of at most about `most_bytes`, 0 for as much as viewers load; events beyond are
 * counted as left out. `about` is written into the file: {"key", "value", ..., NULL}; it must
 * outlive the timeline. */
int cc_timeline_open(const char *path, const char *const *about, uint64_t most_bytes,
                     struct cc_timeline **out, struct cc_error *e);
/* Begins a row and ends the one before. */
int cc_timeline_row(struct cc_timeline *t, const struct cc_timeline_head *head, struct cc_error *e);
/* Adds a track below those of the row, of a rank on this host, counted from 0; `worker`: of a
 * worker's own time, of which each worker has one. The following slices are on it, in order of time
 * and without overlap; those shorter than a microsecond are omitted. */
int cc_timeline_track(struct cc_timeline *t, const char *name, int host, bool worker,
                      struct cc_error *e);
void cc_timeline_put(struct cc_timeline *t, const struct cc_timeline_slice *s);
int cc_timeline_put_end(struct cc_timeline *t, const struct cc_timeline_end *end,
                        struct cc_error *e);
/* Adds one rank's times of a step. The first track of the row shows each step from its earliest
 * begin, or from the end of the step before if they overlap, to its latest end. */
int cc_timeline_step(struct cc_timeline *t, size_t step, double from, double to,
                     struct cc_error *e);
/* Adds to the events left out those that the ranks did not record. */
void cc_timeline_miss(struct cc_timeline *t, uint64_t events);

/* Completes the file, which appears, and releases t. `partial`: written into the file, for a run
 * that did not finish. */
int cc_timeline_close(struct cc_timeline *t, bool partial, struct cc_timeline_size *size,
                      struct cc_error *e);
/* Releases t without a file. */
void cc_timeline_abort(struct cc_timeline *t);

#endif
