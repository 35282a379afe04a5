/* Blocks are coded part by part, each in a pass over arrays that stay in the first-level cache.
 *
 * The parts of a block are not read in the order in which they lie, which the hardware's
 * prefetching does not foresee. Measured (Zen 5, one thread, 100 MB of float32): with the next
 * block prefetched while this one's words are joined, and words written around the cache, the
 * cascade decodes at 17 GB/s instead of 12, the window at 22 instead of 17. Encoded blocks are
 * written in place: by way of a buffer and non-temporal stores they take a tenth longer. */
#include "schemes/exponent_block.h"

#include <string.h>

#include "core/bytes.h"
#include "core/reduce.h"
#include "schemes/kernels/expand.h"
#include "schemes/kernels/stream.h"

/* The first byte of a block has the lower bits of the type in bits 0 and 1, the coder in bits 2 and
 * 3, and these. */
#define MASKED 16
#define TYPE4  32 /* the third bit of the type */

static unsigned kind_of(enum cc_number type, enum cc_exponent_coder coder)
{
    return ((unsigned)type & 3) | (unsigned)coder << 2 | (type > 3 ? TYPE4 : 0u);
}

/* The stages of the cascade: the last has codes of one bit. */
#define STAGES 5

/* Bytes of the counts that precede a coded block's parts: of the ranks of stages 2 to 5, and of the
 * escapes. */
static size_t count_bytes(enum cc_exponent_coder coder)
{
    return sizeof(uint16_t) * (coder == CC_EXPONENT_CASCADE ? STAGES : 1);
}

/* Bytes of everything but the exponents of n words. */
static size_t low_bytes(enum cc_number type, size_t n)
{
    switch (type) {
    case CC_NUMBER_FP32:
        return 3 * n;
    case CC_NUMBER_BF16:
        return n;
    case CC_NUMBER_FP16:
        return n + cc_exponent_bytes2(n) + (n + 7) / 8;
    case CC_NUMBER_E4M3:
        return cc_exponent_bytes4(n);
    default:
        return cc_exponent_bytes2(n) + (n + 7) / 8;
    }
}

/* Bytes of a coded block up to the end of the codes that every exponent has. */
static size_t fixed_bytes(enum cc_number type, enum cc_exponent_coder coder, size_t n)
{
    return count_bytes(coder) + low_bytes(type, n) + cc_exponent_groups(n) +
           (coder == CC_EXPONENT_CASCADE ? cc_exponent_bytes2(n) : cc_exponent_bytes4(n));
}

/* --- encoding --- */

/* The type of a block, of which at most `bf16` values are looked at to tell whether they are of
 * bf16; sets room->words if it is a shorter one. */
static enum cc_number look(const struct cc_exponent_form *f, const float *x, size_t n, size_t bf16,
                           struct cc_exponent_room *room)
{
    static const enum cc_number order[] = {CC_NUMBER_E4M3, CC_NUMBER_E5M2, CC_NUMBER_BF16,
                                           CC_NUMBER_FP16};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (f->type != CC_NUMBER_AUTO && f->type != order[i])
            continue;
        if (order[i] == CC_NUMBER_BF16 ? k_words()->lower(x, cc_smaller(n, bf16)) == 0
                                       : cc_number_narrow(order[i], x, n, f->any, room->words))
            return order[i];
    }
    return CC_NUMBER_FP32;
}

/* A block's values: as float32, or the type's words of 16 bits. */
struct values {
    const float *x;
    const uint16_t *words; /* or NULL */
    size_t n;
    bool large; /* the next block is prefetched */
};

static uint8_t rotate8(uint8_t word, unsigned left)
{
    return (uint8_t)(word << left | word >> (8 - left));
}

static void split_bytes(enum cc_number type, const uint8_t *words, size_t n,
                        struct cc_exponent_room *room, uint8_t *low)
{
    for (size_t i = 0; i < n; i++)
        room->high[i] = rotate8(words[i], 1);
    if (type == CC_NUMBER_E4M3)
        k_words()->cut4(room->high, n, room->exponent, low);
    else
        k_words()->cut(room->high, n, room->exponent, low, low + cc_exponent_bytes2(n));
}

static void split_half(enum cc_number type, const uint16_t *words, size_t n, const void *next,
                       struct cc_exponent_room *room, uint8_t *low)
{
    if (type == CC_NUMBER_BF16) {
        k_words()->split16(words, n, next, low, room->exponent);
        return;
    }
    k_words()->split16(words, n, next, low, room->high);
    k_words()->cut(room->high, n, room->exponent, low + n, low + n + cc_exponent_bytes2(n));
}

/* Writes all but the exponents, which go to the room. False: a value is not of the type. */
static bool split(enum cc_number type, const struct values *v, struct cc_exponent_room *room,
                  uint8_t *low)
{
    const float *x = v->x;
    const size_t n = v->n;
    if (v->words != NULL) {
        split_half(type, v->words, n, v->large ? v->words + n : NULL, room, low);
        return true;
    }
    const float *next = v->large ? x + n : NULL;
    if (type == CC_NUMBER_BF16)
        return k_words()->split_bf16(x, n, next, low, room->exponent) == 0;
    if (type == CC_NUMBER_FP32)
        k_words()->split32(x, n, next, low, room->exponent);
    else if (type == CC_NUMBER_FP16)
        split_half(type, room->words, n, NULL, room, low);
    else
        split_bytes(type, (const uint8_t *)room->words, n, room, low);
    return true;
}

/* The codes of the last stage: a bit for each rank, 1 for an escape. */
static void put_last(const uint8_t *rank, size_t c, uint8_t *out)
{
    memset(out, 0, (c + 7) / 8);
    for (size_t i = 0; i < c; i++)
        out[i / 8] = (uint8_t)(out[i / 8] | (rank[i] == CC_EXPONENT_ESCAPE) << i % 8);
}

/* Writes the stages after the first, of c ranks, and the escapes; returns the end, NULL if that
 * reaches the limit. */
static uint8_t *put_stages(size_t c, size_t escaped, struct cc_exponent_room *room, uint8_t *counts,
                           uint8_t *at, const uint8_t *limit)
{
    cc_put_u16(counts, (uint16_t)c);
    for (unsigned stage = 2; stage < STAGES; stage++) {
        const size_t bytes = cc_exponent_bytes2(c);
        if (bytes >= (size_t)(limit - at))
            return NULL;
        c = k_exponent()->stage(stage, room->rank[0], c, at);
        at += bytes;
        cc_put_u16(counts + sizeof(uint16_t) * (stage - 1), (uint16_t)c);
    }
    if ((c + 7) / 8 + escaped >= (size_t)(limit - at))
        return NULL;
    put_last(room->rank[0], c, at);
    return at + (c + 7) / 8;
}

/* Codes n values, in less bytes than their words have. Returns the bytes; 0: there is no such code;
 * SIZE_MAX: a value is not of the type. *seen is what is known of the values, also without a code.
 */
static size_t put_coded(const struct cc_exponent_form *f, enum cc_number type,
                        const struct values *v, struct cc_exponent_room *room, uint8_t *out,
                        struct cc_exponents_seen *seen)
{
    const size_t n = v->n;
    const uint8_t *limit = out + cc_number_bytes[type] * n;
    const size_t fixed = fixed_bytes(type, f->coder, n);
    *seen = (struct cc_exponents_seen){.zeros = n};
    if (fixed >= cc_number_bytes[type] * n)
        return 0;
    uint8_t *low = out + count_bytes(f->coder), *base = low + low_bytes(type, n);
    uint8_t *codes = base + cc_exponent_groups(n), *at = out + fixed;
    if (!split(type, v, room, low))
        return SIZE_MAX;
    if (f->coder == CC_EXPONENT_CASCADE) {
        *seen = k_exponent()->first(room->exponent, n, base, codes, room->rank[0], room->escape);
        at = put_stages(seen->next, seen->escaped, room, out, at, limit);
    } else {
        *seen = k_exponent()->window(room->exponent, n, base, codes, room->escape);
    }
    if (at == NULL || seen->escaped >= (size_t)(limit - at))
        return 0;
    cc_put_u16(low - sizeof(uint16_t), (uint16_t)seen->escaped);
    memcpy(at, room->escape, seen->escaped);
    return (size_t)(at - out) + seen->escaped;
}

/* The same with the block's type, which it finds. Values are seldom of bf16 for long if not all
 * are, so all of them are looked at only while they are split; blocks of less than 64, which are
 * not split, before. */
static size_t put_typed(const struct cc_exponent_form *f, const float *x, size_t n, bool large,
                        struct cc_exponent_room *room, uint8_t *out, enum cc_number *type,
                        struct cc_exponents_seen *seen)
{
    *type = look(f, x, n, 64, room);
    const struct values v = {.x = x, .n = n, .large = large};
    const size_t bytes = put_coded(f, *type, &v, room, out, seen);
    if (bytes != SIZE_MAX)
        return bytes;
    const bool fp16 =
        f->type == CC_NUMBER_AUTO && cc_number_narrow(CC_NUMBER_FP16, x, n, f->any, room->words);
    *type = fp16 ? CC_NUMBER_FP16 : CC_NUMBER_FP32;
    return put_coded(f, *type, &v, room, out, seen);
}

/* Whether the values may be encoded; FP16 and shorter types are only found if they may. */
static bool accepts(const struct cc_exponent_form *f, enum cc_number type,
                    const struct cc_exponents_seen *seen)
{
    return f->any || type >= CC_NUMBER_FP16 || seen->most < 255;
}

/* The values as words. Returns their bytes, SIZE_MAX if a value is refused. */
static size_t put_raw(const struct cc_exponent_form *f, enum cc_number type, const float *x,
                      size_t n, const struct cc_exponent_room *room, uint8_t *out)
{
    const uint32_t most = type == CC_NUMBER_FP32 ? k_stream()->copy[CC_ELEMENT_FP32](x, out, n)
                                                 : k_reduce()->absmax(x, n);
    const size_t bytes = cc_number_bytes[type] * n;
    for (size_t i = 0; i < n && type == CC_NUMBER_BF16; i++)
        cc_put_u16(out + sizeof(uint16_t) * i, (uint16_t)(cc_f32_bits(x[i]) >> 16));
    if (type >= CC_NUMBER_FP16)
        memcpy(out, room->words, bytes);
    return cc_finite_bits(most) || f->any ? bytes : SIZE_MAX;
}

/* The part of the words that zeros are at least where a bit for each word is worth it. */
static size_t zeros_part(enum cc_number type)
{
    return cc_number_bytes[type] > 1 ? 16 : 8;
}

/* Whether words of 0 are worth a bit for each word, by what is seen of the exponents; if so, sets
 * the mask and packs the others to the room. */
static bool mask_zeros(enum cc_number type, const float *x, size_t n, size_t most_zeros,
                       struct cc_exponent_room *room, size_t *packed)
{
    if (most_zeros * zeros_part(type) <= n)
        return false;
    *packed = k_words()->pack(x, n, room->mask, room->values);
    return (n - *packed) * zeros_part(type) > n;
}

size_t cc_exponent_put_block(const struct cc_exponent_form *f, const float *x, size_t n, bool large,
                             struct cc_exponent_room *room, uint8_t *out)
{
    enum cc_number type;
    struct cc_exponents_seen seen;
    size_t head = 1, packed;
    size_t bytes = put_typed(f, x, n, large, room, out + head, &type, &seen);
    if (accepts(f, type, &seen) && mask_zeros(type, x, n, seen.zeros, room, &packed)) {
        memcpy(out + head, room->mask, (n + 7) / 8);
        head += (n + 7) / 8;
        x = room->values;
        n = packed;
        bytes = put_typed(f, x, n, false, room, out + head, &type, &seen);
    }
    if (!accepts(f, type, &seen))
        return 0;
    const enum cc_exponent_coder coder = bytes > 0 ? f->coder : CC_EXPONENT_RAW;
    if (bytes == 0)
        bytes = put_raw(f, type, x, n, room, out + head);
    if (bytes == SIZE_MAX)
        return 0;
    out[0] = (uint8_t)(kind_of(type, coder) | (head > 1 ? MASKED : 0));
    return head + bytes;
}

/* Whether one of the first words has one of these bits, and one of those of `exponent`. */
static bool one_has(const uint16_t *words, size_t n, unsigned bits, unsigned exponent)
{
    for (size_t i = 0; i < cc_smaller(n, 64); i++)
        if ((words[i] & bits) != 0 && (words[i] & exponent) != 0)
            return true;
    return false;
}

/* The format that values of x's type are known to be sent in; FP32: they must be widened. With
 * AUTO, a word must show that they are not all of a format that comes first: fractions of 8 bits'
 * formats are 4 bits shorter than those of bf16, which are 3 bits shorter than those of binary16.
 */
static enum cc_number known_type(enum cc_number wanted, struct cc_elements x, size_t n)
{
    const bool automatic = wanted == CC_NUMBER_AUTO;
    if (x.type == CC_ELEMENT_BF16 &&
        (wanted == CC_NUMBER_BF16 || (automatic && one_has(x.at, n, 15, 0xffff))))
        return CC_NUMBER_BF16;
    if (x.type == CC_ELEMENT_FP16 &&
        (wanted == CC_NUMBER_FP16 || (automatic && one_has(x.at, n, 7, 0x7c00))))
        return CC_NUMBER_FP16;
    return CC_NUMBER_FP32;
}

size_t cc_exponent_put_half(const struct cc_exponent_form *f, struct cc_elements x, size_t n,
                            bool large, struct cc_exponent_room *room, uint8_t *out)
{
    const enum cc_number type = known_type(f->type, x, n);
    const unsigned infinite = f->any ? 256 : type == CC_NUMBER_FP16 ? 31 : 255;
    const struct values v = {.words = x.at, .n = n, .large = large};
    struct cc_exponents_seen seen;
    const size_t bytes = type == CC_NUMBER_FP32 ? 0 : put_coded(f, type, &v, room, out + 1, &seen);
    if (bytes > 0 && seen.most < infinite && seen.zeros * zeros_part(type) <= n) {
        out[0] = (uint8_t)kind_of(type, f->coder);
        return 1 + bytes;
    }
    cc_widen(x, n, room->wide);
    return cc_exponent_put_block(f, room->wide, n, false, room, out);
}

/* --- decoding --- */

/* A block's parts, of which all lie in the payload. */
struct parts {
    enum cc_number type;
    enum cc_exponent_coder coder;
    size_t n;                            /* words that are not masked */
    const uint8_t *mask;                 /* NULL: none are */
    const uint8_t *low;                  /* or the words */
    const uint8_t *base, *codes[STAGES]; /* the window has the first codes only */
    size_t count[STAGES + 1];            /* ranks of the stages, and escapes */
    const uint8_t *escape;
};

/* The parts that follow the counts, whose bytes are `left`. */
static int find_coded(struct parts *p, const uint8_t *counts, size_t at, size_t left,
                      struct cc_error *e)
{
    const bool cascade = p->coder == CC_EXPONENT_CASCADE;
    const unsigned stages = cascade ? STAGES : 1;
    if (left < count_bytes(p->coder))
        return cc_bad_payload(at, e, "the block ends in its counts");
    p->count[0] = p->n;
    for (unsigned s = 1; s <= stages; s++) {
        p->count[s] = cc_once(cc_get_u16(counts + sizeof(uint16_t) * (s - 1)));
        if (p->count[s] > p->count[s - 1])
            return cc_bad_payload(at + sizeof(uint16_t) * (s - 1), e,
                                  "a count of %zu after one of %zu", p->count[s], p->count[s - 1]);
    }
    size_t bytes = fixed_bytes(p->type, p->coder, p->n);
    p->low = counts + count_bytes(p->coder);
    p->base = p->low + low_bytes(p->type, p->n);
    p->codes[0] = p->base + cc_exponent_groups(p->n);
    for (unsigned s = 1; s < stages; s++) {
        p->codes[s] = counts + bytes;
        bytes += s < STAGES - 1 ? cc_exponent_bytes2(p->count[s]) : (p->count[s] + 7) / 8;
    }
    p->escape = counts + bytes;
    bytes += p->count[stages];
    return bytes == left ? CC_OK
                         : cc_bad_payload(at, e,
                                          "the counts tell of %zu bytes, but the block has "
                                          "%zu from here on",
                                          bytes, left);
}

/* The parts of the block of n values in payload[at, at + len). */
static int find_parts(const uint8_t *payload, size_t at, size_t len, size_t n, struct parts *p,
                      struct cc_error *e)
{
    if (len == 0)
        return cc_bad_payload(at, e, "a block without bytes");
    const unsigned kind = (unsigned)cc_once(payload[at]), coder = kind >> 2 & 3;
    const unsigned type = (kind & 3) | (kind & TYPE4) >> 3;
    if (type >= CC_NUMBERS || coder > CC_EXPONENT_WINDOW || kind >= 2 * TYPE4)
        return cc_bad_payload(at, e, "%u is not a kind of block", kind);
    size_t head = 1;
    *p = (struct parts){.type = type, .coder = coder, .n = n};
    if (kind & MASKED) {
        head += (n + 7) / 8;
        if (len < head)
            return cc_bad_payload(at, e, "the block ends in its mask");
        p->mask = payload + at + 1;
        p->n = cc_smaller(k_expand()->popcount(p->mask, n), n);
    }
    if (coder != CC_EXPONENT_RAW)
        return find_coded(p, payload + at + head, at + head, len - head, e);
    p->low = payload + at + head;
    if (len - head != cc_number_bytes[type] * p->n)
        return cc_bad_payload(at, e, "%zu words as they are in %zu bytes", p->n, len - head);
    return CC_OK;
}

/* Decodes the ranks of stages 5 to 2 to room->rank[0]. */
static int get_stages(const struct parts *p, size_t at, struct cc_exponent_room *room,
                      struct cc_error *e)
{
    size_t escaped = 0;
    uint8_t *next = room->rank[1], *rank = room->rank[0];
    for (size_t i = 0; i < p->count[STAGES - 1]; i++) {
        const unsigned bit = p->codes[STAGES - 1][i / 8] >> i % 8 & 1;
        next[i] = (uint8_t)(CC_EXPONENT_ESCAPE - 1 + bit);
        escaped += bit;
    }
    if (escaped != p->count[STAGES])
        return cc_bad_payload(at, e, "%zu exponents escape, not %zu", escaped, p->count[STAGES]);
    for (unsigned s = STAGES - 1; s > 1; s--) {
        const size_t taken = k_exponent()->unstage(s, p->codes[s - 1], p->count[s - 1], next, rank);
        if (taken != p->count[s])
            return cc_bad_payload(at, e, "stage %u passes %zu exponents on, not %zu", s, taken,
                                  p->count[s]);
        uint8_t *swap = next;
        next = rank;
        rank = swap;
    }
    return CC_OK;
}

/* Decodes the exponents to the room; `at`: where the block is. */
static int get_exponents(const struct parts *p, size_t at, struct cc_exponent_room *room,
                         struct cc_error *e)
{
    size_t escaped;
    if (p->coder == CC_EXPONENT_WINDOW) {
        memcpy(room->escape, p->escape, p->count[1]);
        escaped = k_exponent()->unwindow(p->base, p->codes[0], p->n, room->escape, room->exponent);
        return escaped == p->count[1]
                   ? CC_OK
                   : cc_bad_payload(at, e, "%zu exponents escape, not %zu", escaped, p->count[1]);
    }
    CC_TRY(get_stages(p, at, room, e));
    memcpy(room->escape, p->escape, p->count[STAGES]);
    const size_t taken = k_exponent()->unfirst(p->base, p->codes[0], p->n, room->rank[0],
                                               room->escape, &escaped, room->exponent);
    return taken == p->count[1] ? CC_OK
                                : cc_bad_payload(at, e, "stage 1 passes %zu exponents on, not %zu",
                                                 taken, p->count[1]);
}

/* Sets y to words of a type, or adds scale times them. They are first set where nothing is added
 * yet, in the room. */
static void give_words(enum cc_number type, const uint8_t *words, size_t n, const float *scale,
                       struct cc_exponent_room *room, float *y)
{
    if (scale == NULL) {
        cc_number_widen(type, words, n, y);
        return;
    }
    cc_number_widen(type, words, n, room->wide);
    k_stream()->add((const uint8_t *)room->wide, *scale, y, n);
}

/* next: what is decoded then, to be prefetched, if the tensor is large. */
static void give_coded(const struct parts *p, const uint8_t *next, const float *scale,
                       struct cc_exponent_room *room, float *y)
{
    const bool nontemporal = next != NULL && p->mask == NULL;
    const uint8_t *twos = p->low + (p->type == CC_NUMBER_FP16 ? p->n : 0);
    if (p->type == CC_NUMBER_FP32) {
        k_words()->join32(p->low, room->exponent, p->n, next, scale, nontemporal, y);
        return;
    }
    if (p->type == CC_NUMBER_BF16) {
        k_words()->join_bf16(p->low, room->exponent, p->n, next, scale, nontemporal, y);
        return;
    }
    if (p->type == CC_NUMBER_E4M3)
        k_words()->uncut4(room->exponent, p->low, p->n, room->high);
    else
        k_words()->uncut(room->exponent, twos, twos + cc_exponent_bytes2(p->n), p->n, room->high);
    if (p->type == CC_NUMBER_FP16)
        k_words()->join16(p->low, room->high, p->n, room->words);
    else
        for (size_t i = 0; i < p->n; i++)
            ((uint8_t *)room->words)[i] = rotate8(room->high[i], 7);
    give_words(p->type, (const uint8_t *)room->words, p->n, scale, room, y);
}

int cc_exponent_get_block(const uint8_t *payload, size_t at, size_t len, size_t n,
                          const float *scale, bool large, struct cc_exponent_room *room, float *y,
                          struct cc_error *e)
{
    struct parts p;
    CC_TRY(find_parts(payload, at, len, n, &p, e));
    if (p.coder != CC_EXPONENT_RAW)
        CC_TRY(get_exponents(&p, at, room, e));
    float *to = p.mask == NULL ? y : room->values;
    const float *factor = p.mask == NULL ? scale : NULL;
    if (p.coder == CC_EXPONENT_RAW)
        give_words(p.type, p.low, p.n, factor, room, to);
    else
        give_coded(&p, large ? payload + at + len : NULL, factor, room, to);
    if (p.mask == NULL)
        return CC_OK;
    const uint8_t *values = (const uint8_t *)room->values;
    const size_t set = scale == NULL ? k_expand()->expand(p.mask, n, values, p.n, false, y)
                                     : k_expand()->expand_add(p.mask, n, values, p.n, *scale, y);
    return set == p.n ? CC_OK : cc_changed_payload(e);
}
