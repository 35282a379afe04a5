#include "core/tensorfile.h"

#include <stdlib.h>

#include "core/contents.h"
#include "core/csv.h"
#include "core/memory.h"
#include "core/npy.h"
#include "core/safetensors.h"

struct cc_tensor_file {
    enum cc_format format;
    const struct cc_tensor_info *tensors;
    size_t count, next;
    struct cc_safetensors_writer safetensors;
    struct cc_outfile out; /* of the other formats */
};

int cc_tensor_file_check(const char *path, size_t count, struct cc_error *e)
{
    enum cc_format format;
    if (cc_format_of(path, &format, e) != CC_OK)
        return CC_USAGE;
    if (format != CC_SAFETENSORS && count != 1)
        return cc_usage(e,
                        "%s: a file of this format holds one tensor, but there are %zu; write a "
                        ".safetensors file",
                        path, count);
    return CC_OK;
}

/* safetensors' writer takes its own kind of pairs. */
static int begin_safetensors(struct cc_tensor_file *w, const char *path,
                             const struct cc_pair *metadata, size_t pairs, struct cc_error *e)
{
    struct cc_metadata *copy = cc_alloc(pairs * sizeof *copy, e);
    if (copy == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < pairs; i++)
        copy[i] = (struct cc_metadata){(char *)metadata[i].key, (char *)metadata[i].value};
    int status = cc_safetensors_begin(&w->safetensors, path, w->tensors, w->count, copy, pairs, e);
    free(copy);
    return status;
}

int cc_tensor_file_begin(const char *path, const struct cc_tensor_info *tensors, size_t count,
                         const struct cc_pair *metadata, size_t pairs, struct cc_tensor_file **out,
                         struct cc_error *e)
{
    int status = cc_tensor_file_check(path, count, e);
    if (status != CC_OK)
        return status;
    struct cc_tensor_file *w = cc_alloc0(sizeof *w, e);
    if (w == NULL)
        return CC_FAIL;
    w->tensors = tensors;
    w->count = count;
    status = cc_format_of(path, &w->format, e);
    if (status == CC_OK && w->format == CC_SAFETENSORS)
        status = begin_safetensors(w, path, metadata, pairs, e);
    else if (status == CC_OK)
        status = cc_file_create(&w->out, path, e);
    if (status != CC_OK) {
        free(w);
        return status;
    }
    if (w->format == CC_NPY)
        cc_npy_put_header(w->out.f, &tensors[0].shape);
    *out = w;
    return CC_OK;
}

int cc_tensor_file_put(struct cc_tensor_file *w, const float *x, struct cc_error *e)
{
    const struct cc_shape *shape = &w->tensors[w->next++].shape;
    if (w->format == CC_SAFETENSORS)
        return cc_safetensors_values(&w->safetensors, x, shape->n, e);
    if (w->format == CC_CSV)
        cc_csv_put(w->out.f, shape, x, shape->n);
    else if (shape->n > 0)
        (void)fwrite(x, sizeof *x, shape->n, w->out.f); /* cc_file_commit sees a failure */
    return CC_OK;
}

int cc_tensor_file_commit(struct cc_tensor_file *w, struct cc_error *e)
{
    int status = w->format == CC_SAFETENSORS ? cc_safetensors_commit(&w->safetensors, e)
                                             : cc_file_commit(&w->out, e);
    free(w);
    return status;
}

void cc_tensor_file_abort(struct cc_tensor_file *w)
{
    if (w == NULL)
        return;
    if (w->format == CC_SAFETENSORS)
        cc_safetensors_abort(&w->safetensors);
    else
        cc_file_abort(&w->out);
    free(w);
}

static int copy_pairs(const struct cc_contents *c, struct cc_pair **out, size_t *count,
                      struct cc_error *e)
{
    struct cc_pair *pairs = cc_alloc0(c->metadata_count * sizeof *pairs, e);
    int status = pairs == NULL ? CC_FAIL : CC_OK;
    for (size_t i = 0; status == CC_OK && i < c->metadata_count; i++) {
        pairs[i].key = cc_strdup(c->metadata[i].key, e);
        pairs[i].value = cc_strdup(c->metadata[i].value, e);
        if (pairs[i].key == NULL || pairs[i].value == NULL)
            status = CC_FAIL;
    }
    if (status == CC_OK) {
        *out = pairs;
        *count = c->metadata_count;
    } else if (pairs != NULL) {
        cc_pairs_free(pairs, c->metadata_count);
    }
    return status;
}

int cc_tensor_file_metadata(const char *path, struct cc_pair **out, size_t *count,
                            struct cc_error *e)
{
    enum cc_format format;
    struct cc_map map;
    struct cc_contents contents;
    int status = cc_format_of(path, &format, e);
    *out = NULL;
    *count = 0;
    if (status != CC_OK || format != CC_SAFETENSORS)
        return status;
    status = cc_map_open(path, &map, e);
    if (status != CC_OK)
        return status;
    status = cc_contents_parse(format, map.data, map.size, &contents, e);
    if (status == CC_OK) {
        status = copy_pairs(&contents, out, count, e);
        cc_contents_free(&contents);
    } else {
        cc_error_in(e, "%s", path);
    }
    cc_map_close(&map);
    return status;
}

void cc_pairs_free(struct cc_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)pairs[i].key);
        free((char *)pairs[i].value);
    }
    free(pairs);
}
