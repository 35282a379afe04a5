#include "netsim/launch/log_tail.h"

#include <stdio.h>
#include <string.h>

/* The longest message of mpirun that is worth quoting whole has as many. */
#define BLOCK_LINES 5

/* Puts `text`, a line of a block, behind what is there; squeezes white space. */
static void append(char *out, size_t size, const char *text, size_t length)
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

static bool blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

/* "--------", as mpirun draws it; others' are as long at least. */
static bool is_ruler(const char *line, size_t length)
{
    if (length < 40)
        return false;
    for (size_t i = 0; i < length; i++)
        if (line[i] != '-')
            return false;
    return true;
}

/* How much a block says about the reason: 0 is nothing. */
static int rank_of(const char *block)
{
    if (block[0] == '\0' || strncmp(block, "Primary job terminated normally", 31) == 0)
        return 0;
    if (strncmp(block, "mpirun noticed that process rank", 32) == 0)
        return 4; /* who died, where, of what */
    if (strncmp(block, "mpirun detected that one or more processes exited", 49) == 0 ||
        strncmp(block, "MPI_ABORT was invoked", 21) == 0)
        return 2; /* who, but not of what */
    if (strncmp(block, "ORTE does not know how to route", 31) == 0 ||
        strncmp(block, "WARNING", 7) == 0)
        return 1; /* what follows from something else */
    return 3;
}

static void end_block(struct cc_log_tail *w)
{
    int rank = rank_of(w->block);
    if (rank > w->best_rank) {
        w->best_rank = rank;
        memcpy(w->best, w->block, sizeof w->best);
    }
    w->in_block = false;
}

/* "1 more process has sent help message ...", and how to see them. */
static bool is_about_messages(const char *line, size_t length)
{
    return memmem(line, length, "sent help message", 17) != NULL ||
           memmem(line, length, "orte_base_help_aggregate", 24) != NULL;
}

/* Lines of a backtrace, "[host:123] [ 0] ..." and "[host:123] *** ...", say less than the others.
 */
static bool is_backtrace(const char *line, size_t length)
{
    const char *end = length > 0 && line[0] == '[' ? memchr(line, ']', length) : NULL;
    if (end == NULL || (size_t)(end - line) + 3 > length)
        return false;
    return end[1] == ' ' && (end[2] == '[' || end[2] == '*');
}

void cc_log_tail_add(struct cc_log_tail *w, const char *line, size_t length)
{
    if (is_ruler(line, length)) {
        /* Between two messages there is a line for each. */
        bool began = w->in_block && w->block_lines > 0;
        if (began) {
            end_block(w);
            return;
        }
        w->in_block = true;
        w->block_lines = 0;
        w->block[0] = '\0';
        return;
    }
    if (blank(line, length))
        return;
    if (w->in_block) {
        if (w->block_lines++ < BLOCK_LINES)
            append(w->block, sizeof w->block, line, length);
        return;
    }
    if (is_backtrace(line, length) || is_about_messages(line, length))
        return;
    char *place = w->loose[w->loose_lines++ % CC_LOG_TAIL_LINES];
    place[0] = '\0';
    append(place, CC_LOG_TAIL_WIDTH, line, length);
}

/* Behind what is there, "; " between. */
static void add(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    if (text[0] != '\0')
        (void)snprintf(out + used, size - used, "%s%s", used > 0 ? "; " : "", text);
}

void cc_log_tail_text(const struct cc_log_tail *w, char *out, size_t size)
{
    out[0] = '\0';
    /* A message that broke off, if there is no better one. */
    const char *block = w->in_block && rank_of(w->block) > w->best_rank ? w->block : w->best;
    /* Loose lines come first, as the reason does: as many of the last as leave room for it. */
    size_t first = w->loose_lines, used = strlen(block);
    while (first > 0 && w->loose_lines - first < CC_LOG_TAIL_LINES) {
        used += strlen(w->loose[(first - 1) % CC_LOG_TAIL_LINES]) + 2;
        if (used >= size && first < w->loose_lines)
            break;
        first--;
    }
    for (size_t i = first; i < w->loose_lines; i++)
        add(out, size, w->loose[i % CC_LOG_TAIL_LINES]);
    add(out, size, block);
}
