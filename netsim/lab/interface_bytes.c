/* A network card counts the bytes on the wire. A veth interface of the lab counts what the kernel
 * hands to it: with segmentation offload, one large packet with a single header for several TCP
 * segments. The headers of the other segments are added here. Their number is the number of
 * segments that TCP and IP count in the same network namespace, minus the number of packets of its
 * interfaces:
 *
 * - sent: OutSegs + RetransSegs of "Tcp:" in /proc/self/net/snmp
 * - received: the packets by ECN mark, InNoECTPkts + ..., of "IpExt:" in /proc/self/net/netstat
 *
 * That is exact because a lab's hosts send nothing but TCP. */
#include "netsim/lab/interface_bytes.h"

#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes of the headers of Ethernet, IPv4, and TCP with time stamps. */
enum { HEADER_BYTES = 14 + 20 + 32 };

/* Whether the interface is of this kind: "veth", "ifb". */
static bool has_driver(const char *device, const char *driver)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (char *)&info};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    bool same = ioctl(s, SIOCETHTOOL, &request) == 0 && strcmp(info.driver, driver) == 0;
    close(s);
    return same;
}

/* Whether a name is one of those that commas separate. */
static bool is_listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == '\0' || at[n] == ','))
            return true;
    }
    return false;
}

/* Reads the bytes of the listed interfaces together, and the packets of all interfaces of the
 * namespace. Those of ifb interfaces are left out: arriving packets pass through them a second time
 * (shape.c). */
static int read_devices(const char *device, struct cc_interface_bytes *bytes,
                        struct cc_interface_bytes *packets, struct cc_error *e)
{
    static const char path[] = "/proc/self/net/dev";
    char line[512];
    bool found = false;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return cc_fail(e, "%s cannot be read: the bytes of %s cannot be counted", path, device);
    *bytes = *packets = (struct cc_interface_bytes){0};
    /* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes packets ..." */
    while (fgets(line, sizeof line, f) != NULL) {
        char name[64];
        uint64_t in, in_packets, out, out_packets;
        if (sscanf(line,
                   " %63[^:]: %" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
                   name, &in, &in_packets, &out, &out_packets) != 5)
            continue;
        if (!has_driver(name, "ifb")) {
            packets->received += in_packets;
            packets->sent += out_packets;
        }
        if (is_listed(device, name)) {
            bytes->sent += out;
            bytes->received += in;
            found = true;
        }
    }
    (void)fclose(f);
    return found ? CC_OK : cc_fail(e, "%s: no interface %s on this host", path, device);
}

/* The sum of the named counters of a group ("Tcp:"). The file has two lines for each group, one
 * with names and one with numbers. */
static uint64_t sum_counters(const char *path, const char *group, const char *const *names)
{
    static const char separators[] = " \n";
    char title[4096], line[4096];
    uint64_t sum = 0;
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(title, sizeof title, f) != NULL && fgets(line, sizeof line, f)) {
        if (strncmp(title, group, strlen(group)) != 0)
            continue;
        char *at_title = NULL, *at_line = NULL;
        const char *name = strtok_r(title, separators, &at_title);
        const char *number = strtok_r(line, separators, &at_line);
        for (; name != NULL && number != NULL; name = strtok_r(NULL, separators, &at_title),
                                               number = strtok_r(NULL, separators, &at_line))
            for (size_t i = 0; names[i] != NULL; i++)
                if (strcmp(name, names[i]) == 0)
                    sum += strtoull(number, NULL, 10);
    }
    if (f != NULL)
        (void)fclose(f);
    return sum;
}

int cc_interface_bytes_read(const char *device, struct cc_interface_bytes *out, struct cc_error *e)
{
    static const char *const sent_names[] = {"OutSegs", "RetransSegs", NULL};
    static const char *const received_names[] = {"InNoECTPkts", "InECT0Pkts", "InECT1Pkts",
                                                 "InCEPkts", NULL};
    struct cc_interface_bytes bytes, packets;
    CC_TRY(read_devices(device, &bytes, &packets, e));
    char first[64];
    (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(device, ","), device);
    if (has_driver(first, "veth")) {
        uint64_t sent = sum_counters("/proc/self/net/snmp", "Tcp:", sent_names);
        uint64_t received = sum_counters("/proc/self/net/netstat", "IpExt:", received_names);
        if (sent > packets.sent)
            bytes.sent += HEADER_BYTES * (sent - packets.sent);
        if (received > packets.received)
            bytes.received += HEADER_BYTES * (received - packets.received);
    }
    *out = bytes;
    return CC_OK;
}
