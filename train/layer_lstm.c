/* An LSTM (S. Hochreiter and J. Schmidhuber, 1997, with forget gates), with PyTorch's tensors:
 * gates in the order input, forget, cell, output. */
#include <math.h>

#include "train/build.h"
#include "train/kernels/sequence.h"
#include "train/product.h"
#include "train/share.h"

struct lstm {
    struct cc_layer layer;
    size_t units, place; /* the place that units are working on */
    /* Rows of places x stride columns. */
    float *gates, *dgates; /* 4 rows a unit: those of all input gates, of all forget gates, ... */
    float *cell, *squashed;
    float *dcell; /* rows of one place */
    float *bias;  /* the sum of both */
};

static size_t row_of(const struct cc_layer *l, const struct cc_pass *p)
{
    return l->in->places * p->stride;
}

static struct cc_lstm_unit unit_of(const struct cc_layer *l, const struct cc_pass *p, size_t u)
{
    const struct lstm *m = (const struct lstm *)l;
    size_t row = row_of(l, p), at = u * row + m->place * p->stride;
    struct cc_lstm_unit unit = {.before = m->place > 0 ? m->cell + at - p->stride : NULL,
                                .cell = m->cell + at,
                                .squashed = m->squashed + at,
                                .out = l->out->value + at};
    for (size_t k = 0; k < 4; k++)
        unit.gate[k] = m->gates + k * m->units * row + at;
    return unit;
}

static void forward_units(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    for (size_t u = from; u < to; u++) {
        struct cc_lstm_unit unit = unit_of(l, p, u);
        k_sequence()->lstm(&unit, p->stride);
    }
}

/* About the multiply-additions that a unit's functions are worth. */
static size_t unit_cost(const struct cc_pass *p)
{
    return 100 * p->stride;
}

static void lstm_forward(struct cc_layer *l, const struct cc_pass *p)
{
    struct lstm *m = (struct lstm *)l;
    size_t row = row_of(l, p), places = l->in->places;
    for (size_t i = 0; i < 4 * m->units; i++)
        m->bias[i] = p->weights[l->offset[2] + i] + p->weights[l->offset[3] + i];
    struct cc_product in = {.rows = 4 * m->units,
                            .cols = row,
                            .depth = l->in->channels,
                            .a = p->weights + l->offset[0],
                            .a_row = l->in->channels,
                            .a_col = 1,
                            .b = l->in->value,
                            .b_row = row,
                            .c = m->gates,
                            .c_row = row,
                            .bias = m->bias};
    cc_product_run(&in, p->threads);
    for (m->place = 0; m->place < places; m->place++) {
        const size_t before = m->place > 0 ? m->place - 1 : 0;
        struct cc_product again = {.rows = 4 * m->units,
                                   .cols = p->stride,
                                   .depth = m->units,
                                   .a = p->weights + l->offset[1],
                                   .a_row = m->units,
                                   .a_col = 1,
                                   .b = l->out->value + before * p->stride,
                                   .b_row = row,
                                   .c = m->gates + m->place * p->stride,
                                   .c_row = row,
                                   .add = true};
        if (m->place > 0)
            cc_product_run(&again, p->threads);
        cc_share(l, p, m->units, unit_cost(p), 1, forward_units);
    }
}

static void backward_units(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct lstm *m = (const struct lstm *)l;
    size_t row = row_of(l, p);
    for (size_t u = from; u < to; u++) {
        size_t at = u * row + m->place * p->stride;
        struct cc_lstm_unit unit = unit_of(l, p, u);
        struct cc_lstm_back back = {.cell = m->dcell + u * p->stride, .out = l->out->grad + at};
        for (size_t k = 0; k < 4; k++)
            back.gate[k] = m->dgates + k * m->units * row + at;
        for (size_t i = 0; m->place + 1 == l->in->places && i < p->stride; i++)
            back.cell[i] = 0;
        k_sequence()->lstm_back(&unit, &back, p->stride);
    }
}

static void lstm_backward(struct cc_layer *l, const struct cc_pass *p)
{
    struct lstm *m = (struct lstm *)l;
    const size_t row = row_of(l, p), gates = 4 * m->units, stride = p->stride;
    const float *input_weights = p->weights + l->offset[0], *weights = p->weights + l->offset[1];
    const struct cc_columns input = {l->in->channels, gates, row, row};
    const struct cc_columns place = {m->units, gates, stride, row};
    const struct cc_columns before = {m->units, gates, row - stride, row};
    for (m->place = l->in->places; m->place-- > 0;) {
        cc_share(l, p, m->units, unit_cost(p), 1, backward_units);
        if (m->place > 0)
            cc_product_input(&place, weights, m->dgates + m->place * stride,
                             l->out->grad + (m->place - 1) * stride, true, p->threads);
    }
    cc_product_weights(&input, m->dgates, l->in->value, p->scratch, p->gradient + l->offset[0],
                       p->threads);
    /* The gates of a place have the output of the place before. */
    cc_product_weights(&before, m->dgates + stride, l->out->value, p->scratch,
                       p->gradient + l->offset[1], p->threads);
    for (size_t i = 0; i < gates; i++) {
        float sum = k_dense()->sum(m->dgates + i * row, row);
        p->gradient[l->offset[2] + i] = sum;
        p->gradient[l->offset[3] + i] = sum;
    }
    if (l->in_wanted)
        cc_product_input(&input, input_weights, m->dgates, l->in->grad, l->in_adds, p->threads);
}

static const struct cc_layer_ops lstm_ops = {
    .forward = lstm_forward, .backward = lstm_backward, .adds = true};

struct cc_act *cc_layer_lstm(struct cc_build *b, const char *name, struct cc_act *in, size_t units)
{
    struct cc_act *out = cc_build_columns(b, units, in->places);
    struct lstm *m = cc_build_layer(b, sizeof *m, &lstm_ops, in, out);
    size_t stride = b->model->pass.stride, row = in->places * stride, four = 4 * units;
    double bound = 1 / sqrt((double)units);
    if (m == NULL)
        return out;
    m->units = units;
    m->gates = cc_build_memory(b, four * row, sizeof(float));
    m->dgates = cc_build_memory(b, four * row, sizeof(float));
    m->cell = cc_build_memory(b, units * row, sizeof(float));
    m->squashed = cc_build_memory(b, units * row, sizeof(float));
    m->dcell = cc_build_memory(b, units * stride, sizeof(float));
    m->bias = cc_build_memory(b, four, sizeof(float));
    cc_build_tensor(b, name, ".weight_ih_l0", (const size_t[]){four, in->channels}, 2,
                    CC_TENSOR_WEIGHT, bound, 0);
    cc_build_tensor(b, name, ".weight_hh_l0", (const size_t[]){four, units}, 2, CC_TENSOR_WEIGHT,
                    bound, 0);
    cc_build_tensor(b, name, ".bias_ih_l0", &four, 1, CC_TENSOR_BIAS, bound, 0);
    cc_build_tensor(b, name, ".bias_hh_l0", &four, 1, CC_TENSOR_BIAS, bound, 0);
    cc_build_scratch(b, row * cc_train_groups(in->channels) * CC_TRAIN_GROUP);
    cc_build_scratch(b, row * cc_train_groups(units) * CC_TRAIN_GROUP);
    return out;
}
