/* The built-in devices, and reading a device file: published throughputs of nets, from which a
 * step's compute time follows. */
#include "models/device.h"

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
    cJSON_Delete(d->json);
    free(d->throughput);
    free(d);
}

/* --- JSON --- */

#define AT(member, kind) CC_JSON_AT(struct cc_throughput, member, kind)

static int parse_throughput(const cJSON *item, void *device, struct cc_error *e)
{
    static const struct cc_json_member members[] = {AT(net, CC_JSON_NEED_TEXT),
                                                    AT(unit, CC_JSON_NEED_TEXT),
                                                    AT(precision, CC_JSON_NEED_TEXT),
                                                    AT(source, CC_JSON_NEED_TEXT),
                                                    AT(batch, CC_JSON_AMOUNT),
                                                    AT(per_s, CC_JSON_AMOUNT),
                                                    {.key = NULL}};
    struct cc_device *d = device;
    struct cc_throughput *t = &d->throughput[d->count++];
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object with net, batch, unit, per_s, precision and source");
    CC_TRY(cc_json_members(item, members, t, e));
    if (t->batch > 0 && t->per_s > 0)
        return CC_OK;
    return cc_fail(e, "\"%s\" must be there and above 0", t->batch > 0 ? "per_s" : "batch");
}

static int parse_device(const cJSON *root, struct cc_device *d, struct cc_error *e)
{
    static const struct cc_json_member members[] = {
        CC_JSON_KEY("schema"),
        CC_JSON_AT(struct cc_device, name, CC_JSON_NEED_TEXT),
        {"device", CC_JSON_NEED_TEXT, offsetof(struct cc_device, text)},
        CC_JSON_AT(struct cc_device, memory_gb, CC_JSON_AMOUNT),
        CC_JSON_AT(struct cc_device, memory_gb_per_s, CC_JSON_AMOUNT),
        CC_JSON_AT(struct cc_device, pcie_gb_per_s, CC_JSON_AMOUNT),
        CC_JSON_AT(struct cc_device, memory_source, CC_JSON_NEED_TEXT),
        CC_JSON_KEY("trainings"),
        {.key = NULL}};
    CC_TRY(cc_json_schema(root, CC_DEVICE_SCHEMA, "see docs/traces.md", e));
    CC_TRY(cc_json_members(root, members, d, e));
    if (!(d->memory_gb > 0) || !(d->memory_gb_per_s > 0) || !(d->pcie_gb_per_s > 0))
        return cc_fail(e, "\"%s\" must be there and above 0",
                       !(d->memory_gb > 0)         ? "memory_gb"
                       : !(d->memory_gb_per_s > 0) ? "memory_gb_per_s"
                                                   : "pcie_gb_per_s");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "trainings");
    if (!cJSON_IsArray(list))
        return cc_fail(e, "\"trainings\" must be a list");
    CC_TRY(CC_NEW(d->throughput, (size_t)cJSON_GetArraySize(list) + 1, e));
    return cc_json_each(list, "training", parse_throughput, d, e);
}

/* The device keeps a copy of the document, which owns its texts. */
static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_device *d;
    int status = CC_OK;
    CC_TRY(CC_NEW(d, 1, e));
    d->json = cJSON_Duplicate(root, true);
    if (d->json == NULL)
        CC_TRY_OUT(cc_fail(e, "out of memory: a copy of the device"));
    CC_TRY_OUT(parse_device(d->json, d, e));
    *(struct cc_device **)out = d;
    d = NULL;
out:
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

double cc_device_call_s(const struct cc_device *d, double launches, double bytes)
{
    return launches * CC_DEVICE_LAUNCH_S +
           bytes / (CC_DEVICE_MEMORY_SHARE * 1e9 * d->memory_gb_per_s);
}

int cc_device_throughput(const struct cc_device *d, const char *net,
                         const struct cc_throughput **out, struct cc_error *e)
{
    char all[256] = "";
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->throughput[i].net, net) == 0) {
            *out = &d->throughput[i];
            return CC_OK;
        }
        cc_list_add(all, sizeof all, ", ", "%s", d->throughput[i].net);
    }
    return cc_usage(e,
                    "no published throughput of training %.80s on %s is known, only of %s: give "
                    "--compute as well",
                    net, d->text, all[0] != '\0' ? all : "no net");
}
