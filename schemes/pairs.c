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

void cc_put_block(const float *block, size_t n, bool past, float *y)
{
    if (past)
        k_select()->store(block, n, y);
    else
        memcpy(y, block, n * sizeof *y);
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
    float block[CC_SELECT_BLOCK];
    bool past = cc_past_cache(y, n);
    size_t p = 0, next = 0;
    if (check_length(len, e) != CC_OK)
        return CC_FAIL;
    for (size_t begin = 0; begin < n; begin += CC_SELECT_BLOCK) {
        size_t m = n - begin < CC_SELECT_BLOCK ? n - begin : CC_SELECT_BLOCK;
        memset(block, 0, m * sizeof *block);
        for (; p < len; p += CC_PAIR_BYTES) {
            uint32_t index = cc_get_u32(in + p);
            if (index >= begin + m)
                break;
            if (index < next)
                return cc_pairs_bad_index(p, index, next, n, e);
            block[index - begin] = cc_get_f32(in + p + 4);
            next = (size_t)index + 1;
        }
        cc_put_block(block, m, past, y + begin);
    }
    cc_past_cache_done();
    return p == len ? CC_OK : cc_pairs_bad_index(p, cc_get_u32(in + p), next, n, e);
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
