/* The calls of packs. Those of virtual packs go on to pack_virtual.c; the others are here: codecs,
 * and the payloads that they make.
 *
 * A pack's bytes (docs/wire.md) are a head and the slices' payloads, one after the other. The head
 * is one byte, BOUNDS, if every payload is as long as its bound; otherwise it is the byte TABLE and
 * the length of each payload as LEB128 (seven bits a byte, the lowest first, the top bit set in all
 * bytes but the last). The encoder writes the payloads behind the first byte and, if a table is
 * needed, moves them to make room for it. The decoder checks the whole table against the bounds and
 * the number of bytes before it decodes the first payload; what the payloads contain, the codecs
 * check. Over an allreduce of floats the payloads of a round have no head: their lengths follow
 * from the shapes. */
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/pack/pack_impl.h"
#include "netsim/exchange/pack/size_index.h"
#include "schemes/codec_set.h"

enum { BOUNDS = 0, TABLE = 1 };
enum { MOST_LEB_BYTES = 10 };

/* A slice; its codec is the set's item of the same number. */
struct part {
    struct cc_context ctx; /* without the step */
    size_t at;             /* in x and y */
    size_t len;            /* the length of the payload encoded last; before, its bound */
    bool raw;
};

struct real_pack {
    struct cc_pack base;
    struct part *part;
    struct cc_codec_set codecs; /* as many */
    size_t payload_bound;       /* all payloads together */
    size_t table_bound;
    bool decodes_only;
};

static struct real_pack *real_of(const struct cc_pack *p)
{
    return (struct real_pack *)p;
}

void cc_pack_free(struct cc_pack *p)
{
    struct real_pack *real = real_of(p);
    if (p != NULL && !p->is_virtual) {
        cc_codec_set_free(&real->codecs);
        free(real->part);
    }
    free(p);
}

static int set_part(const struct cc_pack_config *config, const struct cc_slice *slice,
                    struct part *part, struct cc_codec_item *item, struct cc_error *e)
{
    const struct cc_job *job = config->job;
    if (slice->tensor >= job->tensors)
        return cc_fail(e, "a slice of tensor %zu of %zu", slice->tensor, job->tensors);
    const struct cc_job_tensor *t = &job->tensor[slice->tensor];
    if (slice->begin > t->shape.n || slice->count > t->shape.n - slice->begin)
        return cc_fail(e, "tensor '%s': a slice from value %zu to %zu of %zu", t->name,
                       slice->begin, slice->begin + slice->count, t->shape.n);
    const size_t at = job->offset[slice->tensor] + slice->begin;
    if (at < config->origin)
        return cc_fail(e,
                       "tensor '%s': a slice at value %zu of the step, before value %zu, the "
                       "first at hand",
                       t->name, at, config->origin);
    const struct cc_shape flat = cc_shape_flat(slice->count);
    *item = cc_codec_item(t->raw ? config->raw : config->spec,
                          slice->count == t->shape.n ? &t->shape : &flat);
    *part = (struct part){.ctx = {.seed = config->seed,
                                  .rank = config->rank,
                                  .direction = config->direction,
                                  .tensor = slice->tensor,
                                  .offset = slice->begin,
                                  .name = t->name},
                          .at = at - config->origin,
                          .raw = t->raw};
    return CC_OK;
}

size_t cc_pack_bound(const struct cc_pack *p)
{
    const struct real_pack *real = real_of(p);
    return p->is_virtual ? cc_virtual_pack_bound(p) : real->payload_bound + 1 + real->table_bound;
}

size_t cc_pack_size(const struct cc_pack *p, int64_t rank, uint64_t step)
{
    return p->is_virtual ? cc_virtual_pack_size(p, rank, step) : 0;
}

static struct cc_context context_of(const struct part *part, uint64_t step)
{
    struct cc_context ctx = part->ctx;
    ctx.step = step;
    return ctx;
}

static int refuse_stateless(struct cc_error *e)
{
    return cc_fail(e, "a pack that only decodes was asked to encode");
}

/* A part's place, for messages. */
#define PLACE(part)                                                                                \
    "tensor '%s' from value %llu", (part)->ctx.name, (unsigned long long)(part)->ctx.offset

/* --- encoding --- */

static size_t put_leb(uint8_t *out, size_t v)
{
    size_t at = 0;
    for (; v >= 0x80; v >>= 7)
        out[at++] = (uint8_t)(v | 0x80);
    out[at++] = (uint8_t)v;
    return at;
}

/* A codec that encodes, or absorbs a sum, fails only if it refuses the values. */
static int encoded(int status)
{
    return status == CC_OK ? CC_OK : CC_DIVERGED;
}

int cc_pack_encode(struct cc_pack *p, uint64_t step, const float *x, uint8_t *out, size_t *len,
                   size_t *head, struct cc_error *e)
{
    struct real_pack *real = real_of(p);
    size_t payloads = 0, table = 0, at = 1;
    bool full = true;
    if (p->is_virtual) {
        cc_virtual_pack_encode(p, step, len, head);
        return CC_OK;
    }
    if (real->decodes_only)
        return refuse_stateless(e);
    for (size_t i = 0; i < real->codecs.count; i++) {
        struct part *part = &real->part[i];
        const struct cc_codec_item *item = &real->codecs.item[i];
        const struct cc_context ctx = context_of(part, step);
        CC_TRY(encoded(cc_encode(&item->codec, &ctx, x + part->at, out + 1 + payloads, item->bound,
                                 &part->len, e)));
        payloads += part->len;
        table += cc_leb_bytes(part->len);
        full = full && part->len == item->bound;
    }
    if (!full) {
        memmove(out + 1 + table, out + 1, payloads);
        for (size_t i = 0; i < real->codecs.count; i++)
            at += put_leb(out + at, real->part[i].len);
    }
    out[0] = full ? BOUNDS : TABLE;
    *head = at;
    *len = at + payloads;
    return CC_OK;
}

void cc_pack_count(const struct cc_pack *p, uint64_t *tensor_bytes)
{
    const struct real_pack *real = real_of(p);
    if (p->is_virtual) {
        cc_virtual_pack_count(p, tensor_bytes);
        return;
    }
    for (size_t i = 0; i < real->codecs.count; i++)
        tensor_bytes[real->part[i].ctx.tensor] += real->part[i].len;
}

bool cc_pack_state(const struct cc_pack *p, size_t i, struct cc_pack_state *out)
{
    const struct real_pack *real = real_of(p);
    for (size_t k = 0; !p->is_virtual && k < real->codecs.count; k++) {
        const struct cc_codec *codec = &real->codecs.item[k].codec;
        if (codec->state == NULL || i-- > 0)
            continue;
        *out = (struct cc_pack_state){
            .slice = {real->part[k].ctx.tensor, real->part[k].ctx.offset, codec->shape.n},
            .value = codec->state,
            .count = cc_state_bytes(codec) / sizeof(float)};
        return true;
    }
    return false;
}

/* --- decoding --- */

/* A pack's bytes, and how far they have been read. */
struct reader {
    const uint8_t *in;
    size_t len;
    size_t table, payload; /* offsets of the next entry and payload */
    bool listed;           /* otherwise all payloads are as long as their bounds */
};

static int bad_head(size_t offset, struct cc_error *e, const char *reason)
{
    return cc_fail(e, "pack, byte %zu: %s", offset, reason);
}

static int get_leb(const uint8_t *in, size_t len, size_t *at, size_t *out, struct cc_error *e)
{
    const size_t begin = *at;
    uint64_t v = 0;
    for (unsigned i = 0; i < MOST_LEB_BYTES && *at < len; i++) {
        const uint8_t byte = in[(*at)++];
        if (i == MOST_LEB_BYTES - 1 && byte > 1)
            return bad_head(begin, e, "a length beyond 64 bits");
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte == 0 && i > 0)
            return bad_head(begin, e, "a length that is longer than it needs to be");
        if (byte < 0x80) {
            *out = v;
            return CC_OK;
        }
    }
    return bad_head(begin, e, "the table of lengths is cut off");
}

/* Reads the head and checks that the payloads that it announces are all there. */
static int read_head(const struct real_pack *p, const uint8_t *in, size_t len, struct reader *r,
                     struct cc_error *e)
{
    size_t total = p->payload_bound;
    *r = (struct reader){.in = in, .len = len, .table = 1, .payload = 1};
    if (len == 0)
        return bad_head(0, e, "it is empty");
    if (in[0] != BOUNDS && in[0] != TABLE)
        return cc_fail(e, "pack, byte 0: %u, which is neither %d nor %d", in[0], BOUNDS, TABLE);
    if (in[0] == TABLE) {
        r->listed = true;
        total = 0;
        for (size_t i = 0; i < p->codecs.count; i++) {
            const size_t begin = r->payload, bound = p->codecs.item[i].bound;
            size_t n = 0;
            int status = get_leb(in, len, &r->payload, &n, e);
            if (status == CC_OK && n > bound)
                status = cc_fail(e, "pack, byte %zu: a payload of %zu bytes where %zu are the most",
                                 begin, n, bound);
            CC_TRY_IN(status, e, PLACE(&p->part[i]));
            total += n; /* at most payload_bound */
        }
    }
    return total == len - r->payload ? CC_OK
                                     : cc_fail(e, "pack, byte %zu: %zu bytes of payload, not %zu",
                                               r->payload, len - r->payload, total);
}

/* scale: NULL to decode, else to add. */
static int decode(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                  const float *scale, float *y, struct cc_error *e)
{
    const struct real_pack *real = real_of(p);
    struct reader r;
    if (p->is_virtual)
        return CC_OK;
    CC_TRY(read_head(real, in, len, &r, e));
    for (size_t i = 0; i < real->codecs.count; i++) {
        const struct part *part = &real->part[i];
        const struct cc_codec *codec = &real->codecs.item[i].codec;
        const struct cc_context ctx = context_of(part, step);
        const uint8_t *payload = in + r.payload;
        size_t n = real->codecs.item[i].bound;
        if (r.listed)
            (void)get_leb(in, len, &r.table, &n, NULL); /* checked above */
        CC_TRY_IN(scale == NULL ? cc_decode(codec, &ctx, payload, n, y + part->at, e)
                                : cc_decode_add(codec, &ctx, payload, n, *scale, y + part->at, e),
                  e, PLACE(part));
        r.payload += n;
    }
    return CC_OK;
}

int cc_pack_decode(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len, float *y,
                   struct cc_error *e)
{
    return decode(p, step, in, len, NULL, y, e);
}

int cc_pack_decode_add(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                       float scale, float *y, struct cc_error *e)
{
    return decode(p, step, in, len, &scale, y, e);
}

/* --- pairs --- */

static size_t part_pairs_bound(const struct part *part, const struct cc_codec *codec)
{
    return part->raw ? codec->shape.n : cc_pairs_bound(codec);
}

size_t cc_pack_pairs_bound(const struct cc_pack *p)
{
    const struct real_pack *real = real_of(p);
    size_t most = 0;
    for (size_t i = 0; !p->is_virtual && i < real->codecs.count; i++)
        most += part_pairs_bound(&real->part[i], &real->codecs.item[i].codec);
    return most;
}

static size_t raw_to_pairs(const uint8_t *in, size_t n, uint32_t base, struct cc_index_value *out)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i++) {
        const float v = cc_get_f32(in + sizeof v * i);
        out[c] = (struct cc_index_value){base + (uint32_t)i, v};
        c += v != 0;
    }
    return c;
}

int cc_pack_to_pairs(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                     struct cc_index_value *out, size_t *count, struct cc_error *e)
{
    const struct real_pack *real = real_of(p);
    struct reader r;
    *count = 0;
    if (p->is_virtual)
        return cc_fail(e, "a pack without data has no pairs");
    CC_TRY(read_head(real, in, len, &r, e));
    for (size_t i = 0; i < real->codecs.count; i++) {
        const struct part *part = &real->part[i];
        const struct cc_codec *codec = &real->codecs.item[i].codec;
        const struct cc_context ctx = context_of(part, step);
        size_t n = real->codecs.item[i].bound, found = 0;
        if (r.listed)
            (void)get_leb(in, len, &r.table, &n, NULL); /* read_head has checked it */
        int status = CC_OK;
        if (part->raw)
            found =
                raw_to_pairs(in + r.payload, n / sizeof(float), (uint32_t)part->at, out + *count);
        else
            status = cc_to_pairs(codec, &ctx, in + r.payload, n, (uint32_t)part->at, out + *count,
                                 part_pairs_bound(part, codec), &found, e);
        CC_TRY_IN(status, e, PLACE(part));
        *count += found;
        r.payload += n;
    }
    return CC_OK;
}

void cc_pack_give_back(struct cc_pack *p, const struct cc_index_value *pair, size_t count)
{
    const struct real_pack *real = real_of(p);
    size_t at = 0;
    for (size_t i = 0; !p->is_virtual && i < real->codecs.count && at < count; i++) {
        const struct cc_codec *codec = &real->codecs.item[i].codec;
        const size_t begin = real->part[i].at, end = begin + codec->shape.n;
        size_t next = at;
        while (next < count && pair[next].index < end)
            next++;
        if (next > at)
            cc_give_back(codec, (uint32_t)begin, pair + at, next - at);
        at = next;
    }
}

/* --- rounds --- */

size_t cc_pack_rounds(const struct cc_pack *p)
{
    const struct real_pack *real = real_of(p);
    size_t most = 1;
    if (p->is_virtual)
        return cc_virtual_pack_rounds(p);
    for (size_t i = 0; i < real->codecs.count; i++) {
        const struct cc_codec *codec = &real->codecs.item[i].codec;
        const size_t n = cc_sum_rounds(codec->scheme, codec->params);
        if (n == 0)
            return 0;
        most = n > most ? n : most;
    }
    return most;
}

int cc_pack_encode_round(struct cc_pack *p, uint64_t step, size_t round, const float *x,
                         uint8_t *out, size_t *len, struct cc_error *e)
{
    struct real_pack *real = real_of(p);
    if (p->is_virtual) {
        cc_virtual_pack_encode_round(p, step, round, len);
        return CC_OK;
    }
    const bool can_sum = cc_pack_rounds(p) > 0;
    *len = 0;
    if (real->decodes_only)
        return refuse_stateless(e);
    for (size_t i = 0; i < real->codecs.count; i++) {
        struct part *part = &real->part[i];
        const struct cc_codec_item *item = &real->codecs.item[i];
        const struct cc_context ctx = context_of(part, step);
        const int status = cc_encode_round(&item->codec, &ctx, round, x + part->at, out + *len,
                                           item->bound, &part->len, e);
        CC_TRY(can_sum ? encoded(status) : status);
        *len += part->len;
    }
    return CC_OK;
}

int cc_pack_absorb(struct cc_pack *p, uint64_t step, size_t round, const uint8_t *in, size_t len,
                   float scale, float *y, struct cc_error *e)
{
    const struct real_pack *real = real_of(p);
    size_t all = 0, raw = 0;
    if (p->is_virtual)
        return CC_OK;
    if (real->decodes_only)
        return refuse_stateless(e);
    for (size_t i = 0; i < real->codecs.count; i++) {
        const size_t bytes = cc_round_bytes(&real->codecs.item[i].codec, round);
        all += bytes;
        raw += real->part[i].raw ? bytes : 0;
    }
    /* In a silent step only raw tensors have bytes. */
    if (len != all && len != raw)
        return cc_fail(e, "round %zu: %zu bytes of payload, not %zu", round, len, all);
    for (size_t i = 0; i < real->codecs.count; i++) {
        const struct part *part = &real->part[i];
        const struct cc_codec *codec = &real->codecs.item[i].codec;
        const struct cc_context ctx = context_of(part, step);
        const size_t n = len == all || part->raw ? cc_round_bytes(codec, round) : 0;
        CC_TRY_IN(encoded(cc_absorb(codec, &ctx, round, in, n, scale, y + part->at, e)), e,
                  PLACE(part));
        in += n;
    }
    return CC_OK;
}

/* --- making --- */

int cc_real_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                      size_t slices, struct cc_pack **out, struct cc_error *e)
{
    const struct cc_codec_memory memory = {.state = !config->decodes_only, .scratch = CC_SHARED};
    size_t values = 0, all;
    bool overflow = false;
    int status = CC_OK;
    struct real_pack *p;
    CC_TRY(CC_NEW(p, 1, e));
    p->decodes_only = config->decodes_only;
    CC_TRY_OUT(CC_NEW(p->part, slices, e));
    CC_TRY_OUT(cc_codec_set_init(&p->codecs, slices, e));
    for (size_t i = 0; i < slices; i++) {
        struct cc_codec_item *item = &p->codecs.item[i];
        CC_TRY_OUT(set_part(config, &slice[i], &p->part[i], item, e));
        p->part[i].len = item->bound;
        values += slice[i].count;
        p->table_bound += cc_leb_bytes(item->bound);
        overflow |= __builtin_add_overflow(p->payload_bound, item->bound, &p->payload_bound);
    }
    if (overflow || __builtin_add_overflow(p->payload_bound, 1 + p->table_bound, &all)) {
        status =
            cc_fail(e, "the payloads of %zu values have no bound that fits into memory", values);
        goto out;
    }
    status = cc_codec_set_allocate(&p->codecs, &memory, e);
out:
    if (status == CC_OK)
        *out = &p->base;
    else
        cc_pack_free(&p->base);
    return status;
}
