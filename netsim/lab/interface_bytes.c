/* Counting the bytes of an interface. Network cards count what is on the wire. The veth interfaces
 * of a lab count what is handed to them: several segments in one piece with one header. What lacks
 * is known to the same namespace's TCP and IP, which count segments. */
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

/* Ethernet, IPv4, TCP with time stamps. */
enum { HEADERS = 14 + 20 + 32 };

static bool driven_by(const char *device, const char *driver)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request = {.ifr_data = (char *)&info};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    bool same = ioctl(s, SIOCETHTOOL, &request) == 0 && strcmp(info.driver, driver) == 0;
    close(s);
    return same;
}

/* The bytes of the device, and the packets of all of the namespace; not those of ifb interfaces,
 * through which what arrives is only led for shaping (shape.c). */
static int read_devices(const char *device, struct cc_interface_bytes *bytes,
                        struct cc_interface_bytes *packets, struct cc_error *e)
{
    static const char path[] = "/proc/self/net/dev";
    char line[512];
    bool found = false;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return cc_fail(e, "%s cannot be read: the bytes of %s cannot be counted", path, device);
    *packets = (struct cc_interface_bytes){0};
    /* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes packets ..." */
    while (fgets(line, sizeof line, f) != NULL) {
        char name[64];
        uint64_t in, in_packets, out, out_packets;
        if (sscanf(line,
                   " %63[^:]: %" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
                   name, &in, &in_packets, &out, &out_packets) != 5)
            continue;
        if (!driven_by(name, "ifb")) {
            packets->received += in_packets;
            packets->sent += out_packets;
        }
        if (strcmp(name, device) == 0) {
            *bytes = (struct cc_interface_bytes){.sent = out, .received = in};
            found = true;
        }
    }
    (void)fclose(f);
    return found ? CC_OK : cc_fail(e, "%s: no interface %s on this host", path, device);
}

/* The sum of the named counters of a group ("Tcp:"), which a file shows as a line of names and a
 * line of numbers. */
static uint64_t counted(const char *path, const char *group, const char *const *names)
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
    int status = read_devices(device, &bytes, &packets, e);
    if (status == CC_OK && driven_by(device, "veth")) {
        uint64_t sent = counted("/proc/self/net/snmp", "Tcp:", sent_names);
        uint64_t received = counted("/proc/self/net/netstat", "IpExt:", received_names);
        if (sent > packets.sent)
            bytes.sent += HEADERS * (sent - packets.sent);
        if (received > packets.received)
            bytes.received += HEADERS * (received - packets.received);
    }
    if (status == CC_OK)
        *out = bytes;
    return status;
}
