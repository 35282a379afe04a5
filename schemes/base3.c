/* Base-3^5 and zero-run encoding (3LC, sections 3.2 and 3.3), encoded and decoded by several
 * threads.
 *
 * Five trits -1, 0, 1 become the digits 0, 1, 2 of one byte of at most 242. The tensor of n values
 * is cut into five planes of L = ceil(n/5) values, and byte j takes the values p L + j, p = 0 .. 4,
 * so that whole vectors of consecutive values are packed at once. The tail of the last plane is
 * padded with digit 1 (zero). A byte of five zeros is 121; with zero-run encoding, k = 2
 * .. 14 such bytes in a row become the single byte 243 + k - 2.
 *
 * Both directions work on tiles of some hundred bytes, and on the five planes' values of a tile in
 * turn. Planes begin anywhere in a line of the cache, but a plane's part of a tile begins and ends
 * with a line: it lies up to a line before the tile, so that the last bytes of a tile are complete
 * only with the next one. (Stores across lines would halve the speed out of cache.)
 *
 * Threads take ranges of bytes. Encoding with zero-run encoding, they write each range where
 * it would lie if nothing were shortened; join_parts then moves the ranges together. The parallel
 * version that 3LC sketches joins two runs at a border only if one code holds both; here the
 * payload does not depend on the number of threads, so a range leaves out its leading zero bytes,
 * reports how many there are and how much of its last run is not written yet, and join_parts writes
 * the runs that cross borders.
 *
 * Decoding reverses this. Without zero-run encoding each range's place is known. With it, a first
 * serial pass skips through the payload, counting bytes, to find where each range begins, possibly
 * in the middle of a run; then all ranges decode at once. A fault is reported by decoding the first
 * bad range again, so that the message is the same with any number of threads. */
#include "schemes/base3.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "core/bytes.h"
#include "core/cache.h"
#include "core/copy.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/kernels/base3.h"
#include "schemes/kernels/zerorun.h"
#include "schemes/scheme.h"

#define PLANES 5u

/* Bytes of a tile, at most. */
#define TILE 1024u

/* Bytes of a tile where residuals, or values that are added to, are larger than the cache. The
 * hardware of Zen 4 fetches ahead in all five planes only if they take short turns: with residuals,
 * 128 encode at 6.6 GB/s, 512 at 5.5; 256 add at 25 GB/s, 128 at 22, 512 at 18. Loops that only
 * read values, or only write them, are faster with long tiles. So are those with residuals on Zen
 * 5, where values are prefetched in any case (kernels/base3.k.c): they move 33 to 38 GB/s with
 * 1,024 bytes, whatever the planes' distance, and 25 to 45 with 128. */
#define TILE_UPDATE 128u
#define TILE_ADD    256u

/* Values, and so bytes, by which a plane's part of a tile begins before the tile, at most. */
#define LAG 16u
_Static_assert(TILE + LAG == CC_BASE3_MOST, "a plane's part of a tile");

/* Zero-run encoding takes multiples of this many bytes of a tile, as its vectors have. */
#define STEP 64u

/* Parts begin on multiples of this many bytes, so that two threads share no cache line of a plane
 * except at its ends. */
#define PART_MULTIPLE 64u

static size_t packed_bytes(size_t n)
{
    return n / PLANES + (n % PLANES != 0);
}

/* Values with a common scale. */
static size_t block_of(const void *params, size_t n)
{
    const struct cc_base3_params *p = params;
    return p->block == 0 || (uint64_t)p->block > n ? (n > 0 ? n : 1) : (size_t)p->block;
}

/* Bytes of the scales: at least one. */
static size_t head_bytes(size_t n, size_t block)
{
    return sizeof(float) * (n > 0 ? (n - 1) / block + 1 : 1);
}

size_t cc_base3_bound(const void *params, const struct cc_shape *shape)
{
    return head_bytes(shape->n, block_of(params, shape->n)) + packed_bytes(shape->n);
}

/* A block's scale is found just before it is needed. */
struct cc_traffic cc_base3_traffic(const void *params)
{
    return ((const struct cc_base3_params *)params)->block > 0 ? cc_ef_once(params)
                                                               : cc_ef_twice(params);
}

static int zero_runs(const struct cc_codec *c)
{
    const struct cc_base3_params *p = c->params;
    return p->zre != 0;
}

static bool beyond_cache(size_t values)
{
    return cc_use_nontemporal(values * sizeof(float));
}

/* A range of bytes, or of the values of a plane. */
struct range {
    size_t begin, end;
};

/* The bytes, of [tile->begin, tile->end) within a part, whose values of plane p are worked on with
 * the tile: as said above, and without padding. `values`: the first value of all planes. */
static struct range plane_range(uintptr_t values, size_t n, size_t total, size_t p,
                                const struct range *part, const struct range *tile)
{
    const size_t line = values / sizeof(float) + p * total;
    size_t present = n > p * total ? n - p * total : 0;
    struct range r = *tile;
    if (r.begin > part->begin)
        r.begin -= (line + r.begin) % LAG;
    if (r.end < part->end)
        r.end -= (line + r.end) % LAG;
    if (r.end > present)
        r.end = present;
    return r;
}

/* --- scales --- */

struct scaling {
    struct cc_elements x;
    const float *r; /* or NULL */
    const void *params;
    float (*from_most)(const void *params, float most);
    uint8_t *out;
    size_t n, block;
};

/* Scales of whole blocks; returns the largest magnitude's bits. */
static size_t scale_range(void *arg, size_t begin, size_t end)
{
    const struct scaling *s = arg;
    float room[CC_BASE3_MOST];
    uint32_t largest = 0;
    for (size_t at = begin; at < end; at += s->block) {
        const size_t to = s->n - at < s->block ? s->n : at + s->block;
        uint32_t most = 0;
        for (size_t i = at, m; i < to; i += m) {
            m = to - i < CC_BASE3_MOST ? to - i : CC_BASE3_MOST;
            const float *x = cc_elements_read(s->x, i, m, room);
            const uint32_t here = s->r != NULL
                                      ? k_reduce()->absmax_add[CC_ELEMENT_FP32](x, s->r + i, m)
                                      : k_reduce()->absmax(x, m);
            most = here > most ? here : most;
        }
        largest = most > largest ? most : largest;
        cc_put_f32(s->out + at / s->block * sizeof(float),
                   s->from_most(s->params, cc_bits_f32(most)));
    }
    return largest;
}

bool cc_base3_scales(const struct cc_codec *c, struct cc_elements x, const float *r,
                     float (*from_most)(const void *params, float most), uint8_t *out)
{
    const size_t n = c->shape.n, block = block_of(c->params, n);
    struct scaling s = {.x = x,
                        .r = r,
                        .params = c->params,
                        .from_most = from_most,
                        .out = out,
                        .n = n,
                        .block = block};
    if (block < n)
        return cc_finite_bits(cc_parallel_values(c->threads, n, block, scale_range, &s));
    const uint32_t most = cc_absmax_from(x, r, n, c->threads);
    cc_put_f32(out, from_most(c->params, cc_bits_f32(most)));
    return cc_finite_bits(most);
}

/* --- encoding --- */

/* Parts are ranges of bytes. A part reports how many leading zero bytes it left out, how many bytes
 * it wrote after the place of these, and how many zero bytes of its last run are still to be
 * written. */
struct encoder {
    cc_base3_quantize *quantize;
    void *arg;
    uintptr_t values; /* whose lines the tiles follow */
    const uint8_t *scales;
    uint8_t *out; /* after the scales */
    size_t n, block, total, tile;
    int zre, parts;
    struct {
        size_t lead, bytes;
        unsigned pending;
    } part[CC_PARTS_MAX];
};

/* Continues a run by `length` zero bytes: writes full codes, and keeps in *pending what they leave.
 */
static uint8_t *continue_run(uint8_t *w, unsigned *pending, size_t length)
{
    length += *pending;
    memset(w, CC_RUN_CODE + CC_RUN_MAX, length / CC_RUN_MAX);
    *pending = (unsigned)(length % CC_RUN_MAX);
    return w + length / CC_RUN_MAX;
}

/* Ends a run: writes what is pending. */
static uint8_t *end_run(uint8_t *w, unsigned *pending)
{
    if (*pending > 0)
        *w++ = (uint8_t)(*pending > 1 ? CC_RUN_CODE + *pending : CC_BYTE_ZERO);
    *pending = 0;
    return w;
}

/* Room for the bytes of a tile and those that the one before left, and for zero-run encoding. */
#define MOST_BYTES (TILE + LAG + STEP + CC_RUN_SLACK)

/* The output of a part with zero-run encoding. */
struct runs {
    uint8_t *w;
    bool leading;
    size_t lead;
    unsigned pending;
};

/* Encodes `count` bytes; one more is read. */
static void put_runs(struct runs *r, const uint8_t *bytes, size_t count)
{
    if (r->leading) {
        size_t zeros = k_base3()->zeros(bytes, count);
        r->lead += zeros;
        r->w += zeros;
        r->leading = zeros == count;
        bytes += zeros;
        count -= zeros;
    }
    uint8_t coded[MOST_BYTES];
    size_t length = k_zerorun()->encode(bytes, count, &r->pending, coded);
    memcpy(r->w, coded, length);
    r->w += length;
}

static size_t part_begin(const struct encoder *s, int part)
{
    return cc_part_begin(s->total, s->parts, part, PART_MULTIPLE);
}

/* Packs the tile's values to bytes, of which the first is that of byte `first` of all. */
static void pack(const struct encoder *s, const struct range *part, const struct range *tile,
                 uint8_t *bytes, size_t first)
{
    static const uint8_t weight[PLANES] = {81, 27, 9, 3, 1};
    memset(bytes + (tile->begin - first), CC_BYTE_ZERO, tile->end - tile->begin);
    for (size_t p = 0; p < PLANES; p++) {
        struct range r = plane_range(s->values, s->n, s->total, p, part, tile);
        for (size_t i = r.begin, count; i < r.end; i += count) {
            const size_t at = p * s->total + i, left = s->block - at % s->block;
            count = r.end - i < left ? r.end - i : left;
            s->quantize(s->arg, at, count, cc_get_f32(s->scales + at / s->block * sizeof(float)),
                        weight[p], bytes + (i - first));
        }
    }
}

static void encode_part(void *arg, int number)
{
    struct encoder *s = arg;
    alignas(CC_ALIGN) uint8_t bytes[MOST_BYTES];
    const struct range part = {part_begin(s, number), part_begin(s, number + 1)};
    struct runs runs = {.w = s->out + part.begin, .leading = true};
    size_t done = part.begin; /* bytes that are in the output; the next one is bytes[0] */
    for (struct range tile = part; tile.begin < part.end; tile.begin = tile.end) {
        const bool last = part.end - tile.begin <= s->tile;
        tile.end = last ? part.end : tile.begin + s->tile;
        pack(s, &part, &tile, bytes, done);
        /* One byte more is read; a run at the end of a part counts as unfinished. */
        size_t count = tile.end - done;
        if (last)
            bytes[count] = CC_BYTE_ZERO;
        else
            count = (count - LAG) / STEP * STEP;
        if (s->zre)
            put_runs(&runs, bytes, count);
        else
            memcpy(s->out + done, bytes, count);
        done += count;
        memmove(bytes, bytes + count, tile.end - done);
    }
    s->part[number].lead = runs.lead;
    s->part[number].bytes = (size_t)(runs.w - s->out) - part.begin - runs.lead;
    s->part[number].pending = runs.pending;
}

/* Moves the parts together and writes the runs that cross borders; returns the length. */
static size_t join_parts(const struct encoder *s)
{
    uint8_t *w = s->out;
    unsigned pending = 0;
    for (int p = 0; p < s->parts; p++) {
        size_t begin = part_begin(s, p), lead = s->part[p].lead;
        w = continue_run(w, &pending, lead);
        if (begin + lead == part_begin(s, p + 1))
            continue;
        w = end_run(w, &pending);
        memmove(w, s->out + begin + lead, s->part[p].bytes);
        w += s->part[p].bytes;
        pending = s->part[p].pending;
    }
    return (size_t)(end_run(w, &pending) - s->out);
}

size_t cc_base3_encode(const struct cc_codec *c, cc_base3_quantize *quantize, void *arg,
                       struct cc_elements x, const float *r, uint8_t *out)
{
    const size_t n = c->shape.n, block = block_of(c->params, n), head = head_bytes(n, block);
    struct encoder s = {.quantize = quantize,
                        .arg = arg,
                        .values = (uintptr_t)(r != NULL ? r : x.at),
                        .scales = out,
                        .out = out + head,
                        .n = n,
                        .block = block,
                        .total = packed_bytes(n),
                        .tile = r != NULL && !cc_pages_ahead && beyond_cache(2 * n) ? TILE_UPDATE
                                                                                    : TILE,
                        .zre = zero_runs(c),
                        .parts = cc_parts(c->threads, n, CC_PART_VALUES)};
    cc_parallel(s.parts, encode_part, &s);
    return head + (s.zre ? join_parts(&s) : s.total);
}

/* --- decoding --- */

/* Where a part of the bytes begins in the payload. */
struct start {
    size_t at;
    size_t left; /* zero bytes that remain of a run before `at` */
};

struct decoder {
    const uint8_t *in; /* the whole payload */
    size_t len;
    int zre;
    size_t n, block, head, total, tile;
    const float *scale;
    float *y;
    bool add, nontemporal;
    int parts;
    struct start start[CC_PARTS_MAX];
    int status[CC_PARTS_MAX];
};

/* Bytes of the unshortened sequence and their digits, of which those of the previous tile's end
 * come first. */
struct tile {
    alignas(CC_ALIGN) uint8_t digits[CC_DIGIT_ARRAYS][CC_ALIGN + TILE + CC_ALIGN];
    uint8_t bytes[TILE + 2 * CC_RUN_SLACK]; /* with zero-run encoding: bytes, ahead of the digits */
    size_t ahead;
};

/* Reads the digits of the next `count` bytes. */
static int next_digits(const struct decoder *s, size_t *at, size_t count, struct tile *t,
                       struct cc_error *e)
{
    uint8_t *digits[CC_DIGIT_ARRAYS];
    for (size_t k = 0; k < CC_DIGIT_ARRAYS; k++)
        digits[k] = t->digits[k] + CC_ALIGN;
    if (!s->zre) {
        const uint8_t *in = s->in + *at;
        if (k_base3()->split(in, digits, count) > CC_BYTE_MAX) {
            for (size_t k = 0; k < count; k++)
                if (in[k] > CC_BYTE_MAX)
                    return cc_bad_payload(*at + k, e, "%u is not five trits (at most %u)", in[k],
                                          CC_BYTE_MAX);
            return cc_changed_payload(e);
        }
        *at += count;
        return CC_OK;
    }
    if (t->ahead < count) {
        memset(t->bytes + t->ahead, CC_BYTE_ZERO, count - t->ahead + CC_RUN_GROUP * CC_RUN_MAX);
        t->ahead += k_zerorun()->decode(s->in, s->len, at, t->bytes + t->ahead, count - t->ahead);
    }
    if (t->ahead < count)
        return cc_bad_payload(s->len, e, "the payload ends before the last trit");
    (void)k_base3()->split(t->bytes, digits, count);
    t->ahead -= count;
    memmove(t->bytes, t->bytes + count, t->ahead);
    return CC_OK;
}

/* The values of a block by digit. */
static void values_of(const struct decoder *s, size_t block, float value[3])
{
    const float m = cc_get_f32(s->in + block * sizeof(float));
    for (int d = 0; d < 3; d++)
        value[d] = s->scale != NULL ? *s->scale * (m * (float)(d - 1)) : m * (float)(d - 1);
}

/* Writes, or adds to, the values of a tile. */
static void put_values(const struct decoder *s, const struct range *part, const struct range *tile,
                       const struct tile *t)
{
    for (size_t p = 0; p < PLANES; p++) {
        struct range r = plane_range((uintptr_t)s->y, s->n, s->total, p, part, tile);
        if (r.begin >= r.end)
            continue;
        for (size_t i = r.begin, count; i < r.end; i += count) {
            const size_t at = p * s->total + i, left = s->block - at % s->block;
            const uint8_t *digits = t->digits[CC_DIGIT_ARRAY(p)] + (CC_ALIGN + i - tile->begin);
            float value[3];
            count = r.end - i < left ? r.end - i : left;
            values_of(s, at / s->block, value);
            if (s->add)
                k_base3()->add(digits, CC_DIGIT_SHIFT(p), value, s->y + at, count);
            else
                k_base3()->set(digits, CC_DIGIT_SHIFT(p), value, s->y + at, count, s->nontemporal);
        }
    }
}

/* The fault of a payload with zero-run encoding that does not end with its last part, which has
 * `count` bytes. */
static int check_end(const struct decoder *s, struct start from, size_t count, struct cc_error *e)
{
    /* Counted again, as decoding may have read beyond. */
    size_t got = from.left;
    if (got < count)
        got += k_zerorun()->skip(s->in, s->len, &from.at, count - got);
    if (got > count)
        return cc_bad_payload(from.at - 1, e, "the run extends beyond the last trit");
    if (from.at < s->len)
        return cc_bad_payload(from.at, e, "the payload continues after the last trit");
    return cc_changed_payload(e);
}

static int decode_range(const struct decoder *s, int number, struct start from, struct cc_error *e)
{
    struct tile t;
    const struct range part = {cc_part_begin(s->total, s->parts, number, PART_MULTIPLE),
                               cc_part_begin(s->total, s->parts, number + 1, PART_MULTIPLE)};
    size_t at = from.at;
    t.ahead = from.left;
    memset(t.bytes, CC_BYTE_ZERO, t.ahead);
    for (struct range tile = part; tile.begin < part.end; tile.begin = tile.end) {
        tile.end = part.end - tile.begin <= s->tile ? part.end : tile.begin + s->tile;
        CC_TRY(next_digits(s, &at, tile.end - tile.begin, &t, e));
        put_values(s, &part, &tile, &t);
        for (size_t k = 0; k < CC_DIGIT_ARRAYS && tile.end < part.end; k++)
            memcpy(t.digits[k] + CC_ALIGN - LAG, t.digits[k] + CC_ALIGN + s->tile - LAG, LAG);
    }
    if (s->nontemporal)
        k_copy()->fence();
    if (part.end < s->total || (t.ahead == 0 && at == s->len))
        return CC_OK;
    return check_end(s, from, part.end - part.begin, e);
}

static void decode_part(void *arg, int part)
{
    struct decoder *s = arg;
    struct cc_error ignored;
    s->status[part] = decode_range(s, part, s->start[part], &ignored);
}

/* Finds where each part begins: computed without zero-run encoding, counted with it. */
static int find_starts(struct decoder *s, struct cc_error *e)
{
    struct start from = {.at = s->head};
    for (int p = 0; p < s->parts; p++) {
        size_t begin = cc_part_begin(s->total, s->parts, p, PART_MULTIPLE);
        size_t end = cc_part_begin(s->total, s->parts, p + 1, PART_MULTIPLE);
        s->start[p] = s->zre ? from : (struct start){.at = s->head + begin};
        if (!s->zre || p + 1 == s->parts)
            continue;
        size_t got = from.left;
        if (got < end - begin)
            got += k_zerorun()->skip(s->in, s->len, &from.at, end - begin - got);
        if (got < end - begin)
            return cc_bad_payload(s->len, e, "the payload ends before the last trit");
        from.left = got - (end - begin);
    }
    return CC_OK;
}

/* Checks the length and the scales. */
static int check_head(const struct decoder *s, struct cc_error *e)
{
    if (s->zre && s->len < s->head)
        return cc_bad_payload(s->len, e, "the payload ends within its scale%s",
                              s->head > sizeof(float) ? "s" : "");
    if (!s->zre && s->len != s->head + s->total)
        return cc_bad_length(s->len, s->head + s->total, e);
    for (size_t at = 0; at < s->head; at += sizeof(float)) {
        const float m = cc_get_f32(s->in + at);
        if (!cc_finite(m) || m < 0)
            return cc_bad_payload(at, e, "the scale is %g", (double)m);
    }
    return CC_OK;
}

int cc_base3_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const size_t n = c->shape.n;
    struct decoder s = {
        .in = in, .len = len, .n = n, .zre = zero_runs(c), .y = y, .add = scale != NULL};
    s.scale = scale;
    s.block = block_of(c->params, n);
    s.head = head_bytes(n, s.block);
    s.total = packed_bytes(n);
    CC_TRY(check_head(&s, e));
    s.nontemporal = !s.add && cc_use_nontemporal(n * sizeof(float));
    s.tile = s.add && beyond_cache(n) ? TILE_ADD : TILE;
    s.parts = cc_parts(c->threads, n, CC_PART_VALUES);
    CC_TRY(find_starts(&s, e));
    cc_parallel(s.parts, decode_part, &s);
    /* The first part that failed is decoded again for its message. */
    for (int p = 0; p < s.parts; p++)
        if (s.status[p] != CC_OK)
            return decode_range(&s, p, s.start[p], e);
    return CC_OK;
}
