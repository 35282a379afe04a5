/* Timelines read back: a small one whose bins are computed by hand, and refusals.
 * tests/cli/timeline.sh compares real ones with sums over all of a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/sheet.h"
#include "results/timeline_use.h"
#include "tests/lib/text.h"

static struct cc_error e;

#define PROCESS(pid, args)                                                                         \
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " pid ", \"tid\": " pid                  \
    ", \"args\": {" args "}}"
#define TRACK(pid, tid, args)                                                                      \
    "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " pid ", \"tid\": " tid                   \
    ", \"args\": {" args "}}"
#define SPAN(name, pid, tid, ts, dur)                                                              \
    "{\"ph\": \"X\", \"name\": \"" name "\", \"cat\": \"phase\", \"pid\": " pid ", \"tid\": " tid  \
    ", \"ts\": " ts ", \"dur\": " dur "}"
#define SENT(id, pid, tid, ts, bytes)                                                              \
    "{\"ph\": \"b\", \"cat\": \"transfer\", \"name\": \"into\", \"id\": \"" id "\", \"pid\": " pid \
    ", \"tid\": " tid ", \"ts\": " ts ", \"args\": {\"bytes\": " bytes "}}"
#define RECEIVED(id, pid, tid, ts)                                                                 \
    "{\"ph\": \"e\", \"cat\": \"transfer\", \"name\": \"into\", \"id\": \"" id "\", \"pid\": " pid \
    ", \"tid\": " tid ", \"ts\": " ts "}"

/* Two rows of two workers each. In the first, which takes 1000 us, bins of 10 us, the server is on
 * the host of worker 0; a link sends 100 and receives 200 Mbit/s. In the second, which takes 500
 * us, the workers share a host, the server has its own, and the rates are not known. */
static const char *const events[] = {
    PROCESS("1", "\"name\": \"a\", \"scheme\": \"fp32\", \"up_bps\": 100000000, \"down_bps\": 2e8"),
    TRACK("1", "1", "\"name\": \"steps\""),
    TRACK("1", "2", "\"name\": \"w0\", \"host\": 0, \"worker\": true"),
    SPAN("compute", "1", "2", "0.000", "25.000"), /* bins 0 and 1, and half of bin 2 */
    SPAN("wait", "1", "2", "25.000", "975.000"),
    SENT("local", "1", "2", "100.000", "5000"),
    TRACK("1", "3", "\"name\": \"worker 0, codecs\", \"host\": 0"),
    SPAN("encode", "1", "3", "30.000", "10.000"),
    TRACK("1", "4", "\"name\": \"w1\", \"host\": 1, \"worker\": true"),
    SPAN("compute", "1", "4", "15.000", "5.000"), /* half of bin 1 */
    SENT("push", "1", "4", "40.000", "300"),
    RECEIVED("pull", "1", "4", "1000.000"),
    RECEIVED("point", "1", "4", "500.000"),
    TRACK("1", "5", "\"name\": \"server 0\", \"host\": 0"),
    RECEIVED("push", "1", "5", "70.000"),
    RECEIVED("local", "1", "5", "200.000"),
    SENT("pull", "1", "5", "985.000", "150"),
    SENT("point", "1", "5", "500.000", "50"),
    SPAN("compute", "1", "5", "80.000", "10.000"), /* not a worker's */
    PROCESS("6", "\"name\": \"b\", \"scheme\": \"3lc\""),
    TRACK("6", "6", "\"name\": \"steps\""),
    TRACK("6", "7", "\"name\": \"w0\", \"host\": 0, \"worker\": true"),
    TRACK("6", "8", "\"name\": \"w1\", \"host\": 0, \"worker\": true"),
    TRACK("6", "9", "\"name\": \"server 0\", \"host\": 1"),
    SENT("push", "6", "7", "10.000", "100"),
    RECEIVED("push", "6", "9", "20.000"),
    SENT("pull", "6", "9", "30.000", "50"),
    RECEIVED("pull", "6", "8", "35.000"),
    SPAN("compute", "6", "8", "0.000", "500.000"), /* all of the row */
};

static char timeline[8192];

static int join_events(void **state)
{
    (void)state;
    cc_append(timeline, sizeof timeline, "%s",
              "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        cc_append(timeline, sizeof timeline, "%s%s", i > 0 ? ",\n" : "", events[i]);
    cc_append(timeline, sizeof timeline, "%s",
              "\n], \"otherData\": {\"program\": \"commcomp\", \"left_out\": 0}}\n");
    return 0;
}

static int parse(const char *text, struct cc_sheet *s)
{
    e.text[0] = '\0';
    return cc_sheet_parse_json("t.json", text, strlen(text), s, &e);
}

static double value(const struct cc_sheet *s, size_t row, const char *key)
{
    const struct cc_value *v = cc_sheet_value(s, row, cc_sheet_column(s, key));
    return v->kind == CC_NUMBER ? v->number : (double)NAN;
}

/* The bins of a column that are not zero. */
struct bin {
    size_t number;
    double value;
};

static void assert_bins(const struct cc_sheet *s, size_t first, const char *key,
                        const struct bin *bins, size_t count)
{
    double most = 1;
    for (size_t k = 0; k < count; k++)
        most = fmax(most, bins[k].value);
    for (size_t i = 0; i < CC_TIMELINE_BINS; i++) {
        double wanted = 0;
        for (size_t k = 0; k < count; k++)
            wanted = bins[k].number == i ? bins[k].value : wanted;
        const double got = value(s, first + i, key);
        if (!(fabs(got - wanted) <= 1e-9 * most))
            fail_msg("%s, bin %zu: %.17g, not %.17g", key, i, got, wanted);
    }
}
#define ASSERT_BINS(s, first, key, ...)                                                            \
    assert_bins(s, first, key, (const struct bin[]){__VA_ARGS__},                                  \
                sizeof((const struct bin[]){__VA_ARGS__}) / sizeof(struct bin))

/* Worker 0 computes in 2.5 bins, worker 1 in half a one, which is a mean of 0.5 at most each. The
 * push of 300 bytes is 100 bytes in each of 3 bins: 800 bits in 10 us on one of two links, 40
 * Mbit/s on the mean. The pull fills half of bin 98, and bin 99; what takes no time is in one bin.
 * Between ranks of a host nothing is on a link. */
static void by_hand(void **state)
{
    struct cc_sheet s;
    (void)state;
    if (parse(timeline, &s) != CC_OK)
        fail_msg("%s", e.text);
    assert_int_equal(s.rows, 200);
    assert_string_equal(cc_sheet_value(&s, 99, cc_sheet_column(&s, "process"))->text, "a");
    assert_string_equal(cc_sheet_value(&s, 100, cc_sheet_column(&s, "scheme"))->text, "3lc");
    assert_true(fabs(value(&s, 0, "at_s") - 5e-6) < 1e-15);
    assert_true(fabs(value(&s, 99, "at_s") - 995e-6) < 1e-12);
    ASSERT_BINS(&s, 0, "computing", {0, 0.5}, {1, 0.75}, {2, 0.25});
    ASSERT_BINS(&s, 0, "sent_bps", {4, 4e7}, {5, 4e7}, {6, 4e7}, {50, 2e7}, {98, 2e7}, {99, 4e7});
    ASSERT_BINS(&s, 0, "received_bps", {4, 4e7}, {5, 4e7}, {6, 4e7}, {50, 2e7}, {98, 2e7},
                {99, 4e7});
    ASSERT_BINS(&s, 0, "link_sent", {4, 0.4}, {5, 0.4}, {6, 0.4}, {50, 0.2}, {98, 0.2}, {99, 0.4});
    ASSERT_BINS(&s, 0, "link_received", {4, 0.2}, {5, 0.2}, {6, 0.2}, {50, 0.1}, {98, 0.1},
                {99, 0.2});
    /* 100 bytes in two bins of 5 us, on the one link of two workers; the server's does not count.
     */
    ASSERT_BINS(&s, 100, "sent_bps", {2, 8e7}, {3, 8e7});
    ASSERT_BINS(&s, 100, "received_bps", {6, 8e7});
    for (size_t i = 100; i < 200; i++) {
        assert_true(fabs(value(&s, i, "computing") - 0.5) < 1e-9);
        assert_true(isnan(value(&s, i, "link_sent")) && isnan(value(&s, i, "link_received")));
    }
    cc_sheet_free(&s);
}

/* The timeline with the first `old` replaced; to be freed. */
static char *changed(const char *old, const char *new)
{
    const char *at = strstr(timeline, old);
    char *out = malloc(strlen(timeline) + strlen(new) + 1);
    if (at == NULL || out == NULL)
        fail_msg("no '%s'", old);
    (void)sprintf(out, "%.*s%s%s", (int)(at - timeline), timeline, new, at + strlen(old));
    return out;
}

/* Rows of one name, as of two latencies, are told apart by their numbers; others have none. */
static void equal_names(void **state)
{
    struct cc_sheet s;
    (void)state;
    char *text = changed("\"name\": \"b\"", "\"name\": \"a\"");
    if (parse(text, &s) != CC_OK)
        fail_msg("%s", e.text);
    const size_t c = cc_sheet_column(&s, "process");
    assert_string_equal(cc_sheet_value(&s, 99, c)->text, "a, row 1");
    assert_string_equal(cc_sheet_value(&s, 100, c)->text, "a, row 2");
    cc_sheet_free(&s);
    free(text);
}

/* A row without transfers says nothing of links, unlike one whose transfers are within hosts. */
static void without_transfers(void **state)
{
    static const char before[] = "{\"traceEvents\": [" PROCESS(
        "1", "\"name\": \"a\", \"scheme\": \"b\", \"up_bps\": 8, "
             "\"down_bps\": 8") "," TRACK("1", "2",
                                          "\"name\": \"w\", \"host\": 0, \"worker\": "
                                          "true") "," SPAN("compute", "1", "2", "0", "10");
    static const char within[] = "," SENT("t", "1", "2", "0", "5") "," RECEIVED("t", "1", "2", "9");
    static const char *const keys[] = {"sent_bps", "received_bps", "link_sent", "link_received"};
    (void)state;
    for (int transfers = 0; transfers < 2; transfers++) {
        struct cc_sheet s;
        char text[4096];
        (void)snprintf(text, sizeof text,
                       "%s%s], \"otherData\": {\"program\": \"commcomp\", \"left_out\": 0}}",
                       before, transfers == 1 ? within : "");
        if (parse(text, &s) != CC_OK)
            fail_msg("%s", e.text);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            const struct cc_value *v = cc_sheet_value(&s, 50, cc_sheet_column(&s, keys[k]));
            assert_int_equal(v->kind, transfers == 1 ? CC_NUMBER : CC_NULL);
        }
        assert_true(s.timeline && fabs(value(&s, 50, "computing") - 1) < 1e-9);
        cc_sheet_free(&s);
    }
}

/* By a cluster's clocks the push that leaves at 40 us is there at 35: it is all in that bin. */
static void clocks_apart(void **state)
{
    struct cc_sheet s;
    (void)state;
    char *text = changed("\"ts\": 70.000", "\"ts\": 35.000");
    if (parse(text, &s) != CC_OK)
        fail_msg("%s", e.text);
    ASSERT_BINS(&s, 0, "sent_bps", {3, 12e7}, {50, 2e7}, {98, 2e7}, {99, 4e7});
    ASSERT_BINS(&s, 0, "received_bps", {3, 12e7}, {50, 2e7}, {98, 2e7}, {99, 4e7});
    cc_sheet_free(&s);
    free(text);
}

static void refused(void **state)
{
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"\"program\": \"commcomp\"", "\"program\": \"other\"", "a trace of another program"},
        {"\"otherData\"", "\"other\"", "a trace of another program"},
        {"\"left_out\": 0", "\"left_out\": 7", "7 events were left out"},
        {", \"left_out\": 0", "", "\"left_out\" should be a whole number"},
        {"[\n{\"ph\": \"M\", \"name\": \"process_name\"", "[\n{\"ph\": \"M\", \"name\": \"other\"",
         "event 2: no event before it names process 1"},
        {"\"scheme\": \"fp32\", ", "", "event 1: \"scheme\" is missing, as an older version wrote"},
        {"\"up_bps\": 100000000", "\"up_bps\": -1", "event 1: \"up_bps\" is not a number from 0"},
        {"\"up_bps\": 100000000", "\"up_bps\": 1e-9", "event 1: \"up_bps\" should be at least 1"},
        {"\"pid\": 6, \"tid\": 6, \"args\": {\"name\": \"b\"",
         "\"pid\": 1, \"tid\": 6, \"args\": {\"name\": \"b\"", "process 1 has a name already"},
        {", \"host\": 0", "", "event 3: \"host\" should be a whole number"},
        {"\"name\": \"server 0\", \"host\": 0", "\"name\": \"server 0\"",
         "track 5 of a transfer has no \"host\""},
        {"\"tid\": 3, \"args\"", "\"tid\": 2, \"args\"", "track 2 has two names"},
        {"\"tid\": 3, \"ts\"", "\"tid\": 7, \"ts\"", "process 1 has no track 7"},
        {"\"tid\": 3, \"ts\"", "\"tid\": 77, \"ts\"", "process 1 has no track 77"},
        {"\"tid\": 3, \"ts\"", "\"tid\": -3, \"ts\"", "\"tid\" should be a whole number"},
        {"\"dur\": 25.000", "\"dur\": -25.000", "event 4: \"dur\" should be a time from 0"},
        {"\"dur\": 25.000", "\"dur\": 1e300", "event 4: \"dur\" should be a time from 0"},
        {"\"dur\": 25.000", "\"dur\": 1e999", "event 4: \"dur\" should be a time from 0"},
        {"\"dur\": 25.000", "\"dur\": \"NaN\"", "event 4: \"dur\" should be a time from 0"},
        {"\"dur\": 25.000", "\"dur\": NaN", "t.json"},
        {", \"dur\": 25.000", "", "event 4: \"dur\" should be a time from 0"},
        {"\"ts\": 0.000", "\"ts\": -1", "event 4: \"ts\" should be a time from 0"},
        {"\"bytes\": 300", "\"bytes\": 0.5", "\"bytes\" should be a whole number"},
        {"\"bytes\": 300", "\"bytes\": 1e300", "\"bytes\" should be a whole number"},
        {"\"args\": {\"bytes\": 300}", "\"args\": 3", "\"bytes\" should be a whole number"},
        {"\"ph\": \"X\"", "\"ph\": \"B\"", "event 4: \"ph\" should be M, X, b or e"},
        {"\"id\": \"push\"", "\"id\": \"other\"",
         "transfer 'other' does not have one begin and one end"},
        {"\"id\": \"pull\"", "\"id\": \"push\"", "does not have one begin and one end"},
        {", \"worker\": true}},\n" TRACK("6", "8",
                                         "\"name\": \"w1\", \"host\": 0, \"worker\": true"),
         "}},\n" TRACK("6", "8", "\"name\": \"w1\", \"host\": 0, \"worker\": false"),
         "process 6 has no track of a worker"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cc_sheet s;
        char *text = changed(cases[i].old, cases[i].new);
        if (parse(text, &s) == CC_OK)
            fail_msg("'%s' for '%s' is read", cases[i].new, cases[i].old);
        assert_contains(e.text, "t.json");
        assert_contains(e.text, cases[i].message);
        free(text);
    }
}

/* Rows without tracks, time or events, and more rows than a reader takes. */
static void nothing(void **state)
{
    static const char end[] = "], \"otherData\": {\"program\": \"commcomp\", \"left_out\": 0}}";
    static const struct {
        const char *events, *message;
    } cases[] = {
        {"", "no event names a track"},
        {PROCESS("1", "\"name\": \"a\", \"scheme\": \"b\""), "no event names a track"},
        {PROCESS("1", "\"name\": \"a\", \"scheme\": \"b\"") "," TRACK(
             "1", "2", "\"name\": \"w0\", \"host\": 0, \"worker\": true"),
         "process 1 has no events that take time"},
        {"3", "no event names a track"},
    };
    struct cc_sheet s;
    char text[60000] = "{\"traceEvents\": [";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text, "{\"traceEvents\": [%s%s", cases[i].events, end);
        assert_int_equal(parse(text, &s), CC_FAIL);
        assert_contains(e.text, cases[i].message);
    }
    size_t length = (size_t)snprintf(text, sizeof text, "{\"traceEvents\": [");
    for (int i = 0; i < 257; i++)
        length += (size_t)snprintf(
            text + length, sizeof text - length,
            "%s{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": %d, "
            "\"args\": {\"name\": \"a\", \"scheme\": \"b\"}}",
            i > 0 ? "," : "", i, i);
    (void)snprintf(text + length, sizeof text - length, "%s", end);
    assert_int_equal(parse(text, &s), CC_FAIL);
    assert_contains(e.text, "event 257: more than 256 rows: write a timeline of fewer settings");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),           cmocka_unit_test(equal_names),
        cmocka_unit_test(without_transfers), cmocka_unit_test(clocks_apart),
        cmocka_unit_test(refused),           cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, join_events, NULL);
}
