/* The list of names that a handle of the public interface keeps for its user. */
#include "binding/impl.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/tensor.h"
#include "core/utf8.h"

int cc_names_add(struct cc_names *n, const char *name, struct cc_error *e)
{
    size_t bad;
    CC_TRY(cc_tensor_name_check(name, e));
    if (!cc_utf8_valid((const uint8_t *)name, strlen(name), &bad))
        return cc_fail(e, "tensor '%.200s': its name is not UTF-8", name);
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->name[i], name) == 0)
            return cc_fail(e, "tensor '%.200s' is there twice", name);
    CC_TRY(CC_GROW(n->name, &n->capacity, n->count + 1, e));
    n->name[n->count] = cc_strdup(name, e);
    if (n->name[n->count] == NULL)
        return CC_FAIL;
    n->count++;
    return CC_OK;
}

void cc_names_free(struct cc_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}
