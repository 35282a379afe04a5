#include "schemes/places.h"

#include "core/memory.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/scheme.h"

#define FIXED 12

const char *const cc_places_names[] = {"u12", "rice", NULL};

/* The low bits of a Rice code: the largest b with 2^b count <= 11/16 limit. The mean distance times
 * the logarithm of 2, which 11/16 is near, is where a bit more in all codes equals what it saves.
 */
static unsigned low_bits(size_t count, size_t limit)
{
    unsigned b = 0;
    while ((count << (b + 1)) * 16 <= 11 * limit)
        b++;
    return b;
}

unsigned cc_places_least(enum cc_places code, size_t count, size_t limit)
{
    return code == CC_PLACES_U12 ? FIXED : 1 + low_bits(count, limit);
}

/* All distances together are less than the limit, and so are their upper bits. */
size_t cc_places_bound(enum cc_places code, size_t count, size_t limit)
{
    if (code == CC_PLACES_U12)
        return cc_bit_bytes(FIXED * count);
    const unsigned b = low_bits(count, limit);
    return cc_bit_bytes(count * (1 + b) + ((limit - count) >> b));
}

/* --- bits, the least significant one first --- */

struct writer {
    uint8_t *at;
    uint64_t buffer;
    unsigned used;
};

static void put_bits(struct writer *w, uint32_t bits, unsigned count)
{
    w->buffer |= (uint64_t)bits << w->used;
    for (w->used += count; w->used >= 8; w->used -= 8, w->buffer >>= 8)
        *w->at++ = (uint8_t)w->buffer;
}

static void put_rice(struct writer *w, size_t distance, unsigned b)
{
    size_t ones = distance >> b;
    for (; ones >= 16; ones -= 16)
        put_bits(w, 0xffff, 16);
    put_bits(w, (1u << ones) - 1, (unsigned)ones + 1);
    put_bits(w, (uint32_t)(distance & ((1u << b) - 1)), b);
}

size_t cc_places_put(enum cc_places code, const uint16_t *place, size_t count, size_t limit,
                     uint8_t *out)
{
    struct writer w = {.at = out};
    const unsigned b = low_bits(count, limit);
    size_t next = 0;
    for (size_t j = 0; j < count; next = place[j++] + (size_t)1) {
        if (code == CC_PLACES_U12)
            put_bits(&w, place[j], FIXED);
        else
            put_rice(&w, place[j] - next, b);
    }
    if (w.used > 0)
        *w.at++ = (uint8_t)w.buffer;
    return (size_t)(w.at - out);
}

struct reader {
    const uint8_t *in;
    size_t len, at; /* the next byte */
    uint64_t buffer;
    unsigned have;
};

/* Up to 56 bits or the end. */
static void fill(struct reader *r)
{
    for (; r->have <= 48 && r->at < r->len; r->have += 8)
        r->buffer |= (uint64_t)r->in[r->at++] << r->have;
}

/* False at the end of the input. */
static bool get_bits(struct reader *r, unsigned count, size_t *bits)
{
    fill(r);
    if (r->have < count)
        return false;
    *bits = (size_t)(r->buffer & ((UINT64_C(1) << count) - 1));
    r->buffer >>= count;
    r->have -= count;
    return true;
}

/* A run of ones and the zero after it; false at the end of the input, or if it is longer than
 * `most`. */
static bool get_ones(struct reader *r, size_t most, size_t *ones)
{
    *ones = 0;
    for (;;) {
        fill(r);
        const unsigned run = (unsigned)__builtin_ctzll(~r->buffer); /* no more than r->have */
        *ones += run;
        if (*ones > most || r->have == 0)
            return false;
        const bool ends = run < r->have;
        r->buffer >>= run + ends;
        r->have -= run + ends;
        if (ends)
            return true;
    }
}

static bool get_rice(struct reader *r, unsigned b, size_t limit, size_t *distance)
{
    size_t ones, low = 0;
    if (!get_ones(r, limit >> b, &ones) || !get_bits(r, b, &low))
        return false;
    *distance = (ones << b) + low;
    return true;
}

size_t cc_places_read(enum cc_places code, const uint8_t *in, size_t at, size_t len, size_t count,
                      size_t limit, uint16_t *place, struct cc_error *e)
{
    struct reader r = {.in = in, .len = len, .at = at};
    const unsigned b = low_bits(count, limit);
    size_t next = 0, end = at;
    for (size_t j = 0; j < count; j++) {
        size_t v = 0;
        const bool good =
            code == CC_PLACES_U12 ? get_bits(&r, FIXED, &v) : get_rice(&r, b, limit, &v);
        if (good && code == CC_PLACES_RICE)
            v += next;
        end = r.at - r.have / 8;
        if (!good || v < next || v >= limit) {
            (void)cc_bad_payload(end > at ? end - 1 : at, e,
                                 "the places of a chunk of %zu values end too soon, do not ascend, "
                                 "or lie beyond it",
                                 limit);
            return 0;
        }
        place[j] = (uint16_t)v;
        next = v + 1;
    }
    return end;
}
