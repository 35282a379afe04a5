/* commcomp-platform: which hosts a platform of SimGrid's has. A program of its own, so that
 * commcomp itself needs no SimGrid, and because SimGrid ends the program where it does not like a
 * file. docs/platform.md describes what is printed. */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/format/json.h"
#include "netsim/platform/platform.h"

/* node-2 before node-10. */
static int by_name(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a),
                      sg_host_get_name(*(const sg_host_t *)b));
}

/* The link that a host's messages to itself share with others, or NULL: then it has a loopback. */
static const char *shared_with(sg_host_t host)
{
    xbt_dynar_t route = xbt_dynar_new(sizeof(sg_link_t), NULL);
    const char *name = NULL;
    sg_host_get_route(host, host, route);
    for (unsigned i = 0; i < xbt_dynar_length(route) && name == NULL; i++) {
        const sg_link_t link = xbt_dynar_get_as(route, i, sg_link_t);
        if (sg_link_is_shared(link))
            name = sg_link_get_name(link);
    }
    xbt_dynar_free(&route);
    return name;
}

static int print_host(sg_host_t host, struct cc_error *e)
{
    const char *shared = shared_with(host);
    (void)fputs("  {\"name\": ", stdout);
    int status = cc_json_put_text(stdout, sg_host_get_name(host), e);
    (void)fputs(", \"speed\": ", stdout);
    cc_json_put_number(stdout, sg_host_get_speed(host));
    if (shared != NULL && status == CC_OK) {
        (void)fputs(", \"shared\": ", stdout);
        status = cc_json_put_text(stdout, shared, e);
    }
    (void)fputs("}", stdout);
    return status;
}

static int print_hosts(struct cc_error *e)
{
    const size_t count = sg_host_count();
    sg_host_t *host = sg_host_list();
    qsort(host, count, sizeof *host, by_name);
    (void)fputs("{\"schema\": \"" CC_HOSTS_SCHEMA "\", \"hosts\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i > 0 ? ",\n" : "\n", stdout);
        if (print_host(host[i], e) != CC_OK)
            return CC_FAIL;
    }
    (void)fputs("\n]}\n", stdout);
    if (fflush(stdout) != 0)
        return cc_fail(e, "the list of hosts cannot be written");
    return CC_OK;
}

int main(int argc, char **argv)
{
    const struct rlimit none = {0, 0};
    struct cc_error e = {0};
    if (argc != 2 || argv[1][0] == '-') {
        (void)fputs("usage: commcomp-platform FILE\n"
                    "prints, as JSON, which hosts a platform of SimGrid's (XML) has\n",
                    stderr);
        return CC_USAGE;
    }
    /* How SimGrid ends is no fault that anybody looks into. */
    (void)setrlimit(RLIMIT_CORE, &none);
    simgrid_init(&argc, argv);
    simgrid_load_platform(argv[1]);
    int status = print_hosts(&e);
    if (status != CC_OK)
        (void)fprintf(stderr, "commcomp-platform: %s\n", e.text);
    return status;
}
