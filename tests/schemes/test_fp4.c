/* fp4: bytes worked out by hand from docs/payloads.md, and mxfp4 as another encoder of e2m1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#include "tests/lib/vector.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

static void fp4_by_hand(void **state)
{
    (void)state;
    /* All numbers of e3m0, with max 16: floor(log2 16) - 4 = 0, the scale is 1, byte 127. Ties, to
     * the even code: 0.125 to 0, 0.375 to 0.5, 0.75 to 0.5, 1.5 and 3 to 2, 6 and 12 to 8. */
    const float x[] = {0,      0.25f,  0.5f,  -1,   2, 4, 8,  -16,
                       0.125f, 0.375f, 0.75f, 1.5f, 3, 6, 12, 12.01f};
    const float y[] = {0, 0.25f, 0.5f, -1, 2, 4, 8, -16, 0, 0.5f, 0.5f, 2, 2, 8, 8, 16};
    const uint8_t bytes[] = {127, 0x10, 0xb2, 0x54, 0xf6, 0x20, 0x42, 0x64, 0x76};
    /* 23 is nearer to 16 than to 32; 25 is not, so that the scale is 2. */
    const float below[] = {23}, below_y[] = {16}, above[] = {25}, above_y[] = {32};
    const uint8_t below_is[] = {127, 7}, above_is[] = {128, 7};
    struct vector v;
    vector_open(&v, "fp4:format=e3m0,rounding=nearest", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
    vector_open(&v, "fp4:format=e3m0,rounding=nearest", 1);
    vector_is(&v, below, below_is, 2, below_y);
    vector_is(&v, above, above_is, 2, above_y);
    vector_close(&v);
    vector_open(&v, "fp4:format=e3m0", 1);
    vector_encodes(&v, 1, (const float[]){16}, (const uint8_t[]){127, 7}, 2);
    vector_rejects(&v, (const uint8_t[]){255, 7}, 2, "byte 0: the scale's exponent 255");
    vector_close(&v);
}

/* With blocks of 32, e2m1 is mxfp4. */
static void fp4_is_mxfp4(void **state)
{
    (void)state;
    enum { N = 1000, MOST = 32 + 500 };
    static const char *const pairs[][2] = {{"fp4", "mxfp4"},
                                           {"fp4:rounding=nearest", "mxfp4:rounding=nearest"}};
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = sinf((float)i * (float)i) * exp2f((float)(i % 97) - 40);
    for (size_t p = 0; p < LENGTH(pairs); p++) {
        uint8_t out[2][MOST];
        size_t len[2];
        for (int k = 0; k < 2; k++) {
            struct vector v;
            struct cc_error e;
            vector_open(&v, pairs[p][k], N);
            assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out[k], MOST, &len[k], &e), CC_OK);
            vector_close(&v);
        }
        assert_int_equal(len[0], len[1]);
        assert_memory_equal(out[0], out[1], len[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp4_by_hand),
        cmocka_unit_test(fp4_is_mxfp4),
    };
    return cmocka_run_group_tests_name("fp4", tests, NULL, NULL);
}
