/* Sources of gradients: each by itself, and one that computes for real in the rank's loop. Run by
 * tests/mpi.sh under mpirun with 2 ranks, and by tests/sim_ranks.sh. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace_write.h"
#include "netsim/rank/loop.h"
#include "netsim/rank/sources.h"
#include "tests/lib/jobs.h"

enum { WORKERS = 2, TENSORS = 4, DIFFERENT = 3 };
#define COMPUTE_S 12e-3
#define UPDATE_S  2e-3
#define FORWARD   0.25

static int failures;

static int this_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void check(const char *name, bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "FAILED: rank %d, %s: %s\n", this_rank(), name, what);
    failures++;
}

static void fail_on(int status, const struct cc_error *e)
{
    if (status == CC_OK)
        return;
    fprintf(stderr, "rank %d: %s\n", this_rank(), e->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- a job whose messages are its tensors, the last one first --- */

struct setting {
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message[TENSORS];
    size_t values;
};

static void make(struct setting *t, enum cc_step_mode mode)
{
    static const size_t sizes[TENSORS] = {600, 9, 2000, 64};
    static const double shares[TENSORS] = {0.5, 0.125, 0.125, 0.25};
    *t = (struct setting){0};
    for (size_t i = 0; i < TENSORS; i++) {
        jobs_add_flat(&t->job, sizes[i], false);
        t->job.tensor[i].share = shares[i];
        t->message[i] = (struct cc_message){TENSORS - 1 - i, TENSORS - 1 - i};
    }
    t->job.exchange = CC_RING;
    t->job.workers = WORKERS;
    t->job.mode = mode;
    t->job.compute_s = COMPUTE_S;
    t->job.update_s = UPDATE_S;
    t->job.forward_share = FORWARD;
    t->job.seed = 11;
    t->job.yield_when_idle = true;
    t->job.trace_steps = DIFFERENT;
    t->row = (struct cc_job_row){.scheme = (char *)"fp32",
                                 .reduction = CC_REDUCE_SUM,
                                 .period = 1,
                                 .warmup = 2,
                                 .steps = 4,
                                 .message = t->message,
                                 .messages = TENSORS};
    t->values = cc_job_values(&t->job);
}

/* Has the values of `steps` different steps; 0: without values. */
static struct cc_source *open_source(const struct setting *t, size_t steps, int worker,
                                     size_t in_flight)
{
    struct cc_error e = {""};
    struct cc_source *s = NULL;
    const struct cc_source_config config = {
        .job = &t->job, .worker = worker, .steps = steps, .in_flight = in_flight};
    fail_on(cc_source_preloaded_open(&config, &s, &e), &e);
    fail_on(cc_source_begin_row(s, &t->row, &e), &e);
    return s;
}

static double compute(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                      const struct cc_message *m)
{
    struct cc_error e = {""};
    struct cc_source_progress p;
    fail_on(cc_source_compute(s, step, part, m, &p, &e), &e);
    check(s->name, p.done, "emulated work that is not done at once");
    return p.seconds;
}

/* --- what every emulated source keeps to --- */

/* The steps differ, are used in turn, and are the same in a source opened again. */
static void gradients_are_the_same_again(const struct setting *t, size_t steps)
{
    struct cc_error e = {""};
    struct cc_source *a = open_source(t, steps, 0, 1), *b = open_source(t, steps, 0, 1);
    struct cc_source *other = open_source(t, steps, 1, 1);
    const size_t bytes = t->values * sizeof(float);
    const float *first = NULL;
    for (uint64_t step = 0; step < 2 * DIFFERENT; step++) {
        (void)compute(a, step, CC_COMPUTE_STEP, NULL);
        (void)compute(b, step, CC_COMPUTE_STEP, NULL);
        (void)compute(other, step, CC_COMPUTE_STEP, NULL);
        const float *x = cc_source_buffers(a, step).gradient;
        check(a->name, memcmp(x, cc_source_buffers(b, step).gradient, bytes) == 0,
              "other values in the same step");
        check(a->name, memcmp(x, cc_source_buffers(other, step).gradient, bytes) != 0,
              "both workers have the same values");
        if (step == 0)
            first = x;
        else
            check(a->name, (memcmp(x, first, bytes) == 0) == (step % DIFFERENT == 0),
                  "steps are not used in turn");
        fail_on(cc_source_end_step(a, step, &e), &e);
        fail_on(cc_source_end_step(b, step, &e), &e);
        fail_on(cc_source_end_step(other, step, &e), &e);
    }
    cc_source_close(a);
    cc_source_close(b);
    cc_source_close(other);
}

static void refuses(const char *name, int status, const struct cc_error *e, const char *says)
{
    check(name, status != CC_OK && strstr(e->text, says) != NULL, e->text);
}

static void steps_in_flight(const struct setting *t, size_t steps)
{
    struct cc_error e = {""};
    struct cc_source_progress p;
    struct cc_source *s = open_source(t, steps, 0, 3);
    const char *name = s->name;
    refuses(name, cc_source_end_step(s, 0, &e), &e, "0 have ended and 0 begun");
    refuses(name, cc_source_apply(s, 0, NULL, &p, &e), &e, "step 0 is not in flight");
    refuses(name, cc_source_compute(s, 1, CC_COMPUTE_STEP, NULL, &p, &e), &e, "not in flight");
    for (uint64_t step = 0; step < 3; step++)
        (void)compute(s, step, CC_COMPUTE_STEP, NULL);
    refuses(name, cc_source_compute(s, 3, CC_COMPUTE_STEP, NULL, &p, &e), &e,
            "step 3 begins while 3 others are in flight");
    refuses(name, cc_source_end_step(s, 1, &e), &e, "step 1 ends, but 0 have ended");
    for (uint64_t step = 0; step < 3; step++)
        check(name,
              cc_source_buffers(s, step).gradient != cc_source_buffers(s, (step + 1) % 3).gradient,
              "steps in flight share a gradient");
    fail_on(cc_source_apply(s, 0, NULL, &p, &e), &e);
    fail_on(cc_source_end_step(s, 0, &e), &e);
    (void)compute(s, 3, CC_COMPUTE_STEP, NULL);
    refuses(name, cc_source_compute(s, 0, CC_COMPUTE_STEP, NULL, &p, &e), &e, "not in flight");
    /* A pipeline that is not full yet. */
    fail_on(cc_source_apply(s, -1, NULL, &p, &e), &e);
    check(name, p.done && p.seconds == UPDATE_S, "an update of nothing");
    cc_source_close(s);
}

/* The parts of a step, message by message, take as long as the whole. */
static void parts_add_up(struct setting *t, size_t steps)
{
    struct cc_error e = {""};
    struct cc_source_progress p;
    struct cc_source *s = open_source(t, steps, 0, 2);
    double backward = 0, forward = 0, update = 0;
    const uint64_t step = t->row.warmup - 1;
    for (uint64_t i = 0; i < step; i++) {
        check(s->name, compute(s, i, CC_COMPUTE_STEP, NULL) == 0, "a step that fills codecs");
        fail_on(cc_source_end_step(s, i, &e), &e);
    }
    for (size_t i = 0; i < TENSORS; i++) {
        const double seconds = compute(s, step, CC_COMPUTE_BACKWARD, &t->message[i]);
        const double share = t->job.tensor[t->message[i].first].share;
        check(s->name, fabs(seconds - (1 - FORWARD) * COMPUTE_S * share) < 1e-12, "a share");
        backward += seconds;
    }
    for (size_t i = TENSORS; i-- > 0;) {
        fail_on(cc_source_apply(s, (int64_t)step, &t->message[i], &p, &e), &e);
        update += p.seconds;
        forward += compute(s, step + 1, CC_COMPUTE_FORWARD, &t->message[i]);
    }
    fail_on(cc_source_end_step(s, step, &e), &e);
    check(s->name, fabs(backward + forward - COMPUTE_S) < 1e-12, "parts of computing");
    check(s->name, fabs(update - UPDATE_S) < 1e-12, "parts of the update");
    check(s->name, compute(s, step + 1, CC_COMPUTE_STEP, NULL) == COMPUTE_S, "a whole step");
    cc_source_close(s);
}

/* In every other step worker 1 takes three times as long. */
static void stragglers(struct setting *t, size_t steps)
{
    struct cc_error e = {""};
    double slow[WORKERS * 2] = {1, 1, 1, 3};
    t->job.slow = slow;
    t->job.slow_steps = 2;
    struct cc_source *s = open_source(t, steps, 1, 1);
    for (uint64_t step = 0; step < 6; step++) {
        const double want = step < t->row.warmup - 1 ? 0 : COMPUTE_S * (step % 2 == 1 ? 3 : 1);
        check(s->name, fabs(compute(s, step, CC_COMPUTE_STEP, NULL) - want) < 1e-12,
              "a straggler's step");
        fail_on(cc_source_end_step(s, step, &e), &e);
    }
    cc_source_close(s);
    t->job.slow = NULL;
}

/* A new row begins with step 0 and an unmoved model. */
static void rows_begin_afresh(const struct setting *t, size_t steps)
{
    struct cc_error e = {""};
    struct cc_source *s = open_source(t, steps, 0, 2);
    for (int row = 0; row < 2; row++) {
        (void)compute(s, 0, CC_COMPUTE_STEP, NULL);
        float *result = cc_source_buffers(s, 0).result;
        for (size_t i = 0; i < t->values; i++) {
            check(s->name, result[i] == 0, "what another row added");
            result[i] += 1;
        }
        fail_on(cc_source_begin_row(s, &t->row, &e), &e);
    }
    cc_source_close(s);
}

static void empty_source(struct setting *t)
{
    struct cc_source *s = open_source(t, 0, -1, 1);
    (void)compute(s, 0, CC_COMPUTE_STEP, NULL);
    const struct cc_source_buffers b = cc_source_buffers(s, 0);
    check(s->name, b.gradient == NULL && b.result == NULL, "values of nobody");
    cc_source_close(s);
}

/* A trace that was drawn by the same generator has the same values as the synthetic source. */
static void replay_is_the_trace(struct setting *t)
{
    struct cc_error e = {""};
    char dir[] = "/tmp/commcomp-source-XXXXXX", path[64], command[80];
    const struct cc_synth config = {.distribution = (enum cc_distribution)t->job.distribution,
                                    .seed = t->job.seed,
                                    .steps = DIFFERENT,
                                    .ranks = WORKERS,
                                    .decay = 0.1};
    struct cc_tensor_info info[TENSORS];
    struct cc_trace *trace;
    uint64_t files, bytes;
    for (size_t i = 0; i < TENSORS; i++)
        info[i] = (struct cc_tensor_info){t->job.tensor[i].name, t->job.tensor[i].shape};
    if (mkdtemp(dir) == NULL) {
        check("replay", false, "no directory for a trace");
        return;
    }
    (void)snprintf(path, sizeof path, "%s/trace", dir);
    fail_on(cc_trace_synth(&config, info, TENSORS, "test", &trace, &e), &e);
    fail_on(cc_trace_write(trace, path, NULL, NULL, NULL, NULL, &files, &bytes, &e), &e);
    cc_trace_close(trace);
    t->job.trace = path;
    gradients_are_the_same_again(t, DIFFERENT);
    steps_in_flight(t, DIFFERENT);
    struct cc_source *replay = open_source(t, DIFFERENT, 1, DIFFERENT);
    t->job.trace = NULL;
    struct cc_source *synthetic = open_source(t, DIFFERENT, 1, DIFFERENT);
    for (uint64_t step = 0; step < DIFFERENT; step++) {
        (void)compute(replay, step, CC_COMPUTE_STEP, NULL);
        (void)compute(synthetic, step, CC_COMPUTE_STEP, NULL);
        check("replay",
              memcmp(cc_source_buffers(replay, step).gradient,
                     cc_source_buffers(synthetic, step).gradient, t->values * 4) == 0,
              "other values than the trace's");
    }
    cc_source_close(replay);
    cc_source_close(synthetic);
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    check("replay", system(command) == 0, "a trace that cannot be removed");
}

/* The factory: by rank, trace and data. */
static void factory(void)
{
    struct setting t;
    struct cc_error e = {""};
    struct cc_source *s;
    make(&t, CC_PIPE);
    fail_on(cc_source_open(&t.job, MPI_COMM_WORLD, &s, &e), &e);
    check("factory", strcmp(s->name, "synthetic") == 0 && s->in_flight == 2, s->name);
    cc_source_close(s);
    t.job.workers = 1;
    fail_on(cc_source_open(&t.job, MPI_COMM_WORLD, &s, &e), &e);
    check("factory", strcmp(s->name, this_rank() == 0 ? "synthetic" : "empty") == 0,
          "a server's source");
    cc_source_close(s);
    t.job.data = false;
    fail_on(cc_source_open(&t.job, MPI_COMM_WORLD, &s, &e), &e);
    check("factory", strcmp(s->name, "empty") == 0, "a source without data");
    cc_source_close(s);
    t.job.trace = (char *)"/nowhere/trace";
    t.job.data = true;
    t.job.workers = WORKERS;
    check("factory", cc_source_open(&t.job, MPI_COMM_WORLD, &s, &e) != CC_OK, "no such trace");
    t.job.trace = NULL;
    jobs_free(&t.job);
}

/* --- computing for real --- */

/* A source as training will be one: each part takes several calls, which take real time; gradients
 * are NAN until their part is done, so that an exchange that is too early fails; each step in
 * flight has buffers of its own; and apply moves the model. The gradient is the step's number plus
 * one, and the model that it was computed with. */
enum { IN_FLIGHT = 2, CALLS = 3 };

struct training {
    struct cc_source head;
    const struct setting *t;
    float *gradient[IN_FLIGHT], *result[IN_FLIGHT], *model;
    int calls;       /* to the part under way */
    uint64_t newest; /* step whose buffers were cleared, plus one */
    size_t forwards; /* parts of forward passes */
};

static int begin_training(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e)
{
    struct training *x = (struct training *)s;
    (void)row;
    (void)e;
    x->newest = 0;
    x->calls = 0;
    return CC_OK;
}

static void work(void)
{
    volatile double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += i;
    (void)sum;
}

struct values {
    size_t from, to;
};

static struct values range_of(const struct training *x, const struct cc_message *m)
{
    const size_t *offset = x->t->job.offset;
    return m != NULL ? (struct values){offset[m->first], offset[m->last + 1]}
                     : (struct values){0, x->t->values};
}

static int train(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                 const struct cc_message *m, struct cc_source_progress *out, struct cc_error *e)
{
    struct training *x = (struct training *)s;
    const struct values r = range_of(x, m);
    float *gradient = x->gradient[step % IN_FLIGHT], *result = x->result[step % IN_FLIGHT];
    (void)e;
    if (step == x->newest) {
        x->newest++;
        for (size_t i = 0; i < x->t->values; i++) {
            gradient[i] = NAN;
            result[i] = 0;
        }
    }
    work();
    out->done = ++x->calls == CALLS;
    if (!out->done)
        return CC_OK;
    x->calls = 0;
    x->forwards += part == CC_COMPUTE_FORWARD;
    for (size_t i = r.from; i < r.to && part != CC_COMPUTE_FORWARD; i++)
        gradient[i] = (float)(step + 1) + x->model[i];
    return CC_OK;
}

static struct cc_source_buffers training_buffers(struct cc_source *s, uint64_t step)
{
    const struct training *x = (const struct training *)s;
    return (struct cc_source_buffers){.gradient = x->gradient[step % IN_FLIGHT],
                                      .result = x->result[step % IN_FLIGHT]};
}

static int optimize(struct cc_source *s, int64_t step, const struct cc_message *m,
                    struct cc_source_progress *out, struct cc_error *e)
{
    struct training *x = (struct training *)s;
    const struct values r = range_of(x, m);
    (void)e;
    work();
    out->done = step < 0 || ++x->calls == CALLS;
    if (step < 0 || !out->done)
        return CC_OK;
    x->calls = 0;
    for (size_t i = r.from; i < r.to; i++)
        x->model[i] -= 0.5F * x->result[step % IN_FLIGHT][i];
    return CC_OK;
}

static void close_training(struct cc_source *s)
{
    struct training *x = (struct training *)s;
    for (int i = 0; i < IN_FLIGHT; i++) {
        free(x->gradient[i]);
        free(x->result[i]);
    }
    free(x->model);
}

/* The model must be what the recurrence says: m -= (t + 1 + m of `delay` steps before) / 2. */
static void trains(enum cc_step_mode mode, size_t delay)
{
    static const char *const names[] = {"sequential", "overlap", "pipe"};
    static const struct cc_source_ops ops = {.begin_row = begin_training,
                                             .compute = train,
                                             .buffers = training_buffers,
                                             .apply = optimize,
                                             .close = close_training};
    struct setting t;
    struct cc_rank_loop loop;
    struct cc_error e = {""};
    make(&t, mode);
    struct training x = {
        .head = {.ops = &ops, .name = "training", .in_flight = mode == CC_SEQUENTIAL ? 1 : 2},
        .t = &t};
    for (int i = 0; i < IN_FLIGHT; i++) {
        x.gradient[i] = cc_alloc0(t.values * sizeof(float), &e);
        x.result[i] = cc_alloc0(t.values * sizeof(float), &e);
    }
    x.model = cc_alloc0(t.values * sizeof(float), &e);
    fail_on(cc_rank_loop_open(&loop, MPI_COMM_WORLD, &t.job, &t.row, NULL, NULL, &x.head, &e), &e);
    fail_on(cc_rank_loop_run(&loop, &e), &e);
    const size_t steps = cc_rank_loop_steps(&loop);
    float model[16] = {0};
    for (size_t i = 0; i < steps; i++) {
        const float seen = model[i < delay ? 0 : i - delay];
        model[i + 1] = model[i] - 0.5F * ((float)(i + 1) + seen);
    }
    /* A pipe has not applied what its last two steps gave. */
    const float want = model[steps - (mode == CC_PIPE ? 2 : 0)];
    for (size_t i = 0; i < t.values; i++)
        if (fabsf(x.model[i] - want) > 1e-6F * fabsf(want)) {
            fprintf(stderr, "value %zu: %g instead of %g\n", i, (double)x.model[i], (double)want);
            check(names[mode], false, "the model after training");
            break;
        }
    check(names[mode], x.forwards == (mode == CC_OVERLAP ? steps * TENSORS : 0), "forwards");
    const double *phase_s = loop.s.counters.phase_s;
    check(names[mode], phase_s[CC_PHASE_COMPUTE] > 0 && phase_s[CC_PHASE_UPDATE] > 0,
          "real work takes no time");
    cc_rank_loop_close(&loop);
    cc_source_close(&x.head);
    jobs_free(&t.job);
}

int main(int argc, char **argv)
{
    struct setting t;
    int ranks, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != WORKERS) {
        fprintf(stderr, "%d ranks are needed\n", WORKERS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    make(&t, CC_SEQUENTIAL);
    gradients_are_the_same_again(&t, DIFFERENT);
    steps_in_flight(&t, DIFFERENT);
    parts_add_up(&t, DIFFERENT);
    parts_add_up(&t, 0);
    stragglers(&t, DIFFERENT);
    rows_begin_afresh(&t, DIFFERENT);
    empty_source(&t);
    replay_is_the_trace(&t);
    jobs_free(&t.job);
    factory();
    trains(CC_SEQUENTIAL, 0);
    trains(CC_OVERLAP, 0);
    trains(CC_PIPE, 1);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (this_rank() == 0)
        printf("sources of gradients: %d failures\n", all);
    MPI_Finalize();
    return all > 0;
}
