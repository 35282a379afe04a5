/* The last words of a program that ended badly: what it printed, shortened to one line that says
 * why. Knows how mpirun talks. */
#ifndef CC_NETSIM_LAUNCH_LOG_TAIL_H
#define CC_NETSIM_LAUNCH_LOG_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#define CC_LOG_TAIL_LINES 4   /* loose lines that are kept: the last */
#define CC_LOG_TAIL_WIDTH 160 /* of each */

/* mpirun prints its messages between two lines of dashes, the gist first. */
struct cc_log_tail {
    bool in_block;
    size_t block_lines;                               /* of the block that is being read */
    char block[400];                                  /* its beginning */
    char best[400];                                   /* the block that says most */
    int best_rank;                                    /* how much it says */
    char loose[CC_LOG_TAIL_LINES][CC_LOG_TAIL_WIDTH]; /* other lines: a ring */
    size_t loose_lines;                               /* so many were there */
};

/* One line that it printed, without the newline. Start from a struct of zeros. */
void cc_log_tail_add(struct cc_log_tail *w, const char *line, size_t length);
/* At most size - 1 bytes; empty when nothing was said. */
void cc_log_tail_text(const struct cc_log_tail *w, char *out, size_t size);

#endif
