/* The formulas of exchanges of index-value pairs, against message-by-message schedules of random
 * and extreme index sets (tests/lib/schedule.h), which know no formula, for 2 to 17 workers; the
 * forms on the wire; SparCML's bounds; the sizes of unions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/random.h"
#include "models/exchange.h"
#include "tests/lib/number.h"
#include "tests/lib/schedule.h"

enum { MOST = 17, HEAD = 32 /* bytes of a message before its pairs */ };

static const struct cc_link link = {
    .bw_bps = 1e9, .latency_s = 30e-6, .overhead = 0.05, .message_bytes = 40};

/* For each index the workers that have it, a bit each. */
struct sets {
    size_t n;
    int chunks, workers;
    uint32_t *who;
    double dense_bytes; /* bytes of a complete chunk, if above 0: the dense second stage */
};

static double set_bytes(const void *arg, int chunk, uint32_t who)
{
    const struct sets *s = arg;
    size_t size = s->n / (size_t)s->chunks, first = (size_t)chunk * size, pairs = 0;
    if (s->dense_bytes > 0 && who == (uint32_t)((UINT64_C(1) << s->workers) - 1))
        return s->dense_bytes;
    for (size_t i = first; i < first + size; i++)
        pairs += (s->who[i] & who) != 0;
    return fmin(8 * (double)pairs, 4 * (double)size);
}

enum kind { SAME, DISJOINT, RANDOM };

/* k = n / period indices for each worker. */
static void make_sets(enum kind kind, int workers, size_t n, int period, uint64_t seed,
                      struct sets *out)
{
    *out = (struct sets){.n = n, .workers = workers, .who = calloc(n, sizeof *out->who)};
    uint32_t *pick = calloc(n, sizeof *pick);
    for (int w = 0; w < workers; w++) {
        struct cc_random_id id = {.seed = seed, .rank = w};
        struct cc_key key = cc_key(&id, 0);
        for (uint32_t i = 0; i < n; i++)
            pick[i] = i;
        for (uint32_t i = 0; i < n / (size_t)period; i++) {
            uint32_t at = kind == SAME       ? i * (uint32_t)period
                          : kind == DISJOINT ? i * (uint32_t)period + (uint32_t)w
                                             : i + cc_random(key, i) % (uint32_t)(n - i);
            out->who[pick[at]] |= 1u << w;
            if (kind == RANDOM)
                pick[at] = pick[i];
        }
    }
    free(pick);
}

static double simulated(const struct schedule *s, int p, struct sets *sets, double reduce,
                        struct schedule_result *r)
{
    struct schedule_costs costs = {.alpha = link.latency_s,
                                   .byte_s = cc_link_byte_s(&link),
                                   .framing = link.message_bytes + HEAD,
                                   .bytes = set_bytes,
                                   .arg = sets,
                                   .merge_byte_s = reduce};
    sets->chunks = s->chunks;
    schedule_run(s, p, &costs, r);
    return r->time;
}

static double formula(enum cc_exchange x, enum cc_union overlap, int p, const struct sets *sets,
                      int period, double reduce, struct cc_cost *c)
{
    struct cc_cluster cluster = {.workers = p,
                                 .servers = 1,
                                 .overlap = overlap,
                                 .merge_byte_s = reduce,
                                 .dense_bits = 32,
                                 .wire = CC_WIRE_PAIRS};
    struct cc_payload_cost m = {.values = (double)sets->n,
                                .pairs = (double)(sets->n / (size_t)period)};
    cc_exchange_cost(x, &m, CC_REDUCE_PAIRS, &cluster, &link, 1, 1, c);
    return cc_cost_comm(c);
}

static void write_sparse(enum cc_exchange x, int p, struct sets *sets, struct schedule *out)
{
    (x == CC_SSAR_RECDOUBLE      ? schedule_recdouble
     : x == CC_SSAR_RABENSEIFNER ? schedule_rabenseifner
                                 : schedule_split)(p, out);
    sets->dense_bytes = x == CC_DSAR_SPLIT ? 4 * (double)sets->n / p : 0;
}

/* Two workers with the same 50 of 1000 values; of their sum 2%, 20 pairs, are kept. Each sends half
 * of its pairs to the other, and then half of the sum. With a dense second stage of 4 bits, a scale
 * of 4 bytes for 512 values comes on top: 500 x (4 + 32 / 512) / 8 bytes. */
static void parts_kept_and_quantized(void **state)
{
    (void)state;
    const double byte_s = cc_link_byte_s(&link);
    const double fixed = 2 * (link.latency_s + (HEAD + link.message_bytes) * byte_s);
    struct cc_cluster cluster = {.workers = 2,
                                 .servers = 1,
                                 .overlap = CC_UNION_SAME,
                                 .keep = 0.02,
                                 .dense_bits = 4,
                                 .wire = CC_WIRE_PAIRS};
    const struct cc_payload_cost m = {.values = 1000, .pairs = 50};
    struct cc_cost c;
    cc_exchange_cost(CC_SSAR_SPLIT, &m, CC_REDUCE_PAIRS, &cluster, &link, 1, 1, &c);
    close_to(cc_cost_comm(&c), fixed + 8 * (25 + 10) * byte_s, 1e-12, "--keep");
    cc_exchange_cost(CC_DSAR_SPLIT, &m, CC_REDUCE_PAIRS, &cluster, &link, 1, 1, &c);
    close_to(cc_cost_comm(&c), fixed + (8 * 25 + 500 * 4.0625 / 8) * byte_s, 1e-12, "scales");
}

/* Equal sets and disjoint ones, also so dense that the streams switch to dense. Exact except for
 * recursive doubling beyond powers of two: the formula counts every round's largest stream,
 * although the host that holds it receives a smaller one. */
static void sparse_bounds(void **state)
{
    (void)state;
    static const enum cc_union overlaps[] = {
        [SAME] = CC_UNION_SAME, [DISJOINT] = CC_UNION_DISJOINT};
    for (int p = 2; p <= MOST; p++)
        for (enum kind kind = SAME; kind <= DISJOINT; kind++)
            for (int period = p; period <= 3 * p; period += 2 * p)
                for (enum cc_exchange x = CC_SSAR_RECDOUBLE; x <= CC_DSAR_SPLIT; x++) {
                    struct sets sets;
                    struct schedule s;
                    struct schedule_result r;
                    struct cc_cost c;
                    make_sets(kind, p, (size_t)(p * period * 8), period, 0, &sets);
                    write_sparse(x, p, &sets, &s);
                    double time = simulated(&s, p, &sets, 3e-10, &r);
                    double is = formula(x, overlaps[kind], p, &sets, period, 3e-10, &c);
                    bool even = x != CC_SSAR_RECDOUBLE || kind == SAME || (p & (p - 1)) == 0;
                    assert_true(is >= time * (1 - 1e-9) && is - c.reduce_s <= time);
                    if (even)
                        close_to_at(is, time, 1e-9, cc_exchange_names[x], p);
                    close_to_at(formula(x, overlaps[kind], p, &sets, period, 0, &c),
                                simulated(&s, p, &sets, 0, &r), 1e-9, cc_exchange_names[x], p);
                    close_to_at(c.wire_bytes, r.most_sent * 1.05, 1e-9, "bytes", p);
                    assert_int_equal((size_t)(c.messages + 0.5), r.most_messages);
                    schedule_free(&s);
                    free(sets.who);
                }
}

/* Random index sets: the expected union comes close. The difference that is left comes from the
 * spread of the sets: the largest of several messages counts, which makes the simulation slower. */
static void sparse_expected(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST; p++)
        for (enum cc_exchange x = CC_SSAR_RECDOUBLE; x <= CC_DSAR_SPLIT; x++) {
            struct sets sets;
            struct schedule s;
            struct schedule_result r;
            struct cc_cost c;
            enum { PERIOD = 20 };
            make_sets(RANDOM, p, (size_t)p * 4000, PERIOD, 7, &sets);
            write_sparse(x, p, &sets, &s);
            double time = simulated(&s, p, &sets, 3e-10, &r);
            double is = formula(x, CC_UNION_EXPECTED, p, &sets, PERIOD, 3e-10, &c);
            if (is > time * 1.01 || is < time * 0.9)
                fail_msg("%s, %d workers: %g expected, %g with random sets", cc_exchange_names[x],
                         p, is, time);
            assert_true(formula(x, CC_UNION_SAME, p, &sets, PERIOD, 3e-10, &c) <= is);
            assert_true(formula(x, CC_UNION_DISJOINT, p, &sets, PERIOD, 3e-10, &c) >= is);
            schedule_free(&s);
            free(sets.who);
        }
}

/* The shortest form on the wire: bytes of two workers that exchange all they have, worked out by
 * hand. Floats are streams without a shorter form. */
static void wire_forms(void **state)
{
    (void)state;
    const struct cc_link plain = {.bw_bps = 1e9};
    static const struct {
        double pairs, bytes, as_pairs;
    } cases[] = {{1, 8, 8},                               /* pairs */
                 {10000, 6 * 10000 + 64, 80000},          /* 16-bit indices */
                 {100000, 4 * 100000 + 131072, 800000},   /* a bitmap */
                 {1040000, 4 * 1048576.0, 4 * 1048576.0}, /* all values */
                 {600000, 4 * 600000 + 131072, 4 * 1048576.0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int wire = CC_WIRE_AUTO; wire <= CC_WIRE_PAIRS; wire++) {
            const struct cc_payload_cost m = {.values = 1048576, .pairs = cases[i].pairs};
            const struct cc_cluster cluster = {
                .workers = 2, .overlap = CC_UNION_SAME, .wire = (enum cc_wire)wire};
            struct cc_cost c;
            cc_exchange_cost(CC_SSAR_RECDOUBLE, &m, CC_REDUCE_PAIRS, &cluster, &plain, 1, 1, &c);
            close_to_at(c.wire_bytes,
                        HEAD + (wire == CC_WIRE_PAIRS ? cases[i].as_pairs : cases[i].bytes), 1e-12,
                        "bytes on the wire", (int)i);
        }
}

/* SparCML's section 4, for powers of two: the bounds as printed, with beta_s of 8 bytes and beta_d
 * of 4. */
static void sparcml(void **state)
{
    (void)state;
    const struct cc_link plain = {.bw_bps = 1e9, .latency_s = 30e-6};
    const double a = 30e-6, bs = 64e-9, bd = 32e-9, k = 500, n = 1e6;
    const struct cc_payload_cost m = {.values = n, .pairs = k};
    for (int p = 4; p <= 16; p *= 2)
        for (enum cc_union u = CC_UNION_EXPECTED; u <= CC_UNION_DISJOINT; u++) {
            struct cc_cluster cluster = {.workers = p,
                                         .servers = 1,
                                         .overlap = u,
                                         .dense_bits = 32,
                                         .wire = CC_WIRE_PAIRS,
                                         .as_printed = true};
            struct cc_cost c;
            double lg = log2(p), l1 = lg * a, l2 = (p - 1) * a + l1, slack = 1e-12;
            cc_exchange_cost(CC_SSAR_RECDOUBLE, &m, CC_REDUCE_PAIRS, &cluster, &plain, 1, 1, &c);
            assert_true(cc_cost_comm(&c) >= (l1 + lg * k * bs) * (1 - slack));
            assert_true(cc_cost_comm(&c) <= (l1 + (p - 1) * k * bs) * (1 + slack));
            cc_exchange_cost(CC_SSAR_SPLIT, &m, CC_REDUCE_PAIRS, &cluster, &plain, 1, 1, &c);
            assert_true(cc_cost_comm(&c) >= (l2 + 2 * (p - 1.) / p * k * bs) * (1 - slack));
            assert_true(cc_cost_comm(&c) <= (l2 + p * k * bs) * (1 + slack));
            cc_exchange_cost(CC_DSAR_SPLIT, &m, CC_REDUCE_PAIRS, &cluster, &plain, 1, 1, &c);
            assert_true(cc_cost_comm(&c) >= (l2 + (p - 1.) / p * n * bd) * (1 - slack));
            assert_true(cc_cost_comm(&c) <= (l2 + k * bs + (p - 1.) / p * n * bd) * (1 + slack));
        }
}

/* The union of m sets by its definition as a sum over the number of sets drawn so far; and as
 * measured, of sets that meet more often, up to all values. */
static void unions(void **state)
{
    (void)state;
    const struct cc_unions measured = {.points = 2, .size = {10, 16}};
    const struct cc_cluster expected = {.overlap = CC_UNION_EXPECTED},
                            same = {.overlap = CC_UNION_SAME},
                            disjoint = {.overlap = CC_UNION_DISJOINT},
                            nothing = {.overlap = CC_UNION_MEASURED},
                            known = {.overlap = CC_UNION_MEASURED, .unions = &measured};
    double n = 1000, k = 37, u = 0;
    for (int m = 1; m <= 40; m++) {
        u += k * (1 - u / n);
        close_to_at(cc_union_size(&expected, n, k, m), u, 1e-12, "union", m);
        assert_true(cc_union_size(&same, n, k, m) == k);
        assert_true(cc_union_size(&disjoint, n, k, m) == fmin(n, m * k));
        assert_true(cc_union_size(&nothing, n, k, m) == cc_union_size(&expected, n, k, m));
    }
    close_to_at(cc_union_size(&known, n, k, 2), 1.6 * k, 1e-12, "measured union", 2);
    close_to_at(cc_union_size(&known, n, k, 4), (3.2 - 1.6 * 1.6 / 2.5) * k, 1e-12, "beyond", 4);
    assert_true(cc_union_size(&known, 50, k, 4) == 50);
    assert_true(cc_union_size(&expected, n, n, 3) == n);
    assert_true(cc_union_size(&expected, n, 0, 3) == 0);
    close_to_at(cc_union_size(&expected, 1e15, 1, 5), 5, 1e-12, "tiny density", 5);
}

static double comm(enum cc_exchange x, const struct cc_cluster *cluster, const struct cc_link *l,
                   double values, double pairs)
{
    const struct cc_payload_cost m = {.values = values, .pairs = pairs};
    struct cc_cost c;
    cc_exchange_cost(x, &m, CC_REDUCE_PAIRS, cluster, l, 1, 1, &c);
    return cc_cost_comm(&c);
}

/* Wherever ssar-auto changes its choice, and in between: no exchange is faster by its formula, and
 * the formula of ssar-auto is that of what it takes. Returns the exchanges that are taken, as bits.
 */
static unsigned check_choices(const struct cc_cluster *cluster, const struct cc_link *l,
                              double values)
{
    static const enum cc_exchange all[] = {CC_SSAR_RECDOUBLE, CC_SSAR_SPLIT, CC_SSAR_RABENSEIFNER,
                                           CC_DSAR_SPLIT};
    struct cc_exchange_choice choice[CC_EXCHANGE_CHOICES];
    const size_t count = cc_exchange_choices(cluster, l, CC_REDUCE_PAIRS, values, choice);
    unsigned taken = 0;
    double from = 0;
    assert_in_range(count, 1, CC_EXCHANGE_CHOICES);
    for (size_t i = 0; i < count; i++) {
        const double to = choice[i].pairs / cluster->workers;
        assert_true(to > from);
        taken |= 1u << choice[i].exchange;
        for (int k = 1; k < 4; k++) {
            const double pairs = from + (to - from) * k / 4;
            const double is = comm(CC_SSAR_AUTO, cluster, l, values, pairs);
            close_to_at(comm(choice[i].exchange, cluster, l, values, pairs), is, 1e-12,
                        cc_exchange_names[choice[i].exchange], cluster->workers);
            for (size_t x = 0; x < sizeof all / sizeof all[0]; x++)
                assert_true(is <= comm(all[x], cluster, l, values, pairs) * (1 + 1e-12));
        }
        from = to;
    }
    assert_true(choice[count - 1].pairs == values * cluster->workers);
    return taken;
}

/* Worked out by hand. Between 2 workers, doubling takes one alpha less than a split and no more
 * bytes, but merges twice as much, which tells where links are fast. Among 64, a split takes 2
 * alpha and the fewest bytes, except of the smallest sums over slow links, where the heads of its
 * 126 messages take longer than the 4 alpha. 4 bits instead of 32 are less than every form of a
 * dense sum. */
static void choices(void **state)
{
    (void)state;
    static const struct cc_link slow = {.bw_bps = 1e8, .latency_s = 50e-6},
                                fast = {.bw_bps = 1e11, .latency_s = 5e-6};
    struct cc_cluster c = {.servers = 1, .merge_byte_s = 3e-10, .dense_bits = 32};
    struct cc_exchange_choice one[CC_EXCHANGE_CHOICES];
    c.workers = 2;
    assert_true(check_choices(&c, &fast, 1e6) & 1u << CC_SSAR_SPLIT);
    assert_true(check_choices(&c, &slow, 1e6) & 1u << CC_SSAR_RECDOUBLE);
    assert_true(cc_exchange_choices(&c, &slow, CC_REDUCE_PAIRS, 1e6, one) > 0 &&
                one[0].exchange == CC_SSAR_RECDOUBLE && one[0].pairs > 0.1 * 2e6);
    for (c.workers = 3; c.workers <= 64; c.workers++) {
        (void)check_choices(&c, &slow, 1000);
        (void)check_choices(&c, &slow, 1e7);
        (void)check_choices(&c, &fast, 1e7);
    }
    c.workers = 64;
    assert_false(check_choices(&c, &fast, 1e6) & 1u << CC_SSAR_RECDOUBLE);
    assert_true(check_choices(&c, &slow, 1e6) & 1u << CC_SSAR_RECDOUBLE);
    assert_false(check_choices(&c, &slow, 1e6) & 1u << CC_DSAR_SPLIT);
    c.dense_bits = 4;
    assert_true(check_choices(&c, &slow, 1e6) & 1u << CC_DSAR_SPLIT);
    assert_int_equal(cc_exchange_choices(&c, &slow, CC_REDUCE_SUM, 1e6, one), 1);
    c.workers = 1;
    assert_int_equal(cc_exchange_choices(&c, &slow, CC_REDUCE_PAIRS, 1e6, one), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_kept_and_quantized),
        cmocka_unit_test(sparse_bounds),
        cmocka_unit_test(sparse_expected),
        cmocka_unit_test(wire_forms),
        cmocka_unit_test(sparcml),
        cmocka_unit_test(unions),
        cmocka_unit_test(choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
