#include "schemes/kernels/qsgd.h"

#include "core/bytes.h"

static size_t quantize(const float *restrict x, float norm, int s, struct cc_key key,
                       uint32_t first, int16_t *restrict levels, size_t n)
{
    const float steps = (float)s;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        float quotient = cc_bits_f32(cc_f32_bits(x[i]) & 0x7fffffffu) / norm;
        float a = quotient * steps;
        int32_t level = (int32_t)a;
        level += cc_unit(cc_random(key, first + (uint32_t)i)) < a - (float)level;
        level = level < s ? level : s;
        count += level != 0;
        levels[i] = (int16_t)(x[i] < 0 ? -level : level);
    }
    return count;
}

/* Two, or four, levels at a time, as one number. */
static void pack2(const int16_t *restrict levels, uint8_t *restrict out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t v = cc_get_u64(levels + 4 * i);
        out[i] = (uint8_t)((v & 3) | (v >> 14 & 0x0c) | (v >> 28 & 0x30) | (v >> 42 & 0xc0));
    }
}

static void pack4(const int16_t *restrict levels, uint8_t *restrict out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint32_t v = cc_get_u32(levels + 2 * i);
        out[i] = (uint8_t)((v & 15) | (v >> 12 & 0xf0));
    }
}

static void pack8(const int16_t *restrict levels, uint8_t *restrict out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)levels[i];
}

static void pack_any(const int16_t *levels, unsigned width, uint8_t *out, size_t n)
{
    const uint32_t mask = (1u << width) - 1;
    uint64_t buffer = 0;
    unsigned used = 0;
    for (size_t i = 0; i < n; i++) {
        buffer |= (uint64_t)((uint32_t)levels[i] & mask) << used;
        used += width;
        if (used >= 32) {
            cc_put_u32(out, (uint32_t)buffer);
            out += 4;
            buffer >>= 32;
            used -= 32;
        }
    }
    for (; used > 0; used = used > 8 ? used - 8 : 0) {
        *out++ = (uint8_t)buffer;
        buffer >>= 8;
    }
}

static void pack(const int16_t *levels, unsigned width, uint8_t *out, size_t n)
{
    size_t done = 0;
    if (width == 2) {
        done = n / 4 * 4;
        pack2(levels, out, done / 4);
    } else if (width == 4) {
        done = n / 2 * 2;
        pack4(levels, out, done / 2);
    } else if (width == 8) {
        done = n;
        pack8(levels, out, n);
    }
    pack_any(levels + done, width, out + done * width / 8, n - done);
}

static void unpack2(const uint8_t *restrict in, int16_t *restrict levels, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t b = in[i];
        uint64_t v = (b & 3) | (b & 0x0c) << 14 | (b & 0x30) << 28 | (b & 0xc0) << 42;
        /* extends the sign of four codes at once: none of the subtractions borrows */
        uint64_t sign = v >> 1 & UINT64_C(0x0001000100010001);
        cc_put_u64(levels + 4 * i, v | ((sign << 14) - sign) << 2);
    }
}

static void unpack4(const uint8_t *restrict in, int16_t *restrict levels, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        int32_t low = (int8_t)(uint8_t)(in[i] << 4) >> 4, high = (int8_t)in[i] >> 4;
        cc_put_u32(levels + 2 * i, ((uint32_t)low & 0xffffu) | (uint32_t)high << 16);
    }
}

static void unpack8(const uint8_t *restrict in, int16_t *restrict levels, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        levels[i] = (int8_t)in[i];
}

static void unpack_any(const uint8_t *in, unsigned width, int16_t *levels, size_t n)
{
    const uint8_t *end = in + (n * width + 7) / 8;
    const uint32_t sign = 1u << (width - 1), mask = 2 * sign - 1;
    uint64_t buffer = 0;
    unsigned have = 0;
    for (size_t i = 0; i < n; i++) {
        if (have < width && end - in >= 4) {
            buffer |= (uint64_t)cc_get_u32(in) << have;
            in += 4;
            have += 32;
        }
        for (; have < width; have += 8)
            buffer |= (uint64_t)*in++ << have;
        uint32_t code = (uint32_t)buffer & mask;
        levels[i] = (int16_t)((code ^ sign) - sign);
        buffer >>= width;
        have -= width;
    }
}

static void unpack(const uint8_t *in, unsigned width, int16_t *levels, size_t n)
{
    size_t done = 0;
    if (width == 2) {
        done = n / 4 * 4;
        unpack2(in, levels, done / 4);
    } else if (width == 4) {
        done = n / 2 * 2;
        unpack4(in, levels, done / 2);
    } else if (width == 8) {
        done = n;
        unpack8(in, levels, n);
    }
    unpack_any(in + done * width / 8, width, levels + done, n - done);
}

static int load(const int16_t *restrict levels, float norm, int s, float *restrict y, size_t n)
{
    const float steps = (float)s;
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        int level = levels[i];
        bad |= level > s || level < -s;
        y[i] = norm * ((float)level / steps);
    }
    return bad;
}

static int add(const int16_t *restrict levels, float norm, int s, float scale, float *restrict y,
               size_t n)
{
    const float steps = (float)s;
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        int level = levels[i];
        bad |= level > s || level < -s;
        float decoded = norm * ((float)level / steps);
        float product = scale * decoded;
        y[i] += product;
    }
    return bad;
}

const struct k_qsgd CC_K(k_qsgd) = {
    .quantize = quantize,
    .pack = pack,
    .unpack = unpack,
    .load = load,
    .add = add,
};
