/* Generated platforms as text: the XML, read with an independent parser, and refused
 * configurations. test_platform_sim.c measures how long messages take on platforms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/platform/platform.h"
#include "tests/lib/text.h"
#include "tests/lib/xml.h"

/* The hosts of a zone, "host-0 host-3 ...". */
static const char *hosts_in(const char *xml, const char *zone)
{
    static char out[4096];
    bool inside = false;
    struct xml_tag t;
    out[0] = '\0';
    while (xml_next(&xml, &t)) {
        if (strcmp(t.name, "zone") == 0)
            inside = !t.end && strcmp(xml_value(&t, "id"), zone) == 0;
        else if (inside && strcmp(t.name, "host") == 0)
            (void)snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s",
                           out[0] != '\0' ? " " : "", xml_value(&t, "id"));
    }
    return out;
}

/* The configuration that the tests vary: ten workers and two servers. */
static struct cc_platform_config usual(enum cc_topology topology)
{
    return (struct cc_platform_config){.topology = topology,
                                       .workers = 10,
                                       .servers = 2,
                                       .bw_bps = 1e9,
                                       .latency_s = 50e-6,
                                       .rack = 4,
                                       .oversubscription = 4,
                                       .sites = 3,
                                       .wan_bps = 1e8,
                                       .wan_latency_s = 40e-3};
}

static struct cc_platform make(const struct cc_platform_config *config)
{
    struct cc_platform p;
    struct cc_error e = {0};
    if (cc_platform_make(config, &p, &e) != CC_OK)
        fail_msg("%s", e.text);
    xml_assert_nested(p.xml);
    /* Hosts are named after their ranks. */
    assert_int_equal(p.hosts, config->workers + config->servers);
    for (size_t i = 0; i < p.hosts; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "host-%zu", i);
        assert_string_equal(p.host[i], name);
    }
    return p;
}

static void assert_prop(const char *xml, const char *id, const char *is)
{
    const struct xml_tag t = xml_find(xml, "prop", "id", id);
    assert_string_equal(xml_value(&t, "value"), is);
}

static void assert_link(const char *xml, const char *id, const char *bandwidth, const char *latency)
{
    const struct xml_tag t = xml_find(xml, "link", "id", id);
    assert_string_equal(xml_value(&t, "bandwidth"), bandwidth);
    assert_string_equal(xml_value(&t, "latency"), latency);
    assert_string_equal(xml_value(&t, "sharing_policy"), "SPLITDUPLEX");
}

static void test_switch(void **state)
{
    (void)state;
    const struct cc_platform_config config = usual(CC_TOPOLOGY_SWITCH);
    struct cc_platform p = make(&config);
    assert_false(p.uneven_routes);
    assert_prop(p.xml, "schema", "commcomp-platform/1");
    assert_prop(p.xml, "topology", "switch");
    assert_prop(p.xml, "workers", "10");
    assert_prop(p.xml, "servers", "2");
    assert_prop(p.xml, "bw_bps", "1000000000");
    assert_prop(p.xml, "latency_s", "5e-05");
    assert_int_equal(xml_count(p.xml, "zone"), 1);
    assert_int_equal(xml_count(p.xml, "host"), 12);
    assert_int_equal(xml_count(p.xml, "link"),
                     24); /* for each host one to the switch and one loopback */
    assert_int_equal(xml_count(p.xml, "host_link"), 12);
    assert_int_equal(xml_count(p.xml, "route"), 12);
    for (int i = 0; i < 12; i++) {
        char host[32], link[32], loop[32];
        (void)snprintf(host, sizeof host, "host-%d", i);
        (void)snprintf(link, sizeof link, "link-%d", i);
        (void)snprintf(loop, sizeof loop, "loop-%d", i);
        const struct xml_tag h = xml_find(p.xml, "host", "id", host);
        assert_string_equal(xml_value(&h, "speed"), "1000000000f");
        assert_link(p.xml, link, "1000000000bps", "2.5e-05s");
        const struct xml_tag up = xml_find(p.xml, "host_link", "id", host);
        assert_memory_equal(xml_value(&up, "up"), link, strlen(link));
        assert_memory_equal(xml_value(&up, "down"), link, strlen(link));
        const struct xml_tag l = xml_find(p.xml, "link", "id", loop);
        assert_string_equal(xml_value(&l, "bandwidth"), "1e9Bps");
        assert_string_equal(xml_value(&l, "latency"), "0s");
        const struct xml_tag r = xml_find(p.xml, "route", "src", host);
        assert_string_equal(xml_value(&r, "dst"), host);
    }
    cc_platform_free(&p);
}

/* Every topology has a complete descriptor, and the XML has its options and no others. */
static void test_topologies(void **state)
{
    (void)state;
    for (int topology = 0; topology < CC_TOPOLOGY_COUNT; topology++) {
        struct cc_platform_config config = usual((enum cc_topology)topology);
        const struct cc_topology_info *info = cc_topology_infos[topology];
        assert_non_null(info->routing);
        assert_non_null(info->write);
        struct cc_platform p = make(&config);
        assert_prop(p.xml, "topology", cc_topology_names[topology]);
        const struct xml_tag network = xml_find(p.xml, "zone", "id", "network");
        assert_string_equal(xml_value(&network, "routing"), info->routing);
        assert_int_equal(p.uneven_routes, info->uneven_routes);
        int properties = topology == CC_TOPOLOGY_SITES ? 9 : 6; /* every topology has six */
        for (const struct cc_topology_option *o = cc_topology_options; o->name != NULL; o++) {
            if (o->topology == config.topology) {
                (void)xml_find(p.xml, "prop", "id", o->property);
                properties++;
            }
        }
        assert_int_equal(xml_count(p.xml, "prop"), properties);
        cc_platform_free(&p);
    }
}

/* Hosts of five workers: a zone each, whose workers share a port to the network, and two servers.
 */
static void test_hosts(void **state)
{
    (void)state;
    struct cc_platform_config config = usual(CC_TOPOLOGY_SWITCH);
    config.per_host = 5;
    config.intra_bps = 1e12;
    config.intra_latency_s = 2e-6;
    config.down_bps = 4e9;
    struct cc_platform p = make(&config);
    assert_prop(p.xml, "per_host", "5");
    assert_int_equal(xml_count(p.xml, "zone"), 1 + 4 + 1);
    assert_int_equal(xml_count(p.xml, "router"), 4 + 1);
    const struct xml_tag up = xml_find(p.xml, "link", "id", "link-1_UP");
    const struct xml_tag down = xml_find(p.xml, "link", "id", "link-1_DOWN");
    const struct xml_tag inner = xml_find(p.xml, "link", "id", "inner-7");
    assert_string_equal(xml_value(&up, "bandwidth"), "1000000000bps");
    assert_string_equal(xml_value(&up, "latency"), "2.5e-05s");
    assert_string_equal(xml_value(&down, "bandwidth"), "4000000000bps");
    assert_string_equal(xml_value(&inner, "bandwidth"), "1000000000000bps");
    assert_string_equal(xml_value(&inner, "latency"), "1e-06s");
    /* Routes: loopbacks, 5 x 4 inside each of two hosts, and two to each worker's and server's
     * gate. */
    assert_int_equal(xml_count(p.xml, "route"), 12 + 2 * 20 + 2 * 12);
    cc_platform_free(&p);
}

/* The last two workers are slow; the servers, whose ranks come after them, are not. */
static void test_slow(void **state)
{
    (void)state;
    struct cc_platform_config config = usual(CC_TOPOLOGY_SWITCH);
    config.slow_links = 2;
    config.slow_bps = 1e7;
    config.slow_hosts = 1;
    config.slow_factor = 4;
    for (int topology = 0; topology < CC_TOPOLOGY_COUNT; topology++) {
        config.topology = (enum cc_topology)topology;
        if (cc_topology_infos[config.topology]->equal_hosts)
            continue;
        struct cc_platform p = make(&config);
        assert_prop(p.xml, "slow_links", "2");
        assert_prop(p.xml, "slow_bps", "10000000");
        assert_prop(p.xml, "slow_hosts", "1");
        assert_prop(p.xml, "slow_factor", "4");
        assert_link(p.xml, "link-7", "1000000000bps", "2.5e-05s");
        assert_link(p.xml, "link-8", "10000000bps", "2.5e-05s");
        assert_link(p.xml, "link-9", "10000000bps", "2.5e-05s");
        assert_link(p.xml, "link-10", "1000000000bps", "2.5e-05s");
        const struct xml_tag before = xml_find(p.xml, "host", "id", "host-8");
        const struct xml_tag slow = xml_find(p.xml, "host", "id", "host-9");
        const struct xml_tag server = xml_find(p.xml, "host", "id", "host-10");
        assert_string_equal(xml_value(&before, "speed"), "1000000000f");
        assert_string_equal(xml_value(&slow, "speed"), "250000000f");
        assert_string_equal(xml_value(&server, "speed"), "1000000000f");
        cc_platform_free(&p);
    }
}

/* Twelve hosts in racks of four: the servers, ranks 10 and 11, have the first and the seventh host.
 */
static void test_racks(void **state)
{
    (void)state;
    struct cc_platform_config config = usual(CC_TOPOLOGY_FAT_TREE);
    struct cc_platform p = make(&config);
    assert_true(p.uneven_routes);
    assert_prop(p.xml, "rack", "4");
    assert_prop(p.xml, "oversubscription", "4");
    assert_string_equal(hosts_in(p.xml, "rack-0"), "host-10 host-0 host-1 host-2");
    assert_string_equal(hosts_in(p.xml, "rack-1"), "host-3 host-4 host-11 host-5");
    assert_string_equal(hosts_in(p.xml, "rack-2"), "host-6 host-7 host-8 host-9");
    assert_int_equal(xml_count(p.xml, "zone"), 5); /* the network, three racks, the top */
    assert_int_equal(xml_count(p.xml, "zoneRoute"), 3);
    assert_link(p.xml, "uplink-2", "1000000000bps", "2.5e-05s");
    cc_platform_free(&p);

    /* The last rack is not full, but has the same uplink as a full one. */
    config.workers = 11;
    config.rack = 5;
    config.oversubscription = 2.5;
    config.bw_bps = 1e8;
    p = make(&config); /* 13 hosts: servers are 0 and 6 */
    assert_string_equal(hosts_in(p.xml, "rack-0"), "host-11 host-0 host-1 host-2 host-3");
    assert_string_equal(hosts_in(p.xml, "rack-1"), "host-4 host-12 host-5 host-6 host-7");
    assert_string_equal(hosts_in(p.xml, "rack-2"), "host-8 host-9 host-10");
    assert_link(p.xml, "uplink-2", "200000000bps", "2.5e-05s");
    cc_platform_free(&p);
}

static void test_sites(void **state)
{
    (void)state;
    struct cc_platform_config config = usual(CC_TOPOLOGY_SITES);
    struct cc_platform p = make(&config);
    assert_true(p.uneven_routes);
    assert_prop(p.xml, "sites", "3");
    assert_prop(p.xml, "wan_bps", "100000000");
    assert_prop(p.xml, "wan_latency_s", "0.04");
    assert_string_equal(hosts_in(p.xml, "site-0"), "host-0 host-1 host-2 host-3 host-10");
    assert_string_equal(hosts_in(p.xml, "site-1"), "host-4 host-5 host-6 host-11");
    assert_string_equal(hosts_in(p.xml, "site-2"), "host-7 host-8 host-9");
    assert_int_equal(xml_count(p.xml, "zone"), 4);
    assert_int_equal(xml_count(p.xml, "zoneRoute"), 3); /* one for each pair */
    assert_link(p.xml, "wan-0-1", "100000000bps", "0.04s");
    assert_link(p.xml, "wan-0-2", "100000000bps", "0.04s");
    assert_link(p.xml, "wan-1-2", "100000000bps", "0.04s");
    cc_platform_free(&p);

    config.sites = 2;
    config.workers = 16;
    config.servers = 1;
    p = make(&config);
    assert_string_equal(hosts_in(p.xml, "site-0"),
                        "host-0 host-1 host-2 host-3 host-4 host-5 host-6 host-7 host-16");
    assert_string_equal(hosts_in(p.xml, "site-1"),
                        "host-8 host-9 host-10 host-11 host-12 host-13 host-14 host-15");
    cc_platform_free(&p);
}

static void assert_torus(const struct cc_platform_config *config, const char *dimensions,
                         const char *numbers)
{
    struct cc_platform p = make(config);
    const struct xml_tag t = xml_find(p.xml, "cluster", "id", "torus");
    assert_string_equal(xml_value(&t, "topology"), "TORUS");
    assert_string_equal(xml_value(&t, "topo_parameters"), dimensions);
    assert_string_equal(xml_value(&t, "radical"), numbers);
    assert_string_equal(xml_value(&t, "prefix"), "host-");
    assert_string_equal(xml_value(&t, "bw"), "1000000000bps");
    assert_string_equal(xml_value(&t, "lat"), "5e-05s");
    assert_string_equal(xml_value(&t, "loopback_bw"), "1e9Bps");
    assert_true(p.uneven_routes);
    cc_platform_free(&p);
}

static void test_torus(void **state)
{
    (void)state;
    struct cc_platform_config config = usual(CC_TOPOLOGY_TORUS);
    /* 12 hosts: 3 x 2 x 2; server 1 is in the middle. */
    assert_torus(&config, "3,2,2", "10,0,1,2,3,4,11,5,6,7,8,9");
    config.torus[0] = 4;
    config.torus[1] = 4; /* four of them unused */
    assert_torus(&config, "4,4", "10,0,1,2,3,4,11,5,6,7,8,9,12,13,14,15");
    /* SimGrid rejects sides of length one, so they are left out. */
    config.torus[2] = 1;
    assert_torus(&config, "4,4", "10,0,1,2,3,4,11,5,6,7,8,9,12,13,14,15");
    config.workers = 1;
    config.servers = 1;
    config.torus[0] = config.torus[1] = config.torus[2] = 0; /* as close to a cube as fits */
    assert_torus(&config, "2", "1,0");
    config.torus[0] = config.torus[2] = 1;
    config.torus[1] = 3;
    assert_torus(&config, "3", "1,0,2");
    config.servers = 0;
    config.torus[1] = 1;
    assert_torus(&config, "1", "0");
}

/* The default torus is close to a cube and has no unneeded layer. */
static void test_cubes(void **state)
{
    (void)state;
    for (int hosts = 1; hosts < 700; hosts++) {
        struct cc_platform_config config = usual(CC_TOPOLOGY_TORUS);
        int d[3];
        config.workers = hosts;
        config.servers = 0;
        struct cc_platform p;
        struct cc_error e = {0};
        assert_int_equal(cc_platform_make(&config, &p, &e), CC_OK);
        const struct xml_tag t = xml_find(p.xml, "prop", "id", "torus");
        assert_int_equal(sscanf(xml_value(&t, "value"), "%dx%dx%d", &d[0], &d[1], &d[2]), 3);
        assert_true(d[0] >= d[1] && d[1] >= d[2] && d[2] >= 1);
        assert_true(d[0] - d[2] <= 2);
        assert_true(d[0] * d[1] * d[2] >= hosts);
        assert_true(d[0] * d[1] * (d[2] - 1) < hosts);
        cc_platform_free(&p);
    }
}

/* Every rank has a host of its own for any numbers of them, and servers are spread evenly. */
static void test_places(void **state)
{
    (void)state;
    for (int draw = 0; draw < 400; draw++) {
        struct cc_platform_config config =
            usual(draw % 2 == 0 ? CC_TOPOLOGY_FAT_TREE : CC_TOPOLOGY_SITES);
        config.workers = 1 + draw * 7 % 61;
        config.servers = draw * 5 % 17;
        config.rack = 1 + draw * 3 % 11;
        if (config.workers == 1)
            config.workers = 62;
        if (config.rack >= config.workers + config.servers)
            config.rack = config.workers + config.servers - 1;
        config.sites = 2 + draw % ((config.workers < 9 ? config.workers : 9) - 1);
        struct cc_platform p = make(&config);
        const int all = config.workers + config.servers;
        assert_int_equal(xml_count(p.xml, "host"), all);
        const bool racks = config.topology == CC_TOPOLOGY_FAT_TREE;
        const int groups = racks ? (all + config.rack - 1) / config.rack : config.sites;
        int most = 0, fewest = all, total = 0;
        for (int i = 0; i < groups; i++) {
            char zone[32], *rest, *hosts;
            int servers = 0, workers = 0;
            (void)snprintf(zone, sizeof zone, racks ? "rack-%d" : "site-%d", i);
            hosts = rest = strdup(hosts_in(p.xml, zone));
            for (char *host; (host = strsep(&rest, " ")) != NULL && host[0] != '\0';)
                *(atoi(host + 5) < config.workers ? &workers : &servers) += 1;
            free(hosts);
            total += workers + servers;
            if (racks)
                assert_int_equal(workers + servers,
                                 i < groups - 1 ? config.rack : all - i * config.rack);
            else
                assert_true(workers - config.workers / groups <= 1 &&
                            workers >= config.workers / groups);
            if (!racks || i < groups - 1) {
                most = servers > most ? servers : most;
                fewest = servers < fewest ? servers : fewest;
            }
        }
        assert_int_equal(total, all);
        assert_true(most == 0 || most - fewest <= 1);
        cc_platform_free(&p);
    }
}

/* The usual configuration on a topology, with these changes, is refused with a message that
 * contains `part`. */
#define REFUSED(on, part, ...)                                                                     \
    do {                                                                                           \
        struct cc_platform_config config = usual(CC_TOPOLOGY_##on);                                \
        struct cc_platform p = {.hosts = 77};                                                      \
        struct cc_error e = {0};                                                                   \
        __VA_ARGS__;                                                                               \
        assert_int_equal(cc_platform_make(&config, &p, &e), CC_USAGE);                             \
        assert_contains(e.text, part);                                                             \
        assert_int_equal(p.hosts, 77);                                                             \
    } while (0)

static void test_refusals(void **state)
{
    (void)state;
    REFUSED(SWITCH, "--bw", config.bw_bps = 0);
    REFUSED(SWITCH, "--latency", config.latency_s = -1e-9);
    REFUSED(SWITCH, "0 workers", config.workers = 0);
    REFUSED(SWITCH, "at most 65536", config.workers = 1 << 17);
    REFUSED(SWITCH, "--slow-links 11: there are 10 workers", config.slow_links = 11,
            config.slow_bps = 1);
    REFUSED(SWITCH, "--slow-links: a link needs a rate", config.slow_links = 1);
    REFUSED(SWITCH, "--slow-hosts 11: there are 10 workers", config.slow_hosts = 11,
            config.slow_factor = 2);
    REFUSED(SWITCH, "--slow-hosts 10: these are all workers", config.slow_hosts = 10,
            config.slow_factor = 2);
    REFUSED(SWITCH, "--slow-hosts: 0.5 times", config.slow_hosts = 1, config.slow_factor = 0.5);

    REFUSED(FAT_TREE, "--rack 0", config.rack = 0);
    REFUSED(FAT_TREE, "--oversubscription 0.5", config.oversubscription = 0.5);

    REFUSED(FAT_TREE,
            "one rack of 12 holds all 12 hosts, and nothing passes its uplink: give a "
            "smaller --rack",
            config.rack = 12);

    REFUSED(SITES, "--sites 1: nothing passes a WAN", config.sites = 1);
    REFUSED(SITES, "--sites 0", config.sites = 0);
    REFUSED(SITES, "--sites 65: 2 to 64", config.sites = 65);
    REFUSED(SITES, "--sites 11: each needs a worker, and there are 10", config.sites = 11);
    REFUSED(SITES, "--wan-bw", config.wan_bps = 0);
    REFUSED(SITES, "--wan-latency -1", config.wan_latency_s = -1);

    REFUSED(TORUS, "--torus 3x3 has room for 9 hosts, and 10 workers and 2 servers need 12",
            config.torus[0] = 3, config.torus[1] = 3);
    REFUSED(TORUS, "--torus 2x2x2 has room for 8 hosts", config.torus[0] = 2, config.torus[1] = 2,
            config.torus[2] = 2);
    REFUSED(TORUS, "--torus 3x-1x3", config.torus[0] = 3, config.torus[1] = -1,
            config.torus[2] = 3);
    REFUSED(TORUS, "--torus 12x0", config.torus[0] = 12);
    REFUSED(TORUS, "at most 65536", config.torus[0] = 70000, config.torus[1] = 70000,
            config.torus[2] = 70000);
    REFUSED(TORUS, "--slow-links: the hosts of a torus are all alike", config.slow_links = 1,
            config.slow_bps = 1);
    REFUSED(TORUS, "--slow-hosts: the hosts of a torus", config.slow_hosts = 1,
            config.slow_factor = 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switch), cmocka_unit_test(test_topologies),
        cmocka_unit_test(test_hosts),  cmocka_unit_test(test_slow),
        cmocka_unit_test(test_racks),  cmocka_unit_test(test_sites),
        cmocka_unit_test(test_torus),  cmocka_unit_test(test_cubes),
        cmocka_unit_test(test_places), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
