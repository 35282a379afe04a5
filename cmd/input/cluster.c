#include "cmd/input/cluster.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/source.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"

/* --- lists --- */

enum { WORD_CAP = 128 };

/* Splits text at its commas and hands each word to take(). */
static int each_word(const char *option, const char *text,
                     int (*take)(void *arg, const char *word, struct cc_error *e), void *arg,
                     struct cc_error *e)
{
    char word[WORD_CAP];
    for (const char *p = text;; p++) {
        const size_t n = strcspn(p, ",");
        if (n == 0 || n >= sizeof word)
            return cc_usage(e, "--%s %s: a list of words with commas between them", option, text);
        memcpy(word, p, n);
        word[n] = '\0';
        const int status = take(arg, word, e);
        if (status != CC_OK) {
            cc_error_in(e, "--%s", option);
            return status;
        }
        p += n;
        if (*p == '\0')
            return CC_OK;
    }
}

/* A list that grows. */
struct list {
    void *items;
    size_t count, capacity;
};

static void *new_item(struct list *l, size_t bytes, struct cc_error *e)
{
    if (cc_grow_bytes(&l->items, &l->capacity, l->count + 1, bytes, e) != CC_OK)
        return NULL;
    return (char *)l->items + bytes * l->count++;
}

static int take_link(void *arg, const char *word, struct cc_error *e)
{
    struct cc_link link, *to;
    CC_TRY(cc_link_parse(word, &link, e));
    if ((to = new_item(arg, sizeof *to, e)) == NULL)
        return CC_FAIL;
    *to = link;
    return CC_OK;
}

static int take_time(void *arg, const char *word, struct cc_error *e)
{
    double seconds, *to;
    CC_TRY(cc_parse_time(word, &seconds, e));
    if ((to = new_item(arg, sizeof *to, e)) == NULL)
        return CC_FAIL;
    *to = seconds;
    return CC_OK;
}

static int take_count(void *arg, const char *word, struct cc_error *e)
{
    uint64_t v;
    int *to;
    CC_TRY(cc_parse_count(word, &v, e));
    if (v < 1 || v > INT_MAX)
        return cc_usage(e, "%s is not between 1 and %d", word, INT_MAX);
    if ((to = new_item(arg, sizeof *to, e)) == NULL)
        return CC_FAIL;
    *to = (int)v;
    return CC_OK;
}

static int take_exchange(void *arg, const char *word, struct cc_error *e)
{
    const int found = cc_exchange_find(word);
    enum cc_exchange *to;
    char all[256];
    if (found >= 0) {
        if ((to = new_item(arg, sizeof *to, e)) == NULL)
            return CC_FAIL;
        *to = (enum cc_exchange)found;
        return CC_OK;
    }
    const char *near = cc_nearest(word, cc_exchange_names);
    if (near != NULL)
        return cc_usage(e, "'%s' is not an exchange; did you mean '%s'?", word, near);
    cc_word_list(cc_exchange_names, all, sizeof all);
    return cc_usage(e, "'%s' is not an exchange: it is one of %s", word, all);
}

/* Parses the list that the option was given, or the default list. */
static int take_list(const struct cc_args *args, const char *option, const char *def,
                     int (*take)(void *arg, const char *word, struct cc_error *e), struct list *l,
                     struct cc_error *e)
{
    const char *text = cc_arg(args, option);
    return each_word(option, text != NULL ? text : def, take, l, e);
}

/* --- links --- */

static int read_calibration(const struct cc_args *args, struct list *links, struct cc_error *e)
{
    struct cc_link *to;
    if (cc_arg(args, "bw") != NULL)
        return cc_usage(e, "--bw and --calibration exclude each other");
    if ((to = new_item(links, sizeof *to, e)) == NULL)
        return CC_FAIL;
    const int status = cc_link_read(cc_arg(args, "calibration"), to, e);
    if (status != CC_OK)
        cc_error_in(e, "--calibration");
    return status;
}

/* Combines every link with every latency of --latency; without them, links keep their own. */
static int combine(const struct list *links, const struct list *latencies,
                   struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_link *link = links->items;
    const double *latency = latencies->items;
    const size_t each = latencies->count > 0 ? latencies->count : 1;
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

/* Parses the options of links that the command has. */
static int parse_links(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    struct list links = {.items = NULL}, latencies = {.items = NULL};
    const char *overhead = cc_arg(args, "overhead");
    double headers = 0, message_s = -1;
    uint64_t burst = UINT64_MAX;
    int status = CC_OK;
    out->calibrated = cc_arg_or_null(args, "calibration") != NULL;
    out->bw_given = cc_arg(args, "bw") != NULL;
    out->latency_given = cc_arg(args, "latency") != NULL;
    if (out->calibrated)
        CC_TRY_OUT(read_calibration(args, &links, e));
    else
        CC_TRY_OUT(take_list(args, "bw", "1gbps", take_link, &links, e));
    if (out->latency_given)
        CC_TRY_OUT(take_list(args, "latency", "0", take_time, &latencies, e));
    if (overhead != NULL && (status = cc_overhead_parse(overhead, &headers, e)) != CC_OK) {
        cc_error_in(e, "--overhead");
        goto out;
    }
    CC_TRY_OUT(cc_arg_time(args, "message-cost", &message_s, e));
    CC_TRY_OUT(combine(&links, &latencies, out, e));
    if (cc_arg_known(args, "burst"))
        CC_TRY_OUT(cc_arg_count(args, "burst", 0, INT64_MAX, &burst, e));
    for (size_t i = 0; i < out->links; i++) {
        if (overhead != NULL)
            out->link[i].overhead = headers;
        if (message_s >= 0)
            out->link[i].message_s = message_s;
        if (burst != UINT64_MAX)
            out->link[i].burst_bytes = (double)burst;
    }
out:
    free(links.items);
    free(latencies.items);
    return status;
}

int cc_cluster_links(const struct cc_args *args, struct cc_link **out, size_t *count,
                     struct cc_error *e)
{
    struct cc_cluster_args c = {0};
    const int status = parse_links(args, &c, e);
    *out = c.link;
    *count = c.links;
    return status;
}

/* --- the step --- */

/* Parses the options over the system's choices. */
static int parse_timing(const struct cc_args *args, struct cc_timing *t, struct cc_error *e)
{
    struct cc_consistency_args consistency;
    uint64_t depth = 2, fuse = UINT64_MAX;
    int mode = (int)t->mode, pulls = (int)t->pulls, straggler = 0;
    cc_arg_choice(args, "mode", &mode);
    cc_arg_choice(args, "pulls", &pulls);
    cc_arg_choice(args, "stragglers", &straggler);
    t->mode = (enum cc_step_mode)mode;
    t->pulls = (enum cc_pulls)pulls;
    t->straggler = (enum cc_straggler)straggler;
    t->unlimited = cc_arg(args, "unlimited") != NULL;
    CC_TRY(cc_arg_time(args, "compute", &t->compute_s, e));
    CC_TRY(cc_arg_time(args, "update", &t->update_s, e));
    CC_TRY(cc_arg_time(args, "sync", &t->sync_s, e));
    CC_TRY(cc_arg_real(args, "forward", &t->forward_share, e));
    CC_TRY(cc_arg_real(args, "hidden", &t->hidden_share, e));
    CC_TRY(cc_arg_real(args, "spread", &t->spread, e));
    CC_TRY(cc_arg_count(args, "depth", 1, 1000000, &depth, e));
    CC_TRY(cc_consistency_parse(args, &consistency, e));
    CC_TRY(cc_arg_count(args, "seed", 0, CC_MAX_SEED, &t->seed, e));
    CC_TRY(cc_arg_count(args, "fuse", 0, INT64_MAX, &fuse, e));
    t->depth = (int)depth;
    t->consistency = consistency.item[0];
    t->staleness = consistency.staleness;
    if (fuse != UINT64_MAX) {
        t->fuse_bytes = (double)fuse;
        t->first_fuse_bytes = -1;
    }
    return CC_OK;
}

/* --- the accelerator --- */

/* Takes the compute time from --device and --batch. */
static int parse_device(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    const char *name = cc_arg(args, "device");
    const struct cc_throughput *t;
    struct cc_device *d;
    uint64_t batch = 0;
    char compute[32];
    int status = CC_OK;
    CC_TRY(cc_arg_count(args, "batch", 1, INT64_MAX, &batch, e));
    if (name == NULL)
        return batch == 0 ? CC_OK : cc_usage(e, "--batch goes with --device");
    if (cc_arg(args, "compute") != NULL)
        return cc_usage(e, "--device and --compute exclude each other");
    CC_TRY(cc_device_open(name, &d, e));
    CC_TRY_OUT(cc_device_throughput(d, out->net->name, &t, e));
    const double count = batch > 0 ? (double)batch : t->batch;
    out->setting.timing.compute_s = count / t->per_s;
    out->batch = count;
    out->batch_per_s = t->per_s;
    out->batch_given = batch > 0;
    (void)snprintf(out->batch_unit, sizeof out->batch_unit, "%s", t->unit);
    cc_print_si(count / t->per_s, "s", compute, sizeof compute);
    (void)snprintf(out->device, sizeof out->device, "%s: %.0f %s at %.6g a second on %s, %s (%s)",
                   compute, count, t->unit, t->per_s, d->text, t->precision, t->source);
out:
    if (status != CC_OK)
        cc_error_in(e, "--device %s", name);
    cc_device_free(d);
    return status;
}

/* --- the system --- */

/* Whether the options only make sense with parameter servers. */
static bool asks_for_servers(const struct cc_args *args)
{
    static const char *const of_servers[] = {"servers", "placement", "colocate", "pulls",
                                             "consistency"};
    const char *exchange = cc_arg(args, "exchange");
    if (exchange != NULL)
        return strcmp(exchange, cc_exchange_names[CC_PS]) == 0;
    for (size_t i = 0; i < sizeof of_servers / sizeof of_servers[0]; i++)
        if (cc_arg(args, of_servers[i]) != NULL)
            return true;
    return false;
}

static const struct cc_system *choose_system(const struct cc_args *args, enum cc_system_id usual)
{
    int id = (int)(asks_for_servers(args) ? CC_SYSTEM_PS : usual);
    cc_arg_choice(args, "system", &id);
    return &cc_systems[id];
}

/* --- exchanges, workers, servers --- */

static int parse_lists(const struct cc_args *args, const struct cc_system *system,
                       struct cc_cluster_args *out, struct cc_error *e)
{
    struct list exchanges = {.items = NULL}, workers = {.items = NULL}, servers = {.items = NULL};
    const char *exchange = cc_exchange_names[system->exchange];
    int status = CC_OK;
    out->server_per_worker = system->server_per_worker && cc_arg(args, "servers") == NULL;
    CC_TRY_OUT(take_list(args, "exchange", exchange, take_exchange, &exchanges, e));
    CC_TRY_OUT(take_list(args, "workers", "10", take_count, &workers, e));
    CC_TRY_OUT(take_list(args, "servers", "1", take_count, &servers, e));
out:
    out->exchange = exchanges.items;
    out->workers = workers.items;
    out->servers = servers.items;
    out->exchanges = exchanges.count;
    out->worker_counts = workers.count;
    out->server_counts = servers.count;
    return status;
}

static bool has_servers(const struct cc_cluster_args *c)
{
    for (size_t i = 0; i < c->exchanges; i++)
        if (cc_exchange_has(c->exchange[i], CC_X_SERVERS))
            return true;
    return false;
}

/* --- raw tensors --- */

int cc_cluster_raw_tensors(const struct cc_cluster_args *c, const double *size, size_t count,
                           bool **out, double *share, struct cc_error *e)
{
    bool *raw = cc_alloc(count * sizeof *raw, e);
    if (raw == NULL)
        return CC_FAIL;
    const int status = cc_raw_tensors(size, count, c->min_size, c->raw_share_wanted, raw, share, e);
    if (status == CC_OK)
        *out = raw;
    else
        free(raw);
    return status;
}

static int parse_raw(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_net *net = out->net;
    uint64_t min_size = 0;
    CC_TRY(cc_arg_count(args, "min-size", 0, INT64_MAX, &min_size, e));
    CC_TRY(cc_arg_real(args, "raw-share", &out->raw_share_wanted, e));
    if (!(out->raw_share_wanted >= 0 && out->raw_share_wanted <= 1))
        return cc_usage(e, "--raw-share: a share of the values, from 0 to 1");
    out->min_size = (size_t)min_size;
    double *size = cc_alloc(net->count * sizeof *size, e);
    if (size == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < net->count; i++)
        size[i] = (double)net->tensors[i].shape.n;
    const int status = cc_cluster_raw_tensors(out, size, net->count, &out->raw, &out->raw_share, e);
    free(size);
    return status;
}

/* --- what sums keep --- */

static bool merges(const struct cc_cluster_args *c)
{
    for (size_t i = 0; i < c->exchanges; i++)
        if (cc_exchange_has(c->exchange[i], CC_X_MERGES))
            return true;
    return false;
}

/* "1%", "0.01", or a number of values of a step, such as "10K". */
static int parse_keep(const struct cc_args *args, struct cc_cluster_args *out, struct cc_error *e)
{
    const char *text = cc_arg(args, "keep");
    double *keep = &out->setting.cluster.keep;
    uint64_t count = 0;
    int status = CC_OK;
    if (text == NULL)
        return CC_OK;
    if (!merges(out))
        return cc_usage(e, "--keep re-sparsifies sums of index-value pairs: give --exchange "
                           "ssar-split or another sparse one");
    if (strchr(text, '%') != NULL || strtod(text, NULL) < 1)
        status = cc_parse_share(text, keep, e);
    else if ((status = cc_parse_count(text, &count, e)) == CC_OK)
        *keep = (double)count / (double)out->net->values;
    if (status == CC_OK && !(*keep > 0 && *keep < 1))
        status = cc_usage(e, "'%s' of %zu values: more than none, and fewer than all", text,
                          out->net->values);
    if (status != CC_OK)
        cc_error_in(e, "--keep");
    else if (out->raw_share > 0)
        status = cc_usage(e, "--keep needs a residual for every value, and tensors that are sent "
                             "as fp32 have none: leave out --min-size and --raw-share");
    return status;
}

/* --- all of it --- */

static int check_setting(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    (void)arg;
    return cc_setting_check(s, e);
}

int cc_cluster_args_parse(const struct cc_args *args, enum cc_system_id usual,
                          struct cc_cluster_args *out, struct cc_error *e)
{
    const struct cc_system *system = choose_system(args, usual);
    int placement = 0, via = 0, overlap = CC_UNION_MEASURED, wire = 0;
    CC_TRY(cc_input_captured(args, &out->trace, e));
    out->skip = cc_arg_or_null(args, "skip-nonfinite") != NULL;
    CC_TRY(cc_input_net(args, out->trace, &out->net, e));
    struct cc_setting *s = &out->setting;
    cc_setting_defaults(out->net, s);
    cc_system_apply(system, s);
    out->compute_given = cc_arg(args, "compute") != NULL;
    cc_arg_choice(args, "placement", &placement);
    cc_arg_choice(args, "via", &via);
    cc_arg_choice(args, "union", &overlap);
    cc_arg_choice(args, "wire", &wire);
    s->placement = (enum cc_placement)placement;
    s->cluster.colocated |= cc_arg(args, "colocate") != NULL;
    s->cluster.via = (enum cc_via)via;
    s->cluster.overlap = (enum cc_union)overlap;
    s->cluster.wire = (enum cc_wire)wire;
    CC_TRY(cc_arg_real(args, "dense-bits", &s->cluster.dense_bits, e));
    CC_TRY(parse_raw(args, out, e));
    CC_TRY(parse_timing(args, &s->timing, e));
    CC_TRY(parse_device(args, out, e));
    CC_TRY(parse_lists(args, system, out, e));
    if (cc_arg(args, "colocate") != NULL && !has_servers(out))
        return cc_usage(e, "--colocate places parameter servers: give --exchange ps");
    CC_TRY(parse_keep(args, out, e));
    CC_TRY(parse_links(args, out, e));
    s->link = out->link[0];
    s->exchange = out->exchange[0];
    s->cluster.workers = out->workers[0];
    s->cluster.servers = out->server_per_worker ? out->workers[0] : out->servers[0];
    return cc_cluster_args_each(out, check_setting, NULL, e);
}

void cc_cluster_args_free(struct cc_cluster_args *c)
{
    cc_net_free(c->net);
    if (c->trace != NULL)
        cc_trace_close(c->trace);
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
    const size_t all = c->exchanges * c->server_counts * c->worker_counts * c->links;
    for (size_t i = 0; i < all; i++) {
        size_t at = i; /* digits of a number: the link's index is the last */
        s.link = c->link[at % c->links];
        at /= c->links;
        s.cluster.workers = c->workers[at % c->worker_counts];
        at /= c->worker_counts;
        s.cluster.servers =
            c->server_per_worker ? s.cluster.workers : c->servers[at % c->server_counts];
        s.exchange = c->exchange[at / c->server_counts];
        s.cluster.colocated =
            c->setting.cluster.colocated && cc_exchange_has(s.exchange, CC_X_SERVERS);
        s.cluster.keep = cc_exchange_has(s.exchange, CC_X_MERGES) ? c->setting.cluster.keep : 0;
        /* Without servers, their number makes no difference: one row only. */
        if (cc_exchange_has(s.exchange, CC_X_SERVERS) || at % c->server_counts == 0)
            CC_TRY(each(arg, &s, e));
    }
    return CC_OK;
}
