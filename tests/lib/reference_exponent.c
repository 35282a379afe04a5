/* exponent: value by value, with a list of codes for each stage. */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8192, GROUP = 128, STAGES = 5 };
enum type { FP32, BF16, FP16, E4M3, E5M2, TYPES };

static const unsigned widths[] = {32, 16, 16, 8, 8}, exponents[] = {8, 8, 5, 4, 5};
enum coder { RAW, CASCADE, WINDOW };

static const int order[13] = {1, 0, -1, 2, -2, -3, -4, 3, -5, -6, -7, 4, -8};

static unsigned rank_of(unsigned e, unsigned base)
{
    for (unsigned r = 0; r < 13; r++)
        if (((base + (unsigned)order[r]) & 255) == e)
            return r;
    return 13;
}

/* --- binary16 by its numbers --- */

static double half_number(unsigned code)
{
    const unsigned e = code >> 10 & 31, m = code & 1023;
    double v = e == 0 ? m : 1024 + m;
    for (unsigned k = 1; k < e; k++)
        v *= 2;
    return v * 0x1p-24;
}

/* The binary16 of this number; false if there is none. */
static bool half_of(float x, unsigned *code)
{
    const bool minus = bits_of(x) >> 31;
    const double a = minus ? -(double)x : (double)x;
    unsigned low = 0, high = 0x7bff;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (half_number(middle) < a)
            low = middle + 1;
        else
            high = middle;
    }
    *code = low | (minus ? 0x8000u : 0u);
    return half_number(low) == a;
}

static float of_half(unsigned code)
{
    if ((code >> 10 & 31) == 31)
        return float_of((code & 0x8000u) << 16 | 0x7f800000u | (code & 1023) << 13);
    const float v = (float)half_number(code & 0x7fff);
    return code & 0x8000 ? -v : v;
}

/* --- floats of 8 bits by their numbers --- */

static float of_eight(enum type type, unsigned code)
{
    const int m = type == E4M3 ? 3 : 2, bias = type == E4M3 ? 7 : 15;
    const int mag = (int)(code & 127), e = mag >> m, f = mag & ((1 << m) - 1);
    const uint32_t sign = (code & 128u) << 24;
    if (mag >= (type == E4M3 ? 127 : 124))
        return float_of(sign | 0x7f800000u | (uint32_t)f << (23 - m));
    const float v = ldexpf((float)(e == 0 ? f : f + (1 << m)), (e == 0 ? 1 : e) - bias - m);
    return sign != 0 ? -v : v;
}

static bool eight_of(enum type type, float x, uint32_t *code)
{
    static uint32_t all[2][256];
    if (all[0][1] == 0)
        for (unsigned i = 0; i < 512; i++)
            all[i / 256][i % 256] = bits_of(of_eight(i < 256 ? E4M3 : E5M2, i % 256));
    for (*code = 0; *code < 256; ++*code)
        if (all[type == E5M2][*code] == bits_of(x))
            return true;
    return false;
}

/* --- words: of 32 bits, 16, or 8 --- */

static bool word_of(enum type type, float x, uint32_t *word)
{
    unsigned half = 0;
    *word = bits_of(x);
    if (type == FP32)
        return true;
    if (type == BF16) {
        *word = bits_of(x) >> 16;
        return (bits_of(x) & 0xffff) == 0;
    }
    if (type == E4M3 || type == E5M2)
        return eight_of(type, x, word);
    const bool is = half_of(x, &half);
    *word = half;
    return is;
}

static float of_word(enum type type, uint32_t w)
{
    if (type == E4M3 || type == E5M2)
        return of_eight(type, w);
    return type == FP32 ? float_of(w) : type == BF16 ? float_of(w << 16) : of_half(w);
}

float value_of_word(unsigned format, uint32_t word)
{
    return of_word((enum type)format, word);
}

static uint32_t rotate(enum type type, uint32_t w, bool left)
{
    const unsigned bits = widths[type];
    if (left)
        w = w << 1 | w >> (bits - 1);
    else
        w = w >> 1 | w << (bits - 1);
    return bits == 32 ? w : w & ((1u << bits) - 1);
}

/* --- planes --- */

static size_t plane_bytes(size_t count, unsigned w)
{
    const size_t s = 8 * w;
    return count / 64 * s + smaller(count % 64, s);
}

static void put_plane(struct ref_out *out, const unsigned *code, size_t count, unsigned w)
{
    const size_t s = 8 * w, bytes = plane_bytes(count, w);
    uint8_t *byte = ref_room(bytes + 1, 1);
    for (size_t i = 0; i < count; i++) {
        const size_t in = i % 64;
        byte[i / 64 * s + in % s] |= (uint8_t)(code[i] << w * (unsigned)(in / s));
    }
    put_bytes(out, byte, bytes);
    free(byte);
}

static void get_plane(struct ref_in *in, unsigned *code, size_t count, unsigned w)
{
    const size_t s = 8 * w, bytes = plane_bytes(count, w);
    uint8_t *byte = ref_room(bytes + 1, 1);
    for (size_t i = 0; i < bytes; i++)
        byte[i] = (uint8_t)get_u8(in);
    for (size_t i = 0; i < count; i++) {
        const size_t at = i % 64;
        code[i] = (unsigned)byte[i / 64 * s + at % s] >> w * (unsigned)(at / s) & ((1u << w) - 1);
    }
    free(byte);
}

/* A bit array is a plane of one bit, but in the order of the bits. */
static void put_bits(struct ref_out *out, const unsigned *bit, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        unsigned byte = 0;
        for (size_t k = i; k < i + 8 && k < count; k++)
            byte |= bit[k] << (k - i);
        put_u8(out, byte);
    }
}

static void get_bits(struct ref_in *in, unsigned *bit, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        const unsigned byte = get_u8(in);
        for (size_t k = i; k < i + 8 && k < count; k++)
            bit[k] = byte >> (k - i) & 1;
    }
}

/* --- a block's coded words --- */

struct coded {
    unsigned e[BLOCK], code[BLOCK], rank[BLOCK];
    uint32_t rest[BLOCK], word[BLOCK];
    unsigned base[BLOCK / GROUP];
};

/* Where the planes of rests begin: those below have bytes of their own. */
static unsigned planes_at(enum type type)
{
    return (widths[type] - exponents[type]) / 8 * 8;
}

static void put_rests(struct ref_out *out, enum type type, struct coded *b, size_t c)
{
    const unsigned at = planes_at(type), all = widths[type] - exponents[type];
    for (size_t i = 0; i < c; i++)
        for (unsigned k = 0; k < at; k += 8)
            put_u8(out, b->rest[i] >> k & 255);
    if (all == at)
        return;
    for (size_t i = 0; i < c; i++)
        b->code[i] = b->rest[i] >> at & (type == E4M3 ? 15 : 3);
    put_plane(out, b->code, c, type == E4M3 ? 4 : 2);
    if (type == E4M3)
        return;
    for (size_t i = 0; i < c; i++)
        b->code[i] = b->rest[i] >> (at + 2) & 1;
    put_bits(out, b->code, c);
}

static void get_rests(struct ref_in *in, enum type type, struct coded *b, size_t c)
{
    const unsigned at = planes_at(type), all = widths[type] - exponents[type];
    for (size_t i = 0; i < c; i++) {
        b->rest[i] = 0;
        for (unsigned k = 0; k < at; k += 8)
            b->rest[i] |= get_u8(in) << k;
    }
    if (all == at)
        return;
    get_plane(in, b->code, c, type == E4M3 ? 4 : 2);
    for (size_t i = 0; i < c; i++)
        b->rest[i] |= b->code[i] << at;
    if (type == E4M3)
        return;
    get_bits(in, b->code, c);
    for (size_t i = 0; i < c; i++)
        b->rest[i] |= b->code[i] << (at + 2);
}

static void find_bases(struct coded *b, size_t c)
{
    for (size_t g = 0; g < c; g += GROUP) {
        unsigned sum = 0, count = 0;
        for (size_t i = g; i < g + GROUP && i < c; i++) {
            sum += b->e[i];
            count += b->e[i] != 0;
        }
        b->base[g / GROUP] = count == 0 ? 0 : (2 * sum + count) / (2 * count);
    }
}

/* The codes of a stage; returns how many there are. */
static size_t stage_codes(struct coded *b, size_t c, unsigned s)
{
    size_t count = 0;
    for (size_t i = 0; i < c; i++)
        if (b->rank[i] >= 3 * (s - 1)) {
            const unsigned r = b->rank[i] - 3 * (s - 1);
            b->code[count++] = r < 3 ? r : 3;
        }
    return count;
}

/* Counts, rests, bases, codes, escapes, of b->word. */
static void put_coded(struct ref_out *out, enum type type, enum coder coder, struct coded *b,
                      size_t c)
{
    const unsigned low = widths[type] - exponents[type];
    for (size_t i = 0; i < c; i++) {
        const uint32_t w = rotate(type, b->word[i], true);
        b->e[i] = w >> low;
        b->rest[i] = w & ((1u << low) - 1);
    }
    find_bases(b, c);
    size_t escaped = 0;
    for (size_t i = 0; i < c; i++) {
        const unsigned base = b->base[i / GROUP], place = (b->e[i] - base + 10) & 255;
        b->rank[i] = coder == CASCADE ? rank_of(b->e[i], base) : place < 15 ? place : 15;
        escaped += b->rank[i] == (coder == CASCADE ? 13 : 15);
    }
    for (unsigned s = 2; s <= STAGES && coder == CASCADE; s++)
        put_u16(out, (unsigned)stage_codes(b, c, s));
    put_u16(out, (unsigned)escaped);
    put_rests(out, type, b, c);
    for (size_t g = 0; g < c; g += GROUP)
        put_u8(out, b->base[g / GROUP]);
    for (unsigned s = 1; s < STAGES && coder == CASCADE; s++) {
        const size_t count = stage_codes(b, c, s);
        put_plane(out, b->code, count, 2);
    }
    if (coder == CASCADE) {
        const size_t count = stage_codes(b, c, STAGES);
        put_bits(out, b->code, count);
    } else {
        put_plane(out, b->rank, c, 4);
    }
    for (size_t i = 0; i < c; i++)
        if (b->rank[i] == (coder == CASCADE ? 13 : 15))
            put_u8(out, b->e[i]);
}

/* Stage by stage: the values that are not final yet are those of rank 3 s. False if the counts are
 * others. */
static bool get_stages(struct ref_in *in, struct coded *b, size_t c, const size_t *count)
{
    memset(b->rank, 0, sizeof b->rank);
    for (unsigned s = 1; s <= STAGES; s++) {
        size_t at = 0, passed = 0;
        if (s < STAGES)
            get_plane(in, b->code, count[s - 1], 2);
        else
            get_bits(in, b->code, count[s - 1]);
        for (size_t i = 0; i < c; i++)
            if (b->rank[i] == 3 * (s - 1)) {
                b->rank[i] += b->code[at++];
                passed += b->rank[i] == (s < STAGES ? 3 * s : 13);
            }
        if (passed != count[s])
            return false;
    }
    return true;
}

static bool get_coded(struct ref_in *in, enum type type, enum coder coder, struct coded *b,
                      size_t c)
{
    const unsigned low = widths[type] - exponents[type];
    size_t count[STAGES + 1] = {c};
    const unsigned counts = coder == CASCADE ? STAGES : 1, last = coder == CASCADE ? 13 : 15;
    for (unsigned s = 1; s <= counts; s++) {
        count[s] = get_u16(in);
        if (count[s] > count[s - 1])
            return false;
    }
    get_rests(in, type, b, c);
    for (size_t g = 0; g < c; g += GROUP)
        b->base[g / GROUP] = get_u8(in);
    size_t escaped = 0;
    if (coder == CASCADE) {
        if (!get_stages(in, b, c, count))
            return false;
    } else {
        get_plane(in, b->rank, c, 4);
    }
    for (size_t i = 0; i < c; i++) {
        const unsigned r = b->rank[i], base = b->base[i / GROUP];
        unsigned e;
        if (r == last) {
            e = get_u8(in);
            escaped++;
        } else {
            e = coder == CASCADE ? base + (unsigned)order[r] : base + r - 10;
        }
        e &= (1u << exponents[type]) - 1;
        b->word[i] = rotate(type, e << low | b->rest[i], false);
    }
    return escaped == count[counts];
}

/* --- blocks --- */

static void put_words(struct ref_out *out, enum type type, const struct coded *b, size_t c)
{
    for (size_t i = 0; i < c; i++)
        for (unsigned k = 0; k < widths[type]; k += 8)
            put_u8(out, b->word[i] >> k & 255);
}

static enum type type_of(const struct cc_spec *s, const float *x, size_t m)
{
    static const enum type first[] = {E4M3, E5M2, BF16, FP16};
    static const char *const names[] = {"fp32", "bf16", "fp16", "e4m3", "e5m2"};
    for (size_t t = 0; t < sizeof first / sizeof first[0]; t++) {
        bool all = setting_is(s, "type", "auto") || setting_is(s, "type", names[first[t]]);
        uint32_t w;
        for (size_t i = 0; i < m && all; i++)
            all = word_of(first[t], x[i], &w);
        if (all)
            return first[t];
    }
    return FP32;
}

static void put_block(struct ref_out *out, const struct cc_spec *s, const float *x, size_t m)
{
    const enum type type = type_of(s, x, m);
    const enum coder coder = setting_is(s, "coder", "window") ? WINDOW : CASCADE;
    struct coded *b = ref_room(1, sizeof *b);
    struct ref_out coded = {.at = ref_room(64 * m + 64, 1), .capacity = 64 * m + 64};
    unsigned *mask = ref_room(m, sizeof *mask);
    float *kept = ref_room(m, sizeof *kept);
    size_t c = 0;
    for (size_t i = 0; i < m; i++) {
        mask[i] = bits_of(x[i]) != 0;
        c += mask[i];
    }
    const bool masked = (m - c) * (widths[type] == 8 ? 8 : 16) > m;
    c = 0;
    for (size_t i = 0; i < m; i++)
        if (mask[i] || !masked)
            (void)word_of(type, x[i], &b->word[c++]);
    put_coded(&coded, type, coder, b, c);
    const bool raw = coded.len >= c * widths[type] / 8;
    put_u8(out, (type & 3u) | (raw ? RAW : (unsigned)coder) << 2 | (masked ? 16 : 0) |
                    (type > 3 ? 32 : 0));
    if (masked)
        put_bits(out, mask, m);
    if (raw)
        put_words(out, type, b, c);
    else
        put_bytes(out, coded.at, coded.len);
    free(b);
    free(coded.at);
    free(mask);
    free(kept);
}

static bool get_block(struct ref_in *in, size_t m, float *y)
{
    const unsigned kind = get_u8(in);
    const enum type type = (enum type)((kind & 3) + (kind & 32) / 8);
    const enum coder coder = (enum coder)(kind >> 2 & 3);
    if (type >= TYPES || coder > WINDOW || kind > 63)
        return false;
    struct coded *b = ref_room(1, sizeof *b);
    unsigned *mask = ref_room(m, sizeof *mask);
    size_t c = m, at = 0;
    bool good = true;
    for (size_t i = 0; i < m; i++)
        mask[i] = 1;
    if (kind & 16) {
        get_bits(in, mask, m);
        c = 0;
        for (size_t i = 0; i < m; i++)
            c += mask[i];
    }
    if (coder == RAW)
        for (size_t i = 0; i < c; i++)
            b->word[i] = widths[type] == 32   ? get_u32(in)
                         : widths[type] == 16 ? get_u16(in)
                                              : get_u8(in);
    else
        good = get_coded(in, type, coder, b, c);
    for (size_t i = 0; i < m; i++)
        y[i] = mask[i] ? of_word(type, b->word[at++]) : 0;
    free(b);
    free(mask);
    return good && get_end(in);
}

static void exponent_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                            struct ref_out *out)
{
    const size_t n = r->shape.n;
    struct ref_out sizes = {.at = ref_room(n + 64, 4), .capacity = 4 * (n + 64)};
    struct ref_out blocks = {.at = ref_room(n + 64, 8), .capacity = 8 * (n + 64)};
    (void)ctx;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t before = blocks.len;
        put_block(&blocks, r->spec, x + i, smaller(BLOCK, n - i));
        if (n - i > BLOCK)
            put_u32(&sizes, (uint32_t)(blocks.len - before));
    }
    if (sizes.len + blocks.len < 4 * n) {
        put_bytes(out, sizes.at, sizes.len);
        put_bytes(out, blocks.at, blocks.len);
    } else {
        for (size_t i = 0; i < n; i++)
            put_f32(out, x[i]);
    }
    free(sizes.at);
    free(blocks.at);
}

static bool exponent_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                            float *y)
{
    const size_t n = r->shape.n, blocks = (n + BLOCK - 1) / BLOCK;
    (void)ctx;
    if (in->len == 4 * n) {
        for (size_t i = 0; i < n; i++)
            y[i] = get_f32(in);
        return get_end(in);
    }
    if (in->len < 4 * (blocks - 1))
        return false;
    size_t at = 4 * (blocks - 1);
    for (size_t b = 0; b < blocks; b++) {
        size_t size = in->len - at;
        if (b + 1 < blocks)
            size = get_u32(in);
        if (size > in->len - at)
            return false;
        struct ref_in block = {.at = in->at + at, .len = size};
        if (!get_block(&block, smaller(BLOCK, n - b * BLOCK), y + b * BLOCK))
            return false;
        at += size;
    }
    return true;
}

const struct ref_row ref_rows_exponent[] = {
    {.id = "exponent", .encode = exponent_encode, .decode = exponent_decode},
    {.id = NULL},
};
