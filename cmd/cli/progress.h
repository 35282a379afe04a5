/* A progress bar on stderr if it is a terminal; else nothing is printed. */
#ifndef CC_CMD_CLI_PROGRESS_H
#define CC_CMD_CLI_PROGRESS_H

#include <stdbool.h>

struct cc_progress {
    bool on;
    double began, shown;  /* when it began and was last drawn, cc_now */
    double before, share; /* parts of the whole: those done before, and the one that is shown */
};

void cc_progress_begin(struct cc_progress *p, bool quiet);
/* Divides the whole: from here on, cc_progress_show is told of a part that takes this share of what
 * the parts before it have left. A bar that is not divided has one part. */
void cc_progress_part(struct cc_progress *p, double share);
/* Draws the bar with how far the part is done, in [0, 1], and the time left for the whole,
 * estimated in proportion. At most ten times a second. */
void cc_progress_show(struct cc_progress *p, const char *what, double done);
/* The same with the seconds left as the caller estimates them. */
void cc_progress_left(struct cc_progress *p, const char *what, double done, double left_s);
/* Erases the bar until it is drawn again, so that a line can be printed. */
void cc_progress_clear(struct cc_progress *p);
/* Erases the bar for good. */
void cc_progress_end(struct cc_progress *p);

#endif
