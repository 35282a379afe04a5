/* Files read and written, and strict JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/format/json.h"
#include "core/infile.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* --- files --- */

static void reads(void **state)
{
    struct cc_bytes m;
    struct cc_error e;
    const char *path = scratch_write(state, "a", "abc", 3);
    assert_int_equal(cc_file_read(path, &m, &e), CC_OK);
    assert_int_equal(m.size, 3);
    assert_memory_equal(m.data, "abc", 3);
    cc_bytes_free(&m);
    cc_bytes_free(&m);
    path = scratch_write(state, "empty", "", 0);
    assert_int_equal(cc_file_read(path, &m, &e), CC_OK);
    assert_int_equal(m.size, 0);
    assert_non_null(m.data);
    cc_bytes_free(&m);
    assert_int_equal(cc_file_read(*state, &m, &e), CC_FAIL);
    assert_contains(e.text, "is a directory");
    path = scratch_path(state, "missing");
    assert_int_equal(cc_file_read(path, &m, &e), CC_FAIL);
    assert_contains(e.text, path);
    assert_int_equal(cc_file_read("/dev/null", &m, &e), CC_FAIL);
    assert_contains(e.text, "not a regular file");
}

static void files_appear_whole(void **state)
{
    struct cc_outfile o;
    struct cc_error e;
    size_t size;
    const char *path = scratch_write(state, "out", "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("out", scratch_path(state, "link")), 0);
    assert_int_equal(cc_file_create(&o, path, &e), CC_OK);
    assert_true(fputs("new!", o.f) >= 0);
    assert_int_equal(scratch_count(state), 3);
    cc_file_abort(&o);
    assert_int_equal(scratch_count(state), 2);
    char *bytes = scratch_read(path, &size);
    assert_string_equal(bytes, "old");
    free(bytes);
    assert_int_equal(cc_file_create(&o, scratch_path(state, "link"), &e), CC_OK);
    assert_true(fputs("new!", o.f) >= 0);
    assert_int_equal(cc_file_commit(&o, &e), CC_OK);
    assert_int_equal(scratch_count(state), 2);
    bytes = scratch_read(path, &size);
    assert_string_equal(bytes, "new!");
    free(bytes);
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void failed_writes_say_so(void **state)
{
    struct cc_outfile o;
    struct cc_error e;
    assert_int_equal(cc_file_create(&o, *state, &e), CC_FAIL);
    assert_contains(e.text, "is a directory");
    assert_int_equal(cc_file_create(&o, scratch_path(state, "no/such"), &e), CC_FAIL);
    assert_contains(e.text, "no/such: cannot be written: No such file");
    assert_int_equal(cc_file_create(&o, "/dev/full", &e), CC_OK);
    assert_true(fputs("x", o.f) >= 0);
    assert_int_equal(cc_file_commit(&o, &e), CC_FAIL);
    assert_contains(e.text, "/dev/full: cannot be written: No space left");
    assert_int_equal(scratch_count(state), 0);
    /* More than the stream's buffer, so that the write that fails is not the last. A limit on the
     * size of files stands in for a full disk. */
    static char big[1 << 20];
    const char *const paths[] = {scratch_path(state, "big"), "/dev/null"};
    struct rlimit old, few = {.rlim_cur = 1000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    few.rlim_max = old.rlim_max;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cc_file_create(&o, paths[i], &e), CC_OK);
        assert_int_equal(cc_file_check(&o, &e), CC_OK);
        void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
        (void)fwrite(big, 1, sizeof big, o.f);
        const int checked = cc_file_check(&o, &e);
        struct cc_error at_end;
        const int committed = cc_file_commit(&o, &at_end);
        (void)setrlimit(RLIMIT_FSIZE, &old);
        (void)signal(SIGXFSZ, handler);
        assert_int_equal(checked, CC_FAIL);
        assert_contains(e.text, "cannot be written: File too large");
        assert_int_equal(committed, CC_FAIL);
        assert_contains(at_end.text, "cannot be written: File too large");
    }
    assert_int_equal(scratch_count(state), 0);
}

/* Reads from a pipe that a child writes; the child exits without cmocka's clean-up. */
static void write_from_child(const char *path, const char *text, size_t times, bool commit)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return;
    struct cc_outfile o;
    struct cc_error e;
    int status = cc_file_create(&o, path, &e);
    for (size_t i = 0; status == CC_OK && i < times; i++)
        (void)fputs(text, o.f);
    if (status == CC_OK && commit)
        status = cc_file_commit(&o, &e);
    else if (status == CC_OK)
        cc_file_abort(&o);
    _exit(status);
}

static void assert_child_succeeds(void)
{
    int status;
    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == CC_OK);
}

static void streams_get_the_whole(void **state)
{
    enum { TIMES = 100000 };
    const char *pipe = scratch_path(state, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    /* Creating and aborting do not open the pipe: no reader is needed before the commit. */
    write_from_child(pipe, "abc", 1, false);
    assert_child_succeeds();
    write_from_child(pipe, "abc", TIMES, true);
    FILE *f = fopen(pipe, "r");
    assert_non_null(f);
    char *got = malloc(3 * TIMES + 1);
    assert_non_null(got);
    assert_int_equal(fread(got, 1, 3 * TIMES + 1, f), 3 * TIMES);
    for (size_t i = 0; i < TIMES; i++)
        assert_memory_equal(got + 3 * i, "abc", 3);
    free(got);
    (void)fclose(f);
    assert_child_succeeds();

    /* A descriptor is written at its current position, even if it is that of a regular file. */
    char name[40];
    size_t size;
    struct cc_outfile o;
    struct cc_error e;
    const char *path = scratch_write(state, "file", "before ", 7);
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_true(cc_file_is_stream(name));
    assert_int_equal(cc_file_can_create(name, &e), CC_OK);
    assert_int_equal(cc_file_create(&o, name, &e), CC_OK);
    assert_true(fputs("after", o.f) >= 0);
    assert_int_equal(cc_file_commit(&o, &e), CC_OK);
    char *bytes = scratch_read(path, &size);
    assert_int_equal(size, 12);
    assert_memory_equal(bytes, "before after", 12);
    free(bytes);
    assert_int_equal(close(fd), 0);
    assert_int_equal(cc_file_can_create(name, &e), CC_FAIL);
    assert_contains(e.text, "cannot be written: Bad file descriptor");
    const int reading = open(path, O_RDONLY | O_CLOEXEC);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", reading);
    assert_int_equal(cc_file_can_create(name, &e), CC_FAIL);
    assert_contains(e.text, "is open for reading");
    assert_int_equal(close(reading), 0);
    assert_false(cc_file_is_stream(path));
    assert_false(cc_file_is_stream(*state));
    assert_false(cc_file_is_stream(scratch_path(state, "missing")));
}

/* cc_file_can_create changes nothing and leaves nothing behind. */
static void asked_before(void **state)
{
    struct cc_error e = {""};
    size_t size;
    assert_int_equal(cc_file_can_create(scratch_path(state, "new"), &e), CC_OK);
    assert_int_not_equal(access(scratch_path(state, "new"), F_OK), 0);
    const char *kept = scratch_write(state, "kept", "kept", 4);
    assert_int_equal(cc_file_can_create(kept, &e), CC_OK);
    char *text = scratch_read(kept, &size);
    assert_int_equal(size, 4);
    assert_memory_equal(text, "kept", 4);
    free(text);
    const char *pipe = scratch_path(state, "pipe"); /* without a reader */
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(cc_file_can_create(pipe, &e), CC_OK);
    assert_int_equal(cc_file_can_create(scratch_path(state, "no/such"), &e), CC_FAIL);
    assert_contains(e.text, "no/such: cannot be written");
    assert_int_equal(cc_file_can_create(*state, &e), CC_FAIL);
    assert_contains(e.text, "it is a directory");
}

/* --- JSON --- */

static void json(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}", " [1, -0.5e+3, \"\\u00e4\\ud83d\\ude00\", true, null] ", "{\"a\":{\"b\":[]},\"b\":0}",
        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""};
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "not a JSON value"},
        {"{} {}", "byte 3: something follows"},
        {"{\"a\":1,\"a\":2}", "\"a\" occurs twice"},
        {"[{\"a\":1,\"b\":1,\"\\u0061\":2}]", "\"a\" occurs twice"},
        {"[01]", "byte 3: a number that begins with 0"},
        {"[1.]", "digits must follow the point"},
        {"[1e]", "digits must follow"},
        {"[+1]", "not a JSON value"},
        {"[1,]", "not a JSON value"},
        {"{\"a\" 1}", "a colon must follow"},
        {"{a:1}", "a string in double quotes is missing"},
        {"[nul]", "not a JSON value"},
        {"\"\\u0000\"", "\\u0000"},
        {"\"\\x\"", "unknown escape"},
        {"\"\\ud800\"", "not valid JSON"},
        {"\"a\nb\"", "control character"},
        {"\"abc", "does not end"},
        {"\"\xc0\x80\"", "invalid UTF-8"},
        {"\"\xed\xa0\x80\"", "invalid UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "invalid UTF-8"},
        {"\"\xe2\x82\"", "invalid UTF-8"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "32 deep"},
        {"\xef\xbb\xbf{}", "not a JSON value"},
    };
    struct cc_error e;
    cJSON *root;
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(cc_json_parse(good[i], strlen(good[i]), &root, &e), CC_OK);
        cJSON_Delete(root);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cc_json_parse(bad[i].text, strlen(bad[i].text), &root, &e) != CC_FAIL)
            fail_msg("accepted: %s", bad[i].text);
        assert_contains(e.text, bad[i].message);
    }
    assert_int_equal(cc_json_parse("[]\0", 3, &root, &e), CC_FAIL);
}

/* A list is a value besides its elements, which alone are as many as are read. */
static void json_of_many_values(void **state)
{
    static char text[2 * CC_JSON_VALUES + 2];
    struct cc_error e;
    cJSON *root;
    (void)state;
    for (size_t i = 0; i < CC_JSON_VALUES; i++)
        memcpy(text + 2 * i, i == 0 ? "[0" : ",0", 2);
    text[2 * CC_JSON_VALUES] = ']';
    assert_int_equal(cc_json_parse(text, 2 * CC_JSON_VALUES + 1, &root, &e), CC_FAIL);
    assert_contains(e.text,
                    "more than 4194304 values, the most that are read; of a timeline, fewer");
}

static void json_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        size_t value;
    } cases[] = {{"0", true, 0},
                 {"9007199254740991", true, 9007199254740991},
                 {"1e3", true, 1000},
                 {"-1", false, 0},
                 {"9007199254740992", false, 0},
                 {"1.5", false, 0},
                 {"1e99", false, 0},
                 {"1e999", false, 0},
                 {"\"1\"", false, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *root;
        size_t v = 0;
        assert_int_equal(cc_json_parse(cases[i].text, strlen(cases[i].text), &root, NULL), CC_OK);
        assert_int_equal(cc_json_size(root, &v), cases[i].good);
        assert_int_equal(v, cases[i].value);
        cJSON_Delete(root);
    }
}

/* Even a change right after the opening of a new file is seen, though times of files have steps. */
static void sees_a_change_at_once(void **state)
{
    const char *path = scratch_path(state, "new");
    struct cc_error e;
    for (int i = 0; i < 10; i++) {
        struct cc_infile in;
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fputs("first", f) >= 0 && fclose(f) == 0, true);
        assert_int_equal(cc_infile_open(path, &in, &e), CC_OK);
        f = fopen(path, "r+");
        assert_non_null(f);
        assert_int_equal(fputs("other", f) >= 0 && fclose(f) == 0, true);
        assert_int_equal(cc_infile_check(&in, path, &in.state, &e), CC_FAIL);
        assert_contains(e.text, "has changed");
        cc_infile_close(&in);
    }
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(reads),
        IN_SCRATCH(sees_a_change_at_once),
        IN_SCRATCH(files_appear_whole),
        IN_SCRATCH(failed_writes_say_so),
        IN_SCRATCH(asked_before),
        IN_SCRATCH(streams_get_the_whole),
        cmocka_unit_test(json),
        cmocka_unit_test(json_of_many_values),
        cmocka_unit_test(json_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
