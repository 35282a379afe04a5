/* The block of memory of a codec set: the shared scratch memory, then each codec's own scratch,
 * state and payload, then the shared payload, each rounded up to CC_ALIGN.
 *
 * Under AddressSanitizer every buffer is followed by a red zone, and what rounding adds belongs to
 * it, so that an overrun is found as it would be in an allocation of its own. */
#include "schemes/codec_set.h"

#include <stdlib.h>

#include "core/memory.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CC_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CC_ASAN 1
#endif

#ifdef CC_ASAN
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = CC_ALIGN };
#else
enum { RED_ZONE = 0 };
#define ASAN_POISON_MEMORY_REGION(from, bytes)   ((void)(from), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#endif

const struct cc_codec_memory cc_memory_in_turn = {
    .state = true, .scratch = CC_SHARED, .payload = CC_SHARED};

/* Cuts buffers from a block; without a block it only adds up their sizes. */
struct cutter {
    uint8_t *block; /* or NULL */
    size_t bytes;   /* cut so far; SIZE_MAX: too many */
};

/* NULL for zero bytes. */
static void *cut(struct cutter *c, size_t bytes)
{
    if (bytes == 0)
        return NULL;
    const size_t rounded = cc_align_up(bytes), begin = c->bytes;
    if (rounded > SIZE_MAX - RED_ZONE ||
        __builtin_add_overflow(begin, rounded + RED_ZONE, &c->bytes))
        c->bytes = SIZE_MAX;
    if (c->block == NULL)
        return NULL;
    ASAN_POISON_MEMORY_REGION(c->block + begin + bytes, rounded + RED_ZONE - bytes);
    return c->block + begin;
}

/* Cuts all buffers of one item, except shared ones. */
static void cut_item(struct cutter *c, const struct cc_codec_memory *memory,
                     struct cc_codec_item *item)
{
    if (memory->scratch == CC_EACH)
        item->codec.scratch = cut(c, cc_scratch_bytes(&item->codec));
    if (memory->state)
        item->codec.state = cut(c, cc_state_bytes(&item->codec));
    if (memory->payload == CC_EACH)
        item->payload = cut(c, item->bound);
}

struct cc_codec_item cc_codec_item(const struct cc_spec *spec, const struct cc_shape *shape)
{
    struct cc_codec_item item = {
        .spec = spec,
        .codec = {.scheme = spec->scheme, .params = spec->params, .shape = *shape},
    };
    item.bound = cc_bound(&item.codec);
    return item;
}

size_t cc_codec_bytes(const struct cc_codec_item *item, size_t count,
                      const struct cc_codec_memory *memory)
{
    struct cutter c = {.block = NULL};
    size_t scratch = 0, payload = 0;
    for (size_t i = 0; i < count; i++) {
        struct cc_codec_item copy = item[i];
        scratch = cc_larger(scratch, cc_scratch_bytes(&copy.codec));
        payload = cc_larger(payload, copy.bound);
        cut_item(&c, memory, &copy);
    }
    (void)cut(&c, memory->scratch == CC_SHARED ? scratch : 0);
    (void)cut(&c, memory->payload == CC_SHARED ? payload : 0);
    return c.bytes;
}

int cc_codec_set_init(struct cc_codec_set *set, size_t count, struct cc_error *e)
{
    *set = (struct cc_codec_set){.count = count};
    set->item = cc_alloc0(count * sizeof *set->item, e);
    if (set->item != NULL)
        return CC_OK;
    set->count = 0;
    return CC_FAIL;
}

/* Makes the block at least `bytes` long. */
static int reserve(struct cc_codec_set *set, size_t bytes, struct cc_error *e)
{
    if (bytes <= set->memory_bytes) {
        if (bytes > 0)
            ASAN_UNPOISON_MEMORY_REGION(set->memory, set->memory_bytes);
        return CC_OK;
    }
    free(set->memory);
    set->memory_bytes = 0;
    set->memory = cc_alloc(bytes, e);
    if (set->memory == NULL)
        return CC_FAIL;
    set->memory_bytes = bytes;
    return CC_OK;
}

int cc_codec_set_allocate(struct cc_codec_set *set, const struct cc_codec_memory *memory,
                          struct cc_error *e)
{
    set->state_bytes = set->scratch_bytes = set->payload_bytes = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct cc_codec_item *item = &set->item[i];
        if (memory->payload != CC_NONE && item->bound == SIZE_MAX)
            return cc_fail(e, "%s: %zu values are too many", item->spec->name, item->codec.shape.n);
        set->state_bytes += memory->state ? cc_align_up(cc_state_bytes(&item->codec)) : 0;
        set->scratch_bytes = cc_larger(set->scratch_bytes, cc_scratch_bytes(&item->codec));
        set->payload_bytes = cc_larger(set->payload_bytes, item->bound);
    }
    CC_TRY(reserve(set, cc_codec_bytes(set->item, set->count, memory), e));
    struct cutter c = {.block = set->memory};
    void *scratch = memory->scratch == CC_SHARED ? cut(&c, set->scratch_bytes) : NULL;
    for (size_t i = 0; i < set->count; i++) {
        set->item[i].codec.scratch = scratch;
        set->item[i].codec.state = NULL;
        set->item[i].payload = NULL;
        cut_item(&c, memory, &set->item[i]);
    }
    uint8_t *payload = memory->payload == CC_SHARED ? cut(&c, set->payload_bytes) : NULL;
    for (size_t i = 0; i < set->count; i++) {
        if (payload != NULL)
            set->item[i].payload = payload;
        if (memory->state)
            cc_codec_reset(&set->item[i].codec);
    }
    return CC_OK;
}

int cc_codec_set_single(struct cc_codec_set *set, const struct cc_spec *spec,
                        const struct cc_shape *shape, const struct cc_codec_memory *memory,
                        struct cc_error *e)
{
    if (set->count == 0)
        CC_TRY(cc_codec_set_init(set, 1, e));
    set->item[0] = cc_codec_item(spec, shape);
    return cc_codec_set_allocate(set, memory, e);
}

void cc_codec_set_free(struct cc_codec_set *set)
{
    free(set->item);
    free(set->memory);
    *set = (struct cc_codec_set){0};
}
