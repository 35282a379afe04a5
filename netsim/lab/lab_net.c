/* The lab's network, by scripts for ip, bridge and tc: few processes for many links.
 *
 * Addresses on the data network are fixed: each host knows the hardware addresses of all others and
 * the bridge knows who is behind which port. So nothing but the ranks' own traffic uses the shaped
 * links, no address resolution is lost in a full queue, and no table of the kernel's overflows when
 * dozens of hosts all talk to each other. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netsim/lab/lab_inside.h"

/* The bridge's ends of host h's links are hN-data, hN-ctl; the host's are data, ctl. */
#define DATA_PORT CC_LAB_HOST "-data"
#define CTL_PORT  CC_LAB_HOST "-ctl"

enum { MOST_SEGMENTS = 43 }; /* what TCP hands down in one piece: 64 KB */

static void address(char out[CC_LAB_ADDRESS], int net, int host)
{
    (void)snprintf(out, CC_LAB_ADDRESS, "10.%d.%d.%d", net, (host + 1) / 256, (host + 1) % 256);
}

void cc_lab_control_address(int host, char out[CC_LAB_ADDRESS])
{
    address(out, 78, host);
}

static void hardware(char out[CC_LAB_ADDRESS], int host)
{
    (void)snprintf(out, CC_LAB_ADDRESS, "02:77:00:00:%02x:%02x", (host + 1) / 256,
                   (host + 1) % 256);
}

/* --- scripts --- */

/* A file in memory. */
static FILE *script_open(struct cc_error *e)
{
    int fd = memfd_create("script", MFD_CLOEXEC);
    FILE *f = fd != -1 ? fdopen(fd, "w+") : NULL;
    if (f == NULL)
        cc_error_set(e, "no memory for a script: %s", strerror(errno));
    return f;
}

/* What stands in the way, if the line of the script and what the tool says of it tell. */
static const char *remedy(const char *line, const char *said)
{
    static const struct {
        const char *kind, *text;
    } missing[] = {
        {" netem ", "this kernel has no netem (module sch_netem, CONFIG_NET_SCH_NETEM), which adds "
                    "latency: load it, or go without added latency"},
        {" tbf ", "this kernel has no token buckets (module sch_tbf, CONFIG_NET_SCH_TBF): load "
                  "it"},
        {" veth ", "this kernel has no veth (module veth, CONFIG_VETH): load it"},
        {" bridge ", "this kernel has no bridges (module bridge, CONFIG_BRIDGE): load it"},
    };
    bool unknown = strstr(said, "nknown device type") != NULL ||
                   strstr(said, "kind is unknown") != NULL || strstr(said, "No such file") != NULL;
    for (size_t i = 0; unknown && i < sizeof missing / sizeof missing[0]; i++)
        if (strstr(line, missing[i].kind) != NULL)
            return missing[i].text;
    return strstr(said, "not permitted") != NULL
               ? "a container or security module forbids it: run as root outside it"
               : "the network could not be built";
}

/* The script's line of that number. */
static void script_line(FILE *script, int number, char *line, int size)
{
    rewind(script);
    line[0] = '\0';
    for (int i = 0; i < number && fgets(line, size, script) != NULL; i++)
        continue;
    line[strcspn(line, "\n")] = '\0';
}

/* What the tool said on stderr, and about which line. */
static int complain(const char *tool, FILE *script, FILE *said, struct cc_error *e)
{
    char text[200], line[200];
    rewind(said);
    size_t n = fread(text, 1, sizeof text - 1, said);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    const char *failed = strstr(text, "Command failed");
    const char *colon = failed != NULL ? strchr(failed, ':') : NULL;
    script_line(script, colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 0, line, sizeof line);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
    return cc_fail(e, "%s (%s %s: %s)", remedy(line, text), tool, line, text);
}

/* In a process of its own: the tool, in a host (-1: in the lab itself). */
_Noreturn static void become(const char *tool, int host, int in, int out)
{
    if (host >= 0) {
        char path[64];
        (void)snprintf(path, sizeof path, CC_LAB_NETNS "/" CC_LAB_HOST, host);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd == -1 || setns(fd, CLONE_NEWNET) != 0) {
            dprintf(out, "entering %s: %s", path, strerror(errno));
            _exit(1);
        }
    }
    if (lseek(in, 0, SEEK_SET) == 0 && dup2(in, 0) != -1 && dup2(out, 1) != -1 &&
        dup2(out, 2) != -1)
        execlp(tool, tool, "-batch", "-", (char *)NULL);
    _exit(127);
}

/* Runs the script and closes it. */
static int run(const char *tool, int host, FILE *script, struct cc_error *e)
{
    FILE *said = script_open(e);
    bool bad = said == NULL || fflush(script) != 0;
    pid_t pid = bad ? -1 : fork();
    if (pid == 0)
        become(tool, host, fileno(script), fileno(said));
    int config = 0;
    while (pid != -1 && waitpid(pid, &config, 0) == -1 && errno == EINTR)
        continue;
    int status = CC_OK;
    if (pid == -1)
        status = cc_fail(e, "starting %s: %s", tool, strerror(errno));
    else if (WIFEXITED(config) && WEXITSTATUS(config) == 127)
        status =
            cc_fail(e, "%s: there is no such program: install iproute2 (Debian's package)", tool);
    else if (config != 0)
        status = complain(tool, script, said, e);
    if (said != NULL)
        (void)fclose(said);
    (void)fclose(script);
    return status;
}

/* --- settings of a net namespace --- */

/* Writes what it does not say yet. With `optional`, a file that is not there is as good. */
static int sysctl(const char *path, const char *value, bool optional, struct cc_error *e)
{
    char now[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1 && optional)
        return CC_OK;
    if (fd != -1) {
        ssize_t n = read(fd, now, sizeof now - 1);
        now[n > 0 ? n : 0] = '\0';
        now[strcspn(now, "\n")] = '\0';
        close(fd);
    }
    return strcmp(now, value) == 0 ? CC_OK : cc_lab_write(path, value, e);
}

/* The net namespace that this process is in. */
static int set_namespace(const struct cc_lab_config *config, struct cc_error *e)
{
    static const char congestion[] = "/proc/sys/net/ipv4/tcp_congestion_control";
    int status = sysctl(congestion, config->congestion, false, e);
    if (status != CC_OK) {
        cc_error_in(e,
                    "congestion control %s: not among those that this kernel has and allows in a "
                    "namespace (sysctl net.ipv4.tcp_allowed_congestion_control)",
                    config->congestion);
        return status;
    }
    /* IPv6 would chat on the shaped links. */
    status = sysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1", true, e);
    if (status == CC_OK)
        status = sysctl("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1", true, e);
    /* Frames that cross a bridge are no business of a packet filter. */
    static const char *const filters[] = {"iptables", "ip6tables", "arptables"};
    for (size_t i = 0; status == CC_OK && i < sizeof filters / sizeof filters[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/sys/net/bridge/bridge-nf-call-%s", filters[i]);
        status = sysctl(path, "0", true, e);
    }
    return status;
}

/* A net namespace for the host, with a name as `ip netns add` gives it. This process is in it
 * afterwards. */
static int add_host(const struct cc_lab_config *config, int host, struct cc_error *e)
{
    char path[64];
    (void)snprintf(path, sizeof path, CC_LAB_NETNS "/" CC_LAB_HOST, host);
    int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd == -1)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    close(fd);
    if (unshare(CLONE_NEWNET) != 0)
        return cc_fail(e, "a net namespace for " CC_LAB_HOST ": %s%s", host, strerror(errno),
                       errno == ENOSPC ? " (sysctl user.max_net_namespaces)" : "");
    if (mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL) != 0)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    return set_namespace(config, e);
}

static int add_hosts(const struct cc_lab_config *config, struct cc_error *e)
{
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own == -1)
        return cc_fail(e, "/proc/self/ns/net: %s", strerror(errno));
    int status = set_namespace(config, e);
    for (int i = 0; status == CC_OK && i < config->hosts; i++)
        status = add_host(config, i, e);
    if (setns(own, CLONE_NEWNET) != 0 && status == CC_OK)
        status = cc_fail(e, "returning from the hosts: %s", strerror(errno));
    close(own);
    return status;
}

/* --- links --- */

static int add_links(int hosts, struct cc_error *e)
{
    FILE *s = script_open(e);
    if (s == NULL)
        return CC_FAIL;
    fputs("link set lo up\n"
          "link add br-data type bridge mcast_snooping 0\n"
          "link add br-ctl type bridge mcast_snooping 0\n"
          "link set br-data up\n"
          "link set br-ctl up\n"
          "address add " CC_LAB_SELF "/16 dev br-ctl\n",
          s);
    for (int i = 0; i < hosts; i++) {
        char mac[CC_LAB_ADDRESS];
        hardware(mac, i);
        fprintf(s,
                "link add " DATA_PORT " master br-data up type veth peer name " CC_LAB_DEVICE
                " address %s netns " CC_LAB_NETNS "/" CC_LAB_HOST "\n",
                i, mac, i);
        fprintf(s,
                "link add " CTL_PORT " master br-ctl up type veth peer name ctl"
                " netns " CC_LAB_NETNS "/" CC_LAB_HOST "\n",
                i, i);
    }
    return run("ip", -1, s, e);
}

static int teach_bridge(int hosts, struct cc_error *e)
{
    FILE *s = script_open(e);
    if (s == NULL)
        return CC_FAIL;
    for (int i = 0; i < hosts; i++) {
        char mac[CC_LAB_ADDRESS];
        hardware(mac, i);
        fprintf(s, "fdb replace %s dev " DATA_PORT " master static\n", mac, i);
    }
    return run("bridge", -1, s, e);
}

/* TCP hands several segments down in one piece, which saves most of the work. A bucket would have
 * to cut what is larger than itself, and then wake up for every segment: dozens of fast links are
 * too much for few cores then. And one that holds less than two pieces overflows, and loses rate,
 * whenever the timer is late for one. */
static int segments(const struct cc_lab_config *config)
{
    size_t most = config->burst_bytes / 2 / CC_LAB_FRAME;
    if (config->bw_bps == 0 || most > MOST_SEGMENTS)
        return MOST_SEGMENTS;
    return most > 1 ? (int)most : 1;
}

static int set_up_host(const struct cc_lab_config *config, int host, struct cc_error *e)
{
    FILE *s = script_open(e);
    if (s == NULL)
        return CC_FAIL;
    char ip[CC_LAB_ADDRESS], mac[CC_LAB_ADDRESS];
    address(ip, 77, host);
    fprintf(s, "link set lo up\naddress add %s/16 dev " CC_LAB_DEVICE "\n", ip);
    fprintf(s, "link set " CC_LAB_DEVICE " up gso_max_segs %d\n", segments(config));
    cc_lab_control_address(host, ip);
    fprintf(s, "address add %s/16 dev ctl\nlink set ctl up\n", ip);
    for (int i = 0; i < config->hosts; i++) {
        address(ip, 77, i);
        hardware(mac, i);
        if (i != host)
            fprintf(s, "neighbour add %s lladdr %s nud permanent dev " CC_LAB_DEVICE "\n", ip, mac);
    }
    return run("ip", host, s, e);
}

/* --- shaping --- */

/* A token bucket; behind it, when there is latency to add, netem in the place of its queue. One of
 * the two ends of a link delays, for both ways see who calls. */
static void shape(FILE *s, const char *device, const struct cc_lab_config *config, double latency_s)
{
    fprintf(s, "qdisc add dev %s root handle 1: tbf rate %.0fbit burst %zu limit %zu\n", device,
            config->bw_bps, config->burst_bytes, config->limit_bytes);
    if (latency_s > 0) {
        double frames =
            ((double)config->limit_bytes + latency_s * config->bw_bps / 8) / CC_LAB_FRAME;
        fprintf(s, "qdisc add dev %s parent 1:1 handle 10: netem delay %.0fus limit %.0f\n", device,
                latency_s * 1e6, ceil(frames) + 1);
    }
}

/* What arrives at the hosts, at the bridge's end of their links. */
static int shape_ports(const struct cc_lab_config *config, struct cc_error *e)
{
    FILE *s = script_open(e);
    if (s == NULL)
        return CC_FAIL;
    for (int i = 0; i < config->hosts; i++) {
        char device[32];
        (void)snprintf(device, sizeof device, DATA_PORT, i);
        shape(s, device, config, 0);
    }
    return run("tc", -1, s, e);
}

/* What leaves a host, and takes its time. */
static int shape_host(const struct cc_lab_config *config, int host, struct cc_error *e)
{
    FILE *s = script_open(e);
    if (s == NULL)
        return CC_FAIL;
    if (config->bw_bps > 0)
        shape(s, CC_LAB_DEVICE, config, config->latency_s);
    else
        fprintf(s, "qdisc add dev " CC_LAB_DEVICE " root netem delay %.0fus limit 100000\n",
                config->latency_s * 1e6);
    return run("tc", host, s, e);
}

/* Whether this kernel has netem, before anything is built. */
static int try_netem(struct cc_error *e)
{
    FILE *s = script_open(e);
    if (s == NULL)
        return CC_FAIL;
    fputs("qdisc add dev lo root netem delay 1ms\nqdisc del dev lo root\n", s);
    return run("tc", -1, s, e);
}

int cc_lab_net(const struct cc_lab_config *config, struct cc_error *e)
{
    int status = config->latency_s > 0 ? try_netem(e) : CC_OK;
    if (status == CC_OK)
        status = add_hosts(config, e);
    if (status == CC_OK)
        status = add_links(config->hosts, e);
    if (status == CC_OK)
        status = teach_bridge(config->hosts, e);
    if (status == CC_OK && config->bw_bps > 0)
        status = shape_ports(config, e);
    for (int i = 0; status == CC_OK && i < config->hosts; i++) {
        status = set_up_host(config, i, e);
        if (status == CC_OK && (config->bw_bps > 0 || config->latency_s > 0))
            status = shape_host(config, i, e);
    }
    return status;
}

/* --- counters --- */

/* What the bridge's ends of the data links counted: both directions of each link pass there. */
int cc_lab_net_traffic(uint64_t *bytes, struct cc_error *e)
{
    FILE *f = fopen("/proc/self/net/dev", "re");
    if (f == NULL)
        return cc_fail(e, "/proc/self/net/dev: %s", strerror(errno));
    char line[512];
    uint64_t sum = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        const char *counts = strstr(line, "-data:");
        uint64_t received, sent;
        if (line[strspn(line, " ")] == 'h' && counts != NULL &&
            sscanf(counts, "-data: %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &received,
                   &sent) == 2)
            sum += received + sent;
    }
    (void)fclose(f);
    *bytes = sum;
    return CC_OK;
}
