/* The loops of base3.k.c over whole vectors, four at a time, for AVX2 and NEON. Each returns the
 * number of values it did. No include guard: it is a part of base3.k.c, which includes it after its
 * own definitions. */
#include "schemes/kernels/neon.h"

enum { STEP = 4 * CC_VECTOR };

/* As many bytes as four vectors have lanes. */
typedef uint8_t vbytes __attribute__((vector_size(4 * CC_VECTOR)));
typedef int8_t vsigned __attribute__((vector_size(4 * CC_VECTOR)));
typedef uint16_t vpairs __attribute__((vector_size(4 * CC_VECTOR)));

static inline vbytes load_bytes(const void *p)
{
    vbytes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_bytes(void *p, vbytes v)
{
    memcpy(p, &v, sizeof v);
}

/* --- what differs between the instruction sets --- */

#if defined(__AVX2__)

/* The part of v that is sent: m with its sign where `sent`, else 0; the residual keeps the rest,
 * unless it is NULL. Returns trits as trits_add takes them: saturating packs leave a number's sign.
 */
static inline cc_vi32 send(cc_vi32 sent, cc_vf32 v, cc_vf32 m, float *r)
{
    const cc_vi32 value = sent & ((cc_vi32)m | ((cc_vi32)v & INT32_MIN));
    if (r != NULL)
        cc_vf32_store(r, v - (cc_vf32)value);
    return value;
}

static inline cc_vf32 magnitude(cc_vf32 v)
{
    return (cc_vf32)((cc_vi32)v & INT32_MAX);
}

/* bytes + weight * trit */
static inline vbytes trits_add(vbytes bytes, const cc_vi32 trit[4], uint8_t weight)
{
    /* Packing works on halves of 16 bytes: back into order, four bytes at a time. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i w = _mm256_set1_epi8((char)weight);
    __m256i low = _mm256_packs_epi32((__m256i)trit[0], (__m256i)trit[1]);
    __m256i high = _mm256_packs_epi32((__m256i)trit[2], (__m256i)trit[3]);
    __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    return bytes + (vbytes)_mm256_sign_epi8(w, all);
}

static inline vbytes larger(vbytes a, vbytes b)
{
    return (vbytes)_mm256_max_epu8((__m256i)a, (__m256i)b);
}

/* Where b >= least. */
static inline vbytes at_least(vbytes b, uint8_t least)
{
    return (vbytes)(larger(b, (vbytes){0} + least) == b);
}

/* last_four for look_up: a rest below 27 is looked up in 16 + 11 elements. */
struct tables {
    __m256i low, high;
};

static inline __m256i both_halves(const uint8_t *table)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)(const void *)table));
}

static inline struct tables last_four_tables(void)
{
    return (struct tables){both_halves(last_four), both_halves(last_four + 16)};
}

/* The elements of last_four at b < 81. A set upper bit gives 0: adding 112 with saturation sets it
 * from 16 on, subtracting 16 below 16. */
static inline vbytes look_up(vbytes b, const struct tables *t)
{
    const vbytes one = (vbytes)((vsigned)b > 26), two = (vbytes)((vsigned)b > 53);
    b = b - (one & 27) - (two & 27);
    const __m256i low_at = _mm256_adds_epu8((__m256i)b, _mm256_set1_epi8(112));
    const __m256i low = _mm256_shuffle_epi8(t->low, low_at);
    return ((vbytes)low | (vbytes)_mm256_shuffle_epi8(t->high, (__m256i)(b - 16))) - (one + two);
}

/* By the lower three bits of a byte, of which the third is not the digit's. */
typedef __m256 value_table;

static inline value_table table_of(const float value[3])
{
    return _mm256_setr_ps(value[0], value[1], value[2], 0, value[0], value[1], value[2], 0);
}

/* Vector k of the values of 16 digits in bits `shift` and above. */
static inline cc_vf32 values(const uint8_t *digits, size_t k, unsigned shift, value_table table)
{
    __m128i eight = _mm_loadl_epi64((const __m128i_u *)(const void *)(digits + 8 * k));
    __m256i d = _mm256_srli_epi32(_mm256_cvtepu8_epi32(eight), (int)shift);
    return _mm256_permutevar8x32_ps(table, d);
}

#else

static inline cc_vi32 send(cc_vi32 sent, cc_vf32 v, cc_vf32 m, float *r)
{
    const cc_vi32 trit = sent & ((cc_vi32)v >> 31 | 1);
    if (r != NULL)
        cc_vf32_store(r, v - m * vcvtq_f32_s32(trit));
    return trit;
}

static inline cc_vf32 magnitude(cc_vf32 v)
{
    return vabsq_f32(v);
}

static inline vbytes trits_add(vbytes bytes, const cc_vi32 trit[4], uint8_t weight)
{
    uint8x16_t all = cc_neon_low_bytes((uint32x4_t)trit[0], (uint32x4_t)trit[1],
                                       (uint32x4_t)trit[2], (uint32x4_t)trit[3]);
    return vmlaq_u8(bytes, all, vdupq_n_u8(weight));
}

static inline vbytes larger(vbytes a, vbytes b)
{
    return vmaxq_u8(a, b);
}

static inline vbytes at_least(vbytes b, uint8_t least)
{
    return (vbytes)(b >= least);
}

struct tables {
    uint8x16x4_t low;
    uint8x16x2_t high;
};

static inline struct tables last_four_tables(void)
{
    return (struct tables){vld1q_u8_x4(last_four), vld1q_u8_x2(last_four + 64)};
}

static inline vbytes look_up(vbytes b, const struct tables *t)
{
    return vqtbx2q_u8(vqtbl4q_u8(t->low, b), t->high, b - 64);
}

/* The values of four digits are looked up byte by byte: byte b of value d is byte 4 d + b. */
typedef uint8x16_t value_table;

static inline value_table table_of(const float value[3])
{
    const float all[4] = {value[0], value[1], value[2], 0};
    return vreinterpretq_u8_f32(vld1q_f32(all));
}

static inline cc_vf32 values(const uint8_t *digits, size_t k, unsigned shift, value_table table)
{
    static const uint8_t each[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    const uint8x16_t d = vld1q_u8(digits), within = vreinterpretq_u8_u32(vdupq_n_u32(0x03020100));
    const uint8x16_t digits4 = vandq_u8(shift == 0 ? vshlq_n_u8(d, 2) : d, vdupq_n_u8(12));
    const uint8x16_t which = vaddq_u8(vld1q_u8(each), vdupq_n_u8((uint8_t)(4 * k)));
    const uint8x16_t byte = vaddq_u8(vqtbl1q_u8(digits4, which), within);
    return vreinterpretq_f32_u8(vqtbl1q_u8(table, byte));
}

#endif

/* --- loops --- */

static inline void prefetch_step(const float *x, const float *r, size_t ahead)
{
    for (size_t k = 0; k < STEP; k += CC_ALIGN / sizeof *x) {
        prefetch(x + k, ahead);
        if (r != NULL)
            prefetch(r + k, ahead);
    }
}

/* x + r, or x where r is NULL. */
static inline cc_vf32 load_sum(const float *x, const float *r)
{
    return r == NULL ? cc_vf32_load(x) : cc_vf32_load(x) + cc_vf32_load(r);
}

static inline size_t round_vectors(const float *restrict x, float *restrict r, float m, float half,
                                   uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        cc_vi32 trit[4];
        prefetch_step(x + i, r != NULL ? r + i : NULL, AHEAD);
        for (size_t k = 0; k < 4; k++) {
            const size_t at = i + CC_VECTOR * k;
            const cc_vf32 v = load_sum(x + at, r != NULL ? r + at : NULL);
            trit[k] = (v <= -half) - (v >= half);
            if (r != NULL)
                cc_vf32_store(r + at, v - m * __builtin_convertvector(trit[k], cc_vf32));
        }
        store_bytes(bytes + i, trits_add(load_bytes(bytes + i), trit, weight));
    }
    return i;
}

/* Where k * unit < a without rounding: where the rounded product equals a, the rounding error
 * decides. */
static inline cc_vi32 below(cc_vi32 k, cc_vf32 unit, cc_vf32 a)
{
    const cc_vf32 number = __builtin_convertvector(k, cc_vf32), product = number * unit;
    const cc_vf32 lost = cc_vf32_fma(number, unit, -product);
    return (product < a) | ((product == a) & (lost < 0));
}

static inline size_t draw_vectors(const float *restrict x, float *restrict r, float m,
                                  struct cc_key key, uint32_t index, uint8_t weight,
                                  uint8_t *restrict bytes, size_t n)
{
    const cc_vf32 scale = cc_vf32_all(m), unit = cc_vf32_all(m * 0x1p-24f);
    cc_vu32 lane = cc_vu32_index(key, index);
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        cc_vi32 trit[4];
        prefetch_step(x + i, r != NULL ? r + i : NULL, r == NULL ? AHEAD_DRAW : AHEAD);
        for (size_t k = 0; k < 4; k++, lane += CC_VECTOR) {
            const size_t at = i + CC_VECTOR * k;
            const cc_vf32 v = load_sum(x + at, r != NULL ? r + at : NULL);
            const cc_vi32 random = (cc_vi32)(cc_vu32_random(lane, key.b) >> 8);
            const cc_vi32 sent = below(random, unit, magnitude(v));
            trit[k] = send(sent, v, scale, r != NULL ? r + at : NULL);
        }
        store_bytes(bytes + i, trits_add(load_bytes(bytes + i), trit, weight));
    }
    return i;
}

static inline size_t split_vectors(const uint8_t *restrict bytes,
                                   uint8_t *const digits[CC_DIGIT_ARRAYS], size_t n, unsigned *most)
{
    const struct tables t = last_four_tables();
    vbytes all = {0};
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        const vbytes b = load_bytes(bytes + i);
        const vbytes one = at_least(b, 81), two = at_least(b, 162), first = -(one + two);
        const vbytes others = look_up(b - (one & 81) - (two & 81), &t);
        const vbytes last = (vbytes)((vpairs)others >> 4);
        all = larger(all, b);
        store_bytes(digits[0] + i, first);
        store_bytes(digits[1] + i, others);
        store_bytes(digits[2] + i, last);
    }
    uint8_t each[STEP];
    store_bytes(each, all);
    for (size_t k = 0; k < STEP; k++)
        *most = each[k] > *most ? each[k] : *most;
    return i;
}

static inline size_t set_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n,
                                 bool nontemporal)
{
    const value_table table = table_of(value);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        cc_vf32 v[CC_VECTORS_16];
        for (size_t k = 0; k < CC_VECTORS_16; k++)
            v[k] = values(digits + i, k, shift, table);
        cc_store_16(y + i, v, nontemporal);
    }
    return i;
}

static inline size_t add_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n)
{
    const value_table table = table_of(value);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        cc_vf32 v[CC_VECTORS_16];
        prefetch(y + i, AHEAD_ADD);
        for (size_t k = 0; k < CC_VECTORS_16; k++)
            v[k] = cc_vf32_load(y + i + CC_VECTOR * k) + values(digits + i, k, shift, table);
        cc_store_16(y + i, v, false);
    }
    return i;
}
