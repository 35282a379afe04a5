/* The inside of the library for programs: the caller's text for errors as the library's, a codec's
 * handle, and the names of a file's tensors. For binding/ only. */
#ifndef CC_BINDING_IMPL_H
#define CC_BINDING_IMPL_H

#include "binding/commcomp.h"
#include "core/error.h"
#include "schemes/codec_set.h"

_Static_assert(sizeof(struct cc_error) == COMMCOMP_ERROR_BYTES, "an error is its text");
_Static_assert(COMMCOMP_FAIL == (int)CC_FAIL && COMMCOMP_USAGE == (int)CC_USAGE, "one status");

static inline struct cc_error *cc_error_of(char *text)
{
    return (struct cc_error *)(void *)text;
}

struct commcomp_codec {
    struct cc_spec *spec;
    struct cc_codec_set set; /* one codec, with its state and scratch memory */
    struct cc_context ctx;   /* but for the step, which each call names */
    char *name;              /* the tensor's, or NULL */
};

/* Fails unless these are a rank and a direction. */
int cc_sender_check(int64_t rank, int direction, struct cc_error *e);

/* Chooses the instruction set that COMMCOMP_ISA names, at the first call; before any codec. */
int cc_library_begin(struct cc_error *e);

/* Names, no two of which are the same. */
struct cc_names {
    char **name;
    size_t count, capacity;
};

/* Adds a copy of a name. Fails if it is none (core/tensor.h), not UTF-8, or there already. */
int cc_names_add(struct cc_names *n, const char *name, struct cc_error *e);
void cc_names_free(struct cc_names *n);

#endif
