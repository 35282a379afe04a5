/* Devices: the built-in files, the nets that they name, and what the reader refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/device.h"
#include "models/net.h"
#include "tests/lib/text.h"

static struct cc_error e;

/* Each names a net that is built in, once, and a source. */
static void built_in(void **state)
{
    (void)state;
    for (size_t i = 0; cc_device_names[i] != NULL; i++) {
        struct cc_device *d;
        assert_int_equal(cc_device_open(cc_device_names[i], &d, &e), CC_OK);
        assert_string_equal(d->name, cc_device_names[i]);
        for (size_t k = 0; k < d->count; k++) {
            const struct cc_throughput *t;
            struct cc_net *net;
            assert_int_equal(cc_net_open(d->throughput[k].net, &net, &e), CC_OK);
            cc_net_free(net);
            assert_int_equal(cc_device_throughput(d, d->throughput[k].net, &t, &e), CC_OK);
            assert_ptr_equal(t, &d->throughput[k]);
            assert_true(strlen(t->source) > 20);
        }
        cc_device_free(d);
    }
}

/* Figures as published: https://github.com/lambdal/deeplearning-benchmark, and modded-nanogpt's 90
 * minutes on 8 A100 for 19,560 steps of 524,288 tokens. */
static void figures(void **state)
{
    (void)state;
    const struct {
        const char *device, *net;
        double seconds;
    } all[] = {{"v100", "resnet50", 256.0 / 833},
               {"v100", "bert-base", 48.0 / 189},
               {"a100", "gpt2", 90 * 60 / 19560.0},
               {"h100", "gpt2", 45 * 60 / 19560.0},
               {"h100", "llama2-7b", 6 * 2048 / 10643.0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct cc_device *d;
        const struct cc_throughput *t;
        assert_int_equal(cc_device_open(all[i].device, &d, &e), CC_OK);
        assert_int_equal(cc_device_throughput(d, all[i].net, &t, &e), CC_OK);
        assert_true(fabs(t->batch / t->per_s / all[i].seconds - 1) < 1e-5);
        cc_device_free(d);
    }
}

static void refused(const char *text, const char *message)
{
    struct cc_device *d;
    assert_int_equal(cc_device_parse(text, strlen(text), &d, &e), CC_FAIL);
    assert_contains(e.text, message);
}

#define HEAD                                                                                       \
    "{\"schema\":\"commcomp-device/1\",\"name\":\"x\",\"device\":\"an "                            \
    "X\",\"memory_gb\":16,\"memory_gb_per_s\":500,"                                                \
    "\"pcie_gb_per_s\":20,\"memory_source\":\"a sheet\",\"trainings\":["
#define NET "{\"net\":\"resnet50\",\"batch\":8,\"unit\":\"images\",\"precision\":\"fp32\","

static void refusals(void **state)
{
    (void)state;
    struct cc_device *d;
    const struct cc_throughput *t;
    static const char good[] = HEAD NET "\"source\":\"a paper\",\"per_s\":4}]}";
    assert_int_equal(cc_device_parse(good, strlen(good), &d, &e), CC_OK);
    assert_int_equal(cc_device_throughput(d, "vgg16", &t, &e), CC_USAGE);
    assert_contains(e.text, "no published throughput of training vgg16 on an X is known, only of "
                            "resnet50: give --compute");
    /* Two launches, and 700 bytes at 0.7 of 500 GB/s. */
    assert_true(fabs(cc_device_call_s(d, 2, 700) / (15e-6 + 2e-9) - 1) < 1e-12);
    cc_device_free(d);
    assert_int_equal(cc_device_open("a1000", &d, &e), CC_USAGE);
    refused("{}", "schema");
    static const char none[] = HEAD "]}";
    assert_int_equal(cc_device_parse(none, strlen(none), &d, &e), CC_OK);
    assert_int_equal(cc_device_throughput(d, "vgg16", &t, &e), CC_USAGE);
    assert_contains(e.text, "only of no net: give --compute");
    cc_device_free(d);
    refused("{\"schema\":\"commcomp-device/1\",\"name\":\"x\",\"device\":\"an X\","
            "\"memory_gb\":16,\"memory_gb_per_s\":500,\"memory_source\":\"a sheet\","
            "\"trainings\":[]}",
            "\"pcie_gb_per_s\" must be there and above 0");
    refused("{\"schema\":\"commcomp-device/1\",\"name\":\"x\",\"device\":\"an X\","
            "\"memory_gb_per_s\":500,\"pcie_gb_per_s\":20,\"memory_source\":\"a sheet\","
            "\"trainings\":[]}",
            "\"memory_gb\" must be there and above 0");
    refused(HEAD "3]}", "training 0: not an object");
    refused(HEAD NET "\"source\":\"a paper\"}]}", "\"per_s\" must be there and above 0");
    refused(HEAD NET "\"source\":\"a paper\",\"per_s\":0}]}",
            "\"per_s\" must be there and above 0");
    refused(HEAD NET "\"per_s\":4}]}", "\"source\"");
    refused(HEAD NET "\"source\":\"a paper\",\"per_s\":4,\"per\":1}]}", "unknown key \"per\"");
    refused(HEAD NET "\"source\":\"a paper\",\"per_s\":4}],\"more\":1}", "unknown key \"more\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in),
        cmocka_unit_test(figures),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
