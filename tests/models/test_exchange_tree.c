/* The double binary tree: who is whose parent, by properties of two-tree algorithms (Sanders, Speck
 * and Traeff 2009), and its formula by hand. tests/mpi compares what the ranks do with a reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/exchange_tree.h"
#include "models/exchange.h"
#include "tests/lib/number.h"

/* The worker's height: messages on the longest way up to it. */
static int height(int workers, int per_host, int tree, int rank)
{
    const struct cc_tree_place p = cc_tree_place(workers, per_host, tree, rank);
    int most = 0;
    for (int i = 0; i < p.children; i++) {
        const int below = 1 + height(workers, per_host, tree, p.child[i]);
        most = below > most ? below : most;
    }
    return most;
}

static int log2_up(int n)
{
    int log = 0;
    while (1 << log < n)
        log++;
    return log;
}

/* One root, children and parents agree, sums are of all below, no way is longer than lg n between
 * hosts. */
static void check_tree(int workers, int per_host, int tree)
{
    int root = -1;
    for (int r = 0; r < workers; r++) {
        const struct cc_tree_place p = cc_tree_place(workers, per_host, tree, r);
        int sum = 1;
        for (int i = 0; i < p.children; i++) {
            const struct cc_tree_place c = cc_tree_place(workers, per_host, tree, p.child[i]);
            assert_int_equal(c.parent, r);
            assert_int_equal(c.workers, p.child_workers[i]);
            sum += c.workers;
        }
        assert_int_equal(p.workers, sum);
        if (p.parent >= 0)
            continue;
        assert_int_equal(root, -1);
        assert_int_equal(p.workers, workers);
        root = r;
    }
    assert_true(root >= 0);
    assert_true(height(workers, per_host, tree, root) <=
                2 * (per_host - 1) + log2_up(workers / per_host));
}

static void trees(void **state)
{
    (void)state;
    for (int per_host = 1; per_host <= 4; per_host++)
        for (int hosts = 1; hosts <= 33; hosts++)
            for (int tree = 0; tree < 2; tree++)
                check_tree(per_host * hosts, per_host, tree);
}

/* Leaves of one tree are inner nodes of the other, so that nobody sends everything twice: but of an
 * odd number the first root, which has one child. */
static void leaves(void **state)
{
    (void)state;
    for (int p = 2; p <= 65; p++)
        for (int r = 0; r < p; r++) {
            const int a = cc_tree_place(p, 1, 0, r).children,
                      b = cc_tree_place(p, 1, 1, r).children;
            assert_true(a == 0 || b == 0 || (p % 2 == 1 && r == 0 && a == 1));
            assert_true(a <= 2 && b <= 2);
        }
}

static const struct cc_link link = {.bw_bps = 1e9, .latency_s = 1e-4};
static const struct cc_payload_cost floats = {
    .values = 1e6, .verbatim = 1e6, .push_bytes = 4e6, .pull_bytes = 4e6};

static struct cc_cost cost_of(const struct cc_payload_cost *m, enum cc_reduction r,
                              const struct cc_cluster *cluster)
{
    struct cc_cost c;
    cc_exchange_cost(CC_TREE, m, r, cluster, &link, 1, 1, &c);
    return c;
}

static double seconds(const struct cc_cost *c)
{
    return cc_cost_comm(c) + cc_cost_codec(c) - cc_cost_beside(c);
}

/* Half of 4 MB takes 16 ms. 4 workers: 0 is the parent of 2, and that of 1 and 3, whose messages
 * share its port, up as down. The second tree is the same from the other end: worker 2 is a leaf
 * there, and its message from above begins a latency after the one that it waits for before.
 * SimGrid takes 96.501 ms. */
static void four(void **state)
{
    (void)state;
    const struct cc_cluster cluster = {.workers = 4, .servers = 1};
    const struct cc_cost c = cost_of(&floats, CC_REDUCE_SUM, &cluster);
    close_to(seconds(&c), 5 * 1e-4 + 6 * 16e-3, 1e-9, "4 workers");
    close_to(c.wire_bytes, 8e6, 1e-12, "up, to two children, and up as a leaf");
    close_to(c.messages, 4, 1e-12, "messages");
}

/* Encoding takes 2 ms for all values, adding 4 and decoding 1: a leaf encodes half, its parent adds
 * two and encodes, the root adds and encodes, all decode. */
static void codecs(void **state)
{
    (void)state;
    struct cc_payload_cost m = {.values = 1e6,
                                .push_bytes = 1e6,
                                .pull_bytes = 1e6,
                                .push_encode_s = 2e-3,
                                .push_decode_s = 1e-3,
                                .push_add_s = 4e-3};
    const struct cc_cluster cluster = {.workers = 4, .servers = 1};
    const struct cc_cost c = cost_of(&m, CC_REDUCE_DECODED, &cluster);
    /* A payload is waited for when the one before it is there: each has a latency of its own.
     * SimGrid takes 32.494 ms. */
    close_to(seconds(&c), 32.494e-3, 1e-3, "codecs");
    /* Worker 2: leaf, two children, and both halves decoded. */
    close_to(cc_cost_codec(&c), 1e-3 + 2 * 2e-3 + 1e-3 + 1e-3, 1e-12, "work");
}

/* 2 workers send each other half up and half down: 32 ms each way, of which a quarter at a time: in
 * SimGrid 32.501 ms. */
static void chunks(void **state)
{
    (void)state;
    const struct cc_cluster cluster = {.workers = 2, .servers = 1, .chunks = 4};
    const struct cc_cost c = cost_of(&floats, CC_REDUCE_SUM, &cluster);
    close_to(seconds(&c), 32.501e-3, 1e-4, "chunks");
    close_to(c.wire_bytes, 4e6, 1e-12, "bytes");
}

/* int8 of 1 MB over 1 Gbit/s in 64 chunks, 0.1 ms a message: a port has 0.25 ms for each chunk. In
 * a hundredth of the time, the first message of a chunk takes longer, and the next one waits for
 * it. */
static void short_chunks(void **state)
{
    (void)state;
    const struct cc_cluster cluster = {.workers = 2, .servers = 1, .chunks = 64};
    const struct cc_payload_cost small = {
        .values = 1e4, .verbatim = 1e4, .push_bytes = 4e4, .pull_bytes = 4e4};
    const double part_s = 8 * 4e4 / 128 / 1e9;
    const struct cc_cost c = cost_of(&small, CC_REDUCE_SUM, &cluster);
    close_to(seconds(&c), 2 * (1e-4 + part_s) + 63 * (1e-4 + part_s), 0.03, "short chunks");
}

/* Exact in one chunk where ranks are followed; otherwise, and in chunks, formulas say by how much
 * they may be off. */
static void off(void **state)
{
    (void)state;
    const struct {
        struct cc_cluster c;
        enum cc_exchange x;
        double off;
    } is[] = {{{.workers = 8}, CC_TREE, 0.03},
              {{.workers = 8, .per_host = 4}, CC_TREE, 0.03},
              {{.workers = 8, .per_host = 2}, CC_TREE, 0.03},
              {{.workers = 6}, CC_TREE, 0.03},
              {{.workers = 8, .chunks = 4}, CC_TREE, 0.17},
              {{.workers = 4096, .per_host = 4, .chunks = 4}, CC_TREE, 0.25},
              {{.workers = 4095, .chunks = 4}, CC_TREE, 0.55},
              {{.workers = 8, .per_host = 2}, CC_HIERARCHICAL, 0.03},
              {{.workers = 8, .per_host = 2, .chunks = 4}, CC_HIERARCHICAL, 0.10},
              {{.workers = 8, .per_host = 2, .chunks = 4}, CC_RING, 0.16},
              {{.workers = 1, .chunks = 4}, CC_TREE, 0.03},
              {{.workers = 8, .per_host = 2, .sites = 2}, CC_TREE, 0.03},
              {{.workers = 8, .per_host = 2, .sites = 2, .chunks = 4}, CC_RING, 0.38}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        close_to(cc_exchange_off(is[i].x, CC_REDUCE_DECODED, &is[i].c, &link), is[i].off, 1e-12,
                 "off");
    close_to(cc_exchange_off(CC_RING, CC_REDUCE_SUM, &is[9].c, &link), 0.03, 1e-12, "floats");
}

/* 2 hosts of 3: two messages inside, one between, and back, which wait for those of the other tree:
 * in SimGrid 43.440 ms. */
static void hosts(void **state)
{
    (void)state;
    const struct cc_cluster cluster = {
        .workers = 6, .servers = 1, .per_host = 3, .intra = {.bw_bps = 1e10, .latency_s = 1e-5}};
    const struct cc_cost c = cost_of(&floats, CC_REDUCE_SUM, &cluster);
    close_to(seconds(&c), 43.440e-3, 1e-4, "2 hosts of 3");
    close_to(c.wire_bytes, 4e6, 1e-12, "bytes of a host");
    close_to(c.intra_bytes, 16e6, 1e-12, "inside: two up and two down of each half");
}

/* P = 4: two sums of one worker and one of three go up in each tree, and the whole one is of four:
 * 9 of 4. */
static void errors(void **state)
{
    (void)state;
    const struct cc_cluster four_workers = {.workers = 4}, eight = {.workers = 8};
    close_to(cc_exchange_encodings(CC_TREE, CC_REDUCE_DECODED, &four_workers), 9 / 4.0, 1e-12, "4");
    close_to(cc_exchange_encodings(CC_TREE, CC_REDUCE_DECODED, &eight), 3 + 1 / 8.0, 1e-12, "8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),  cmocka_unit_test(leaves), cmocka_unit_test(four),
        cmocka_unit_test(codecs), cmocka_unit_test(chunks), cmocka_unit_test(short_chunks),
        cmocka_unit_test(off),    cmocka_unit_test(hosts),  cmocka_unit_test(errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
