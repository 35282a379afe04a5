/* States of a worker, by hand from ZeRO's section 3.1 and figure 1, and devices' memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#include "models/memory.h"

static struct cc_error e;

static void near(double got, double want)
{
    assert_true(fabs(got / want - 1) < 1e-12);
}

/* ZeRO, figure 1: 7.5 billion parameters with mixed-precision Adam, 64 workers: 120 GB; 31.4, 16.6
 * and 1.9 GB as optimizer, gradients and parameters are divided. */
static void zero_figure(void **state)
{
    (void)state;
    static const double gb[] = {120, 31.4, 16.6, 1.9};
    for (int level = 0; level < 4; level++) {
        const struct cc_memory_plan p = {.type_bytes = 2,
                                         .moments = CC_MOMENTS_ADAM,
                                         .sharding = (enum cc_sharding)level,
                                         .group = 64};
        const struct cc_memory m = cc_memory_states(7.5e9, &p);
        assert_true(fabs(m.total / 1e9 - gb[level]) < 0.051);
        near(m.total, m.parameters + m.gradients + m.optimizer);
    }
}

static void by_hand(void **state)
{
    (void)state;
    struct cc_memory_plan p = {.type_bytes = 2, .moments = CC_MOMENTS_ADAM, .group = 32};
    struct cc_memory m = cc_memory_states(1000, &p);
    near(m.parameters, 2000);
    near(m.gradients, 2000);
    near(m.optimizer, 12000); /* 4 of the copy, 8 of the moments */
    assert_true(m.residuals == 0);
    /* float32 keeps no copy. */
    p = (struct cc_memory_plan){.type_bytes = 4, .moments = CC_MOMENTS_MOMENTUM, .residuals = 1};
    m = cc_memory_states(1000, &p);
    near(m.optimizer, 4000);
    near(m.residuals, 4000);
    near(m.total, 16000);
    p.moments = CC_MOMENTS_NONE;
    assert_true(cc_memory_states(1000, &p).optimizer == 0);
}

/* Llama 2 7B (6,738,415,616 parameters) with Adam on an H100: 107.8 GB of 80; on 32 of them the
 * optimizer's states fit once they are divided: 27 + 80.9 / 32 GB. */
static void fits(void **state)
{
    (void)state;
    struct cc_net *net;
    struct cc_device *d;
    enum cc_sharding least;
    struct cc_memory_plan p = {.type_bytes = 2, .moments = CC_MOMENTS_ADAM, .group = 32};
    assert_int_equal(cc_net_open("llama2-7b", &net, &e), CC_OK);
    assert_int_equal(cc_device_open("h100", &d, &e), CC_OK);
    const double n = (double)net->values, room = cc_device_memory_bytes(d);
    near(room, 80e9);
    near(cc_memory_states(n, &p).total, 16 * 6738415616.0);
    assert_true(cc_memory_states(n, &p).total > room);
    assert_true(cc_memory_least_sharding(n, &p, room, &least));
    assert_int_equal(least, CC_SHARDING_OPTIMIZER);
    assert_true(cc_memory_least_sharding(n, &p, 27e9, &least));
    assert_int_equal(least, CC_SHARDING_GRADIENTS);
    assert_true(cc_memory_least_sharding(n, &p, 3.5e9, &least));
    assert_int_equal(least, CC_SHARDING_PARAMETERS);
    assert_false(cc_memory_least_sharding(n, &p, 3e9, &least));
    p.group = 1; /* nobody to divide them with */
    assert_false(cc_memory_least_sharding(n, &p, room, &least));
    cc_net_free(net);
    cc_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_figure),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
