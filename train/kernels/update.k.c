#include "train/kernels/update.h"

#include <math.h>

static void plain(const struct cc_update *u, const float *restrict g, float *restrict w, size_t n)
{
    const float rate = u->rate, decay = u->decay;
    for (size_t i = 0; i < n; i++)
        w[i] -= rate * (g[i] + decay * w[i]);
}

static void heavy_ball(const struct cc_update *u, const float *restrict g, float *restrict w,
                       float *restrict v, size_t n)
{
    const float rate = u->rate, decay = u->decay, momentum = u->momentum;
    for (size_t i = 0; i < n; i++) {
        v[i] = momentum * v[i] + (g[i] + decay * w[i]);
        w[i] -= rate * v[i];
    }
}

static void nesterov_ball(const struct cc_update *u, const float *restrict g, float *restrict w,
                          float *restrict v, size_t n)
{
    const float rate = u->rate, decay = u->decay, momentum = u->momentum;
    for (size_t i = 0; i < n; i++) {
        float slope = g[i] + decay * w[i];
        v[i] = momentum * v[i] + slope;
        w[i] -= rate * (slope + momentum * v[i]);
    }
}

static void momentum(const struct cc_update *u, bool nesterov, const float *g, float *w, float *v,
                     size_t n)
{
    if (nesterov)
        nesterov_ball(u, g, w, v, n);
    else
        heavy_ball(u, g, w, v, n);
}

static void adam(const struct cc_update *u, const float *restrict g, float *restrict w,
                 float *restrict m, float *restrict v, size_t n)
{
    const struct cc_update c = *u;
    for (size_t i = 0; i < n; i++) {
        float slope = g[i] + c.decay * w[i];
        m[i] = c.beta[0] * m[i] + c.rest[0] * slope;
        v[i] = c.beta[1] * v[i] + c.rest[1] * (slope * slope);
        float by = sqrtf(v[i] * c.unbias[1]) + c.small;
        w[i] = w[i] * c.keep - c.rate * (m[i] * c.unbias[0]) / by;
    }
}

static float sign_of(float x)
{
    return (float)((x > 0) - (x < 0));
}

static void signum(const struct cc_update *u, const float *restrict g, float *restrict w,
                   float *restrict v, size_t n)
{
    const float rate = u->rate, keep = u->keep, momentum = u->momentum;
    for (size_t i = 0; i < n && v != NULL; i++) {
        v[i] = momentum * v[i] + g[i];
        w[i] = w[i] * keep - rate * sign_of(v[i]);
    }
    for (size_t i = 0; i < n && v == NULL; i++)
        w[i] = w[i] * keep - rate * sign_of(g[i]);
}

const struct k_update CC_K(k_update) = {
    .plain = plain,
    .momentum = momentum,
    .adam = adam,
    .signum = signum,
};
