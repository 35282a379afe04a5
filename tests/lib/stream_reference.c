/* The forms of a stream, a kind a number: each is written and read by its own loop, and the
 * shortest is found by the length of each. */
#include "tests/lib/stream_reference.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 24 };

bool stream_absent(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits == 0x80000000u;
}

static void put(uint8_t *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)in[i] << (8 * i);
    return v;
}

static float get_float(const uint8_t *in)
{
    const uint32_t bits = (uint32_t)get(in, 4);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void put_float(uint8_t *out, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(out, bits, 4);
}

static size_t body_bytes(int kind, size_t n, size_t c)
{
    const size_t blocks = n / 65536 + (n % 65536 > 0), words = n / 64 + (n % 64 > 0);
    const size_t bytes[] = {8 * c, 4 * blocks + 4 * ((c + 1) / 2) + 4 * c, 8 * words + 4 * c,
                            4 * n};
    return bytes[kind];
}

static size_t write_body(const float *v, size_t n, size_t c, int kind, uint8_t *out)
{
    const size_t bytes = body_bytes(kind, n, c);
    uint8_t *index = out + 4 * (n / 65536 + (n % 65536 > 0));
    uint8_t *value = kind == 1 ? index + 4 * ((c + 1) / 2) : out + 8 * (n / 64 + (n % 64 > 0));
    size_t k = 0;
    memset(out, 0, bytes);
    for (size_t i = 0; i < n; i++) {
        if (kind == 3)
            put_float(out + 4 * i, v[i]);
        if (stream_absent(v[i]) || kind == 3)
            continue;
        if (kind == 0) {
            put(out + 8 * k, i, 4);
            put_float(out + 8 * k + 4, v[i]);
        } else if (kind == 1) {
            put(out + 4 * (i / 65536), get(out + 4 * (i / 65536), 4) + 1, 4);
            put(index + 2 * k, i % 65536, 2);
            put_float(value + 4 * k, v[i]);
        } else {
            out[i / 8] |= (uint8_t)(1 << (i % 8));
            put_float(value + 4 * k, v[i]);
        }
        k++;
    }
    return bytes;
}

size_t stream_write(const float *v, size_t n, int kind, bool plain, uint32_t tag, uint64_t sent,
                    uint8_t *out)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i++)
        c += !stream_absent(v[i]);
    if (kind < 0) {
        kind = 0;
        for (int k = 1; k <= 3; k++)
            if ((!plain || k == 3) && body_bytes(k, n, c) < body_bytes(kind, n, c))
                kind = k;
    }
    put(out, (uint64_t)kind, 4);
    put(out + 4, tag, 4);
    put(out + 8, n, 4);
    put(out + 12, kind == 3 ? n : c, 4);
    put(out + 16, sent, 8);
    return HEAD + write_body(v, n, c, kind, out + HEAD);
}

static bool read_short(const uint8_t *in, size_t n, size_t c, float *v)
{
    const size_t blocks = n / 65536 + (n % 65536 > 0);
    const uint8_t *index = in + 4 * blocks, *value = index + 4 * ((c + 1) / 2);
    size_t k = 0;
    for (size_t b = 0; b < blocks; b++) {
        const uint64_t in_block = get(in + 4 * b, 4);
        size_t next = 65536 * b;
        for (uint64_t i = 0; i < in_block; i++, k++) {
            if (k >= c)
                return false;
            const size_t at = 65536 * b + get(index + 2 * k, 2);
            if (at < next || at >= n)
                return false;
            next = at + 1;
            v[at] = get_float(value + 4 * k);
        }
    }
    return k == c;
}

bool stream_read(const uint8_t *in, size_t len, size_t n, size_t most, float *v)
{
    if (len < HEAD || get(in, 4) > 3 || get(in + 8, 4) != n)
        return false;
    const int kind = (int)get(in, 4);
    const size_t c = get(in + 12, 4), words = n / 64 + (n % 64 > 0);
    const uint8_t *body = in + HEAD;
    if (c > n || (kind == 3 ? c != n : c > most) || len != HEAD + body_bytes(kind, n, c))
        return false;
    for (size_t i = 0; i < n; i++)
        v[i] = -0.0f;
    if (kind == 1)
        return read_short(body, n, c, v);
    for (size_t i = 0, next = 0; i < c && kind == 0; i++) {
        const size_t at = get(body + 8 * i, 4);
        if (at < next || at >= n)
            return false;
        next = at + 1;
        v[at] = get_float(body + 8 * i + 4);
    }
    size_t k = 0;
    for (size_t i = 0; i < 64 * words && kind == 2; i++) {
        if ((body[i / 8] >> (i % 8) & 1) == 0)
            continue;
        if (i >= n || k >= c)
            return false;
        v[i] = get_float(body + 8 * words + 4 * k++);
    }
    for (size_t i = 0; i < n && kind == 3; i++)
        v[i] = get_float(body + 4 * i);
    return kind != 2 || k == c;
}
