#include "schemes/kernels/stream.h"

#include "core/bytes.h"
#include "core/tile.h"

CC_EACH_ELEMENT uint32_t copy(const void *restrict x, enum cc_element type, uint8_t *restrict out,
                              size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(cc_element_at(x, i, type));
        cc_put_u32(out + 4 * i, bits);
        bits &= 0x7fffffffu;
        m = bits > m ? bits : m;
    }
    return m;
}

CC_STREAM_COPIES(copy)

static inline void add_page(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = scale * cc_get_f32(in + 4 * i);
        y[i] += v;
    }
}

static void add(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(y + i);
        add_page(in + 4 * i, scale, y + i, m);
    }
}

const struct k_stream CC_K(k_stream) = {CC_STREAM_COPY(copy), .add = add};
