/* Local steps against what they must be equal to: ordinary SGD where they are the same, and
 * otherwise workers, an outer optimizer, parts and delays as the papers have them, written here in
 * double without the code of the trainings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/inprocess/training.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "tests/lib/tier.h"
#include "tests/lib/training.h"

static size_t steps_seen;

/* A ring, so that all workers apply the outer optimizer. `every` local steps, of 40. */
static struct cc_training_config usual(size_t every)
{
    struct cc_training_config c = training_usual("fp32", &steps_seen);
    c.exchange = CC_RING;
    c.deltas = false;
    c.local = (struct cc_local_config){
        .steps = every, .parts = 1, .outer = {.kind = CC_SGD}, .outer_rate = 1};
    c.steps /= every;
    c.eval_every = c.steps;
    return c;
}

static double loss_of(const struct cc_training_config *c)
{
    struct cc_training_result r = training_result(c);
    assert_int_equal(r.evals, 1);
    const double loss = r.eval[0].loss;
    cc_training_free(&r);
    return loss;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) < 2e-5 * fabs(want)))
        fail_msg("%.9g, and not %.9g", got, want);
}

/* One local step, and the mean as it is: ordinary SGD without momentum. */
static void one_step_is_sgd(void **state)
{
    struct cc_training_config c = usual(1);
    (void)state;
    c.optimizer.momentum = 0;
    const double local = loss_of(&c);
    c.local.steps = 0;
    assert_near(local, loss_of(&c));
    training_free(&c);
}

/* One worker whose parameters are all there are: ordinary SGD, and its momentum lasts from one
 * exchange to the next. */
static void one_worker_is_sgd(void **state)
{
    struct cc_training_config c = usual(5);
    (void)state;
    c.task.workers = 1;
    const double local = loss_of(&c);
    c.local.steps = 0;
    c.steps = c.eval_every = 40;
    assert_near(local, loss_of(&c));
    training_free(&c);
}

/* --- as the papers have it --- */

enum { WORKERS = 4 };

/* The tensors of a part: the first part is the end of the net. */
struct parts {
    size_t first[4], last[4];
};

/* The median of the norms of those that send; 0: all have the factor 1. */
static double median_of(const double *norm, size_t count)
{
    double sorted[WORKERS];
    for (size_t i = 0; i < count; i++) {
        size_t k = i;
        for (; k > 0 && sorted[k - 1] > norm[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = norm[i];
    }
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The mean that the workers apply in exchange `at`, of the differences d[WORKERS][n]: workers that
 * send add what they have kept, scaled to the median norm; the others keep their difference. */
static void combine(const struct cc_training_config *c, size_t at, size_t n, double *d,
                    double *kept, double *mean)
{
    const struct cc_local_config *l = &c->local;
    double norm[WORKERS], sent_norm[WORKERS];
    bool sends[WORKERS];
    size_t senders = 0;
    for (size_t k = 0; k < WORKERS; k++) {
        double sum = 0;
        sends[k] = l->quorum == 0 || cc_local_sends(l, c->task.seed, at, k, WORKERS);
        for (size_t i = k * n; i < (k + 1) * n; i++) {
            d[i] += l->beta * kept[i];
            kept[i] = sends[k] ? 0 : d[i];
            sum += d[i] * d[i];
        }
        norm[k] = sqrt(sum);
        if (sends[k])
            sent_norm[senders++] = norm[k];
    }
    assert_int_equal(senders, l->quorum > 0 ? l->quorum : WORKERS);
    memset(mean, 0, n * sizeof *mean);
    for (size_t k = 0; k < WORKERS; k++) {
        const double by = l->median ? median_of(sent_norm, senders) / norm[k] : 1;
        for (size_t i = 0; i < n && sends[k]; i++)
            mean[i] += by * d[k * n + i] / (double)senders;
    }
}

/* Algorithm 1 of DiLoCo, and with parts algorithm 2 of Streaming DiLoCo; schedule and inner steps
 * are those of plain loops. Returns the test loss of the shared parameters. */
static double reference(const struct cc_training_config *c, const struct parts *parts)
{
    const struct cc_local_config *l = &c->local;
    struct cc_task *task;
    assert_int_equal(cc_task_open(&c->task, &task, NULL), CC_OK);
    const struct cc_model_layout *layout = cc_task_layout(task);
    const size_t n = layout->values, floats = 1 + n;
    float *shared = calloc(floats, 4), *g = calloc(floats, 4), *stats = calloc(1, 4);
    float *w = calloc(WORKERS * floats, 4), *v = calloc(WORKERS * floats, 4);
    double *outer = calloc(floats, sizeof *outer), *mean = calloc(floats, sizeof *mean);
    double *d = calloc(WORKERS * floats, sizeof *d), *kept = calloc(WORKERS * floats, sizeof *kept);
    assert_int_equal(layout->stats, 0);
    cc_task_init(task, shared, stats);
    for (size_t k = 0; k < WORKERS; k++)
        memcpy(w + k * n, shared, n * 4);
    for (size_t step = 0; step < c->steps * l->steps; step++) {
        const size_t at = step / l->steps, before = at - 1;
        for (size_t k = 0; k < WORKERS; k++) {
            /* The results of the exchange before, after `delay` of the steps. */
            if (at > 0 && step % l->steps == l->delay % l->steps && l->delay < l->steps)
                for (size_t i = layout->offset[parts->first[before % l->parts]];
                     i < layout->offset[parts->last[before % l->parts] + 1]; i++)
                    w[k * n + i] = (float)((l->delay > 0 ? l->mix : 0) * (double)w[k * n + i] +
                                           (1 - (l->delay > 0 ? l->mix : 0)) * (double)shared[i]);
            (void)cc_task_gradient(task, step, k, w + k * n, stats, g);
            for (size_t i = 0; i < n; i++) {
                v[k * n + i] = (float)(0.9 * (double)v[k * n + i] + (double)g[i]);
                w[k * n + i] -= (float)(cc_rate_at(&c->rate, step) * (double)v[k * n + i]);
            }
        }
        if ((step + 1) % l->steps != 0)
            continue;
        for (size_t i = 0; i < WORKERS * n; i++)
            d[i] = (double)shared[i % n] - (double)w[i];
        combine(c, at, n, d, kept, mean);
        for (size_t i = layout->offset[parts->first[at % l->parts]];
             i < layout->offset[parts->last[at % l->parts] + 1]; i++) {
            const double m = (double)l->outer.momentum;
            outer[i] = m * outer[i] + mean[i];
            shared[i] -=
                (float)(l->outer_rate * (l->outer.nesterov ? mean[i] + m * outer[i] : outer[i]));
        }
    }
    const double loss = cc_task_test(task, shared, stats).loss;
    free(shared);
    free(g);
    free(stats);
    free(w);
    free(v);
    free(outer);
    free(mean);
    free(d);
    free(kept);
    cc_task_close(task);
    return loss;
}

static void as_the_papers(void **state)
{
    static const struct {
        size_t parts, steps, delay;
        double mix, momentum;
        bool nesterov;
    } cases[] = {{1, 5, 0, 0, 0, false},     {1, 4, 0, 0, 0.9, false}, {1, 8, 0, 0, 0.9, true},
                 {2, 5, 0, 0, 0.9, true},    {4, 2, 0, 0, 0, false},   {2, 5, 2, 0.5, 0.9, true},
                 {1, 5, 1, 0.25, 0.5, true}, {2, 4, 3, 0, 0, false}};
    static const struct parts whole = {{0}, {3}}, halves = {{2, 0}, {3, 1}},
                              each = {{3, 2, 1, 0}, {3, 2, 1, 0}};
    static const struct cc_message all_messages[] = {{0, 3}}, half_messages[] = {{2, 3}, {0, 1}},
                                   each_messages[] = {{3, 3}, {2, 2}, {1, 1}, {0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cc_training_config c = usual(cases[i].steps);
        const size_t parts = cases[i].parts;
        c.local.parts = c.messages = parts;
        c.local.delay = cases[i].delay;
        c.local.mix = cases[i].mix;
        c.local.outer.momentum = (float)cases[i].momentum;
        c.local.outer.nesterov = cases[i].nesterov;
        c.local.outer_rate = cases[i].momentum > 0 ? 0.25 : 1;
        c.message = parts == 1 ? all_messages : parts == 2 ? half_messages : each_messages;
        const double want = reference(&c, parts == 1 ? &whole : parts == 2 ? &halves : &each);
        assert_near(loss_of(&c), want);
        training_free(&c);
    }
}

/* SparseLoCo's rounds in which some workers do not send, and its median norm. */
static void some_send(void **state)
{
    static const struct {
        size_t quorum;
        double beta;
        bool median;
    } cases[] = {{0, 0, true}, {3, 1, false}, {2, 0.5, false}, {3, 0.75, true}, {1, 1, true}};
    static const struct parts whole = {{0}, {3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cc_training_config c = usual(4);
        c.exchange = CC_ALLGATHER;
        c.local.quorum = cases[i].quorum;
        c.local.beta = cases[i].beta;
        c.local.median = cases[i].median;
        assert_near(loss_of(&c), reference(&c, &whole));
        training_free(&c);
    }
}

/* The values that are sent, and those that are kept in the end, are all that was computed; and each
 * exchange has other workers. */
static void sent_and_kept(void **state)
{
    enum { N = 5, EXCHANGES = 40 };
    const struct cc_model_layout layout = {.values = N};
    const struct cc_local_steps l = {.config = {.steps = 1, .quorum = 3, .beta = 1},
                                     .inner = {.layout = &layout}};
    float own[WORKERS][2 * N] = {0}, d[N];
    double computed[N] = {0}, sent[N] = {0};
    size_t times[WORKERS] = {0};
    (void)state;
    assert_int_equal(cc_local_floats(&l), 2 * N);
    for (size_t at = 0; at < EXCHANGES; at++)
        for (size_t k = 0; k < WORKERS; k++) {
            const bool sends = cc_local_sends(&l.config, 7, at, k, WORKERS);
            times[k] += sends;
            for (size_t i = 0; i < N; i++) {
                d[i] = (float)((at * 31 + k * 17 + i * 5) % 64) - 32; /* sums are exact */
                computed[i] += (double)d[i];
            }
            cc_local_keep(&l, sends, own[k], d);
            for (size_t i = 0; i < N; i++)
                sent[i] += (double)d[i];
        }
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < WORKERS; k++)
            sent[i] += (double)own[k][N + i];
        assert_true(sent[i] == computed[i]);
    }
    for (size_t k = 0; k < WORKERS; k++)
        assert_true(times[k] > EXCHANGES / 2 && times[k] < EXCHANGES);
}

/* --- exchanges, checkpoints --- */

/* Servers that send deltas, or the mean, end where a ring does: with fp32 to rounding. */
static void servers(void **state)
{
    struct cc_training_config c = usual(8);
    (void)state;
    c.local.outer = (struct cc_optimizer){.kind = CC_SGD, .momentum = 0.9f, .nesterov = true};
    c.local.outer_rate = 0.25;
    const double want = loss_of(&c);
    c.exchange = CC_PS;
    assert_near(loss_of(&c), want);
    c.deltas = true;
    assert_near(loss_of(&c), want);
    training_free(&c);
}

static void stop(void *arg, const char *scheme, size_t steps, double loss, double accuracy)
{
    struct {
        void **state;
        const char *path;
        size_t done;
    } *copy = arg;
    size_t size;
    (void)scheme, (void)loss, (void)accuracy;
    copy->done += steps;
    if (copy->done != 4) /* the checkpoint after 3 exchanges is there */
        return;
    void *bytes = scratch_read(copy->path, &size);
    (void)scratch_write(copy->state, "copy.safetensors", bytes, size);
    free(bytes);
}

/* A training that continues between the exchanges of two parts ends with the same weights. */
static void resumes(void **state)
{
    static const struct cc_message parts[] = {{2, 3}, {0, 1}};
    struct {
        void **state;
        const char *path;
        size_t done;
    } copy = {state, strdup(scratch_path(state, "a.safetensors")), 0};
    for (int deltas = 0; deltas < 2; deltas++) {
        struct cc_training_config c = usual(4);
        char *second = strdup(scratch_path(state, "copy.safetensors"));
        struct cc_spec *scheme = training_spec("3lc");
        const struct cc_spec *usual_scheme = c.spec;
        c.spec = c.pull = scheme;
        c.deltas = deltas;
        c.exchange = deltas ? CC_PS : CC_RING;
        c.local.parts = c.messages = 2;
        c.local.delay = 2;
        c.local.mix = 0.5;
        c.local.outer.momentum = 0.5f;
        c.message = parts;
        c.progress = stop;
        c.arg = &copy;
        c.checkpoint = copy.path;
        c.checkpoint_every = 3;
        copy.done = 0;
        struct cc_training_result want = training_result(&c);
        c.checkpoint = second;
        c.resume = true;
        copy.done = 5;
        struct cc_training_result got = training_result(&c);
        assert_int_equal(got.resumed, 3);
        assert_int_equal(got.weights_crc, want.weights_crc);
        assert_true(got.eval[0].train_loss == want.eval[0].train_loss);
        cc_training_free(&want);
        cc_training_free(&got);
        free(second);
        c.spec = usual_scheme;
        training_free(&c);
        cc_spec_free(scheme);
    }
    free((char *)(uintptr_t)copy.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_is_sgd),
        cmocka_unit_test(one_worker_is_sgd),
        cmocka_unit_test(as_the_papers),
        cmocka_unit_test(some_send),
        cmocka_unit_test(sent_and_kept),
        cmocka_unit_test(servers),
        cmocka_unit_test_setup_teardown(resumes, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, training_setup, training_teardown);
}
