/* Nets from .safetensors files: names and shapes come from the headers, values are not read.
 * Tensors of whole numbers (counters, positions, masks) are left out, as they are not trained. */
#include <stdlib.h>
#include <string.h>

#include "core/format/contents.h"
#include "core/format/json.h"
#include "core/format/safetensors.h"
#include "core/memory.h"
#include "models/net_impl.h"

/* Appends the tensors of a file's header, in its order. */
static int add_contents(struct cc_net *net, const struct cc_contents *c, struct cc_error *e)
{
    size_t *order;
    if (cc_contents_order(c, &order, e) != CC_OK)
        return CC_FAIL;
    int status = CC_OK;
    for (size_t i = 0; i < c->count && status == CC_OK; i++) {
        const struct cc_stored *s = &c->tensors[order[i]];
        if (s->dtype >= CC_I8)
            continue;
        status = s->shape.n > 0 ? cc_net_add(net, s->name, &s->shape, 0, e)
                                : cc_fail(e, "tensor \"%.200s\" has no values", s->name);
    }
    free(order);
    return status;
}

static int parse_header(const char *path, struct cc_contents *out, struct cc_error *e)
{
    struct cc_infile f;
    struct cc_bytes head;
    struct cc_contents c = {0};
    CC_TRY(cc_infile_open(path, &f, e));
    int status = cc_contents_read_head(&f, path, CC_SAFETENSORS, &head, e);
    cc_infile_close(&f);
    CC_TRY(status);
    status = cc_safetensors_shapes(head.data, f.state.size, &c, e);
    cc_bytes_free(&head);
    if (status == CC_OK) {
        *out = c;
    } else {
        cc_contents_free(&c);
        cc_error_in(e, "%s", path);
    }
    return status;
}

int cc_net_read_safetensors(const char *path, struct cc_net **out, struct cc_error *e)
{
    struct cc_contents c;
    CC_TRY(parse_header(path, &c, e));
    struct cc_net *net = cc_net_new(c.count + 1, e);
    int status = net != NULL ? CC_OK : CC_FAIL;
    if (net == NULL)
        goto out;
    CC_TRY_OUT(cc_net_set_texts(net, path, NULL, NULL, e));
    CC_TRY_OUT(add_contents(net, &c, e));
    CC_TRY_OUT(cc_net_finish(net, e));
    *out = net;
    net = NULL;
out:
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    cc_net_free(net);
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
    struct entry *list = cc_alloc0((size_t)cJSON_GetArraySize(map) * sizeof *list, e);
    if (list == NULL)
        return CC_FAIL;
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

/* Adds the tensors of one file, which must be those that the index maps to it. */
static int add_file(struct cc_net *net, const char *path, const struct entry *list, size_t count,
                    struct cc_error *e)
{
    struct cc_contents c;
    if (parse_header(path, &c, e) != CC_OK)
        return CC_FAIL;
    int status = CC_OK;
    if (c.count != count) {
        status = cc_fail(e, "%s: it has %zu tensors, the index says %zu", path, c.count, count);
        goto out;
    }
    for (size_t i = 0; i < c.count; i++) {
        struct entry key = {list[0].file, c.tensors[i].name};
        if (bsearch(&key, list, count, sizeof *list, by_file) == NULL) {
            status = cc_fail(e, "%s: the index does not say that \"%.200s\" is in it", path,
                             c.tensors[i].name);
            goto out;
        }
    }
    CC_TRY_OUT(add_contents(net, &c, e));
out:
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
        size_t length = strlen(list[i].file);
        char *path = cc_alloc(folder + length + 1, e);
        if (path == NULL)
            return CC_FAIL;
        memcpy(path, index, folder);
        memcpy(path + folder, list[i].file, length + 1);
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
    if (parse_index(root, &list, &count, e) != CC_OK)
        return CC_FAIL;
    struct cc_net *net = cc_net_new(count, e);
    int status = net != NULL ? CC_OK : CC_FAIL;
    if (net == NULL)
        goto out;
    CC_TRY_OUT(cc_net_set_texts(net, index->path, NULL, NULL, e));
    CC_TRY_OUT(add_files(net, index->path, list, count, e));
    CC_TRY_OUT(cc_net_finish(net, e));
    index->net = net;
    net = NULL;
out:
    cc_net_free(net);
    free(list);
    return status;
}

int cc_net_read_index(const char *path, struct cc_net **out, struct cc_error *e)
{
    struct index index = {.path = path};
    CC_TRY(cc_json_read_as(path, net_of_index, &index, e));
    *out = index.net;
    return CC_OK;
}
