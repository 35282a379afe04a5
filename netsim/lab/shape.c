/* The guard's protocol. cc_shaping_begin starts `PROGRAM --shape DEVICE BW BURST LIMIT` with pipes
 * as stdin and stdout. The guard
 *
 * 1. claims the device with an abstract Unix socket: only one process of the network namespace can
 *    bind it, and the kernel releases it when that process ends;
 * 2. undoes what a killed guard may have left, and refuses an interface with other disciplines;
 * 3. shapes the interface, undoing everything if a step fails;
 * 4. prints "ok" or the reason of the failure, and closes stdout;
 * 5. waits until stdin ends, as the starting process ends or closes its pipe, or for a signal;
 * 6. undoes the shaping and exits with 0 if that worked.
 *
 * The guard's own disciplines can be told from others: the root discipline has the handle cc0c:,
 * and arriving packets are redirected to the device ccifb<index of the interface>. */
#include "netsim/lab/shape.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/interrupt.h"
#include "netsim/lab/lab_impl.h"
#include "netsim/lab/mark.h"

#define HANDLE "cc0c:" /* our disciplines' */
#define OUTPUT 8192    /* bytes kept of what a program prints */

/* --- running tc and ip --- */

/* Runs a program and waits for its end; out[OUTPUT] receives what it prints. */
static int run(char *const argv[], char *out, struct cc_error *e)
{
    int status, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int started = cc_lab_tool(argv, NULL, null, out, OUTPUT, &status, e);
    (void)close(null);
    CC_TRY(started);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return cc_fail(e, "%s cannot be started: %s; iproute2 brings it", argv[0], out);
    out[strcspn(out, status == 0 ? "" : "\n")] = '\0';
    return status == 0 ? CC_OK : cc_fail(e, "%s: %s", argv[0], out[0] != '\0' ? out : "failed");
}

/* Runs a command line, of which blanks separate the arguments. */
CC_PRINTF(2, 3)
static int run_command(struct cc_error *e, const char *fmt, ...)
{
    char line[400], *argv[32], *rest = NULL, out[OUTPUT];
    size_t n = 0;
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof line)
        return cc_fail(e, "a command line for tc is too long");
    for (char *arg = strtok_r(line, " ", &rest); arg != NULL; arg = strtok_r(NULL, " ", &rest))
        if (n + 1 < sizeof argv / sizeof argv[0])
            argv[n++] = arg;
    argv[n] = NULL;
    return run(argv, out, e);
}

/* --- the state of an interface --- */

struct disciplines {
    char root[32];        /* kind of the root discipline */
    char root_handle[32]; /* "0:" is the kernel's default */
    bool incoming;        /* there is one for arriving packets: ingress or clsact */
};

static int read_disciplines(const char *device, struct disciplines *out, struct cc_error *e)
{
    char text[OUTPUT], *rest = NULL;
    char *argv[] = {"tc", "qdisc", "show", "dev", (char *)(uintptr_t)device, NULL};
    *out = (struct disciplines){0};
    CC_TRY(run(argv, text, e));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char kind[32], handle[32], where[32];
        if (sscanf(line, "qdisc %31s %31s %31s", kind, handle, where) != 3)
            continue;
        if (strcmp(where, "root") == 0) {
            memcpy(out->root, kind, sizeof kind);
            memcpy(out->root_handle, handle, sizeof handle);
        }
        if (strcmp(kind, "ingress") == 0 || strcmp(kind, "clsact") == 0)
            out->incoming = true;
    }
    return CC_OK;
}

/* Names the ifb device for arriving packets. It is created first and removed last: while it exists,
 * something of ours may be left. */
static int name_ifb(const char *device, char out[IF_NAMESIZE], struct cc_error *e)
{
    unsigned index = if_nametoindex(device);
    if (index == 0)
        return cc_fail(e, "there is no interface %s", device);
    (void)snprintf(out, IF_NAMESIZE, "ccifb%u", index);
    return CC_OK;
}

/* --- shaping and undoing it --- */

/* Removes our disciplines and devices, also those of a shaping that was left incomplete, and
 * nothing else. */
static int shape_off(const char *device, struct cc_error *e)
{
    char ifb[IF_NAMESIZE];
    struct disciplines found;
    CC_TRY(name_ifb(device, ifb, e));
    CC_TRY(read_disciplines(device, &found, e));
    if (strcmp(found.root_handle, HANDLE) == 0)
        CC_TRY(run_command(e, "tc qdisc del dev %s root", device));
    if (if_nametoindex(ifb) == 0)
        return CC_OK;
    if (found.incoming)
        CC_TRY(run_command(e, "tc qdisc del dev %s ingress", device));
    return run_command(e, "ip link del %s", ifb);
}

/* Fails if the interface has disciplines; called after shape_off, so they are not ours. */
static int refuse_others(const char *device, struct cc_error *e)
{
    struct disciplines found;
    CC_TRY(read_disciplines(device, &found, e));
    if (found.root_handle[0] != '\0' && strcmp(found.root_handle, "0:") != 0)
        return cc_fail(e,
                       "%s is shaped already (qdisc %s %s): remove that first (tc qdisc del dev %s "
                       "root)",
                       device, found.root, found.root_handle, device);
    if (found.incoming)
        return cc_fail(e,
                       "%s has rules for arriving packets: remove them first (tc qdisc del dev %s "
                       "ingress, or clsact)",
                       device, device);
    return CC_OK;
}

static int add_disciplines(const struct cc_shape_config *config, const char *ifb,
                           struct cc_error *e)
{
    char bucket[160];
    (void)snprintf(bucket, sizeof bucket, "handle " HANDLE " tbf rate %.0fbit burst %zu limit %zu",
                   config->bw_bps, config->burst_bytes, config->limit_bytes);
    struct cc_error why = {0};
    if (run_command(&why, "ip link add %s type ifb", ifb) != CC_OK) {
        if (strstr(why.text, "not permitted") != NULL)
            return cc_fail(e, "shaping needs root on every host (%s)", why.text);
        return cc_fail(e, "arriving packets need the kernel's ifb device: modprobe ifb (%s)",
                       why.text);
    }
    CC_TRY(run_command(e, "ip link set %s up", ifb));
    CC_TRY(run_command(e, "tc qdisc add dev %s root %s", ifb, bucket));
    CC_TRY(run_command(e, "tc qdisc add dev %s ingress", config->device));
    CC_TRY(run_command(e,
                       "tc filter add dev %s parent ffff: protocol all u32 match u32 0 0 action "
                       "mirred egress redirect dev %s",
                       config->device, ifb));
    return run_command(e, "tc qdisc add dev %s root %s", config->device, bucket);
}

/* Shapes the interface, or leaves it as it was. */
static int shape_on(const struct cc_shape_config *config, struct cc_error *e)
{
    char ifb[IF_NAMESIZE];
    CC_TRY(name_ifb(config->device, ifb, e));
    CC_TRY(shape_off(config->device, e));
    CC_TRY(refuse_others(config->device, e));
    int status = add_disciplines(config, ifb, e);
    if (status != CC_OK)
        (void)shape_off(config->device, NULL);
    return status;
}

/* --- the guard --- */

/* Binds the device's abstract socket, which stays open until this process ends. */
static int claim_device(const char *device, struct cc_error *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int length = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "commcomp-shape-%s", device);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0)
        return CC_OK;
    if (errno == EADDRINUSE)
        return cc_fail(e, "%s is being shaped by another run", device);
    return cc_fail(e, "%s cannot be claimed: %s", device, strerror(errno));
}

static int read_config(char *const argv[], struct cc_shape_config *out, struct cc_error *e)
{
    double number[3];
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        number[i] = argv[0] != NULL && argv[i + 1] != NULL ? strtod(argv[i + 1], &end) : 0;
        if (end == NULL || *end != '\0' || !(number[i] >= 1 && number[i] < 1e15))
            return cc_usage(e, "--shape takes DEVICE BITS_PER_SECOND BURST_BYTES LIMIT_BYTES");
    }
    *out = (struct cc_shape_config){argv[0], number[0], (size_t)number[1], (size_t)number[2]};
    return CC_OK;
}

/* Waits for the end of stdin or a signal. */
static void wait_for_end(void)
{
    char byte;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    while (!cc_interrupted()) {
        /* A signal between cc_interrupted and poll is noticed after the timeout. */
        if (poll(&in, 1, 1000) > 0 && read(0, &byte, 1) == 0)
            break;
    }
}

int cc_shape_guard(char *const argv[])
{
    struct cc_shape_config config;
    struct cc_error e;
    const char *path = getenv("PATH");
    char *full_path = NULL;
    int status = CC_OK;
    cc_interrupt_catch();
    /* The PATH of a remote shell may lack the directories of tc and ip. */
    if (asprintf(&full_path, "%s:/usr/sbin:/sbin", path != NULL ? path : "/usr/bin:/bin") > 0)
        (void)setenv("PATH", full_path, 1);
    free(full_path);
    CC_TRY_OUT(read_config(argv, &config, &e));
    CC_TRY_OUT(claim_device(config.device, &e));
    CC_TRY_OUT(shape_on(&config, &e));
out:
    (void)printf("%s\n", status == CC_OK ? "ok" : e.text);
    (void)fflush(stdout);
    /* The starting process reads up to the end. */
    (void)close(1);
    if (status != CC_OK)
        return status;
    wait_for_end();
    return shape_off(config.device, NULL);
}

/* --- the starting process --- */

/* The environment without the run's mark, as the guard outlives the run; NULL: out of memory. The
 * caller frees the list. */
static char **guards_environment(void)
{
    static const char mark[] = CC_MARK_VARIABLE "=";
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++)
        if (strncmp(environ[i], mark, sizeof mark - 1) != 0)
            list[kept++] = environ[i];
    if (list != NULL)
        list[kept] = NULL;
    return list;
}

static int spawn_guard(char *const argv[], int in, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t own;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    char **environment = guards_environment();
    if (environment == NULL)
        failed = ENOMEM;
    (void)posix_spawn_file_actions_adddup2(&actions, in, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out, 1);
    (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    /* Keeps none of the rank's other files open, as others may wait for their end. */
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (failed == 0)
        failed = posix_spawnattr_init(&own);
    if (failed == 0) {
        /* A session of its own: signals to the rank's group and terminal must not reach the guard.
         */
        (void)posix_spawnattr_setflags(&own, POSIX_SPAWN_SETSID);
        failed = posix_spawn(pid, argv[0], &actions, &own, argv, environment);
        (void)posix_spawnattr_destroy(&own);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return failed;
}

/* Reads the guard's answer, up to the end of the stream. */
static int receive_answer(int answers, struct cc_error *e)
{
    char answer[OUTPUT];
    size_t used = 0;
    for (ssize_t n = 1; n != 0 && used + 1 < sizeof answer;) {
        n = read(answers, answer + used, sizeof answer - 1 - used);
        if (n < 0 && errno != EINTR)
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    answer[used] = '\0';
    char *end = strchr(answer, '\n');
    if (end == NULL)
        return cc_fail(e, "the process that shapes died");
    *end = '\0';
    return strcmp(answer, "ok") == 0 ? CC_OK : cc_fail(e, "%s", answer);
}

static void add_host_name(struct cc_error *e)
{
    char host[100] = "";
    (void)gethostname(host, sizeof host - 1);
    cc_error_in(e, "host %s", host);
}

static void close_pipe(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] != -1)
            (void)close(ends[i]);
}

int cc_shaping_begin(const char *program, const struct cc_shape_config *config,
                     struct cc_shaping *out, struct cc_error *e)
{
    char number[3][40];
    char *argv[] = {(char *)(uintptr_t)program,
                    "--shape",
                    (char *)(uintptr_t)config->device,
                    number[0],
                    number[1],
                    number[2],
                    NULL};
    (void)snprintf(number[0], sizeof number[0], "%.0f", config->bw_bps);
    (void)snprintf(number[1], sizeof number[1], "%zu", config->burst_bytes);
    (void)snprintf(number[2], sizeof number[2], "%zu", config->limit_bytes);
    int hold[2] = {-1, -1}, answers[2] = {-1, -1}, status = CC_OK;
    *out = (struct cc_shaping){.guard = -1, .hold = -1};
    if (pipe2(hold, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
        status = cc_fail(e, "no pipe: %s", strerror(errno));
        goto out;
    }
    int error = spawn_guard(argv, hold[0], answers[1], &out->guard);
    if (error != 0) {
        status = cc_fail(e, "%s cannot be started: %s", program, strerror(error));
        goto out;
    }
    /* The guard has the only other copy of this end: reading ends when it closes its stdout. */
    (void)close(answers[1]);
    answers[1] = -1;
    status = receive_answer(answers[0], e);
    out->hold = hold[1];
    hold[1] = -1;
    if (status != CC_OK) {
        (void)close(out->hold);
        (void)waitpid(out->guard, NULL, 0);
    }
out:
    close_pipe(hold);
    close_pipe(answers);
    if (status != CC_OK)
        add_host_name(e);
    return status;
}

int cc_shaping_end(struct cc_shaping *s, struct cc_error *e)
{
    int status = 0;
    pid_t ended;
    (void)close(s->hold);
    while ((ended = waitpid(s->guard, &status, 0)) < 0 && errno == EINTR)
        continue;
    if (ended == s->guard && status == 0)
        return CC_OK;
    (void)cc_fail(e, "the interface may still be shaped: its guard failed (see tc qdisc show)");
    add_host_name(e);
    return CC_FAIL;
}
