/* int8: signed bytes and one scale for the tensor.
 *
 * scale = max|x| / 127; each value becomes q = x / scale, rounded to the nearest integer, ties to
 * even, and decodes to q * scale. -128 is not used, so the codes are symmetric. Two passes: the
 * largest magnitude, then the codes. With ef=1 the rounding error stays in a residual; 3LC's
 * comparison has none, so that is the default.
 *
 * Source: 3LC, section 4.2 ("8-bit int", 255 values); Pipe-SGD, section 3.2. */
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/int8.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

#define HEADER sizeof(float)

/* The largest scale for which 127 * scale is finite; FLT_MAX / 127 rounds to one too large. */
#define MAX_SCALE 0x1.020406p+121f

struct params {
    int64_t ef;
};

static const struct cc_param table[] = {
    CC_PARAM_EF(0, "keep the rounding error for the next step"),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bytes_sum(shape->n, HEADER);
}

struct job {
    size_t n;
    float scale;
    const float *x; /* encode */
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
        k_int8()->quantize_ef(j->x + first, j->r + first, j->divisor, j->scale, j->out + first,
                              end - first);
        return 0;
    }
    struct cc_sink sink;
    cc_sink_open(&sink, j->out + first, j->n * (sizeof(float) + 1));
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        cc_sink_ahead(&sink, j->x + i, m * sizeof(float));
        k_int8()->quantize(j->x + i, j->divisor, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m);
    }
    cc_sink_close(&sink);
    return 0;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    size_t n = c->shape.n;
    float *r = cc_ef_residual(c);
    uint32_t bits = cc_absmax(x, r, n, c->threads);
    if (!cc_finite_bits(bits))
        return cc_refuse(ctx, x, r, n, e);
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
    size_t n = c->shape.n;
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
    .layout = "f32 scale, n x i8; decoded: i8 * scale",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = cc_ef_twice,
    .state_bytes = cc_ef_state_bytes,
    .encode = encode,
    .decode = decode,
};
