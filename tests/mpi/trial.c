/* A trial: one setting over one way, for some steps. Rank 0 works out with serial.c what every step
 * must give and shares it; then all ranks exchange for real, and each compares its model and its
 * counters. */
#include "tests/mpi/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/pack/pack.h"
#include "netsim/rank/loop.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/settings.h"
#include "tests/mpi/rest.h"

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
    t->message[t->row.messages++] = (struct cc_message){first, last};
}

/* All small sizes at once: each a message of its own, and one of several tensors. */
static void lay_out_small(struct trial *t)
{
    const struct cc_shape matrix = {.n = 12 * 15, .dim = {12, 15}, .ndim = 2};
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 1, false);
    jobs_add_flat(&t->job, (size_t)t->here->ranks - 1, false);
    const bool raw = t->kind == TRIAL_SMALL;
    jobs_add_flat(&t->job, 30, raw);
    jobs_add_flat(&t->job, 513, false);
    jobs_add(&t->job, &matrix, false);
    jobs_add_flat(&t->job, 9, raw);
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
void trial_fill(const struct trial *t, int rank, size_t step, float *x)
{
    static const double scale[MOST_STEPS] = {1, 1, 1, 1, 1, 1000, 1000, 1000, 1000, 1, 1, 1, 1};
    if (t->kind >= TRIAL_WHOLE) {
        data_fill(DATA_LAPLACE, 1000 * step + (uint64_t)rank, x, t->values);
        for (size_t i = 0; i < t->values; i++)
            x[i] = t->kind == TRIAL_REAL ? (float)scale[step] * x[i]
                                         : fminf(fmaxf(rintf(3 * x[i]), -8), 8);
        return;
    }
    const enum data_kind kinds[] = {DATA_LAPLACE, DATA_MODERATE, DATA_GAUSSIAN, DATA_TIES,
                                    DATA_ZEROS};
    const enum data_kind kind = step == 0   ? DATA_LAPLACE
                                : step == 2 ? DATA_ZEROS
                                            : kinds[(step + (size_t)rank) % 5];
    data_fill(kind, 1000 * step + (uint64_t)rank, x, t->values);
}

/* --- for real --- */

void trial_fail_on(const struct trial *t, int status, const struct cc_error *e)
{
    if (status != CC_OK)
        die(t, e->text);
}

/* All messages of one step, tested in another order by each rank. */
static void run_step(struct trial *t, void *const *open)
{
    struct cc_error e = {""};
    bool done[MOST_MESSAGES] = {false};
    const size_t n = t->row.messages;
    for (size_t i = 0; i < n; i++)
        trial_fail_on(t, cc_exchange_start(open[i], &e), &e);
    size_t over = 0;
    while (over < n) {
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + (size_t)t->here->rank) % n;
            if (done[i])
                continue;
            trial_fail_on(t, cc_exchange_test(open[i], &done[i], &e), &e);
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
    for (size_t i = 0; i < t->row.messages; i++)
        trial_fail_on(t, cc_exchange_open(&t->rank_state, &t->row.message[i], i, &open[i], &e), &e);
    for (size_t step = 0; step < t->steps; step++) {
        trial_fill(t, t->here->rank, step, t->gradient);
        t->rank_state.step = step;
        run_step(t, open);
        memcpy(t->after + step * t->values, t->model, t->values * sizeof *t->model);
        t->counters[step] = t->rank_state.counters;
    }
    for (size_t i = 0; i < t->row.messages; i++)
        cc_exchange_close(open[i]);
}

/* --- what it should have been --- */

struct expected {
    float *after; /* as in a trial */
    uint64_t payload[MOST_STEPS][32], moved[MOST_STEPS], most_extra[MOST_STEPS];
    uint64_t chosen[MOST_STEPS][CC_EXCHANGE_COUNT]; /* up to each step */
    uint64_t kept[MOST_STEPS];                      /* up to each step */
    double slack, off;                              /* off: serial_off after the last step */
};

static void count(struct expected *x, size_t step, const struct serial_counts *c, int ranks)
{
    /* Sizes before payloads, and the heads of packs. */
    enum { SIZES = 16, HEAD = 1 + 3 * 8 };
    for (int r = 0; r < ranks; r++)
        x->payload[step][r] += c->payload[r];
    x->moved[step] += c->moved;
    x->chosen[step][c->chosen] += c->chose;
    x->kept[step] += c->kept;
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
            trial_fill(t, r, step, all + (size_t)r * t->values);
        }
        for (int i = 0; i < CC_EXCHANGE_COUNT && step > 0; i++)
            out->chosen[step][i] = out->chosen[step - 1][i];
        out->kept[step] = step > 0 ? out->kept[step - 1] : 0;
        for (size_t i = 0; i < t->row.messages; i++) {
            struct serial_counts counts;
            double slack;
            serial_step(s[i], step, gradient, model, &counts, &slack);
            count(out, step, &counts, ranks);
            out->slack += slack;
        }
        memcpy(out->after + step * t->values, model, t->values * sizeof *model);
    }
    for (size_t i = 0; i < t->row.messages; i++) {
        out->off = fmax(out->off, serial_off(s[i]));
        serial_close(s[i]);
    }
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
    if (now->kept != x->kept[step])
        return wrong(t, "kept values", step, (double)now->kept, (double)x->kept[step]);
    if (me != 0 || t->job.exchange == CC_MPI)
        return true;
    if (sent < x->moved[step] || sent > x->moved[step] + x->most_extra[step])
        return wrong(t, "bytes sent", step, (double)sent, (double)x->moved[step]);
    return true;
}

/* Nothing is lost: what was applied and what workers hold back is what they have computed, but for
 * the rounding of each addition. */
static bool balances(const struct trial *t, const struct expected *x)
{
    const double additions = (double)t->steps * (t->here->ranks + 4);
    const double most = t->kind == TRIAL_WHOLE ? 0 : additions * 0x1p-24;
    return x->off <= most || wrong(t, "applied and held back, off", t->steps, x->off, most);
}

/* Gives all ranks what rank 0 expects, before they exchange anything: they would take its processor
 * meanwhile. */
static void share(const struct trial *t, struct expected *x)
{
    float *after = x->after;
    rest_bcast(x, sizeof *x, MPI_COMM_WORLD);
    x->after = after;
    rest_bcast(after, t->steps * t->values * sizeof *after, MPI_COMM_WORLD);
}

/* Bytes to ranks of other hosts and of the own one. */
static uint64_t sent_until(const struct trial *t, size_t step)
{
    return t->counters[step].sent_bytes + t->counters[step].intra_bytes;
}

static bool judge(struct trial *t, struct expected *x)
{
    bool good = t->here->rank != 0 || balances(t, x);
    uint64_t sent[MOST_STEPS];
    for (size_t step = 0; step < t->steps; step++)
        sent[step] = sent_until(t, step) - (step > 0 ? sent_until(t, step - 1) : 0);
    rest_sum(sent, (int)t->steps, MPI_UINT64_T, MPI_COMM_WORLD);
    for (size_t step = 0; step < t->steps && good; step++)
        good = values_agree(t, x, step) && counts_agree(t, x, step, sent[step]);
    return good;
}

/* --- trials --- */

void trial_close(struct trial *t)
{
    free(t->row.choice);
    free(t->gradient);
    free(t->model);
    free(t->after);
    cc_spec_free(t->spec);
    cc_spec_free(t->raw);
    cc_spec_free(t->second);
    cc_spec_free(t->inner);
    jobs_free(&t->job);
}

/* A row of ssar-auto has all that it can choose. */
static void add_choices(struct trial *t)
{
    if (t->job.exchange != CC_SSAR_AUTO)
        return;
    t->row.choice = malloc(t->row.messages * JOBS_CHOICES * sizeof *t->row.choice);
    if (t->row.choice != NULL)
        t->row.choices = jobs_choices(&t->job, t->message, t->row.messages, t->row.choice);
}

void trial_open(struct trial *t)
{
    struct cc_error e = {""};
    t->spec = setting_open(t->setting);
    t->raw = setting_open("fp32");
    t->row.scheme = t->spec->name;
    trial_fail_on(t, cc_second_spec(&t->job, &t->row, &t->second, &e), &e);
    trial_fail_on(t, cc_inner_spec(&t->job, &t->row, &t->inner, &e), &e);
    t->row.scheme = (char *)(uintptr_t)t->setting;
    t->row.reduction = reduction(t->spec);
    t->row.period = cc_period(t->spec->scheme, t->spec->params);
    t->row.message = t->message;
    t->job.workers = t->here->ranks;
    t->job.seed = 42;
    t->job.rendezvous = true;
    if (t->kind == TRIAL_LARGE)
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
    t->mpi = cc_mpi_transport(MPI_COMM_WORLD);
    t->rank_state = (struct cc_rank_state){.transport = &t->mpi.end,
                                           .library = &cc_exchange_mpi,
                                           .rank = t->here->rank,
                                           .job = &t->job,
                                           .row = &t->row,
                                           .spec = t->spec,
                                           .pull = t->spec,
                                           .raw = t->raw,
                                           .second = t->second,
                                           .inner = t->inner,
                                           .gradient = t->gradient,
                                           .model = t->model};
}

static bool can_carry(const struct way *way, const char *setting)
{
    struct cc_spec *spec = setting_open(setting);
    const enum cc_reduction r = reduction(spec);
    cc_spec_free(spec);
    return r != CC_REDUCE_DECODED ||
           !cc_exchange_has((enum cc_exchange)cc_exchange_find(way->exchange), CC_X_MERGES);
}

void trial_attempt(struct ranks_here *w, const char *setting, const struct way *way,
                   enum trial_kind kind)
{
    static const size_t steps[] = {[TRIAL_SMALL] = 4,
                                   [TRIAL_LARGE] = 2,
                                   [TRIAL_WHOLE] = MOST_STEPS,
                                   [TRIAL_REAL] = MOST_STEPS};
    struct trial t = {.here = w, .setting = setting, .kind = kind, .steps = steps[kind]};
    struct expected x = {0};
    const char *exchange = way->exchange;
    if ((w->scheme != NULL && strcmp(w->scheme, setting) != 0) ||
        (w->exchange != NULL && strcmp(w->exchange, exchange) != 0))
        return;
    /* With several messages at once, the MPI library's nonblocking collectives are used. */
    if (kind != TRIAL_LARGE && strcmp(exchange, "mpi") == 0 && cc_runtime_simulates())
        return;
    if (!can_carry(way, setting))
        return;
    t.job.exchange = (enum cc_exchange)cc_exchange_find(exchange);
    t.job.via = way->via;
    t.job.wire = way->wire;
    t.job.dense_bits = way->dense_bits;
    t.job.keep = way->keep;
    t.job.gather = (char *)(uintptr_t)way->gather;
    t.job.intra_scheme = (char *)(uintptr_t)way->inner;
    t.job.per_host = way->per_host > 0 && w->ranks % way->per_host == 0 ? way->per_host : 1;
    trial_open(&t);
    x.after = floats(&t, t.values * t.steps);
    if (w->rank == 0)
        expect(&t, &x);
    share(&t, &x);
    run(&t);
    int bad = !judge(&t, &x);
    rest_sum(&bad, 1, MPI_INT, MPI_COMM_WORLD);
    w->failures += bad > 0;
    w->cases++;
    free(x.after);
    trial_close(&t);
}
