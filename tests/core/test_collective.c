/* Plans of steps, action by action, and the exchanges of collectives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/collective.h"

static const struct cc_collectives fsdp = {
    {{.what = CC_MOVES_PARAMETERS, .op = CC_ALL_GATHER, .when = CC_WHEN_FORWARD},
     {.what = CC_MOVES_PARAMETERS, .op = CC_ALL_GATHER, .when = CC_WHEN_BACKWARD},
     {.what = CC_MOVES_GRADIENTS, .op = CC_REDUCE_SCATTER, .when = CC_WHEN_COMPUTED}},
    3};
static const struct cc_collectives zero1 = {
    {{.what = CC_MOVES_PARAMETERS, .op = CC_ALL_GATHER, .when = CC_WHEN_UPDATED},
     {.what = CC_MOVES_GRADIENTS,
      .op = CC_REDUCE_SCATTER,
      .when = CC_WHEN_COMPUTED,
      .role = CC_ROLE_GRADIENT,
      .last = true}},
    2};

/* "s0 w0 F0 ...": starts and waits of messages, and units forward and backward. */
static void plan_is(const struct cc_collectives *c, size_t units, int micro_steps, bool overlaps,
                    const char *should)
{
    static const char letter[] = {'F', 'B', 's', 'w', 'U'};
    struct cc_step_plan p;
    char text[1024] = "";
    size_t at = 0;
    assert_int_equal(cc_step_plan_make(c, units, micro_steps, overlaps, &p, NULL), CC_OK);
    for (size_t i = 0; i < p.count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%c%zu", i > 0 ? " " : "",
                               letter[p.action[i].act], p.action[i].item);
    assert_string_equal(text, should);
    cc_step_plan_free(&p);
}

static void plans(void **state)
{
    (void)state;
    plan_is(&fsdp, 2, 1, true, "s0 s1 w0 F0 w1 F1 s3 s2 w3 B1 s5 w2 B0 s4 w5 w4 U0");
    plan_is(&fsdp, 2, 1, false, "s0 w0 F0 s1 w1 F1 s3 w3 B1 s5 w5 s2 w2 B0 s4 w4 U0");
    plan_is(&zero1, 2, 2, true, "s0 s1 w0 w1 F0 F1 B1 B0 F0 F1 B1 s3 B0 s2 w3 w2 U0");
    struct cc_collectives ahead = zero1;
    ahead.item[0].ahead = true;
    plan_is(&ahead, 2, 1, true, "s0 s1 w0 F0 w1 F1 B1 s3 B0 s2 w3 w2 U0");
}

static void counts(void **state)
{
    (void)state;
    assert_int_equal(cc_collective_times(&fsdp.item[0], 4), 4);
    assert_int_equal(cc_collective_times(&fsdp.item[2], 4), 4);
    assert_int_equal(cc_collective_times(&zero1.item[0], 4), 1);
    assert_int_equal(cc_collective_times(&zero1.item[1], 4), 1);
}

static void exchanges(void **state)
{
    (void)state;
    struct cc_collective scatter = fsdp.item[2], host = fsdp.item[0];
    assert_int_equal(cc_collective_exchange(&scatter, CC_RING, true, false), CC_RING);
    assert_int_equal(cc_collective_exchange(&scatter, CC_RING, true, true), CC_TWOSHOT);
    assert_int_equal(cc_collective_exchange(&fsdp.item[0], CC_RING, true, true), CC_RING);
    assert_int_equal(cc_collective_exchange(&scatter, CC_HIERARCHICAL, true, true),
                     CC_HIERARCHICAL);
    scatter.levels = true;
    assert_int_equal(cc_collective_exchange(&scatter, CC_RING, true, true), CC_HIERARCHICAL);
    assert_int_equal(cc_collective_exchange(&scatter, CC_RING, false, true), CC_TWOSHOT);
    assert_int_equal(cc_collective_exchange(&scatter, CC_RING, true, false), CC_RING);
    host.among = CC_AMONG_HOST;
    assert_int_equal(cc_collective_exchange(&host, CC_HIERARCHICAL, true, false), CC_TWOSHOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(counts),
                                       cmocka_unit_test(exchanges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
