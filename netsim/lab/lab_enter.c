/* The lab's agent, which mpirun runs where it would run ssh on a cluster: `AGENT HOST COMMAND...`.
 * It moves itself into the host's network namespace, takes the host's name and a temporary
 * directory of the host's own, since Open MPI's daemons name their files by host, and becomes a
 * shell with the command. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "netsim/lab/lab_impl.h"

/* Joins the arguments with blanks, as ssh does before it passes them to the shell of the other
 * host. */
static char *join(char *const argv[], struct cc_error *e)
{
    size_t bytes = 1;
    for (size_t i = 0; argv[i] != NULL; i++)
        bytes += strlen(argv[i]) + 1;
    char *line = cc_alloc(bytes, e);
    char *p = line;
    for (size_t i = 0; line != NULL && argv[i] != NULL; i++)
        p += sprintf(p, i > 0 ? " %s" : "%s", argv[i]);
    return line;
}

/* Gives this process the host's name and temporary directory. */
static int set_host(const char *host, struct cc_error *e)
{
    char folder[128];
    (void)snprintf(folder, sizeof folder, CC_LAB_FOLDER "/%s", host);
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(host, strlen(host)) != 0)
        return cc_fail(e, "%s: naming the host: %s", host, strerror(errno));
    if ((mkdir(folder, 0755) != 0 && errno != EEXIST) || setenv("TMPDIR", folder, 1) != 0)
        return cc_fail(e, "%s: %s", folder, strerror(errno));
    return CC_OK;
}

int cc_lab_enter(const char *host, char *const argv[], struct cc_error *e)
{
    char path[128];
    if (strlen(host) > 63 || strchr(host, '/') != NULL)
        return cc_fail(e, "%s: no name of a host", host);
    (void)snprintf(path, sizeof path, CC_LAB_NETNS "/%s", host);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return cc_fail(e, "%s: no such host in this lab: %s: %s", host, path, strerror(errno));
    int failed = setns(fd, CLONE_NEWNET);
    int error = errno;
    close(fd);
    if (failed != 0)
        return cc_fail(e, "%s: entering the host: %s", host, strerror(error));
    CC_TRY(set_host(host, e));
    char *line = join(argv, e);
    if (line == NULL)
        return CC_FAIL;
    int status;
    if (line[0] == '\0') {
        status = cc_fail(e, "%s: no command to run there", host);
    } else {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        status = cc_fail(e, "/bin/sh: %s", strerror(errno));
    }
    free(line);
    return status;
}
