/* A progress bar on a terminal's stderr; nothing anywhere else. */
#ifndef CC_CMD_CLI_PROGRESS_H
#define CC_CMD_CLI_PROGRESS_H

#include <stdbool.h>

struct cc_progress {
    bool on;
    double began, shown; /* seconds of the monotonic clock */
};

void cc_progress_begin(struct cc_progress *p, bool quiet);
/* done in [0, 1]; redrawn at most ten times a second. */
void cc_progress_show(struct cc_progress *p, const char *what, double done);
/* The same, where the caller knows better than by proportion how many seconds are left. */
void cc_progress_left(struct cc_progress *p, const char *what, double done, double left_s);
/* Wipes the bar. */
void cc_progress_end(struct cc_progress *p);

#endif
