/* Words for overheads and links, against the frames that they stand for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "models/link.h"
#include "tests/lib/number.h"

static void overheads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double is;
    } words[] = {
        {"tc", (14. + 20 + 32) / 1448},           /* Ethernet, IP, TCP with time stamps */
        {"ethernet", (1538. - 1448) / 1448},      /* 8 + 14 + 20 + 32 + 4 + 12 */
        {"jumbo", (9038. - 8948) / 8948},         /* the same around 8948 bytes */
        {"infiniband", (8. + 12 + 4 + 2) / 4096}, /* LRH, BTH, ICRC, VCRC */
        {"roce", (8. + 14 + 4 + 12 + 20 + 8 + 12 + 4) / 4096}, /* Ethernet, IP, UDP, BTH, ICRC */
        {"none", 0},
        {"100/1000", 0.1},
        {"0/1", 0},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        double is = -1;
        assert_int_equal(cc_overhead_parse(words[i].text, &is, NULL), CC_OK);
        close_to_at(is, words[i].is, 1e-12, words[i].text, (int)i);
    }
}

static void presets(void **state)
{
    (void)state;
    struct cc_link link;
    assert_int_equal(cc_link_parse("wan", &link, NULL), CC_OK);
    assert_true(link.bw_bps == 1e8 && link.latency_s == 0.025);
    close_to(link.overhead, 90. / 1448, 1e-12, "wan's overhead");
    assert_int_equal(cc_link_parse("100mbps", &link, NULL), CC_OK);
    assert_true(link.bw_bps == 1e8 && link.latency_s == 50e-6);
    close_to(link.overhead, 66. / 1448, 1e-12, "a rate's overhead");
}

/* A rate is TCP up to 10 Gbit/s and RDMA above; names and files keep their own figures. */
static void classes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *class;
        double latency_s, overhead;
    } all[] = {
        {"10mbps", "tcp", 50e-6, 66. / 1448},  {"10gbps", "tcp", 50e-6, 66. / 1448},
        {"25gbps", "rdma", 14e-6, 82. / 4096}, {"12.5GB/s", "rdma", 14e-6, 82. / 4096},
        {"ethernet", NULL, 50e-6, 90. / 1448}, {"infiniband", NULL, 1.5e-6, 26. / 4096},
        {"sparcml-daint", NULL, 1.5e-6, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct cc_link l;
        assert_int_equal(cc_link_parse(all[i].text, &l, NULL), CC_OK);
        assert_null(l.of_class);
        cc_link_classify(&l);
        close_to_at(l.latency_s, all[i].latency_s, 1e-12, all[i].text, (int)i);
        close_to_at(l.overhead, all[i].overhead, 1e-12, all[i].text, (int)i);
        if (all[i].class == NULL)
            assert_null(l.of_class);
        else
            assert_string_equal(l.of_class->name, all[i].class);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(overheads), cmocka_unit_test(presets),
                                       cmocka_unit_test(classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
