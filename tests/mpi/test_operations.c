/* The halves of an allreduce over MPI, from their definitions: of a reduce-scatter, every value's
 * mean arrives at exactly one rank; an all-gather brings every rank the values of these owners, as
 * they have them. Exact where the scheme is lossless, and close where it is not. And the whole of
 * it by two-shot: a lossless scheme's means are those of fp32, bit for bit where the same rank adds
 * them, in fewer bytes. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/message_pack.h"
#include "tests/mpi/rest.h"
#include "tests/mpi/trial.h"

static void check(struct ranks_here *w, bool right, const struct trial *t, const char *what)
{
    w->cases++;
    if (right)
        return;
    fprintf(stderr, "FAILED: %s by %s over %s, %d ranks, rank %d: %s\n",
            cc_operation_names[t->job.op], t->setting, cc_exchange_names[t->job.exchange], w->ranks,
            w->rank, what);
    w->failures++;
}

/* Exchanges the trial's messages one after the other, onto a model of zeros. */
static void exchange(struct trial *t, float *model)
{
    struct cc_error e = {""};
    memset(model, 0, t->values * sizeof *model);
    t->rank_state.model = model;
    for (size_t i = 0; i < t->row.messages; i++) {
        void *open;
        bool done = false;
        trial_fail_on(t, cc_exchange_open(&t->rank_state, &t->row.message[i], i, &open, &e), &e);
        trial_fail_on(t, cc_exchange_start(open, &e), &e);
        while (!done) {
            trial_fail_on(t, cc_exchange_test(open, &done, &e), &e);
            if (!done)
                rest(&t->rank_state, (double)INFINITY);
        }
        cc_exchange_close(open);
    }
}

/* Sums over the ranks, of values and of ranks that have one. */
static float *sum_of(const struct trial *t, const float *x, bool count)
{
    float *sum = calloc(t->values, sizeof *sum);
    for (size_t i = 0; i < t->values; i++)
        sum[i] = count ? (float)(x[i] != 0) : x[i];
    rest_sum(sum, (int)t->values, MPI_FLOAT, MPI_COMM_WORLD);
    return sum;
}

static double most_off(const struct trial *t, const float *x, const float *want, double *largest)
{
    double off = 0;
    *largest = 0;
    for (size_t i = 0; i < t->values; i++) {
        off = fmax(off, fabs((double)x[i] - (double)want[i]));
        *largest = fmax(*largest, fabs((double)want[i]));
    }
    return off;
}

static void attempt(struct ranks_here *w, const char *setting, enum cc_exchange x, int per_host,
                    double close)
{
    struct trial t = {.here = w, .setting = setting, .kind = TRIAL_SMALL, .steps = 1};
    double largest;
    t.job.exchange = x;
    t.job.dense_bits = 32;
    t.job.per_host = per_host;
    t.job.op = CC_REDUCE_SCATTER;
    trial_open(&t);
    float *part = calloc(t.values, sizeof *part), *all = calloc(t.values, sizeof *all);
    float *mine = calloc(t.values, sizeof *mine);
    for (size_t i = 0; i < t.values; i++)
        t.gradient[i] = sinf((float)(i + 1) * (1.0f + (float)w->rank)) + 2.5f; /* above 0 */
    exchange(&t, part);
    float *mean = sum_of(&t, t.gradient, false), *got = sum_of(&t, part, false);
    float *owners = sum_of(&t, part, true);
    bool one = true;
    for (size_t i = 0; i < t.values; i++) {
        mean[i] /= (float)w->ranks;
        one = one && owners[i] == 1;
    }
    check(w, one, &t, "values without an owner, or with several");
    check(w, most_off(&t, got, mean, &largest) <= close * largest, &t, "another mean");

    for (size_t i = 0; i < t.values; i++)
        mine[i] = part[i] != 0 ? t.gradient[i] : 0;
    float *want = sum_of(&t, mine, false);
    t.job.op = CC_ALL_GATHER;
    exchange(&t, all);
    const double off = most_off(&t, all, want, &largest);
    check(w, close > 1e-6 ? off <= close * largest : off == 0, &t, "other values than the owners'");
    free(part), free(all), free(mine), free(mean), free(got), free(owners), free(want);
    trial_close(&t);
}

struct means {
    float *mean;
    bool *apart; /* values that fp32 has another rank add, in another order: payloads are cut at
                    multiples of 512 values, floats anywhere */
    size_t values;
    double bytes; /* that this rank sent */
};

static void mark_apart(const struct ranks_here *w, struct cc_range message, bool *apart)
{
    const size_t n = message.to - message.from, ranks = (size_t)w->ranks;
    for (size_t i = 1; i < ranks && ranks > 2; i++) { /* the sum of two has one order */
        const size_t at = n / ranks * i + (i < n % ranks ? i : n % ranks);
        for (size_t k = at / 512 * 512; k < at; k++)
            apart[message.from + k] = true;
    }
}

/* The means that a two-shot allreduce leaves at this rank. */
static struct means two_shot(struct ranks_here *w, const char *setting)
{
    struct trial t = {.here = w, .setting = setting, .kind = TRIAL_SMALL, .steps = 1};
    t.job.exchange = CC_TWOSHOT;
    t.job.dense_bits = 32;
    t.job.per_host = 1;
    trial_open(&t);
    for (size_t i = 0; i < t.values; i++)
        t.gradient[i] = 0.01f * sinf((float)(i * i + 1) * (1.7f + (float)w->rank));
    struct means m = {.values = t.values,
                      .mean = calloc(t.values, sizeof *m.mean),
                      .apart = calloc(t.values, sizeof *m.apart)};
    exchange(&t, m.mean);
    for (size_t i = 0; i < t.row.messages; i++)
        mark_apart(w, cc_message_range(&t.rank_state, &t.row.message[i]), m.apart);
    m.bytes = (double)t.rank_state.counters.sent_bytes;
    trial_close(&t);
    return m;
}

static void exact(struct ranks_here *w)
{
    static const char *const schemes[] = {"exponent", "exponent:coder=window", "zstd"};
    const struct means want = two_shot(w, "fp32");
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        const struct trial t = {.setting = schemes[s], .job.exchange = CC_TWOSHOT};
        const struct means got = two_shot(w, schemes[s]);
        bool same = true, close = true;
        for (size_t i = 0; i < got.values; i++) {
            same = same &&
                   (want.apart[i] || memcmp(&got.mean[i], &want.mean[i], sizeof *got.mean) == 0);
            close = close && fabsf(got.mean[i] - want.mean[i]) < 1e-8f;
        }
        check(w, same && close, &t, "other means than fp32's");
        check(w, s == 2 || w->ranks == 1 || w->ranks > 4 || got.bytes < want.bytes, &t,
              "as many bytes as fp32");
        free(got.mean), free(got.apart);
    }
    free(want.mean), free(want.apart);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *setting;
        double close;
    } all[] = {{"fp32", 1e-6}, {"zstd", 1e-6}, {"int8", 0.05}, {"topk:k=64,bucket=64,ef=0", 1e-6}};
    struct ranks_here w = {.rank = 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        attempt(&w, all[i].setting, CC_RING, 1, all[i].close);
        attempt(&w, all[i].setting, CC_TWOSHOT, 1, all[i].close);
        for (int per_host = 1; per_host <= w.ranks; per_host++)
            if (w.ranks % per_host == 0)
                attempt(&w, all[i].setting, CC_HIERARCHICAL, per_host, all[i].close);
    }
    exact(&w);
    long failures = w.failures;
    rest_sum(&failures, 1, MPI_LONG, MPI_COMM_WORLD);
    if (w.rank == 0)
        printf("operations, %d ranks: %ld cases, %ld failed\n", w.ranks, w.cases, failures);
    MPI_Finalize();
    return failures > 0;
}
