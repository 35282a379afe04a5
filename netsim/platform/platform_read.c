/* Platforms that others wrote. Only SimGrid itself knows which hosts they have: commcomp-platform
 * asks it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/interrupt.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "netsim/launch/monitor.h"
#include "netsim/platform/platform_impl.h"
#include "netsim/launch/program.h"

#define BUILD_IT                                                                                   \
    "make builds it where SimGrid is installed (Debian: apt-get install libsimgrid-dev)"
#define OUTPUT_BYTES ((size_t)256 << 20)
#define REASON_WIDTH 200
#define PATIENCE_S   2.0

/* All that a program says on one of its streams. */
struct output {
    char *at;
    size_t length, capacity;
};

/* --- running the program --- */

/* What is there now; closes *fd at its end. */
static int take(int *fd, struct output *o, struct cc_error *e)
{
    while (*fd >= 0) {
        if (cc_grow((void **)&o->at, &o->capacity, o->length + 65536, 1, e) != CC_OK)
            return CC_FAIL;
        const ssize_t got = read(*fd, o->at + o->length, o->capacity - o->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return CC_OK;
        if (got > 0 && (o->length += (size_t)got) <= OUTPUT_BYTES)
            continue;
        (void)close(*fd);
        *fd = -1;
        if (got > 0)
            return cc_fail(e, "commcomp-platform says more than %zu bytes", OUTPUT_BYTES);
    }
    return CC_OK;
}

static int hear_out(struct cc_program *p, struct output *out, struct output *err,
                    struct cc_error *e)
{
    while (!p->ended) {
        struct pollfd at[2] = {{.fd = p->out, .events = POLLIN}, {.fd = p->err, .events = POLLIN}};
        (void)poll(at, 2, 20);
        if (cc_interrupted())
            return cc_fail(e, "interrupted");
        /* What it said before it ended is there once it has. */
        if (cc_program_poll(p, e) != CC_OK || take(&p->out, out, e) != CC_OK ||
            take(&p->err, err, e) != CC_OK)
            return CC_FAIL;
    }
    return CC_OK;
}

/* --- what SimGrid does not like --- */

/* Behind "[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] ", in the first line that
 * has such a mark; else the last line. */
static const char *first_error(char *said)
{
    char *last = "", *rest = said;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *mark = line[0] == '[' ? strstr(line, "/ERROR] ") : NULL;
        if (mark == NULL && line[0] == '[')
            mark = strstr(line, "/CRITICAL] ");
        if (mark != NULL)
            return strchr(mark, ' ') + 1;
        if (line[0] != '\0')
            last = line;
    }
    return last;
}

/* Exceptions name their kind, and places the descriptor that SimGrid reads from. */
static void shorten(const char *reason, char *out, size_t size)
{
    static const char thrown[] = "Uncaught exception ", place[] = "Parse error at ";
    const char *at = reason;
    if (strncmp(at, thrown, strlen(thrown)) == 0 && strstr(at, ": ") != NULL)
        at = strstr(at, ": ") + 2;
    const char *line =
        strncmp(at, place, strlen(place)) == 0 ? strchr(at + strlen(place), ':') : NULL;
    if (line != NULL)
        (void)snprintf(out, size, "line %s", line + 1);
    else
        (void)snprintf(out, size, "%s", at);
}

static int refuse(const struct cc_program *p, struct output *err, struct cc_error *e)
{
    char reason[REASON_WIDTH] = "", end[80];
    if (WIFEXITED(p->status) && WEXITSTATUS(p->status) == 127)
        return cc_fail(e, "commcomp-platform could not be started; " BUILD_IT);
    if (err->length > 0) {
        err->at[err->length - 1] = '\0';
        shorten(first_error(err->at), reason, sizeof reason);
    }
    if (reason[0] != '\0')
        return cc_fail(e, "no platform that SimGrid can read: %s", reason);
    cc_exit_text(p->status, end, sizeof end);
    return cc_fail(e, "no platform that SimGrid can read: commcomp-platform %s", end);
}

/* --- its hosts --- */

struct hosts {
    size_t need, count; /* count: that it has */
    struct cc_platform *out;
};

/* Ranks measure time with messages to themselves. */
static int no_loopback(const char *host, const char *link, struct cc_error *e)
{
    return cc_fail(e,
                   "%s has no loopback: its messages to itself go over \"%s\", beside those to "
                   "others. Give it a route to itself over a link with sharing_policy=\"FATPIPE\", "
                   "or a <cluster> loopback_bw=\"1GBps\" loopback_lat=\"0s\"",
                   host, link);
}

/* The names of the first hosts, as many as there are ranks; none if it has fewer. */
static int read_hosts(const cJSON *root, void *arg, struct cc_error *e)
{
    struct hosts *h = arg;
    if (cc_json_schema(root, CC_HOSTS_SCHEMA, "is commcomp-platform of another version?", e) !=
        CC_OK)
        return CC_FAIL;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "hosts");
    h->count = (size_t)cJSON_GetArraySize(list);
    if (h->count < h->need)
        return CC_OK;
    h->out->host = cc_alloc0(h->need * sizeof *h->out->host, e);
    if (h->out->host == NULL)
        return CC_FAIL;
    for (const cJSON *host = list->child; h->out->hosts < h->need; host = host->next) {
        const char *name, *shared;
        if (cc_json_need_text(host, "name", &name, e) != CC_OK ||
            cc_json_text(host, "shared", &shared, e) != CC_OK)
            return CC_FAIL;
        if (shared != NULL)
            return no_loopback(name, shared, e);
        h->out->host[h->out->hosts] = cc_strdup(name, e);
        if (h->out->host[h->out->hosts++] == NULL)
            return CC_FAIL;
    }
    return CC_OK;
}

/* Hands SimGrid the text itself: what is looked at is what will be simulated. */
static int ask(const char *program, struct hosts *h, struct cc_error *e)
{
    char *words[] = {(char *)program, (char *)"/proc/self/fd/0", NULL};
    const char *xml = h->out->xml;
    struct output out = {0}, err = {0};
    struct cc_program p;
    if (cc_program_start(NULL, words, xml, strlen(xml), false, &p, e) != CC_OK)
        return CC_FAIL;
    int status = hear_out(&p, &out, &err, e);
    if (status != CC_OK)
        (void)cc_program_stop(&p, PATIENCE_S, NULL);
    cc_program_close(&p);
    if (status == CC_OK && !(WIFEXITED(p.status) && WEXITSTATUS(p.status) == 0))
        status = refuse(&p, &err, e);
    if (status == CC_OK)
        status = cc_json_parse_as(out.at, out.length, read_hosts, h, e);
    free(out.at);
    free(err.at);
    return status;
}

static int read_text(const char *path, char **out, struct cc_error *e)
{
    struct cc_map map;
    if (cc_map_open(path, &map, e) != CC_OK)
        return CC_FAIL;
    char *text = cc_alloc(map.size + 1, e);
    if (text != NULL) {
        memcpy(text, map.data, map.size);
        text[map.size] = '\0';
    }
    const bool whole = text != NULL && strlen(text) == map.size;
    if (text != NULL && !whole)
        (void)cc_fail(e, "%s: no XML: byte %zu is 0", path, strlen(text));
    cc_map_close(&map);
    if (!whole)
        free(text);
    else
        *out = text;
    return whole ? CC_OK : CC_FAIL;
}

int cc_platform_read(const char *path, int workers, int servers, struct cc_platform *out,
                     struct cc_error *e)
{
    struct cc_platform made = {.uneven = true}; /* it may be */
    char need[CC_NEED_CAP];
    cc_platform_need_text(workers, servers, need);
    struct hosts hosts = {.need = (size_t)workers + (size_t)servers, .out = &made};
    char *program = cc_program_beside("commcomp-platform", "COMMCOMP_PLATFORM", BUILD_IT, e);
    int status = program != NULL ? read_text(path, &made.xml, e) : CC_FAIL;
    if (status == CC_OK) {
        status = ask(program, &hosts, e);
        if (status != CC_OK)
            cc_error_in(e, "%s", path);
    }
    if (status == CC_OK && hosts.count < hosts.need)
        status = cc_fail(e, "%s has %zu host%s, and %s", path, hosts.count,
                         hosts.count == 1 ? "" : "s", need);
    free(program);
    if (status == CC_OK)
        *out = made;
    else
        cc_platform_free(&made);
    return status;
}
