/* The configuration of a lab: its defaults, what is refused, and messages that name the missing
 * part of the system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/lab_program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

static void test_defaults(void **state)
{
    (void)state;
    size_t last = 0;
    for (double bw = 1e6; bw <= 100e9; bw *= 1.25) {
        size_t burst = cc_lab_burst(bw);
        assert_true(burst >= last && burst >= 2 * 1514);
        assert_true(cc_lab_limit(bw, 2) >= 4 * burst);
        assert_true(cc_lab_limit(bw, 40) > cc_lab_limit(bw, 20));
        last = burst;
    }
    /* A full bucket lasts about half a millisecond at most where the rate allows that. */
    assert_true(cc_lab_burst(10e6) <= 5000);
    assert_true((double)cc_lab_burst(1e9) * 8 / 1e9 <= 0.6e-3);
}

static void assert_refused(struct cc_lab_config config, const char *part)
{
    struct cc_error e = {""};
    struct cc_lab *lab = NULL;
    assert_int_equal(cc_lab_open(&config, &lab, &e), CC_FAIL);
    assert_null(lab);
    assert_contains(e.text, part);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_refused((struct cc_lab_config){.hosts = 0}, "1 to 1000");
    assert_refused((struct cc_lab_config){.hosts = 1001}, "1 to 1000");
    assert_refused((struct cc_lab_config){.hosts = 1, .bw_bps = 1e9, .burst_bytes = 1513},
                   "a burst of 1513 bytes: a frame of 1514 does not pass");
    assert_refused((struct cc_lab_config){.hosts = 1, .bw_bps = 1e9, .limit_bytes = 10},
                   "a limit of 10 bytes: a frame of 1514 does not pass");
    assert_refused((struct cc_lab_config){.hosts = 1, .congestion = "nosuch"},
                   "congestion control nosuch: not among");
    /* Scripts in place of the tools print the messages of kernels that lack a feature. */
    static const struct {
        const char *tool, *commands, *part;
    } lacking[] = {
        {"ip", "echo 'Error: Unknown device type.'; echo 'Command failed -:2'", "no bridges"},
        {"ip", "echo 'Error: Unknown device type.'; echo 'Command failed -:7'", "no veth"},
        {"tc", "echo 'Error: Specified qdisc kind is unknown.'; echo 'Command failed -:1'",
         "no token buckets"},
        {"bridge", "echo 'RTNETLINK answers: Operation not permitted'", "as root"},
        {"tc", "exit 127", "iproute2"},
    };
    const char *path = getenv("PATH");
    char *before = strdup(path != NULL ? path : "/usr/bin:/bin"), *changed = NULL;
    assert_true(asprintf(&changed, "%s:%s", (char *)*state, before) > 0);
    setenv("PATH", changed, 1);
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        char script[256];
        (void)snprintf(script, sizeof script, "#!/bin/sh\n{ %s; } >&2\nexit 1\n",
                       lacking[i].commands);
        const char *tool = scratch_write(state, lacking[i].tool, script, strlen(script));
        assert_int_equal(chmod(tool, 0755), 0);
        assert_refused((struct cc_lab_config){.hosts = 1, .bw_bps = 1e9}, lacking[i].part);
        assert_int_equal(unlink(tool), 0);
    }
    setenv("PATH", before, 1);
    free(before);
    free(changed);
}

int main(void)
{
    if (!labs_work())
        return 0;
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test_setup_teardown(test_refusals, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
