/* Launching with a shell script in place of mpirun, which behaves as mpirun does when something
 * goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "netsim/lab/mark.h"
#include "netsim/launch/launch.h"
#include "tests/lib/process.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* --- one run with a script for mpirun --- */

struct launched {
    char kinds[64];     /* a letter for each report */
    double remaining_s; /* the forecast for the launcher */
    int fail_at;        /* on_report fails at this report, counted from 1; 0: never */
    double stop_after;  /* seconds after which on_tick stops; 0: never */
    double began;
    bool here; /* on this machine instead of hosts */
};

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct launched *h = arg;
    size_t n = strlen(h->kinds);
    assert_true(n + 1 < sizeof h->kinds);
    h->kinds[n] = "HBSRVCMZDEK"[r->kind];
    if ((int)n + 1 == h->fail_at)
        return cc_fail(e, "the disk is full");
    return CC_OK;
}

static double remaining_s(void *arg)
{
    return ((struct launched *)arg)->remaining_s;
}

static bool on_tick(void *arg)
{
    struct launched *h = arg;
    return h->stop_after > 0 && cc_now() - h->began >= h->stop_after;
}

/* Writes a report to a file, for scripts to print: hello, begin, step, row, elsewhere, done,
 * error, killed. */
static void write_report(void **state, const char *name, const struct cc_report *r)
{
    struct cc_error e;
    FILE *f = fopen(scratch_path(state, name), "w");
    assert_non_null(f);
    assert_int_equal(cc_report_print(r, f, &e), CC_OK);
    assert_int_equal(fclose(f), 0);
}

static void write_reports(void **state)
{
    char library[] = "Open MPI of a shell", trouble[] = "no memory for 3 tensors", host[] = "n7";
    double second = 1;
    struct cc_report_row row = {.steps = 1,
                                .step_s = &second,
                                .given_bytes = 1000,
                                .sent_bytes = 1066,
                                .received_bytes = 1066,
                                .total_sent_bytes = 2132};
    struct cc_report_row elsewhere = row;
    elsewhere.sent_bytes = 66;
    write_report(state, "hello", &(struct cc_report){.kind = CC_REPORT_HELLO, .text = library});
    write_report(state, "begin", &(struct cc_report){.kind = CC_REPORT_ROW_BEGIN});
    write_report(state, "step", &(struct cc_report){.kind = CC_REPORT_STEP, .step = 4});
    write_report(state, "row", &(struct cc_report){.kind = CC_REPORT_ROW, .result = row});
    write_report(state, "elsewhere",
                 &(struct cc_report){.kind = CC_REPORT_ROW, .result = elsewhere});
    write_report(state, "done", &(struct cc_report){.kind = CC_REPORT_DONE});
    write_report(state, "error",
                 &(struct cc_report){.kind = CC_REPORT_ERROR, .rank = 2, .text = trouble});
    write_report(state, "killed",
                 &(struct cc_report){.kind = CC_REPORT_KILLED, .killed = {host, 4711, 1, 9}});
}

static const char *write_script(void **state, const char *name, const char *commands)
{
    char text[2000];
    (void)snprintf(text, sizeof text, "#!/bin/sh\ncd '%s'\n%s\n", (const char *)*state, commands);
    const char *path = scratch_write(state, name, text, strlen(text));
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* Two workers and a server, one tensor, one row. */
static int launch(void **state, const char *commands, struct launched *h, struct cc_error *e)
{
    char name[] = "w", scheme[] = "3lc:s=1.75", device[] = "eth7";
    struct cc_job_tensor tensor = {.name = name, .shape = cc_shape_flat(1000), .share = 1};
    struct cc_message message = {0, 0};
    struct cc_job_row row = {
        .scheme = scheme, .period = 1, .steps = 1, .message = &message, .messages = 1};
    size_t offset[] = {0, 1000};
    struct cc_job job = {.exchange = CC_PS,
                         .workers = 2,
                         .servers = 1,
                         .device = device,
                         .rendezvous = true,
                         .data = true,
                         .trace_steps = 1,
                         .tensor = &tensor,
                         .offset = offset,
                         .tensors = 1,
                         .row = &row,
                         .rows = 1};
    char *extra[] = {"--mca", "btl", "self,tcp", "--display-map", NULL};
    char script[300];
    (void)snprintf(script, sizeof script, "%s", write_script(state, "mpirun", commands));
    struct cc_launch_cluster cluster = {
        .hosts = h->here ? NULL : "a,b,c", .mpirun = script, .mpirun_args = extra, .here = h->here};
    struct cc_launch_config config = {.hosts = {NULL, &cluster},
                                      .rank_program = "/bin/true",
                                      .on_report = on_report,
                                      .remaining_s = remaining_s,
                                      .on_tick = on_tick,
                                      .arg = h};
    write_reports(state);
    h->began = cc_now();
    *e = (struct cc_error){0};
    return cc_launch(&config, &job, e);
}

/* Launches with this script for mpirun; the launch must fail with a message that contains the
 * part. */
static void assert_fails(void **state, const char *commands, const char *part)
{
    struct launched h = {.remaining_s = 60};
    struct cc_error e;
    assert_int_equal(launch(state, commands, &h, &e), CC_FAIL);
    assert_contains(e.text, part);
    assert_true(strlen(e.text) <= 500);
}

static void all_reports_arrive(void **state)
{
    struct launched h = {.remaining_s = 60};
    struct cc_error e;
    assert_int_equal(launch(state,
                            "cat hello; echo some rubbish; echo and more >&2; cat begin step\n"
                            "head -c 20 step; sleep 0.3; tail -c +21 step; cat row\n"
                            "printf '%s' \"$(cat done)\"", /* no newline at the end */
                            &h, &e),
                     CC_OK);
    assert_string_equal(h.kinds, "HBSSRD");
}

static void mpirun_gets_arguments_and_the_job(void **state)
{
    struct launched h = {.remaining_s = 60};
    struct cc_error e;
    size_t size;
    assert_int_equal(launch(state, "echo \"$@\" >arguments; cat >job; cat hello done", &h, &e),
                     CC_OK);
    char *arguments = scratch_read(scratch_path(state, "arguments"), &size);
    /* btl occurs only once, as the user sets it. */
    assert_string_equal(arguments,
                        "-np 3 --host a,b,c --map-by node --bind-to none --mca pml ob1 "
                        "--mca btl_tcp_eager_limit 65536 --mca btl_tcp_rndv_eager_limit 65536 "
                        "--mca btl_tcp_max_send_size 131072 "
                        "--mca btl_tcp_if_include eth7 "
                        "--mca btl self,tcp --display-map /bin/true -\n");
    free(arguments);
    struct cc_job job;
    char *text = scratch_read(scratch_path(state, "job"), &size);
    assert_int_equal(cc_job_parse(text, size, &job, &e), CC_OK);
    assert_int_equal(job.workers, 2);
    assert_string_equal(job.row[0].scheme, "3lc:s=1.75");
    cc_job_free(&job);
    free(text);
}

/* All ranks on this machine, whatever hosts a resource manager has given, and however few slots. */
static void mpirun_stays_here(void **state)
{
    struct launched h = {.remaining_s = 60, .here = true};
    struct cc_error e;
    size_t size;
    assert_int_equal(launch(state, "echo \"$@\" >arguments; cat hello done", &h, &e), CC_OK);
    char *arguments = scratch_read(scratch_path(state, "arguments"), &size);
    assert_contains(arguments, "-np 3 --oversubscribe --allow-run-as-root --map-by node");
    assert_contains(arguments, "--mca plm isolated --mca ras ^slurm,tm,lsf,gridengine,alps");
    assert_contains(arguments, "--mca mpi_yield_when_idle");
    assert_contains(arguments, "--mca btl_vader_eager_limit 16384");
    assert_null(strstr(arguments, "--host"));
    free(arguments);
}

/* --- failures --- */

#define RULER "echo --------------------------------------------------------------------------\n"

static void ends_are_explained(void **state)
{
    assert_fails(state, "exit 127", "could not be started");
    assert_fails(state, "exit 127", "openmpi-bin");
    assert_fails(state, "cat hello; exit 0", "ended with exit code 0 before the ranks were done");
    assert_fails(state, "cat hello; echo no route to b >&2; exit 9",
                 "ended with exit code 9 before the ranks were done: no route to b");
    assert_fails(state, "cat hello done; exit 9",
                 "ended with exit code 9 although the ranks were done");
    assert_fails(state, "cat hello; kill -9 $$", "killed by signal 9 (Killed)");
    assert_fails(state,
                 "exec 1>&2\n" RULER
                 "echo There are not enough slots available in the system to satisfy the 3\n"
                 "echo slots that were requested by the application:\n" RULER "exit 1",
                 "slots that were requested by the application: (one slot for each");
    assert_fails(state, "head -c 300000 /dev/zero | tr '\\0' x; exit 1", "exit code 1");
    assert_fails(state, "head -c 300000 /dev/urandom; head -c 300000 /dev/urandom >&2; exit 1",
                 "exit code 1");
}

/* No report may be lost, whatever it is about. A line that only looks like
 * one, or one that the end of a killed program cuts off, is not a report. */
static void a_broken_report_fails(void **state)
{
    static const char part[] = "a report of the ranks cannot be read: ";
    assert_fails(state, "cat hello begin; echo '{\"report\": \"row\", \"row\": 0}'; cat done",
                 part);
    assert_fails(state, "cat hello begin; echo '{\"report\": \"calls\", \"row\": 0}'; cat done",
                 part);
    assert_fails(state, "cat hello begin; echo '{\"report\": \"step\", '; cat row done", part);
    assert_fails(state, "cat hello begin row; echo '{\"report\": \"news\"}'; cat done", part);
    assert_fails(state, "cat hello begin; printf '{\"report\": \"ro'; kill -9 $$", "signal 9");
    struct launched h = {.remaining_s = 60};
    struct cc_error e;
    assert_int_equal(launch(state, "cat hello begin row; echo '{\"note\": 1}'; cat done", &h, &e),
                     CC_OK);
}

static void a_failed_rank_is_named(void **state)
{
    assert_fails(state, "cat hello error; exit 1", "rank 2 (a server): no memory for 3 tensors");
    /* The launcher does not wait for mpirun. */
    double began = cc_now();
    assert_fails(state, "cat hello error; sleep 60", "rank 2 (a server): no memory for 3 tensors");
    assert_true(cc_now() - began < 30);
}

/* By the process that waited for it, whatever else is said by then. */
static void a_killed_rank_is_named(void **state)
{
    static const char says[] =
        "rank 1 (a worker), process 4711 on node n7, exited on signal 9 (Killed); it ended first: ";
    assert_fails(state, "cat hello killed; echo writev failed: Broken pipe >&2; exit 255", says);
    assert_fails(state, "cat hello error killed error; exit 1", says);
    assert_fails(state, "cat hello; head -c 20 row; cat killed; exit 1", says);
    double began = cc_now();
    assert_fails(state, "cat hello killed; sleep 60", says);
    assert_true(cc_now() - began < 30);
    assert_fails(state, "cat hello; sed s/9}/11}/ killed; cat killed; exit 1",
                 "exited on signal 11 (Segmentation fault)");
}

static void bytes_on_another_interface_fail(void **state)
{
    assert_fails(state, "cat hello begin step elsewhere done; sleep 60",
                 "eth7 carried 66 of the 1000 bytes of a step");
}

static void a_missing_program_is_named(void **state)
{
    struct launched h = {.remaining_s = 1};
    struct cc_error e;
    struct cc_job job = {.workers = 2};
    struct cc_launch_cluster cluster = {.hosts = "a"};
    struct cc_launch_config config = {.hosts = {NULL, &cluster},
                                      .rank_program = scratch_path(state, "none"),
                                      .on_report = on_report,
                                      .remaining_s = remaining_s,
                                      .on_tick = on_tick,
                                      .arg = &h};
    assert_int_equal(cc_launch(&config, &job, &e), CC_FAIL);
    assert_contains(e.text, "libopenmpi-dev");
}

static void callbacks_can_end_it(void **state)
{
    struct launched h = {.remaining_s = 60, .fail_at = 2};
    struct cc_error e;
    assert_int_equal(launch(state, "echo $$ >pid; cat hello begin; exec sleep 60", &h, &e),
                     CC_FAIL);
    assert_string_equal(e.text, "the disk is full");
    assert_string_equal(h.kinds, "HB");
    assert_true(process_has_ended(state, "pid"));

    h = (struct launched){.remaining_s = 60, .stop_after = 0.3};
    assert_int_equal(launch(state, "echo $$ >pid; cat hello; exec sleep 60", &h, &e), CC_FAIL);
    assert_string_equal(e.text, "interrupted");
    assert_true(cc_now() - h.began < 30);
    assert_true(process_has_ended(state, "pid"));

    /* Ctrl-C ends mpirun itself, with a message of its own. */
    h = (struct launched){.remaining_s = 60, .stop_after = 0.02};
    assert_int_equal(launch(state, "sleep 0.05; echo forced exit >&2; exit 1", &h, &e), CC_FAIL);
    assert_string_equal(e.text, "interrupted");
}

static void sigterm_ignored_is_killed(void **state)
{
    struct launched h = {.remaining_s = 60, .stop_after = 0.3};
    struct cc_error e;
    assert_int_equal(
        launch(state, "trap '' TERM; echo $$ >pid; while :; do sleep 0.2; done", &h, &e), CC_FAIL);
    assert_string_equal(e.text, "interrupted");
    assert_true(cc_now() - h.began < 30);
    assert_true(process_has_ended(state, "pid"));
}

static void a_missing_report_is_noticed(void **state)
{
    struct launched h = {.remaining_s = 1};
    struct cc_error e;
    assert_int_equal(launch(state, "echo $$ >pid; cat hello begin step; exec sleep 60", &h, &e),
                     CC_FAIL);
    assert_contains(e.text, "step 6 of row 1 (3lc:s=1.75)");
    double took = cc_now() - h.began;
    /* On a cluster the limit is one and a half times the forecast, and ten seconds. */
    assert_true(took > 11.4 && took < 40);
    assert_true(process_has_ended(state, "pid"));
}

/* As one that mpirun has started. The reason given is not that nothing is heard, which would be
 * noticed earlier here. */
static void a_stopped_process_is_named(void **state)
{
    struct launched h = {.remaining_s = -4};
    struct cc_error e;
    assert_int_equal(launch(state,
                            "cat hello begin; echo $$ >pid\n"
                            "OMPI_COMM_WORLD_RANK=2 sh -c 'kill -STOP $$; sleep 60'",
                            &h, &e),
                     CC_FAIL);
    assert_contains(e.text, "sh of rank 2, process ");
    assert_contains(e.text, ", has been stopped (SIGSTOP) for 1");
    const double took = cc_now() - h.began;
    assert_true(took > 9.9 && took < 30);
    assert_true(process_has_ended(state, "pid"));
}

/* A run's processes have a folder of their own, which goes with them, whatever they do. */
static void nothing_is_left(void **state)
{
    struct launched h = {.remaining_s = 60};
    struct cc_error e;
    size_t size;
    char tmp[300];
    (void)snprintf(tmp, sizeof tmp, "%s", scratch_path(state, "tmp"));
    assert_int_equal(mkdir(tmp, 0755), 0);
    assert_int_equal(setenv("TMPDIR", tmp, 1), 0);
    const int status = launch(state,
                              "mkdir -p $TMPDIR/a/b; echo x >$TMPDIR/a/b/c; echo $TMPDIR >folder\n"
                              "echo $OMPI_COMMCOMP_RUN >mark\n"
                              "(setsid sh -c 'echo $$ >pid; exec sleep 60') >/dev/null 2>&1 &\n"
                              "while ! [ -s pid ]; do sleep 0.01; done; cat hello done",
                              &h, &e);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(status, CC_OK);
    assert_true(process_has_ended(state, "pid"));
    char *folder = scratch_read(scratch_path(state, "folder"), &size);
    assert_memory_equal(folder, tmp, strlen(tmp));
    assert_true(size > strlen(tmp) + 10);
    free(folder);
    assert_int_equal(rmdir(tmp), 0); /* it is empty */
    free(scratch_read(scratch_path(state, "mark"), &size));
    assert_int_equal(size, CC_MARK_DIGITS + 1);
}

/* Starts a launcher in a process of its own, which ends with 0 if the launch succeeds, and returns
 * once the file "pid" is there. */
static pid_t fork_launcher(void **state, const char *commands, double remaining)
{
    const pid_t launcher = fork();
    if (launcher == 0) {
        struct launched h = {.remaining_s = remaining};
        struct cc_error e;
        _exit(launch(state, commands, &h, &e) != CC_OK);
    }
    assert_true(launcher > 1);
    for (int i = 0; i < 500 && access(scratch_path(state, "pid"), R_OK) != 0; i++)
        (void)usleep(10000);
    assert_false(process_has_ended(state, "pid"));
    return launcher;
}

static void assert_dies_with_us(void **state, const char *commands)
{
    const pid_t launcher = fork_launcher(state, commands, 60);
    const double began = cc_now();
    assert_int_equal(kill(launcher, SIGKILL), 0);
    assert_int_equal(waitpid(launcher, NULL, 0), launcher);
    while (!process_has_ended(state, "pid")) {
        assert_true(cc_now() - began < 30);
        (void)usleep(10000);
    }
    assert_int_equal(unlink(scratch_path(state, "pid")), 0);
}

static void mpirun_dies_with_us(void **state)
{
    assert_dies_with_us(state, "echo $$ >pid.new; mv pid.new pid; cat hello; exec sleep 60");
    /* The keeper ends one that does not end by itself. */
    assert_dies_with_us(state, "trap '' TERM; echo $$ >pid.new; mv pid.new pid; cat hello\n"
                               "for i in 1 2 3 4 5 6; do sleep 10; done");
}

/* After 4 s without a report a launch has failed, but not for as long as it was stopped itself. */
static void a_pause_does_not_count(void **state)
{
    int status;
    const pid_t launcher =
        fork_launcher(state,
                      "cat hello begin; echo $$ >pid.new; mv pid.new pid\n"
                      "while ! [ -e go ]; do sleep 0.02; done; cat step row done",
                      -4);
    assert_int_equal(kill(launcher, SIGSTOP), 0);
    (void)sleep(6);
    assert_int_equal(kill(launcher, SIGCONT), 0);
    (void)usleep(400000);
    (void)scratch_write(state, "go", "", 0);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- parts --- */

static void bytes_are_compared(void **state)
{
    (void)state;
    struct cc_error e;
    struct cc_report_row r = {.given_bytes = 1000, .sent_bytes = 1054};
    assert_int_equal(cc_launch_check_bytes(&r, "data", &e), CC_OK);
    r.sent_bytes = -1;
    assert_int_equal(cc_launch_check_bytes(&r, NULL, &e), CC_OK);
    r.sent_bytes = 899;
    assert_int_equal(cc_launch_check_bytes(&r, "data", &e), CC_FAIL);
    assert_contains(e.text, "data carried 899 of the 1000 bytes");
    r = (struct cc_report_row){0};
    assert_int_equal(cc_launch_check_bytes(&r, "data", &e), CC_OK);
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_compared),
        IN_SCRATCH(all_reports_arrive),
        IN_SCRATCH(mpirun_gets_arguments_and_the_job),
        IN_SCRATCH(mpirun_stays_here),
        IN_SCRATCH(ends_are_explained),
        IN_SCRATCH(a_broken_report_fails),
        IN_SCRATCH(a_failed_rank_is_named),
        IN_SCRATCH(a_killed_rank_is_named),
        IN_SCRATCH(bytes_on_another_interface_fail),
        IN_SCRATCH(a_missing_program_is_named),
        IN_SCRATCH(callbacks_can_end_it),
        IN_SCRATCH(sigterm_ignored_is_killed),
        IN_SCRATCH(a_missing_report_is_noticed),
        IN_SCRATCH(a_stopped_process_is_named),
        IN_SCRATCH(nothing_is_left),
        IN_SCRATCH(mpirun_dies_with_us),
        IN_SCRATCH(a_pause_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
