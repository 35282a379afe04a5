/* powersgd over every exchange that sums, against the paper's algorithm in doubles (tests/lib): the
 * mean that each rank adds to its model after each step, which must also be the same to the last
 * bit on all ranks. Matrices, a vector, raw tensors and nothing at all, in several messages at
 * once. Run by tests/mpi.sh under mpirun. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/exchange.h"
#include "netsim/rank/loop.h"
#include "netsim/transport/runtime.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/paper_powersgd.h"
#include "tests/lib/settings.h"
#include "tests/mpi/rest.h"

enum { MOST_RANKS = 32, MOST_TENSORS = 8, MESSAGES = 4 };

struct trial {
    const char *setting;
    size_t rank, every; /* powersgd's rank; local's period */
    bool feedback, large;
    int me, ranks;
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message[MESSAGES];
    struct cc_mpi_transport mpi;
    struct cc_rank_state rank_state;
    struct paper paper[MOST_TENSORS]; /* rows 0: not a matrix for powersgd */
    float *gradient[MOST_RANKS];      /* the last step's */
    float *sum[MOST_RANKS];           /* since something was sent */
    float *model;
    double *want;
    uint64_t bytes[MOST_TENSORS]; /* each tensor's payload */
};

static void die(const struct trial *t, const char *what)
{
    fprintf(stderr, "rank %d of %d, %s over %s: %s\n", t->me, t->ranks, t->setting,
            cc_exchange_names[t->job.exchange], what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *room(const struct trial *t, size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (p == NULL)
        die(t, "no memory");
    return p;
}

/* Where the factors are not smaller, powersgd sends a matrix as it is. */
static void add_matrix(struct trial *t, size_t rows, size_t cols, bool raw)
{
    const struct cc_shape shape = {.n = rows * cols, .dim = {rows, cols}, .ndim = 2};
    if (!raw && t->rank * (rows + cols) < shape.n)
        t->paper[t->job.tensors] = paper_open((size_t)t->ranks, rows, cols, t->rank, t->feedback);
    jobs_add(&t->job, &shape, raw);
}

/* The last message has no second round, and the one before it nothing in either. */
static void lay_out(struct trial *t)
{
    add_matrix(t, 40, 30, false);
    jobs_add_flat(&t->job, 101, false);
    add_matrix(t, 12, 15, true);
    add_matrix(t, 9, 70, false);
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 333, false);
    if (t->large)
        add_matrix(t, 1500, 200, false);
    else
        add_matrix(t, 8, 11, false);
    t->message[0] = (struct cc_message){6, 6};
    t->message[1] = (struct cc_message){0, 3};
    t->message[2] = (struct cc_message){4, 4};
    t->message[3] = (struct cc_message){5, 5};
    t->row.message = t->message;
    t->row.messages = MESSAGES;
}

static void open_trial(struct trial *t, const char *exchange, const struct cc_spec *spec,
                       const struct cc_spec *raw)
{
    t->job.exchange = (enum cc_exchange)cc_exchange_find(exchange);
    t->job.workers = t->ranks;
    t->job.mode = CC_OVERLAP;
    t->row.reduction = cc_reduction(spec->scheme, spec->params);
    t->row.period = cc_period(spec->scheme, spec->params);
    lay_out(t);
    const size_t n = cc_job_values(&t->job);
    for (int r = 0; r < t->ranks; r++) {
        t->gradient[r] = room(t, n, sizeof(float));
        t->sum[r] = room(t, n, sizeof(float));
    }
    t->model = room(t, n, sizeof(float));
    t->want = room(t, n, sizeof(double));
    t->mpi = cc_mpi_transport(MPI_COMM_WORLD);
    t->rank_state = (struct cc_rank_state){.transport = &t->mpi.end,
                                           .library = &cc_exchange_mpi,
                                           .rank = t->me,
                                           .job = &t->job,
                                           .row = &t->row,
                                           .spec = spec,
                                           .pull = spec,
                                           .raw = raw,
                                           .gradient = t->gradient[t->me],
                                           .model = t->model};
    t->rank_state.counters.tensor_bytes = t->bytes;
}

static void close_trial(struct trial *t)
{
    for (size_t i = 0; i < t->job.tensors; i++)
        if (t->paper[i].rows > 0)
            paper_close(&t->paper[i]);
    for (int r = 0; r < t->ranks; r++) {
        free(t->gradient[r]);
        free(t->sum[r]);
    }
    free(t->model);
    free(t->want);
    jobs_free(&t->job);
}

/* Gradients that have much in common, as those of workers do: this rank's, and on rank 0, which
 * works out what is expected, those of all. */
static void fill(struct trial *t, size_t step)
{
    const size_t n = cc_job_values(&t->job);
    float *common = room(t, n, sizeof *common);
    data_fill(DATA_GAUSSIAN, 77 + step / 3, common, n);
    for (int r = t->me; r < (t->me == 0 ? t->ranks : t->me + 1); r++) {
        data_fill(DATA_LAPLACE, 1000 * step + (size_t)r, t->gradient[r], n);
        for (size_t i = 0; i < n; i++) {
            t->gradient[r][i] += common[i];
            t->sum[r][i] += t->gradient[r][i];
        }
    }
    free(common);
}

static void expect_tensor(struct trial *t, size_t i, bool sends)
{
    const size_t at = t->job.offset[i], n = t->job.tensor[i].shape.n;
    float *const *from = t->job.tensor[i].raw ? t->gradient : t->sum;
    double *want = t->want + at;
    const float *each[MOST_RANKS];
    memset(want, 0, n * sizeof *want);
    if (!sends && !t->job.tensor[i].raw)
        return;
    for (int r = 0; r < t->ranks; r++)
        each[r] = from[r] + at;
    if (t->paper[i].rows > 0)
        paper_step(&t->paper[i], each, want);
    for (int r = 0; r < t->ranks && t->paper[i].rows == 0; r++)
        for (size_t j = 0; j < n; j++)
            want[j] += (double)each[r][j] / t->ranks;
}

static void expect(struct trial *t, size_t step)
{
    const bool sends = (step + 1) % t->every == 0;
    const size_t n = cc_job_values(&t->job);
    for (size_t i = 0; i < t->job.tensors; i++)
        expect_tensor(t, i, sends);
    for (int r = 0; r < t->ranks && sends; r++)
        memset(t->sum[r], 0, n * sizeof(float));
}

static void run_step(struct trial *t, void *const *open)
{
    struct cc_error e = {""};
    bool done[MESSAGES] = {false};
    for (size_t i = 0; i < MESSAGES; i++)
        if (cc_exchange_start(open[i], &e) != CC_OK)
            die(t, e.text);
    size_t over = 0;
    while (over < MESSAGES) {
        for (size_t k = 0; k < MESSAGES; k++) {
            const size_t i = (k + (size_t)t->me) % MESSAGES;
            if (done[i])
                continue;
            if (cc_exchange_test(open[i], &done[i], &e) != CC_OK)
                die(t, e.text);
            over += done[i];
        }
        if (over < MESSAGES)
            rest(&t->rank_state, (double)INFINITY);
    }
}

/* --- judging --- */

static bool wrong(const struct trial *t, size_t step, const char *what, size_t at, double by)
{
    fprintf(stderr, "FAILED: %s over %s, rank %d of %d, step %zu: %s %zu: %g\n", t->setting,
            cc_exchange_names[t->job.exchange], t->me, t->ranks, step, what, at, by);
    return false;
}

/* Each tensor's mean, as a vector, is where the paper has it: on rank 0, and the others have the
 * same bits. */
static bool near_the_paper(const struct trial *t, size_t step)
{
    for (size_t i = 0; i < t->job.tensors; i++) {
        double off = 0, all = 0;
        for (size_t j = t->job.offset[i]; j < t->job.offset[i + 1]; j++) {
            off += pow((double)t->model[j] - t->want[j], 2);
            all += pow(t->want[j], 2);
        }
        if (!(sqrt(off) <= 3e-5 * sqrt(all)))
            return wrong(t, step, "away from the paper in tensor", i, sqrt(off / all));
    }
    return true;
}

static bool same_everywhere(const struct trial *t, size_t step)
{
    const size_t n = cc_job_values(&t->job);
    float *first = room(t, n, sizeof *first);
    memcpy(first, t->model, n * sizeof *first);
    rest_bcast(first, n * sizeof *first, MPI_COMM_WORLD);
    size_t i = 0;
    while (i < n && memcmp(&first[i], &t->model[i], sizeof *first) == 0)
        i++;
    const double by = i < n ? (double)t->model[i] - (double)first[i] : 0;
    free(first);
    return i == n ? true : wrong(t, step, "not as on rank 0, value", i, by);
}

/* P, then Q, of each matrix; all else as floats: the whole, and by tensor. */
static bool bytes_agree(struct trial *t, size_t step, uint64_t before)
{
    uint64_t want = 0;
    for (size_t i = 0; i < t->job.tensors; i++) {
        const struct paper *p = &t->paper[i];
        const bool sent = (step + 1) % t->every == 0 || t->job.tensor[i].raw;
        const size_t n = p->rows > 0 ? t->rank * (p->rows + p->cols) : t->job.tensor[i].shape.n;
        t->bytes[i] -= sent ? 4 * n : 0;
        if (t->bytes[i] != 0)
            return wrong(t, step, "bytes of payload too many for tensor", i, (double)t->bytes[i]);
        want += sent ? 4 * n : 0;
    }
    const uint64_t got = t->rank_state.counters.payload_bytes - before;
    return got == want ? true : wrong(t, step, "instead of bytes", want, (double)got);
}

static bool run(struct trial *t)
{
    struct cc_error e = {""};
    void *open[MESSAGES];
    bool good = true;
    for (size_t i = 0; i < MESSAGES; i++)
        if (cc_exchange_open(&t->rank_state, &t->message[i], i, &open[i], &e) != CC_OK)
            die(t, e.text);
    for (size_t step = 0; step < (t->large ? 2 : 6); step++) {
        const uint64_t before = t->rank_state.counters.payload_bytes;
        memset(t->model, 0, cc_job_values(&t->job) * sizeof *t->model);
        t->rank_state.step = step;
        fill(t, step);
        run_step(t, open);
        if (t->me == 0) {
            expect(t, step);
            good = good && near_the_paper(t, step);
        }
        good = same_everywhere(t, step) && good;
        good = good && bytes_agree(t, step, before);
    }
    for (size_t i = 0; i < MESSAGES; i++)
        cc_exchange_close(open[i]);
    return good;
}

static long attempt(struct trial t, const char *exchange)
{
    struct cc_spec *spec = setting_open(t.setting), *raw = setting_open("fp32");
    MPI_Comm_rank(MPI_COMM_WORLD, &t.me);
    MPI_Comm_size(MPI_COMM_WORLD, &t.ranks);
    open_trial(&t, exchange, spec, raw);
    int bad = !run(&t);
    rest_sum(&bad, 1, MPI_INT, MPI_COMM_WORLD);
    close_trial(&t);
    cc_spec_free(spec);
    cc_spec_free(raw);
    return bad > 0;
}

int main(int argc, char **argv)
{
    static const char *const exchanges[] = {"ring", "recdouble", "rabenseifner", "mpi"};
    const struct trial trials[] = {
        {.setting = "powersgd:rank=2", .rank = 2, .every = 1, .feedback = true},
        {.setting = "powersgd:rank=3,ef=0", .rank = 3, .every = 1},
        {.setting = "local:every=2,inner=(powersgd:rank=2)",
         .rank = 2,
         .every = 2,
         .feedback = true},
        {.setting = "powersgd:rank=16", .rank = 16, .every = 1, .feedback = true, .large = true},
    };
    long cases = 0, failures = 0;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double since = MPI_Wtime();
    /* With several messages at once, the MPI library's nonblocking collectives are used. */
    const size_t count = sizeof exchanges / sizeof exchanges[0] - cc_runtime_simulates();
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        for (size_t k = 0; k < count; k++, cases++)
            failures += attempt(trials[i], exchanges[k]);
    if (rank == 0)
        printf("%d ranks: %ld cases, %ld failed, %.1f s\n", ranks, cases, failures,
               MPI_Wtime() - since);
    MPI_Finalize();
    return failures > 0;
}
