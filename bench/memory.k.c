/* The loops of bench/memory.h. A pass goes through its streams block by block: it reads, updates
 * and writes one block of each stream in turn, and the same share of the payload. Each kind of loop
 * (with or without prefetching and non-temporal stores) is compiled on its own, so that the inner
 * loops test nothing. */
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/memory.h"
#include "core/neon.h"

enum { LINE = 64, PAGE = 4096 };

/* The widest vector of the instruction set, and a store around the cache. */
#if defined(__AVX512F__)
enum { VECTOR = 64 };
#define STREAM(p, v) _mm512_stream_si512((void *)(p), (__m512i)(v))
#elif defined(__AVX2__)
enum { VECTOR = 32 };
#define STREAM(p, v) _mm256_stream_si256((void *)(p), (__m256i)(v))
#elif defined(__x86_64__)
enum { VECTOR = 16 };
#define STREAM(p, v) _mm_stream_si128((void *)(p), (__m128i)(v))
#elif defined(__ARM_NEON)
enum { VECTOR = 32 }; /* two, since non-temporal stores write pairs */
#define STREAM(p, v) stream(p, v)
#else
enum { VECTOR = 8 };
#define STREAM(p, v) STORE(p, v)
#endif
typedef uint32_t vector __attribute__((vector_size(VECTOR), may_alias));
#define LOAD(p)     (*(const vector *)(const void *)(p))
#define STORE(p, v) (*(vector *)(void *)(p) = (v))
#define ALL(n)      ((vector){0} + (n))

#if defined(__ARM_NEON)
static inline void stream(void *p, vector v)
{
    uint8x16_t half[2];
    memcpy(half, &v, sizeof half);
    cc_neon_stream(p, half[0], half[1]);
}
#endif

/* Prefetches the line `ahead` bytes further, which may lie beyond the end. */
static inline void fetch(const void *p, size_t ahead)
{
    if (ahead > 0)
        __builtin_prefetch((const void *)((uintptr_t)p + ahead));
}

/* The result depends on all that is read. Two sums, so that no load waits for another. */
static inline vector read_bytes(const unsigned char *p, size_t bytes, size_t ahead, vector all)
{
    vector other = all;
    size_t i = 0;
    for (; i + 2 * LINE <= bytes; i += 2 * LINE) {
        fetch(p + i, ahead);
        fetch(p + i + LINE, ahead);
        for (size_t k = 0; k < LINE; k += VECTOR) {
            all |= LOAD(p + i + k);
            other |= LOAD(p + i + LINE + k);
        }
    }
    for (; i < bytes; i += VECTOR)
        all |= LOAD(p + i);
    return all | other;
}

static inline void update_bytes(unsigned char *p, size_t bytes, size_t ahead)
{
    for (size_t i = 0; i < bytes; i += LINE) {
        fetch(p + i, ahead);
        for (size_t k = 0; k < LINE; k += VECTOR)
            STORE(p + i + k, LOAD(p + i + k) + 1);
    }
}

static inline void write_bytes(unsigned char *p, size_t bytes, int nontemporal)
{
    for (size_t i = 0; i < bytes; i += VECTOR) {
        if (nontemporal)
            STREAM(p + i, ALL(0x3f800000));
        else
            STORE(p + i, ALL(0x3f800000));
    }
}

/* A number that depends on every bit of v. */
static inline unsigned any_bits(vector v)
{
    unsigned char bytes[VECTOR];
    unsigned all = 0;
    memcpy(bytes, &v, VECTOR);
    for (size_t i = 0; i < VECTOR; i++)
        all |= bytes[i];
    return all;
}

/* Updates the lines of the list, then reads the payload. The list itself counts as the first bytes
 * of the payload. From CC_LINES_FAR on, prefetches go into the second-level cache. */
static inline vector update_lines(const struct cc_moves *m, size_t ahead)
{
    for (size_t i = 0; i < m->line_count; i++) {
        const size_t then = i + ahead < m->line_count ? i + ahead : m->line_count - 1;
        const unsigned char *p = m->stream[0] + (size_t)m->line[then] * LINE;
        if (ahead >= CC_LINES_FAR)
            __builtin_prefetch(p, 0, 2);
        else if (ahead > 0)
            __builtin_prefetch(p, 1);
        update_bytes(m->stream[0] + (size_t)m->line[i] * LINE, LINE, 0);
    }
    return read_bytes(m->payload, m->payload_bytes, 0, ALL(0));
}

/* Writes the bytes from `begin` on of the first stream: lines of zeros, or, where the bit is set,
 * with a single value that is not zero. */
static inline void fill_bytes(const struct cc_moves *m, size_t begin, size_t bytes, int nontemporal)
{
    static const float one[VECTOR / sizeof(float)] = {1.0f};
    unsigned char *p = m->stream[0] + begin;
    size_t bit = m->first_bit + begin / LINE;
    vector value[2] = {ALL(0), ALL(0)};
    memcpy(&value[1], one, VECTOR);
    for (size_t i = 0; i < bytes; i += LINE, bit++) {
        vector v = value[m->filled[bit / 8] >> bit % 8 & 1];
        for (size_t k = 0; k < LINE; k += VECTOR, v = ALL(0)) {
            if (nontemporal)
                STREAM(p + i + k, v);
            else
                STORE(p + i + k, v);
        }
    }
}

/* Prefetches one line of the next page of every stream. */
static inline void touch_pages(const struct cc_moves *m, size_t i, size_t payload)
{
    for (unsigned s = 0; s < m->reads + m->updates + m->writes; s++)
        fetch(m->stream[s] + i, PAGE);
    fetch(m->payload + payload, PAGE);
}

/* One pass. `ahead` and `nontemporal` are constants at each call. */
static inline vector move_blocks(const struct cc_moves *m, const struct cc_copy_loop *config,
                                 size_t ahead, int nontemporal)
{
    size_t lines = m->payload_bytes / LINE, block = config->block;
    double lines_per_byte = (double)lines / (double)m->stream_bytes;
    vector all = ALL(0);
    for (size_t i = 0, begin = 0, end; i < m->stream_bytes; i += block, begin = end) {
        size_t bytes = m->stream_bytes - i < block ? m->stream_bytes - i : block;
        end = i + bytes == m->stream_bytes ? m->payload_bytes
                                           : (size_t)((double)(i + bytes) * lines_per_byte) * LINE;
        unsigned s = 0;
        if (config->touch)
            touch_pages(m, i, begin);
        if (m->half && m->reads > 0)
            all = read_bytes(m->stream[s++] + i / 2, bytes / 2, ahead, all);
        for (; s < m->reads; s++)
            all = read_bytes(m->stream[s] + i, bytes, ahead, all);
        for (; s < m->reads + m->updates; s++)
            update_bytes(m->stream[s] + i, bytes, ahead);
        if (m->payload_in)
            all = read_bytes(m->payload + begin, end - begin, ahead, all);
        else
            write_bytes(m->payload + begin, end - begin, nontemporal);
        if (m->filled != NULL)
            fill_bytes(m, i, bytes, nontemporal);
        else
            for (; s < m->reads + m->updates + m->writes; s++)
                write_bytes(m->stream[s] + i, bytes, nontemporal);
    }
    return all;
}

static unsigned move(const struct cc_moves *m, const struct cc_copy_loop *config)
{
    vector all;
    if (m->line != NULL)
        all = update_lines(m, config->ahead);
    else if (config->ahead > 0 && config->nontemporal)
        all = move_blocks(m, config, config->ahead, 1);
    else if (config->ahead > 0)
        all = move_blocks(m, config, config->ahead, 0);
    else if (config->nontemporal)
        all = move_blocks(m, config, 0, 1);
    else
        all = move_blocks(m, config, 0, 0);
#if defined(__x86_64__)
    if (config->nontemporal)
        _mm_sfence();
#endif
    return any_bits(all);
}

const struct k_memory CC_K(k_memory) = {.move = move};
