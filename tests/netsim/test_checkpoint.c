/* Checkpoints: a training that continues from one ends as if it had not been interrupted, with
 * every scheme and exchange; and damaged ones are refused, wherever the damage is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/scratch.h"
#include "tests/lib/settings.h"
#include "tests/lib/text.h"
#include "tests/lib/tier.h"
#include "tests/lib/training.h"

/* Copies the checkpoint after the step before which a process would have been killed. */
struct copier {
    void **state;
    const char *path;
    size_t steps, at;
};

static void copy_at(void *arg, const char *scheme, size_t steps, double loss, double accuracy)
{
    struct copier *c = arg;
    size_t size;
    (void)scheme, (void)loss, (void)accuracy;
    c->steps += steps;
    if (c->steps != c->at)
        return;
    void *bytes = scratch_read(c->path, &size);
    (void)scratch_write(c->state, "copy.safetensors", bytes, size);
    free(bytes);
}

static struct cc_training_config short_training(const char *scheme, struct copier *copier)
{
    struct cc_training_config c = training_usual(scheme, NULL);
    c.task.net = "mlp:12";
    c.steps = 11;
    c.rate.steps = 11;
    c.eval_every = 4;
    c.checkpoint_every = 3;
    c.progress = copy_at;
    c.arg = copier;
    return c;
}

static void assert_same(const struct cc_training_result *a, const struct cc_training_result *b)
{
    assert_true(a->complete && b->complete);
    assert_int_equal(a->weights_crc, b->weights_crc);
    assert_int_equal(a->evals, b->evals);
    for (size_t i = 0; i < a->evals; i++) {
        const struct cc_evaluation *x = &a->eval[i], *y = &b->eval[i];
        assert_int_equal(x->step, y->step);
        assert_true(x->loss == y->loss && x->accuracy == y->accuracy);
        assert_true(x->worker_loss == y->worker_loss && x->train_loss == y->train_loss &&
                    x->train_accuracy == y->train_accuracy);
        assert_true(x->push_bytes == y->push_bytes && x->pull_bytes == y->pull_bytes);
        assert_true(x->residual == y->residual || (isnan(x->residual) && isnan(y->residual)));
        assert_true(x->pull_residual == y->pull_residual ||
                    (isnan(x->pull_residual) && isnan(y->pull_residual)));
    }
}

/* Trains without checkpoints, with them, and from the one of step 6 on, which has come between two
 * evaluations. */
static void resume(void **state, struct cc_training_config c)
{
    struct copier copier = {.state = state, .path = scratch_path(state, "a.safetensors"), .at = 8};
    char *first = strdup(copier.path), *second = strdup(scratch_path(state, "copy.safetensors"));
    copier.path = first;
    c.arg = &copier;
    copier.at = SIZE_MAX;
    struct cc_training_result want = training_result(&c);
    copier.at = 8;
    copier.steps = 0;
    c.checkpoint = first;
    struct cc_training_result got = training_result(&c);
    assert_same(&want, &got);
    cc_training_free(&got);
    c.checkpoint = second;
    c.resume = true;
    copier.steps = 0;
    copier.at = SIZE_MAX;
    got = training_result(&c);
    assert_int_equal(got.resumed, 6);
    assert_int_equal(copier.steps, 11);
    assert_same(&want, &got);
    cc_training_free(&got);
    /* A complete training has nothing left to do. */
    got = training_result(&c);
    assert_same(&want, &got);
    cc_training_free(&got);
    cc_training_free(&want);
    free(first);
    free(second);
}

static void every_scheme(void **state)
{
    size_t tried = 0;
    for (size_t i = 0; settings[i] != NULL; i++) {
        struct cc_spec *spec = setting_open(settings[i]);
        const struct cc_codec codec = {
            .scheme = spec->scheme, .params = spec->params, .shape = cc_shape_flat(1001)};
        assert_int_equal(cc_state_bytes(&codec) % sizeof(float), 0);
        if (i % tier_pick(4, 2, 1) == 0) {
            struct cc_training_config c = short_training(settings[i], NULL);
            resume(state, c);
            training_free(&c);
            tried++;
        }
        cc_spec_free(spec);
    }
    assert_true(tried > 5);
}

static void every_exchange(void **state)
{
    static const enum cc_exchange exchanges[] = {CC_PS, CC_RING, CC_RECDOUBLE, CC_RABENSEIFNER,
                                                 CC_ALLGATHER};
    static const char *const schemes[] = {"3lc", "powersgd:rank=2", "qsgd", "local:inner=(int8)"};
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
        for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
            struct cc_training_config c = short_training(schemes[k], NULL);
            c.exchange = exchanges[i];
            c.deltas = false;
            resume(state, c);
            training_free(&c);
        }
}

/* Batch normalization, augmentation, Adam. */
static void every_state(void **state)
{
    struct cc_training_config c = short_training("3lc", NULL);
    c.task.net = "resnet8:width=2";
    c.task.flip = true;
    c.task.shift = 1;
    c.optimizer = (struct cc_optimizer){.kind = CC_ADAM, .beta = {0.9f, 0.999f}, .small = 1e-8f};
    c.rate.rate = 0.01;
    resume(state, c);
    training_free(&c);
}

/* Pipelines, with results under way, with steps before the pipeline, and with sums that servers
 * send as deltas. */
static void every_pipeline(void **state)
{
    static const size_t sync_steps[] = {0, 4, 6, 7};
    for (size_t depth = 2; depth <= 5; depth++) {
        struct cc_training_config c = short_training("3lc", NULL);
        c.exchange = depth % 2 == 0 ? CC_PS : CC_RING;
        c.deltas = depth % 2 == 0;
        c.mode = CC_PIPE;
        c.depth = depth;
        c.sync_steps = sync_steps[depth - 2];
        resume(state, c);
        training_free(&c);
    }
}

static char *fail_to_resume(const struct cc_training_config *c)
{
    static struct cc_error e;
    struct cc_training_result r = {0};
    assert_int_equal(cc_training_run(c, &r, &e), CC_FAIL);
    cc_training_free(&r);
    return e.text;
}

static void damage(void **state)
{
    struct copier copier = {.at = SIZE_MAX};
    struct cc_training_config c = short_training("3lc", &copier);
    size_t size;
    char *path = strdup(scratch_path(state, "whole.safetensors"));
    c.checkpoint = path;
    struct cc_training_result r = training_result(&c);
    cc_training_free(&r);
    uint8_t *bytes = scratch_read(path, &size);
    c.resume = true;
    for (size_t at = 0; at < size; at += at < 9000 ? tier_pick(61, 13, 7) : 997) {
        bytes[at] ^= 0x04;
        c.checkpoint = scratch_write(state, "bad.safetensors", bytes, size);
        assert_contains(fail_to_resume(&c), "bad.safetensors: ");
        bytes[at] ^= 0x04;
    }
    for (size_t length = 0; length < size; length += length < 64 ? 7 : size / 9) {
        c.checkpoint = scratch_write(state, "bad.safetensors", bytes, length);
        assert_contains(fail_to_resume(&c), "bad.safetensors: ");
    }
    /* The last tensor's last byte: the message names it, and where it begins. */
    bytes[size - 1] ^= 1;
    c.checkpoint = scratch_write(state, "bad.safetensors", bytes, size);
    assert_contains(fail_to_resume(&c), "tensor 'codec.4.0.fc2.bias.0', from byte ");
    assert_contains(fail_to_resume(&c), "it is damaged");
    free(bytes);
    /* Other settings. */
    c.checkpoint = path;
    c.task.batch = 8;
    assert_contains(fail_to_resume(&c), "another training, with 'batch 16' and not 'batch 8'");
    training_free(&c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_scheme, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(every_exchange, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(every_state, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(every_pipeline, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(damage, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, training_setup, training_teardown);
}
