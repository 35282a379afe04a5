/* Saved states of codecs. Little-endian:
 *
 *   8 bytes  "CCSTATE\n"
 *   u32      version: 1
 *   u32      CRC-32 of all bytes that follow
 *   u32      length of the scheme's canonical name, then the name
 *   u32      number of dimensions, then each as u64
 *   bytes    the state as struct cc_codec has it */
#include <stdio.h>
#include <string.h>

#include "binding/impl.h"
#include "core/bytes.h"
#include "core/format/crc32.h"

#define MAGIC "CCSTATE\n"
enum { VERSION = 1, FIXED = 16 /* bytes before those that the checksum covers */ };

/* Writes to out, or only counts if that is NULL. */
struct head {
    uint8_t *out;
    size_t bytes;
};

static void put(struct head *h, const void *data, size_t bytes)
{
    if (h->out != NULL)
        memcpy(h->out + h->bytes, data, bytes);
    h->bytes += bytes;
}

/* The lower bytes of a number. */
static void put_number(struct head *h, uint64_t v, size_t bytes)
{
    put(h, &v, bytes);
}

/* Everything before the state, with a checksum of 0; returns its size. */
static size_t put_head(const struct commcomp_codec *c, uint8_t *out)
{
    const struct cc_shape *shape = &c->set.item->codec.shape;
    struct head h = {.out = out};
    put(&h, MAGIC, 8);
    put_number(&h, VERSION, 4);
    put_number(&h, 0, 4);
    put_number(&h, strlen(c->spec->name), 4);
    put(&h, c->spec->name, strlen(c->spec->name));
    put_number(&h, (uint64_t)shape->ndim, 4);
    for (int i = 0; i < shape->ndim; i++)
        put_number(&h, shape->dim[i], 8);
    return h.bytes;
}

/* The longest head: FIXED, the name, its length, the shape. */
enum { HEAD_CAP = FIXED + 4 + sizeof((struct cc_spec *)0)->name + 4 + 8 * CC_MAX_DIMS };

/* The next round is a step's first. */
static void begin_rounds(struct commcomp_codec *c)
{
    c->rounds.done = 0;
    c->rounds.encoded = false;
}

int commcomp_reset(struct commcomp_codec *c)
{
    CC_TRY(cc_codec_take(c, NULL));
    cc_codec_reset(&c->set.item->codec);
    begin_rounds(c);
    return cc_codec_end(c, CC_OK);
}

size_t commcomp_state_bytes(const struct commcomp_codec *c)
{
    return put_head(c, NULL) + cc_state_bytes(&c->set.item->codec);
}

int commcomp_state_save(const struct commcomp_codec *c, void *out, size_t room, char *error)
{
    struct commcomp_codec *taken = (struct commcomp_codec *)c; /* no handle is const itself */
    struct cc_error *e = cc_error_of(error);
    const struct cc_codec *codec = &c->set.item->codec;
    const size_t bytes = commcomp_state_bytes(c), own = cc_state_bytes(codec);
    uint8_t *to = out;
    if (room < bytes)
        return cc_fail(e, "room for %zu bytes; the state of %s has %zu", room, c->spec->name,
                       bytes);
    CC_TRY(cc_codec_take(taken, e));
    const size_t head = put_head(c, to);
    if (own > 0)
        memcpy(to + head, codec->state, own);
    cc_put_u32(to + 12, cc_crc32(0, to + FIXED, bytes - FIXED));
    return cc_codec_end(taken, CC_OK);
}

/* The name of the codec that a state belongs to, whose checksum holds; "?" if it is none. */
static void print_owner(const uint8_t *state, size_t bytes,
                        char out[sizeof((struct cc_spec *)0)->name])
{
    const size_t cap = sizeof((struct cc_spec *)0)->name;
    const size_t length = bytes >= FIXED + 4 ? cc_get_u32(state + FIXED) : cap;
    (void)snprintf(out, cap, "?");
    if (length < cap && length <= bytes - FIXED - 4) {
        memcpy(out, state + FIXED + 4, length);
        out[length] = '\0';
    }
}

static int restore(const struct commcomp_codec *c, const void *state, size_t bytes,
                   struct cc_error *e)
{
    const struct cc_codec *codec = &c->set.item->codec;
    const uint8_t *from = state;
    uint8_t head[HEAD_CAP];
    char owner[sizeof c->spec->name], shape[192];
    if (bytes < FIXED || memcmp(from, MAGIC, 8) != 0)
        return cc_fail(e, "this is not the state of a codec");
    if (cc_get_u32(from + 8) != VERSION)
        return cc_fail(e, "a state of version %u; this library reads version %d",
                       cc_get_u32(from + 8), VERSION);
    if (cc_get_u32(from + 12) != cc_crc32(0, from + FIXED, bytes - FIXED))
        return cc_fail(e, "the state is damaged: its checksum does not match");
    const size_t length = put_head(c, head), own = cc_state_bytes(codec);
    if (bytes != length + own || memcmp(from + FIXED, head + FIXED, length - FIXED) != 0) {
        print_owner(from, bytes, owner);
        cc_shape_print(&codec->shape, shape, sizeof shape);
        return cc_fail(e,
                       "the state belongs to a tensor of %s, or to another shape; this codec is %s "
                       "of shape %s",
                       owner, c->spec->name, shape);
    }
    if (own > 0)
        memcpy(codec->state, from + length, own);
    return CC_OK;
}

int commcomp_state_restore(struct commcomp_codec *c, const void *state, size_t bytes, char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_codec_take(c, e));
    const int status = restore(c, state, bytes, e);
    if (status == CC_OK)
        begin_rounds(c);
    return cc_codec_end(c, status);
}
