/* The record as CSV and JSON, against expectations written by hand and other readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <csv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/machine_info.h"
#include "tests/lib/records.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* Beyond 2^53, a double would lose the last digit. */
static void whole_numbers(void **state)
{
    (void)state;
    const struct cc_column one[] = {RECORDS_COLUMN("k", "k", "", "%.0f", 1, "", CC_ANSWER),
                                    {.key = NULL}};
    struct cc_record r;
    cc_record_init(&r, "bench", one, 0, NULL);
    assert_int_equal(records_new_row(&r), 0);
    assert_int_equal(cc_record_whole(&r, 0, records_key(&r, "k"), INT64_MAX, NULL), CC_OK);
    assert_int_equal(records_new_row(&r), 1);
    assert_int_equal(cc_record_whole(&r, 1, records_key(&r, "k"), 7, NULL), CC_OK);
    for (enum cc_format f = CC_FORMAT_TABLE; f <= CC_FORMAT_JSON; f++) {
        char *text = records_printed(&r, f);
        assert_contains(text, "9223372036854775807");
        assert_contains(text, "7\n");
        free(text);
    }
    assert_int_equal(cc_record_whole(&r, 0, records_key(&r, "k"), 8, NULL), CC_OK);
    assert_null(r.rows[0].value[0].text);
    cc_record_free(&r);
}

static void csv(void **state)
{
    (void)state;
    struct cc_record r;
    records_three(&r);
    records_expect(
        &r, CC_FORMAT_CSV,
        "scheme,values,ratio,payload_bytes,workers,bw_bps,step_s,tensor,oversubscribed\n"
        "fp32,1727962,1,6911848,10,100000000,,,false\n"
        "3lc:s=1.75,1727962,20.123456789,6911848,10,100000000,,\"conv1, \"\"a\"\"\",false\n"
        "int8,12000000,,48000000,10,100000000,,\"\xc3\xa4\nb\x1b\",true\n");
    cc_record_free(&r);
}

static void json_of_a_run(void **state)
{
    (void)state;
    struct cc_record r;
    records_three(&r);
    (void)snprintf(r.mpi, sizeof r.mpi, "An \"MPI\" v1");
    char *got = records_printed(&r, CC_FORMAT_JSON);
    cJSON *o = cJSON_Parse(got);
    const cJSON *mpi = cJSON_GetObjectItem(cJSON_GetObjectItem(o, "host"), "mpi");
    assert_non_null(mpi);
    assert_string_equal(mpi->valuestring, "An \"MPI\" v1");
    cJSON_Delete(o);
    free(got);
    cc_record_free(&r);
}

static void json(void **state)
{
    (void)state;
    struct cc_record r;
    records_three(&r);
    r.row_count = 1; /* one form suffices here; the others are read back below */
    char *got = records_printed(&r, CC_FORMAT_JSON);
    cJSON *o = cJSON_Parse(got);
    assert_non_null(o);
    free(got);
    /* A second later, the time is still that of the first document. */
    struct cc_machine_info h;
    assert_int_equal(usleep(999999), 0);
    assert_int_equal(usleep(100000), 0);
    cc_machine_info_read(&h);
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(o, "host");
    const struct {
        const char *key, *want;
    } texts[] = {{"cpu", h.cpu},           {"isa", h.isa},         {"kernel", h.kernel},
                 {"compiler", h.compiler}, {"version", h.version}, {"time", h.time}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(host, texts[i].key));
        assert_non_null(value);
        assert_true(value[0] != '\0');
        assert_string_equal(value, texts[i].want);
    }
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(host, "cores")) == h.cores && h.cores > 0);
    assert_null(cJSON_GetObjectItem(host, "mpi"));
    cJSON_DeleteItemFromObject(o, "host");
    got = cJSON_PrintUnformatted(o);
    assert_string_equal(
        got, "{\"schema\":\"commcomp/2\",\"command\":\"bench\","
             "\"argv\":[\"commcomp\",\"bench\",\"-o\",\"a \\\"b\\\".csv\"],"
             "\"rows\":[{\"scheme\":\"fp32\",\"values\":1727962,\"ratio\":1,"
             "\"payload_bytes\":6911848,\"workers\":10,\"bw_bps\":100000000,\"step_s\":null,"
             "\"tensor\":null,\"oversubscribed\":false}],"
             "\"origins\":{\"scheme\":\"measured\",\"values\":\"measured\",\"ratio\":\"measured\","
             "\"payload_bytes\":\"measured\",\"workers\":\"measured\",\"bw_bps\":\"measured\","
             "\"oversubscribed\":\"measured\"}}");
    cJSON_free(got);
    cJSON_Delete(o);
    r.row_count = 3;
    cc_record_free(&r);
}

static void json_of_failure(void **state)
{
    (void)state;
    struct cc_record r;
    records_init(&r);
    assert_int_equal(cc_record_note(&r, NULL, "a \xff note"), CC_OK);
    r.partial = true;
    (void)snprintf(r.error, sizeof r.error, "\"x\xc3\": no such file");
    char *got = records_printed(&r, CC_FORMAT_JSON);
    assert_int_equal(got[strlen(got) - 2], '}');
    cJSON *o = cJSON_Parse(got);
    free(got);
    assert_non_null(o);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "rows")), 0);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "partial")));
    /* Bytes that are not UTF-8 become U+FFFD. */
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(o, "error")),
                        "\"x\xef\xbf\xbd\": no such file");
    assert_string_equal(
        cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "notes"), 0)),
        "a \xef\xbf\xbd note");
    cJSON_Delete(o);
    cc_record_free(&r);
}

/* --- reading back --- */

static const struct cc_column pair[] = {
    RECORDS_COLUMN("name", "name", "", NULL, 1, "", CC_SETTING),
    RECORDS_COLUMN("value", "value", "", NULL, 1, "", CC_ANSWER),
    {.key = NULL},
};

static const char *const hard_texts[] = {
    "",
    "a,b",
    "say \"hi\"",
    "\"",
    "two\nlines\r\n",
    " spaces ",
    "\ttab",
    "\x01\x1f\x7f",
    "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    "\\n",
    "null",
    "-",
};
static const double hard_numbers[] = {
    0.1,
    1e300,
    5e-324,
    0x1p53,
    0x1p53 + 2,
    -0.0,
    0,
    -1.5,
    1e15,
    123456789,
    1.0 / 3,
    0.1 + 0.2,
    1.7976931348623157e308,
};
#define TEXTS   (sizeof hard_texts / sizeof hard_texts[0])
#define NUMBERS (sizeof hard_numbers / sizeof hard_numbers[0])

static void hard_record(struct cc_record *r)
{
    cc_record_init(r, "bench", pair, 0, NULL);
    for (size_t i = 0; i < TEXTS; i++)
        assert_int_equal(
            cc_record_text(r, records_new_row(r), records_key(r, "name"), hard_texts[i], NULL),
            CC_OK);
    for (size_t i = 0; i < NUMBERS; i++)
        cc_record_number(r, records_new_row(r), records_key(r, "value"), hard_numbers[i]);
    cc_record_number(r, records_new_row(r), records_key(r, "value"), NAN);
    cc_record_number(r, records_new_row(r), records_key(r, "value"), -INFINITY);
}

static bool same_number(double a, double b)
{
    return a == b && signbit(a) == signbit(b);
}

struct reading {
    const struct cc_record *r;
    size_t line, field, seen;
};

static void on_field(void *text, size_t length, void *data)
{
    struct reading *at = data;
    assert_true(at->field < 2 && at->line <= at->r->row_count);
    if (at->line == 0) {
        assert_string_equal(text, pair[at->field].key->name);
    } else {
        const struct cc_value *want = &at->r->rows[at->line - 1].value[at->field];
        if (want->kind == CC_NULL) {
            assert_null(text);
        } else if (want->kind == CC_TEXT) {
            assert_int_equal(length, strlen(want->text));
            assert_memory_equal(text, want->text, length);
        } else {
            char *end;
            assert_true(same_number(strtod(text, &end), want->number) && *end == '\0');
        }
    }
    at->field++;
    at->seen++;
}

static void on_line(int c, void *data)
{
    (void)c;
    struct reading *at = data;
    assert_int_equal(at->field, 2);
    at->field = 0;
    at->line++;
}

static void csv_reads_back(void **state)
{
    (void)state;
    struct cc_record r;
    hard_record(&r);
    char *text = records_printed(&r, CC_FORMAT_CSV);
    struct csv_parser p;
    assert_int_equal(
        csv_init(&p, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_EMPTY_IS_NULL), 0);
    struct reading at = {.r = &r};
    size_t length = strlen(text);
    assert_int_equal(csv_parse(&p, text, length, on_field, on_line, &at), length);
    assert_int_equal(csv_fini(&p, on_field, on_line, &at), 0);
    csv_free(&p);
    assert_int_equal(at.line, r.row_count + 1);
    assert_int_equal(at.seen, 2 * (r.row_count + 1));
    free(text);
    cc_record_free(&r);
}

static void json_reads_back(void **state)
{
    (void)state;
    struct cc_record r;
    hard_record(&r);
    char *text = records_printed(&r, CC_FORMAT_JSON);
    cJSON *o = cJSON_Parse(text);
    assert_non_null(o);
    assert_null(strstr(text, "-0.0")); /* zero has no sign */
    assert_contains(text, "9007199254740992\n");
    assert_contains(text, "1000000000000000\n");
    free(text);
    const cJSON *rows = cJSON_GetObjectItem(o, "rows");
    assert_int_equal(cJSON_GetArraySize(rows), r.row_count);
    size_t i = 0;
    for (const cJSON *row = rows->child; row != NULL; row = row->next, i++) {
        const cJSON *name = cJSON_GetObjectItem(row, "name");
        const cJSON *value = cJSON_GetObjectItem(row, "value");
        if (i < TEXTS)
            assert_string_equal(cJSON_GetStringValue(name), hard_texts[i]);
        else
            assert_true(cJSON_IsNull(name));
        if (i >= TEXTS && i < TEXTS + NUMBERS)
            assert_true(same_number(value->valuedouble, hard_numbers[i - TEXTS] + 0.0));
        else
            assert_true(cJSON_IsNull(value));
    }
    cJSON_Delete(o);
    cc_record_free(&r);
}

static void values_can_be_set_again(void **state)
{
    (void)state;
    struct cc_record r;
    hard_record(&r);
    cc_record_number(&r, 1, records_key(&r, "name"), 2);
    assert_int_equal(cc_record_value(&r, 1, records_key(&r, "name"))->kind, CC_NUMBER);
    cc_record_bool(&r, 1, records_key(&r, "name"), true);
    assert_int_equal(cc_record_value(&r, 1, records_key(&r, "name"))->kind, CC_BOOL);
    assert_int_equal(cc_record_text(&r, 1, records_key(&r, "name"), "\xed\xa0\x80\xf4\x90", NULL),
                     CC_OK);
    const char *surrogate = cc_record_value(&r, 1, records_key(&r, "name"))->text;
    assert_string_equal(surrogate, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    cc_record_free(&r);
}

/* Runs one of the checking scripts, from the directory of the sources, on the record in a file. Its
 * output must be `want`. */
static void check_with(const char *script, const char *path, const struct cc_record *r,
                       const char *want)
{
    char command[600], got[1024];
    assert_int_equal(cc_record_save(r, path, CC_FORMAT_CSV, NULL), CC_OK);
    (void)snprintf(command, sizeof command, script, path);
    // NOLINTNEXTLINE(cert-env33-c): our own script, our own path
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t length = fread(got, 1, sizeof got - 1, f);
    got[length] = '\0';
    int status = pclose(f);
    assert_int_equal(unlink(path), 0);
    if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127) { /* 127: no python3 */
        print_message("SKIPPED: %s\n", script);
        return;
    }
    assert_int_equal(status, 0);
    assert_string_equal(got, want);
}

static void others_read_it(void **state)
{
    struct cc_record r;
    records_three(&r);
    if (access("tests/check_csv.sh", X_OK) != 0) {
        print_message("SKIPPED: not in the directory of the sources\n");
        cc_record_free(&r);
        skip();
    }
    check_with("tests/check_csv.sh %s values ratio payload_bytes", scratch_path(state, "c.csv"), &r,
               "columns 9\n"
               "values 3 1727962 12000000\n"
               "ratio 2 1 20.123456789\n"
               "payload_bytes 3 6911848 48000000\n");
    r.command = "trace info"; /* whose keys are free */
    check_with("tests/check_json.py %s 2>&1", scratch_path(state, "j.json"), &r, "");
    check_with("tests/check_json.py --self-test >/dev/null # %s", scratch_path(state, "j.json"), &r,
               "");
    cc_record_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(csv),
        cmocka_unit_test(json),
        cmocka_unit_test(json_of_a_run),
        cmocka_unit_test(json_of_failure),
        cmocka_unit_test(csv_reads_back),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(values_can_be_set_again),
        cmocka_unit_test_setup_teardown(others_read_it, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
