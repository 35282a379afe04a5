/* Shapes of 1, 5, 960 and 24 x 40 values. Each is encoded for a few steps, of gradients with many
 * sizes and of zeros; every call is made twice, from the same state into other garbage. Buffers
 * have a margin of known bytes, which shows most writes beyond their end. */
#include "schemes/self_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "schemes/spec.h"

enum { MARGIN = 64, STEPS = 4, SHAPES = 4, MOST = 960 };
#define MARK 0xa5

/* A block with a margin behind it. */
struct block {
    unsigned char *at;
    size_t bytes;
};

struct test {
    struct cc_codec codec;
    struct cc_context ctx;
    struct block state, before, scratch, payload, again, y, y_again, pairs;
    float x[MOST];
    size_t bound;
};

static int make_block(struct block *b, size_t bytes, struct cc_error *e)
{
    b->bytes = bytes;
    b->at = cc_alloc(bytes + MARGIN, e);
    if (b->at == NULL)
        return CC_FAIL;
    memset(b->at, MARK, bytes + MARGIN);
    return CC_OK;
}

static int check_margin(const struct block *b, const char *what, struct cc_error *e)
{
    for (size_t i = 0; i < MARGIN; i++)
        if (b->at[b->bytes + i] != MARK)
            return cc_fail(e, "it writes beyond the %zu bytes of its %s", b->bytes, what);
    return CC_OK;
}

static int check_margins(const struct test *t, struct cc_error *e)
{
    CC_TRY(check_margin(&t->state, "state", e));
    CC_TRY(check_margin(&t->scratch, "scratch memory", e));
    CC_TRY(check_margin(&t->payload, "payload (bound)", e));
    CC_TRY(check_margin(&t->again, "payload (bound)", e));
    CC_TRY(check_margin(&t->y, "decoded values", e));
    return check_margin(&t->y_again, "decoded values", e);
}

static void free_blocks(const struct test *t)
{
    const struct block *const all[] = {&t->state, &t->before, &t->scratch, &t->payload,
                                       &t->again, &t->y,      &t->y_again, &t->pairs};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->at);
}

static int check_sizes(struct test *t, struct cc_error *e)
{
    const struct cc_codec *c = &t->codec;
    const size_t state = cc_state_bytes(c), scratch = cc_scratch_bytes(c);
    const size_t most = (size_t)1 << 30; /* for 960 values */
    t->bound = cc_bound(c);
    if (t->bound > most || state > most || scratch > most)
        return cc_fail(e,
                       "for %zu values it needs a bound of %zu bytes, a state of %zu, scratch "
                       "memory of %zu",
                       c->shape.n, t->bound, state, scratch);
    if (state % sizeof(float) != 0)
        return cc_fail(e, "its state of %zu bytes is not a multiple of 4", state);
    if (c->scheme->kind == CC_SUM_F32 && t->bound % sizeof(float) != 0)
        return cc_fail(e, "its bound of %zu bytes is not a number of floats (CC_SUM_F32)",
                       t->bound);
    return CC_OK;
}

static int make_blocks(struct test *t, struct cc_error *e)
{
    const struct cc_codec *c = &t->codec;
    const size_t values = c->shape.n * sizeof(float);
    CC_TRY(check_sizes(t, e));
    CC_TRY(make_block(&t->state, cc_state_bytes(c), e));
    CC_TRY(make_block(&t->before, cc_state_bytes(c), e));
    CC_TRY(make_block(&t->scratch, cc_scratch_bytes(c), e));
    CC_TRY(make_block(&t->payload, t->bound, e));
    CC_TRY(make_block(&t->again, t->bound, e));
    CC_TRY(make_block(&t->y, values, e));
    CC_TRY(make_block(&t->y_again, values, e));
    CC_TRY(make_block(&t->pairs, cc_pairs_bound(c) * sizeof(struct cc_index_value), e));
    t->codec.state = t->state.at;
    t->codec.scratch = t->scratch.at;
    return CC_OK;
}

/* Values of either sign and many sizes; in the last step zeros. */
static void fill(struct test *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = sin(1.7 * (double)(i + 1) + (double)t->ctx.step);
        t->x[i] = t->ctx.step + 1 == STEPS ? 0 : (float)(u * u * u * exp(-(double)(i % 7)));
    }
}

/* Encodes twice from the same state. */
static int encode(struct test *t, size_t *len, struct cc_error *e)
{
    const struct cc_codec *c = &t->codec;
    size_t again;
    memcpy(t->before.at, t->state.at, t->state.bytes);
    CC_TRY(cc_encode(c, &t->ctx, t->x, t->payload.at, t->bound, len, e));
    /* The state after the first call is kept, to be compared with that after the second. */
    for (size_t i = 0; i < t->state.bytes; i++) {
        const unsigned char after = t->state.at[i];
        t->state.at[i] = t->before.at[i];
        t->before.at[i] = after;
    }
    CC_TRY(cc_encode(c, &t->ctx, t->x, t->again.at, t->bound, &again, e));
    if (*len != again || memcmp(t->payload.at, t->again.at, *len) != 0)
        return cc_fail(e, "the same input and state give another payload");
    if (memcmp(t->before.at, t->state.at, t->state.bytes) != 0)
        return cc_fail(e, "the same input and state leave another state");
    return CC_OK;
}

static int decode(const struct test *t, size_t len, struct cc_error *e)
{
    const struct cc_codec *c = &t->codec;
    const size_t n = c->shape.n;
    const float scale = 0.5F;
    float *y = (void *)t->y.at, *again = (void *)t->y_again.at;
    for (size_t i = 0; i < n; i++) {
        y[i] = 3;
        again[i] = -7;
    }
    CC_TRY(cc_decode(c, &t->ctx, t->payload.at, len, y, e));
    CC_TRY(cc_decode(c, &t->ctx, t->payload.at, len, again, e));
    if (memcmp(y, again, n * sizeof *y) != 0)
        return cc_fail(e, "the same payload gives other values, or not all are set");
    for (size_t i = 0; i < n; i++)
        if ((c->scheme->flags & CC_LOSSY) == 0 && y[i] != t->x[i])
            return cc_fail(e,
                           "the value at index %zu, %g, is %g once decoded, and the scheme is "
                           "not CC_LOSSY",
                           i, (double)t->x[i], (double)y[i]);
    for (size_t i = 0; i < n; i++)
        again[i] = 1;
    CC_TRY(cc_decode_add(c, &t->ctx, t->payload.at, len, scale, again, e));
    for (size_t i = 0; i < n; i++) {
        const float want = 1 + scale * y[i];
        if (!(fabsf(again[i] - want) <= 1e-5F * (1 + fabsf(want))))
            return cc_fail(e, "decode with a scale of %g adds %g at index %zu, where %g is decoded",
                           (double)scale, (double)(again[i] - 1), i, (double)y[i]);
    }
    return CC_OK;
}

/* Zeros with the pairs in their places are the decoded values. */
static int read_pairs(const struct test *t, size_t len, struct cc_error *e)
{
    const struct cc_codec *c = &t->codec;
    const size_t most = cc_pairs_bound(c);
    const struct cc_index_value *pair = (const void *)t->pairs.at;
    const float *y = (const void *)t->y.at;
    size_t count = 0, next = 0;
    if (cc_pair_cost(c->scheme, c->params).pair_bits == 0)
        return CC_OK;
    CC_TRY(cc_to_pairs(c, &t->ctx, t->payload.at, len, 0, (void *)t->pairs.at, most, &count, e));
    for (size_t i = 0; i < c->shape.n; i++) {
        const bool sent = next < count && pair[next].index == i;
        const float want = sent ? pair[next++].value : 0;
        if (y[i] != want)
            return cc_fail(e, "its pairs have %g at index %zu, where %g is decoded", (double)want,
                           i, (double)y[i]);
    }
    return check_margin(&t->pairs, "pairs", e);
}

/* A step by rounds, of one worker, whose sums are its own floats. */
static int go_rounds(struct test *t, struct cc_error *e)
{
    const struct cc_codec *c = &t->codec;
    const size_t rounds = cc_sum_rounds(c->scheme, c->params);
    size_t len;
    memset(t->y.at, 0, t->y.bytes);
    for (size_t r = 0; r < rounds; r++) {
        const size_t want = cc_round_bytes(c, r);
        if (want > t->bound || want % sizeof(float) != 0)
            return cc_fail(e,
                           "round %zu of %zu bytes: they are floats, at most its bound of %zu "
                           "bytes",
                           r, want, t->bound);
        CC_TRY(cc_encode_round(c, &t->ctx, r, t->x, t->payload.at, t->bound, &len, e));
        CC_TRY(cc_absorb(c, &t->ctx, r, t->payload.at, len, 1, (void *)t->y.at, e));
    }
    return CC_OK;
}

static int test_shape(const struct cc_spec *spec, const struct cc_shape *shape, struct test *t,
                      struct cc_error *e)
{
    size_t len = 0;
    t->codec = (struct cc_codec){.scheme = spec->scheme, .params = spec->params, .shape = *shape};
    CC_TRY(make_blocks(t, e));
    cc_codec_reset(&t->codec);
    for (t->ctx.step = 0; t->ctx.step < STEPS; t->ctx.step++) {
        fill(t, shape->n);
        CC_TRY(encode(t, &len, e));
        CC_TRY(decode(t, len, e));
        CC_TRY(read_pairs(t, len, e));
        CC_TRY(check_margins(t, e));
    }
    if (spec->scheme->rounds == NULL)
        return CC_OK;
    cc_codec_reset(&t->codec);
    for (t->ctx.step = 0; t->ctx.step < STEPS; t->ctx.step++) {
        fill(t, shape->n);
        CC_TRY(go_rounds(t, e));
        CC_TRY(check_margins(t, e));
    }
    return CC_OK;
}

int cc_scheme_self_test(const struct cc_scheme *s, struct cc_error *e)
{
    const struct cc_shape shapes[SHAPES] = {
        cc_shape_flat(1),
        cc_shape_flat(5),
        cc_shape_flat(MOST),
        {.n = MOST, .dim = {24, 40}, .ndim = 2},
    };
    struct cc_spec *spec = NULL;
    struct cc_error why;
    int status = cc_spec_parse(s->id, &spec, &why);
    if (status == CC_USAGE) /* its defaults go with nothing: each use checks its own */
        return CC_OK;
    for (size_t i = 0; i < SHAPES && status == CC_OK; i++) {
        struct test t = {.ctx = {.name = "self-test", .seed = 1}};
        status = test_shape(spec, &shapes[i], &t, &why);
        free_blocks(&t);
    }
    cc_spec_free(spec);
    return status == CC_OK ? CC_OK : cc_fail(e, "%s fails its self-test: %.400s", s->id, why.text);
}
