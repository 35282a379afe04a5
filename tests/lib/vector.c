#include "tests/lib/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/isa.h"
#include "core/memory.h"
#include "tests/lib/text.h"

static void *get(size_t bytes)
{
    void *p = cc_alloc0(bytes, NULL);
    assert_non_null(p);
    return p;
}

void vector_open(struct vector *v, const char *spec, size_t n)
{
    struct cc_error e = {.text = ""};
    memset(v, 0, sizeof *v);
    static const struct cc_codec_memory memory = {.state = true, .scratch = CC_SHARED};
    const struct cc_shape shape = cc_shape_flat(n);
    if (cc_spec_parse(spec, &v->spec, &e) != CC_OK ||
        cc_codec_set_single(&v->set, v->spec, &shape, &memory, &e) != CC_OK)
        fail_msg("%s: %s", spec, e.text);
    v->codec = v->set.item->codec;
    v->ctx = (struct cc_context){.seed = 1, .name = "t"};
}

void vector_close(struct vector *v)
{
    cc_codec_set_free(&v->set);
    cc_spec_free(v->spec);
}

/* Runs f once on every instruction set. */
#define EACH_ISA(isa)                                                                              \
    for (int isa = 0; isa < CC_ISAS; isa++)                                                        \
        if (cc_isa_has((enum cc_isa)isa) && (cc_isa_force((enum cc_isa)isa), 1))

void vector_encodes(struct vector *v, size_t steps, const float *x, const uint8_t *want, size_t len)
{
    size_t n = v->codec.shape.n, cap = cc_bound(&v->codec), got;
    EACH_ISA(isa)
    {
        uint8_t *out = malloc(cap + 1);
        assert_non_null(out);
        cc_codec_reset(&v->codec);
        for (size_t s = 0; s < steps; s++) {
            struct cc_error e = {.text = ""};
            float *copy = malloc(n * sizeof *copy);
            assert_non_null(copy);
            memcpy(copy, x + s * n, n * sizeof *copy);
            if (cc_encode(&v->codec, &v->ctx, copy, out + 1, cap, &got, &e) != CC_OK)
                fail_msg("%s", e.text);
            assert_int_equal(got, len);
            assert_true(got <= cap);
            assert_memory_equal(out + 1, want + s * len, len);
            free(copy);
        }
        free(out);
    }
}

static void assert_same_float(float got, float want, size_t i)
{
    if (want != want ? got == got : cc_f32_bits(got) != cc_f32_bits(want))
        fail_msg("value %zu is %a, not %a", i, (double)got, (double)want);
}

void vector_decodes(struct vector *v, const uint8_t *bytes, size_t len, const float *want)
{
    size_t n = v->codec.shape.n;
    EACH_ISA(isa)
    {
        for (size_t odd = 0; odd < 2; odd++) {
            struct cc_error e = {.text = ""};
            uint8_t *in = malloc(len + odd);
            float *y = malloc(n * sizeof *y), *sum = malloc(n * sizeof *sum);
            assert_true(in != NULL && y != NULL && sum != NULL);
            memcpy(in + odd, bytes, len);
            for (size_t i = 0; i < n; i++)
                sum[i] = 0.75f;
            if (cc_decode(&v->codec, &v->ctx, in + odd, len, y, &e) != CC_OK ||
                cc_decode_add(&v->codec, &v->ctx, in + odd, len, -0.3f, sum, &e) != CC_OK)
                fail_msg("%s", e.text);
            for (size_t i = 0; i < n; i++) {
                assert_same_float(y[i], want[i], i);
                assert_same_float(sum[i], cc_add_scaled(0.75f, -0.3f, want[i]), i);
            }
            free(in);
            free(y);
            free(sum);
        }
    }
}

void vector_is(struct vector *v, const float *x, const uint8_t *bytes, size_t len,
               const float *decoded)
{
    vector_encodes(v, 1, x, bytes, len);
    vector_decodes(v, bytes, len, decoded);
}

void vector_refuses(struct vector *v, const float *x, const char *text)
{
    size_t cap = cc_bound(&v->codec), len;
    EACH_ISA(isa)
    {
        struct cc_error e = {.text = ""};
        uint8_t *out = get(cap);
        cc_codec_reset(&v->codec);
        assert_int_equal(cc_encode(&v->codec, &v->ctx, x, out, cap, &len, &e), CC_FAIL);
        assert_contains(e.text, text);
        free(out);
    }
}

void vector_rejects(struct vector *v, const uint8_t *bytes, size_t len, const char *text)
{
    EACH_ISA(isa)
    {
        struct cc_error e = {.text = ""}, e_add = {.text = ""};
        uint8_t *in = malloc(len > 0 ? len : 1);
        float *y = get(v->codec.shape.n * sizeof *y);
        assert_non_null(in);
        memcpy(in, bytes, len);
        assert_int_equal(cc_decode(&v->codec, &v->ctx, in, len, y, &e), CC_FAIL);
        assert_int_equal(cc_decode_add(&v->codec, &v->ctx, in, len, 1.0f, y, &e_add), CC_FAIL);
        assert_contains(e.text, text);
        assert_string_equal(e.text, e_add.text);
        free(in);
        free(y);
    }
}
