/* int8: signed bytes and one scale for the tensor, or for each block of it.
 *
 * scale = max|x| / 127; each value becomes q = x / scale, rounded to the nearest integer, ties to
 * even, and decodes to q * scale. -128 is not used, so the codes are symmetric. Two passes: the
 * largest magnitude, then the codes. With ef=1 the rounding error stays in a residual; 3LC's
 * comparison has none, so that is the default.
 *
 * With blocks or a rotation it is encoded as the other schemes with blocks (schemes/blocks.h); the
 * payload of one block is the same.
 *
 * Source: 3LC, section 4.2 ("8-bit int", 255 values); Pipe-SGD, section 3.2. Blocks of 512 with a
 * rotation of 32, inside hosts: Jia et al., SDP4Bit, 2024. */
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/blocks.h"
#include "schemes/kernels/int8.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

#define HEADER sizeof(float)

/* The largest scale for which 127 * scale is finite; FLT_MAX / 127 rounds to one too large. */
#define MAX_SCALE 0x1.020406p+121f

struct params {
    int64_t ef, block, hadamard, flip;
};

static const struct cc_param table[] = {
    CC_PARAM_BLOCK(struct params, 0, 0, CC_BLOCK_MOST,
                   "values with a scale, a power of two from 16 on; 0: one for the tensor"),
    CC_PARAM_HADAMARD(struct params),
    CC_PARAM_EF(0, "keep the rounding error for the next step"),
    {.name = NULL},
};

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    return cc_blocks_check(p->block, CC_BLOCK_MOST, true, p->hadamard, p->flip, e);
}

static struct cc_block_form form(const struct params *p)
{
    return (struct cc_block_form){.codes = &k_blocks()->int8,
                                  .scale = CC_SCALE_F32,
                                  .bits = 8,
                                  .largest = 127.0f,
                                  .most_scale = MAX_SCALE,
                                  .block = (size_t)p->block,
                                  .hadamard = (size_t)p->hadamard,
                                  .flip = (uint32_t)p->flip};
}

/* Neither blocks nor a rotation. */
static bool is_plain(const struct params *p)
{
    return p->block == 0 && p->hadamard == 0;
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct cc_block_form f = form(params);
    return cc_blocks_bound(&f, shape->n);
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return p->block == 0 ? cc_ef_twice(p) : cc_ef_once(p);
}

struct job {
    size_t n;
    float scale;
    struct cc_elements x; /* encode */
    float *r, divisor;
    uint8_t *out;
    const uint8_t *in; /* decode; the codes */
    const float *factor;
    float *y;
};

static size_t quantize_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    if (j->r != NULL) {
        k_int8()->quantize_ef[j->x.type](cc_elements_from(j->x, first).at, j->r + first, j->divisor,
                                         j->scale, j->out + first, end - first);
        return 0;
    }
    struct cc_sink sink;
    cc_sink_open(&sink, j->out + first, cc_elements_bytes(j->x, j->n) + j->n);
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        const struct cc_elements x = cc_elements_from(j->x, i);
        cc_sink_ahead(&sink, x.at, cc_elements_bytes(x, m));
        k_int8()->quantize[x.type](x.at, j->divisor, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m);
    }
    cc_sink_close(&sink);
    return 0;
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct cc_block_form f = form(c->params);
    size_t n = c->shape.n;
    float *r = cc_ef_residual(c);
    if (!is_plain(c->params))
        return cc_blocks_encode(&f, c, ctx, x, r, out, len, e);
    uint32_t bits = cc_absmax_from(x, r, n, c->threads);
    if (!cc_finite_bits(bits))
        return cc_refuse_from(ctx, x, r, n, e);
    float scale = cc_bits_f32(bits) / 127.0f;
    scale = scale < MAX_SCALE ? scale : MAX_SCALE;
    cc_put_f32(out, scale);
    /* With a scale of 0 all values are tiny, and dividing by 1 gives codes 0. */
    struct job j = {.n = n,
                    .scale = scale,
                    .x = x,
                    .r = r,
                    .divisor = scale > 0 ? scale : 1.0f,
                    .out = out + HEADER};
    (void)cc_parallel_values(c->threads, n, CC_TILE, quantize_range, &j);
    *len = n + HEADER;
    return CC_OK;
}

/* These return whether there is a code -128. */
static size_t load_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    struct cc_sink sink;
    int bad = 0;
    cc_sink_open(&sink, j->y + first, j->n * (1 + sizeof(float)));
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        cc_sink_ahead(&sink, j->in + i, m);
        bad |= k_int8()->load(j->in + i, j->scale, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m * sizeof(float));
    }
    cc_sink_close(&sink);
    return bad != 0;
}

static size_t add_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    return k_int8()->add(j->in + i, j->scale, *j->factor, j->y + i, end - i) != 0;
}

static int bad_code(const uint8_t *in, size_t len, struct cc_error *e)
{
    const uint8_t *at = memchr(in + HEADER, 0x80, len - HEADER);
    return at == NULL ? cc_changed_payload(e)
                      : cc_bad_payload((size_t)(at - in), e, "the code -128 is not used");
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const struct cc_block_form f = form(c->params);
    size_t n = c->shape.n;
    if (!is_plain(c->params))
        return cc_blocks_decode(&f, c, in, len, scale, y, e);
    if (len != n + HEADER)
        return cc_bad_length(len, n + HEADER, e);
    float unit = cc_get_f32(in);
    if (!cc_finite(unit) || unit < 0)
        return cc_bad_payload(0, e, "the scale is %g", (double)unit);
    struct job j = {.n = n, .scale = unit, .in = in + HEADER, .factor = scale, .y = y};
    const bool bad =
        cc_parallel_values(c->threads, n, CC_TILE, scale == NULL ? load_range : add_range, &j) != 0;
    return bad ? bad_code(in, len, e) : CC_OK;
}

const struct cc_scheme cc_scheme_int8 = {
    .id = "int8",
    .title = "8-bit integers",
    .reference = "Lim et al. 2019, 3LC, section 4.2; Li et al. 2018, Pipe-SGD, section 3.2",
    .layout = "f32 scale, of the tensor or of each block, n x i8; decoded: i8 * scale",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    .bound = bound,
    .traffic = traffic,
    .state_bytes = cc_ef_state_bytes,
    .encode_from = encode_from,
    .decode = decode,
};
