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
#include "core/bytes.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/onebit.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

struct params {
    int64_t ef, block;
};

static const struct cc_param table[] = {
    CC_PARAM_EF(struct params, 1, "error feedback: keep what was not sent in a residual"),
    CC_PARAM_INT(struct params, block, 0, 0, 1e9, "values",
                 "values that share two means (0: the whole tensor)"),
    {.name = NULL},
};

static size_t bit_bytes(size_t n)
{
    return n / 8 + (n % 8 != 0);
}

static size_t block_length(const struct params *p, size_t n)
{
    return p->block == 0 || (size_t)p->block > n ? n : (size_t)p->block;
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    if (shape->n == 0)
        return 0;
    size_t block = block_length(params, shape->n), bytes;
    if (__builtin_mul_overflow(shape->n / block, 2 * sizeof(float) + bit_bytes(block), &bytes))
        return SIZE_MAX;
    size_t tail = shape->n % block;
    if (tail > 0 && __builtin_add_overflow(bytes, 2 * sizeof(float) + bit_bytes(tail), &bytes))
        return SIZE_MAX;
    return bytes;
}

CC_EF_STATE

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

/* Parts are whole blocks, or ranges of the only one. */
struct job {
    const struct cc_codec *c;
    size_t n, block;
    int parts;
    const float *x; /* encode; r may be NULL */
    float *r;
    uint8_t *out;
    float minus, plus;       /* the only block's */
    struct cc_classes *sums; /* the only block's, by CC_SUM_BLOCK */
    const uint8_t *in;       /* decode */
    const float *scale;      /* NULL: y = decoded */
    float *y;
    size_t bad[CC_PARTS_MAX]; /* by part: the first block that is refused; SIZE_MAX: none */
};

static void set_parts(struct job *j)
{
    j->n = j->c->shape.n;
    j->block = block_length(j->c->params, j->n);
    j->parts = cc_parts(j->c->threads, j->n, CC_PART_VALUES);
}

static size_t begin(const struct job *j, int part)
{
    return cc_part_begin(j->n, j->parts, part, j->block == j->n ? CC_SUM_BLOCK : j->block);
}

static size_t block_at(const struct job *j, size_t index)
{
    return index * (2 * sizeof(float) + bit_bytes(j->block));
}

static size_t first_bad(const struct job *j)
{
    for (int p = 0; p < j->parts; p++)
        if (j->bad[p] != SIZE_MAX)
            return j->bad[p];
    return SIZE_MAX;
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

static void encode_blocks(void *arg, int part)
{
    struct job *j = arg;
    size_t end = begin(j, part + 1);
    j->bad[part] = SIZE_MAX;
    for (size_t i = begin(j, part), m; i < end; i += m) {
        m = end - i < j->block ? end - i : j->block;
        float minus, plus, *r = j->r == NULL ? NULL : j->r + i;
        uint8_t *to = j->out + block_at(j, i / j->block);
        struct cc_classes sums;
        k_onebit()->classes(j->x + i, r, m, &sums);
        if (!put_means(&sums, m, to, &minus, &plus)) {
            j->bad[part] = i / j->block;
            return;
        }
        k_onebit()->pack(j->x + i, r, minus, plus, m, to + 8);
    }
}

static void sum_part(void *arg, int part)
{
    const struct job *j = arg;
    size_t end = begin(j, part + 1);
    for (size_t i = begin(j, part), m; i < end; i += m) {
        m = end - i < CC_SUM_BLOCK ? end - i : CC_SUM_BLOCK;
        k_onebit()->classes(j->x + i, j->r == NULL ? NULL : j->r + i, m,
                            &j->sums[i / CC_SUM_BLOCK]);
    }
}

static void pack_part(void *arg, int part)
{
    const struct job *j = arg;
    size_t i = begin(j, part), m = begin(j, part + 1) - i;
    k_onebit()->pack(j->x + i, j->r == NULL ? NULL : j->r + i, j->minus, j->plus, m,
                     j->out + 8 + i / 8);
}

/* Encodes the only block by several threads. */
static void encode_one_block(struct job *j)
{
    struct cc_classes all = {0};
    cc_parallel(j->parts, sum_part, j);
    for (size_t b = 0; b < cc_sum_blocks(j->n); b++) {
        all.minus += j->sums[b].minus;
        all.plus += j->sums[b].plus;
        all.negatives += j->sums[b].negatives;
    }
    bool fine = put_means(&all, j->n, j->out, &j->minus, &j->plus);
    for (int p = 0; p < j->parts; p++)
        j->bad[p] = fine ? SIZE_MAX : 0;
    if (fine)
        cc_parallel(j->parts, pack_part, j);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    struct job j = {.c = c, .x = x, .r = p->ef ? c->state : NULL, .out = out, .sums = c->scratch};
    set_parts(&j);
    if (j.parts > 1 && j.block == j.n)
        encode_one_block(&j);
    else
        cc_parallel(j.parts, encode_blocks, &j);
    size_t bad = first_bad(&j);
    if (bad != SIZE_MAX) {
        size_t i = bad * j.block, m = j.n - i < j.block ? j.n - i : j.block;
        struct cc_context at = *ctx;
        at.offset += i;
        return cc_refuse(&at, x + i, j.r == NULL ? NULL : j.r + i, m, e);
    }
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

static void decode_part(void *arg, int part)
{
    struct job *j = arg;
    struct cc_sink sink;
    size_t first = begin(j, part), end = begin(j, part + 1);
    j->bad[part] = SIZE_MAX;
    if (j->scale == NULL)
        cc_sink_open(&sink, j->y + first, j->n * sizeof(float));
    for (size_t i = first, m; i < end && j->bad[part] == SIZE_MAX; i += m) {
        m = end - i < j->block ? end - i : j->block;
        size_t at = block_at(j, i / j->block);
        const uint8_t *bits = j->in + at + 8 + i % j->block / 8;
        float minus, plus;
        if (read_means(j->in, at, &minus, &plus, NULL) != CC_OK)
            j->bad[part] = i / j->block;
        else if (j->scale == NULL)
            unpack(bits, minus, plus, m, &sink);
        else
            k_onebit()->add(bits, *j->scale * minus, *j->scale * plus, j->y + i, m);
    }
    if (j->scale == NULL)
        cc_sink_close(&sink);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t want = bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    struct job j = {.c = c, .in = in, .scale = scale, .y = y};
    set_parts(&j);
    cc_parallel(j.parts, decode_part, &j);
    size_t bad = first_bad(&j);
    float minus, plus;
    if (bad == SIZE_MAX)
        return CC_OK;
    CC_TRY(read_means(in, block_at(&j, bad), &minus, &plus, e));
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
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
};
