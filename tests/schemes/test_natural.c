/* natural's payload does not depend on where it begins, nor on how it is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdalign.h>
#include <string.h>

#include "core/cache.h"
#include "core/memory.h"
#include "tests/lib/data.h"
#include "tests/lib/kit.h"

enum { N = 9000, BYTES = N + N / 8, BEFORE = 64 };

static float values[N];

/* Exponents that begin on a line, 8 bytes beyond one and so on, and elsewhere; several blocks, of
 * which the last is not full. */
static void stored_anywhere(void **state)
{
    (void)state;
    alignas(CC_ALIGN) static uint8_t out[BEFORE + CC_ALIGN + BYTES + 1];
    for (size_t n = N - 9; n <= N; n++) {
        struct kit k = kit_open("natural", cc_shape_flat(n));
        cc_cache_force(SIZE_MAX);
        assert_int_equal(kit_encode(&k, values), CC_OK);
        for (size_t run = 0; run < 2 * CC_ALIGN; run++) {
            uint8_t *at = out + BEFORE + run / 2;
            size_t len;
            memset(out, 0xee, sizeof out);
            cc_cache_force(run % 2 == 0 ? 1 : SIZE_MAX);
            assert_int_equal(cc_encode(&k.codec, &k.ctx, values, at, k.bound, &len, &k.e), CC_OK);
            kit_expect(&k, at, len);
            assert_int_equal(at[-1], 0xee);
            assert_int_equal(at[len], 0xee);
        }
        kit_close(&k);
    }
    cc_cache_force(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stored_anywhere)};
    data_fill(DATA_LAPLACE, 1, values, N);
    return kit_run(tests);
}
