#include "schemes/kernels/zerorun.h"

#include <string.h>

#include "schemes/kernels/base3.h"

/* The code of a run of k = 2 .. 14 is RUN_CODE + k. */
#define RUN_CODE 241u

/* One byte at a time and without branches: runs in gradients are too irregular to predict. */
static size_t encode(const uint8_t *restrict in, size_t n, unsigned *run, uint8_t *restrict out)
{
    size_t w = 0;
    unsigned length = *run;
    for (size_t i = 0; i < n; i++) {
        unsigned zero = in[i] == CC_BYTE_ZERO;
        length = zero ? length + 1 : 0;
        unsigned ends = (in[i + 1] != CC_BYTE_ZERO) | (length == CC_RUN_MAX);
        out[w] = (uint8_t)(length > 1 ? RUN_CODE + length : in[i]);
        w += (zero ^ 1) | ends;
        length = ends ? 0 : length;
    }
    *run = length;
    return w;
}

/* Every byte writes 16 of which 1 to 14 count. */
static size_t decode(const uint8_t *restrict in, size_t len, size_t *at, uint8_t *restrict out,
                     size_t want)
{
    size_t w = 0, i = *at;
    for (; i < len && w < want; i++) {
        unsigned b = in[i];
        memset(out + w, (int)(b > CC_BYTE_MAX ? CC_BYTE_ZERO : b), 16);
        w += b > CC_BYTE_MAX ? b - RUN_CODE : 1;
    }
    *at = i;
    return w;
}

const struct k_zerorun CC_K(k_zerorun) = {.encode = encode, .decode = decode};
