#include "netsim/platform/platform_xml.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

int cc_rank_map_alloc(int hosts, int groups, struct cc_rank_map *out, struct cc_error *e)
{
    out->hosts = hosts;
    out->groups = groups;
    CC_TRY(CC_NEW(out->rank, (size_t)hosts, e));
    return CC_NEW(out->first, (size_t)groups + 1, e);
}

int cc_rank_map_row(const struct cc_platform_config *c, int hosts, int group,
                    struct cc_rank_map *out, struct cc_error *e)
{
    const int ranks = c->workers + c->servers;
    int worker = 0, server = 0;
    CC_TRY(cc_rank_map_alloc(hosts, (hosts + group - 1) / group, out, e));
    for (int i = 0; i < ranks; i++) {
        const bool is_server =
            server < c->servers && i == (int)((long long)server * ranks / c->servers);
        out->rank[i] = is_server ? c->workers + server++ : worker++;
    }
    for (int i = ranks; i < hosts; i++)
        out->rank[i] = i;
    for (int i = 0; i < out->groups; i++)
        out->first[i] = i * group;
    out->first[out->groups] = hosts;
    return CC_OK;
}

void cc_rank_map_free(struct cc_rank_map *map)
{
    free(map->rank);
    free(map->first);
    *map = (struct cc_rank_map){0};
}

void cc_platform_print_need(int workers, int servers, char out[CC_PLATFORM_NEED_CAP])
{
    char and_servers[40] = "";
    if (servers > 0)
        (void)snprintf(and_servers, sizeof and_servers, " and %d server%s", servers,
                       servers > 1 ? "s" : "");
    (void)snprintf(out, CC_PLATFORM_NEED_CAP, "%d worker%s%s need%s %d", workers,
                   workers > 1 ? "s" : "", and_servers, workers + servers > 1 ? "" : "s",
                   workers + servers);
}
