/* Trainings with shards in one process against those without: the same exchange, where every worker
 * applies the mean gradient to all values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "models/system.h"
#include "tests/lib/text.h"
#include "tests/lib/training.h"

static size_t steps_seen;

static struct cc_training_config usual(const char *scheme, const char *weights,
                                       enum cc_shards shards)
{
    struct cc_training_config c = training_usual(scheme, &steps_seen);
    c.exchange = CC_HIERARCHICAL;
    c.per_host = 2;
    c.deltas = false;
    c.shards = shards;
    c.gather = shards != CC_SHARDS_NONE ? weights : NULL;
    c.optimizer = (struct cc_optimizer){
        .kind = CC_ADAMW, .beta = {0.9f, 0.99f}, .small = 1e-8f, .decay = 0.01f};
    c.rate.rate = 0.01;
    return c;
}

static struct cc_evaluation last_of(const struct cc_training_config *c, uint32_t *crc)
{
    struct cc_training_result r = training_result(c);
    assert_true(r.complete && r.evals > 0);
    const struct cc_evaluation v = r.eval[r.evals - 1];
    *crc = r.weights_crc;
    cc_training_free(&r);
    return v;
}

/* As floats, sums are made in the same order, and all values of the parameters arrive: the same
 * weights, bit for bit, by parameters and by differences, step by step and tensor by tensor. */
static void floats_are_the_same(void **state)
{
    static const enum cc_step_mode modes[] = {CC_SEQUENTIAL, CC_OVERLAP};
    (void)state;
    for (int m = 0; m < 2; m++)
        for (int sgd = 0; sgd < 2; sgd++) {
            uint32_t want, crc;
            double loss = 0;
            for (int s = CC_SHARDS_NONE; s <= CC_SHARDS_DIFFERENCES; s++) {
                struct cc_training_config c = usual("fp32", "fp32", (enum cc_shards)s);
                c.mode = modes[m];
                if (sgd != 0)
                    c.optimizer = (struct cc_optimizer){.momentum = 0.9f};
                const struct cc_evaluation v = last_of(&c, &crc);
                if (s == CC_SHARDS_NONE) {
                    want = crc;
                    loss = v.loss;
                } else if (s == CC_SHARDS_WEIGHTS) {
                    assert_int_equal(crc, want);
                    assert_true(v.loss == loss && v.worker_loss == loss);
                    assert_true(v.pull_bytes > 0);
                } else { /* a difference is rounded once more */
                    assert_true(fabs(v.loss - loss) < 1e-5);
                }
                training_free(&c);
            }
        }
}

/* The norm of all shards is that of the whole gradient, by which it is clipped. */
static void clips_by_all_shards(void **state)
{
    (void)state;
    double loss[3];
    uint32_t crc;
    for (int i = 0; i < 3; i++) {
        struct cc_training_config c =
            usual("fp32", "fp32", i == 0 ? CC_SHARDS_NONE : CC_SHARDS_WEIGHTS);
        c.optimizer = (struct cc_optimizer){.momentum = 0.9f};
        c.rate.rate = 0.1;
        c.clip = i < 2 ? 0.2 : 0;
        loss[i] = last_of(&c, &crc).loss;
        training_free(&c);
    }
    assert_true(fabs(loss[1] - loss[0]) < 1e-5);
    assert_true(fabs(loss[2] - loss[0]) > 1e-2);
}

/* What int4 withholds of parameters is lost to the copy that workers compute with; of differences
 * it is in the next ones, so that both copies are nearly the same. */
static void copies(void **state)
{
    static const char weights[] = "int4:block=512,rounding=nearest";
    (void)state;
    uint32_t crc;
    struct cc_training_config whole = usual("fp32", weights, CC_SHARDS_WEIGHTS),
                              differences = usual("fp32", weights, CC_SHARDS_DIFFERENCES),
                              none = usual("fp32", weights, CC_SHARDS_NONE);
    const struct cc_evaluation w = last_of(&whole, &crc), d = last_of(&differences, &crc),
                               n = last_of(&none, &crc);
    assert_true(fabs(d.loss - d.worker_loss) < 0.01 * fabs(w.loss - w.worker_loss));
    assert_true(fabs(d.loss - n.loss) < 0.2 * fabs(w.worker_loss - n.loss));
    /* 4 bits a value, and 16 for each of up to 512. */
    const double values = n.push_bytes / 4;
    assert_true(8 * w.pull_bytes / values < 4.2 && 8 * w.pull_bytes / values > 4);
    assert_true(d.pull_bytes == w.pull_bytes);
    /* Inside its host a worker keeps half of its gradient. */
    assert_true(fabs(w.push_bytes / values / 4 - 0.75) < 0.26);
    training_free(&whole);
    training_free(&differences);
    training_free(&none);
}

/* The same where parameters are divided, too, in units of a tensor: with floats the losses of
 * whole steps, but for the order of sums, also clipped and inside hosts; what int4 withholds of
 * parameters is missing in the copy, and of differences it is not. */
static void divided(void **state)
{
    static const char weights[] = "int4:block=512,rounding=nearest";
    static const enum cc_system_id systems[] = {CC_SYSTEM_FSDP, CC_SYSTEM_HSDP};
    (void)state;
    uint32_t crc;
    for (int i = 0; i < 2; i++) {
        double gap[2];
        struct cc_training_config c = usual("fp32", "fp32", CC_SHARDS_NONE);
        c.clip = 0.2;
        const double whole = last_of(&c, &crc).loss;
        c.exchange = CC_TWOSHOT;
        c.messages = 4;
        c.message = (const struct cc_message[]){{3, 3}, {2, 2}, {1, 1}, {0, 0}};
        c.collectives = cc_systems[systems[i]].collectives;
        c.shards = CC_SHARDS_WEIGHTS;
        c.gather = "fp32";
        const struct cc_evaluation v = last_of(&c, &crc);
        assert_true(fabs(v.loss - whole) < 1e-5 && v.worker_loss == v.loss);
        for (int k = 0; k < 2; k++) {
            c.gather = weights;
            c.shards = k == 0 ? CC_SHARDS_WEIGHTS : CC_SHARDS_DIFFERENCES;
            if (k == 1)
                assert_true(cc_collectives_keep(&c.collectives));
            const struct cc_evaluation q = last_of(&c, &crc);
            gap[k] = fabs(q.loss - q.worker_loss);
            /* The raw tensors' 32 bits are those of few values; gathered twice, then once. */
            assert_true(fabs(q.pull_bytes / v.pull_bytes * (k == 0 ? 1 : 2) - 4.1 / 32) < 0.01);
        }
        assert_true(gap[1] < 0.01 * gap[0]);
        training_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floats_are_the_same),
                                       cmocka_unit_test(clips_by_all_shards),
                                       cmocka_unit_test(copies), cmocka_unit_test(divided)};
    return cmocka_run_group_tests_name("shards", tests, training_setup, training_teardown);
}
