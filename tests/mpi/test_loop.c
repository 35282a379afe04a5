/* The rank's loop: what the three kinds of steps do to the model, and how long they take. Run by
 * tests/mpi.sh under mpirun with 4 ranks: 3 workers and a server, or 4 workers. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/rank/loop.h"
#include "netsim/rank/sources.h"
#include "tests/lib/jobs.h"

enum { RANKS = 4, TENSORS = 5, MOST_STEPS = 16 };
#define COMPUTE_S 4e-3
#define UPDATE_S  1e-3

/* A row as it was run. */
struct trial {
    const char *scheme;
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message[TENSORS];
    struct cc_source *source;
    struct cc_rank_loop loop;
    struct cc_event_log *events; /* or NULL */
    size_t values;
    float *after; /* the model after each step; the last: after all */
};

static int failures;

/* Where ranks are simulated, they share what is global. */
static int this_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void check(const struct trial *t, bool right, const char *what)
{
    static const char *const modes[] = {"sequential", "overlap", "pipe"};
    if (right)
        return;
    fprintf(stderr, "FAILED: rank %d, %s over %s, %s: %s\n", this_rank(), t->scheme,
            cc_exchange_names[t->job.exchange], modes[t->job.mode], what);
    failures++;
}

static void fail_on(int status, const struct cc_error *e)
{
    if (status == CC_OK)
        return;
    fprintf(stderr, "rank %d: %s\n", this_rank(), e->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- running --- */

/* Each tensor is a message; compute and update take what is said above. */
static void make(struct trial *t, const char *exchange, const char *scheme, enum cc_step_mode mode)
{
    const size_t sizes[TENSORS] = {1500, 7, 4000, 64, 900};
    const size_t period = strncmp(scheme, "local", 5) == 0 ? 3 : 1;
    *t = (struct trial){.scheme = scheme};
    for (size_t i = 0; i < TENSORS; i++) {
        jobs_add_flat(&t->job, sizes[i], i == 3);
        t->job.tensor[i].share = 1.0 / TENSORS;
        t->message[i] = (struct cc_message){TENSORS - 1 - i, TENSORS - 1 - i};
    }
    t->job.exchange = (enum cc_exchange)cc_exchange_find(exchange);
    t->job.servers = strcmp(exchange, "ps") == 0;
    t->job.workers = RANKS - t->job.servers;
    t->job.mode = mode;
    t->job.compute_s = COMPUTE_S;
    t->job.update_s = UPDATE_S;
    t->job.forward_share = 0.25;
    t->job.seed = 5;
    t->job.rendezvous = true;
    t->job.yield_when_idle = true;
    t->job.trace_steps = 4;
    t->row = (struct cc_job_row){.scheme = (char *)scheme,
                                 .reduction = strcmp(scheme, "fp32") == 0 ? CC_REDUCE_SUM
                                                                          : CC_REDUCE_DECODED,
                                 .period = period,
                                 .warmup = 3,
                                 .steps = 6,
                                 .message = t->message,
                                 .messages = TENSORS};
    t->values = cc_job_values(&t->job);
}

static int keep(void *arg, size_t step, struct cc_error *e)
{
    struct trial *t = arg;
    (void)e;
    if (!t->loop.s.server)
        memcpy(t->after + step * t->values, t->loop.s.model, t->values * sizeof *t->after);
    return CC_OK;
}

static void run(struct trial *t)
{
    struct cc_error e = {""};
    t->after = cc_alloc0((MOST_STEPS + 1) * t->values * sizeof *t->after, &e);
    fail_on(t->after != NULL ? CC_OK : CC_FAIL, &e);
    fail_on(cc_source_open(&t->job, MPI_COMM_WORLD, &t->source, &e), &e);
    fail_on(
        cc_rank_loop_open(&t->loop, MPI_COMM_WORLD, &t->job, &t->row, NULL, NULL, t->source, &e),
        &e);
    t->loop.s.events = t->events;
    t->loop.on_step = keep;
    t->loop.callback_arg = t;
    fail_on(cc_rank_loop_run(&t->loop, &e), &e);
    (void)keep(t, cc_rank_loop_steps(&t->loop), &e);
}

static void finish(struct trial *t)
{
    cc_rank_loop_close(&t->loop);
    cc_source_close(t->source);
    free(t->after);
    jobs_free(&t->job);
}

static const float *after(const struct trial *t, size_t step)
{
    return t->after + step * t->values;
}

static bool same(const struct trial *a, size_t step, const struct trial *b, size_t other)
{
    return memcmp(after(a, step), after(b, other), a->values * sizeof *a->after) == 0;
}

static bool is_zero(const struct trial *t, size_t step)
{
    for (size_t i = 0; i < t->values; i++)
        if (after(t, step)[i] != 0)
            return false;
    return true;
}

/* --- what is computed --- */

/* All kinds of steps add the same to the model, a pipe one step later. */
static void modes_agree(const char *exchange, const char *scheme)
{
    struct trial plain, overlap, pipe;
    make(&plain, exchange, scheme, CC_SEQUENTIAL);
    make(&overlap, exchange, scheme, CC_OVERLAP);
    make(&pipe, exchange, scheme, CC_PIPE);
    run(&plain);
    run(&overlap);
    run(&pipe);
    const size_t steps = cc_rank_loop_steps(&plain.loop);
    for (size_t i = 0; i < steps && !plain.loop.s.server; i++) {
        check(&overlap, same(&overlap, i, &plain, i), "another model than sequential steps");
        check(&pipe, i == 0 ? is_zero(&pipe, 0) : same(&pipe, i, &plain, i - 1),
              "not the model of sequential steps one step before");
        check(&plain, i == 0 || plain.row.period > 1 || !same(&plain, i, &plain, i - 1),
              "a step that changes nothing");
    }
    check(&pipe, same(&pipe, steps, &plain, steps - 1), "the last exchange is missing");
    finish(&plain);
    finish(&overlap);
    finish(&pipe);
}

/* fp32: the mean of the gradients, each step's added. */
static void sums_are_right(const char *exchange)
{
    struct trial t;
    make(&t, exchange, "fp32", CC_OVERLAP);
    run(&t);
    double *sum = calloc(t.values, sizeof *sum);
    for (size_t step = 0; step < cc_rank_loop_steps(&t.loop); step++)
        for (size_t i = 0; i < t.values && !t.loop.s.server; i++)
            sum[i] += (double)cc_source_buffers(t.source, step).gradient[i] / t.job.workers;
    MPI_Allreduce(MPI_IN_PLACE, sum, (int)t.values, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    size_t wrong = 0, zero = 0;
    for (size_t i = 0; i < t.values && !t.loop.s.server; i++) {
        double got = (double)after(&t, cc_rank_loop_steps(&t.loop))[i];
        wrong += !(fabs(got - sum[i]) <= 1e-5 * (fabs(sum[i]) + 1e-3));
        zero += sum[i] == 0;
    }
    check(&t, wrong == 0 && zero < t.values / 10, "the model is not the sum of the means");
    free(sum);
    finish(&t);
}

/* Nothing comes back between the steps that send, but of raw tensors. */
static void silent_steps(enum cc_step_mode mode)
{
    struct trial t;
    make(&t, "ps", "local:every=3", mode);
    run(&t);
    const size_t raw = t.job.offset[3], next = t.job.offset[4];
    for (size_t step = 0; step < cc_rank_loop_steps(&t.loop) && !t.loop.s.server; step++) {
        const float *now = after(&t, step), *before = step > 0 ? after(&t, step - 1) : NULL;
        bool moved = before == NULL ? now[0] != 0 : memcmp(now, before, raw * sizeof *now) != 0;
        check(&t, moved == (step % 3 == 2), "what is not raw comes back in another step");
        check(&t, before == NULL || memcmp(now + raw, before + raw, (next - raw) * 4) != 0,
              "what is raw did not come back");
    }
    finish(&t);
}

/* --- what is counted --- */

static void counts_are_right(enum cc_step_mode mode)
{
    struct trial t;
    make(&t, "ps", "fp32", mode);
    run(&t);
    const struct cc_counters *c = &t.loop.s.counters;
    const uint64_t bytes = t.row.steps * t.values * 4, n = t.loop.s.server ? 3 : 1;
    check(&t, c->payload_bytes == bytes, "payload of other steps than those that count");
    check(&t, c->messages == n * t.row.steps * TENSORS, "messages");
    check(&t, c->sent_bytes == n * (c->payload_bytes + c->head_bytes), "bytes sent");
    check(&t, t.loop.uncounted_bytes == c->sent_bytes / 2, "bytes sent before");
    for (size_t i = 0; i < TENSORS; i++)
        check(&t, c->tensor_bytes[i] == t.row.steps * 4 * t.job.tensor[i].shape.n,
              "payload by tensor");
    finish(&t);
}

/* --- how long it takes --- */

/* Lower bounds are sharp. Upper ones are for machines that have other things to do as well. */
static void times_are_right(const char *exchange, enum cc_step_mode mode, double hidden)
{
    struct trial t;
    make(&t, exchange, "3lc", mode);
    t.job.hidden_share = hidden;
    run(&t);
    const double *phase_s = t.loop.s.counters.phase_s, steps = (double)t.row.steps;
    double least = COMPUTE_S + UPDATE_S, last = t.loop.end[t.row.warmup - 1];
    if (t.loop.s.server) {
        check(&t, phase_s[CC_PHASE_SERVER] > 0 && phase_s[CC_PHASE_COMPUTE] == 0,
              "a server's time");
        finish(&t);
        return;
    }
    for (size_t i = t.row.warmup; i < cc_rank_loop_steps(&t.loop); i++) {
        /* In a pipe, a step that ended late leaves less to the next. */
        check(&t, t.loop.end[i] > last, "a step that ends before the last");
        last = t.loop.end[i];
    }
    check(&t, last >= 0.999 * least * (double)(t.row.steps + t.row.period), "steps are too short");
    check(&t, last < 0.1 * (double)cc_rank_loop_steps(&t.loop), "steps are too long");
    double compute = phase_s[CC_PHASE_COMPUTE] / steps, update = phase_s[CC_PHASE_UPDATE] / steps;
    check(&t, compute > 0.999 * COMPUTE_S && compute < 10 * COMPUTE_S, "time of computing");
    check(&t, update > 0.999 * UPDATE_S && update < 20 * UPDATE_S, "time of updating");
    check(&t, phase_s[CC_PHASE_ENCODE] > 0 && phase_s[CC_PHASE_DECODE] > 0, "time of codecs");
    check(&t, phase_s[CC_PHASE_WAIT] > -1e-9, "time of waiting");
    finish(&t);
}

/* In every other step one worker takes four times as long, and all wait for it. */
static void stragglers(void)
{
    struct trial t;
    double slow[2 * 3] = {1, 1, 1, 4, 1, 1}, *end;
    make(&t, "ps", "fp32", CC_SEQUENTIAL);
    t.job.slow = slow;
    t.job.slow_steps = 2;
    run(&t);
    end = t.loop.end;
    for (size_t i = t.row.warmup; i < cc_rank_loop_steps(&t.loop) && !t.loop.s.server; i++) {
        /* Another worker may have ended the step before sooner than the slow one. */
        check(&t, end[i] - end[i - 1] > COMPUTE_S, "a step is too short");
        if (i % 2 == 1)
            check(&t, end[i] - end[i - 1] > 3.5 * COMPUTE_S, "nobody waited for the slow one");
    }
    t.job.slow = NULL;
    finish(&t);
}

/* --- who did what when --- */

/* Adds up what a list has by phase; whether it is in order, without overlaps, and of steps that
 * count, an exchange's being under way perhaps since the one before. */
static void add_up(const struct trial *t, const struct cc_span_list *l, double *sum)
{
    const size_t first = t->row.warmup - (t->job.mode == CC_PIPE);
    double last = t->loop.began;
    for (size_t i = 0; i < l->count; i++) {
        const struct cc_span *m = &l->at[i];
        check(t, m->begin >= last && m->end > m->begin, "spans overlap");
        check(t, m->step >= first && m->step < cc_rank_loop_steps(&t->loop), "a step");
        sum[m->phase] += m->end - m->begin;
        last = m->end;
    }
}

/* Where one stands beside the other on a track of its own, the two do not overlap either. */
static void check_apart(const struct trial *t)
{
    const struct cc_span_list *a = &t->events->codec, *b = &t->events->other;
    for (size_t i = 0, k = 0; i < a->count; i++) {
        for (; k < b->count && b->at[k].end <= a->at[i].begin; k++)
            continue;
        check(t, k == b->count || b->at[k].begin >= a->at[i].end, "a codec works meanwhile");
    }
}

/* Both ends of as many transfers: in all steps that count a push and a pull of each message. */
static void check_flows(const struct trial *t)
{
    const struct cc_event_log *m = t->events;
    size_t sent = 0, received = 0, bytes = 0;
    const size_t peers = t->loop.s.server ? (size_t)t->job.workers : 1;
    for (size_t i = 0; i < m->flows; i++) {
        check(t, i == 0 || m->flow[i].at >= m->flow[i - 1].at, "flows out of order");
        sent += !m->flow[i].received;
        received += m->flow[i].received;
        bytes += m->flow[i].received ? 0 : m->flow[i].bytes;
    }
    if (t->job.exchange != CC_PS)
        return;
    check(t, sent == peers * t->row.steps * TENSORS && received == sent, "flows");
    check(t, bytes == t->loop.s.counters.sent_bytes, "bytes of flows");
}

/* Spans add up to the counters, to the last nanosecond. */
static void events_add_up(const char *exchange, enum cc_step_mode mode, double hidden)
{
    struct trial t;
    struct cc_event_log m = {.most = 100000, .first = 3};
    double sum[CC_PHASES] = {0};
    make(&t, exchange, "3lc", mode);
    t.job.hidden_share = hidden;
    t.events = &m;
    run(&t);
    const double *want = t.loop.s.counters.phase_s;
    add_up(&t, &m.codec, sum);
    add_up(&t, &m.other, sum);
    check_flows(&t);
    if (mode != CC_OVERLAP)
        check_apart(&t);
    check(&t, m.left_out == 0 && m.codec.count > 0 && m.other.count > 0, "events are missing");
    for (int i = 0; i < CC_PHASES; i++) {
        /* Computing that is hidden goes on while a codec works, but not on one track. */
        const double beside = hidden > 0 && i == CC_PHASE_COMPUTE
                                  ? sum[CC_PHASE_ENCODE] + sum[CC_PHASE_HOP] + sum[CC_PHASE_DECODE]
                                  : 0;
        if (!(sum[i] <= want[i] + 1e-6 && sum[i] >= want[i] - beside - 1e-6))
            fprintf(stderr, "phase %d: %.9f s, and %.9f s are counted\n", i, sum[i], want[i]);
        check(&t, sum[i] <= want[i] + 1e-6 && sum[i] >= want[i] - beside - 1e-6, "sum of spans");
    }
    cc_event_log_free(&m);
    finish(&t);
}

/* With room for few, the first ones are there, and the others are counted. */
static void few_events(void)
{
    struct trial t;
    struct cc_event_log m = {.most = 10, .first = 3};
    double sum[CC_PHASES] = {0};
    make(&t, "ring", "3lc", CC_SEQUENTIAL);
    t.events = &m;
    run(&t);
    add_up(&t, &m.codec, sum);
    add_up(&t, &m.other, sum);
    check(&t, m.codec.count + m.other.count + m.flows == 10, "not as many as there is room for");
    check(&t, m.left_out > 10, "none is left out");
    check(&t, m.other.count == 0 || m.other.at[0].step == t.row.warmup, "not the first ones");
    cc_event_log_free(&m);
    finish(&t);
}

/* --- what is refused --- */

static void refuse(const char *exchange, const char *scheme, size_t period, const char *says)
{
    struct trial t;
    struct cc_error e = {""};
    make(&t, exchange, scheme, CC_SEQUENTIAL);
    t.row.period = period;
    fail_on(cc_source_open(&t.job, MPI_COMM_WORLD, &t.source, &e), &e);
    int status =
        cc_rank_loop_open(&t.loop, MPI_COMM_WORLD, &t.job, &t.row, NULL, NULL, t.source, &e);
    check(&t, status != CC_OK && strstr(e.text, says) != NULL, e.text);
    finish(&t);
}

int main(int argc, char **argv)
{
    static const char *const exchanges[] = {"ps", "ring"};
    static const char *const schemes[] = {"fp32", "3lc", "qsgd", "local:every=3"};
    int ranks, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != RANKS) {
        fprintf(stderr, "%d ranks are needed\n", RANKS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 4; k++)
            modes_agree(exchanges[i], schemes[k]);
        sums_are_right(exchanges[i]);
        for (int mode = CC_SEQUENTIAL; mode <= CC_PIPE; mode++)
            times_are_right(exchanges[i], (enum cc_step_mode)mode, 0);
        times_are_right(exchanges[i], CC_SEQUENTIAL, 0.75);
    }
    for (int mode = CC_SEQUENTIAL; mode <= CC_PIPE; mode++)
        counts_are_right((enum cc_step_mode)mode);
    for (size_t i = 0; i < 2; i++) {
        for (int mode = CC_SEQUENTIAL; mode <= CC_PIPE; mode++)
            events_add_up(exchanges[i], (enum cc_step_mode)mode, 0);
        events_add_up(exchanges[i], CC_SEQUENTIAL, 0.75);
        events_add_up(exchanges[i], CC_SEQUENTIAL, 0.1);
    }
    few_events();
    silent_steps(CC_SEQUENTIAL);
    silent_steps(CC_OVERLAP);
    stragglers();
    refuse("ps", "fp32", 3, "sends in one step of 1, and the job says 3");
    refuse("ps", "4lc", 1, "4lc");
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (this_rank() == 0)
        printf("the rank's loop: %d failures\n", all);
    MPI_Finalize();
    return all > 0;
}
