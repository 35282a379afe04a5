/* Reports: what rank 0 tells the launcher, as lines of JSON on its stdout. One table for each kind
 * writes, parses and documents them. */
#ifndef CC_NETSIM_JOB_REPORT_H
#define CC_NETSIM_JOB_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "netsim/job/evaluation.h"
#include "netsim/job/fields.h"

/* The phases of a rank's time, as ranks, reports and timelines distinguish them. */
enum cc_phase {
    CC_PHASE_COMPUTE,
    CC_PHASE_ENCODE, /* a worker, before the first byte leaves, or before each of several sums */
    CC_PHASE_HOP,    /* decoding, adding and encoding on the way; adding floats */
    CC_PHASE_SERVER, /* a server: decoding pushes, encoding the pull */
    CC_PHASE_DECODE, /* a worker, onto its model, or each of several sums */
    CC_PHASE_UPDATE,
    CC_PHASE_WAIT, /* the rest: for the network, and for other ranks */
    CC_PHASES
};

/* A row's result. Members without a comment are described in report.c, here and below. Times are
 * means over its counted steps; where ranks differ, of the rank for which they are longest. */
struct cc_report_row {
    size_t row, steps;
    double *step_s; /* [steps] */
    double compute_s, update_s;
    /* With more ranks than cores, encode_s is from the first worker's beginning to the last one's
     * end. */
    double encode_s, hop_s, server_s, decode_s;
    double wait_s, exposed_s, busy_s, waking_s, message_s;
    double core_wait_s, core_wait_all_s, other_cores;
    double push_bytes, pull_bytes, push_head_bytes, pull_head_bytes;
    double messages, given_bytes; /* to other hosts; where hosts have several ranks, of the host */
    double intra_bytes;           /* or 0 */
    double sent_bytes, received_bytes, total_sent_bytes;
    double kept_values;    /* or 0 */
    size_t applied_errors; /* 2, or 0: not measured */
    double *applied_error;
    double updates, updates_per_s, held_s; /* or 0 */
    size_t ages;                           /* or 0 */
    double *age;
    double peak_bytes;
    size_t collectives; /* or 0 */
    double *collective_s;
    char *chose;
    size_t tensors; /* in the next two; 0: none */
    double *tensor_bytes, *tensor_pull_bytes;
};

/* An evaluation of a training. */
struct cc_report_eval {
    size_t row;
    struct cc_evaluation of; /* without residuals */
    uint32_t weights;
};

struct cc_report_size {
    size_t bytes;
    size_t samples;
    double *seconds;
    double send_s;
};

/* A row of a job with `calls`. Times are those of the slowest rank, bytes and messages of a call.
 */
struct cc_report_calls {
    size_t row, calls;
    double *call_s;           /* [calls] */
    double encode_s, apply_s; /* means */
    double push_bytes, given_bytes, messages, result_values;
    char *chose; /* "ssar-split 20, ssar-recdouble 4"; or NULL */
    bool checked;
    char *wrong; /* or NULL */
};

/* Something that a rank did from one time to another. */
struct cc_span {
    double begin, end;
    uint32_t step; /* the row's, counted or not; during an exchange that is still under way, the
                      exchange's */
    enum cc_phase phase;
};

/* One end of a transfer: it begins to leave, or all of it has come. `number` counts the transfers
 * of one of the row's messages from one rank to another, and is the same at both ends. */
struct cc_flow_event {
    double at;
    bool received;
    uint32_t peer, message, number, step;
    uint64_t bytes;
};

struct cc_step_span {
    double begin, end;
};

/* The events of one rank in the counted steps of a row. Times are seconds since the first worker
 * began the first of them if all ranks are on one machine; otherwise each rank counts on its own
 * clock from when it left the row's barrier. */
struct cc_report_events {
    size_t row;
    int rank;
    size_t left_out;      /* spans and flows left out for lack of room: the last ones */
    struct cc_span *span; /* codecs and the rest, each in order and without overlaps */
    size_t spans;
    struct cc_flow_event *flow; /* in order */
    size_t flows;
    size_t first_step; /* the row's first counted step */
    struct cc_step_span *step;
    size_t steps;
};

enum cc_report_kind {
    CC_REPORT_HELLO, /* all ranks are there */
    CC_REPORT_ROW_BEGIN,
    CC_REPORT_STEP,   /* a step ended, counted or not */
    CC_REPORT_ROW,    /* a row is complete, or steps of a training up to an evaluation or a
                         checkpoint */
    CC_REPORT_EVAL,   /* in a training, after the row of its last steps */
    CC_REPORT_CALLS,  /* a row of a job with `calls` is complete */
    CC_REPORT_EVENTS, /* in a job with `events`, after the row, for one rank after the other */
    CC_REPORT_SIZE,   /* ping-pong: a size is complete */
    CC_REPORT_DONE,
    CC_REPORT_ERROR, /* a rank failed: text */
    CC_REPORT_KILLED /* a rank was killed, as the process that waits for it says */
};

/* A rank's process that a signal has ended. */
struct cc_report_killed {
    char *host;
    size_t process;
    int rank, signal;
};

struct cc_report {
    enum cc_report_kind kind;
    char *text;                     /* HELLO: the MPI library's version; ERROR: the message */
    int rank;                       /* ERROR */
    bool diverged;                  /* ERROR: the training has diverged, in `step` */
    size_t row, step;               /* ROW_BEGIN, STEP, ERROR */
    struct cc_report_row result;    /* ROW */
    struct cc_report_eval eval;     /* EVAL */
    struct cc_report_calls calls;   /* CALLS */
    struct cc_report_events events; /* EVENTS */
    struct cc_report_size size;     /* SIZE */
    struct cc_report_killed killed; /* KILLED */
};

/* Writes one line and flushes `out`. */
int cc_report_print(const struct cc_report *r, FILE *out, struct cc_error *e);
/* Parses one line; a line that is not a report is an error. *out is set on success only; free it
 * with cc_report_free. */
int cc_report_parse(const char *line, size_t length, struct cc_report *out, struct cc_error *e);
void cc_report_free(struct cc_report *r);

extern const struct cc_table cc_report_tables[CC_REPORT_KILLED + 1]; /* by kind */

#endif
