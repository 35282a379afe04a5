/* Signs and their mean magnitude, for signsgd and efsign.
 *
 * Two passes over gradient (+ residual): the sum of magnitudes over a fixed tree of blocks, whose
 * sums lie in scratch memory, then a bit for each value (1 = not negative) and the new residual, x
 * minus plus or minus the mean. Values decode to plus or minus the mean. Threads share whole blocks
 * of the tree, so the mean does not depend on their number. */
#include "schemes/signs.h"

#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/onebit.h"

struct job {
    size_t n;
    const float *x; /* encode; r may be NULL */
    float *r;
    double *sums; /* by block of CC_SUM_BLOCK */
    uint8_t *out;
    const uint8_t *in; /* decode */
    float minus, plus; /* the values that the signs decode to */
    float *y;
};

size_t cc_signs_bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bit_bytes(shape->n) + sizeof(float);
}

size_t cc_signs_scratch_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_sum_blocks(shape->n) * sizeof(double);
}

static size_t magnitude_range(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < CC_SUM_BLOCK ? end - i : CC_SUM_BLOCK;
        j->sums[i / CC_SUM_BLOCK] =
            k_onebit()->magnitude(j->x + i, j->r == NULL ? NULL : j->r + i, m);
    }
    return 0;
}

static size_t pack_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    k_onebit()->pack(j->x + i, j->r == NULL ? NULL : j->r + i, j->minus, j->plus, end - i,
                     j->out + i / 8);
    return 0;
}

int cc_signs_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                    uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    size_t n = c->shape.n;
    float *residual = c->scheme->state_bytes != NULL ? c->state : NULL;
    struct job j = {.n = n, .x = x, .r = residual, .sums = c->scratch, .out = out};
    (void)cc_parallel_values(c->threads, n, CC_SUM_BLOCK, magnitude_range, &j);
    double sum = 0;
    for (size_t b = 0; b < cc_sum_blocks(n); b++)
        sum += j.sums[b];
    if (!__builtin_isfinite(sum))
        return cc_refuse(ctx, x, j.r, n, e);
    float mean = (float)(sum / (double)n);
    j.minus = -mean;
    j.plus = mean;
    (void)cc_parallel_values(c->threads, n, CC_SUM_BLOCK, pack_range, &j);
    *len = cc_signs_bound(c->params, &c->shape);
    cc_put_f32(out + *len - sizeof mean, mean);
    return CC_OK;
}

static size_t unpack_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    struct cc_sink sink;
    cc_sink_open(&sink, j->y + first, j->n * sizeof(float));
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        k_onebit()->unpack(j->in + i / 8, j->minus, j->plus, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m * sizeof(float));
    }
    cc_sink_close(&sink);
    return 0;
}

static size_t add_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    k_onebit()->add(j->in + i / 8, j->minus, j->plus, j->y + i, end - i);
    return 0;
}

int cc_signs_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t n = c->shape.n, want = cc_signs_bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    size_t at = len - sizeof(float);
    float mean = cc_get_f32(in + at);
    if (!cc_finite(mean) || mean < 0)
        return cc_bad_payload(at, e, "the mean magnitude is %g", (double)mean);
    struct job j = {.n = n,
                    .in = in,
                    .minus = scale == NULL ? -mean : *scale * -mean,
                    .plus = scale == NULL ? mean : *scale * mean,
                    .y = y};
    (void)cc_parallel_values(c->threads, n, CC_SUM_BLOCK, scale == NULL ? unpack_range : add_range,
                             &j);
    return CC_OK;
}
