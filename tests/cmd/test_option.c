/* Options into structs: every kind of value, defaults of tables and of commands, lists, and which
 * options were given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "cmd/cli/command.h"
#include "core/units.h"

static const char *const colours[] = {"red", "green", "blue", NULL};

struct sample {
    struct cc_given given;
    bool flag;
    const char *text;
    enum { RED, GREEN, BLUE } colour;
    int few;
    uint64_t many;
    double bytes, real, time_s, rate_bps, share, own;
    double *shares;
    int *numbers;
    size_t share_count, number_count;
    int elsewhere; /* the member of a row that the command does not have */
};

static int parse_twice(const char *text, void *member, struct cc_error *e)
{
    uint64_t v;
    if (strcmp(text, "bad") == 0)
        return cc_usage(e, "--own bad: it is never good");
    CC_TRY(cc_parse_count(text, &v, e));
    *(double *)member = 2 * (double)v;
    return CC_OK;
}

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct sample, m)
static const struct cc_option rows[] = {
    {.name = "flag", MEMBER(flag), .help = ""},
    {.name = "text", MEMBER(text), .value = "T", .help = ""},
    {.name = "colour", MEMBER(colour), .value = "C", .choices = colours, .def = "green", .help = ""},
    {.name = "few", MEMBER(few), .kind = CC_TAKES_COUNT, .min = 2, .max = 9, .value = "N",
     .def = "3", .help = ""},
    {.name = "many", MEMBER(many), .kind = CC_TAKES_COUNT, .value = "N", .help = ""},
    {.name = "bytes", MEMBER(bytes), .kind = CC_TAKES_COUNT, .value = "N", .help = ""},
    {.name = "real", MEMBER(real), .kind = CC_TAKES_REAL, .value = "X", .def = "0.5", .help = ""},
    {.name = "time", MEMBER(time_s), .kind = CC_TAKES_TIME, .value = "T", .help = ""},
    {.name = "rate", MEMBER(rate_bps), .kind = CC_TAKES_RATE, .value = "R", .help = ""},
    {.name = "share", MEMBER(share), .kind = CC_TAKES_SHARE, .value = "S", .help = ""},
    {.name = "own", MEMBER(own), .parse = parse_twice, .value = "N", .def = "4", .help = ""},
    {.name = "shares", CC_OPTION_LIST(struct sample, shares, share_count), .kind = CC_TAKES_SHARE,
     .value = "S", .help = ""},
    {.name = "numbers", CC_OPTION_LIST(struct sample, numbers, number_count),
     .kind = CC_TAKES_COUNT, .min = 1, .value = "N", .def = "7", .help = ""},
    {.name = "elsewhere", MEMBER(elsewhere), .kind = CC_TAKES_COUNT, .value = "N", .def = "6",
     .help = ""},
    {.name = NULL},
};
/* clang-format on */

static const struct cc_option_use uses[] = {
    {.rows = rows, .names = "few", .own = {.def = "8", .max = 20}},
    {.rows = rows, .names = "flag text colour many bytes real time rate share own shares numbers"},
    {.rows = NULL},
};
static const struct cc_column columns[] = {{.key = NULL}};
static const struct cc_command command = {
    .name = "sample", .operands = "", .options = uses, .columns = columns};

/* Parses words with blanks between them, and reads the struct. */
static int read(const char *line, struct cc_args *args, struct sample *out, struct cc_error *e)
{
    static char text[256];
    char *words[32] = {NULL}, *rest = text;
    int count = 0;
    *args = (struct cc_args){0};
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word; line[0] != '\0' && (word = strsep(&rest, " ")) != NULL;)
        words[count++] = word;
    CC_TRY(cc_args_parse(args, &command, count, words, 0, e));
    return cc_options_read(args, rows, out, e);
}

static void defaults(void **state)
{
    (void)state;
    struct cc_args args;
    struct sample s = {.many = 5, .time_s = 1};
    assert_int_equal(read("", &args, &s, NULL), CC_OK);
    assert_false(s.flag);
    assert_null(s.text);
    assert_int_equal(s.colour, GREEN);
    assert_int_equal(s.few, 8); /* the command's */
    assert_int_equal(s.many, 5);
    assert_true(s.real == 0.5 && s.time_s == 1 && s.own == 8);
    assert_int_equal(s.share_count, 0);
    assert_int_equal(s.number_count, 1);
    assert_int_equal(s.numbers[0], 7);
    assert_int_equal(s.elsewhere, 6);
    assert_null(cc_given_any(&s));
    cc_options_free(&s);
    assert_null(s.numbers);
    cc_args_free(&args);
}

static void given(void **state)
{
    (void)state;
    struct cc_args args;
    struct sample s = {.many = 5};
    const void *const two[] = {&s.real, &s.share, NULL}, *const none[] = {&s.real, &s.few, NULL};
    assert_int_equal(read("--flag --text x --colour blue --many 25M --bytes 1Ki --time 5ms --rate "
                          "10mbps --share 1% --own 3 --shares 1%,0.5 --numbers 4,16",
                          &args, &s, NULL),
                     CC_OK);
    assert_true(s.flag);
    assert_string_equal(s.text, "x");
    assert_int_equal(s.colour, BLUE);
    assert_int_equal(s.many, 25000000);
    assert_true(s.bytes == 1024 && s.time_s == 5e-3 && s.rate_bps == 1e7 && s.share == 0.01);
    assert_true(s.own == 6 && s.share_count == 2 && s.shares[0] == 0.01 && s.shares[1] == 0.5);
    assert_int_equal(s.number_count, 2);
    assert_int_equal(s.numbers[1], 16);
    assert_string_equal(cc_given(&s, &s.numbers), "numbers");
    assert_string_equal(cc_given(&s, &s.flag), "flag");
    assert_null(cc_given(&s, &s.real));
    assert_string_equal(cc_given_of(&s, two), "share");
    assert_null(cc_given_of(&s, none));
    cc_options_free(&s);
    cc_args_free(&args);
}

/* A text set before the struct is read counts as given; NULL takes it back. */
static void set(void **state)
{
    (void)state;
    struct cc_args args;
    struct sample s = {.flag = false};
    assert_int_equal(read("--real 2", &args, &s, NULL), CC_OK);
    cc_options_free(&s);
    cc_arg_set(&args, "few", "9");
    cc_arg_set(&args, "real", NULL);
    assert_int_equal(cc_options_read(&args, rows, &s, NULL), CC_OK);
    assert_int_equal(s.few, 9);
    assert_string_equal(cc_given(&s, &s.few), "few");
    assert_null(cc_given(&s, &s.real));
    assert_true(s.real == 0.5);
    cc_options_free(&s);
    cc_args_free(&args);
}

static void wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"--few 21", "--few: 21 is not between 2 and 20"},
        {"--few 1", "--few: 1 is not between 2 and 20"},
        {"--numbers 1,0", "--numbers: 0 is not between 1 and 2147483647"},
        {"--numbers 1,,2", "--numbers 1,,2: a list of counts with commas between them"},
        {"--numbers 3000M", "--numbers: 3000M is not between 1 and 2147483647"},
        {"--real 1x", "--real: '1x' is not a number"},
        {"--real inf", "--real: 'inf' is not a number"},
        {"--colour gren", "--colour gren: did you mean 'green'?"},
        {"--own bad", "--own bad: it is never good"},
        {"--elsewhere 3", "unknown option --elsewhere; `commcomp sample --help` lists them"},
        {"--real 1 --real 2", "--real is given twice: 1, then 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cc_args args;
        struct cc_error e = {""};
        struct sample s = {.flag = false};
        assert_int_equal(read(cases[i].line, &args, &s, &e), CC_USAGE);
        assert_string_equal(e.text, cases[i].message);
        cc_options_free(&s);
        cc_args_free(&args);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults), cmocka_unit_test(given),
                                       cmocka_unit_test(set), cmocka_unit_test(wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
