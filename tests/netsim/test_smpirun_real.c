/* Simulations with SimGrid's smpirun. The ranks are tests/sim/talker.c, which sends a few messages
 * or fails, as the environment variable TALKER requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/process.h"
#include "tests/lib/scratch.h"
#include "tests/lib/simulation.h"
#include "tests/lib/text.h"

/* Copies the program tests/sim/talker, built beside this test, to the scratch directory, by which
 * its processes can be found. NULL where there is no SimGrid. */
static const char *copy_talker(void **state)
{
    char self[2000], command[4200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    const char *path = scratch_path(state, "talker");
    (void)snprintf(command, sizeof command, "cp '%s/../sim/talker' '%s' 2>&1", self, path);
    if (system("command -v smpirun smpicc >/dev/null") != 0) {
        print_message("SKIPPED: there is no SimGrid here (Debian: libsimgrid-dev)\n");
        return NULL;
    }
    assert_int_equal(system(command), 0);
    return path;
}

static void real_simulation(void **state)
{
    struct cc_error e;
    struct simulation s = {.fidelity = CC_FIDELITY_TC};
    const char *ranks = copy_talker(state);
    if (ranks == NULL)
        skip();
    assert_int_equal(setenv("TALKER", "", 1), 0);
    if (simulate(&s, ranks, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_string_equal(s.kinds, "HZZZD");
    /* The time is 10 us, and that of the bytes with MPI's own 16 at 1 GB/s times 1448/1514. */
    for (int i = 0; i < 3; i++) {
        double expected = 1e-5 + (8 * pow(1000, i) + 16) / (1e9 * 1448 / 1514);
        if (fabs(s.second[i] - expected) > 1e-3 * expected)
            fail_msg("size %d: %g s, not %g", i, s.second[i], expected);
    }
    /* SMPI's default model gives other times. */
    double plain = s.second[2];
    s = (struct simulation){.fidelity = CC_FIDELITY_TCP};
    assert_int_equal(simulate(&s, ranks, &e), CC_OK);
    assert_true(fabs(s.second[2] / plain - 1) > 0.01);
}

static void assert_fails(const char *ranks, const char *task, const char *part)
{
    struct simulation s = {0};
    struct cc_error e;
    assert_int_equal(setenv("TALKER", task, 1), 0);
    assert_int_equal(simulate(&s, ranks, &e), CC_FAIL);
    assert_contains(e.text, part);
    assert_lacks(e.text, "/proc/");
}

static void real_failures(void **state)
{
    const char *ranks = copy_talker(state);
    if (ranks == NULL)
        skip();
    assert_fails(ranks, "deadlock", "of 3 ranks, 3 ranks (0, 1, 2) wait for messages");
    assert_fails(ranks, "complain", "rank 1 (a worker): no luck today");
    assert_fails(ranks, "crash", "the simulation was killed by signal 11 (Segmentation");
    assert_fails(ranks, "huge",
                 "SimGrid: Memory allocation of 1152921504606846976 bytes failed: 3 simulated");

    struct simulation s = {.xml = "no XML at all"};
    struct cc_error e;
    assert_int_equal(simulate(&s, ranks, &e), CC_FAIL);
    assert_contains(e.text, "SimGrid gave up: Parse error at the platform, line 1");
    s = (struct simulation){.xml =
                                "<?xml version='1.0'?>\n"
                                "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                                "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
                                "<host id=\"h0\" speed=\"1Gf\"/></zone></platform>\n"};
    assert_int_equal(simulate(&s, ranks, &e), CC_FAIL);
    assert_contains(e.text, "(the platform has no such host)");
}

/* A trace in Paje's format: definitions, and events in order of time. */
static void paje_is_written(void **state)
{
    char path[300];
    struct simulation s = {.paje = path};
    struct cc_error e;
    const char *ranks = copy_talker(state);
    if (ranks == NULL)
        skip();
    (void)snprintf(path, sizeof path, "%s", scratch_path(state, "with blank.trace"));
    assert_int_equal(setenv("TALKER", "", 1), 0);
    if (simulate(&s, ranks, &e) != CC_OK)
        fail_msg("%s", e.text);
    size_t sleeping = 0, links = 0, size;
    char *text = scratch_read(path, &size), *next;
    double last = 0;
    for (char *line = text; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        assert_int_equal(*next, '\n');
        *next++ = '\0';
        for (const char *c = line; *c != '\0'; c++)
            assert_true(isprint((unsigned char)*c));
        int kind;
        double at;
        sleeping += strstr(line, " sleeping ") != NULL;
        if (line[0] == '%' || line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%d %lf", &kind, &at), 2);
        if (kind < 6)
            continue;
        assert_true(at >= last);
        last = at;
        links += kind == 15;
    }
    assert_true(sleeping == 1 && links >= 3);
    assert_true(last > 5 && last < 7);
    free(text);
}

/* The launcher is killed at different times: no process and no file of the simulation remains. */
static void kills_leave_nothing(void **state)
{
    const char *ranks = copy_talker(state);
    if (ranks == NULL)
        skip();
    char folder[300];
    (void)snprintf(folder, sizeof folder, "%s/", (const char *)*state);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(setenv("TALKER", "spin", 1), 0);
    const size_t files = scratch_count(state);
    for (unsigned i = 0; i < 20; i++) {
        pid_t launcher = fork();
        if (launcher == 0) {
            struct simulation s = {0};
            struct cc_error e;
            (void)simulate(&s, ranks, &e);
            _exit(0);
        }
        assert_true(launcher > 0);
        (void)usleep(3000 + 17000 * i);
        assert_int_equal(kill(launcher, SIGKILL), 0);
        assert_int_equal(waitpid(launcher, NULL, 0), launcher);
        /* The keeper removes files a moment after the last process has ended. */
        for (int wait = 0;
             wait < 1000 && (count_processes(state) > 0 || scratch_count(state) != files); wait++)
            (void)usleep(10000);
        assert_int_equal(count_processes(state), 0);
        assert_int_equal(scratch_count(state), files);
    }
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(real_simulation),
        IN_SCRATCH(real_failures),
        IN_SCRATCH(paje_is_written),
        IN_SCRATCH(kills_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
