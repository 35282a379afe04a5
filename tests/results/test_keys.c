/* The table of keys: names, units and scales. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "results/key.h"
#include "results/plot_impl.h"

/* Whether the name has the word between its underscores: "s" is a word of "step_s_model". */
static bool has_word(const char *name, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = name; at != NULL; at = strchr(at, '_')) {
        at += *at == '_';
        if (strncmp(at, word, length) == 0 && (at[length] == '_' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

/* How many of a unit are one in CSV and JSON, whose numbers are in seconds, bytes and bits. */
static double scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = {
        {"", 1},          {"s", 1},       {"ms", 1e3},  {"us", 1e6},
        {"ns/B", 1e9},    {"B", 1},       {"cores", 1}, {"MiB", 1.0 / (1024 * 1024)},
        {"kB", 1e-3},     {"MB", 1e-6},   {"GB", 1e-9}, {"bits", 1},
        {"Mbit/s", 1e-6}, {"GB/s", 1},    {"GHz", 1},   {"B/value", 1},
        {"1/s", 1},       {"updates", 1}, {"%", 100},   {"points", 100},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].scale;
    fail_msg("no unit '%s' is known here", unit);
    return 0;
}

/* The units that a key with this name may have in tables; NULL: the name says none. */
static const char *const *units_of(const char *name)
{
    static const char *const speeds[] = {"GB/s", NULL}, *const a_second[] = {"1/s", NULL};
    static const char *const rates[] = {"", "Mbit/s", NULL}, *const clocks[] = {"GHz", NULL};
    static const char *const a_byte[] = {"ns/B", NULL}, *const a_value[] = {"B/value", NULL};
    static const char *const bits[] = {"bits", NULL}, *const bytes[] = {"B",  "kB",  "MB",
                                                                        "GB", "MiB", NULL};
    static const char *const times[] = {"s", "ms", "us", NULL};
    if (strstr(name, "gb_per_s") != NULL)
        return speeds;
    if (strstr(name, "_per_s") != NULL)
        return a_second;
    if (strstr(name, "bytes_per_value") != NULL)
        return a_value;
    if (strcmp(name, "reduce_byte_s") == 0)
        return a_byte;
    return has_word(name, "bps")     ? rates
           : has_word(name, "ghz")   ? clocks
           : has_word(name, "bits")  ? bits
           : has_word(name, "bytes") ? bytes
           : has_word(name, "s")     ? times
                                     : NULL;
}

/* A table shows a value in the unit of its head: one that is wrong by a factor of ten does not pass
 * here, nor a unit that the name does not say. */
static void units(void **state)
{
    (void)state;
    for (size_t i = 0; i < CC_KEYS; i++) {
        const struct cc_result_key *k = &cc_result_keys[i];
        const char *const *allowed = units_of(k->name);
        if (allowed != NULL && !is_one_of(k->unit, allowed))
            fail_msg("%s is not in '%s'", k->name, k->unit);
        if (k->scale != scale_of(k->unit))
            fail_msg("%s: a scale of %g does not give '%s'", k->name, k->scale, k->unit);
        if (has_word(k->name, "bps") && k->unit[0] == '\0' &&
            (k->format == NULL || strcmp(k->format, CC_RATE) != 0))
            fail_msg("%s: bits per second without a unit", k->name);
    }
}

static void names(void **state)
{
    (void)state;
    for (size_t i = 0; i < CC_KEYS; i++) {
        const struct cc_result_key *k = &cc_result_keys[i];
        if (k->name[strspn(k->name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
            fail_msg("%s: letters, digits and underscores", k->name);
        for (size_t other = 0; other < i; other++)
            assert_string_not_equal(cc_result_keys[other].name, k->name);
        if (k->help[0] == '\0' || k->help[strlen(k->help) - 1] == '.')
            fail_msg("%s: '%s' should be a meaning without a full stop", k->name, k->help);
        if (k->head != NULL && k->head[0] == '\0')
            fail_msg("%s: an empty head", k->name);
    }
}

static void origins(void **state)
{
    (void)state;
    for (size_t i = 0; i < CC_KEYS; i++)
        assert_in_range(cc_result_keys[i].origin, CC_ORIGIN_GIVEN, CC_ORIGINS - 1);
    for (enum cc_origin o = CC_ORIGIN_GIVEN; o < CC_ORIGINS; o++)
        assert_int_equal(cc_origin_of_word(cc_origin_word(o)), o);
    assert_int_equal(cc_origin_of_word("guessed"), CC_ORIGIN_UNKNOWN);
    assert_int_equal(cc_origin_of_word(cc_origin_word(CC_ORIGIN_UNKNOWN)), CC_ORIGIN_UNKNOWN);
    /* Rows that say it themselves. */
    assert_int_equal(CC_KEY(speedup_paper)->origin, CC_ORIGIN_PUBLISHED);
    assert_int_equal(CC_KEY(step_s_model)->origin, CC_ORIGIN_COMPUTED);
    assert_int_equal(CC_KEY(step_s_sim)->origin, CC_ORIGIN_SIMULATED);
    assert_int_equal(CC_KEY(encode_gb_per_s)->origin, CC_ORIGIN_MEASURED);
    assert_int_equal(CC_KEY(accuracy)->origin, CC_ORIGIN_TRAINED);
    assert_int_equal(CC_KEY(workers)->origin, CC_ORIGIN_GIVEN);
}

/* The names of commcomp/1: of the command that had them only. */
static void renamed(void **state)
{
    (void)state;
    assert_string_equal(cc_key_renamed("paper", "error"), "paper_error");
    assert_string_equal(cc_key_renamed("run", "error"), "paper_error");
    assert_string_equal(cc_key_renamed("bench", "error"), "error");
    assert_string_equal(cc_key_renamed("run", "step_s"), "step_s");
    assert_string_equal(cc_key_renamed("nobody", "error"), "error");
}

static bool is_key(const char *name)
{
    for (size_t i = 0; i < CC_KEYS; i++)
        if (strcmp(cc_result_keys[i].name, name) == 0)
            return true;
    return false;
}

static void expect_keys(const char *kind, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] != NULL && !is_key(names[i]))
            fail_msg("the plot %s needs '%s', which is not a key", kind, names[i]);
}

/* Plots find columns by their names, which a renamed key would no longer have. Those of timelines
 * are no keys, as no command prints them; tests/cli/plot.sh draws them. */
static void keys_of_plots(void **state)
{
    (void)state;
    const struct cc_sheet empty = {.columns = 0};
    for (int i = 0; i < CC_PLOT_KINDS; i++)
        for (int over = CC_OVER_STEPS; over <= CC_OVER_TIME; over++) {
            if (i == CC_PLOT_TIMELINE || i == CC_PLOT_THROUGHPUT)
                continue;
            const struct cc_kind k =
                cc_plot_describe((enum cc_plot_kind)i, (enum cc_plot_over)over, &empty);
            const char *const name = cc_plot_kind_names[i];
            expect_keys(name, &k.x, 1);
            expect_keys(name, &k.panel, 1);
            expect_keys(name, k.series, sizeof k.series / sizeof k.series[0]);
            expect_keys(name, k.measure, sizeof k.measure / sizeof k.measure[0]);
            expect_keys(name, &k.also, 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),   cmocka_unit_test(names),         cmocka_unit_test(origins),
        cmocka_unit_test(renamed), cmocka_unit_test(keys_of_plots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
