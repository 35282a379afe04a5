#include "train/kernels/pool.h"

#include "train/kernels/simd.h"

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static void largest(const float *restrict x, size_t row, size_t cols, float *restrict y)
{
    for (size_t c = 0; c < cols; c++, x += 2 * CC_GROUP, y += CC_GROUP)
        for (size_t l = 0; l < CC_GROUP; l++)
            y[l] = larger(larger(x[l], x[CC_GROUP + l]), larger(x[row + l], x[row + CC_GROUP + l]));
}

static void largest_back(const float *restrict x, size_t row, size_t cols, const float *restrict y,
                         const float *restrict dy, float *restrict dx)
{
    const size_t place[] = {0, CC_GROUP, row, row + CC_GROUP};
    for (size_t c = 0; c < cols; c++) {
        float rest[CC_GROUP];
        for (size_t l = 0; l < CC_GROUP; l++)
            rest[l] = dy[l];
        for (size_t k = 0; k < 4; k++)
            for (size_t l = 0; l < CC_GROUP; l++) {
                float here = x[place[k] + l] == y[l] ? rest[l] : 0.0f;
                dx[place[k] + l] = here;
                rest[l] -= here; /* 0 once it is given */
            }
        x += 2 * CC_GROUP;
        dx += 2 * CC_GROUP;
        y += CC_GROUP;
        dy += CC_GROUP;
    }
}

const struct k_pool CC_K(k_pool) = {
    .largest = largest,
    .largest_back = largest_back,
};
