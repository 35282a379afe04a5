/* Shaping an interface, in a network namespace of this test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netsim/lab/shape.h"
#include "tests/lib/text.h"

static const struct cc_shape_config config = {
    .device = "eth7", .bw_bps = 1e8, .burst_bytes = 16000, .limit_bytes = 200000};

/* Runs a command and returns what it prints, in a static buffer. */
static const char *output(const char *command)
{
    static char text[4000];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    assert_int_equal(pclose(f), 0);
    return text;
}

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s: failed", command);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part)) != NULL) {
        n++;
        text++;
    }
    return n;
}

static void assert_shaped(void)
{
    const char *all = output("tc qdisc show");
    assert_int_equal(count(all, "rate 100Mbit burst 16000b"), 2);
    assert_contains(all, "dev eth7 root");
    assert_contains(all, "qdisc ingress ffff: dev eth7");
    assert_contains(output("ip -br link"), "ccifb");
    assert_int_equal(count(output("tc filter show dev eth7 parent ffff:"), "Redirect"), 1);
}

static bool is_plain(void)
{
    const char *all = output("tc qdisc show");
    return strstr(all, "tbf") == NULL && strstr(all, "ingress") == NULL &&
           strstr(output("ip -br link"), "ccifb") == NULL;
}

/* Waits up to 3 s for the condition. */
static void assert_plain_soon(void)
{
    for (int i = 0; i < 300 && !is_plain(); i++)
        (void)usleep(10000);
    assert_true(is_plain());
}

static int add_interface(void **state)
{
    (void)state;
    run("ip link add eth7 type veth peer name peer && ip link set eth7 up && ip link set peer up");
    return 0;
}

static int remove_interface(void **state)
{
    (void)state;
    run("ip link del eth7");
    return 0;
}

static struct cc_shaping begin(void)
{
    struct cc_shaping s;
    struct cc_error e = {""};
    if (cc_shaping_begin("/proc/self/exe", &config, &s, &e) != CC_OK)
        fail_msg("%s", e.text);
    return s;
}

static void end(struct cc_shaping *s)
{
    struct cc_error e = {""};
    if (cc_shaping_end(s, &e) != CC_OK)
        fail_msg("%s", e.text);
}

static void assert_refused(const char *part)
{
    struct cc_shaping s;
    struct cc_error e = {""};
    assert_int_equal(cc_shaping_begin("/proc/self/exe", &config, &s, &e), CC_FAIL);
    assert_contains(e.text, part);
}

static void shapes_and_undoes(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct cc_shaping s = begin();
        assert_shaped();
        end(&s);
        assert_true(is_plain());
    }
}

static void one_at_a_time(void **state)
{
    (void)state;
    struct cc_shaping s = begin();
    assert_refused("eth7 is being shaped by another run");
    assert_shaped();
    end(&s);
    assert_true(is_plain());
}

/* Starts a process that shapes the interface and then waits. */
static pid_t start_holder(struct cc_shaping *out)
{
    int report[2];
    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct cc_shaping s = begin();
        (void)!write(report[1], &s, sizeof s);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(report[0], out, sizeof *out), sizeof *out);
    (void)close(report[0]);
    (void)close(report[1]);
    return pid;
}

static void undone_when_the_rank_dies(void **state)
{
    (void)state;
    struct cc_shaping s;
    pid_t pid = start_holder(&s);
    assert_shaped();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_plain_soon();
}

static void undone_when_the_guard_gets_sigterm(void **state)
{
    (void)state;
    struct cc_shaping s = begin();
    assert_int_equal(kill(s.guard, SIGTERM), 0);
    assert_plain_soon();
    end(&s);
}

static void undone_at_the_next_start(void **state)
{
    (void)state;
    struct cc_error e = {""};
    struct cc_shaping s = begin();
    assert_int_equal(kill(s.guard, SIGKILL), 0);
    assert_int_equal(cc_shaping_end(&s, &e), CC_FAIL);
    assert_contains(e.text, "may still be shaped");
    assert_shaped();
    s = begin();
    assert_shaped();
    end(&s);
    assert_true(is_plain());
}

/* The guard may have been killed after any of its steps. */
static void incomplete_shaping_is_undone(void **state)
{
    (void)state;
    struct cc_shaping s;
    struct cc_error e = {""};
    static const char *const left[] = {
        "tc qdisc del dev eth7 root", "tc qdisc del dev eth7 ingress",
        "tc qdisc del dev eth7 root; tc qdisc del dev eth7 ingress",
        "tc qdisc del dev $(ip -br link | grep -o ccifb[0-9]*) root"};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        s = begin();
        assert_int_equal(kill(s.guard, SIGKILL), 0);
        (void)cc_shaping_end(&s, &e);
        run(left[i]);
        s = begin();
        assert_shaped();
        end(&s);
        assert_true(is_plain());
    }
}

static void foreign_disciplines_stay(void **state)
{
    (void)state;
    run("tc qdisc add dev eth7 root handle 5: tbf rate 1mbit burst 5000 limit 50000");
    assert_refused("eth7 is shaped already (qdisc tbf 5:)");
    assert_contains(output("tc qdisc show dev eth7"), "tbf 5: root");
    run("tc qdisc del dev eth7 root && tc qdisc add dev eth7 ingress");
    assert_refused("eth7 has rules for arriving packets");
    assert_contains(output("tc qdisc show dev eth7"), "ingress");
    run("tc qdisc del dev eth7 ingress");
}

static void no_such_interface(void **state)
{
    (void)state;
    assert_refused("there is no interface eth7");
}

static void a_guard_that_cannot_be_started(void **state)
{
    (void)state;
    struct cc_shaping s;
    struct cc_error e = {""};
    assert_int_equal(cc_shaping_begin("/no/such/program", &config, &s, &e), CC_FAIL);
    assert_contains(e.text, "/no/such/program cannot be started");
    assert_int_equal(cc_shaping_begin("/bin/true", &config, &s, &e), CC_FAIL);
    assert_contains(e.text, "the process that shapes died");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--shape") == 0)
        return cc_shape_guard(argv + 2);
    if (unshare(CLONE_NEWNET) != 0) {
        printf("shaping: SKIPPED, needs root: %s\n", strerror(errno));
        return 0;
    }
    if (system("ip link add ccifb0 type ifb && ip link del ccifb0") != 0) {
        printf("shaping: SKIPPED, needs ip and a kernel with ifb\n");
        return 0;
    }
#define WITH_INTERFACE(test) cmocka_unit_test_setup_teardown(test, add_interface, remove_interface)
    const struct CMUnitTest tests[] = {
        WITH_INTERFACE(shapes_and_undoes),
        WITH_INTERFACE(one_at_a_time),
        WITH_INTERFACE(undone_when_the_rank_dies),
        WITH_INTERFACE(undone_when_the_guard_gets_sigterm),
        WITH_INTERFACE(undone_at_the_next_start),
        WITH_INTERFACE(incomplete_shaping_is_undone),
        WITH_INTERFACE(foreign_disciplines_stay),
        cmocka_unit_test(no_such_interface),
        cmocka_unit_test(a_guard_that_cannot_be_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
