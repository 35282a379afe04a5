/* The argument of --scheme: canonical names, lists, sweeps and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "schemes/spec.h"

/* `text` parses to schemes with these canonical names, separated by blanks. */
static void expect(const char *text, const char *names)
{
    struct cc_spec_list list = {0};
    struct cc_error e = {""};
    char got[2048] = "";
    int status = cc_spec_list_parse(text, &list, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(status, CC_OK);
    for (size_t i = 0; i < list.count; i++) {
        size_t used = strlen(got);
        (void)snprintf(got + used, sizeof got - used, i == 0 ? "%s" : " %s", list.item[i]->name);
    }
    assert_string_equal(got, names);
    cc_spec_list_free(&list);
}

static void refuse(const char *text, const char *message)
{
    struct cc_spec_list list = {0};
    struct cc_error e = {""};
    assert_int_equal(cc_spec_list_parse(text, &list, &e), CC_USAGE);
    if (strstr(e.text, message) == NULL)
        fail_msg("'%s' is refused with '%s', not '%s'", text, e.text, message);
    cc_spec_list_free(&list);
}

static void canonical_names(void **state)
{
    (void)state;
    expect("fp32", "fp32");
    expect("3lc:s=1.0", "3lc");
    expect("3lc:s=1.75", "3lc:s=1.75");
    expect("3lc:zre=0,s=1.5", "3lc:s=1.5,zre=0");
    expect("sparse:select=exact,density=0.1", "sparse:density=0.1,select=exact");
    expect("qsgd:bits=8,bucket=8Ki", "qsgd:bits=8,bucket=8192");
    expect("topk:k=3000,bucket=8192", "topk:k=3000,bucket=8192");
    /* Shares in %, and of a bucket: 1% of 512 is 5.12, of 1,000 10, of 4,096 40.96. */
    expect("randk:density=5%", "randk:density=0.05");
    expect("topk:density=1%", "topk:k=6");
    expect("topk:bucket=1000,density=0.01", "topk:k=10,bucket=1000");
    expect("topk:density=3.125%/100%", "topk topk:k=512");
    expect("chunktopk:density=1%", "chunktopk:k=41");
    expect("local", "local");
    expect("local:inner=3lc", "local:inner=3lc");
    expect("local:every=4,inner=(3lc:s=1.75,zre=0)", "local:every=4,inner=(3lc:s=1.75,zre=0)");
}

static void lists_and_sweeps(void **state)
{
    (void)state;
    expect("3lc:s=1.75,zre=0,int8", "3lc:s=1.75,zre=0 int8");
    expect("3lc:s=1.0/1.5/1.75/1.9", "3lc 3lc:s=1.5 3lc:s=1.75 3lc:s=1.9");
    expect("3lc:s=1/1.5,zre=0/1", "3lc:zre=0 3lc 3lc:s=1.5,zre=0 3lc:s=1.5");
    expect("int8,fp16,int8", "int8 fp16");
    expect("local:inner=(3lc:s=1.5,zre=0),fp32", "local:inner=(3lc:s=1.5,zre=0) fp32");
    expect("paper", "fp32 int8 ternary mqe1bit sparse local 3lc 3lc:s=1.5 3lc:s=1.75 3lc:s=1.9");
}

/* "all" is the catalogue in its order; with its defaults, a scheme's name is its id. */
static void catalogue(void **state)
{
    (void)state;
    char ids[2048] = "";
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        size_t used = strlen(ids);
        (void)snprintf(ids + used, sizeof ids - used, i == 0 ? "%s" : " %s", cc_schemes[i]->id);
        expect(cc_schemes[i]->id, cc_schemes[i]->id);
    }
    expect("all", ids);
}

static void parameters_behind_a_scheme(void **state)
{
    (void)state;
    struct cc_spec_list list = {0}, group = {0};
    struct cc_error e = {""};
    assert_int_equal(cc_spec_list_parse("3lc,int8", &list, &e), CC_OK);
    assert_int_equal(cc_spec_list_parse("3lc", &group, &e), CC_OK);
    assert_int_equal(cc_spec_list_set(&group, "zre", "0/1", &e), CC_OK);
    assert_int_equal(cc_spec_list_set(&group, "bits", "4", &e), CC_USAGE);
    assert_int_equal(cc_spec_list_set(&group, "zre", "0", &e), CC_USAGE); /* for the second time */
    assert_int_equal(group.count, 2);
    assert_int_equal(cc_spec_list_move(&list, &group, &e), CC_OK);
    assert_int_equal(group.count, 0);
    assert_int_equal(list.count, 3); /* 3lc occurs twice */
    assert_string_equal(list.item[0]->name, "3lc");
    assert_string_equal(list.item[1]->name, "int8");
    assert_string_equal(list.item[2]->name, "3lc:zre=0");
    cc_spec_list_free(&list);
}

static void refused(void **state)
{
    (void)state;
    refuse("topk:density=0", "density=0: allowed is 0 < density <= 1");
    refuse("topk:density=101%", "density=101%: allowed is 0 < density <= 1");
    refuse("3lc:s=150%", "s=150%: allowed is 1 <= s < 2");
    refuse("topk:k=5,density=1%", "density is given twice");
    refuse("topk:density=1%,k=5", "k or density is given twice");
    refuse("topk:density=1%,bucket=1000", "write bucket before density");
    refuse("demo:density=1%", "no parameter 'density'");
    refuse("3lcc", "did you mean '3lc'");
    refuse("nonsense-scheme", "`commcomp schemes` lists them");
    refuse("3lc:t=1", "no parameter 't'");
    refuse("3lc:s=2", "allowed is 1 <= s < 2");
    refuse("3lc:s=1.5x", "allowed is");
    refuse("3lc:s=nan", "allowed is");
    refuse("3lc:s=", "allowed is");
    refuse("3lc:", "after ':'");
    refuse("3lc:zre=2", "0 or 1");
    refuse("s=1.5", "before any scheme");
    refuse("sparse:select=sampledd", "sampled|exact");
    refuse("fp32:s=1", "it has none");
    refuse("local:inner=all", "one scheme");
    refuse("", "unknown scheme ''");
    refuse("int8,,fp16", "unknown scheme ''");
    refuse("topk:k=600", "topk");
    refuse("3lc:s=0.9999999999", "allowed is 1 <= s < 2");
    refuse("3lc:s=1.5,s=1.6", "scheme 3lc: s is given twice");
    refuse("3lc:s=1.5/1.6,zre=0,s=1.7", "scheme 3lc: s is given twice");
    refuse("local:inner=(3lc:s=1.5,s=1.5)", "s is given twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_names), cmocka_unit_test(lists_and_sweeps),
        cmocka_unit_test(catalogue),       cmocka_unit_test(parameters_behind_a_scheme),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
