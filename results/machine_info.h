/* The machine that produced a result. */
#ifndef CC_RESULTS_MACHINE_INFO_H
#define CC_RESULTS_MACHINE_INFO_H

#include <stddef.h>

struct cc_machine_info {
    char cpu[128];
    int cores; /* usable by this process */
    const char *isa;
    char kernel[160];
    const char *compiler;
    const char *version; /* commcomp's */
    char time[32];       /* UTC, ISO 8601 */
};

/* Reads it, with the time of the first reading of this process, so that all documents of a run have
 * the same; what the system does not report is "unknown". */
void cc_machine_info_read(struct cc_machine_info *h);

#endif
