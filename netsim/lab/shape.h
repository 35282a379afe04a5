/* Shaping a real interface of a cluster's host with tc, both ways: what leaves by a token bucket on
 * the interface, what arrives by one on a device of its own (ifb) that it passes first. A guard, a
 * process of its own, holds it and undoes it as soon as who started it ends, in whatever way; what
 * a guard leaves behind that was itself killed, the next one undoes. The kernel's own state says
 * what is ours: no file does. */
#ifndef CC_NETSIM_LAB_SHAPE_H
#define CC_NETSIM_LAB_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"

struct cc_shape_config {
    const char *device;
    double bw_bps; /* each way, as tc counts frames */
    size_t burst_bytes, limit_bytes;
};

struct cc_shaping {
    pid_t guard;
    int hold; /* the guard waits for its end */
};

/* The program's option `--shape DEVICE BW BURST LIMIT` must be cc_shape_guard. Done when this
 * returns. Messages name the host. */
int cc_shaping_begin(const char *program, const struct cc_shape_config *config,
                     struct cc_shaping *out, struct cc_error *e);
/* Undone when this returns. */
int cc_shaping_end(struct cc_shaping *s, struct cc_error *e);

/* The guard: shapes, says "ok" or the reason why not in a line on stdout, waits for the end of
 * stdin or a signal, undoes it. argv: the four words behind --shape, and NULL. The process's exit
 * code. */
int cc_shape_guard(char *const argv[]);

#endif
