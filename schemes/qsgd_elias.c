/* qsgd's Elias code.
 *
 * A bucket: f32 norm; if it is not 0, Elias omega of (number of nonzero levels + 1), then for each
 * nonzero level Elias omega of its distance from the one before (or from the place before the
 * bucket), a sign bit, and Elias omega of its magnitude; padded to a byte (docs/payloads.md, qsgd).
 *
 * Encoding: a bucket is quantized to levels in scratch memory, then coded by a table of frequent
 * pairs of distance and level (elias.h). Parts of whole buckets are coded by threads of their own,
 * each where it would lie if every bucket before had the largest size, then moved together.
 * Decoding is serial, as a bucket begins where the one before ends; levels are decoded to scratch
 * memory, then turned into values. */
#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/kernels/elias.h"
#include "schemes/qsgd.h"

/* Bytes that the bit writer may write beyond the end. */
#define ROOM 8

/* Every level is s: the longest code. */
size_t cc_qsgd_elias_bytes(const struct cc_qsgd_form *f, size_t values)
{
    size_t level_bits = cc_omega(1).len + 1 + cc_omega((uint64_t)f->s).len;
    return CC_QSGD_HEADER + (cc_omega(values + 1).len + values * level_bits + 7) / 8;
}

static int parts_of(const struct cc_qsgd_form *f, size_t n, int threads)
{
    size_t least = f->bucket < CC_PART_VALUES ? CC_PART_VALUES : f->bucket;
    return cc_parts(threads, n, least);
}

/* For any number of threads, as sizes must not depend on it. */
size_t cc_qsgd_elias_room(const struct cc_qsgd_form *f, size_t n)
{
    return ROOM * (size_t)parts_of(f, n, CC_PARTS_MAX);
}

/* Scratch memory of a part: the levels of one bucket, padded to whole groups. */
static size_t levels_bytes(const struct cc_qsgd_form *f)
{
    size_t groups = (f->bucket + CC_LEVEL_GROUP - 1) / CC_LEVEL_GROUP;
    size_t bytes = groups * CC_LEVEL_GROUP * sizeof(int16_t);
    return cc_align_up(bytes);
}

size_t cc_qsgd_elias_scratch(const struct cc_qsgd_form *f, size_t n)
{
    return levels_bytes(f) * (size_t)parts_of(f, n, CC_PARTS_MAX);
}

/* --- encoding --- */

struct encoding {
    const struct cc_qsgd_form *form;
    const struct cc_context *ctx;
    const float *x;
    uint8_t *out;
    char *scratch;
    size_t n;
    int parts;
    size_t len[CC_PARTS_MAX]; /* bytes that a part wrote; 0: a value is not finite */
};

static size_t part_begin(const struct encoding *w, int part)
{
    return cc_part_begin(w->n, w->parts, part, w->form->bucket);
}

/* Leaves room for the largest payload of the parts before. */
static uint8_t *part_output(const struct encoding *w, int part)
{
    size_t before = part_begin(w, part) / w->form->bucket;
    return w->out + before * cc_qsgd_elias_bytes(w->form, w->form->bucket) + ROOM * (size_t)part;
}

static uint8_t *put_bucket(const struct encoding *w, size_t i, size_t n, float norm,
                           int16_t *levels, uint8_t *out)
{
    cc_put_f32(out, norm);
    out += CC_QSGD_HEADER;
    if (norm == 0)
        return out;
    size_t count = cc_qsgd_quantize(w->form, w->ctx, w->x + i, i, n, norm, levels);
    for (size_t k = n; k % CC_LEVEL_GROUP != 0; k++)
        levels[k] = 0;
    return k_elias()->put(levels, n, count, out);
}

static void encode_part(void *arg, int part)
{
    struct encoding *w = arg;
    const struct cc_qsgd_form *f = w->form;
    int16_t *levels = (int16_t *)(void *)(w->scratch + (size_t)part * levels_bytes(f));
    uint8_t *begin = part_output(w, part), *out = begin;
    size_t end = part_begin(w, part + 1);
    w->len[part] = 0;
    for (size_t i = part_begin(w, part); i < end; i += f->bucket) {
        size_t m = end - i < f->bucket ? end - i : f->bucket;
        float norm;
        if (!k_qsgd_put()->norm(f, w->x + i, m, &norm))
            return;
        out = put_bucket(w, i, m, norm, levels, out);
    }
    w->len[part] = (size_t)(out - begin);
}

int cc_qsgd_elias_encode(const struct cc_qsgd_form *f, const struct cc_codec *c,
                         const struct cc_context *ctx, const float *x, uint8_t *out, size_t *len,
                         struct cc_error *e)
{
    struct encoding w = {
        .form = f, .ctx = ctx, .x = x, .out = out, .scratch = c->scratch, .n = c->shape.n};
    w.parts = parts_of(f, w.n, c->threads);
    cc_parallel(w.parts, encode_part, &w);
    size_t total = 0;
    for (int p = 0; p < w.parts; p++) {
        if (w.len[p] == 0)
            return cc_refuse(ctx, x, NULL, w.n, e);
        memmove(out + total, part_output(&w, p), w.len[p]);
        total += w.len[p];
    }
    *len = total;
    return CC_OK;
}

/* --- decoding --- */

/* CC_FAIL with the offset of the byte that holds the last bit read. */
static int refuse(enum cc_elias_fault fault, const uint8_t *in, const struct cc_bit_reader *r,
                  struct cc_error *e)
{
    static const char *const text[] = {
        [CC_ELIAS_END] = "the payload ends within a bucket, or holds an impossible code",
        [CC_ELIAS_COUNT] = "a bucket with more nonzero levels than values",
        [CC_ELIAS_POSITION] = "a level beyond the end of its bucket",
        [CC_ELIAS_LEVEL] = "a level above the highest",
        [CC_ELIAS_PADDING] = "a padding bit is set",
    };
    size_t bits_read = 8 * (size_t)(r->p - in) - r->have;
    return cc_bad_payload((bits_read - 1) / 8, e, "%s", text[fault]);
}

int cc_qsgd_elias_decode(const struct cc_qsgd_form *f, const struct cc_codec *c, const uint8_t *in,
                         size_t len, const struct cc_qsgd_use *use, float *y, struct cc_error *e)
{
    size_t n = c->shape.n;
    int16_t *levels = c->scratch;
    struct cc_qsgd_use plain = *use;
    plain.nontemporal = false; /* decoding is far slower than memory */
    struct cc_bit_reader r = {.p = in, .end = in + len};
    for (size_t i = 0; i < n; i += f->bucket) {
        size_t m = n - i < f->bucket ? n - i : f->bucket, offset = (size_t)(r.p - in);
        if (len - offset < CC_QSGD_HEADER)
            return cc_bad_payload(len, e, "the payload ends before its last bucket");
        float norm = cc_get_f32(r.p);
        if (!cc_finite(norm) || norm < 0)
            return cc_qsgd_bad_norm(norm, offset, e);
        r.p += CC_QSGD_HEADER;
        if (norm == 0) {
            memset(levels, 0, m * sizeof *levels);
        } else {
            enum cc_elias_fault fault = k_elias()->get(&r, m, f->s, levels);
            if (fault != CC_ELIAS_OK)
                return refuse(fault, in, &r, e);
        }
        k_qsgd_get()->levels(f, levels, norm, &plain, y + i, m);
    }
    if (r.p != r.end)
        return cc_bad_payload((size_t)(r.p - in), e, "%zu bytes after the last bucket",
                              (size_t)(r.end - r.p));
    return CC_OK;
}
