/* int8's codes at and beside the middles between two integers, where a product with the reciprocal
 * and the quotient may round to different ones: every instruction set rounds the quotient. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/isa.h"
#include "schemes/kernels/int8.h"

enum { VALUES = 255 * 8 + 3, DIVISORS = 400 };

/* Multiples of the divisor, middles, and their neighbours. */
static void fill(float divisor, float *x)
{
    for (int i = 0; i < VALUES; i++) {
        const float middle = ((float)(i / 8 % 254 - 127) + (i % 2 == 0 ? 0.5f : 0)) * divisor;
        x[i] = i % 8 < 3   ? middle
               : i % 8 < 6 ? nextafterf(middle, INFINITY)
                           : nextafterf(middle, -INFINITY);
    }
}

static void middles(void **state)
{
    (void)state;
    float x[VALUES];
    uint8_t codes[VALUES];
    for (int d = 0; d < DIVISORS; d++) {
        const float divisor = ldexpf(1 + (float)d / 397, d % 180 - 120);
        fill(divisor, x);
        for (int isa = 0; isa < CC_ISAS; isa++) {
            if (!cc_isa_has((enum cc_isa)isa))
                continue;
            cc_isa_force((enum cc_isa)isa);
            k_int8()->quantize[CC_ELEMENT_FP32](x, divisor, codes, VALUES);
            for (int i = 0; i < VALUES; i++) {
                const long q = lrintf(x[i] / divisor);
                assert_int_equal((int8_t)codes[i], q > 127 ? 127 : q < -127 ? -127 : q);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(middles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
