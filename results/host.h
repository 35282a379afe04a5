/* What machine produced a result. */
#ifndef CC_RESULTS_HOST_H
#define CC_RESULTS_HOST_H

#include <stddef.h>

struct cc_host {
    char cpu[128];
    int cores; /* that this process may use */
    const char *isa;
    char kernel[160];
    const char *compiler;
    const char *version; /* commcomp's, from git */
    char time[32];       /* UTC, ISO 8601 */
};

void cc_host_read(struct cc_host *h);

/* commcomp's version, from git. */
const char *cc_version(void);

#endif
