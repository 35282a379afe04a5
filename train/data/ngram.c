#include "train/data/ngram.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

/* A run of up to CC_NGRAM_MOST bytes of the training text: how often it is there, how many bytes
 * follow it, and how many different ones. */
struct gram {
    uint64_t key; /* the bytes, and a 1 before the first; 0: free */
    uint32_t count, followers, types;
};

/* Open addressing; the size is a power of two, of which at most half is taken. */
struct table {
    struct gram *gram;
    size_t size, taken;
};

static struct gram *find(const struct table *t, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (t->size - 1);
    while (t->gram[at].key != 0 && t->gram[at].key != key)
        at = (at + 1) & (t->size - 1);
    return &t->gram[at];
}

static int grow(struct table *t, struct cc_error *e)
{
    struct table larger = {.size = t->size > 0 ? 2 * t->size : 1 << 16, .taken = t->taken};
    CC_TRY(CC_NEW(larger.gram, larger.size, e));
    for (size_t i = 0; i < t->size; i++)
        if (t->gram[i].key != 0)
            *find(&larger, t->gram[i].key) = t->gram[i];
    free(t->gram);
    *t = larger;
    return CC_OK;
}

static int add(struct table *t, uint64_t key, struct gram **out, struct cc_error *e)
{
    if (2 * t->taken >= t->size)
        CC_TRY(grow(t, e));
    struct gram *g = find(t, key);
    t->taken += g->key == 0;
    g->key = key;
    *out = g;
    return CC_OK;
}

/* The key of the n bytes that end before byte `at`. */
static uint64_t key_of(const uint8_t *x, size_t at, size_t n)
{
    uint64_t key = 1;
    for (size_t i = at - n; i < at; i++)
        key = key << 8 | x[i];
    return key;
}

static int count(struct table *t, const struct cc_samples *s, struct cc_error *e)
{
    struct gram *g;
    for (size_t at = 0; at < s->bytes; at++)
        for (size_t n = 0; n < CC_NGRAM_MOST && n <= at; n++) {
            const uint64_t context = key_of(s->byte, at, n);
            CC_TRY(add(t, context << 8 | s->byte[at], &g, e));
            const bool fresh = g->count++ == 0;
            CC_TRY(add(t, context, &g, e));
            g->followers++;
            g->types += fresh;
        }
    return CC_OK;
}

int cc_ngram_bits(const struct cc_data *text, double bits[CC_NGRAM_MOST], struct cc_error *e)
{
    const struct cc_samples *s = &text->test;
    struct table t = {0};
    const int status = count(&t, &text->train, e);
    for (size_t n = 0; n < CC_NGRAM_MOST; n++)
        bits[n] = 0;
    for (size_t at = 0; at < s->bytes && status == CC_OK; at++) {
        double likely = 1.0 / 256;
        for (size_t n = 0; n < CC_NGRAM_MOST; n++) {
            if (n <= at) {
                const uint64_t context = key_of(s->byte, at, n);
                const struct gram *c = find(&t, context), *g = find(&t, context << 8 | s->byte[at]);
                if (c->followers > 0)
                    likely = ((double)g->count + c->types * likely) /
                             ((double)c->followers + (double)c->types);
            }
            bits[n] -= log2(likely) / (double)s->bytes;
        }
    }
    free(t.gram);
    return status;
}
