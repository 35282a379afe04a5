#include "netsim/launch/smpirun_log.h"

#include <stdio.h>
#include <string.h>

#define LINE 400 /* of a line, so much is looked at */

static bool has(const char *line, const char *part)
{
    return strstr(line, part) != NULL;
}

static bool begins(const char *line, const char *part)
{
    return strncmp(line, part, strlen(part)) == 0;
}

/* Behind "[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] ". */
static const char *behind_marks(const char *line)
{
    static const char *const marks[] = {"/INFO] ", "/WARNING] ", "/ERROR] ", "/CRITICAL] "};
    for (size_t i = 0; line[0] == '[' && i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(line, marks[i]);
        if (at != NULL)
            return at + strlen(marks[i]);
    }
    return line;
}

/* Lines that help nobody: what smpirun ran, what any setting is, where in SimGrid it was; and what
 * its exit code says anyway. */
static bool is_noise(const char *line)
{
    static const char *const beginnings[] = {
        "  ->",
        "Backtrace (",
        "Current backtrace",
        "Exiting now",
        "Existing config keys",
        "Execution failed with code",
        "Aborted",
        "Killed",
        "Terminated",
        "Segmentation fault",
        "Try to enable SMPI variable privatization",
        "If you are running a lot of ranks",
        "On Linux systems, change this value",
        "Please see https://simgrid.org/",
        "SMPI process did not return 0",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (begins(line, beginnings[i]))
            return true;
    bool setting = begins(line, "  ") && (has(line, ": (int)") || has(line, ": (double)") ||
                                          has(line, ": (string)") || has(line, ": (boolean)"));
    return setting || has(line, " --cfg=smpi/privatization:");
}

static bool is_about_memory(const char *line)
{
    static const char *const parts[] = {
        "Failed to allocate", "Failed to protect stack", "Memory allocation of",
        "bad_alloc",          "annot allocate memory",   "Could not map folded",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (has(line, parts[i]))
            return true;
    return false;
}

/* "Actor 5 (4@h4): waiting for communication activity ..."; their names are the ranks'. */
static bool is_waiting(struct cc_smpirun_log *s, const char *line)
{
    int rank;
    if (sscanf(line, "Actor %*d (%d@", &rank) != 1)
        return false;
    if (s->waiting < CC_SMPI_RANKS)
        s->rank[s->waiting] = rank;
    s->waiting++;
    return true;
}

/* What SimGrid reads has no name: "/proc/123/fd/4" is the platform, whose line comes next. */
static void name_platform(const char *line, char *out, size_t size)
{
    int from = 0, to = 0; /* as far as it reads */
    if (sscanf(line, "Parse error at %n/proc/%*d/fd/%*d%n", &from, &to) == 0 && to > from)
        (void)snprintf(out, size, "%.*sthe platform, line %s", from, line,
                       line[to] == ':' ? line + to + 1 : line + to);
    else
        (void)snprintf(out, size, "%s", line);
}

void cc_smpirun_log_add(struct cc_smpirun_log *s, struct cc_log_tail *words, const char *line,
                        size_t length)
{
    char whole[LINE], said[LINE + 40];
    (void)snprintf(whole, sizeof whole, "%.*s", length < LINE ? (int)length : LINE, line);
    const char *text = behind_marks(whole);
    if (is_noise(text) || is_waiting(s, text))
        return;
    if (has(text, "Deadlock detected")) {
        s->deadlock = true;
        return;
    }
    if (has(whole, "[ker_engine/INFO]"))
        return;
    s->memory = s->memory || is_about_memory(text);
    s->version = s->version || has(text, "Bad config key");
    s->host = s->host || has(text, "Host not found");
    /* "Uncaught exception std::invalid_argument: ..." */
    const char *what = begins(text, "Uncaught exception ") ? strstr(text, ": ") : NULL;
    text = what != NULL ? what + 2 : text;
    name_platform(text, said, sizeof said);
    cc_log_tail_add(words, said, strlen(said));
}

void cc_smpirun_log_waiting(const struct cc_smpirun_log *s, char *out, size_t size)
{
    int used = snprintf(out, size, "%zu ranks (", s->waiting);
    for (size_t i = 0; i < s->waiting && i < CC_SMPI_RANKS; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%d", i > 0 ? ", " : "", s->rank[i]);
    (void)snprintf(out + used, size - (size_t)used, "%s)",
                   s->waiting > CC_SMPI_RANKS ? ", ..." : "");
}
