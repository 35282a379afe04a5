/* Values as files store them become float32: fp16, bf16 and fp64 are converted, text is parsed. */
#include <string.h>

#include "core/element.h"
#include "core/format/contents.h"
#include "core/format/csv.h"

size_t cc_stored_narrow(enum cc_dtype dtype, const float *x, size_t n, uint8_t *bytes)
{
    const enum cc_number format = cc_dtype_number(dtype);
    for (size_t i = 0; i < n; i++) {
        const uint32_t word = cc_number_of(format, x[i]);
        if (cc_f32_bits(cc_number_value(format, word)) != cc_f32_bits(x[i]))
            return i;
        if (cc_number_bytes[format] == 1)
            bytes[i] = (uint8_t)word;
        else
            cc_put_u16(bytes + 2 * i, (uint16_t)word);
    }
    return n;
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
    case CC_F8_E4M3:
    case CC_F8_E5M2:
        cc_number_widen(cc_dtype_number(dtype), bytes, n, x);
        return CC_OK;
    default:
        return cc_csv_values(bytes, size, x, n, e);
    }
}
