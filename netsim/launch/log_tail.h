/* The tail of a program's output: keeps the lines that tell best why it failed, and shortens them
 * to one line for an error message. Recognises mpirun's messages. */
#ifndef CC_NETSIM_LAUNCH_LOG_TAIL_H
#define CC_NETSIM_LAUNCH_LOG_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#define CC_LOG_TAIL_LINES 4   /* single lines that are kept */
#define CC_LOG_TAIL_WIDTH 160 /* bytes kept of each */

/* mpirun frames each of its messages, a "block", by two lines of dashes, with the reason in its
 * first lines. All other lines are single. */
struct cc_log_tail {
    bool in_block;
    size_t block_lines;                                /* read so far of the current block */
    char block[400];                                   /* its first lines, joined */
    char best[400];                                    /* the most informative block so far */
    int best_rank;                                     /* its rank, see rank_of() */
    char single[CC_LOG_TAIL_LINES][CC_LOG_TAIL_WIDTH]; /* ring buffer */
    size_t single_lines;                               /* number added so far */
};

/* Adds one output line, given without its newline. Start from a zeroed struct. */
void cc_log_tail_add(struct cc_log_tail *t, const char *line, size_t length);

/* Writes the last single lines and the best block, at most size - 1 bytes; an empty string if there
 * are none. */
void cc_log_tail_text(const struct cc_log_tail *t, char *out, size_t size);

#endif
