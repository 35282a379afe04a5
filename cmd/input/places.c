/* Where workers are: how many there are, and on a host, where hosts say how many ranks they have
 * room for; the links inside hosts; and sites. */
#include <string.h>

#include "cmd/input/cluster.h"
#include "netsim/launch/slots.h"

/* Servers that have hosts of their own; -1: as many as workers. */
static int servers_apart(const struct cc_cluster_args *c)
{
    bool any = false;
    int most = 0;
    for (size_t i = 0; i < c->exchanges; i++)
        any = any || cc_exchange_has(c->exchange[i], CC_X_SERVERS);
    if (!any || c->setting.cluster.colocated)
        return 0;
    for (size_t i = 0; i < c->server_counts; i++)
        most = c->servers[i] > most ? c->servers[i] : most;
    return c->server_per_worker ? -1 : most;
}

/* The fewest and the most slots of the first hosts; the fewest are 0 where some are not known. */
static void range_of(const struct cc_slot_list *l, size_t hosts, int *fewest, int *most)
{
    *fewest = *most = l->host[0].count;
    for (size_t i = 1; i < hosts; i++) {
        const int n = l->host[i].count;
        *fewest = n < *fewest ? n : *fewest;
        *most = n > *most ? n : *most;
    }
}

/* Workers on each host, of which there are `hosts` for workers: where neither option says so, what
 * all hosts have room for. */
static int choose_per_host(struct cc_cluster_args *c, size_t hosts, struct cc_error *e)
{
    struct cc_cluster *cluster = &c->setting.cluster;
    const struct cc_slot_list *l = c->slots;
    const bool workers_given = cc_given(c, &c->workers) != NULL;
    int fewest, most;
    range_of(l, hosts, &fewest, &most);
    if (cc_given(c, &cluster->per_host) != NULL || cluster->colocated || fewest == 0)
        return CC_OK;
    if (fewest == most) {
        /* Fewer workers than hosts' slots are one on each host, as without numbers. */
        if (!workers_given ||
            (c->worker_counts == 1 && (size_t)c->workers[0] == (size_t)most * hosts))
            cluster->per_host = most;
        return CC_OK;
    }
    if (workers_given)
        return CC_OK;
    return cc_usage(e,
                    "hosts have room for %d to %d ranks, and hosts with as many workers each are "
                    "what is predicted and measured: give --per-host %d, or --workers",
                    fewest, most, fewest);
}

int cc_cluster_choose_places(struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_slot_list *l = out->slots;
    const int servers = servers_apart(out);
    if (l == NULL || l->count == 0 || servers < 0)
        return CC_OK;
    if ((size_t)servers >= l->count)
        return CC_OK; /* mpirun says what is missing */
    const size_t hosts = l->count - (size_t)servers;
    CC_TRY(choose_per_host(out, hosts, e));
    const int per_host = out->setting.cluster.per_host;
    if (cc_given(out, &out->workers) != NULL)
        return CC_OK;
    size_t fit = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->host[i].count == 0)
            return CC_OK; /* how many are on this host is mpirun's choice */
        fit += l->host[i].count >= per_host;
    }
    if (fit <= (size_t)servers)
        return cc_usage(e, "--per-host %d: no host has room for so many", per_host);
    fit -= fit + (size_t)servers > l->count ? fit + (size_t)servers - l->count : 0;
    out->workers[0] = (int)fit * per_host;
    return CC_OK;
}

/* --- hosts with several accelerators --- */

int cc_cluster_choose_intra(struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_link_options *o = &out->network;
    const void *const of_hosts[] = {&o->intra, &o->intra_latency, NULL};
    const char *given = cc_given_of(o, of_hosts);
    struct cc_cluster *c = &out->setting.cluster;
    if (c->per_host == 1 && given != NULL)
        return cc_usage(e, "--%s is of hosts with several accelerators: give --per-host", given);
    c->intra = o->inside.bw_bps > 0 && cc_given(o, &o->intra) == NULL ? o->inside : o->intra;
    if (cc_given(o, &o->intra_latency) != NULL)
        c->intra.latency_s = o->intra_latency;
    return CC_OK;
}

/* --- sites --- */

int cc_cluster_choose_sites(const struct cc_args *args, struct cc_cluster_args *out,
                            struct cc_error *e)
{
    struct cc_cluster *c = &out->setting.cluster;
    const void *const of_sites[] = {&c->wan_bps, &c->wan_latency_s, NULL};
    const char *topology = cc_arg(args, "topology"), *given = cc_given_of(out, of_sites);
    if (topology != NULL && strcmp(topology, "sites") != 0) {
        if (given == NULL)
            given = cc_given(out, &c->sites);
        return given == NULL ? CC_OK : cc_usage(e, "--%s is of --topology sites", given);
    }
    if (topology != NULL && cc_given(out, &c->sites) == NULL)
        c->sites = 2;
    if (topology != NULL && c->sites == 1)
        return cc_usage(e, "--sites 1: nothing passes a WAN: take --topology switch, or 2 sites");
    if (given != NULL && c->sites == 1)
        return cc_usage(e, "--%s is of links between sites: give --sites", given);
    return CC_OK;
}
