/* qsgd's code of fixed width: per bucket f32 norm, then a code of ceil(log2(2s + 1)) bits a level.
 *
 * The place of every bucket, and of every eighth value in it, is known beforehand, so threads share
 * the buckets, and where these are few (bucket=0: one) each bucket: first its norm, by parts and a
 * fixed sum tree, then its codes. Codes are made in a buffer in the first-level cache, several
 * small buckets or a batch of a large one at a time, and copied out, for large tensors with stores
 * that bypass the cache. A batch in which the index passes a multiple of 2^32 needs two keys and
 * takes a slower way: levels first, then codes.
 *
 * Decoding is shared likewise. A part stops at its first fault; refuse() then names it. */
#include <assert.h>
#include <string.h>

#include "core/cache.h"
#include "core/copy.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/qsgd.h"

/* Bytes of the buffer in which codes are made before they are copied out. */
#define STAGE 8192

/* Values coded at a time of a bucket that does not fit into the buffer. */
#define BATCH 4096

/* Values of short buckets that are widened together. */
#define WIDENED 2048

size_t cc_qsgd_fixed_bytes(const struct cc_qsgd_form *f, size_t values)
{
    return CC_QSGD_HEADER + cc_qsgd_code_bytes(f, values);
}

/* The offset of value i's code in the payload, or of the norm if the value begins a bucket. Others
 * must lie a multiple of 8 values after the beginning of their bucket. */
static size_t place_of(const struct cc_qsgd_form *f, size_t i)
{
    size_t at = i % f->bucket;
    return i / f->bucket * cc_qsgd_fixed_bytes(f, f->bucket) +
           (at > 0 ? cc_qsgd_fixed_bytes(f, at) : 0);
}

/* --- encoding --- */

struct encoding {
    const struct cc_qsgd_form *form;
    const struct cc_context *ctx;
    struct cc_elements x;
    uint8_t *out;
    bool nontemporal;
    bool far; /* the kernel reads x itself, and x is not in the cache */
    /* one bucket by several threads */
    size_t begin; /* its first value */
    float norm;
    double *squares; /* the sums of some of its blocks, the first of which begins at `summed` */
    size_t summed;
};

static void copy_out(const struct encoding *w, size_t place, const uint8_t *from, size_t bytes)
{
    if (w->nontemporal)
        k_copy()->nontemporal(w->out + place, from, bytes);
    else
        memcpy(w->out + place, from, bytes);
}

/* Writes the codes of values i .. i + n - 1, all of one bucket, i a multiple of 8 values after its
 * beginning. */
static void put_codes(const struct encoding *w, size_t i, size_t n, float norm)
{
    const struct cc_qsgd_form *f = w->form;
    uint8_t stage[STAGE + CC_QSGD_SLACK];
    float room[BATCH];
    for (size_t end = i + n; i < end; i += BATCH) {
        size_t m = end - i < BATCH ? end - i : BATCH;
        size_t place = place_of(f, i) + (i % f->bucket == 0 ? CC_QSGD_HEADER : 0);
        uint64_t index = w->ctx->offset + i;
        const float *x = cc_elements_read(w->x, i, m, room);
        if (m <= cc_same_key(index) || norm == 0) {
            k_qsgd_put()->codes(f, x, norm, cc_context_key(w->ctx, index, 0), (uint32_t)index,
                                w->far, stage, m);
        } else {
            int16_t levels[BATCH];
            (void)cc_qsgd_quantize(f, w->ctx, x, i, m, norm, levels);
            k_qsgd_put()->pack(levels, f->width, stage, m);
        }
        copy_out(w, place, stage, cc_qsgd_code_bytes(f, m));
    }
}

/* The norm of the n values from i on, of which those of 16 bits are widened block by block of the
 * sum tree; false if one is not finite. */
static bool norm_of(const struct encoding *w, size_t i, size_t n, float *norm)
{
    if (w->x.type == CC_ELEMENT_FP32)
        return k_qsgd_put()->norm(w->form, (const float *)w->x.at + i, n, norm);
    if (!w->form->l2) {
        const uint32_t most = cc_absmax_from(cc_elements_from(w->x, i), NULL, n, 1);
        *norm = cc_bits_f32(most);
        return cc_finite_bits(most);
    }
    double sum = 0;
    float room[CC_SUM_BLOCK];
    for (size_t k = 0, m; k < n; k += m) {
        m = n - k < CC_SUM_BLOCK ? n - k : CC_SUM_BLOCK;
        sum += k_reduce()->sum_sq(cc_elements_read(w->x, i + k, m, room), m);
    }
    *norm = cc_qsgd_two_norm(sum);
    return isfinite(sum);
}

/* Encodes one bucket of any length; false if a value is not finite. */
static bool put_bucket(const struct encoding *w, size_t i, size_t n)
{
    float norm;
    if (!norm_of(w, i, n, &norm))
        return false;
    cc_put_f32(w->out + place_of(w->form, i), norm);
    put_codes(w, i, n, norm);
    return true;
}

/* Encodes whole buckets from value i on, as many as the buffer holds; returns the number of their
 * values, or 0 if one is not finite. */
static size_t put_buckets(const struct encoding *w, size_t i, size_t n)
{
    const struct cc_qsgd_form *f = w->form;
    assert(f->bucket > 0);
    uint8_t stage[STAGE + CC_QSGD_SLACK];
    float room[WIDENED];
    uint64_t index = w->ctx->offset + i, left = cc_same_key(index);
    size_t values = STAGE / cc_qsgd_fixed_bytes(f, f->bucket) * f->bucket;
    if (w->x.type != CC_ELEMENT_FP32 && values > WIDENED)
        values = WIDENED / f->bucket * f->bucket;
    values = values < n ? values : n;
    values = values <= left ? values : (size_t)left / f->bucket * f->bucket;
    if (values == 0) {
        values = n < f->bucket ? n : f->bucket;
        return put_bucket(w, i, values) ? values : 0;
    }
    const uint8_t *end = k_qsgd_put()->buckets(f, cc_elements_read(w->x, i, values, room),
                                               cc_context_key(w->ctx, index, 0), (uint32_t)index,
                                               w->far, stage, values);
    if (end == NULL)
        return 0;
    copy_out(w, place_of(f, i), stage, (size_t)(end - stage));
    return values;
}

/* Returns whether a value is not finite. */
static size_t encode_range(void *arg, size_t i, size_t end)
{
    const struct encoding *w = arg;
    size_t values = 1;
    for (; i < end && values > 0; i += values)
        values = put_buckets(w, i, end - i);
    if (w->nontemporal)
        k_copy()->fence();
    return values == 0;
}

/* --- one long bucket, by several threads --- */

/* Blocks of the sum tree summed at a time. */
#define BLOCKS 1024

static size_t squares_range(void *arg, size_t begin, size_t end)
{
    const struct encoding *w = arg;
    float room[CC_SUM_BLOCK];
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < CC_SUM_BLOCK ? end - i : CC_SUM_BLOCK;
        const float *x = cc_elements_read(w->x, w->begin + w->summed + i, m, room);
        w->squares[i / CC_SUM_BLOCK] = k_reduce()->sum_sq(x, m);
    }
    return 0;
}

static size_t codes_range(void *arg, size_t begin, size_t end)
{
    const struct encoding *w = arg;
    put_codes(w, w->begin + begin, end - begin, w->norm);
    if (w->nontemporal)
        k_copy()->fence();
    return 0;
}

/* The norm of n values; false if one is not finite. */
static bool shared_norm(struct encoding *w, size_t n, int threads)
{
    double sum = 0, squares[BLOCKS];
    if (!w->form->l2) {
        const uint32_t most = cc_absmax_from(cc_elements_from(w->x, w->begin), NULL, n, threads);
        w->norm = cc_bits_f32(most);
        return cc_finite_bits(most);
    }
    w->squares = squares;
    for (w->summed = 0; w->summed < n; w->summed += BLOCKS * CC_SUM_BLOCK) {
        const size_t left = n - w->summed;
        const size_t m = left < BLOCKS * CC_SUM_BLOCK ? left : BLOCKS * CC_SUM_BLOCK;
        (void)cc_parallel_ranges(cc_parts(threads, n, CC_PART_VALUES), m, CC_SUM_BLOCK,
                                 squares_range, w);
        for (size_t b = 0; b < cc_sum_blocks(m); b++)
            sum += squares[b];
    }
    w->squares = NULL;
    w->norm = cc_qsgd_two_norm(sum);
    return isfinite(sum);
}

/* Encodes the bucket of n values at w->begin; false if one is not finite. */
static bool put_shared(struct encoding *w, size_t n, int threads)
{
    if (!shared_norm(w, n, threads))
        return false;
    cc_put_f32(w->out + place_of(w->form, w->begin), w->norm);
    (void)cc_parallel_values(threads, n, BATCH, codes_range, w);
    return true;
}

/* Whether there are too few buckets for every thread to have several. */
static bool few_buckets(const struct cc_qsgd_form *f, size_t n, int parts)
{
    return parts > 1 && n / f->bucket < 4 * (size_t)parts;
}

int cc_qsgd_fixed_encode(const struct cc_qsgd_form *f, const struct cc_codec *c,
                         const struct cc_context *ctx, struct cc_elements x, uint8_t *out,
                         size_t *len, struct cc_error *e)
{
    size_t n = c->shape.n, bytes = cc_qsgd_total_bytes(f, n, cc_qsgd_fixed_bytes);
    struct encoding w = {.form = f, .ctx = ctx, .x = x, .out = out};
    bool good = true;
    w.nontemporal = cc_use_nontemporal(cc_elements_bytes(x, n) + bytes);
    w.far = w.nontemporal && x.type == CC_ELEMENT_FP32;
    if (!few_buckets(f, n, cc_parts(c->threads, n, CC_PART_VALUES)))
        good = cc_parallel_values(c->threads, n, f->bucket, encode_range, &w) == 0;
    else
        for (; w.begin < n && good; w.begin += f->bucket)
            good = put_shared(&w, n - w.begin < f->bucket ? n - w.begin : f->bucket, c->threads);
    if (!good)
        return cc_refuse_from(ctx, x, NULL, n, e);
    *len = bytes;
    return CC_OK;
}

/* --- decoding --- */

struct decoding {
    const struct cc_qsgd_form *form;
    const uint8_t *in;
    const struct cc_qsgd_use *use;
    float *y;
    size_t n;
};

/* Parts begin at buckets, or at batches of one. */
static size_t border(const struct decoding *w, size_t i)
{
    return i < w->n ? i - i % w->form->bucket % BATCH : w->n;
}

/* Decodes values i .. end - 1 of one bucket; false if norm or codes are bad. */
static bool get_codes(const struct decoding *w, size_t i, size_t end)
{
    const struct cc_qsgd_form *f = w->form;
    const uint8_t *norm_at = w->in + place_of(f, i - i % f->bucket);
    float norm = cc_get_f32(norm_at);
    const uint8_t *codes = norm_at + cc_qsgd_fixed_bytes(f, i % f->bucket);
    return cc_finite(norm) && norm >= 0 &&
           k_qsgd_get()->codes(f, codes, norm, w->use, w->y + i, end - i);
}

/* Returns the number of values from the first fault on. */
static size_t decode_range(void *arg, size_t from, size_t to)
{
    const struct decoding *w = arg;
    const struct cc_qsgd_form *f = w->form;
    size_t i = border(w, from), end = border(w, to), done = 1;
    for (; i < end && done > 0; i += done) {
        size_t at = i % f->bucket,
               whole = end == w->n ? end - i : (end - i) / f->bucket * f->bucket;
        if (at == 0 && whole > 0) {
            done = k_qsgd_get()->buckets(f, w->in + place_of(f, i), w->use, w->y + i, whole);
            if (done < whole) {
                i += done;
                break;
            }
        } else {
            done = end - i < f->bucket - at ? end - i : f->bucket - at;
            done = get_codes(w, i, i + done) ? done : 0;
        }
    }
    if (w->use->nontemporal)
        k_copy()->fence();
    return i < end ? w->n - i : 0;
}

/* CC_FAIL with the fault in the bucket of value i. */
static int refuse(const struct decoding *w, size_t i, struct cc_error *e)
{
    const struct cc_qsgd_form *f = w->form;
    size_t begin = i - i % f->bucket, place = place_of(f, begin);
    size_t end = w->n - begin < f->bucket ? w->n : begin + f->bucket;
    float norm = cc_get_f32(w->in + place);
    if (!cc_finite(norm) || norm < 0)
        return cc_qsgd_bad_norm(norm, place, e);
    place += CC_QSGD_HEADER;
    for (i = begin; i < end; i += BATCH) {
        int16_t levels[BATCH];
        size_t m = end - i < BATCH ? end - i : BATCH;
        size_t at = place + cc_qsgd_code_bytes(f, i - begin);
        k_qsgd_get()->unpack(w->in + at, f->width, levels, m);
        for (size_t j = 0; j < m; j++)
            if (levels[j] < -f->s || levels[j] > f->s)
                return cc_bad_payload(at + j * f->width / 8, e,
                                      "a code of %d, with levels from %d to %d", levels[j], -f->s,
                                      f->s);
    }
    return cc_bad_payload(place, e, "a bucket that cannot be decoded");
}

int cc_qsgd_fixed_decode(const struct cc_qsgd_form *f, const struct cc_codec *c, const uint8_t *in,
                         size_t len, const struct cc_qsgd_use *use, float *y, struct cc_error *e)
{
    size_t n = c->shape.n, want = cc_qsgd_total_bytes(f, n, cc_qsgd_fixed_bytes);
    if (len != want)
        return cc_bad_length(len, want, e);
    struct decoding w = {.form = f, .in = in, .use = use, .y = y, .n = n};
    const size_t left = cc_parallel_values(c->threads, n, 1, decode_range, &w);
    return left == 0 ? CC_OK : refuse(&w, n - left, e);
}
