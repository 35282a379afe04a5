#include "train/data/resize.h"

#include <string.h>

/* The place of an output pixel in the input: between pixels `low` and `high`, `part` of the way. */
struct place {
    size_t low, high;
    float part;
};

static struct place place_of(size_t i, size_t from, size_t to)
{
    const float x = ((float)i + 0.5f) * ((float)from / (float)to) - 0.5f;
    const float at = x < 0 ? 0 : x;
    const size_t low = (size_t)at < from - 1 ? (size_t)at : from - 1;
    return (struct place){low, low < from - 1 ? low + 1 : low, at - (float)low};
}

void cc_resize(const float *in, size_t height, size_t width, float *out, size_t out_height,
               size_t out_width)
{
    if (height == out_height && width == out_width) {
        memcpy(out, in, height * width * sizeof *out);
        return;
    }
    for (size_t i = 0; i < out_height; i++) {
        const struct place y = place_of(i, height, out_height);
        for (size_t j = 0; j < out_width; j++) {
            const struct place x = place_of(j, width, out_width);
            const float *low = in + y.low * width, *high = in + y.high * width;
            const float a = low[x.low] + x.part * (low[x.high] - low[x.low]);
            const float b = high[x.low] + x.part * (high[x.high] - high[x.low]);
            out[i * out_width + j] = a + y.part * (b - a);
        }
    }
}
