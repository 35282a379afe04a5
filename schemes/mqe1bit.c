/* mqe1bit: one bit a value with minimum squared quantization error.
 *
 * The values of gradient + residual fall into two classes, x < 0 and x >= 0, and each class decodes
 * to its mean, which is the number with the least squared error. The residual keeps the
 * differences. Payload of a block: f32 mean of each class, then a bit a value. By default the whole
 * tensor is one block; smaller blocks follow the gradient's scale more closely at 64 bits each.
 *
 * Two passes per block: sums and counts of the classes, then bits and residual. Threads share the
 * blocks; if there is only one, they share its sum tree (core/reduce.h), whose leaves lie in
 * scratch memory, so that the means do not depend on the number of threads.
 *
 * Source: Seide et al., 1-Bit Stochastic Gradient Descent, Interspeech 2014; 3LC, section 4.2 ("MQE
 * 1-bit int"). The original has a mean for each column of a matrix. */
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/accumulate.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/onebit.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

struct params {
    int64_t ef, block;
};

static const struct cc_param table[] = {
    CC_PARAM_EF(1, "error feedback: keep what was not sent in a residual"),
    CC_PARAM_INT(struct params, block, 0, 0, 1e9, "values",
                 "values that share two means (0: the whole tensor)"),
    {.name = NULL},
};

static size_t block_length(const struct params *p, size_t n)
{
    return p->block == 0 || (size_t)p->block > n ? n : (size_t)p->block;
}

/* A block's two means and bits. */
static size_t block_bytes(size_t n)
{
    return 2 * sizeof(float) + cc_bit_bytes(n);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    if (shape->n == 0)
        return 0;
    const size_t block = block_length(params, shape->n), tail = shape->n % block;
    return cc_bytes_sum(cc_bytes_product(shape->n / block, block_bytes(block)),
                        tail > 0 ? block_bytes(tail) : 0);
}

/* For the sum tree of the only block. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    bool one = block_length(params, shape->n) == shape->n;
    return one ? cc_sum_blocks(shape->n) * sizeof(struct cc_classes) : 0;
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return p->block == 0 ? cc_traffic_two(p->ef != 0) : cc_traffic_one(p->ef != 0);
}

struct job {
    const struct cc_codec *c;
    size_t n, block;
    const float *x; /* encode; r may be NULL */
    float *r;
    uint8_t *out;
    float minus, plus;       /* the only block's */
    struct cc_classes *sums; /* the only block's, by CC_SUM_BLOCK */
    const uint8_t *in;       /* decode */
    const float *scale;      /* NULL: y = decoded */
    float *y;
};

static struct job make_job(const struct cc_codec *c)
{
    return (struct job){.c = c, .n = c->shape.n, .block = block_length(c->params, c->shape.n)};
}

/* Goes through the tensor by whole blocks, or by ranges of the only one. */
static size_t run(struct job *j, size_t (*work)(void *arg, size_t begin, size_t end))
{
    return cc_parallel_values(j->c->threads, j->n, j->block == j->n ? CC_SUM_BLOCK : j->block, work,
                              j);
}

static size_t block_at(const struct job *j, size_t index)
{
    return index * block_bytes(j->block);
}

/* --- encode --- */

static float mean(double sum, size_t count)
{
    return count == 0 ? 0 : (float)(sum / (double)count);
}

/* Writes the two means of m values. False if one is not finite, or has the other's sign, as it can
 * for values that change while they are summed. */
static bool put_means(const struct cc_classes *sums, size_t m, uint8_t *to, float *minus,
                      float *plus)
{
    if (!__builtin_isfinite(sums->minus) || !__builtin_isfinite(sums->plus))
        return false;
    *minus = mean(sums->minus, sums->negatives);
    *plus = mean(sums->plus, m - sums->negatives);
    if (*minus > 0 || *plus < 0)
        return false;
    cc_put_f32(to, *minus);
    cc_put_f32(to + 4, *plus);
    return true;
}

/* Returns the number of values from the first block on that is refused. */
static size_t encode_blocks(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < j->block ? end - i : j->block;
        float minus, plus, *r = j->r == NULL ? NULL : j->r + i;
        uint8_t *to = j->out + block_at(j, i / j->block);
        struct cc_classes sums;
        k_onebit()->classes(j->x + i, r, m, &sums);
        if (!put_means(&sums, m, to, &minus, &plus))
            return j->n - i;
        k_onebit()->pack(j->x + i, r, minus, plus, m, to + 8);
    }
    return 0;
}

static size_t sum_range(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < CC_SUM_BLOCK ? end - i : CC_SUM_BLOCK;
        k_onebit()->classes(j->x + i, j->r == NULL ? NULL : j->r + i, m,
                            &j->sums[i / CC_SUM_BLOCK]);
    }
    return 0;
}

static size_t pack_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    k_onebit()->pack(j->x + i, j->r == NULL ? NULL : j->r + i, j->minus, j->plus, end - i,
                     j->out + 8 + i / 8);
    return 0;
}

/* Encodes the only block by several threads. */
static size_t encode_one_block(struct job *j)
{
    struct cc_classes all = {0};
    (void)run(j, sum_range);
    for (size_t b = 0; b < cc_sum_blocks(j->n); b++) {
        all.minus += j->sums[b].minus;
        all.plus += j->sums[b].plus;
        all.negatives += j->sums[b].negatives;
    }
    return put_means(&all, j->n, j->out, &j->minus, &j->plus) ? run(j, pack_range) : j->n;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    struct job j = make_job(c);
    j.x = x;
    j.r = cc_ef_residual(c);
    j.out = out;
    j.sums = c->scratch;
    const bool one = j.block == j.n && cc_parts(c->threads, j.n, CC_PART_VALUES) > 1;
    const size_t left = one ? encode_one_block(&j) : run(&j, encode_blocks);
    if (left > 0)
        return cc_accumulate_refuse(ctx, x, j.r, j.n - left, j.n, e);
    *len = bound(c->params, &c->shape);
    return CC_OK;
}

/* --- decode --- */

static int read_means(const uint8_t *in, size_t at, float *minus, float *plus, struct cc_error *e)
{
    *minus = cc_get_f32(in + at);
    *plus = cc_get_f32(in + at + 4);
    if (!cc_finite(*minus) || *minus > 0)
        return cc_bad_payload(at, e, "the mean of the negative values is %g", (double)*minus);
    if (!cc_finite(*plus) || *plus < 0)
        return cc_bad_payload(at + 4, e, "the mean of the values that are not negative is %g",
                              (double)*plus);
    return CC_OK;
}

/* Decodes m values of a block. */
static void unpack(const uint8_t *bits, float minus, float plus, size_t m, struct cc_sink *sink)
{
    for (size_t i = 0, tile; i < m; i += tile) {
        tile = cc_sink_tile(sink, m - i);
        k_onebit()->unpack(bits + i / 8, minus, plus, cc_sink_room(sink), tile);
        cc_sink_put(sink, tile * sizeof(float));
    }
}

/* Returns the number of values from the first block on that is refused. */
static size_t decode_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    struct cc_sink sink;
    size_t left = 0;
    if (j->scale == NULL)
        cc_sink_open(&sink, j->y + first, j->n * sizeof(float));
    for (size_t i = first, m; i < end && left == 0; i += m) {
        m = end - i < j->block ? end - i : j->block;
        size_t at = block_at(j, i / j->block);
        const uint8_t *bits = j->in + at + 8 + i % j->block / 8;
        float minus, plus;
        if (read_means(j->in, at, &minus, &plus, NULL) != CC_OK)
            left = j->n - i;
        else if (j->scale == NULL)
            unpack(bits, minus, plus, m, &sink);
        else
            k_onebit()->add(bits, *j->scale * minus, *j->scale * plus, j->y + i, m);
    }
    if (j->scale == NULL)
        cc_sink_close(&sink);
    return left;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t want = bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    struct job j = make_job(c);
    j.in = in;
    j.scale = scale;
    j.y = y;
    const size_t left = run(&j, decode_range);
    float minus, plus;
    if (left == 0)
        return CC_OK;
    CC_TRY(read_means(in, block_at(&j, (j.n - left) / j.block), &minus, &plus, e));
    return cc_changed_payload(e);
}

const struct cc_scheme cc_scheme_mqe1bit = {
    .id = "mqe1bit",
    .title = "1 bit, least squared error",
    .reference = "Seide et al., 1-Bit SGD, Interspeech 2014; 3LC, section 4.2 (MQE 1-bit int)",
    .layout = "per block: f32 mean of x < 0, f32 mean of x >= 0, a bit a value (1 = x >= 0)",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .state_bytes = cc_ef_state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
};
