/* Numbers with units, parameters, and advice after misspelt words: against tables worked out by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/nearest.h"
#include "core/param.h"
#include "core/units.h"
#include "tests/lib/text.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

static void shares(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},      {"1", 1},        {"0.25", 0.25}, {"1e-3", 1e-3},
                 {"25%", 0.25}, {"0.5%", 0.005}, {"100%", 1},    {"50 %", 0.5}};
    static const char *const refused[] = {"",    "1.5",       "101%", "-0.1", "%",
                                          "1%%", "5 percent", "inf",  "0x1"};
    double v;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        assert_int_equal(cc_parse_share(cases[i].text, &v, NULL), CC_OK);
        assert_true(v == cases[i].value);
    }
    for (size_t i = 0; i < LENGTH(refused); i++) {
        struct cc_error e = {""};
        assert_int_equal(cc_parse_share(refused[i], &v, &e), CC_USAGE);
        assert_contains(e.text, "is not a share from 0 to 1");
    }
}

static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"0", 0},
        {"1000", 1000},
        {"25M", 25000000},
        {"25 M", 25000000},
        {"1Mi", 1048576},
        {"1.5k", 1500},
        {"1.001K", 1001}, /* not exact in binary, */
        {"2.01M", 2010000},
        {"0.000001M", 1},
        {"1.1T", 1100000000000},
        {"0.5Ki", 512},
        {"0.0009765625Ki", 1},
        {"1.00000000000000000000000000000000K", 1000}, /* longer than any buffer */
        {"00000000000000000000000000000000001", 1},
        {"9007199254740993", 9007199254740993}, /* 2^53 + 1 */
        {"9223372036854775807", INT64_MAX},
        {"9.223372036854775807e18", INT64_MAX},
        {"9223372.036854775807T", INT64_MAX},
        {"1e3", 1000},
        {"1e-3K", 1},
        {"0e999", 0},
    };
    static const char *const refused[] = {"1.0001K",
                                          "0.5",
                                          "9223372036854775808",
                                          "1e19",
                                          "8388608Ti",
                                          "1e999",
                                          "1e-99",
                                          "",
                                          "K",
                                          "-1",
                                          "1 ",
                                          "1  K",
                                          "0x10",
                                          "inf",
                                          "1KK",
                                          "1kk",
                                          "1m",
                                          "1,5",
                                          "1.00000000000000000000000000000000001K"};
    struct cc_error e;
    uint64_t value;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        if (cc_parse_count(cases[i].text, &value, &e) != CC_OK)
            fail_msg("%s", e.text);
        if (value != cases[i].value)
            fail_msg("%s is %llu", cases[i].text, (unsigned long long)value);
    }
    for (size_t i = 0; i < LENGTH(refused); i++)
        if (cc_parse_count(refused[i], &value, &e) != CC_USAGE)
            fail_msg("'%s' is %llu", refused[i], (unsigned long long)value);
}

static void rates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"10mbps", 10e6},    {"10Mbps", 10e6},     {"10mbit", 10e6},    {"10Mbit", 10e6},
        {"10Mbit/s", 10e6},  {"10mbit/s", 10e6},   {"10MBIT/S", 10e6},  {"10 Mbit/s", 10e6},
        {"10Mb/s", 10e6},    {"1gbps", 1e9},       {"1Gbps", 1e9},      {"2.5gbit/s", 2.5e9},
        {"56kbit", 56e3},    {"56kbps", 56e3},     {"56Kbps", 56e3},    {"9600bps", 9600},
        {"9600bit/s", 9600}, {"9600 bit/s", 9600}, {"0.4tbps", 0.4e12}, {"10MBps", 80e6},
        {"10MB/s", 80e6},    {"1.25GB/s", 10e9},   {"1.25GBps", 10e9},  {"1kB/s", 8000},
        {"1KB/s", 8000},     {"1kBps", 8000},      {"3B/s", 24},        {"3Bps", 24},
        {"0.1TB/s", 0.8e12},
    };
    static const struct {
        const char *text, *message;
    } refused[] = {
        {"10M", "'10M' may mean bits or bytes: write 10Mbit/s or 10MB/s (80 Mbit/s)"},
        {"10m", "write 10Mbit/s or 10MB/s (80 Mbit/s)"},
        {"1g", "write 1Gbit/s or 1GB/s (8 Gbit/s)"},
        {"10MB", "write 10Mbit/s or 10MB/s"},
        {"10Mb", "write 10Mbit/s or 10MB/s"},
        {"10mb/s", "write 10Mbit/s or 10MB/s"},
        {"10mB/s", "write 10Mbit/s or 10MB/s"},
        {"10mBps", "write 10Mbit/s or 10MB/s"},
        {"10MBPS", "write 10Mbit/s or 10MB/s"},
        {"10MB/S", "write 10Mbit/s or 10MB/s"},
        {"1.5bps ", "not a rate"},
        {"10", "not a rate"},
        {"0mbps", "not a rate"},
        {"mbps", "not a rate"},
        {"10mbpss", "not a rate"},
        {"10Mibit/s", "not a rate"},
        {"-1mbps", "not a rate"},
    };
    struct cc_error e;
    double value;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        if (cc_parse_rate(cases[i].text, &value, &e) != CC_OK)
            fail_msg("%s", e.text);
        if (value != cases[i].value)
            fail_msg("%s is %.17g", cases[i].text, value);
    }
    for (size_t i = 0; i < LENGTH(refused); i++) {
        if (cc_parse_rate(refused[i].text, &value, &e) != CC_USAGE)
            fail_msg("'%s' is %g", refused[i].text, value);
        assert_contains(e.text, refused[i].message);
    }
}

/* A rate that is printed is read again. */
static void printed_rates(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{10e6, "10 Mbit/s"},
                 {9.5545e6, "9.5545 Mbit/s"},
                 {400e9, "400 Gbit/s"},
                 {1e9, "1 Gbit/s"},
                 {999.9999999e6, "1 Gbit/s"},
                 {56e3, "56 kbit/s"},
                 {955.8123e6, "955.812 Mbit/s"},
                 {300, "300 bit/s"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[32], again[32];
        double value = 0;
        cc_print_rate(cases[i].value, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(cc_parse_rate(text, &value, NULL), CC_OK);
        cc_print_rate(value, again, sizeof again);
        assert_string_equal(again, text);
    }
}

static void times(void **state)
{
    (void)state;
    double value;
    assert_int_equal(cc_parse_time("50us", &value, NULL), CC_OK);
    assert_float_equal(value, 50e-6, 1e-20);
    assert_int_equal(cc_parse_time("1.5 s", &value, NULL), CC_OK);
    assert_float_equal(value, 1.5, 0);
    assert_int_equal(cc_parse_time("0", &value, NULL), CC_OK);
    assert_float_equal(value, 0, 0);
    assert_int_equal(cc_parse_time("5", &value, NULL), CC_USAGE);
    assert_int_equal(cc_parse_time("5ms ", &value, NULL), CC_USAGE);
    assert_int_equal(cc_parse_time("5Ms", &value, NULL), CC_USAGE);
}

/* A value is in its range as written and as rounded to nine digits. */
static void parameters(void **state)
{
    (void)state;
    struct values {
        double s;
    } v = {1.5};
    const struct cc_param table[] = {
        CC_PARAM_REAL(struct values, s, 1, 1, 2, "", "a number", .max_open = true), {.name = NULL}};
    static const char *const refused[] = {"0.9999999999", "1.9999999999", "2",   "",
                                          " 1",           "1x",           "nan", "0x1p0"};
    for (size_t i = 0; i < LENGTH(refused); i++) {
        struct cc_error e = {""};
        if (cc_param_set(table, refused[i], &v, &e) != CC_USAGE)
            fail_msg("s=%s is allowed", refused[i]);
        assert_contains(e.text, "allowed is 1 <= s < 2");
    }
    assert_float_equal(v.s, 1.5, 0);
    assert_int_equal(cc_param_set(table, "1.00000000000001", &v, NULL), CC_OK);
    assert_float_equal(v.s, 1, 0);
}

static void nearest_words(void **state)
{
    (void)state;
    static const char *const schemes[] = {"all", "paper", "fp32", "3lc", "int8", "topk", NULL};
    static const char *const nets[] = {"resnet20",  "resnet50", "resnet110",
                                       "resnet152", "vgg16",    NULL};
    static const char *const commands[] = {"bench", "model",   "run", "nets",
                                           "plot",  "schemes", NULL};
    static const char *const exchanges[] = {"ps", "ring", "rabenseifner", "recdouble", NULL};
    static const struct {
        const char *const *list;
        const char *word, *nearest;
    } cases[] = {
        {schemes, "3cl", "3lc"}, /* transposed: nearer than "all" */
        {schemes, "FP32", "fp32"},
        {schemes, "tokp", "topk"},
        {schemes, "tpc", NULL},
        {schemes, "x", NULL},
        {schemes, "", NULL},
        {nets, "resnet101", "resnet110"},
        {nets, "resnet51", "resnet50"}, /* the nearer of two */
        {nets, "resnet5", "resnet50"},
        {nets, "vgg20", "vgg16"},
        {nets, "vgg", "vgg16"},       /* the beginning of one name only */
        {nets, "resnet", "resnet20"}, /* the first of several */
        {nets, "inception", NULL},
        {commands, "pots", NULL},
        {commands, "plto", "plot"},
        {commands, "benhc", "bench"},
        {exchanges, "rign", "ring"},
        {exchanges, "rabens", "rabenseifner"},
        {exchanges, "tpc", NULL},
        {exchanges, "rabensiefner", "rabenseifner"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *near = cc_nearest(cases[i].word, cases[i].list);
        const char *want = cases[i].nearest;
        if (near != want && (near == NULL || want == NULL || strcmp(near, want) != 0))
            fail_msg("%s: %s instead of %s", cases[i].word, near != NULL ? near : "none",
                     want != NULL ? want : "none");
    }
}

static void words_in_a_list(void **state)
{
    (void)state;
    char all[8];
    cc_word_list((const char *const[]){"a", "bc", NULL}, all, sizeof all);
    assert_string_equal(all, "a, bc");
    cc_word_list((const char *const[]){"ring", "mpi", "ps", NULL}, all, sizeof all);
    assert_string_equal(all, "ring, m"); /* cut off, and terminated */
    cc_word_list((const char *const[]){NULL}, all, sizeof all);
    assert_string_equal(all, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),        cmocka_unit_test(counts),
        cmocka_unit_test(rates),         cmocka_unit_test(printed_rates),
        cmocka_unit_test(times),         cmocka_unit_test(parameters),
        cmocka_unit_test(nearest_words), cmocka_unit_test(words_in_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
