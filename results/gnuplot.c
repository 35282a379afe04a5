/* Runs gnuplot as a child process. The picture comes through a pipe: gnuplot does not report that a
 * disk is full. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "results/plot.h"

/* Finds gnuplot's message on its stderr: the line that follows a copy of the script's line and a
 * mark below the place. */
static void find_message(FILE *f, char *text, size_t cap)
{
    char line[256];
    text[0] = '\0';
    rewind(f);
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        bool place = strncmp(line, "\"/dev/stdin\" ", 13) == 0;
        if (place || (text[0] == '\0' && strspn(line, " ^\t") < strlen(line)))
            (void)snprintf(text, cap, "%s", line + (place ? 13 : 0));
    }
}

static int spawn(FILE *script, int out, FILE *errors, pid_t *child)
{
    /* -d: none of the user's or the system's settings. */
    static char name[] = "gnuplot", plain[] = "-d", standard_input[] = "/dev/stdin";
    char *argv[] = {name, plain, standard_input, NULL};
    posix_spawn_file_actions_t files;
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0)
        return error;
    error = posix_spawn_file_actions_adddup2(&files, fileno(script), STDIN_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, fileno(errors), STDERR_FILENO);
    if (error == 0)
        error = posix_spawnp(child, name, &files, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Copies the picture, without the form feed with which a terminal's begins. After a write that
 * failed it goes on reading, so that gnuplot ends. Returns that write's errno, or 0. */
static int copy_picture(int from, FILE *out)
{
    char block[1 << 16];
    ssize_t n;
    int reason = 0;
    bool begins = true;
    while ((n = read(from, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)) {
        if (n <= 0)
            continue;
        const size_t skip = begins && block[0] == '\f', rest = (size_t)n - skip;
        if (reason == 0 && fwrite(block + skip, 1, rest, out) != rest)
            reason = errno;
        begins = false;
    }
    return reason;
}

static int wait_for(pid_t child, FILE *errors, struct cc_error *e)
{
    int status;
    char text[256];
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return cc_fail(e, "gnuplot: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CC_OK;
    /* glibc's posix_spawnp finds out itself; others' child exits with 127. */
    find_message(errors, text, sizeof text);
    if (WIFSIGNALED(status))
        return cc_fail(e, "gnuplot was ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    return cc_fail(e, "gnuplot could not draw it: %s", text);
}

int cc_gnuplot_run(FILE *script, FILE *out, struct cc_error *e)
{
    FILE *errors = cc_file_temporary("gnuplot's messages", e);
    pid_t child;
    int ends[2] = {-1, -1};
    if (errors == NULL)
        return CC_FAIL;
    if (fflush(script) != 0 || ferror(script)) {
        (void)fclose(errors);
        return cc_fail(e, "gnuplot's script cannot be written: %s", strerror(errno));
    }
    int error = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno, unwritten = 0;
    rewind(script);
    if (error == 0)
        error = spawn(script, ends[1], errors, &child);
    if (ends[1] >= 0)
        (void)close(ends[1]);
    if (error == 0)
        unwritten = copy_picture(ends[0], out);
    if (ends[0] >= 0)
        (void)close(ends[0]);
    int status = CC_OK;
    if (error == ENOENT)
        status = cc_fail(e, "gnuplot is not installed: on Debian `apt-get install gnuplot-nox`; or "
                            "write its script with --script FILE and draw it elsewhere");
    else if (error != 0)
        status = cc_fail(e, "gnuplot could not be started: %s", strerror(error));
    else
        status = wait_for(child, errors, e);
    (void)fclose(errors);
    errno = unwritten; /* for cc_file_commit */
    return status;
}
