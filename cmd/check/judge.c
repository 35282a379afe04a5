#include "cmd/check/judge.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/stats.h"

/* Limits of what is called suspicious. Lower ones find more, and more that is harmless: expected
 * times are those of NCCL's own choice, which it takes to be right within a factor of two. */
#define LOW_SHARE   0.6  /* of a large message, by the median of all large ones */
#define SLOW_SMALL  3.0  /* times the expected time, of small messages */
#define ABOVE_LINK  1.03 /* times the links' rate */
#define FALLS       0.7  /* of the best bandwidth of a smaller message */
#define OVERTAKEN   1.25 /* times the time of a larger message */
#define RATIO_OFF   0.03 /* of busbw / algbw, of large messages */
#define SMALL_BYTES 65536.0

/* The median share of large messages. */
static int find_median(const struct cc_nccl_log *log, struct cc_judged *j, struct cc_error *e)
{
    double *share;
    CC_TRY(CC_NEW(share, log->rows, e));
    for (size_t i = 0; i < log->rows; i++)
        if (log->row[i].bytes >= CC_JUDGE_LARGE && !isnan(j->row[i].share))
            share[j->large++] = j->row[i].share;
    j->share = j->large > 0 ? cc_stats_of(share, j->large).median : (double)NAN;
    free(share);
    return CC_OK;
}

static void expect(const struct cc_nccl_row *row, const struct cc_nccl_cluster *c,
                   enum cc_operation op, struct cc_judged_row *out)
{
    const struct cc_nccl_measured *m = &row->out_of_place;
    const double factor = cc_nccl_bus_factor(op, c->ranks);
    out->expected = cc_nccl_choose(c, op, row->bytes);
    const double time = out->expected.latency_s + out->expected.transfer_s;
    out->busbw_expected = row->bytes > 0 ? factor * row->bytes / time : NAN;
    out->busbw = row->bytes > 0 && m->time_s > 0 ? factor * row->bytes / m->time_s : NAN;
    out->share = out->busbw / out->busbw_expected;
}

/* The best bus bandwidth of smaller messages, and their size. */
static double best_before(const struct cc_nccl_log *log, const struct cc_judged *j, size_t at,
                          double *bytes)
{
    double best = 0;
    for (size_t i = 0; i < log->rows; i++)
        if (log->row[i].bytes < log->row[at].bytes && j->row[i].busbw > best) {
            best = j->row[i].busbw;
            *bytes = log->row[i].bytes;
        }
    return best;
}

/* The least time of larger messages, and their size; infinite if there are none. */
static double least_after(const struct cc_nccl_log *log, size_t at, double *bytes)
{
    double least = INFINITY;
    for (size_t i = 0; i < log->rows; i++)
        if (log->row[i].bytes > log->row[at].bytes && log->row[i].out_of_place.time_s < least) {
            least = log->row[i].out_of_place.time_s;
            *bytes = log->row[i].bytes;
        }
    return least;
}

static void find_suspicious(const struct cc_nccl_log *log, const struct cc_nccl_cluster *c,
                            enum cc_operation op, const struct cc_judged *j, size_t i)
{
    const struct cc_nccl_row *row = &log->row[i];
    const struct cc_nccl_measured *m = &row->out_of_place;
    struct cc_judged_row *out = &j->row[i];
    const double link = cc_nccl_link_rate(c), factor = cc_nccl_bus_factor(op, c->ranks);
    const bool adds = out->expected.algorithm == CC_NCCL_NVLS, large = row->bytes >= CC_JUDGE_LARGE;
    const double wrong =
        fmax(m->wrong >= 1 ? m->wrong : 0, row->in_place.wrong >= 1 ? row->in_place.wrong : 0);
    double smaller = 0, larger = 0;
    if (wrong > 0)
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "%.0f wrong values", wrong);
    if (row->bytes > 0 && !(m->time_s > 0))
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "no time");
    if (isnan(out->share))
        return;
    if (large && m->algbw > 0 && fabs(m->busbw / m->algbw / factor - 1) > RATIO_OFF)
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ",
                    "busbw is %.3g algbw, not %.3g: other ranks or operation", m->busbw / m->algbw,
                    factor);
    if (!adds && out->busbw > ABOVE_LINK * link)
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "above the link's %.3g GB/s",
                    1e-9 * link);
    if (row->bytes <= SMALL_BYTES && out->share * SLOW_SMALL < 1)
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "latency %.2g times as long",
                    1 / out->share);
    if (m->time_s > OVERTAKEN * least_after(log, i, &larger))
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "longer than %.0f bytes take",
                    larger);
    if (!large)
        return;
    if (j->large > 2 && out->share < LOW_SHARE * j->share)
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "share below the others'");
    if (out->busbw < FALLS * best_before(log, j, i, &smaller))
        cc_list_add(out->suspicious, sizeof out->suspicious, "; ", "slower than at %.4g MiB",
                    smaller / 1048576);
}

int cc_judge(const struct cc_nccl_log *log, const struct cc_nccl_cluster *c, enum cc_operation op,
             struct cc_judged *out, struct cc_error *e)
{
    *out = (struct cc_judged){.rows = log->rows};
    CC_TRY(CC_NEW(out->row, log->rows, e));
    for (size_t i = 0; i < log->rows; i++) {
        const struct cc_nccl_row *row = &log->row[i];
        expect(row, c, op, &out->row[i]);
        /* Older versions print the largest error in this place, which is below 1. */
        out->wrong += row->out_of_place.wrong >= 1 ? row->out_of_place.wrong : 0;
        out->wrong += row->in_place.wrong >= 1 ? row->in_place.wrong : 0;
    }
    CC_TRY(find_median(log, out, e));
    for (size_t i = 0; i < log->rows; i++) {
        find_suspicious(log, c, op, out, i);
        out->suspicious += out->row[i].suspicious[0] != '\0';
    }
    return CC_OK;
}

void cc_judged_free(struct cc_judged *j)
{
    free(j->row);
    *j = (struct cc_judged){.row = NULL};
}
