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
#include "schemes/kernels/half.h"

/* The first byte of a block has the type in bits 0 and 1, the coder in bits 2 and 3, and this. */
#define MASKED 16

/* The stages of the cascade: the last has codes of one bit. */
#define STAGES 5

/* Bytes of the counts that precede a coded block's parts: of the ranks of stages 2 to 5, and of the
 * escapes. */
static size_t count_bytes(enum cc_exponent_coder coder)
{
    return sizeof(uint16_t) * (coder == CC_EXPONENT_CASCADE ? STAGES : 1);
}

static size_t width_of(enum cc_exponent_type type)
{
    return type == CC_EXPONENT_FP32 ? sizeof(float) : sizeof(uint16_t);
}

/* Bytes of everything but the exponents of n words. */
static size_t low_bytes(enum cc_exponent_type type, size_t n)
{
    switch (type) {
    case CC_EXPONENT_FP32:
        return 3 * n;
    case CC_EXPONENT_BF16:
        return n;
    default:
        return n + cc_exponent_bytes2(n) + (n + 7) / 8;
    }
}

/* Bytes of a coded block up to the end of the codes that every exponent has. */
static size_t fixed_bytes(enum cc_exponent_type type, enum cc_exponent_coder coder, size_t n)
{
    return count_bytes(coder) + low_bytes(type, n) + cc_exponent_groups(n) +
           (coder == CC_EXPONENT_CASCADE ? cc_exponent_bytes2(n) : cc_exponent_bytes4(n));
}

/* --- encoding --- */

/* Whether the values have binary16 words, which it sets; the first values mostly show it. */
static bool to_fp16(const float *x, size_t n, uint16_t *words)
{
    const struct k_stream *fp16 = &k_half()->fp16;
    float back[64];
    for (size_t i = 0; i < n; i += 64) {
        const size_t m = cc_smaller(n - i, 64);
        (void)fp16->copy[CC_ELEMENT_FP32](x + i, (uint8_t *)(words + i), m);
        fp16->load((const uint8_t *)(words + i), back, m);
        if (memcmp(back, x + i, m * sizeof *x) != 0)
            return false;
    }
    return true;
}

/* As cc_exponent_type_of, but of at most `bf16` values it is seen whether they are of bf16. */
static enum cc_exponent_type look(enum cc_exponent_type wanted, const float *x, size_t n,
                                  size_t bf16, uint16_t *words)
{
    const bool any = wanted == CC_EXPONENT_AUTO;
    if ((any || wanted == CC_EXPONENT_BF16) && k_words()->lower(x, cc_smaller(n, bf16)) == 0)
        return CC_EXPONENT_BF16;
    if ((any || wanted == CC_EXPONENT_FP16) && to_fp16(x, n, words))
        return CC_EXPONENT_FP16;
    return CC_EXPONENT_FP32;
}

enum cc_exponent_type cc_exponent_type_of(enum cc_exponent_type wanted, const float *x, size_t n,
                                          uint16_t *words)
{
    return look(wanted, x, n, n, words);
}

/* A block's values: as float32, or the type's words of 16 bits. */
struct values {
    const float *x;
    const uint16_t *words; /* or NULL */
    size_t n;
    bool large; /* the next block is prefetched */
};

static void split_half(enum cc_exponent_type type, const uint16_t *words, size_t n,
                       const void *next, struct cc_exponent_room *room, uint8_t *low)
{
    if (type == CC_EXPONENT_BF16) {
        k_words()->split16(words, n, next, low, room->exponent);
        return;
    }
    k_words()->split16(words, n, next, low, room->high);
    k_words()->cut(room->high, n, room->exponent, low + n, low + n + cc_exponent_bytes2(n));
}

/* Writes all but the exponents, which go to the room. False: a value is not of the type. */
static bool split(enum cc_exponent_type type, const struct values *v, struct cc_exponent_room *room,
                  uint8_t *low)
{
    const float *x = v->x;
    const size_t n = v->n;
    if (v->words != NULL) {
        split_half(type, v->words, n, v->large ? v->words + n : NULL, room, low);
        return true;
    }
    const float *next = v->large ? x + n : NULL;
    if (type == CC_EXPONENT_BF16)
        return k_words()->split_bf16(x, n, next, low, room->exponent) == 0;
    if (type == CC_EXPONENT_FP32) {
        k_words()->split32(x, n, next, low, room->exponent);
    } else {
        split_half(type, room->words, n, NULL, room, low);
    }
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
static size_t put_coded(const struct cc_exponent_form *f, enum cc_exponent_type type,
                        const struct values *v, struct cc_exponent_room *room, uint8_t *out,
                        struct cc_exponents_seen *seen)
{
    const size_t n = v->n;
    const uint8_t *limit = out + width_of(type) * n;
    const size_t fixed = fixed_bytes(type, f->coder, n);
    *seen = (struct cc_exponents_seen){.zeros = n};
    if (fixed >= width_of(type) * n)
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
                        struct cc_exponent_room *room, uint8_t *out, enum cc_exponent_type *type,
                        struct cc_exponents_seen *seen)
{
    *type = look(f->type, x, n, 64, room->words);
    const struct values v = {.x = x, .n = n, .large = large};
    const size_t bytes = put_coded(f, *type, &v, room, out, seen);
    if (bytes != SIZE_MAX)
        return bytes;
    *type = look(f->type == CC_EXPONENT_AUTO ? CC_EXPONENT_FP16 : CC_EXPONENT_FP32, x, n, n,
                 room->words);
    return put_coded(f, *type, &v, room, out, seen);
}

static bool finite(enum cc_exponent_type type, const struct cc_exponents_seen *seen)
{
    return type == CC_EXPONENT_FP16 || seen->most < 255;
}

/* The values as words. Returns their bytes, SIZE_MAX if a value is not finite. */
static size_t put_raw(enum cc_exponent_type type, const float *x, size_t n,
                      const struct cc_exponent_room *room, uint8_t *out)
{
    const uint32_t most = type == CC_EXPONENT_FP32 ? k_stream()->copy[CC_ELEMENT_FP32](x, out, n)
                                                   : k_reduce()->absmax(x, n);
    if (type == CC_EXPONENT_FP16)
        memcpy(out, room->words, n * sizeof(uint16_t));
    for (size_t i = 0; i < n && type == CC_EXPONENT_BF16; i++)
        cc_put_u16(out + sizeof(uint16_t) * i, (uint16_t)(cc_f32_bits(x[i]) >> 16));
    return cc_finite_bits(most) ? width_of(type) * n : SIZE_MAX;
}

/* Whether words of 0 are worth a bit for each word, by what is seen of the exponents; if so, sets
 * the mask and packs the others to the room. */
static bool mask_zeros(const float *x, size_t n, size_t most_zeros, struct cc_exponent_room *room,
                       size_t *packed)
{
    if (most_zeros * 16 <= n)
        return false;
    *packed = k_words()->pack(x, n, room->mask, room->values);
    return (n - *packed) * 16 > n;
}

size_t cc_exponent_put_block(const struct cc_exponent_form *f, const float *x, size_t n, bool large,
                             struct cc_exponent_room *room, uint8_t *out)
{
    enum cc_exponent_type type;
    struct cc_exponents_seen seen;
    size_t head = 1, packed;
    size_t bytes = put_typed(f, x, n, large, room, out + head, &type, &seen);
    if (finite(type, &seen) && mask_zeros(x, n, seen.zeros, room, &packed)) {
        memcpy(out + head, room->mask, (n + 7) / 8);
        head += (n + 7) / 8;
        x = room->values;
        n = packed;
        bytes = put_typed(f, x, n, false, room, out + head, &type, &seen);
    }
    if (!finite(type, &seen))
        return 0;
    const enum cc_exponent_coder coder = bytes > 0 ? f->coder : CC_EXPONENT_RAW;
    if (bytes == 0)
        bytes = put_raw(type, x, n, room, out + head);
    if (bytes == SIZE_MAX)
        return 0;
    out[0] = (uint8_t)((unsigned)type | (unsigned)coder << 2 | (head > 1 ? MASKED : 0));
    return head + bytes;
}

/* Whether words of binary16 are sent as such: if one of the first shows that they are not all of
 * bf16, whose fraction is 3 bits shorter. */
static bool only_fp16(const uint16_t *words, size_t n)
{
    for (size_t i = 0; i < cc_smaller(n, 64); i++)
        if ((words[i] & 0x7c00) != 0 && (words[i] & 7) != 0)
            return true;
    return false;
}

/* The format that values of x's type are known to be sent in; FP32: they must be widened. */
static enum cc_exponent_type known_type(enum cc_exponent_type wanted, struct cc_elements x,
                                        size_t n)
{
    const bool any = wanted == CC_EXPONENT_AUTO;
    if (x.type == CC_ELEMENT_BF16 && (any || wanted == CC_EXPONENT_BF16))
        return CC_EXPONENT_BF16;
    if (x.type == CC_ELEMENT_FP16 && (wanted == CC_EXPONENT_FP16 || (any && only_fp16(x.at, n))))
        return CC_EXPONENT_FP16;
    return CC_EXPONENT_FP32;
}

size_t cc_exponent_put_half(const struct cc_exponent_form *f, struct cc_elements x, size_t n,
                            bool large, struct cc_exponent_room *room, uint8_t *out)
{
    const enum cc_exponent_type type = known_type(f->type, x, n);
    const unsigned infinite = type == CC_EXPONENT_FP16 ? 31 : 255;
    const struct values v = {.words = x.at, .n = n, .large = large};
    struct cc_exponents_seen seen;
    const size_t bytes =
        type == CC_EXPONENT_FP32 ? 0 : put_coded(f, type, &v, room, out + 1, &seen);
    if (bytes > 0 && seen.most < infinite && seen.zeros * 16 <= n) {
        out[0] = (uint8_t)((unsigned)type | (unsigned)f->coder << 2);
        return 1 + bytes;
    }
    cc_widen(x, n, room->wide);
    return cc_exponent_put_block(f, room->wide, n, false, room, out);
}

/* --- decoding --- */

/* A block's parts, of which all lie in the payload. */
struct parts {
    enum cc_exponent_type type;
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
    const unsigned kind = (unsigned)cc_once(payload[at]), type = kind & 3, coder = kind >> 2 & 3;
    if (type > CC_EXPONENT_FP16 || coder > CC_EXPONENT_WINDOW || kind >= 2 * MASKED)
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
    if (len - head != width_of(type) * p->n)
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

static const struct k_stream *half_of(enum cc_exponent_type type)
{
    return type == CC_EXPONENT_BF16 ? &k_half()->bf16 : &k_half()->fp16;
}

/* Sets y to the words, or adds scale times them. */
static void give_raw(const struct parts *p, const float *scale, float *y)
{
    if (scale != NULL)
        (p->type == CC_EXPONENT_FP32 ? k_stream() : half_of(p->type))->add(p->low, *scale, y, p->n);
    else if (p->type == CC_EXPONENT_FP32)
        memcpy(y, p->low, p->n * sizeof *y);
    else
        half_of(p->type)->load(p->low, y, p->n);
}

/* next: what is decoded then, to be prefetched, if the tensor is large. */
static void give_coded(const struct parts *p, const uint8_t *next, const float *scale,
                       struct cc_exponent_room *room, float *y)
{
    const uint8_t *twos = p->low + p->n, *ones = twos + cc_exponent_bytes2(p->n);
    const bool nontemporal = next != NULL && p->mask == NULL;
    if (p->type == CC_EXPONENT_FP32) {
        k_words()->join32(p->low, room->exponent, p->n, next, scale, nontemporal, y);
    } else if (p->type == CC_EXPONENT_BF16) {
        k_words()->join_bf16(p->low, room->exponent, p->n, next, scale, nontemporal, y);
    } else {
        k_words()->uncut(room->exponent, twos, ones, p->n, room->high);
        k_words()->join16(p->low, room->high, p->n, room->words);
        if (scale == NULL)
            k_half()->fp16.load((const uint8_t *)room->words, y, p->n);
        else
            k_half()->fp16.add((const uint8_t *)room->words, *scale, y, p->n);
    }
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
        give_raw(&p, factor, to);
    else
        give_coded(&p, large ? payload + at + len : NULL, factor, room, to);
    if (p.mask == NULL)
        return CC_OK;
    const uint8_t *values = (const uint8_t *)room->values;
    const size_t set = scale == NULL ? k_expand()->expand(p.mask, n, values, p.n, false, y)
                                     : k_expand()->expand_add(p.mask, n, values, p.n, *scale, y);
    return set == p.n ? CC_OK : cc_changed_payload(e);
}
