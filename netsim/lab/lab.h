/* The lab: a cluster out of network namespaces on one bridge of this machine, both directions of
 * every host's link shaped with tc. All of it lives in a PID, mount, network and (for an ordinary
 * user) user namespace, whose init is a child of the caller that dies with it: nothing is left
 * behind, whoever is killed. */
#ifndef CC_NETSIM_LAB_LAB_H
#define CC_NETSIM_LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

enum { CC_LAB_FRAME = 1514 }; /* bytes of a full one, as tc counts */

struct cc_lab_config {
    int hosts;
    double bw_bps;    /* of each host's link, each way, as tc counts frames; 0: not shaped */
    double latency_s; /* added to each message by netem; 0: none. Refused where netem is missing */
    size_t burst_bytes;     /* of the token buckets; 0: cc_lab_burst, else at least a frame */
    size_t limit_bytes;     /* of the queues; 0: cc_lab_limit, else at least a frame */
    const char *congestion; /* NULL: "reno" */
};

/* What the rate asks for (NETWORK.md's findings; see lab.c for why). */
size_t cc_lab_burst(double bw_bps);
size_t cc_lab_limit(double bw_bps, int hosts);

struct cc_lab;

/* Hosts are up, shaped and can reach each other when this returns. *out is set on success only. The
 * message says what is missing (ip, tc, user namespaces, netem) and the remedy. */
int cc_lab_open(const struct cc_lab_config *config, struct cc_lab **out, struct cc_error *e);
/* Kills all processes inside and waits until everything is gone. */
void cc_lab_close(struct cc_lab *lab);

/* A program inside the lab's own namespaces, not on a host; it reaches all hosts through the
 * control network. */
struct cc_lab_child {
    int id;
    int out, err; /* read ends of its stdout and stderr; the caller closes them */
};
/* `in` becomes its stdin and stays the caller's; -1: /dev/null. */
int cc_lab_spawn(struct cc_lab *lab, char *const argv[], int in, struct cc_lab_child *out,
                 struct cc_error *e);
/* Whether it has ended, and then its wait status. */
int cc_lab_poll(struct cc_lab *lab, const struct cc_lab_child *child, bool *ended, int *status,
                struct cc_error *e);
int cc_lab_kill(struct cc_lab *lab, const struct cc_lab_child *child, int signal,
                struct cc_error *e);

/* Bytes that all shaped links together have carried so far, both directions: what a watchdog looks
 * at. Up to 4% less than was on the wire, as headers are not counted for every segment; a host's
 * exact figures are those of carried.h. */
int cc_lab_traffic(struct cc_lab *lab, uint64_t *bytes, struct cc_error *e);

/* For mpirun: the hosts' names ("h0" ...), the program that starts a command on a host (an absolute
 * path, as plm_rsh_agent wants it: AGENT HOST COMMAND...), the subnets, and a folder inside the lab
 * for files that die with it. */
const char *cc_lab_agent(const struct cc_lab *lab);
#define CC_LAB_HOST    "h%d"
#define CC_LAB_DEVICE  "data"         /* the shaped interface on every host */
#define CC_LAB_DATA    "10.77.0.0/16" /* its subnet */
#define CC_LAB_CONTROL "10.78.0.0/16" /* mpirun's own connections */
#define CC_LAB_FOLDER  "/run/commcomp"

/* How to enter by hand, for --keep: lines to print; to be freed. */
char *cc_lab_directions(const struct cc_lab *lab, struct cc_error *e);

/* The settings that were made, for the record: congestion control, burst, limit. */
const struct cc_lab_config *cc_lab_settings(const struct cc_lab *lab);

/* What the hidden command `commcomp lab-enter HOST COMMAND...` (the agent) does. */
int cc_lab_enter(const char *host, char *const argv[], struct cc_error *e);

#endif
