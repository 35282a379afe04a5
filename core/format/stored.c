/* Values as files store them become float32: fp16, bf16 and fp64 are converted, text is parsed. */
#include <string.h>

#include "core/element.h"
#include "core/format/contents.h"
#include "core/format/csv.h"

/* The reverse of cc_from_fp16, for numbers that it gives. */
static uint16_t to_f16(float v)
{
    const uint32_t bits = cc_f32_bits(v), sign = bits >> 16 & 0x8000u;
    const float magnitude = cc_bits_f32(bits & 0x7fffffffu);
    if (!cc_finite(v))
        return (uint16_t)(sign | 0x7c00u | (bits >> 13 & 0x3ffu));
    return (uint16_t)(sign | (cc_f32_bits(magnitude * 0x1p-112f) >> 13 & 0x7fffu));
}

size_t cc_stored_narrow(enum cc_dtype dtype, const float *x, size_t n, uint8_t *bytes)
{
    size_t i = 0;
    for (; i < n; i++) {
        const uint32_t bits = cc_f32_bits(x[i]);
        const uint16_t half = dtype == CC_F16 ? to_f16(x[i]) : (uint16_t)(bits >> 16);
        const uint32_t back =
            dtype == CC_F16 ? cc_f32_bits(cc_from_fp16(half)) : (uint32_t)half << 16;
        if (back != bits)
            return i;
        cc_put_u16(bytes + 2 * i, half);
    }
    return i;
}

int cc_stored_values(const uint8_t *bytes, size_t size, enum cc_dtype dtype, size_t n, float *x,
                     struct cc_error *e)
{
    switch (dtype) {
    case CC_F32:
        memcpy(x, bytes, n * sizeof(float));
        return CC_OK;
    case CC_F16:
        for (size_t i = 0; i < n; i++)
            x[i] = cc_from_fp16(cc_get_u16(bytes + 2 * i));
        return CC_OK;
    case CC_BF16:
        for (size_t i = 0; i < n; i++)
            x[i] = cc_bits_f32((uint32_t)cc_get_u16(bytes + 2 * i) << 16);
        return CC_OK;
    case CC_F64:
        for (size_t i = 0; i < n; i++)
            x[i] = (float)cc_get_f64(bytes + 8 * i);
        return CC_OK;
    default:
        return cc_csv_values(bytes, size, x, n, e);
    }
}
