/* The formulas of exchanges of floats and payloads against message-by-message schedules
 * (tests/lib/schedule.h), which know no formula, for 2 to 17 workers; and the table of exchanges.
 * test_exchange_sparse.c has those of index-value pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "models/exchange.h"
#include "tests/lib/number.h"
#include "tests/lib/schedule.h"
#include "tests/lib/text.h"

enum { MOST = 17 };

static const struct cc_link link = {
    .bw_bps = 1e9, .latency_s = 30e-6, .overhead = 0.05, .message_bytes = 40};

static double seconds(const struct cc_cost *c)
{
    return cc_cost_comm(c) + cc_cost_codec(c);
}

/* --- payloads of a fixed size --- */

struct even {
    double chunk_bytes;
};

static double even_bytes(const void *arg, int chunk, uint32_t who)
{
    (void)chunk;
    return who != 0 ? ((const struct even *)arg)->chunk_bytes : 0;
}

static const struct cc_payload_cost message = {.values = 4e5,
                                               .push_bytes = 1e5,
                                               .pull_bytes = 1e5,
                                               .push_encode_s = 3e-4,
                                               .push_decode_s = 1e-4,
                                               .push_add_s = 1.7e-4,
                                               .sum_more_s = 0.7e-4,
                                               .pull_encode_s = 3.7e-4,
                                               .pull_decode_s = 1e-4};

/* With `codec`, payloads are decoded, added and encoded at every hop. Otherwise they are summed
 * without decoding, and the formula's encoding before and decoding after the exchange are not part
 * of the schedule. */
static void compare(const char *what, enum cc_exchange x, const struct schedule *s, int workers,
                    bool codec, double share, double messages)
{
    struct cc_cluster cluster = {.workers = workers, .servers = 1, .reduce_byte_s = 2e-10};
    struct even even = {message.push_bytes / s->chunks};
    struct schedule_costs costs = {.alpha = link.latency_s,
                                   .byte_s = cc_link_byte_s(&link),
                                   .framing = link.message_bytes,
                                   .bytes = even_bytes,
                                   .arg = &even,
                                   .reduce_byte_s = codec ? 0 : cluster.reduce_byte_s};
    struct schedule_result r;
    struct cc_payload_cost sent = message;
    struct cc_cost c;
    if (workers == 1) /* whose gradient a server encodes again */
        sent.pull_encode_s = sent.push_encode_s;
    if (codec) {
        costs.encode_s = message.push_encode_s;
        costs.sum_more_s = message.sum_more_s;
        costs.add_s = message.push_add_s;
        costs.decode_s = message.push_decode_s;
    }
    schedule_run(s, workers, &costs, &r);
    cc_exchange_cost(x, &sent, codec ? CC_REDUCE_DECODED : CC_REDUCE_SUM, &cluster, &link, share,
                     messages, &c);
    double formula = codec ? seconds(&c) : cc_cost_comm(&c);
    close_to_at(formula, r.time, 1e-9, what, workers);
    close_to_at(c.wire_bytes, r.most_sent * 1.05, 1e-9, "bytes of the busiest host", workers);
    assert_int_equal((size_t)(c.messages + 0.5), r.most_messages);
    if (!codec) {
        close_to_at(c.encode_s, message.push_encode_s, 1e-12, "encoding before", workers);
        close_to_at(c.decode_s, message.push_decode_s, 1e-12, "decoding after", workers);
    }
}

static void dense(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum cc_exchange exchange;
        void (*write)(int p, struct schedule *out);
    } all[] = {{"ring", CC_RING, schedule_ring},
               {"recdouble", CC_RECDOUBLE, schedule_recdouble},
               {"rabenseifner", CC_RABENSEIFNER, schedule_rabenseifner},
               {"twoshot", CC_TWOSHOT, schedule_split}};
    for (int p = 2; p <= MOST; p++)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            struct schedule s;
            all[i].write(p, &s);
            compare(all[i].name, all[i].exchange, &s, p, false, 1, 1);
            compare(all[i].name, all[i].exchange, &s, p, true, 1, 1);
            schedule_free(&s);
        }
}

/* A worker encodes its part before an all-gather, and all parts but its own, once each, in a
 * reduce-scatter; an allreduce, floats and a worker alone count as a whole. */
static void shares(void **state)
{
    (void)state;
    static const enum cc_exchange halves[] = {CC_RING, CC_TWOSHOT, CC_HIERARCHICAL};
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        for (int p = 1; p < 9; p++) {
            struct cc_cluster c = {.workers = p, .servers = 1, .op = CC_ALL_GATHER};
            const double part = 1.0 / p;
            double is = cc_exchange_encoded_share(halves[i], CC_REDUCE_DECODED, &c);
            assert_true(fabs(is - part) < 1e-12);
            assert_true(cc_exchange_encoded_share(halves[i], CC_REDUCE_SUM, &c) == 1);
            c.op = CC_REDUCE_SCATTER;
            is = cc_exchange_encoded_share(halves[i], CC_REDUCE_DECODED, &c);
            assert_true(fabs(is - (p > 1 ? 1 - part : 1)) < 1e-12);
            c.op = CC_ALLREDUCE;
            assert_true(cc_exchange_encoded_share(halves[i], CC_REDUCE_DECODED, &c) == 1);
        }
}

/* Gradients that are summed as they are cost the network and the additions, and no codec; a raw
 * tensor beside floats that must be encoded is encoded with them, and a server decodes it. */
static void verbatim(void **state)
{
    (void)state;
    static const enum cc_exchange sums[] = {CC_RING, CC_RECDOUBLE, CC_RABENSEIFNER, CC_TWOSHOT,
                                            CC_MPI};
    const struct cc_cluster cluster = {.workers = 6, .servers = 1, .reduce_byte_s = 2e-10};
    struct cc_payload_cost all = message, some = message;
    struct cc_cost c, encoded;
    all.verbatim = all.values;
    some.verbatim = all.values / 2;
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        cc_exchange_cost(sums[i], &message, CC_REDUCE_SUM, &cluster, &link, 1, 1, &encoded);
        cc_exchange_cost(sums[i], &all, CC_REDUCE_SUM, &cluster, &link, 1, 1, &c);
        assert_true(cc_cost_codec(&c) == 0 && cc_cost_codec(&encoded) > 0);
        assert_true(cc_cost_comm(&c) == cc_cost_comm(&encoded) && c.reduce_s > 0);
        cc_exchange_cost(sums[i], &some, CC_REDUCE_SUM, &cluster, &link, 1, 1, &c);
        assert_memory_equal(&c, &encoded, sizeof c);
        if (sums[i] == CC_MPI)
            continue;
        cc_exchange_cost(sums[i], &message, CC_REDUCE_DECODED, &cluster, &link, 1, 1, &encoded);
        cc_exchange_cost(sums[i], &all, CC_REDUCE_DECODED, &cluster, &link, 1, 1, &c);
        /* Of other types than float32: what is done at a hop is adding. */
        assert_true(c.hop_codec_s == 0 && c.reduce_s == encoded.reduce_s + encoded.hop_codec_s);
        c.hop_codec_s = encoded.hop_codec_s;
        c.reduce_s = encoded.reduce_s;
        assert_memory_equal(&c, &encoded, sizeof c);
    }
    cc_exchange_cost(CC_PS, &message, CC_REDUCE_SUM, &cluster, &link, 1, 1, &encoded);
    cc_exchange_cost(CC_PS, &all, CC_REDUCE_SUM, &cluster, &link, 1, 1, &c);
    assert_memory_equal(&c, &encoded, sizeof c);
}

/* The formulas of docs/model.md and Pipe-SGD's equation 5, as they are printed. */
static void as_printed(void **state)
{
    (void)state;
    const struct cc_link plain = {.bw_bps = 1e9, .latency_s = 30e-6};
    double a = 30e-6, b = 8e-9, g = 2e-10, n = message.push_bytes;
    for (int p = 2; p <= MOST; p++) {
        struct cc_cluster cluster = {.workers = p, .servers = 1, .reduce_byte_s = g};
        struct cc_cost c;
        double lg = floor(log2(p) + 1e-9), q = pow(2, lg), r = p > q;
        cc_exchange_cost(CC_RING, &message, CC_REDUCE_SUM, &cluster, &plain, 1, 1, &c);
        close_to_at(cc_cost_comm(&c),
                    2 * (p - 1) * a + 2. * (p - 1) / p * n * b + (p - 1.) / p * n * g, 1e-12,
                    "ring", p);
        cc_exchange_cost(CC_RECDOUBLE, &message, CC_REDUCE_SUM, &cluster, &plain, 1, 1, &c);
        close_to_at(cc_cost_comm(&c), (lg + 2 * r) * (a + n * b) + (lg + r) * n * g, 1e-12,
                    "recdouble", p);
        cc_exchange_cost(CC_RABENSEIFNER, &message, CC_REDUCE_SUM, &cluster, &plain, 1, 1, &c);
        close_to_at(cc_cost_comm(&c),
                    2 * lg * a + 2 * (q - 1) / q * n * b + (q - 1) / q * n * g +
                        r * (2 * a + 2 * n * b + n * g),
                    1e-12, "rabenseifner", p);
        cc_exchange_cost(CC_PS, &message, CC_REDUCE_SUM, &cluster, &plain, 1, 1, &c);
        close_to_at(c.push_latency_s + c.push_transfer_s, a + p * n * b, 1e-12, "push", p);
        close_to_at(c.pull_latency_s + c.pull_transfer_s, a + p * n * b, 1e-12, "pull", p);
    }
}

/* Every worker sends its payload to all others and adds up all that it receives. */
static void allgather(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST; p++) {
        struct schedule s;
        struct schedule_result r;
        struct cc_cost c;
        struct cc_cluster cluster = {.workers = p, .servers = 1};
        struct even even = {message.push_bytes};
        struct schedule_costs costs = {.alpha = link.latency_s,
                                       .byte_s = cc_link_byte_s(&link),
                                       .framing = link.message_bytes,
                                       .bytes = even_bytes,
                                       .arg = &even,
                                       .encode_s = p * message.push_encode_s,
                                       .decode_s = p * message.push_add_s};
        schedule_bruck(p, &s);
        schedule_run(&s, p, &costs, &r);
        cc_exchange_cost(CC_ALLGATHER, &message, CC_REDUCE_DECODED, &cluster, &link, 1, 1, &c);
        close_to_at(seconds(&c), r.time, 1e-9, "allgather", p);
        close_to_at(c.wire_bytes, r.most_sent * 1.05, 1e-9, "bytes", p);
        assert_int_equal((size_t)(c.messages + 0.5), r.most_messages);
        struct cc_cost via;
        cluster.via = CC_VIA_ALLGATHER;
        cc_exchange_cost(CC_RING, &message, CC_REDUCE_DECODED, &cluster, &link, 1, 1, &via);
        assert_memory_equal(&via, &c, sizeof c);
        cluster.via = CC_VIA_HOPS;
        cc_exchange_cost(CC_MPI, &message, CC_REDUCE_PAIRS, &cluster, &link, 1, 1, &via);
        assert_memory_equal(&via, &c, sizeof c);
        schedule_free(&s);
    }
}

/* Tensors cut evenly over one to eight servers; also more servers than workers. */
static void servers(void **state)
{
    (void)state;
    for (int p = 1; p <= MOST; p++)
        for (int m = 1; m <= 8; m++) {
            struct schedule s;
            schedule_servers(p, m, &s);
            compare("ps", CC_PS, &s, p, true, 1. / m, m);
            schedule_free(&s);
        }
}

/* Servers on workers' hosts: the busiest host sends its pushes and its server's pulls. */
static void colocated(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST; p++)
        for (int m = 1; m <= p && m <= 8; m++) {
            struct schedule s;
            struct schedule_result r;
            struct cc_cost c;
            const struct cc_cluster cluster = {.workers = p, .servers = m, .colocated = true};
            struct even even = {message.push_bytes / m};
            const struct schedule_costs costs = {.alpha = link.latency_s,
                                                 .byte_s = cc_link_byte_s(&link),
                                                 .framing = link.message_bytes,
                                                 .bytes = even_bytes,
                                                 .arg = &even};
            schedule_colocated(p, m, &s);
            schedule_run(&s, p, &costs, &r);
            cc_exchange_cost(CC_PS, &message, CC_REDUCE_DECODED, &cluster, &link, 1. / m, m, &c);
            close_to_at(cc_cost_comm(&c), r.time, 1e-9, "colocated", p);
            close_to_at(c.wire_bytes, r.most_sent * 1.05, 1e-9, "bytes of the busiest host", p);
            assert_int_equal((size_t)(c.messages + 0.5), r.most_messages);
            schedule_free(&s);
        }
}

struct loads {
    double bytes[8];
};

static double load_bytes(const void *arg, int chunk, uint32_t who)
{
    return who != 0 ? ((const struct loads *)arg)->bytes[chunk] : 0;
}

/* Servers with unequal loads: with at least as many workers as servers the busiest server's port
 * decides the time; otherwise that is a lower bound, as fair sharing is not the best order. */
static void unequal_servers(void **state)
{
    (void)state;
    struct loads loads = {{40000, 10000, 25000, 5000, 20000}};
    enum { SERVERS = 5 };
    const struct cc_link plain = {.bw_bps = 1e9, .latency_s = 30e-6};
    for (int p = 1; p <= MOST; p++) {
        struct schedule s;
        struct schedule_result r;
        struct cc_cost c;
        struct cc_cluster cluster = {.workers = p, .servers = SERVERS};
        struct schedule_costs costs = {
            .alpha = plain.latency_s, .byte_s = 8e-9, .bytes = load_bytes, .arg = &loads};
        schedule_servers(p, SERVERS, &s);
        schedule_run(&s, p, &costs, &r);
        cc_exchange_cost(CC_PS, &message, CC_REDUCE_SUM, &cluster, &plain, 0.4, SERVERS, &c);
        if (p >= SERVERS)
            close_to_at(cc_cost_comm(&c), r.time, 1e-9, "unequal servers", p);
        else
            assert_true(cc_cost_comm(&c) <= r.time * (1 + 1e-9));
        schedule_free(&s);
    }
}

/* The MPI library is as fast as the fastest of the three, and one worker needs no network. */
static void library_and_alone(void **state)
{
    (void)state;
    static const double sizes[] = {1e2, 1e4, 1e6, 1e8};
    for (int p = 1; p <= MOST; p++)
        for (size_t i = 0; i < 4; i++) {
            struct cc_payload_cost m = {.values = sizes[i] / 4, .push_bytes = sizes[i]};
            struct cc_cluster cluster = {.workers = p, .servers = 1};
            double best = INFINITY;
            struct cc_cost c;
            for (enum cc_exchange x = CC_RING; x <= CC_RABENSEIFNER; x++) {
                cc_exchange_cost(x, &m, CC_REDUCE_SUM, &cluster, &link, 1, 1, &c);
                best = fmin(best, cc_cost_comm(&c));
            }
            cc_exchange_cost(CC_MPI, &m, CC_REDUCE_SUM, &cluster, &link, 1, 1, &c);
            assert_true(cc_cost_comm(&c) == best);
            assert_true((p == 1) == (best == 0));
        }
}

/* --- token buckets --- */

/* When a port has sent `bursts` times `bytes`, with a pause before each burst. Time advances in
 * slices: the bucket gains rate x slice and holds at most `burst`. */
static double bucket_time(double burst, int bursts, double bytes, double pause, double rate)
{
    double slice = 1e-7, tokens = burst, now = 0;
    for (int i = 0; i < bursts; i++) {
        double left = bytes;
        for (double t = 0; t < pause; t += slice, now += slice)
            tokens = fmin(burst, tokens + rate * slice);
        for (;;) {
            double sent = fmin(left, tokens);
            left -= sent;
            tokens -= sent;
            if (left <= 0)
                break;
            tokens = fmin(burst, tokens + rate * slice);
            now += slice;
        }
    }
    return now;
}

/* Rounds of a ring, larger and smaller than the bucket and than its gain in a pause. */
static void buckets(void **state)
{
    (void)state;
    static const double bursts[] = {300, 5000, 15000, 40000, 200000};
    static const double latencies[] = {2e-6, 30e-6, 300e-6};
    for (size_t i = 0; i < sizeof bursts / sizeof bursts[0]; i++)
        for (size_t k = 0; k < sizeof latencies / sizeof latencies[0]; k++)
            for (int p = 2; p <= 8; p += 3) {
                struct cc_link shaped = {
                    .bw_bps = 1e9, .latency_s = latencies[k], .burst_bytes = bursts[i]};
                struct cc_cluster cluster = {.workers = p, .servers = 1};
                struct cc_cost c;
                cc_exchange_cost(CC_RING, &message, CC_REDUCE_SUM, &cluster, &shaped, 1, 1, &c);
                cc_cost_shaped(CC_RING, &c, &shaped, &c);
                double expected = bucket_time(bursts[i], 2 * (p - 1), message.push_bytes / p,
                                              latencies[k], 1e9 / 8);
                assert_true(fabs(cc_cost_comm(&c) - expected) < 40e-7);
            }
}

/* One worker sends 1e5 bytes, and the server's port passes 3e5 of three workers: 0.8 and 2.4 ms. A
 * bucket of 1e4 bytes saves 0.08 ms each way for every message, as the ports of one direction are
 * idle while those of the other are busy. */
static void buckets_of_servers(void **state)
{
    (void)state;
    struct cc_link shaped = {.bw_bps = 1e9, .burst_bytes = 1e4};
    struct cc_cluster cluster = {.workers = 3, .servers = 1};
    struct cc_cost c, once, twice;
    cc_exchange_cost(CC_PS, &message, CC_REDUCE_SUM, &cluster, &shaped, 1, 1, &c);
    cc_cost_shaped(CC_PS, &c, &shaped, &once);
    close_to_at(once.push_worker_s, 0.72e-3, 1e-12, "a worker's port", 3);
    close_to_at(once.push_transfer_s, 2.32e-3, 1e-12, "the server's port", 3);
    close_to_at(once.pull_transfer_s, 2.32e-3, 1e-12, "and back", 3);
    twice = c;
    cc_cost_add(&twice, &c, 1);
    cc_cost_shaped(CC_PS, &twice, &shaped, &twice);
    close_to_at(twice.push_transfer_s, 2 * 2.32e-3, 1e-12, "two messages", 3);
    close_to_at(cc_cost_port(CC_PS, &c), 2.4e-3, 1e-12, "the port", 3);
    /* The bucket holds the whole message. */
    shaped.burst_bytes = 4e5;
    cc_cost_shaped(CC_PS, &c, &shaped, &once);
    assert_true(once.push_transfer_s == 0 && once.pull_server_s == 0);
    /* Nothing is sent. */
    const struct cc_cost nothing = {.encode_s = 3};
    cc_cost_shaped(CC_RING, &nothing, &shaped, &once);
    assert_memory_equal(&once, &nothing, sizeof once);
}

/* Transfer of messages of these bytes that follow one another. */
static double transfer(const double *bytes, size_t count)
{
    double s = 0;
    for (size_t i = 0; i < count; i++)
        s += (bytes[i] + link.message_bytes) * cc_link_byte_s(&link);
    return s;
}

/* Partial sums over 1, 2, 4, ... workers have 100, 120, 160, 200 and 200 kB. */
static void partial_sums(void **state)
{
    (void)state;
    const double one = 1e5, two = 1.2e5, three = 1.2e5 + 4e4 * log2(1.5), four = 1.6e5;
    const double five = 1.6e5 + 4e4 * log2(1.25);
    const struct {
        enum cc_exchange exchange;
        int workers;
        double bytes[6];
        size_t count;
        double encoded;
    } cases[] = {
        {CC_RING,
         4,
         {one / 4, two / 4, three / 4, four / 4, four / 4, four / 4},
         6,
         (one + two + three + four) / 4},
        {CC_RECDOUBLE, 4, {one, two}, 2, one},
        {CC_RECDOUBLE, 5, {one, two, three, five}, 4, one},
        {CC_RABENSEIFNER,
         4,
         {one / 2, two / 4, four / 4, four / 2},
         4,
         one / 2 + two / 4 + four / 4},
        {CC_RABENSEIFNER, 5, {one, two / 2, three / 4, five * 3 / 8, five * 3 / 8, five}, 6, NAN},
    };
    struct cc_payload_cost m = message;
    m.more = (struct cc_sum_sizes){.hop = {0, 2e4, 6e4, 1e5, 1e5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cc_cluster cluster = {.workers = cases[i].workers, .servers = 1};
        const enum cc_exchange x = cases[i].exchange;
        struct cc_cost c;
        cc_exchange_cost(x, &m, CC_REDUCE_DECODED, &cluster, &link, 1, 1, &c);
        close_to_at(c.push_transfer_s, transfer(cases[i].bytes, cases[i].count), 1e-12,
                    cc_exchange_names[x], cluster.workers);
        if (isfinite(cases[i].encoded))
            close_to_at(cc_exchange_encoded_bytes(x, &m, CC_REDUCE_DECODED, &cluster),
                        cases[i].encoded, 1e-12, "encoded", cluster.workers);
        /* Floats are added, and a sum is as large as one gradient. */
        assert_true(cc_exchange_encoded_bytes(x, &m, CC_REDUCE_SUM, &cluster) == one);
    }
    /* Beyond 16 workers as of 16. */
    const struct cc_cluster many = {.workers = 64, .servers = 1};
    const double mean = (one + two + three + four + five) / 64;
    double rest = 0;
    for (int w = 6; w <= 64; w++)
        rest += (w < 8 ? 1.6e5 + 4e4 * log2(w / 4.0) : 2e5) / 64;
    close_to_at(cc_exchange_encoded_bytes(CC_RING, &m, CC_REDUCE_DECODED, &many), mean + rest,
                1e-12, "many", 64);
}

static void refusals(void **state)
{
    (void)state;
    struct cc_error e = {""};
    assert_int_equal(cc_exchange_check(CC_SSAR_SPLIT, CC_REDUCE_DECODED, "int8", &e), CC_USAGE);
    assert_contains(e.text, "int8 sends none");
    assert_int_equal(cc_exchange_check(CC_SSAR_SPLIT, CC_REDUCE_PAIRS, "dgc", &e), CC_OK);
    assert_int_equal(cc_exchange_check(CC_SSAR_SPLIT, CC_REDUCE_SUM, "fp32", &e), CC_OK);
    assert_int_equal(cc_exchange_check(CC_RING, CC_REDUCE_DECODED, "int8", &e), CC_OK);
}

/* Names, ids and help of the table fit together, whatever the order of its lines. */
static void table_is_consistent(void **state)
{
    (void)state;
    for (int x = 0; x < CC_EXCHANGE_COUNT; x++) {
        const struct cc_exchange_info *info = cc_exchange_info((enum cc_exchange)x);
        assert_string_equal(info->name, cc_exchange_names[x]);
        assert_int_equal(cc_exchange_find(info->name), x);
        assert_true(info->help[0] != '\0' && info->rounds(4) > 0);
        assert_non_null(strstr(CC_EXCHANGE_HELP, info->name));
        /* Payloads are reduced in one way. */
        assert_false(cc_exchange_has((enum cc_exchange)x, CC_X_GATHERS) &&
                     cc_exchange_has((enum cc_exchange)x, CC_X_SUMS));
    }
    assert_null(cc_exchange_names[CC_EXCHANGE_COUNT]);
    assert_int_equal(cc_exchange_find("star"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_consistent),
        cmocka_unit_test(buckets),
        cmocka_unit_test(buckets_of_servers),
        cmocka_unit_test(dense),
        cmocka_unit_test(shares),
        cmocka_unit_test(verbatim),
        cmocka_unit_test(as_printed),
        cmocka_unit_test(allgather),
        cmocka_unit_test(servers),
        cmocka_unit_test(colocated),
        cmocka_unit_test(unequal_servers),
        cmocka_unit_test(library_and_alone),
        cmocka_unit_test(partial_sums),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
