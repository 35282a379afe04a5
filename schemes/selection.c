#include "schemes/selection.h"

#include <math.h>

#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/select.h"

/* A sample costs about ten times as much a value as the streaming pass, so it is at most every 32nd
 * value; tensors in which that leaves too few are selected from exactly, in the cache. */
#define SAMPLE_MOST  131072
#define SAMPLE_EVERY 32
#define SAMPLE_FROM  65536

/* With this many values of the sample above the threshold, a tenth of k is six standard deviations
 * of the number kept. */
#define SAMPLE_ENOUGH 3600

#define SAMPLE_STREAM 1

size_t cc_density_count(double density, size_t n)
{
    double k = ceil(density * (double)n);
    if (k >= (double)n)
        return n;
    return k < 1 ? 1 : (size_t)k;
}

/* How a selection goes about it. */
struct plan {
    size_t k;
    size_t sample; /* values in the sample; 0: without */
    size_t rank;   /* the threshold is the rank-th largest of the sample */
    size_t room;   /* for what lies above the threshold */
    bool direct;   /* what lies above is the selection; otherwise it holds the selection */
};

static struct plan make_plan(double density, size_t n, enum cc_select_how how)
{
    struct plan p = {.k = cc_density_count(density, n)};
    if (n < SAMPLE_FROM)
        return p;
    p.sample = n / SAMPLE_EVERY < SAMPLE_MOST ? n / SAMPLE_EVERY : SAMPLE_MOST;
    double mean = (double)p.k / (double)n * (double)p.sample;
    p.direct = how == CC_SELECT_SAMPLED && mean >= SAMPLE_ENOUGH;
    if (p.direct) {
        p.rank = (size_t)ceil(mean);
        p.room = cc_select_most(density, n, how);
        return p;
    }
    /* Four standard deviations on the safe side, and as much room again. */
    double rank = ceil(mean + 4 * sqrt(mean) + 4);
    double room = (rank + 5 * sqrt(rank) + 5) * (double)n / (double)p.sample;
    if (room >= (double)n) {
        p.sample = 0;
        return p;
    }
    p.rank = (size_t)rank;
    p.room = (size_t)room;
    return p;
}

size_t cc_select_most(double density, size_t n, enum cc_select_how how)
{
    size_t k = cc_density_count(density, n);
    if (how == CC_SELECT_EXACT)
        return k;
    return n - k < k / 10 ? n : k + k / 10;
}

size_t cc_select_scratch(double density, size_t n, enum cc_select_how how)
{
    struct plan p = make_plan(density, n, how);
    size_t values = p.direct || p.room < p.sample ? p.sample : p.room;
    size_t bytes;
    return cc_mul(values, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

int cc_refuse_sum(const struct cc_context *ctx, const float *gradient, const float *sum,
                  size_t begin, size_t n, struct cc_error *e)
{
    struct cc_context here = *ctx;
    for (size_t i = 0; i < n; i++) {
        here.offset = ctx->offset + begin + i;
        if (!cc_finite(gradient[i]))
            return cc_refuse(&here, gradient + i, NULL, 1, e);
        if (!cc_finite(sum[i]))
            return cc_fail(e,
                           "tensor '%s', step %llu: what has been held back overflows at index "
                           "%llu when the gradient (%g) is added; start from a fresh state",
                           ctx->name != NULL ? ctx->name : "?", (unsigned long long)ctx->step,
                           (unsigned long long)here.offset, (double)gradient[i]);
    }
    here.offset = ctx->offset + begin;
    return cc_refuse(&here, gradient, NULL, n, e);
}

/* --- the source --- */

static const float *source_values(const struct cc_source *from)
{
    return from->sum != NULL ? from->sum : from->gradient;
}

/* x at index i, before the source is brought up to date there. */
static float source_peek(const struct cc_source *from, size_t i)
{
    float v = from->gradient[i];
    if (from->momentum != NULL) {
        float product = from->factor * from->momentum[i];
        v = product + v;
    }
    return from->sum != NULL ? from->sum[i] + v : v;
}

/* Brings values [begin, begin + n) up to date. */
static int source_load(const struct cc_source *from, const struct cc_context *ctx, size_t begin,
                       size_t n, struct cc_error *e)
{
    const float *g = from->gradient + begin;
    uint32_t most;
    if (from->sum == NULL)
        most = k_reduce()->absmax(g, n);
    else if (from->momentum == NULL)
        most = k_select()->add(g, from->sum + begin, n);
    else
        most =
            k_select()->add_momentum(g, from->factor, from->momentum + begin, from->sum + begin, n);
    if (cc_finite_bits(most))
        return CC_OK;
    return cc_refuse_sum(ctx, g, source_values(from) + begin, begin, n, e);
}

static void source_clear(const struct cc_source *from, const uint8_t *bits, size_t begin, size_t n)
{
    if (from->sum != NULL)
        k_select()->clear(bits, n, from->sum + begin);
    if (from->momentum != NULL)
        k_select()->clear(bits, n, from->momentum + begin);
}

static size_t block_at(size_t begin, size_t n)
{
    return n - begin < CC_SELECT_BLOCK ? n - begin : CC_SELECT_BLOCK;
}

/* --- thresholds --- */

#define LEVELS 3
#define BINS   2048

/* The bits of the k-th largest magnitude of finite values, and how many of those equal to it belong
 * to the k largest (SIZE_MAX: all): a radix selection over 11, 10 and 10 bits. 1 <= k <= n. */
static uint32_t kth_largest(const float *x, size_t n, size_t k, size_t *ties)
{
    static const unsigned width[LEVELS] = {11, 10, 10}, below[LEVELS] = {20, 10, 0};
    size_t bins[BINS];
    uint32_t found = 0;
    for (int level = 0; level < LEVELS; level++) {
        unsigned shift = below[level];
        uint32_t last = (UINT32_C(1) << width[level]) - 1;
        memset(bins, 0, sizeof bins);
        for (size_t i = 0; i < n; i++) {
            uint32_t m = cc_f32_bits(x[i]) & 0x7fffffffu;
            if (m >> shift >> width[level] == found)
                bins[m >> shift & last]++;
        }
        uint32_t bin = last;
        while (k > bins[bin])
            k -= bins[bin--];
        found = found << width[level] | bin;
        *ties = k < bins[bin] ? k : SIZE_MAX;
    }
    return found;
}

/* A bisection: counting is so fast in the cache that nothing cleverer pays. */
uint32_t cc_kth_cached(const float *x, size_t n, size_t k, uint32_t most, uint32_t guess,
                       size_t *ties)
{
    uint32_t low = 0, high = most + 1; /* k or more are >= low, fewer than k are >= high */
    size_t at_high = 0;
    uint32_t step = 1u << 19; /* a sixteenth of an octave */
    uint32_t t = guess > low && guess < high ? guess : high / 2;
    *ties = SIZE_MAX;
    if (k == n)
        return 0;
    while (high - low > 1) {
        size_t c = k_select()->count(x, n, t);
        if (c == k)
            return t;
        if (c > k) {
            low = t;
        } else {
            high = t;
            at_high = c;
        }
        uint32_t half = (high - low) / 2, stride = half;
        if ((low == 0 || high > most) && step < half) { /* not surrounded yet */
            stride = step;
            step *= 2;
        }
        t = c > k ? low + stride : high - stride;
    }
    *ties = k - at_high;
    return low;
}

/* The rank-th largest magnitude of a sample with one value from each of equal parts of the tensor;
 * at least the smallest number above zero, as zeros are never selected. */
static uint32_t sampled_threshold(const struct cc_source *from, const struct plan *p,
                                  const struct cc_context *ctx, float *sample)
{
    struct cc_key key = cc_context_key(ctx, 0, SAMPLE_STREAM);
    size_t whole = from->n / p->sample, rest = from->n % p->sample;
    for (size_t i = 0; i < p->sample; i++) {
        /* Part i is [i n / sample, (i + 1) n / sample), computed without overflow. */
        size_t begin = i * whole + i * rest / p->sample;
        size_t end = (i + 1) * whole + (i + 1) * rest / p->sample;
        size_t at = begin + ((end - begin) * (size_t)cc_random(key, (uint32_t)i) >> 32);
        sample[i] = source_peek(from, at);
    }
    size_t ties;
    uint32_t t = kth_largest(sample, p->sample, p->rank, &ties);
    return t > 0 ? t : 1;
}

/* --- passes over the tensor --- */

struct sweep {
    uint32_t threshold;
    size_t room;  /* for values; the sweep stops before a block that would not fit */
    bool load;    /* bring the source up to date */
    bool clear;   /* set the source to 0 at what is kept */
    size_t ties;  /* of the values equal to the threshold, how many to keep; SIZE_MAX: all */
    size_t done;  /* set: values swept; the one that did not fit was loaded, too */
    size_t count; /* set: values kept */
};

size_t cc_drop_ties(const float *x, size_t n, uint32_t t, size_t *ties, uint8_t *bits)
{
    size_t dropped = 0;
    for (size_t i = 0; i < n; i++) {
        if ((cc_f32_bits(x[i]) & 0x7fffffffu) != t)
            continue;
        if (*ties > 0) {
            --*ties;
            continue;
        }
        bits[i / 8] = (uint8_t)(bits[i / 8] & ~(1u << i % 8));
        dropped++;
    }
    return dropped;
}

static int sweep(const struct cc_source *from, const struct cc_context *ctx, struct sweep *s,
                 uint8_t *bits, uint8_t *values, struct cc_error *e)
{
    float packed[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    const float *x = source_values(from);
    s->count = 0;
    for (s->done = 0; s->done < from->n;) {
        size_t begin = s->done, n = block_at(begin, from->n);
        uint8_t *here = bits + begin / 8;
        if (s->load && source_load(from, ctx, begin, n, e) != CC_OK)
            return CC_FAIL;
        size_t kept = k_select()->mark(x + begin, n, s->threshold, here);
        if (s->ties != SIZE_MAX)
            kept -= cc_drop_ties(x + begin, n, s->threshold, &s->ties, here);
        if (s->ties == 0) {
            s->threshold++;
            s->ties = SIZE_MAX;
        }
        if (kept > s->room - s->count)
            return CC_OK;
        if (kept > 0) {
            k_select()->pack(x + begin, here, n, packed);
            memcpy(values + sizeof(float) * s->count, packed, sizeof(float) * kept);
        }
        if (s->clear)
            source_clear(from, here, begin, n);
        s->count += kept;
        s->done += n;
    }
    return CC_OK;
}

/* Loads what a sweep that stopped early has not; the block it stopped at is loaded. */
static int load_rest(const struct cc_source *from, const struct cc_context *ctx, size_t done,
                     struct cc_error *e)
{
    if (done == from->n)
        return CC_OK;
    for (size_t i = done + block_at(done, from->n); i < from->n; i += block_at(i, from->n))
        if (source_load(from, ctx, i, block_at(i, from->n), e) != CC_OK)
            return CC_FAIL;
    return CC_OK;
}

/* Of a source that is up to date, keeps what cc_kth_cached or kth_largest has found, but no zeros.
 */
static int keep(const struct cc_source *from, const struct cc_context *ctx, size_t k,
                uint32_t threshold, size_t ties, struct cc_selection *to, struct cc_error *e)
{
    struct sweep s = {.threshold = threshold, .room = k, .clear = true, .ties = ties};
    if (threshold == 0) {
        s.threshold = 1;
        s.ties = SIZE_MAX;
    }
    if (sweep(from, ctx, &s, to->bits, to->values, e) != CC_OK)
        return CC_FAIL;
    to->count = s.count;
    return CC_OK;
}

/* The k largest of a source that is up to date. */
static int select_exact(const struct cc_source *from, const struct cc_context *ctx, size_t k,
                        struct cc_selection *to, struct cc_error *e)
{
    size_t ties;
    uint32_t t = kth_largest(source_values(from), from->n, k, &ties);
    return keep(from, ctx, k, t, ties, to, e);
}

/* Puts back what a sweep has cleared. */
static void restore(const struct cc_source *from, const uint8_t *bits, size_t done,
                    const uint8_t *values)
{
    for (size_t i = 0; from->sum != NULL && i < done; i += 64)
        for (uint64_t w = cc_bits_word(bits, done, i); w != 0; w &= w - 1, values += sizeof(float))
            from->sum[i + (size_t)__builtin_ctzll(w)] = cc_get_f32(values);
}

/* Of the candidates, keeps the k largest. */
static void prune(size_t n, size_t k, const float *candidates, size_t count,
                  struct cc_selection *to)
{
    size_t ties, kept = 0;
    uint32_t t = kth_largest(candidates, count, k, &ties);
    for (size_t i = 0; i < n; i += 64) {
        uint64_t all = cc_bits_word(to->bits, n, i), keep = all;
        if (all == 0)
            continue;
        for (uint64_t w = all; w != 0; w &= w - 1) {
            uint32_t bits = cc_f32_bits(*candidates++), m = bits & 0x7fffffffu;
            if (m > t || (m == t && ties > 0)) {
                ties -= m == t;
                cc_put_u32(to->values + sizeof(float) * kept++, bits);
            } else {
                keep &= ~(w & -w);
            }
        }
        cc_bits_put_word(to->bits, n, i, keep);
    }
    to->count = kept;
}

/* The threshold is about that of k values: keeps all above it. */
static int select_direct(const struct cc_source *from, const struct cc_context *ctx,
                         const struct plan *p, uint32_t threshold, struct cc_selection *to,
                         struct cc_error *e)
{
    struct sweep s = {
        .threshold = threshold, .room = p->room, .load = true, .clear = true, .ties = SIZE_MAX};
    if (sweep(from, ctx, &s, to->bits, to->values, e) != CC_OK)
        return CC_FAIL;
    to->count = s.count;
    bool all = s.done == from->n;
    if (all && (s.count >= p->k - p->k / 10 || threshold == 1))
        return CC_OK;
    restore(from, to->bits, s.done, to->values);
    if (load_rest(from, ctx, s.done, e) != CC_OK)
        return CC_FAIL;
    return select_exact(from, ctx, p->k, to, e);
}

/* The threshold lies below that of k values: all above it are candidates. */
static int select_candidates(const struct cc_source *from, const struct cc_context *ctx,
                             const struct plan *p, uint32_t threshold, float *candidates,
                             struct cc_selection *to, struct cc_error *e)
{
    struct sweep s = {.threshold = threshold, .room = p->room, .load = true, .ties = SIZE_MAX};
    if (sweep(from, ctx, &s, to->bits, (uint8_t *)candidates, e) != CC_OK)
        return CC_FAIL;
    bool all = s.done == from->n;
    if (!all || (s.count < p->k && threshold > 1)) {
        if (load_rest(from, ctx, s.done, e) != CC_OK)
            return CC_FAIL;
        return select_exact(from, ctx, p->k, to, e);
    }
    if (s.count > p->k) {
        prune(from->n, p->k, candidates, s.count, to);
    } else {
        memcpy(to->values, candidates, sizeof(float) * s.count);
        to->count = s.count;
    }
    source_clear(from, to->bits, 0, from->n);
    return CC_OK;
}

/* The k largest of a tensor that fits in the cache. */
static int select_cached(const struct cc_source *from, const struct cc_context *ctx, size_t k,
                         struct cc_selection *to, struct cc_error *e)
{
    const float *x = source_values(from);
    size_t ties;
    uint32_t most = k_reduce()->absmax(x, from->n);
    uint32_t guess = most - (UINT32_C(2) << 23); /* two octaves below: a usual place */
    uint32_t t = cc_kth_cached(x, from->n, k, most, guess, &ties);
    return keep(from, ctx, k, t, ties, to, e);
}

int cc_select(const struct cc_source *from, double density, enum cc_select_how how,
              const struct cc_context *ctx, void *scratch, struct cc_selection *to,
              struct cc_error *e)
{
    struct plan p = make_plan(density, from->n, how);
    if (p.sample == 0) {
        for (size_t i = 0; i < from->n; i += block_at(i, from->n))
            if (source_load(from, ctx, i, block_at(i, from->n), e) != CC_OK)
                return CC_FAIL;
        return from->n < SAMPLE_FROM ? select_cached(from, ctx, p.k, to, e)
                                     : select_exact(from, ctx, p.k, to, e);
    }
    uint32_t threshold = sampled_threshold(from, &p, ctx, scratch);
    if (p.direct)
        return select_direct(from, ctx, &p, threshold, to, e);
    return select_candidates(from, ctx, &p, threshold, scratch, to, e);
}
