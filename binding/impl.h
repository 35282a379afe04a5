/* The inside of the library for programs: the caller's text for errors as the library's, a codec's
 * handle, and the names of a file's tensors. For binding/ only. */
#ifndef CC_BINDING_IMPL_H
#define CC_BINDING_IMPL_H

#include <stdatomic.h>

#include "binding/commcomp.h"
#include "core/error.h"
#include "schemes/codec_set.h"

_Static_assert(sizeof(struct cc_error) == COMMCOMP_ERROR_BYTES, "an error is its text");
_Static_assert(COMMCOMP_FAIL == (int)CC_FAIL && COMMCOMP_USAGE == (int)CC_USAGE, "one status");

static inline struct cc_error *cc_error_of(char *text)
{
    return (struct cc_error *)(void *)text;
}

/* The turn of a call on a handle: whether a thread is within one. Such a call takes the turn first,
 * which fails if another thread has it, and ends it with its status, which it returns. */
static inline int cc_turn_take(atomic_bool *turn, const char *kind, const char *name,
                               struct cc_error *e)
{
    if (!atomic_exchange_explicit(turn, true, memory_order_acquire))
        return CC_OK;
    return cc_fail(e,
                   "%s '%s' is in use by another thread: give each thread one of its own, or let "
                   "them take turns",
                   kind, name);
}

static inline int cc_turn_end(atomic_bool *turn, int status)
{
    atomic_store_explicit(turn, false, memory_order_release);
    return status;
}

struct commcomp_codec {
    atomic_bool turn; /* of calls that use or change anything below but the spec and the shape */
    struct cc_spec *spec;
    struct cc_codec_set set; /* one codec, with its state and scratch memory */
    void *scratch;           /* more of that, for gradients of 16 bits; NULL: the set's is enough */
    size_t scratch_bytes;    /* what the codec has */
    struct cc_context ctx;   /* but for the step, which each call names */
    char *name;              /* the tensor's, or NULL */
    struct {                 /* where the rounds of a step are */
        uint64_t step;
        size_t done;  /* rounds that were absorbed, so that this one is next */
        bool encoded; /* and it was encoded already */
    } rounds;
};

static inline int cc_codec_take(struct commcomp_codec *c, struct cc_error *e)
{
    return cc_turn_take(&c->turn, "codec", c->spec->name, e);
}

static inline int cc_codec_end(struct commcomp_codec *c, int status)
{
    return cc_turn_end(&c->turn, status);
}

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
