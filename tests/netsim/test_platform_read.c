/* Users' platform files, with scripts in place of commcomp-platform. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "netsim/launch/platform_read.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* Reads a file with a script in place of commcomp-platform; the file's text is its stdin. */
static int read_by(void **state, const char *script, const char *text, int workers, int servers,
                   struct cc_platform *out, struct cc_error *e)
{
    char whole[1000];
    const int length = snprintf(whole, sizeof whole, "#!/bin/sh\n%s\n", script);
    const char *program = scratch_write(state, "stand-in", whole, (size_t)length);
    assert_int_equal(chmod(program, 0700), 0);
    assert_int_equal(setenv("COMMCOMP_PLATFORM", program, 1), 0);
    memset(out, 0, sizeof *out);
    memset(e, 0, sizeof *e);
    return cc_platform_read(scratch_write(state, "a platform.xml", text, strlen(text)), workers,
                            servers, out, e);
}

#define THREE                                                                                      \
    "echo '{\"schema\": \"commcomp-hosts/1\", \"hosts\": ["                                        \
    "{\"name\": \"a\", \"speed\": 1}, {\"name\": \"b\", \"speed\": 1},"                            \
    "{\"name\": \"c\", \"speed\": 1}]}'"

static void test_read(void **state)
{
    struct cc_platform p;
    struct cc_error e;
    assert_int_equal(read_by(state, "cat $1 >&2\n" THREE, "<platform/>\n", 1, 1, &p, &e), CC_OK);
    assert_string_equal(p.xml, "<platform/>\n");
    assert_int_equal(p.hosts, 2);
    assert_string_equal(p.host[0], "a");
    assert_string_equal(p.host[1], "b");
    assert_true(p.uneven_routes);
    cc_platform_free(&p);
}

static void assert_unread(void **state, const char *script, int workers, int servers,
                          const char *part)
{
    struct cc_platform p;
    struct cc_error e;
    assert_int_equal(read_by(state, script, "<platform/>", workers, servers, &p, &e), CC_FAIL);
    assert_contains(e.text, "a platform.xml");
    assert_contains(e.text, part);
    assert_null(strchr(e.text, '\n'));
    assert_null(p.xml);
}

static void test_unread(void **state)
{
    assert_unread(state, THREE, 10, 1,
                  "platform.xml has 3 hosts, and 10 workers and 1 server need 11");
    assert_unread(state, THREE, 4, 0, "platform.xml has 3 hosts, and 4 workers need 4");
    assert_unread(state, "echo '{\"schema\": \"commcomp-hosts/1\", \"hosts\": []}'", 1, 0,
                  "has 0 hosts, and 1 worker needs 1");
    assert_unread(state, "echo '{\"schema\": \"commcomp-hosts/2\", \"hosts\": []}'", 1, 0,
                  "another version");
    assert_unread(state, "true", 1, 0, "a platform.xml: ");
    /* SimGrid's prefixes, backtraces and paths of descriptors are left out. */
    assert_unread(state,
                  "echo '[0.000000] ./x.cpp:95: [xbt_exception/ERROR] Parse error at "
                  "/proc/self/fd/0:13: unknown unit: parsecs' >&2\n"
                  "echo '[0.000000] ./x.cpp:96: [xbt_exception/ERROR] Exiting now.' >&2\n"
                  "kill -ABRT $$",
                  1, 0, "no platform that SimGrid can read: line 13: unknown unit: parsecs");
    assert_unread(state,
                  "echo '[0.000000] ./x.cpp:48: [xbt_exception/CRITICAL] Uncaught exception "
                  "std::invalid_argument: No such link' >&2\n"
                  "echo '  ->  0# 0x00007FB61B6DC12F in libsimgrid.so' >&2\nexit 134",
                  1, 0, "can read: No such link");
    assert_unread(state, "kill -KILL $$", 1, 0, "killed by signal 9");
    assert_unread(state, "exit 127", 1, 0, "could not be started; make builds it where SimGrid is");
}

static void test_no_file(void **state)
{
    struct cc_platform p = {0};
    struct cc_error e = {0};
    assert_int_equal(setenv("COMMCOMP_PLATFORM", "/bin/true", 1), 0);
    assert_int_equal(cc_platform_read(scratch_path(state, "none.xml"), 1, 0, &p, &e), CC_FAIL);
    assert_contains(e.text, "none.xml: cannot be read: No such file");
    const char *path = scratch_write(state, "zeros.xml", "<a>\0</a>", 8);
    assert_int_equal(cc_platform_read(path, 1, 0, &p, &e), CC_FAIL);
    assert_contains(e.text, "zeros.xml: no XML: byte 3 is 0");

    assert_int_equal(setenv("COMMCOMP_PLATFORM", "/nowhere/at all", 1), 0);
    assert_int_equal(cc_platform_read(path, 1, 0, &p, &e), CC_FAIL);
    assert_contains(e.text, "COMMCOMP_PLATFORM: there is no file /nowhere/at all");
    /* There is no commcomp-platform beside this test. */
    assert_int_equal(unsetenv("COMMCOMP_PLATFORM"), 0);
    assert_int_equal(cc_platform_read(path, 1, 0, &p, &e), CC_FAIL);
    assert_contains(e.text,
                    "commcomp-platform is missing: make builds it where SimGrid is installed "
                    "(Debian: apt-get install libsimgrid-dev)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_unread, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_no_file, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
