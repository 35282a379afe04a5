/* Any bytes as a container: read as they are, and once more with the checksums repaired, so that
 * the checks behind them are reached. Tensors of readable containers are decoded. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/format/container.h"
#include "core/format/crc32.h"
#include "core/memory.h"
#include "schemes/spec.h"

enum { LARGEST = 1 << 16 }; /* values of the largest tensor that is decoded */

static void decode(const struct cc_container *c, const struct cc_spec *spec, size_t i)
{
    const struct cc_container_tensor *t = &c->tensors[i];
    struct cc_codec codec = {.scheme = spec->scheme, .params = spec->params, .shape = t->shape};
    struct cc_context ctx = {.seed = c->head.seed,
                             .rank = c->head.rank,
                             .direction = c->head.direction,
                             .step = c->head.step,
                             .tensor = i,
                             .name = t->name};
    if (t->shape.n > LARGEST)
        return;
    float *y = cc_alloc(t->shape.n * sizeof *y, NULL);
    codec.scratch = cc_alloc(t->shape.n == 0 ? 0 : cc_scratch_bytes(&codec), NULL);
    if (y != NULL && codec.scratch != NULL)
        (void)cc_decode(&codec, &ctx, t->payload, t->payload_bytes, y, NULL);
    free(y);
    free(codec.scratch);
}

/* The same bytes as a trace reads them. */
static void read_as_tensors(const uint8_t *data, size_t size)
{
    struct cc_contents c;
    if (cc_contents_parse(CC_COMPRESSED, data, size, &c, NULL) != CC_OK)
        return;
    for (size_t i = 0; i < c.count; i++)
        if (c.tensors[i].offset != i)
            abort();
    cc_contents_free(&c);
}

static void read_and_decode(const uint8_t *data, size_t size)
{
    read_as_tensors(data, size);
    struct cc_container c;
    struct cc_spec *spec;
    struct cc_error e;
    if (cc_container_read(data, size, &c, &e) != CC_OK)
        return;
    if (cc_spec_parse(c.head.scheme, &spec, &e) == CC_OK) {
        for (size_t i = 0; i < c.tensor_count; i++)
            decode(&c, spec, i);
        cc_spec_free(spec);
    }
    cc_container_free(&c);
}

/* The offset after another `bytes`, or SIZE_MAX. */
static size_t skip(size_t at, size_t size, uint64_t bytes)
{
    return at > size || bytes > size - at ? SIZE_MAX : at + (size_t)bytes;
}

static size_t skip_text(const uint8_t *p, size_t at, size_t size)
{
    size_t begin = skip(at, size, 4);
    return begin == SIZE_MAX ? SIZE_MAX : skip(begin, size, cc_get_u32(p + at));
}

/* Writes the checksum of [from, at) at `at`. Returns the offset after it, or SIZE_MAX. */
static size_t repair_one(uint8_t *p, size_t from, size_t at, size_t size)
{
    size_t end = skip(at, size, 4);
    if (end != SIZE_MAX)
        cc_put_u32(p + at, cc_crc32(0, p + from, at - from));
    return end;
}

static void repair(uint8_t *p, size_t size)
{
    size_t at = skip_text(p, 44, size), next = skip(at, size, 4);
    uint32_t pairs = next == SIZE_MAX ? 0 : cc_get_u32(p + at);
    for (at = next; at != SIZE_MAX && pairs > 0; pairs--)
        at = skip_text(p, skip_text(p, at, size), size);
    for (at = repair_one(p, 0, at, size); at != SIZE_MAX && at < size;) {
        size_t begin = at, dims = skip_text(p, at, size), length;
        next = skip(dims, size, 4);
        length = next == SIZE_MAX ? SIZE_MAX : skip(next, size, 8ull * cc_get_u32(p + dims));
        next = skip(length, size, 8);
        at = next == SIZE_MAX ? SIZE_MAX : skip(next, size, cc_get_u64(p + length));
        at = repair_one(p, begin, at, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_and_decode(data, size);
    uint8_t *copy = malloc(size);
    if (copy == NULL || size == 0) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    repair(copy, size);
    read_and_decode(copy, size);
    free(copy);
    return 0;
}
