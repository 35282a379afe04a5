/* The comparison of an exchange's results with MPI_Allreduce: what is right passes over every
 * exchange, and what is broken on purpose is found. Run by tests/mpi.sh under mpirun with 2 to 5
 * ranks. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/rank/loop.h"
#include "netsim/rank/result_check.h"
#include "netsim/rank/sources.h"
#include "schemes/spec.h"
#include "tests/lib/jobs.h"

/* A fault that the check must find, or none: one value of a rank's gradient after its payload was
 * summed for the check; a value of the mean on all ranks; the last bit of a value on one rank. */
enum breakage { NOTHING, GRADIENT, MEAN, ONE_RANK };

struct trial {
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message;
    struct cc_source *source;
    struct cc_rank_loop loop;
    float *gradient; /* a copy, which can be changed */
};

static int failures, rank, ranks;

static void fail_on(int status, const struct cc_error *e)
{
    if (status == CC_OK)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, e->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_trial(struct trial *t, const char *exchange, const char *scheme)
{
    struct cc_error e = {""};
    struct cc_spec *spec;
    *t = (struct trial){.message = {0, 1}};
    fail_on(cc_spec_parse(scheme, &spec, &e), &e);
    jobs_add_flat(&t->job, 3001, false);
    jobs_add_flat(&t->job, 100, false);
    t->job.tensor[0].share = 1;
    t->job.exchange = (enum cc_exchange)cc_exchange_find(exchange);
    t->job.servers = cc_exchange_has(t->job.exchange, CC_X_SERVERS);
    t->job.workers = ranks - t->job.servers;
    t->job.seed = 5;
    t->job.zeros = 0.5;
    t->job.yield_when_idle = true;
    t->job.trace_steps = 1;
    t->row = (struct cc_job_row){.scheme = (char *)scheme,
                                 .reduction = cc_reduction(spec->scheme, spec->params),
                                 .period = 1,
                                 .steps = 1,
                                 .message = &t->message,
                                 .messages = 1};
    cc_spec_free(spec);
    fail_on(cc_source_open(&t->job, MPI_COMM_WORLD, &t->source, &e), &e);
    fail_on(
        cc_rank_loop_open(&t->loop, MPI_COMM_WORLD, &t->job, &t->row, NULL, NULL, t->source, &e),
        &e);
}

static void close_trial(struct trial *t)
{
    cc_rank_loop_close(&t->loop);
    cc_source_close(t->source);
    jobs_free(&t->job);
}

/* Runs the row's only step, then compares; the number of ranks that found something wrong. */
static int run(const char *exchange, const char *scheme, enum breakage how)
{
    struct cc_error e = {""};
    struct trial t;
    struct cc_result_check c;
    struct cc_source_progress done;
    int found, all = 0;
    open_trial(&t, exchange, scheme);
    struct cc_rank_loop *l = &t.loop;
    if (!cc_result_check_possible(&t.job, &t.row, l->spec)) {
        close_trial(&t);
        return -1;
    }
    if (!l->s.server) {
        fail_on(cc_source_compute(t.source, 0, CC_COMPUTE_STEP, NULL, &done, &e), &e);
        fail_on(cc_source_end_step(t.source, 0, &e), &e);
    }
    const struct cc_source_buffers b = cc_source_buffers(t.source, 0);
    fail_on(cc_result_check_open(&c, &l->s, b.gradient, &e), &e);
    fail_on(cc_source_begin_row(t.source, &t.row, &e), &e);
    if (how == GRADIENT && rank == (ranks - 1) / 2)
        ((float *)b.gradient)[7] += 1;
    fail_on(cc_rank_loop_run(l, &e), &e);
    if (how == MEAN && !l->s.server)
        b.result[3000] += 1e-3f;
    if (how == ONE_RANK && rank == 1 && !l->s.server)
        b.result[0] = b.result[0] == 0 ? -0.0f : b.result[0] * (1 + 0x1p-23f);
    fail_on(cc_result_check_sum(&c, b.result, &e), &e);
    fail_on(cc_result_check_equal(&c, b.result, &e), &e);
    found = c.wrong[0] != '\0';
    if (found && how == NOTHING)
        fprintf(stderr, "rank %d, %s over %s: %s\n", rank, scheme, exchange, c.wrong);
    MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    cc_result_check_close(&c);
    close_trial(&t);
    return all;
}

static void expect(const char *exchange, const char *scheme, enum breakage how, int want)
{
    const int got = run(exchange, scheme, how);
    if (got == want || (want > 0 && got > 0 && how == GRADIENT))
        return;
    if (rank == 0)
        fprintf(stderr, "FAILED: %s over %s, breakage %d: %d ranks of %d found something, not %d\n",
                scheme, exchange, how, got, ranks, want);
    failures++;
}

int main(int argc, char **argv)
{
    static const char *const exchanges[] = {"ps",           "ring",      "recdouble",
                                            "rabenseifner", "allgather", "mpi"};
    static const char *const schemes[] = {"fp32", "pairs", "topk", "qsgd", "randk"};
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t x = 0; x < sizeof exchanges / sizeof exchanges[0]; x++) {
        for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
            /* Hops encode again: sums can be compared if that loses nothing. */
            const bool gathers = x >= 4, sums = strcmp(schemes[i], "fp32") == 0 ||
                                                (x > 0 && strcmp(schemes[i], "randk") == 0);
            const bool lossless = sums || strcmp(schemes[i], "pairs") == 0;
            expect(exchanges[x], schemes[i], NOTHING, gathers || lossless ? 0 : -1);
        }
        const int workers = ranks - (x == 0);
        expect(exchanges[x], "fp32", GRADIENT, workers);
        expect(exchanges[x], "pairs", GRADIENT, workers);
        expect(exchanges[x], "pairs", MEAN, workers);
        expect(exchanges[x], "pairs", ONE_RANK, workers > 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("test_calls, %d ranks: %s\n", ranks, failures == 0 ? "passed" : "FAILED");
    MPI_Finalize();
    return failures != 0;
}
