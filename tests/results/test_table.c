/* The record as a table in a terminal: columns, widths and numbers, against tables written by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/text.h"
#include "tests/lib/records.h"
#include "tests/lib/text.h"

static void table(void **state)
{
    (void)state;
    struct cc_record r;
    records_three(&r);
    records_expect(&r, CC_FORMAT_TABLE,
                   "workers    10\n"
                   "bandwidth  100 Mbit/s\n"
                   "\n"
                   "scheme      values    ratio  tensor      busy\n"
                   "                 M\n"
                   "fp32          1.73        1  -             no\n"
                   "3lc:s=1.75    1.73  20.1235  conv1, \"a\"    no\n"
                   "int8         12.00        -  \xc3\xa4\\nb\\x1b     yes\n");
    assert_int_equal(cc_record_note(&r, NULL, "%s is %d times\tsmaller", "3lc", 20), CC_OK);
    r.partial = true;
    (void)snprintf(r.error, sizeof r.error, "a.npy: too short");
    char *got = records_printed(&r, CC_FORMAT_TABLE);
    assert_non_null(strstr(got, "  yes\n"
                                "\n"
                                "3lc is 20 times\\tsmaller\n"
                                "partial: interrupted; these are the results until then\n"
                                "error: a.npy: too short\n"));
    free(got);
    cc_record_free(&r);
}

static void table_of_one_row_or_none(void **state)
{
    (void)state;
    struct cc_record r;
    records_init(&r);
    records_expect(&r, CC_FORMAT_TABLE, "");
    (void)snprintf(r.error, sizeof r.error, "no trace");
    records_expect(&r, CC_FORMAT_TABLE, "error: no trace\n");
    r.error[0] = '\0';
    records_add(&r, "fp32", 5e5, 1, NULL, false);
    records_expect(&r, CC_FORMAT_TABLE,
                   "scheme     fp32\n"
                   "values     0.50 M\n"
                   "ratio      1\n"
                   "workers    10\n"
                   "bandwidth  100 Mbit/s\n"
                   "busy       no\n");
    records_add(&r, "fp32", 5e5, 1, NULL, false);
    records_expect(&r, CC_FORMAT_TABLE,
                   "values     0.50 M\n"
                   "workers    10\n"
                   "bandwidth  100 Mbit/s\n"
                   "busy       no\n"
                   "\n"
                   "scheme  ratio\n"
                   "fp32        1\n"
                   "fp32        1\n");
    cc_record_free(&r);
}

/* A record that was interrupted says so, and does not speak of results that it lacks. */
static void partial(void **state)
{
    (void)state;
    struct cc_record r;
    records_init(&r);
    r.partial = true;
    records_expect(&r, CC_FORMAT_TABLE, "partial: interrupted before the first row\n");
    cc_record_free(&r);
}

/* Four significant digits, but whole numbers whole; zero has no sign. */
static void digits(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        double v;
        const char *text;
    } cases[] = {
        {"%.3f", 115630.353, "115630"}, {"%.3f", 1330, "1330"},       {"%.3f", 275.0449, "275.0"},
        {"%.3f", 11.258, "11.26"},      {"%.3f", 9.9996, "10.00"},    {"%.3f", 1.2344, "1.234"},
        {"%.3f", 0.0004, "0.000"},      {"%.3f", -0.0004, "0.000"},   {"%.1f", -0.04, "0.0"},
        {"%+.1f", -0.04, "0.0"},        {"%+.1f", 0, "0.0"},          {"%+.1f", 37.54, "+37.5"},
        {"%+.1f", -3754.4, "-3754"},    {"%.1f", 20.44, "20.4"},      {"%.4f", 0.99994, "0.9999"},
        {"%.4f", 0.99996, "1.000"},     {"%.0f", 1727962, "1727962"}, {"%.0f", -0.2, "0"},
        {"%.4g", 0.12345, "0.1235"},    {NULL, 1e-7, "1e-07"},        {"%.2f", 1e300, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cc_column c = RECORDS_COLUMN("k", "k", "", cases[i].format, 1, "", CC_ANSWER);
        const struct cc_value v = {.kind = CC_NUMBER, .number = cases[i].v};
        char buffer[CC_VALUE_CAP];
        const char *text = cc_value_text(&v, &c, buffer);
        if (cases[i].text != NULL)
            assert_string_equal(text, cases[i].text);
        else
            assert_int_equal(strlen(text), 301);
    }
}

/* Columns of every role, each 8 characters wide in the table; "e" is shown on demand only. */
static const struct cc_column roles[] = {
    RECORDS_COLUMN("a", "a", "", "%08.0f", 1, "a setting that differs", CC_SETTING),
    RECORDS_COLUMN("d", "d", "", "%08.0f", 1, "a detail", CC_DETAIL),
    RECORDS_COLUMN("p", "p", "", "%08.0f", 1, "a part", CC_PART),
    RECORDS_COLUMN("m", "m", "ms", "%08.0f", 1, "a main one", CC_MAIN),
    RECORDS_COLUMN("n", "n", "", "%08.0f", 1, "another main one", CC_MAIN),
    RECORDS_COLUMN("r", "r", "", "%08.0f", 1, "the answer", CC_ANSWER),
    RECORDS_COLUMN("s", "s", "", "%08.0f", 1, "a setting that is the same", CC_SETTING),
    RECORDS_COLUMN("same", "same", "", "%08.0f", 1, "a result that is the same", CC_ANSWER),
    RECORDS_COLUMN("e", NULL, "", "%08.0f", 1, "not in the table", CC_ANSWER),
    {.key = NULL},
};

static void record_of_roles(struct cc_record *r)
{
    cc_record_init(r, "bench", roles, 0, NULL);
    for (size_t row = 0; row < 2; row++) {
        assert_int_equal(records_new_row(r), row);
        for (size_t c = 0; roles[c].key != NULL; c++)
            cc_record_number(r, row, roles[c].key,
                             roles[c].key->name[0] == 's' ? 7 : (double)(10 * row + c));
    }
}

/* The printed table has this line of heads. */
static void expect_heads(const struct cc_record *r, const char *want)
{
    char line[128], *got = records_printed(r, CC_FORMAT_TABLE);
    (void)snprintf(line, sizeof line, "\n%s\n", want);
    assert_contains(got, line);
    free(got);
}

static void narrow_table(void **state)
{
    (void)state;
    struct cc_record r;
    record_of_roles(&r);
    expect_heads(&r, "       a         d         p         m         n         r      same");
    r.width = 68;
    expect_heads(&r, "       a         d         p         m         n         r      same");
    r.width = 67; /* a detail goes first */
    expect_heads(&r, "       a         p         m         n         r      same");
    r.width = 57; /* then a part, */
    expect_heads(&r, "       a         m         n         r      same");
    r.width = 47; /* then of the main ones the last */
    expect_heads(&r, "       a         m         r      same");
    r.width = 27; /* then of the answers the last, */
    expect_heads(&r, "       a         r");
    r.width = 10; /* and the first one stays, although it does not fit */
    expect_heads(&r, "       a         r");
    r.wide = true;
    expect_heads(&r, "       a         d         p         m         n         r      same");
    r.wide = false;
    r.width = 47;
    assert_int_equal(cc_record_note(&r, NULL, "one two  three four five six seven eight nine ten"),
                     CC_OK);
    assert_int_equal(cc_record_note(&r, NULL, "%s",
                                    "a-word-that-is-longer-than-the-line-itself-is"
                                    "-cannot-be-broken and goes on"),
                     CC_OK);
    records_expect(&r, CC_FORMAT_TABLE,
                   "s  00000007\n"
                   "\n"
                   "       a         m         r      same\n"
                   "                ms\n"
                   "00000000  00000003  00000005  00000007\n"
                   "00000010  00000013  00000015  00000007\n"
                   "\n"
                   "left out for the width of 47: d, p, n (--wide\n"
                   "  shows all)\n"
                   "one two  three four five six seven eight nine\n"
                   "  ten\n"
                   "a-word-that-is-longer-than-the-line-itself-is-cannot-be-broken\n"
                   "  and goes on\n");
    cc_record_free(&r);
}

/* A text in the last column that does not fit beside the answers is wrapped in its column. */
static void wrapped_cells(void **state)
{
    const struct cc_column list[] = {
        RECORDS_COLUMN("a", "a", "", "%08.0f", 1, "a setting", CC_SETTING),
        RECORDS_COLUMN("m", "m", "", "%08.0f", 1, "a result", CC_MAIN),
        RECORDS_COLUMN("why", "why", "", NULL, 1, "a text", CC_ANSWER),
        {.key = NULL},
    };
    (void)state;
    struct cc_record r;
    cc_record_init(&r, "advise", list, 0, NULL);
    for (size_t row = 0; row < 3; row++) {
        assert_int_equal(records_new_row(&r), row);
        cc_record_number(&r, row, records_key(&r, "a"), (double)row);
        cc_record_number(&r, row, records_key(&r, "m"), 5);
    }
    assert_int_equal(
        cc_record_text(&r, 0, records_key(&r, "why"), "it is much longer than others", NULL),
        CC_OK);
    assert_int_equal(cc_record_text(&r, 2, records_key(&r, "why"), "short", NULL), CC_OK);
    r.width = 28;
    records_expect(&r, CC_FORMAT_TABLE,
                   "       a  why\n"
                   "00000000  it is much longer\n"
                   "          than others\n"
                   "00000001  -\n"
                   "00000002  short\n"
                   "\n"
                   "left out for the width of\n"
                   "  28: m (--wide shows all)\n");
    r.width = 60;
    records_expect(&r, CC_FORMAT_TABLE,
                   "       a         m  why\n"
                   "00000000  00000005  it is much longer than others\n"
                   "00000001  00000005  -\n"
                   "00000002  00000005  short\n");
    cc_record_free(&r);
}

/* Settings that the others imply are left out before an answer is. */
static void implied_settings(void **state)
{
    const struct cc_column list[] = {
        RECORDS_COLUMN("a", "a", "", "%08.0f", 1, "a setting", CC_SETTING),
        RECORDS_COLUMN("b", "b", "", "%08.0f", 1, "one that does not tell all rows apart",
                       CC_SETTING),
        RECORDS_COLUMN("c", "c", "", "%08.0f", 1, "one that a and b imply", CC_SETTING),
        RECORDS_COLUMN("r", "r", "", "%08.0f", 1, "an answer", CC_ANSWER),
        RECORDS_COLUMN("t", "t", "", "%08.0f", 1, "another", CC_ANSWER),
        RECORDS_COLUMN("s", "s", "", "%08.0f", 1, "a setting that is the same", CC_SETTING),
        {.key = NULL},
    };
    static const double values[][6] = {{0, 1, 5, 7, 8, 9}, {0, 2, 6, 7, 8, 9}, {3, 2, 5, 7, 8, 9}};
    (void)state;
    struct cc_record r;
    cc_record_init(&r, "bench", list, 0, NULL);
    for (size_t row = 0; row < 3; row++) {
        assert_int_equal(records_new_row(&r), row);
        for (size_t c = 0; list[c].key != NULL; c++)
            cc_record_number(&r, row, list[c].key, values[row][c]);
    }
    expect_heads(&r, "       a         b         c         r         t");
    r.width = 47;
    expect_heads(&r, "       a         b         r         t");
    r.width = 37;
    expect_heads(&r, "       a         b         r");
    r.width = 20;
    expect_heads(&r, "       a         b         r");
    cc_record_free(&r);
}

static void chosen_columns(void **state)
{
    (void)state;
    struct cc_record r;
    struct cc_error e;
    record_of_roles(&r);
    r.width = 30; /* a choice is kept, whatever its width */
    assert_int_equal(cc_record_choose(&r, "same,e,s,a", &e), CC_OK);
    records_expect(&r, CC_FORMAT_TABLE,
                   "    same         e         s         a\n"
                   "00000007  00000008  00000007  00000000\n"
                   "00000007  00000018  00000007  00000010\n");
    records_expect(&r, CC_FORMAT_CSV, "same,e,s,a\n7,8,7,0\n7,18,7,10\n");
    char *got = records_printed(&r, CC_FORMAT_JSON);
    assert_contains(got, "\"d\":"); /* all keys */
    free(got);
    assert_int_equal(cc_record_choose(&r, "a,sane", &e), CC_USAGE);
    assert_contains(e.text, "unknown column 'sane'; did you mean 'same'?");
    assert_int_equal(cc_record_choose(&r, "a,", &e), CC_USAGE);
    assert_int_equal(cc_record_choose(&r, "a,a", &e), CC_USAGE);
    assert_contains(e.text, "'a' is named twice");
    cc_record_free(&r);
}

/* Rows of details are in files, and in tables that are wide; one that is left out differs from the
 * others in nothing that the table then shows. */
static void detail_rows(void **state)
{
    (void)state;
    const struct cc_column three[] = {RECORDS_COLUMN("s", "s", "", "%.0f", 1, "", CC_SETTING),
                                      RECORDS_COLUMN("k", "k", "", "%.0f", 1, "", CC_SETTING),
                                      RECORDS_COLUMN("v", "v", "", "%.0f", 1, "", CC_ANSWER),
                                      {.key = NULL}};
    struct cc_record r;
    cc_record_init(&r, "train", three, 0, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(records_new_row(&r), i);
        cc_record_number(&r, i, records_key(&r, "s"), (double)i);
        cc_record_number(&r, i, records_key(&r, "k"), i == 1 ? 5 : 4);
        cc_record_number(&r, i, records_key(&r, "v"), (double)i);
    }
    r.rows[1].detail = true;
    records_expect(&r, CC_FORMAT_TABLE, "k  4\n\ns  v\n0  0\n2  2\n");
    records_expect(&r, CC_FORMAT_CSV, "s,k,v\n0,4,0\n1,5,1\n2,4,2\n");
    r.wide = true;
    records_expect(&r, CC_FORMAT_TABLE, "s  k  v\n0  4  0\n1  5  1\n2  4  2\n");
    r.wide = false;
    r.rows[0].detail = true;
    r.rows[2].detail = true;
    records_expect(&r, CC_FORMAT_TABLE, "");
    cc_record_free(&r);
}

/* A command's choice of columns is laid out as all would be, and CSV has all; the user's own choice
 * comes before it, and so does a wide table. */
static void usual_columns(void **state)
{
    (void)state;
    const struct cc_column four[] = {RECORDS_COLUMN("k", "k", "", "%.0f", 1, "", CC_SETTING),
                                     RECORDS_COLUMN("v", "v", "", "%.0f", 1, "", CC_ANSWER),
                                     RECORDS_COLUMN("w", "w", "", "%.0f", 1, "", CC_ANSWER),
                                     RECORDS_COLUMN("n", "n", "", "%.0f", 1, "", CC_ANSWER),
                                     {.key = NULL}};
    struct cc_record r;
    for (int choice = 0; choice < 3; choice++) {
        cc_record_init(&r, "train", four, 0, NULL);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(records_new_row(&r), i);
            cc_record_number(&r, i, records_key(&r, "k"), 4);
            cc_record_number(&r, i, records_key(&r, "v"), (double)i);
            cc_record_number(&r, i, records_key(&r, "w"), 7);
        }
        if (choice == 1)
            assert_int_equal(cc_record_choose(&r, "w,v", NULL), CC_OK);
        r.wide = choice == 2;
        assert_int_equal(cc_record_choose_usual(&r, "k,v,n", NULL), CC_OK);
        records_expect(&r, CC_FORMAT_TABLE,
                       choice == 0   ? "k  v\n4  0\n4  1\n"
                       : choice == 1 ? "w  v\n7  0\n7  1\n"
                                     : "k  v  w\n4  0  7\n4  1  7\n");
        records_expect(&r, CC_FORMAT_CSV,
                       choice == 1 ? "w,v\n7,0\n7,1\n" : "k,v,w,n\n4,0,7,\n4,1,7,\n");
        cc_record_free(&r);
    }
}

/* An answer comes first; then the settings in one line, at most eight columns and three notes, and
 * what is not shown. A file has all. */
static void answer_first(void **state)
{
    (void)state;
    const struct cc_column columns[] = {
        RECORDS_COLUMN("s", "s", "", "%.0f", 1, "a setting", CC_SETTING),
        RECORDS_COLUMN("k", "k", "ms", "%.0f", 1, "the same everywhere", CC_SETTING),
        RECORDS_COLUMN("v", "v", "", "%.0f", 1, "the answer", CC_ANSWER),
        RECORDS_COLUMN("m1", "m1", "", "%.0f", 1, "m", CC_MAIN),
        RECORDS_COLUMN("m2", "m2", "", "%.0f", 1, "m", CC_MAIN),
        RECORDS_COLUMN("m3", "m3", "", "%.0f", 1, "m", CC_MAIN),
        RECORDS_COLUMN("m4", "m4", "", "%.0f", 1, "m", CC_MAIN),
        RECORDS_COLUMN("m5", "m5", "", "%.0f", 1, "m", CC_MAIN),
        RECORDS_COLUMN("m6", "m6", "", "%.0f", 1, "m", CC_MAIN),
        RECORDS_COLUMN("d", "d", "", "%.0f", 1, "a detail", CC_DETAIL),
        {.key = NULL},
    };
    struct cc_record r;
    cc_record_init(&r, "bench", columns, 0, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(records_new_row(&r), i);
        for (size_t c = 0; columns[c].key != NULL; c++)
            cc_record_number(&r, i, columns[c].key, c == 1 ? 4 : (double)(i + c));
        r.rows[i].detail = i == 1;
    }
    cc_record_title(&r, "a title");
    for (int i = 1; i <= 4; i++)
        assert_int_equal(cc_record_note(&r, NULL, "note %d", i), CC_OK);
    assert_int_equal(cc_record_warn(&r, NULL, "a doubt"), CC_OK);
    assert_int_equal(cc_record_warn(&r, NULL, "a doubt"), CC_OK);
    assert_int_equal(cc_record_note_at(&r, CC_NOTE_REASON, NULL, "a reason"), CC_OK);
    assert_int_equal(cc_record_note_at(&r, CC_NOTE_ANSWER, NULL, "take the second"), CC_OK);
    r.width = 80;
    records_expect(
        &r, CC_FORMAT_TABLE,
        "take the second\n\na title\nk 4 ms\n\n"
        "s  v  m1  m2  m3  m4  m5  m6\n"
        "0  2   3   4   5   6   7   8\n"
        "2  4   5   6   7   8   9  10\n\n"
        "a doubt\nnote 1\nnote 2\nnot shown: 1 row, 1 column, 3 notes; --wide shows all\n");
    r.wide = true;
    records_expect(&r, CC_FORMAT_TABLE,
                   "take the second\n\na title\nk  4 ms\n\n"
                   "s  v  m1  m2  m3  m4  m5  m6   d\n"
                   "0  2   3   4   5   6   7   8   9\n"
                   "1  3   4   5   6   7   8   9  10\n"
                   "2  4   5   6   7   8   9  10  11\n\n"
                   "a doubt\nnote 1\nnote 2\nnote 3\nnote 4\na reason\n");
    r.wide = false;
    for (int i = 1; i <= 4; i++)
        assert_int_equal(cc_record_warn(&r, NULL, "doubt %d", i), CC_OK);
    records_expect(&r, CC_FORMAT_TABLE,
                   "take the second\n\na title\nk 4 ms\n\n"
                   "s  v  m1  m2  m3  m4  m5  m6\n"
                   "0  2   3   4   5   6   7   8\n"
                   "2  4   5   6   7   8   9  10\n\n"
                   "a doubt\ndoubt 1\ndoubt 2\ndoubt 3\ndoubt 4\n"
                   "not shown: 1 row, 1 column, 5 notes; --wide shows all\n");
    cc_record_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(table_of_one_row_or_none),
        cmocka_unit_test(partial),
        cmocka_unit_test(digits),
        cmocka_unit_test(narrow_table),
        cmocka_unit_test(wrapped_cells),
        cmocka_unit_test(implied_settings),
        cmocka_unit_test(chosen_columns),
        cmocka_unit_test(detail_rows),
        cmocka_unit_test(usual_columns),
        cmocka_unit_test(answer_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
