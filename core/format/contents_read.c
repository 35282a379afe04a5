/* Reading tensor files: the reader is chosen by the suffix of the name, and stored values become
 * float32. */
#include <string.h>
#include <strings.h>

#include "core/bytes.h"
#include "core/format/contents.h"
#include "core/format/csv.h"
#include "core/format/npy.h"
#include "core/format/safetensors.h"

static const char *const suffixes[] = {
    [CC_SAFETENSORS] = ".safetensors", [CC_NPY] = ".npy", [CC_CSV] = ".csv"};

int cc_file_format_of(const char *path, enum cc_file_format *out, struct cc_error *e)
{
    size_t length = strlen(path);
    for (unsigned i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (length > n && strcasecmp(path + length - n, suffixes[i]) == 0) {
            *out = (enum cc_file_format)i;
            return CC_OK;
        }
    }
    return cc_fail(e, "%s: unknown suffix; use .safetensors, .npy or .csv", path);
}

int cc_contents_parse(enum cc_file_format format, const uint8_t *bytes, size_t size,
                      struct cc_contents *out, struct cc_error *e)
{
    struct cc_contents c = {0};
    int status;
    switch (format) {
    case CC_SAFETENSORS:
        status = cc_safetensors_parse(bytes, size, &c, e);
        break;
    case CC_NPY:
        status = cc_npy_parse(bytes, size, &c, e);
        break;
    default:
        status = cc_csv_parse(bytes, size, &c, e);
    }
    if (status != CC_OK)
        cc_contents_free(&c);
    else
        *out = c;
    return status;
}

/* Moving the exponent's field and scaling by the difference of the biases is exact, subnormals
 * included. */
static float from_f16(uint16_t h)
{
    float magnitude = cc_bits_f32((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
    uint32_t bits = cc_f32_bits(magnitude) | (uint32_t)(h & 0x8000) << 16;
    return cc_bits_f32((h & 0x7c00) == 0x7c00 ? bits | 0x7f800000u : bits);
}

static double get_f64(const uint8_t *p)
{
    double v;
    memcpy(&v, p, sizeof v);
    return v;
}

int cc_stored_load(const uint8_t *bytes, size_t size, enum cc_dtype dtype, size_t offset, size_t n,
                   float *buffer, const float **x, struct cc_error *e)
{
    const uint8_t *p = bytes + offset;
    *x = buffer;
    switch (dtype) {
    case CC_F32:
        if ((uintptr_t)p % _Alignof(float) == 0)
            *x = (const float *)(const void *)p;
        else
            memcpy(buffer, p, n * sizeof(float));
        return CC_OK;
    case CC_F16:
        for (size_t i = 0; i < n; i++)
            buffer[i] = from_f16(cc_get_u16(p + 2 * i));
        return CC_OK;
    case CC_BF16:
        for (size_t i = 0; i < n; i++)
            buffer[i] = cc_bits_f32((uint32_t)cc_get_u16(p + 2 * i) << 16);
        return CC_OK;
    case CC_F64:
        for (size_t i = 0; i < n; i++)
            buffer[i] = (float)get_f64(p + 8 * i);
        return CC_OK;
    default:
        return cc_csv_values(bytes, size, buffer, n, e);
    }
}
