#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "tests/lib/kit.h"
#include "tests/lib/text.h"

struct kit kit_open(const char *scheme, struct cc_shape shape)
{
    struct kit k = {.ctx = {.name = "w"}};
    if (cc_spec_parse(scheme, &k.spec, &k.e) != CC_OK ||
        cc_codec_set_single(&k.set, k.spec, &shape, &cc_memory_in_turn, &k.e) != CC_OK)
        fail_msg("%s", k.e.text);
    k.codec = k.set.item->codec;
    k.payload = k.set.item->payload;
    k.bound = k.set.item->bound;
    k.y = calloc(shape.n, sizeof(float));
    assert_non_null(k.y);
    return k;
}

void kit_close(struct kit *k)
{
    cc_codec_set_free(&k->set);
    free(k->y);
    cc_spec_free(k->spec);
}

int kit_encode(struct kit *k, const float *x)
{
    int status = cc_encode(&k->codec, &k->ctx, x, k->payload, k->bound, &k->len, &k->e);
    if (status == CC_OK)
        assert_true(k->len <= k->bound);
    return status;
}

static uint8_t *odd_copy(const void *payload, size_t len)
{
    uint8_t *copy = malloc(len + 1);
    assert_non_null(copy);
    if (len > 0)
        memcpy(copy + 1, payload, len);
    return copy;
}

int kit_decode(struct kit *k, const void *payload, size_t len)
{
    struct cc_codec receiver = k->codec;
    receiver.state = NULL;
    uint8_t *copy = odd_copy(payload, len);
    int status = cc_decode(&receiver, &k->ctx, copy + 1, len, k->y, &k->e);
    free(copy);
    return status;
}

int kit_decode_add(struct kit *k, const void *payload, size_t len, float scale)
{
    struct cc_codec receiver = k->codec;
    receiver.state = NULL;
    uint8_t *copy = odd_copy(payload, len);
    int status = cc_decode_add(&receiver, &k->ctx, copy + 1, len, scale, k->y, &k->e);
    free(copy);
    return status;
}

void kit_expect(const struct kit *k, const void *bytes, size_t len)
{
    assert_int_equal(k->len, len);
    if (len > 0)
        assert_memory_equal(k->payload, bytes, len);
}

void kit_expect_values(const struct kit *k, const float *values)
{
    assert_memory_equal(k->y, values, k->codec.shape.n * sizeof(float));
}

void kit_expect_encode_refusal(struct kit *k, const float *x, const char *message)
{
    k->e.text[0] = '\0';
    assert_int_equal(kit_encode(k, x), CC_FAIL);
    assert_contains(k->e.text, message);
}

void kit_expect_refusal(struct kit *k, const void *payload, size_t len, const char *message)
{
    k->e.text[0] = '\0';
    assert_int_equal(kit_decode(k, payload, len), CC_FAIL);
    assert_contains(k->e.text, message);
    assert_int_equal(kit_decode_add(k, payload, len, 1.0f), CC_FAIL);
}

struct cc_shape kit_matrix(size_t rows, size_t cols)
{
    return (struct cc_shape){.n = rows * cols, .dim = {rows, cols}, .ndim = 2};
}

int kit_run_group(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        failed += _cmocka_run_group_tests(cc_isa_name((enum cc_isa)isa), tests, count, NULL, NULL);
    }
    return failed;
}
