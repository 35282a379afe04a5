/* natural: signs and powers of two, 9 bits a value.
 *
 * Each value is rounded at random to one of its two neighbouring powers of two, so that the
 * expectation is the value: with the binary32 exponent b and fraction f, to 2^(b+1) with
 * probability f / 2^23. That is one integer comparison of f with a random number, and the result is
 * the exponent alone; it needs neither a scale nor a state, and one pass only. Payload: n sign
 * bits, then n exponent bytes.
 *
 * Exponents of large tensors are stored around the cache: by the kernel where lines of exponents
 * begin with whole bytes of signs (as in an aligned payload if n is a multiple of 64), otherwise
 * from blocks in the first-level cache. Measured on Zen 4: 24 and 22 GB/s.
 *
 * Source: Horvath et al., Natural Compression for Distributed Deep Learning, 2019, section 2. */
#include <string.h>

#include "core/cache.h"
#include "core/copy.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/natural.h"
#include "schemes/plain.h"

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bytes_sum(shape->n, cc_bit_bytes(shape->n));
}

/* Values encoded at a time; their exponents are in the first-level cache if they are copied out. */
#define BLOCK 4096

struct encoding {
    const struct cc_context *ctx;
    struct cc_elements x;
    uint8_t *signs, *exponents;
    bool nontemporal; /* write exponents with stores that bypass the cache */
};

/* Encodes values i .. i + n - 1, i a multiple of 8; returns the largest bits of |x|. The key
 * changes where the index passes a multiple of 2^32. */
static uint32_t encode_block(const struct encoding *w, size_t i, size_t n)
{
    uint8_t stage[BLOCK], other[BLOCK], *out = w->exponents + i;
    float room[BLOCK];
    const float *x = cc_elements_read(w->x, i, n, room);
    uint64_t index = w->ctx->offset + i, same_key = cc_same_key(index);
    const struct cc_key key = cc_context_key(w->ctx, index, 0);
    const bool aligned = k_natural()->streams && (uintptr_t)out % CC_ALIGN == 0;
    if (n <= same_key && (aligned || !w->nontemporal))
        return k_natural()->encode(x, key, (uint32_t)index, w->signs + i / 8, out, n,
                                   w->nontemporal);
    uint32_t most = k_natural()->encode(x, key, (uint32_t)index, w->signs + i / 8, stage, n, false);
    if (n > same_key) {
        (void)k_natural()->encode(x, cc_context_key(w->ctx, index + same_key, 0), (uint32_t)index,
                                  w->signs + i / 8, other, n, false);
        memcpy(stage + same_key, other + same_key, n - same_key);
    }
    if (w->nontemporal)
        k_copy()->nontemporal(out, stage, n);
    else
        memcpy(out, stage, n);
    return most;
}

/* Returns the largest bits of |x|. */
static size_t encode_range(void *arg, size_t i, size_t end)
{
    const struct encoding *w = arg;
    uint32_t most = 0;
    for (size_t m; i < end; i += m) {
        /* After the first block, exponents begin on a line, if that leaves whole bytes of signs. */
        const size_t beyond = (uintptr_t)(w->exponents + i) % CC_ALIGN;
        m = beyond % 8 == 0 ? BLOCK - beyond : BLOCK;
        m = end - i < m ? end - i : m;
        uint32_t bits = encode_block(w, i, m);
        most = bits > most ? bits : most;
    }
    if (w->nontemporal)
        k_copy()->fence();
    return most;
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    size_t n = c->shape.n, signs = cc_bit_bytes(n);
    struct encoding w = {.ctx = ctx, .x = x, .signs = out, .exponents = out + signs};
    w.nontemporal = cc_use_nontemporal(cc_elements_bytes(x, n) + signs + n);
    *len = signs + n;
    return cc_finite_bits(cc_parallel_values(c->threads, n, BLOCK, encode_range, &w))
               ? CC_OK
               : cc_refuse_from(ctx, x, NULL, n, e);
}

struct decoding {
    const uint8_t *signs, *exponents;
    float *y;
    const float *scale; /* NULL: the values are stored, otherwise scaled and added */
    bool nontemporal;
};

/* Decodes with stores that bypass the cache to y of any alignment. */
static int load_unaligned(const uint8_t *signs, const uint8_t *exponents, float *y, size_t n)
{
    struct cc_sink sink;
    int bad = 0;
    cc_sink_open(&sink, y, SIZE_MAX);
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_sink_tile(&sink, n - i);
        cc_sink_ahead(&sink, exponents + i, m);
        bad |= k_natural()->load(signs + i / 8, exponents + i, cc_sink_room(&sink), m, false);
        cc_sink_put(&sink, m * sizeof *y);
    }
    cc_sink_close(&sink);
    return bad;
}

/* Returns whether there is an exponent of 255. */
static size_t decode_range(void *arg, size_t i, size_t end)
{
    const struct decoding *w = arg;
    const uint8_t *signs = w->signs + i / 8, *exponents = w->exponents + i;
    const size_t n = end - i;
    int bad;
    if (w->scale != NULL)
        bad = k_natural()->add(signs, exponents, *w->scale, w->y + i, n);
    else if (w->nontemporal && (uintptr_t)(w->y + i) % CC_ALIGN != 0)
        bad = load_unaligned(signs, exponents, w->y + i, n);
    else
        bad = k_natural()->load(signs, exponents, w->y + i, n, w->nontemporal);
    if (w->nontemporal)
        k_copy()->fence();
    return bad != 0;
}

static int bad_exponent(const uint8_t *exponents, size_t n, struct cc_error *e)
{
    const uint8_t *at = memchr(exponents, 255, n);
    return at == NULL ? cc_changed_payload(e)
                      : cc_bad_payload(cc_bit_bytes(n) + (size_t)(at - exponents), e,
                                       "the exponent 255 is not used");
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t n = c->shape.n, signs = cc_bit_bytes(n);
    if (len != signs + n)
        return cc_bad_length(len, signs + n, e);
    struct decoding w = {.signs = in, .exponents = in + signs, .y = y, .scale = scale};
    w.nontemporal = scale == NULL && cc_use_nontemporal(n * sizeof *y);
    return cc_parallel_values(c->threads, n, BLOCK, decode_range, &w) == 0
               ? CC_OK
               : bad_exponent(w.exponents, n, e);
}

const struct cc_scheme cc_scheme_natural = {
    .id = "natural",
    .title = "powers of two",
    .reference = "Horvath et al. 2019, natural compression, section 2",
    .layout = "n sign bits (1 = x < 0), n x u8 exponent; decoded: +-2^(exponent - 127)",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_UNBIASED,
    .kind = CC_OPAQUE,
    CC_NO_PARAMS,
    .bound = bound,
    .traffic = cc_reads_once,
    .encode_from = encode_from,
    .decode = decode,
};
