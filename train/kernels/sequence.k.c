/* Kernels of layers on sequences, each with its backward pass: LSTM cells, attention with its
 * softmax, layer normalization. */
#include "train/kernels/sequence.h"

#include <math.h>

#include "train/kernels/simd.h"
#include "train/math.h"

static inline float sigmoid(float x)
{
    return (float)(1 / (1 + cc_train_exp(-(double)x)));
}

static inline float squash(float x)
{
    return (float)(1 - 2 / (cc_train_exp(2 * (double)x) + 1)); /* tanh */
}

/* --- LSTM --- */

static void lstm(const struct cc_lstm_unit *u, size_t n)
{
    float *restrict input = u->gate[0], *restrict forget = u->gate[1];
    float *restrict fresh = u->gate[2], *restrict output = u->gate[3];
    for (size_t i = 0; i < n; i++) {
        input[i] = sigmoid(input[i]);
        forget[i] = sigmoid(forget[i]);
        fresh[i] = squash(fresh[i]);
        output[i] = sigmoid(output[i]);
    }
    for (size_t i = 0; i < n; i++) {
        float before = u->before != NULL ? u->before[i] : 0.0f;
        u->cell[i] = forget[i] * before + input[i] * fresh[i];
        u->squashed[i] = squash(u->cell[i]);
        u->out[i] = output[i] * u->squashed[i];
    }
}

static void lstm_back(const struct cc_lstm_unit *u, const struct cc_lstm_back *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float input = u->gate[0][i], forget = u->gate[1][i], fresh = u->gate[2][i];
        float output = u->gate[3][i], squashed = u->squashed[i], out = b->out[i];
        float before = u->before != NULL ? u->before[i] : 0.0f;
        float cell = b->cell[i] + out * output * (1 - squashed * squashed);
        b->gate[0][i] = cell * fresh * input * (1 - input);
        b->gate[1][i] = cell * before * forget * (1 - forget);
        b->gate[2][i] = cell * input * (1 - fresh * fresh);
        b->gate[3][i] = out * squashed * output * (1 - output);
        b->cell[i] = cell * forget;
    }
}

/* --- attention --- */

/* The sum over features of x at one place and y at another. */
static inline cc_vec dot(const float *x, const float *y, size_t features, size_t row)
{
    cc_vec sum = cc_vec_set(0.0f);
    for (size_t d = 0; d < features; d++)
        sum = cc_vec_fma(cc_vec_load(x + d * row), cc_vec_load(y + d * row), sum);
    return sum;
}

/* out = the sum over places of by[place] x, for each feature. */
static inline void weighted(const float *by, const float *x, const struct cc_attention *a,
                            float *out)
{
    for (size_t d = 0; d < a->features; d++) {
        cc_vec sum = cc_vec_set(0.0f);
        for (size_t j = 0; j < a->places; j++)
            sum = cc_vec_fma(cc_vec_load(by + j * CC_GROUP),
                             cc_vec_load(x + d * a->row + j * a->stride), sum);
        cc_vec_store(out + d * a->row, sum);
    }
}

/* x[j] = exp(x[j] - the largest), divided by their sum; for each image. */
static void softmax(float *x, size_t places)
{
    float top[CC_GROUP];
    double sum[CC_GROUP] = {0};
    for (size_t l = 0; l < CC_GROUP; l++)
        top[l] = x[l];
    for (size_t j = 1; j < places; j++)
        for (size_t l = 0; l < CC_GROUP; l++)
            top[l] = x[j * CC_GROUP + l] > top[l] ? x[j * CC_GROUP + l] : top[l];
    for (size_t j = 0; j < places; j++)
        for (size_t l = 0; l < CC_GROUP; l++) {
            double e = cc_train_exp((double)x[j * CC_GROUP + l] - (double)top[l]);
            x[j * CC_GROUP + l] = (float)e;
            sum[l] += e;
        }
    for (size_t l = 0; l < CC_GROUP; l++)
        top[l] = (float)(1 / sum[l]);
    for (size_t j = 0; j < places; j++)
        for (size_t l = 0; l < CC_GROUP; l++)
            x[j * CC_GROUP + l] *= top[l];
}

static void attention(const struct cc_attention *a)
{
    const cc_vec scale = cc_vec_set(1.0f / sqrtf((float)a->features));
    for (size_t i = 0; i < a->places; i++) {
        float *likely = a->likely + i * a->places * CC_GROUP;
        for (size_t j = 0; j < a->places; j++)
            for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH)
                cc_vec_store(likely + j * CC_GROUP + v,
                             cc_vec_mul(scale, dot(a->q + i * a->stride + v,
                                                   a->k + j * a->stride + v, a->features, a->row)));
        softmax(likely, a->places);
        for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH)
            weighted(likely + v, a->v + v, a, a->out + i * a->stride + v);
    }
}

/* to += by x, for each feature; to = by x for the first. */
static inline void spread(cc_vec by, const float *x, const struct cc_attention *a, int first,
                          float *to)
{
    for (size_t d = 0; d < a->features; d++) {
        cc_vec sum = first ? cc_vec_set(0.0f) : cc_vec_load(to + d * a->row);
        cc_vec_store(to + d * a->row, cc_vec_fma(by, cc_vec_load(x + d * a->row), sum));
    }
}

static void attention_back(const struct cc_attention *a, const float *dout, float *dq, float *dk,
                           float *dv)
{
    const cc_vec scale = cc_vec_set(1.0f / sqrtf((float)a->features));
    float slope[CC_ATTENTION_PLACES * CC_GROUP];
    for (size_t i = 0; i < a->places; i++)
        for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH) {
            const float *likely = a->likely + i * a->places * CC_GROUP + v;
            const float *from = dout + i * a->stride + v;
            cc_vec sum = cc_vec_set(0.0f);
            for (size_t j = 0; j < a->places; j++) {
                cc_vec p = cc_vec_load(likely + j * CC_GROUP);
                cc_vec d = dot(from, a->v + j * a->stride + v, a->features, a->row);
                cc_vec_store(slope + j * CC_GROUP + v, d);
                sum = cc_vec_fma(p, d, sum);
                spread(p, from, a, i == 0, dv + j * a->stride + v);
            }
            for (size_t j = 0; j < a->places; j++) {
                float *here = slope + j * CC_GROUP + v;
                cc_vec p = cc_vec_mul(scale, cc_vec_load(likely + j * CC_GROUP));
                cc_vec s = cc_vec_mul(p, cc_vec_sub(cc_vec_load(here), sum));
                cc_vec_store(here, s);
                spread(s, a->q + i * a->stride + v, a, i == 0, dk + j * a->stride + v);
            }
            weighted(slope + v, a->k + v, a, dq + i * a->stride + v);
        }
}

/* --- layer normalization --- */

static void norm(const float *x, size_t features, size_t row, const float *scale,
                 const float *shift, float *mean, float *inverse, float *y)
{
    const cc_vec part = cc_vec_set(1.0f / (float)features);
    for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH) {
        cc_vec sum = cc_vec_set(0.0f), squares = cc_vec_set(0.0f);
        for (size_t d = 0; d < features; d++)
            sum = cc_vec_add(sum, cc_vec_load(x + d * row + v));
        const cc_vec middle = cc_vec_mul(sum, part);
        cc_vec_store(mean + v, middle);
        for (size_t d = 0; d < features; d++) {
            cc_vec off = cc_vec_sub(cc_vec_load(x + d * row + v), middle);
            squares = cc_vec_fma(off, off, squares);
        }
        cc_vec_store(inverse + v, cc_vec_mul(squares, part));
    }
    for (size_t l = 0; l < CC_GROUP; l++)
        inverse[l] = (float)(1 / sqrt((double)inverse[l] + 1e-5));
    for (size_t d = 0; d < features; d++) {
        const float plus = shift != NULL ? shift[d] : 0.0f;
        for (size_t l = 0; l < CC_GROUP; l++)
            y[d * row + l] = (x[d * row + l] - mean[l]) * inverse[l] * scale[d] + plus;
    }
}

/* With x^ = (x - mean) inverse and g = scale dy: inverse (g - mean(g) - x^ mean(g x^)). */
static void norm_back(const float *x, size_t features, size_t row, const float *scale,
                      const float *mean, const float *inverse, const float *dy, int add, float *dx)
{
    const cc_vec part = cc_vec_set(1.0f / (float)features);
    for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH) {
        const cc_vec middle = cc_vec_load(mean + v), by = cc_vec_load(inverse + v);
        cc_vec sum = cc_vec_set(0.0f), product = cc_vec_set(0.0f);
        for (size_t d = 0; d < features; d++) {
            cc_vec g = cc_vec_mul(cc_vec_set(scale[d]), cc_vec_load(dy + d * row + v));
            cc_vec unit = cc_vec_mul(cc_vec_sub(cc_vec_load(x + d * row + v), middle), by);
            sum = cc_vec_add(sum, g);
            product = cc_vec_fma(g, unit, product);
        }
        sum = cc_vec_mul(sum, part);
        product = cc_vec_mul(product, part);
        for (size_t d = 0; d < features; d++) {
            float *to = dx + d * row + v;
            cc_vec g = cc_vec_mul(cc_vec_set(scale[d]), cc_vec_load(dy + d * row + v));
            cc_vec unit = cc_vec_mul(cc_vec_sub(cc_vec_load(x + d * row + v), middle), by);
            cc_vec rest = cc_vec_sub(cc_vec_sub(g, sum), cc_vec_mul(unit, product));
            cc_vec before = add ? cc_vec_load(to) : cc_vec_set(0.0f);
            cc_vec_store(to, cc_vec_fma(rest, by, before));
        }
    }
}

static float norm_product(const float *x, const float *mean, const float *inverse, const float *dy,
                          size_t n)
{
    float lane[CC_GROUP] = {0}, total = 0;
    for (size_t i = 0; i < n; i += CC_GROUP)
        for (size_t l = 0; l < CC_GROUP; l++)
            lane[l] += dy[i + l] * ((x[i + l] - mean[i + l]) * inverse[i + l]);
    for (size_t l = 0; l < CC_GROUP; l++)
        total += lane[l];
    return total;
}

const struct k_sequence CC_K(k_sequence) = {
    .lstm = lstm,
    .lstm_back = lstm_back,
    .attention = attention,
    .attention_back = attention_back,
    .norm = norm,
    .norm_back = norm_back,
    .norm_product = norm_product,
};
