/* Counting the bytes that a network interface has carried. */
#ifndef CC_NETSIM_LAB_INTERFACE_BYTES_H
#define CC_NETSIM_LAB_INTERFACE_BYTES_H

#include <stdint.h>

#include "core/error.h"

/* Bytes since the interface was created, as on the wire: every segment with its headers. */
struct cc_interface_bytes {
    uint64_t sent, received;
};

/* Reads the counters of an interface of this network namespace. Fails if there is none of that
 * name. */
int cc_interface_bytes_read(const char *device, struct cc_interface_bytes *out, struct cc_error *e);

#endif
