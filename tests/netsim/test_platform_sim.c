/* Platforms in SimGrid, with the settings of `commcomp sim --fidelity alpha-beta`: compares the
 * times that messages take, alone and beside others, with times worked out by hand.
 * tests/sim/route.c sends the messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "netsim/launch/argv.h"
#include "netsim/launch/platform_read.h"
#include "netsim/launch/smpirun.h"
#include "netsim/platform/platform.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

#define B    1e9          /* bits/s of a host's link */
#define L    50e-6        /* its latency */
#define N    1.25e6       /* bytes of a message, */
#define T    10e-3        /* the time they take on such a link */
#define ONE  (17 * 8 / B) /* a byte; SMPI puts 16 in front of each message */
#define WAN  1e8          /* between sites */
#define W    40e-3
#define MOST 16 /* flows */

/* A message of `bytes`, and the time when its last byte should arrive. */
struct flow {
    int from, to;
    double bytes, expected;
};

static const struct cc_platform_config usual = {.workers = 16,
                                                .bw_bps = B,
                                                .latency_s = L,
                                                .rack = 4,
                                                .oversubscription = 4,
                                                .sites = 2,
                                                .wan_bps = WAN,
                                                .wan_latency_s = W};

/* The path of a file in this test's directory. */
static const char *beside(const char *name)
{
    static char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 100);
    assert_true(n > 0);
    path[n] = '\0';
    (void)snprintf(strrchr(path, '/') + 1, 90, "%s", name);
    return path;
}

/* Skips the test, which ends it, where there is no SimGrid. */
static void need_simgrid(void)
{
    if (system("command -v smpirun >/dev/null") != 0 || access(beside("../sim/route"), R_OK) != 0) {
        print_message("skipped: there is no smpirun, or no smpicc\n");
        skip();
    }
}

static struct cc_platform make(const struct cc_platform_config *config)
{
    struct cc_platform p;
    struct cc_error e = {0};
    if (cc_platform_make(config, &p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

/* --- running flows --- */

static void write_hosts(void **state, const struct cc_platform *p)
{
    FILE *f = fopen(scratch_path(state, "hosts"), "w");
    assert_non_null(f);
    for (size_t i = 0; i < p->hosts; i++)
        (void)fprintf(f, "%s\n", p->host[i]);
    assert_int_equal(fclose(f), 0);
}

static void write_flows(void **state, const struct flow *flow, int flows)
{
    FILE *f = fopen(scratch_path(state, "flows"), "w");
    assert_non_null(f);
    for (int i = 0; i < flows; i++)
        (void)fprintf(f, "%d %d %.0f\n", flow[i].from, flow[i].to, flow[i].bytes);
    assert_int_equal(fclose(f), 0);
}

/* The command line for the shell, which the caller frees: smpirun as cc_smpirun starts it. */
static char *smpirun_line(void **state, const struct cc_platform *p)
{
    const struct cc_smpirun_config config = {
        .fidelity = CC_FIDELITY_ALPHA_BETA, .platform = p, .rank_program = beside("../sim/route")};
    struct cc_smpirun_paths paths = {.paje = ""};
    (void)snprintf(paths.platform, sizeof paths.platform, "%s", scratch_path(state, "p.xml"));
    (void)snprintf(paths.hosts, sizeof paths.hosts, "%s", scratch_path(state, "hosts"));
    struct cc_job job = {.exchange = CC_PS, .workers = (int)p->hosts};
    struct cc_error e = {0};
    char **argv, *text = NULL;
    size_t length;
    assert_int_equal(cc_smpirun_argv(&config, &paths, &job, &argv, &e), CC_OK);
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    (void)fputs("timeout -k 5 120", f);
    for (size_t i = 0; argv[i] != NULL; i++)
        (void)fprintf(f, " '%s'", argv[i]);
    (void)fprintf(f, " <'%s' 2>'%s'", scratch_path(state, "flows"), scratch_path(state, "err"));
    assert_int_equal(fclose(f), 0);
    cc_argv_free(argv);
    return text;
}

/* Runs flows that begin together. second[i] is the time when flow i has arrived. */
static void simulate(void **state, const struct cc_platform *p, const struct flow *flow, int flows,
                     double *second)
{
    (void)scratch_write(state, "p.xml", p->xml, strlen(p->xml));
    write_hosts(state, p);
    write_flows(state, flow, flows);
    for (int i = 0; i < flows; i++)
        second[i] = NAN;
    char *line = smpirun_line(state, p);
    FILE *f = popen(line, "r");
    free(line);
    assert_non_null(f);
    int i;
    double at;
    while (fscanf(f, "%d %lf", &i, &at) == 2) {
        assert_in_range(i, 0, flows - 1);
        second[i] = at;
    }
    if (pclose(f) != 0) {
        size_t size;
        char *output = scratch_read(scratch_path(state, "err"), &size);
        fail_msg("smpirun: %.*s", (int)size, output);
    }
}

/* Checks when flows that begin together arrive. */
static void expect(void **state, const struct cc_platform *p, const struct flow *flow, int flows)
{
    double second[MOST];
    assert_true(flows <= MOST);
    simulate(state, p, flow, flows, second);
    for (int i = 0; i < flows; i++)
        if (!(fabs(second[i] - flow[i].expected) <= 0.001 * flow[i].expected))
            fail_msg("%d to %d beside %d others: %.9f s, expected %.9f", flow[i].from, flow[i].to,
                     flows - 1, second[i], flow[i].expected);
}

#define EXPECT(p, ...)                                                                             \
    do {                                                                                           \
        const struct flow at_once[] = {__VA_ARGS__};                                               \
        expect(state, p, at_once, (int)(sizeof at_once / sizeof at_once[0]));                      \
    } while (0)

/* --- a switch --- */

static void test_switch(void **state)
{
    need_simgrid();
    struct cc_platform_config config = usual;
    config.slow_links = 1;
    config.slow_bps = B / 10;
    struct cc_platform p = make(&config);
    /* Both directions at once, and a message from a host to itself, which is not delayed: 1
     * GB/s. */
    EXPECT(&p, {0, 1, N, L + T}, {1, 0, N, L + T}, {0, 0, 1234567, 1.234567e-3}, {0, 0, 5e6, 5e-3},
           {2, 3, 1, L + ONE});
    /* Flows share the receiver's link, then the sender's. */
    EXPECT(&p, {0, 3, N, L + 3 * T}, {1, 3, N, L + 3 * T}, {2, 3, N, L + 3 * T});
    EXPECT(&p, {3, 0, N, L + 3 * T}, {3, 1, N, L + 3 * T}, {3, 2, N, L + 3 * T});
    /* To the last worker, whose link is slow, and from it. */
    EXPECT(&p, {0, 15, N, L + 10 * T}, {15, 1, N, L + 10 * T}, {2, 14, N, L + T});
    /* The slow link leaves nine tenths of the shared one to the other flow. */
    EXPECT(&p, {15, 2, N, L + 10 * T}, {1, 2, N, L + T / 0.9});
    cc_platform_free(&p);
}

/* --- racks --- */

static void test_racks(void **state)
{
    need_simgrid();
    struct cc_platform_config config = usual;
    config.topology = CC_TOPOLOGY_FAT_TREE;
    struct cc_platform p = make(&config); /* 0-3, 4-7, 8-11, 12-15; 1 Gbit/s upwards */
    EXPECT(&p, {0, 1, N, L + T}, {2, 2, 1e6, 1e-3});
    EXPECT(&p, {0, 4, N, 2 * L + T}, {4, 0, N, 2 * L + T});
    /* Four hosts of a rack share its uplink, and the hosts of other racks its downlink. */
    EXPECT(&p, {0, 4, N, 2 * L + 4 * T}, {1, 8, N, 2 * L + 4 * T}, {2, 6, N, 2 * L + 4 * T},
           {3, 15, N, 2 * L + 4 * T});
    EXPECT(&p, {4, 0, N, 2 * L + 4 * T}, {8, 1, N, 2 * L + 4 * T}, {6, 2, N, 2 * L + 4 * T},
           {15, 3, N, 2 * L + 4 * T});
    /* Traffic within the rack does not share them. */
    EXPECT(&p, {0, 4, N, 2 * L + 2 * T}, {1, 8, N, 2 * L + 2 * T}, {2, 3, N, L + T});
    /* A longer route gets no smaller share; the flow from the receiver's own rack begins L
     * earlier. */
    EXPECT(&p, {0, 1, N, 2 * T}, {4, 1, N, 2 * T + L});
    cc_platform_free(&p);

    config.oversubscription = 1; /* no limit: as with one switch, apart from latency */
    p = make(&config);
    EXPECT(&p, {0, 4, N, 2 * L + T}, {1, 8, N, 2 * L + T}, {2, 6, N, 2 * L + T},
           {3, 15, N, 2 * L + T});
    cc_platform_free(&p);
}

/* --- sites --- */

static void test_sites(void **state)
{
    need_simgrid();
    const double t = N * 8 / WAN;
    struct cc_platform_config config = usual;
    config.topology = CC_TOPOLOGY_SITES;
    config.servers = 2; /* 16 at site 0, 17 at site 1 */
    struct cc_platform p = make(&config);
    EXPECT(&p, {0, 7, N, L + T}, {8, 15, N, L + T}, {1, 16, N, L + T}, {9, 17, N, L + T});
    EXPECT(&p, {0, 8, N, L + W + t}, {9, 1, N, L + W + t}, {3, 3, 1e6, 1e-3});
    EXPECT(&p, {0, 8, N, L + W + 8 * t}, {1, 9, N, L + W + 8 * t}, {2, 10, N, L + W + 8 * t},
           {3, 11, N, L + W + 8 * t}, {4, 12, N, L + W + 8 * t}, {5, 13, N, L + W + 8 * t},
           {6, 14, N, L + W + 8 * t}, {7, 15, N, L + W + 8 * t});
    /* Four flows from the server's own site and three from the other one, 0.1 Gbit each. Those of
     * the other site share the WAN's 0.1 Gbit/s from the time when they begin; those of the own
     * site share the whole of the server's link until then, and 0.9 Gbit/s after it. */
    const double n = 12.5e6, near = L + W + (1e8 - W * B / 4) / (0.9 * B / 4), far = L + W + 3;
    EXPECT(&p, {0, 16, n, near}, {1, 16, n, near}, {2, 16, n, near}, {3, 16, n, near},
           {8, 16, n, far}, {9, 16, n, far}, {10, 16, n, far});
    cc_platform_free(&p);

    /* Three sites, with a link for each pair. */
    config.sites = 3;
    config.workers = 3;
    config.servers = 0;
    p = make(&config);
    EXPECT(&p, {0, 1, N, L + W + t}, {0, 2, N, L + W + t}, {1, 2, N, L + W + t},
           {2, 1, N, L + W + t}, {2, 0, N, L + W + t}, {1, 0, N, L + W + t});
    cc_platform_free(&p);
}

/* --- a torus --- */

static void test_torus(void **state)
{
    need_simgrid();
    struct cc_platform_config config = usual;
    config.topology = CC_TOPOLOGY_TORUS;
    config.torus[0] = config.torus[1] = 4; /* rank = x + 4 y */
    struct cc_platform p = make(&config);
    /* To the neighbours and from them, all at once; and a message from a host to itself. */
    EXPECT(&p, {0, 1, N, L + T}, {0, 3, N, L + T}, {0, 4, N, L + T}, {0, 12, N, L + T},
           {1, 0, N, L + T}, {3, 0, N, L + T}, {4, 0, N, L + T}, {12, 0, N, L + T},
           {0, 0, 1e6, 1e-3});
    EXPECT(&p, {0, 2, N, 2 * L + T});
    EXPECT(&p, {0, 10, N, 4 * L + T});
    EXPECT(&p, {15, 0, N, 2 * L + T}); /* across both borders */
    /* Routes follow x first: 0 to 5 passes 1, not 4. The flow that began later gets its half
     * too. */
    EXPECT(&p, {0, 5, N, 2 * T + L}, {0, 1, N, 2 * T});
    EXPECT(&p, {0, 5, N, 2 * L + T}, {0, 4, N, L + T});
    cc_platform_free(&p);

    config.workers = 26;
    config.servers = 1; /* the first of 3 x 3 x 3 places */
    config.torus[0] = config.torus[1] = config.torus[2] = 3;
    p = make(&config);
    EXPECT(&p, {26, 12, N, 3 * L + T}, {26, 1, N, L + T}); /* to 1,1,1 by x, y, z; to 2,0,0 */
    cc_platform_free(&p);

    /* In a side of length two, both neighbours are the same host. */
    config.workers = 4;
    config.servers = 0;
    config.torus[0] = config.torus[1] = 2;
    config.torus[2] = 0;
    p = make(&config);
    EXPECT(&p, {0, 1, N, L + T}, {1, 0, N, L + T}, {0, 2, N, L + T}, {2, 0, N, L + T});
    EXPECT(&p, {0, 3, N, 2 * L + T});
    cc_platform_free(&p);

    /* A row of hosts along any side; two hosts; one host. */
    for (int side = 0; side < 3; side++) {
        config.torus[0] = config.torus[1] = config.torus[2] = 1;
        config.torus[side] = 4;
        p = make(&config);
        EXPECT(&p, {0, 1, N, L + T}, {0, 3, N, L + T}, {2, 1, N, L + T});
        EXPECT(&p, {0, 2, N, 2 * L + T}, {0, 0, 1e6, 1e-3});
        cc_platform_free(&p);
    }
    config.torus[0] = config.torus[1] = config.torus[2] = 0;
    config.workers = config.servers = 1;
    p = make(&config);
    EXPECT(&p, {0, 1, N, L + T}, {1, 0, N, L + T}, {0, 0, 1e6, 1e-3});
    cc_platform_free(&p);
    config.servers = 0;
    p = make(&config);
    EXPECT(&p, {0, 0, 1e6, 1e-3});
    cc_platform_free(&p);
}

/* --- reading platforms --- */

static void test_read_again(void **state)
{
    need_simgrid();
    /* SimGrid itself leaks memory. */
    assert_int_equal(setenv("ASAN_OPTIONS", "detect_leaks=0", 1), 0);
    assert_int_equal(setenv("COMMCOMP_PLATFORM", beside("../../bin/commcomp-platform"), 1), 0);
    const struct flow flow[] = {{0, 1, N, 0},  {9, 10, N, 0},  {3, 16, N, 0},
                                {16, 3, N, 0}, {12, 16, N, 0}, {15, 2, N, 0}};
    for (int topology = 0; topology < CC_TOPOLOGY_COUNT; topology++) {
        struct cc_platform_config config = usual;
        struct cc_platform again;
        struct cc_error e = {0};
        double first[6], second[6];
        config.topology = (enum cc_topology)topology;
        config.servers = 1;
        if (!cc_topology_infos[config.topology]->equal_hosts) {
            config.slow_links = 3;
            config.slow_bps = B / 3;
        }
        struct cc_platform p = make(&config);
        const char *path = scratch_write(state, "my own.xml", p.xml, strlen(p.xml));
        if (cc_platform_read(path, 16, 1, &again, &e) != CC_OK)
            fail_msg("%s", e.text);
        assert_string_equal(again.xml, p.xml);
        assert_int_equal(again.hosts, p.hosts);
        for (size_t i = 0; i < p.hosts; i++)
            assert_string_equal(again.host[i], p.host[i]);
        simulate(state, &p, flow, 6, first);
        simulate(state, &again, flow, 6, second);
        for (int i = 0; i < 6; i++)
            assert_true(fabs(first[i] - second[i]) < 1e-9);
        cc_platform_free(&p);
        cc_platform_free(&again);
    }
}

static const char *const own =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "  <zone id=\"all\" routing=\"Full\">\n"
    "    <host id=\"n10\" speed=\"1Gf\"/><host id=\"n9\" speed=\"500Mf\"/>\n"
    "    <link id=\"cable\" bandwidth=\"100Mbps\" latency=\"1ms\"/>\n"
    "    <route src=\"n9\" dst=\"n10\"><link_ctn id=\"cable\"/></route>\n"
    "  </zone>\n"
    "</platform>\n";

static void test_own(void **state)
{
    need_simgrid();
    assert_int_equal(setenv("ASAN_OPTIONS", "detect_leaks=0", 1), 0);
    assert_int_equal(setenv("COMMCOMP_PLATFORM", beside("../../bin/commcomp-platform"), 1), 0);
    struct cc_platform p;
    struct cc_error e = {0};
    const char *path = scratch_write(state, "own.xml", own, strlen(own));
    assert_int_equal(cc_platform_read(path, 1, 1, &p, &e), CC_OK);
    assert_string_equal(p.host[0], "n9");
    assert_string_equal(p.host[1], "n10");
    EXPECT(&p, {0, 1, N, 1e-3 + 8 * N / 1e8});
    cc_platform_free(&p);

    assert_int_equal(cc_platform_read(path, 2, 1, &p, &e), CC_FAIL);
    assert_contains(e.text, "own.xml has 2 hosts, and 2 workers and 1 server need 3");
    char *bad = strdup(own);
    memcpy(strstr(bad, "1ms"), "1mm", 3);
    path = scratch_write(state, "bad.xml", bad, strlen(bad));
    free(bad);
    assert_int_equal(cc_platform_read(path, 1, 1, &p, &e), CC_FAIL);
    assert_contains(e.text, "bad.xml: no platform that SimGrid can read: line 6: unknown unit: mm");
}

static const char *const cluster =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "  <cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"1Gbps\"\n"
    "           lat=\"25us\"%s/>\n"
    "</platform>\n";

/* Hosts without a loopback are refused: messages to themselves would use their own link. */
static void test_loopback(void **state)
{
    need_simgrid();
    assert_int_equal(setenv("ASAN_OPTIONS", "detect_leaks=0", 1), 0);
    assert_int_equal(setenv("COMMCOMP_PLATFORM", beside("../../bin/commcomp-platform"), 1), 0);
    struct cc_platform p;
    struct cc_error e = {0};
    char text[600];
    int length = snprintf(text, sizeof text, cluster, "");
    const char *path = scratch_write(state, "c.xml", text, (size_t)length);
    assert_int_equal(cc_platform_read(path, 2, 0, &p, &e), CC_FAIL);
    assert_contains(e.text, "c.xml: n0 has no loopback: its messages to itself go over "
                            "\"c_link_0_UP\"");
    length = snprintf(text, sizeof text, cluster, " loopback_bw=\"1GBps\" loopback_lat=\"0s\"");
    path = scratch_write(state, "c.xml", text, (size_t)length);
    assert_int_equal(cc_platform_read(path, 2, 0, &p, &e), CC_OK);
    EXPECT(&p, {0, 1, N, L + T}, {0, 0, 1e6, 1e-3});
    cc_platform_free(&p);
}

/* SimGrid reports the speed of slow hosts. */
static void test_slow_hosts(void **state)
{
    need_simgrid();
    struct cc_platform_config config = usual;
    char line[4500], output[2000];
    config.slow_hosts = 1;
    config.slow_factor = 4;
    struct cc_platform p = make(&config);
    const char *path = scratch_write(state, "slow.xml", p.xml, strlen(p.xml));
    (void)snprintf(line, sizeof line, "ASAN_OPTIONS=detect_leaks=0 '%s' %s",
                   beside("../../bin/commcomp-platform"), path);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = '\0';
    assert_int_equal(pclose(f), 0);
    assert_contains(output, "{\"name\": \"host-14\", \"speed\": 1000000000}");
    assert_contains(output, "{\"name\": \"host-15\", \"speed\": 250000000}");
    cc_platform_free(&p);
}

/* --- thousands of hosts --- */

static void test_large(void **state)
{
    need_simgrid();
    const double across[] = {[CC_TOPOLOGY_SWITCH] = L + ONE,
                             [CC_TOPOLOGY_FAT_TREE] = 2 * L + ONE,
                             [CC_TOPOLOGY_TORUS] = 24 * L + ONE,
                             [CC_TOPOLOGY_SITES] = L + W};
    for (size_t topology = 0; topology < sizeof across / sizeof across[0]; topology++) {
        struct cc_platform_config config = usual;
        config.topology = (enum cc_topology)topology;
        config.workers = 4096;
        config.servers = 16;
        config.rack = 16; /* 257 racks */
        config.sites = 8;
        struct cc_platform p = make(&config);
        /* From the first host of the torus, 17 x 16 x 16, to 8, 8, 8. */
        const int to = topology == CC_TOPOLOGY_TORUS ? 8 + 17 * 8 + 272 * 8 - 9 : 4095;
        const double begin = cc_now();
        EXPECT(&p, {4096, to, 1, across[topology]});
        const double seconds = cc_now() - begin;
        struct rusage used;
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
        print_message("%s: 4,112 ranks in %.1f s; at most %ld MiB so far\n",
                      cc_topology_names[topology], seconds, used.ru_maxrss / 1024);
        assert_true(seconds < 60);
        cc_platform_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_switch, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_racks, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_sites, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_torus, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_read_again, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_own, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_loopback, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_slow_hosts, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_large, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
