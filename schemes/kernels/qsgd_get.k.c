/* Decoding of QSGD with codes of a fixed width.
 *
 * A bucket is a norm and a stream of codes of `width` bits, two's complement, least significant bit
 * first. Codes become levels, and levels become norm * (level / s).
 *
 * - From codes to levels: 8 codes take `width` bytes. pdep (or shifts) spreads four codes of a
 *   64-bit word over its 16-bit lanes; AVX-512 VBMI moves the right bytes and bits into the lanes
 *   of 16 codes by a byte permutation and a multishift, with tables made once per call.
 * - From levels to values: a division by s is exact rounding of (float)level / s. Instead of
 *   dividing, a product with 1 / s in two parts is rounded once, by a fused multiply-add, which
 *   gives the same bits. Codes of up to 4 bits index a table of the 16 possible values instead, one
 *   register.
 *
 * A code outside [-s, s] is an error. It is not tested code by code: the largest |level| (or, with
 * the table, the largest bits of a value, those of impossible codes being the largest of all) is
 * collected and tested once per bucket.
 *
 * Values that are written around the cache go through a sink of whole lines where buckets do not
 * begin and end on them. */
#include "schemes/kernels/qsgd.h"

#include "core/bytes.h"
#include "core/copy.h"
#include "core/tile.h"
#include "schemes/kernels/lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Values worked on at a time, in the cache. */
#define BLOCK 1024

/* Distances of software prefetching: of codes in bytes, of the values that are added to in values.
 * On a Zen 5 with 25 M values: without it, masked loads of codes cost 40%, and distances up to 8192
 * were alike; adding went from 25 GB/s to 28 with 1024 values and to 30 with 2048. */
#define AHEAD      1024
#define AHEAD_OF_Y 2048

/* --- from codes to levels --- */

/* The four lowest codes of v, each in a lane of 16 bits. */
static inline uint64_t spread(uint64_t v, unsigned width)
{
    const uint64_t mask = (1u << width) - 1;
#if defined(__BMI2__)
    return _pdep_u64(v, mask * UINT64_C(0x0001000100010001));
#else
    return (v & mask) | (v >> width & mask) << 16 | (v >> 2 * width & mask) << 32 |
           (v >> 3 * width & mask) << 48;
#endif
}

/* Reads n codes as levels; fills `levels` up to a multiple of 8. */
static void unpack(const uint8_t *in, unsigned width, int16_t *levels, size_t n)
{
    const uint8_t *end = in + (n * width + 7) / 8;
    const unsigned up = 16 - width;
    for (size_t i = 0; i < n; i += 8, in += width) {
        uint8_t last[16] = {0};
        const uint8_t *from = in;
        if (end - in < 16) {
            memcpy(last, in, (size_t)(end - in));
            from = last;
        }
        cc_put_u64(levels + i, spread(cc_get_u64(from), width));
        cc_put_u64(levels + i + 4, spread(cc_get_u64(from + width / 2) >> width % 2 * 4, width));
    }
    for (size_t i = 0; i < (n + 7) / 8 * 8; i++)
        levels[i] = (int16_t)((int16_t)((uint16_t)levels[i] << up) >> up);
}

/* --- from levels to values --- */

/* (float)level / s. With a fused multiply-add: level times 1 / s as the sum of two floats, of which
 * the second, 2^-24 of the first, hardly matters but where the first alone is rounded to the wrong
 * side. This is the rounded quotient for every s up to 32767 and every level up to s (all were
 * tried), and for multiples of both by a power of two. */
struct divisor {
    float s, inverse, rest;
};

static inline struct divisor divisor_of(int s)
{
    const float inverse = 1 / (float)s;
    return (struct divisor){
        .s = (float)s, .inverse = inverse, .rest = (float)(1 / (double)s - (double)inverse)};
}

static inline float quotient(int level, struct divisor d)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    float a = (float)level;
    return __builtin_fmaf(a, d.inverse, a * d.rest);
#else
    return (float)level / d.s;
#endif
}

static inline void levels_set(const int16_t *restrict levels, float norm, struct divisor d,
                              float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = norm * quotient(levels[i], d);
}

static inline void levels_add(const int16_t *restrict levels, float norm, struct divisor d,
                              float scale, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float decoded = norm * quotient(levels[i], d);
        float product = scale * decoded;
        y[i] += product;
    }
}

static void levels(const struct cc_qsgd_form *f, const int16_t *from, float norm,
                   const struct cc_qsgd_use *use, float *y, size_t n)
{
    const struct divisor d = divisor_of(f->s);
    for (size_t i = 0; i < n; i += BLOCK) {
        float values[BLOCK];
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        if (use->add) {
            levels_add(from + i, norm, d, use->scale, y + i, m);
        } else if (use->nontemporal) {
            levels_set(from + i, norm, d, values, m);
            CC_K(k_copy).nontemporal(y + i, values, m * sizeof(float));
        } else {
            levels_set(from + i, norm, d, y + i, m);
        }
    }
}

/* --- from codes to values --- */

#define ALWAYS_INLINE inline __attribute__((always_inline))

#ifdef CC_LANES

/* The tables that turn 16 codes into lanes, and, for narrow codes, into values. */
struct reader {
    __m512i bytes, shifts; /* a code is in the lowest bits of a lane, and in the highest */
    __m512 fraction;       /* by narrow code: level / s */
    __mmask16 impossible;  /* narrow codes outside [-s, s] */
    __mmask32 present;     /* bytes of 16 codes */
    unsigned width;
    int s;
    struct divisor divisor;
};

static struct reader reader_of(const struct cc_qsgd_form *f, const uint8_t *end)
{
    (void)end; /* nothing is read beyond the codes */
    uint8_t bytes[64], shifts[64];
    float fraction[16];
    unsigned impossible = 0;
    for (unsigned i = 0; i < 64; i++) {
        unsigned bit = i / 8 * 2 * f->width, lane = i / 4 % 2, byte = i % 4;
        bytes[i] = (uint8_t)(bit / 8 + i % 8);
        bit = bit % 8 + lane * f->width;
        shifts[i] = (uint8_t)(byte < 2 ? bit : bit + f->width + 8 * byte - 32); /* modulo 64 */
    }
    for (int i = 0; i < 16; i++) {
        int half = 1 << (f->width - 1), code = i % (2 * half);
        int level = code < half ? code : code - 2 * half;
        impossible |= (unsigned)(level > f->s || level < -f->s) << i;
        fraction[i] = (float)level / (float)f->s;
    }
    return (struct reader){.bytes = _mm512_loadu_si512(bytes),
                           .shifts = _mm512_loadu_si512(shifts),
                           .fraction = _mm512_loadu_ps(fraction),
                           .impossible = (__mmask16)impossible,
                           .present = _bzhi_u32(UINT32_MAX, 2 * f->width),
                           .width = f->width,
                           .s = f->s,
                           .divisor = divisor_of(f->s)};
}

/* The bits of an impossible value: larger than those of any other. */
#define IMPOSSIBLE INT32_MAX

/* Codes of up to 4 bits; of 8 bits, which are levels as they are; others. */
enum kind { NARROW, BYTES, WIDE };

/* The variables of the loop over vectors of 16 values, in registers. */
struct lanes {
    __m512i bytes, shifts;
    __m512 norm, scale, inverse, rest;
    __m512 table; /* narrow codes: by code, the value */
    __m512i most; /* narrow codes: the largest bits; wide ones: the highest |level| */
    __m128i down; /* from the highest bits of a lane to the lowest */
    enum kind kind;
    bool add, nontemporal;
};

/* The values in the lanes in `some`, the first ones, from the bytes in `present`. */
static ALWAYS_INLINE __m512 read_lanes(struct lanes *l, const uint8_t *in, __mmask32 present,
                                       __mmask16 some)
{
    __m512i level;
    if (l->kind == BYTES) {
        level = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(some, in));
    } else {
        __m512i code = _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(present, in));
        code = _mm512_multishift_epi64_epi8(l->shifts, _mm512_permutexvar_epi8(l->bytes, code));
        if (l->kind == NARROW) {
            __m512 v = _mm512_maskz_permutexvar_ps(some, code, l->table);
            l->most = _mm512_max_epi32(l->most, _mm512_castps_si512(v));
            return v;
        }
        level = _mm512_maskz_sra_epi32(some, code, l->down);
    }
    l->most = _mm512_max_epi32(l->most, _mm512_abs_epi32(level));
    __m512 a = _mm512_cvtepi32_ps(level);
    __m512 v = _mm512_fmadd_ps(a, l->inverse, _mm512_mul_ps(a, l->rest)); /* as `quotient` */
    v = _mm512_mul_ps(l->norm, v);
    return l->add ? _mm512_mul_ps(l->scale, v) : v;
}

/* Decodes the same lanes to y. */
static ALWAYS_INLINE void decode_lanes(struct lanes *l, const uint8_t *in, __mmask32 present,
                                       __mmask16 some, float *y)
{
    __m512 v = read_lanes(l, in, present, some);
    if (l->add)
        v = _mm512_add_ps(_mm512_maskz_loadu_ps(some, y), v);
    if (some != 0xffff)
        _mm512_mask_storeu_ps(y, some, v);
    else if (l->nontemporal)
        _mm512_stream_ps(y, v);
    else
        _mm512_storeu_ps(y, v);
}

/* Decodes a bucket or a part of it. kind, add and nontemporal are constants at each call, so that
 * each combination is a loop of its own. */
static ALWAYS_INLINE bool codes_lanes(const struct reader *r, const uint8_t *in, float norm,
                                      enum kind kind, bool add, bool nontemporal, float scale,
                                      float *y, size_t n)
{
    struct lanes l = {.bytes = r->bytes,
                      .shifts = r->shifts,
                      .norm = _mm512_set1_ps(norm),
                      .scale = _mm512_set1_ps(scale),
                      .inverse = _mm512_set1_ps(r->divisor.inverse),
                      .rest = _mm512_set1_ps(r->divisor.rest),
                      .most = _mm512_setzero_si512(),
                      .down = _mm_cvtsi32_si128(32 - (int)r->width),
                      .kind = kind,
                      .add = add,
                      .nontemporal = nontemporal};
    const __m512 nothing = _mm512_castsi512_ps(_mm512_set1_epi32(IMPOSSIBLE));
    const __mmask32 present = r->present;
    const size_t bytes = 2 * r->width;
    l.table = _mm512_mul_ps(l.norm, r->fraction);
    l.table = add ? _mm512_mul_ps(l.scale, l.table) : l.table;
    l.table = _mm512_mask_mov_ps(l.table, r->impossible, nothing);
    size_t i = 0;
    for (; i + CC_LANES <= n; i += CC_LANES, in += bytes) {
        __builtin_prefetch(in + AHEAD, 0, 3);
        if (add)
            __builtin_prefetch(y + i + AHEAD_OF_Y, 1, 3);
        decode_lanes(&l, in, present, 0xffff, y + i);
    }
    if (i < n) {
        unsigned left = (unsigned)(n - i);
        decode_lanes(&l, in, _bzhi_u32(UINT32_MAX, (left * r->width + 7) / 8),
                     (__mmask16)_bzhi_u32(0xffff, left), y + i);
    }
    __m512i allowed = _mm512_set1_epi32(kind == NARROW ? IMPOSSIBLE - 1 : r->s);
    return _mm512_cmpgt_epi32_mask(l.most, allowed) == 0;
}

static ALWAYS_INLINE bool codes_of_kind(const struct reader *r, enum kind kind, const uint8_t *in,
                                        float norm, const struct cc_qsgd_use *use, float *y,
                                        size_t n)
{
    if (use->add)
        return codes_lanes(r, in, norm, kind, true, false, use->scale, y, n);
    if (use->nontemporal && (uintptr_t)y % 64 == 0)
        return codes_lanes(r, in, norm, kind, false, true, 1, y, n);
    return codes_lanes(r, in, norm, kind, false, false, 1, y, n);
}

static inline bool codes_read(const struct reader *r, const uint8_t *in, float norm,
                              const struct cc_qsgd_use *use, float *y, size_t n)
{
    if (r->width <= 4)
        return codes_of_kind(r, NARROW, in, norm, use, y, n);
    if (r->width == 8)
        return codes_of_kind(r, BYTES, in, norm, use, y, n);
    return codes_of_kind(r, WIDE, in, norm, use, y, n);
}

#elif defined(__AVX2__) || defined(__ARM_NEON)

/* The last values of a bucket, fewer than 16. */
static bool codes_tail(const struct cc_qsgd_form *f, const uint8_t *in, float norm,
                       const struct cc_qsgd_use *use, float *y, size_t n)
{
    int16_t some[16];
    bool good = true;
    unpack(in, f->width, some, n);
    for (size_t k = 0; k < n; k++)
        good = good && some[k] <= f->s && some[k] >= -f->s;
    levels(f, some, norm, use, y, n);
    return good;
}

#if defined(__ARM_NEON)
#include "schemes/kernels/qsgd_get_neon.h"
#else

/* Codes are moved to the upper bits of lanes of 8 or 16 bits, which makes them levels times a power
 * of two; s is multiplied by the same power, so the fractions are the same. */
struct reader {
    const struct cc_qsgd_form *form;
    const uint8_t *end; /* the end of the bytes that may be read */
    uint64_t mask;
    __m256i top; /* s times that power */
    __m256 inverse, rest;
};

static struct reader reader_of(const struct cc_qsgd_form *f, const uint8_t *end)
{
    const unsigned up = (f->width > 8 ? 16 : 8) - f->width;
    const uint64_t every =
        f->width > 8 ? UINT64_C(0x0001000100010001) : UINT64_C(0x0101010101010101);
    const int top = f->s << up;
    const struct divisor d = divisor_of(top);
    return (struct reader){.form = f,
                           .end = end,
                           .mask = (((UINT64_C(1) << f->width) - 1) << up) * every,
                           .top = _mm256_set1_epi32(top),
                           .inverse = _mm256_set1_ps(d.inverse),
                           .rest = _mm256_set1_ps(d.rest)};
}

/* Reads 16 codes, which take 2 * width bytes. */
static inline void read_levels(const struct reader *r, const uint8_t *in, __m256i levels[2])
{
    const unsigned width = r->form->width;
    uint8_t last[32];
    if (r->end - in < 32) {
        memcpy(last, in, (size_t)(r->end - in));
        in = last;
    }
    if (width > 8) {
        for (unsigned k = 0; k < 2; k++, in += width) {
            uint64_t low = _pdep_u64(cc_get_u64(in), r->mask);
            uint64_t high = _pdep_u64(cc_get_u64(in + width / 2) >> width % 2 * 4, r->mask);
            levels[k] = _mm256_cvtepi16_epi32(_mm_set_epi64x((long long)high, (long long)low));
        }
        return;
    }
    __m128i bytes;
    if (width == 4) {
        const __m128i upper = _mm_set1_epi8((char)0xf0);
        __m128i codes = _mm_loadl_epi64((const __m128i_u *)(const void *)in);
        bytes = _mm_unpacklo_epi8(_mm_and_si128(_mm_slli_epi16(codes, 4), upper),
                                  _mm_and_si128(codes, upper));
    } else {
        uint64_t low = _pdep_u64(cc_get_u64(in), r->mask);
        uint64_t high = _pdep_u64(cc_get_u64(in + width), r->mask);
        bytes = _mm_set_epi64x((long long)high, (long long)low);
    }
    levels[0] = _mm256_cvtepi8_epi32(bytes);
    levels[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8));
}

static ALWAYS_INLINE bool codes_lanes(const struct reader *r, const uint8_t *in, float norm,
                                      const struct cc_qsgd_use *use, bool add, bool nontemporal,
                                      float *y, size_t n)
{
    const __m256 norms = _mm256_set1_ps(norm), scales = _mm256_set1_ps(use->scale);
    const __m256 inverse = r->inverse, rest = r->rest;
    __m256i most = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 16 <= n; i += 16, in += 2 * r->form->width) {
        __m256i level[2];
        read_levels(r, in, level);
        if (add)
            __builtin_prefetch(y + i + AHEAD_OF_Y, 1, 3);
        for (size_t k = 0; k < 2; k++) {
            float *to = y + i + 8 * k;
            __m256 a = _mm256_cvtepi32_ps(level[k]);
            most = _mm256_max_epi32(most, _mm256_abs_epi32(level[k]));
            __m256 q = _mm256_fmadd_ps(a, inverse, _mm256_mul_ps(a, rest)); /* as `quotient` */
            __m256 v = _mm256_mul_ps(norms, q);
            if (add)
                v = _mm256_add_ps(_mm256_loadu_ps(to), _mm256_mul_ps(scales, v));
            if (nontemporal)
                _mm256_stream_ps(to, v);
            else
                _mm256_storeu_ps(to, v);
        }
    }
    __m256i bad = _mm256_cmpgt_epi32(most, r->top);
    return (i == n || codes_tail(r->form, in, norm, use, y + i, n - i)) &&
           _mm256_testz_si256(bad, bad);
}
#endif

static bool codes_read(const struct reader *r, const uint8_t *in, float norm,
                       const struct cc_qsgd_use *use, float *y, size_t n)
{
    if (use->add)
        return codes_lanes(r, in, norm, use, true, false, y, n);
    if (use->nontemporal && (uintptr_t)y % 32 == 0)
        return codes_lanes(r, in, norm, use, false, true, y, n);
    return codes_lanes(r, in, norm, use, false, false, y, n);
}

#else

struct reader {
    const struct cc_qsgd_form *form;
};

static inline struct reader reader_of(const struct cc_qsgd_form *f, const uint8_t *end)
{
    (void)end;
    return (struct reader){f};
}

static bool codes_read(const struct reader *r, const uint8_t *in, float norm,
                       const struct cc_qsgd_use *use, float *y, size_t n)
{
    const struct cc_qsgd_form *f = r->form;
    for (size_t i = 0; i < n; i += BLOCK) {
        int16_t some[BLOCK];
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        int bad = 0;
        unpack(in + i / 8 * f->width, f->width, some, m);
        for (size_t k = 0; k < m; k++)
            bad |= some[k] > f->s || some[k] < -f->s;
        if (bad)
            return false;
        levels(f, some, norm, use, y + i, m);
    }
    return true;
}
#endif

/* As codes_read, but through a sink that writes whole lines around the cache. */
static bool codes_to_sink(const struct reader *r, unsigned width, const uint8_t *in, float norm,
                          struct cc_sink *sink, size_t n)
{
    const struct cc_qsgd_use plain = {.add = false};
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_sink_tile(sink, n - i);
        if (!codes_read(r, in + i / 8 * width, norm, &plain, cc_sink_room(sink), m))
            return false;
        cc_sink_put(sink, m * sizeof(float));
    }
    return true;
}

/* Whether a sink is needed: buckets that begin and end on whole lines are written directly. */
static bool needs_sink(const struct cc_qsgd_use *use, const float *y, size_t bucket)
{
    return use->nontemporal && ((uintptr_t)y % CC_ALIGN != 0 || bucket * sizeof *y % CC_ALIGN != 0);
}

static bool codes(const struct cc_qsgd_form *f, const uint8_t *in, float norm,
                  const struct cc_qsgd_use *use, float *y, size_t n)
{
    struct reader r = reader_of(f, in + cc_qsgd_code_bytes(f, n));
    if (!needs_sink(use, y, CC_ALIGN))
        return codes_read(&r, in, norm, use, y, n);
    struct cc_sink sink;
    cc_sink_open(&sink, y, SIZE_MAX);
    bool good = codes_to_sink(&r, f->width, in, norm, &sink, n);
    cc_sink_close(&sink);
    return good;
}

static size_t buckets(const struct cc_qsgd_form *f, const uint8_t *in,
                      const struct cc_qsgd_use *use, float *y, size_t n)
{
    const size_t all = sizeof(float) + cc_qsgd_code_bytes(f, f->bucket), rest = n % f->bucket;
    const uint8_t *end = in + n / f->bucket * all;
    end += rest > 0 ? sizeof(float) + cc_qsgd_code_bytes(f, rest) : 0;
    struct reader r = reader_of(f, end);
    struct cc_sink sink;
    const bool sinks = needs_sink(use, y, n > f->bucket ? f->bucket : CC_ALIGN);
    if (sinks)
        cc_sink_open(&sink, y, SIZE_MAX);
    size_t i = 0;
    for (size_t m; i < n; i += m) {
        m = n - i < f->bucket ? n - i : f->bucket;
        float norm = cc_get_f32(in);
        in += sizeof norm;
        if (!cc_finite(norm) || norm < 0)
            break;
        if (!(sinks ? codes_to_sink(&r, f->width, in, norm, &sink, m)
                    : codes_read(&r, in, norm, use, y + i, m)))
            break;
        in += cc_qsgd_code_bytes(f, m);
    }
    if (sinks)
        cc_sink_close(&sink);
    return i;
}

const struct k_qsgd_get CC_K(k_qsgd_get) = {
    .unpack = unpack, .levels = levels, .codes = codes, .buckets = buckets};
