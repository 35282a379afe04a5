/* Language models: gradients, bits, names. The forward pass in double below is written from the
 * papers that train/gpt.h names, token by token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tier.h"
#include "tests/lib/trainee.h"
#include "train/gpt.h"
#include "train/kernels/tokens.h"

enum { WIDTH = 16, HEADS = 2, EACH = WIDTH / HEADS, CONTEXT = 48, LAYERS = 2, TOKENS = 256 };
enum { MOST_INNER = 4 * WIDTH };

#define NET "gpt:layers=2,width=16,heads=2,context=48"

static struct cc_model_config config_of(const char *net)
{
    return (struct cc_model_config){.net = net,
                                    .channels = 1,
                                    .height = 1,
                                    .width = CONTEXT,
                                    .classes = TOKENS,
                                    .batch = 3,
                                    .threads = 1};
}

/* y = w x; moves *w behind it. */
static void product(const double **w, const double *x, size_t in, double *y, size_t out)
{
    for (size_t o = 0; o < out; o++) {
        y[o] = 0;
        for (size_t i = 0; i < in; i++)
            y[o] += (*w)[o * in + i] * x[i];
    }
    *w += out * in;
}

static void normalize(const double *scale, const double *x, double *y)
{
    double mean = 0, variance = 0;
    for (size_t d = 0; d < WIDTH; d++)
        mean += x[d] / WIDTH;
    for (size_t d = 0; d < WIDTH; d++)
        variance += (x[d] - mean) * (x[d] - mean) / WIDTH;
    for (size_t d = 0; d < WIDTH; d++)
        y[d] = scale[d] * (x[d] - mean) / sqrt(variance + 1e-5);
}

/* RoFormer, equation 34, with the pairs (i, i + EACH / 2). */
static void rotate(double *x, size_t place)
{
    for (size_t h = 0; h < WIDTH; h += EACH)
        for (size_t i = 0; i < EACH / 2; i++) {
            const double angle = (double)place * pow(10000, -2.0 * (double)i / EACH);
            double *a = x + h + i, *b = a + EACH / 2, was = *a;
            *a = was * cos(angle) - *b * sin(angle);
            *b = was * sin(angle) + *b * cos(angle);
        }
}

static void attend(double qkv[CONTEXT][3 * WIDTH], double y[CONTEXT][WIDTH])
{
    memset(y, 0, CONTEXT * sizeof y[0]);
    for (size_t h = 0; h < WIDTH; h += EACH)
        for (size_t i = 0; i < CONTEXT; i++) {
            double e[CONTEXT], sum = 0;
            for (size_t j = 0; j <= i; j++) {
                double score = 0;
                for (size_t d = h; d < h + EACH; d++)
                    score += qkv[i][d] * qkv[j][WIDTH + d];
                e[j] = exp(score / sqrt(EACH));
                sum += e[j];
            }
            for (size_t j = 0; j <= i; j++)
                for (size_t d = h; d < h + EACH; d++)
                    y[i][d] += e[j] / sum * qkv[j][2 * WIDTH + d];
        }
}

/* Moves *w behind the perceptron. */
static void perceptron(const struct cc_gpt *g, const double **w, const double *x, double *y)
{
    double hidden[2 * MOST_INNER], unit[MOST_INNER];
    const size_t inner = g->swiglu ? 48 : MOST_INNER; /* 16 x 8 / 3, up to whole eights */
    product(w, x, WIDTH, hidden, g->swiglu ? 2 * inner : inner);
    for (size_t i = 0; i < inner; i++) {
        const double a = hidden[i];
        unit[i] = g->swiglu ? a / (1 + exp(-a)) * hidden[inner + i]
                            : 0.5 * a * (1 + tanh(sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
    }
    product(w, unit, inner, y, WIDTH);
}

/* The mean loss of a sample's tokens. */
static double sample_loss(const struct cc_gpt *g, const double *w, const float *token,
                          const int32_t *label)
{
    const double *at = w + (size_t)TOKENS * WIDTH;
    double x[CONTEXT][WIDTH], y[CONTEXT][WIDTH], qkv[CONTEXT][3 * WIDTH], unit[WIDTH], loss = 0;
    for (size_t t = 0; t < CONTEXT; t++)
        for (size_t d = 0; d < WIDTH; d++)
            x[t][d] = w[(size_t)token[t] * WIDTH + d] + (g->rotary ? 0 : at[t * WIDTH + d]);
    at += g->rotary ? 0 : CONTEXT * WIDTH;
    for (int block = 0; block < LAYERS; block++) {
        const double *begin = at;
        for (size_t t = 0; t < CONTEXT; t++) {
            normalize(begin, x[t], unit);
            at = begin + WIDTH;
            product(&at, unit, WIDTH, qkv[t], 3 * WIDTH);
            if (g->rotary) {
                rotate(qkv[t], t);
                rotate(qkv[t] + WIDTH, t);
            }
        }
        attend(qkv, y);
        begin = at;
        for (size_t t = 0; t < CONTEXT; t++) {
            double more[WIDTH];
            at = begin;
            product(&at, y[t], WIDTH, more, WIDTH);
            for (size_t d = 0; d < WIDTH; d++)
                x[t][d] += more[d];
            normalize(at, x[t], unit);
            at += WIDTH;
            perceptron(g, &at, unit, more);
            for (size_t d = 0; d < WIDTH; d++)
                x[t][d] += more[d];
        }
    }
    for (size_t t = 0; t < CONTEXT; t++) {
        double out[TOKENS], sum = 0;
        const double *embedding = w;
        normalize(at, x[t], unit);
        product(&embedding, unit, WIDTH, out, TOKENS);
        for (size_t c = 0; c < TOKENS; c++)
            sum += exp(out[c]);
        loss += (log(sum) - out[label[t]]) / CONTEXT;
    }
    return loss;
}

static double gpt_loss(const struct trainee *t, const double *w)
{
    struct cc_gpt g;
    double loss = 0;
    assert_int_equal(cc_gpt_parse(t->config.net, &g, NULL), CC_OK);
    for (size_t n = 0; n < t->count; n++)
        loss += sample_loss(&g, w, t->images + n * CONTEXT, t->labels + n * CONTEXT);
    return loss / (double)t->count;
}

static const char *const nets[] = {NET, NET ",positions=learned", NET ",mlp=swiglu",
                                   NET ",positions=learned,mlp=swiglu"};
enum { NETS = sizeof nets / sizeof *nets };

static void gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        struct cc_model_config c = config_of(nets[i]);
        trainee_gradients(&c, gpt_loss, tier_pick(20, 10, 100));
    }
}

static void same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < NETS; i++) {
        struct cc_model_config c = config_of(nets[i]);
        trainee_same_bits(&c);
        trainee_leaves_nothing(&c);
    }
    /* Enough work for threads, and a context of blocks. */
    struct cc_model_config c = config_of("gpt:layers=1,width=64,heads=2,context=64");
    c.width = 64;
    c.batch = 8;
    trainee_same_bits(&c);
}

/* Units far from 0, where exp would overflow: each y by its limit. */
static void far_units(void **state)
{
    (void)state;
    const float x[16] = {-1e4f, -50, -12, 12, 50, 1e4f, 0, -3e18f, 3e18f};
    float y[16], dx[16], ones[16];
    for (size_t i = 0; i < 16; i++)
        ones[i] = 1;
    k_tokens()->gelu(x, y, 9);
    k_tokens()->swiglu(x, ones, dx, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_true(fabsf(y[i] - (x[i] > 0 ? x[i] : 0)) <= 1e-6f);
        assert_true(fabsf(dx[i] - (x[i] > 0 ? x[i] : 0)) <= 1e-4f);
    }
}

static void sizes(void **state)
{
    (void)state;
    struct cc_model_config c = config_of("gpt:context=48,positions=learned");
    struct trainee t = trainee_open(&c);
    /* 256 x 64 embeddings, 48 places, two blocks of 12 x 64 x 64, 5 x 64 scales. */
    assert_int_equal(t.layout->values, 256 * 64 + 48 * 64 + 2 * 12 * 64 * 64 + 5 * 64);
    assert_int_equal(t.layout->labels, CONTEXT);
    assert_string_equal(t.layout->tensors[0].name, "embed.weight");
    trainee_close(&t);
}

static void refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "gpt:",          "gpt:layers",           "gpt:layers=0",   "gpt:layers=2,",
        "gpt:depth=2",   "gpt:width=20,heads=2", "gpt:context=40", "gpt:positions=sin",
        "gpt:layers=2x", "gpt:width=99999"};
    struct cc_gpt g;
    struct cc_error e;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(cc_gpt_parse(wrong[i], &g, &e), CC_USAGE);
    assert_int_equal(cc_gpt_parse("gpt", &g, &e), CC_OK);
    assert_true(g.layers == 2 && g.width == 64 && g.heads == 2 && g.context == 64);
    assert_true(!cc_gpt_is("gpt2") && cc_gpt_is("gpt:layers=1"));
    struct cc_model_config c = config_of("gpt:context=64"); /* not the samples' */
    struct cc_model *m;
    assert_int_equal(cc_model_open(&c, &m, &e), CC_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(same_bits),
                                       cmocka_unit_test(far_units), cmocka_unit_test(sizes),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
