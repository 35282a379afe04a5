/* Exchanges over MPI against the serial reference: the model of every rank after every step, the
 * bytes that were encoded, and those that were sent. Run by tests/mpi.sh under mpirun, and in a
 * simulation by tests/sim_ranks.sh.
 *
 * Several messages go at once, and step follows step without a barrier. Sums are equal to the last
 * bit, but for those of the MPI library, whose order of additions is its own.
 *
 * Usage: test_exchange [SCHEME [EXCHANGE]]: only that; or test_exchange disagree.
 * COMMCOMP_TEST_EVERY=1: with any number of ranks, every setting over each exchange.
 * COMMCOMP_TEST_ALL=1: that, and a million values for every scheme. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/settings.h"
#include "tests/mpi/rest.h"
#include "tests/mpi/trial.h"

static const struct way ways[] = {
    {.exchange = "ring"},
    {.exchange = "recdouble"},
    {.exchange = "rabenseifner"},
    {.exchange = "twoshot"},
    {.exchange = "twoshot", .gather = "fp8"},
    {.exchange = "hierarchical", .per_host = 2},
    {.exchange = "hierarchical", .per_host = 3, .gather = "int8"},
    {.exchange = "hierarchical", .per_host = 2, .gather = "fp8", .inner = "int8"},
    {.exchange = "twoshot", .gather = "3lc:s=1.5"},
    {.exchange = "tree"},
    {.exchange = "tree", .per_host = 2},
    {.exchange = "allgather"},
    {.exchange = "mpi"},
    {.exchange = "ssar-recdouble"},
    {.exchange = "ssar-split"},
    {.exchange = "ssar-rabenseifner"},
    {.exchange = "dsar-split", .dense_bits = 32},
    {.exchange = "dsar-split", .dense_bits = 8},
    {.exchange = "dsar-split", .dense_bits = 4},
    {.exchange = "dsar-split", .dense_bits = 2},
    {.exchange = "ssar-auto", .dense_bits = 32},
    {.exchange = "ssar-auto", .dense_bits = 4},
    {.exchange = "ssar-recdouble", .wire = CC_WIRE_PAIRS},
    {.exchange = "ssar-split", .wire = CC_WIRE_PAIRS},
};

enum { WAYS = sizeof ways / sizeof ways[0], DENSE_WAYS = 13 };

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, "1") == 0;
}

static void small_ones(struct ranks_here *w)
{
    /* With two and three ranks all; with others every ninth setting over each exchange, another
     * ninth with another number of ranks. */
    const bool every = w->ranks == 2 || w->ranks == 3 || w->all || is_set("COMMCOMP_TEST_EVERY");
    for (size_t i = 0; settings[i] != NULL; i++)
        for (size_t k = 0; k < WAYS; k++)
            if (every || (i + k + (size_t)w->ranks) % 9 == 0)
                trial_attempt(w, settings[i], &ways[k], TRIAL_SMALL);
    for (size_t k = 0; k < DENSE_WAYS; k++) {
        struct way way = ways[k];
        way.via = CC_VIA_ALLGATHER;
        trial_attempt(w, "3lc", &way, TRIAL_SMALL);
        trial_attempt(w, "fp32", &way, TRIAL_SMALL);
    }
}

static void large_ones(struct ranks_here *w)
{
    static const char *const few[] = {"fp32", "qsgd", "3lc",
                                      "local:every=2,inner=(sparse:density=0.1)"};
    /* Every form of streams: from 0.001 of the values to all. */
    static const char *const pairs[] = {"sparse:density=0.001,index=u32", "topk:k=5,bucket=64,ef=0",
                                        "threshold:tau=0.5", "sparse:density=1,select=exact,ef=0"};
    /* All of them between two ranks on a machine; a sample where it takes longer. */
    const bool every = w->ranks == 2 && !cc_runtime_simulates();
    for (size_t i = 0; i < sizeof few / sizeof few[0] && !w->all; i++)
        for (size_t k = 0; k < WAYS; k++)
            if (every || (i + k + (size_t)w->ranks) % 7 == 0)
                trial_attempt(w, few[i], &ways[k], TRIAL_LARGE);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && !w->all; i++)
        for (size_t k = DENSE_WAYS; k < WAYS; k++)
            if (every || (i + k + (size_t)w->ranks) % 9 == 0)
                trial_attempt(w, pairs[i], &ways[k], TRIAL_LARGE);
    for (size_t i = 0; settings[i] != NULL && w->all; i++)
        for (size_t k = 0; k < WAYS; k++)
            trial_attempt(w, settings[i], &ways[k], TRIAL_LARGE);
}

/* Runs a message until it is done or fails. */
static int run_message(struct trial *t, void *open, struct cc_error *e)
{
    bool done = false;
    CC_TRY(cc_exchange_start(open, e));
    for (;;) {
        CC_TRY(cc_exchange_test(open, &done, e));
        if (done)
            return CC_OK;
        rest(&t->rank_state, (double)INFINITY);
    }
}

/* Values that are not finite are an error: on every rank that encodes first; of floats that are
 * summed without encoding on all ranks, for one rank's value. */
static void refusals(struct ranks_here *w)
{
    for (size_t k = 0; k < 2 * WAYS; k++) {
        const char *name = ways[k % WAYS].exchange;
        const enum cc_exchange exchange = (enum cc_exchange)cc_exchange_find(name);
        const bool merges = cc_exchange_has(exchange, CC_X_MERGES);
        struct cc_error e = {""};
        struct trial t = {.here = w,
                          .setting = k >= WAYS ? "fp32"
                                     : merges  ? "dgc"
                                               : "3lc",
                          .steps = 1};
        const bool sums = k >= WAYS && cc_exchange_has(exchange, CC_X_SUMS);
        void *open;
        t.job.exchange = exchange;
        t.job.dense_bits = ways[k % WAYS].dense_bits;
        t.job.gather = (char *)(uintptr_t)ways[k % WAYS].gather;
        t.job.intra_scheme = (char *)(uintptr_t)ways[k % WAYS].inner;
        trial_open(&t);
        t.job.mode = CC_SEQUENTIAL; /* one message alone */
        trial_fail_on(&t, cc_exchange_open(&t.rank_state, &t.message[1], 0, &open, &e), &e);
        for (size_t i = 0; i < t.values; i++)
            t.gradient[i] = sums && (w->rank > 0 || i != t.job.offset[t.message[1].last]) ? 1 : NAN;
        const int status = sums ? run_message(&t, open, &e) : cc_exchange_start(open, &e);
        if (status == CC_OK || strstr(e.text, "is NaN") == NULL ||
            (sums && strstr(e.text, "index 0 ") == NULL)) {
            fprintf(stderr, "FAILED: %s with NaN over %s: '%s'\n", t.setting, name, e.text);
            w->failures++;
        }
        cc_exchange_close(open);
        trial_close(&t);
    }
}

/* Two ranks that do not have the same job find out in the first step. */
static void disagree(struct ranks_here *w, const char *const scheme[2],
                     const enum cc_exchange exchange[2], size_t more, const char *const want[2])
{
    struct cc_error e = {""};
    struct trial t = {.here = w, .setting = scheme[w->rank], .steps = 1};
    void *open;
    t.job.exchange = exchange[w->rank];
    trial_open(&t);
    t.job.mode = CC_SEQUENTIAL;
    MPI_Comm_dup(MPI_COMM_WORLD, &t.mpi.comm);
    MPI_Comm_set_errhandler(t.mpi.comm, MPI_ERRORS_RETURN);
    t.message[0].first -= w->rank == 1 ? more : 0;
    trial_fail_on(&t, cc_exchange_open(&t.rank_state, &t.message[0], 0, &open, &e), &e);
    trial_fill(&t, w->rank, 0, t.gradient);
    /* A rank that finds out stops, also sending: the other may wait in vain. */
    const double since = MPI_Wtime();
    bool done = false;
    int status = cc_exchange_start(open, &e), found = 0;
    while (status == CC_OK && !done && MPI_Wtime() < since + 0.5)
        status = cc_exchange_test(open, &done, &e);
    const int finds = status != CC_OK;
    MPI_Allreduce(&finds, &found, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (found == 0 || (finds && strstr(e.text, want[w->rank]) == NULL)) {
        fprintf(stderr, "FAILED: rank %d says '%s', not '%s'\n", w->rank, e.text, want[w->rank]);
        w->failures++;
    }
    cc_exchange_close(open);
    trial_close(&t);
}

static void disagreements(struct ranks_here *w)
{
    static const char *const same[2] = {"topk", "topk"}, *const schemes[2] = {"topk", "dgc"};
    static const enum cc_exchange split[2] = {CC_SSAR_SPLIT, CC_SSAR_SPLIT};
    static const enum cc_exchange two[2] = {CC_SSAR_SPLIT, CC_SSAR_RECDOUBLE};
    static const char *const other[2] = {"rank 1 sends another scheme than this rank's, topk",
                                         "rank 0 sends another scheme than this rank's, dgc"};
    static const char *const ways_differ[2] = {
        "rank 1 exchanges by ssar-recdouble, this rank by ssar-split",
        "rank 0 exchanges by ssar-split, this rank by ssar-recdouble"};
    static const char *const values[2] = {"from rank 1: a stream of ", "from rank 0: a stream of "};
    disagree(w, schemes, split, 0, other);
    disagree(w, same, two, 0, ways_differ);
    disagree(w, same, split, 1, values);
}

int main(int argc, char **argv)
{
    struct ranks_here w = {.scheme = argc > 1 ? argv[1] : NULL,
                           .exchange = argc > 2 ? argv[2] : NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    w.all = is_set("COMMCOMP_TEST_ALL");
    const double since = MPI_Wtime();
    small_ones(&w);
    large_ones(&w);
    if (w.scheme == NULL && (w.ranks & (w.ranks - 1)) == 0)
        refusals(&w);
    if ((w.scheme == NULL || strcmp(w.scheme, "disagree") == 0) && w.ranks == 2 &&
        !cc_runtime_simulates()) /* on a machine: a simulated clock would not go on */
        disagreements(&w);
    if (w.rank == 0)
        printf("%d ranks: %ld cases, %ld failed, %.1f s\n", w.ranks, w.cases, w.failures,
               MPI_Wtime() - since);
    MPI_Finalize();
    return w.failures > 0;
}
