/* Collectives of sharded states in one process: what arrives, by hand; and the counterexample to
 * parameters that are quantized themselves, which differences to a copy do not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/system.h"
#include "netsim/inprocess/collectives.h"
#include "tests/lib/training.h"

/* Units are cut into parts at multiples of 512 values. */
enum { WORKERS = 4, PER_HOST = 2, UNITS = 2, VALUES = UNITS * WORKERS * 512 };

struct fixture {
    struct cc_job job;
    struct cc_job_tensor tensor[UNITS];
    size_t offset[UNITS + 1];
    struct cc_message message[UNITS];
    struct cc_job_row row;
    struct cc_collective list[CC_MOST_COLLECTIVES];
    struct cc_spec *spec, *raw;
    struct cc_inprocess_collectives *x;
};

/* Tensors of half of the values each, in units of one. */
static void open_fixture(struct fixture *f, enum cc_system_id system, size_t values,
                         const char *scheme, const char *weights)
{
    static char name[] = "t", net[] = "net";
    const struct cc_collectives *c = &cc_systems[system].collectives;
    struct cc_error e = {""};
    *f = (struct fixture){.spec = training_spec(scheme), .raw = training_spec("fp32")};
    memcpy(f->list, c->item, (size_t)c->count * sizeof *f->list);
    for (size_t i = 0; i < UNITS; i++) {
        f->tensor[i] = (struct cc_job_tensor){.name = name, .shape = cc_shape_flat(values / UNITS)};
        f->offset[i + 1] = f->offset[i] + values / UNITS;
        f->message[i] = (struct cc_message){UNITS - 1 - i, UNITS - 1 - i};
    }
    f->row = (struct cc_job_row){.scheme = (char *)(uintptr_t)scheme,
                                 .reduction = cc_reduction(f->spec->scheme, f->spec->params),
                                 .period = 1,
                                 .steps = 1000,
                                 .message = f->message,
                                 .messages = UNITS};
    f->job = (struct cc_job){.exchange = CC_TWOSHOT,
                             .workers = WORKERS,
                             .per_host = PER_HOST,
                             .dense_bits = 32,
                             .seed = 3,
                             .data = true,
                             .tensor = f->tensor,
                             .tensors = UNITS,
                             .offset = f->offset,
                             .row = &f->row,
                             .rows = 1,
                             .training = {.net = net, .shards = CC_SHARDS_WEIGHTS},
                             .sharded = {.collective = f->list,
                                         .collectives = (size_t)c->count,
                                         .weights = (char *)(uintptr_t)weights}};
    if (cc_inprocess_collectives_open(&f->job, &f->row, f->spec, f->raw, &f->x, &e) != CC_OK)
        fail_msg("%s", e.text);
}

static void close_fixture(struct fixture *f)
{
    cc_inprocess_collectives_close(f->x);
    cc_spec_free(f->spec);
    cc_spec_free(f->raw);
}

static struct cc_inprocess_step play(struct fixture *f, int i, uint64_t step,
                                     const float *const *in, float *const *out)
{
    struct cc_inprocess_step sent = {.push_bytes = 0};
    assert_int_equal(cc_inprocess_collective(f->x, i, step, in, out, &sent, NULL), CC_OK);
    return sent;
}

/* hsdp: each worker ends with the mean over all of its half of each unit, the hosts alike, and all
 * gather both halves; the bytes are those of halves inside each host, and of a host's units. */
static void means_of_parts(void **state)
{
    (void)state;
    struct fixture f;
    static float gradient[WORKERS][VALUES], partial[WORKERS][VALUES];
    static float mean[WORKERS][VALUES], all[WORKERS][VALUES];
    const float *in[WORKERS];
    float *out[WORKERS];
    open_fixture(&f, CC_SYSTEM_HSDP, VALUES, "fp32", "fp32");
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < VALUES; i++)
            gradient[w][i] = (float)(i + 1) * (float)(1 << w);
    for (int w = 0; w < WORKERS; w++) {
        in[w] = gradient[w];
        out[w] = partial[w];
    }
    assert_int_equal(play(&f, 2, 0, in, out).push_bytes, WORKERS * VALUES / 2 * 4);
    for (int w = 0; w < WORKERS; w++) {
        in[w] = partial[w];
        out[w] = mean[w];
    }
    assert_int_equal(play(&f, 3, 0, in, out).push_bytes, 0);
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < VALUES; i++) {
            const bool own = i % (VALUES / UNITS) / (VALUES / UNITS / PER_HOST) == w % PER_HOST;
            assert_true(mean[w][i] == (own ? (float)(i + 1) * 15 / 4 : 0));
        }
    for (int w = 0; w < WORKERS; w++) {
        in[w] = mean[w];
        out[w] = all[w];
    }
    assert_int_equal(play(&f, 0, 0, in, out).pull_bytes, VALUES * 4);
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < VALUES; i++)
            assert_true(all[w][i] == (float)(i + 1) * 15 / 4);
    close_fixture(&f);
}

/* The gathered bytes depend on the parameters and the step alone: they are the same before both
 * passes, with rounding at random, and other ones in the next step. */
static void gathers_the_same_twice(void **state)
{
    (void)state;
    struct fixture f;
    static float own[VALUES], got[3][WORKERS][VALUES];
    const float *in[WORKERS];
    float *out[WORKERS];
    open_fixture(&f, CC_SYSTEM_FSDP, VALUES, "fp32", "int4");
    for (int i = 0; i < VALUES; i++)
        own[i] = sinf((float)i);
    for (int k = 0; k < 3; k++) {
        for (int w = 0; w < WORKERS; w++) {
            in[w] = own;
            out[w] = got[k][w];
        }
        (void)play(&f, k < 2 ? k : 0, k < 2 ? 5 : 6, in, out);
        for (int w = 1; w < WORKERS; w++)
            assert_memory_equal(got[k][w], got[k][0], sizeof got[k][0]);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    assert_memory_not_equal(got[0], got[2], sizeof got[0]);
    close_fixture(&f);
}

/* f = |w - t|^2 with t = (1, 0.3) for each two values, gathered as the nearest ternary numbers: 0.3
 * is not one of them beside 1, and a worker's gradients, of every other value, are at the copy.
 * Parameters that are gathered themselves stay away from t, by 0.09 of each pair at least, for
 * good; differences to the copy converge to it. */
static void differences_converge(void **state)
{
    enum { PAIRS = 8, ALL = 2 * PAIRS, STEPS = 500 };
    (void)state;
    double worst[2];
    for (int differences = 0; differences < 2; differences++) {
        float weights[ALL], copy[ALL], sent[ALL], gradient[WORKERS][ALL];
        const float *in[WORKERS];
        float *out[WORKERS], mean[ALL];
        struct fixture f;
        open_fixture(&f, CC_SYSTEM_FSDP, ALL, "fp32", "3lc:s=1,zre=0,ef=0");
        for (int i = 0; i < ALL; i++)
            weights[i] = copy[i] = i % 2 == 0 ? -1.0f : 0.7f;
        worst[differences] = INFINITY;
        for (uint64_t step = 0; step < STEPS; step++) {
            double loss = 0;
            for (int i = 0; i < ALL; i++)
                sent[i] = differences != 0 ? weights[i] - copy[i] : weights[i];
            if (differences == 0)
                memset(copy, 0, sizeof copy);
            for (int w = 0; w < WORKERS; w++) {
                in[w] = sent;
                out[w] = w == 0 ? copy : NULL;
            }
            (void)play(&f, 0, step, in, out);
            memset(mean, 0, sizeof mean);
            for (int i = 0; i < ALL; i++) {
                const float off = copy[i] - (i % 2 == 0 ? 1.0f : 0.3f);
                loss += (double)off * (double)off;
                for (int w = 0; w < WORKERS; w++)
                    gradient[w][i] = i % WORKERS == w ? WORKERS * 2 * off : 0;
            }
            for (int w = 0; w < WORKERS; w++) {
                in[w] = gradient[w];
                out[w] = mean;
            }
            (void)play(&f, 2, step, in, out);
            for (int i = 0; i < ALL; i++)
                weights[i] -= 0.05f * mean[i];
            if (step >= STEPS / 2 && !(loss > worst[differences]))
                worst[differences] = loss;
        }
        close_fixture(&f);
    }
    assert_true(worst[0] > 0.05 * PAIRS);
    assert_true(worst[1] < 1e-8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(means_of_parts),
                                       cmocka_unit_test(gathers_the_same_twice),
                                       cmocka_unit_test(differences_converge)};
    return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
