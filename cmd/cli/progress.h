/* A progress bar on stderr if it is a terminal; else nothing is printed. */
#ifndef CC_CMD_CLI_PROGRESS_H
#define CC_CMD_CLI_PROGRESS_H

#include <stdbool.h>

struct cc_progress {
    bool on;
    double began, shown; /* when it began and was last drawn, cc_now */
};

void cc_progress_begin(struct cc_progress *p, bool quiet);
/* Draws the bar with the part that is done, in [0, 1], and the time left, estimated in proportion.
 * At most ten times a second. */
void cc_progress_show(struct cc_progress *p, const char *what, double done);
/* The same with the seconds left as the caller estimates them. */
void cc_progress_left(struct cc_progress *p, const char *what, double done, double left_s);
/* Erases the bar. */
void cc_progress_end(struct cc_progress *p);

#endif
