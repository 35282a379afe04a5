/* Exchanges in one process against the serial reference, which the exchanges over MPI are compared
 * with, too: the same bits for every scheme and up to 7 workers, and the same payload bytes. ps has
 * a reference of its own here, with codecs called one by one. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/inprocess/inprocess.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/settings.h"
#include "tests/mpi/serial.h"

enum { STEPS = 4, MOST_WORKERS = 7 };

static int cases, failures;
static const char *gather, *inner; /* of the next trial's job */
static int per_host = 1;

struct trial {
    const char *setting;
    int servers, dense_bits;
    struct cc_job_choice choice[2 * JOBS_CHOICES];
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message[2];
    struct cc_spec *spec, *raw;
    size_t values;
    float *gradient[MOST_WORKERS], *want, *got;
};

static void *room(size_t bytes)
{
    void *p = cc_alloc0(bytes, NULL);
    if (p == NULL)
        abort();
    return p;
}

static void open_trial(struct trial *t, enum cc_exchange x, enum cc_via via, int workers)
{
    static const struct cc_shape matrix = {.n = 12 * 15, .dim = {12, 15}, .ndim = 2};
    t->job = (struct cc_job){.exchange = x, .via = via, .workers = workers, .seed = 42};
    t->job.servers = x == CC_PS ? t->servers : 0;
    t->job.dense_bits = t->dense_bits;
    t->job.gather = (char *)(uintptr_t)gather;
    t->job.intra_scheme = (char *)(uintptr_t)inner;
    t->job.per_host = per_host;
    jobs_add_flat(&t->job, 777, false);
    jobs_add(&t->job, &matrix, false);
    jobs_add_flat(&t->job, 9, true);
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 5777, false);
    t->spec = setting_open(t->setting);
    t->raw = setting_open("fp32");
    t->message[0] = (struct cc_message){3, 4};
    t->message[1] = (struct cc_message){0, 2};
    t->row = (struct cc_job_row){.scheme = t->spec->name,
                                 .reduction = cc_reduction(t->spec->scheme, t->spec->params),
                                 .period = cc_period(t->spec->scheme, t->spec->params),
                                 .message = t->message,
                                 .messages = 2};
    for (size_t i = 0; i < t->job.tensors && x == CC_PS; i++)
        t->job.tensor[i].server = (int)i % t->servers;
    if (x == CC_SSAR_AUTO) {
        t->row.choice = t->choice;
        t->row.choices = jobs_choices(&t->job, t->message, 2, t->choice);
    }
    t->values = cc_job_values(&t->job);
    for (int i = 0; i < workers; i++)
        t->gradient[i] = room(t->values * sizeof(float));
    t->want = room(t->values * sizeof(float));
    t->got = room(t->values * sizeof(float));
}

static void close_trial(struct trial *t)
{
    for (int i = 0; i < t->job.workers; i++)
        free(t->gradient[i]);
    free(t->want);
    free(t->got);
    cc_spec_free(t->spec);
    cc_spec_free(t->raw);
    jobs_free(&t->job);
}

static void fill(struct trial *t, size_t step)
{
    static const enum data_kind kinds[] = {DATA_LAPLACE, DATA_MODERATE, DATA_GAUSSIAN, DATA_TIES};
    for (int i = 0; i < t->job.workers; i++)
        data_fill(kinds[(step + (size_t)i) % 4], 1000 * step + (uint64_t)i, t->gradient[i],
                  t->values);
}

static void fail(const struct trial *t, size_t step, const char *what)
{
    printf("FAILED: %s over %s%s, %d workers, step %zu: %s\n", t->setting,
           cc_exchange_names[t->job.exchange],
           t->job.via == CC_VIA_ALLGATHER ? " via allgather" : "", t->job.workers, step, what);
    failures++;
}

/* --- ps, from the definition --- */

struct codec {
    struct cc_codec codec;
    struct cc_context ctx;
    uint8_t *payload;
    size_t len;
};

static struct codec open_codec(const struct trial *t, size_t tensor, int64_t rank)
{
    const struct cc_job_tensor *of = &t->job.tensor[tensor];
    const struct cc_spec *spec = of->raw ? t->raw : t->spec;
    struct codec c = {.codec = {.scheme = spec->scheme, .params = spec->params, .shape = of->shape},
                      .ctx = {.seed = t->job.seed,
                              .rank = rank,
                              .direction = rank < 0 ? CC_PULL : CC_PUSH,
                              .tensor = tensor}};
    c.codec.state = room(cc_state_bytes(&c.codec));
    c.codec.scratch = room(cc_scratch_bytes(&c.codec));
    cc_codec_reset(&c.codec);
    c.payload = room(cc_bound(&c.codec));
    return c;
}

static void close_codec(struct codec *c)
{
    free(c->codec.state);
    free(c->codec.scratch);
    free(c->payload);
}

/* Encodes x and adds scale * what it decodes to, unless nothing is sent; returns the bytes. */
static size_t through(struct codec *c, size_t step, const float *x, float scale, bool silent,
                      float *y)
{
    struct cc_error e = {""};
    c->ctx.step = step;
    int status = cc_encode(&c->codec, &c->ctx, x, c->payload, cc_bound(&c->codec), &c->len, &e);
    if (status == CC_OK && !silent)
        status = cc_decode_add(&c->codec, &c->ctx, c->payload, c->len, scale, y, &e);
    if (status != CC_OK) {
        printf("%s\n", e.text);
        abort();
    }
    return silent ? 0 : c->len;
}

struct ps_reference {
    struct codec push[MOST_WORKERS][8], pull[8];
};

static struct ps_reference *open_ps(const struct trial *t)
{
    struct ps_reference *r = room(sizeof *r);
    for (size_t k = 0; k < t->job.tensors; k++) {
        for (int i = 0; i < t->job.workers; i++)
            r->push[i][k] = open_codec(t, k, i);
        r->pull[k] = open_codec(t, k, -1);
    }
    return r;
}

static void close_ps(const struct trial *t, struct ps_reference *r)
{
    for (size_t k = 0; k < t->job.tensors; k++) {
        for (int i = 0; i < t->job.workers; i++)
            close_codec(&r->push[i][k]);
        close_codec(&r->pull[k]);
    }
    free(r);
}

/* The server of the trial pulls half of the mean. */
static void halve(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * 0.5f;
}

static int serve(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *mean,
                 struct cc_error *e)
{
    (void)arg, (void)step, (void)updates, (void)e;
    halve(mean, to - from);
    return CC_OK;
}

static void step_ps(const struct trial *t, struct ps_reference *r, size_t step,
                    struct cc_inprocess_step *sent)
{
    for (size_t m = 0; m < 2; m++) {
        bool silent = (step + 1) % t->row.period != 0;
        for (size_t k = t->message[m].first; k <= t->message[m].last; k++)
            silent = silent && !t->job.tensor[k].raw;
        for (size_t k = t->message[m].first; k <= t->message[m].last; k++) {
            const size_t at = t->job.offset[k], n = t->job.tensor[k].shape.n;
            float *sum = room((n + 1) * sizeof *sum);
            for (int i = 0; i < t->job.workers; i++)
                sent->push_bytes += through(&r->push[i][k], step, t->gradient[i] + at,
                                            (float)(1.0 / t->job.workers), silent, sum);
            halve(sum, n);
            if (!silent)
                sent->pull_bytes += through(&r->pull[k], step, sum, 1, false, t->want + at);
            free(sum);
        }
    }
}

/* --- schemes with several sums in a step, of two workers: a + b is b + a --- */

static void step_rounds(const struct trial *t, struct ps_reference *r, size_t step,
                        struct cc_inprocess_step *sent)
{
    struct cc_error e = {""};
    for (size_t k = 0; k < t->job.tensors; k++) {
        struct codec *one = &r->push[0][k], *two = &r->push[1][k];
        const size_t at = t->job.offset[k], bound = cc_bound(&one->codec);
        float *other = room((t->job.tensor[k].shape.n + 1) * sizeof *other);
        int status = CC_OK;
        one->ctx.step = two->ctx.step = step;
        for (size_t round = 0; round < 2 && status == CC_OK; round++) {
            (void)cc_encode_round(&one->codec, &one->ctx, round, t->gradient[0] + at, one->payload,
                                  bound, &one->len, &e);
            status = cc_encode_round(&two->codec, &two->ctx, round, t->gradient[1] + at,
                                     two->payload, bound, &two->len, &e);
            float *x = (float *)(void *)one->payload;
            const float *y = (const float *)(const void *)two->payload;
            for (size_t i = 0; i < one->len / sizeof *x; i++)
                x[i] = x[i] + y[i];
            sent->push_bytes += 2 * one->len;
            if (status == CC_OK)
                status = cc_absorb(&one->codec, &one->ctx, round, one->payload, one->len, 0.5f,
                                   t->want + at, &e);
            if (status == CC_OK)
                status = cc_absorb(&two->codec, &two->ctx, round, one->payload, one->len, 0.5f,
                                   other, &e);
        }
        if (status != CC_OK)
            fail(t, step, e.text);
        free(other);
    }
}

/* --- trials --- */

/* `detail`: the servers of ps, the bits of a dense second stage. */
static void attempt(const char *setting, enum cc_exchange exchange, enum cc_via via, int workers,
                    int detail)
{
    const bool has_servers = cc_exchange_has(exchange, CC_X_SERVERS);
    struct trial t = {.setting = setting,
                      .servers = has_servers ? detail : 0,
                      .dense_bits = has_servers ? 32 : detail};
    struct cc_error e = {""};
    struct cc_inprocess *x = NULL;
    struct serial *serial[2] = {NULL, NULL};
    open_trial(&t, exchange, via, workers);
    const struct cc_inprocess_config config = {
        .job = &t.job, .row = &t.row, .spec = t.spec, .raw = t.raw, .serve = serve};
    if (t.row.reduction == CC_REDUCE_DECODED && cc_exchange_has(exchange, CC_X_MERGES)) {
        close_trial(&t);
        return;
    }
    const bool rounds = exchange != CC_PS && exchange != CC_ALLGATHER && via == CC_VIA_HOPS &&
                        t.spec->scheme->rounds != NULL &&
                        cc_sum_rounds(t.spec->scheme, t.spec->params) > 1;
    if (rounds && workers != 2) {
        close_trial(&t);
        return;
    }
    struct ps_reference *ps = exchange == CC_PS || rounds ? open_ps(&t) : NULL;
    for (int m = 0; m < 2 && ps == NULL; m++)
        serial[m] = serial_open(&t.job, &t.row, &t.message[m], t.spec, t.raw);
    if (cc_inprocess_open(&config, &x, &e) != CC_OK)
        fail(&t, 0, e.text);
    const int before = failures;
    for (size_t step = 0; step < STEPS && x != NULL && failures == before; step++) {
        struct cc_inprocess_step got, want = {0};
        fill(&t, step);
        const float *const *gradient = (const float *const *)t.gradient;
        for (int m = 0; m < 2 && ps == NULL; m++) {
            struct serial_counts counts;
            double slack;
            serial_step(serial[m], step, gradient, t.want, &counts, &slack);
            for (int i = 0; i < workers; i++)
                want.push_bytes += counts.payload[i];
        }
        if (rounds)
            step_rounds(&t, ps, step, &want);
        else if (ps != NULL)
            step_ps(&t, ps, step, &want);
        if (cc_inprocess_exchange(x, step, gradient, t.got, &got, &e) != CC_OK)
            fail(&t, step, e.text);
        else if (memcmp(t.got, t.want, t.values * sizeof *t.got) != 0)
            fail(&t, step, "other values than the reference's");
        else if (got.sent && got.push_bytes != want.push_bytes)
            fail(&t, step, "other bytes pushed");
        else if (got.pull_bytes != want.pull_bytes)
            fail(&t, step, "other bytes pulled");
    }
    cases++;
    cc_inprocess_close(x);
    for (int m = 0; m < 2 && serial[m] != NULL; m++)
        serial_close(serial[m]);
    if (ps != NULL)
        close_ps(&t, ps);
    close_trial(&t);
}

static void refusals(void)
{
    struct trial t = {.setting = "3lc", .servers = 1, .dense_bits = 32};
    struct cc_error e = {""};
    struct cc_inprocess *x;
    open_trial(&t, CC_SSAR_SPLIT, CC_VIA_HOPS, 2);
    const struct cc_inprocess_config config = {
        .job = &t.job, .row = &t.row, .spec = t.spec, .raw = t.raw};
    if (cc_inprocess_open(&config, &x, &e) != CC_USAGE || strstr(e.text, "ssar-split") == NULL)
        fail(&t, 0, "opened");
    t.job.exchange = CC_MPI;
    if (cc_inprocess_open(&config, &x, &e) != CC_USAGE || strstr(e.text, "mpi cannot") == NULL)
        fail(&t, 0, "opened the library's own");
    close_trial(&t);
}

int main(int argc, char **argv)
{
    static const enum cc_exchange exchanges[] = {
        CC_PS,         CC_RING,       CC_RECDOUBLE,         CC_RABENSEIFNER,
        CC_TWOSHOT,    CC_TREE,       CC_ALLGATHER,         CC_SSAR_RECDOUBLE,
        CC_SSAR_SPLIT, CC_DSAR_SPLIT, CC_SSAR_RABENSEIFNER, CC_SSAR_AUTO};
    static const int workers[] = {1, 2, 3, 4, MOST_WORKERS};
    MPI_Init(&argc, &argv); /* what the serial reference is linked with asks for it */
    for (size_t i = 0; settings[i] != NULL; i++)
        for (size_t k = 0; k < sizeof exchanges / sizeof *exchanges; k++)
            for (size_t n = 0; n < sizeof workers / sizeof *workers; n++)
                attempt(settings[i], exchanges[k], CC_VIA_HOPS, workers[n],
                        exchanges[k] == CC_PS ? 1 : 32);
    for (size_t k = 0; k < sizeof exchanges / sizeof *exchanges; k++)
        attempt("3lc", exchanges[k], CC_VIA_ALLGATHER, 5, exchanges[k] == CC_PS ? 1 : 32);
    for (size_t i = 0; settings[i] != NULL; i++) {
        gather = "int8";
        attempt(settings[i], CC_TWOSHOT, CC_VIA_HOPS, 3, 32);
        for (per_host = 1; per_host <= 6; per_host += per_host == 3 ? 3 : 1)
            attempt(settings[i], CC_HIERARCHICAL, CC_VIA_HOPS, 6, 32);
        inner = "3lc:s=1.5";
        for (per_host = 2; per_host <= 6; per_host += per_host == 3 ? 3 : 1)
            attempt(settings[i], CC_HIERARCHICAL, CC_VIA_HOPS, 6, 32);
        gather = inner = NULL;
        for (per_host = 1; per_host <= 4; per_host *= 2)
            attempt(settings[i], CC_HIERARCHICAL, CC_VIA_HOPS, 4, 32);
        for (per_host = 1; per_host <= 6; per_host += per_host == 3 ? 3 : 1)
            attempt(settings[i], CC_TREE, CC_VIA_HOPS, 6, 32);
        per_host = 1;
        attempt(settings[i], CC_PS, CC_VIA_HOPS, 3, 2);
        attempt(settings[i], CC_PS, CC_VIA_HOPS, 2, 5);
        attempt(settings[i], CC_DSAR_SPLIT, CC_VIA_HOPS, 4, 4);
        attempt(settings[i], CC_SSAR_AUTO, CC_VIA_HOPS, 3, 8);
    }
    refusals();
    printf("in one process: %d cases, %d failed\n", cases, failures);
    MPI_Finalize();
    return failures > 0;
}
