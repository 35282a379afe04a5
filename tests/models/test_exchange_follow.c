/* Messages in chunks that are followed from rank to rank, against SimGrid: `commcomp sim
 * --values 1M --chunks K`, 1 Gbit/s and 100 us between hosts, 10 Gbit/s and 10 us inside, without
 * headers; int8 encodes in 2 ms, decodes in 1 and adds in 4. And by hand, where nothing waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "models/exchange.h"
#include "tests/lib/number.h"

static const struct cc_payload_cost floats = {
    .values = 1e6, .verbatim = 1e6, .push_bytes = 4e6, .pull_bytes = 4e6, .inner_bytes = 4e6};
static const struct cc_payload_cost int8 = {.values = 1e6,
                                            .push_bytes = 1e6,
                                            .pull_bytes = 1e6,
                                            .inner_bytes = 1e6,
                                            .push_encode_s = 2e-3,
                                            .push_decode_s = 1e-3,
                                            .push_add_s = 4e-3,
                                            .inner_encode_s = 2e-3,
                                            .inner_add_s = 4e-3};

static double takes_ms(enum cc_exchange x, int workers, int per_host, int chunks, bool sums)
{
    const struct cc_link link = {.bw_bps = 1e9, .latency_s = 1e-4};
    const struct cc_cluster cluster = {.workers = workers,
                                       .servers = 1,
                                       .per_host = per_host,
                                       .chunks = chunks,
                                       .intra = {.bw_bps = 1e10, .latency_s = 1e-5}};
    struct cc_cost c;
    cc_exchange_cost(x, sums ? &floats : &int8, sums ? CC_REDUCE_SUM : CC_REDUCE_DECODED, &cluster,
                     &link, 1, 1, &c);
    return 1e3 * (cc_cost_comm(&c) + cc_cost_codec(&c) - cc_cost_beside(&c));
}

static void simulated(void **state)
{
    (void)state;
    const struct {
        enum cc_exchange x;
        int workers, per_host, chunks;
        double floats_ms, int8_ms;
    } is[] = {{CC_HIERARCHICAL, 4, 2, 1, 35.4205, 14.5156},
              {CC_HIERARCHICAL, 16, 4, 4, 49.7014, 13.7311},
              {CC_TREE, 8, 2, 8, 84.0048, 20.0302},
              {CC_RING, 4, 0, 4, 48.8777, 14.0851},
              {CC_TWOSHOT, 4, 0, 4, 48.5031, 15.7706}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        const double f = takes_ms(is[i].x, is[i].workers, is[i].per_host, is[i].chunks, true);
        const double c = takes_ms(is[i].x, is[i].workers, is[i].per_host, is[i].chunks, false);
        close_to(f, is[i].floats_ms, 1e-3, cc_exchange_names[is[i].x]);
        close_to(c, is[i].int8_ms, is[i].x == CC_TREE ? 0.06 : 0.01, cc_exchange_names[is[i].x]);
    }
}

/* Hierarchical over 2 hosts of 2, floats: halves inside take 1.6 ms, the quarters of both workers
 * share the port for 16, and so back. In 16 chunks the port is idle only for the first chunk's way
 * in, the last one's way out, and two latencies. */
static void hidden(void **state)
{
    (void)state;
    const double inside = 0.01 + 1.6, between = 0.1 + 16;
    close_to(takes_ms(CC_HIERARCHICAL, 4, 2, 1, true), 2 * inside + 2 * between, 1e-9, "one");
    const double many = takes_ms(CC_HIERARCHICAL, 4, 2, 16, true);
    assert_true(many > 32 + 2 * 0.1 && many < 32 + 2 * (0.1 + 0.01 + 1.6 / 16) + 0.7);
}

/* Of more chunks than are followed, the others continue a line. */
static void continued(void **state)
{
    (void)state;
    const double ms = takes_ms(CC_TREE, 256, 8, 64, true);
    assert_true(ms > 64 && ms < takes_ms(CC_TREE, 256, 8, 1, true));
}

/* As when each flow is counted by itself, not those together that share both ports; which of two
 * events that come at the same time is the first is another matter. */
static void together(void **state)
{
    (void)state;
    const struct {
        enum cc_exchange x;
        int workers, per_host, chunks;
        double floats_ms, int8_ms;
    } is[] = {{CC_TWOSHOT, 16, 4, 6, 192.7, 51.3448831882},
              {CC_TREE, 24, 4, 3, 147.379547619, 43.7568904321},
              {CC_HIERARCHICAL, 12, 3, 5, 49.4263888889, 13.2166666667}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        const double f = takes_ms(is[i].x, is[i].workers, is[i].per_host, is[i].chunks, true);
        const double c = takes_ms(is[i].x, is[i].workers, is[i].per_host, is[i].chunks, false);
        close_to(f, is[i].floats_ms, 1e-9, cc_exchange_names[is[i].x]);
        close_to(c, is[i].int8_ms, 1e-4, cc_exchange_names[is[i].x]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(simulated), cmocka_unit_test(hidden),
                                       cmocka_unit_test(continued), cmocka_unit_test(together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
