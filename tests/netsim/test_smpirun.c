/* Simulations with a shell script in place of smpirun, which behaves as smpirun does when something
 * goes wrong. test_smpirun_real.c runs the real one. */
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

#include "core/clock.h"
#include "tests/lib/process.h"
#include "tests/lib/scratch.h"
#include "tests/lib/simulation.h"
#include "tests/lib/text.h"

static void write_report(void **state, const char *name, const char *line)
{
    (void)scratch_write(state, name, line, strlen(line));
}

static void write_reports(void **state)
{
    write_report(state, "hello", "{\"report\": \"hello\", \"text\": \"a shell\"}\n");
    write_report(state, "begin", "{\"report\": \"row_begin\", \"row\": 0}\n");
    write_report(state, "step", "{\"report\": \"step\", \"row\": 0, \"step\": 4}\n");
    write_report(state, "done", "{\"report\": \"done\"}\n");
    write_report(state, "error", "{\"report\": \"error\", \"rank\": 2, \"text\": \"no luck\"}\n");
}

static const char *write_script(void **state, const char *commands)
{
    char text[3000];
    (void)snprintf(text, sizeof text, "#!/bin/sh\ncd '%s'\n%s\n", (const char *)*state, commands);
    const char *path = scratch_write(state, "smpirun", text, strlen(text));
    assert_int_equal(chmod(path, 0755), 0);
    write_reports(state);
    return path;
}

static int with_script(void **state, const char *commands, struct simulation *s, struct cc_error *e)
{
    char script[300];
    (void)snprintf(script, sizeof script, "%s", write_script(state, commands));
    s->smpirun = script;
    int status = simulate(s, "/bin/true", e);
    s->smpirun = NULL;
    return status;
}

/* Simulates with this script for smpirun; the simulation must fail with a message that contains the
 * part. */
static void assert_fails(void **state, const char *commands, const char *part)
{
    struct simulation s = {0};
    struct cc_error e;
    assert_int_equal(with_script(state, commands, &s, &e), CC_FAIL);
    assert_contains(e.text, part);
    assert_lacks(e.text, "/proc/");
    assert_true(strlen(e.text) <= 500);
}

static void all_reports_arrive(void **state)
{
    struct simulation s = {0};
    struct cc_error e;
    assert_int_equal(with_script(state,
                                 "cat hello; echo some rubbish; echo and more >&2; cat begin step\n"
                                 "head -c 20 step; sleep 0.5; tail -c +21 step; cat done",
                                 &s, &e),
                     CC_OK);
    assert_string_equal(s.kinds, "HBSSD");
    assert_true(s.ticks >= 3);
}

/* A line of many megabytes arrives in small parts: each part is searched once. */
static void long_lines_cost_little(void **state)
{
    struct simulation s = {0};
    struct cc_error e;
    double began = cc_now();
    assert_int_equal(with_script(state,
                                 "cat hello; head -c 50000000 /dev/zero | tr '\\0' x; echo\n"
                                 "head -c 100000000 /dev/zero | tr '\\0' x; echo; cat done",
                                 &s, &e),
                     CC_OK);
    assert_string_equal(s.kinds, "HD");
    assert_true(cc_now() - began < 20);
}

static char *read_text(void **state, const char *name)
{
    size_t size;
    return scratch_read(scratch_path(state, name), &size);
}

/* smpirun's arguments, with P and H for the paths of the platform and the hosts; checks the files
 * and the job. The caller frees the text. */
static char *smpirun_arguments(void **state, struct simulation *s)
{
    size_t size;
    struct cc_job job;
    struct cc_error e;
    assert_int_equal(with_script(state,
                                 "printf '%s ' \"$@\" | sed 's/-platform [^ ]*/-platform P/;\n"
                                 "s/-hostfile [^ ]*/-hostfile H/' >arguments\n"
                                 "while [ $# -gt 0 ]; do case $1 in\n"
                                 "-platform) [ -f \"$2\" ] && cat \"$2\" >platform ;;\n"
                                 "-hostfile) [ -f \"$2\" ] && cat \"$2\" >hosts ;;\n"
                                 "esac; shift; done; cat >job; cat hello done",
                                 s, &e),
                     CC_OK);
    char *text = scratch_read(scratch_path(state, "job"), &size);
    assert_int_equal(cc_job_parse(text, size, &job, &e), CC_OK);
    free(text);
    assert_string_equal(job.row[0].scheme, "3lc:s=1.75");
    cc_job_free(&job);
    char *hosts = read_text(state, "hosts"), *platform = read_text(state, "platform");
    assert_string_equal(hosts, "h0\nh1\nh2\n");
    assert_string_equal(platform, three_hosts);
    free(hosts);
    free(platform);
    return read_text(state, "arguments");
}

static void smpirun_gets_arguments_files_and_the_job(void **state)
{
    struct simulation s = {.fidelity = CC_FIDELITY_ALPHA_BETA};
    char *text = smpirun_arguments(state, &s);
    assert_int_equal(strncmp(text, "-no-privatize -np 3 -platform P -hostfile H ", 44), 0);
    assert_string_equal(text + strlen(text) - 12, "/bin/true - ");
    assert_contains(text, " --cfg=network/model:CM02 ");
    assert_contains(text, " --cfg=network/crosstraffic:0 ");
    /* 1448 / 1514 */
    assert_contains(text, " --cfg=network/bandwidth-factor:0.956406869");
    assert_lacks(text, "-trace");
    assert_lacks(text, "smpi/ois");
    assert_int_equal(s.block_bytes, 1 << 30);
    assert_false(s.rendezvous);
    free(text);

    s = (struct simulation){.fidelity = CC_FIDELITY_TC};
    text = smpirun_arguments(state, &s);
    assert_contains(text, " --cfg=network/model:CM02 ");
    assert_contains(text, " --cfg=network/bandwidth-factor:0.956406869");
    assert_int_equal(s.block_bytes, 0);
    assert_true(s.rendezvous);
    free(text);

    s = (struct simulation){.fidelity = CC_FIDELITY_TC, .message_s = 0.25};
    text = smpirun_arguments(state, &s);
    assert_contains(text, " --cfg=smpi/ois:0:0.25:0 ");
    free(text);

    s = (struct simulation){.fidelity = CC_FIDELITY_TCP};
    text = smpirun_arguments(state, &s);
    assert_contains(text, " --cfg=network/model:SMPI ");
    assert_contains(text, " --cfg=network/crosstraffic:1 ");
    assert_lacks(text, "bandwidth-factor");
    assert_lacks(text, "TCP-gamma");
    assert_int_equal(s.block_bytes, 0);
    assert_true(s.rendezvous);
    free(text);
}

static void ends_are_explained(void **state)
{
    assert_fails(state, "exit 127", "could not be started");
    assert_fails(state, "exit 127", "apt-get install libsimgrid-dev");
    assert_fails(state, "cat hello; exit 0", "the simulation ended with exit code 0 before the ");
    assert_fails(state, "cat hello; echo tired >&2; exit 9",
                 "exit code 9 before the ranks were "
                 "done: tired");
    assert_fails(state, "cat hello done; exit 9", "exit code 9 although the ranks were done");
    assert_fails(state, "cat hello; exit 139", "killed by signal 11 (Segmentation fault)");
    assert_fails(state, "cat hello; kill -11 $$", "killed by signal 11 (Segmentation fault)");
    assert_fails(state, "cat hello; exit 137",
                 "3 simulated ranks in one process, each with its "
                 "gradients. Less memory is needed with --data off");
    assert_fails(state, "head -c 300000 /dev/urandom; head -c 300000 /dev/urandom >&2; exit 1",
                 "exit code 1");
    /* A message of SimGrid 3.32, followed by advice that does not help here. */
    assert_fails(state,
                 "exec >&2; m='[h:0:(1) 0.0] ./smpi_memory.cpp:163: [root/CRITICAL]'\n"
                 "echo \"$m Failed to map fd 3 with size 2147483648: Cannot allocate memory\"\n"
                 "echo 'On Linux systems, change this value with sudo sysctl'; exit 134",
                 "SimGrid: Failed to map fd 3 with size 2147483648: Cannot allocate memory: 3 sim");
    assert_fails(state, "cat hello error; exit 0", "rank 2 (a server): no luck");
    assert_fails(state, "cat hello; sed 's/no luck/fp32: out of memory: 7 bytes/' error",
                 "rank 2 (a server): fp32: out of memory: 7 bytes. Less is needed with");
    /* The launcher does not wait for the other ranks. */
    double began = cc_now();
    assert_fails(state, "cat hello error; sleep 60", "rank 2 (a server): no luck");
    assert_true(cc_now() - began < 30);
}

static void killed_without_data(void **state)
{
    struct simulation s = {.without_data = true};
    struct cc_error e;
    assert_int_equal(with_script(state, "cat hello; kill -9 $$", &s, &e), CC_FAIL);
    assert_contains(e.text, "killed the simulation");
    assert_contains(e.text, "3 simulated ranks in one process. Less memory is needed with fewer");
    assert_lacks(e.text, "--data");
}

static void missing_things_are_named(void **state)
{
    char none[300];
    struct simulation s = {.smpirun = none};
    struct cc_error e;
    (void)snprintf(none, sizeof none, "%s", scratch_path(state, "none"));
    assert_int_equal(simulate(&s, "/bin/true", &e), CC_FAIL);
    assert_contains(e.text, none);
    assert_contains(e.text, "none could not be started: ");
    assert_contains(e.text, "none: No such file or directory; SimGrid brings it (Debian: apt-get "
                            "install libsimgrid-dev");

    s.smpirun = NULL;
    assert_int_equal(simulate(&s, none, &e), CC_FAIL);
    assert_contains(e.text, "No such file");
    assert_contains(e.text, "apt-get install libsimgrid-dev");

    s.hosts = 2;
    assert_int_equal(with_script(state, "cat hello done", &s, &e), CC_FAIL);
    assert_contains(e.text, "the platform has 2 hosts, and there are 2 workers and 1 servers");

    s.hosts = 0;
    s.paje = "/nowhere/at/all";
    assert_int_equal(with_script(state, "cat hello done", &s, &e), CC_FAIL);
    assert_string_equal(e.text, "/nowhere/at/all: cannot be written: No such file or directory");

    assert_int_equal(setenv("COMMCOMP_RANK_SIM", none, 1), 0);
    assert_null(cc_rank_sim_program(&e));
    assert_contains(e.text, "COMMCOMP_RANK_SIM: there is no file");
    assert_int_equal(unsetenv("COMMCOMP_RANK_SIM"), 0);
    assert_null(cc_rank_sim_program(&e));
    assert_contains(e.text,
                    "commcomp-rank-sim is missing: make builds it where smpicc is installed "
                    "(Debian: apt-get install libsimgrid-dev)");
}

/* With data each rank has at least a gradient, a model and two payloads of 4 bytes a value;
 * without, next to nothing. */
static void memory_is_estimated(void **state)
{
    char scheme[] = "fp32";
    size_t offset[] = {0, 100000000};
    struct cc_job_row row = {.scheme = scheme, .messages = 1};
    struct cc_job job = {.exchange = CC_RING,
                         .workers = 100,
                         .data = true,
                         .offset = offset,
                         .tensors = 1,
                         .row = &row,
                         .rows = 1};
    (void)state;
    double with = (double)cc_smpirun_memory(&job);
    assert_true(with > 100 * 16e8 && with < 100 * 24e8);
    job.data = false;
    double without = (double)cc_smpirun_memory(&job);
    assert_true(without > 1e7 && without < 1e8);
    /* In an allgather each rank holds the payloads of all ranks. */
    job.data = true;
    job.exchange = CC_ALLGATHER;
    with = (double)cc_smpirun_memory(&job);
    assert_true(with > 100 * 100 * 4e8 && with < 100 * 140 * 4e8);
    /* The estimate does not overflow. */
    offset[1] = (size_t)1 << 40;
    job.workers = 65536;
    assert_true(cc_smpirun_memory(&job) >= (size_t)1 << 59);
}

static void too_much_is_refused(void **state)
{
    struct simulation s = {.values = (size_t)1 << 40};
    struct cc_error e;
    assert_int_equal(with_script(state, "cat hello done", &s, &e), CC_FAIL);
    assert_contains(e.text, "3 simulated ranks in one process, each with its gradients: ");
    assert_contains(e.text, "are free. Less is needed with --data off, or with fewer workers");
    s.without_data = true;
    assert_int_equal(with_script(state, "cat hello done", &s, &e), CC_OK);
}

/* --- processes --- */

/* smpirun has a child that ends only by SIGKILL. */
#define STUBBORN_CHILD                                                                             \
    "echo $$ >pid; sh -c \"trap '' TERM INT HUP; echo \\$\\$ >child.new; mv child.new child;"      \
    " cat hello; while :; do sleep 0.2; done\" &\n"                                                \
    "while [ ! -e child ]; do sleep 0.05; done;"

static void no_process_is_left(void **state)
{
    struct simulation s = {.fail_at = 1};
    struct cc_error e;
    assert_int_equal(with_script(state, STUBBORN_CHILD "wait", &s, &e), CC_FAIL);
    assert_string_equal(e.text, "the disk is full");
    assert_true(process_has_ended(state, "pid") && process_has_ended(state, "child"));

    s = (struct simulation){.stop_after = 0.5};
    assert_int_equal(unlink(scratch_path(state, "child")), 0);
    assert_int_equal(with_script(state, STUBBORN_CHILD "wait", &s, &e), CC_FAIL);
    assert_string_equal(e.text, "interrupted");
    assert_true(cc_now() - s.began < 30);
    assert_true(process_has_ended(state, "pid") && process_has_ended(state, "child"));

    /* smpirun itself is killed: its child ends as well. */
    s = (struct simulation){0};
    assert_int_equal(unlink(scratch_path(state, "child")), 0);
    assert_int_equal(with_script(state, STUBBORN_CHILD "kill -9 $$", &s, &e), CC_FAIL);
    assert_contains(e.text, "killed the simulation");
    assert_true(process_has_ended(state, "pid") && process_has_ended(state, "child"));
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(all_reports_arrive),
        IN_SCRATCH(long_lines_cost_little),
        IN_SCRATCH(smpirun_gets_arguments_files_and_the_job),
        IN_SCRATCH(ends_are_explained),
        IN_SCRATCH(killed_without_data),
        IN_SCRATCH(missing_things_are_named),
        cmocka_unit_test(memory_is_estimated),
        IN_SCRATCH(too_much_is_refused),
        IN_SCRATCH(no_process_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
