/* {"schema": "commcomp-figures/4", "scheme": "3lc", "net": "resnet20", "seed": 1, "bits": [...],
 * ..., "crc32": "..."}. The file's name has a checksum of all that the figures depend on: the
 * version, the scheme (of a plugin, its file), the net's tensors, those sent as fp32, the type of
 * the gradients, the distribution and the seed. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/terminal.h"
#include "cmd/input/cache.h"
#include "cmd/input/figures.h"
#include "core/file.h"
#include "core/format/crc32.h"
#include "core/format/json.h"
#include "core/infile.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "results/machine_info.h"
#include "schemes/plugin_load.h"

#define SCHEMA "commcomp-figures/4"
enum { PATH_CAP = 1024 };

static bool find_path(const struct cc_figures_config *c, size_t scheme, char out[PATH_CAP])
{
    const struct cc_net *net = c->net;
    const char *name_of = c->schemes->item[scheme]->name;
    const uint32_t plugin = cc_plugin_checksum(c->schemes->item[scheme]);
    const double drawn[] = {(double)c->drawn.seed, c->drawn.distribution, c->drawn.zeros,
                            c->drawn.indices,      c->drawn.decay,        c->dtype};
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

/* The numbers of an error, which are null where they are not known; and those of a tensor's sums:
 * of pulls, then of hops. */
#define NUMBER(member)                                                                             \
    {                                                                                              \
#member, offsetof(struct cc_update_error, member)                                          \
    }
static const struct {
    const char *key;
    size_t at;
} error_numbers[] = {NUMBER(error), NUMBER(low),   NUMBER(high), NUMBER(nmse),    NUMBER(delay),
                     NUMBER(late),  NUMBER(noise), NUMBER(bias), NUMBER(variance)};
enum {
    ERROR_NUMBERS = sizeof error_numbers / sizeof error_numbers[0],
    SUM_NUMBERS = sizeof(struct cc_sum_sizes) / sizeof(double)
};

/* --- reading --- */

struct target {
    const struct cc_figures_config *config;
    size_t scheme;
    struct cc_figure_set *out;
};

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

/* The numbers of a list of this length; NULL if they are not there. */
static double *take_list(const cJSON *list, size_t count)
{
    size_t i = 0;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != count)
        return NULL;
    double *out = cc_alloc(count * sizeof *out, NULL);
    for (const cJSON *v = out != NULL ? list->child : NULL; v != NULL; v = v->next)
        out[i++] = cJSON_IsNumber(v) ? v->valuedouble : 0;
    return out;
}

static struct cc_update_error take_error(const cJSON *object)
{
    struct cc_update_error out = {.settled = truth(object, "settled")};
    for (size_t i = 0; i < ERROR_NUMBERS; i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, error_numbers[i].key);
        *(double *)((char *)&out + error_numbers[i].at) =
            cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
    }
    return out;
}

static int take(const cJSON *root, void *arg, struct cc_error *e)
{
    const struct target *t = arg;
    const size_t tensors = t->config->net->count;
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const cJSON *sums = cJSON_GetObjectItemCaseSensitive(root, "sums");
    CC_TRY(cc_json_schema(root, SCHEMA, "commcomp writes such files", e));
    double *bits = take_list(cJSON_GetObjectItemCaseSensitive(root, "bits"), tensors);
    if (!fits(root, t) || bits == NULL) {
        free(bits);
        return CC_OK;
    }
    *t->out = (struct cc_figure_set){.bits = bits,
                                     .settled = truth(root, "settled"),
                                     .sums = (void *)take_list(sums, tensors * SUM_NUMBERS),
                                     .sums_settled = truth(root, "sums_settled"),
                                     .error = cJSON_IsObject(error) ? take_error(error)
                                                                    : cc_update_error_unknown(),
                                     .has_error = cJSON_IsObject(error)};
    t->out->has_sums = t->out->sums != NULL || cJSON_IsNull(sums);
    (void)cc_json_size(cJSON_GetObjectItemCaseSensitive(root, "steps"), &t->out->steps);
    return CC_OK;
}

/* The end of a file: the checksum of all bytes before it. */
#define END      ",\n \"crc32\": \"%08" PRIx32 "\"}\n"
#define END_SIZE (sizeof ",\n \"crc32\": \"00000000\"}\n" - 1)

static void print_end(const void *body, size_t bytes, char out[END_SIZE + 1])
{
    (void)snprintf(out, END_SIZE + 1, END, cc_crc32(0, body, bytes));
}

/* Reads a file; sets *damaged if its checksum does not fit. */
static int read_file(const char *path, struct target *t, bool *damaged, struct cc_error *e)
{
    struct cc_bytes file;
    char end[END_SIZE + 1];
    CC_TRY(cc_file_read(path, &file, e));
    const size_t body = file.size < END_SIZE ? 0 : file.size - END_SIZE;
    print_end(file.data, body, end);
    int status = CC_OK;
    *damaged = file.size < END_SIZE || memcmp(file.data + body, end, END_SIZE) != 0;
    if (*damaged)
        status = cc_fail(e, "its checksum is not that of its contents: the file is damaged");
    if (status == CC_OK)
        status = cc_json_parse_as((const char *)file.data, file.size, take, t, e);
    cc_bytes_free(&file);
    return status;
}

void cc_figures_load(const struct cc_figures_config *config, size_t scheme,
                     struct cc_figure_set *out)
{
    struct target t = {.config = config, .scheme = scheme, .out = out};
    struct cc_error why;
    char path[PATH_CAP];
    bool damaged = false;
    if (!find_path(config, scheme, path) || access(path, R_OK) != 0 ||
        read_file(path, &t, &damaged, &why) == CC_OK)
        return;
    if (!config->quiet)
        cc_say("%s: %s; the figures are measured again", path, why.text);
    if (damaged)
        (void)unlink(path);
}

/* --- writing --- */

static void put_error(FILE *f, const struct cc_update_error *error)
{
    (void)fputs(", \"error\": {", f);
    for (size_t i = 0; i < ERROR_NUMBERS; i++) {
        const double v = *(const double *)((const char *)error + error_numbers[i].at);
        (void)fprintf(f, "\"%s\": ", error_numbers[i].key);
        if (isfinite(v))
            cc_json_put_number(f, v);
        else
            (void)fputs("null", f);
        (void)fputs(", ", f);
    }
    (void)fprintf(f, "\"settled\": %s}", error->settled ? "true" : "false");
}

static void put_list(FILE *f, const double *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)fprintf(f, "%s%.17g", i == 0 ? "[" : ", ", list[i]);
    (void)fputs("]", f);
}

static int put_figures(FILE *f, const struct cc_figures_config *c, size_t scheme,
                       const struct cc_figure_set *s, struct cc_error *e)
{
    (void)fputs("{\"schema\": \"" SCHEMA "\", \"scheme\": ", f);
    CC_TRY(cc_json_put_text(f, c->schemes->item[scheme]->name, e));
    (void)fputs(", \"net\": ", f);
    CC_TRY(cc_json_put_text(f, c->net->name, e));
    (void)fprintf(f, ", \"seed\": %llu, \"settled\": %s, \"steps\": %zu,\n \"bits\": ",
                  (unsigned long long)c->drawn.seed, s->settled ? "true" : "false", s->steps);
    put_list(f, s->bits, c->net->count);
    if (s->has_sums)
        (void)fprintf(f,
                      ",\n \"sums_settled\": %s, \"sums\": ", s->sums_settled ? "true" : "false");
    if (s->sums != NULL)
        put_list(f, (const double *)s->sums, c->net->count * SUM_NUMBERS);
    else if (s->has_sums)
        (void)fputs("null", f); /* all payloads have the same size */
    if (s->has_error)
        put_error(f, &s->error);
    return CC_OK;
}

int cc_figures_save(const struct cc_figures_config *config, size_t scheme,
                    const struct cc_figure_set *f, struct cc_error *e)
{
    char path[PATH_CAP], end[END_SIZE + 1];
    struct cc_memory_text t;
    struct cc_outfile o;
    if (!find_path(config, scheme, path))
        return CC_OK;
    cc_cache_folders(path);
    CC_TRY(cc_memory_text_begin(&t, "kept figures", e));
    CC_TRY(cc_memory_text_end(&t, put_figures(t.f, config, scheme, f, e), e));
    print_end(t.text, t.bytes, end);
    int status = cc_file_create(&o, path, e);
    if (status == CC_OK) {
        (void)fwrite(t.text, 1, t.bytes, o.f);
        (void)fputs(end, o.f);
        status = cc_file_commit(&o, e);
    }
    free(t.text);
    return status;
}
