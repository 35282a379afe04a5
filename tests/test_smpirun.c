/* Simulations: a shell script stands in for smpirun and does what it does when things go wrong;
 * and where SimGrid is installed, the real one runs ranks that do as they are told
 * (tests/sim/talker.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "netsim/launch/smpirun.h"
#include "netsim/launch/smpirun_log.h"
#include "netsim/launch/smpirun_memory.h"
#include "tests/lib/scratch.h"

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, words);
}

static void assert_silent(const char *text, const char *words)
{
    if (strstr(text, words) != NULL)
        fail_msg("\"%s\" says \"%s\"", text, words);
}

/* --- one simulation --- */

struct heard {
    char kinds[64];    /* a letter for each report */
    double second[8];  /* of each size */
    int fail_at;       /* hear fails at the so-manieth report; 0: never */
    double stop_after; /* tick stops then; 0: never */
    double began;
    size_t ticks;
    bool without_data;
    const char *paje;
    const char *smpirun; /* and no script */
    enum cc_fidelity fidelity;
    const char *xml;
    size_t hosts, values; /* 0: 3, 1000 */
    size_t block_bytes;   /* as the job was completed */
    bool rendezvous;
};

static const char letters[] = {
    [CC_REPORT_HELLO] = 'H', [CC_REPORT_ROW_BEGIN] = 'B', [CC_REPORT_STEP] = 'S',
    [CC_REPORT_ROW] = 'R',   [CC_REPORT_SIZE] = 'Z',      [CC_REPORT_EVENTS] = 'M',
    [CC_REPORT_DONE] = 'D',  [CC_REPORT_ERROR] = 'E',
};

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct heard *h = arg;
    size_t n = strlen(h->kinds);
    assert_true(n + 1 < sizeof h->kinds);
    h->kinds[n] = letters[r->kind];
    for (size_t i = 0; r->kind == CC_REPORT_SIZE && i < 8; i++)
        if (h->second[i] == 0) {
            h->second[i] = r->size.seconds[0];
            break;
        }
    if ((int)n + 1 == h->fail_at)
        return cc_fail(e, "the disk is full");
    return CC_OK;
}

static bool on_tick(void *arg)
{
    struct heard *h = arg;
    h->ticks++;
    return h->stop_after > 0 && cc_now() - h->began >= h->stop_after;
}

/* Three hosts, whose links carry 1 GB/s each way; from one to the other it is 10 us. */
static const char three_hosts[] =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" bw=\"1GBps\" "
    "lat=\"5us\"/>\n"
    "</platform>\n";

/* Two workers and a server, one tensor, one row. */
static int simulate(void **state, struct heard *h, const char *ranks, struct cc_error *e)
{
    char exchange[] = "ps", name[] = "w", scheme[] = "3lc:s=1.75", xml[600];
    char *host[] = {(char[]){"h0"}, (char[]){"h1"}, (char[]){"h2"}};
    const size_t values = h->values > 0 ? h->values : 1000;
    struct cc_job_tensor tensor = {.name = name, .shape = cc_shape_flat(values), .share = 1};
    struct cc_job_message message = {0, 0};
    struct cc_job_row row = {
        .scheme = scheme, .period = 1, .steps = 1, .message = &message, .messages = 1};
    size_t offset[] = {0, values};
    struct cc_job job = {.exchange = exchange,
                         .workers = 2,
                         .servers = 1,
                         .trace_steps = 1,
                         .data = !h->without_data,
                         .tensor = &tensor,
                         .offset = offset,
                         .tensors = 1,
                         .row = &row,
                         .rows = 1};
    (void)snprintf(xml, sizeof xml, "%s", h->xml != NULL ? h->xml : three_hosts);
    const struct cc_platform platform = {
        .xml = xml, .host = host, .hosts = h->hosts > 0 ? h->hosts : 3};
    const struct cc_smpirun_config config = {.platform = &platform,
                                             .fidelity = h->fidelity,
                                             .overhead = 66.0 / 1448,
                                             .rank_program = ranks,
                                             .smpirun = h->smpirun,
                                             .paje = h->paje,
                                             .on_report = on_report,
                                             .on_tick = on_tick,
                                             .arg = h};
    (void)state;
    h->began = cc_now();
    *e = (struct cc_error){0};
    int status = cc_smpirun(&config, &job, e);
    h->block_bytes = job.block_bytes;
    h->rendezvous = job.rendezvous;
    return status;
}

/* --- with a script for smpirun --- */

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

static int with_script(void **state, const char *commands, struct heard *h, struct cc_error *e)
{
    char script[300];
    (void)snprintf(script, sizeof script, "%s", write_script(state, commands));
    h->smpirun = script;
    int status = simulate(state, h, "/bin/true", e);
    h->smpirun = NULL;
    return status;
}

/* It fails, and says this. */
static void assert_fails(void **state, const char *commands, const char *words)
{
    struct heard h = {0};
    struct cc_error e;
    assert_int_equal(with_script(state, commands, &h, &e), CC_FAIL);
    assert_says(e.text, words);
    assert_silent(e.text, "/proc/");
    assert_true(strlen(e.text) <= 500);
}

static void all_reports_are_heard(void **state)
{
    struct heard h = {0};
    struct cc_error e;
    assert_int_equal(with_script(state,
                                 "cat hello; echo some rubbish; echo and more >&2; cat begin step\n"
                                 "head -c 20 step; sleep 0.5; tail -c +21 step; cat done",
                                 &h, &e),
                     CC_OK);
    assert_string_equal(h.kinds, "HBSSD");
    assert_true(h.ticks >= 3);
}

/* A line of many megabytes that comes in small pieces: searched once, not again for each piece. */
static void long_lines_cost_little(void **state)
{
    struct heard h = {0};
    struct cc_error e;
    double began = cc_now();
    assert_int_equal(with_script(state,
                                 "cat hello; head -c 50000000 /dev/zero | tr '\\0' x; echo\n"
                                 "head -c 100000000 /dev/zero | tr '\\0' x; echo; cat done",
                                 &h, &e),
                     CC_OK);
    assert_string_equal(h.kinds, "HD");
    assert_true(cc_now() - began < 20);
}

static char *read_text(void **state, const char *name)
{
    size_t size;
    char *text = scratch_read(scratch_path(state, name), &size);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = '\0';
    return text;
}

/* What smpirun is given. */
static char *words_of(void **state, struct heard *h)
{
    size_t size;
    struct cc_job job;
    struct cc_error e;
    assert_int_equal(with_script(state,
                                 "printf '%s ' \"$@\" | sed 's/-platform [^ ]*/-platform P/;\n"
                                 "s/-hostfile [^ ]*/-hostfile H/' >words\n"
                                 "while [ $# -gt 0 ]; do case $1 in\n"
                                 "-platform) [ -f \"$2\" ] && cat \"$2\" >platform ;;\n"
                                 "-hostfile) [ -f \"$2\" ] && cat \"$2\" >hosts ;;\n"
                                 "esac; shift; done; cat >job; cat hello done",
                                 h, &e),
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
    return read_text(state, "words");
}

static void smpirun_is_given_words_files_and_the_job(void **state)
{
    struct heard h = {.fidelity = CC_FIDELITY_ALPHA_BETA};
    char *words = words_of(state, &h);
    assert_int_equal(strncmp(words, "-no-privatize -np 3 -platform P -hostfile H ", 44), 0);
    assert_string_equal(words + strlen(words) - 12, "/bin/true - ");
    assert_says(words, " --cfg=network/model:CM02 ");
    assert_says(words, " --cfg=network/crosstraffic:0 ");
    /* 1448 / 1514 */
    assert_says(words, " --cfg=network/bandwidth-factor:0.956406869");
    assert_silent(words, "-trace");
    assert_int_equal(h.block_bytes, 1 << 30);
    assert_false(h.rendezvous);
    free(words);

    h = (struct heard){.fidelity = CC_FIDELITY_TC};
    words = words_of(state, &h);
    assert_says(words, " --cfg=network/model:CM02 ");
    assert_says(words, " --cfg=network/bandwidth-factor:0.956406869");
    assert_int_equal(h.block_bytes, 0);
    assert_true(h.rendezvous);
    free(words);

    h = (struct heard){.fidelity = CC_FIDELITY_TCP};
    words = words_of(state, &h);
    assert_says(words, " --cfg=network/model:SMPI ");
    assert_says(words, " --cfg=network/crosstraffic:1 ");
    assert_silent(words, "bandwidth-factor");
    assert_silent(words, "TCP-gamma");
    assert_int_equal(h.block_bytes, 0);
    assert_true(h.rendezvous);
    free(words);
}

static void ends_are_told(void **state)
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
    /* As SimGrid 3.32 says it; what it advises is about something else. */
    assert_fails(state,
                 "exec >&2; m='[h:0:(1) 0.0] ./smpi_memory.cpp:163: [root/CRITICAL]'\n"
                 "echo \"$m Failed to map fd 3 with size 2147483648: Cannot allocate memory\"\n"
                 "echo 'On Linux systems, change this value with sudo sysctl'; exit 134",
                 "SimGrid: Failed to map fd 3 with size 2147483648: Cannot allocate memory: 3 sim");
    assert_fails(state, "cat hello error; exit 0", "rank 2 (a server): no luck");
    assert_fails(state, "cat hello; sed 's/no luck/fp32: out of memory: 7 bytes/' error",
                 "rank 2 (a server): fp32: out of memory: 7 bytes. Less is needed with");
    /* Even if the rest goes on. */
    double began = cc_now();
    assert_fails(state, "cat hello error; sleep 60", "rank 2 (a server): no luck");
    assert_true(cc_now() - began < 30);
}

static void killed_without_data(void **state)
{
    struct heard h = {.without_data = true};
    struct cc_error e;
    assert_int_equal(with_script(state, "cat hello; kill -9 $$", &h, &e), CC_FAIL);
    assert_says(e.text, "killed the simulation");
    assert_says(e.text, "3 simulated ranks in one process. Less memory is needed with fewer");
    assert_silent(e.text, "--data");
}

static void what_is_missing_is_named(void **state)
{
    char none[300];
    struct heard h = {.smpirun = none};
    struct cc_error e;
    (void)snprintf(none, sizeof none, "%s", scratch_path(state, "none"));
    assert_int_equal(simulate(state, &h, "/bin/true", &e), CC_FAIL);
    assert_says(e.text, none);
    assert_says(e.text,
                "could not be started; SimGrid brings it (Debian: apt-get install libsimgrid-dev");

    h.smpirun = NULL;
    assert_int_equal(simulate(state, &h, none, &e), CC_FAIL);
    assert_says(e.text, "No such file");
    assert_says(e.text, "apt-get install libsimgrid-dev");

    h.hosts = 2;
    assert_int_equal(with_script(state, "cat hello done", &h, &e), CC_FAIL);
    assert_says(e.text, "the platform has 2 hosts, and there are 2 workers and 1 servers");

    h.hosts = 0;
    h.paje = "/nowhere/at/all";
    assert_int_equal(with_script(state, "cat hello done", &h, &e), CC_FAIL);
    assert_string_equal(e.text, "/nowhere/at/all: No such file or directory");

    assert_int_equal(setenv("COMMCOMP_RANK_SIM", none, 1), 0);
    assert_null(cc_rank_sim_program(&e));
    assert_says(e.text, "COMMCOMP_RANK_SIM: there is no file");
    assert_int_equal(unsetenv("COMMCOMP_RANK_SIM"), 0);
    assert_null(cc_rank_sim_program(&e));
    assert_says(e.text, "commcomp-rank-sim is missing: make builds it where smpicc is installed "
                        "(Debian: apt-get install libsimgrid-dev)");
}

/* A gradient, a model and two payloads of 4 bytes a value is what each rank has at least; ranks
 * without data have next to nothing, and this machine not that much more than it has. */
static void memory_is_foreseen(void **state)
{
    char exchange[] = "ring", scheme[] = "fp32";
    size_t offset[] = {0, 100000000};
    struct cc_job_row row = {.scheme = scheme, .messages = 1};
    struct cc_job job = {.exchange = exchange,
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
    /* Whoever gathers has what all send. */
    char gathers[] = "allgather";
    job.data = true;
    job.exchange = gathers;
    with = (double)cc_smpirun_memory(&job);
    assert_true(with > 100 * 100 * 4e8 && with < 100 * 140 * 4e8);
    /* No overflow. */
    offset[1] = (size_t)1 << 40;
    job.workers = 65536;
    assert_true(cc_smpirun_memory(&job) >= (size_t)1 << 59);
}

static void too_much_is_refused(void **state)
{
    struct heard h = {.values = (size_t)1 << 40};
    struct cc_error e;
    assert_int_equal(with_script(state, "cat hello done", &h, &e), CC_FAIL);
    assert_says(e.text, "3 simulated ranks in one process, each with its gradients: ");
    assert_says(e.text, "are free. Less is needed with --data off, or with fewer workers");
    h.without_data = true;
    assert_int_equal(with_script(state, "cat hello done", &h, &e), CC_OK);
}

/* --- processes --- */

/* Whether the process whose number is in a file of the scratch directory is gone; one that is only
 * not waited for yet is. */
static bool gone(void **state, const char *name)
{
    char path[60], line[200] = "";
    char *text = read_text(state, name);
    long pid = strtol(text, NULL, 10);
    free(text);
    assert_true(pid > 1);
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return true;
    (void)!fgets(line, sizeof line, f);
    (void)fclose(f);
    const char *paren = strrchr(line, ')');
    return paren == NULL || paren[2] == 'Z';
}

/* A child, as smpirun has one, that ends of nothing but SIGKILL. */
#define STUBBORN_CHILD                                                                             \
    "echo $$ >pid; sh -c \"trap '' TERM INT HUP; echo \\$\\$ >child.new; mv child.new child;"      \
    " cat hello; while :; do sleep 0.2; done\" &\n"                                                \
    "while [ ! -e child ]; do sleep 0.05; done;"

static void nothing_is_left(void **state)
{
    struct heard h = {.fail_at = 1};
    struct cc_error e;
    assert_int_equal(with_script(state, STUBBORN_CHILD "wait", &h, &e), CC_FAIL);
    assert_string_equal(e.text, "the disk is full");
    assert_true(gone(state, "pid") && gone(state, "child"));

    h = (struct heard){.stop_after = 0.5};
    assert_int_equal(unlink(scratch_path(state, "child")), 0);
    assert_int_equal(with_script(state, STUBBORN_CHILD "wait", &h, &e), CC_FAIL);
    assert_string_equal(e.text, "interrupted");
    assert_true(cc_now() - h.began < 30);
    assert_true(gone(state, "pid") && gone(state, "child"));

    /* smpirun itself is killed: what it ran does not stay behind. */
    h = (struct heard){0};
    assert_int_equal(unlink(scratch_path(state, "child")), 0);
    assert_int_equal(with_script(state, STUBBORN_CHILD "kill -9 $$", &h, &e), CC_FAIL);
    assert_says(e.text, "killed the simulation");
    assert_true(gone(state, "pid") && gone(state, "child"));
}

/* --- what SimGrid says --- */

static void assert_heard(const char *line, const char *expected)
{
    struct cc_smpirun_log s = {0};
    struct cc_log_tail w = {0};
    char said[400];
    cc_smpirun_log_add(&s, &w, line, strlen(line));
    cc_log_tail_text(&w, said, sizeof said);
    assert_string_equal(said, expected);
}

/* As SimGrid 3.32 prints them. */
static void simgrids_words_are_sifted(void **state)
{
    (void)state;
    assert_heard("[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at "
                 "/proc/23788/fd/3:4: unknown unit: XBps",
                 "Parse error at the platform, line 4: unknown unit: XBps");
    assert_heard("[0.000000] ./src/xbt/exception.cpp:48: [xbt_exception/CRITICAL] Uncaught "
                 "exception std::invalid_argument: Host not found: 'q'",
                 "Host not found: 'q'");
    assert_heard("[0.000000] ./src/xbt/exception.cpp:96: [xbt_exception/ERROR] Exiting now.", "");
    assert_heard("  ->  5# smpi_main in /usr/lib/x86_64-linux-gnu/libsimgrid.so.3.32", "");
    assert_heard("  surf/precision: (double)1e-09", "");
    assert_heard("./t --cfg=smpi/privatization:no  --cfg=surf/precision:1e-9", "");
    assert_heard("Execution failed with code 139.", "");
    assert_heard("", "");
    assert_heard("[", "[");
    assert_heard("[0.0] Parse error at ", "[0.0] Parse error at");
    assert_heard("Actor 5", "Actor 5");
}

static void ranks_that_wait_are_counted(void **state)
{
    (void)state;
    struct cc_smpirun_log s = {0};
    struct cc_log_tail w = {0};
    char line[200], who[200];
    for (int i = 0; i < 4096; i++) {
        int n = snprintf(line, sizeof line,
                         "[1.000000] [ker_engine/INFO] Actor %d (%d@host-%d.of:me): waiting for "
                         "communication activity 0x55e03b34a0d0 () in state WAITING to finish",
                         i + 1, i, i);
        cc_smpirun_log_add(&s, &w, line, (size_t)n);
    }
    cc_smpirun_log_waiting(&s, who, sizeof who);
    assert_string_equal(who, "4096 ranks (0, 1, 2, 3, 4, 5, ...)");
    s = (struct cc_smpirun_log){0};
    cc_smpirun_log_add(&s, &w, line, strlen(line));
    cc_smpirun_log_waiting(&s, who, sizeof who);
    assert_string_equal(who, "1 ranks (4095)");
}

/* --- with SimGrid --- */

/* The talker, beside this test, as a file of the scratch directory, by which its processes are
 * known; NULL where there is no SimGrid. */
static const char *talker(void **state)
{
    char self[2000], command[4200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    const char *path = scratch_path(state, "talker");
    (void)snprintf(command, sizeof command, "cp '%s/sim/talker' '%s' 2>&1", self, path);
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
    struct heard h = {.fidelity = CC_FIDELITY_TC};
    const char *ranks = talker(state);
    if (ranks == NULL)
        skip();
    assert_int_equal(setenv("TALKER", "", 1), 0);
    if (simulate(state, &h, ranks, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_string_equal(h.kinds, "HZZZD");
    /* 10 us, and the bytes and MPI's own 16 at 1 GB/s times 1448/1514. */
    for (int i = 0; i < 3; i++) {
        double expected = 1e-5 + (8 * pow(1000, i) + 16) / (1e9 * 1448 / 1514);
        if (fabs(h.second[i] - expected) > 1e-3 * expected)
            fail_msg("size %d: %g s, not %g", i, h.second[i], expected);
    }
    /* SMPI's own model says something else. */
    double plain = h.second[2];
    h = (struct heard){.fidelity = CC_FIDELITY_TCP};
    assert_int_equal(simulate(state, &h, ranks, &e), CC_OK);
    assert_true(fabs(h.second[2] / plain - 1) > 0.01);
}

static void assert_real(void **state, const char *ranks, const char *config, const char *words)
{
    struct heard h = {0};
    struct cc_error e;
    assert_int_equal(setenv("TALKER", config, 1), 0);
    assert_int_equal(simulate(state, &h, ranks, &e), CC_FAIL);
    assert_says(e.text, words);
    assert_silent(e.text, "/proc/");
}

static void real_failures(void **state)
{
    const char *ranks = talker(state);
    if (ranks == NULL)
        skip();
    assert_real(state, ranks, "deadlock", "of 3 ranks, 3 ranks (0, 1, 2) wait for messages");
    assert_real(state, ranks, "complain", "rank 1 (a worker): no luck today");
    assert_real(state, ranks, "crash", "the simulation was killed by signal 11 (Segmentation");
    assert_real(state, ranks, "huge",
                "SimGrid: Memory allocation of 1152921504606846976 bytes failed: 3 simulated");

    struct heard h = {.xml = "no XML at all"};
    struct cc_error e;
    assert_int_equal(simulate(state, &h, ranks, &e), CC_FAIL);
    assert_says(e.text, "SimGrid gave up: Parse error at the platform, line 1");
    h = (struct heard){.xml = "<?xml version='1.0'?>\n"
                              "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                              "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
                              "<host id=\"h0\" speed=\"1Gf\"/></zone></platform>\n"};
    assert_int_equal(simulate(state, &h, ranks, &e), CC_FAIL);
    assert_says(e.text, "(the platform has no such host)");
}

/* A trace in Paje's format: definitions, and events whose times never go back. */
static void paje_is_written(void **state)
{
    char path[300];
    struct heard h = {.paje = path};
    struct cc_error e;
    const char *ranks = talker(state);
    if (ranks == NULL)
        skip();
    (void)snprintf(path, sizeof path, "%s", scratch_path(state, "with blank.trace"));
    assert_int_equal(setenv("TALKER", "", 1), 0);
    if (simulate(state, &h, ranks, &e) != CC_OK)
        fail_msg("%s", e.text);
    char *text = read_text(state, "with blank.trace"), *next;
    size_t sleeping = 0, links = 0;
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

/* Processes whose command line has the scratch directory in it. */
static size_t processes(void **state)
{
    size_t count = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    for (struct dirent *p = readdir(d); p != NULL; p = readdir(d)) {
        char path[300], words[4096];
        if (!isdigit((unsigned char)p->d_name[0]) || strtol(p->d_name, NULL, 10) == getpid())
            continue;
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", p->d_name);
        FILE *f = fopen(path, "r");
        size_t n = f != NULL ? fread(words, 1, sizeof words, f) : 0;
        if (f != NULL)
            (void)fclose(f);
        const char *dir = *state;
        count += n > 0 && memmem(words, n, dir, strlen(dir)) != NULL;
    }
    (void)closedir(d);
    return count;
}

/* Whoever is killed, of the launcher and smpirun, and whenever. */
static void kills_leave_nothing(void **state)
{
    const char *ranks = talker(state);
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
            struct heard h = {0};
            struct cc_error e;
            (void)simulate(state, &h, ranks, &e);
            _exit(0);
        }
        assert_true(launcher > 0);
        (void)usleep(3000 + 17000 * i);
        assert_int_equal(kill(launcher, SIGKILL), 0);
        assert_int_equal(waitpid(launcher, NULL, 0), launcher);
        for (int wait = 0; wait < 1000 && processes(state) > 0; wait++)
            (void)usleep(10000);
        assert_int_equal(processes(state), 0);
        assert_int_equal(scratch_count(state), files);
    }
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simgrids_words_are_sifted),
        cmocka_unit_test(ranks_that_wait_are_counted),
        IN_SCRATCH(all_reports_are_heard),
        IN_SCRATCH(long_lines_cost_little),
        IN_SCRATCH(smpirun_is_given_words_files_and_the_job),
        IN_SCRATCH(ends_are_told),
        IN_SCRATCH(killed_without_data),
        IN_SCRATCH(what_is_missing_is_named),
        cmocka_unit_test(memory_is_foreseen),
        IN_SCRATCH(too_much_is_refused),
        IN_SCRATCH(nothing_is_left),
        IN_SCRATCH(real_simulation),
        IN_SCRATCH(real_failures),
        IN_SCRATCH(paje_is_written),
        IN_SCRATCH(kills_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
