/* What the files of `commcomp bench` share. */
#ifndef CC_CMD_CODEC_BENCH_H
#define CC_CMD_CODEC_BENCH_H

#include "bench/profile.h"
#include "bench/quality.h"
#include "bench/speed.h"
#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"

struct bench {
    struct cc_args *args;
    struct cc_bench_config plan;
    struct cc_speed_limits limits;
    struct cc_progress progress;
    struct cc_record *record;
    size_t passes;  /* 0: auto */
    size_t streams; /* how many are benched */
    size_t sizes;   /* of single tensors, that are benched one after the other; 0: a trace */
    bool per_tensor, speed;
    const char *profile_out; /* or NULL */
    struct cc_profile profile;
};

enum { CC_BENCH_MOST_PASSES = 200 }; /* of --passes auto */

/* The columns of the record. */
extern const struct cc_column cc_bench_columns[];

/* Adds the rows of the first `done` schemes of a stream, but for those that failed, and notes.
 * q[scheme * tensors + tensor]; *speed is zero without speeds. */
int cc_bench_rows(struct bench *b, const size_t *passes, const struct cc_quality *q, size_t done,
                  const struct cc_speed *speed, struct cc_error *e);

/* Under all rows: how many timings were outliers. */
int cc_bench_note_outliers(const struct bench *b, struct cc_error *e);

#endif
