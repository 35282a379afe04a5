/* commcomp-platform: which hosts a platform of SimGrid's has. A program of its own, so that
 * commcomp itself needs no SimGrid, and because SimGrid ends the program where it does not like a
 * file. docs/platform.md describes what is printed. */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/json.h"
#include "netsim/platform.h"

/* node-2 before node-10. */
static int by_name(const void *a, const void *b)
{
    return strverscmp(sg_host_get_name(*(const sg_host_t *)a),
                      sg_host_get_name(*(const sg_host_t *)b));
}

static int print_hosts(struct cc_error *e)
{
    const size_t count = sg_host_count();
    sg_host_t *host = sg_host_list();
    qsort(host, count, sizeof *host, by_name);
    (void)fputs("{\"schema\": \"" CC_HOSTS_SCHEMA "\", \"hosts\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ", stdout);
        if (cc_json_put_text(stdout, sg_host_get_name(host[i]), e) != CC_OK)
            return CC_FAIL;
        (void)fputs(", \"speed\": ", stdout);
        cc_json_put_number(stdout, sg_host_get_speed(host[i]));
        (void)fputs("}", stdout);
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
