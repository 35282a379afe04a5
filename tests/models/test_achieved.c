/* Shares of line rates: their order, the row of a link, and a byte's time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/achieved.h"

static void shares_are_in_order(void **state)
{
    (void)state;
    for (const struct cc_achieved *a = cc_achieved_shares; a->name != NULL; a++) {
        assert_true(0 < a->low && a->low <= a->usual && a->usual <= a->high && a->high < 1);
        assert_non_null(a->source);
        if (a != cc_achieved_shares && a[-1].rdma == a->rdma)
            assert_true(a[-1].above_bps < a->above_bps);
    }
}

static void expect_row(const char *bw, bool classify, const char *name)
{
    struct cc_link l;
    struct cc_error e;
    assert_int_equal(cc_link_parse(bw, &l, &e), CC_OK);
    if (classify)
        cc_link_classify(&l);
    const struct cc_achieved *a = cc_achieved_of(&l);
    assert_true((a == NULL) == (name == NULL));
    if (name != NULL)
        assert_string_equal(a->name, name);
}

static void rows_of_links(void **state)
{
    (void)state;
    expect_row("1gbps", true, "tcp");
    expect_row("10gbps", true, "tcp");
    expect_row("100gbps", true, "rdma");
    expect_row("25gbps", false, "tcp-fast");
    expect_row("100gbps", false, "tcp-100");
    expect_row("infiniband", true, "rdma");
    expect_row("ethernet", true, "tcp");
    /* Measured by ping-pong: payload. */
    expect_row("sparcml-daint", true, NULL);
    struct cc_link l;
    struct cc_error e;
    assert_int_equal(cc_link_parse("1gbps", &l, &e), CC_OK);
    l.reduce_byte_s = 1e-10;
    assert_null(cc_achieved_of(&l));
}

/* 1 GB over 100 Gbit/s at half of the rate: 160 ms, whatever the headers. */
static void a_byte_at_a_share(void **state)
{
    (void)state;
    struct cc_link l;
    struct cc_error e;
    assert_int_equal(cc_link_parse("100gbps", &l, &e), CC_OK);
    l = cc_achieved_link(&l, 0.5);
    assert_true(fabs(1e9 * cc_link_byte_s(&l) - 0.160) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_in_order),
        cmocka_unit_test(rows_of_links),
        cmocka_unit_test(a_byte_at_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
