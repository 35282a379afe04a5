/* Merging lists of index-value pairs.
 *
 * A step of a merge compares the heads of both lists, and stores and passes the smaller one. Which
 * one that is cannot be predicted, so the loop does not branch: the comparison becomes a mask that
 * selects the pair, and a number that is added to the place in the list. The next step waits for
 * that number. So the output is cut into LANES equal parts, whose beginnings in both lists are
 * found by binary search (Green, McColl, Bader, GPU Merge Path, ICS 2012), and one step of each is
 * made in turn: they wait at the same time. */
#include "netsim/exchange/pack/pair_merge.h"

#include <string.h>

#include "core/bytes.h"
#include "schemes/kernels/masks.h"

enum { LANES = 4 };

#define ABSENT 0x80000000u

/* A part of the output, and what of both lists is not merged yet. */
struct lane {
    const struct cc_index_value *a, *b;
    struct cc_index_value *out;
};

/* Writes out[k]; the pair as a number of which the lower half is the index. */
static inline void step(struct lane *l, size_t k)
{
    uint64_t a, b;
    memcpy(&a, l->a, sizeof a);
    memcpy(&b, l->b, sizeof b);
    const size_t second = (uint32_t)b < (uint32_t)a;
    a ^= (a ^ b) & -(uint64_t)second;
    memcpy(l->out + k, &a, sizeof a);
    l->b += second;
    l->a += second ^ 1;
}

/* The lane that begins at out[k]. */
static struct lane lane_at(const struct cc_index_value *a, size_t a_count,
                           const struct cc_index_value *b, size_t b_count,
                           struct cc_index_value *out, size_t k)
{
    size_t low = k > b_count ? k - b_count : 0, high = k < a_count ? k : a_count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (a[mid].index <= b[k - mid - 1].index)
            low = mid + 1;
        else
            high = mid;
    }
    return (struct lane){a + low, b + (k - low), out + k};
}

static void merge(const struct cc_index_value *a, size_t a_count, const struct cc_index_value *b,
                  size_t b_count, struct cc_index_value *out)
{
    const size_t n = a_count + b_count, each = n / LANES;
    struct lane p = {a, b, out}, q = lane_at(a, a_count, b, b_count, out, each),
                r = lane_at(a, a_count, b, b_count, out, 2 * each),
                s = lane_at(a, a_count, b, b_count, out, 3 * each);
    for (size_t k = 0; k < each; k++) {
        step(&p, k);
        step(&q, k);
        step(&r, k);
        step(&s, k);
    }
    for (size_t k = each; k < n - 3 * each; k++)
        step(&s, k);
}

/* --- sums --- */

static inline int is_absent(float v)
{
    return cc_f32_bits(v) == ABSENT;
}

/* Sums the runs that begin in in[from, to), one by one: defines the result. They may end beyond. */
static size_t sum_few(const struct cc_index_value *in, size_t from, size_t to,
                      struct cc_index_value *out)
{
    size_t c = 0, i = from;
    while (i > 0 && i < to && in[i].index == in[i - 1].index)
        i++;
    while (i < to) {
        struct cc_index_value sum = in[i++];
        for (; in[i].index == sum.index; i++)
            sum.value += in[i].value;
        out[c] = sum;
        c += !is_absent(sum.value);
    }
    return c;
}

/* The same of the GROUP pairs from in[0] on, if no run is longer than two pairs and no sum is
 * absent; else returns false. in[-1] and two pairs behind the group are there. */
#if defined(__AVX512F__)

enum { GROUP = 8 };

static inline int sum_group(const struct cc_index_value *in, struct cc_index_value *out,
                            size_t *sums)
{
    const __mmask16 indices = 0x5555, values = 0xaaaa;
    const __m512i v = _mm512_loadu_si512(in), next = _mm512_loadu_si512(in + 1);
    const __m512 f = _mm512_castsi512_ps(v), g = _mm512_castsi512_ps(next);
    const __mmask16 runs = _mm512_mask_cmpeq_epi32_mask(indices, v, next);
    const __mmask16 longer = _mm512_mask_cmpeq_epi32_mask(indices, v, _mm512_loadu_si512(in + 2));
    const __mmask16 first = _mm512_mask_cmpneq_epi32_mask(indices, v, _mm512_loadu_si512(in - 1));
    const __m512i sum = _mm512_castps_si512(_mm512_mask_add_ps(f, (__mmask16)(runs << 1), f, g));
    const __m512i absent = _mm512_set1_epi32((int)ABSENT);
    if ((longer | _mm512_mask_cmpeq_epi32_mask(values, sum, absent)) != 0)
        return 0;
    const __mmask8 k = (__mmask8)_pext_u32(first, indices);
    _mm512_storeu_si512(out, _mm512_mask_compress_epi64(fresh16(), k, sum));
    *sums = (unsigned)__builtin_popcount(k);
    return 1;
}

#else

enum { GROUP = 16 };

static inline int sum_group(const struct cc_index_value *in, struct cc_index_value *out,
                            size_t *sums)
{
    unsigned other = in[-1].index == in[0].index;
    for (size_t i = 0; i < GROUP; i++)
        other |= (unsigned)(in[i].index == in[i + 1].index) | (unsigned)is_absent(in[i].value);
    if (other != 0)
        return 0;
    memcpy(out, in, GROUP * sizeof *out);
    *sums = GROUP;
    return 1;
}

#endif

static size_t sum_runs(const struct cc_index_value *in, size_t count, struct cc_index_value *out)
{
    size_t c = 0, sums = 0;
    for (size_t i = 0; i < count; i += GROUP, c += sums) {
        const size_t left = count - i;
        if (i == 0 || left <= GROUP || !sum_group(in + i, out + c, &sums))
            sums = sum_few(in, i, left < GROUP ? count : i + GROUP, out + c);
    }
    return c;
}

/* --- received pairs --- */

static void join(const uint8_t *index, const uint8_t *value, size_t count, uint32_t base,
                 struct cc_index_value *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] =
            (struct cc_index_value){base + cc_get_u16(index + 2 * i), cc_get_f32(value + 4 * i)};
}

static void copy(const uint8_t *in, size_t count, uint32_t base, struct cc_index_value *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct cc_index_value){base + cc_get_u32(in + sizeof *out * i),
                                         cc_get_f32(in + sizeof *out * i + 4)};
}

const struct k_merge CC_K(k_merge) = {
    .merge = merge, .sum_runs = sum_runs, .join = join, .copy = copy};
