/* The built-in devices, and reading a device file: published throughputs of nets, from which a
 * step's compute time follows. */
#include "models/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "models/device_list.h"

/* --- the built-in devices --- */

#define EMBED(symbol, name) CC_EMBED(cc_device_##symbol, "models/devices/" name ".json");
#define BYTES(symbol, name) CC_EMBEDDED(cc_device_##symbol),
CC_DEVICES(EMBED)
const char *const cc_device_names[] = {CC_DEVICES(CC_EMBED_NAME) NULL};
static const struct cc_embedded builtin[] = {CC_DEVICES(BYTES)};

void cc_device_free(struct cc_device *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++) {
        free(d->throughput[i].net);
        free(d->throughput[i].unit);
        free(d->throughput[i].precision);
        free(d->throughput[i].source);
    }
    free(d->throughput);
    free(d->name);
    free(d->text);
    free(d);
}

/* --- JSON --- */

static int copy_text(const cJSON *object, const char *key, char **out, struct cc_error *e)
{
    const char *text;
    CC_TRY(cc_json_need_text(object, key, &text, e));
    *out = cc_strdup(text, e);
    return *out != NULL ? CC_OK : CC_FAIL;
}

static int parse_amount(const cJSON *object, const char *key, double *out, struct cc_error *e)
{
    *out = 0;
    CC_TRY(cc_json_amount(object, key, out, e));
    return *out > 0 ? CC_OK : cc_fail(e, "\"%s\" must be there and above 0", key);
}

static int parse_throughput(const cJSON *item, struct cc_throughput *t, struct cc_error *e)
{
    static const char *const keys[] = {"net",       "batch",  "unit", "per_s",
                                       "precision", "source", NULL};
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object with net, batch, unit, per_s, precision and source");
    CC_TRY(cc_json_keys(item, keys, e));
    CC_TRY(copy_text(item, "net", &t->net, e));
    CC_TRY(copy_text(item, "unit", &t->unit, e));
    CC_TRY(copy_text(item, "precision", &t->precision, e));
    CC_TRY(copy_text(item, "source", &t->source, e));
    CC_TRY(parse_amount(item, "batch", &t->batch, e));
    return parse_amount(item, "per_s", &t->per_s, e);
}

static int parse_device(const cJSON *root, struct cc_device *d, struct cc_error *e)
{
    static const char *const keys[] = {"schema", "name", "device", "trainings", NULL};
    const cJSON *list;
    size_t count;
    CC_TRY(cc_json_schema(root, CC_DEVICE_SCHEMA, "see docs/traces.md", e));
    CC_TRY(cc_json_keys(root, keys, e));
    CC_TRY(copy_text(root, "name", &d->name, e));
    CC_TRY(copy_text(root, "device", &d->text, e));
    CC_TRY(cc_json_need_list(root, "trainings", "trainings", &list, &count, e));
    d->throughput = cc_alloc0(count * sizeof *d->throughput, e);
    if (d->throughput == NULL)
        return CC_FAIL;
    for (const cJSON *c = list->child; c != NULL; c = c->next)
        if (parse_throughput(c, &d->throughput[d->count++], e) != CC_OK) {
            cc_error_in(e, "training %zu", d->count - 1);
            return CC_FAIL;
        }
    return CC_OK;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_device *d = cc_alloc0(sizeof *d, e);
    if (d == NULL)
        return CC_FAIL;
    const int status = parse_device(root, d, e);
    if (status == CC_OK)
        *(struct cc_device **)out = d;
    else
        cc_device_free(d);
    return status;
}

int cc_device_parse(const char *text, size_t length, struct cc_device **out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

/* --- opening --- */

int cc_device_open(const char *name, struct cc_device **out, struct cc_error *e)
{
    for (size_t i = 0; cc_device_names[i] != NULL; i++)
        if (strcmp(name, cc_device_names[i]) == 0)
            return cc_device_parse(builtin[i].begin, cc_embedded_size(&builtin[i]), out, e);
    return cc_usage(e, "device '%.80s' is not known", name);
}

int cc_device_throughput(const struct cc_device *d, const char *net,
                         const struct cc_throughput **out, struct cc_error *e)
{
    char all[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->throughput[i].net, net) == 0) {
            *out = &d->throughput[i];
            return CC_OK;
        }
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : ", ",
                                     d->throughput[i].net);
    }
    return cc_usage(e,
                    "no published throughput of training %.80s on %s is known, only of %s: give "
                    "--compute",
                    net, d->text, all);
}
