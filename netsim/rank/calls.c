/* A call is one exchange of the whole step, without computing.
 *
 * Where payloads travel as they were encoded, all workers encode before a barrier, and the call
 * begins after it: it has the exchange alone, and ends when the sum is complete. Decoding the sum
 * onto the model, which is the same for every exchange, is not part of it, and begins when all
 * ranks have their sums, as ranks that share cores would else delay each other; where a rank
 * decodes everybody's payload to have a sum at all, decoding is. Exchanges with servers, and those
 * that encode at every hop, cannot be told apart from their codecs: their calls begin before
 * encoding and end after decoding.
 *
 * A call takes as long as on its slowest rank. All ranks know these times, and so agree on when a
 * row has enough of them: the median is known to within a hundredth, or the time is up. */
#include "netsim/rank/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/stats.h"
#include "netsim/rank/accounting.h"
#include "netsim/rank/messages.h"
#include "netsim/rank/result_check.h"
#include "netsim/transport/mpi_calls.h"

/* Calls that count, at least, also beyond the time limit; and before a median is trusted. */
enum { LEAST_CALLS = 3, ENOUGH_CALLS = 20 };
#define MEDIAN_WITHIN 0.01

struct calls {
    struct cc_rank *rank;
    struct cc_rank_loop *l;
    struct cc_result_check check;
    bool checks;
    bool apart;     /* encoding is not part of a call */
    bool applies;   /* nor is decoding: there is one sum to decode */
    double *call_s; /* the slowest rank's */
    double *sorted; /* a copy */
    size_t calls;   /* counted */
    double spent_s; /* in them */
    double result_values;
};

/* --- one call --- */

static int begin_call(struct calls *c, size_t call, struct cc_error *e)
{
    struct cc_rank_loop *l = c->l;
    struct cc_source_progress done;
    if (!l->s.server)
        CC_TRY(cc_source_compute(l->source, call, CC_COMPUTE_STEP, NULL, &done, e));
    cc_messages_take_step(l, call);
    if (call == l->s.row->warmup)
        cc_count_times(l);
    return CC_OK;
}

/* The time in which finished sums have been added to the model. */
static double apply_s(const struct cc_rank_loop *l)
{
    return l->s.counters.phase_s[CC_PHASE_DECODE] + l->s.counters.exchange_update_s;
}

/* Adds the sums, which were held, to the model. */
static int release_sums(struct cc_rank_loop *l, struct cc_error *e)
{
    l->s.hold_sums = false;
    for (size_t i = 0; i < l->messages; i++) {
        bool done;
        CC_TRY(cc_exchange_test(l->message[i], &done, e));
    }
    return CC_OK;
}

/* *seconds: the call's, on this rank. */
static int time_call(struct calls *c, double *seconds, struct cc_error *e)
{
    struct cc_rank_loop *l = c->l;
    const bool yield = l->s.job->yield_when_idle;
    l->s.hold_sums = c->applies;
    if (c->apart)
        CC_TRY(cc_messages_start(l, l->s.step, e));
    CC_TRY(cc_runtime_barrier(l->mpi.comm, yield, e));
    const double begin = cc_runtime_now();
    if (!c->apart)
        CC_TRY(cc_messages_start(l, l->s.step, e));
    CC_TRY(cc_messages_finish(l, l->messages, e));
    *seconds = cc_runtime_now() - begin;
    if (!c->applies)
        return CC_OK;
    CC_TRY(cc_runtime_barrier(l->mpi.comm, yield, e));
    return release_sums(l, e);
}

static int end_call(struct calls *c, size_t call, double seconds, struct cc_error *e)
{
    struct cc_rank_loop *l = c->l;
    CC_TRY(cc_mpi_allreduce(l->mpi.comm, &seconds, 1, MPI_DOUBLE, MPI_MAX, e)); /* the slowest's */
    if (call >= l->s.row->warmup) {
        c->call_s[c->calls++] = seconds;
        c->spent_s += seconds;
    }
    return l->s.server ? CC_OK : cc_source_end_step(l->source, call, e);
}

/* --- a row --- */

/* Looks at the first result: the mean, on a model that was zero. */
static int take_first(struct calls *c, struct cc_error *e)
{
    const struct cc_rank_loop *l = c->l;
    const size_t n = cc_job_values(l->s.job);
    size_t found = 0;
    if (l->s.server)
        return CC_OK;
    for (size_t i = 0; i < n; i++)
        found += l->s.model[i] != 0;
    c->result_values = (double)found;
    return c->checks ? cc_result_check_sum(&c->check, l->s.model, e) : CC_OK;
}

/* Whether the median of the calls is within MEDIAN_WITHIN of the truth, by the interval of a box
 * plot's notch (McGill, Tukey, Larsen, Variations of box plots, 1978). */
static bool median_is_known(struct calls *c)
{
    if (c->calls < ENOUGH_CALLS)
        return false;
    memcpy(c->sorted, c->call_s, c->calls * sizeof *c->sorted);
    const struct cc_stats s = cc_stats_of(c->sorted, c->calls);
    return 1.57 * (s.high - s.low) / sqrt((double)c->calls) <= MEDIAN_WITHIN * s.median;
}

static bool enough(struct calls *c)
{
    const struct cc_rank_loop *l = c->l;
    if (c->calls == l->s.row->steps)
        return true;
    return c->calls >= LEAST_CALLS && (c->spent_s >= l->s.job->calls.limit_s || median_is_known(c));
}

static int run_calls(struct calls *c, struct cc_error *e)
{
    struct cc_rank_loop *l = c->l;
    for (size_t i = 0; !enough(c); i++) {
        double seconds = 0;
        CC_TRY(begin_call(c, i, e));
        if (i == 0 && c->checks)
            CC_TRY(cc_result_check_open(&c->check, &l->s, l->s.gradient, e));
        CC_TRY(time_call(c, &seconds, e));
        if (i == 0)
            CC_TRY(take_first(c, e));
        CC_TRY(end_call(c, i, seconds, e));
    }
    return c->checks ? cc_result_check_equal(&c->check, l->s.model, e) : CC_OK;
}

/* --- reporting --- */

/* *wrong: on rank 0, what the first rank found that found anything; "" on all others. */
static int gather_wrong(struct calls *c, char *wrong, size_t cap, struct cc_error *e)
{
    const struct cc_rank *r = c->rank;
    const size_t each = sizeof c->check.wrong;
    char *all;
    const int status = CC_MPI_GATHER(r->comm, c->check.wrong, each, all, e);
    wrong[0] = '\0';
    for (int i = 0; status == CC_OK && r->rank == 0 && i < r->ranks && wrong[0] == '\0'; i++)
        if (all[(size_t)i * each] != '\0')
            (void)snprintf(wrong, cap, "rank %d: %s", i, all + (size_t)i * each);
    free(all);
    return status;
}

static int report(struct calls *c, size_t row, struct cc_error *e)
{
    enum { ENCODE, APPLY, GIVEN, MESSAGES, VALUES, LARGEST };
    const struct cc_counters *t = &c->l->s.counters;
    const double n = (double)c->calls;
    double largest[LARGEST] = {[ENCODE] = t->phase_s[CC_PHASE_ENCODE] / n,
                               [APPLY] = apply_s(c->l) / n,
                               [GIVEN] = (double)t->sent_bytes / n,
                               [MESSAGES] = (double)t->messages / n,
                               [VALUES] = c->result_values};
    double pushes = c->l->s.server ? 0 : (double)t->payload_bytes / n;
    char wrong[300];
    CC_TRY(cc_mpi_reduce(c->rank->comm, largest, LARGEST, MPI_DOUBLE, MPI_MAX, e));
    CC_TRY(cc_mpi_reduce(c->rank->comm, &pushes, 1, MPI_DOUBLE, MPI_SUM, e));
    CC_TRY(gather_wrong(c, wrong, sizeof wrong, e));
    char *chose;
    CC_TRY(cc_chosen_text(c->l, &chose, e));
    const struct cc_report what = {.kind = CC_REPORT_CALLS,
                                   .calls = {.row = row,
                                             .calls = c->calls,
                                             .call_s = c->call_s,
                                             .encode_s = largest[ENCODE],
                                             .apply_s = largest[APPLY],
                                             .push_bytes = pushes / c->rank->job.workers,
                                             .given_bytes = largest[GIVEN],
                                             .messages = largest[MESSAGES],
                                             .result_values = largest[VALUES],
                                             .chose = chose,
                                             .checked = c->checks,
                                             .wrong = wrong[0] != '\0' ? wrong : NULL}};
    const int status = cc_rank_report(c->rank, &what, e);
    free(chose);
    return status;
}

int cc_rank_calls(struct cc_rank *r, size_t row, struct cc_rank_loop *l, struct cc_error *e)
{
    const struct cc_job *job = &r->job;
    const bool merges = cc_exchange_has(job->exchange, CC_X_MERGES);
    int status = CC_OK;
    struct calls c = {.rank = r,
                      .l = l,
                      .check = {.workers = MPI_COMM_NULL},
                      .checks =
                          job->calls.check && cc_result_check_possible(job, l->s.row, l->spec),
                      .apart = job->servers == 0 && !cc_job_row_hops(job, l->s.row)};
    c.applies = c.apart && (l->s.row->reduction == CC_REDUCE_SUM || merges);
    CC_TRY_OUT(CC_NEW(c.call_s, l->s.row->steps, e));
    CC_TRY_OUT(CC_NEW(c.sorted, l->s.row->steps, e));
    cc_runtime_read_processor(false);
    CC_TRY_OUT(run_calls(&c, e));
    CC_TRY_OUT(report(&c, row, e));
out:
    cc_runtime_read_processor(true);
    cc_result_check_close(&c.check);
    free(c.call_s);
    free(c.sorted);
    return status;
}
