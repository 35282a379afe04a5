/* The files of `commcomp bench`: bench.c parses the options and measures; bench_rows.c turns what
 * was measured into rows, whose columns bench_columns.c has, and notes. */
#ifndef CC_CMD_CODEC_BENCH_H
#define CC_CMD_CODEC_BENCH_H

#include "bench/profile.h"
#include "bench/quality.h"
#include "bench/speed.h"
#include "bench/update_error.h"
#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "cmd/input/source.h"

/* Which streams of a trace are benched; the choices of --stream in their order. */
enum cc_bench_streams { CC_STREAM_FIRST, CC_STREAM_PUSH, CC_STREAM_PULL, CC_STREAM_ALL };

/* The parsed options, apart from those of the source and the schemes. */
struct cc_bench_options {
    struct cc_given given;
    enum cc_bench_streams streams;
    size_t passes;                  /* 0: as many as settle */
    size_t min_size;                /* smaller tensors travel as fp32 */
    size_t *threads, thread_counts; /* numbers of threads whose speeds are measured */
    bool per_tensor, no_speed;
    size_t samples, discard; /* samples 0: not given */
    double time_s;
    /* and what follows from them: */
    int most_threads;
    struct cc_quality_plan plan;
    struct cc_speed_limits limits;
    const char *values; /* sizes of single tensors, benched one after the other; NULL: a trace */
    const char *profile_out; /* or NULL */
};

struct cc_bench_run {
    struct cc_bench_options options;
    struct cc_source_options source;
    struct cc_bench_config config; /* for the stream that is benched now */
    struct cc_spec *raw;           /* config.raw */
    struct cc_record *record;
    struct cc_progress progress;
    struct cc_profile profile;
    size_t streams;  /* the number of the trace's streams that are benched */
    size_t sizes;    /* in options.values; 0: a trace */
    double *first;   /* GB/s with the first number of threads, [scheme * CC_CALLS + call] */
    size_t outliers; /* among all timings */
    bool timed;      /* speeds of whole steps were measured, */
    bool limited;    /* and of some of them memory is the limit */
};

/* The columns of the record. */
extern const struct cc_column cc_bench_columns[];

/* The measurements of a stream. */
struct cc_bench_measured {
    struct cc_settled *settled;    /* by scheme */
    struct cc_quality *q;          /* [scheme * tensors + tensor] */
    size_t done;                   /* schemes whose q are complete */
    struct cc_update_error *error; /* by scheme */
    struct cc_speed speed;         /* zero if no speeds were measured */
};

/* Adds the rows of the complete schemes except those that failed, and notes under them. */
int cc_bench_rows(struct cc_bench_run *b, const struct cc_bench_measured *m, struct cc_error *e);

/* Adds the notes under all rows: timings that were outliers, limits that are missing. */
int cc_bench_note_speeds(const struct cc_bench_run *b, struct cc_error *e);

#endif
