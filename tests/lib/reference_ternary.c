/* 3lc and ternary: five trits to a byte, and runs of zero bytes. */
#include "tests/lib/reference_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static void put_trits(struct ref_out *out, const int *trit, size_t n, bool zre)
{
    const size_t L = (n + 4) / 5;
    unsigned *byte = ref_room(L, sizeof *byte);
    for (size_t i = 0; i < 5 * L; i++) {
        const unsigned weight[5] = {81, 27, 9, 3, 1};
        const unsigned digit = i < n ? (unsigned)(trit[i] + 1) : 1;
        byte[i % L] += weight[i / L] * digit;
    }
    for (size_t j = 0; j < L;) {
        size_t run = 0;
        while (zre && run < 14 && j + run < L && byte[j + run] == 121)
            run++;
        if (run >= 2) {
            put_u8(out, 243 + (unsigned)(run - 2));
            j += run;
        } else {
            put_u8(out, byte[j++]);
        }
    }
    free(byte);
}

/* Reads to the end of the payload. */
static bool get_trits(struct ref_in *in, int *trit, size_t n, bool zre)
{
    const size_t L = (n + 4) / 5;
    unsigned *byte = ref_room(L, sizeof *byte);
    size_t filled = 0;
    while (!in->bad && in->pos < in->len) {
        unsigned b = get_u8(in);
        size_t repeat = 1;
        if (b > 242) {
            if (!zre)
                in->bad = true;
            repeat = b - 243 + 2;
            b = 121;
        }
        if (filled + repeat > L)
            in->bad = true;
        for (; repeat > 0 && !in->bad; repeat--)
            byte[filled++] = b;
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned weight[5] = {81, 27, 9, 3, 1};
        trit[i] = (int)(byte[i % L] / weight[i / L] % 3) - 1;
    }
    free(byte);
    return get_end(in) && filled == L;
}

/* Values with a common scale. */
static size_t block_of(const struct ref *r)
{
    const size_t n = r->shape.n, block = (size_t)setting_int(r->spec, "block");
    return block > 0 ? block : n > 0 ? n : 1;
}

static bool decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in, float *y)
{
    (void)ctx;
    const size_t n = r->shape.n;
    int *trit = ref_room(n, sizeof *trit);
    const size_t block = block_of(r);
    float *m = ref_room(n / block + 1, sizeof *m);
    m[0] = 0;
    for (size_t i = 0; i < n || i == 0; i += block)
        m[i / block] = get_scale(in);
    const bool ok = get_trits(in, trit, n, setting_int(r->spec, "zre") != 0);
    for (size_t i = 0; i < n; i++)
        y[i] = m[i / block] * (float)trit[i];
    free(m);
    free(trit);
    return ok;
}

static void lc3_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                       struct ref_out *out)
{
    (void)ctx;
    const size_t n = r->shape.n;
    const size_t block = block_of(r);
    int *trit = ref_room(n, sizeof *trit);
    for (size_t at = 0; at < n || at == 0; at += block) {
        const size_t end = n - at < block ? n : at + block;
        float m = (float)setting_real(r->spec, "s") * largest_magnitude(x + at, end - at);
        if (m > FLT_MAX)
            m = FLT_MAX;
        for (size_t i = at; i < end; i++)
            if (m > 0 && fabsf(x[i]) >= m * 0.5f)
                trit[i] = x[i] < 0 ? -1 : x[i] > 0;
        put_f32(out, m);
    }
    put_trits(out, trit, n, setting_int(r->spec, "zre") != 0);
    free(trit);
}

static void ternary_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                           struct ref_out *out)
{
    const size_t n = r->shape.n;
    float *limited = ref_room(n, sizeof *limited);
    int *trit = ref_room(n, sizeof *trit);
    const double clip = setting_real(r->spec, "clip");
    const double mean = tree_sum(x, n, term_self) / (double)n;
    const double variance = tree_sum(x, n, term_square) / (double)n - mean * mean;
    const float limit = (float)(clip * sqrt(variance > 0 ? variance : 0));
    for (size_t i = 0; i < n; i++) {
        limited[i] = x[i];
        if (clip > 0 && limit > 0 && x[i] > limit)
            limited[i] = limit;
        if (clip > 0 && limit > 0 && x[i] < -limit)
            limited[i] = -limit;
    }
    const size_t block = block_of(r);
    for (size_t at = 0; at < n || at == 0; at += block) {
        const size_t end = n - at < block ? n : at + block;
        const float m = largest_magnitude(limited + at, end - at);
        for (size_t i = at; i < end; i++)
            if ((double)unit_at(ctx, i) * (double)m < (double)fabsf(limited[i]))
                trit[i] = limited[i] < 0 ? -1 : limited[i] > 0;
        put_f32(out, m);
    }
    put_trits(out, trit, n, setting_int(r->spec, "zre") != 0);
    free(limited);
    free(trit);
}

const struct ref_row ref_rows_ternary[] = {
    {.id = "3lc", .feedback = IF_EF, .encode = lc3_encode, .decode = decode},
    {.id = "ternary", .feedback = IF_EF, .encode = ternary_encode, .decode = decode},
    {.id = NULL},
};
