/* NCCL's model: times added up by hand from its constants, and what must hold for any cluster; the
 * reader of nccl-tests' output (tests/cli/check.sh has published logs). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/nccl.h"
#include "models/nccl_log.h"

static const struct cc_nccl_cluster dgx = {
    .ranks = 8, .hosts = 1, .generation = CC_NCCL_AMPERE, .nvlink = true, .intra = 240e9};
static const struct cc_nccl_cluster two = {.ranks = 16,
                                           .hosts = 2,
                                           .generation = CC_NCCL_AMPERE,
                                           .nvlink = true,
                                           .intra = 240e9,
                                           .inter = 100e9};

static void expect(const struct cc_nccl_cluster *c, enum cc_operation op, enum cc_nccl_algorithm a,
                   enum cc_nccl_protocol p, double bytes, double us)
{
    struct cc_nccl_choice is;
    assert_true(cc_nccl_time(c, op, a, p, bytes, &is));
    const double time = 1e6 * (is.latency_s + is.transfer_s);
    if (fabs(time / us - 1) > 1e-9)
        fail_msg("%s, %s %s, %g bytes: %.12g us, not %.12g", cc_operation_names[op],
                 cc_nccl_algorithm_names[a], cc_nccl_protocol_names[p], bytes, time, us);
}

/* One host: 14 steps over NVLink; the bus has 240 GB/s, of which LL takes a quarter. Two hosts: 30
 * steps, 4 of them over the network; the bus has 100 GB/s, in 5 channels. */
static void by_hand(void **state)
{
    (void)state;
    const double mb = 1e6, gb = 1e9;
    expect(&dgx, CC_ALLREDUCE, CC_NCCL_RING, CC_NCCL_LL, 1000,
           6.6 + 14 * 0.6 + 1000 / (60e9 * 8 / 14) * 1e6);
    expect(&dgx, CC_ALLREDUCE, CC_NCCL_RING, CC_NCCL_SIMPLE, gb,
           8.4 + 14 * 3.4 + 1e6 * gb / (240e9 * 8 / 14));
    expect(&dgx, CC_ALL_GATHER, CC_NCCL_RING, CC_NCCL_LL, mb,
           6.6 + 7 * 0.6 + 1e6 * mb / (80e9 * 8 / 7));
    expect(&two, CC_ALL_GATHER, CC_NCCL_RING, CC_NCCL_LL, mb,
           6.6 + 14 * 1.0 + 2.7 + 1e6 * mb / (25e9 * 16 / 15));
    expect(&dgx, CC_ALL_GATHER, CC_NCCL_RING, CC_NCCL_LL128, mb,
           14 + 7 * 1.9 + 1e6 * mb / (0.92 * 240e9 * 8 / 7));
    /* 1 MB is 2^13 times 64 bytes and more: a tree has half of it. 2 x 7 hops. */
    expect(&dgx, CC_ALLREDUCE, CC_NCCL_TREE, CC_NCCL_SIMPLE, mb,
           2 * 7 * 28 + 1e6 * mb / (0.92 * 240e9 / 2 * 0.5));
    expect(&two, CC_ALLREDUCE, CC_NCCL_RING, CC_NCCL_LL, 100,
           6.6 + 26 * 1.0 + 4 * 2.7 + 1e6 * 100 / (25e9 * 16 / 30));
    expect(&two, CC_ALLREDUCE, CC_NCCL_RING, CC_NCCL_SIMPLE, gb,
           1.4 * (8.4 + 26 * 3.4 + 4 * 14) + 1e6 * gb / (100e9 * 16 / 30));
    expect(&two, CC_REDUCE_SCATTER, CC_NCCL_RING, CC_NCCL_SIMPLE, gb,
           8.4 + 14 * 3.4 + 1 * 14 + 1e6 * gb / (100e9 * 16 / 15));
    expect(&two, CC_ALLREDUCE, CC_NCCL_TREE, CC_NCCL_LL128, gb,
           14 + 2 * (7 * 1.25 + 8.5) + 1e6 * gb / (0.92 * 100e9 * 120 / 128 / 2));
}

static void large_links_are_full(void **state)
{
    (void)state;
    const double bytes = 64e9;
    for (int op = 0; op < CC_OPERATIONS; op++)
        for (size_t i = 0; i < 2; i++) {
            const struct cc_nccl_cluster *c = i == 0 ? &dgx : &two;
            const struct cc_nccl_choice is = cc_nccl_choose(c, (enum cc_operation)op, bytes);
            const double bus = cc_nccl_bus_factor((enum cc_operation)op, c->ranks) * bytes /
                               (is.latency_s + is.transfer_s);
            assert_true(is.algorithm == CC_NCCL_RING && is.protocol == CC_NCCL_SIMPLE);
            assert_true(bus < cc_nccl_link_rate(c) && bus > 0.99 * cc_nccl_link_rate(c));
        }
}

/* The choice is the least, and with size goes from LL to Simple. */
static void choices(void **state)
{
    (void)state;
    for (int gpus = 1; gpus <= 8; gpus *= 2)
        for (int hosts = 1; hosts <= 512; hosts *= 2) {
            struct cc_nccl_cluster c = two;
            c.ranks = gpus * hosts;
            c.hosts = hosts;
            if (c.ranks < 2)
                continue;
            double before = 0;
            for (double bytes = 8; bytes < 1e11; bytes *= 4) {
                struct cc_nccl_choice one, is = cc_nccl_choose(&c, CC_ALLREDUCE, bytes);
                const double time = is.latency_s + is.transfer_s;
                for (int a = 0; a < CC_NCCL_ALGORITHMS; a++)
                    for (int p = 0; p < CC_NCCL_PROTOCOLS; p++)
                        if (cc_nccl_time(&c, CC_ALLREDUCE, (enum cc_nccl_algorithm)a,
                                         (enum cc_nccl_protocol)p, bytes, &one))
                            assert_true(one.latency_s + one.transfer_s >= time);
                assert_true(time >= before);
                assert_true(bytes > 10 || is.protocol == CC_NCCL_LL);
                before = time;
            }
        }
    struct cc_nccl_choice none;
    struct cc_nccl_cluster pcie = dgx;
    pcie.nvlink = false;
    assert_false(cc_nccl_time(&pcie, CC_ALLREDUCE, CC_NCCL_RING, CC_NCCL_LL128, 1e6, &none));
    assert_false(cc_nccl_time(&dgx, CC_ALL_GATHER, CC_NCCL_TREE, CC_NCCL_LL, 1e6, &none));
    assert_false(cc_nccl_time(&dgx, CC_ALLREDUCE, CC_NCCL_NVLS, CC_NCCL_SIMPLE, 1e6, &none));
}

static void rows_of_all_versions(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "  64 16 float sum 1.5 2.5 3.5 1e-7 4.5 5.5 6.5 0\n",
        "  64 16 float sum -1 1.5 2.5 3.5 0 4.5 5.5 6.5 0\n",
        "[1,0]<stdout>:  64 16 float sum -1 1.5 2.5 3.5 N/A 4.5 5.5 6.5 N/A",
        "64 16 float sum -1 1.5 2.5 3.5 0 4.5 5.5 6.5 0 2026-01-01 10:00:00\r\n",
        "64 16 float sum -1 1.5 2.5 3.5 0 1 1 1 1 4.5 5.5 6.5 0 1 1 1 1\n",
        "{\"results\":[{\"size\":64,\"count\":16,\"type\":\"float\",\"redop\":\"sum\",\"root\":\"-"
        "1\","
        "\"out_of_place\":{\"time\":1.5,\"alg_bw\":2.5,\"bus_bw\":3.5,\"nwrong\":null},"
        "\"in_place\":{\"cpu_time\":4.5,\"alg_bw\":5.5,\"bus_bw\":6.5}}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct cc_nccl_log log;
        struct cc_error e = {""};
        if (cc_nccl_log_parse(texts[i], strlen(texts[i]), &log, &e) != CC_OK)
            fail_msg("%zu: %s", i, e.text);
        assert_int_equal(log.rows, 1);
        const struct cc_nccl_row *r = &log.row[0];
        assert_true(r->bytes == 64 && r->count == 16 && r->root == -1);
        assert_string_equal(r->type, "float");
        assert_true(fabs(r->out_of_place.time_s - 1.5e-6) < 1e-18);
        assert_true(r->out_of_place.algbw == 2.5e9 && r->out_of_place.busbw == 3.5e9);
        assert_true(fabs(r->in_place.time_s - 4.5e-6) < 1e-18 && r->in_place.busbw == 6.5e9);
        cc_nccl_log_free(&log);
    }
}

/* Ranks and operations from ratios alone. */
static void ratios(void **state)
{
    (void)state;
    static const struct {
        const char *redop;
        double ratio;
        enum cc_operation op;
        int ranks;
    } list[] = {{"sum", 1.75, CC_ALLREDUCE, 8},
                {"sum", 1.984375, CC_ALLREDUCE, 128},
                {"sum", 0.9375, CC_REDUCE_SCATTER, 16},
                {"none", 0.5, CC_ALL_GATHER, 2},
                {"sum", 1, CC_ALLREDUCE, 2}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char text[160];
        struct cc_nccl_log log;
        struct cc_error e = {""};
        enum cc_operation op;
        (void)snprintf(text, sizeof text, "1024 256 float %s -1 9 200 %.4f 0 9 200 %.4f 0\n",
                       list[i].redop, 200 * list[i].ratio, 200 * list[i].ratio);
        assert_int_equal(cc_nccl_log_parse(text, strlen(text), &log, &e), CC_OK);
        assert_int_equal(cc_nccl_log_op(&log, &op, &e), CC_OK);
        assert_int_equal(op, list[i].op);
        assert_int_equal(cc_nccl_log_ranks(&log, op), list[i].ranks);
        cc_nccl_log_free(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(large_links_are_full),
        cmocka_unit_test(choices), cmocka_unit_test(rows_of_all_versions),
        cmocka_unit_test(ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
