#include "cmd/codec/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/delta.h"
#include "core/format/compressed.h"
#include "core/format/crc32.h"
#include "core/memory.h"

/* The index in the base of a tensor; SIZE_MAX: it has none of that name. */
static size_t find(const struct cc_base *b, const struct cc_tensor_info *tensor)
{
    const size_t count = cc_trace_tensors(b->trace);
    for (size_t i = 0; i < count; i++)
        if (strcmp(cc_trace_tensor(b->trace, i)->name, tensor->name) == 0)
            return i;
    return SIZE_MAX;
}

/* The base's values of a tensor; `only`: it is the only one. */
static int load(struct cc_base *b, const struct cc_tensor_info *tensor, bool only,
                struct cc_error *e)
{
    const size_t at = only && cc_trace_tensors(b->trace) == 1 ? 0 : find(b, tensor);
    char own[192], wanted[192];
    if (at == SIZE_MAX)
        return cc_fail(e, "%s has no tensor '%.200s', which the file has: it is not its base",
                       b->path, tensor->name);
    const struct cc_tensor_info *base = cc_trace_tensor(b->trace, at);
    cc_shape_print(&base->shape, own, sizeof own);
    cc_shape_print(&tensor->shape, wanted, sizeof wanted);
    if (strcmp(own, wanted) != 0)
        return cc_fail(e, "%s: tensor '%.200s' is %s, and %s in the file: it is not its base",
                       b->path, base->name, own, wanted);
    return cc_trace_load(b->trace, 0, 0, at, b->x, e);
}

int cc_base_open(const char *path, const struct cc_tensor_info *const *tensors, size_t count,
                 struct cc_base *out, struct cc_error *e)
{
    *out = (struct cc_base){.path = path};
    int status = CC_OK;
    CC_TRY_OUT(cc_trace_open(path, &out->trace, e));
    CC_TRY_OUT(CC_NEW(out->x, cc_trace_largest(out->trace), e));
    out->only = count == 1;
    for (size_t i = 0; i < count; i++) {
        CC_TRY_OUT(load(out, tensors[i], out->only, e));
        out->crc = cc_crc32(out->crc, out->x, tensors[i]->shape.n * sizeof *out->x);
    }
out:
    if (status != CC_OK)
        cc_base_close(out);
    return status;
}

void cc_base_close(struct cc_base *b)
{
    cc_trace_close(b->trace);
    free(b->x);
    *b = (struct cc_base){.trace = NULL};
}

int cc_base_make(struct cc_base *b, const struct cc_tensor_info *tensor, enum cc_number format,
                 float *x, struct cc_error *e)
{
    if (b->trace == NULL)
        return CC_OK;
    CC_TRY(load(b, tensor, b->only, e));
    cc_delta_make(format, b->x, tensor->shape.n, x);
    return CC_OK;
}

int cc_base_undo(struct cc_base *b, const struct cc_tensor_info *tensor, enum cc_number format,
                 float *x, struct cc_error *e)
{
    if (b->trace == NULL)
        return CC_OK;
    CC_TRY(load(b, tensor, b->only, e));
    cc_delta_undo(format, b->x, tensor->shape.n, x);
    return CC_OK;
}

/* The checksum as the pair has it. */
static void print_crc(const struct cc_base *b, char text[9])
{
    (void)snprintf(text, 9, "%08" PRIx32, b->crc);
}

int cc_base_add(const struct cc_base *b, struct cc_pair **pairs, size_t *count, struct cc_error *e)
{
    size_t room = *count;
    char text[9], *key, *value = NULL;
    print_crc(b, text);
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*pairs)[i].key, CC_BASE_KEY) == 0)
            return cc_fail(e, "the file's metadata have the key %s; rename it", CC_BASE_KEY);
    key = cc_strdup(CC_BASE_KEY, e);
    value = key == NULL ? NULL : cc_strdup(text, e);
    if (value != NULL && CC_GROW(*pairs, &room, *count + 1, e) == CC_OK) {
        (*pairs)[(*count)++] = (struct cc_pair){key, value};
        return CC_OK;
    }
    free(key);
    free(value);
    return CC_FAIL;
}

int cc_base_check(const struct cc_base *b, const struct cc_container *file, struct cc_error *e)
{
    const char *wanted = cc_container_base(file);
    char own[9];
    if (b->trace == NULL)
        return wanted == NULL ? CC_OK
                              : cc_fail(e,
                                        "it was encoded beside a base, whose checksum is %.20s: "
                                        "name that file with --base",
                                        wanted);
    if (wanted == NULL)
        return cc_fail(e, "it was encoded without a base: leave out --base");
    print_crc(b, own);
    return strcmp(wanted, own) == 0
               ? CC_OK
               : cc_fail(e, "the checksum of its base is %.20s, and that of %s is %s", wanted,
                         b->path, own);
}
