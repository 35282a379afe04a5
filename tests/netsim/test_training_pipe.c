/* Pipe-SGD in one process against the algorithm as the paper writes it (Li et al., NeurIPS 2018,
 * Algorithm 1), with all gradients in a list and momentum by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/inprocess/checkpoint.h"
#include "netsim/inprocess/training.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "tests/lib/training.h"

enum { STEPS = 12 };

static size_t steps_seen;

static struct cc_training_config usual(const char *scheme, size_t depth)
{
    struct cc_training_config c = training_usual(scheme, &steps_seen);
    c.exchange = CC_RING;
    c.deltas = false;
    c.mode = CC_PIPE;
    c.depth = depth;
    c.steps = c.rate.steps = STEPS;
    c.eval_every = 5;
    return c;
}

/* One worker's Algorithm 1: in step t, from 1 on, the sum of step t - K is applied, which is zero
 * up to step 0, and then the gradient is computed. Afterwards the last K sums are applied. Returns
 * the loss on the test samples. */
static double algorithm_1(const struct cc_training_config *c, float *w, size_t n)
{
    struct cc_task *task;
    double *v = calloc(n, sizeof *v);
    float *g = calloc((STEPS + 1) * n, sizeof *g);
    assert_true(v != NULL && g != NULL);
    assert_int_equal(cc_task_open(&c->task, &task, NULL), CC_OK);
    cc_task_init(task, w, NULL);
    for (size_t t = 1; t <= STEPS + c->depth; t++) {
        for (size_t i = 0; i < n && t > c->depth; i++) {
            v[i] = (double)c->optimizer.momentum * v[i] + (double)g[(t - c->depth) * n + i];
            w[i] -= (float)(cc_rate_at(&c->rate, t - c->depth - 1) * v[i]);
        }
        if (t <= STEPS)
            (void)cc_task_gradient(task, t - 1, 0, w, NULL, g + t * n);
    }
    const double loss = cc_task_test(task, w, NULL).loss;
    cc_task_close(task);
    free(g);
    free(v);
    return loss;
}

/* The copy of the parameters in a checkpoint. */
static size_t read_weights(const char *path, float *out, size_t most)
{
    struct cc_checkpoint_file f;
    size_t n = 0;
    assert_int_equal(cc_checkpoint_open(path, &f, NULL), CC_OK);
    for (size_t i = 0; i < f.contents.count; i++) {
        const struct cc_stored *t = &f.contents.tensors[i];
        if (strncmp(t->name, "weights.", 8) != 0)
            continue;
        assert_true(n + t->shape.n <= most);
        assert_int_equal(
            cc_stored_read(&f.file, path, CC_F32, t->offset, t->shape.n, out + n, NULL), CC_OK);
        n += t->shape.n;
    }
    cc_checkpoint_close(&f);
    return n;
}

static void is_algorithm_1(void **state)
{
    enum { MOST = 4096 };
    static const size_t depths[] = {2, 3, 5, 8};
    float got[MOST], want[MOST];
    for (size_t k = 0; k < sizeof depths / sizeof depths[0]; k++) {
        struct cc_training_config c = usual("fp32", depths[k]);
        c.task.workers = 1;
        const char *path = scratch_path(state, "end");
        c.checkpoint = path;
        c.checkpoint_every = STEPS;
        struct cc_training_result r = training_result(&c);
        const size_t n = read_weights(path, got, MOST);
        const double loss = algorithm_1(&c, want, n);
        double off = 0, norm = 0, one_late = 0;
        for (size_t i = 0; i < n; i++) {
            off += pow((double)got[i] - (double)want[i], 2);
            norm += pow((double)want[i], 2);
        }
        assert_true(n > 2000 && sqrt(off / norm) < 1e-6);
        assert_true(fabs(r.eval[r.evals - 1].loss - loss) < 1e-5 * loss);
        /* With one step more or less under way, the weights are others. */
        c.depth--;
        (void)algorithm_1(&c, want, n);
        for (size_t i = 0; i < n; i++)
            one_late += pow((double)got[i] - (double)want[i], 2);
        assert_true(sqrt(one_late / norm) > 1e-3);
        cc_training_free(&r);
        training_free(&c);
    }
}

static uint32_t weights_of(const struct cc_training_config *c)
{
    struct cc_training_result r = training_result(c);
    const uint32_t crc = r.weights_crc;
    assert_true(r.complete);
    cc_training_free(&r);
    return crc;
}

/* Only synchronous steps are sequential ones; of a scheme that sends every second step, too. */
static void synchronous_steps(void **state)
{
    static const char *const schemes[] = {"3lc", "local"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cc_training_config c = usual(schemes[i], 3);
        const uint32_t piped = weights_of(&c);
        c.sync_steps = STEPS;
        const uint32_t synchronous = weights_of(&c);
        c.sync_steps = 0;
        c.mode = CC_SEQUENTIAL;
        assert_int_equal(synchronous, weights_of(&c));
        assert_true(piped != synchronous);
        training_free(&c);
    }
}

/* Servers that apply the optimizer and send deltas make the same updates. */
static void through_servers(void **state)
{
    struct cc_training_config c = usual("fp32", 3);
    (void)state;
    c.exchange = CC_PS;
    struct cc_training_result mean = training_result(&c);
    c.deltas = true;
    struct cc_training_result deltas = training_result(&c);
    assert_float_equal((float)mean.eval[mean.evals - 1].loss,
                       (float)deltas.eval[deltas.evals - 1].loss, 1e-5);
    /* Until the end the server is two steps ahead of the workers. */
    assert_true(deltas.eval[0].loss != deltas.eval[0].worker_loss);
    assert_true(fabs(deltas.eval[0].worker_loss - mean.eval[0].loss) < 1e-5);
    assert_true(deltas.eval[deltas.evals - 1].loss == deltas.eval[deltas.evals - 1].worker_loss);
    cc_training_free(&mean);
    cc_training_free(&deltas);
    training_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_algorithm_1, scratch_setup, scratch_teardown),
        cmocka_unit_test(synchronous_steps),
        cmocka_unit_test(through_servers),
    };
    return cmocka_run_group_tests(tests, training_setup, training_teardown);
}
