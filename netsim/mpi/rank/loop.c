#include "netsim/mpi/rank/loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/mpi/runtime/mpi_check.h"
#include "schemes/spec.h"

size_t cc_rank_loop_steps(const struct cc_rank_loop *l)
{
    return l->s.row->warmup + l->s.row->steps;
}

bool cc_rank_loop_lockstep(const struct cc_rank_loop *l)
{
    return l->s.job->mode == CC_JOB_SEQUENTIAL;
}

/* --- opening --- */

static int open_schemes(struct cc_rank_loop *l, struct cc_error *e)
{
    const struct cc_job_row *row = l->s.row;
    if (cc_spec_parse(row->scheme, &l->spec, e) != CC_OK ||
        cc_spec_parse(CC_RAW_SCHEME, &l->raw, e) != CC_OK)
        return CC_FAIL;
    size_t period = cc_period(l->spec->scheme, l->spec->params);
    if (period != row->period)
        return cc_fail(e, "%s sends in one step of %zu, and the job says %zu", row->scheme, period,
                       row->period);
    l->s.spec = l->spec;
    l->s.raw = l->raw;
    return CC_OK;
}

static int open_messages(struct cc_rank_loop *l, struct cc_error *e)
{
    const struct cc_job_row *row = l->s.row;
    l->message = cc_alloc0(row->messages * sizeof *l->message, e);
    l->under_way = cc_alloc0(row->messages * sizeof *l->under_way, e);
    l->start = cc_alloc0(cc_rank_loop_steps(l) * sizeof *l->start, e);
    l->end = cc_alloc0(cc_rank_loop_steps(l) * sizeof *l->end, e);
    l->ready = cc_alloc0(cc_rank_loop_steps(l) * sizeof *l->ready, e);
    l->encoded = cc_alloc0(cc_rank_loop_steps(l) * sizeof *l->encoded, e);
    l->s.counters.tensor_bytes = cc_alloc0(l->s.job->tensors * sizeof(uint64_t), e);
    if (l->message == NULL || l->under_way == NULL || l->start == NULL || l->end == NULL ||
        l->ready == NULL || l->encoded == NULL || l->s.counters.tensor_bytes == NULL)
        return CC_FAIL;
    for (; l->messages < row->messages; l->messages++) {
        const size_t i = l->messages;
        if (l->x->open(&l->s, &row->message[i], i, &l->message[i], e) != CC_OK)
            return CC_FAIL;
    }
    return CC_OK;
}

int cc_rank_loop_open(struct cc_rank_loop *l, MPI_Comm comm, const struct cc_job *job,
                      const struct cc_job_row *row, const struct cc_size_index *sizes,
                      struct cc_replay *source, struct cc_error *e)
{
    *l = (struct cc_rank_loop){.x = cc_exchange_ops_find(job->exchange), .source = source};
    l->s = (struct cc_rank_state){
        .comm = comm, .job = job, .row = row, .sizes = sizes, .model = cc_replay_model(source)};
    if (l->x == NULL)
        return cc_fail(e, "there is no exchange '%.60s'", job->exchange);
    if (cc_mpi_check(MPI_Comm_rank(comm, &l->s.rank), "MPI_Comm_rank", e) != CC_OK)
        return CC_FAIL;
    l->s.server = l->s.rank >= job->workers;
    l->speed = cc_runtime_speed();
    cc_replay_reset(source);
    int status = open_schemes(l, e);
    /* Who computes while messages are under way waits for both. */
    if (status == CC_OK && !l->s.server && !cc_rank_loop_lockstep(l))
        status = cc_waits_open(&l->s.waits, e);
    if (status == CC_OK)
        status = open_messages(l, e);
    if (status != CC_OK)
        cc_error_in(e, "%s", row->scheme);
    return status;
}

void cc_rank_loop_close(struct cc_rank_loop *l)
{
    for (size_t i = 0; i < l->messages; i++)
        l->x->close(l->message[i]);
    cc_waits_close(&l->s.waits);
    free(l->message);
    free(l->under_way);
    free(l->start);
    free(l->end);
    free(l->ready);
    free(l->encoded);
    free(l->s.counters.tensor_bytes);
    cc_spec_free(l->spec);
    cc_spec_free(l->raw);
    *l = (struct cc_rank_loop){0};
}

/* --- messages --- */

static double codec_s(const struct cc_rank_loop *l)
{
    const double *t = l->s.counters.phase_s;
    return t[CC_PHASE_ENCODE] + t[CC_PHASE_HOP] + t[CC_PHASE_SERVER] + t[CC_PHASE_DECODE];
}

/* From here on bytes count. */
static void reset_bytes(struct cc_rank_loop *l)
{
    struct cc_counters *t = &l->s.counters;
    l->given = t->sent_bytes;
    t->payload_bytes = t->head_bytes = t->sent_bytes = t->messages = 0;
    memset(t->tensor_bytes, 0, l->s.job->tensors * sizeof *t->tensor_bytes);
}

/* What the exchange that begins now is about; none is under way. */
static void take_step(struct cc_rank_loop *l, size_t step)
{
    if (step == l->s.row->warmup)
        reset_bytes(l);
    l->s.step = step;
    l->s.gradient = cc_replay_gradient(l->source, step);
}

static int begin(struct cc_rank_loop *l, size_t i, struct cc_error *e)
{
    l->under_way[i] = true;
    l->left++;
    return l->x->start(l->message[i], e);
}

/* Every message that is under way goes on a little. */
static int go(struct cc_rank_loop *l, struct cc_error *e)
{
    for (size_t i = 0; i < l->messages && l->left > 0; i++) {
        bool done = false;
        if (!l->under_way[i])
            continue;
        if (l->x->test(l->message[i], &done, e) != CC_OK)
            return CC_FAIL;
        if (done) {
            l->under_way[i] = false;
            l->left--;
        }
    }
    return CC_OK;
}

/* Until message i is done; i == messages: until all are. */
static int finish(struct cc_rank_loop *l, size_t i, struct cc_error *e)
{
    const double since = cc_runtime_now();
    int status = CC_OK;
    while (status == CC_OK && (i < l->messages ? l->under_way[i] : l->left > 0)) {
        status = go(l, e);
        if (status == CC_OK && (i < l->messages ? l->under_way[i] : l->left > 0))
            status =
                cc_runtime_wait(&l->s.waits, l->s.job->yield_when_idle, since, (double)INFINITY, e);
    }
    return status;
}

/* A stretch in which a rank works at nothing but codecs. */
struct wait {
    double since, codec_s;
};

static struct wait begin_wait(const struct cc_rank_loop *l)
{
    return (struct wait){.since = cc_runtime_now(), .codec_s = codec_s(l)};
}

/* What no codec took was waiting. The next wait may begin where this one ends. */
static struct wait end_wait(struct cc_rank_loop *l, struct wait w)
{
    const struct wait next = begin_wait(l);
    l->s.counters.phase_s[CC_PHASE_WAIT] += next.since - w.since - (next.codec_s - w.codec_s);
    cc_event_log_gaps(l->s.events, CC_PHASE_WAIT, w.since, next.since);
    return next;
}

/* --- computing --- */

/* Of the steps that are not counted, only the last period computes: those before it fill what
 * codecs keep, in less time. */
static double compute_s(const struct cc_rank_loop *l, size_t step)
{
    const struct cc_job *job = l->s.job;
    if (step + l->s.row->period < l->s.row->warmup)
        return 0;
    const double whole = job->compute_s / l->speed;
    if (job->slow == NULL)
        return whole;
    return whole * job->slow[(size_t)l->s.rank * job->slow_steps + step % job->slow_steps];
}

static double update_s(const struct cc_rank_loop *l)
{
    return l->s.job->update_s / l->speed;
}

/* Lets the time pass that a computation takes, from l->clock on, while messages go on: beside it,
 * or, if codecs run on the processor that computes, in turn with it. Nothing under way: sleeps.
 * The clock goes on by exactly that time, so that who is late with one part catches up in the
 * next. */
static int pass(struct cc_rank_loop *l, double seconds, bool in_turn, struct cc_error *e)
{
    const double codec = codec_s(l);
    int status = CC_OK;
    l->clock += seconds;
    while (status == CC_OK) {
        double due = l->clock + (in_turn ? codec_s(l) - codec : 0), now = cc_runtime_now();
        if (due - now < CC_INSTANT_S) {
            l->clock = due;
            break;
        }
        if (l->left == 0) {
            cc_runtime_sleep(due - now);
            continue;
        }
        status = go(l, e);
        due = l->clock + (in_turn ? codec_s(l) - codec : 0);
        if (status == CC_OK)
            status = cc_runtime_wait(&l->s.waits, l->s.job->yield_when_idle, now, due, e);
    }
    return status;
}

static int spend(struct cc_rank_loop *l, double seconds, enum cc_phase phase, struct cc_error *e)
{
    const double since = l->clock;
    int status = pass(l, seconds, false, e);
    l->s.counters.phase_s[phase] += seconds;
    cc_event_log_rest(l->s.events, phase, since, l->clock);
    return status;
}

/* Updates and computes in turn with codecs. */
static int spend_in_turn(struct cc_rank_loop *l, double update, double compute, struct cc_error *e)
{
    const double since = l->clock = cc_runtime_now();
    int status = pass(l, update + compute, true, e);
    const double now = cc_runtime_now();
    l->s.counters.phase_s[CC_PHASE_UPDATE] += update;
    l->s.counters.phase_s[CC_PHASE_COMPUTE] += compute + (now - l->clock);
    l->clock = now;
    cc_event_log_before(l->s.events, CC_PHASE_UPDATE, update);
    cc_event_log_gaps(l->s.events, CC_PHASE_COMPUTE, since, now);
    cc_event_log_before(l->s.events, CC_PHASE_UPDATE, 0);
    return status;
}

/* Computing that began late, or took too long, is computing too. */
static void settle(struct cc_rank_loop *l, enum cc_phase phase)
{
    double now = cc_runtime_now();
    l->s.counters.phase_s[phase] += now - l->clock;
    cc_event_log_rest(l->s.events, phase, l->clock, now);
    l->clock = now;
}

static double share_of(const struct cc_rank_loop *l, const struct cc_job_message *m)
{
    double share = 0;
    for (size_t i = m->first; i <= m->last; i++)
        share += l->s.job->tensor[i].share;
    return share;
}

/* --- steps --- */

/* What of the hidden computing the exchange, which ended at `since`, was too short for. Who
 * computes meanwhile does not wait. */
static int spend_hidden(struct cc_rank_loop *l, double hidden, double waited, double since,
                        struct cc_error *e)
{
    double *phase_s = l->s.counters.phase_s;
    const double left = l->s.events != NULL ? l->s.events->before_s : 0; /* not told yet */
    cc_event_log_before(l->s.events, CC_PHASE_COMPUTE, 0);
    phase_s[CC_PHASE_WAIT] -= fmin(hidden, waited);
    phase_s[CC_PHASE_COMPUTE] += hidden;
    int status = pass(l, hidden, false, e);
    cc_event_log_rest(l->s.events, CC_PHASE_COMPUTE, fmax(since, l->clock - left), l->clock);
    return status;
}

/* Computes, exchanges one message after the other, and updates. A part of the computation goes on
 * beside the exchange, once the first message is encoded. */
static int step_sequential(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    double *phase_s = l->s.counters.phase_s, hidden = l->s.job->hidden_share * compute_s(l, step);
    l->clock = cc_runtime_now();
    if (spend(l, compute_s(l, step) - hidden, CC_PHASE_COMPUTE, e) != CC_OK)
        return CC_FAIL;
    settle(l, CC_PHASE_COMPUTE);
    l->ready[step] = l->encoded[step] = cc_runtime_now();
    take_step(l, step);
    const double waited = phase_s[CC_PHASE_WAIT];
    struct wait w = begin_wait(l);
    for (size_t i = 0; i < l->messages; i++) {
        double encoded = phase_s[CC_PHASE_ENCODE];
        if (begin(l, i, e) != CC_OK)
            return CC_FAIL;
        if (i == 0) {
            l->clock = l->encoded[step] = cc_runtime_now();
            cc_event_log_before(l->s.events, CC_PHASE_COMPUTE, hidden);
        } else {
            l->clock += phase_s[CC_PHASE_ENCODE] - encoded;
        }
        if (finish(l, i, e) != CC_OK)
            return CC_FAIL;
        w = end_wait(l, w);
    }
    if (spend_hidden(l, hidden, phase_s[CC_PHASE_WAIT] - waited, w.since, e) != CC_OK)
        return CC_FAIL;
    l->clock = cc_runtime_now();
    if (spend(l, update_s(l), CC_PHASE_UPDATE, e) != CC_OK)
        return CC_FAIL;
    settle(l, CC_PHASE_UPDATE);
    return CC_OK;
}

/* Wait-free backpropagation: the backward pass, in which messages leave, then the forward pass of
 * the next step, in which each tensor is updated and computed once it has come back. So a step goes
 * from the end of one forward pass to that of the next. */
static int step_overlap(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_job *job = l->s.job;
    const struct cc_job_message *m = l->s.row->message;
    double backward = (1 - job->forward_share) * compute_s(l, step);
    double forward = job->forward_share * compute_s(l, step + 1);
    int status = CC_OK;
    take_step(l, step);
    for (size_t i = 0; i < l->messages && status == CC_OK; i++) {
        status = spend(l, backward * share_of(l, &m[i]), CC_PHASE_COMPUTE, e);
        if (status == CC_OK)
            status = begin(l, i, e);
    }
    for (size_t i = l->messages; i-- > 0 && status == CC_OK;) {
        const double share = share_of(l, &m[i]);
        if (l->under_way[i]) {
            const struct wait w = begin_wait(l);
            status = finish(l, i, e);
            (void)end_wait(l, w);
            l->clock = fmax(l->clock, cc_runtime_now());
        }
        if (status == CC_OK)
            status = spend(l, forward * share, CC_PHASE_COMPUTE, e);
        if (status == CC_OK)
            status = spend(l, update_s(l) * share, CC_PHASE_UPDATE, e);
    }
    return status;
}

/* Pipe-SGD with two steps under way: updates and computes while the last step's exchange goes on;
 * the processor also encodes and decodes. A step ends when its exchange has begun. */
static int step_pipe(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    if (spend_in_turn(l, update_s(l), compute_s(l, step), e) != CC_OK)
        return CC_FAIL;
    const struct wait w = begin_wait(l);
    int status = finish(l, l->messages, e);
    take_step(l, step);
    for (size_t i = 0; i < l->messages && status == CC_OK; i++)
        status = begin(l, i, e);
    (void)end_wait(l, w);
    return status;
}

static int step_server(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct wait w = begin_wait(l);
    int status = CC_OK;
    take_step(l, step);
    for (size_t i = 0; i < l->messages && status == CC_OK; i++)
        status = begin(l, i, e);
    if (status == CC_OK)
        status = finish(l, l->messages, e);
    (void)end_wait(l, w);
    return status;
}

static int one_step(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    if (l->s.server)
        return step_server(l, step, e);
    switch (l->s.job->mode) {
    case CC_JOB_OVERLAP:
        return step_overlap(l, step, e);
    case CC_JOB_PIPE:
        return step_pipe(l, step, e);
    case CC_JOB_SEQUENTIAL:
        break;
    }
    return step_sequential(l, step, e);
}

/* The exchange of a pipe's last step has no part in any step's time; of its codecs, only in the
 * place of an exchange before the first step that counts. */
static int drain(struct cc_rank_loop *l, struct cc_error *e)
{
    double phase_s[CC_PHASES];
    memcpy(phase_s, l->s.counters.phase_s, sizeof phase_s);
    if (l->s.events != NULL && l->s.row->warmup > 0)
        l->s.events->on = false;
    int status = finish(l, l->messages, e);
    if (l->s.row->warmup > 0)
        memcpy(l->s.counters.phase_s, phase_s, sizeof phase_s);
    return status;
}

/* In lockstep nobody begins a step before all have ended the last. */
static int line_up(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const bool counts = step == l->s.row->warmup;
    int status = CC_OK;
    if (counts)
        memset(l->s.counters.phase_s, 0, sizeof l->s.counters.phase_s);
    if (l->s.events != NULL) {
        l->s.events->on |= counts;
        l->s.events->step = step;
    }
    if (step > 0 && cc_rank_loop_lockstep(l))
        status = cc_runtime_barrier(l->s.comm, l->s.job->yield_when_idle, e);
    if (status == CC_OK && counts && cc_rank_loop_lockstep(l) && l->counting != NULL)
        status = l->counting(l->beat_arg, e);
    l->start[step] = cc_runtime_now() - l->began;
    return status;
}

int cc_rank_loop_run(struct cc_rank_loop *l, struct cc_error *e)
{
    int status = cc_runtime_barrier(l->s.comm, l->s.job->yield_when_idle, e);
    l->began = l->clock = cc_runtime_now();
    for (size_t i = 0; i < cc_rank_loop_steps(l) && status == CC_OK; i++) {
        status = line_up(l, i, e);
        if (status == CC_OK)
            status = one_step(l, i, e);
        l->end[i] = cc_runtime_now() - l->began;
        if (l->beat != NULL && status == CC_OK)
            l->beat(l->beat_arg, i);
    }
    if (status == CC_OK)
        status = drain(l, e);
    if (status != CC_OK)
        cc_error_in(e, "%s, step %llu", l->s.row->scheme, (unsigned long long)l->s.step);
    return status;
}
