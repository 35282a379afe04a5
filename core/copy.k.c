/* The kernel of core/copy.h, compiled once per instruction set. */
#include "core/copy.h"

#include <stdint.h>
#include <string.h>

#include "core/neon.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR 64
static inline void stream(uint8_t *to, const uint8_t *from)
{
    _mm512_stream_si512((__m512i *)(void *)to, _mm512_loadu_si512(from));
}
#elif defined(__AVX2__)
#define VECTOR 32
static inline void stream(uint8_t *to, const uint8_t *from)
{
    __m256i v = _mm256_loadu_si256((const __m256i_u *)(const void *)from);
    _mm256_stream_si256((__m256i *)(void *)to, v);
}
#elif defined(__ARM_NEON)
#define VECTOR 32
static inline void stream(uint8_t *to, const uint8_t *from)
{
    cc_neon_stream(to, vld1q_u8(from), vld1q_u8(from + 16));
}
#endif

static void nontemporal(void *restrict to, const void *restrict from, size_t bytes)
{
#ifdef VECTOR
    uint8_t *w = to;
    const uint8_t *in = from;
    size_t head = (size_t)(-(uintptr_t)w % 64);
    head = head < bytes ? head : bytes;
    if (head > 0)
        memcpy(w, in, head);
    size_t i = head;
    for (; i + 64 <= bytes; i += 64)
        for (size_t k = 0; k < 64; k += VECTOR)
            stream(w + i + k, in + i + k);
    if (i < bytes)
        memcpy(w + i, in + i, bytes - i);
#else
    memcpy(to, from, bytes);
#endif
}

static void fence(void)
{
#if defined(__AVX2__)
    _mm_sfence();
#endif
}

const struct k_copy CC_K(k_copy) = {.nontemporal = nontemporal, .fence = fence};
