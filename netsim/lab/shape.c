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

/* Our disciplines are known by it. */
#define HANDLE "cc0c:"

/* What a program prints that is worth reading. */
#define OUTPUT 8192

/* --- running tc and ip --- */

static void read_into(int fd, char *out, size_t size)
{
    size_t used = 0;
    char beyond[512];
    for (;;) {
        bool full = used + 1 == size;
        ssize_t got =
            full ? read(fd, beyond, sizeof beyond) : read(fd, out + used, size - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (!full)
            used += (size_t)got;
    }
    out[used] = '\0';
}

/* Runs a program with these words; out[0, OUTPUT) is all that it printed. */
static int run(char *const argv[], char *out, struct cc_error *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cc_fail(e, "%s cannot be started: %s", argv[0], strerror(errno));
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
        failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)close(ends[1]);
    int status = 0;
    if (failed == 0) {
        read_into(ends[0], out, OUTPUT);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    (void)close(ends[0]);
    if (failed != 0)
        return cc_fail(e, "%s cannot be started: %s; iproute2 brings it", argv[0],
                       strerror(failed));
    if (status == 0)
        return CC_OK;
    char *end = strchr(out, '\n');
    if (end != NULL)
        *end = '\0';
    return cc_fail(e, "%s: %s", argv[0], out[0] != '\0' ? out : "failed");
}

/* The words of one line, in place. */
static int run_line(char *line, struct cc_error *e)
{
    char *argv[32], *rest = NULL, out[OUTPUT];
    size_t n = 0;
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        if (n + 1 < sizeof argv / sizeof argv[0])
            argv[n++] = word;
    argv[n] = NULL;
    return run(argv, out, e);
}

CC_PRINTF(2, 3)
static int tool(struct cc_error *e, const char *fmt, ...)
{
    char line[400];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof line)
        return cc_fail(e, "a command line for tc is too long");
    return run_line(line, e);
}

/* --- what there is --- */

/* The names of the disciplines that an interface has. */
struct disciplines {
    char root[32], root_handle[32]; /* 0: is the kernel's default */
    bool incoming;                  /* ingress or clsact */
};

static int look(const char *device, struct disciplines *out, struct cc_error *e)
{
    char text[OUTPUT], *rest = NULL;
    char *argv[] = {"tc", "qdisc", "show", "dev", (char *)(uintptr_t)device, NULL};
    *out = (struct disciplines){0};
    if (run(argv, text, e) != CC_OK)
        return CC_FAIL;
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

/* The device through which arriving packets go: there is one as long as anything of ours is. */
struct detour {
    char name[IF_NAMESIZE];
};

static int name_detour(const char *device, struct detour *out, struct cc_error *e)
{
    unsigned index = if_nametoindex(device);
    if (index == 0)
        return cc_fail(e, "there is no interface %s", device);
    (void)snprintf(out->name, sizeof out->name, "ccifb%u", index);
    return CC_OK;
}

/* --- on and off --- */

/* Also what an earlier one has left half done; nothing of anybody else. */
static int shape_off(const char *device, struct cc_error *e)
{
    struct detour d;
    struct disciplines there;
    if (name_detour(device, &d, e) != CC_OK || look(device, &there, e) != CC_OK)
        return CC_FAIL;
    if (strcmp(there.root_handle, HANDLE) == 0 &&
        tool(e, "tc qdisc del dev %s root", device) != CC_OK)
        return CC_FAIL;
    if (if_nametoindex(d.name) == 0)
        return CC_OK;
    if (there.incoming && tool(e, "tc qdisc del dev %s ingress", device) != CC_OK)
        return CC_FAIL;
    return tool(e, "ip link del %s", d.name);
}

/* Nothing of ours is there any more: what is, somebody else has set. */
static int refuse_others(const char *device, struct cc_error *e)
{
    struct disciplines there;
    if (look(device, &there, e) != CC_OK)
        return CC_FAIL;
    if (there.root_handle[0] != '\0' && strcmp(there.root_handle, "0:") != 0)
        return cc_fail(e,
                       "%s is shaped already (qdisc %s %s): remove that first (tc qdisc del dev %s "
                       "root)",
                       device, there.root, there.root_handle, device);
    if (there.incoming)
        return cc_fail(e,
                       "%s has rules for arriving packets: remove them first (tc qdisc del dev %s "
                       "ingress, or clsact)",
                       device, device);
    return CC_OK;
}

static int put_on(const struct cc_shape_config *config, const char *detour, struct cc_error *e)
{
    char bucket[160];
    (void)snprintf(bucket, sizeof bucket, "handle " HANDLE " tbf rate %.0fbit burst %zu limit %zu",
                   config->bw_bps, config->burst_bytes, config->limit_bytes);
    struct cc_error why = {0};
    if (tool(&why, "ip link add %s type ifb", detour) != CC_OK) {
        if (strstr(why.text, "not permitted") != NULL)
            return cc_fail(e, "shaping needs root on every host (%s)", why.text);
        return cc_fail(e, "arriving packets need the kernel's ifb device: modprobe ifb (%s)",
                       why.text);
    }
    if (tool(e, "ip link set %s up", detour) != CC_OK ||
        tool(e, "tc qdisc add dev %s root %s", detour, bucket) != CC_OK ||
        tool(e, "tc qdisc add dev %s ingress", config->device) != CC_OK ||
        tool(e,
             "tc filter add dev %s parent ffff: protocol all u32 match u32 0 0 action mirred "
             "egress redirect dev %s",
             config->device, detour) != CC_OK)
        return CC_FAIL;
    return tool(e, "tc qdisc add dev %s root %s", config->device, bucket);
}

/* All or nothing; not on an interface on which somebody has set a discipline already. */
static int shape_on(const struct cc_shape_config *config, struct cc_error *e)
{
    struct detour d;
    if (name_detour(config->device, &d, e) != CC_OK || shape_off(config->device, e) != CC_OK ||
        refuse_others(config->device, e) != CC_OK)
        return CC_FAIL;
    if (put_on(config, d.name, e) == CC_OK)
        return CC_OK;
    (void)shape_off(config->device, NULL);
    return CC_FAIL;
}

/* --- the guard --- */

/* A name that only one process of this network namespace can have, and that goes with it. */
static int claim(const char *device, struct cc_error *e)
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

static int read_how(char *const argv[], struct cc_shape_config *out, struct cc_error *e)
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

static void wait_for_end(void)
{
    char byte;
    struct pollfd at = {.fd = 0, .events = POLLIN};
    while (!cc_interrupted()) {
        /* A signal that comes between the two calls waits for a second. */
        if (poll(&at, 1, 1000) > 0 && read(0, &byte, 1) == 0)
            break;
    }
}

int cc_shape_guard(char *const argv[])
{
    struct cc_shape_config config;
    struct cc_error e;
    const char *path = getenv("PATH");
    char *longer = NULL;
    cc_interrupt_catch();
    /* A remote shell may not look where tc is. */
    if (asprintf(&longer, "%s:/usr/sbin:/sbin", path != NULL ? path : "/usr/bin:/bin") > 0)
        (void)setenv("PATH", longer, 1);
    free(longer);
    int status = read_how(argv, &config, &e);
    if (status == CC_OK)
        status = claim(config.device, &e);
    if (status == CC_OK)
        status = shape_on(&config, &e);
    (void)printf("%s\n", status == CC_OK ? "ok" : e.text);
    (void)fflush(stdout);
    /* Nobody waits for the end of it any more. */
    (void)close(1);
    if (status != CC_OK)
        return status;
    wait_for_end();
    return shape_off(config.device, NULL);
}

/* --- who starts it --- */

static int spawn_guard(char *const argv[], int in, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t own;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    (void)posix_spawn_file_actions_adddup2(&actions, in, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out, 1);
    (void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    /* Whoever waits for the end of what the rank has open must not wait for the guard. */
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    failed = posix_spawnattr_init(&own);
    if (failed == 0) {
        /* Signals to the rank's group and terminal are not for the guard. */
        (void)posix_spawnattr_setflags(&own, POSIX_SPAWN_SETSID);
        failed = posix_spawn(pid, argv[0], &actions, &own, argv, environ);
        (void)posix_spawnattr_destroy(&own);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int hear_guard(int answers, struct cc_error *e)
{
    char answer[OUTPUT];
    read_into(answers, answer, sizeof answer);
    char *end = strchr(answer, '\n');
    if (end == NULL)
        return cc_fail(e, "the process that shapes died");
    *end = '\0';
    return strcmp(answer, "ok") == 0 ? CC_OK : cc_fail(e, "%s", answer);
}

static int begin(const char *program, const struct cc_shape_config *config, struct cc_shaping *out,
                 struct cc_error *e)
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
    int hold[2], answers[2];
    if (pipe2(hold, O_CLOEXEC) != 0)
        return cc_fail(e, "no pipe: %s", strerror(errno));
    if (pipe2(answers, O_CLOEXEC) != 0) {
        (void)close(hold[0]);
        (void)close(hold[1]);
        return cc_fail(e, "no pipe: too many open files");
    }
    int failed = spawn_guard(argv, hold[0], answers[1], &out->guard);
    (void)close(hold[0]);
    (void)close(answers[1]);
    out->hold = hold[1];
    int status = failed == 0 ? hear_guard(answers[0], e)
                             : cc_fail(e, "%s cannot be started: %s", program, strerror(failed));
    (void)close(answers[0]);
    if (status == CC_OK)
        return CC_OK;
    (void)close(out->hold);
    if (failed == 0)
        (void)waitpid(out->guard, NULL, 0);
    return status;
}

static void name_host(struct cc_error *e)
{
    char host[100] = "";
    (void)gethostname(host, sizeof host - 1);
    cc_error_in(e, "host %s", host);
}

int cc_shaping_begin(const char *program, const struct cc_shape_config *config,
                     struct cc_shaping *out, struct cc_error *e)
{
    int status = begin(program, config, out, e);
    if (status != CC_OK)
        name_host(e);
    return status;
}

int cc_shaping_end(struct cc_shaping *s, struct cc_error *e)
{
    int status = 0;
    pid_t got;
    (void)close(s->hold);
    while ((got = waitpid(s->guard, &status, 0)) < 0 && errno == EINTR)
        continue;
    if (got == s->guard && status == 0)
        return CC_OK;
    (void)cc_fail(e, "the interface may still be shaped: its guard failed (see tc qdisc show)");
    name_host(e);
    return CC_FAIL;
}
