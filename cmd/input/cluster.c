#include "cmd/input/cluster.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/source.h"
#include "core/memory.h"
#include "core/param.h"
#include "core/units.h"

/* --- lists --- */

enum { LONGEST = 128 }; /* word of a list */

/* Splits text at its commas and hands each word to take(). */
static int each_word(const char *option, const char *text,
                     int (*take)(void *arg, const char *word, struct cc_error *e), void *arg,
                     struct cc_error *e)
{
    char word[LONGEST];
    int status = CC_OK;
    for (const char *p = text; status == CC_OK; p++) {
        size_t n = strcspn(p, ",");
        if (n == 0 || n >= sizeof word)
            return cc_usage(e, "--%s %s: a list of words with commas between them", option, text);
        memcpy(word, p, n);
        word[n] = '\0';
        status = take(arg, word, e);
        p += n;
        if (*p == '\0')
            break;
    }
    if (status != CC_OK)
        cc_error_in(e, "--%s", option);
    return status;
}

/* A list that grows. */
struct list {
    void *items;
    size_t count, capacity;
};

static void *new_item(struct list *l, size_t bytes, struct cc_error *e)
{
    if (cc_grow(&l->items, &l->capacity, l->count + 1, bytes, e) != CC_OK)
        return NULL;
    return (char *)l->items + bytes * l->count++;
}

static int take_link(void *arg, const char *word, struct cc_error *e)
{
    struct cc_link link, *to;
    int status = cc_link_parse(word, &link, e);
    if (status != CC_OK)
        return status;
    if ((to = new_item(arg, sizeof *to, e)) == NULL)
        return CC_FAIL;
    *to = link;
    return CC_OK;
}

static int take_time(void *arg, const char *word, struct cc_error *e)
{
    double seconds, *to;
    int status = cc_parse_time(word, &seconds, e);
    if (status != CC_OK)
        return status;
    if ((to = new_item(arg, sizeof *to, e)) == NULL)
        return CC_FAIL;
    *to = seconds;
    return CC_OK;
}

static int take_count(void *arg, const char *word, struct cc_error *e)
{
    uint64_t v;
    int *to, status = cc_parse_count(word, &v, e);
    if (status == CC_OK && (v < 1 || v > INT_MAX))
        status = cc_usage(e, "%s: at least 1", word);
    if (status != CC_OK)
        return status;
    if ((to = new_item(arg, sizeof *to, e)) == NULL)
        return CC_FAIL;
    *to = (int)v;
    return CC_OK;
}

static int take_exchange(void *arg, const char *word, struct cc_error *e)
{
    enum cc_exchange *to;
    for (int i = 0; cc_exchange_names[i] != NULL; i++) {
        if (strcmp(word, cc_exchange_names[i]) != 0)
            continue;
        if ((to = new_item(arg, sizeof *to, e)) == NULL)
            return CC_FAIL;
        *to = (enum cc_exchange)i;
        return CC_OK;
    }
    const char *near = cc_nearest(word, cc_exchange_names);
    if (near != NULL)
        return cc_usage(e, "'%s' is not an exchange; did you mean '%s'?", word, near);
    return cc_usage(e,
                    "'%s' is not an exchange: there are ps, ring, recdouble, rabenseifner, "
                    "allgather, mpi, ssar-recdouble, ssar-split and dsar-split",
                    word);
}

/* The option's words, or the default's. */
static int take_list(const struct cc_args *args, const char *option, const char *def,
                     int (*take)(void *arg, const char *word, struct cc_error *e), struct list *l,
                     struct cc_error *e)
{
    const char *text = cc_arg(args, option);
    return each_word(option, text != NULL ? text : def, take, l, e);
}

/* --- links --- */

static int calibrated(const struct cc_args *args, struct list *links, struct cc_error *e)
{
    struct cc_link *to;
    if (cc_arg(args, "bw") != NULL)
        return cc_usage(e, "--bw and --calibration exclude each other");
    if ((to = new_item(links, sizeof *to, e)) == NULL)
        return CC_FAIL;
    int status = cc_link_read(cc_arg(args, "calibration"), to, e);
    if (status != CC_OK)
        cc_error_in(e, "--calibration");
    return status;
}

/* Every link with every latency, or with its own. */
static int with_latencies(const struct list *links, const struct list *latencies,
                          struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_link *link = links->items;
    const double *latency = latencies->items;
    size_t each = latencies->count > 0 ? latencies->count : 1;
    out->link = cc_alloc(links->count * each * sizeof *out->link, e);
    if (out->link == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < links->count; i++)
        for (size_t k = 0; k < each; k++) {
            out->link[out->links] = link[i];
            if (latencies->count > 0)
                out->link[out->links].latency_s = latency[k];
            out->links++;
        }
    return CC_OK;
}

static int parse_links(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    struct list links = {.items = NULL}, latencies = {.items = NULL};
    const char *overhead = cc_arg(args, "overhead");
    double headers = 0;
    uint64_t burst = UINT64_MAX;
    int status = cc_arg(args, "calibration") != NULL
                     ? calibrated(args, &links, e)
                     : take_list(args, "bw", "1gbps", take_link, &links, e);
    if (status == CC_OK && cc_arg(args, "latency") != NULL)
        status = take_list(args, "latency", "0", take_time, &latencies, e);
    if (status == CC_OK && overhead != NULL) {
        status = cc_overhead_parse(overhead, &headers, e);
        if (status != CC_OK)
            cc_error_in(e, "--overhead");
    }
    if (status == CC_OK)
        status = with_latencies(&links, &latencies, out, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "burst", 0, INT64_MAX, &burst, e);
    for (size_t i = 0; status == CC_OK && i < out->links; i++) {
        out->link[i].overhead = overhead != NULL ? headers : out->link[i].overhead;
        out->link[i].burst_bytes = burst != UINT64_MAX ? (double)burst : out->link[i].burst_bytes;
    }
    free(links.items);
    free(latencies.items);
    return status;
}

/* --- the rest --- */

static int parse_timing(const struct cc_args *args, struct cc_timing *t, struct cc_error *e)
{
    uint64_t depth = 2, staleness = 3, fuse = UINT64_MAX;
    int mode = 0, pulls = 0, consistency = 0, straggler = 0;
    cc_arg_choice(args, "mode", &mode);
    cc_arg_choice(args, "pulls", &pulls);
    cc_arg_choice(args, "consistency", &consistency);
    cc_arg_choice(args, "stragglers", &straggler);
    t->mode = (enum cc_step_mode)mode;
    t->pulls = (enum cc_pulls)pulls;
    t->consistency = (enum cc_consistency)consistency;
    t->straggler = (enum cc_straggler)straggler;
    t->unlimited = cc_arg(args, "unlimited") != NULL;
    int status = cc_arg_time(args, "compute", &t->compute_s, e);
    if (status == CC_OK)
        status = cc_arg_time(args, "update", &t->update_s, e);
    if (status == CC_OK)
        status = cc_arg_time(args, "sync", &t->sync_s, e);
    if (status == CC_OK)
        status = cc_arg_real(args, "forward", &t->forward_share, e);
    if (status == CC_OK)
        status = cc_arg_real(args, "hidden", &t->hidden_share, e);
    if (status == CC_OK)
        status = cc_arg_real(args, "spread", &t->spread, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "depth", 1, 1000000, &depth, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "staleness", 0, 1000000, &staleness, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "seed", 0, CC_MAX_SEED, &t->seed, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "fuse", 0, INT64_MAX, &fuse, e);
    t->depth = (int)depth;
    t->staleness = (int)staleness;
    t->fuse_bytes = fuse == UINT64_MAX ? -1 : (double)fuse;
    return status;
}

static int parse_lists(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    struct list exchanges = {.items = NULL}, workers = {.items = NULL}, servers = {.items = NULL};
    int status = take_list(args, "exchange", "ps", take_exchange, &exchanges, e);
    if (status == CC_OK)
        status = take_list(args, "workers", "10", take_count, &workers, e);
    if (status == CC_OK)
        status = take_list(args, "servers", "1", take_count, &servers, e);
    out->exchange = exchanges.items;
    out->workers = workers.items;
    out->servers = servers.items;
    out->exchanges = exchanges.count;
    out->worker_counts = workers.count;
    out->server_counts = servers.count;
    return status == CC_OK ? parse_links(args, out, e) : status;
}

static int check(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    (void)arg;
    return cc_setting_check(s, e);
}

static int choose_raw(struct cc_cluster_args *out, struct cc_error *e)
{
    size_t count = out->net->count;
    double *size = cc_alloc(count * sizeof *size, e);
    out->raw = size != NULL ? cc_alloc(count * sizeof *out->raw, e) : NULL;
    int status = CC_FAIL;
    for (size_t i = 0; out->raw != NULL && i < count; i++)
        size[i] = (double)out->net->tensors[i].shape.n;
    if (out->raw != NULL)
        status = cc_raw_tensors(size, count, out->min_size, out->raw_wanted, out->raw,
                                &out->raw_share, e);
    free(size);
    return status;
}

static int parse_raw(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    uint64_t min_size = 0;
    int status = cc_arg_count(args, "min-size", 0, INT64_MAX, &min_size, e);
    if (status == CC_OK)
        status = cc_arg_real(args, "raw-share", &out->raw_wanted, e);
    if (status == CC_OK && !(out->raw_wanted >= 0 && out->raw_wanted <= 1))
        status = cc_usage(e, "--raw-share: a share of the values, from 0 to 1");
    out->min_size = (size_t)min_size;
    return status == CC_OK ? choose_raw(out, e) : status;
}

int cc_cluster_args_parse(const struct cc_args *args, struct cc_cluster_args *out,
                          struct cc_error *e)
{
    int placement = 0, via = 0, overlap = 0;
    int status = cc_input_net(args, &out->net, e);
    if (status != CC_OK)
        return status;
    struct cc_setting *s = &out->setting;
    cc_setting_defaults(out->net, s);
    cc_arg_choice(args, "placement", &placement);
    cc_arg_choice(args, "via", &via);
    cc_arg_choice(args, "union", &overlap);
    s->placement = (enum cc_placement)placement;
    s->cluster.via = (enum cc_via)via;
    s->cluster.overlap = (enum cc_union)overlap;
    status = cc_arg_real(args, "dense-bits", &s->cluster.dense_bits, e);
    if (status == CC_OK)
        status = parse_raw(args, out, e);
    if (status == CC_OK)
        status = parse_timing(args, &s->timing, e);
    if (status == CC_OK)
        status = parse_lists(args, out, e);
    if (status != CC_OK)
        return status;
    s->link = out->link[0];
    s->exchange = out->exchange[0];
    s->cluster.workers = out->workers[0];
    s->cluster.servers = out->servers[0];
    return cc_cluster_args_each(out, check, NULL, e);
}

void cc_cluster_args_free(struct cc_cluster_args *c)
{
    cc_net_free(c->net);
    free(c->link);
    free(c->exchange);
    free(c->workers);
    free(c->servers);
    free(c->raw);
    *c = (struct cc_cluster_args){0};
}

int cc_cluster_args_each(const struct cc_cluster_args *c,
                         int (*each)(void *arg, const struct cc_setting *s, struct cc_error *e),
                         void *arg, struct cc_error *e)
{
    struct cc_setting s = c->setting;
    size_t rows = c->exchanges * c->server_counts * c->worker_counts * c->links;
    int status = CC_OK;
    for (size_t i = 0; i < rows && status == CC_OK; i++) {
        size_t rest = i;
        s.link = c->link[rest % c->links];
        rest /= c->links;
        s.cluster.workers = c->workers[rest % c->worker_counts];
        rest /= c->worker_counts;
        s.cluster.servers = c->servers[rest % c->server_counts];
        s.exchange = c->exchange[rest / c->server_counts];
        /* Where there are no servers, their number makes no difference. */
        if (s.exchange == CC_PS || rest % c->server_counts == 0)
            status = each(arg, &s, e);
    }
    return status;
}
