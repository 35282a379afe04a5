/* Base-3^5 and zero-run encoding (3LC, sections 3.2 and 3.3), encoded and decoded by several
 * threads.
 *
 * Five trits -1, 0, 1 become the digits 0, 1, 2 of one byte of at most 242. The tensor of n values
 * is cut into five planes of L = ceil(n/5) values, and byte j takes the values p L + j, p = 0 .. 4,
 * so that whole vectors of consecutive values are packed at once. The tail of the last plane is
 * padded with digit 1 (zero). A byte of five zeros is 121; with zero-run encoding, k = 2
 * .. 14 such bytes in a row become the single byte 243 + k - 2.
 *
 * Encoding works on blocks of 32 KiB of bytes: the scheme quantizes each plane's part of the block,
 * then the runs of the block are shortened. Threads take ranges of bytes and write each range where
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
#include "schemes/kernels/base3.h"
#include "schemes/kernels/zerorun.h"
#include "schemes/scheme.h"

#define PLANES 5u
#define HEADER sizeof(float)

/* Bytes worked on at a time; they stay in the second-level cache while five planes pass. Long
 * ranges of each plane matter more for tensors out of cache: 32,768 was twice as fast as 512 and as
 * fast as 1,048,576. In the cache all were alike. */
#define BLOCK 32768u

/* Parts begin on multiples of this many bytes, so that two threads share no cache line of a plane
 * except at its ends. */
#define PART_MULTIPLE 64u

static size_t packed_bytes(size_t n)
{
    return n / PLANES + (n % PLANES != 0);
}

size_t cc_base3_bound(size_t n)
{
    return HEADER + packed_bytes(n);
}

/* How many of the values first .. first + count - 1 exist; the others are padding. */
static size_t present(size_t first, size_t count, size_t n)
{
    size_t left = n > first ? n - first : 0;
    return left < count ? left : count;
}

/* The distance from a block's values in plane p to those that follow: in the next plane, or in the
 * first plane of the next block. */
static ptrdiff_t next_plane(size_t p, size_t total, size_t count)
{
    return p + 1 < PLANES ? (ptrdiff_t)total : (ptrdiff_t)count - (ptrdiff_t)((PLANES - 1) * total);
}

/* Packs bytes j .. j + count - 1 of the `total` bytes of n values. */
static void pack(cc_base3_quantize *quantize, void *arg, size_t n, size_t total, size_t j,
                 size_t count, uint8_t *bytes)
{
    memset(bytes, 0, count);
    for (size_t p = 0; p < PLANES; p++) {
        size_t i = p * total + j, here = present(i, count, n);
        if (here > 0)
            quantize(arg, i, here, next_plane(p, total, count), bytes);
        for (size_t k = here; k < count; k++)
            bytes[k] = (uint8_t)(3 * bytes[k] + CC_DIGIT_ZERO);
    }
}

/* --- encoding --- */

/* Parts are ranges of bytes. A part reports how many leading zero bytes it left out, how many bytes
 * it wrote after the place of these, and how many zero bytes of its last run are still to be
 * written. */
struct encoder {
    cc_base3_quantize *quantize;
    void *arg;
    uint8_t *out; /* after the scale */
    size_t n, total;
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

/* encode_part with zero-run encoding. */
static void encode_runs(struct encoder *s, int part, size_t begin, size_t end)
{
    alignas(CC_ALIGN) uint8_t block[BLOCK + 1];
    uint8_t *w = s->out + begin;
    bool leading = true;
    size_t lead = 0;
    unsigned pending = 0;
    for (size_t j = begin, count; j < end; j += count) {
        count = end - j < BLOCK ? end - j : BLOCK;
        pack(s->quantize, s->arg, s->n, s->total, j, count, block);
        /* A run at the end of the block counts as unfinished until the next block. */
        block[count] = CC_BYTE_ZERO;
        size_t zeros = k_base3()->zeros(block, count);
        if (leading) {
            lead += zeros;
            w += zeros;
        } else {
            w = continue_run(w, &pending, zeros);
        }
        if (zeros == count)
            continue;
        leading = false;
        w = end_run(w, &pending);
        w += k_zerorun()->encode(block + zeros, count - zeros, &pending, w);
    }
    s->part[part].lead = lead;
    s->part[part].bytes = (size_t)(w - s->out) - begin - lead;
    s->part[part].pending = pending;
}

static size_t part_begin(const struct encoder *s, int part)
{
    return cc_part_begin(s->total, s->parts, part, PART_MULTIPLE);
}

static void encode_part(void *arg, int part)
{
    struct encoder *s = arg;
    size_t begin = part_begin(s, part), end = part_begin(s, part + 1);
    if (s->zre) {
        encode_runs(s, part, begin, end);
        return;
    }
    for (size_t j = begin, count; j < end; j += count) {
        count = end - j < BLOCK ? end - j : BLOCK;
        pack(s->quantize, s->arg, s->n, s->total, j, count, s->out + j);
    }
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

size_t cc_base3_encode(float m, cc_base3_quantize *quantize, void *arg, size_t n, int zre,
                       int threads, uint8_t *out)
{
    struct encoder s = {.quantize = quantize,
                        .arg = arg,
                        .out = out + HEADER,
                        .n = n,
                        .total = packed_bytes(n),
                        .zre = zre,
                        .parts = cc_parts(threads, n, CC_PART_VALUES)};
    cc_put_f32(out, m);
    cc_parallel(s.parts, encode_part, &s);
    return HEADER + (zre ? join_parts(&s) : s.total);
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
    size_t n, total;
    float value[3]; /* by digit */
    float *y;
    bool add, nontemporal;
    int parts;
    struct start start[CC_PARTS_MAX];
    int status[CC_PARTS_MAX];
};

/* Reads the next `count` bytes of the unshortened sequence to block. */
static int next_block(const struct decoder *s, struct start *from, size_t count, uint8_t *block,
                      struct cc_error *e)
{
    if (!s->zre) {
        unsigned most = k_base3()->copy(s->in + from->at, block, count);
        for (size_t k = 0; most > CC_BYTE_MAX && k < count; k++)
            if (block[k] > CC_BYTE_MAX)
                return cc_bad_payload(from->at + k, e, "%u is not five trits (at most %u)",
                                      block[k], CC_BYTE_MAX);
        from->at += count;
        return CC_OK;
    }
    memset(block, CC_BYTE_ZERO, count + CC_RUN_SLACK);
    size_t got = from->left;
    if (got < count)
        got += k_zerorun()->decode(s->in, s->len, &from->at, block + got, count - got);
    if (got < count)
        return cc_bad_payload(s->len, e, "the payload ends before the last trit");
    from->left = got - count;
    return CC_OK;
}

/* Unpacks bytes j .. j + count - 1 into their five planes. */
static void unpack(const struct decoder *s, size_t j, size_t count, uint8_t *block)
{
    for (size_t p = 0; p < PLANES; p++) {
        size_t i = p * s->total + j, here = present(i, count, s->n);
        ptrdiff_t next = next_plane(p, s->total, count);
        if (here > 0 && s->add)
            k_base3()->add(block, s->value, s->y + i, here, next);
        else if (here > 0)
            k_base3()->set(block, s->value, s->y + i, here, next, s->nontemporal);
    }
}

static int decode_range(const struct decoder *s, int part, struct start from, struct cc_error *e)
{
    alignas(CC_ALIGN) uint8_t block[BLOCK + CC_RUN_SLACK];
    size_t begin = cc_part_begin(s->total, s->parts, part, PART_MULTIPLE);
    size_t end = cc_part_begin(s->total, s->parts, part + 1, PART_MULTIPLE);
    for (size_t j = begin, count; j < end; j += count) {
        count = end - j < BLOCK ? end - j : BLOCK;
        CC_TRY(next_block(s, &from, count, block, e));
        unpack(s, j, count, block);
    }
    if (s->nontemporal)
        k_copy()->fence();
    if (end < s->total)
        return CC_OK;
    if (from.left > 0)
        return cc_bad_payload(from.at - 1, e, "the run extends beyond the last trit");
    if (from.at < s->len)
        return cc_bad_payload(from.at, e, "the payload continues after the last trit");
    return CC_OK;
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
    struct start from = {.at = HEADER};
    for (int p = 0; p < s->parts; p++) {
        size_t begin = cc_part_begin(s->total, s->parts, p, PART_MULTIPLE);
        size_t end = cc_part_begin(s->total, s->parts, p + 1, PART_MULTIPLE);
        s->start[p] = s->zre ? from : (struct start){.at = HEADER + begin};
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

/* Checks length and scale. */
static int check_header(const struct decoder *s, struct cc_error *e)
{
    if (s->zre && s->len < HEADER)
        return cc_bad_payload(s->len, e, "the payload ends within its scale");
    if (!s->zre && s->len != cc_base3_bound(s->n))
        return cc_bad_length(s->len, cc_base3_bound(s->n), e);
    float m = cc_get_f32(s->in);
    if (!cc_finite(m) || m < 0)
        return cc_bad_payload(0, e, "the scale is %g", (double)m);
    return CC_OK;
}

static int decode(struct decoder *s, int threads, struct cc_error *e)
{
    s->total = packed_bytes(s->n);
    s->parts = cc_parts(threads, s->n, CC_PART_VALUES);
    CC_TRY(check_header(s, e));
    CC_TRY(find_starts(s, e));
    cc_parallel(s->parts, decode_part, s);
    /* The first part that failed is decoded again for its message. */
    for (int p = 0; p < s->parts; p++)
        if (s->status[p] != CC_OK)
            return decode_range(s, p, s->start[p], e);
    return CC_OK;
}

int cc_base3_decode(const uint8_t *in, size_t len, size_t n, int zre, int threads, float *y,
                    struct cc_error *e)
{
    struct decoder s = {.in = in, .len = len, .n = n, .zre = zre, .y = y};
    s.nontemporal = cc_use_nontemporal(n * sizeof(float));
    float m = len >= HEADER ? cc_get_f32(in) : 0;
    for (int d = 0; d < 3; d++)
        s.value[d] = m * (float)(d - 1);
    return decode(&s, threads, e);
}

int cc_base3_decode_add(const uint8_t *in, size_t len, size_t n, int zre, int threads, float scale,
                        float *y, struct cc_error *e)
{
    struct decoder s = {.in = in, .len = len, .n = n, .zre = zre, .y = y, .add = true};
    float m = len >= HEADER ? cc_get_f32(in) : 0;
    for (int d = 0; d < 3; d++)
        s.value[d] = scale * (m * (float)(d - 1));
    return decode(&s, threads, e);
}
