/* Layers as plain loops over images, channels and places, each with its own copy of the result. */
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

static double *place(const struct plain *a, size_t n, size_t c, size_t y, size_t x)
{
    return a->x + ((n * a->channels + c) * a->height + y) * a->width + x;
}

void plain_conv(struct plain *a, const double **w, size_t out, size_t stride)
{
    struct plain r = plain_new(a->count, out, (a->height + stride - 1) / stride,
                               (a->width + stride - 1) / stride);
    for (size_t n = 0; n < r.count; n++)
        for (size_t o = 0; o < out; o++)
            for (size_t y = 0; y < r.height; y++)
                for (size_t x = 0; x < r.width; x++) {
                    double sum = 0;
                    for (size_t i = 0; i < a->channels; i++)
                        for (size_t ky = 0; ky < 3; ky++)
                            for (size_t kx = 0; kx < 3; kx++) {
                                size_t iy = y * stride + ky - 1, ix = x * stride + kx - 1;
                                if (iy < a->height && ix < a->width)
                                    sum += (*w)[((o * a->channels + i) * 3 + ky) * 3 + kx] *
                                           *place(a, n, i, iy, ix);
                            }
                    *place(&r, n, o, y, x) = sum;
                }
    *w += out * a->channels * 9;
    become(a, r);
}

void plain_norm(struct plain *a, const double **w)
{
    size_t places = a->height * a->width;
    double count = (double)(a->count * places);
    for (size_t c = 0; c < a->channels; c++) {
        double mean = 0, variance = 0;
        for (size_t n = 0; n < a->count; n++)
            for (size_t i = 0; i < places; i++)
                mean += place(a, n, c, 0, 0)[i] / count;
        for (size_t n = 0; n < a->count; n++)
            for (size_t i = 0; i < places; i++)
                variance += pow(place(a, n, c, 0, 0)[i] - mean, 2) / count;
        for (size_t n = 0; n < a->count; n++)
            for (size_t i = 0; i < places; i++) {
                double *x = place(a, n, c, 0, 0) + i;
                *x = (*w)[c] * (*x - mean) / sqrt(variance + 1e-5) + (*w)[a->channels + c];
            }
    }
    *w += 2 * a->channels;
}

void plain_mean(struct plain *a)
{
    struct plain r = plain_new(a->count, a->channels, 1, 1);
    size_t places = a->height * a->width;
    for (size_t i = 0; i < a->count * a->channels * places; i++)
        r.x[i / places] += a->x[i] / (double)places;
    become(a, r);
}

void plain_bias(struct plain *a, const double **w)
{
    size_t places = a->height * a->width;
    for (size_t i = 0; i < a->count * a->channels * places; i++)
        a->x[i] += (*w)[i / places % a->channels];
    *w += a->channels;
}

void plain_max_pool(struct plain *a)
{
    struct plain r = plain_new(a->count, a->channels, a->height / 2, a->width / 2);
    for (size_t n = 0; n < r.count; n++)
        for (size_t c = 0; c < r.channels; c++)
            for (size_t y = 0; y < r.height; y++)
                for (size_t x = 0; x < r.width; x++) {
                    double most = -HUGE_VAL;
                    for (size_t k = 0; k < 4; k++)
                        most = fmax(most, *place(a, n, c, 2 * y + k / 2, 2 * x + k % 2));
                    *place(&r, n, c, y, x) = most;
                }
    become(a, r);
}

void plain_shortcut(struct plain *a, const struct plain *side)
{
    size_t step = side->height == a->height ? 1 : 2;
    for (size_t n = 0; n < a->count; n++)
        for (size_t c = 0; c < side->channels; c++)
            for (size_t y = 0; y < a->height; y++)
                for (size_t x = 0; x < a->width; x++)
                    *place(a, n, c, y, x) += *place(side, n, c, y * step, x * step);
}

struct plain plain_copy(const struct plain *a)
{
    struct plain r = plain_new(a->count, a->channels, a->height, a->width);
    for (size_t i = 0; i < a->count * a->channels * a->height * a->width; i++)
        r.x[i] = a->x[i];
    return r;
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
