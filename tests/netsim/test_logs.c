/* The output of mpirun and SimGrid: which lines are kept for the message of a run that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "netsim/launch/log_tail.h"
#include "netsim/launch/smpirun_log.h"

/* --- mpirun --- */

/* Asserts that the log tail of these lines is this text. */
static void assert_tail(const char *const *line, const char *expected)
{
    struct cc_log_tail tail = {0};
    char text[300];
    for (; *line != NULL; line++)
        cc_log_tail_add(&tail, *line, strlen(*line));
    cc_log_tail_text(&tail, text, sizeof text);
    assert_string_equal(text, expected);
}

#define DASHES "--------------------------------------------------------------------------"

/* The messages are those of Open MPI 4.1.4. */
static void mpiruns_reason_is_found(void **state)
{
    (void)state;
    assert_tail((const char *[]){NULL}, "");
    assert_tail((const char *[]){"", "  ", NULL}, "");
    assert_tail((const char *[]){DASHES, DASHES, NULL}, "");
    assert_tail(
        (const char *[]){
            DASHES, "Primary job  terminated normally, but 1 process returned",
            "a non-zero exit code. Per user-direction, the job has been aborted.", DASHES, DASHES,
            "mpirun noticed that process rank 1 with PID 23883 on node h1 exited on signal 9 "
            "(Killed).",
            DASHES, NULL},
        "mpirun noticed that process rank 1 with PID 23883 on node h1 exited on signal 9 "
        "(Killed).");
    assert_tail(
        (const char *[]){DASHES,
                         "mpirun was unable to launch the specified application as it "
                         "could not access",
                         "or execute an executable:", "", "Executable: ./nothere", "Node: h1", "",
                         "while attempting to start process rank 1.", DASHES,
                         "2 total processes failed to start", NULL},
        "2 total processes failed to start; mpirun was unable to launch the specified application "
        "as it could not access or execute an executable: Executable: ./nothere Node: h1 while "
        "attempting to start process rank 1.");
    /* ssh's line gives the reason; mpirun's block about it is long. */
    assert_tail(
        (const char *[]){
            "ssh: connect to host h7 port 22: Connection refused\r", DASHES,
            "ORTE was unable to reliably start one or more daemons.", "This usually is caused by:",
            "", "* not finding the required libraries and/or binaries on",
            "  one or more nodes. Please check your PATH and LD_LIBRARY_PATH",
            "  settings, or configure OMPI with --enable-orterun-prefix-by-default", "",
            "* lack of authority to execute on one or more specified nodes.", DASHES, DASHES,
            "ORTE does not know how to route a message to the specified daemon", DASHES,
            "[vm:12] 1 more process has sent help message help-x.txt / y",
            "[vm:12] plm:rsh: Warning: setpgid(232,232) failed in parent with errno=Permission "
            "denied(13)",
            "[vm:12] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error "
            "messages",
            NULL},
        "ssh: connect to host h7 port 22: Connection refused; ORTE was unable to reliably start "
        "one or more daemons. This usually is caused by: * not finding the required libraries "
        "and/or binaries on one or more nodes. Please check your PATH and LD_LIBRARY_PATH "
        "settings, or configure OMPI with --enable-orte");
    /* A backtrace is left out; a block that breaks off is kept rather than nothing. */
    assert_tail((const char *[]){"[h3:123] *** Process received signal ***",
                                 "[h3:123] Signal: Segmentation fault (11)",
                                 "[h3:123] [ 0] /lib/libc.so.6(+0x38)", DASHES,
                                 "mpirun noticed that", NULL},
                "[h3:123] Signal: Segmentation fault (11); mpirun noticed that");
    /* The last lines are kept. */
    assert_tail((const char *[]){"1", "2", "3", "4", "5", "6", NULL}, "3; 4; 5; 6");
}

/* --- SimGrid --- */

/* Asserts that one line of SimGrid leaves this text in the log tail. */
static void assert_kept(const char *line, const char *expected)
{
    struct cc_smpirun_log log = {0};
    struct cc_log_tail tail = {0};
    char text[400];
    cc_smpirun_log_add(&log, &tail, line, strlen(line));
    cc_log_tail_text(&tail, text, sizeof text);
    assert_string_equal(text, expected);
}

/* The lines are those of SimGrid 3.32. */
static void simgrids_reason_is_kept(void **state)
{
    (void)state;
    assert_kept("[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at "
                "/proc/23788/fd/3:4: unknown unit: XBps",
                "Parse error at the platform, line 4: unknown unit: XBps");
    assert_kept("[0.000000] ./src/xbt/exception.cpp:48: [xbt_exception/CRITICAL] Uncaught "
                "exception std::invalid_argument: Host not found: 'q'",
                "Host not found: 'q'");
    assert_kept("[0.000000] ./src/xbt/exception.cpp:96: [xbt_exception/ERROR] Exiting now.", "");
    assert_kept("  ->  5# smpi_main in /usr/lib/x86_64-linux-gnu/libsimgrid.so.3.32", "");
    assert_kept("  surf/precision: (double)1e-09", "");
    assert_kept("./t --cfg=smpi/privatization:no  --cfg=surf/precision:1e-9", "");
    assert_kept("Execution failed with code 139.", "");
    assert_kept("", "");
    assert_kept("[", "[");
    assert_kept("[0.0] Parse error at ", "[0.0] Parse error at");
    assert_kept("Actor 5", "Actor 5");
}

static void waiting_ranks_are_counted(void **state)
{
    (void)state;
    struct cc_smpirun_log log = {0};
    struct cc_log_tail tail = {0};
    char line[200], ranks[200];
    for (int i = 0; i < 4096; i++) {
        int n = snprintf(line, sizeof line,
                         "[1.000000] [ker_engine/INFO] Actor %d (%d@host-%d.of:me): waiting for "
                         "communication activity 0x55e03b34a0d0 () in state WAITING to finish",
                         i + 1, i, i);
        cc_smpirun_log_add(&log, &tail, line, (size_t)n);
    }
    cc_smpirun_log_waiting(&log, ranks, sizeof ranks);
    assert_string_equal(ranks, "4096 ranks (0, 1, 2, 3, 4, 5, ...)");
    log = (struct cc_smpirun_log){0};
    cc_smpirun_log_add(&log, &tail, line, strlen(line));
    cc_smpirun_log_waiting(&log, ranks, sizeof ranks);
    assert_string_equal(ranks, "1 ranks (4095)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mpiruns_reason_is_found),
        cmocka_unit_test(simgrids_reason_is_kept),
        cmocka_unit_test(waiting_ranks_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
