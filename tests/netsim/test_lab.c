/* Real labs: hosts reach each other at the configured rate, programs start and end in a lab, and
 * none of it is visible outside or remains; also where an ordinary user opens it. The test program
 * is also the agent, the sender and the receiver: it calls itself inside the lab. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "netsim/lab/interface_bytes.h"
#include "tests/lib/lab_program.h"
#include "tests/lib/text.h"

#define SELF "/proc/self/exe"
static char self[4096];

/* --- modes of this program inside the lab --- */

static int socket_to(const char *address, struct sockaddr_in *out)
{
    *out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(5000)};
    inet_pton(AF_INET, address, &out->sin_addr);
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* receive ADDRESS: accepts a connection, prints its bytes and the seconds from the first to the
 * last. */
static int receive(const char *address)
{
    static char buffer[1 << 16];
    struct sockaddr_in at;
    int listener = socket_to(address, &at), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0)
        return perror("bind"), 1;
    int s = accept(listener, NULL, NULL);
    double first = 0, last = 0;
    size_t bytes = 0;
    ssize_t n;
    while ((n = recv(s, buffer, sizeof buffer, 0)) > 0) {
        last = cc_now();
        if (bytes == 0)
            first = last;
        bytes += (size_t)n;
    }
    printf("%zu %.6f\n", bytes, last - first);
    return 0;
}

/* send ADDRESS BYTES: retries for up to 5 s, until the address accepts connections. */
static int send_bytes(const char *address, size_t bytes)
{
    static const char buffer[1 << 16];
    struct sockaddr_in at;
    int s = -1, bad = -1;
    for (double until = cc_now() + 5; bad != 0 && cc_now() < until; usleep(20000)) {
        close(s);
        s = socket_to(address, &at);
        bad = connect(s, (struct sockaddr *)&at, sizeof at);
        if (bad != 0 && errno == ENETUNREACH)
            break;
    }
    if (bad != 0)
        return perror("connect"), 1;
    while (bytes > 0) {
        ssize_t n = send(s, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, MSG_NOSIGNAL);
        if (n <= 0)
            return perror("send"), 1;
        bytes -= (size_t)n;
    }
    return 0;
}

/* --- tests --- */

/* The number of bytes that a token bucket has passed, by its own counter. */
static double shaped_bytes(struct cc_lab *lab, const char *const *tc)
{
    const char *text = lab_run(lab, tc)->out, *sent = strstr(text, "Sent ");
    assert_non_null(sent);
    return strtod(sent + 5, NULL);
}

static struct cc_interface_bytes interface_bytes(struct cc_lab *lab, const char *host)
{
    struct cc_interface_bytes c;
    const struct output *o = lab_run(lab, ARGV(CC_LAB_AGENT, host, self, "count"));
    assert_int_equal(sscanf(o->out, "%" SCNu64 " %" SCNu64, &c.sent, &c.received), 2);
    return c;
}

static void assert_near(const char *what, double is, double should, double tolerance)
{
    if (!(is >= should * (1 - tolerance) && is <= should * (1 + tolerance)))
        fail_msg("%s: %.9g instead of %.9g", what, is, should);
}

/* Sends one flow from h1 to h0 and checks its rate and all counters. With TCP over IPv4 and time
 * stamps, 1,448 of a frame's 1,514 bytes are payload, and an acknowledgement of 66 bytes returns
 * for every second frame at most. cc_lab_traffic sees each frame twice, and counts one header for
 * several frames where they pass as one packet. */
static void check_flow(double bw_bps, size_t bytes, bool check_rate)
{
    struct cc_lab *lab = lab_open((struct cc_lab_config){.hosts = 2, .bw_bps = bw_bps});
    struct cc_error e = {""};
    char count[32];
    struct output o;
    uint64_t before, after;
    (void)snprintf(count, sizeof count, "%zu", bytes);
    assert_int_equal(cc_lab_traffic(lab, &before, &e), CC_OK);
    const char *agent = CC_LAB_AGENT;
    struct cc_program in = lab_start(lab, ARGV(agent, "h0", self, "receive", "10.77.0.1"));
    const struct output *sent = lab_run(lab, ARGV(agent, "h1", self, "send", "10.77.0.1", count));
    assert_string_equal(sent->err, "");
    lab_finish(&in, &o);
    assert_int_equal(cc_lab_traffic(lab, &after, &e), CC_OK);
    size_t got;
    double seconds, frames = (double)bytes * 1514 / 1448;
    assert_int_equal(sscanf(o.out, "%zu %lf", &got, &seconds), 2);
    assert_int_equal(got, bytes);
    /* A busy machine can make the flow slow; only an unshaped link can make it fast. */
    double least = frames * 8 / bw_bps;
    if (check_rate && !(seconds > 0.95 * least && seconds < 2 * least))
        fail_msg("%g seconds instead of %g", seconds, least);
    assert_near("traffic", (double)(after - before) / 2, frames, 0.05);
    struct cc_interface_bytes from = interface_bytes(lab, "h1"), to = interface_bytes(lab, "h0");
    double out = shaped_bytes(lab, ARGV(agent, "h1", "tc -s qdisc show dev data"));
    assert_near("sent", (double)from.sent, out, 0.001);
    assert_near("sent, by arithmetic", (double)from.sent, frames, 0.005);
    double arrived = shaped_bytes(lab, ARGV("tc", "-s", "qdisc", "show", "dev", "h0-data"));
    assert_near("received", (double)to.received, arrived, 0.001);
    assert_near("received, by arithmetic", (double)to.received, frames, 0.005);
    cc_lab_close(lab);
}

static void test_rate(void **state)
{
    (void)state;
    check_flow(10e6, 3000000, true);
    check_flow(100e6, 20000000, true);
    check_flow(1e9, 50000000, false);
}

/* A program in the lab, such as mpirun, reaches the hosts by name, but not over the shaped
 * network. */
static void test_control(void **state)
{
    (void)state;
    struct cc_lab *lab = lab_open((struct cc_lab_config){.hosts = 3, .bw_bps = 10e6});
    const char *agent = CC_LAB_AGENT;
    struct output o;
    struct cc_program in = lab_start(lab, ARGV(agent, "h2", self, "receive", "10.78.0.3"));
    assert_int_equal(lab_run(lab, ARGV(self, "send", "10.78.0.3", "1000000"))->status, 0);
    lab_finish(&in, &o);
    assert_true(strncmp(o.out, "1000000 ", 8) == 0);
    assert_contains(lab_run(lab, ARGV("getent", "hosts", "h2"))->out, "10.78.0.3");
    const struct output *other = lab_run(lab, ARGV(self, "send", "10.77.0.3", "1"));
    assert_int_not_equal(other->status, 0);
    assert_contains(other->err, "nreachable");
    struct cc_error e = {""};
    uint64_t bytes;
    assert_int_equal(cc_lab_traffic(lab, &bytes, &e), CC_OK);
    assert_int_equal(bytes, 0); /* nothing was sent over the shaped links */
    cc_lab_close(lab);
}

static void test_agent(void **state)
{
    (void)state;
    struct cc_lab *lab = lab_open((struct cc_lab_config){.hosts = 2});
    const char *agent = CC_LAB_AGENT;
    assert_true(agent[0] == '/' && strchr(agent, ' ') == NULL);
    assert_string_equal(lab_run(lab, ARGV(agent, "h1", "hostname"))->out, "h1\n");
    assert_string_equal(
        lab_run(lab, ARGV(agent, "h0", "echo $TMPDIR; test -d $TMPDIR; echo $?"))->out,
        CC_LAB_FOLDER "/h0\n0\n");
    assert_string_equal(lab_run(lab, ARGV(agent, "h0", "A=7 ;", "export A ;", "sh", "-c",
                                          "'echo $A  \"$0\"'", "'x y'"))
                            ->out,
                        "7 x y\n");
    assert_int_equal(WEXITSTATUS(lab_run(lab, ARGV(agent, "h0", "exit 7"))->status), 7);
    const struct output *o = lab_run(lab, ARGV(agent, "h2", "true"));
    assert_int_not_equal(o->status, 0);
    assert_contains(o->err, "h2: no such host");
    o = lab_run(lab, ARGV(agent, "../h1", "true"));
    assert_int_not_equal(o->status, 0);
    cc_lab_close(lab);
}

static void test_programs(void **state)
{
    (void)state;
    struct cc_lab *lab = lab_open((struct cc_lab_config){.hosts = 1});
    struct cc_error e = {""};
    const struct output *o =
        lab_run(lab, ARGV("sh", "-c", "echo out; echo err >&2; pwd; cat; exit 3"));
    char want[4200], here[4096];
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(want, sizeof want, "out\n%s\n", here);
    assert_string_equal(o->out, want);
    assert_string_equal(o->err, "err\n");
    assert_true(WIFEXITED(o->status) && WEXITSTATUS(o->status) == 3);
    o = lab_run(lab, ARGV("/no/such/program"));
    assert_string_equal(o->err, "/no/such/program: No such file or directory\n");
    assert_true(WIFEXITED(o->status) && WEXITSTATUS(o->status) == 127);
    struct cc_program child = lab_start(lab, ARGV("sleep", "1000"));
    assert_int_equal(cc_program_poll(&child, &e), CC_OK);
    assert_false(child.ended);
    assert_int_equal(cc_program_stop(&child, 5, &e), CC_OK);
    assert_true(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    cc_program_close(&child);
    /* orphans are reaped */
    lab_run(lab, ARGV("sh", "-c", "(sleep 0.01 &) ; (sleep 0.02 &)"));
    usleep(200000);
    assert_string_equal(
        lab_run(lab, ARGV("sh", "-c", "cat /proc/[0-9]*/stat | grep -c ') Z '"))->out, "0\n");
    cc_lab_close(lab);
}

/* Reads a file's text; "" if it cannot be read. */
static char *read_text(const char *path)
{
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n;
    while (fd != -1 && (n = read(fd, text + used, (1 << 20) - 1 - used)) > 0)
        used += (size_t)n;
    if (fd != -1)
        close(fd);
    return text;
}

/* Whether a process is in the namespace ("net:[4026531840]"). */
static bool is_in_use(const char *kind, const char *namespace)
{
    DIR *d = opendir("/proc");
    assert_non_null(d);
    bool found = false;
    const struct dirent *entry;
    while ((entry = readdir(d)) != NULL) {
        char path[300], link[64] = "";
        (void)snprintf(path, sizeof path, "/proc/%s/ns/%s", entry->d_name, kind);
        if (readlink(path, link, sizeof link - 1) > 0)
            found = found || strncmp(link, namespace, strlen(link)) == 0;
    }
    (void)closedir(d);
    return found;
}

/* The names of the interfaces, joined. */
static char *interfaces(void)
{
    char *text = read_text("/proc/self/net/dev"), *to = text;
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        for (const char *p = line; *p != '\0' && *p != ':' && *p != '\n'; p++)
            *to++ = *p;
        line = end != NULL ? end + 1 : NULL;
    }
    *to = '\0';
    return text;
}

/* An open lab changes nothing outside, and nothing of it remains after it is closed. */
static void test_outside(void **state)
{
    (void)state;
    char *links = interfaces(), *mounts = read_text("/proc/self/mountinfo");
    struct cc_lab *lab = lab_open((struct cc_lab_config){.hosts = 2, .bw_bps = 1e9});
    char net[64], host[64], pid[64];
    (void)snprintf(net, sizeof net, "%.60s",
                   lab_run(lab, ARGV("readlink", "/proc/self/ns/net"))->out);
    (void)snprintf(pid, sizeof pid, "%.60s",
                   lab_run(lab, ARGV("readlink", "/proc/self/ns/pid"))->out);
    const char *agent = CC_LAB_AGENT;
    (void)snprintf(host, sizeof host, "%.60s",
                   lab_run(lab, ARGV(agent, "h1", "readlink /proc/self/ns/net"))->out);
    struct cc_program sleeper =
        lab_start(lab, ARGV(agent, "h1", "setsid sleep 1000 & exec sleep 1000"));
    for (double until = cc_now() + 5; cc_now() < until && !is_in_use("net", host); usleep(10000))
        continue;
    assert_true(is_in_use("net", net) && is_in_use("net", host) && is_in_use("pid", pid));
    char *now = interfaces(), *mounted = read_text("/proc/self/mountinfo");
    assert_string_equal(now, links);
    assert_string_equal(mounted, mounts);
    assert_int_not_equal(access(CC_LAB_FOLDER, F_OK), 0);
    struct cc_error e = {""};
    assert_int_equal(cc_program_stop(&sleeper, 5, &e), CC_OK); /* and not what it has left */
    cc_program_close(&sleeper);
    cc_lab_close(lab);
    assert_false(is_in_use("net", net) || is_in_use("net", host) || is_in_use("pid", pid));
    free(links);
    free(mounts);
    free(now);
    free(mounted);
}

/* The printed command lines work. */
static void test_directions(void **state)
{
    (void)state;
    struct cc_lab *lab = lab_open((struct cc_lab_config){.hosts = 1});
    struct cc_error e = {""};
    char *text = cc_lab_directions(lab, &e), line[400];
    assert_non_null(text);
    const char *command = strstr(text, "nsenter"), *end = strstr(command, " bash\n");
    assert_non_null(end);
    (void)snprintf(line, sizeof line, "%.*s hostname", (int)(end - command), command);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(pclose(f), 0);
    assert_string_equal(line, "lab\n");
    free(text);
    cc_lab_close(lab);
}

static void test_latency(void **state)
{
    (void)state;
    struct cc_lab_config config = {.hosts = 2, .bw_bps = 100e6, .latency_s = 0.1};
    struct cc_error e = {""};
    struct cc_lab *lab = NULL;
    if (cc_lab_open(&config, &lab, &e) != CC_OK) {
        if (strstr(e.text, "no netem") == NULL)
            fail_msg("%s", e.text);
        print_message("skipped: added latency: this kernel has no netem, and says so\n");
        return;
    }
    const char *agent = CC_LAB_AGENT;
    struct output o;
    struct cc_program in = lab_start(lab, ARGV(agent, "h0", self, "receive", "10.77.0.1"));
    double begin = cc_now();
    lab_run(lab, ARGV(agent, "h1", self, "send", "10.77.0.1", "1000"));
    lab_finish(&in, &o);
    assert_true(cc_now() - begin >= 0.3); /* the handshake and the data: three times one way */
    cc_lab_close(lab);
}

/* Runs this program in a mode, as an ordinary user. */
static int as_user(const char *mode)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(1);
        execl(self, self, mode, (char *)NULL);
        _exit(126);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The mode `user`: an ordinary user's lab works as root's does. */
static int user(void)
{
    struct cc_lab_config config = {.hosts = 2, .bw_bps = 100e6};
    struct cc_lab *lab = NULL;
    struct cc_error e = {""};
    if (cc_lab_open(&config, &lab, &e) != CC_OK)
        return strstr(e.text, "user namespaces") != NULL || strstr(e.text, "only root") != NULL
                   ? 77
                   : (fprintf(stderr, "%s\n", e.text), 1);
    cc_lab_close(lab);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),    cmocka_unit_test(test_control),
        cmocka_unit_test(test_agent),   cmocka_unit_test(test_programs),
        cmocka_unit_test(test_outside), cmocka_unit_test(test_directions),
    };
    return cmocka_run_group_tests_name("as an ordinary user", tests, NULL, NULL);
}

static void test_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return; /* all other tests run as an ordinary user already */
    int status = as_user("user");
    if (status == 77 || status == 126) {
        print_message("skipped: an ordinary user %s\n",
                      status == 77 ? "has no user namespaces here" : "cannot run this program");
        return;
    }
    assert_int_equal(status, 0);
}

/* The mode `refused`: opens a lab in a user namespace that allows no further one, without any
 * capabilities. */
static int refused(void)
{
    char line[64];
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    (void)snprintf(line, sizeof line, "0 %u 1", (unsigned)geteuid());
    if (unshare(CLONE_NEWUSER) != 0)
        return 77;
    int map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    int limit = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (write(map, line, strlen(line)) <= 0 || write(limit, "0", 1) != 1 ||
        syscall(SYS_capset, &head, none) != 0)
        return perror("preparing"), 1;
    struct cc_lab_config config = {.hosts = 1};
    struct cc_lab *lab = NULL;
    struct cc_error e = {""};
    if (cc_lab_open(&config, &lab, &e) == CC_OK)
        return 1;
    fprintf(stderr, "%s\n", e.text);
    return strstr(e.text, "user.max_user_namespaces is 0") != NULL ? 0 : 1;
}

static void test_forbidden(void **state)
{
    (void)state;
    int status = as_user("refused");
    if (status == 77 || status == 126)
        print_message("skipped: no user namespace to forbid them in\n");
    else
        assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    struct cc_error e = {""};
    if (readlink(SELF, self, sizeof self - 1) == -1)
        return 1;
    if (argc > 3 && strcmp(argv[1], "lab-enter") == 0) {
        (void)cc_lab_enter(argv[2], argv + 3, &e);
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    if (argc == 3 && strcmp(argv[1], "receive") == 0)
        return receive(argv[2]);
    if (argc == 4 && strcmp(argv[1], "send") == 0)
        return send_bytes(argv[2], strtoul(argv[3], NULL, 10));
    struct cc_interface_bytes c;
    if (argc == 2 && strcmp(argv[1], "count") == 0)
        return cc_interface_bytes_read("data", &c, &e) != CC_OK ||
               printf("%" PRIu64 " %" PRIu64 "\n", c.sent, c.received) < 0;
    if (argc == 2 && strcmp(argv[1], "user") == 0)
        return user();
    if (argc == 2 && strcmp(argv[1], "refused") == 0)
        return refused();
    if (!labs_work())
        return 0;
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),      cmocka_unit_test(test_control),
        cmocka_unit_test(test_agent),     cmocka_unit_test(test_programs),
        cmocka_unit_test(test_outside),   cmocka_unit_test(test_directions),
        cmocka_unit_test(test_latency),   cmocka_unit_test(test_user),
        cmocka_unit_test(test_forbidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
