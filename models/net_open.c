/* Opening nets by name or path: the built-in ones, which are JSON files carried inside the program,
 * and files. docs/traces.md describes the JSON. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/embed.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "models/net_impl.h"
#include "models/net_list.h"

/* --- the built-in nets --- */

#define EMBED(symbol, name) CC_EMBED(cc_net_##symbol, "models/nets/" name ".json");
#define BYTES(symbol, name) CC_EMBEDDED(cc_net_##symbol),
CC_NETS(EMBED)
const char *const cc_net_names[] = {CC_NETS(CC_EMBED_NAME) NULL};
static const struct cc_embedded builtin[] = {CC_NETS(BYTES)};

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

/* *computes: -1 before the first tensor, then whether tensors have "compute": all must, or none. */
static int parse_tensor(const cJSON *item, struct cc_net *net, int *computes, struct cc_error *e)
{
    static const char *const keys[] = {"name", "shape", "compute", NULL};
    const char *name;
    struct cc_shape shape;
    double compute = 0;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object with name and shape");
    CC_TRY(cc_json_keys(item, keys, e));
    CC_TRY(cc_json_need_text(item, "name", &name, e));
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
    net->papers = cc_alloc0(((size_t)cJSON_GetArraySize(list) + 1) * sizeof *net->papers, e);
    if (net->papers == NULL)
        return CC_FAIL;
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
    CC_TRY(cc_json_schema(root, CC_NET_SCHEMA, "see docs/traces.md", e));
    CC_TRY(cc_json_keys(root, keys, e));
    CC_TRY(cc_json_need_text(root, "name", &name, e));
    CC_TRY(cc_json_text(root, "reference", &reference, e));
    CC_TRY(cc_json_text(root, "compute_source", &source, e));
    CC_TRY(cc_json_amount(root, "compute_s", &compute_s, e));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    if (!cJSON_IsArray(list) || list->child == NULL)
        return cc_fail(e, "\"tensors\" must be a list of at least one {\"name\", \"shape\"}");
    struct cc_net *net = cc_net_new((size_t)cJSON_GetArraySize(list), e);
    if (net == NULL)
        return CC_FAIL;
    net->compute_s = compute_s;
    int status = CC_OK;
    CC_TRY_OUT(cc_net_set_texts(net, name, reference, source, e));
    CC_TRY_OUT(parse_papers(cJSON_GetObjectItemCaseSensitive(root, "papers"), net, e));
    CC_TRY_OUT(parse_tensors(list, net, e));
    *(struct cc_net **)out = net;
    net = NULL;
out:
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

/* Whether two names are equal but for case, '-' and '_': "ResNet-50" is resnet50. */
static bool same_net(const char *a, const char *b)
{
    static const char ignored[] = "-_";
    for (;; a++, b++) {
        a += strspn(a, ignored);
        b += strspn(b, ignored);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

static int refuse_name(const char *name, struct cc_error *e)
{
    char list[400];
    cc_word_list(cc_net_names, list, sizeof list);
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
        if (same_net(name, cc_net_names[i]))
            return cc_net_parse(builtin[i].begin, cc_embedded_size(&builtin[i]), out, e);
    return refuse_name(name, e);
}
