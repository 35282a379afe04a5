/* Parameter servers whose workers need not be in the same step, over MPI. Run by tests/mpi.sh under
 * mpirun: with n ranks, 1 to 3 of them serve and the others work.
 *
 * The models tell what everybody has done: worker w's gradient is 0 but for values
 * w, w + P, ..., where it is P, so that each update adds 1 there, and every model counts the
 * updates of each worker. After a worker's pull it has all of its own, and under a bound enough of
 * all others'. At the end the last reader has all updates, which the servers have added up. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/pack/clocks.h"
#include "netsim/exchange/exchange.h"
#include "netsim/transport/runtime.h"
#include "tests/mpi/ps_trial.h"
#include "tests/mpi/rest.h"

enum { MANY = 40 };

struct stale_trial {
    struct ps_trial of;
    struct cc_mpi_transport mpi;
    struct cc_rank_state s;
    void *open[MOST_MESSAGES];
    float *gradient, *model;
    uint64_t age[CC_CLOCKS_AGES];
    double held[MOST_MESSAGES];
    uint64_t draws;
    int bad;
};

static bool expect(struct stale_trial *t, bool good, const char *what, double got, double want)
{
    if (!good) {
        fprintf(stderr, "FAILED: rank %d of %d workers, %d servers, %s, %s: %s: %g, not %g\n",
                t->of.rank, t->of.job.workers, t->of.job.servers, ps_layouts[t->of.layout],
                cc_consistency_names[t->of.job.consistency.how], what, got, want);
        t->bad = 1;
    }
    return good;
}

/* Marsaglia's xorshift. */
static double draw(struct stale_trial *t)
{
    t->draws ^= t->draws << 13;
    t->draws ^= t->draws >> 7;
    t->draws ^= t->draws << 17;
    return (double)(t->draws >> 11) * 0x1p-53;
}

static void open_trial(struct stale_trial *t)
{
    struct cc_error e = {""};
    ps_open(&t->of);
    t->of.row.steps = MANY;
    t->gradient = ps_room(&t->of, t->of.values * sizeof *t->gradient);
    t->model = ps_room(&t->of, t->of.values * sizeof *t->model);
    t->mpi = cc_mpi_transport(t->of.comm);
    t->s = (struct cc_rank_state){.transport = &t->mpi.end,
                                  .rank = t->of.rank,
                                  .server = t->of.rank >= t->of.job.workers,
                                  .job = &t->of.job,
                                  .row = &t->of.row,
                                  .spec = t->of.spec,
                                  .pull = t->of.spec,
                                  .raw = t->of.raw,
                                  .gradient = t->gradient,
                                  .model = t->model,
                                  .until = MANY,
                                  .staleness = {.age = t->age, .held_s = t->held}};
    t->draws = UINT64_C(88172645463325252) + (uint64_t)t->of.rank;
    for (size_t i = 0; i < t->of.row.messages; i++)
        ps_fail_on(&t->of, cc_exchange_open(&t->s, &t->of.message[i], i, &t->open[i], &e), &e);
}

static void close_trial(struct stale_trial *t)
{
    for (size_t i = 0; i < t->of.row.messages; i++)
        cc_exchange_close(t->open[i]);
    free(t->gradient);
    free(t->model);
    ps_close(&t->of);
}

static void exchange(struct stale_trial *t)
{
    struct cc_error e = {""};
    bool done[MOST_MESSAGES] = {false};
    const size_t n = t->of.row.messages;
    size_t over = 0;
    for (size_t i = 0; i < n; i++)
        ps_fail_on(&t->of, cc_exchange_start(t->open[i], &e), &e);
    while (over < n) {
        for (size_t i = 0; i < n; i++) {
            if (done[i])
                continue;
            ps_fail_on(&t->of, cc_exchange_test(t->open[i], &done[i], &e), &e);
            over += done[i];
        }
        if (over < n && !t->mpi.end.more)
            rest(&t->s, (double)INFINITY);
        t->mpi.end.more = false;
    }
}

/* The updates of each worker that a model has: of every worker at least `least`, of this one
 * `own`. */
static void check_model(struct stale_trial *t, size_t step)
{
    const struct cc_job_consistency *c = &t->of.job.consistency;
    const size_t workers = (size_t)t->of.job.workers, own = (size_t)t->of.rank;
    const double clock = (double)step + 1;
    const double least = c->how == CC_STALE ? fmax(0, clock - c->staleness) : 0;
    for (size_t i = 0; i < t->of.values; i++) {
        const double got = (double)t->model[i];
        const bool good = i % workers == own ? got == clock : got >= least && got <= MANY;
        if (!expect(t, good && got == floor(got), "updates in the model", got, clock))
            return;
    }
}

static void work(struct stale_trial *t)
{
    const size_t workers = (size_t)t->of.job.workers;
    for (size_t i = (size_t)t->of.rank; i < t->of.values; i += workers)
        t->gradient[i] = (float)workers;
    for (size_t step = 0; step < MANY && t->bad == 0; step++) {
        /* Some computing, of which every third worker has more. */
        cc_runtime_sleep(draw(t) * (t->of.rank % 3 == 0 ? 400e-6 : 200e-6));
        t->s.step = step;
        exchange(t);
        check_model(t, step);
    }
}

/* Every push of a message is counted at every server that has a part of it, with a staleness below
 * what the bound allows: other workers make at most 2 s + 1 steps between a worker's read and its
 * next push. */
static void check_ages(struct stale_trial *t)
{
    const struct cc_job_consistency *c = &t->of.job.consistency;
    const uint64_t pushes = (uint64_t)t->of.job.workers * MANY;
    uint64_t all = 0;
    size_t most = 0;
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++) {
        all += t->age[i];
        most = t->age[i] > 0 ? i : most;
    }
    expect(t, all % pushes == 0, "pushes", (double)all, (double)pushes);
    if (c->how == CC_STALE)
        expect(t, most <= (size_t)(t->of.job.workers - 1) * (2 * (size_t)c->staleness + 1),
               "staleness", (double)most, c->staleness);
    /* All workers together miss each update once for each other worker, or not at all if they read
     * it before their next push. */
    expect(t, cc_ages_mean(t->age) <= t->of.job.workers - 1, "mean", cc_ages_mean(t->age), 0);
}

/* All that was encoded was sent once, with a head of 8 bytes before a push, and of 16 before a
 * pull. */
static void check_bytes(struct stale_trial *t)
{
    const struct cc_counters *c = &t->s.counters;
    const uint64_t sent = c->payload_bytes + c->head_bytes;
    const uint64_t heads = c->messages * (t->s.server ? 16 + 1 : 8 + 1); /* of a pack: at least 1 */
    expect(t, c->sent_bytes == sent, "bytes sent", (double)c->sent_bytes, (double)sent);
    expect(t, c->head_bytes >= heads && c->head_bytes < heads + 16 * c->messages, "bytes of heads",
           (double)c->head_bytes, (double)heads);
}

static int attempt(MPI_Comm comm, int servers, enum ps_layout layout,
                   struct cc_job_consistency consistency)
{
    struct stale_trial t = {
        .of = {.comm = comm, .setting = "fp32", .layout = layout, .job = {.data = true}}};
    int ranks;
    MPI_Comm_rank(comm, &t.of.rank);
    MPI_Comm_size(comm, &ranks);
    t.of.job.servers = servers;
    t.of.job.workers = ranks - servers;
    t.of.job.consistency = consistency;
    open_trial(&t);
    MPI_Barrier(comm);
    if (t.s.server) {
        exchange(&t);
        check_ages(&t);
    } else {
        work(&t);
    }
    check_bytes(&t);
    float *most = ps_room(&t.of, t.of.values * sizeof *most);
    MPI_Reduce(t.model, most, (int)t.of.values, MPI_FLOAT, MPI_MAX, 0, comm);
    for (size_t i = 0; i < t.of.values && t.of.rank == 0; i++)
        if (!expect(&t, most[i] == (float)MANY, "updates of the last reader", (double)most[i],
                    MANY))
            break;
    free(most);
    close_trial(&t);
    MPI_Allreduce(MPI_IN_PLACE, &t.bad, 1, MPI_INT, MPI_MAX, comm);
    return t.bad;
}

/* A worker that sends another step than its next one is refused by name. */
static int refusal(MPI_Comm world)
{
    struct stale_trial t = {.of = {.setting = "fp32", .layout = SPLIT, .job = {.data = true}}};
    struct cc_error e = {""};
    int ranks;
    bool done = false;
    MPI_Comm_dup(world, &t.of.comm);
    MPI_Comm_rank(t.of.comm, &t.of.rank);
    MPI_Comm_size(t.of.comm, &ranks);
    t.of.job.servers = 1;
    t.of.job.workers = ranks - 1;
    t.of.job.consistency = (struct cc_job_consistency){.how = CC_ASYNC};
    open_trial(&t);
    if (t.of.rank == 0) {
        const unsigned char step[8] = {3};
        MPI_Send(step, 8, MPI_BYTE, ranks - 1, 0, t.of.comm);
    }
    if (t.s.server) {
        int status = cc_exchange_start(t.open[0], &e);
        while (status == CC_OK) {
            status = cc_exchange_test(t.open[0], &done, &e);
            if (status == CC_OK)
                rest(&t.s, (double)INFINITY);
        }
        expect(&t, strstr(e.text, "rank 0 has sent step 3, and its next one is 0") != NULL, e.text,
               0, 0);
    }
    close_trial(&t);
    MPI_Bcast(&t.bad, 1, MPI_INT, ranks - 1, t.of.comm);
    MPI_Comm_free(&t.of.comm);
    return t.bad;
}

int main(int argc, char **argv)
{
    const struct cc_job_consistency list[] = {{.how = CC_STALE, .staleness = 0},
                                              {.how = CC_STALE, .staleness = 2},
                                              {.how = CC_STALE, .staleness = 5},
                                              {.how = CC_ASYNC}};
    int ranks, rank, bad = 0, cases = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int servers = 1; servers <= 3 && servers < ranks; servers += 2)
        for (size_t i = 0; i < sizeof list / sizeof list[0]; i++, cases++)
            bad += attempt(MPI_COMM_WORLD, servers, (enum ps_layout)(i % LAYOUTS), list[i]);
    bad += refusal(MPI_COMM_WORLD);
    if (rank == 0)
        printf("ps, stale: %d ranks, %d cases, %d failed\n", ranks, cases + 1, bad);
    MPI_Finalize();
    return bad > 0;
}
