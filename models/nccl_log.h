/* The output of the programs of nccl-tests (all_reduce_perf, reduce_scatter_perf, all_gather_perf):
 * as text, or as JSON (-J). */
#ifndef CC_MODELS_NCCL_LOG_H
#define CC_MODELS_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "models/nccl.h"

/* One of the two measurements of a row; NaN: not printed. */
struct cc_nccl_measured {
    double time_s, algbw, busbw; /* bytes per second */
    double wrong;                /* values */
};

struct cc_nccl_row {
    double bytes, count; /* as printed: size and count */
    char type[16], redop[16];
    double root; /* -1: none, or not printed */
    size_t line; /* of a text; 0 in JSON */
    struct cc_nccl_measured out_of_place, in_place;
};

struct cc_nccl_log {
    struct cc_nccl_row *row;
    size_t rows;
    int ranks, hosts; /* of the list of devices; 0: there is none */
    int fewest, most; /* devices of a host of the list */
    char device[64];  /* the first one's name; "": not known */
    char program[64]; /* "all_reduce_perf"; "": not known */
};

/* Parses text[0, length): JSON if it begins with "{", otherwise text, in which other lines than
 * rows and devices are passed over, as are marks such as "[1,0]<stdout>:" that launchers put in
 * front. A row with too few numbers, or something else than a number, is an error that names the
 * line; so is a text without rows. *out is set on success only. */
int cc_nccl_log_parse(const char *text, size_t length, struct cc_nccl_log *out, struct cc_error *e);
/* The same of a file; messages begin with its path. */
int cc_nccl_log_read(const char *path, struct cc_nccl_log *out, struct cc_error *e);
void cc_nccl_log_free(struct cc_nccl_log *log);

/* The operation that the log is of: by the program's name, else by the ratio of its bandwidths.
 * Fails if it is another, such as a broadcast. */
int cc_nccl_log_op(const struct cc_nccl_log *log, enum cc_operation *out, struct cc_error *e);
/* The ranks: of the devices, else by the ratio of the bandwidths; 0 if neither tells. */
int cc_nccl_log_ranks(const struct cc_nccl_log *log, enum cc_operation op);

#endif
