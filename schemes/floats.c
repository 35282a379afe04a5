#include "schemes/floats.h"

#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"

struct job {
    const struct k_stream *format;
    size_t width, n;
    int parts;
    const float *x; /* encode */
    uint8_t *out;
    uint32_t most[CC_PARTS_MAX]; /* by part: the largest bits of |x| */
    const uint8_t *in;           /* decode */
    const float *scale;
    float *y;
};

static size_t begin(const struct job *j, int part)
{
    return cc_part_begin(j->n, j->parts, part, CC_TILE);
}

static void encode_part(void *arg, int part)
{
    struct job *j = arg;
    uint32_t most = 0;
    struct cc_sink sink;
    size_t first = begin(j, part), end = begin(j, part + 1);
    cc_sink_open(&sink, j->out + first * j->width, j->n * (sizeof(float) + j->width));
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        cc_sink_ahead(&sink, j->x + i, m * sizeof(float));
        uint32_t bits = j->format->copy(j->x + i, cc_sink_room(&sink), m);
        most = bits > most ? bits : most;
        cc_sink_put(&sink, m * j->width);
    }
    cc_sink_close(&sink);
    j->most[part] = most;
}

int cc_floats_encode(const struct k_stream *format, size_t width, const struct cc_codec *c,
                     const struct cc_context *ctx, const float *x, uint8_t *out, size_t *len,
                     struct cc_error *e)
{
    size_t n = c->shape.n;
    struct job j = {.format = format, .width = width, .n = n, .x = x, .out = out};
    j.parts = cc_parts(c->threads, n, CC_PART_VALUES);
    cc_parallel(j.parts, encode_part, &j);
    for (int p = 0; p < j.parts; p++)
        if (!cc_finite_bits(j.most[p]))
            return cc_refuse(ctx, x, NULL, n, e);
    *len = n * width;
    return CC_OK;
}

static void load_part(void *arg, int part)
{
    const struct job *j = arg;
    struct cc_sink sink;
    size_t first = begin(j, part), end = begin(j, part + 1);
    size_t traffic = j->n * (sizeof(float) + j->width);
    if (j->format->load == NULL) {
        cc_copy_out(j->y + first, j->in + first * j->width, (end - first) * j->width, traffic);
        return;
    }
    cc_sink_open(&sink, j->y + first, traffic);
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        cc_sink_ahead(&sink, j->in + i * j->width, m * j->width);
        j->format->load(j->in + i * j->width, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m * sizeof(float));
    }
    cc_sink_close(&sink);
}

/* Updates y in place, without the sink's prefetching, which costs time here (core/tile.h). */
static void add_part(void *arg, int part)
{
    const struct job *j = arg;
    size_t first = begin(j, part);
    j->format->add(j->in + first * j->width, *j->scale, j->y + first, begin(j, part + 1) - first);
}

int cc_floats_decode(const struct k_stream *format, size_t width, const struct cc_codec *c,
                     const uint8_t *in, size_t len, const float *scale, float *y,
                     struct cc_error *e)
{
    size_t n = c->shape.n;
    if (len != n * width)
        return cc_bad_length(len, n * width, e);
    struct job j = {.format = format, .width = width, .n = n, .in = in, .scale = scale, .y = y};
    j.parts = cc_parts(c->threads, n, CC_PART_VALUES);
    cc_parallel(j.parts, scale == NULL ? load_part : add_part, &j);
    return CC_OK;
}

size_t cc_floats_bound(size_t width, const struct cc_shape *shape)
{
    size_t bytes = SIZE_MAX;
    (void)cc_mul(shape->n, width, &bytes);
    return bytes;
}
