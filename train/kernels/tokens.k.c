/* Every value is computed by itself, in operations that each round, and sums over rows go down them
 * in order; so the bits are the same whatever the width of the vectors that the compiler chooses.
 */
#include "train/kernels/tokens.h"

#include <string.h>

#include "train/kernels/simd.h"

/* exp(x), within 2e-7 relative, for x up to 88; below -86 that of -86. The reduction and the
 * polynomial are those of S. Moshier's Cephes library. */
static inline float exp_of(float x)
{
    const float round = 0x1.8p23f;
    x = x < -86.0f ? -86.0f : x;
    const float shifted = x * 1.44269504f + round, k = shifted - round;
    const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    uint32_t power, bits;
    memcpy(&power, &shifted, sizeof power);
    memcpy(&bits, &p, sizeof bits);
    bits += power << 23; /* k is in the low bits of `shifted` */
    memcpy(&p, &bits, sizeof p);
    return p;
}

static inline float sigmoid(float x)
{
    x = x > 80.0f ? 80.0f : x;
    x = x < -80.0f ? -80.0f : x;
    return 1.0f / (1.0f + exp_of(-x));
}

static void softmax(float *x, size_t row, size_t rows, size_t first, float scale)
{
    float top[CC_GROUP], sum[CC_GROUP] = {0};
    for (size_t l = 0; l < CC_GROUP; l++)
        top[l] = x[l];
    for (size_t j = 1; j < rows; j++)
        for (size_t l = 0; l < CC_GROUP; l++) {
            const float here = j <= first + l ? x[j * row + l] : top[l];
            top[l] = here > top[l] ? here : top[l];
        }
    for (size_t j = 0; j < rows; j++)
        for (size_t l = 0; l < CC_GROUP; l++) {
            const float e = exp_of(scale * (x[j * row + l] - top[l]));
            x[j * row + l] = j <= first + l ? e : 0.0f;
            sum[l] += x[j * row + l];
        }
    for (size_t l = 0; l < CC_GROUP; l++)
        sum[l] = 1.0f / sum[l];
    for (size_t j = 0; j < rows; j++)
        for (size_t l = 0; l < CC_GROUP; l++)
            x[j * row + l] *= sum[l];
}

static void softmax_back(const float *restrict likely, float *restrict d, size_t row, size_t rows,
                         float scale)
{
    float sum[CC_GROUP] = {0};
    for (size_t j = 0; j < rows; j++)
        for (size_t l = 0; l < CC_GROUP; l++)
            sum[l] += likely[j * row + l] * d[j * row + l];
    for (size_t j = 0; j < rows; j++)
        for (size_t l = 0; l < CC_GROUP; l++)
            d[j * row + l] = scale * (likely[j * row + l] * (d[j * row + l] - sum[l]));
}

#define GELU_SLOPE 1.5957691f /* 2 sqrt(2 / pi) */
#define GELU_CUBE  0.044715f

static void gelu(const float *restrict x, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * sigmoid(GELU_SLOPE * (x[i] + GELU_CUBE * (x[i] * x[i] * x[i])));
}

static void gelu_back(const float *restrict x, const float *restrict dy, float *restrict dx,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float square = x[i] * x[i];
        const float s = sigmoid(GELU_SLOPE * (x[i] + GELU_CUBE * (square * x[i])));
        const float slope = GELU_SLOPE * (1.0f + 3.0f * GELU_CUBE * square);
        dx[i] = dy[i] * (s + x[i] * s * (1.0f - s) * slope);
    }
}

static void swiglu(const float *restrict gate, const float *restrict value, float *restrict y,
                   size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = gate[i] * sigmoid(gate[i]) * value[i];
}

static void swiglu_back(const float *restrict gate, const float *restrict value,
                        const float *restrict dy, float *restrict dgate, float *restrict dvalue,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float s = sigmoid(gate[i]);
        dvalue[i] = dy[i] * (gate[i] * s);
        dgate[i] = dy[i] * value[i] * (s + gate[i] * s * (1.0f - s));
    }
}

static void turn(float *restrict x, float *restrict y, const float *restrict cosine,
                 const float *restrict sine, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float a = x[i], b = y[i];
        x[i] = a * cosine[i] - b * sine[i];
        y[i] = a * sine[i] + b * cosine[i];
    }
}

static void entropy(const float *restrict x, size_t row, size_t classes, float *restrict top,
                    int32_t *restrict best, float *restrict sum)
{
    for (size_t l = 0; l < CC_GROUP; l++) {
        top[l] = x[l];
        best[l] = 0;
        sum[l] = 0;
    }
    for (size_t c = 1; c < classes; c++)
        for (size_t l = 0; l < CC_GROUP; l++) {
            const float here = x[c * row + l];
            best[l] = here > top[l] ? (int32_t)c : best[l];
            top[l] = here > top[l] ? here : top[l];
        }
    for (size_t c = 0; c < classes; c++)
        for (size_t l = 0; l < CC_GROUP; l++)
            sum[l] += exp_of(x[c * row + l] - top[l]);
}

static void entropy_back(const float *restrict x, size_t row, size_t classes,
                         const float *restrict top, const float *restrict sum, float by,
                         float *restrict dx)
{
    float each[CC_GROUP];
    for (size_t l = 0; l < CC_GROUP; l++)
        each[l] = by / sum[l];
    for (size_t c = 0; c < classes; c++)
        for (size_t l = 0; l < CC_GROUP; l++)
            dx[c * row + l] = each[l] * exp_of(x[c * row + l] - top[l]);
}

const struct k_tokens CC_K(k_tokens) = {
    .softmax = softmax,
    .softmax_back = softmax_back,
    .gelu = gelu,
    .gelu_back = gelu_back,
    .swiglu = swiglu,
    .swiglu_back = swiglu_back,
    .turn = turn,
    .entropy = entropy,
    .entropy_back = entropy_back,
};
