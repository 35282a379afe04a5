/* Published tables with changed numbers, names or quantities: the errors name the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "models/paper/paper.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "tests/lib/tier.h"

static struct cc_paper *open_table(const char *name)
{
    struct cc_paper *p;
    struct cc_error e;
    if (cc_paper_open(name, &p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

static struct cc_paper *solved(struct cc_paper *p)
{
    struct cc_error e;
    if (cc_paper_solve(p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

/* A built-in table with the first `from` in it replaced, as a user's file might be. The caller
 * frees it. */
static char *changed(const char *table, const char *from, const char *to)
{
    struct cc_paper *p = open_table(table);
    char *whole = cJSON_PrintUnformatted(p->json);
    cc_paper_free(p);
    assert_non_null(whole);
    const char *at = strstr(whole, from);
    if (at == NULL) {
        fail_msg("%s has no %s", table, from);
        abort(); /* not reached: for analyzers */
    }
    size_t before = (size_t)(at - whole), cap = strlen(whole) + strlen(to) + 1;
    char *out = malloc(cap);
    assert_non_null(out);
    (void)snprintf(out, cap, "%.*s%s%s", (int)before, whole, to, at + strlen(from));
    free(whole);
    return out;
}

static void numbers_and_names(void **state)
{
    (void)state;
    static const struct {
        const char *table, *from, *to, *message;
    } bad[] = {
        {"thesis-placement", "\"given\",\"value\":4", "\"given\",\"value\":0",
         "constant \"machines\": formula 'placement': \"machines\" is a whole number from 1 to "
         "4096, not 0"},
        {"thesis-placement", "\"given\",\"value\":4", "\"given\",\"value\":3.5",
         "whole number from 1 to 4096, not 3.5"},
        {"thesis-placement", "\"given\",\"value\":4", "\"given\",\"value\":1e10", "not 1e+10"},
        {"thesis-placement", "\"given\",\"value\":4", "\"fitted\",\"min\":1,\"max\":9",
         "a whole number, which cannot be fitted"},
        {"thesis-placement", "\"lpt_more_even\"", "\"foo\"",
         "column \"the heuristic is more even than round-robin\": formula 'placement': quantity "
         "\"foo\" is unknown; there are split_slowest, "},
        {"thesis-placement", "\"lpt_faster\"", "\"lpt_fastre\"", "did you mean \"lpt_faster\"?"},
        {"thesis-combined", "\"given\",\"value\":4", "\"given\",\"value\":1",
         "\"machines\" is a whole number from 2 to 4096, not 1"},
        {"thesis-combined", "\"given\",\"value\":4", "\"given\",\"value\":0",
         "\"machines\" is a whole number from 2 to 4096, not 0"},
        {"thesis-combined", "\"given\",\"value\":1,", "\"given\",\"value\":0,",
         "\"gbps\" is a number from 1e-09 to 100000000, not 0"},
        {"sparcml-table2", "\"dataset\":0", "\"dataset\":2",
         "row \"Piz Daint, Webspam, LR, 32 nodes\": formula 'sparse-pass': \"dataset\" is a whole "
         "number from 0 to 1, not 2"},
        {"sparcml-table2", "\"network\":1", "\"network\":1e9", "from 0 to 3, not 1e+09"},
        {"sparcml-table2", "\"network\":1", "\"network\":9", "from 0 to 3, not 9"},
        {"sparcml-table2", "\"workers\":32", "\"workers\":0", "from 1 to 1000000, not 0"},
        {"sparcml-table2", "\"workers\":32,", "", "needs \"workers\""},
        {"3lc-table1", "\"bits\":8", "\"bits\":8,\"bitz\":8",
         "row \"8-bit int\": formula 'shared-port': input \"bitz\" is unknown: did you mean "
         "\"bits\"?"},
        {"3lc-table1", "\"mbps\":10}", "\"mbsp\":10}", "column \"10 Mbps\": "},
        {"3lc-table1", "\"speedup\"", "\"foo\"", "quantity \"foo\" is unknown"},
        {"horovod-512", "\"system\":\"horovod\"", "\"system\":\"horvd\"",
         "\"system\" must be one of --system"},
        {"horovod-512", "\"system\":\"horovod\",", "", "\"system\" must be one of --system"},
        {"horovod-512", "\"given\",\"value\":25,", "\"given\",\"value\":0,",
         "\"gbps\" is a number"},
        {"qsgd-section5", "\"comm_speedup\"", "\"banana\"", "there are comm_speedup, speedup"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cc_paper *p;
        struct cc_error e;
        char *text = changed(bad[i].table, bad[i].from, bad[i].to);
        if (cc_paper_parse(text, strlen(text), &p, &e) != CC_OK)
            fail_msg("%s", e.text);
        assert_int_equal(cc_paper_solve(p, &e), CC_FAIL);
        assert_contains(e.text, bad[i].message);
        cc_paper_free(p);
        free(text);
    }
}

/* Errors in a file's numbers name the file. */
static void names_the_file(void **state)
{
    struct cc_paper *p = NULL;
    struct cc_error e;
    char *text = changed("thesis-combined", "\"given\",\"value\":4", "\"given\",\"value\":1");
    const char *path = scratch_write(state, "mine.json", text, strlen(text));
    assert_int_equal(cc_paper_open(path, &p, &e), CC_OK);
    assert_int_equal(cc_paper_solve(p, &e), CC_FAIL);
    assert_contains(e.text, "mine.json: constant \"machines\"");
    assert_lacks(e.text, "--bw");
    cc_paper_free(p);
    free(text);
}

/* "averages": 0 means the same as no averages. */
static void flags(void **state)
{
    (void)state;
    struct cc_paper *p, *same = solved(open_table("3lc-table1"));
    char *text = changed("3lc-table1", "\"bits\":8", "\"bits\":8,\"averages\":0");
    assert_int_equal(cc_paper_parse(text, strlen(text), &p, NULL), CC_OK);
    (void)solved(p);
    for (size_t i = 0; i < p->columns; i++)
        assert_true(p->row[0].model[i] == same->row[0].model[i]);
    cc_paper_free(p);
    cc_paper_free(same);
    free(text);
}

/* Replaces every number of a table by extreme ones: the table is solved or refused with a reason.
 * The fit is skipped, as it takes long. */
static void attack(struct cc_paper *p, double *number)
{
    static const double extreme[] = {0,    -1,    0.5,    3,   1e9,      1e10,
                                     1e30, 1e300, 5e-324, NAN, INFINITY, -INFINITY};
    double was = *number;
    for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
        struct cc_error e = {""};
        *number = extreme[i];
        if (cc_paper_solve(p, &e) != CC_OK && (e.text[0] == '\0' || strstr(e.text, "--") != NULL))
            fail_msg("%s: %g: \"%s\"", p->id, extreme[i], e.text);
    }
    *number = was;
}

/* Each number solves the whole table, whose rows have the same inputs: the first ones. */
static void any_number(void **state)
{
    (void)state;
    const size_t most = tier_pick(2, 2, 5);
    for (size_t t = 0; cc_paper_names[t] != NULL; t++) {
        struct cc_paper *p = open_table(cc_paper_names[t]);
        const size_t rows = p->rows;
        p->rows = rows < most ? rows : most;
        for (size_t i = 0; i < p->constants; i++)
            if (p->constant[i].origin == CC_FITTED) {
                p->constant[i].origin = CC_GIVEN;
                p->constant[i].by_hand = false;
                p->constant[i].value = sqrt(p->constant[i].min * p->constant[i].max);
            }
        p->fitted = 0;
        (void)solved(p);
        for (size_t i = 0; i < p->constants; i++)
            attack(p, &p->constant[i].value);
        for (size_t i = 0; i < p->columns; i++)
            for (size_t k = 0; k < p->column[i].inputs.count; k++)
                attack(p, &p->column[i].inputs.item[k].value);
        for (size_t i = 0; i < p->rows; i++)
            for (size_t k = 0; k < p->row[i].inputs.count; k++)
                attack(p, &p->row[i].inputs.item[k].value);
        p->rows = rows;
        cc_paper_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_names),
        cmocka_unit_test(flags),
        cmocka_unit_test(any_number),
        cmocka_unit_test_setup_teardown(names_the_file, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
