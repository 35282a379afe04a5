/* The frame of the reference: residuals and error feedback, which all schemes have in common, and
 * the bytes, random numbers and sums that their own files (reference_*.c) use. */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ref_row *find(const char *id)
{
    const struct ref_row *const files[] = {ref_rows_plain,    ref_rows_ternary, ref_rows_qsgd,
                                           ref_rows_sparse,   ref_rows_chunks,  ref_rows_blocks,
                                           ref_rows_exponent, ref_rows_other};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        for (const struct ref_row *row = files[i]; row->id != NULL; row++)
            if (strcmp(row->id, id) == 0)
                return row;
    return NULL;
}

bool ref_knows(const char *id)
{
    return find(id) != NULL;
}

struct ref *ref_new(const struct cc_spec *spec, const struct cc_shape *shape)
{
    const struct ref_row *row = find(spec->scheme->id);
    if (row == NULL) {
        fprintf(stderr, "scheme %s has no reference in tests/lib\n", spec->scheme->id);
        exit(1);
    }
    struct ref *r = ref_room(1, sizeof *r);
    r->row = row;
    r->spec = spec;
    r->shape = *shape;
    r->feedback =
        row->feedback == ALWAYS || (row->feedback == IF_EF && setting_int(spec, "ef") != 0);
    if (shape->n > 0 && row->sends_all != NULL && row->sends_all(r))
        r->feedback = false;
    r->residual = ref_room(shape->n, sizeof(float));
    r->x = ref_room(shape->n, sizeof(float));
    r->u = ref_room(shape->n, sizeof(float));
    r->v = ref_room(shape->n, sizeof(float));
    if (setting_has(spec, "inner"))
        r->inner = ref_new(setting_nested(spec, "inner"), shape);
    return r;
}

void ref_free(struct ref *r)
{
    if (r == NULL)
        return;
    ref_free(r->inner);
    free(r->residual);
    free(r->x);
    free(r->u);
    free(r->v);
    free(r);
}

/* ef=loco */
static bool is_average(const struct ref *r)
{
    return r->feedback && setting_has(r->spec, "ef") && setting_int(r->spec, "ef") == 3;
}

/* e <- 0.8 e + 0.2 (x - y), in bytes with a scale for each 256. */
static void keep_average(struct ref *r, const float *y)
{
    for (size_t at = 0; at < r->shape.n; at += 256) {
        const size_t end = r->shape.n - at < 256 ? r->shape.n : at + 256;
        for (size_t i = at; i < end; i++) {
            const float left = r->x[i] - y[i], kept = 0.8f * r->residual[i];
            const float taken = 0.2f * left;
            r->residual[i] = kept + taken;
        }
        const float scale = largest_magnitude(r->residual + at, end - at) / 127.0f;
        for (size_t i = at; i < end; i++) {
            const float v = scale > 0 ? r->residual[i] / scale : 0;
            r->residual[i] = (float)fmax(-127, fmin(127, nearbyint((double)v))) * scale;
        }
    }
}

bool ref_begin(struct ref *r, const struct cc_context *ctx, const float *gradient)
{
    for (size_t i = 0; i < r->shape.n; i++)
        if (!is_finite(gradient[i]))
            return false;
    if (r->row->begin != NULL)
        return r->row->begin(r, ctx, gradient);
    const float decay = setting_has(r->spec, "decay") ? (float)setting_real(r->spec, "decay") : 1;
    for (size_t i = 0; i < r->shape.n; i++) {
        if (is_average(r) && ctx->step % 1024 == 0)
            r->residual[i] = 0;
        const float product = decay * r->residual[i];
        r->x[i] = r->feedback ? gradient[i] + product : gradient[i];
        if (!is_finite(r->x[i]))
            return false;
    }
    return r->row->overflows == NULL || !r->row->overflows(r, ctx, r->x);
}

static const char *compare(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                           size_t len)
{
    static char why[160];
    const char *answer = NULL;
    struct ref_out out = {0};
    if (r->shape.n > 0)
        r->row->encode(r, ctx, r->x, &out);
    size_t same = 0;
    while (same < out.len && same < len && out.at[same] == payload[same])
        same++;
    if (same < out.len || same < len) {
        (void)snprintf(why, sizeof why,
                       "byte %zu of %zu is %d; by the page it is %d, and %zu bytes in all", same,
                       len, same < len ? payload[same] : -1, same < out.len ? out.at[same] : -1,
                       out.len);
        answer = why;
    }
    free(out.at);
    return answer;
}

const char *ref_verify(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                       size_t len, float *decoded)
{
    if (!ref_decode(r, ctx, payload, len, decoded))
        return "the payload does not decode by the page";
    if (r->row->encode != NULL)
        return compare(r, ctx, payload, len);
    return r->shape.n == 0 ? NULL : r->row->check(r, ctx, r->x, payload, len);
}

/* The residual of value i as it is stored. */
static float kept(const struct ref *r, const struct cc_context *ctx, size_t i, float residual)
{
    if (!setting_has(r->spec, "ef") || setting_int(r->spec, "ef") != 2)
        return residual;
    const uint32_t draw = ref_random(ctx, ctx->rank, 0xb16, ctx->offset + i) >> 16;
    uint32_t upper = bits_of(residual) >> 16;
    if (draw + (bits_of(residual) & 0xffff) > 0xffff)
        upper++;
    if ((upper & 0x7fff) > 0x7f7f)
        upper = (upper & 0x8000) | 0x7f7f;
    return float_of(upper << 16);
}

const char *ref_finish(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                       size_t len)
{
    if (r->row->finish != NULL)
        return r->row->finish(r, ctx, payload, len);
    float *y = ref_room(r->shape.n, sizeof(float));
    const char *why = ref_verify(r, ctx, payload, len, y);
    if (is_average(r))
        keep_average(r, y);
    for (size_t i = 0; i < r->shape.n && r->feedback && !is_average(r); i++)
        r->residual[i] = kept(r, ctx, i, r->x[i] - y[i]);
    free(y);
    return why;
}

const float *ref_residual(const struct ref *r)
{
    return r->row->finish == NULL ? r->residual : NULL;
}

bool ref_decode(const struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                size_t len, float *y)
{
    if (r->shape.n == 0)
        return len == 0;
    struct ref_in in = {.at = payload, .len = len};
    return r->row->decode(r, ctx, &in, y);
}

/* --- random numbers --- */

static uint64_t mix(uint64_t z)
{
    z = z ^ (z >> 30);
    z = z * UINT64_C(0xbf58476d1ce4e5b9);
    z = z ^ (z >> 27);
    z = z * UINT64_C(0x94d049bb133111eb);
    z = z ^ (z >> 31);
    return z;
}

uint32_t ref_random(const struct cc_context *ctx, int64_t rank, uint64_t stream, uint64_t index)
{
    const uint64_t G = UINT64_C(0x9e3779b97f4a7c15), H = UINT64_C(0xd1b54a32d192ed03);
    uint64_t h = mix(ctx->seed + G);
    h = mix(h ^ ((uint64_t)rank * G + H));
    h = mix(h ^ ((uint64_t)ctx->direction * G + H));
    h = mix(h ^ (ctx->step * G + H));
    h = mix(h ^ (ctx->tensor * G + H));
    h = mix(h ^ (stream * G + H));
    h = mix(h ^ ((index >> 32) * G + H));
    const uint32_t a = (uint32_t)(h & 0xffffffff), b = (uint32_t)(h >> 32);
    uint32_t x = (uint32_t)(index & 0xffffffff) + a;
    x = x ^ (x >> 16);
    x = x * UINT32_C(0x21f0aaad);
    x = x ^ (x >> 15);
    x = x ^ b;
    x = x * UINT32_C(0xd35a2d97);
    x = x ^ (x >> 15);
    return x;
}

float unit_at(const struct cc_context *ctx, size_t i)
{
    return (float)(ref_random(ctx, ctx->rank, 0, ctx->offset + i) >> 8) / 16777216.0f;
}

/* --- sums --- */

double term_self(float v)
{
    return (double)v;
}

double term_magnitude(float v)
{
    return fabs((double)v);
}

double term_square(float v)
{
    return (double)v * (double)v;
}

double tree_sum(const float *x, size_t n, double (*term)(float))
{
    double total = 0;
    for (size_t block = 0; block < n; block += 4096) {
        double lane[16] = {0}, of_block = 0;
        for (size_t i = 0; i < 4096 && block + i < n; i++)
            lane[i % 16] += term(x[block + i]);
        for (size_t l = 0; l < 16; l++)
            of_block += lane[l];
        total += of_block;
    }
    return total;
}

/* --- bytes --- */

void *ref_room(size_t count, size_t bytes)
{
    void *p = calloc(count + 1, bytes);
    if (p == NULL) {
        fprintf(stderr, "the reference is out of memory\n");
        exit(1);
    }
    return p;
}

size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

bool is_finite(float v)
{
    return (bits_of(v) & 0x7f800000u) != 0x7f800000u;
}

float largest_magnitude(const float *x, size_t n)
{
    float m = 0;
    for (size_t i = 0; i < n; i++)
        if (fabsf(x[i]) > m)
            m = fabsf(x[i]);
    return m;
}

void put_u8(struct ref_out *out, unsigned v)
{
    if (out->len == out->capacity) {
        out->capacity = 2 * out->capacity + 64;
        out->at = realloc(out->at, out->capacity);
        if (out->at == NULL)
            exit(1);
    }
    out->at[out->len++] = (uint8_t)v;
}

void put_bytes(struct ref_out *out, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_u8(out, ((const uint8_t *)bytes)[i]);
}

void put_u16(struct ref_out *out, unsigned v)
{
    put_u8(out, v & 255);
    put_u8(out, v >> 8 & 255);
}

void put_u32(struct ref_out *out, uint32_t v)
{
    put_u16(out, v & 65535);
    put_u16(out, v >> 16);
}

void put_f32(struct ref_out *out, float v)
{
    put_u32(out, bits_of(v));
}

void put_codes(struct ref_out *out, const uint32_t *code, size_t count, unsigned w)
{
    unsigned byte = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        for (unsigned b = 0; b < w; b++) {
            byte |= (code[i] >> b & 1) << used;
            if (++used == 8) {
                put_u8(out, byte);
                byte = used = 0;
            }
        }
    }
    if (used > 0)
        put_u8(out, byte);
}

unsigned get_u8(struct ref_in *in)
{
    if (in->pos >= in->len) {
        in->bad = true;
        return 0;
    }
    return in->at[in->pos++];
}

unsigned get_u16(struct ref_in *in)
{
    unsigned low = get_u8(in);
    return low | get_u8(in) << 8;
}

uint32_t get_u32(struct ref_in *in)
{
    uint32_t low = get_u16(in);
    return low | (uint32_t)get_u16(in) << 16;
}

float get_f32(struct ref_in *in)
{
    return float_of(get_u32(in));
}

float get_scale(struct ref_in *in)
{
    float v = get_f32(in);
    if (!is_finite(v) || v < 0)
        in->bad = true;
    return v;
}

void get_codes(struct ref_in *in, uint32_t *code, size_t count, unsigned w)
{
    unsigned byte = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        code[i] = 0;
        for (unsigned b = 0; b < w; b++) {
            if (left == 0) {
                byte = get_u8(in);
                left = 8;
            }
            code[i] |= (byte & 1) << b;
            byte >>= 1;
            left--;
        }
    }
}

bool get_end(const struct ref_in *in)
{
    return !in->bad && in->pos == in->len;
}
