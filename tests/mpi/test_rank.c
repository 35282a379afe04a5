/* commcomp-rank as a program: jobs in, reports out, under an mpirun of its own. Run by tests/mpi.sh
 * without mpirun. COMMCOMP_RANK is the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "tests/lib/scratch.h"
#include "tests/lib/settings.h"

enum { MOST_REPORTS = 200, TENSORS = 3, WARMUP = 2, STEPS = 4, DIFFERENT = 3 };
#define COMPUTE_S 0.01

static const size_t sizes[TENSORS] = {3000, 12, 20000};

/* --- jobs --- */

static char *copy(const char *text)
{
    char *out = cc_strdup(text, NULL);
    assert_non_null(out);
    return out;
}

/* Two workers and a server; a row for each scheme, whole steps as messages. */
static struct cc_job make_job(const char *const *schemes, size_t rows, enum cc_step_mode mode)
{
    struct cc_job job = {.workers = 2, .servers = 1, .mode = mode, .compute_s = COMPUTE_S};
    job.update_s = 1e-3;
    job.forward_share = 0.3;
    job.yield_when_idle = job.rendezvous = job.data = true;
    job.seed = 3;
    job.distribution = CC_LAPLACE;
    job.trace_steps = DIFFERENT;
    job.exchange = CC_PS;
    job.tensors = TENSORS;
    job.tensor = cc_alloc0(TENSORS * sizeof *job.tensor, NULL);
    for (size_t i = 0; i < TENSORS; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "t%zu", i);
        job.tensor[i] = (struct cc_job_tensor){.name = copy(name),
                                               .shape = cc_shape_flat(sizes[i]),
                                               .share = i == 0 ? 0.5 : 0.25,
                                               .raw = i == 1};
    }
    job.rows = rows;
    job.row = cc_alloc0(rows * sizeof *job.row, NULL);
    for (size_t i = 0; i < rows; i++) {
        struct cc_job_row *r = &job.row[i];
        *r = (struct cc_job_row){.scheme = copy(schemes[i]),
                                 .period = 1,
                                 .warmup = WARMUP,
                                 .steps = STEPS,
                                 .messages = 1};
        r->period = strncmp(schemes[i], "local", 5) == 0 ? 2 : 1;
        r->message = cc_alloc0(sizeof *r->message, NULL);
        r->message[0] = (struct cc_message){0, TENSORS - 1};
    }
    return job;
}

/* --- running --- */

struct outcome {
    struct cc_report report[MOST_REPORTS];
    size_t reports;
    int code; /* mpirun's */
};

static const char *program(void)
{
    const char *path = getenv("COMMCOMP_RANK");
    return path != NULL ? path : "build/bin/commcomp-rank";
}

/* `arguments`: what follows the program; `options` go to mpirun. */
static struct outcome *run(int ranks, const char *options, const char *arguments)
{
    char command[1000];
    static char line[1 << 16];
    struct outcome *o = cc_alloc0(sizeof *o, NULL);
    assert_non_null(o);
    (void)snprintf(command, sizeof command,
                   "timeout -k 5 60 mpirun -np %d --oversubscribe --bind-to none --mca "
                   "mpi_yield_when_idle 1 %s %s %s 2>/dev/null",
                   ranks, options, program(), arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        struct cc_error e;
        assert_true(o->reports < MOST_REPORTS);
        if (cc_report_parse(line, strcspn(line, "\n"), &o->report[o->reports], &e) == CC_OK)
            o->reports++;
        else
            print_message("not a report (%s): %s", e.text, line);
    }
    int status = pclose(f);
    o->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return o;
}

/* Writes the job to a file, and returns its path. */
static const char *write_job(void **state, const struct cc_job *job)
{
    struct cc_error e = {""};
    char *text = cc_job_text(job, &e);
    assert_non_null(text);
    const char *path = scratch_write(state, "job.json", text, strlen(text));
    free(text);
    return path;
}

static struct outcome *run_job(void **state, const struct cc_job *job, const char *options)
{
    return run(job->workers + job->servers, options, write_job(state, job));
}

#define LOCAL "--mca btl self,vader"

static void free_outcome(struct outcome *o)
{
    for (size_t i = 0; i < o->reports; i++)
        cc_report_free(&o->report[i]);
    free(o);
}

static const struct cc_report *expect(const struct outcome *o, size_t *at, enum cc_report_kind kind)
{
    assert_true(*at < o->reports);
    if (o->report[*at].kind == CC_REPORT_ERROR)
        print_message("rank %d: %s\n", o->report[*at].rank, o->report[*at].text);
    assert_int_equal(o->report[*at].kind, kind);
    return &o->report[(*at)++];
}

/* --- what a row must say --- */

/* The payload of a worker in a step that counts, by tensor: every codec called by itself. */
static void push_bytes(const struct cc_job *job, size_t row, double *bytes)
{
    struct cc_tensor_info info[TENSORS];
    struct cc_trace *t;
    struct cc_error e = {""};
    const struct cc_synth config = {.distribution = (enum cc_distribution)job->distribution,
                                    .seed = job->seed,
                                    .steps = DIFFERENT,
                                    .ranks = (size_t)job->workers,
                                    .decay = 0.1};
    for (size_t i = 0; i < TENSORS; i++)
        info[i] = (struct cc_tensor_info){job->tensor[i].name, job->tensor[i].shape};
    assert_int_equal(cc_trace_synth(&config, info, TENSORS, "test", &t, &e), CC_OK);
    for (size_t i = 0; i < TENSORS; i++) {
        struct cc_spec *spec = setting_open(job->tensor[i].raw ? "fp32" : job->row[row].scheme);
        struct cc_codec c = {.scheme = spec->scheme,
                             .params = spec->params,
                             .shape = job->tensor[i].shape,
                             .threads = 1};
        size_t sum = 0, bound = cc_bound(&c), len;
        float *x = cc_alloc(sizes[i] * sizeof *x, NULL);
        uint8_t *out = cc_alloc(bound, NULL);
        c.state = cc_alloc(cc_state_bytes(&c), NULL);
        c.scratch = cc_alloc(cc_scratch_bytes(&c), NULL);
        for (int w = 0; w < job->workers; w++) {
            cc_codec_reset(&c);
            for (size_t step = 0; step < WARMUP + STEPS; step++) {
                const struct cc_context ctx = {
                    .seed = job->seed, .rank = w, .step = step, .tensor = i};
                assert_int_equal(cc_trace_load(t, (size_t)w, step % DIFFERENT, i, x, &e), CC_OK);
                assert_int_equal(cc_encode(&c, &ctx, x, out, bound, &len, &e), CC_OK);
                sum += step >= WARMUP ? len : 0;
            }
        }
        bytes[i] = (double)sum / STEPS / job->workers;
        free(x);
        free(out);
        free(c.state);
        free(c.scratch);
        cc_spec_free(spec);
    }
    cc_trace_close(t);
}

static void check_bytes(const struct cc_job *job, size_t row, const struct cc_report_row *r)
{
    double bytes[TENSORS], all = 0;
    push_bytes(job, row, bytes);
    assert_int_equal(r->tensors, TENSORS);
    for (size_t i = 0; i < TENSORS; i++) {
        assert_true(r->tensor_bytes[i] == bytes[i]);
        all += bytes[i];
    }
    assert_true(r->push_bytes == all);
    assert_true(r->push_head_bytes >= 1 && r->push_head_bytes < 20);
    assert_true(r->pull_head_bytes >= 1 && r->pull_head_bytes < 20);
    assert_true(r->messages == 2);
    assert_true(r->given_bytes == 2 * (r->pull_bytes + r->pull_head_bytes));
    assert_true(r->tensor_pull_bytes[1] == 4.0 * 12);
    if (strcmp(job->row[row].scheme, "fp32") == 0)
        assert_true(r->pull_bytes == 4.0 * (3000 + 12 + 20000));
}

static void check_times(const struct cc_report_row *r)
{
    double sum = 0;
    assert_int_equal(r->steps, STEPS);
    for (size_t i = 0; i < STEPS; i++) {
        assert_true(r->step_s[i] > 0);
        sum += r->step_s[i];
    }
    /* A step may be shorter than what it computes when the one before ended late. */
    assert_true(sum > 0.9 * STEPS * COMPUTE_S && sum < 30);
    assert_true(r->compute_s > 0.999 * COMPUTE_S && r->compute_s < 10 * COMPUTE_S);
    assert_true(r->update_s > 0.999e-3 && r->update_s < 0.1);
    assert_true(r->encode_s > 0 && r->server_s > 0 && r->decode_s > 0 && r->hop_s == 0);
    assert_true(r->wait_s >= 0 && r->wait_s < 10);
}

static void replay(void **state, enum cc_step_mode mode)
{
    static const char *const schemes[] = {"fp32", "3lc:s=1.5", "local:every=2,inner=qsgd"};
    struct cc_job job = make_job(schemes, 3, mode);
    struct outcome *o = run_job(state, &job, LOCAL);
    size_t at = 0;
    assert_non_null(strstr(expect(o, &at, CC_REPORT_HELLO)->text, "MPI"));
    for (size_t row = 0; row < 3; row++) {
        assert_int_equal(expect(o, &at, CC_REPORT_ROW_BEGIN)->row, row);
        for (size_t i = 0; i < WARMUP + STEPS; i++) {
            const struct cc_report *step = expect(o, &at, CC_REPORT_STEP);
            assert_int_equal(step->row, row);
            assert_int_equal(step->step, i);
        }
        const struct cc_report *result = expect(o, &at, CC_REPORT_ROW);
        assert_int_equal(result->result.row, row);
        assert_true(result->result.sent_bytes == -1 && result->result.total_sent_bytes == -1);
        check_bytes(&job, row, &result->result);
        check_times(&result->result);
    }
    (void)expect(o, &at, CC_REPORT_DONE);
    assert_int_equal(at, o->reports);
    assert_int_equal(o->code, 0);
    free_outcome(o);
    cc_job_free(&job);
}

static void sequential(void **state)
{
    replay(state, CC_SEQUENTIAL);
}

static void overlap(void **state)
{
    replay(state, CC_OVERLAP);
}

static void pipe_steps(void **state)
{
    replay(state, CC_PIPE);
}

/* All ranks share the loopback interface, which carries at least what they hand to MPI. */
static void interface(void **state)
{
    static const char *const schemes[] = {"fp32"};
    struct cc_job job = make_job(schemes, 1, CC_SEQUENTIAL);
    job.device = copy("lo");
    struct outcome *o = run_job(state, &job, "--mca btl tcp,self --mca btl_tcp_if_include lo");
    assert_int_equal(o->code, 0);
    const struct cc_report_row *r = &o->report[o->reports - 2].result;
    assert_int_equal(o->report[o->reports - 2].kind, CC_REPORT_ROW);
    const double payload = 2 * (r->push_bytes + r->pull_bytes);
    assert_true(r->sent_bytes >= payload);
    /* One interface, which ranks look at one after the other. */
    assert_true(r->received_bytes > 0.9 * r->sent_bytes && r->received_bytes < 1.1 * r->sent_bytes);
    assert_true(r->total_sent_bytes > 0.9 * r->sent_bytes);
    assert_true(r->total_sent_bytes < 1.1 * r->sent_bytes);
    /* Others may use it as well. */
    assert_true(r->sent_bytes < 100 * payload);
    free_outcome(o);
    cc_job_free(&job);
}

static void pingpong(void **state)
{
    size_t bytes[] = {0, 1, 100000};
    struct cc_job job = {
        .kind = CC_JOB_PINGPONG, .workers = 3, .size = bytes, .sizes = 3, .repeats = 5};
    struct outcome *o = run_job(state, &job, LOCAL);
    size_t at = 0;
    (void)expect(o, &at, CC_REPORT_HELLO);
    for (size_t i = 0; i < 3; i++) {
        const struct cc_report *size = expect(o, &at, CC_REPORT_SIZE);
        assert_int_equal(size->size.bytes, bytes[i]);
        assert_int_equal(size->size.samples, 5);
        for (size_t k = 0; k < 5; k++)
            assert_true(size->size.seconds[k] > 1e-8 && size->size.seconds[k] < 5);
    }
    (void)expect(o, &at, CC_REPORT_DONE);
    assert_int_equal(o->code, 0);
    free_outcome(o);
}

/* From rank 0 to the others, and back: their times are those of all messages. */
static void from_and_to_all(void **state)
{
    size_t bytes[] = {0, 5000000};
    for (enum cc_job_way way = CC_WAY_OUT; way <= CC_WAY_IN; way++) {
        struct cc_job job = {.kind = CC_JOB_PINGPONG,
                             .workers = 4,
                             .way = way,
                             .size = bytes,
                             .sizes = 2,
                             .repeats = 3};
        struct outcome *o = run_job(state, &job, LOCAL);
        size_t at = 0;
        (void)expect(o, &at, CC_REPORT_HELLO);
        for (size_t i = 0; i < 2; i++) {
            const struct cc_report *size = expect(o, &at, CC_REPORT_SIZE);
            assert_int_equal(size->size.bytes, bytes[i]);
            assert_int_equal(size->size.samples, 3);
            /* 15 MB at no more than 1 TB/s */
            for (size_t k = 0; k < 3; k++)
                assert_true(size->size.seconds[k] > 3e-12 * (double)bytes[i] &&
                            size->size.seconds[k] < 5);
        }
        (void)expect(o, &at, CC_REPORT_DONE);
        assert_int_equal(o->code, 0);
        free_outcome(o);
    }
}

/* --- calls --- */

/* Rows time calls: as many as the row has, or until the time is up; the first result is what the
 * MPI library's sum is. Half of the values are zero on each of two workers. */
static void calls(void **state)
{
    static const char *const schemes[] = {"fp32", "pairs", "int8"};
    struct cc_job job = make_job(schemes, 3, CC_SEQUENTIAL);
    job.servers = 0;
    job.exchange = CC_RING;
    job.row[0].reduction = CC_REDUCE_SUM;
    job.zeros = 0.5;
    job.compute_s = job.update_s = 0;
    job.calls = (struct cc_job_calls){.limit_s = 30, .check = true};
    job.row[1].steps = 1000;
    struct outcome *o = run_job(state, &job, LOCAL);
    const double values = (double)(sizes[0] + sizes[1] + sizes[2]);
    size_t at = 0;
    (void)expect(o, &at, CC_REPORT_HELLO);
    for (size_t row = 0; row < 3; row++) {
        (void)expect(o, &at, CC_REPORT_ROW_BEGIN);
        const struct cc_report_calls *r = &expect(o, &at, CC_REPORT_CALLS)->calls;
        assert_true(r->row == row && r->wrong == NULL && r->checked == (row < 2));
        assert_true(row == 1 ? r->calls >= 20 : r->calls == STEPS);
        for (size_t i = 0; i < r->calls; i++)
            assert_true(r->call_s[i] > 0 && r->call_s[i] < 30);
        assert_true(fabs(r->result_values - 0.75 * values) < 0.02 * values || row == 2);
        /* Each worker encodes half of its gradient, and half of the sum. */
        const double bits = row == 0 ? 32 : row == 1 ? 64 * (0.5 + 0.75) / 2 : 8;
        assert_true(fabs(8 * r->push_bytes / values - bits) < 1);
        assert_true(r->given_bytes > 0 && r->messages >= 2 && r->apply_s > 0);
    }
    (void)expect(o, &at, CC_REPORT_DONE);
    assert_int_equal(o->code, 0);
    free_outcome(o);
    /* The time is up at once: three calls. */
    job.calls.limit_s = 1e-6;
    o = run_job(state, &job, LOCAL);
    assert_int_equal(o->report[4].kind, CC_REPORT_CALLS);
    assert_int_equal(o->report[4].calls.calls, 3);
    free_outcome(o);
    cc_job_free(&job);
}

/* --- events --- */

/* Checks each rank in order, and only counted steps: the spans that fill them, and both ends of
 * every transfer. */
static void check_events(const struct cc_job *job, const struct cc_report_events *m, int rank,
                         size_t *ends)
{
    double last = 0, sum = 0;
    assert_int_equal(m->rank, rank);
    assert_true(m->left_out == 0 && m->first_step == WARMUP && m->steps == STEPS);
    for (size_t i = 0; i < m->spans; i++) {
        const struct cc_span *p = &m->span[i];
        assert_true(p->begin >= last && p->end > p->begin);
        assert_true(p->step >= WARMUP && p->step < WARMUP + STEPS);
        assert_true((p->phase == CC_PHASE_SERVER) <= (rank >= job->workers));
        sum += p->end - p->begin;
        last = p->end;
    }
    double all = m->step[STEPS - 1].end - m->step[0].begin;
    assert_true(m->spans >= (rank < job->workers ? 4 : 3) * STEPS && sum > 0 && sum <= all);
    if (rank < job->workers)
        assert_true(sum > STEPS * COMPUTE_S);
    /* A push and a pull of each worker in each step. */
    assert_int_equal(m->flows, 2 * STEPS * (size_t)(rank < job->workers ? 1 : job->workers));
    for (size_t i = 0; i < m->flows; i++) {
        const struct cc_flow_event *p = &m->flow[i];
        assert_true(p->number < STEPS && p->message == 0 && p->step == WARMUP + p->number);
        assert_int_equal(p->peer >= (uint32_t)job->workers, rank < job->workers);
        const bool push = p->received == (rank >= job->workers);
        const size_t worker = (size_t)rank < (size_t)job->workers ? (size_t)rank : p->peer;
        ends[(push ? 0 : 1) + 2 * (p->number + STEPS * worker)] += p->received ? 1 : 100;
    }
}

static void events(void **state)
{
    static const char *const schemes[] = {"fp32", "3lc:s=1.5"};
    struct cc_job job = make_job(schemes, 2, CC_SEQUENTIAL);
    job.events = true;
    struct outcome *o = run_job(state, &job, LOCAL);
    size_t at = 1;
    for (size_t row = 0; row < 2; row++) {
        size_t ends[2 * STEPS * 2] = {0};
        (void)expect(o, &at, CC_REPORT_ROW_BEGIN);
        at += WARMUP + STEPS;
        (void)expect(o, &at, CC_REPORT_ROW);
        for (int rank = 0; rank < 3; rank++) {
            const struct cc_report *r = expect(o, &at, CC_REPORT_EVENTS);
            assert_int_equal(r->events.row, row);
            check_events(&job, &r->events, rank, ends);
        }
        for (size_t i = 0; i < 2 * STEPS * 2; i++)
            assert_int_equal(ends[i], 101);
    }
    (void)expect(o, &at, CC_REPORT_DONE);
    assert_int_equal(o->code, 0);
    free_outcome(o);
    cc_job_free(&job);
}

/* --- what goes wrong --- */

/* Some rank says so, and all end. */
static void assert_fails(struct outcome *o, const char *says)
{
    size_t found = 0;
    assert_int_not_equal(o->code, 0);
    assert_int_not_equal(o->code, 124); /* the time was over */
    for (size_t i = 0; i < o->reports; i++) {
        assert_int_not_equal(o->report[i].kind, CC_REPORT_DONE);
        if (o->report[i].kind != CC_REPORT_ERROR)
            continue;
        if (strstr(o->report[i].text, says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", o->report[i].text, says);
        found++;
    }
    assert_true(found >= 1);
    free_outcome(o);
}

static void errors(void **state)
{
    static const char *const schemes[] = {"fp32"};
    struct cc_job job = make_job(schemes, 1, CC_SEQUENTIAL);
    assert_fails(run(2, LOCAL, "/nowhere/job.json"), "/nowhere/job.json");
    const char *bad = scratch_write(state, "bad.json", "{}", 2);
    assert_fails(run(1, LOCAL, bad), "\"schema\" must be");
    char stdin_job[300];
    (void)snprintf(stdin_job, sizeof stdin_job, "- <%s", bad);
    assert_fails(run(1, LOCAL, stdin_job), "the job on stdin: \"schema\" must be");
    job.workers = 3;
    assert_fails(run(2, LOCAL, write_job(state, &job)),
                 "2 ranks were started for 3 workers and 1 servers");
    job.workers = 2;
    job.device = copy("nosuch0");
    assert_fails(run_job(state, &job, LOCAL), "no interface nosuch0");
    free(job.device);
    job.device = NULL;
    job.trace = copy("/nowhere/trace");
    assert_fails(run_job(state, &job, LOCAL), "/nowhere/trace");
    cc_job_free(&job);
}

/* Captured gradients: of one worker, which both have then; names must be those of the job. */
static void traces(void **state)
{
    static const char *const schemes[] = {"fp32"};
    struct cc_job job = make_job(schemes, 1, CC_SEQUENTIAL);
    float values[3000 + 12 + 20000];
    char header[400];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        values[i] = (float)(i % 11) - 5;
    (void)snprintf(header, sizeof header,
                   "{\"t0\":{\"dtype\":\"F32\",\"shape\":[3000],\"data_offsets\":[0,12000]},"
                   "\"t1\":{\"dtype\":\"F32\",\"shape\":[12],\"data_offsets\":[12000,12048]},"
                   "\"t2\":{\"dtype\":\"F32\",\"shape\":[20000],\"data_offsets\":[12048,92048]}}");
    job.trace = copy(scratch_safetensors(state, "push-step000000-rank0.safetensors", header, values,
                                         sizeof values));
    struct outcome *o = run_job(state, &job, LOCAL);
    assert_int_equal(o->code, 0);
    assert_int_equal(o->report[o->reports - 2].kind, CC_REPORT_ROW);
    assert_true(o->report[o->reports - 2].result.push_bytes == sizeof values);
    free_outcome(o);
    job.tensor[1].name[0] = 'x';
    assert_fails(run_job(state, &job, LOCAL), "tensor 1 is 't1' of 12 values, and in the job 'x1'");
    cc_job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequential, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(overlap, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(pipe_steps, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(events, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(interface, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(pingpong, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(from_and_to_all, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(calls, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(errors, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(traces, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
