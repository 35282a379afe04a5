/* The lab: a cluster of network namespaces on this machine, joined by a bridge, with both
 * directions of every host's link shaped by tc. It lives in PID, mount, network and (for an
 * ordinary user) user namespaces of its own, whose init process is a child of the caller and dies
 * with it. So nothing is left of a lab, whichever process is killed. */
#ifndef CC_NETSIM_LAB_LAB_H
#define CC_NETSIM_LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

enum { CC_LAB_FRAME = 1514 }; /* bytes of a full frame, as tc counts them */

struct cc_lab_config {
    int hosts;              /* 1 to 1000 */
    int nics, nic_hosts;    /* shaped links of each of the first hosts; others have one; 0: 1 */
    double bw_bps;          /* each host's link, each direction, as tc counts frames; 0: unshaped */
    double down_bps;        /* of the direction to a host, if not bw_bps; or 0 */
    double latency_s;       /* added to each message with netem; 0: none */
    size_t burst_bytes;     /* the token buckets' size, at least a frame; 0: cc_lab_burst */
    size_t limit_bytes;     /* the queues' size, at least a frame; 0: cc_lab_limit */
    const char *congestion; /* TCP's congestion control; NULL: "reno" */
};

/* The size of a token bucket with which tbf reaches the rate. */
size_t cc_lab_burst(double bw_bps);

/* The length of a queue that loses nothing when all other hosts send to one. */
size_t cc_lab_limit(double bw_bps, int hosts);

struct cc_lab;

/* Opens a lab; on return its hosts are up, shaped and can reach each other. Sets *out on success
 * only; cc_lab_close ends it. A message tells what the system lacks (ip, tc, user namespaces,
 * netem) and the remedy. */
int cc_lab_open(const struct cc_lab_config *config, struct cc_lab **out, struct cc_error *e);

/* Kills all processes of the lab and waits until they are gone; those that the caller forked into
 * it must have been waited for before. NULL is allowed. */
void cc_lab_close(struct cc_lab *lab);

/* Like fork(), into the lab's own namespaces, not into those of one of the hosts: returns 0 in the
 * new process, which is a child of the caller and reaches all hosts through the control network, in
 * a session of its own; -1 with errno. Only async-signal-safe functions may be called there. */
pid_t cc_lab_fork(struct cc_lab *lab);

/* The bytes that all shaped links together have carried so far, in both directions; meant for a
 * watchdog. Up to 4% low, as headers are not counted for every segment; interface_bytes.h counts a
 * single host's exactly. */
int cc_lab_traffic(const struct cc_lab *lab, uint64_t *bytes, struct cc_error *e);

enum { CC_LAB_NICS = 28 };             /* interfaces of a host, at most */
#define CC_LAB_HOST    "h%d"           /* a host's name, from 0 */
#define CC_LAB_DEVICE  "data"          /* the shaped interface on every host; "data1" is a second */
#define CC_LAB_DATA    "10.77.0.0/16"  /* its subnet */
#define CC_LAB_CONTROL "10.78.0.0/16"  /* the subnet of mpirun's own connections */
#define CC_LAB_FOLDER  "/run/commcomp" /* a directory in the lab for files that vanish with it */
/* For mpirun's parameter plm_rsh_agent: the program that starts a command on a host, AGENT HOST
 * COMMAND... */
#define CC_LAB_AGENT CC_LAB_FOLDER "/enter"

/* Lines for the user that tell how to enter the lab by hand (--keep-lab). The caller frees them. */
char *cc_lab_directions(const struct cc_lab *lab, struct cc_error *e);

/* The configuration with its defaults filled in; valid until cc_lab_close. */
const struct cc_lab_config *cc_lab_settings(const struct cc_lab *lab);

/* Becomes the command, on a host; called inside a lab by its agent, the hidden command
 * `commcomp lab-enter HOST COMMAND...`. Returns on failure only. */
int cc_lab_enter(const char *host, char *const argv[], struct cc_error *e);

#endif
