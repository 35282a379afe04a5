/* Results that are read back from CSV and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/sheet.h"
#include "tests/lib/scratch.h"
#include "tests/lib/sheets.h"
#include "tests/lib/text.h"

static struct cc_error e;

static int csv(const char *text, struct cc_sheet *s)
{
    e.text[0] = '\0';
    return cc_sheet_parse_csv("r.csv", text, strlen(text), s, &e);
}

static int json(const char *text, struct cc_sheet *s)
{
    e.text[0] = '\0';
    return cc_sheet_parse_json("r.json", text, strlen(text), s, &e);
}

static void sheet_is_read(void **state)
{
    (void)state;
    struct cc_sheet s =
        sheet_of("scheme,x,\"a \"\"b\"\"\"\r\n3lc,-1.5e3,\n\n\"a,\nb\",,true\nint8, 7 ,\"\"\n");
    assert_int_equal(s.columns, 3);
    assert_int_equal(s.rows, 3);
    assert_string_equal(s.key[2], "a \"b\"");
    assert_int_equal(cc_sheet_column(&s, "x"), 1);
    assert_int_equal(cc_sheet_column(&s, "X"), CC_NO_COLUMN);
    double v;
    assert_int_equal(cc_sheet_number(&s, 0, 1, &v, &e), CC_OK);
    assert_true(v == -1500);
    assert_int_equal(cc_sheet_value(&s, 0, 2)->kind, CC_NULL);
    assert_string_equal(cc_sheet_value(&s, 1, 0)->text, "a,\nb");
    assert_int_equal(cc_sheet_number(&s, 1, 1, &v, &e), CC_OK);
    assert_true(isnan(v));
    assert_int_equal(cc_sheet_value(&s, 1, 2)->kind, CC_BOOL);
    assert_int_equal(cc_sheet_number(&s, 2, 1, &v, &e), CC_OK);
    assert_true(v == 7);
    assert_string_equal(cc_sheet_value(&s, 2, 2)->text, "");
    assert_int_equal(s.place[2], 6);
    assert_int_equal(cc_sheet_number(&s, 2, 0, &v, &e), CC_FAIL);
    assert_string_equal(e.text, "r.csv: line 6, column 'scheme': 'int8' is not a number");
    cc_sheet_free(&s);
}

static void bad_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "r.csv: it has no rows"},
        {"\na,b\n1,2\n", "r.csv: line 1: the names of the columns should be here"},
        {"a,b\n", "r.csv: it has no rows"},
        {"a,b\n1,2\n3\n", "r.csv: line 3: the row ends before column 'b'"},
        {"a,b\n1,2,3\n", "r.csv: line 2: more fields than the 2 columns of the first row"},
        {"a,b,a\n1,2,3\n", "r.csv: line 1: the column 'a' occurs twice"},
        {"a,,c\n1,2,3\n", "r.csv: line 1: column 2 has no name"},
        {"a\n1\n\"x\n", "r.csv: line 4: "},
        {"a\n\"x\"y\n", "r.csv: line 2: "},
        {"a\n1e999\n", "r.csv: line 2: column 'a': 1e999 is beyond the range of numbers"},
        {"a,b\rc,d\re", "r.csv: line 2: the row ends before column 'b'"},
        {"a\n\xff\n", "r.csv: byte 2: invalid UTF-8"},
    };
    struct cc_sheet s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(csv(cases[i].text, &s), CC_FAIL);
        if (strncmp(e.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: %s", i, e.text);
    }
    assert_int_equal(cc_sheet_parse_csv("r.csv", "a\n\0\n", 4, &s, &e), CC_FAIL);
    assert_string_equal(e.text, "r.csv: byte 2: a zero byte: this is not a text");
}

static void json_is_read(void **state)
{
    (void)state;
    struct cc_sheet s;
    assert_int_equal(json("{\"schema\": \"commcomp/1\", \"rows\": [{\"scheme\": \"3lc\", \"x\": "
                          "0.1}, {\"scheme\": null, \"x\": true}]}",
                          &s),
                     CC_OK);
    double v;
    assert_int_equal(s.rows, 2);
    assert_int_equal(cc_sheet_number(&s, 0, 1, &v, &e), CC_OK);
    assert_true(v == 0.1);
    assert_int_equal(cc_sheet_number(&s, 1, 1, &v, &e), CC_FAIL);
    assert_string_equal(e.text, "r.json: row 2, column 'x': 'true' is not a number");
    cc_sheet_free(&s);
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{", "r.json: byte 1: a string in double quotes is missing"},
        {"[]", "r.json: not a result of commcomp"},
        {"{\"schema\": \"commcomp-net/1\", \"rows\": []}", "r.json: not a result of commcomp"},
        {"{\"schema\": \"commcomp/1\"}", "r.json: not a result of commcomp"},
        {"{\"schema\": \"commcomp/1\", \"rows\": []}", "r.json: it has no rows"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [1]}", "r.json: row 1: it should be an object"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [{\"a\": 1}, {\"b\": 1}]}",
         "r.json: row 2: the key 'b' is not where the first row has it"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [{\"a\": 1}, {}]}",
         "r.json: row 2: the key 'a' is missing"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [{\"a\": [1]}]}",
         "r.json: row 1: 'a' should be a number, a text, a truth value or null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(json(cases[i].text, &s), CC_FAIL);
        if (strncmp(e.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: %s", i, e.text);
    }
}

static void read_by_suffix(void **state)
{
    struct cc_sheet s;
    const char *path = scratch_write(state, "r.csv", "a\n1\n", 4);
    assert_int_equal(cc_sheet_read(path, &s, &e), CC_OK);
    cc_sheet_free(&s);
    assert_int_equal(cc_sheet_read("r.txt", &s, &e), CC_USAGE);
    assert_string_equal(
        e.text,
        "'r.txt': expected a .csv or .json file of results, or an .html page of `commcomp report`");
    assert_int_equal(cc_sheet_read(scratch_path(state, "no.csv"), &s, &e), CC_FAIL);
    assert_contains(e.text, "no.csv: cannot be read: No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sheet_is_read),
        cmocka_unit_test(bad_csv),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test_setup_teardown(read_by_suffix, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
