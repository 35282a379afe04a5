/* Codec work between the rounds of exchanges, followed by hand: three workers, a payload of 1 MB at
 * 1 Gbit/s (8 ms) without latency; encoding takes 1 ms, decoding 2, decoding onto a sum 3. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "models/exchange.h"
#include "tests/lib/number.h"

static struct cc_cost cost_of(enum cc_exchange x, int workers, int per_host)
{
    const struct cc_payload_cost m = {.values = 1e6,
                                      .push_bytes = 1e6,
                                      .pull_bytes = 1e6,
                                      .inner_bytes = 4e6,
                                      .push_encode_s = 1e-3,
                                      .push_decode_s = 2e-3,
                                      .push_add_s = 3e-3,
                                      .inner_add_s = 8e-3};
    const struct cc_cluster c = {
        .workers = workers, .per_host = per_host, .intra = {.bw_bps = 1e10}};
    const struct cc_link l = {.bw_bps = 1e9};
    struct cc_cost out;
    cc_exchange_cost(x, &m, CC_REDUCE_DECODED, &c, &l, 1, 1, &out);
    return out;
}

static double total_ms(enum cc_exchange x, int workers, int per_host)
{
    const struct cc_cost c = cost_of(x, workers, per_host);
    return 1e3 * (cc_cost_comm(&c) + cc_cost_codec(&c) - cc_cost_beside(&c));
}

/* Rank 0 sends at 1-9; rank 1 adds, encodes, and sends to 2 at 13-21. What rank 2 has sent to it
 * meanwhile, at 9-17, it adds until 22 (its own decoding, too), encodes, and sends the sum back at
 * 23-31, which rank 0 decodes. Rank 2 is done at 21 + 5 + 1 + 2. */
static void recdouble(void **state)
{
    (void)state;
    close_to(total_ms(CC_RECDOUBLE, 3, 1), 33, 1e-9, "recdouble");
}

/* Rank 1 encodes a half at 12-12.5, which rank 2 has at 16.5, and adds rank 2's at 13-14.5. It
 * encodes its half of the sum until 15 and sends it from 16.5 on, when rank 2 can take it. Rank 2
 * adds and encodes until 18.5; rank 1 has that half at 22.5, and rank 0 both at 30.5. */
static void rabenseifner(void **state)
{
    (void)state;
    close_to(total_ms(CC_RABENSEIFNER, 3, 1), 32.5, 1e-9, "rabenseifner");
}

/* All four ranks do the same: half, quarter, and back, 12 ms of sending; 3/4 E and A on the
 * way, E / 4, and D / 2 when the last half is there. */
static void in_step(void **state)
{
    (void)state;
    close_to(total_ms(CC_RABENSEIFNER, 4, 1), 12 + 0.75 + 2.25 + 0.25 + 1, 1e-9, "rabenseifner");
    close_to(total_ms(CC_RECDOUBLE, 4, 1), 2 * (8 + 1 + 2 + 3), 1e-9, "recdouble");
}

/* Payloads of 8/3 ms begin at 1/3 and 2/3: the first is there at 16/3, the second at 17/3, and both
 * are added at 22/3. Then E / 3, 16/3 ms of sending beside the own third of D, and the others. */
static void twoshot(void **state)
{
    (void)state;
    close_to(total_ms(CC_TWOSHOT, 3, 1), 22. / 3 + 1. / 3 + 16. / 3 + 4. / 3, 1e-9, "twoshot");
}

/* Four rounds of 8/3 ms; E, and 2/3 of A, between them; but for the last chunk, decoding is hidden.
 */
static void ring(void **state)
{
    (void)state;
    close_to(total_ms(CC_RING, 3, 1), 32. / 3 + 1 + 2 + 2. / 3, 1e-9, "ring");
}

/* Two hosts of two. Inside, 4 MB at 10 Gbit/s: a half takes 1.6 ms, and adding it 4. Between hosts
 * a quarter of 1 MB of each worker, 4 ms by the shared link, encoded in 1/4 and added in 3/4 ms;
 * then E / 4 and 4 ms, in which the own quarter is decoded. The other host's quarter is decoded, in
 * D / 4, while both go inside in 0.4 ms, and then the half that comes from there. */
static void hierarchical(void **state)
{
    (void)state;
    close_to(total_ms(CC_HIERARCHICAL, 4, 2),
             1.6 + 4 + 0.25 + 4 + 0.75 + 0.25 + 4 + 2. / 4 + 2. / 2, 1e-9, "hierarchical");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recdouble), cmocka_unit_test(rabenseifner),
                                       cmocka_unit_test(in_step),   cmocka_unit_test(twoshot),
                                       cmocka_unit_test(ring),      cmocka_unit_test(hierarchical)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
