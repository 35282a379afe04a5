/* The container; docs/container.md describes the format.
 *
 * Reading treats the bytes as hostile: a cursor moves over them, every length is checked against
 * what is left of the file before anything is allocated or read, names are UTF-8 without zero bytes
 * and distinct, and the header and each tensor end with a CRC-32 of their bytes. Payloads are not
 * copied. Messages begin with the byte where the fault is. Writing streams the parts in the same
 * order. */
#include "core/format/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/file.h"
#include "core/format/crc32.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"
#include "core/utf8.h"

#define MAGIC "CCOMP\r\n\x1a"

enum {
    FIXED = 44,       /* bytes before the scheme's name */
    LEAST_PAIR = 8,   /* bytes of an empty key and value */
    LEAST_TENSOR = 20 /* bytes of a scalar without a name or payload */
};

/* --- reading --- */

struct cursor {
    const uint8_t *data;
    size_t bytes, at;
    struct cc_error *e;
};

/* Fails if fewer than `bytes` bytes are left for `what`. */
static int need(const struct cursor *c, uint64_t bytes, const char *what)
{
    if (bytes <= c->bytes - c->at)
        return CC_OK;
    return cc_fail(c->e, "byte %zu: %s needs %llu bytes, but the file ends at byte %zu", c->at,
                   what, (unsigned long long)bytes, c->bytes);
}

static int take(struct cursor *c, const char *what, void *out, size_t bytes)
{
    CC_TRY(need(c, bytes, what));
    memcpy(out, c->data + c->at, bytes);
    c->at += bytes;
    return CC_OK;
}

/* A text: u32 length, then UTF-8 without a zero byte. The copy is malloc'ed. */
static int take_text(struct cursor *c, const char *what, char **out)
{
    uint32_t bytes;
    CC_TRY(take(c, what, &bytes, sizeof bytes));
    CC_TRY(need(c, bytes, what));
    const uint8_t *p = c->data + c->at;
    const uint8_t *zero = bytes > 0 ? memchr(p, 0, bytes) : NULL;
    size_t bad = zero != NULL ? (size_t)(zero - p) : 0;
    if (zero != NULL || !cc_utf8_valid(p, bytes, &bad))
        return cc_fail(c->e, "byte %zu: %s is not UTF-8 without zero bytes", c->at + bad, what);
    char *text = malloc((size_t)bytes + 1);
    if (text == NULL)
        return cc_fail(c->e, "out of memory: %s has %u bytes", what, bytes);
    memcpy(text, p, bytes);
    text[bytes] = '\0';
    c->at += bytes;
    *out = text;
    return CC_OK;
}

/* The checksum of the bytes from `start` up to the cursor, which follows them. */
static int take_checksum(struct cursor *c, size_t start)
{
    uint32_t computed = cc_crc32(0, c->data + start, c->at - start), stored;
    size_t at = c->at;
    CC_TRY(take(c, "the checksum", &stored, sizeof stored));
    if (computed != stored)
        return cc_fail(c->e,
                       "byte %zu: the checksum says %08x, but bytes %zu to %zu give %08x: the "
                       "file is damaged",
                       at, stored, start, at, computed);
    return CC_OK;
}

static int check_distinct(const char **text, size_t n, const char *what, struct cc_error *e)
{
    const char *twice = cc_word_twice(text, n);
    return twice == NULL ? CC_OK : cc_fail(e, "%s '%.200s' is there twice", what, twice);
}

static int take_pairs(struct cursor *c, struct cc_container_head *h)
{
    uint32_t count;
    CC_TRY(take(c, "the number of metadata", &count, sizeof count));
    CC_TRY(need(c, (uint64_t)count * LEAST_PAIR, "the metadata"));
    if (count == 0)
        return CC_OK;
    int status = CC_OK;
    struct cc_pair *pairs;
    const char **keys = NULL;
    CC_TRY(CC_NEW(pairs, count, c->e));
    h->pairs = pairs;
    CC_TRY_OUT(CC_NEW(keys, count, c->e));
    for (uint32_t i = 0; i < count; i++) {
        char *key = NULL, *value = NULL;
        CC_TRY_OUT(take_text(c, "a metadata key", &key));
        pairs[i].key = keys[i] = key; /* owned by the head also after a failure */
        h->pair_count = i + 1;
        CC_TRY_OUT(take_text(c, "a metadata value", &value));
        pairs[i].value = value;
    }
    CC_TRY_OUT(check_distinct(keys, count, "the metadata key", c->e));
out:
    free(keys);
    return status;
}

static int take_scheme(struct cursor *c, char *out)
{
    char *text = NULL;
    size_t at = c->at;
    CC_TRY(take_text(c, "the scheme", &text));
    const bool fits = strlen(text) < CC_CONTAINER_SCHEME;
    if (fits)
        (void)snprintf(out, CC_CONTAINER_SCHEME, "%s", text);
    free(text);
    return fits ? CC_OK
                : cc_fail(c->e, "byte %zu: the scheme's name is longer than %d bytes", at,
                          CC_CONTAINER_SCHEME - 1);
}

static int take_head(struct cursor *c, struct cc_container_head *h, uint32_t *tensors)
{
    CC_TRY(need(c, FIXED, "the header"));
    if (memcmp(c->data, MAGIC, 8) != 0)
        return cc_fail(c->e, "byte 0: this is not a file that `commcomp encode` wrote");
    const uint8_t *p = c->data;
    uint32_t version = cc_get_u32(p + 8), direction = cc_get_u32(p + 40);
    if (version != CC_CONTAINER_VERSION)
        return cc_fail(c->e, "byte 8: the format has version %u; this program reads version %d",
                       version, CC_CONTAINER_VERSION);
    *tensors = cc_get_u32(p + 12);
    h->seed = cc_get_u64(p + 16);
    h->rank = (int64_t)cc_get_u64(p + 24);
    h->step = cc_get_u64(p + 32);
    if (h->rank < -1)
        return cc_fail(c->e, "byte 24: rank %lld is below -1", (long long)h->rank);
    if (direction > CC_PULL)
        return cc_fail(c->e, "byte 40: direction %u is neither 0 (push) nor 1 (pull)", direction);
    h->direction = (enum cc_direction)direction;
    c->at = FIXED;
    CC_TRY(take_scheme(c, h->scheme));
    CC_TRY(take_pairs(c, h));
    return take_checksum(c, 0);
}

static int take_shape(struct cursor *c, struct cc_shape *shape)
{
    uint32_t ndim;
    size_t dim[CC_MAX_DIMS], at = c->at;
    CC_TRY(take(c, "the number of dimensions", &ndim, sizeof ndim));
    if (ndim > CC_MAX_DIMS)
        return cc_fail(c->e, "byte %zu: %u dimensions; at most %d are supported", at, ndim,
                       CC_MAX_DIMS);
    for (uint32_t i = 0; i < ndim; i++) {
        uint64_t v = 0;
        CC_TRY(take(c, "a dimension", &v, sizeof v));
        dim[i] = (size_t)v;
    }
    return cc_status_in(cc_shape_make(dim, (int)ndim, shape, c->e), c->e, "byte %zu", at);
}

static int take_tensor(struct cursor *c, struct cc_container_tensor *t)
{
    size_t start = c->at;
    uint64_t bytes;
    char *name = NULL;
    int status = take_text(c, "the name", &name);
    t->name = name; /* owned by the container also after a failure */
    CC_TRY(status);
    CC_TRY_IN(cc_tensor_name_check(name, c->e), c->e, "byte %zu", start);
    CC_TRY(take_shape(c, &t->shape));
    CC_TRY(take(c, "the payload's length", &bytes, sizeof bytes));
    CC_TRY(need(c, bytes, "the payload"));
    t->offset = c->at;
    t->payload = c->data + c->at;
    t->payload_bytes = (size_t)bytes;
    c->at += t->payload_bytes;
    return take_checksum(c, start);
}

static int take_tensors(struct cursor *c, struct cc_container *out, uint32_t count)
{
    CC_TRY(need(c, (uint64_t)count * LEAST_TENSOR, "the tensors"));
    int status = CC_OK;
    struct cc_container_tensor *t;
    const char **names = NULL;
    CC_TRY(CC_NEW(t, count, c->e));
    out->tensors = t;
    CC_TRY_OUT(CC_NEW(names, count, c->e));
    for (size_t i = 0; i < count; i++) {
        out->tensor_count = i + 1;
        status = take_tensor(c, &t[i]);
        if (status != CC_OK) {
            if (t[i].name != NULL)
                cc_error_in(c->e, "tensor '%.200s'", t[i].name);
            else
                cc_error_in(c->e, "tensor %zu of %u", i + 1, count);
            goto out;
        }
        names[i] = t[i].name;
    }
    CC_TRY_OUT(check_distinct(names, count, "the tensor", c->e));
out:
    free(names);
    return status;
}

int cc_container_read(const void *data, size_t bytes, struct cc_container *out, struct cc_error *e)
{
    struct cursor c = {.data = data, .bytes = bytes, .e = e};
    struct cc_container read = {.tensor_count = 0};
    uint32_t tensors = 0;
    int status = CC_OK;
    CC_TRY_OUT(take_head(&c, &read.head, &tensors));
    CC_TRY_OUT(take_tensors(&c, &read, tensors));
    if (c.at != bytes)
        CC_TRY_OUT(cc_fail(e, "byte %zu: %zu bytes follow the last tensor", c.at, bytes - c.at));
    *out = read;
out:
    if (status != CC_OK)
        cc_container_free(&read);
    return status;
}

void cc_container_free(struct cc_container *c)
{
    cc_pairs_free((struct cc_pair *)c->head.pairs, c->head.pair_count);
    for (size_t i = 0; i < c->tensor_count; i++)
        free((char *)c->tensors[i].name);
    free((struct cc_container_tensor *)c->tensors);
    *c = (struct cc_container){.tensor_count = 0};
}

uint64_t cc_container_limit(uint64_t bytes)
{
    /* Far more values a byte than a scheme without local steps has in gradients. */
    const uint64_t least = UINT64_C(1) << 26, each = 4096;
    const uint64_t limit = bytes < UINT64_MAX / each ? bytes * each : UINT64_MAX;
    return limit > least ? limit : least;
}

int cc_container_check(const struct cc_container *c, uint64_t bytes, uint64_t limit,
                       const char *remedy, struct cc_error *e)
{
    uint64_t values = 0;
    for (size_t i = 0; i < c->tensor_count; i++)
        if (__builtin_add_overflow(values, c->tensors[i].shape.n, &values))
            values = UINT64_MAX;
    if (values <= limit)
        return CC_OK;
    char size[32];
    cc_print_si(4.0 * (double)values, "B", size, sizeof size);
    return cc_fail(e,
                   "its %" PRIu64 " bytes claim to hold %" PRIu64 " values, %s; the limit is "
                   "%" PRIu64 ": if that is right, %s %" PRIu64,
                   bytes, values, size, limit, remedy, values);
}

/* --- writing --- */

struct cc_container_writer {
    struct cc_outfile file;
    uint64_t bytes;
    size_t tensor_count, added;
    uint32_t crc; /* the bytes' since the last checksum */
};

static void put_bytes(struct cc_container_writer *w, const void *data, size_t bytes)
{
    w->crc = cc_crc32(w->crc, data, bytes);
    w->bytes += bytes;
    if (bytes > 0)
        (void)fwrite(data, 1, bytes, w->file.f); /* cc_file_check sees a failure */
}

static void put_u32(struct cc_container_writer *w, uint32_t v)
{
    put_bytes(w, &v, sizeof v);
}

static void put_u64(struct cc_container_writer *w, uint64_t v)
{
    put_bytes(w, &v, sizeof v);
}

static void put_checksum(struct cc_container_writer *w)
{
    put_u32(w, w->crc);
    w->crc = 0;
}

static int put_text(struct cc_container_writer *w, const char *text, struct cc_error *e)
{
    size_t bytes = strlen(text), bad;
    if (bytes > UINT32_MAX || !cc_utf8_valid((const uint8_t *)text, bytes, &bad))
        return cc_fail(e, "'%.200s' is not UTF-8 of less than 4 GiB", text);
    put_u32(w, (uint32_t)bytes);
    put_bytes(w, text, bytes);
    return CC_OK;
}

static int put_head(struct cc_container_writer *w, const struct cc_container_head *h,
                    struct cc_error *e)
{
    put_bytes(w, MAGIC, 8);
    put_u32(w, CC_CONTAINER_VERSION);
    put_u32(w, (uint32_t)w->tensor_count);
    put_u64(w, h->seed);
    put_u64(w, (uint64_t)h->rank);
    put_u64(w, h->step);
    put_u32(w, (uint32_t)h->direction);
    CC_TRY(put_text(w, h->scheme, e));
    put_u32(w, (uint32_t)h->pair_count);
    for (size_t i = 0; i < h->pair_count; i++) {
        CC_TRY(put_text(w, h->pairs[i].key, e));
        CC_TRY(put_text(w, h->pairs[i].value, e));
    }
    put_checksum(w);
    return cc_file_check(&w->file, e);
}

int cc_container_begin(const char *path, const struct cc_container_head *head, size_t tensor_count,
                       struct cc_container_writer **out, struct cc_error *e)
{
    if (tensor_count > UINT32_MAX || head->pair_count > UINT32_MAX)
        return cc_fail(e, "%s: a container holds less than 2^32 tensors", path);
    struct cc_container_writer *w;
    CC_TRY(CC_NEW(w, 1, e));
    w->tensor_count = tensor_count;
    int status = cc_file_create(&w->file, path, e);
    if (status == CC_OK)
        status = put_head(w, head, e);
    if (status == CC_OK)
        *out = w;
    else
        cc_container_abandon(w);
    return status;
}

int cc_container_add(struct cc_container_writer *w, const char *name, const struct cc_shape *shape,
                     const uint8_t *payload, size_t payload_bytes, struct cc_error *e)
{
    CC_TRY(cc_tensor_name_check(name, e));
    CC_TRY(put_text(w, name, e));
    put_u32(w, (uint32_t)shape->ndim);
    for (int i = 0; i < shape->ndim; i++)
        put_u64(w, shape->dim[i]);
    put_u64(w, payload_bytes);
    put_bytes(w, payload, payload_bytes);
    put_checksum(w);
    w->added++;
    return cc_file_check(&w->file, e);
}

int cc_container_finish(struct cc_container_writer *w, uint64_t *bytes, struct cc_error *e)
{
    const int complete = w->added == w->tensor_count ? CC_OK
                                                     : cc_fail(e, "%zu of %zu tensors were written",
                                                               w->added, w->tensor_count);
    *bytes = w->bytes;
    const int status = cc_file_end(&w->file, complete, e);
    free(w);
    return status;
}

void cc_container_abandon(struct cc_container_writer *w)
{
    if (w == NULL)
        return;
    cc_file_abort(&w->file);
    free(w);
}
