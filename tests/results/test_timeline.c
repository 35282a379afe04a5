/* Timelines as files: their exact text, their size limit, and failures. tests/timeline_reader.py
 * checks the format itself; tests/cli/timeline.sh gives it real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/format/json.h"
#include "core/infile.h"
#include "core/memory.h"
#include "results/timeline.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

static const struct cc_timeline_kind compute = {"compute", "good"}, waits = {"wait", "grey"};
static const struct cc_timeline_head lossy = {"3lc:s=1.75, ring \xff", "3lc:s=1.75", 1e9, 2.5e8},
                                     plain = {.name = "fp32, ring", .scheme = "fp32"};
static const char *const about[] = {"program", "a \"name\"", NULL};

static struct cc_timeline *open_one(const char *path, uint64_t most)
{
    struct cc_timeline *t;
    struct cc_error e = {""};
    if (cc_timeline_open(path, about, most, &t, &e) != CC_OK)
        fail_msg("%s", e.text);
    return t;
}

static struct cc_timeline_size close_one(struct cc_timeline *t, bool partial)
{
    struct cc_timeline_size size;
    struct cc_error e = {""};
    if (cc_timeline_close(t, partial, &size, &e) != CC_OK)
        fail_msg("%s", e.text);
    return size;
}

static void put(struct cc_timeline *t, const struct cc_timeline_kind *kind, size_t step,
                double begin, double end)
{
    const struct cc_timeline_slice s = {.begin = begin, .end = end, .step = step, .kind = kind};
    cc_timeline_put(t, &s);
}

static void assert_text(const char *path, const char *text)
{
    struct cc_bytes file;
    struct cc_error e = {""};
    assert_int_equal(cc_file_read(path, &file, &e), CC_OK);
    if (file.size != strlen(text) || memcmp(file.data, text, file.size) != 0)
        fail_msg("%.*s\nis not\n%s", (int)file.size, (const char *)file.data, text);
    cc_bytes_free(&file);
}

/* Two tracks of a row, one step, a transfer from one to the other; and a row without events. */
static void to_the_letter(void **state)
{
    const char *path = scratch_path(state, "t.json");
    struct cc_timeline *t = open_one(path, 0);
    struct cc_error e = {""};
    assert_int_equal(cc_timeline_row(t, &lossy, &e), CC_OK);
    assert_int_equal(cc_timeline_track(t, "worker 0", 0, true, &e), CC_OK);
    put(t, &compute, 4, 0, 0.0012345678);
    put(t, &compute, 4, 0.0012345678, 0.0012348); /* less than a microsecond */
    put(t, &waits, 4, 0.0012345678, 2.5);
    const struct cc_timeline_end leaves = {.at = 0.001,
                                           .id = "0-1.0.3",
                                           .name = "into server 0",
                                           .from = "worker 0",
                                           .step = 4,
                                           .message = 2,
                                           .bytes = 5000000000};
    assert_int_equal(cc_timeline_put_end(t, &leaves, &e), CC_OK);
    assert_int_equal(cc_timeline_step(t, 4, 0, 2.5, &e), CC_OK);
    assert_int_equal(cc_timeline_track(t, "server 0", 3, false, &e), CC_OK);
    struct cc_timeline_end comes = leaves;
    comes.received = true;
    comes.at = 0.0020000004;
    assert_int_equal(cc_timeline_put_end(t, &comes, &e), CC_OK);
    assert_int_equal(cc_timeline_step(t, 4, 0.5, 3, &e), CC_OK);
    assert_int_equal(cc_timeline_step(t, 5, 2.75, 4, &e), CC_OK);
    assert_int_equal(cc_timeline_row(t, &plain, &e), CC_OK);
    struct cc_timeline_size size = close_one(t, false);
    assert_true(size.left_out == 0 && size.events == 18);
#define NAME(what, row, track, order, args)                                                        \
    "{\"ph\": \"M\", \"name\": \"" what "_name\", \"pid\": " row ", \"tid\": " track               \
    ", \"args\": {" args "}}",                                                                     \
        "{\"ph\": \"M\", \"name\": \"" what "_sort_index\", \"pid\": " row ", \"tid\": " track     \
        ", \"args\": {\"sort_index\": " order "}}"
    static const char *const events[] = {
        NAME(
            "process", "1", "1", "1",
            "\"name\": \"3lc:s=1.75, ring ?\", \"scheme\": \"3lc:s=1.75\", \"up_bps\": 1000000000, "
            "\"down_bps\": 250000000"),
        NAME("thread", "1", "1", "0", "\"name\": \"steps\""),
        NAME("thread", "1", "2", "1", "\"name\": \"worker 0\", \"host\": 0, \"worker\": true"),
        "{\"ph\": \"X\", \"name\": \"compute\", \"cat\": \"phase\", \"pid\": 1, \"tid\": 2, "
        "\"ts\": 0.000, \"dur\": 1234.568, \"cname\": \"good\", \"args\": {\"step\": 4}}",
        "{\"ph\": \"X\", \"name\": \"wait\", \"cat\": \"phase\", \"pid\": 1, \"tid\": 2, "
        "\"ts\": 1234.568, \"dur\": 2498765.432, \"cname\": \"grey\", \"args\": {\"step\": 4}}",
        "{\"ph\": \"b\", \"cat\": \"transfer\", \"name\": \"into server 0\", \"id\": "
        "\"1.0-1.0.3\", "
        "\"pid\": 1, \"tid\": 2, \"ts\": 1000.000, \"args\": {\"from\": \"worker 0\", "
        "\"bytes\": 5000000000, \"step\": 4, \"message\": 2}}",
        NAME("thread", "1", "3", "2", "\"name\": \"server 0\", \"host\": 3"),
        "{\"ph\": \"e\", \"cat\": \"transfer\", \"name\": \"into server 0\", \"id\": "
        "\"1.0-1.0.3\", "
        "\"pid\": 1, \"tid\": 3, \"ts\": 2000.000}",
        "{\"ph\": \"X\", \"name\": \"step 4\", \"cat\": \"step\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 0.000, \"dur\": 3000000.000, \"cname\": \"grey\"}",
        "{\"ph\": \"X\", \"name\": \"step 5\", \"cat\": \"step\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 3000000.000, \"dur\": 1000000.000, \"cname\": \"grey\"}",
        NAME("process", "4", "4", "4", "\"name\": \"fp32, ring\", \"scheme\": \"fp32\""),
        NAME("thread", "4", "4", "0", "\"name\": \"steps\""),
    };
    char text[8192] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"; /* one event a line */
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        cc_append(text, sizeof text, "%s%s", i > 0 ? ",\n" : "", events[i]);
    cc_append(text, sizeof text, "%s",
              "\n], \"otherData\": {\"program\": \"a \\\"name\\\"\", \"left_out\": 0, "
              "\"partial\": false}}\n");
    assert_text(path, text);
}

/* The size stays within the limit, except for the names of rows and tracks; the text is still JSON,
 * and tells how much was left out. */
static void too_much(void **state)
{
    enum { SLICES = 1000, MOST = 20000 };
    const char *path = scratch_path(state, "t.json");
    struct cc_timeline *t = open_one(path, MOST);
    struct cc_error e = {""};
    struct cc_bytes file;
    cJSON *root;
    assert_int_equal(cc_timeline_row(t, &plain, &e), CC_OK);
    cc_timeline_miss(t, 5);
    for (int track = 0; track < 3; track++) {
        assert_int_equal(cc_timeline_track(t, "worker", 0, true, &e), CC_OK);
        for (size_t i = 0; i < SLICES; i++)
            put(t, &compute, i, 1e-3 * (double)i, 1e-3 * (double)(i + 1));
    }
    struct cc_timeline_size size = close_one(t, true);
    assert_int_equal(cc_file_read(path, &file, &e), CC_OK);
    assert_in_range(file.size, MOST, MOST + 2000);
    assert_in_range(size.bytes, file.size - 10, file.size); /* counted before escaping */
    if (cc_json_parse((const char *)file.data, file.size, &root, &e) != CC_OK)
        fail_msg("%s", e.text);
    const cJSON *other = cJSON_GetObjectItemCaseSensitive(root, "otherData");
    size_t events =
        (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "traceEvents"));
    assert_int_equal(events, size.events);
    assert_int_equal(size.left_out, 5 + 3 * SLICES - (events - 4 - 3 * 2));
    size_t left;
    assert_true(cc_json_size(cJSON_GetObjectItemCaseSensitive(other, "left_out"), &left));
    assert_int_equal(left, size.left_out);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(other, "partial")));
    cJSON_Delete(root);
    cc_bytes_free(&file);
}

/* A timeline is written whole or not at all. */
static void not_at_all(void **state)
{
    struct cc_timeline *t;
    struct cc_error e = {""};
    struct stat st;
    const char *path = scratch_path(state, "t.json");
    t = open_one(path, 0);
    assert_int_equal(cc_timeline_row(t, &plain, &e), CC_OK);
    assert_int_not_equal(stat(path, &st), 0);
    cc_timeline_abort(t);
    assert_int_not_equal(stat(path, &st), 0);
    assert_int_equal(cc_timeline_open("/nowhere/t.json", about, 0, &t, &e), CC_FAIL);
    assert_contains(e.text, "/nowhere/t.json");
    /* Writing to a full disk fails. */
    struct cc_timeline_size size;
    t = open_one("/dev/full", 0);
    assert_int_equal(cc_timeline_row(t, &plain, &e), CC_OK);
    assert_int_equal(cc_timeline_close(t, false, &size, &e), CC_FAIL);
    assert_contains(e.text, "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(to_the_letter, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(too_much, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(not_at_all, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
