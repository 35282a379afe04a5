#include "train/shard.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static void add_part(struct cc_shard *s, struct cc_shard_part p)
{
    struct cc_shard_part *last = s->parts > 0 ? &s->part[s->parts - 1] : NULL;
    if (p.from == p.to)
        return;
    s->values += p.to - p.from;
    if (last != NULL && last->to == p.from)
        last->to = p.to;
    else
        s->part[s->parts++] = p;
}

static int by_place(const void *a, const void *b)
{
    const struct cc_shard_part *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

int cc_shard_open(struct cc_shard *s, const struct cc_learner_config *config,
                  const struct cc_shard_part *part, size_t parts, const float *weights,
                  struct cc_error *e)
{
    struct cc_shard_part *sorted;
    *s = (struct cc_shard){.config = *config};
    CC_TRY(CC_NEW(sorted, parts, e));
    s->part = sorted;
    memcpy(sorted, part, parts * sizeof *sorted);
    qsort(sorted, parts, sizeof *sorted, by_place);
    for (size_t i = 0; i < parts; i++)
        add_part(s, sorted[i]);
    CC_TRY(cc_alloc_floats(s->values, &s->weights, e));
    CC_TRY(cc_alloc_floats(cc_optimizer_state(&config->optimizer, s->values), &s->state, e));
    if (weights != NULL)
        cc_shard_set(s, weights, NULL);
    return CC_OK;
}

void cc_shard_close(struct cc_shard *s)
{
    free(s->part);
    free(s->weights);
    free(s->state);
    *s = (struct cc_shard){.parts = 0};
}

static size_t arrays_of(const struct cc_shard *s)
{
    return cc_optimizer_state(&s->config.optimizer, 1);
}

/* Where value `from` of the step stands among the shard's. */
static size_t place_of(const struct cc_shard *s, size_t from)
{
    size_t at = 0, i = 0;
    for (; i + 1 < s->parts && from >= s->part[i].to; i++)
        at += s->part[i].to - s->part[i].from;
    return at + (from - s->part[i].from);
}

void cc_shard_update(struct cc_shard *s, size_t from, size_t to, uint64_t step, uint64_t updates,
                     float *gradient, const float *copy, bool differences)
{
    const struct cc_learner_config *c = &s->config;
    if (from == to)
        return;
    const size_t at = place_of(s, from);
    float *w = s->weights + at, *first = arrays_of(s) > 0 ? s->state + at : NULL;
    cc_optimizer_apply_part(&c->optimizer, c->layout, from, to, cc_rate_at(&c->rate, step), updates,
                            gradient, w, first, first != NULL ? first + s->values : NULL,
                            c->threads);
    for (size_t i = 0; i < to - from; i++)
        gradient[i] = differences ? w[i] - copy[from + i] : w[i];
}

/* Copies the parts of `arrays` arrays: those of the shard have s->values each, those of all values
 * as many as the net. */
static void copy_parts(const struct cc_shard *s, size_t arrays, float *own, float *all, bool out)
{
    const size_t values = s->config.layout->values;
    size_t at = 0;
    for (size_t i = 0; i < s->parts; i++) {
        const size_t from = s->part[i].from, n = s->part[i].to - from;
        for (size_t k = 0; k < arrays; k++) {
            float *mine = own + k * s->values + at, *theirs = all + k * values + from;
            memcpy(out ? theirs : mine, out ? mine : theirs, n * sizeof *mine);
        }
        at += n;
    }
}

void cc_shard_get(const struct cc_shard *s, float *weights, float *state)
{
    copy_parts(s, weights != NULL ? 1 : 0, s->weights, weights, true);
    copy_parts(s, state != NULL ? arrays_of(s) : 0, s->state, state, true);
}

void cc_shard_set(struct cc_shard *s, const float *weights, const float *state)
{
    copy_parts(s, weights != NULL ? 1 : 0, s->weights, (float *)(uintptr_t)weights, false);
    copy_parts(s, state != NULL ? arrays_of(s) : 0, s->state, (float *)(uintptr_t)state, false);
}
