/* Trainings in one process against what they must be equal to: plain SGD by a loop here, one worker
 * with all workers' samples, themselves with other exchanges and numbers of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "netsim/inprocess/training.h"
#include "schemes/codec_set.h"
#include "tests/lib/text.h"
#include "tests/lib/tier.h"
#include "tests/lib/training.h"

static size_t steps_seen;

/* A perceptron on the digits; callers change what they are about. */
static struct cc_training_config usual(const char *scheme)
{
    return training_usual(scheme, &steps_seen);
}

static struct cc_training_result train(const struct cc_training_config *c)
{
    steps_seen = 0;
    return training_result(c);
}

static const struct cc_evaluation *last_of(const struct cc_training_result *r)
{
    assert_true(r->evals > 0);
    return &r->eval[r->evals - 1];
}

/* SGD with momentum on the batches of one worker, without exchange or codec; *trained: the share of
 * the samples since the evaluation before the last that were classified correctly. */
static uint32_t plain_sgd(const struct cc_training_config *c, struct cc_model_score *score,
                          double *trained)
{
    size_t correct = 0;
    struct cc_task *task;
    assert_int_equal(cc_task_open(&c->task, &task, NULL), CC_OK);
    const struct cc_model_layout *layout = cc_task_layout(task);
    const size_t n = layout->values;
    float *w = calloc(n, sizeof *w), *g = calloc(n, sizeof *g), *v = calloc(n, sizeof *v);
    float *stats = calloc(layout->stats + 1, sizeof *stats);
    assert_true(w != NULL && g != NULL && v != NULL && stats != NULL);
    cc_task_init(task, w, stats);
    for (size_t step = 0; step < c->steps; step++) {
        const size_t of = cc_task_gradient(task, step, 0, w, stats, g).correct;
        correct += step >= c->steps - c->eval_every ? of : 0;
        cc_optimizer_apply(&c->optimizer, layout, 0, layout->values, cc_rate_at(&c->rate, step),
                           step, g, w, v, 1);
    }
    *score = cc_task_test(task, w, stats);
    *trained = (double)correct / (double)(c->eval_every * c->task.batch);
    const uint32_t crc = cc_crc32(0, w, n * sizeof *w);
    free(w);
    free(g);
    free(v);
    free(stats);
    cc_task_close(task);
    return crc;
}

/* One worker and fp32: plain SGD, bit for bit where the worker applies the optimizer. The server's
 * deltas round once more. */
static void one_worker_is_sgd(void **state)
{
    static const enum cc_exchange exchanges[] = {CC_PS, CC_RING, CC_RECDOUBLE, CC_RABENSEIFNER,
                                                 CC_ALLGATHER};
    struct cc_training_config c = usual("fp32");
    struct cc_model_score want;
    (void)state;
    c.task.workers = 1;
    double trained;
    const uint32_t crc = plain_sgd(&c, &want, &trained);
    assert_int_equal(c.steps % c.eval_every, 0);
    assert_true(trained > 0.8 && trained <= 1);
    assert_true(want.correct > training_digits->test.count * 8 / 10);
    for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++) {
        c.exchange = exchanges[i];
        c.deltas = false;
        struct cc_training_result r = train(&c);
        assert_int_equal(r.weights_crc, crc);
        assert_float_equal((float)last_of(&r)->loss, (float)want.loss, 0);
        assert_true(fabs(last_of(&r)->train_accuracy - trained) < 1e-12);
        cc_training_free(&r);
    }
    c.exchange = CC_PS;
    c.deltas = true;
    struct cc_training_result r = train(&c);
    assert_float_equal((float)last_of(&r)->loss, (float)want.loss, 1e-5);
    assert_int_equal(steps_seen, 40);
    assert_int_equal(r.evals, 2);
    cc_training_free(&r);
    training_free(&c);
}

/* Times are of one worker, on the processor: those of all workers together fit into the time that
 * the training took, computing where gradients take nearly all of it, encoding where the codec
 * does. */
static void times_of_one_worker(void **state)
{
    static const char *const schemes[] = {"fp32", "zstd:level=19"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cc_training_config c = usual(schemes[i]);
        c.exchange = CC_ALLGATHER;
        c.deltas = false;
        c.task.workers = 8;
        c.steps = c.eval_every = 6;
        struct cc_training_result r = train(&c);
        const struct cc_evaluation *v = last_of(&r);
        const double all_s = (double)(c.steps * c.task.workers) * (v->compute_s + v->encode_s);
        assert_true(v->compute_s > 0 && v->encode_s >= 0);
        if (!(all_s <= 1.5 * v->wall_s)) /* the clocks differ a little */
            fail_msg("%s: %g s of computing and encoding in %g s", schemes[i], all_s, v->wall_s);
        cc_training_free(&r);
        training_free(&c);
    }
}

/* The mean of four workers' gradients is the gradient of one batch of all their samples. */
static void workers_are_one_batch(void **state)
{
    struct cc_training_config c = usual("fp32");
    (void)state;
    struct cc_training_result four = train(&c);
    c.task.workers = 1;
    c.task.batch *= 4;
    struct cc_training_result one = train(&c);
    assert_float_equal((float)last_of(&four)->loss, (float)last_of(&one)->loss, 1e-4);
    assert_float_equal((float)last_of(&four)->train_loss, (float)last_of(&one)->train_loss, 1e-4);
    cc_training_free(&four);
    cc_training_free(&one);
    training_free(&c);
}

/* fp32's copies of server and workers are the same; those of a scheme that loses something and has
 * no residual are not. */
static void copies(void **state)
{
    struct cc_training_config c = usual("fp32"), lossy = usual("ternary");
    (void)state;
    struct cc_training_result r = train(&c);
    for (size_t i = 0; i < r.evals; i++)
        assert_float_equal((float)r.eval[i].loss, (float)r.eval[i].worker_loss, 0);
    cc_training_free(&r);
    r = train(&lossy);
    assert_true(last_of(&r)->loss != last_of(&r)->worker_loss);
    cc_training_free(&r);
    training_free(&c);
    training_free(&lossy);
}

/* The same seed gives the same weights with any number of threads, another seed other ones. */
static void reproducible(void **state)
{
    static const char *const schemes[] = {"fp32", "3lc", "qsgd", "powersgd"};
    static const enum cc_exchange exchanges[] = {CC_PS, CC_RING};
    (void)state;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        for (size_t k = 0; k < 2; k++) {
            struct cc_training_config c = usual(schemes[i]);
            c.task.net = "mlp:300";
            c.exchange = exchanges[k];
            c.deltas = c.exchange == CC_PS;
            c.steps = tier_pick(3, 6, 12);
            struct cc_training_result one = train(&c);
            c.task.threads = 3;
            struct cc_training_result three = train(&c);
            c.task.seed++;
            struct cc_training_result other = train(&c);
            assert_int_equal(one.weights_crc, three.weights_crc);
            assert_int_not_equal(one.weights_crc, other.weights_crc);
            cc_training_free(&one);
            cc_training_free(&three);
            cc_training_free(&other);
            training_free(&c);
        }
}

/* A scheme that sends in every second step: half the bytes, and no update in between. */
static void silent_steps(void **state)
{
    struct cc_training_config c = usual("local:every=2");
    (void)state;
    c.eval_every = 1;
    c.steps = 4;
    struct cc_training_result r = train(&c);
    assert_float_equal(r.eval[0].push_bytes, 0, 0);
    assert_true(r.eval[1].push_bytes > 0);
    assert_true(r.eval[0].loss != r.eval[1].loss);
    assert_true(r.eval[1].loss == r.eval[2].loss);
    cc_training_free(&r);
    training_free(&c);
}

/* The sum of squares of a gradient, and of what one encoding of it by 3LC leaves out. */
static void code_once(const struct cc_training_config *c, double *gradient, double *lost)
{
    struct cc_task *task;
    struct cc_codec_set set = {0};
    assert_int_equal(cc_task_open(&c->task, &task, NULL), CC_OK);
    const struct cc_model_layout *layout = cc_task_layout(task);
    float *w = calloc(layout->values, sizeof *w), *g = calloc(layout->values, sizeof *g);
    float *stats = calloc(layout->stats + 1, sizeof *stats), *y = calloc(layout->values, sizeof *y);
    assert_true(w != NULL && g != NULL && stats != NULL && y != NULL);
    cc_task_init(task, w, stats);
    (void)cc_task_gradient(task, 0, 0, w, stats, g);
    *gradient = *lost = 0;
    for (size_t t = 0; t < layout->count; t++) {
        const float *x = g + layout->offset[t];
        size_t len;
        assert_int_equal(
            cc_codec_set_single(&set, c->spec, &layout->tensors[t].shape, &cc_memory_in_turn, NULL),
            CC_OK);
        const struct cc_codec_item *item = set.item;
        const struct cc_context ctx = {.tensor = t};
        assert_int_equal(cc_encode(&item->codec, &ctx, x, item->payload, item->bound, &len, NULL),
                         CC_OK);
        assert_int_equal(cc_decode(&item->codec, &ctx, item->payload, len, y, NULL), CC_OK);
        for (size_t i = 0; i < layout->tensors[t].shape.n; i++) {
            *gradient += (double)x[i] * (double)x[i];
            *lost += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        }
    }
    cc_codec_set_free(&set);
    free(w);
    free(g);
    free(y);
    free(stats);
    cc_task_close(task);
}

/* The residual after a step is what its encoding has left out, after a silent step the gradient;
 * without error feedback there is none. A model delta that is a multiple of what 3LC has decoded is
 * encoded without loss. */
static void residuals(void **state)
{
    struct cc_training_config c = usual("3lc"), none = usual("int8:ef=0"),
                              silent = usual("local:every=2,inner=(3lc)");
    double gradient, lost;
    (void)state;
    c.task.workers = none.task.workers = 1;
    c.steps = c.eval_every = none.steps = none.eval_every = 1;
    code_once(&c, &gradient, &lost);
    assert_true(lost > 0.01 * gradient);
    for (int deltas = 0; deltas < 2; deltas++) {
        c.deltas = deltas == 1;
        c.pull = c.deltas ? c.spec : c.raw;
        struct cc_training_result r = train(&c);
        assert_float_equal((float)last_of(&r)->residual, (float)sqrt(lost / gradient), 1e-5);
        assert_true(c.deltas ? last_of(&r)->pull_residual < 1e-5
                             : isnan(last_of(&r)->pull_residual));
        cc_training_free(&r);
    }
    silent.steps = silent.eval_every = 1;
    struct cc_training_result r = train(&silent);
    assert_true(fabs(last_of(&r)->residual - 1) < 1e-6);
    cc_training_free(&r);
    r = train(&none);
    assert_true(isnan(last_of(&r)->residual) && isnan(last_of(&r)->pull_residual));
    cc_training_free(&r);
    training_free(&c);
    training_free(&none);
    training_free(&silent);
}

/* A rate that is far too high: the training ends with the step and the reason. */
static void divergence(void **state)
{
    struct cc_training_config c = usual("3lc");
    (void)state;
    c.rate = (struct cc_rate_schedule){.kind = CC_RATE_CONSTANT, .rate = 1e6};
    struct cc_training_result r = train(&c);
    assert_true(r.diverged);
    assert_false(r.complete);
    assert_in_range(r.diverged_step, 1, 5);
    assert_true(r.reason[0] != '\0');
    assert_int_equal(steps_seen, r.diverged_step);
    cc_training_free(&r);
    training_free(&c);
}

/* By-class shards make the workers' batches differ, but all learn. */
static void shards(void **state)
{
    struct cc_training_config c = usual("fp32");
    (void)state;
    c.task.by_class = 2;
    struct cc_training_result r = train(&c);
    assert_true(last_of(&r)->accuracy > 0.7);
    cc_training_free(&r);
    training_free(&c);
}

/* Compressed training learns nearly what fp32 does, with the bytes that the codec makes. */
static void schemes_learn(void **state)
{
    static const struct {
        const char *scheme;
        double most_bits;
    } all[] = {{"int8", 8.5}, {"3lc", 1.7}, {"qsgd", 4.5}};
    struct cc_training_config base = usual("fp32");
    (void)state;
    struct cc_training_result fp32 = train(&base);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct cc_training_config c = usual(all[i].scheme);
        struct cc_training_result r = train(&c);
        const double values = last_of(&fp32)->push_bytes / 4;
        assert_true(last_of(&r)->accuracy > last_of(&fp32)->accuracy - 0.06);
        assert_true(8 * last_of(&r)->push_bytes / values < all[i].most_bits);
        cc_training_free(&r);
        training_free(&c);
    }
    cc_training_free(&fp32);
    training_free(&base);
}

static void refusals(void **state)
{
    struct cc_training_config c = usual("fp32");
    struct cc_training_result r = {0};
    struct cc_error e = {""};
    (void)state;
    c.task.net = "mlpp";
    assert_int_equal(cc_training_run(&c, &r, &e), CC_USAGE);
    c.task.net = "mlp:32";
    c.task.batch = 1000;
    assert_int_equal(cc_training_run(&c, &r, &e), CC_FAIL);
    assert_contains(e.text, "too few for 4 workers with batches of 1000");
    training_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_is_sgd),
        cmocka_unit_test(times_of_one_worker),
        cmocka_unit_test(workers_are_one_batch),
        cmocka_unit_test(copies),
        cmocka_unit_test(reproducible),
        cmocka_unit_test(silent_steps),
        cmocka_unit_test(residuals),
        cmocka_unit_test(divergence),
        cmocka_unit_test(shards),
        cmocka_unit_test(schemes_learn),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, training_setup, training_teardown);
}
