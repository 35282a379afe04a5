#include "models/net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/format/contents.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/param.h"
#include "models/embed.h"
#include "models/net_impl.h"

/* --- the built-in ones --- */

#define NET(symbol, name) CC_EMBED(cc_net_##symbol, "models/nets/" name ".json");
#include "models/net_list.h"
#undef NET

#define NET(symbol, name) name,
const char *const cc_net_names[] = {
#include "models/net_list.h"
    NULL};
#undef NET

#define NET(symbol, name) CC_EMBEDDED(cc_net_##symbol),
static const struct cc_embedded builtin[] = {
#include "models/net_list.h"
};
#undef NET

/* --- making --- */

void cc_net_free(struct cc_net *net)
{
    if (net == NULL)
        return;
    for (size_t i = 0; i < net->count; i++)
        free((char *)(uintptr_t)net->tensors[i].name);
    free(net->tensors);
    free(net->share);
    for (size_t i = 0; i < net->paper_count; i++) {
        free(net->papers[i].paper);
        free(net->papers[i].says);
    }
    free(net->papers);
    free(net->name);
    free(net->reference);
    free(net->compute_source);
    free(net);
}

struct cc_net *cc_net_new(size_t capacity, struct cc_error *e)
{
    struct cc_net *net = calloc(1, sizeof *net);
    if (net == NULL) {
        cc_error_set(e, "out of memory");
        return NULL;
    }
    net->tensors = calloc(capacity, sizeof *net->tensors);
    net->share = calloc(capacity, sizeof *net->share);
    if (net->tensors == NULL || net->share == NULL) {
        cc_error_set(e, "out of memory: %zu tensors", capacity);
        cc_net_free(net);
        return NULL;
    }
    return net;
}

int cc_net_add(struct cc_net *net, const char *name, const struct cc_shape *shape, double compute,
               struct cc_error *e)
{
    size_t values;
    if (__builtin_add_overflow(net->values, shape->n, &values) || values > SIZE_MAX / 64)
        return cc_fail(e, "the number of values of all tensors is too large");
    char *copy = cc_strdup(name, e);
    if (copy == NULL)
        return CC_FAIL;
    net->tensors[net->count] = (struct cc_tensor_info){.name = copy, .shape = *shape};
    net->share[net->count++] = compute;
    net->values = values;
    net->largest = shape->n > net->largest ? shape->n : net->largest;
    return CC_OK;
}

int cc_net_set_texts(struct cc_net *net, const char *name, const char *reference,
                     const char *compute_source, struct cc_error *e)
{
    net->name = cc_strdup(name, e);
    net->reference = cc_strdup(reference != NULL ? reference : "", e);
    net->compute_source = cc_strdup(compute_source != NULL ? compute_source : "", e);
    return net->name != NULL && net->reference != NULL && net->compute_source != NULL ? CC_OK
                                                                                      : CC_FAIL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct cc_net *net, struct cc_error *e)
{
    const char **names = calloc(net->count + 1, sizeof *names);
    if (names == NULL)
        return cc_fail(e, "out of memory: %zu tensors", net->count);
    for (size_t i = 0; i < net->count; i++)
        names[i] = net->tensors[i].name;
    qsort(names, net->count, sizeof *names, by_text);
    int status = CC_OK;
    for (size_t i = 1; i < net->count && status == CC_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = cc_fail(e, "two tensors are named \"%.200s\"; names must differ", names[i]);
    free(names);
    return status;
}

int cc_net_finish(struct cc_net *net, struct cc_error *e)
{
    double sum = 0;
    if (net->count == 0)
        return cc_fail(e, "no tensors of floats in it");
    for (size_t i = 0; i < net->count; i++)
        sum += net->share[i];
    net->compute = sum;
    for (size_t i = 0; i < net->count; i++)
        net->share[i] =
            sum > 0 ? net->share[i] / sum : (double)net->tensors[i].shape.n / (double)net->values;
    return check_names(net, e);
}

/* A net whose tensors are there, unless `status` says otherwise: *out, or freed. */
static int hand_over(struct cc_net *net, const char *label, int status, struct cc_net **out,
                     struct cc_error *e)
{
    if (status == CC_OK)
        status = cc_net_set_texts(net, label, NULL, NULL, e);
    if (status == CC_OK)
        status = cc_net_finish(net, e);
    if (status == CC_OK)
        *out = net;
    else
        cc_net_free(net);
    return status;
}

int cc_net_flat(const char *label, size_t n, struct cc_net **out, struct cc_error *e)
{
    struct cc_net *net = cc_net_new(1, e);
    if (net == NULL)
        return CC_FAIL;
    struct cc_shape shape = cc_shape_flat(n);
    int status =
        n > 0 ? cc_net_add(net, CC_ONLY_TENSOR, &shape, 1, e) : cc_fail(e, "a net of no values");
    return hand_over(net, label, status, out, e);
}

int cc_net_of(const char *label, const struct cc_tensor_info *tensors, size_t count,
              struct cc_net **out, struct cc_error *e)
{
    struct cc_net *net = cc_net_new(count, e);
    int status = net != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0; i < count && status == CC_OK; i++) {
        const struct cc_tensor_info *t = &tensors[i];
        status = t->shape.n > 0 ? cc_net_add(net, t->name, &t->shape, (double)t->shape.n, e)
                                : cc_fail(e, "tensor \"%.200s\" has no values", t->name);
    }
    return hand_over(net, label, status, out, e);
}

/* --- JSON --- */

static int get_shape(const cJSON *tensor, struct cc_shape *out, struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(tensor, "shape"), *item;
    size_t dim[CC_MAX_DIMS];
    int ndim = 0;
    if (!cJSON_IsArray(list))
        return cc_fail(e, "\"shape\" must be a list of dimensions, as [64, 3, 3, 3]");
    cJSON_ArrayForEach(item, list)
    {
        if (ndim == CC_MAX_DIMS)
            return cc_fail(e, "\"shape\" has more than %d dimensions", CC_MAX_DIMS);
        if (!cc_json_size(item, &dim[ndim]) || dim[ndim] == 0)
            return cc_fail(e, "\"shape\": dimensions are whole numbers from 1 to 2^53");
        ndim++;
    }
    return cc_shape_make(dim, ndim, out, e);
}

/* *computes: -1 at first, then whether the tensors say their compute; all must, or none. */
static int parse_tensor(const cJSON *item, struct cc_net *net, int *computes, struct cc_error *e)
{
    static const char *const keys[] = {"name", "shape", "compute", NULL};
    const char *name;
    struct cc_shape shape;
    double compute = 0;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object with name and shape");
    if (cc_json_keys(item, keys, e) != CC_OK || cc_json_need_text(item, "name", &name, e) != CC_OK)
        return CC_FAIL;
    for (const char *p = name; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return cc_fail(e, "its name has control characters");
    if (get_shape(item, &shape, e) != CC_OK ||
        cc_json_amount(item, "compute", &compute, e) != CC_OK) {
        cc_error_in(e, "\"%.100s\"", name);
        return CC_FAIL;
    }
    int has = cJSON_GetObjectItemCaseSensitive(item, "compute") != NULL;
    if (*computes >= 0 && has != *computes)
        return cc_fail(e,
                       "\"%.100s\" %s \"compute\" and tensors before it %s: give it to all, or "
                       "to none",
                       name, has ? "has" : "has no", has ? "have not" : "have");
    *computes = has;
    return cc_net_add(net, name, &shape, compute, e);
}

static int parse_tensors(const cJSON *list, struct cc_net *net, struct cc_error *e)
{
    int computes = -1;
    size_t i = 0;
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++) {
        if (parse_tensor(c, net, &computes, e) != CC_OK) {
            cc_error_in(e, "tensor %zu", i);
            return CC_FAIL;
        }
    }
    return cc_net_finish(net, e);
}

/* "papers": a list of {"paper", "says"}, or missing. */
static int parse_papers(const cJSON *list, struct cc_net *net, struct cc_error *e)
{
    static const char *const keys[] = {"paper", "says", NULL};
    if (list == NULL)
        return CC_OK;
    if (!cJSON_IsArray(list))
        return cc_fail(e, "\"papers\" is not a list");
    net->papers = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *net->papers);
    if (net->papers == NULL)
        return cc_fail(e, "out of memory");
    for (const cJSON *c = list->child; c != NULL; c = c->next) {
        const char *paper, *says;
        if (!cJSON_IsObject(c))
            return cc_fail(e, "\"papers\": not an object with paper and says");
        if (cc_json_keys(c, keys, e) != CC_OK ||
            cc_json_need_text(c, "paper", &paper, e) != CC_OK ||
            cc_json_need_text(c, "says", &says, e) != CC_OK) {
            cc_error_in(e, "\"papers\"");
            return CC_FAIL;
        }
        struct cc_net_paper *p = &net->papers[net->paper_count++];
        p->paper = cc_strdup(paper, e);
        p->says = cc_strdup(says, e);
        if (p->paper == NULL || p->says == NULL)
            return CC_FAIL;
    }
    return CC_OK;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    static const char *const keys[] = {"schema",    "name",           "reference", "papers",
                                       "compute_s", "compute_source", "tensors",   NULL};
    const char *name, *reference, *source;
    double compute_s = 0;
    if (cc_json_schema(root, CC_NET_SCHEMA, "see docs/traces.md", e) != CC_OK ||
        cc_json_keys(root, keys, e) != CC_OK ||
        cc_json_need_text(root, "name", &name, e) != CC_OK ||
        cc_json_text(root, "reference", &reference, e) != CC_OK ||
        cc_json_text(root, "compute_source", &source, e) != CC_OK ||
        cc_json_amount(root, "compute_s", &compute_s, e) != CC_OK)
        return CC_FAIL;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    if (!cJSON_IsArray(list) || list->child == NULL)
        return cc_fail(e, "\"tensors\" must be a list of at least one {\"name\", \"shape\"}");
    struct cc_net *net = cc_net_new((size_t)cJSON_GetArraySize(list), e);
    if (net == NULL)
        return CC_FAIL;
    net->compute_s = compute_s;
    int status = cc_net_set_texts(net, name, reference, source, e);
    if (status == CC_OK)
        status = parse_papers(cJSON_GetObjectItemCaseSensitive(root, "papers"), net, e);
    if (status == CC_OK)
        status = parse_tensors(list, net, e);
    if (status == CC_OK)
        *(struct cc_net **)out = net;
    else
        cc_net_free(net);
    return status;
}

int cc_net_parse(const char *text, size_t length, struct cc_net **out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

/* --- opening --- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcasecmp(text + n - m, end) == 0;
}

static int unknown(const char *name, struct cc_error *e)
{
    char list[400] = "";
    size_t used = 0;
    for (size_t i = 0; cc_net_names[i] != NULL && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ",
                                 cc_net_names[i]);
    const char *near = cc_nearest(name, cc_net_names);
    if (near != NULL)
        return cc_usage(e,
                        "net '%.80s' is not known: did you mean '%s'? (there are %s; or a "
                        ".json or .safetensors file)",
                        name, near, list);
    return cc_usage(e, "net '%.80s' is not known: there are %s; or a .json or .safetensors file",
                    name, list);
}

int cc_net_open(const char *name, struct cc_net **out, struct cc_error *e)
{
    if (ends_with(name, ".safetensors.index.json"))
        return cc_net_read_index(name, out, e);
    if (ends_with(name, ".safetensors"))
        return cc_net_read_safetensors(name, out, e);
    if (ends_with(name, ".json"))
        return cc_json_read_as(name, parse_root, out, e);
    for (size_t i = 0; cc_net_names[i] != NULL; i++)
        if (strcmp(name, cc_net_names[i]) == 0)
            return cc_net_parse(builtin[i].begin, cc_embedded_size(&builtin[i]), out, e);
    return unknown(name, e);
}
