/* commcomp-platform: prints the hosts of a platform file as JSON, which docs/platform.md describes.
 * A program of its own, so that commcomp links no SimGrid, and because SimGrid aborts the program
 * on a file that it does not accept. */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/format/json.h"
#include "netsim/platform/platform.h"

/* Compares names with their numbers as numbers: node-2 comes before node-10. */
static int by_name(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a),
                      sg_host_get_name(*(const sg_host_t *)b));
}

/* The name of a link on the host's route to itself that other messages share; NULL if there is
 * none: then the host has a loopback. */
static const char *find_shared_link(sg_host_t host)
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
    const char *shared = find_shared_link(host);
    (void)fputs("  {\"name\": ", stdout);
    CC_TRY(cc_json_put_text(stdout, sg_host_get_name(host), e));
    (void)fputs(", \"speed\": ", stdout);
    cc_json_put_number(stdout, sg_host_get_speed(host));
    if (shared != NULL) {
        (void)fputs(", \"shared\": ", stdout);
        CC_TRY(cc_json_put_text(stdout, shared, e));
    }
    (void)fputs("}", stdout);
    return CC_OK;
}

static int print_hosts(struct cc_error *e)
{
    const size_t count = sg_host_count();
    sg_host_t *host = sg_host_list();
    qsort(host, count, sizeof *host, by_name);
    (void)fputs("{\"schema\": \"" CC_HOSTS_SCHEMA "\", \"hosts\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i > 0 ? ",\n" : "\n", stdout);
        CC_TRY(print_host(host[i], e));
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
                    "prints the hosts of a SimGrid platform (XML) as JSON\n",
                    stderr);
        return CC_USAGE;
    }
    /* SimGrid aborts on bad files: no core dumps of that. */
    (void)setrlimit(RLIMIT_CORE, &none);
    simgrid_init(&argc, argv);
    simgrid_load_platform(argv[1]);
    int status = print_hosts(&e);
    if (status != CC_OK)
        (void)fprintf(stderr, "commcomp-platform: %s\n", e.text);
    return status;
}
