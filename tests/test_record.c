/* The record's three formats against expectations written by hand and other readers, and write
 * errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <csv.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/machine_info.h"
#include "results/record.h"
#include "results/text.h"
#include "tests/lib/text.h"

static const struct cc_column columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the scheme", CC_SETTING},
    {"values", "values", "M", "%.2f", 1e-6, "how many values", CC_SETTING},
    {"ratio", "ratio", "", NULL, 0, "how much smaller", CC_ANSWER},
    {"payload_bytes", NULL, "", NULL, 0, "not in the table", CC_DETAIL},
    {"workers", "workers", "", "%.0f", 0, "the same in every row", CC_SETTING},
    {"bw_bps", "bandwidth", "Mbit/s", "%.0f", 1e-6, "the same in every row, with a unit",
     CC_SETTING},
    {"step_s", "step", "ms", "%.3f", 1e3, "never known", CC_ANSWER},
    {"tensor", "tensor", "", NULL, 0, "a text that may be missing", CC_SETTING},
    {"oversubscribed", "busy", "", NULL, 0, "a truth value", CC_SETTING},
    {.key = NULL},
};
static const char *const argv[] = {"commcomp", "bench", "-o", "a \"b\".csv"};

static void add(struct cc_record *r, const char *scheme, double values, double ratio,
                const char *tensor, bool busy)
{
    size_t row = cc_record_add(r, NULL);
    assert_int_not_equal(row, SIZE_MAX);
    assert_int_equal(cc_record_text(r, row, "scheme", scheme, NULL), CC_OK);
    cc_record_number(r, row, "values", values);
    cc_record_number(r, row, "ratio", ratio);
    cc_record_number(r, row, "payload_bytes", 4 * values);
    cc_record_number(r, row, "workers", 10);
    cc_record_number(r, row, "bw_bps", 1e8);
    cc_record_number(r, row, "step_s", NAN);
    if (tensor != NULL)
        assert_int_equal(cc_record_text(r, row, "tensor", tensor, NULL), CC_OK);
    cc_record_bool(r, row, "oversubscribed", busy);
}

static void three_rows(struct cc_record *r)
{
    cc_record_init(r, "bench", columns, 4, argv);
    add(r, "fp32", 1727962, 1, NULL, false);
    add(r, "3lc:s=1.75", 1727962, 20.123456789, "conv1, \"a\"", false);
    add(r, "int8", 12000000, INFINITY, "\xc3\xa4\nb\x1b", true);
}

/* The printed record; the caller frees it. */
static char *printed(const struct cc_record *r, enum cc_format format)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    assert_int_equal(cc_record_print(r, format, f, NULL), CC_OK);
    (void)fclose(f);
    return text;
}

static void expect(const struct cc_record *r, enum cc_format format, const char *want)
{
    char *got = printed(r, format);
    assert_string_equal(got, want);
    free(got);
}

static void table(void **state)
{
    (void)state;
    struct cc_record r;
    three_rows(&r);
    expect(&r, CC_FORMAT_TABLE,
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
    char *got = printed(&r, CC_FORMAT_TABLE);
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
    cc_record_init(&r, "bench", columns, 4, argv);
    expect(&r, CC_FORMAT_TABLE, "");
    (void)snprintf(r.error, sizeof r.error, "no trace");
    expect(&r, CC_FORMAT_TABLE, "error: no trace\n");
    r.error[0] = '\0';
    add(&r, "fp32", 5e5, 1, NULL, false);
    expect(&r, CC_FORMAT_TABLE,
           "scheme     fp32\n"
           "values     0.50 M\n"
           "ratio      1\n"
           "workers    10\n"
           "bandwidth  100 Mbit/s\n"
           "busy       no\n");
    add(&r, "fp32", 5e5, 1, NULL, false);
    expect(&r, CC_FORMAT_TABLE,
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
    cc_record_init(&r, "bench", columns, 0, NULL);
    r.partial = true;
    expect(&r, CC_FORMAT_TABLE, "partial: interrupted before the first row\n");
    cc_record_free(&r);
}

/* Beyond 2^53, a double would lose the last digit. */
static void whole_numbers(void **state)
{
    (void)state;
    static const struct cc_column one[] = {{"k", "k", "", "%.0f", 0, "", CC_ANSWER}, {.key = NULL}};
    struct cc_record r;
    cc_record_init(&r, "bench", one, 0, NULL);
    assert_int_equal(cc_record_add(&r, NULL), 0);
    assert_int_equal(cc_record_whole(&r, 0, "k", INT64_MAX, NULL), CC_OK);
    assert_int_equal(cc_record_add(&r, NULL), 1);
    assert_int_equal(cc_record_whole(&r, 1, "k", 7, NULL), CC_OK);
    for (enum cc_format f = CC_FORMAT_TABLE; f <= CC_FORMAT_JSON; f++) {
        char *text = printed(&r, f);
        assert_contains(text, "9223372036854775807");
        assert_contains(text, "7\n");
        free(text);
    }
    assert_int_equal(cc_record_whole(&r, 0, "k", 8, NULL), CC_OK);
    assert_null(r.rows[0].value[0].text);
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
        const struct cc_column c = {"k", "k", "", cases[i].format, 0, "", CC_ANSWER};
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
    {"a", "a", "", "%08.0f", 0, "a setting that differs", CC_SETTING},
    {"d", "d", "", "%08.0f", 0, "a detail", CC_DETAIL},
    {"p", "p", "", "%08.0f", 0, "a part", CC_PART},
    {"m", "m", "ms", "%08.0f", 0, "a main one", CC_MAIN},
    {"n", "n", "", "%08.0f", 0, "another main one", CC_MAIN},
    {"r", "r", "", "%08.0f", 0, "the answer", CC_ANSWER},
    {"s", "s", "", "%08.0f", 0, "a setting that is the same", CC_SETTING},
    {"same", "same", "", "%08.0f", 0, "a result that is the same", CC_ANSWER},
    {"e", NULL, "", "%08.0f", 0, "not in the table", CC_ANSWER},
    {.key = NULL},
};

static void record_of_roles(struct cc_record *r)
{
    cc_record_init(r, "bench", roles, 0, NULL);
    for (size_t row = 0; row < 2; row++) {
        assert_int_equal(cc_record_add(r, NULL), row);
        for (size_t c = 0; roles[c].key != NULL; c++)
            cc_record_number(r, row, roles[c].key,
                             roles[c].key[0] == 's' ? 7 : (double)(10 * row + c));
    }
}

/* The printed table has this line of heads. */
static void expect_heads(const struct cc_record *r, const char *want)
{
    char line[128], *got = printed(r, CC_FORMAT_TABLE);
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
    expect(&r, CC_FORMAT_TABLE,
           "s  00000007\n"
           "\n"
           "       a         m         r      same\n"
           "                ms\n"
           "00000000  00000003  00000005  00000007\n"
           "00000010  00000013  00000015  00000007\n"
           "\n"
           "left out for the width of 47: d, p, n (--wide\n"
           "  shows all, --columns KEY,... a choice)\n"
           "one two  three four five six seven eight nine\n"
           "  ten\n"
           "a-word-that-is-longer-than-the-line-itself-is-cannot-be-broken\n"
           "  and goes on\n");
    cc_record_free(&r);
}

/* A text in the last column that does not fit beside the answers is wrapped in its column. */
static void wrapped_cells(void **state)
{
    static const struct cc_column list[] = {
        {"a", "a", "", "%08.0f", 0, "a setting", CC_SETTING},
        {"m", "m", "", "%08.0f", 0, "a result", CC_MAIN},
        {"why", "why", "", NULL, 0, "a text", CC_ANSWER},
        {.key = NULL},
    };
    (void)state;
    struct cc_record r;
    cc_record_init(&r, "advise", list, 0, NULL);
    for (size_t row = 0; row < 3; row++) {
        assert_int_equal(cc_record_add(&r, NULL), row);
        cc_record_number(&r, row, "a", (double)row);
        cc_record_number(&r, row, "m", 5);
    }
    assert_int_equal(cc_record_text(&r, 0, "why", "it is much longer than others", NULL), CC_OK);
    assert_int_equal(cc_record_text(&r, 2, "why", "short", NULL), CC_OK);
    r.width = 28;
    expect(&r, CC_FORMAT_TABLE,
           "       a  why\n"
           "00000000  it is much longer\n"
           "          than others\n"
           "00000001  -\n"
           "00000002  short\n"
           "\n"
           "left out for the width of\n"
           "  28: m (--wide shows all,\n"
           "  --columns KEY,... a\n"
           "  choice)\n");
    r.width = 60;
    expect(&r, CC_FORMAT_TABLE,
           "       a         m  why\n"
           "00000000  00000005  it is much longer than others\n"
           "00000001  00000005  -\n"
           "00000002  00000005  short\n");
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
    expect(&r, CC_FORMAT_TABLE,
           "    same         e         s         a\n"
           "00000007  00000008  00000007  00000000\n"
           "00000007  00000018  00000007  00000010\n");
    expect(&r, CC_FORMAT_CSV, "same,e,s,a\n7,8,7,0\n7,18,7,10\n");
    char *got = printed(&r, CC_FORMAT_JSON);
    assert_contains(got, "\"d\":"); /* all keys */
    free(got);
    assert_int_equal(cc_record_choose(&r, "a,sane", &e), CC_USAGE);
    assert_contains(e.text, "unknown column 'sane'; did you mean 'same'?");
    assert_int_equal(cc_record_choose(&r, "a,", &e), CC_USAGE);
    assert_int_equal(cc_record_choose(&r, "a,a", &e), CC_USAGE);
    assert_contains(e.text, "'a' is named twice");
    cc_record_free(&r);
}

/* A record with every character that Markdown or LaTeX has a meaning for. */
static void special_characters(struct cc_record *r)
{
    static const struct cc_column list[] = {
        {"name", "na_me", "", NULL, 0, "a text", CC_SETTING},
        {"net", "net", "%", NULL, 0, "a text above the table", CC_SETTING},
        {"off", "+-", "us", "%+.1f", 1, "a number", CC_ANSWER},
        {.key = NULL},
    };
    static const char *const line[] = {"commcomp", "model"};
    static const char *const names[] = {"a_b*c", "\\{x}$&#^~", "[1]<2>|`\"%\n", "\xc2\xb5"};
    cc_record_init(r, "model", list, 2, line);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(cc_record_add(r, NULL), i);
        assert_int_equal(cc_record_text(r, i, "name", names[i], NULL), CC_OK);
        assert_int_equal(cc_record_text(r, i, "net", "x_y", NULL), CC_OK);
        if (i < 3)
            cc_record_number(r, i, "off", (double)i - 1);
    }
    cc_record_title(r, "3. a title_");
    assert_int_equal(cc_record_note(r, NULL, "  - a note\n\\end{document}"), CC_OK);
    r->partial = true;
}

static void markdown(void **state)
{
    (void)state;
    struct cc_record r;
    special_characters(&r);
    expect(&r, CC_FORMAT_MARKDOWN,
           "3\\. a title\\_\n"
           "\n"
           "- net: x\\_y %\n"
           "\n"
           "| na\\_me | +- (us) |\n"
           "| :--- | ---: |\n"
           "| a\\_b\\*c | -1.0 |\n"
           "| \\\\{x}$&amp;\\#^\\~ | 0.0 |\n"
           "| \\[1\\]&lt;2&gt;\\|\\`\"%\\\\n | +1.0 |\n"
           "| \xc2\xb5 | - |\n"
           "\n"
           "- \\- a note\\\\n\\\\end{document}\n"
           "- partial: interrupted; these are the results until then\n");
    r.row_count = 1; /* a table of one row, not a list */
    char *got = printed(&r, CC_FORMAT_MARKDOWN);
    assert_contains(got, "| :--- | ---: |\n| a\\_b\\*c | -1.0 |\n");
    free(got);
    r.row_count = 4;
    cc_record_free(&r);
}

static void latex(void **state)
{
    (void)state;
    struct cc_record r;
    special_characters(&r);
    expect(&r, CC_FORMAT_LATEX,
           "% \\usepackage{booktabs}\n"
           "% commcomp model\n"
           "% 3. a title_\n"
           "% net: x_y %\n"
           "\\begin{tabular}{lr}\n"
           "\\toprule\n"
           "na\\_me & $\\pm$ \\\\\n"
           " & $\\mu$s \\\\\n"
           "\\midrule\n"
           "a\\_b{*}c & $-$1.0 \\\\\n"
           "\\textbackslash{}\\{x\\}\\$\\&\\#\\textasciicircum{}\\textasciitilde{} & 0.0 \\\\\n"
           "{[}1]\\textless{}2\\textgreater{}\\textbar{}`\"\\%\\textbackslash{}n"
           " & +1.0 \\\\\n"
           "\xc2\xb5 & -- \\\\\n"
           "\\bottomrule\n"
           "\\end{tabular}\n"
           "%   - a note\\n\\end{document}\n"
           "% partial: interrupted; these are the results until then\n");
    cc_record_free(&r);
}

static void csv(void **state)
{
    (void)state;
    struct cc_record r;
    three_rows(&r);
    expect(&r, CC_FORMAT_CSV,
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
    three_rows(&r);
    (void)snprintf(r.mpi, sizeof r.mpi, "An \"MPI\" v1");
    char *got = printed(&r, CC_FORMAT_JSON);
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
    three_rows(&r);
    r.row_count = 1; /* one form suffices here; the others are read back below */
    char *got = printed(&r, CC_FORMAT_JSON);
    cJSON *o = cJSON_Parse(got);
    assert_non_null(o);
    free(got);
    struct cc_machine_info h;
    cc_machine_info_read(&h);
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(o, "host");
    const struct {
        const char *key, *want;
    } texts[] = {{"cpu", h.cpu},           {"isa", h.isa},         {"kernel", h.kernel},
                 {"compiler", h.compiler}, {"version", h.version}, {"time", NULL}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(host, texts[i].key));
        assert_non_null(value);
        assert_true(value[0] != '\0' &&
                    (texts[i].want == NULL || strcmp(value, texts[i].want) == 0));
    }
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(host, "cores")) == h.cores && h.cores > 0);
    assert_null(cJSON_GetObjectItem(host, "mpi"));
    cJSON_DeleteItemFromObject(o, "host");
    got = cJSON_PrintUnformatted(o);
    assert_string_equal(
        got, "{\"schema\":\"commcomp/1\",\"command\":\"bench\","
             "\"argv\":[\"commcomp\",\"bench\",\"-o\",\"a \\\"b\\\".csv\"],"
             "\"rows\":[{\"scheme\":\"fp32\",\"values\":1727962,\"ratio\":1,"
             "\"payload_bytes\":6911848,\"workers\":10,\"bw_bps\":100000000,\"step_s\":null,"
             "\"tensor\":null,\"oversubscribed\":false}]}");
    cJSON_free(got);
    cJSON_Delete(o);
    r.row_count = 3;
    cc_record_free(&r);
}

static void json_of_failure(void **state)
{
    (void)state;
    struct cc_record r;
    cc_record_init(&r, "bench", columns, 4, argv);
    assert_int_equal(cc_record_note(&r, NULL, "a \xff note"), CC_OK);
    r.partial = true;
    (void)snprintf(r.error, sizeof r.error, "\"x\xc3\": no such file");
    char *got = printed(&r, CC_FORMAT_JSON);
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
    {"name", "name", "", NULL, 0, "", CC_SETTING},
    {"value", "value", "", NULL, 0, "", CC_ANSWER},
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
        assert_int_equal(cc_record_text(r, cc_record_add(r, NULL), "name", hard_texts[i], NULL),
                         CC_OK);
    for (size_t i = 0; i < NUMBERS; i++)
        cc_record_number(r, cc_record_add(r, NULL), "value", hard_numbers[i]);
    cc_record_number(r, cc_record_add(r, NULL), "value", NAN);
    cc_record_number(r, cc_record_add(r, NULL), "value", -INFINITY);
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
        assert_string_equal(text, pair[at->field].key);
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
    char *text = printed(&r, CC_FORMAT_CSV);
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
    char *text = printed(&r, CC_FORMAT_JSON);
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
    cc_record_number(&r, 1, "name", 2);
    assert_int_equal(cc_record_value(&r, 1, "name")->kind, CC_NUMBER);
    cc_record_bool(&r, 1, "name", true);
    assert_int_equal(cc_record_value(&r, 1, "name")->kind, CC_BOOL);
    assert_int_equal(cc_record_text(&r, 1, "name", "\xed\xa0\x80\xf4\x90", NULL), CC_OK);
    const char *surrogate = cc_record_value(&r, 1, "name")->text;
    assert_string_equal(surrogate, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    cc_record_free(&r);
}

/* --- files --- */

static int make_directory(void **state)
{
    char *path = strdup("/tmp/test_record.XXXXXX");
    *state = path;
    return path != NULL && mkdtemp(path) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    int failed = rmdir(*state);
    free(*state);
    return failed;
}

static size_t entries(const char *path)
{
    DIR *d = opendir(path);
    assert_non_null(d);
    size_t count = 0;
    while (readdir(d) != NULL)
        count++;
    (void)closedir(d);
    return count - 2;
}

static void saved_whole(void **state)
{
    static const char *const names[] = {"t.txt", "c.csv", "j.json", "m.md", "l.tex"};
    struct cc_record r;
    struct cc_error e;
    three_rows(&r);
    for (int format = CC_FORMAT_TABLE; format <= CC_FORMAT_LATEX; format++) {
        char path[256], *want = printed(&r, (enum cc_format)format);
        (void)snprintf(path, sizeof path, "%s/%s", (const char *)*state, names[format]);
        assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_OK);
        assert_int_equal(entries(*state), 1);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        char got[4096];
        size_t length = fread(got, 1, sizeof got, f);
        (void)fclose(f);
        assert_int_equal(length, strlen(want));
        if (format != CC_FORMAT_JSON) /* which has the time of day */
            assert_memory_equal(got, want, length);
        assert_int_equal(unlink(path), 0);
        free(want);
    }
    cc_record_free(&r);
}

static void not_saved(void **state)
{
    struct cc_record r;
    struct cc_error e;
    char path[256];
    three_rows(&r);
    (void)snprintf(path, sizeof path, "%s/missing/a.csv", (const char *)*state);
    assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_FAIL);
    assert_contains(e.text, "missing/a.csv");
    assert_contains(e.text, "No such file");

    (void)snprintf(path, sizeof path, "%s/a.dat", (const char *)*state);
    assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_USAGE);
    assert_contains(e.text, "use .csv, .json, .txt, .md or .tex");
    enum cc_format format;
    assert_int_equal(cc_format_of_path("a.csv/b", CC_FORMAT_CSV, &format, &e), CC_USAGE);
    assert_int_equal(cc_format_of_path("csv", CC_FORMAT_CSV, &format, &e), CC_USAGE);
    assert_int_equal(cc_format_of_path("/dev/null", CC_FORMAT_JSON, &format, &e), CC_OK);
    assert_int_equal(format, CC_FORMAT_JSON);

    (void)snprintf(path, sizeof path, "%s/d.csv", (const char *)*state);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_FAIL);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(entries(*state), 0);
    cc_record_free(&r);
}

static void full_disk(void **state)
{
    struct cc_record r;
    struct cc_error e;
    three_rows(&r);
    for (int format = CC_FORMAT_TABLE; format <= CC_FORMAT_LATEX; format++) {
        FILE *f = fopen("/dev/full", "w");
        if (f == NULL)
            skip();
        assert_int_equal(cc_record_print(&r, (enum cc_format)format, f, &e), CC_FAIL);
        assert_contains(e.text, "No space left");
        (void)fclose(f);
    }
    /* A limit on the size of files stands in for a full disk under a path. */
    char path[256];
    struct rlimit old, few = {.rlim_cur = 100};
    (void)snprintf(path, sizeof path, "%s/a.csv", (const char *)*state);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    few.rlim_max = old.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    int status = cc_record_save(&r, path, CC_FORMAT_CSV, &e);
    (void)setrlimit(RLIMIT_FSIZE, &old);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, CC_FAIL);
    assert_contains(e.text, "a.csv: ");
    assert_contains(e.text, "File too large");
    assert_int_equal(entries(*state), 0);
    cc_record_free(&r);
}

/* Runs one of the checking scripts, from the directory of the sources, on the record in a file. Its
 * output must be `want`. */
static void check_with(const char *script, const char *directory, const char *file,
                       const struct cc_record *r, const char *want)
{
    char path[256], command[600], got[1024];
    (void)snprintf(path, sizeof path, "%s/%s", directory, file);
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
    three_rows(&r);
    if (access("tests/check_csv.sh", X_OK) != 0) {
        print_message("SKIPPED: not in the directory of the sources\n");
        cc_record_free(&r);
        skip();
    }
    check_with("tests/check_csv.sh %s values ratio payload_bytes", *state, "c.csv", &r,
               "columns 9\n"
               "values 3 1727962 12000000\n"
               "ratio 2 1 20.123456789\n"
               "payload_bytes 3 6911848 48000000\n");
    r.command = "trace info"; /* whose keys are free */
    check_with("tests/check_json.py %s 2>&1", *state, "j.json", &r, "");
    check_with("tests/check_json.py --self-test >/dev/null # %s", *state, "j.json", &r, "");
    cc_record_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(table_of_one_row_or_none),
        cmocka_unit_test(partial),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(digits),
        cmocka_unit_test(narrow_table),
        cmocka_unit_test(wrapped_cells),
        cmocka_unit_test(chosen_columns),
        cmocka_unit_test(markdown),
        cmocka_unit_test(latex),
        cmocka_unit_test(csv),
        cmocka_unit_test(json),
        cmocka_unit_test(json_of_a_run),
        cmocka_unit_test(json_of_failure),
        cmocka_unit_test(csv_reads_back),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(values_can_be_set_again),
        cmocka_unit_test_setup_teardown(saved_whole, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(not_saved, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(full_disk, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(others_read_it, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
