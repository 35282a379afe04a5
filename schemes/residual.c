#include "schemes/residual.h"

#include "core/bytes.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/kernels/half.h"
#include "schemes/kernels/residual.h"

#define NARROW 2 /* its index in cc_feedback_names */

const char *const cc_feedback_names[] = {"0", "1", "bf16", NULL};

bool cc_residual_is_narrow(const struct cc_scheme *s, const void *params)
{
    const struct cc_param *ef = cc_param_find(s->params, "ef");
    return ef != NULL && ef->choices == cc_feedback_names &&
           *(const int64_t *)(const void *)((const char *)params + ef->offset) == NARROW;
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
    (void)shape;
    return feeds_back(params) ? 0 : SIZE_MAX;
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

size_t cc_residual_state_bytes(size_t n)
{
    return cc_bytes_product(n / 2 + n % 2, 2 * sizeof(uint16_t));
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

int cc_residual_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    struct work w = {
        .ctx = ctx, .narrow = c->state, .wide = (void *)((char *)c->scratch + own_bytes(c))};
    struct cc_codec wide = *c;
    wide.state = w.wide;
    (void)cc_parallel_values(c->threads, c->shape.n, CC_ALIGN, widen_range, &w);
    CC_TRY(c->scheme->encode(&wide, ctx, x, out, cap, len, e));
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
