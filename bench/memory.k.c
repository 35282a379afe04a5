/* Loops that move bytes and do nothing else, for bench/roofline.h. */
#include "bench/roofline.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "core/bytes.h"

static unsigned read_all(const float *x, size_t n)
{
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= cc_f32_bits(x[i]);
    return all;
}

static void update(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += 1.0f;
}

static void write_plain(void *out, size_t bytes)
{
    uint64_t *p = out;
    for (size_t i = 0; i < bytes / 8; i++)
        p[i] = UINT64_C(0x3f8000003f800000) + (i & 1);
}

static void write_past(void *out, size_t bytes)
{
#if defined(__AVX512F__)
    __m512i *p = out;
    __m512i v = _mm512_set1_epi32(0x3f800000);
    for (size_t i = 0; i < bytes / 64; i++)
        _mm512_stream_si512(p + i, v);
    _mm_sfence();
#elif defined(__AVX2__)
    __m256i *p = out;
    __m256i v = _mm256_set1_epi32(0x3f800000);
    for (size_t i = 0; i < bytes / 32; i++)
        _mm256_stream_si256(p + i, v);
    _mm_sfence();
#else
    write_plain(out, bytes);
#endif
}

const struct k_memory CC_K(k_memory) = {
    .read = read_all, .update = update, .write = write_plain, .write_past = write_past};
