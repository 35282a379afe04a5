/* Exchanges over MPI against the serial reference: the model of every rank after every step, the
 * bytes that were encoded, and those that were sent. Run by tests/mpi.sh under mpirun, and in a
 * simulation by tests/sim_ranks.sh.
 *
 * Several messages go at once, and step follows step without a barrier. Sums are equal to the last
 * bit, but for those of the MPI library, whose order of additions is its own.
 *
 * Usage: test_exchange [SCHEME [EXCHANGE]]: only that; or test_exchange disagree.
 * COMMCOMP_TEST_ALL=1: a million values for every scheme. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/mpi/exchange/exchange.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/settings.h"
#include "tests/mpi/rest.h"
#include "tests/mpi/serial.h"

enum { MOST_MESSAGES = 8, MOST_STEPS = 6, LARGE = 1000003 };

struct ranks_here {
    int rank, ranks;
    long cases, failures;
    bool all;
    const char *scheme, *exchange; /* only these; NULL: all */
};

/* One scheme with one exchange. */
struct trial {
    struct ranks_here *here;
    const char *setting;
    struct cc_job job;
    struct cc_job_row row;
    struct cc_job_message message[MOST_MESSAGES];
    struct cc_spec *spec, *raw, *dense;
    struct cc_rank_state rank_state;
    size_t values, steps;
    float *gradient, *model;                 /* this rank's */
    float *after;                            /* its model after each step */
    struct cc_counters counters[MOST_STEPS]; /* what it had counted by then */
    double slack;                            /* expected */
};

static void die(const struct trial *t, const char *what)
{
    fprintf(stderr, "rank %d of %d, %s over %s: %s\n", t->here->rank, t->here->ranks, t->setting,
            cc_exchange_names[t->job.exchange], what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static float *floats(const struct trial *t, size_t n)
{
    float *p = malloc((n + 1) * sizeof *p);
    if (p == NULL)
        die(t, "no memory");
    return p;
}

/* fp32, randk, and local of these. */
static bool summable(const struct cc_spec *s)
{
    if (strcmp(s->scheme->id, "local") == 0)
        return summable(setting_nested(s, "inner"));
    return strcmp(s->scheme->id, "fp32") == 0 || strcmp(s->scheme->id, "randk") == 0;
}

/* A scheme that lists the values it sends is merged. */
static enum cc_reduction reduction(const struct cc_spec *s)
{
    static const char *const pairs[] = {"topk", "sparse", "dgc", "threshold", "pairs"};
    if (summable(s))
        return CC_REDUCE_SUM;
    if (strcmp(s->scheme->id, "local") == 0)
        return reduction(setting_nested(s, "inner"));
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(s->scheme->id, pairs[i]) == 0)
            return CC_REDUCE_PAIRS;
    return CC_REDUCE_DECODED;
}

/* --- the jobs --- */

static void add_message(struct trial *t, size_t first, size_t last)
{
    t->message[t->row.messages++] = (struct cc_job_message){first, last};
}

/* All small sizes at once: each a message of its own, and one of several tensors. */
static void lay_out_small(struct trial *t)
{
    const struct cc_shape matrix = {.n = 12 * 15, .dim = {12, 15}, .ndim = 2};
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 1, false);
    jobs_add_flat(&t->job, (size_t)t->here->ranks - 1, false);
    jobs_add_flat(&t->job, 30, true);
    jobs_add_flat(&t->job, 513, false);
    jobs_add(&t->job, &matrix, false);
    jobs_add_flat(&t->job, 9, true);
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 5777, false);
    jobs_add_flat(&t->job, 777, false);
    add_message(t, 9, 9);
    add_message(t, 4, 8);
    add_message(t, 3, 3);
    add_message(t, 2, 2);
    add_message(t, 1, 1);
    add_message(t, 0, 0);
}

static void lay_out_large(struct trial *t)
{
    jobs_add_flat(&t->job, LARGE, false);
    jobs_add_flat(&t->job, 7, false);
    add_message(t, 0, 1);
}

/* The gradient of a rank in a step. Each rank has all zeros in one of them, and all have in step 2,
 * where schemes without residuals send nothing. */
static void fill(const struct trial *t, int rank, size_t step, float *x)
{
    const enum data_kind kinds[] = {DATA_LAPLACE, DATA_MODERATE, DATA_GAUSSIAN, DATA_TIES,
                                    DATA_ZEROS};
    const enum data_kind kind = step == 0   ? DATA_LAPLACE
                                : step == 2 ? DATA_ZEROS
                                            : kinds[(step + (size_t)rank) % 5];
    data_fill(kind, 1000 * step + (uint64_t)rank, x, t->values);
}

/* --- for real --- */

static void fail_on(const struct trial *t, int status, const struct cc_error *e)
{
    if (status != CC_OK)
        die(t, e->text);
}

/* All messages of one step, tested in another order by each rank. */
static void run_step(struct trial *t, const struct cc_exchange_ops *x, void *const *open)
{
    struct cc_error e = {""};
    bool done[MOST_MESSAGES] = {false};
    const size_t n = t->row.messages;
    for (size_t i = 0; i < n; i++)
        fail_on(t, x->start(open[i], &e), &e);
    size_t over = 0;
    while (over < n) {
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + (size_t)t->here->rank) % n;
            if (done[i])
                continue;
            fail_on(t, x->test(open[i], &done[i], &e), &e);
            over += done[i];
        }
        if (over < n)
            rest(&t->rank_state, (double)INFINITY);
    }
}

static void run(struct trial *t)
{
    struct cc_error e = {""};
    void *open[MOST_MESSAGES];
    const struct cc_exchange_ops *x = cc_exchange_ops(t->job.exchange);
    if (x == NULL)
        die(t, "no such exchange");
    for (size_t i = 0; i < t->row.messages; i++)
        fail_on(t, x->open(&t->rank_state, &t->row.message[i], i, &open[i], &e), &e);
    for (size_t step = 0; step < t->steps; step++) {
        fill(t, t->here->rank, step, t->gradient);
        t->rank_state.step = step;
        run_step(t, x, open);
        memcpy(t->after + step * t->values, t->model, t->values * sizeof *t->model);
        t->counters[step] = t->rank_state.counters;
    }
    for (size_t i = 0; i < t->row.messages; i++)
        x->close(open[i]);
}

/* --- what it should have been --- */

struct expected {
    float *after; /* as in a trial */
    uint64_t payload[MOST_STEPS][32], moved[MOST_STEPS], most_extra[MOST_STEPS];
    uint64_t chosen[MOST_STEPS][CC_EXCHANGE_COUNT]; /* up to each step */
    double slack;
};

static void count(struct expected *x, size_t step, const struct serial_counts *c, int ranks)
{
    /* Sizes before payloads, and the heads of packs. */
    enum { SIZES = 16, HEAD = 1 + 3 * 8 };
    for (int r = 0; r < ranks; r++)
        x->payload[step][r] += c->payload[r];
    x->moved[step] += c->moved;
    x->chosen[step][c->chosen] += c->chose;
    x->most_extra[step] += c->heads;
    if (c->most_payloads > 0)
        x->most_extra[step] += c->transfers * (8 + c->most_payloads * (SIZES + HEAD));
}

/* The whole, on rank 0. */
static void expect(const struct trial *t, struct expected *out)
{
    const int ranks = t->here->ranks;
    struct serial *s[MOST_MESSAGES];
    float *model = floats(t, t->values), *all = floats(t, t->values * (size_t)ranks);
    const float *gradient[32];
    for (size_t i = 0; i < t->values; i++)
        model[i] = (float)(i % 7);
    for (size_t i = 0; i < t->row.messages; i++)
        s[i] = serial_open(&t->job, &t->row, &t->row.message[i], t->spec, t->raw);
    for (size_t step = 0; step < t->steps; step++) {
        for (int r = 0; r < ranks; r++) {
            gradient[r] = all + (size_t)r * t->values;
            fill(t, r, step, all + (size_t)r * t->values);
        }
        for (int i = 0; i < CC_EXCHANGE_COUNT && step > 0; i++)
            out->chosen[step][i] = out->chosen[step - 1][i];
        for (size_t i = 0; i < t->row.messages; i++) {
            struct serial_counts counts;
            double slack;
            serial_step(s[i], step, gradient, model, &counts, &slack);
            count(out, step, &counts, ranks);
            out->slack += slack;
        }
        memcpy(out->after + step * t->values, model, t->values * sizeof *model);
    }
    for (size_t i = 0; i < t->row.messages; i++)
        serial_close(s[i]);
    free(model);
    free(all);
}

static bool wrong(const struct trial *t, const char *what, size_t step, double got, double want)
{
    fprintf(stderr,
            "FAILED: %s over %s%s, %zu values, rank %d of %d, step %zu: %s: %.9g instead of %.9g\n",
            t->setting, cc_exchange_names[t->job.exchange],
            t->job.via == CC_VIA_ALLGATHER ? " via allgather" : "", t->values, t->here->rank,
            t->here->ranks, step, what, got, want);
    return false;
}

static bool values_agree(const struct trial *t, const struct expected *x, size_t step)
{
    const float *got = t->after + step * t->values, *want = x->after + step * t->values;
    for (size_t i = 0; i < t->values; i++) {
        char what[64];
        /* Each step's addition to the model is rounded as well. */
        const double slack =
            x->slack > 0 ? x->slack + (double)t->steps * 0x1p-23 * fabs((double)want[i]) : 0;
        if (memcmp(&got[i], &want[i], sizeof *got) == 0 ||
            fabs((double)got[i] - (double)want[i]) <= slack)
            continue;
        (void)snprintf(what, sizeof what, "value %zu", i);
        return wrong(t, what, step, (double)got[i], (double)want[i]);
    }
    return true;
}

/* Payloads of this rank; and on rank 0 what all have sent, which is `sent`. */
static bool counts_agree(const struct trial *t, const struct expected *x, size_t step,
                         uint64_t sent)
{
    const int me = t->here->rank;
    const struct cc_counters *now = &t->counters[step];
    uint64_t payload = now->payload_bytes - (step > 0 ? t->counters[step - 1].payload_bytes : 0);
    if (payload != x->payload[step][me])
        return wrong(t, "bytes of payload", step, (double)payload, (double)x->payload[step][me]);
    for (int i = 0; i < CC_EXCHANGE_COUNT; i++)
        if (now->chosen[i] != x->chosen[step][i])
            return wrong(t, cc_exchange_names[i], step, (double)now->chosen[i],
                         (double)x->chosen[step][i]);
    if (me != 0 || t->job.exchange == CC_MPI)
        return true;
    if (sent < x->moved[step] || sent > x->moved[step] + x->most_extra[step])
        return wrong(t, "bytes sent", step, (double)sent, (double)x->moved[step]);
    return true;
}

static bool judge(struct trial *t, struct expected *x)
{
    bool good = true;
    MPI_Bcast(x->after, (int)(t->steps * t->values), MPI_FLOAT, 0, MPI_COMM_WORLD);
    MPI_Bcast(x->payload, sizeof x->payload, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(x->chosen, sizeof x->chosen, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&x->slack, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (size_t step = 0; step < t->steps && good; step++)
        good = values_agree(t, x, step);
    for (size_t step = 0; step < t->steps; step++) {
        uint64_t before = step > 0 ? t->counters[step - 1].sent_bytes : 0, sent = 0;
        uint64_t mine = t->counters[step].sent_bytes - before;
        MPI_Reduce(&mine, &sent, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        good = good && counts_agree(t, x, step, sent);
    }
    return good;
}

/* --- trials --- */

static void close_trial(struct trial *t)
{
    free(t->row.choice);
    free(t->gradient);
    free(t->model);
    free(t->after);
    cc_spec_free(t->spec);
    cc_spec_free(t->raw);
    cc_spec_free(t->dense);
    jobs_free(&t->job);
}

/* All that ssar-auto can choose for every message, by the density of the gradients. */
static void add_choices(struct trial *t)
{
    static const struct {
        double density;
        enum cc_exchange exchange;
    } all[] = {{0.01, CC_SSAR_RECDOUBLE},
               {0.05, CC_SSAR_RABENSEIFNER},
               {0.2, CC_SSAR_SPLIT},
               {0.3, CC_DSAR_SPLIT},
               {1, CC_SSAR_SPLIT}};
    enum { ALL = sizeof all / sizeof all[0] };
    if (t->job.exchange != CC_SSAR_AUTO)
        return;
    t->row.choice = malloc(t->row.messages * ALL * sizeof *t->row.choice);
    for (size_t i = 0; i < t->row.messages && t->row.choice != NULL; i++) {
        const struct cc_job_message *m = &t->message[i];
        const size_t values = t->job.offset[m->last + 1] - t->job.offset[m->first];
        for (size_t k = 0; k < ALL; k++)
            t->row.choice[t->row.choices++] = (struct cc_job_choice){
                i, all[k].density * (double)values * t->here->ranks, all[k].exchange};
    }
}

static void open_trial(struct trial *t, bool large)
{
    struct cc_error e = {""};
    t->spec = setting_open(t->setting);
    t->raw = setting_open("fp32");
    fail_on(t, cc_dense_spec(&t->job, &t->dense, &e), &e);
    t->row.reduction = reduction(t->spec);
    t->row.period = cc_period(t->spec->scheme, t->spec->params);
    t->row.message = t->message;
    t->job.workers = t->here->ranks;
    t->job.seed = 42;
    t->job.rendezvous = true;
    if (large)
        lay_out_large(t);
    else
        lay_out_small(t);
    t->job.mode = t->row.messages == 1 ? CC_SEQUENTIAL : CC_OVERLAP;
    add_choices(t);
    t->values = cc_job_values(&t->job);
    t->gradient = floats(t, t->values);
    t->model = floats(t, t->values);
    t->after = floats(t, t->values * t->steps);
    for (size_t i = 0; i < t->values; i++)
        t->model[i] = (float)(i % 7);
    t->rank_state = (struct cc_rank_state){.comm = MPI_COMM_WORLD,
                                           .rank = t->here->rank,
                                           .job = &t->job,
                                           .row = &t->row,
                                           .spec = t->spec,
                                           .raw = t->raw,
                                           .dense = t->dense,
                                           .gradient = t->gradient,
                                           .model = t->model};
}

/* An exchange with its options. */
struct way {
    const char *exchange;
    enum cc_via via;
    enum cc_wire wire;
    int dense_bits;
};

static bool can_carry(const struct way *way, const char *setting)
{
    struct cc_spec *spec = setting_open(setting);
    const enum cc_reduction r = reduction(spec);
    cc_spec_free(spec);
    return r != CC_REDUCE_DECODED ||
           !cc_exchange_has((enum cc_exchange)cc_exchange_find(way->exchange), CC_X_MERGES);
}

static void attempt(struct ranks_here *w, const char *setting, const struct way *way, bool large)
{
    struct trial t = {.here = w, .setting = setting, .steps = large ? 2 : 4};
    struct expected x = {0};
    const char *exchange = way->exchange;
    if ((w->scheme != NULL && strcmp(w->scheme, setting) != 0) ||
        (w->exchange != NULL && strcmp(w->exchange, exchange) != 0))
        return;
    /* With several messages at once, the MPI library's nonblocking collectives are used. */
    if (!large && strcmp(exchange, "mpi") == 0 && !cc_runtime_collectives())
        return;
    if (!can_carry(way, setting))
        return;
    t.job.exchange = (enum cc_exchange)cc_exchange_find(exchange);
    t.job.via = way->via;
    t.job.wire = way->wire;
    t.job.dense_bits = way->dense_bits;
    open_trial(&t, large);
    x.after = floats(&t, t.values * t.steps);
    if (w->rank == 0)
        expect(&t, &x);
    run(&t);
    int bad = !judge(&t, &x), any = 0;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    w->failures += any;
    w->cases++;
    free(x.after);
    close_trial(&t);
}

static const struct way ways[] = {
    {.exchange = "ring"},
    {.exchange = "recdouble"},
    {.exchange = "rabenseifner"},
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

enum { WAYS = sizeof ways / sizeof ways[0], DENSE_WAYS = 5 };

static void small_ones(struct ranks_here *w)
{
    /* Beyond four ranks, which share few cores, every second setting over each of the sparse ones.
     */
    for (size_t i = 0; settings[i] != NULL; i++)
        for (size_t k = 0; k < WAYS; k++)
            if (k < DENSE_WAYS || w->ranks <= 4 || w->all || (i + k + (size_t)w->ranks) % 2 == 0)
                attempt(w, settings[i], &ways[k], false);
    for (size_t k = 0; k < DENSE_WAYS; k++) {
        struct way way = ways[k];
        way.via = CC_VIA_ALLGATHER;
        attempt(w, "3lc", &way, false);
        attempt(w, "fp32", &way, false);
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
    const bool every = w->ranks == 2 && cc_runtime_collectives();
    for (size_t i = 0; i < sizeof few / sizeof few[0] && !w->all; i++)
        for (size_t k = 0; k < WAYS; k++)
            if (every || (i + k + (size_t)w->ranks) % 7 == 0)
                attempt(w, few[i], &ways[k], true);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && !w->all; i++)
        for (size_t k = DENSE_WAYS; k < WAYS; k++)
            if (every || (i + k + (size_t)w->ranks) % 9 == 0)
                attempt(w, pairs[i], &ways[k], true);
    for (size_t i = 0; settings[i] != NULL && w->all; i++)
        for (size_t k = 0; k < WAYS; k++)
            attempt(w, settings[i], &ways[k], true);
}

/* Runs a message until it is done or fails. */
static int run_message(struct trial *t, const struct cc_exchange_ops *x, void *open,
                       struct cc_error *e)
{
    bool done = false;
    CC_TRY(x->start(open, e));
    for (;;) {
        CC_TRY(x->test(open, &done, e));
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
        open_trial(&t, false);
        t.job.mode = CC_SEQUENTIAL; /* one message alone */
        const struct cc_exchange_ops *x = cc_exchange_ops(exchange);
        fail_on(&t, x->open(&t.rank_state, &t.message[1], 0, &open, &e), &e);
        for (size_t i = 0; i < t.values; i++)
            t.gradient[i] = sums && (w->rank > 0 || i != t.job.offset[t.message[1].last]) ? 1 : NAN;
        const int status = sums ? run_message(&t, x, open, &e) : x->start(open, &e);
        if (status == CC_OK || strstr(e.text, "is NaN") == NULL ||
            (sums && strstr(e.text, "index 0 ") == NULL)) {
            fprintf(stderr, "FAILED: %s with NaN over %s: '%s'\n", t.setting, name, e.text);
            w->failures++;
        }
        x->close(open);
        close_trial(&t);
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
    open_trial(&t, false);
    t.job.mode = CC_SEQUENTIAL;
    MPI_Comm_dup(MPI_COMM_WORLD, &t.rank_state.comm);
    MPI_Comm_set_errhandler(t.rank_state.comm, MPI_ERRORS_RETURN);
    const struct cc_exchange_ops *x = cc_exchange_ops(t.job.exchange);
    t.message[0].first -= w->rank == 1 ? more : 0;
    fail_on(&t, x->open(&t.rank_state, &t.message[0], 0, &open, &e), &e);
    fill(&t, w->rank, 0, t.gradient);
    /* A rank that finds out stops, also sending: the other may wait in vain. */
    const double since = MPI_Wtime();
    bool done = false;
    int status = x->start(open, &e), found = 0;
    while (status == CC_OK && !done && MPI_Wtime() < since + 0.5)
        status = x->test(open, &done, &e);
    const int finds = status != CC_OK;
    MPI_Allreduce(&finds, &found, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (found == 0 || (finds && strstr(e.text, want[w->rank]) == NULL)) {
        fprintf(stderr, "FAILED: rank %d says '%s', not '%s'\n", w->rank, e.text, want[w->rank]);
        w->failures++;
    }
    x->close(open);
    close_trial(&t);
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
    const char *all = getenv("COMMCOMP_TEST_ALL");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    w.all = all != NULL && strcmp(all, "1") == 0;
    const double since = MPI_Wtime();
    small_ones(&w);
    large_ones(&w);
    if (w.scheme == NULL && (w.ranks & (w.ranks - 1)) == 0)
        refusals(&w);
    if ((w.scheme == NULL || strcmp(w.scheme, "disagree") == 0) && w.ranks == 2 &&
        cc_runtime_collectives()) /* on a machine: a simulated clock would not go on */
        disagreements(&w);
    if (w.rank == 0)
        printf("%d ranks: %ld cases, %ld failed, %.1f s\n", w.ranks, w.cases, w.failures,
               MPI_Wtime() - since);
    MPI_Finalize();
    return w.failures > 0;
}
