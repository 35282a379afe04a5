/* Sparse rows drawn at random. Features are drawn by an approximate power law: those from 2^k to
 * before 2^(k + 1), in the order of their frequency, are equally frequent, and such an octave has
 * the share of the draws that is proportional to 2^(k (1 - power)). So all octaves are drawn
 * equally often with power 1 (Zipf's law), and all features with power 0. The order of frequency is
 * spread over the indices, as that of words in files is. Features beyond the number that occurs are
 * in no row.
 *
 * Every row has the same number of non-zeros, different features whose values are uniform within
 * (0, 1] and then scaled to a norm of 1. Both classes are equally frequent. Each feature leans
 * towards one of them: with a number u of its own, uniform within 0 .. 1, rows of class 1 keep it
 * with probability u where it is drawn, and rows of class 0 with 1 - u. Labels are then flipped at
 * random. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "train/data/sources.h"
#include "train/math.h"

enum { FEATURES, VALUES, LEANINGS, CLASSES, FLIPS }; /* streams of random numbers */
enum { OCTAVES = 31 };
#define MOST_SPARSE_FEATURES (UINT64_C(1) << 30)

struct config {
    uint64_t train, test, features, occurring, nonzeros, seed;
    double power, noise;
};

static const struct cc_data_key row_keys[] = {
    {"train", CC_KEY_COUNT, .at = offsetof(struct config, train), 1, UINT64_C(1) << 32},
    {"test", CC_KEY_COUNT, .at = offsetof(struct config, test), 1, UINT64_C(1) << 32},
    {"features", CC_KEY_COUNT, .at = offsetof(struct config, features), 1, MOST_SPARSE_FEATURES},
    {"occurring", CC_KEY_COUNT, .at = offsetof(struct config, occurring), 1, MOST_SPARSE_FEATURES},
    {"nonzeros", CC_KEY_COUNT, .at = offsetof(struct config, nonzeros), 1, MOST_SPARSE_FEATURES},
    {"power", CC_KEY_NUMBER, .at = offsetof(struct config, power), 0, 4},
    {"noise", CC_KEY_SHARE, .at = offsetof(struct config, noise)},
    {"seed", CC_KEY_COUNT, .at = offsetof(struct config, seed), 0, UINT64_C(1) << 53},
    {.name = NULL}};

/* The law: octave k is drawn below `below[k]` of 2^32, and has the features from 2^k - 1 on, in the
 * order of their frequency. */
struct law {
    uint64_t below[OCTAVES];
    size_t octaves;
    uint64_t features, occurring; /* of all features, those that occur */
    uint64_t stride;              /* to the index of the next in that order */
};

static uint64_t first_of(size_t octave)
{
    return (UINT64_C(1) << octave) - 1;
}

static uint64_t size_of(const struct law *l, size_t octave)
{
    const uint64_t end = first_of(octave + 1);
    return (end < l->occurring ? end : l->occurring) - first_of(octave);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static struct law law_of(const struct config *c)
{
    struct law l = {.features = c->features, .occurring = c->occurring};
    double share[OCTAVES], sum = 0, at = 0;
    while (l.octaves < OCTAVES && first_of(l.octaves) < c->occurring) {
        const double full = (double)(first_of(l.octaves + 1) - first_of(l.octaves));
        share[l.octaves] = (double)size_of(&l, l.octaves) / full *
                           cc_train_exp(0.6931471805599453 * (double)l.octaves * (1 - c->power));
        sum += share[l.octaves++];
    }
    for (size_t k = 0; k < l.octaves; k++) {
        at += share[k];
        l.below[k] = k + 1 == l.octaves ? UINT64_C(1) << 32 : (uint64_t)(at / sum * 0x1p32);
    }
    l.stride = (uint64_t)((double)c->features * 0.6180339887498949) | 1;
    while (common_divisor(l.stride, c->features) != 1)
        l.stride += 2;
    return l;
}

/* Numbers that follow each other in one stream. */
struct draws {
    struct cc_key key;
    uint32_t next;
};

static struct draws draws_of(const struct config *c, uint64_t part, uint64_t row, uint64_t stream)
{
    const struct cc_random_id id = {
        .seed = c->seed, .rank = -1, .direction = part, .tensor = row, .stream = stream};
    return (struct draws){.key = cc_key(&id, 0)};
}

static uint64_t draw(struct draws *d)
{
    return cc_random(d->key, d->next++);
}

static uint32_t draw_feature(const struct law *l, struct draws *d)
{
    const uint64_t which = draw(d);
    size_t octave = 0;
    while (which >= l->below[octave])
        octave++;
    const uint64_t in = first_of(octave) + (draw(d) * size_of(l, octave) >> 32);
    return (uint32_t)(in * l->stride % l->features);
}

/* --- rows --- */

struct maker {
    const struct config *config;
    struct law law;
    uint8_t *seen;          /* [features]: whether the row at hand has it */
    uint32_t *index, *room; /* [nonzeros] */
    float *value;           /* [nonzeros] */
};

static int open_maker(const struct config *c, struct maker *m, struct cc_error *e)
{
    *m = (struct maker){.config = c, .law = law_of(c)};
    CC_TRY(CC_NEW(m->seen, c->features, e));
    CC_TRY(CC_NEW(m->index, c->nonzeros, e));
    CC_TRY(CC_NEW(m->room, c->nonzeros, e));
    return CC_NEW(m->value, c->nonzeros, e);
}

static void close_maker(struct maker *m)
{
    free(m->seen);
    free(m->index);
    free(m->room);
    free(m->value);
}

/* Sorts the row's features by 11 bits at a time, from the lowest. */
static void sort_features(struct maker *m)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    const size_t n = m->config->nonzeros;
    for (unsigned shift = 0; m->config->features >> shift > 0; shift += BITS) {
        uint32_t at[BUCKETS + 1] = {0};
        for (size_t i = 0; i < n; i++)
            at[(m->index[i] >> shift & (BUCKETS - 1)) + 1]++;
        for (size_t b = 1; b < BUCKETS; b++)
            at[b] += at[b - 1];
        for (size_t i = 0; i < n; i++)
            m->room[at[m->index[i] >> shift & (BUCKETS - 1)]++] = m->index[i];
        uint32_t *const sorted = m->room;
        m->room = m->index;
        m->index = sorted;
    }
}

/* Draws the row's features. Where they are most of all, the last ones are the most frequent of
 * those that are missing. */
static void draw_features(struct maker *m, uint64_t part, uint64_t row, bool class)
{
    const struct config *c = m->config;
    const struct cc_random_id id = {.seed = c->seed, .rank = -1, .stream = LEANINGS};
    const struct cc_key leanings = cc_key(&id, 0);
    struct draws draws = draws_of(c, part, row, FEATURES);
    size_t n = 0;
    for (size_t tries = 0; tries < 32 * c->nonzeros && n < c->nonzeros; tries++) {
        const uint32_t feature = draw_feature(&m->law, &draws);
        const float leaning = cc_unit(cc_random(leanings, feature));
        const bool kept = cc_unit((uint32_t)draw(&draws)) < (class ? leaning : 1 - leaning);
        if (kept && m->seen[feature] == 0) {
            m->index[n++] = feature;
            m->seen[feature] = 1;
        }
    }
    for (uint64_t rank = 0; n < c->nonzeros; rank++) {
        const uint32_t feature = (uint32_t)(rank * m->law.stride % c->features);
        if (m->seen[feature] == 0)
            m->index[n++] = feature;
        m->seen[feature] = 1;
    }
    for (size_t i = 0; i < n; i++)
        m->seen[m->index[i]] = 0;
    sort_features(m);
}

static void draw_values(struct maker *m, uint64_t part, uint64_t row)
{
    const struct config *c = m->config;
    struct draws draws = draws_of(c, part, row, VALUES);
    double squares = 0;
    for (size_t i = 0; i < c->nonzeros; i++) {
        m->value[i] = 1 - cc_unit((uint32_t)draw(&draws));
        squares += (double)m->value[i] * (double)m->value[i];
    }
    const double scale = 1 / sqrt(squares);
    for (size_t i = 0; i < c->nonzeros; i++)
        m->value[i] = (float)(scale * (double)m->value[i]);
}

/* part: 0 for training, 1 for testing. */
static int make_rows(struct maker *m, uint64_t part, uint64_t count, struct cc_samples *out,
                     struct cc_error *e)
{
    const struct config *c = m->config;
    struct draws draws = draws_of(c, part, 0, CLASSES), flips = draws_of(c, part, 0, FLIPS);
    size_t bytes, values;
    if (!cc_mul(count, c->nonzeros, &values) || !cc_mul(values, 8, &bytes))
        return cc_fail(e, "%llu rows of %llu non-zeros are too many", (unsigned long long)count,
                       (unsigned long long)c->nonzeros);
    CC_TRY(cc_memory_check(bytes, "the rows of synthetic-sparse", e));
    CC_TRY(cc_rows_reserve(&out->rows, count, values, e));
    CC_TRY(CC_NEW(out->label, count, e));
    for (uint64_t i = 0; i < count; i++) {
        const bool class = draw(&draws) >> 31 != 0;
        const bool flip = (double)cc_unit((uint32_t)draw(&flips)) < c->noise;
        draw_features(m, part, i, class);
        draw_values(m, part, i);
        out->label[i] = class != flip;
        CC_TRY(cc_rows_add_row(&out->rows, e));
        for (size_t k = 0; k < c->nonzeros; k++)
            CC_TRY(cc_rows_add(&out->rows, m->index[k], m->value[k], e));
    }
    out->count = count;
    return CC_OK;
}

int cc_data_synthetic_rows(const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {.train = 20000,
                       .test = 5000,
                       .features = 100000,
                       .nonzeros = 100,
                       .power = 1,
                       .noise = 0.05,
                       .seed = 1};
    struct maker maker;
    CC_TRY(cc_data_keys(keys, row_keys, &c, e));
    if (c.occurring == 0)
        c.occurring = c.features;
    if (c.occurring > c.features)
        return cc_usage(e, "occurring=%llu: a row has features=%llu",
                        (unsigned long long)c.occurring, (unsigned long long)c.features);
    if (c.nonzeros > c.occurring)
        return cc_usage(e, "nonzeros=%llu: a row has features=%llu", (unsigned long long)c.nonzeros,
                        (unsigned long long)c.occurring);
    d->channels = c.features;
    d->height = d->width = 1;
    d->classes = 2;
    int status = CC_OK;
    CC_TRY_OUT(open_maker(&c, &maker, e));
    CC_TRY_OUT(make_rows(&maker, 0, c.train, &d->train, e));
    status = make_rows(&maker, 1, c.test, &d->test, e);
out:
    close_maker(&maker);
    return status;
}
