/* The host that a rank is on, as far as its measurements depend on it. */
#ifndef CC_NETSIM_MPI_HOST_H
#define CC_NETSIM_MPI_HOST_H

#include <stdint.h>

#include "core/error.h"

/* What tells machines apart, and networks (several hosts of a lab are one machine): equal numbers
 * are the same one. 0 where the system does not tell. */
struct cc_host {
    uint64_t machine, network;
};
struct cc_host cc_host_here(void);

/* Bytes that an interface has carried since it is there, headers of all packets included. */
struct cc_carried {
    uint64_t sent, received;
};
int cc_host_carried(const char *device, struct cc_carried *out, struct cc_error *e);

#endif
