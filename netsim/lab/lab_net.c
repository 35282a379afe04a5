/* The lab's network.
 *
 * Two bridges in the lab's own network namespace join the hosts, each of which has a namespace:
 *
 *     host h0                 lab                       host h1
 *     data 10.77.0.1 === h0-data [br-data] h1-data === data 10.77.0.2     shaped; MPI's messages
 *     ctl  10.78.0.1 --- h0-ctl  [br-ctl]  h1-ctl  --- ctl  10.78.0.2     mpirun's own messages
 *                               10.78.255.254
 *
 * Each line is a pair of veth interfaces. A token bucket (tbf) at each end of a data link shapes
 * its direction: what a host sends on the host's interface, what it receives on the bridge's.
 * Latency is added by netem at the host's end only, so once in each direction.
 *
 * Addresses on the data network are static: each host has the hardware addresses of all others, and
 * the bridge has the port of each. So the shaped links carry nothing but the ranks' messages, no
 * address resolution is lost in a full queue, and the kernel's tables do not overflow when dozens
 * of hosts talk to each other. IPv6, which sends by itself, is off.
 *
 * A host with several data links has more interfaces, "data1" at 10.101.0.1 and so on, with ports
 * "h0-data1" of the same bridge. Packets that a process sends from an address leave by its
 * interface, by a rule and a routing table for each.
 *
 * The commands for ip, bridge and tc are written as scripts and run with -batch: a few processes
 * instead of several for every link. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netsim/lab/lab_impl.h"

/* The bridges' ends of a host's links; the host's own are CC_LAB_DEVICE and "ctl". */
#define DATA_PORT CC_LAB_HOST "-" CC_LAB_DEVICE
#define CTL_PORT  CC_LAB_HOST "-ctl"

/* All data addresses, if there are several on a host: CC_LAB_NICS networks, from FIRST_NET + 1 on.
 */
#define DATA_NET    "10.64.0.0"
#define DATA_PREFIX 10
enum { FIRST_NET = 128 - CC_LAB_NICS };

enum { NETNS_CAP = 64, NAME_CAP = 32 };
enum { FIRST_TABLE = 100 };  /* the routing table of a host's first data link */
enum { MOST_SEGMENTS = 43 }; /* in one packet of TCP's segmentation offload, 64 KB */

static void print_address(char out[CC_LAB_ADDRESS], int net, int host)
{
    (void)snprintf(out, CC_LAB_ADDRESS, "10.%d.%d.%d", net, (host + 1) / 256, (host + 1) % 256);
}

void cc_lab_control_address(int host, char out[CC_LAB_ADDRESS])
{
    print_address(out, 78, host);
}

/* Data links of a host, counted from 0. */
static int nics_of(const struct cc_lab_config *config, int host)
{
    return config->nics > 1 && host < config->nic_hosts ? config->nics : 1;
}

static void print_data_address(char out[CC_LAB_ADDRESS], int host, int nic)
{
    print_address(out, nic > 0 ? FIRST_NET + nic : 77, host);
}

/* The hardware address of a host's data interface. */
static void print_mac(char out[CC_LAB_ADDRESS], int host, int nic)
{
    (void)snprintf(out, CC_LAB_ADDRESS, "02:77:%02x:00:%02x:%02x", nic % 256, (host + 1) / 256,
                   (host + 1) % 256);
}

/* A data interface of a host, and the bridge's end of its link. */
static void name_device(char out[NAME_CAP], int nic)
{
    (void)snprintf(out, NAME_CAP, nic > 0 ? CC_LAB_DEVICE "%d" : CC_LAB_DEVICE, nic);
}

static void name_port(char out[NAME_CAP], int host, int nic)
{
    (void)snprintf(out, NAME_CAP, nic > 0 ? DATA_PORT "%d" : DATA_PORT, host, nic);
}

/* --- scripts --- */

/* The cause and the remedy, from the failed line of the script and the tool's output. */
static const char *find_remedy(const char *line, const char *output)
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
    bool unknown = strstr(output, "nknown device type") != NULL ||
                   strstr(output, "kind is unknown") != NULL ||
                   strstr(output, "No such file") != NULL;
    for (size_t i = 0; unknown && i < sizeof missing / sizeof missing[0]; i++)
        if (strstr(line, missing[i].kind) != NULL)
            return missing[i].text;
    return strstr(output, "not permitted") != NULL
               ? "a container or security module forbids it: run as root outside it"
               : "the network could not be built";
}

/* Reads line `number` of the script, from 1; "" if there is none. */
static void read_line(FILE *script, int number, char *line, int size)
{
    rewind(script);
    line[0] = '\0';
    for (int i = 0; i < number && fgets(line, size, script) != NULL; i++)
        continue;
    line[strcspn(line, "\n")] = '\0';
}

/* Writes the message for a tool that failed, from its output and the line of the script that this
 * names ("Command failed -:12"). */
static int explain_failure(const char *tool, FILE *script, char *text, struct cc_error *e)
{
    char line[200];
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    const char *failed = strstr(text, "Command failed");
    const char *colon = failed != NULL ? strchr(failed, ':') : NULL;
    read_line(script, colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 0, line, sizeof line);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
    return cc_fail(e, "%s (%s %s: %s)", find_remedy(line, text), tool, line, text);
}

static void name_netns(int host, char out[NETNS_CAP])
{
    (void)snprintf(out, NETNS_CAP, CC_LAB_NETNS "/" CC_LAB_HOST, host);
}

/* Writes a script for a host, or for all of them. */
typedef void script(FILE *s, const struct cc_lab_config *config, int host);

/* Runs the tool with a script in memory, on the host (-1: in the lab's own namespace). */
static int run_script(const char *tool, script *write, const struct cc_lab_config *config, int host,
                      struct cc_error *e)
{
    char *argv[] = {(char *)(uintptr_t)tool, "-batch", "-", NULL};
    char netns[NETNS_CAP], text[200];
    int wait_status, fd = memfd_create("script", MFD_CLOEXEC);
    FILE *s = fd != -1 ? fdopen(fd, "w+") : NULL;
    if (s == NULL)
        return cc_fail(e, "no memory for a script: %s", strerror(errno));
    write(s, config, host);
    name_netns(host, netns);
    int status =
        fflush(s) == 0 && lseek(fd, 0, SEEK_SET) == 0
            ? cc_lab_tool(argv, host >= 0 ? netns : NULL, fd, text, sizeof text, &wait_status, e)
            : cc_fail(e, "no memory for a script");
    if (status == CC_OK && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127)
        status =
            cc_fail(e, "%s: there is no such program: install iproute2 (Debian's package)", tool);
    else if (status == CC_OK && wait_status != 0)
        status = explain_failure(tool, s, text, e);
    (void)fclose(s);
    return status;
}

/* --- network namespaces --- */

/* Writes a value to a file of /proc/sys unless it is there already. A file that does not exist is
 * an error only without `optional`. */
static int set_sysctl(const char *path, const char *value, bool optional, struct cc_error *e)
{
    char current[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1 && optional)
        return CC_OK;
    if (fd != -1) {
        ssize_t n = read(fd, current, sizeof current - 1);
        current[n > 0 ? n : 0] = '\0';
        current[strcspn(current, "\n")] = '\0';
        close(fd);
    }
    return strcmp(current, value) == 0 ? CC_OK : cc_lab_write(path, value, e);
}

/* Sets up the network namespace that this process is in. */
static int set_up_namespace(const struct cc_lab_config *config, struct cc_error *e)
{
    static const char congestion[] = "/proc/sys/net/ipv4/tcp_congestion_control";
    CC_TRY_IN(set_sysctl(congestion, config->congestion, false, e), e,
              "congestion control %s: not among those that this kernel has and allows in a "
              "namespace (sysctl net.ipv4.tcp_allowed_congestion_control)",
              config->congestion);
    CC_TRY(set_sysctl("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1", true, e));
    CC_TRY(set_sysctl("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1", true, e));
    /* Frames that cross the bridge must not pass through the machine's packet filters. */
    static const char *const filters[] = {"iptables", "ip6tables", "arptables"};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/sys/net/bridge/bridge-nf-call-%s", filters[i]);
        CC_TRY(set_sysctl(path, "0", true, e));
    }
    return CC_OK;
}

/* Creates a host's network namespace, named as by `ip netns add`, and leaves this process in it. */
static int add_host(const struct cc_lab_config *config, int host, struct cc_error *e)
{
    char path[NETNS_CAP];
    name_netns(host, path);
    int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd == -1)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    close(fd);
    if (unshare(CLONE_NEWNET) != 0)
        return cc_fail(e, "a net namespace for " CC_LAB_HOST ": %s%s", host, strerror(errno),
                       errno == ENOSPC ? " (sysctl user.max_net_namespaces)" : "");
    if (mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL) != 0)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    return set_up_namespace(config, e);
}

static int add_hosts(const struct cc_lab_config *config, struct cc_error *e)
{
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own == -1)
        return cc_fail(e, "/proc/self/ns/net: %s", strerror(errno));
    int status = CC_OK;
    CC_TRY_OUT(set_up_namespace(config, e));
    for (int i = 0; i < config->hosts; i++)
        CC_TRY_OUT(add_host(config, i, e));
out:
    if (setns(own, CLONE_NEWNET) != 0 && status == CC_OK)
        status = cc_fail(e, "returning from the hosts: %s", strerror(errno));
    close(own);
    return status;
}

/* --- links --- */

static void add_links(FILE *s, const struct cc_lab_config *config, int host)
{
    (void)host;
    fputs("link set lo up\n"
          "link add br-data type bridge mcast_snooping 0\n"
          "link add br-ctl type bridge mcast_snooping 0\n"
          "link set br-data up\n"
          "link set br-ctl up\n"
          "address add " CC_LAB_SELF "/16 dev br-ctl\n",
          s);
    for (int i = 0; i < config->hosts; i++) {
        for (int nic = 0; nic < nics_of(config, i); nic++) {
            char mac[CC_LAB_ADDRESS], device[NAME_CAP], port[NAME_CAP];
            print_mac(mac, i, nic);
            name_device(device, nic);
            name_port(port, i, nic);
            fprintf(s,
                    "link add %s master br-data up type veth peer name %s"
                    " address %s netns " CC_LAB_NETNS "/" CC_LAB_HOST "\n",
                    port, device, mac, i);
        }
        fprintf(s,
                "link add " CTL_PORT " master br-ctl up type veth peer name ctl"
                " netns " CC_LAB_NETNS "/" CC_LAB_HOST "\n",
                i, i);
    }
}

/* Tells the bridge behind which port each host is. */
static void set_bridge_ports(FILE *s, const struct cc_lab_config *config, int host)
{
    (void)host;
    for (int i = 0; i < config->hosts; i++)
        for (int nic = 0; nic < nics_of(config, i); nic++) {
            char mac[CC_LAB_ADDRESS], port[NAME_CAP];
            print_mac(mac, i, nic);
            name_port(port, i, nic);
            fprintf(s, "fdb replace %s dev %s master static\n", mac, port);
        }
}

/* The number of segments that TCP may put into one packet. More of them save most of the kernel's
 * work, but tbf splits a packet that is larger than its bucket and then wakes up for every segment,
 * which is too much for few cores with dozens of fast links. A bucket that holds less than two
 * packets overflows and loses rate whenever its timer is late. */
static int segments_per_packet(const struct cc_lab_config *config)
{
    size_t most = config->burst_bytes / 2 / CC_LAB_FRAME;
    if (config->bw_bps == 0 || most > MOST_SEGMENTS)
        return MOST_SEGMENTS;
    return most > 1 ? (int)most : 1;
}

static void set_up_device(FILE *s, const struct cc_lab_config *config, int host, int nic)
{
    char ip[CC_LAB_ADDRESS], mac[CC_LAB_ADDRESS], device[NAME_CAP];
    const bool several = nics_of(config, 0) > 1;
    print_data_address(ip, host, nic);
    name_device(device, nic);
    if (several)
        fprintf(s, "address add %s/%d dev %s noprefixroute\n", ip, DATA_PREFIX, device);
    else
        fprintf(s, "address add %s/16 dev %s\n", ip, device);
    fprintf(s, "link set %s up gso_max_segs %d\n", device, segments_per_packet(config));
    if (several) {
        const int table = FIRST_TABLE + nic;
        fprintf(s, "route add " DATA_NET "/%d dev %s src %s table %d\n", DATA_PREFIX, device, ip,
                table);
        fprintf(s, "rule add from %s table %d\n", ip, table);
    }
    for (int i = 0; i < config->hosts; i++)
        for (int k = 0; i != host && k < nics_of(config, i); k++) {
            print_data_address(ip, i, k);
            print_mac(mac, i, k);
            fprintf(s, "neighbour add %s lladdr %s nud permanent dev %s\n", ip, mac, device);
        }
}

static void set_up_host(FILE *s, const struct cc_lab_config *config, int host)
{
    char ip[CC_LAB_ADDRESS];
    fputs("link set lo up\n", s);
    for (int nic = 0; nic < nics_of(config, host); nic++)
        set_up_device(s, config, host, nic);
    cc_lab_control_address(host, ip);
    fprintf(s, "address add %s/16 dev ctl\nlink set ctl up\n", ip);
}

/* --- shaping --- */

/* Writes the commands for a token bucket; with a latency, netem takes the place of the bucket's
 * queue. */
static void write_bucket(FILE *s, const char *device, const struct cc_lab_config *config,
                         double bw_bps, double latency_s)
{
    fprintf(s, "qdisc add dev %s root handle 1: tbf rate %.0fbit burst %zu limit %zu\n", device,
            bw_bps, config->burst_bytes, config->limit_bytes);
    if (latency_s > 0) {
        double frames = ((double)config->limit_bytes + latency_s * bw_bps / 8) / CC_LAB_FRAME;
        fprintf(s, "qdisc add dev %s parent 1:1 handle 10: netem delay %.0fus limit %.0f\n", device,
                latency_s * 1e6, ceil(frames) + 1);
    }
}

/* Shapes the direction to the hosts, at the bridge's end of their links. */
static void shape_ports(FILE *s, const struct cc_lab_config *config, int host)
{
    (void)host;
    for (int i = 0; i < config->hosts; i++)
        for (int nic = 0; nic < nics_of(config, i); nic++) {
            char port[NAME_CAP];
            name_port(port, i, nic);
            write_bucket(s, port, config, config->down_bps > 0 ? config->down_bps : config->bw_bps,
                         0);
        }
}

/* Shapes the direction from a host, and delays it. */
static void shape_host(FILE *s, const struct cc_lab_config *config, int host)
{
    for (int nic = 0; nic < nics_of(config, host); nic++) {
        char device[NAME_CAP];
        name_device(device, nic);
        if (config->bw_bps > 0)
            write_bucket(s, device, config, config->bw_bps, config->latency_s);
        else
            fprintf(s, "qdisc add dev %s root netem delay %.0fus limit 100000\n", device,
                    config->latency_s * 1e6);
    }
}

/* Fails if this kernel has no netem. */
static void try_netem(FILE *s, const struct cc_lab_config *config, int host)
{
    (void)host;
    (void)config;
    fputs("qdisc add dev lo root netem delay 1ms\nqdisc del dev lo root\n", s);
}

int cc_lab_net(const struct cc_lab_config *config, struct cc_error *e)
{
    if (config->latency_s > 0)
        CC_TRY(run_script("tc", try_netem, config, -1, e));
    CC_TRY(add_hosts(config, e));
    CC_TRY(run_script("ip", add_links, config, -1, e));
    CC_TRY(run_script("bridge", set_bridge_ports, config, -1, e));
    if (config->bw_bps > 0)
        CC_TRY(run_script("tc", shape_ports, config, -1, e));
    for (int i = 0; i < config->hosts; i++) {
        CC_TRY(run_script("ip", set_up_host, config, i, e));
        if (config->bw_bps > 0 || config->latency_s > 0)
            CC_TRY(run_script("tc", shape_host, config, i, e));
    }
    return CC_OK;
}
