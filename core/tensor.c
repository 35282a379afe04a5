#include "core/tensor.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

const char *const cc_direction_names[] = {"push", "pull", NULL};

int cc_shape_make(const size_t *dim, int ndim, struct cc_shape *out, struct cc_error *e)
{
    if (ndim < 0 || ndim > CC_MAX_DIMS)
        return cc_fail(e, "a shape of %d dimensions; at most %d are supported", ndim, CC_MAX_DIMS);
    struct cc_shape s = {.n = 1, .ndim = ndim};
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        s.dim[i] = dim[i];
        empty = empty || dim[i] == 0;
        if (dim[i] != 0 && (!cc_mul(s.n, dim[i], &s.n) || s.n > CC_MAX_VALUES))
            return cc_fail(e,
                           "a shape whose number of values overflows: at most 2^58 are supported");
    }
    s.n = empty ? 0 : s.n;
    *out = s;
    return CC_OK;
}

int cc_tensor_name_check(const char *name, struct cc_error *e)
{
    if (name[0] == '\0')
        return cc_fail(e, "a tensor whose name is empty");
    if (strcmp(name, "__metadata__") == 0)
        return cc_fail(e, "a tensor cannot be called __metadata__: safetensors keeps that name");
    for (const char *p = name; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return cc_fail(e, "tensor '%.200s': control characters in its name", name);
    return CC_OK;
}

int cc_shape_parse(const char *text, struct cc_shape *out, struct cc_error *e)
{
    size_t dim[CC_MAX_DIMS];
    int ndim = 0;
    for (const char *p = text; *p != '\0';) {
        char *end;
        errno = 0;
        unsigned long long v = strtoull(p, &end, 10);
        if (*p < '0' || *p > '9' || errno != 0 || (*end != 'x' && *end != '\0') ||
            (*end == 'x' && end[1] == '\0'))
            return cc_usage(e, "shape '%s': write it as 64x3x3x3", text);
        if (ndim == CC_MAX_DIMS)
            return cc_usage(e, "shape '%s': at most %d dimensions are supported", text,
                            CC_MAX_DIMS);
        dim[ndim++] = (size_t)v;
        p = *end == 'x' ? end + 1 : end;
    }
    return cc_status_in(cc_shape_make(dim, ndim, out, e), e, "shape '%s'", text);
}

void cc_shape_print(const struct cc_shape *shape, char *out, size_t cap)
{
    out[0] = '\0';
    for (int i = 0; i < shape->ndim; i++)
        cc_append(out, cap, i == 0 ? "%zu" : "x%zu", shape->dim[i]);
}
