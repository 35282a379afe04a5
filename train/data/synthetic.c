/* Synthetic data sets. A class's pattern is drawn at a quarter of the resolution and interpolated,
 * so that neighboring pixels are alike as in photographs; its standard deviation is about 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "train/data/sources.h"
#include "train/data/resize.h"

enum { PATTERNS, LABELS, NOISE }; /* streams of random numbers */

struct config {
    struct cc_data *d;
    uint64_t classes, train, test, seed;
    double noise;
};

static const struct cc_data_key synthetic_keys[] = {
    {"classes", CC_KEY_COUNT, .at = offsetof(struct config, classes), 2, CC_MOST_CLASSES},
    {"dims", CC_KEY_DIMS, .at = offsetof(struct config, d)},
    {"train", CC_KEY_COUNT, .at = offsetof(struct config, train), 1, UINT64_C(1) << 32},
    {"test", CC_KEY_COUNT, .at = offsetof(struct config, test), 1, UINT64_C(1) << 32},
    {"noise", CC_KEY_NUMBER, .at = offsetof(struct config, noise), 0, 1000},
    {"seed", CC_KEY_COUNT, .at = offsetof(struct config, seed), 0, UINT64_C(1) << 53},
    {.name = NULL}};

static float draw(const struct cc_random_id *id, uint64_t index)
{
    return cc_about_normal(cc_key(id, 4 * index), (uint32_t)(4 * index));
}

static size_t quarter(size_t n)
{
    return n < 8 ? n : n / 4;
}

/* The patterns of all classes, [classes][values]. */
static int make_patterns(const struct config *c, float *out, struct cc_error *e)
{
    const struct cc_data *d = c->d;
    const size_t h = quarter(d->height), w = quarter(d->width), planes = c->classes * d->channels;
    const struct cc_random_id id = {.seed = c->seed, .rank = -1, .stream = PATTERNS};
    float *coarse;
    CC_TRY(CC_NEW(coarse, h * w, e));
    for (size_t i = 0; i < planes; i++) {
        for (size_t k = 0; k < h * w; k++)
            coarse[k] = draw(&id, i * h * w + k);
        cc_resize(coarse, h, w, out + i * d->height * d->width, d->height, d->width);
    }
    free(coarse);
    return CC_OK;
}

/* part: 0 for training, 1 for testing. */
static int make_samples(const struct config *c, const float *pattern, uint64_t part, uint64_t count,
                        struct cc_samples *out, struct cc_error *e)
{
    const size_t n = cc_data_values(c->d);
    const struct cc_random_id label = {
        .seed = c->seed, .rank = -1, .direction = part, .stream = LABELS};
    struct cc_random_id noise = {.seed = c->seed, .rank = -1, .direction = part, .stream = NOISE};
    size_t bytes;
    if (!cc_mul(count, n * sizeof *out->value, &bytes))
        return cc_fail(e, "%llu samples of %zu values are too many", (unsigned long long)count, n);
    CC_TRY(CC_NEW(out->value, bytes / sizeof *out->value, e));
    CC_TRY(CC_NEW(out->label, count, e));
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t r = cc_random(cc_key(&label, i), (uint32_t)i);
        const size_t class = (size_t)(r * c->classes >> 32);
        float *x = out->value + i * n;
        out->label[i] = (uint16_t) class;
        noise.tensor = i;
        for (size_t k = 0; k < n; k++)
            x[k] = pattern[class * n + k] + (float)c->noise * draw(&noise, k);
    }
    return CC_OK;
}

int cc_data_synthetic(const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {.d = d, .classes = 10, .train = 4096, .test = 1024, .seed = 1, .noise = 1};
    d->channels = 3;
    d->height = d->width = 32;
    CC_TRY(cc_data_keys(keys, synthetic_keys, &c, e));
    d->classes = c.classes;
    size_t bytes;
    float *pattern;
    if (!cc_mul(c.classes * sizeof *pattern, cc_data_values(d), &bytes))
        return cc_fail(e, "%llu classes of %zu values are too many", (unsigned long long)c.classes,
                       cc_data_values(d));
    CC_TRY(CC_NEW(pattern, bytes / sizeof *pattern, e));
    int status = CC_OK;
    CC_TRY_OUT(make_patterns(&c, pattern, e));
    CC_TRY_OUT(make_samples(&c, pattern, 0, c.train, &d->train, e));
    status = make_samples(&c, pattern, 1, c.test, &d->test, e);
out:
    free(pattern);
    return status;
}
