/* Nets: the built-in ones, which are JSON files carried inside the program, .json files
 * (docs/traces.md), and .safetensors files, whose names and shapes come from the headers; their
 * tensors of whole numbers (counters, positions, masks) are left out, as they are not trained. */
#include "models/net.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/embed.h"
#include "core/format/contents.h"
#include "core/format/json.h"
#include "core/format/safetensors.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "models/net_list.h"

/* --- making nets, tensor by tensor --- */

/* Divides a dimension of a tensor, as column and row parallelism do: the first that is a multiple,
 * else the longest. */
static void divide(struct cc_shape *shape, size_t parts)
{
    int at = 0;
    for (int d = 1; d < shape->ndim; d++)
        if (shape->dim[at] % parts != 0 &&
            (shape->dim[d] % parts == 0 || shape->dim[d] > shape->dim[at]))
            at = d;
    if (shape->ndim == 0 || shape->n == 0) {
        *shape = cc_shape_flat((shape->n + parts - 1) / parts);
        return;
    }
    shape->n /= shape->dim[at];
    shape->dim[at] = (shape->dim[at] + parts - 1) / parts;
    shape->n *= shape->dim[at];
}

void cc_net_divide(struct cc_net *net, size_t parts)
{
    if (parts == 1)
        return;
    net->values = net->largest = 0;
    for (size_t i = 0; i < net->count; i++) {
        struct cc_shape *shape = &net->tensors[i].shape;
        divide(shape, parts);
        net->values += shape->n;
        net->largest = cc_larger(net->largest, shape->n);
    }
}

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

/* Begins a net without tensors and with room for `capacity` of them. The texts are copied; NULL
 * becomes empty. */
static int begin(size_t capacity, const char *name, const char *reference,
                 const char *compute_source, struct cc_net **out, struct cc_error *e)
{
    struct cc_net *net;
    int status = CC_OK;
    CC_TRY(CC_NEW(net, 1, e));
    CC_TRY_OUT(CC_NEW(net->tensors, capacity, e));
    CC_TRY_OUT(CC_NEW(net->share, capacity, e));
    CC_TRY_OUT(cc_text(&net->name, e, "%s", name));
    CC_TRY_OUT(cc_text(&net->reference, e, "%s", reference != NULL ? reference : ""));
    CC_TRY_OUT(
        cc_text(&net->compute_source, e, "%s", compute_source != NULL ? compute_source : ""));
    *out = net;
out:
    if (status != CC_OK)
        cc_net_free(net);
    return status;
}

/* Appends a tensor, whose name is copied. `compute`: its part of the computation, in any unit that
 * all tensors of the net share. */
static int add_tensor(struct cc_net *net, const char *name, const struct cc_shape *shape,
                      double compute, struct cc_error *e)
{
    size_t values;
    if (shape->n == 0)
        return cc_fail(e, "tensor \"%.200s\" has no values", name);
    if (__builtin_add_overflow(net->values, shape->n, &values) || values > SIZE_MAX / 64)
        return cc_fail(e, "the number of values of all tensors is too large");
    char *copy;
    CC_TRY(cc_text(&copy, e, "%s", name));
    net->tensors[net->count] = (struct cc_tensor_info){.name = copy, .shape = *shape};
    net->share[net->count++] = compute;
    net->values = values;
    net->largest = cc_larger(net->largest, shape->n);
    return CC_OK;
}

static int check_names(const struct cc_net *net, struct cc_error *e)
{
    const char **names;
    CC_TRY(CC_NEW(names, net->count + 1, e));
    for (size_t i = 0; i < net->count; i++)
        names[i] = net->tensors[i].name;
    const char *twice = cc_word_twice(names, net->count);
    free(names);
    return twice == NULL ? CC_OK
                         : cc_fail(e, "two tensors are named \"%.200s\"; names must differ", twice);
}

/* Checks that there are tensors and that their names differ, and scales the shares of the
 * computation to the sum 1; if all are 0, they follow the number of values. */
static int finish(struct cc_net *net, struct cc_error *e)
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

/* Ends a net that is complete if `status` is CC_OK: sets *out, or frees it. */
static int end(struct cc_net *net, int status, struct cc_net **out, struct cc_error *e)
{
    if (status == CC_OK)
        status = finish(net, e);
    if (status == CC_OK)
        *out = net;
    else
        cc_net_free(net);
    return status;
}

int cc_net_flat(const char *label, size_t n, struct cc_net **out, struct cc_error *e)
{
    const struct cc_tensor_info tensor = {.name = CC_ONLY_TENSOR, .shape = cc_shape_flat(n)};
    return n > 0 ? cc_net_of(label, &tensor, 1, out, e) : cc_fail(e, "a net of no values");
}

int cc_net_of(const char *label, const struct cc_tensor_info *tensors, size_t count,
              struct cc_net **out, struct cc_error *e)
{
    struct cc_net *net;
    int status = CC_OK;
    CC_TRY(begin(count, label, NULL, NULL, &net, e));
    for (size_t i = 0; i < count && status == CC_OK; i++)
        status = add_tensor(net, tensors[i].name, &tensors[i].shape, (double)tensors[i].shape.n, e);
    return end(net, status, out, e);
}

/* --- a .safetensors file --- */

/* Appends the tensors of a file's header, in its order. The net's type is that of its largest. */
static int add_contents(struct cc_net *net, const struct cc_contents *c, struct cc_error *e)
{
    size_t *order;
    int status = CC_OK;
    CC_TRY(cc_contents_order(c, &order, e));
    for (size_t i = 0; i < c->count && status == CC_OK; i++) {
        const struct cc_stored *s = &c->tensors[order[i]];
        if (s->dtype >= CC_I8)
            continue;
        status = add_tensor(net, s->name, &s->shape, 0, e);
        if (s->shape.n == net->largest)
            net->dtype = cc_dtype_element(s->dtype);
    }
    free(order);
    return status;
}

/* *out is to be freed also after an error. */
static int parse_header(const char *path, struct cc_contents *out, struct cc_error *e)
{
    struct cc_infile f;
    struct cc_bytes head;
    *out = (struct cc_contents){0};
    CC_TRY(cc_infile_open(path, &f, e));
    int status = cc_contents_read_head(&f, path, CC_SAFETENSORS, &head, e);
    cc_infile_close(&f);
    CC_TRY(status);
    status = cc_safetensors_shapes(head.data, f.state.size, out, e);
    cc_bytes_free(&head);
    return cc_status_in(status, e, "%s", path);
}

static int read_safetensors(const char *path, struct cc_net **out, struct cc_error *e)
{
    struct cc_contents c;
    struct cc_net *net;
    int status = parse_header(path, &c, e);
    if (status == CC_OK)
        status = begin(c.count + 1, path, NULL, NULL, &net, e);
    if (status == CC_OK)
        status = cc_status_in(end(net, add_contents(net, &c, e), out, e), e, "%s", path);
    cc_contents_free(&c);
    return status;
}

/* --- several files --- */

/* One mapping of the index, from a tensor to the file that holds it, in the index's own folder.
 * Lists of them are sorted by file, then by tensor. */
struct entry {
    const char *file, *tensor;
};

static int by_file(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    return order != 0 ? order : strcmp(x->tensor, y->tensor);
}

static int parse_index(const cJSON *root, struct entry **out, size_t *count, struct cc_error *e)
{
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(root, "weight_map");
    if (!cJSON_IsObject(map) || map->child == NULL)
        return cc_fail(e, "\"weight_map\" must be an object with a file for each tensor");
    size_t n = 0;
    struct entry *list;
    CC_TRY(CC_NEW(list, (size_t)cJSON_GetArraySize(map), e));
    for (const cJSON *c = map->child; c != NULL; c = c->next) {
        if (!cJSON_IsString(c) || c->valuestring[0] == '\0' || strchr(c->valuestring, '/')) {
            free(list);
            return cc_fail(e, "\"weight_map\": \"%.100s\" is not mapped to a file beside the index",
                           c->string);
        }
        list[n++] = (struct entry){c->valuestring, c->string};
    }
    qsort(list, n, sizeof *list, by_file);
    *out = list;
    *count = n;
    return CC_OK;
}

static int check_file(const struct cc_contents *c, const char *path, const struct entry *list,
                      size_t count, struct cc_error *e)
{
    if (c->count != count)
        return cc_fail(e, "%s: it has %zu tensors, the index says %zu", path, c->count, count);
    for (size_t i = 0; i < c->count; i++) {
        const struct entry key = {list[0].file, c->tensors[i].name};
        if (bsearch(&key, list, count, sizeof *list, by_file) == NULL)
            return cc_fail(e, "%s: the index does not say that \"%.200s\" is in it", path,
                           c->tensors[i].name);
    }
    return CC_OK;
}

static int add_file(struct cc_net *net, const char *path, const struct entry *list, size_t count,
                    struct cc_error *e)
{
    struct cc_contents c;
    int status = parse_header(path, &c, e);
    if (status == CC_OK)
        status = check_file(&c, path, list, count, e);
    if (status == CC_OK)
        status = add_contents(net, &c, e);
    cc_contents_free(&c);
    return status;
}

static int add_files(struct cc_net *net, const char *index, const struct entry *list, size_t count,
                     struct cc_error *e)
{
    const char *slash = strrchr(index, '/');
    size_t folder = slash != NULL ? (size_t)(slash - index) + 1 : 0;
    int status = CC_OK;
    for (size_t i = 0, next; status == CC_OK && i < count; i = next) {
        for (next = i + 1; next < count && strcmp(list[next].file, list[i].file) == 0;)
            next++;
        char *path;
        CC_TRY(cc_text(&path, e, "%.*s%s", (int)folder, index, list[i].file));
        status = add_file(net, path, list + i, next - i, e);
        free(path);
    }
    return status;
}

struct index {
    const char *path;
    struct cc_net *net;
};

static int net_of_index(const cJSON *root, void *out, struct cc_error *e)
{
    struct index *index = out;
    struct entry *list;
    size_t count;
    struct cc_net *net;
    CC_TRY(parse_index(root, &list, &count, e));
    int status = begin(count, index->path, NULL, NULL, &net, e);
    if (status == CC_OK)
        status = end(net, add_files(net, index->path, list, count, e), &index->net, e);
    free(list);
    return status;
}

static int read_index(const char *path, struct cc_net **out, struct cc_error *e)
{
    struct index index = {.path = path};
    CC_TRY(cc_json_read_as(path, net_of_index, &index, e));
    *out = index.net;
    return CC_OK;
}

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

struct parsing {
    struct cc_net *net;
    int computes; /* -1 before the first tensor, then whether tensors have "compute": all must, or
                     none */
};

static int parse_tensor(const cJSON *item, void *arg, struct cc_error *e)
{
    static const char *const keys[] = {"name", "shape", "compute", NULL};
    struct parsing *p = arg;
    const char *name;
    struct cc_shape shape;
    double compute = 0;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object with name and shape");
    CC_TRY(cc_json_keys(item, keys, e));
    CC_TRY(cc_json_need_text(item, "name", &name, e));
    for (const char *c = name; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return cc_fail(e, "its name has control characters");
    CC_TRY_IN(get_shape(item, &shape, e), e, "\"%.100s\"", name);
    CC_TRY_IN(cc_json_amount(item, "compute", &compute, e), e, "\"%.100s\"", name);
    int has = cJSON_GetObjectItemCaseSensitive(item, "compute") != NULL;
    if (p->computes >= 0 && has != p->computes)
        return cc_fail(e,
                       "\"%.100s\" %s \"compute\" and tensors before it %s: give it to all, or "
                       "to none",
                       name, has ? "has" : "has no", has ? "have not" : "have");
    p->computes = has;
    return add_tensor(p->net, name, &shape, compute, e);
}

static int parse_paper(const cJSON *item, struct cc_net *net, struct cc_error *e)
{
    static const char *const keys[] = {"paper", "says", NULL};
    const char *paper, *says;
    CC_TRY(cc_json_keys(item, keys, e));
    CC_TRY(cc_json_need_text(item, "paper", &paper, e));
    CC_TRY(cc_json_need_text(item, "says", &says, e));
    struct cc_net_paper *p = &net->papers[net->paper_count++];
    CC_TRY(cc_text(&p->paper, e, "%s", paper));
    return cc_text(&p->says, e, "%s", says);
}

/* "papers": a list of {"paper", "says"}, or missing. */
static int parse_papers(const cJSON *list, struct cc_net *net, struct cc_error *e)
{
    if (list == NULL)
        return CC_OK;
    if (!cJSON_IsArray(list))
        return cc_fail(e, "\"papers\" is not a list");
    CC_TRY(CC_NEW(net->papers, (size_t)cJSON_GetArraySize(list), e));
    for (const cJSON *c = list->child; c != NULL; c = c->next) {
        if (!cJSON_IsObject(c))
            return cc_fail(e, "\"papers\": not an object with paper and says");
        CC_TRY_IN(parse_paper(c, net, e), e, "\"papers\"");
    }
    return CC_OK;
}

/* "dtype": a type's name, or missing: float32. */
static int parse_dtype(const cJSON *root, enum cc_element *out, struct cc_error *e)
{
    const char *name;
    char all[64];
    *out = CC_ELEMENT_FP32;
    CC_TRY(cc_json_text(root, "dtype", &name, e));
    if (name == NULL)
        return CC_OK;
    const int found = cc_word_find(cc_element_names, name);
    cc_word_list(cc_element_names, all, sizeof all);
    if (found < 0)
        return cc_fail(e, "\"dtype\": \"%.40s\" is not one of %s", name, all);
    *out = (enum cc_element)found;
    return CC_OK;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    static const char *const keys[] = {"schema",         "name",    "reference",
                                       "papers",         "dtype",   "compute_s",
                                       "compute_source", "tensors", NULL};
    const char *name, *reference, *source;
    enum cc_element dtype;
    double compute_s = 0;
    CC_TRY(cc_json_schema(root, CC_NET_SCHEMA, "see docs/traces.md", e));
    CC_TRY(cc_json_keys(root, keys, e));
    CC_TRY(cc_json_need_text(root, "name", &name, e));
    CC_TRY(cc_json_text(root, "reference", &reference, e));
    CC_TRY(cc_json_text(root, "compute_source", &source, e));
    CC_TRY(cc_json_amount(root, "compute_s", &compute_s, e));
    CC_TRY(parse_dtype(root, &dtype, e));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "tensors");
    if (!cJSON_IsArray(list) || list->child == NULL)
        return cc_fail(e, "\"tensors\" must be a list of at least one {\"name\", \"shape\"}");
    struct parsing p = {.computes = -1};
    CC_TRY(begin((size_t)cJSON_GetArraySize(list), name, reference, source, &p.net, e));
    p.net->compute_s = compute_s;
    p.net->dtype = dtype;
    int status = parse_papers(cJSON_GetObjectItemCaseSensitive(root, "papers"), p.net, e);
    if (status == CC_OK)
        status = cc_json_each(list, "tensor", parse_tensor, &p, e);
    return end(p.net, status, out, e);
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
        return read_index(name, out, e);
    if (ends_with(name, ".safetensors"))
        return read_safetensors(name, out, e);
    if (ends_with(name, ".json"))
        return cc_json_read_as(name, parse_root, out, e);
    for (size_t i = 0; cc_net_names[i] != NULL; i++)
        if (same_net(name, cc_net_names[i]))
            return cc_net_parse(builtin[i].begin, cc_embedded_size(&builtin[i]), out, e);
    return refuse_name(name, e);
}
