#include "schemes/base3.h"

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

/* Bytes worked on at a time. They stay in the second-level cache while five planes pass by. Out of
 * cache the long stretches of each plane matter more: 32,768 was twice as fast as 512 and as fast
 * as 1,048,576; in cache all were alike. */
#define BLOCK 32768u

/* Parts begin on multiples of this many bytes, so that two threads share no cache line of the
 * residual's planes but at their ends. */
#define PART_MULTIPLE 64u

static size_t packed_bytes(size_t n)
{
    return n / PLANES + (n % PLANES != 0);
}

size_t cc_base3_bound(size_t n)
{
    return HEADER + packed_bytes(n);
}

size_t cc_base3_residual(size_t n)
{
    size_t bytes;
    return cc_mul(n, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

/* How many of the values first .. first + count - 1 exist: the rest is padding. */
static size_t present(size_t first, size_t count, size_t n)
{
    size_t left = n > first ? n - first : 0;
    return left < count ? left : count;
}

/* Where the values after those of plane p of a block lie: in the next plane, or in the first one of
 * the next block. */
static ptrdiff_t next_piece(size_t p, size_t total, size_t count)
{
    return p + 1 < PLANES ? (ptrdiff_t)total : (ptrdiff_t)count - (ptrdiff_t)((PLANES - 1) * total);
}

/* Bytes j .. j + count - 1 of the `total` that n values make. */
static void pack(cc_base3_quantize *quantize, void *arg, size_t n, size_t total, size_t j,
                 size_t count, uint8_t *bytes)
{
    memset(bytes, 0, count);
    for (size_t p = 0; p < PLANES; p++) {
        size_t i = p * total + j, here = present(i, count, n);
        if (here > 0)
            quantize(arg, i, here, next_piece(p, total, count), bytes);
        for (size_t k = here; k < count; k++)
            bytes[k] = (uint8_t)(3 * bytes[k] + CC_DIGIT_ZERO);
    }
}

/* --- encoding --- */

/* What is encoded, and how one part of it turned out. Each part quantizes its own bytes and writes
 * them where they would lie if no run were shortened. A run may go on from part to part (3LC's
 * section 3.3 cuts it there; here the bytes do not depend on the parts): the part leaves its first
 * zero bytes out and tells how many they were, and what is pending of its last run. */
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

/* A run that goes on for `length` bytes more; *pending says how many of it are not written yet. */
static uint8_t *run_on(uint8_t *w, unsigned *pending, size_t length)
{
    length += *pending;
    memset(w, CC_RUN_CODE + CC_RUN_MAX, length / CC_RUN_MAX);
    *pending = (unsigned)(length % CC_RUN_MAX);
    return w + length / CC_RUN_MAX;
}

/* The run is over. */
static uint8_t *run_end(uint8_t *w, unsigned *pending)
{
    if (*pending > 0)
        *w++ = (uint8_t)(*pending > 1 ? CC_RUN_CODE + *pending : CC_BYTE_ZERO);
    *pending = 0;
    return w;
}

static void encode_runs(struct encoder *s, int part, size_t begin, size_t end)
{
    uint8_t block[BLOCK + 1];
    uint8_t *w = s->out + begin;
    bool leading = true;
    size_t lead = 0;
    unsigned pending = 0;
    for (size_t j = begin, count; j < end; j += count) {
        count = end - j < BLOCK ? end - j : BLOCK;
        pack(s->quantize, s->arg, s->n, s->total, j, count, block);
        /* As if the last run went on, which the next block will tell. */
        block[count] = CC_BYTE_ZERO;
        size_t zeros = k_base3()->zeros(block, count);
        if (leading) {
            lead += zeros;
            w += zeros;
        } else {
            w = run_on(w, &pending, zeros);
        }
        if (zeros == count)
            continue;
        leading = false;
        w = run_end(w, &pending);
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

/* Puts the parts together; returns the length. */
static size_t join(const struct encoder *s)
{
    uint8_t *w = s->out;
    unsigned pending = 0;
    for (int p = 0; p < s->parts; p++) {
        size_t begin = part_begin(s, p), lead = s->part[p].lead;
        w = run_on(w, &pending, lead);
        if (begin + lead == part_begin(s, p + 1))
            continue;
        w = run_end(w, &pending);
        memmove(w, s->out + begin + lead, s->part[p].bytes);
        w += s->part[p].bytes;
        pending = s->part[p].pending;
    }
    return (size_t)(run_end(w, &pending) - s->out);
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
    return HEADER + (zre ? join(&s) : s.total);
}

/* --- decoding --- */

/* Where a part begins in the payload. */
struct start {
    size_t at;
    size_t left; /* zero bytes of a run that began before */
};

struct decoder {
    const uint8_t *in; /* the whole payload */
    size_t len;
    int zre;
    size_t n, total;
    float value[3]; /* of a digit */
    float *y;
    bool add, nontemporal;
    int parts;
    struct start start[CC_PARTS_MAX];
    int status[CC_PARTS_MAX];
};

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

static void unpack(const struct decoder *s, size_t j, size_t count, uint8_t *block)
{
    for (size_t p = 0; p < PLANES; p++) {
        size_t i = p * s->total + j, here = present(i, count, s->n);
        ptrdiff_t next = next_piece(p, s->total, count);
        if (here > 0 && s->add)
            k_base3()->add(block, s->value, s->y + i, here, next);
        else if (here > 0)
            k_base3()->set(block, s->value, s->y + i, here, next, s->nontemporal);
    }
}

static int decode_stretch(const struct decoder *s, int part, struct start from, struct cc_error *e)
{
    uint8_t block[BLOCK + CC_RUN_SLACK];
    size_t begin = cc_part_begin(s->total, s->parts, part, PART_MULTIPLE);
    size_t end = cc_part_begin(s->total, s->parts, part + 1, PART_MULTIPLE);
    for (size_t j = begin, count; j < end; j += count) {
        count = end - j < BLOCK ? end - j : BLOCK;
        int status = next_block(s, &from, count, block, e);
        if (status != CC_OK)
            return status;
        unpack(s, j, count, block);
    }
    if (s->nontemporal)
        k_copy()->fence();
    if (end < s->total)
        return CC_OK;
    if (from.left > 0)
        return cc_bad_payload(from.at - 1, e, "the run goes beyond the last trit");
    if (from.at < s->len)
        return cc_bad_payload(from.at, e, "the payload goes on after the last trit");
    return CC_OK;
}

static void decode_part(void *arg, int part)
{
    struct decoder *s = arg;
    struct cc_error ignored;
    s->status[part] = decode_stretch(s, part, s->start[part], &ignored);
}

/* Where each part begins: known for whole bytes, counted where runs were shortened. */
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

/* What can be told before the trits. */
static int check(const struct decoder *s, struct cc_error *e)
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
    int status = check(s, e);
    if (status == CC_OK)
        status = find_starts(s, e);
    if (status != CC_OK)
        return status;
    cc_parallel(s->parts, decode_part, s);
    /* The first part that failed says why once more, as if there were no others. */
    for (int p = 0; p < s->parts; p++)
        if (s->status[p] != CC_OK)
            return decode_stretch(s, p, s->start[p], e);
    return CC_OK;
}

int cc_base3_decode(const uint8_t *in, size_t len, size_t n, int zre, int threads, float *y,
                    struct cc_error *e)
{
    struct decoder s = {.in = in, .len = len, .n = n, .zre = zre, .y = y};
    s.nontemporal = cc_write_past(n * sizeof(float));
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
