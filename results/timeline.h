/* Timelines: who did what when, as a JSON file in the Chrome trace event format, which Perfetto
 * (ui.perfetto.dev) and chrome://tracing show. Rows are processes, one below the other; each begins
 * at time 0, so that they can be compared. docs/timeline.md. */
#ifndef CC_RESULTS_TIMELINE_H
#define CC_RESULTS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* What slices are of: their name, and a colour of chrome://tracing's palette. */
struct cc_timeline_kind {
    const char *name, *colour;
};

/* Seconds since the row's 0. */
struct cc_timeline_slice {
    double begin, end;
    size_t step;
    const struct cc_timeline_kind *kind;
};

/* One end of a transfer; the other one, on another track of the row, has the same id and name. */
struct cc_timeline_end {
    double at;
    bool came;
    const char *id,
        *name; /* "3-10.0.17", "into server 0": transfers of a name are shown together */
    const char *from;
    size_t step, message;
    uint64_t bytes;
};

struct cc_timeline;

/* What became of it. */
struct cc_timeline_size {
    uint64_t bytes, events;
    uint64_t left_out; /* beyond the most that viewers take */
};

/* More bytes than viewers load is not written: 0 stands for what they do. `about` goes into the
 * file: {"key", "value", ..., NULL}, which must stay until the end. */
int cc_timeline_open(const char *path, const char *const *about, uint64_t most_bytes,
                     struct cc_timeline **out, struct cc_error *e);
/* A row begins, and the one before ends. */
int cc_timeline_row(struct cc_timeline *t, const char *name, struct cc_error *e);
/* A track of the row, below those that it has. Slices follow in order and do not overlap; those
 * shorter than a microsecond are passed over. */
int cc_timeline_track(struct cc_timeline *t, const char *name, struct cc_error *e);
void cc_timeline_put(struct cc_timeline *t, const struct cc_timeline_slice *s);
int cc_timeline_put_end(struct cc_timeline *t, const struct cc_timeline_end *end,
                        struct cc_error *e);
/* Step `step` of the row, on one of its tracks. On the row's first track a step is shown from when
 * the first began it, or, where steps overlap, from the end of the last one, to when all ended. */
int cc_timeline_step(struct cc_timeline *t, size_t step, double from, double to,
                     struct cc_error *e);
/* What the source itself left out. */
void cc_timeline_miss(struct cc_timeline *t, uint64_t events);

/* Finishes the file and gives it its name; `partial` says in it that it was not all. Frees t. */
int cc_timeline_close(struct cc_timeline *t, bool partial, struct cc_timeline_size *size,
                      struct cc_error *e);
/* Leaves no file. */
void cc_timeline_abort(struct cc_timeline *t);

#endif
