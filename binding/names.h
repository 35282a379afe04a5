/* The names of a file's tensors, no two of which are the same; for binding/ only. */
#ifndef CC_BINDING_NAMES_H
#define CC_BINDING_NAMES_H

#include <stddef.h>

#include "core/error.h"

struct cc_names {
    char **name;
    size_t count, capacity;
};

/* Adds a copy of a name. Fails if it is none (core/tensor.h), not UTF-8, or there already. */
int cc_names_add(struct cc_names *n, const char *name, struct cc_error *e);
void cc_names_free(struct cc_names *n);

#endif
