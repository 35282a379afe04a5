/* What an interface has carried. */
#ifndef CC_NETSIM_LAB_INTERFACE_BYTES_H
#define CC_NETSIM_LAB_INTERFACE_BYTES_H

#include <stdint.h>

#include "core/error.h"

/* Bytes since the interface is there, as they are on a wire: every segment with its headers. */
struct cc_interface_bytes {
    uint64_t sent, received;
};
int cc_interface_bytes_read(const char *device, struct cc_interface_bytes *out, struct cc_error *e);

#endif
