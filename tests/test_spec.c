/* The words of --scheme: canonical names, lists, sweeps, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "schemes/spec.h"

static void defaults(void **state)
{
    (void)state;
    struct cc_spec *s;
    assert_int_equal(cc_spec_parse("fp32", &s, NULL), CC_OK);
    assert_string_equal(s->name, "fp32");
    cc_spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
