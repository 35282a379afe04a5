/* The hosts of a platform follow from SimGrid's rules (clusters, loops, included zones), so SimGrid
 * is asked: commcomp-platform (cmd/platform.c) loads the file and prints its hosts as JSON. It is a
 * program of its own because commcomp links no SimGrid, and because SimGrid aborts on a file that
 * it does not accept; the first error that it prints becomes the message. It reads the very text
 * that the simulation will get, from stdin. */
#include "netsim/launch/platform_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/format/json.h"
#include "core/infile.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "netsim/launch/program.h"
#include "netsim/launch/smpirun_log.h"
#include "netsim/platform/platform_xml.h"

#define BUILD_IT                                                                                   \
    "make builds it where SimGrid is installed (Debian: apt-get install libsimgrid-dev)"
#define OUTPUT_BYTES   ((size_t)256 << 20)
#define REASON_WIDTH   200
#define EXIT_TIMEOUT_S 2.0

/* --- running the program --- */

/* Reads what the stream holds now. */
static int read_stream(int *fd, struct cc_output *o, struct cc_error *e)
{
    for (bool more = true; more && *fd >= 0;) {
        CC_TRY(cc_program_read(fd, o, &more, e));
        if (o->length > OUTPUT_BYTES)
            return cc_fail(e, "commcomp-platform prints more than %zu bytes", OUTPUT_BYTES);
    }
    return CC_OK;
}

static int read_until_end(struct cc_program *p, struct cc_output *out, struct cc_output *err,
                          struct cc_error *e)
{
    while (!p->ended) {
        cc_program_await(p, 0.02);
        if (cc_interrupted())
            return cc_fail(e, "interrupted");
        /* In this order: after the end, the streams hold all that it has printed. */
        CC_TRY(cc_program_poll(p, e));
        CC_TRY(read_stream(&p->out, out, e));
        CC_TRY(read_stream(&p->err, err, e));
    }
    return CC_OK;
}

/* --- SimGrid's errors --- */

/* The first line of an error, without SimGrid's prefix; else the last line. Cuts the text into
 * lines. */
static const char *find_error(char *text)
{
    char *last = "", *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '[' && (strstr(line, "/ERROR] ") || strstr(line, "/CRITICAL] ")))
            return cc_simgrid_text(line);
        if (line[0] != '\0')
            last = line;
    }
    return last;
}

/* Removes the kind of an exception, and the descriptor's path from the place of a parse error. */
static void shorten(const char *reason, char *out, size_t size)
{
    static const char place[] = "Parse error at ";
    const char *text = cc_simgrid_reason(reason);
    const char *line =
        strncmp(text, place, strlen(place)) == 0 ? strchr(text + strlen(place), ':') : NULL;
    if (line != NULL)
        (void)snprintf(out, size, "line %s", line + 1);
    else
        (void)snprintf(out, size, "%s", text);
}

static int explain_failure(const struct cc_program *p, struct cc_output *err, struct cc_error *e)
{
    char reason[REASON_WIDTH] = "", end[80];
    if (WIFEXITED(p->status) && WEXITSTATUS(p->status) == 127)
        return cc_fail(e, "commcomp-platform could not be started; " BUILD_IT);
    if (err->length > 0) {
        err->text[err->length - 1] = '\0';
        shorten(find_error(err->text), reason, sizeof reason);
    }
    if (reason[0] != '\0')
        return cc_fail(e, "no platform that SimGrid can read: %s", reason);
    cc_exit_text(p->status, end, sizeof end);
    return cc_fail(e, "no platform that SimGrid can read: commcomp-platform %s", end);
}

/* --- the hosts --- */

struct hosts {
    size_t need;  /* number of ranks */
    size_t count; /* number of hosts in the file */
    struct cc_platform *out;
};

/* Takes the names of the first hosts, one for each rank; none if the file has fewer hosts. A
 * callback of cc_json_parse_as. */
static int read_hosts(const cJSON *root, void *arg, struct cc_error *e)
{
    struct hosts *h = arg;
    CC_TRY(cc_json_schema(root, CC_HOSTS_SCHEMA, "is commcomp-platform of another version?", e));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "hosts");
    h->count = (size_t)cJSON_GetArraySize(list);
    if (h->count < h->need)
        return CC_OK;
    CC_TRY(CC_NEW(h->out->host, h->need, e));
    for (const cJSON *host = list->child; h->out->hosts < h->need; host = host->next) {
        const char *name, *shared;
        CC_TRY(cc_json_need_text(host, "name", &name, e));
        CC_TRY(cc_json_text(host, "shared", &shared, e));
        /* Ranks measure time with messages to themselves, which others must not delay. */
        if (shared != NULL)
            return cc_fail(e,
                           "%s has no loopback: its messages to itself go over \"%s\", beside "
                           "those to others. Give it a route to itself over a link with "
                           "sharing_policy=\"FATPIPE\", or a <cluster> loopback_bw=\"1GBps\" "
                           "loopback_lat=\"0s\"",
                           name, shared);
        CC_TRY(cc_text(&h->out->host[h->out->hosts++], e, "%s", name));
    }
    return CC_OK;
}

/* Runs commcomp-platform on h->out->xml. */
static int ask_simgrid(const char *program, struct hosts *h, struct cc_error *e)
{
    char *argv[] = {(char *)program, (char *)"/proc/self/fd/0", NULL};
    const char *xml = h->out->xml;
    struct cc_output out = {0}, err = {0};
    struct cc_program p;
    CC_TRY(cc_program_start(&(struct cc_program_way){.lab = NULL}, argv, xml, strlen(xml), &p, e));
    int status = read_until_end(&p, &out, &err, e);
    if (status != CC_OK)
        (void)cc_program_stop(&p, EXIT_TIMEOUT_S, NULL);
    else if (!(WIFEXITED(p.status) && WEXITSTATUS(p.status) == 0))
        status = explain_failure(&p, &err, e);
    else
        status = cc_json_parse_as(out.text, out.length, read_hosts, h, e);
    cc_program_close(&p);
    free(out.text);
    free(err.text);
    return status;
}

/* Reads a file as a string. */
static int read_text(const char *path, char **out, struct cc_error *e)
{
    struct cc_bytes file;
    CC_TRY(cc_file_read(path, &file, e));
    const uint8_t *zero = memchr(file.data, 0, file.size);
    if (zero != NULL) {
        const ptrdiff_t at = zero - file.data;
        cc_bytes_free(&file);
        return cc_fail(e, "%s: no XML: byte %td is 0", path, at);
    }
    *out = (char *)file.data;
    return CC_OK;
}

int cc_platform_read(const char *path, int workers, int servers, struct cc_platform *out,
                     struct cc_error *e)
{
    struct cc_platform read = {.uneven_routes = true}; /* not known, so possible */
    struct hosts hosts = {.need = (size_t)workers + (size_t)servers, .out = &read};
    char need[CC_PLATFORM_NEED_CAP];
    int status = CC_OK;
    char *program = cc_program_beside("commcomp-platform", "COMMCOMP_PLATFORM", BUILD_IT, e);
    if (program == NULL)
        return CC_FAIL;
    CC_TRY_OUT(read_text(path, &read.xml, e));
    status = ask_simgrid(program, &hosts, e);
    if (status != CC_OK) {
        cc_error_in(e, "%s", path);
        goto out;
    }
    if (hosts.count < hosts.need) {
        cc_platform_print_need(workers, servers, need);
        status = cc_fail(e, "%s has %zu host%s, and %s", path, hosts.count,
                         hosts.count == 1 ? "" : "s", need);
    }
out:
    free(program);
    if (status == CC_OK)
        *out = read;
    else
        cc_platform_free(&read);
    return status;
}
