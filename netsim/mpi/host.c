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

/* --- bytes --- */

static const void *attribute(const void *list, size_t length, unsigned type, size_t size)
{
    while (length >= sizeof(struct rtattr)) {
        const struct rtattr *a = list;
        size_t step = RTA_ALIGN((size_t)a->rta_len);
        if (a->rta_len < sizeof *a || a->rta_len > length)
            return NULL;
        if ((a->rta_type & NLA_TYPE_MASK) == type)
            return RTA_PAYLOAD(a) >= size ? a : NULL;
        if (step >= length)
            return NULL;
        list = (const char *)list + step;
        length -= step;
    }
    return NULL;
}

/* Whether the message is about a token bucket at the root of the interface, and what it has sent.
 */
static bool take_bucket(const struct nlmsghdr *message, int device, uint64_t *sent)
{
    const struct tcmsg *tc = NLMSG_DATA(message);
    size_t head = NLMSG_ALIGN(NLMSG_LENGTH(sizeof *tc)), length = message->nlmsg_len;
    if (message->nlmsg_type != RTM_NEWQDISC || length < head || tc->tcm_ifindex != device ||
        tc->tcm_parent != TC_H_ROOT)
        return false;
    const char *list = (const char *)message + head;
    const struct rtattr *kind = attribute(list, length - head, TCA_KIND, 4), *basic = NULL;
    const struct rtattr *stats = attribute(list, length - head, TCA_STATS2, 0);
    if (kind == NULL || strncmp(RTA_DATA(kind), "tbf", 4) != 0 || stats == NULL)
        return false;
    basic = attribute(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_BASIC, sizeof *sent);
    if (basic != NULL)
        memcpy(sent, RTA_DATA(basic), sizeof *sent);
    return basic != NULL;
}

static bool ask_for_buckets(int to, int device)
{
    struct {
        struct nlmsghdr head;
        struct tcmsg tc;
    } ask = {.head = {.nlmsg_len = sizeof ask,
                      .nlmsg_type = RTM_GETQDISC,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
             .tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = device}};
    return send(to, &ask, sizeof ask, 0) == (ssize_t)sizeof ask;
}

/* What the token bucket that shapes the interface has sent. It counts frames as they are on the
 * wire; the interface counts segments that leave together as one, with one header. */
static bool bucket_sent(const char *device, uint64_t *sent)
{
    _Alignas(struct nlmsghdr) char answer[32768];
    int index = (int)if_nametoindex(device), from = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    bool found = false, more = from >= 0 && index > 0 && ask_for_buckets(from, index);
    while (more) {
        ssize_t got = recv(from, answer, sizeof answer, 0);
        size_t at = 0, end = got > 0 ? (size_t)got : 0;
        more = end > 0;
        while (more && at + sizeof(struct nlmsghdr) <= end) {
            const struct nlmsghdr *m = (const void *)(answer + at);
            more = m->nlmsg_type != NLMSG_DONE && m->nlmsg_type != NLMSG_ERROR &&
                   m->nlmsg_len >= sizeof *m && m->nlmsg_len <= end - at;
            found = found || (more && take_bucket(m, index, sent));
            at += NLMSG_ALIGN((size_t)m->nlmsg_len);
        }
    }
    if (from >= 0)
        (void)close(from);
    return found;
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
    (void)bucket_sent(device, &out->sent);
    return CC_OK;
}
