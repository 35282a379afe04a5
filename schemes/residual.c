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

size_t cc_residual_state_bytes(size_t n)
{
    size_t bytes;
    return cc_mul(n / 2 + n % 2, 2 * sizeof(uint16_t), &bytes) ? bytes : SIZE_MAX;
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
    size_t bytes;
    if (own > SIZE_MAX - CC_ALIGN)
        return SIZE_MAX;
    return __builtin_add_overflow(cc_align_up(own), cc_float_bytes(n), &bytes) ? SIZE_MAX : bytes;
}

struct work {
    const struct cc_context *ctx;
    uint16_t *narrow;
    float *wide;
    size_t n;
    int parts;
};

static void widen_part(void *arg, int part)
{
    const struct work *w = arg;
    const size_t from = cc_part_begin(w->n, w->parts, part, CC_ALIGN);
    const size_t to = cc_part_begin(w->n, w->parts, part + 1, CC_ALIGN);
    k_residual()->widen(w->narrow + from, w->wide + from, to - from);
}

/* The key changes where the index in the tensor passes a multiple of 2^32. */
static void narrow_part(void *arg, int part)
{
    const struct work *w = arg;
    const size_t to = cc_part_begin(w->n, w->parts, part + 1, CC_ALIGN);
    for (size_t i = cc_part_begin(w->n, w->parts, part, CC_ALIGN), m; i < to; i += m) {
        const uint64_t index = w->ctx->offset + i;
        const uint64_t same_key = cc_same_key(index);
        m = to - i < same_key ? to - i : (size_t)same_key;
        k_residual()->narrow(w->wide + i, cc_context_key(w->ctx, index, CC_RESIDUAL_STREAM),
                             (uint32_t)index, w->narrow + i, m);
    }
}

int cc_residual_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    struct work w = {.ctx = ctx,
                     .narrow = c->state,
                     .wide = (void *)((char *)c->scratch + own_bytes(c)),
                     .n = c->shape.n,
                     .parts = cc_parts(c->threads, c->shape.n, CC_PART_VALUES)};
    struct cc_codec wide = *c;
    wide.state = w.wide;
    cc_parallel(w.parts, widen_part, &w);
    CC_TRY(c->scheme->encode(&wide, ctx, x, out, cap, len, e));
    cc_parallel(w.parts, narrow_part, &w);
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
