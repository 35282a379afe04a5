/* {"schema": "commcomp-figures/2", "scheme": "3lc", "net": "resnet20", "seed": 1, "bits": [...],
 * ...}. The file's name has a checksum of all that the figures depend on: the version, the scheme
 * (of a plugin, its file), the net's tensors, those sent as fp32, the distribution and the seed. */
#include "cmd/input/figures_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input/cache.h"
#include "core/file.h"
#include "core/format/crc32.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "results/machine_info.h"
#include "schemes/plugin_load.h"

#define SCHEMA "commcomp-figures/2"
enum { PATH_CAP = 1024 };

static bool find_path(const struct cc_figures_config *c, size_t scheme, char out[PATH_CAP])
{
    const struct cc_net *net = c->net;
    const char *name_of = c->schemes->item[scheme]->name;
    const uint32_t plugin = cc_plugin_checksum(c->schemes->item[scheme]->scheme);
    const double drawn[] = {(double)c->drawn.seed, c->drawn.distribution, c->drawn.zeros,
                            c->drawn.indices, c->drawn.decay};
    struct cc_machine_info host;
    char name[64];
    cc_machine_info_read(&host);
    uint32_t key = cc_crc32(0, host.version, strlen(host.version));
    key = cc_crc32(key, name_of, strlen(name_of));
    if (plugin != 0)
        key = cc_crc32(key, &plugin, sizeof plugin);
    key = cc_crc32(key, drawn, sizeof drawn);
    for (size_t i = 0; i < net->count; i++) {
        const struct cc_shape *shape = &net->tensors[i].shape;
        const bool raw = c->raw != NULL && c->raw[i];
        key = cc_crc32(key, shape->dim, sizeof shape->dim);
        key = cc_crc32(key, &raw, sizeof raw);
    }
    (void)snprintf(name, sizeof name, "figures-%08x.json", key);
    return cc_cache_path(name, out, PATH_CAP);
}

/* --- reading --- */

struct target {
    const struct cc_figures_config *config;
    size_t scheme;
    struct cc_figure_set *out;
};

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static bool truth(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Whether the file is about what its name says: names share checksums now and then. */
static bool fits(const cJSON *root, const struct target *t)
{
    const char *scheme = NULL, *net = NULL;
    size_t seed = 0;
    return cc_json_text(root, "scheme", &scheme, NULL) == CC_OK && scheme != NULL &&
           strcmp(scheme, t->config->schemes->item[t->scheme]->name) == 0 &&
           cc_json_text(root, "net", &net, NULL) == CC_OK && net != NULL &&
           strcmp(net, t->config->net->name) == 0 &&
           cc_json_size(cJSON_GetObjectItemCaseSensitive(root, "seed"), &seed) &&
           seed == t->config->drawn.seed;
}

/* Ten numbers a tensor, of pulls and of hops; NULL if they are not there. */
static struct cc_sum_sizes *take_sums(const cJSON *list, size_t tensors)
{
    const size_t each = 2 * (size_t)CC_SUM_POINTS;
    size_t count = 0;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != tensors * each)
        return NULL;
    struct cc_sum_sizes *sums = cc_alloc(tensors * sizeof *sums, NULL);
    if (sums == NULL)
        return NULL;
    for (const cJSON *b = list->child; b != NULL; b = b->next, count++) {
        const size_t at = count % each;
        struct cc_sum_sizes *s = &sums[count / each];
        *(at < CC_SUM_POINTS ? &s->pull[at] : &s->hop[at - CC_SUM_POINTS]) =
            cJSON_IsNumber(b) ? b->valuedouble : 0;
    }
    return sums;
}

static int take(const cJSON *root, void *arg, struct cc_error *e)
{
    const struct target *t = arg;
    const size_t tensors = t->config->net->count;
    const cJSON *bits = cJSON_GetObjectItemCaseSensitive(root, "bits");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const cJSON *sums = cJSON_GetObjectItemCaseSensitive(root, "sums");
    size_t count = 0;
    CC_TRY(cc_json_schema(root, SCHEMA, "commcomp writes such files", e));
    if (!fits(root, t) || !cJSON_IsArray(bits) || (size_t)cJSON_GetArraySize(bits) != tensors)
        return CC_OK;
    double *list = cc_alloc(tensors * sizeof *list, e);
    if (list == NULL)
        return CC_FAIL;
    for (const cJSON *b = bits->child; b != NULL; b = b->next)
        list[count++] = cJSON_IsNumber(b) ? b->valuedouble : 0;
    struct cc_sum_sizes *of_sums = take_sums(sums, tensors);
    *t->out = (struct cc_figure_set){.bits = list,
                                     .settled = truth(root, "settled"),
                                     .sums = of_sums,
                                     .has_sums = of_sums != NULL || cJSON_IsNull(sums),
                                     .sums_settled = truth(root, "sums_settled"),
                                     .error = cc_update_error_unknown(),
                                     .has_error = cJSON_IsObject(error)};
    (void)cc_json_size(cJSON_GetObjectItemCaseSensitive(root, "steps"), &t->out->steps);
    if (t->out->has_error)
        t->out->error = (struct cc_update_error){.error = number(error, "error"),
                                                 .low = number(error, "low"),
                                                 .high = number(error, "high"),
                                                 .nmse = number(error, "nmse"),
                                                 .delay = number(error, "delay"),
                                                 .bias = number(error, "bias"),
                                                 .variance = number(error, "variance"),
                                                 .settled = truth(error, "settled")};
    return CC_OK;
}

void cc_figures_load(const struct cc_figures_config *config, size_t scheme,
                     struct cc_figure_set *out)
{
    struct target t = {.config = config, .scheme = scheme, .out = out};
    char path[PATH_CAP];
    if (find_path(config, scheme, path) && access(path, R_OK) == 0)
        (void)cc_json_read_as(path, take, &t, NULL);
}

/* --- writing --- */

/* A number, or null. */
static void put(FILE *f, const char *key, double v)
{
    (void)fprintf(f, "\"%s\": ", key);
    if (isfinite(v))
        cc_json_put_number(f, v);
    else
        (void)fputs("null", f);
}

static void put_error(FILE *f, const struct cc_update_error *error)
{
    const struct {
        const char *key;
        double value;
    } all[] = {{"error", error->error},      {"low", error->low},     {"high", error->high},
               {"nmse", error->nmse},        {"delay", error->delay}, {"bias", error->bias},
               {"variance", error->variance}};
    (void)fputs(", \"error\": {", f);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        put(f, all[i].key, all[i].value);
        (void)fputs(", ", f);
    }
    (void)fprintf(f, "\"settled\": %s}", error->settled ? "true" : "false");
}

/* The list, or null where all payloads have the same size. */
static void put_sums(FILE *f, const struct cc_figure_set *s, size_t tensors)
{
    (void)fprintf(f, ",\n \"sums_settled\": %s, \"sums\": %s", s->sums_settled ? "true" : "false",
                  s->sums != NULL ? "[" : "null");
    for (size_t t = 0; s->sums != NULL && t < tensors; t++)
        for (size_t i = 0; i < 2 * (size_t)CC_SUM_POINTS; i++)
            (void)fprintf(f, "%s%.17g", t + i == 0 ? "" : ", ",
                          i < CC_SUM_POINTS ? s->sums[t].pull[i]
                                            : s->sums[t].hop[i - CC_SUM_POINTS]);
    if (s->sums != NULL)
        (void)fputs("]", f);
}

static int put_figures(FILE *f, const struct cc_figures_config *c, size_t scheme,
                       const struct cc_figure_set *s, struct cc_error *e)
{
    (void)fputs("{\"schema\": \"" SCHEMA "\", \"scheme\": ", f);
    CC_TRY(cc_json_put_text(f, c->schemes->item[scheme]->name, e));
    (void)fputs(", \"net\": ", f);
    CC_TRY(cc_json_put_text(f, c->net->name, e));
    (void)fprintf(f, ", \"seed\": %llu, \"settled\": %s, \"steps\": %zu,\n \"bits\": [",
                  (unsigned long long)c->drawn.seed, s->settled ? "true" : "false", s->steps);
    for (size_t i = 0; i < c->net->count; i++)
        (void)fprintf(f, "%s%.17g", i == 0 ? "" : ", ", s->bits[i]);
    (void)fputs("]", f);
    if (s->has_sums)
        put_sums(f, s, c->net->count);
    if (s->has_error)
        put_error(f, &s->error);
    (void)fputs("}\n", f);
    return CC_OK;
}

int cc_figures_save(const struct cc_figures_config *config, size_t scheme,
                    const struct cc_figure_set *f, struct cc_error *e)
{
    char path[PATH_CAP];
    struct cc_outfile o;
    if (!find_path(config, scheme, path))
        return CC_OK;
    cc_cache_folders(path);
    CC_TRY(cc_file_create(&o, path, e));
    const int status = put_figures(o.f, config, scheme, f, e);
    if (status == CC_OK)
        return cc_file_commit(&o, e);
    cc_file_abort(&o);
    return status;
}
