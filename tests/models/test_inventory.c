/* The inventory of papers: its reader's refusals, and its judgement against figures whose state
 * follows by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/paper/inventory.h"
#include "models/paper/paper.h"

#define KEPT "{\"name\": \"k\", \"on\": \"2026-01-02\", \"version\": \"1\", \"machine\": \"m\"}"

/* An inventory with the item whose members after paper, item and command these are. */
static int parse(const char *members, struct cc_inventory **out, struct cc_error *e)
{
    char text[2048];
    const int n = snprintf(text, sizeof text,
                           "{\"schema\": \"commcomp-inventory/1\", \"kept\": [" KEPT "],"
                           " \"items\": [{\"paper\": \"P\", \"item\": \"T\"%s}]}",
                           members);
    assert_in_range(n, 1, sizeof text - 1);
    return cc_inventory_parse(text, (size_t)n, out, e);
}

#define COMMAND       ", \"command\": \"commcomp nets\""
#define FIGURES(list) COMMAND ", \"kept\": \"k\", \"how\": \"trained\", \"figures\": [" list "]"
#define BECAUSE       ", \"cause\": \"c\", \"shown_by\": \"formula\""

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *members, *message;
    } wrong[] = {
        {", \"comand\": \"x\"", "item 0: unknown key \"comand\": did you mean \"command\"?"},
        {", \"command\": \"ls\"", "item 0: \"command\" does not begin with 'commcomp '"},
        {", \"table\": \"3lc-table1\"", "item 0: figures need a \"command\" that gives them"},
        {COMMAND ", \"quantities\": [\"bits\"]", "\"quantities\" goes with \"table\""},
        {", \"cause\": \"c\"", "item 0: \"cause\" and \"shown_by\" go together"},
        {", \"shown_by\": \"formula\"", "item 0: \"cause\" and \"shown_by\" go together"},
        {", \"cause\": \"c\", \"shown_by\": \"guess\"",
         "\"shown_by\": unknown word \"guess\"; it is one of experiment, formula, argument, open"},
        {", \"changes\": \"T\"", "\"changes\": no item 'T' of P stands before this one"},
        {COMMAND ", \"kept\": \"k\"", "\"figures\", \"kept\" and \"how\" go together"},
        {COMMAND ", \"kept\": \"x\", \"how\": \"trained\", \"figures\": [{}]",
         "\"kept\": there is no 'x'"},
        {FIGURES("{}"), "figure 0"},
        {FIGURES("{\"name\": \"a\", \"ours\": 1}"), "it needs \"published\""},
        {FIGURES("{\"name\": \"a\", \"published\": 1}"), "it needs \"ours\""},
        {FIGURES("{\"name\": \"a\", \"published\": 1, \"ours\": \"1\"}"),
         "\"ours\" is not a number"},
        {FIGURES("{\"name\": \"a\", \"published\": 1, \"ours\": 2, \"low\": 3}"),
         "an interval does not hold its figure"},
        {FIGURES("{\"name\": \"a\", \"published\": 1, \"holds\": true}"),
         "a statement has \"holds\", and neither"},
        {FIGURES("{\"name\": \"a\", \"holds\": 1}"), "holds"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cc_inventory *v;
        struct cc_error e = {""};
        assert_int_not_equal(parse(wrong[i].members, &v, &e), CC_OK);
        if (strstr(e.text, wrong[i].message) == NULL)
            fail_msg("%s: \"%s\" lacks \"%s\"", wrong[i].members, e.text, wrong[i].message);
    }
}

/* Parses and judges; the caller frees. */
static struct cc_inventory *judged(const char *members)
{
    struct cc_inventory *v;
    struct cc_error e = {""};
    if (parse(members, &v, &e) != CC_OK || cc_inventory_solve(v, &e) != CC_OK)
        fail_msg("%s: %s", members, e.text);
    return v;
}

static void figures(void **state)
{
    (void)state;
    static const struct {
        const char *figure;
        bool reproduced;
        double nearest, error;
    } cases[] = {
        {"\"published\": 10, \"ours\": 11", true, 10, 0.1},
        {"\"published\": 10, \"ours\": 11.1", false, 10, 0.11},
        {"\"published\": 10, \"ours\": 9", true, 10, -0.1},
        {"\"published\": -2, \"ours\": -2.1", true, -2, -0.05},
        {"\"published\": -2, \"ours\": -1", false, -2, 0.5},
        /* An interval of ours that has the paper's figure in it, or not. */
        {"\"published\": 10, \"ours\": 14, \"low\": 9, \"high\": 19", true, 10, 0.4},
        {"\"published\": 10, \"ours\": 14, \"low\": 12, \"high\": 16", false, 10, 0.4},
        /* Intervals of the paper's, closed and open. */
        {"\"published_low\": 2, \"published_high\": 3, \"ours\": 2.5", true, 2.5, 0},
        {"\"published_low\": 2, \"published_high\": 3, \"ours\": 4", false, 3, 1. / 3},
        {"\"published_low\": 2, \"published_high\": 3, \"ours\": 4, \"low\": 2.9, \"high\": 5",
         true, 3, 1. / 3},
        {"\"published_high\": 3, \"ours\": 0.1", true, 3, NAN},
        {"\"published_high\": 3, \"ours\": 3.2", true, 3, 0.2 / 3},
        {"\"published_low\": 3, \"ours\": 2", false, 3, -1. / 3},
        {"\"published\": 0, \"ours\": 0.1", false, 0, NAN},
        /* Points are differences themselves. */
        {"\"unit\": \"points\", \"published\": -1, \"ours\": 1", false, -1, NAN},
        {"\"holds\": true", true, 1, NAN},
        {"\"holds\": false", false, 1, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[512];
        (void)snprintf(members, sizeof members, FIGURES("{\"name\": \"a\", %s}") "%s",
                       cases[i].figure, cases[i].reproduced ? "" : BECAUSE);
        struct cc_inventory *v = judged(members);
        const struct cc_inventory_figure *f = &v->item[0].figure[0];
        if (f->reproduced != cases[i].reproduced || fabs(f->nearest - cases[i].nearest) > 1e-12 ||
            isnan(f->error) != isnan(cases[i].error) || fabs(f->error - cases[i].error) > 1e-12)
            fail_msg("%s: %d, %g, %g", cases[i].figure, f->reproduced, f->nearest, f->error);
        assert_int_equal(v->item[0].state, f->reproduced ? CC_REPRODUCED_ALL : CC_REPRODUCED_NOT);
        cc_inventory_free(v);
    }
}

/* An item's state, and its worst figure: one that is not reproduced, however near. */
static void items(void **state)
{
    (void)state;
    struct cc_inventory *v = judged(
        FIGURES("{\"name\": \"far\", \"published\": 1, \"ours\": 3, \"low\": 0, \"high\": 6},"
                "{\"name\": \"near\", \"published\": 1, \"ours\": 1.2},"
                "{\"name\": \"right\", \"published\": 1, \"ours\": 1}") BECAUSE);
    const struct cc_inventory_item *t = &v->item[0];
    assert_int_equal(t->state, CC_REPRODUCED_PARTLY);
    assert_int_equal(t->reproduced, 2);
    assert_int_equal(t->worst, 1);
    assert_string_equal(t->kept->on, "2026-01-02");
    cc_inventory_free(v);
    v = judged(BECAUSE);
    assert_int_equal(v->item[0].state, CC_REPRODUCED_NOT);
    assert_true(v->item[0].worst == SIZE_MAX);
    cc_inventory_free(v);
}

/* The figures of a table are those of the table, solved. */
static void tables(void **state)
{
    (void)state;
    struct cc_error e = {""};
    struct cc_paper *p;
    struct cc_inventory *v =
        judged(COMMAND ", \"table\": \"3lc-table2\", \"quantities\": [\"bits\"]");
    const struct cc_inventory_item *t = &v->item[0];
    assert_int_equal(cc_paper_open("3lc-table2", &p, &e), CC_OK);
    assert_int_equal(cc_paper_solve(p, &e), CC_OK);
    assert_int_equal(t->figures, p->rows);
    assert_int_equal(t->fitted, 2);
    for (size_t r = 0; r < p->rows; r++) {
        assert_string_equal(t->figure[r].name, p->row[r].name);
        assert_true(t->figure[r].published == p->row[r].figure[1]);
        assert_true(t->figure[r].ours == p->row[r].model[1]);
    }
    cc_paper_free(p);
    cc_inventory_free(v);
    struct cc_inventory *none;
    assert_int_equal(parse(COMMAND ", \"table\": \"3lc-table9\"", &none, &e), CC_OK);
    assert_int_equal(cc_inventory_solve(none, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "did you mean"));
    cc_inventory_free(none);
}

/* An item may change an earlier one, of the same paper, which changes none. */
static void changes(void **state)
{
    (void)state;
#define ITEM(name, members) "{\"paper\": \"P\", \"item\": \"" name "\"" BECAUSE members "}"
#define FILE_OF(items)                                                                             \
    "{\"schema\": \"commcomp-inventory/1\", \"kept\": [" KEPT "], \"items\": [" items "]}"
    static const char good[] = FILE_OF(ITEM("A", "") "," ITEM("B", ", \"changes\": \"A\""));
    static const char chain[] = FILE_OF(
        ITEM("A", "") "," ITEM("B", ", \"changes\": \"A\"") "," ITEM("C", ", \"changes\": \"B\""));
    struct cc_inventory *v;
    struct cc_error e = {""};
    assert_int_equal(cc_inventory_parse(good, strlen(good), &v, &e), CC_OK);
    assert_null(v->item[0].changes);
    assert_string_equal(v->item[1].changes, "A");
    assert_int_equal(v->item[1].shown_by, CC_SHOWN_FORMULA);
    cc_inventory_free(v);
    assert_int_equal(cc_inventory_parse(chain, strlen(chain), &v, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "no item 'B' of P"));
}

static void causes(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {FIGURES("{\"name\": \"a\", \"holds\": false}"), "its state is -, and it has no \"cause\""},
        {FIGURES("{\"name\": \"a\", \"holds\": true}") BECAUSE,
         "its state is R, and it has a \"cause\""}};
    for (size_t i = 0; i < 2; i++) {
        struct cc_inventory *v;
        struct cc_error e = {""};
        assert_int_equal(parse(wrong[i][0], &v, &e), CC_OK);
        assert_int_equal(cc_inventory_solve(v, &e), CC_FAIL);
        assert_non_null(strstr(e.text, wrong[i][1]));
        cc_inventory_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(figures),
                                       cmocka_unit_test(items),    cmocka_unit_test(tables),
                                       cmocka_unit_test(changes),  cmocka_unit_test(causes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
