/* Convolutions with 3 x 3 taps, a border of zeros, and stride 1 or 2, without bias. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "train/build.h"
#include "train/kernels/conv.h"
#include "train/share.h"

#define TAPS ((size_t)9)

/* Images whose places are one chain in the sum of a weight's gradient. */
#define CHAIN_IMAGES ((size_t)8)

struct conv {
    struct cc_layer layer;
    size_t stride;
    size_t in_groups, out_groups;
    /* A pass through rows: which side is read, how a row of the result is made. */
    size_t parity_y, parity_x;
};

/* --- weights: tiles of CC_CONV_TILE values in the pass' scratch memory --- */

/* Packs the weights of a group of outputs and one of inputs for one tap: tile[o * o_step +
 * i * i_step], zeros beyond the last. The weights of input i are w[o * in * 9 + i * 9 + tap]. */
static inline void pack_tile(const struct cc_layer *l, const float *w, size_t og, size_t ig,
                             size_t tap, size_t o_step, size_t i_step, float *tile)
{
    const size_t in = l->in->channels, out = l->out->channels;
    const size_t o_end = cc_smaller(out - og * 16, 16), i_end = cc_smaller(in - ig * 16, 16);
    if (o_end < 16 || i_end < 16)
        memset(tile, 0, CC_CONV_TILE * sizeof *tile);
    for (size_t i = 0; i < i_end; i++)
        for (size_t o = 0; o < o_end; o++)
            tile[o * o_step + i * i_step] = w[((og * 16 + o) * in + ig * 16 + i) * TAPS + tap];
}

/* Tiles for the forward pass, in the order of output groups, input groups, taps. */
static void pack_forward(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct conv *c = (const struct conv *)l;
    float *tile = p->scratch + from * c->in_groups * TAPS * CC_CONV_TILE;
    for (size_t og = from; og < to; og++)
        for (size_t ig = 0; ig < c->in_groups; ig++)
            for (size_t t = 0; t < TAPS; t++, tile += CC_CONV_TILE)
                pack_tile(l, p->weights + l->offset[0], og, ig, t, 1, 16, tile);
}

/* Tiles for the gradient of the input: inputs vary fastest, in the order of input groups, output
 * groups, taps. */
static void pack_backward(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct conv *c = (const struct conv *)l;
    float *tile = p->scratch + from * c->out_groups * TAPS * CC_CONV_TILE;
    for (size_t ig = from; ig < to; ig++)
        for (size_t og = 0; og < c->out_groups; og++)
            for (size_t t = 0; t < TAPS; t++, tile += CC_CONV_TILE)
                pack_tile(l, p->weights + l->offset[0], og, ig, t, 16, 1, tile);
}

/* --- rows of results --- */

/* The result's group of channels `group`, for rows whose first places in and out are listed. */
static void run_rows(struct cc_conv *k, const float *packed, size_t group, size_t out_plane,
                     const float *const *in, float *const *out, size_t rows, const size_t *tap)
{
    float *to[CC_CONV_ROWS];
    size_t in_groups = cc_train_groups(k->channels);
    for (size_t t = 0; t < k->taps; t++)
        k->weights[t] = packed + (group * in_groups * TAPS + tap[t]) * CC_CONV_TILE;
    for (size_t r = 0; r < rows; r++)
        to[r] = out[r] + group * out_plane;
    k_conv()->rows(k, in, to, rows);
}

/* Rows [from, to) of the outputs of all images. */
static void forward_rows(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct conv *c = (const struct conv *)l;
    const struct cc_act *x = l->in, *y = l->out;
    struct cc_conv k = {.channels = x->channels,
                        .plane = cc_act_plane(x),
                        .taps = TAPS,
                        .weights_step = TAPS * CC_CONV_TILE,
                        .in_step = c->stride * CC_TRAIN_GROUP,
                        .out_step = CC_TRAIN_GROUP,
                        .cols = y->width};
    size_t tap[TAPS];
    for (size_t t = 0; t < TAPS; t++) {
        k.tap[t] = ((ptrdiff_t)(t / 3) - 1) * (ptrdiff_t)cc_act_row(x) +
                   ((ptrdiff_t)(t % 3) - 1) * (ptrdiff_t)CC_TRAIN_GROUP;
        tap[t] = t;
    }
    for (size_t begin = from, rows; begin < to; begin += rows) {
        const float *in[CC_CONV_ROWS];
        float *out[CC_CONV_ROWS];
        rows = cc_smaller(to - begin, CC_CONV_ROWS);
        for (size_t r = 0; r < rows; r++) {
            size_t n = (begin + r) / y->height, row = (begin + r) % y->height;
            in[r] = x->value + n * cc_act_image(x) + cc_act_at(x, row * c->stride, 0);
            out[r] = y->value + n * cc_act_image(y) + cc_act_at(y, row, 0);
        }
        for (size_t g = 0; g < c->out_groups; g++)
            run_rows(&k, p->scratch, g, cc_act_plane(y), in, out, rows, tap);
    }
}

static void conv_forward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct conv *c = (const struct conv *)l;
    size_t work = TAPS * l->in->channels * l->out->channels;
    cc_share(l, p, c->out_groups, work, 1, pack_forward);
    cc_share(l, p, p->count * l->out->height, work * l->out->width, CC_CONV_ROWS, forward_rows);
}

/* --- the gradient of the input --- */

/* The taps that lead from an output's row (or column) to an input's of this parity, and how many
 * rows further on the output's is: input y = stride r + parity is output r + further times weight
 * `tap`. */
struct reach {
    size_t tap[3], count;
    ptrdiff_t further[3];
};

static struct reach reach_of(size_t stride, size_t parity)
{
    struct reach reach = {.count = 0};
    for (size_t t = 0; t < 3; t++)
        if ((parity + 1 + stride - t) % stride == 0) {
            ptrdiff_t rows = (ptrdiff_t)parity + 1 - (ptrdiff_t)t;
            reach.tap[reach.count] = t;
            reach.further[reach.count++] = rows / (ptrdiff_t)stride;
        }
    return reach;
}

/* Rows [from, to) of the gradients of all images, of those with the layer's parity. */
static void backward_rows(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct conv *c = (const struct conv *)l;
    const struct cc_act *x = l->in, *y = l->out;
    size_t s = c->stride, height = (x->height + s - 1 - c->parity_y) / s;
    struct reach by_row = reach_of(s, c->parity_y), by_col = reach_of(s, c->parity_x);
    struct cc_conv k = {.channels = y->channels,
                        .plane = cc_act_plane(y),
                        .weights_step = TAPS * CC_CONV_TILE,
                        .in_step = CC_TRAIN_GROUP,
                        .out_step = s * CC_TRAIN_GROUP,
                        .cols = (x->width + s - 1 - c->parity_x) / s,
                        .add = l->in_adds};
    size_t tap[TAPS] = {0};
    for (size_t i = 0; i < by_row.count; i++)
        for (size_t j = 0; j < by_col.count; j++) {
            k.tap[k.taps] = by_row.further[i] * (ptrdiff_t)cc_act_row(y) +
                            by_col.further[j] * (ptrdiff_t)CC_TRAIN_GROUP;
            tap[k.taps++] = by_row.tap[i] * 3 + by_col.tap[j];
        }
    for (size_t begin = from, rows; begin < to; begin += rows) {
        const float *in[CC_CONV_ROWS];
        float *out[CC_CONV_ROWS];
        rows = cc_smaller(to - begin, CC_CONV_ROWS);
        for (size_t r = 0; r < rows; r++) {
            size_t n = (begin + r) / height, row = (begin + r) % height;
            in[r] = y->grad + n * cc_act_image(y) + cc_act_at(y, row, 0);
            out[r] =
                x->grad + n * cc_act_image(x) + cc_act_at(x, row * s + c->parity_y, c->parity_x);
        }
        for (size_t g = 0; g < c->in_groups; g++)
            run_rows(&k, p->scratch, g, cc_act_plane(x), in, out, rows, tap);
    }
}

static void input_gradient(struct cc_layer *l, const struct cc_pass *p)
{
    struct conv *c = (struct conv *)l;
    size_t work = TAPS * l->in->channels * l->out->channels;
    cc_share(l, p, c->in_groups, work, 1, pack_backward);
    for (c->parity_y = 0; c->parity_y < c->stride; c->parity_y++)
        for (c->parity_x = 0; c->parity_x < c->stride; c->parity_x++) {
            size_t height = (l->in->height + c->stride - 1 - c->parity_y) / c->stride;
            cc_share(l, p, p->count * height, work * l->in->width / (c->stride * c->stride),
                     CC_CONV_ROWS, backward_rows);
        }
}

/* --- the gradient of the weights --- */

/* Tiles [from, to) in the order of output groups, input groups, taps. Chains of some images are
 * added in order. */
static void weights_tiles(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct conv *c = (const struct conv *)l;
    const struct cc_act *x = l->in, *y = l->out;
    struct cc_conv_weights k = {.rows = y->height,
                                .cols = y->width,
                                .in_image = cc_act_image(x),
                                .in_row = c->stride * cc_act_row(x),
                                .in_col = c->stride * CC_TRAIN_GROUP,
                                .out_image = cc_act_image(y),
                                .out_row = cc_act_row(y)};
    for (size_t n = 0; n < p->count; n += CHAIN_IMAGES) {
        k.images = cc_smaller(p->count - n, CHAIN_IMAGES);
        for (size_t u = from; u < to; u++) {
            size_t t = u % TAPS, ig = u / TAPS % c->in_groups, og = u / TAPS / c->in_groups;
            float *sum = p->scratch + u * CC_CONV_TILE, tile[CC_CONV_TILE];
            k.channels = cc_smaller(x->channels - ig * 16, 16);
            k.in = x->value + n * k.in_image + ig * cc_act_plane(x) + t / 3 * cc_act_row(x) +
                   t % 3 * CC_TRAIN_GROUP;
            k.out = y->grad + n * k.out_image + og * cc_act_plane(y) + cc_act_at(y, 0, 0);
            k_conv()->weights(&k, n == 0 ? sum : tile);
            for (size_t i = 0; n > 0 && i < k.channels * 16; i++)
                sum[i] += tile[i];
        }
    }
    float *gradient = p->gradient + l->offset[0];
    for (size_t u = from; u < to; u++) {
        size_t t = u % TAPS, ig = u / TAPS % c->in_groups, og = u / TAPS / c->in_groups;
        const float *sum = p->scratch + u * CC_CONV_TILE;
        for (size_t o = og * 16; o < y->channels && o < og * 16 + 16; o++)
            for (size_t i = ig * 16; i < x->channels && i < ig * 16 + 16; i++)
                gradient[(o * x->channels + i) * TAPS + t] = sum[(i - ig * 16) * 16 + o - og * 16];
    }
}

static void conv_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct conv *c = (const struct conv *)l;
    size_t places = p->count * l->out->height * l->out->width;
    cc_share(l, p, c->out_groups * c->in_groups * TAPS, places * CC_CONV_TILE, 1, weights_tiles);
    if (l->in_wanted)
        input_gradient(l, p);
}

static const struct cc_layer_ops conv_ops = {
    .forward = conv_forward, .backward = conv_backward, .adds = true};

struct cc_act *cc_layer_conv(struct cc_build *b, const char *name, struct cc_act *in, size_t out,
                             size_t stride)
{
    struct cc_act *act =
        cc_build_blocks(b, out, (in->height - 1) / stride + 1, (in->width - 1) / stride + 1);
    struct conv *c = cc_build_layer(b, sizeof *c, &conv_ops, in, act);
    if (c == NULL)
        return act;
    c->stride = stride;
    c->in_groups = cc_train_groups(in->channels);
    c->out_groups = cc_train_groups(out);
    double bound = sqrt(6 / (double)(TAPS * in->channels)); /* for the variance 2 / fan-in */
    cc_build_tensor(b, name, ".weight", (const size_t[]){out, in->channels, 3, 3}, 4,
                    CC_TENSOR_WEIGHT, bound, 0);
    cc_build_scratch(b, c->in_groups * c->out_groups * TAPS * CC_CONV_TILE);
    return act;
}
