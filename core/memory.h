/* Memory: aligned for the widest vectors, sizes checked for overflow. */
#ifndef CC_CORE_MEMORY_H
#define CC_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define CC_ALIGN 64

/* Bytes aligned to CC_ALIGN, contents undefined (cc_alloc) or zero (cc_alloc0); zero bytes give a
 * valid pointer. NULL with a message when there is no memory. Release with free(). */
void *cc_alloc(size_t bytes, struct cc_error *e);
void *cc_alloc0(size_t bytes, struct cc_error *e);

/* realloc for growing lists of count elements; doubles the capacity. On failure *list is as it
 * was. *list came from malloc or is NULL. */
int cc_grow(void **list, size_t *capacity, size_t count, size_t element_bytes, struct cc_error *e);

/* A copy of a string, to be freed. */
char *cc_strdup(const char *s, struct cc_error *e);

/* Bytes that the system could still give; very many if it does not tell. */
size_t cc_memory_available(void);

/* Fails if `bytes` is more than nine tenths of what the system could still give: better a message
 * than its out-of-memory killer. `what` begins the message: "the states of 9 schemes". */
int cc_memory_check(size_t bytes, const char *what, struct cc_error *e);

/* Rounds a size up to a multiple of CC_ALIGN; SIZE_MAX when that overflows. */
static inline size_t cc_align_up(size_t bytes)
{
    return bytes > SIZE_MAX - (CC_ALIGN - 1) ? SIZE_MAX
                                             : (bytes + CC_ALIGN - 1) & ~(size_t)(CC_ALIGN - 1);
}

/* *out = a * b, or false (and *out untouched) when that overflows. */
static inline bool cc_mul(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

#endif
