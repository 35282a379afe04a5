/* What rank 0 tells the launcher: JSON, a line each, on its stdout. One place for writing and
 * reading them. */
#ifndef CC_NETSIM_JOB_REPORT_H
#define CC_NETSIM_JOB_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "netsim/job/phase.h"

/* Times of a row: means over its counted steps; of the rank for which it is longest where ranks
 * differ. */
struct cc_report_row {
    size_t row, steps;
    double *step_s; /* of each counted step: from the slowest rank's end of the last to its end of
                       this one */
    double compute_s, update_s;
    double encode_s, hop_s, server_s,
        decode_s; /* codec time, by place; hop_s of the slowest worker. With more ranks than
                     cores, encode_s is from the first worker's beginning to the last one's end */
    double wait_s;
    double push_bytes, pull_bytes; /* payload per step, without heads: mean over the workers; all
                                      servers together. pull 0 without servers */
    double push_head_bytes, pull_head_bytes;
    double messages;    /* per step, by the rank that sends most */
    double given_bytes; /* handed to MPI per step by the rank that sent most, heads included */
    double sent_bytes, received_bytes; /* per step, as the interface of the busiest host counted
                                          them; -1: no device was named */
    double total_sent_bytes;           /* of all hosts' interfaces together, per step; -1 */
    double peak_bytes; /* the most memory that a simulation has had during the row; 0: not known */
    size_t tensors;    /* push payload bytes per step by tensor, mean over the workers; or none */
    double *tensor_bytes, *tensor_pull_bytes;
};

struct cc_report_size {
    size_t bytes;
    size_t samples;
    double *seconds; /* one way: half a round trip */
};

/* What a rank did from one time to another. */
struct cc_span {
    double begin, end;
    uint32_t step; /* of the row, counted or not; of an exchange that is still under way, its own */
    enum cc_phase phase;
};

/* One end of a transfer: it begins to leave, or all of it has come. `number` counts those of one of
 * the row's messages from one rank to another, and is the same at both ends. */
struct cc_flow_event {
    double at;
    bool came;
    uint32_t peer, message, number, step;
    uint64_t bytes;
};

struct cc_step_span {
    double begin, end;
};

/* Of one rank in the counted steps of a row. All times are seconds since the first worker began the
 * first of them: if all ranks are on one machine, on its clock; otherwise each counts on a clock of
 * its own from when it left the row's barrier. */
struct cc_report_events {
    size_t row;
    int rank;
    size_t left_out;      /* moments and passages for which there was no room: the last ones */
    struct cc_span *span; /* codecs and the rest, each in order and without overlaps */
    size_t events;
    struct cc_flow_event *flow; /* in order */
    size_t flows;
    size_t first_step; /* the row's, that is counted */
    struct cc_step_span *step;
    size_t steps;
};

enum cc_report_kind {
    CC_REPORT_HELLO, /* all ranks are there */
    CC_REPORT_ROW_BEGIN,
    CC_REPORT_STEP,   /* a step ended, counted or not */
    CC_REPORT_ROW,    /* a row is complete */
    CC_REPORT_EVENTS, /* if the job asks: after the row, of one rank after the other */
    CC_REPORT_SIZE,   /* ping-pong: a size is complete */
    CC_REPORT_DONE,
    CC_REPORT_ERROR /* a rank failed: text */
};

struct cc_report {
    enum cc_report_kind kind;
    char *text;                     /* HELLO: the MPI library's version; ERROR: the message */
    int rank;                       /* ERROR */
    size_t row, step;               /* ROW_BEGIN, STEP */
    struct cc_report_row result;    /* ROW */
    struct cc_report_events events; /* MOMENTS */
    struct cc_report_size size;     /* SIZE */
};

int cc_report_print(const struct cc_report *r, FILE *out, struct cc_error *e);
/* One line; CC_FAIL for what is no report. Free with cc_report_free. */
int cc_report_parse(const char *line, size_t length, struct cc_report *out, struct cc_error *e);
void cc_report_free(struct cc_report *r);

#endif
