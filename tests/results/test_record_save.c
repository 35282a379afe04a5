/* The record in files: each format is written whole, or an error says why not and leaves no file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/records.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

static void saved_whole(void **state)
{
    static const char *const names[] = {"t.txt", "c.csv", "j.json", "m.md", "l.tex"};
    struct cc_record r;
    struct cc_error e;
    records_three(&r);
    for (int format = CC_FORMAT_TABLE; format <= CC_FORMAT_LATEX; format++) {
        const char *path = scratch_path(state, names[format]);
        char *want = records_printed(&r, (enum cc_format)format);
        assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_OK);
        assert_int_equal(scratch_count(state), 1);
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
    records_three(&r);
    const char *path = scratch_path(state, "missing/a.csv");
    assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_FAIL);
    assert_contains(e.text, "missing/a.csv");
    assert_contains(e.text, "No such file");

    path = scratch_path(state, "a.dat");
    assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_USAGE);
    assert_contains(e.text, "use .csv, .json, .txt, .md or .tex");
    enum cc_format format;
    assert_int_equal(cc_format_of_path("a.csv/b", CC_FORMAT_CSV, &format, &e), CC_USAGE);
    assert_int_equal(cc_format_of_path("csv", CC_FORMAT_CSV, &format, &e), CC_USAGE);
    assert_int_equal(cc_format_of_path("/dev/null", CC_FORMAT_JSON, &format, &e), CC_OK);
    assert_int_equal(format, CC_FORMAT_JSON);

    path = scratch_path(state, "d.csv");
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(cc_record_save(&r, path, CC_FORMAT_CSV, &e), CC_FAIL);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(scratch_count(state), 0);
    cc_record_free(&r);
}

static void full_disk(void **state)
{
    struct cc_record r;
    struct cc_error e;
    records_three(&r);
    for (int format = CC_FORMAT_TABLE; format <= CC_FORMAT_LATEX; format++) {
        FILE *f = fopen("/dev/full", "w");
        if (f == NULL)
            skip();
        assert_int_equal(cc_record_print(&r, (enum cc_format)format, f, &e), CC_FAIL);
        assert_contains(e.text, "No space left");
        (void)fclose(f);
    }
    /* A limit on the size of files stands in for a full disk under a path. */
    const char *path = scratch_path(state, "a.csv");
    struct rlimit old, few = {.rlim_cur = 100};
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
    assert_int_equal(scratch_count(state), 0);
    cc_record_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(saved_whole, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(not_saved, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(full_disk, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
