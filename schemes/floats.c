#include "schemes/floats.h"

#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"

struct job {
    const struct k_stream *format;
    size_t width, n;
    struct cc_elements x; /* encode */
    uint8_t *out;
    const uint8_t *in; /* decode */
    const float *scale;
    float *y;
};

/* Returns the largest bits of |x|. */
static size_t encode_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    uint32_t most = 0;
    struct cc_sink sink;
    cc_sink_open(&sink, j->out + first * j->width, cc_elements_bytes(j->x, j->n) + j->n * j->width);
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        const struct cc_elements x = cc_elements_from(j->x, i);
        cc_sink_ahead(&sink, x.at, cc_elements_bytes(x, m));
        uint32_t bits = j->format->copy[x.type](x.at, cc_sink_room(&sink), m);
        most = bits > most ? bits : most;
        cc_sink_put(&sink, m * j->width);
    }
    cc_sink_close(&sink);
    return most;
}

int cc_floats_encode(const struct k_stream *format, size_t width, const struct cc_codec *c,
                     const struct cc_context *ctx, struct cc_elements x, uint8_t *out, size_t *len,
                     struct cc_error *e)
{
    size_t n = c->shape.n;
    struct job j = {.format = format, .width = width, .n = n, .x = x, .out = out};
    *len = n * width;
    const size_t most = cc_parallel_values(c->threads, n, CC_TILE, encode_range, &j);
    return cc_finite_bits(most) || cc_passes(c, ctx) ? CC_OK : cc_refuse_from(ctx, x, NULL, n, e);
}

static size_t load_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    struct cc_sink sink;
    size_t traffic = j->n * (sizeof(float) + j->width);
    if (j->format->load == NULL) {
        cc_copy_out(j->y + first, j->in + first * j->width, (end - first) * j->width, traffic);
        return 0;
    }
    cc_sink_open(&sink, j->y + first, traffic);
    for (size_t i = first, m; i < end; i += m) {
        m = cc_sink_tile(&sink, end - i);
        cc_sink_ahead(&sink, j->in + i * j->width, m * j->width);
        j->format->load(j->in + i * j->width, cc_sink_room(&sink), m);
        cc_sink_put(&sink, m * sizeof(float));
    }
    cc_sink_close(&sink);
    return 0;
}

/* Updates y in place, without the sink's prefetching, which costs time here (core/tile.h). */
static size_t add_range(void *arg, size_t first, size_t end)
{
    const struct job *j = arg;
    j->format->add(j->in + first * j->width, *j->scale, j->y + first, end - first);
    return 0;
}

int cc_floats_decode(const struct k_stream *format, size_t width, const struct cc_codec *c,
                     const uint8_t *in, size_t len, const float *scale, float *y,
                     struct cc_error *e)
{
    size_t n = c->shape.n;
    if (len != n * width)
        return cc_bad_length(len, n * width, e);
    struct job j = {.format = format, .width = width, .n = n, .in = in, .scale = scale, .y = y};
    (void)cc_parallel_values(c->threads, n, CC_TILE, scale == NULL ? load_range : add_range, &j);
    return CC_OK;
}
