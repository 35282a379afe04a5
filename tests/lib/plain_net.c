#include "tests/lib/plain_net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

struct plain plain_new(size_t count, size_t channels, size_t height, size_t width)
{
    struct plain a = {count, channels, height, width, NULL};
    a.x = calloc(count * channels * height * width, sizeof *a.x);
    assert_non_null(a.x);
    return a;
}

void plain_free(struct plain *a)
{
    free(a->x);
    a->x = NULL;
}

static void become(struct plain *a, struct plain result)
{
    plain_free(a);
    *a = result;
}

void plain_dense(struct plain *a, const double **w, size_t out)
{
    size_t in = a->channels * a->height * a->width;
    struct plain y = plain_new(a->count, out, 1, 1);
    const double *bias = *w + out * in;
    for (size_t n = 0; n < a->count; n++)
        for (size_t o = 0; o < out; o++) {
            double sum = bias[o];
            for (size_t i = 0; i < in; i++)
                sum += (*w)[o * in + i] * a->x[n * in + i];
            y.x[n * out + o] = sum;
        }
    *w += out * in + out;
    become(a, y);
}

void plain_relu(struct plain *a)
{
    for (size_t i = 0; i < a->count * a->channels * a->height * a->width; i++)
        a->x[i] = a->x[i] > 0 ? a->x[i] : 0;
}

double plain_loss(const struct plain *a, const int32_t *labels)
{
    double loss = 0;
    for (size_t n = 0; n < a->count; n++) {
        const double *out = a->x + n * a->channels;
        double sum = 0;
        for (size_t c = 0; c < a->channels; c++)
            sum += exp(out[c]);
        loss += log(sum) - out[labels[n]];
    }
    return loss / (double)a->count;
}
