/* Selection of the k largest magnitudes of a tensor in about one pass over memory.
 *
 * Sorting takes far too long, and even counting takes a pass of its own, so the threshold is first
 * estimated from a random sample of the tensor, as Aji & Heafield do; the sample has one value from
 * each of equal ranges. Then one sweep does everything else: it updates sum and momentum, marks the
 * values above the threshold in a bit array, packs them, and clears them in the sum. Three cases:
 *
 *  - direct (CC_SELECT_SAMPLED, large tensors): the values above the threshold are the
 *    selection. If their number misses k by more than a tenth, they are put back, and the exact
 *    case follows.
 *  - candidates (exact): the threshold is set four standard deviations low, so that a few more than
 *    k values pass; the k largest of these candidates are found in the cache. If k is small, bits
 *    and values of the others are dropped; otherwise a second sweep, which only updates the sum,
 *    takes the k largest. With too few or too many candidates, the exact case follows.
 *  - exact: sum and momentum are updated first, then the threshold is found by counting passes
 *    (cc_kth_cached), and a last sweep takes the values above it. For tensors too small to sample.
 *
 * Magnitudes are compared as the bits of |x|, whose order is that of the numbers. Ties go to the
 * lower index. A sweep gives each thread a part of the tensor and a share of the room for packed
 * values; a part that overflows its share keeps counting, and the sweep is repeated in one part. No
 * result depends on the number of threads. docs/payloads.md (sparse) defines sample and result.
 *
 * Measured out of cache on Zen 4: a sample value costs as much as about 25 of the sweep, and each
 * candidate above k as much as a few; so the exact case uses a smaller sample. */
#include "schemes/selection.h"

#include <math.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"

/* The sample of a direct selection decides the payload and is defined in docs/payloads.md; that of
 * an exact one (SAMPLE_EXACT) only its speed. One value of SAMPLE_EVERY, within limits, for tensors
 * of SAMPLE_FROM values or more. */
#define SAMPLE_MOST        131072
#define SAMPLE_EVERY       32
#define SAMPLE_FROM        65536
#define SAMPLE_EXACT_LEAST 256
#define SAMPLE_EXACT_MOST  32768
#define SAMPLE_EXACT_EVERY 64
#define SAMPLE_EXACT_FROM  4096

/* With this many sample values above the threshold, a tenth of k is six standard deviations of the
 * number of selected values. */
#define SAMPLE_ENOUGH 3600

/* If more than one value in MANY is cleared, most lines have one: none is fetched ahead. */
#define MANY 16

/* Where few values are cleared, their lines are fetched this many values ahead. */
#define CLEAR_AHEAD ((size_t)16384)

size_t cc_density_count(double density, size_t n)
{
    double k = ceil(density * (double)n);
    if (k >= (double)n)
        return n;
    return k < 1 ? 1 : (size_t)k;
}

struct plan {
    size_t k;
    size_t sample; /* values in the sample; 0: no sample */
    size_t rank;   /* the threshold is the rank-th largest of the sample */
    size_t room;   /* for values above the threshold */
    bool direct;   /* these are the selection; otherwise its candidates */
};

static struct plan make_plan(double density, size_t n, enum cc_select_mode mode)
{
    struct plan p = {.k = cc_density_count(density, n)};
    if (n < SAMPLE_EXACT_FROM)
        return p;
    p.sample = cc_smaller(n / SAMPLE_EVERY, SAMPLE_MOST);
    double mean = (double)p.k / (double)n * (double)p.sample;
    p.direct = mode == CC_SELECT_SAMPLED && n >= SAMPLE_FROM && mean >= SAMPLE_ENOUGH;
    if (p.direct) {
        p.rank = (size_t)ceil(mean);
        p.room = cc_select_most(density, n, mode);
        return p;
    }
    p.sample = cc_smaller(n / SAMPLE_EXACT_EVERY, SAMPLE_EXACT_MOST);
    p.sample = p.sample > SAMPLE_EXACT_LEAST ? p.sample : SAMPLE_EXACT_LEAST;
    mean = (double)p.k / (double)n * (double)p.sample;
    /* A threshold four standard deviations low, and room for five more. */
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

size_t cc_select_most(double density, size_t n, enum cc_select_mode mode)
{
    size_t k = cc_density_count(density, n);
    if (mode == CC_SELECT_EXACT)
        return k;
    return n - k < k / 10 ? n : k + k / 10;
}

size_t cc_select_scratch(double density, size_t n, enum cc_select_mode mode)
{
    struct plan p = make_plan(density, n, mode);
    size_t values = p.direct || p.room < p.sample ? p.sample : p.room;
    return cc_float_bytes(values);
}

int cc_refuse_sum(const struct cc_context *ctx, struct cc_elements gradient, const float *sum,
                  size_t begin, size_t n, struct cc_error *e)
{
    struct cc_context here = *ctx;
    for (size_t i = 0; i < n; i++) {
        here.offset = ctx->offset + begin + i;
        const float v = cc_element_at(gradient.at, i, gradient.type);
        if (!cc_finite(v))
            return cc_refuse(&here, &v, NULL, 1, e);
        if (sum != NULL && !cc_finite(sum[i]))
            return cc_fail(e,
                           "tensor '%s', step %llu: what has been held back overflows at index "
                           "%llu when the gradient (%g) is added; start from a fresh state",
                           ctx->name != NULL ? ctx->name : "?", (unsigned long long)ctx->step,
                           (unsigned long long)here.offset, (double)v);
    }
    here.offset = ctx->offset + begin;
    return cc_refuse_from(&here, gradient, NULL, n, e);
}

/* --- the source --- */

static const float *source_values(const struct cc_selection_input *from)
{
    return from->sum != NULL ? from->sum : from->gradient;
}

/* The rows of a block for the kernels; with `load` they update sum and momentum. */
static struct cc_rows source_rows(const struct cc_selection_input *from, size_t begin, bool load)
{
    struct cc_rows r = {.g = from->gradient + begin, .factor = from->factor};
    if (from->sum != NULL)
        r.x = from->sum + begin;
    if (from->momentum != NULL)
        r.u = from->momentum + begin;
    if (from->sum != NULL && !load)
        r = (struct cc_rows){.x = r.x};
    return r;
}

static void source_clear(const struct cc_selection_input *from, const uint8_t *bits, size_t begin,
                         size_t n)
{
    if (from->sum != NULL)
        k_select()->clear(bits, n, from->sum + begin);
    if (from->momentum != NULL)
        k_select()->clear(bits, n, from->momentum + begin);
}

static int source_parts(const struct cc_selection_input *from, int threads)
{
    return cc_parts(threads, from->n, CC_PART_VALUES);
}

/* --- thresholds --- */

/* Counting search: steps of growing width from the guess until the threshold is surrounded, then
 * interpolation with every third step a bisection. Counting in the cache is so fast that nothing
 * cleverer pays. */
uint32_t cc_kth_cached(const float *x, size_t n, size_t k, uint32_t most, uint32_t guess,
                       size_t *ties)
{
    uint32_t low = 0, high = most + 1; /* k or more are >= low, fewer than k are >= high */
    size_t at_low = n, at_high = 0;
    uint32_t step = 1u << 19; /* a sixteenth of an octave */
    uint32_t t = guess > low && guess < high ? guess : high / 2;
    *ties = SIZE_MAX;
    if (k == n)
        return 0;
    for (unsigned tries = 1; high - low > 1; tries++) {
        size_t c = k_select()->count(x, n, t);
        if (c == k)
            return t;
        if (c > k) {
            low = t;
            at_low = c;
        } else {
            high = t;
            at_high = c;
        }
        uint32_t half = (high - low) / 2, stride = half;
        if ((low == 0 || high > most) && step < half) { /* not surrounded yet */
            stride = step;
            step *= 2;
        } else if (tries % 3 != 0 && low > 0) {
            double part = (double)(at_low - k) / (double)(at_low - at_high);
            stride = (uint32_t)((double)(high - low) * (c > k ? part : 1 - part));
            stride = stride > 0 ? stride : 1;
        }
        t = c > k ? low + stride : high - stride;
        t = t > low && t < high ? t : low + half;
    }
    *ties = k - at_high;
    return low;
}

/* cc_kth_cached, including the search for the largest magnitude. */
static uint32_t kth(const float *x, size_t n, size_t k, uint32_t guess, size_t *ties)
{
    return cc_kth_cached(x, n, k, k_reduce()->absmax(x, n), guess, ties);
}

/* A first guess of a threshold: two octaves below the largest magnitude. */
static uint32_t first_guess(const float *x, size_t n)
{
    uint32_t most = k_reduce()->absmax(x, n), octaves = UINT32_C(2) << 23;
    return most > octaves ? most - octaves : 0;
}

/* The rank-th largest magnitude of the sample, but at least the smallest number above zero: zeros
 * are never selected. */
static uint32_t sampled_threshold(const struct cc_selection_input *from, const struct plan *p,
                                  int threads, const struct cc_context *ctx, float *sample)
{
    size_t ties;
    cc_sample(from, p->sample, threads, ctx, sample);
    uint32_t t = kth(sample, p->sample, p->rank, first_guess(sample, p->sample), &ties);
    t = k_select()->least(sample, p->sample, t);
    return t > 0 ? t : 1;
}

/* --- passes over the tensor --- */

struct sweep {
    const struct cc_selection_input *from;
    bool load;          /* update sum and momentum first */
    uint32_t threshold; /* > 0 */
    bool clear;         /* set the sum to 0 at the kept values */
    uint8_t *bits;
    uint8_t *values;
    size_t room; /* for values */
    int parts;
    size_t ahead; /* how far to prefetch (cc_read_ahead) */
    struct sweep_part {
        size_t count;  /* kept values */
        size_t packed; /* kept values below this index are packed and cleared */
        size_t bad;    /* the first block with a value that is not finite; n: none */
    } part[CC_PARTS_MAX];
};

/* Undoes the clearing of a block: puts the packed values back into the sum. */
static void restore_block(const struct cc_selection_input *from, const uint8_t *bits, size_t begin,
                          size_t n, const uint8_t *values)
{
    for (size_t i = 0; from->sum != NULL && i < n; i += 64)
        for (uint64_t w = cc_bits_word(bits, n, i); w != 0; w &= w - 1, values += sizeof(float))
            from->sum[begin + i + (size_t)__builtin_ctzll(w)] = cc_get_f32(values);
}

/* A part whose share of the room is full continues with marking and counting only. */
static void sweep_part(void *arg, int part)
{
    struct sweep *s = arg;
    struct sweep_part *p = &s->part[part];
    float packed[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    size_t begin = cc_part_begin(s->from->n, s->parts, part, CC_SELECT_BLOCK);
    size_t end = cc_part_begin(s->from->n, s->parts, part + 1, CC_SELECT_BLOCK);
    size_t slot = cc_part_begin(s->room, s->parts, part, 1);
    size_t room = cc_part_begin(s->room, s->parts, part + 1, 1) - slot;
    *p = (struct sweep_part){.packed = begin, .bad = s->from->n};
    for (size_t i = begin; i < end; i += CC_SELECT_BLOCK) {
        uint8_t *bits = s->bits + i / 8;
        size_t n = cc_smaller(end - i, CC_SELECT_BLOCK);
        struct cc_rows rows = source_rows(s->from, i, s->load);
        rows.ahead = s->ahead;
        bool fits = p->packed == i;
        uint32_t most;
        size_t kept =
            k_select()->take(&rows, n, s->threshold, s->clear && fits, bits, packed, &most);
        bool finite = cc_finite_bits(most);
        if (s->clear && fits && (!finite || kept > room - p->count))
            restore_block(s->from, bits, i, n, (const uint8_t *)packed);
        if (!finite) {
            p->bad = i;
            return;
        }
        if (fits && kept <= room - p->count) {
            if (kept > 0)
                memcpy(s->values + sizeof(float) * (slot + p->count), packed, sizeof(float) * kept);
            p->packed = i + n;
        }
        p->count += kept;
    }
}

/* Sweeps all parts. *count: the number of values above the threshold. *whole: all of them are
 * packed, without gaps; otherwise some did not fit, and nothing is cleared. */
static int sweep_parts(struct sweep *s, const struct cc_context *ctx, size_t *count, bool *whole,
                       struct cc_error *e)
{
    size_t n = s->from->n;
    s->ahead = cc_read_ahead(n * sizeof(float));
    cc_parallel(s->parts, sweep_part, s);
    *count = 0;
    *whole = true;
    for (int p = 0; p < s->parts; p++) {
        size_t bad = s->part[p].bad;
        if (bad < n)
            return cc_refuse_sum(ctx, cc_elements_f32(s->from->gradient + bad),
                                 source_values(s->from) + bad, bad,
                                 cc_smaller(n - bad, CC_SELECT_BLOCK), e);
        *count += s->part[p].count;
        *whole = *whole && s->part[p].packed == cc_part_begin(n, s->parts, p + 1, CC_SELECT_BLOCK);
    }
    size_t to = 0;
    for (int p = 0; p < s->parts; p++) {
        size_t begin = cc_part_begin(n, s->parts, p, CC_SELECT_BLOCK);
        uint8_t *values = s->values + sizeof(float) * cc_part_begin(s->room, s->parts, p, 1);
        if (*whole && s->part[p].count > 0)
            memmove(s->values + sizeof(float) * to, values, sizeof(float) * s->part[p].count);
        else if (!*whole && s->clear)
            restore_block(s->from, s->bits + begin / 8, begin, s->part[p].packed - begin, values);
        to += s->part[p].count;
    }
    return CC_OK;
}

/* Only updates sum and momentum: a sweep with a threshold that nothing reaches. */
static int update_source(const struct cc_selection_input *from, const struct cc_context *ctx,
                         int threads, uint8_t *bits, struct cc_error *e)
{
    struct sweep s = {.from = from,
                      .load = true,
                      .threshold = CC_F32_INF_BITS,
                      .bits = bits,
                      .parts = source_parts(from, threads)};
    size_t count;
    bool whole;
    return sweep_parts(&s, ctx, &count, &whole, e);
}

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

/* As sweep_parts, but if everything fits and just one part overflowed its share, sweeps once more
 * in one part. */
static int sweep(struct sweep *s, const struct cc_context *ctx, size_t *count, bool *whole,
                 struct cc_error *e)
{
    CC_TRY(sweep_parts(s, ctx, count, whole, e));
    if (*whole || *count > s->room)
        return CC_OK;
    s->parts = 1;
    s->load = false;
    return sweep_parts(s, ctx, count, whole, e);
}

/* --- the selection --- */

struct job {
    const struct cc_selection_input *from;
    const struct cc_context *ctx;
    struct plan plan;
    int threads;
    struct cc_selection *to;
};

/* Selects from an updated source all values above the threshold and the first `ties` of those equal
 * to it. False if these are more than k, which happens if the gradient changes after they were
 * counted. */
static bool keep_ties(const struct job *j, uint32_t threshold, size_t ties)
{
    float packed[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    const float *x = source_values(j->from);
    struct cc_selection *to = j->to;
    to->count = 0;
    for (size_t i = 0; i < j->from->n; i += CC_SELECT_BLOCK) {
        size_t n = cc_smaller(j->from->n - i, CC_SELECT_BLOCK);
        uint8_t *bits = to->bits + i / 8;
        k_select()->mark(x + i, n, threshold, bits);
        cc_drop_ties(x + i, n, threshold, &ties, bits);
        size_t kept = k_select()->pack(x + i, bits, n, packed);
        if (kept > j->plan.k - to->count)
            return false;
        memcpy(to->values + sizeof(float) * to->count, packed, sizeof(float) * kept);
        to->count += kept;
        source_clear(j->from, bits, i, n);
    }
    return true;
}

/* Sets x and u, unless they are NULL, to 0 at the set bits, which are few, and fetches their lines
 * ahead. Measured on Zen 4: dgc encodes 100 MB in 14.9 ms so, and in 17.7 by masked stores to all
 * lines of a word of bits. */
static void clear_few(const uint8_t *bits, size_t n, float *x, float *u)
{
    for (size_t i = 0; i < n; i += 64) {
        const size_t ahead = i + CLEAR_AHEAD;
        uint64_t w = ahead < n ? cc_bits_word(bits, n, ahead) : 0;
        CC_FOR_SET_BITS(j, w)
        {
            if (x != NULL)
                __builtin_prefetch(x + ahead + j, 1);
            if (u != NULL)
                __builtin_prefetch(u + ahead + j, 1);
        }
        w = cc_bits_word(bits, n, i);
        CC_FOR_SET_BITS(j, w)
        {
            if (x != NULL)
                x[i + j] = 0;
            if (u != NULL)
                u[i + j] = 0;
        }
    }
}

/* Selects from an updated source with the threshold and ties of cc_kth_cached, but no zeros. */
static int keep(const struct job *j, uint32_t threshold, size_t ties, struct cc_error *e)
{
    const struct cc_selection_input *from = j->from;
    if (threshold > 0 && ties != SIZE_MAX)
        return keep_ties(j, threshold, ties) ? CC_OK
                                             : cc_refuse(j->ctx, from->gradient, NULL, from->n, e);
    struct sweep s = {.from = from,
                      .threshold = threshold > 0 ? threshold : 1,
                      .clear = true,
                      .bits = j->to->bits,
                      .values = j->to->values,
                      .room = j->plan.k,
                      .parts = source_parts(from, j->threads)};
    bool whole;
    CC_TRY(sweep(&s, j->ctx, &j->to->count, &whole, e));
    if (!whole) /* more values are above the threshold than were counted */
        return cc_refuse(j->ctx, from->gradient, NULL, from->n, e);
    if (from->momentum != NULL && j->plan.k > from->n / MANY)
        k_select()->clear(j->to->bits, from->n, from->momentum);
    else if (from->momentum != NULL)
        clear_few(j->to->bits, from->n, NULL, from->momentum);
    return CC_OK;
}

/* Selects the k largest of an updated source. */
static int select_exact(const struct job *j, uint32_t guess, struct cc_error *e)
{
    size_t ties;
    uint32_t t = kth(source_values(j->from), j->from->n, j->plan.k, guess, &ties);
    return keep(j, t, ties, e);
}

/* Selects all values above a threshold that about k values reach. */
static int select_direct(const struct job *j, uint32_t threshold, struct cc_error *e)
{
    const struct cc_selection_input *from = j->from;
    size_t k = j->plan.k;
    struct sweep s = {.from = from,
                      .load = true,
                      .threshold = threshold,
                      .clear = true,
                      .bits = j->to->bits,
                      .values = j->to->values,
                      .room = j->plan.room,
                      .parts = source_parts(from, j->threads)};
    bool whole;
    CC_TRY(sweep(&s, j->ctx, &j->to->count, &whole, e));
    if (whole && (j->to->count >= k - k / 10 || threshold == 1))
        return CC_OK;
    if (whole)
        restore_block(from, s.bits, 0, from->n, s.values);
    return select_exact(j, threshold, e);
}

/* Keeps the candidates above the threshold, with the first `ties` of those equal to it. */
static void prune(const struct job *j, const float *candidates, uint32_t threshold, size_t ties)
{
    float packed[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    struct cc_selection *to = j->to;
    to->count = 0;
    for (size_t i = 0; i < j->from->n; i += CC_SELECT_BLOCK) {
        size_t n = cc_smaller(j->from->n - i, CC_SELECT_BLOCK);
        size_t m = k_select()->prune(to->bits + i / 8, n, &candidates, threshold, &ties, packed);
        memcpy(to->values + sizeof(float) * to->count, packed, sizeof(float) * m);
        to->count += m;
    }
    clear_few(to->bits, j->from->n, j->from->sum, j->from->momentum);
}

/* Selects the k largest of the candidates: the values above a threshold that more than k reach.
 * Where most lines have one of them, a second sweep takes them. */
static int select_candidates(const struct job *j, uint32_t threshold, float *candidates,
                             struct cc_error *e)
{
    struct sweep s = {.from = j->from,
                      .load = true,
                      .threshold = threshold,
                      .bits = j->to->bits,
                      .values = (uint8_t *)candidates,
                      .room = j->plan.room,
                      .parts = source_parts(j->from, j->threads)};
    size_t count, ties = SIZE_MAX;
    bool whole;
    CC_TRY(sweep(&s, j->ctx, &count, &whole, e));
    if (!whole || (count < j->plan.k && threshold > 1))
        return select_exact(j, threshold, e);
    if (count > j->plan.k)
        threshold = kth(candidates, count, j->plan.k, threshold, &ties);
    if (j->plan.k > j->from->n / CC_SELECT_FEW)
        return keep(j, threshold, ties, e);
    prune(j, candidates, threshold, ties);
    return CC_OK;
}

int cc_select(const struct cc_selection_input *from, double density, enum cc_select_mode mode,
              int threads, const struct cc_context *ctx, void *scratch, struct cc_selection *to,
              struct cc_error *e)
{
    struct job j = {.from = from,
                    .ctx = ctx,
                    .plan = make_plan(density, from->n, mode),
                    .threads = threads,
                    .to = to};
    if (j.plan.sample == 0) {
        CC_TRY(update_source(from, ctx, threads, to->bits, e));
        return select_exact(&j, first_guess(source_values(from), from->n), e);
    }
    uint32_t threshold = sampled_threshold(from, &j.plan, threads, ctx, scratch);
    if (j.plan.direct)
        return select_direct(&j, threshold, e);
    return select_candidates(&j, threshold, scratch, e);
}

size_t cc_select_pairs_scratch(size_t own, size_t most, size_t n)
{
    return cc_bytes_sum(cc_bytes_sum(cc_align_up(own), cc_float_bytes(most)), cc_bit_bytes(n));
}

int cc_select_pairs(const struct cc_selection_input *from, double density, enum cc_select_mode mode,
                    int threads, const struct cc_context *ctx, void *scratch, size_t own,
                    size_t most, uint8_t *out, size_t *len, struct cc_error *e)
{
    uint8_t *values = (uint8_t *)scratch + cc_align_up(own);
    struct cc_selection to = {.bits = values + sizeof(float) * most, .values = values};
    CC_TRY(cc_select(from, density, mode, threads, ctx, scratch, &to, e));
    cc_pairs_put(to.bits, from->n, to.values, out);
    *len = CC_PAIR_BYTES * to.count;
    return CC_OK;
}
