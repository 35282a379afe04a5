/* The host that a rank is on, as far as its measurements depend on it. */
#ifndef CC_NETSIM_MPI_RUNTIME_HOST_ID_H
#define CC_NETSIM_MPI_RUNTIME_HOST_ID_H

#include <stdint.h>

/* What tells machines apart, and networks (several hosts of a lab are one machine): equal numbers
 * are the same one. 0 where the system does not tell. */
struct cc_host_id {
    uint64_t machine, network;
};
struct cc_host_id cc_host_id_here(void);

#endif
