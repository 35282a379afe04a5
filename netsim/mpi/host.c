#include "netsim/mpi/host.h"

#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* FNV-1a. */
static uint64_t hash(uint64_t h, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
    return h;
}

struct cc_host cc_host_here(void)
{
    struct cc_host here = {0};
    char text[128];
    /* Host names differ between hosts of a lab, which are one machine. */
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f == NULL)
        return here;
    here.machine = hash(0xcbf29ce484222325, text, fread(text, 1, sizeof text, f));
    (void)fclose(f);
    ssize_t length = readlink("/proc/self/ns/net", text, sizeof text);
    here.network = hash(here.machine, text, length > 0 ? (size_t)length : 0);
    return here;
}

/* --- what an interface has carried --- */

/* An attribute of a netlink message, or NULL. */
static const struct rtattr *attribute(const struct rtattr *a, size_t length, unsigned short type)
{
    for (; RTA_OK(a, length); a = RTA_NEXT(a, length))
        if ((a->rta_type & NLA_TYPE_MASK) == type)
            return a;
    return NULL;
}

/* The bytes that went through this queueing discipline, if it is the root of the interface. */
static bool root_bytes(const struct nlmsghdr *m, int device, uint64_t *bytes)
{
    const struct tcmsg *tc = NLMSG_DATA(m);
    if (m->nlmsg_type != RTM_NEWQDISC || m->nlmsg_len < NLMSG_LENGTH(sizeof *tc) ||
        tc->tcm_ifindex != device || tc->tcm_parent != TC_H_ROOT)
        return false;
    const struct rtattr *a = attribute(TCA_RTA(tc), TCA_PAYLOAD(m), TCA_STATS2);
    if (a != NULL)
        a = attribute(RTA_DATA(a), RTA_PAYLOAD(a), TCA_STATS_BASIC);
    if (a == NULL || RTA_PAYLOAD(a) < sizeof *bytes)
        return false;
    memcpy(bytes, RTA_DATA(a), sizeof *bytes);
    return true;
}

/* Reads the answer to its end. */
static bool find_root(int s, int device, uint64_t *bytes)
{
    bool found = false;
    for (;;) {
        _Alignas(struct nlmsghdr) char text[32768];
        ssize_t n = recv(s, text, sizeof text, 0);
        if (n <= 0)
            return found;
        size_t left = (size_t)n;
        for (const struct nlmsghdr *m = (const void *)text; NLMSG_OK(m, left);
             m = NLMSG_NEXT(m, left)) {
            if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR)
                return found;
            found = root_bytes(m, device, bytes) || found;
        }
    }
}

/* What the interface's queueing discipline has sent. The interface itself counts a large packet
 * that is cut further down (GSO) as it was handed over, with one header; the discipline counts all.
 */
static bool queue_sent(const char *device, uint64_t *bytes)
{
    struct {
        struct nlmsghdr head;
        struct tcmsg tc;
    } ask = {.head = {.nlmsg_len = sizeof ask,
                      .nlmsg_type = RTM_GETQDISC,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
             .tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)if_nametoindex(device)}};
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    bool found = s != -1 && send(s, &ask, sizeof ask, 0) == (ssize_t)sizeof ask &&
                 find_root(s, ask.tc.tcm_ifindex, bytes);
    if (s != -1)
        close(s);
    return found && *bytes > 0; /* "noqueue" counts nothing */
}

int cc_host_carried(const char *device, struct cc_carried *out, struct cc_error *e)
{
    static const char path[] = "/proc/self/net/dev";
    char line[512];
    int found = 0;
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return cc_fail(e, "%s cannot be read: the bytes of %s cannot be counted", path, device);
    /* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..." */
    while (!found && fgets(line, sizeof line, f) != NULL) {
        const char *name = line + strspn(line, " ");
        size_t length = strlen(device);
        found = strncmp(name, device, length) == 0 && name[length] == ':' &&
                sscanf(name + length + 1, "%" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
                       &out->received, &out->sent) == 2;
    }
    (void)fclose(f);
    if (!found)
        return cc_fail(e, "%s: no interface %s on this host", path, device);
    uint64_t queued;
    if (queue_sent(device, &queued))
        out->sent = queued;
    return CC_OK;
}
