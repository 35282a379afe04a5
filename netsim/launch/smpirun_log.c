/* Each line is stripped of SimGrid's prefix ("[0.000000] ./src/...: [xbt_exception/ERROR] ") and
 * then matched against known texts of SimGrid 3.32: noise is dropped, the lines of a deadlock
 * report are counted, and the rest sets a flag where it tells a known reason and goes to the log
 * tail. */
#include "netsim/launch/smpirun_log.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES 400 /* the bytes of a line that count; the rest is ignored */

static bool has(const char *line, const char *part)
{
    return strstr(line, part) != NULL;
}

static bool begins(const char *line, const char *part)
{
    return strncmp(line, part, strlen(part)) == 0;
}

const char *cc_simgrid_text(const char *line)
{
    static const char *const marks[] = {"/INFO] ", "/WARNING] ", "/ERROR] ", "/CRITICAL] "};
    for (size_t i = 0; line[0] == '[' && i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(line, marks[i]);
        if (at != NULL)
            return at + strlen(marks[i]);
    }
    return line;
}

const char *cc_simgrid_reason(const char *text)
{
    const char *what = begins(text, "Uncaught exception ") ? strstr(text, ": ") : NULL;
    return what != NULL ? what + 2 : text;
}

/* Lines without information for the user: the command that smpirun ran, lists of settings, places
 * in SimGrid's source, and what the exit code tells as well. */
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

/* Takes "Actor 5 (4@h4): waiting for communication activity ...", where actors are named by rank.
 */
static bool take_waiting_rank(struct cc_smpirun_log *log, const char *line)
{
    int rank;
    if (sscanf(line, "Actor %*d (%d@", &rank) != 1)
        return false;
    if (log->waiting < CC_SMPI_RANKS)
        log->rank[log->waiting] = rank;
    log->waiting++;
    return true;
}

/* Copies a line with "/proc/123/fd/4", the path under which SimGrid reads the platform, replaced by
 * "the platform". */
static void copy_naming_platform(const char *line, char *out, size_t size)
{
    int from = 0, to = 0; /* where the path begins and ends */
    if (sscanf(line, "Parse error at %n/proc/%*d/fd/%*d%n", &from, &to) == 0 && to > from)
        (void)snprintf(out, size, "%.*sthe platform, line %s", from, line,
                       line[to] == ':' ? line + to + 1 : line + to);
    else
        (void)snprintf(out, size, "%s", line);
}

void cc_smpirun_log_add(struct cc_smpirun_log *log, struct cc_log_tail *tail, const char *line,
                        size_t length)
{
    char whole[LINE_BYTES], named[LINE_BYTES + 40];
    (void)snprintf(whole, sizeof whole, "%.*s", length < LINE_BYTES ? (int)length : LINE_BYTES,
                   line);
    const char *text = cc_simgrid_text(whole);
    if (is_noise(text) || take_waiting_rank(log, text))
        return;
    if (has(text, "Deadlock detected")) {
        log->deadlock = true;
        return;
    }
    if (has(whole, "[ker_engine/INFO]"))
        return;
    log->no_memory = log->no_memory || is_about_memory(text);
    log->unknown_setting = log->unknown_setting || has(text, "Bad config key");
    log->unknown_host = log->unknown_host || has(text, "Host not found");
    copy_naming_platform(cc_simgrid_reason(text), named, sizeof named);
    cc_log_tail_add(tail, named, strlen(named));
}

void cc_smpirun_log_waiting(const struct cc_smpirun_log *log, char *out, size_t size)
{
    int used = snprintf(out, size, "%zu ranks (", log->waiting);
    for (size_t i = 0; i < log->waiting && i < CC_SMPI_RANKS; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%d", i > 0 ? ", " : "", log->rank[i]);
    (void)snprintf(out + used, size - (size_t)used, "%s)",
                   log->waiting > CC_SMPI_RANKS ? ", ..." : "");
}
