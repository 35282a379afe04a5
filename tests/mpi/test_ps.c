/* Parameter servers over MPI against plain codec calls by one process: the model of every worker
 * after every step, the bytes that were encoded and those that were sent. Run by tests/mpi.sh under
 * mpirun: with n ranks, 1 to 4 of them serve and the others work.
 *
 * Several messages go at once, and step follows step without a barrier. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/exchange.h"
#include "netsim/transport/runtime.h"
#include "tests/lib/settings.h"
#include "tests/mpi/ps_expected.h"
#include "tests/mpi/ps_trial.h"
#include "tests/mpi/rest.h"

static struct cc_rank_state state_of(struct ps_trial *t, const float *gradient, float *model)
{
    t->mpi = cc_mpi_transport(t->comm);
    return (struct cc_rank_state){.transport = &t->mpi.end,
                                  .rank = t->rank,
                                  .server = t->rank >= t->job.workers,
                                  .job = &t->job,
                                  .row = &t->row,
                                  .spec = t->spec,
                                  .pull = t->spec,
                                  .raw = t->raw,
                                  .gradient = gradient,
                                  .model = model};
}

/* All messages of one step, tested in another order by each rank. */
static void run_step(const struct ps_trial *t, struct cc_rank_state *s, void *const *open)
{
    struct cc_error e = {""};
    bool done[MOST_MESSAGES] = {false};
    const size_t n = t->row.messages;
    for (size_t i = 0; i < n; i++)
        ps_fail_on(t, cc_exchange_start(open[i], &e), &e);
    size_t over = 0;
    while (over < n) {
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + (size_t)t->rank) % n;
            if (done[i])
                continue;
            ps_fail_on(t, cc_exchange_test(open[i], &done[i], &e), &e);
            over += done[i];
        }
        if (over < n)
            rest(s, (double)INFINITY);
    }
}

static void take_counts(struct ps_trial *t, size_t step, struct cc_counters *counters)
{
    struct ps_counts *c = &t->counts[step];
    *c = (struct ps_counts){.payload = counters->payload_bytes, .messages = counters->messages};
    memcpy(c->tensor, counters->tensor_bytes, t->job.tensors * sizeof *c->tensor);
    t->head[step] = counters->head_bytes;
    t->sent[step] = counters->sent_bytes;
    memset(counters->tensor_bytes, 0, t->job.tensors * sizeof *c->tensor);
    *counters = (struct cc_counters){.tensor_bytes = counters->tensor_bytes};
}

static void run(struct ps_trial *t)
{
    struct cc_error e = {""};
    void *open[MOST_MESSAGES];
    uint64_t tensor_bytes[MOST_TENSORS] = {0};
    float *gradient = ps_room(t, t->values * sizeof *gradient),
          *model = ps_room(t, t->values * sizeof *model);
    struct cc_rank_state s = state_of(t, gradient, model);
    s.counters.tensor_bytes = tensor_bytes;
    ps_model(t, model);
    for (size_t i = 0; i < t->row.messages; i++)
        ps_fail_on(t, cc_exchange_open(&s, &t->message[i], i, &open[i], &e), &e);
    for (size_t step = 0; step < STEPS; step++) {
        if (!s.server)
            ps_gradient(t, t->rank, step, gradient);
        s.step = step;
        run_step(t, &s, open);
        memcpy(t->after + step * t->values, model, t->values * sizeof *model);
        take_counts(t, step, &s.counters);
    }
    for (size_t i = 0; i < t->row.messages; i++)
        cc_exchange_close(open[i]);
    free(gradient);
    free(model);
}

static bool wrong(const struct ps_trial *t, size_t step, const char *what, double got, double want)
{
    fprintf(stderr,
            "FAILED: %s, %s, pulls %s, rank %d of %d workers and %d servers, step %zu: %s: %.9g "
            "instead of %.9g\n",
            t->setting, ps_layouts[t->layout], t->job.pulls == CC_PULL_READY ? "ready" : "forward",
            t->rank, t->job.workers, t->job.servers, step, what, got, want);
    return false;
}

static bool values_agree(const struct ps_trial *t, const struct ps_expected *x, size_t step)
{
    const float *got = t->after + step * t->values, *want = x->after + step * t->values;
    for (size_t i = 0; i < t->values; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0) {
            char what[40];
            (void)snprintf(what, sizeof what, "value %zu", i);
            return wrong(t, step, what, (double)got[i], (double)want[i]);
        }
    return true;
}

static bool counts_agree(const struct ps_trial *t, const struct ps_expected *x, size_t step)
{
    const struct ps_counts *got = &t->counts[step], *want = &x->counts[t->rank][step];
    const bool server = t->rank >= t->job.workers;
    const uint64_t copies = server ? (uint64_t)t->job.workers : 1;
    const uint64_t sent = copies * (want->payload + t->head[step]);
    if (got->payload != want->payload)
        return wrong(t, step, "payload", (double)got->payload, (double)want->payload);
    if (got->messages != want->messages)
        return wrong(t, step, "messages", (double)got->messages, (double)want->messages);
    if (t->sent[step] != sent)
        return wrong(t, step, "bytes sent", (double)t->sent[step], (double)sent);
    for (size_t i = 0; i < t->job.tensors; i++)
        if (got->tensor[i] != want->tensor[i])
            return wrong(t, step, t->job.tensor[i].name, (double)got->tensor[i],
                         (double)want->tensor[i]);
    return true;
}

/* The number of ranks that disagree with rank 0's expectation. */
static int judge(const struct ps_trial *t, struct ps_expected *x)
{
    int bad = 0;
    for (size_t step = 0; step < STEPS && bad == 0; step++)
        bad = !counts_agree(t, x, step) || (t->rank < t->job.workers && !values_agree(t, x, step));
    rest_sum(&bad, 1, MPI_INT, t->comm);
    return bad;
}

static int attempt(MPI_Comm comm, int servers, const char *setting, enum ps_layout layout,
                   enum cc_pulls pulls)
{
    int ranks;
    struct ps_trial t = {.comm = comm, .setting = setting, .layout = layout};
    MPI_Comm_rank(comm, &t.rank);
    MPI_Comm_size(comm, &ranks);
    t.job.servers = servers;
    t.job.workers = ranks - servers;
    t.job.pulls = pulls;
    ps_open(&t);
    struct ps_expected *x = ps_room(&t, sizeof *x);
    x->after = ps_room(&t, STEPS * t.values * sizeof *x->after);
    if (t.rank == 0)
        ps_expect(&t, x);
    rest_bcast(x->after, STEPS * t.values * sizeof *x->after, comm);
    rest_bcast(x->counts, sizeof x->counts, comm);
    run(&t);
    int bad = judge(&t, x);
    free(x->after);
    free(x);
    ps_close(&t);
    return bad;
}

/* --- the order of pulls --- */

/* A server that looks after the first message alone sends its pull as soon as it is ready, or, if
 * pulls go forward, not before the other messages are there. */
static bool early_pull(const struct ps_trial *t, struct cc_rank_state *s, void *first, bool *done)
{
    struct cc_error e = {""};
    const bool ready = t->job.pulls == CC_PULL_READY;
    const double until = cc_runtime_now() + (ready ? 30 : 0.2);
    ps_fail_on(t, cc_exchange_start(first, &e), &e);
    while (s->counters.messages == 0 && cc_runtime_now() < until) {
        ps_fail_on(t, cc_exchange_test(first, done, &e), &e);
        if (s->counters.messages == 0)
            rest(s, until);
    }
    return (s->counters.messages > 0) == ready ||
           wrong(t, 0, "pulls", (double)s->counters.messages, 0);
}

/* Tests them from the first to the last; pulls that go forward leave the other way round. */
static bool ordered_pulls(const struct ps_trial *t, struct cc_rank_state *s, void *const *open,
                          bool done)
{
    struct cc_error e = {""};
    bool each[MOST_MESSAGES] = {done}, good = true;
    const size_t n = t->row.messages;
    size_t next = n;
    for (size_t i = 1; i < n; i++)
        ps_fail_on(t, cc_exchange_start(open[i], &e), &e);
    size_t over = done;
    while (over < n) {
        for (size_t i = 0; i < n; i++) {
            const uint64_t sent = s->counters.messages;
            if (each[i])
                continue;
            ps_fail_on(t, cc_exchange_test(open[i], &each[i], &e), &e);
            over += each[i];
            if (s->counters.messages > sent && t->job.pulls == CC_PULL_FORWARD && i != --next)
                good = wrong(t, 0, "message pulled", (double)i, (double)next);
        }
        if (over < n)
            rest(s, (double)INFINITY);
    }
    return good && (t->job.pulls == CC_PULL_READY || next == 0);
}

static int order(MPI_Comm comm, enum cc_pulls pulls)
{
    struct ps_trial t = {.comm = comm, .setting = "fp32", .layout = SPLIT};
    struct cc_error e = {""};
    void *open[MOST_MESSAGES];
    int ranks, bad = 0;
    MPI_Comm_rank(comm, &t.rank);
    MPI_Comm_size(comm, &ranks);
    t.job.servers = 1;
    t.job.workers = ranks - 1;
    t.job.pulls = pulls;
    ps_open(&t);
    float *gradient = ps_room(&t, t.values * sizeof *gradient),
          *model = ps_room(&t, t.values * sizeof *model);
    struct cc_rank_state s = state_of(&t, gradient, model);
    for (size_t i = 0; i < t.row.messages; i++)
        ps_fail_on(&t, cc_exchange_open(&s, &t.message[i], i, &open[i], &e), &e);
    MPI_Barrier(comm);
    if (s.server) {
        bool done = false;
        bad = !early_pull(&t, &s, open[0], &done);
        bad |= !ordered_pulls(&t, &s, open, done);
    } else {
        run_step(&t, &s, open);
    }
    for (size_t i = 0; i < t.row.messages; i++)
        cc_exchange_close(open[i]);
    free(gradient);
    free(model);
    ps_close(&t);
    MPI_Bcast(&bad, 1, MPI_INT, ranks - 1, comm);
    return bad;
}

/* --- what goes wrong --- */

/* The last rank serves. Worker 0 sends bytes that are not a pack, or has a gradient that cannot be
 * encoded. In a communicator of its own: what the others have sent is never received. */
static int refusal(MPI_Comm world, bool garbage)
{
    struct ps_trial t = {.setting = "3lc", .layout = SPLIT};
    struct cc_error e = {""};
    const char *says = garbage ? "what rank 0 sent" : "is NaN";
    int ranks, bad = 0, concerned;
    void *open;
    bool done = false;
    MPI_Comm_dup(world, &t.comm);
    MPI_Comm_rank(t.comm, &t.rank);
    MPI_Comm_size(t.comm, &ranks);
    t.job.servers = 1;
    t.job.workers = ranks - 1;
    ps_open(&t);
    float *gradient = ps_room(&t, t.values * sizeof *gradient),
          *model = ps_room(&t, t.values * sizeof *model);
    gradient[t.values - 1] = garbage ? 1 : NAN;
    struct cc_rank_state s = state_of(&t, gradient, model);
    concerned = t.rank == (garbage ? ranks - 1 : 0);
    ps_fail_on(&t, cc_exchange_open(&s, &t.message[0], 0, &open, &e), &e);
    if (t.rank == 0 && garbage)
        MPI_Send("?", 1, MPI_BYTE, ranks - 1, 0, t.comm);
    if (concerned) {
        int status = cc_exchange_start(open, &e);
        while (status == CC_OK && !done) {
            status = cc_exchange_test(open, &done, &e);
            if (status == CC_OK && !done)
                rest(&s, (double)INFINITY);
        }
        bad = status == CC_OK || strstr(e.text, says) == NULL;
        if (bad)
            fprintf(stderr, "FAILED: \"%s\" does not say \"%s\"\n", e.text, says);
    }
    MPI_Bcast(&bad, 1, MPI_INT, garbage ? ranks - 1 : 0, t.comm);
    cc_exchange_close(open);
    free(gradient);
    free(model);
    ps_close(&t);
    MPI_Comm_free(&t.comm);
    return bad;
}

/* --- all --- */

int main(int argc, char **argv)
{
    int rank, ranks, failures = 0, cases = 0;
    const char *only = argc > 1 ? argv[1] : NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double since = MPI_Wtime();
    for (int servers = 1; servers <= 4 && servers < ranks; servers++) {
        if (ranks - servers > MOST_WORKERS)
            continue;
        for (int i = 0; settings[i] != NULL; i++, cases++) {
            const enum ps_layout layout = (enum ps_layout)((i + ranks) % LAYOUTS);
            const bool forward = (i + ranks + servers) % 2;
            if (only == NULL || strcmp(only, settings[i]) == 0)
                failures += attempt(MPI_COMM_WORLD, servers, settings[i], layout,
                                    forward ? CC_PULL_FORWARD : CC_PULL_READY);
        }
    }
    if (ranks <= 3) {
        failures += order(MPI_COMM_WORLD, CC_PULL_READY);
        failures += order(MPI_COMM_WORLD, CC_PULL_FORWARD);
        failures += refusal(MPI_COMM_WORLD, false);
        failures += refusal(MPI_COMM_WORLD, true);
        cases += 4;
    }
    if (rank == 0)
        printf("ps, %d ranks: %d cases, %d failures, %.1f s\n", ranks, cases, failures,
               MPI_Wtime() - since);
    MPI_Finalize();
    return failures > 0;
}
