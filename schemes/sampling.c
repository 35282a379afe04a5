/* A sample takes one value from each of equal ranges of the tensor, at a place drawn at random. */
#include "schemes/selection.h"

#include "core/parallel.h"

#define STREAM 1

/* The locality of prefetching lines here and there: to the second-level cache, which waits for more
 * of them at once than the first does. Measured on Zen 4: 131,072 values of two tensors are sampled
 * in 1.0 ms so, and in 2.1 by the first level or without. */
#define FAR 2

struct sampling {
    const struct cc_selection_input *from;
    struct cc_key key;
    size_t count;
    float *out;
};

#define SAMPLE_BATCH 256

/* The places of sample values first .. first + m - 1, prefetched: one from each of `count` equal
 * ranges of the tensor, range i being [i n / count, (i + 1) n / count), computed without overflow.
 */
static void sample_places(const struct sampling *s, size_t first, size_t m, size_t *at)
{
    size_t whole = s->from->n / s->count, remainder = s->from->n % s->count;
    size_t begin = first * whole + first * remainder / s->count,
           over = first * remainder % s->count;
    for (size_t i = 0; i < m; i++) {
        over += remainder;
        bool longer = over >= s->count;
        over -= longer ? s->count : 0;
        size_t length = whole + longer;
        at[i] = begin + (length * (size_t)cc_random(s->key, (uint32_t)(first + i)) >> 32);
        begin += length;
    }
    for (size_t i = 0; i < m; i++) {
        __builtin_prefetch(s->from->gradient + at[i], 0, FAR);
        if (s->from->sum != NULL)
            __builtin_prefetch(s->from->sum + at[i], 0, FAR);
        if (s->from->momentum != NULL)
            __builtin_prefetch(s->from->momentum + at[i], 0, FAR);
    }
}

/* The value that x will have at index i once it is updated. */
static float updated_value(const struct cc_selection_input *from, size_t i)
{
    float v = from->gradient[i];
    if (from->momentum != NULL) {
        float product = from->factor * from->momentum[i];
        v = product + v;
    }
    return from->sum != NULL ? from->sum[i] + v : v;
}

/* Places are computed and prefetched one batch ahead of reading. */
static size_t sample_range(void *arg, size_t i, size_t end)
{
    const struct sampling *s = arg;
    size_t at[2][SAMPLE_BATCH], fetched = 0;
    for (int now = 0; i < end || fetched > 0; now ^= 1) {
        size_t m = end - i < SAMPLE_BATCH ? end - i : SAMPLE_BATCH, ready = fetched;
        sample_places(s, i, m, at[now]);
        for (size_t j = 0; j < ready; j++)
            s->out[i - ready + j] = updated_value(s->from, at[now ^ 1][j]);
        i += m;
        fetched = m;
    }
    return 0;
}

void cc_sample(const struct cc_selection_input *from, size_t count, int threads,
               const struct cc_context *ctx, float *out)
{
    struct sampling s = {
        .from = from, .key = cc_context_key(ctx, 0, STREAM), .count = count, .out = out};
    (void)cc_parallel_ranges(cc_parts(threads, from->n, CC_PART_VALUES), count, 1, sample_range,
                             &s);
}
