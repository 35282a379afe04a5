/* Codecs with their memory: the state, scratch memory and payloads of any number of codecs in one
 * aligned allocation.
 *
 *     static const struct cc_codec_memory memory = {.state = true, .scratch = CC_SHARED};
 *     struct cc_codec_set set = {0};
 *     int status = CC_OK;
 *     CC_TRY_OUT(cc_codec_set_init(&set, tensors, e));
 *     for (size_t i = 0; i < tensors; i++)
 *         set.item[i] = cc_codec_item(spec, &shape[i]);
 *     CC_TRY_OUT(cc_codec_set_allocate(&set, &memory, e));
 *     ...
 *     CC_TRY_OUT(cc_encode(&set.item[i].codec, &ctx, x, out, set.item[i].bound, &len, e));
 * out:
 *     cc_codec_set_free(&set);
 *
 * A codec that only decodes needs no state: memory = {.scratch = CC_SHARED}. */
#ifndef CC_SCHEMES_CODEC_SET_H
#define CC_SCHEMES_CODEC_SET_H

#include <stdbool.h>

#include "schemes/spec.h"

enum cc_sharing {
    CC_NONE = 0,
    CC_SHARED, /* one buffer for all, as large as the largest needs: for codecs that work in turn */
    CC_EACH,   /* one buffer for each */
};

/* The memory that the codecs of a set get. A block that they do not get is NULL, as is any buffer
 * of zero bytes; the caller may point a codec to memory of its own. */
struct cc_codec_memory {
    bool state; /* each codec has one, at its beginning; needed to encode */
    enum cc_sharing scratch, payload;
};

/* For codecs that encode in turn: states of their own, and scratch memory and a payload that all
 * share. */
extern const struct cc_codec_memory cc_memory_in_turn;

struct cc_codec_item {
    const struct cc_spec *spec; /* not owned; must outlive the set */
    struct cc_codec codec;
    size_t bound;     /* bytes of the largest payload; SIZE_MAX: more than a size can hold */
    uint8_t *payload; /* `bound` bytes, aligned to CC_ALIGN */
};

/* Zero-initialized: empty. Not to be copied while in use. */
struct cc_codec_set {
    struct cc_codec_item *item;
    size_t count;
    size_t state_bytes;   /* all states together, each rounded up to CC_ALIGN */
    size_t scratch_bytes; /* the largest codec's */
    size_t payload_bytes; /* the largest bound */
    void *memory;
    size_t memory_bytes;
};

/* A codec of this scheme and shape that has no memory yet. */
struct cc_codec_item cc_codec_item(const struct cc_spec *spec, const struct cc_shape *shape);

/* Bytes that these codecs need together, for a check before anything is allocated; SIZE_MAX when
 * that overflows. */
size_t cc_codec_bytes(const struct cc_codec_item *item, size_t count,
                      const struct cc_codec_memory *memory);

/* An empty set with room for `count` items, which the caller fills in (cc_codec_item) before
 * cc_codec_set_allocate. On failure *set is empty. */
int cc_codec_set_init(struct cc_codec_set *set, size_t count, struct cc_error *e);

/* Gives the codecs their memory and resets their states. May be called again after items were
 * replaced: memory that is large enough is kept, but not its contents. Fails if memory runs out,
 * or, with payloads, if a payload's bound does not fit into a size. After a failure the set can
 * only be freed or allocated again. */
int cc_codec_set_allocate(struct cc_codec_set *set, const struct cc_codec_memory *memory,
                          struct cc_error *e);

/* A set of one codec. *set is empty, or a set of one codec, which is replaced as by
 * cc_codec_set_allocate. */
int cc_codec_set_single(struct cc_codec_set *set, const struct cc_spec *spec,
                        const struct cc_shape *shape, const struct cc_codec_memory *memory,
                        struct cc_error *e);

/* Leaves *set empty. */
void cc_codec_set_free(struct cc_codec_set *set);

#endif
