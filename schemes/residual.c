#include "schemes/residual.h"

#include "core/bytes.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/kernels/half.h"
#include "schemes/kernels/residual.h"

/* The indices in cc_feedback_names of residuals that are not of floats. */
enum { NARROW = 2, LOCO };

const char *const cc_feedback_names[] = {"0", "1", "bf16", "loco", NULL};

static int64_t kind_of(const struct cc_scheme *s, const void *params)
{
    const struct cc_param *ef = cc_param_find(s->params, "ef");
    return ef != NULL && ef->choices == cc_feedback_names
               ? *(const int64_t *)(const void *)((const char *)params + ef->offset)
               : 0;
}

bool cc_residual_is_narrow(const struct cc_scheme *s, const void *params)
{
    return kind_of(s, params) >= NARROW;
}

static bool feeds_back(const void *params)
{
    const struct cc_feedback *p = params;
    return p->ef != 0;
}

size_t cc_ef_state_bytes(const void *params, const struct cc_shape *shape)
{
    return feeds_back(params) ? cc_float_bytes(shape->n) : 0;
}

size_t cc_ef_residual_at(const void *params, const struct cc_shape *shape)
{
    const struct cc_feedback *p = params;
    (void)shape;
    return feeds_back(params) && p->ef != LOCO ? 0 : SIZE_MAX;
}

struct cc_traffic cc_ef_once(const void *params)
{
    return cc_traffic_one(feeds_back(params));
}

struct cc_traffic cc_ef_twice(const void *params)
{
    return cc_traffic_two(feeds_back(params));
}

float *cc_ef_residual(const struct cc_codec *c)
{
    return feeds_back(c->params) ? c->state : NULL;
}

static size_t loco_blocks(size_t n)
{
    return n / CC_LOCO_BLOCK + (n % CC_LOCO_BLOCK != 0);
}

size_t cc_residual_state_bytes(const struct cc_scheme *s, const void *params, size_t n)
{
    const size_t words = n / 4 + (n % 4 != 0);
    return kind_of(s, params) == LOCO
               ? cc_bytes_product(cc_bytes_sum(loco_blocks(n), words), sizeof(float))
               : cc_bytes_product(n / 2 + n % 2, 2 * sizeof(uint16_t));
}

/* The bytes before the residual in scratch memory. */
static size_t own_bytes(const struct cc_codec *c)
{
    return c->scheme->scratch_bytes == NULL
               ? 0
               : cc_align_up(c->scheme->scratch_bytes(c->params, &c->shape));
}

size_t cc_residual_scratch_bytes(size_t own, size_t n)
{
    return cc_bytes_sum(cc_align_up(own), cc_float_bytes(n));
}

struct work {
    const struct cc_context *ctx;
    uint16_t *narrow;
    float *wide;
};

static size_t widen_range(void *arg, size_t begin, size_t end)
{
    const struct work *w = arg;
    k_residual()->widen(w->narrow + begin, w->wide + begin, end - begin);
    return 0;
}

/* The key changes where the index in the tensor passes a multiple of 2^32. */
static size_t narrow_range(void *arg, size_t begin, size_t end)
{
    const struct work *w = arg;
    for (size_t i = begin, m; i < end; i += m) {
        const uint64_t index = w->ctx->offset + i;
        const uint64_t same_key = cc_same_key(index);
        m = end - i < same_key ? end - i : (size_t)same_key;
        k_residual()->narrow(w->wide + i, cc_context_key(w->ctx, index, CC_RESIDUAL_STREAM),
                             (uint32_t)index, w->narrow + i, m);
    }
    return 0;
}

/* --- moving averages --- */

struct average {
    float *scale; /* the state: */
    uint8_t *code;
    size_t n;
    float *wide;
    bool forgets; /* in this step */
};

static struct average average_of(const struct cc_codec *c, uint64_t step, float *wide)
{
    float *scale = c->state;
    return (struct average){.scale = scale,
                            .code = (uint8_t *)(scale + loco_blocks(c->shape.n)),
                            .n = c->shape.n,
                            .wide = wide,
                            .forgets = step % CC_LOCO_RESET == 0};
}

static size_t load_average(void *arg, size_t begin, size_t end)
{
    const struct average *a = arg;
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < CC_LOCO_BLOCK ? end - i : CC_LOCO_BLOCK;
        k_residual()->load(a->code + i, a->forgets ? 0 : a->scale[i / CC_LOCO_BLOCK], a->wide + i,
                           m);
    }
    return 0;
}

/* `wide` has what the step leaves. */
static size_t keep_average(void *arg, size_t begin, size_t end)
{
    const struct average *a = arg;
    for (size_t i = begin, m; i < end; i += m) {
        float *scale = &a->scale[i / CC_LOCO_BLOCK];
        m = end - i < CC_LOCO_BLOCK ? end - i : CC_LOCO_BLOCK;
        *scale = k_residual()->average(a->wide + i, a->forgets ? 0 : *scale, a->code + i, m);
    }
    return 0;
}

static int encode_average(const struct cc_codec *c, const struct cc_context *ctx,
                          struct cc_elements x, uint8_t *out, size_t cap, size_t *len,
                          struct cc_error *e)
{
    struct cc_codec wide = *c;
    wide.state = (char *)c->scratch + own_bytes(c);
    struct average a = average_of(c, ctx->step, wide.state);
    (void)cc_parallel_values(c->threads, a.n, CC_LOCO_BLOCK, load_average, &a);
    CC_TRY(cc_scheme_encode(&wide, ctx, x, out, cap, len, e));
    (void)cc_parallel_values(c->threads, a.n, CC_LOCO_BLOCK, keep_average, &a);
    return CC_OK;
}

int cc_residual_encode(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    if (kind_of(c->scheme, c->params) == LOCO)
        return encode_average(c, ctx, x, out, cap, len, e);
    struct work w = {
        .ctx = ctx, .narrow = c->state, .wide = (void *)((char *)c->scratch + own_bytes(c))};
    struct cc_codec wide = *c;
    wide.state = w.wide;
    (void)cc_parallel_values(c->threads, c->shape.n, CC_ALIGN, widen_range, &w);
    CC_TRY(cc_scheme_encode(&wide, ctx, x, out, cap, len, e));
    (void)cc_parallel_values(c->threads, c->shape.n, CC_ALIGN, narrow_range, &w);
    return CC_OK;
}

void cc_residual_give_back(const struct cc_codec *c, uint32_t base,
                           const struct cc_index_value *pair, size_t count)
{
    uint16_t *residual = c->state;
    for (size_t i = 0; i < count; i++) {
        uint16_t *at = &residual[pair[i].index - base];
        const float sum = cc_bits_f32((uint32_t)*at << 16) + pair[i].value;
        *at = cc_nearest_bf16(cc_f32_bits(sum));
    }
}
