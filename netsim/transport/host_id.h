/* Identifies the machine and the network that a rank runs on, so that ranks can tell whether they
 * share cores, memory and interfaces. */
#ifndef CC_NETSIM_TRANSPORT_HOST_ID_H
#define CC_NETSIM_TRANSPORT_HOST_ID_H

#include <stdint.h>

/* Hashes: equal numbers mean the same machine, or the same network namespace. The hosts of a lab
 * are one machine with several networks. 0 where the system does not tell. */
struct cc_host_id {
    uint64_t machine, network;
};
struct cc_host_id cc_host_id_here(void);

#endif
