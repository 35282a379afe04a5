#include "core/format/contents.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/bytes.h"
#include "core/format/csv.h"
#include "core/memory.h"
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
    return cc_fail(e, "%s: its name ends with none of .safetensors, .npy, .csv", path);
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

static void free_pair(struct cc_pair *pair)
{
    free((char *)pair->key);
    free((char *)pair->value);
}

void cc_pairs_free(struct cc_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_pair(&pairs[i]);
    free(pairs);
}

void cc_contents_free(struct cc_contents *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->tensors[i].name);
    free(c->tensors);
    cc_pairs_free(c->metadata, c->metadata_count);
    *c = (struct cc_contents){0};
}

const char *cc_contents_meta(const struct cc_contents *c, const char *key)
{
    for (size_t i = 0; i < c->metadata_count; i++)
        if (strcmp(c->metadata[i].key, key) == 0)
            return c->metadata[i].value;
    return NULL;
}

int cc_contents_add(struct cc_contents *c, const char *name, const struct cc_shape *shape,
                    enum cc_dtype dtype, size_t offset, struct cc_error *e)
{
    if (cc_grow((void **)&c->tensors, &c->capacity, c->count + 1, sizeof *c->tensors, e) != CC_OK)
        return CC_FAIL;
    char *copy = cc_strdup(name, e);
    if (copy == NULL)
        return CC_FAIL;
    c->tensors[c->count++] =
        (struct cc_stored){.name = copy, .shape = *shape, .dtype = dtype, .offset = offset};
    return CC_OK;
}

int cc_contents_add_meta(struct cc_contents *c, const char *key, const char *value,
                         struct cc_error *e)
{
    if (cc_grow((void **)&c->metadata, &c->metadata_capacity, c->metadata_count + 1,
                sizeof *c->metadata, e) != CC_OK)
        return CC_FAIL;
    struct cc_pair pair = {.key = cc_strdup(key, e), .value = cc_strdup(value, e)};
    if (pair.key == NULL || pair.value == NULL) {
        free_pair(&pair);
        return CC_FAIL;
    }
    c->metadata[c->metadata_count++] = pair;
    return CC_OK;
}

size_t cc_dtype_bytes(enum cc_dtype dtype)
{
    static const size_t bytes[] = {
        [CC_F32] = 4,    [CC_F16] = 2,    [CC_BF16] = 2,    [CC_F64] = 8,     [CC_DECIMAL] = 0,
        [CC_FLOAT8] = 1, [CC_WHOLE8] = 1, [CC_WHOLE16] = 2, [CC_WHOLE32] = 4, [CC_WHOLE64] = 8};
    return bytes[dtype];
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
