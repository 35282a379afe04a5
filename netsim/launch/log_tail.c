/* Open MPI explains a failure in several blocks between lines of dashes, and most of them only
 * follow from one of the others. rank_of() orders them by their first words; the best one is kept,
 * the first of equals. Single lines come from ssh, from the shell or from the program itself; the
 * last CC_LOG_TAIL_LINES of them are kept in a ring buffer, without backtraces and lines
 * that do not help. */
#include "netsim/launch/log_tail.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"

/* Lines kept of a block: enough for the longest message of mpirun that is worth quoting whole. */
#define BLOCK_LINES 5

/* Appends text to the string in out, with white space reduced to single blanks. */
static void append_squeezed(char *out, size_t size, const char *text, size_t length)
{
    size_t used = strlen(out);
    bool space = used > 0;
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
            space = used > 0;
            continue;
        }
        if (space)
            out[used++] = ' ';
        space = false;
        out[used++] = text[i];
    }
    out[used] = '\0';
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

/* A line of dashes around a block; all that mpirun prints have 40 or more. */
static bool is_dashes(const char *line, size_t length)
{
    if (length < 40)
        return false;
    for (size_t i = 0; i < length; i++)
        if (line[i] != '-')
            return false;
    return true;
}

/* How much a block tells about the reason: 0 is nothing. */
static int rank_of(const char *block)
{
    if (block[0] == '\0' || strncmp(block, "Primary job terminated normally", 31) == 0)
        return 0;
    if (strncmp(block, "mpirun noticed that process rank", 32) == 0)
        return 4; /* says which process died, where and why */
    if (strncmp(block, "mpirun detected that one or more processes exited", 49) == 0 ||
        strncmp(block, "MPI_ABORT was invoked", 21) == 0)
        return 2; /* says which process, but not why */
    if (strncmp(block, "ORTE does not know how to route", 31) == 0 ||
        strncmp(block, "WARNING", 7) == 0)
        return 1; /* a consequence of something else */
    return 3;
}

static void end_block(struct cc_log_tail *t)
{
    int rank = rank_of(t->block);
    if (rank > t->best_rank) {
        t->best_rank = rank;
        memcpy(t->best, t->block, sizeof t->best);
    }
    t->in_block = false;
}

/* A line that does not help: "1 more process has sent help message ...", the hint how to see them
 * all, and that the agent of a host, such as ssh, ran before mpirun had given it a process group.
 */
static bool is_noise(const char *line, size_t length)
{
    static const char *const parts[] = {"sent help message", "orte_base_help_aggregate",
                                        "plm:rsh: Warning: setpgid("};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (memmem(line, length, parts[i], strlen(parts[i])) != NULL)
            return true;
    return false;
}

/* A line of a backtrace, "[host:123] [ 0] ..." or "[host:123] *** ...". */
static bool is_backtrace(const char *line, size_t length)
{
    const char *end = length > 0 && line[0] == '[' ? memchr(line, ']', length) : NULL;
    if (end == NULL || (size_t)(end - line) + 3 > length)
        return false;
    return end[1] == ' ' && (end[2] == '[' || end[2] == '*');
}

void cc_log_tail_add(struct cc_log_tail *t, const char *line, size_t length)
{
    if (is_dashes(line, length)) {
        /* Two adjacent blocks have a line of dashes each, so one after an empty block begins
         * another. */
        bool began = t->in_block && t->block_lines > 0;
        if (began) {
            end_block(t);
            return;
        }
        t->in_block = true;
        t->block_lines = 0;
        t->block[0] = '\0';
        return;
    }
    if (is_blank(line, length))
        return;
    if (t->in_block) {
        if (t->block_lines++ < BLOCK_LINES)
            append_squeezed(t->block, sizeof t->block, line, length);
        return;
    }
    if (is_backtrace(line, length) || is_noise(line, length))
        return;
    char *slot = t->single[t->single_lines++ % CC_LOG_TAIL_LINES];
    slot[0] = '\0';
    append_squeezed(slot, CC_LOG_TAIL_WIDTH, line, length);
}

/* Appends text to the string in out, with "; " between. */
static void append_joined(char *out, size_t size, const char *text)
{
    if (text[0] != '\0')
        cc_list_add(out, size, "; ", "%s", text);
}

void cc_log_tail_text(const struct cc_log_tail *t, char *out, size_t size)
{
    out[0] = '\0';
    /* The current block may have been cut off: it counts if it is better than the complete ones. */
    const char *block = t->in_block && rank_of(t->block) > t->best_rank ? t->block : t->best;
    /* Single lines precede the block, as they usually come first and tell the cause. Takes as many
     * of the last ones as leave room for the block, but at least one. */
    size_t first = t->single_lines, used = strlen(block);
    while (first > 0 && t->single_lines - first < CC_LOG_TAIL_LINES) {
        used += strlen(t->single[(first - 1) % CC_LOG_TAIL_LINES]) + 2;
        if (used >= size && first < t->single_lines)
            break;
        first--;
    }
    for (size_t i = first; i < t->single_lines; i++)
        append_joined(out, size, t->single[i % CC_LOG_TAIL_LINES]);
    append_joined(out, size, block);
}
