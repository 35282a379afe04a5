/* The signs of a block of values and their mean magnitude, for signsgd and efsign.
 *
 * Two passes over gradient (+ residual): the sum of magnitudes over a fixed tree, then a bit for
 * each value (1 = not negative) and the new residual, x minus plus or minus the mean. Values decode
 * to plus or minus the mean. By default the whole tensor is one block; smaller blocks follow the
 * gradient's scale more closely, at 32 bits each, and are read once from memory.
 *
 * Threads share the blocks; if there is only one, they share its sum tree (core/reduce.h), whose
 * leaves lie in scratch memory, so that the mean does not depend on the number of threads. */
#include "schemes/signs.h"

#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/onebit.h"

const struct cc_param cc_signs_params[] = {
    CC_PARAM_INT(struct cc_signs_params, block, 0, 0, 1e9, "values",
                 "values that share a mean magnitude (0: the whole tensor)"),
    {.name = NULL},
};

static size_t block_length(const void *params, size_t n)
{
    const struct cc_signs_params *p = params;
    return p->block == 0 || (size_t)p->block > n ? n : (size_t)p->block;
}

static size_t block_bytes(size_t n)
{
    return cc_bit_bytes(n) + sizeof(float);
}

size_t cc_signs_bound(const void *params, const struct cc_shape *shape)
{
    if (shape->n == 0)
        return 0;
    const size_t block = block_length(params, shape->n), tail = shape->n % block;
    return cc_bytes_sum(cc_bytes_product(shape->n / block, block_bytes(block)),
                        tail > 0 ? block_bytes(tail) : 0);
}

/* For the sum tree of the only block. */
size_t cc_signs_scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const bool one = block_length(params, shape->n) == shape->n;
    return one ? cc_sum_blocks(shape->n) * sizeof(double) : 0;
}

struct cc_traffic cc_signs_traffic(const void *params, unsigned residuals)
{
    const struct cc_signs_params *p = params;
    return p->block == 0 ? cc_traffic_two(residuals) : cc_traffic_one(residuals);
}

struct job {
    size_t n, block;
    struct cc_elements x; /* encode; r may be NULL */
    float *r;
    double *sums; /* the only block's, by CC_SUM_BLOCK */
    float mean;   /* the only block's */
    uint8_t *out;
    const uint8_t *in;  /* decode */
    const float *scale; /* NULL: y = decoded */
    float *y;
};

static struct job make_job(const struct cc_codec *c)
{
    return (struct job){.n = c->shape.n, .block = block_length(c->params, c->shape.n)};
}

/* Goes through the tensor by whole blocks, or by ranges of the only one. */
static size_t run(const struct cc_codec *c, struct job *j,
                  size_t (*work)(void *arg, size_t begin, size_t end))
{
    return cc_parallel_values(c->threads, j->n, j->block == j->n ? CC_SUM_BLOCK : j->block, work,
                              j);
}

/* Where the payload of the block begins that holds value i. */
static size_t block_at(const struct job *j, size_t i)
{
    return i / j->block * block_bytes(j->block);
}

/* The values of that block from i on. */
static size_t block_left(const struct job *j, size_t i)
{
    return cc_smaller(j->n - i, j->block - i % j->block);
}

/* --- encode --- */

/* The sum of the magnitudes of m values. */
static double magnitude(const struct job *j, size_t i, size_t m)
{
    float room[CC_SUM_BLOCK];
    double sum = 0;
    for (size_t end = i + m, some; i < end; i += some) {
        some = cc_smaller(end - i, CC_SUM_BLOCK);
        sum += k_onebit()->magnitude(cc_elements_read(j->x, i, some, room),
                                     j->r == NULL ? NULL : j->r + i, some);
    }
    return sum;
}

/* Writes the bits of m values, from one on whose place in its block is a multiple of 8. */
static void pack(const struct job *j, size_t i, size_t m, float mean, uint8_t *bits)
{
    float room[CC_SUM_BLOCK];
    const bool whole = j->x.type == CC_ELEMENT_FP32;
    for (size_t end = i + m, some; i < end; i += some, bits += some / 8) {
        some = whole ? end - i : cc_smaller(end - i, CC_SUM_BLOCK);
        k_onebit()->pack(cc_elements_read(j->x, i, some, room), j->r == NULL ? NULL : j->r + i,
                         -mean, mean, some, bits);
    }
}

/* Whole blocks; returns how many values are left from the first one on that is not finite. */
static size_t encode_blocks(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    for (size_t i = begin, m; i < end; i += m) {
        m = block_left(j, i);
        const double sum = magnitude(j, i, m);
        const float mean = (float)(sum / (double)m);
        uint8_t *to = j->out + block_at(j, i);
        if (!__builtin_isfinite(sum))
            return j->n - i;
        pack(j, i, m, mean, to);
        cc_put_f32(to + cc_bit_bytes(m), mean);
    }
    return 0;
}

static size_t sum_range(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    for (size_t i = begin; i < end; i += CC_SUM_BLOCK)
        j->sums[i / CC_SUM_BLOCK] = magnitude(j, i, cc_smaller(end - i, CC_SUM_BLOCK));
    return 0;
}

static size_t pack_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    pack(j, i, end - i, j->mean, j->out + i / 8);
    return 0;
}

/* Encodes the only block by several threads. */
static size_t encode_one_block(const struct cc_codec *c, struct job *j)
{
    double sum = 0;
    (void)run(c, j, sum_range);
    for (size_t b = 0; b < cc_sum_blocks(j->n); b++)
        sum += j->sums[b];
    if (!__builtin_isfinite(sum))
        return j->n;
    j->mean = (float)(sum / (double)j->n);
    cc_put_f32(j->out + cc_bit_bytes(j->n), j->mean);
    return run(c, j, pack_range);
}

int cc_signs_encode(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                    uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    struct job j = make_job(c);
    j.x = x;
    j.r = c->scheme->state_bytes != NULL ? c->state : NULL;
    j.sums = c->scratch;
    j.out = out;
    const size_t left = j.block == j.n ? encode_one_block(c, &j) : run(c, &j, encode_blocks);
    if (left > 0) {
        struct cc_context at = *ctx;
        at.offset += j.n - left;
        return cc_refuse_from(&at, cc_elements_from(x, j.n - left),
                              j.r == NULL ? NULL : j.r + (j.n - left), left, e);
    }
    *len = cc_signs_bound(c->params, &c->shape);
    return CC_OK;
}

/* --- decode --- */

/* The mean of the block that holds value i; false with a message if it is refused. */
static bool read_mean(const struct job *j, size_t i, float *mean, struct cc_error *e)
{
    const size_t m = block_left(j, i - i % j->block), at = block_at(j, i) + cc_bit_bytes(m);
    *mean = cc_get_f32(j->in + at);
    if (cc_finite(*mean) && *mean >= 0)
        return true;
    (void)cc_bad_payload(at, e, "the mean magnitude is %g", (double)*mean);
    return false;
}

static void unpack(const uint8_t *bits, float mean, size_t m, struct cc_sink *sink)
{
    for (size_t i = 0, tile; i < m; i += tile) {
        tile = cc_sink_tile(sink, m - i);
        k_onebit()->unpack(bits + i / 8, -mean, mean, cc_sink_room(sink), tile);
        cc_sink_put(sink, tile * sizeof(float));
    }
}

/* Returns how many values are left from the first block on that is refused. */
static size_t decode_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    struct cc_sink sink;
    size_t left = 0;
    if (j->scale == NULL)
        cc_sink_open(&sink, j->y + first, j->n * sizeof(float));
    for (size_t i = first, m; i < end && left == 0; i += m) {
        m = cc_smaller(end - i, block_left(j, i));
        const uint8_t *bits = j->in + block_at(j, i) + i % j->block / 8;
        float mean;
        if (!read_mean(j, i, &mean, NULL))
            left = j->n - i;
        else if (j->scale == NULL)
            unpack(bits, mean, m, &sink);
        else
            k_onebit()->add(bits, *j->scale * -mean, *j->scale * mean, j->y + i, m);
    }
    if (j->scale == NULL)
        cc_sink_close(&sink);
    return left;
}

int cc_signs_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const size_t want = cc_signs_bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    struct job j = make_job(c);
    j.in = in;
    j.scale = scale;
    j.y = y;
    const size_t left = run(c, &j, decode_range);
    float mean;
    if (left == 0)
        return CC_OK;
    return read_mean(&j, j.n - left, &mean, e) ? cc_changed_payload(e) : CC_FAIL;
}
