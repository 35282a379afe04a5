#include "schemes/base3.h"

#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "schemes/kernels/base3.h"
#include "schemes/kernels/zerorun.h"
#include "schemes/scheme.h"

#define PLANES 5u
#define HEADER sizeof(float)

/* Bytes worked on at a time. They stay in the first-level cache while five planes pass by, and the
 * pieces of the planes are short enough for the work on the bytes to overlap with their transfer:
 * 512 was the fastest of 128 to 16,384. */
#define BLOCK 512u

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

/* Bytes j .. j + count - 1 of the `total` that n values make. */
static void pack(cc_base3_quantize *quantize, void *arg, size_t n, size_t total, size_t j,
                 size_t count, uint8_t *bytes)
{
    memset(bytes, 0, count);
    for (size_t p = 0; p < PLANES; p++) {
        size_t i = p * total + j, here = present(i, count, n);
        if (here > 0)
            quantize(arg, i, here, bytes);
        for (size_t k = here; k < count; k++)
            bytes[k] = (uint8_t)(3 * bytes[k] + CC_DIGIT_ZERO);
    }
}

size_t cc_base3_encode(float m, cc_base3_quantize *quantize, void *arg, size_t n, int zre,
                       uint8_t *out)
{
    /* A block in zero-run encoding begins with the last byte of the block before, which could not
     * be encoded before its successor was known. */
    uint8_t buffer[CC_ALIGN + BLOCK + 1];
    uint8_t *block = buffer + CC_ALIGN;
    size_t total = packed_bytes(n), held = 0;
    unsigned run = 0;
    cc_put_f32(out, m);
    uint8_t *w = out + HEADER;
    for (size_t j = 0, count; j < total; j += count) {
        count = total - j < BLOCK ? total - j : BLOCK;
        if (!zre) {
            pack(quantize, arg, n, total, j, count, w);
            w += count;
            continue;
        }
        pack(quantize, arg, n, total, j, count, block);
        int last = j + count == total;
        if (last)
            block[count] = 0; /* no zero byte: it ends the last run */
        w += k_zerorun()->encode(block - held, held + count - !last, &run, w);
        block[-1] = block[count - 1];
        held = 1;
    }
    return (size_t)(w - out);
}

/* Where the bytes of the next block come from. */
struct source {
    const uint8_t *in; /* the whole payload */
    size_t len, at;
    int zre;
    size_t left; /* zero bytes of a run that began in the block before */
};

static int next_block(struct source *s, size_t count, uint8_t *block, struct cc_error *e)
{
    if (!s->zre) {
        unsigned most = k_base3()->copy(s->in + s->at, block, count);
        for (size_t k = 0; most > CC_BYTE_MAX && k < count; k++)
            if (block[k] > CC_BYTE_MAX)
                return cc_bad_payload(s->at + k, e, "%u is not five trits (at most %u)", block[k],
                                      CC_BYTE_MAX);
        s->at += count;
        return CC_OK;
    }
    memset(block, CC_BYTE_ZERO, CC_RUN_MAX);
    size_t got = s->left;
    if (got < count)
        got += k_zerorun()->decode(s->in, s->len, &s->at, block + got, count - got);
    if (got < count)
        return cc_bad_payload(s->len, e, "the payload ends before the last trit");
    s->left = got - count;
    return CC_OK;
}

/* y = m * trit, or with add y += scale * (m * trit). */
static int decode(struct source *s, size_t n, int add, float scale, float *y, struct cc_error *e)
{
    uint8_t block[BLOCK + CC_RUN_SLACK];
    float m = cc_get_f32(s->in);
    size_t total = packed_bytes(n);
    for (size_t j = 0, count; j < total; j += count) {
        count = total - j < BLOCK ? total - j : BLOCK;
        int status = next_block(s, count, block, e);
        if (status != CC_OK)
            return status;
        for (size_t p = 0; p < PLANES; p++) {
            size_t i = p * total + j, here = present(i, count, n);
            if (here > 0 && add)
                k_base3()->add(block, m, scale, y + i, here);
            else if (here > 0)
                k_base3()->set(block, m, y + i, here);
        }
    }
    if (s->left > 0)
        return cc_bad_payload(s->at - 1, e, "the run goes beyond the last trit");
    if (s->at < s->len)
        return cc_bad_payload(s->at, e, "the payload goes on after the last trit");
    return CC_OK;
}

/* What can be told before the trits. */
static int check(const struct source *s, size_t n, struct cc_error *e)
{
    if (s->zre && s->len < HEADER)
        return cc_bad_payload(s->len, e, "the payload ends within its scale");
    if (!s->zre && s->len != cc_base3_bound(n))
        return cc_bad_length(s->len, cc_base3_bound(n), e);
    float m = cc_get_f32(s->in);
    if (!cc_finite(m) || m < 0)
        return cc_bad_payload(0, e, "the scale is %g", (double)m);
    return CC_OK;
}

int cc_base3_decode(const uint8_t *in, size_t len, size_t n, int zre, float *y, struct cc_error *e)
{
    struct source s = {.in = in, .len = len, .at = HEADER, .zre = zre};
    int status = check(&s, n, e);
    return status != CC_OK ? status : decode(&s, n, 0, 0, y, e);
}

int cc_base3_decode_add(const uint8_t *in, size_t len, size_t n, int zre, float scale, float *y,
                        struct cc_error *e)
{
    struct source s = {.in = in, .len = len, .at = HEADER, .zre = zre};
    int status = check(&s, n, e);
    return status != CC_OK ? status : decode(&s, n, 1, scale, y, e);
}
