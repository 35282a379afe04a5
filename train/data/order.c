/* Orders of samples: shuffled by epoch, or dealt to workers in shards sorted by class, which each
 * worker shuffles by itself. */
#include "train/data/order.h"

#include <stdlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "train/data/data.h"

struct cc_order {
    struct cc_order_config config;
    size_t *begin;    /* [workers + 1]: of each worker's samples; NULL: all share them */
    uint32_t *sample; /* in the order of `epoch` */
    uint32_t *sorted; /* by worker, before any shuffling; NULL if all share them */
    size_t count, steps;
    size_t epoch; /* `sample` is in it; SIZE_MAX: none */
};

/* Fisher and Yates. A position is drawn as the upper half of a 64-bit product, which favors some of
 * n positions by n / 2^32. */
static void shuffle(uint32_t *x, size_t n, const struct cc_random_id *id)
{
    for (size_t i = n; i > 1; i--) {
        const uint64_t r = cc_random(cc_key(id, i), (uint32_t)i);
        const size_t k = (size_t)(r * i >> 32);
        const uint32_t swapped = x[i - 1];
        x[i - 1] = x[k];
        x[k] = swapped;
    }
}

/* Counting sort, stable. */
static int sort_by_class(const struct cc_samples *s, uint32_t *out, struct cc_error *e)
{
    size_t *at;
    CC_TRY(CC_NEW(at, CC_MOST_CLASSES + 1, e));
    for (size_t i = 0; i < s->count; i++)
        at[s->label[i] + 1]++;
    for (size_t c = 0; c < CC_MOST_CLASSES; c++)
        at[c + 1] += at[c];
    for (size_t i = 0; i < s->count; i++)
        out[at[s->label[i]]++] = (uint32_t)i;
    free(at);
    return CC_OK;
}

/* Gives each worker its shards of the sorted samples. */
static int deal(struct cc_order *o, const struct cc_samples *s, struct cc_error *e)
{
    const struct cc_order_config *c = &o->config;
    const size_t shards = c->workers * c->by_class;
    const struct cc_random_id id = {.seed = c->seed, .rank = -1, .stream = CC_DRAW_SHARDS};
    uint32_t *by_class = NULL, *shard = NULL;
    size_t at = 0;
    int status = CC_OK;
    CC_TRY_OUT(CC_NEW(by_class, s->count, e));
    CC_TRY_OUT(CC_NEW(shard, shards, e));
    CC_TRY_OUT(sort_by_class(s, by_class, e));
    for (size_t i = 0; i < shards; i++)
        shard[i] = (uint32_t)i;
    shuffle(shard, shards, &id);
    for (size_t i = 0; i < shards; i++) {
        if (i % c->by_class == 0)
            o->begin[i / c->by_class] = at;
        const size_t end = s->count * (shard[i] + (size_t)1) / shards;
        for (size_t k = s->count * shard[i] / shards; k < end; k++)
            o->sorted[at++] = by_class[k];
    }
    o->begin[c->workers] = at;
out:
    free(by_class);
    free(shard);
    return status;
}

static size_t fewest(const struct cc_order *o)
{
    size_t least = SIZE_MAX;
    for (size_t w = 0; w < o->config.workers; w++) {
        const size_t n = o->begin[w + 1] - o->begin[w];
        least = n < least ? n : least;
    }
    return least;
}

int cc_order_open(const struct cc_samples *samples, const struct cc_order_config *config,
                  struct cc_order **out, struct cc_error *e)
{
    int status = CC_OK;
    if (samples->count > UINT32_MAX)
        return cc_fail(e, "%zu samples; 2^32 are the most", samples->count);
    struct cc_order *o;
    CC_TRY(CC_NEW(o, 1, e));
    *o = (struct cc_order){.config = *config, .count = samples->count, .epoch = SIZE_MAX};
    CC_TRY_OUT(CC_NEW(o->sample, o->count, e));
    if (config->by_class > 0) {
        CC_TRY_OUT(CC_NEW(o->begin, config->workers + 1, e));
        CC_TRY_OUT(CC_NEW(o->sorted, o->count, e));
        CC_TRY_OUT(deal(o, samples, e));
        o->steps = fewest(o) / config->batch;
    } else {
        o->steps = o->count / config->workers / config->batch;
    }
    if (o->steps == 0 && config->by_class > 0)
        CC_TRY_OUT(cc_fail(e,
                           "%zu samples in shards by class leave a worker %zu of them, too few for "
                           "a batch of %zu: take fewer workers, or smaller batches",
                           o->count, fewest(o), config->batch));
    if (o->steps == 0)
        CC_TRY_OUT(cc_fail(e,
                           "%zu samples are too few for %zu workers with batches of %zu: take "
                           "fewer workers, or smaller batches",
                           o->count, config->workers, config->batch));
    *out = o;
out:
    if (status != CC_OK)
        cc_order_close(o);
    return status;
}

void cc_order_close(struct cc_order *o)
{
    if (o == NULL)
        return;
    free(o->begin);
    free(o->sample);
    free(o->sorted);
    free(o);
}

size_t cc_order_steps(const struct cc_order *o)
{
    return o->steps;
}

static void begin_epoch(struct cc_order *o, size_t epoch)
{
    struct cc_random_id id = {
        .seed = o->config.seed, .rank = -1, .step = epoch, .stream = CC_DRAW_ORDER};
    for (size_t i = 0; i < o->count; i++)
        o->sample[i] = o->sorted != NULL ? o->sorted[i] : (uint32_t)i;
    if (o->begin == NULL)
        shuffle(o->sample, o->count, &id);
    for (size_t w = 0; w < o->config.workers && o->begin != NULL; w++) {
        id.rank = (int64_t)w;
        shuffle(o->sample + o->begin[w], o->begin[w + 1] - o->begin[w], &id);
    }
    o->epoch = epoch;
}

const uint32_t *cc_order_batch(struct cc_order *o, size_t step, size_t worker)
{
    const struct cc_order_config *c = &o->config;
    const size_t epoch = step / o->steps, at = step % o->steps;
    if (epoch != o->epoch)
        begin_epoch(o, epoch);
    if (o->begin != NULL)
        return o->sample + o->begin[worker] + at * c->batch;
    return o->sample + (at * c->workers + worker) * c->batch;
}
