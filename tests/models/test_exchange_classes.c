/* The formulas of exchanges on links of two classes against message-by-message schedules on ports
 * that share bandwidth (tests/lib/schedule.h, tests/lib/ports.h), which know no formula: hosts with
 * several accelerators, and sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/exchange.h"
#include "models/predict.h"
#include "tests/lib/number.h"
#include "tests/lib/schedule.h"

static const struct cc_link outer = {.bw_bps = 1e9, .latency_s = 30e-6, .overhead = 0.05};
static const struct cc_link inner = {.bw_bps = 40e9, .latency_s = 2e-6, .overhead = 0};
static const struct cc_payload_cost message = {
    .values = 4e5, .push_bytes = 1.6e6, .pull_bytes = 1.6e6};

static double bytes_of(const void *arg, int chunk, uint32_t who)
{
    (void)chunk;
    return who != 0 ? *(const double *)arg : 0;
}

struct named {
    const char *name;
    enum cc_exchange exchange;
    void (*write)(int p, struct schedule *out);
};
static const struct named all[] = {{"recdouble", CC_RECDOUBLE, schedule_recdouble},
                                   {"rabenseifner", CC_RABENSEIFNER, schedule_rabenseifner},
                                   {"allgather", CC_ALLGATHER, schedule_bruck},
                                   {"ring", CC_RING, schedule_ring},
                                   {"ssar-split", CC_SSAR_SPLIT, schedule_split},
                                   {"twoshot", CC_TWOSHOT, schedule_split}};

static int ranks; /* of a host */
static void three_shots(int p, struct schedule *out)
{
    schedule_hierarchical(p, ranks, out);
}
static const struct named hierarchical = {"hierarchical", CC_HIERARCHICAL, three_shots};

/* The schedule's time and the formula's. A schedule of a ring lets each message arrive before the
 * next leaves: without latencies, that makes no difference. */
static void compare(const struct named *x, const struct cc_cluster *c, const struct cc_link *link,
                    const struct cc_link *inside, struct ports_groups groups, double within)
{
    struct schedule s;
    struct schedule_result r;
    struct cc_link of = *link;
    struct cc_cluster cluster = *c;
    struct cc_cost cost;
    double inside_s = inside->latency_s;
    x->write(c->workers, &s);
    const double chunk = message.push_bytes / (s.gathers ? 1 : s.chunks);
    if (x->exchange == CC_RING) {
        of.latency_s = cluster.intra.latency_s = cluster.wan_latency_s = 0;
        inside_s = groups.alpha = 0;
    }
    const struct schedule_costs costs = {.alpha = inside_s,
                                         .byte_s = cc_link_byte_s(inside),
                                         .bytes = bytes_of,
                                         .arg = &chunk,
                                         .groups = &groups};
    schedule_run(&s, c->workers, &costs, &r);
    cc_exchange_cost(x->exchange, &message, CC_REDUCE_SUM, &cluster, &of, 1, 1, &cost);
    close_to_at(cc_cost_comm(&cost), r.time, within, x->name, c->workers);
    schedule_free(&s);
}

static void hosts(void **state)
{
    (void)state;
    static const int workers[] = {4, 8, 8, 16, 16, 16}, per_host[] = {2, 2, 4, 2, 4, 8};
    for (size_t k = 0; k < sizeof workers / sizeof workers[0]; k++)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            const struct cc_cluster c = {
                .workers = workers[k], .servers = 1, .per_host = per_host[k], .intra = inner};
            const struct ports_groups g = {
                .group = per_host[k], .alpha = outer.latency_s, .byte_s = cc_link_byte_s(&outer)};
            compare(&all[i], &c, &outer, &inner, g, 2e-3);
            ranks = per_host[k];
            compare(&hierarchical, &c, &outer, &inner, g, 2e-3);
        }
}

/* Hosts of which some have more members of a power of two than others. */
static void uneven_hosts(void **state)
{
    (void)state;
    const struct cc_cluster c = {.workers = 24, .servers = 1, .per_host = 4, .intra = inner};
    const struct ports_groups g = {
        .group = 4, .alpha = outer.latency_s, .byte_s = cc_link_byte_s(&outer)};
    compare(&all[0], &c, &outer, &inner, g, 1e-3);
    compare(&all[3], &c, &outer, &inner, g, 1e-3);
}

static void sites(void **state)
{
    (void)state;
    static const int workers[] = {8, 16, 16}, number[] = {2, 2, 4};
    for (size_t k = 0; k < sizeof workers / sizeof workers[0]; k++)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            const struct cc_cluster c = {.workers = workers[k],
                                         .servers = 1,
                                         .sites = number[k],
                                         .wan_bps = 1e8,
                                         .wan_latency_s = 5e-3};
            const struct ports_groups g = {.group = workers[k] / number[k],
                                           .alpha = outer.latency_s + c.wan_latency_s,
                                           .byte_s = cc_link_byte_s(&outer),
                                           .wan_byte_s = 8 * (1 + outer.overhead) / c.wan_bps};
            compare(&all[i], &c, &outer, &outer, g, 5e-3);
        }
}

/* By hand: 2 hosts of 4 push 1.6 MB each to a server. A host's port sends 6.4 MB, the server's gets
 * 12.8 MB; with links that send at a fifth of the rate, the host's is the slower one. */
static void servers(void **state)
{
    (void)state;
    const struct cc_cluster c = {.workers = 8, .servers = 1, .per_host = 4, .intra = inner};
    struct cc_link link = outer;
    struct cc_cost cost;
    const double second = 8 * 1.05 * 1.6e6 / 1e9;
    cc_exchange_cost(CC_PS, &message, CC_REDUCE_SUM, &c, &link, 1, 1, &cost);
    close_to(cost.push_worker_s, 4 * second, 1e-12, "a host's port");
    close_to(cost.push_transfer_s, 8 * second, 1e-12, "the server's port");
    cc_link_set_rates(&link, 2e8, 1e9);
    assert_string_equal(link.name, "200 Mbit/s up, 1 Gbit/s down");
    cc_exchange_cost(CC_PS, &message, CC_REDUCE_SUM, &c, &link, 1, 1, &cost);
    close_to(cost.push_transfer_s, 5 * 4 * second, 1e-12, "push: a host's port");
    close_to(cost.pull_transfer_s, 5 * 8 * second, 1e-12, "pull: the server's port");
    close_to(cost.wire_bytes, 8 * 1.6e6 * 1.05, 1e-12, "bytes of the server");
    cc_exchange_cost(CC_RING, &message, CC_REDUCE_SUM, &c, &link, 1, 1, &cost);
    close_to(cost.push_transfer_s, 5 * 14 * second / 8, 1e-12, "a ring: the slower direction");
}

/* One tour of a ring of 2 hosts of 4, by hand: seven chunks leave a host one after the other, the
 * last of which takes the latency, and comes from or goes to nobody inside. Those before it do not
 * wait for its latency, as they queue for the port. Two tours take it once, too. */
static void tours(void **state)
{
    (void)state;
    struct cc_cluster c = {.workers = 8, .servers = 1, .per_host = 4, .intra = inner};
    struct cc_cost half, both;
    const double chunk_s = 8 * 1.05 * 2e5 / 1e9;
    cc_exchange_cost(CC_RING, &message, CC_REDUCE_SUM, &c, &outer, 1, 1, &both);
    c.op = CC_ALL_GATHER;
    cc_exchange_cost(CC_RING, &message, CC_REDUCE_SUM, &c, &outer, 1, 1, &half);
    close_to(cc_cost_comm(&half), 7 * chunk_s + outer.latency_s, 1e-9, "one tour");
    close_to(cc_cost_comm(&both), 14 * chunk_s + outer.latency_s, 1e-9, "two tours");
    close_to(half.wire_bytes, 7 * 2e5 * 1.05, 1e-12, "bytes");
}

/* Bytes by class, by hand: in each round of a ring, 3 of 4 workers send inside their host and one
 * out of it; in recursive doubling, two rounds are inside. */
static void bytes(void **state)
{
    (void)state;
    const struct cc_cluster c = {.workers = 8, .servers = 1, .per_host = 4, .intra = inner};
    struct cc_cost cost;
    cc_exchange_cost(CC_RING, &message, CC_REDUCE_SUM, &c, &outer, 1, 1, &cost);
    close_to(cost.wire_bytes, 14 * 2e5 * 1.05, 1e-12, "ring, between hosts");
    close_to(cost.intra_bytes, 3 * 14 * 2e5, 1e-12, "ring, inside");
    cc_exchange_cost(CC_RECDOUBLE, &message, CC_REDUCE_SUM, &c, &outer, 1, 1, &cost);
    close_to(cost.wire_bytes, 4 * 1.6e6 * 1.05, 1e-12, "recdouble, between hosts");
    close_to(cost.intra_bytes, 2 * 4 * 1.6e6, 1e-12, "recdouble, inside");
    cc_exchange_cost(CC_SSAR_SPLIT, &message, CC_REDUCE_SUM, &c, &outer, 1, 1, &cost);
    close_to(cost.wire_bytes, 2 * 16 * 2e5 * 1.05, 1e-12, "split, between hosts");
    close_to(cost.intra_bytes, 2 * 12 * 2e5, 1e-12, "split, inside");
}

/* Two sites of two hosts of two, 4 MB. A message of 0.5 MB takes 0.4 ms inside, 4 on a host's port
 * and 8 between sites, which are 5.1 ms apart. The link between these is the busiest: a ring sends
 * 14 messages over it, twoshot 16 twice, hierarchical 8 after 2 MB inside, allgather one, two and
 * four of one, two and four payloads, and workers four to the server. Ports of
 * 200 Mbit/s take 20 ms for each of a ring's messages. */
static void three_classes(void **state)
{
    (void)state;
    static const struct cc_payload_cost floats = {
        .values = 1e6, .verbatim = 1e6, .push_bytes = 4e6, .pull_bytes = 4e6, .inner_bytes = 4e6};
    const struct {
        enum cc_exchange x;
        double bw_bps, ms;
    } is[] = {{CC_RING, 1e9, 14 * 8 + 5.1},
              {CC_TWOSHOT, 1e9, 2 * (16 * 8 + 5.1)},
              {CC_HIERARCHICAL, 1e9, 2 * (1.6 + 0.01 + 8 * 8 + 5.1)},
              {CC_ALLGATHER, 1e9, 64 + 256 + 1024 + 3 * 5.1},
              {CC_PS, 1e9, 2 * (4 * 64 + 5.1)},
              {CC_RING, 2e8, 14 * 20 + 5.1}};
    for (size_t i = 0; i < 2 * (sizeof is / sizeof *is); i++) {
        const struct cc_link link = {.bw_bps = is[i / 2].bw_bps, .latency_s = 1e-4};
        const struct cc_cluster c = {.workers = 8,
                                     .servers = 1,
                                     .per_host = 2,
                                     .intra = {.bw_bps = 1e10, .latency_s = 1e-5},
                                     .sites = 2,
                                     .wan_bps = 5e8,
                                     .wan_latency_s = 5e-3,
                                     .by_formula = i % 2 == 1};
        const enum cc_exchange x = is[i / 2].x;
        struct cc_cost cost;
        cc_exchange_cost(x, &floats, CC_REDUCE_SUM, &c, &link, 1, 1, &cost);
        close_to(1e3 * (cc_cost_comm(&cost) - cc_cost_beside(&cost)), is[i / 2].ms, 1e-9,
                 cc_exchange_names[x]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts),        cmocka_unit_test(uneven_hosts), cmocka_unit_test(sites),
        cmocka_unit_test(servers),      cmocka_unit_test(tours),        cmocka_unit_test(bytes),
        cmocka_unit_test(three_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
