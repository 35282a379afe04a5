/* The judgement on a log of nccl-tests: which rows are suspicious beside what NCCL expects. */
#ifndef CC_CMD_CHECK_JUDGE_H
#define CC_CMD_CHECK_JUDGE_H

#include "models/nccl_log.h"

struct cc_judged_row {
    struct cc_nccl_choice expected;
    double busbw, busbw_expected; /* bytes per second, out of place; NaN: not measured */
    double share;                 /* of both; NaN likewise */
    char suspicious[160];         /* "": nothing */
};

struct cc_judged {
    struct cc_judged_row *row; /* as in the log */
    size_t rows, suspicious;
    double share; /* the median of rows with CC_JUDGE_LARGE bytes and more; NaN: there is none */
    size_t large; /* such rows */
    double wrong; /* values, of all rows */
};

/* From here on the links decide, not latencies. */
#define CC_JUDGE_LARGE      ((double)(1 << 20))
#define CC_JUDGE_LARGE_TEXT "1 MiB"

/* *out is to be freed with cc_judged_free. */
int cc_judge(const struct cc_nccl_log *log, const struct cc_nccl_cluster *c, enum cc_operation op,
             struct cc_judged *out, struct cc_error *e);
void cc_judged_free(struct cc_judged *j);

#endif
