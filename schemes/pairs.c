#include "schemes/pairs.h"

#include "schemes/kernels/select.h"
#include "schemes/scheme.h"

void cc_pairs_put(const uint8_t *bits, size_t n, const uint8_t *values, uint8_t *out)
{
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        size_t m = n - i < CC_SELECT_BLOCK ? n - i : CC_SELECT_BLOCK;
        size_t count = k_select()->indices(bits + i / 8, m, (uint32_t)i, index);
        for (size_t j = 0; j < count; j++) {
            cc_put_u32(out + CC_PAIR_BYTES * j, index[j]);
            cc_put_u32(out + CC_PAIR_BYTES * j + 4, cc_get_u32(values + 4 * j));
        }
        values += 4 * count;
        out += CC_PAIR_BYTES * count;
    }
}

int cc_pairs_bad_index(size_t offset, uint32_t index, size_t next, size_t n, struct cc_error *e)
{
    if (index >= n)
        return cc_bad_payload(offset, e, "index %lu is beyond the tensor's %zu values",
                              (unsigned long)index, n);
    return cc_bad_payload(offset, e, "index %lu does not ascend: the one before is %zu",
                          (unsigned long)index, next - 1);
}

void cc_zero_until(float *y, size_t index, size_t n, size_t *done)
{
    while (*done <= index) {
        size_t m = n - *done < CC_SELECT_BLOCK ? n - *done : CC_SELECT_BLOCK;
        memset(y + *done, 0, m * sizeof *y);
        *done += m;
    }
}

static int check_length(size_t len, struct cc_error *e)
{
    if (len % CC_PAIR_BYTES == 0)
        return CC_OK;
    return cc_bad_payload(len - len % CC_PAIR_BYTES, e,
                          "the payload has %zu bytes, which are no whole pairs of %d", len,
                          CC_PAIR_BYTES);
}

int cc_pairs_decode(const uint8_t *in, size_t len, size_t n, float *y, struct cc_error *e)
{
    if (check_length(len, e) != CC_OK)
        return CC_FAIL;
    size_t next = 0, zeroed = 0;
    for (size_t p = 0; p < len; p += CC_PAIR_BYTES) {
        uint32_t index = cc_get_u32(in + p);
        if (index < next || index >= n)
            return cc_pairs_bad_index(p, index, next, n, e);
        cc_zero_until(y, index, n, &zeroed);
        y[index] = cc_get_f32(in + p + 4);
        next = (size_t)index + 1;
    }
    cc_zero_until(y, n - 1, n, &zeroed);
    return CC_OK;
}

int cc_pairs_decode_add(const uint8_t *in, size_t len, size_t n, float scale, float *y,
                        struct cc_error *e)
{
    if (check_length(len, e) != CC_OK)
        return CC_FAIL;
    size_t next = 0;
    for (size_t p = 0; p < len; p += CC_PAIR_BYTES) {
        uint32_t index = cc_get_u32(in + p);
        if (index < next || index >= n)
            return cc_pairs_bad_index(p, index, next, n, e);
        y[index] = cc_add_scaled(y[index], scale, cc_get_f32(in + p + 4));
        next = (size_t)index + 1;
    }
    return CC_OK;
}
