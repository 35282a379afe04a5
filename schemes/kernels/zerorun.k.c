/* Zero-run encoding, the last step of 3lc (Lim, Andersen, Kaminsky: 3LC, MLSys 2019, section 3.3).
 *
 * A base-3 byte of 121 is five zero trits, and base-3 bytes end at 242. So a run of k = 2 to 14
 * bytes of 121 is written as the byte 241 + k; longer runs are cut into runs of 14, and a single
 * 121 stays as it is.
 *
 * Encoding without branches: each byte of input gives the byte of output that would end a run here,
 * and the output advances only at the end of a run or after other bytes. With AVX-512 VBMI2 this is
 * done for 64 bytes at once: a running maximum gives the place of the last byte that is not 121,
 * the distance to it is the length of the run, a table gives the byte to write, and a compress
 * instruction removes the rest. With AVX2 and NEON the runs are found in a mask of 64 bytes, and
 * what is between them is copied.
 *
 * Decoding begins with output full of 121, so that a run needs one store and an advance. Bytes are
 * taken in groups of 8: their lengths are added up by a multiplication, which gives the eight
 * places to write to; a group without a run is copied. */
#include "schemes/kernels/zerorun.h"

#include <string.h>

#include "core/bytes.h"
#include "schemes/kernels/base3.h"
#include "schemes/kernels/neon.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* Decoding finds values and lengths of this many bytes, before it takes their groups. */
#define PREPARED 64

#ifdef __AVX512VBMI2__

/* By the length of a run, which is cut into 14s: the byte that stands for its last cut. */
#define CUT 121, 243, 244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 255
static const uint8_t last_cut[128] = {0, CUT, CUT, CUT, CUT, CUT, CUT, CUT, CUT, CUT, 121};

/* Each byte becomes the largest of the bytes up to and including it. */
static inline __m512i running_max(__m512i v, const __m512i *earlier)
{
    __mmask64 from = ~UINT64_C(1);
    for (int step = 0, shift = 1; step < 6; step++, shift *= 2) {
        v = _mm512_max_epu8(v, _mm512_maskz_permutexvar_epi8(from, earlier[step], v));
        from <<= shift;
    }
    return v;
}

/* Encodes 64 bytes at a time: the length of the run up to each byte follows from the place of the
 * last byte that is not zero. Zero bytes that do not end a cut are removed. Returns the number of
 * bytes read. */
static size_t encode_vectors(const uint8_t *restrict in, size_t n, unsigned *run,
                             uint8_t *restrict out, size_t *written)
{
    uint8_t places[64];
    for (unsigned k = 0; k < 64; k++)
        places[k] = (uint8_t)(k + 1);
    const __m512i place = _mm512_loadu_si512(places);
    __m512i earlier[6];
    for (int step = 0; step < 6; step++)
        earlier[step] = _mm512_sub_epi8(place, _mm512_set1_epi8((char)((1 << step) + 1)));
    const __m512i low = _mm512_loadu_si512(last_cut);
    const __m512i high = _mm512_loadu_si512(last_cut + 64);
    const __m512i zero_byte = _mm512_set1_epi8((char)CC_BYTE_ZERO);
    unsigned pending = *run;
    size_t w = 0, i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512i b = _mm512_loadu_si512(in + i);
        uint64_t zero = _mm512_cmpeq_epi8_mask(b, zero_byte);
        __m512i other = running_max(_mm512_maskz_mov_epi8(~zero, place), earlier);
        __m512i length = _mm512_sub_epi8(place, other);
        uint64_t from_before = _mm512_testn_epi8_mask(other, other);
        length = _mm512_mask_add_epi8(length, from_before, length, _mm512_set1_epi8((char)pending));
        __m512i cut = _mm512_permutex2var_epi8(low, length, high);
        uint64_t full = _mm512_mask_cmpeq_epi8_mask(zero, cut, _mm512_set1_epi8((char)255));
        uint64_t ends = ~zero >> 1 | (uint64_t)(in[i + 64] != CC_BYTE_ZERO) << 63;
        uint64_t keep = ~zero | full | ends;
        __m512i bytes = _mm512_mask_mov_epi8(b, zero, cut);
        _mm512_storeu_si512(out + w, _mm512_maskz_compress_epi8(keep, bytes));
        w += (size_t)__builtin_popcountll(keep);
        pending = ~zero == 0 ? pending + 64 : (unsigned)__builtin_clzll(~zero);
        pending %= CC_RUN_MAX;
    }
    *run = pending;
    *written = w;
    return i;
}

#elif defined(__AVX2__) || defined(__ARM_NEON)

#if defined(__AVX2__)
static inline uint64_t zero_mask(const uint8_t *in)
{
    __m256i zero_byte = _mm256_set1_epi8((char)CC_BYTE_ZERO);
    __m256i a = _mm256_loadu_si256((const __m256i_u *)in);
    __m256i b = _mm256_loadu_si256((const __m256i_u *)(in + 32));
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, zero_byte));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, zero_byte));
    return low | (uint64_t)high << 32;
}
#else
static inline uint64_t zero_mask(const uint8_t *in)
{
    uint8x16_t zero[4];
    for (size_t k = 0; k < 4; k++)
        zero[k] = vceqq_u8(vld1q_u8(in + 16 * k), vdupq_n_u8(CC_BYTE_ZERO));
    return cc_neon_bits64(zero);
}
#endif

/* Encodes 64 bytes at a time, from run to run. Copies of 64 and of 8 bytes exceed what they are
 * for. Returns the number of bytes read. */
static size_t encode_vectors(const uint8_t *restrict in, size_t n, unsigned *run,
                             uint8_t *restrict out, size_t *written)
{
    size_t w = 0, i = 0, pending = *run;
    for (; i + 64 <= n; i += 64) {
        uint64_t zero = zero_mask(in + i), goes_on = in[i + 64] == CC_BYTE_ZERO;
        /* A single zero byte counts as one of the others. */
        uint64_t left = zero & (zero << 1 | (pending > 0) | zero >> 1 | goes_on << 63);
        size_t done = 0;
        while (left != 0) {
            size_t begin = (size_t)__builtin_ctzll(left);
            /* The sum carries through the first run into the place after it. */
            uint64_t beyond = left + (left & -left);
            size_t end = beyond != 0 ? (size_t)__builtin_ctzll(beyond) : 64;
            memcpy(out + w, in + i + done, 64);
            w += begin - done;
            size_t length = pending + end - begin, rest = length % CC_RUN_MAX;
            memset(out + w, 255, 8);
            w += length / CC_RUN_MAX;
            pending = end == 64 && goes_on ? rest : 0;
            out[w] = (uint8_t)(rest > 1 ? CC_RUN_CODE + rest : CC_BYTE_ZERO);
            w += rest > pending;
            left &= beyond;
            done = end;
        }
        memcpy(out + w, in + i + done, 64);
        w += 64 - done;
    }
    *run = (unsigned)pending;
    *written = w;
    return i;
}

#endif

/* One byte at a time. */
static size_t encode(const uint8_t *restrict in, size_t n, unsigned *run, uint8_t *restrict out)
{
    size_t w = 0, i = 0;
#if defined(__AVX2__) || defined(__ARM_NEON)
    i = encode_vectors(in, n, run, out, &w);
#endif
    unsigned length = *run;
    for (; i < n; i++) {
        unsigned zero = in[i] == CC_BYTE_ZERO;
        length = zero ? length + 1 : 0;
        unsigned ends = (in[i + 1] != CC_BYTE_ZERO) | (length == CC_RUN_MAX);
        out[w] = (uint8_t)(length > 1 ? CC_RUN_CODE + length : in[i]);
        w += (zero ^ 1) | ends;
        length = ends ? 0 : length;
    }
    *run = length;
    return w;
}

/* The byte that an encoded byte expands to, and how often. Without branches. Compilers may read a
 * byte from memory twice, so for input that others write, *times is any number; what follows holds
 * for all of them. */
static inline uint8_t expand(uint8_t byte, uint8_t *times)
{
    uint8_t is_run = (uint8_t) - (byte > CC_BYTE_MAX);
    *times = (uint8_t)(1 + ((byte - CC_BYTE_MAX) & is_run));
    return (uint8_t)(byte ^ ((byte ^ CC_BYTE_ZERO) & is_run));
}

/* Writes the bytes of a group to their places, which are below 256. Only the first zero of a run is
 * written, as the output is full of them. Returns the number of bytes that the group expands to. */
static inline size_t expand_group(const uint8_t *value, const uint8_t *times, uint8_t *out)
{
    /* Byte k of `ends`: the sum of times[0 .. k], at most 8 * 14. */
    uint64_t ends = cc_get_u64(times) * UINT64_C(0x0101010101010101), starts = ends << 8;
    size_t all = ends >> 56;
    if (all == CC_RUN_GROUP) {
        memcpy(out, value, CC_RUN_GROUP);
        return all;
    }
    for (unsigned k = 0; k < CC_RUN_GROUP; k++)
        out[starts >> 8 * k & 255] = value[k];
    return all;
}

static size_t decode(const uint8_t *restrict in, size_t len, size_t *at, uint8_t *restrict out,
                     size_t want)
{
    uint8_t value[PREPARED], times[PREPARED];
    size_t w = 0, i = *at;
    while (len - i >= PREPARED && w < want) {
        for (size_t k = 0; k < PREPARED; k++)
            value[k] = expand(in[i + k], times + k);
        for (size_t k = 0; k < PREPARED && w < want; k += CC_RUN_GROUP) {
            w += expand_group(value + k, times + k, out + w);
            i += CC_RUN_GROUP;
        }
    }
    for (; i < len && w < want; i++) {
        out[w] = expand((uint8_t)cc_once(in[i]), times);
        w += times[0];
    }
    *at = i;
    return w;
}

static size_t skip(const uint8_t *in, size_t len, size_t *at, size_t want)
{
    size_t w = 0, i = *at;
    for (; len - i >= PREPARED; i += PREPARED) {
        unsigned group = 0;
        for (size_t k = 0; k < PREPARED; k++) {
            uint8_t times;
            (void)expand(in[i + k], &times);
            group += times;
        }
        if (group > want - w)
            break;
        w += group;
    }
    for (; i < len && w < want; i++) {
        uint8_t times;
        (void)expand((uint8_t)cc_once(in[i]), &times);
        w += times;
    }
    *at = i;
    return w;
}

const struct k_zerorun CC_K(k_zerorun) = {.encode = encode, .decode = decode, .skip = skip};
