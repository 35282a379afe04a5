/* Flows that share ports (a fluid model of a network): every port carries at most one second of
 * sending in a second, and flows share the ports that they cross max-min fairly, as long TCP
 * connections, and the flows of SimGrid, do (Bertsekas and Gallager, Data Networks, 1992, section
 * 6.5.2). A switch has no limit of its own.
 *
 * Hosts that do the same at the same time are followed as one. So a path stands for several flows
 * that are alike, and says how many of them cross each of its ports. Lengths are in seconds that a
 * flow takes when it is alone.
 *
 * The flows of a path begin in the order in which they were added: only the first CC_QUEUE_MESSAGES
 * are under way, or more while they take window_s together at most; the others wait, as in the
 * ranks' program (netsim/exchange/send_queue.h).
 *
 * Each port has a token bucket: up to burst_s seconds of sending pass at once when a flow begins,
 * and it fills while the port is not fully used. */
#ifndef CC_MODELS_FLUID_H
#define CC_MODELS_FLUID_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct cc_fluid_path {
    int port[2];       /* that its flows leave by and arrive at */
    double crosses[2]; /* how many of the flows that are alike cross that port */
};

struct cc_fluid_flow;

/* Zero it before the first use. */
struct cc_fluid {
    struct cc_fluid_path *path;
    size_t paths, ports, path_capacity, port_capacity, flow_capacity;
    struct cc_fluid_state *state; /* [paths] */
    struct cc_fluid_port *port;
    struct cc_fluid_flow *flow; /* those under way, by number */
    double now, burst_s, window_s;
    bool changed; /* flows have begun or ended since rates were assigned */
};

#define CC_NO_FLOW SIZE_MAX

/* Makes room for paths, ports and flows; keeps what there is. */
int cc_fluid_reserve(struct cc_fluid *f, size_t paths, size_t ports, size_t flows,
                     struct cc_error *e);
void cc_fluid_free(struct cc_fluid *f);

/* Begins at time 0, without flows, with full buckets. The caller has set path[0, paths). */
void cc_fluid_begin(struct cc_fluid *f, size_t paths, size_t ports, double burst_s,
                    double window_s);
/* A flow, by a number below the reserved ones that no other flow has, begins now, or waits. */
void cc_fluid_add(struct cc_fluid *f, size_t number, size_t path, double length_s);
/* When the next flow ends if none begins before; INFINITY if there is none. */
double cc_fluid_next(struct cc_fluid *f);
/* Lets time pass until `to`, which is at most that time. */
void cc_fluid_advance(struct cc_fluid *f, double to);
/* Takes a flow that has ended by now, and returns its number; CC_NO_FLOW if there is none. */
size_t cc_fluid_take(struct cc_fluid *f);

#endif
