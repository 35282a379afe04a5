/* The caller's text for errors as the library's; for binding/ only. */
#ifndef CC_BINDING_ERROR_H
#define CC_BINDING_ERROR_H

#include "binding/commcomp.h"
#include "core/error.h"

_Static_assert(sizeof(struct cc_error) == COMMCOMP_ERROR_BYTES, "an error is its text");
_Static_assert(COMMCOMP_FAIL == (int)CC_FAIL && COMMCOMP_USAGE == (int)CC_USAGE, "one status");

static inline struct cc_error *cc_error_of(char *text)
{
    return (struct cc_error *)(void *)text;
}

#endif
