/* A simulated network of hosts with full-duplex ports: messages share the ports they cross fairly
 * (max-min), and arrive alpha after their last byte has left. A message starts when both ends are
 * ready for it (MPI's rendezvous). It uses no formula of the models. */
#ifndef CC_TESTS_LIB_PORTS_H
#define CC_TESTS_LIB_PORTS_H

#include <stddef.h>

struct ports_send {
    int to;
    double bytes;
};

/* One phase of a host: work, then send all messages at once, wait until they have arrived and until
 * a message from each of the hosts in from[] has, then work again. */
struct ports_phase {
    double before, after; /* seconds of work */
    struct ports_send *send;
    int *from;
    size_t sends, receives;
};

struct ports_host {
    struct ports_phase *phase;
    size_t phases;
};

struct ports_result {
    double time;      /* when the last host is done */
    double *sent;     /* bytes by host */
    size_t *messages; /* by host */
};

/* Links of a second class: `group` hosts in a row are accelerators of one machine, whose messages
 * to others share its port, while those inside take each accelerator's own. Or, with wan_byte_s,
 * they are a site: messages between two sites share their link, and take both hosts' ports, too. */
struct ports_groups {
    int group;
    double alpha, byte_s; /* between groups; of a site, of its hosts' ports */
    double wan_byte_s;    /* or 0 */
};

/* The same with groups: alpha and byte_s are of the links inside one. */
void ports_run_groups(const struct ports_host *host, size_t hosts, double alpha, double byte_s,
                      const struct ports_groups *groups, struct ports_result *out);

/* Runs all hosts from time 0. Fails the test if they wait for each other forever. sent[] and
 * messages[] have `hosts` elements each. */
void ports_run(const struct ports_host *host, size_t hosts, double alpha, double byte_s,
               struct ports_result *out);

#endif
