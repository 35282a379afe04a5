/* Optimizers against steps worked out by hand, and schedules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/isa.h"
#include "tests/lib/data.h"
#include "tests/lib/number.h"
#include "train/math.h"
#include "train/optimizer.h"

/* A weight and a bias of one value each: the second is not decayed. */
static const struct cc_tensor_info two_tensors[] = {{"w", {1, {1}, 1}}, {"b", {1, {1}, 1}}};
static const struct cc_model_layout two = {
    .tensors = two_tensors,
    .offset = (const size_t[]){0, 1, 2},
    .role = (const enum cc_tensor_role[]){CC_TENSOR_WEIGHT, CC_TENSOR_BIAS},
    .count = 2,
    .values = 2};

/* Two steps with the gradient 2, then 1, of rate 0.5, from weights of 1. */
static void expect(struct cc_optimizer o, const double want[2][2])
{
    float w[] = {1, 1}, state[4] = {0};
    for (uint64_t step = 0; step < 2; step++) {
        float g[] = {step == 0 ? 2.0f : 1.0f, step == 0 ? 2.0f : 1.0f};
        cc_optimizer_apply(&o, &two, 0, 2, 0.5, step, g, w, state, 1);
        assert_true(fabs((double)w[0] - want[step][0]) < 1e-6);
        assert_true(fabs((double)w[1] - want[step][1]) < 1e-6);
    }
}

/* (3, 4) has the norm 5. */
static void clipped(void **state)
{
    (void)state;
    float g[] = {3, -4};
    cc_gradient_clip(g, 2, 0);
    cc_gradient_clip(g, 2, 5.1);
    assert_true(g[0] == 3 && g[1] == -4);
    cc_gradient_clip(g, 2, 1);
    assert_true(fabs((double)g[0] - 0.6) < 1e-6 && fabs((double)g[1] + 0.8) < 1e-6);
}

static void sgd_by_hand(void **state)
{
    (void)state;
    struct cc_optimizer o = {.kind = CC_SGD};
    expect(o, (const double[2][2]){{0, 0}, {-0.5, -0.5}});
    o.decay = 0.25f; /* 1 - 0.5 x 2.25 = -0.125; -0.125 - 0.5 x 0.96875 */
    expect(o, (const double[2][2]){{-0.125, 0}, {-0.609375, -0.5}});
    o.decay = 0;
    o.momentum = 0.5f; /* v = 2, then 0.5 x 2 + 1 = 2 */
    expect(o, (const double[2][2]){{0, 0}, {-1, -1}});
    o.nesterov = true; /* 1 - 0.5 (2 + 0.5 x 2), then - 0.5 (1 + 0.5 x 2) */
    expect(o, (const double[2][2]){{-0.5, -0.5}, {-1.5, -1.5}});
}

/* m = 0.2, 0.28 and v = 0.004, 0.004996; unbiased 2 and 4 in step 1, in step 2 0.28 / 0.19 and
 * 0.004996 / 0.001999. */
static void adam_by_hand(void **state)
{
    (void)state;
    struct cc_optimizer o = {.kind = CC_ADAM, .beta = {0.9f, 0.999f}, .small = 1e-8f};
    double second = 0.5 * (0.28 / 0.19) / sqrt(0.004996 / 0.001999);
    expect(o, (const double[2][2]){{0.5, 0.5}, {0.5 - second, 0.5 - second}});
    o.kind = CC_ADAMW;
    o.decay = 0.1f; /* 1 x 0.95 - 0.5; times 0.95 again */
    expect(o, (const double[2][2]){{0.45, 0.5}, {0.45 * 0.95 - second, 0.5 - second}});
    /* Added to the gradient: with 2.1 the first step is 0.5 all the same. */
    o.kind = CC_ADAM;
    double m = 0.9 * 0.21 + 0.1 * 1.05, v = 0.999 * 0.00441 + 0.001 * 1.1025;
    expect(o, (const double[2][2]){{0.5, 0.5},
                                   {0.5 - 0.5 * (m / 0.19) / sqrt(v / 0.001999), 0.5 - second}});
}

/* The gradient falls behind momentum and decay: v = 2, then 0.5 x 2 - 1 = 0, whose sign is 0. */
static void signum_by_hand(void **state)
{
    (void)state;
    const float slope[] = {2, -1, -4};
    const double want[2][3] = {{0.5, 1, 1.5}, {0.5, 0.5, 1}};
    for (int momentum = 0; momentum < 2; momentum++) {
        const struct cc_optimizer o = {.kind = CC_SIGNUM, .momentum = momentum ? 0.5f : 0};
        float w[] = {1, 1}, v[2] = {0, 0};
        for (uint64_t step = 0; step < 3; step++) {
            const float g[] = {slope[step], slope[step]};
            cc_optimizer_apply(&o, &two, 0, 2, 0.5, step, g, w, momentum ? v : NULL, 1);
            assert_true((double)w[0] == want[momentum][step] && w[1] == w[0]);
        }
    }
    /* 1 x (1 - 0.5 x 0.25) - 0.5, then 0.375 x 0.875 - 0.5; a bias does not decay. */
    expect((struct cc_optimizer){.kind = CC_SIGNUM, .decay = 0.25f},
           (const double[2][2]){{0.375, 0.5}, {-0.171875, 0}});
}

/* Part by part is as all at once, on every instruction set and with threads. */
static void same_bits(void **state)
{
    (void)state;
    enum { N = 150001, M = 33 };
    static const size_t part[] = {0, 1003, N + 5, N + M};
    static float weights[2][N + M], moments[2][2 * (N + M)], gradient[N + M];
    const struct cc_tensor_info tensors[] = {{"w", {N, {N}, 1}}, {"b", {M, {M}, 1}}};
    const struct cc_model_layout layout = {.tensors = tensors,
                                           .offset = (const size_t[]){0, N, N + M},
                                           .role = two.role,
                                           .count = 2,
                                           .values = N + M};
    static const struct cc_optimizer all[] = {
        {.kind = CC_SGD, .decay = 0.01f},
        {.kind = CC_SGD, .momentum = 0.9f, .decay = 0.01f},
        {.kind = CC_SGD, .momentum = 0.9f, .nesterov = true},
        {.kind = CC_ADAM, .beta = {0.9f, 0.99f}, .small = 1e-8f, .decay = 0.01f},
        {.kind = CC_ADAMW, .beta = {0.9f, 0.99f}, .small = 1e-8f, .decay = 0.01f},
        {.kind = CC_SIGNUM, .decay = 0.01f},
        {.kind = CC_SIGNUM, .momentum = 0.9f}};
    enum cc_isa before = cc_isa();
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (int isa = 0; isa < CC_ISAS; isa++) {
            for (int other = 0; other < 2; other++) {
                if (other == 1)
                    cc_isa_force((enum cc_isa)isa);
                data_fill(DATA_GAUSSIAN, 1, weights[other], N + M);
                memset(moments[other], 0, sizeof moments[other]);
                for (uint64_t step = 0; step < 3; step++) {
                    data_fill(DATA_GAUSSIAN, 2 + step, gradient, N + M);
                    for (size_t i = 0; i < (other ? 3 : 1); i++) {
                        const size_t from = other ? part[i] : 0, to = other ? part[i + 1] : N + M;
                        cc_optimizer_apply(&all[k], &layout, from, to, 0.1, step, gradient + from,
                                           weights[other], moments[other], other ? 3 : 1);
                    }
                }
                cc_isa_force(before);
            }
            assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
            assert_memory_equal(moments[0], moments[1], sizeof moments[0]);
        }
}

static void state_sizes(void **state)
{
    (void)state;
    assert_int_equal(cc_optimizer_state(&(struct cc_optimizer){.kind = CC_SGD}, 7), 0);
    assert_int_equal(
        cc_optimizer_state(&(struct cc_optimizer){.kind = CC_SGD, .momentum = 0.9f}, 7), 7);
    assert_int_equal(cc_optimizer_state(&(struct cc_optimizer){.kind = CC_ADAMW}, 7), 14);
    assert_int_equal(cc_optimizer_state(&(struct cc_optimizer){.kind = CC_SIGNUM}, 7), 0);
}

static void schedules(void **state)
{
    (void)state;
    struct cc_rate_schedule s = {.kind = CC_RATE_CONSTANT, .rate = 0.4, .steps = 108, .warmup = 8};
    assert_true(cc_rate_at(&s, 0) == 0.4 / 8);
    assert_true(cc_rate_at(&s, 3) == 0.2);
    assert_true(cc_rate_at(&s, 7) == 0.4);
    assert_true(cc_rate_at(&s, 107) == 0.4);
    s.kind = CC_RATE_COSINE;
    s.last = 0.1;
    assert_true(cc_rate_at(&s, 3) == 0.2);
    close_to(cc_rate_at(&s, 8), 0.4, 1e-12, "the first step after the warm-up");
    close_to(cc_rate_at(&s, 33), 0.25 + 0.15 * sqrt(0.5), 1e-12, "a quarter");
    close_to(cc_rate_at(&s, 58), 0.25, 1e-12, "half");
    close_to(cc_rate_at(&s, 108), 0.1, 1e-12, "the end");
    close_to(cc_rate_at(&s, 1000), 0.1, 1e-12, "after the end");
    s.kind = CC_RATE_STEP;
    s.factor = 0.1;
    s.drops[0] = 50;
    s.drops[1] = 75;
    s.drop_count = 2;
    close_to(cc_rate_at(&s, 49), 0.4, 1e-12, "before the drops");
    close_to(cc_rate_at(&s, 50), 0.04, 1e-12, "at the first drop");
    close_to(cc_rate_at(&s, 75), 0.004, 1e-12, "at the second drop");
}

static void functions(void **state)
{
    (void)state;
    for (double x = -690; x < 690; x += 0.37)
        close_to(cc_train_exp(x), exp(x), 1e-14, "exp");
    assert_true(cc_train_exp(0) == 1 && isnan(cc_train_exp(NAN)));
    assert_true(cc_train_exp(-1e30) < 1e-300 && cc_train_exp(1e30) > 1e300);
    for (double x = 0; x <= 1; x += 0.01)
        assert_true(fabs(cc_train_cos_pi(x) - cos(3.141592653589793 * x)) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clipped),      cmocka_unit_test(sgd_by_hand),
        cmocka_unit_test(adam_by_hand), cmocka_unit_test(signum_by_hand),
        cmocka_unit_test(same_bits),    cmocka_unit_test(state_sizes),
        cmocka_unit_test(schedules),    cmocka_unit_test(functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
