/* The reader of nccl-tests' output: rows hold what is finite and not negative, and tell a number of
 * ranks that formulas take. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "models/nccl_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_measured(const struct cc_nccl_measured *m)
{
    const double all[] = {m->time_s, m->algbw, m->busbw, m->wrong};
    for (size_t i = 0; i < 4; i++)
        if (!isnan(all[i]) && !(all[i] >= 0))
            abort();
}

static void check_log(const struct cc_nccl_log *log)
{
    struct cc_nccl_cluster c = {
        .generation = CC_NCCL_HOPPER, .nvlink = true, .intra = 1e11, .inter = 1e10};
    struct cc_error e = {""};
    enum cc_operation op;
    if (cc_nccl_log_op(log, &op, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort();
        return;
    }
    c.ranks = cc_nccl_log_ranks(log, op);
    c.hosts = log->hosts > 0 && log->hosts <= c.ranks ? log->hosts : 1;
    for (size_t i = 0; i < log->rows && c.ranks >= 2; i++) {
        const struct cc_nccl_choice t = cc_nccl_choose(&c, op, log->row[i].bytes);
        if (!(t.latency_s > 0) || !(t.transfer_s >= 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_nccl_log log;
    struct cc_error e = {""};
    if (cc_nccl_log_parse((const char *)data, size, &log, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    if (log.rows == 0)
        abort();
    for (size_t i = 0; i < log.rows; i++) {
        if (!(log.row[i].bytes >= 0) || !(log.row[i].count >= 0))
            abort();
        check_measured(&log.row[i].out_of_place);
        check_measured(&log.row[i].in_place);
    }
    check_log(&log);
    cc_nccl_log_free(&log);
    return 0;
}
