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
    CC_PARAM_EF(struct params, 0, "keep the rounding error for the next step"),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes;
    return __builtin_add_overflow(shape->n, HEADER, &bytes) ? SIZE_MAX : bytes;
}

CC_EF_STATE

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return cc_traffic_two(p->ef != 0);
}

struct job {
    size_t n;
    int parts;
    float scale;
    const float *x; /* encode */
    float *r, divisor;
    uint8_t *out;
    const uint8_t *in; /* decode; the codes */
    const float *factor;
    float *y;
    int bad[CC_PARTS_MAX]; /* by part: whether there is a code -128 */
};

static size_t begin(const struct job *j, int part)
{
    return cc_part_begin(j->n, j->parts, part, CC_TILE);
}

static void quantize_part(void *arg, int part)
{
    const struct job *j = arg;
    size_t first = begin(j, part), end = begin(j, part + 1);
    if (j->r != NULL) {
        k_int8()->quantize_ef(j->x + first, j->r + first, j->divisor, j->scale, j->out + first,
                              end - first);
        return;
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
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n;
    float *r = p->ef ? c->state : NULL;
    uint32_t bits = cc_absmax(x, r, n, c->threads);
    if (!cc_finite_bits(bits))
        return cc_refuse(ctx, x, r, n, e);
    float scale = cc_bits_f32(bits) / 127.0f;
    scale = scale < MAX_SCALE ? scale : MAX_SCALE;
    cc_put_f32(out, scale);
    /* With a scale of 0 all values are tiny, and dividing by 1 gives codes 0. */
    struct job j = {.n = n,
                    .parts = cc_parts(c->threads, n, CC_PART_VALUES),
                    .scale = scale,
                    .x = x,
                    .r = r,
                    .divisor = scale > 0 ? scale : 1.0f,
                    .out = out + HEADER};
    cc_parallel(j.parts, quantize_part, &j);
    *len = n + HEADER;
    return CC_OK;
}

static void load_part(void *arg, int part)
{
    struct job *j = arg;
    struct cc_sink sink;
    int bad = 0;
    size_t first = begin(j, part), end = begin(j, part + 1);
    cc_sink_open(&sink, j->y + first, j->n * (1 + sizeof(float)));
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        cc_sink_ahead(&sink, j->in + i, m);
        bad |= k_int8()->load(j->in + i, j->scale, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m * sizeof(float));
    }
    cc_sink_close(&sink);
    j->bad[part] = bad;
}

static void add_part(void *arg, int part)
{
    struct job *j = arg;
    size_t i = begin(j, part), m = begin(j, part + 1) - i;
    j->bad[part] = k_int8()->add(j->in + i, j->scale, *j->factor, j->y + i, m);
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
    struct job j = {.n = n,
                    .parts = cc_parts(c->threads, n, CC_PART_VALUES),
                    .scale = unit,
                    .in = in + HEADER,
                    .factor = scale,
                    .y = y};
    cc_parallel(j.parts, scale == NULL ? load_part : add_part, &j);
    for (int p = 0; p < j.parts; p++)
        if (j.bad[p])
            return bad_code(in, len, e);
    return CC_OK;
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
    .traffic = traffic,
    .state_bytes = state_bytes,
    .encode = encode,
    .decode = decode,
};
