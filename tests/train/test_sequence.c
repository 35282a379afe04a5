/* Nets on sequences, LSTM and transformer: gradients, bits, names, and that they learn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tier.h"
#include "tests/lib/trainee.h"

/* Sequences of 5 rows of 2 x 3 values. */
enum { CHANNELS = 2, PLACES = 5, WIDTH = 3, FEATURES = CHANNELS * WIDTH, CLASSES = 4 };

static struct cc_model_config small(const char *net)
{
    return (struct cc_model_config){.net = net,
                                    .channels = CHANNELS,
                                    .height = PLACES,
                                    .width = WIDTH,
                                    .classes = CLASSES,
                                    .batch = 18,
                                    .threads = 1};
}

/* x[place][feature] of an image. */
static void read_rows(const struct trainee *t, size_t n, double x[PLACES][FEATURES])
{
    const float *image = t->images + n * CHANNELS * PLACES * WIDTH;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t y = 0; y < PLACES; y++)
            for (size_t i = 0; i < WIDTH; i++)
                x[y][c * WIDTH + i] = (double)image[(c * PLACES + y) * WIDTH + i];
}

/* y = w x + b; moves *w behind both. */
static void dense(const double **w, const double *x, size_t in, double *y, size_t out)
{
    for (size_t o = 0; o < out; o++) {
        y[o] = (*w)[out * in + o];
        for (size_t i = 0; i < in; i++)
            y[o] += (*w)[o * in + i] * x[i];
    }
    *w += out * in + out;
}

/* The mean loss of images whose outputs `of_image` computes. */
static double mean_loss(const struct trainee *t, const double *w,
                        void (*of_image)(const double *w, double x[PLACES][FEATURES], double *out))
{
    struct plain all = plain_new(t->count, CLASSES, 1, 1);
    for (size_t n = 0; n < t->count; n++) {
        double x[PLACES][FEATURES];
        read_rows(t, n, x);
        of_image(w, x, all.x + n * CLASSES);
    }
    double loss = plain_loss(&all, t->labels);
    plain_free(&all);
    return loss;
}

/* --- LSTM --- */

#define UNITS 7

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void lstm_of(const double *w, double x[PLACES][FEATURES], double *out)
{
    const double *again = w + (size_t)4 * UNITS * FEATURES, *bias = again + 4 * UNITS * UNITS;
    double h[UNITS] = {0}, c[UNITS] = {0};
    for (size_t t = 0; t < PLACES; t++) {
        double g[4 * UNITS];
        for (size_t i = 0; i < 4 * UNITS; i++) {
            g[i] = bias[i] + bias[4 * UNITS + i];
            for (size_t k = 0; k < FEATURES; k++)
                g[i] += w[i * FEATURES + k] * x[t][k];
            for (size_t k = 0; k < UNITS; k++)
                g[i] += again[i * UNITS + k] * h[k];
        }
        for (size_t u = 0; u < UNITS; u++) {
            c[u] = sigmoid(g[UNITS + u]) * c[u] + sigmoid(g[u]) * tanh(g[2 * UNITS + u]);
            h[u] = sigmoid(g[3 * UNITS + u]) * tanh(c[u]);
        }
    }
    const double *last = bias + 8 * UNITS;
    dense(&last, h, UNITS, out, CLASSES);
}

static double lstm_loss(const struct trainee *t, const double *w)
{
    return mean_loss(t, w, lstm_of);
}

/* --- transformer --- */

#define MODEL 8
#define HEADS 4
#define EACH  (MODEL / HEADS)

static void normalize(const double **w, const double *x, double *y)
{
    double mean = 0, variance = 0;
    for (size_t d = 0; d < MODEL; d++)
        mean += x[d] / MODEL;
    for (size_t d = 0; d < MODEL; d++)
        variance += (x[d] - mean) * (x[d] - mean) / MODEL;
    for (size_t d = 0; d < MODEL; d++)
        y[d] = (*w)[d] * (x[d] - mean) / sqrt(variance + 1e-5) + (*w)[MODEL + d];
    *w += (size_t)2 * MODEL;
}

static void attend(double qkv[PLACES][3 * MODEL], double y[PLACES][MODEL])
{
    memset(y, 0, PLACES * sizeof y[0]);
    for (size_t h = 0; h < MODEL; h += EACH)
        for (size_t i = 0; i < PLACES; i++) {
            double e[PLACES], sum = 0;
            for (size_t j = 0; j < PLACES; j++) {
                double product = 0;
                for (size_t d = h; d < h + EACH; d++)
                    product += qkv[i][d] * qkv[j][MODEL + d];
                e[j] = exp(product / sqrt(EACH));
                sum += e[j];
            }
            for (size_t j = 0; j < PLACES; j++)
                for (size_t d = h; d < h + EACH; d++)
                    y[i][d] += e[j] / sum * qkv[j][2 * MODEL + d];
        }
}

static void transformer_of(const double *w, double x[PLACES][FEATURES], double *out)
{
    double z[PLACES][MODEL], qkv[PLACES][3 * MODEL], y[PLACES][MODEL], mean[MODEL] = {0};
    const double *at = w;
    for (size_t t = 0; t < PLACES; t++) {
        at = w;
        dense(&at, x[t], FEATURES, z[t], MODEL);
    }
    for (size_t t = 0; t < PLACES; t++)
        for (size_t d = 0; d < MODEL; d++)
            z[t][d] += *at++;
    for (int block = 0; block < 2; block++) {
        const double *begin = at;
        for (size_t t = 0; t < PLACES; t++) {
            double unit[MODEL];
            at = begin;
            normalize(&at, z[t], unit);
            dense(&at, unit, MODEL, qkv[t], 3 * MODEL);
        }
        attend(qkv, y);
        begin = at;
        for (size_t t = 0; t < PLACES; t++) {
            double unit[MODEL], hidden[4 * MODEL], more[MODEL];
            at = begin;
            dense(&at, y[t], MODEL, more, MODEL);
            for (size_t d = 0; d < MODEL; d++)
                z[t][d] += more[d];
            normalize(&at, z[t], unit);
            dense(&at, unit, MODEL, hidden, 4 * MODEL);
            for (size_t d = 0; d < 4 * MODEL; d++)
                hidden[d] = hidden[d] > 0 ? hidden[d] : 0;
            dense(&at, hidden, 4 * MODEL, more, MODEL);
            for (size_t d = 0; d < MODEL; d++)
                z[t][d] += more[d];
        }
    }
    const double *begin = at;
    for (size_t t = 0; t < PLACES; t++) {
        double unit[MODEL];
        at = begin;
        normalize(&at, z[t], unit);
        for (size_t d = 0; d < MODEL; d++)
            mean[d] += unit[d] / PLACES;
    }
    dense(&at, mean, MODEL, out, CLASSES);
}

static double transformer_loss(const struct trainee *t, const double *w)
{
    return mean_loss(t, w, transformer_of);
}

/* --- tests --- */

static void gradients(void **state)
{
    (void)state;
    struct cc_model_config lstm = small("lstm:width=7"), transformer = small("transformer:width=8");
    trainee_gradients(&lstm, lstm_loss, tier_pick(40, 20, 200));
    trainee_gradients(&transformer, transformer_loss, tier_pick(20, 10, 100));
}

static void same_bits(void **state)
{
    (void)state;
    static const char *const nets[] = {"lstm:width=7", "transformer:width=8", "lstm:width=40",
                                       "transformer"};
    for (size_t i = 0; i < 4; i++) {
        struct cc_model_config config = small(nets[i]);
        config.batch = i < 2 ? 18 : 70;
        trainee_same_bits(&config);
    }
}

static void passes_leave_nothing(void **state)
{
    (void)state;
    struct cc_model_config lstm = small("lstm:width=7"), transformer = small("transformer:width=8");
    trainee_leaves_nothing(&lstm);
    trainee_leaves_nothing(&transformer);
}

static void learn(void **state)
{
    (void)state;
    static const char *const nets[] = {"lstm:width=16", "transformer:width=16"};
    for (size_t k = 0; k < 2; k++) {
        struct cc_model_config config = small(nets[k]);
        struct trainee t = trainee_open(&config);
        double first = trainee_pass(&t).loss;
        for (int step = 0; step < 600; step++) {
            (void)trainee_pass(&t);
            for (size_t i = 0; i < t.layout->values; i++)
                t.weights[i] -= 0.2f * t.gradient[i];
        }
        assert_true(trainee_pass(&t).loss < 0.3 * first);
        trainee_close(&t);
    }
}

static void refuse(void **state)
{
    (void)state;
    static const char *const wrong[] = {"lstm:",         "lstm:width=0",        "lstm:width=12345",
                                        "transformer:8", "transformer:width=6", "lstm:width=+5"};
    struct cc_model *model = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct cc_model_config config = small(wrong[i]);
        assert_int_equal(cc_model_open(&config, &model, NULL), CC_USAGE);
    }
    struct cc_model_config config = small("transformer");
    config.height = 257;
    assert_int_equal(cc_model_open(&config, &model, NULL), CC_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(passes_leave_nothing),
        cmocka_unit_test(learn),
        cmocka_unit_test(refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
