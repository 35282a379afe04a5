/* Shaping an interface of a cluster's host with tc, in both directions: leaving packets by a token
 * bucket on the interface, arriving ones by a token bucket on an ifb device through which they are
 * redirected. A process of its own, the guard, holds the shaping and undoes it as soon as the
 * process that started it ends, in whatever way. If the guard itself is killed, the next one undoes
 * what it left. No files are used: the state is in the kernel's disciplines and devices. */
#ifndef CC_NETSIM_LAB_SHAPE_H
#define CC_NETSIM_LAB_SHAPE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"

struct cc_shape_config {
    const char *device;
    double bw_bps; /* each direction, as tc counts frames */
    size_t burst_bytes, limit_bytes;
};

struct cc_shaping {
    pid_t guard;
    int hold; /* write end of the guard's stdin: closing it ends the guard */
};

/* Shapes an interface, until cc_shaping_end or the end of this process. `program` is the path of a
 * program whose option `--shape DEVICE BW BURST LIMIT` calls cc_shape_guard. Needs root. Refuses an
 * interface that is shaped already, by another run or by the user. Messages name the host. */
int cc_shaping_begin(const char *program, const struct cc_shape_config *config,
                     struct cc_shaping *out, struct cc_error *e);

/* Undoes the shaping before it returns. */
int cc_shaping_end(struct cc_shaping *s, struct cc_error *e);

/* The guard's main function; argv holds the four arguments of --shape and NULL. Returns the exit
 * code. */
int cc_shape_guard(char *const argv[]);

#endif
