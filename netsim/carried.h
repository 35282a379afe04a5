/* What an interface has carried. */
#ifndef CC_NETSIM_CARRIED_H
#define CC_NETSIM_CARRIED_H

#include <stdint.h>

#include "core/error.h"

/* Bytes since the interface is there, as they are on a wire: every segment with its headers. */
struct cc_carried {
    uint64_t sent, received;
};
int cc_host_carried(const char *device, struct cc_carried *out, struct cc_error *e);

#endif
