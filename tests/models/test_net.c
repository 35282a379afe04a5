/* Nets: the built-in ones against known counts, and the reader's refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/net.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* Parameter counts as torchvision, pretrained-models.pytorch, Hugging Face and the captured traces
 * have them. By hand: DenseNet-40, whose layer i of a block has 18 more inputs than the one before
 * (11,916 inputs in all): 432 + 11916 * 162 + 2 * (11916 + 232 + 448 + 664) + 232^2 + 448^2 + 6650;
 * AN4's LSTM, 4096 * (363 + 512 + 1) + 3 * 1024 + 512 * 1024, twice 4096 * (512 + 512 + 1) + ...,
 * 132 * 513; the perceptrons. */
static void built_in(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t values, tensors;
    } known[] = {
        {"resnet20", 269722, 59},
        {"resnet56", 853018, 167},
        {"resnet110", 1727962, 329},
        {"resnet18", 11689512, 62},
        {"resnet50", 25557032, 161},
        {"resnet101", 44549160, 314},
        {"resnet152", 60192808, 467},
        {"alexnet", 61100840, 16},
        {"vgg16", 138357544, 32},
        {"vgg19", 143667240, 38},
        {"googlenet", 6624904, 173},
        {"bn-inception", 11295240, 278},
        {"inception-v4", 42679816, 449},
        {"densenet40", 2218522, 119},
        {"an4-lstm", 13634692, 23},
        {"mnist-mlp-500", 648010, 6},
        {"mnist-mlp-4096", 20037642, 6},
        {"bert-base", 109482240, 199},
        {"gpt2", 124439808, 148},
        {"gpt2-xl", 1557611200, 580},
        {"gpt-1.3b", 1315723264, 292},
        {"llama2-7b", 6738415616, 291},
        {"llama3-8b", 8030261248, 291},
        {"llama3-70b", 70553706496, 723},
        {"mixtral-8x7b-dense", 1605636096, 227},
    };
    size_t count = 0;
    while (cc_net_names[count] != NULL)
        count++;
    assert_int_equal(count, sizeof known / sizeof known[0]);
    for (size_t i = 0; i < count; i++) {
        struct cc_net *net;
        struct cc_error e = {""};
        if (cc_net_open(known[i].name, &net, &e) != CC_OK)
            fail_msg("%s", e.text);
        assert_string_equal(net->name, known[i].name);
        assert_int_equal(net->values, known[i].values);
        assert_int_equal(net->count, known[i].tensors);
        double sum = 0;
        for (size_t k = 0; k < net->count; k++)
            sum += net->share[k];
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(net->reference[0] != '\0');
        cc_net_free(net);
    }
}

/* The names and order of the captured traces; multiply-additions by hand. */
static void resnet110(void **state)
{
    (void)state;
    struct cc_net *net;
    assert_int_equal(cc_net_open("resnet110", &net, NULL), CC_OK);
    assert_string_equal(net->tensors[0].name, "conv1.weight");
    assert_string_equal(net->tensors[3].name, "layers.0.c1.weight");
    assert_string_equal(net->tensors[8].name, "layers.0.b2.bias");
    assert_string_equal(net->tensors[328].name, "fc.bias");
    assert_int_equal(net->tensors[328 - 7].shape.n, 36864);
    assert_int_equal(net->largest, 36864);
    assert_true(fabs(net->share[0] / net->share[3] - 3. / 16) < 1e-12);
    assert_true(net->compute_s > 0 && net->compute_source[0] != '\0');
    cc_net_free(net);
}

/* Counts of one layer by hand: a convolution's multiply-additions, and the shares of a GPT-2
 * block's layers in its time (1,024 tokens: 12 d^2 values, and 2 * 1024 * d more products in
 * attention). */
static void shares(void **state)
{
    (void)state;
    struct cc_net *net;
    assert_int_equal(cc_net_open("googlenet", &net, NULL), CC_OK);
    assert_string_equal(net->tensors[0].name, "conv1.conv.weight");
    assert_string_equal(net->tensors[6].name, "conv3.conv.weight");
    assert_true(fabs(net->share[6] / net->share[0] -
                     192. * 64 * 9 * 56 * 56 / (64. * 3 * 49 * 112 * 112)) < 1e-12);
    cc_net_free(net);
    assert_int_equal(cc_net_open("gpt2-xl", &net, NULL), CC_OK);
    double d = 1600, block = 0;
    for (int i = 2; i < 14; i++)
        block += net->share[i];
    assert_string_equal(net->tensors[6].name, "h.0.attn.c_proj.weight");
    assert_true(
        fabs(net->share[6] / block - (d * d + 2048 * d) / (12 * d * d + 2048 * d + 13 * d)) < 1e-9);
    cc_net_free(net);
}

static void papers(void **state)
{
    (void)state;
    struct cc_net *net;
    assert_int_equal(cc_net_open("vgg19", &net, NULL), CC_OK);
    assert_int_equal(net->paper_count, 2);
    assert_string_equal(net->papers[1].paper, "QSGD, table 1");
    assert_string_equal(net->papers[1].says, "143M");
    cc_net_free(net);
}

#define NET(tensors) "{\"schema\":\"commcomp-net/1\",\"name\":\"n\",\"tensors\":" tensors "}"

static void reads(void **state)
{
    (void)state;
    static const char text[] = NET("[{\"name\":\"a\",\"shape\":[2,3],\"compute\":3},"
                                   "{\"name\":\"b\",\"shape\":[],\"compute\":1}]");
    struct cc_net *net;
    assert_int_equal(cc_net_parse(text, sizeof text - 1, &net, NULL), CC_OK);
    assert_int_equal(net->values, 7);
    assert_true(net->share[0] == 0.75 && net->compute_s == 0);
    assert_string_equal(net->reference, "");
    cc_net_free(net);
    static const char plain[] =
        NET("[{\"name\":\"a\",\"shape\":[3]},{\"name\":\"b\",\"shape\":[1]}]");
    assert_int_equal(cc_net_parse(plain, sizeof plain - 1, &net, NULL), CC_OK);
    assert_true(net->share[0] == 0.75);
    assert_int_equal(net->dtype, CC_ELEMENT_FP32);
    cc_net_free(net);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "not a JSON object"},
        {"{}", "\"schema\" must be \"commcomp-net/1\""},
        {"{\"schema\":\"commcomp-net/2\"}", "\"schema\" must be"},
        {"{\"schema\":\"commcomp-net/1\",\"tensor\":[]}", "did you mean \"tensors\"?"},
        {"{\"schema\":\"commcomp-net/1\",\"tensors\":[]}", "\"name\" is missing"},
        {NET("[]"), "at least one"},
        {NET("{}"), "must be a list"},
        {NET("[1]"), "tensor 0: not an object"},
        {NET("[{\"shape\":[1]}]"), "tensor 0: \"name\" is missing"},
        {NET("[{\"name\":\"a\"}]"), "tensor 0: \"a\": \"shape\" must be a list"},
        {NET("[{\"name\":\"a\",\"shape\":[0]}]"), "whole numbers from 1"},
        {NET("[{\"name\":\"a\",\"shape\":[1.5]}]"), "whole numbers from 1"},
        {NET("[{\"name\":\"a\",\"shape\":[4294967296,4294967296]}]"), "overflows"},
        {NET("[{\"name\":\"a\",\"shape\":[1]},{\"name\":\"a\",\"shape\":[1]}]"), "two tensors"},
        {NET("[{\"name\":\"a\",\"shape\":[1],\"compute\":-1}]"), "number from 0"},
        {NET("[{\"name\":\"a\",\"shape\":[1],\"compute\":1e999}]"), "number from 0"},
        {NET("[{\"name\":\"a\",\"shape\":[1],\"computes\":1}]"), "did you mean \"compute\"?"},
        {NET("[{\"name\":\"a\",\"shape\":[1],\"compute\":1},{\"name\":\"b\",\"shape\":[1]}]"),
         "tensor 1: \"b\" has no \"compute\""},
        {"{\"schema\":\"commcomp-net/1\",\"name\":\"n\",\"compute_s\":\"1\",\"tensors\":[]}",
         "\"compute_s\" is not a number"},
        {"{\"schema\":\"commcomp-net/1\",\"name\":\"n\",\"papers\":{},"
         "\"tensors\":[{\"name\":\"a\",\"shape\":[1]}]}",
         "\"papers\" is not a list"},
        {"{\"schema\":\"commcomp-net/1\",\"name\":\"n\",\"papers\":[{\"paper\":\"p\"}],"
         "\"tensors\":[{\"name\":\"a\",\"shape\":[1]}]}",
         "\"papers\": \"says\" is missing"},
        {"{\"schema\":\"commcomp-net/"
         "1\",\"name\":\"n\",\"papers\":[{\"paper\":\"p\",\"say\":\"s\"}],"
         "\"tensors\":[{\"name\":\"a\",\"shape\":[1]}]}",
         "did you mean \"says\"?"},
        {"{\"schema\":\"commcomp-net/1\",\"name\":3,\"tensors\":[]}", "\"name\" is not a string"},
    };
    struct cc_net *net;
    struct cc_error e;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cc_net_parse(bad[i].text, strlen(bad[i].text), &net, &e) != CC_FAIL)
            fail_msg("accepted: %s", bad[i].text);
        assert_contains(e.text, bad[i].message);
    }
}

static void opens(void **state)
{
    struct cc_net *net;
    struct cc_error e;
    assert_int_equal(cc_net_open("resnet11", &net, &e), CC_USAGE);
    assert_contains(e.text, "did you mean 'resnet110'?");
    assert_int_equal(cc_net_open("transformer", &net, &e), CC_USAGE);
    assert_contains(e.text, "there are resnet20,");
    const char *path = scratch_write(state, "x.json", "{", 1);
    assert_int_equal(cc_net_open(path, &net, &e), CC_FAIL);
    assert_contains(e.text, path);
    path = scratch_safetensors(state, "x.safetensors",
                               "{\"__metadata__\":{\"order\":\"b\\na\"},"
                               "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                               "\"b\":{\"dtype\":\"F16\",\"shape\":[1,3],\"data_offsets\":[4,10]}}",
                               "0123456789", 10);
    assert_int_equal(cc_net_open(path, &net, &e), CC_OK);
    assert_string_equal(net->tensors[0].name, "b");
    assert_true(net->share[0] == 0.75);
    assert_int_equal(net->dtype, CC_ELEMENT_FP16); /* of its largest tensor */
    cc_net_free(net);
    path =
        scratch_safetensors(state, "y.safetensors",
                            "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[0,3]},"
                            "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[3,11]},"
                            "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[11,15]}}",
                            "0123456789abcde", 15);
    assert_int_equal(cc_net_open(path, &net, &e), CC_OK);
    assert_int_equal(net->count, 2);
    assert_int_equal(net->values, 5);
    assert_int_equal(net->dtype, CC_ELEMENT_FP32);
    cc_net_free(net);
    path = scratch_safetensors(state, "z.safetensors",
                               "{\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}",
                               "01234567", 8);
    assert_int_equal(cc_net_open(path, &net, &e), CC_FAIL);
    assert_contains(e.text, "z.safetensors: no tensors of floats in it");
    assert_int_equal(cc_net_flat("25M", 25000000, &net, &e), CC_OK);
    assert_string_equal(net->name, "25M");
    assert_int_equal(net->dtype, CC_ELEMENT_FP32);
    assert_int_equal(net->values, 25000000);
    cc_net_free(net);
    assert_int_equal(cc_net_flat("0", 0, &net, &e), CC_FAIL);
}

#define INDEX(map) "{\"metadata\":{\"total_size\":20},\"weight_map\":" map "}"

static void refuse_index(void **state, const char *map, const char *message)
{
    struct cc_net *net;
    struct cc_error e;
    const char *path = scratch_write(state, "m.safetensors.index.json", map, strlen(map));
    if (cc_net_open(path, &net, &e) != CC_FAIL)
        fail_msg("accepted: %s", map);
    assert_contains(e.text, message);
    assert_contains(e.text, "m.safetensors.index.json");
}

/* A net in several files, listed by an index file beside them. */
static void several_files(void **state)
{
    static const char ab[] = "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                             "\"a\":{\"dtype\":\"F16\",\"shape\":[1,3],\"data_offsets\":[4,10]}}";
    static const char c[] = "{\"c\":{\"dtype\":\"BF16\",\"shape\":[5],\"data_offsets\":[0,10]}}";
    scratch_safetensors(state, "m-1-of-2.safetensors", ab, "0123456789", 10);
    scratch_safetensors(state, "m-2-of-2.safetensors", c, "0123456789", 10);
    static const char map[] =
        INDEX("{\"c\":\"m-2-of-2.safetensors\",\"a\":\"m-1-of-2.safetensors\","
              "\"b\":\"m-1-of-2.safetensors\"}");
    const char *path = scratch_write(state, "m.safetensors.index.json", map, sizeof map - 1);
    struct cc_net *net;
    assert_int_equal(cc_net_open(path, &net, NULL), CC_OK);
    assert_int_equal(net->count, 3);
    assert_int_equal(net->values, 9);
    assert_string_equal(net->tensors[0].name, "b");
    assert_string_equal(net->tensors[2].name, "c");
    cc_net_free(net);
    refuse_index(state, "{}", "\"weight_map\" must be an object");
    refuse_index(state, INDEX("{}"), "\"weight_map\" must be an object");
    refuse_index(state, INDEX("{\"a\":1}"), "\"a\" is not mapped to a file");
    refuse_index(state, INDEX("{\"a\":\"../a.safetensors\"}"), "\"a\" is not mapped to a file");
    refuse_index(state, INDEX("{\"a\":\"m-3-of-2.safetensors\"}"), "m-3-of-2.safetensors");
    refuse_index(state, INDEX("{\"a\":\"m-1-of-2.safetensors\"}"),
                 "it has 2 tensors, the index says 1");
    refuse_index(state, INDEX("{\"d\":\"m-2-of-2.safetensors\"}"),
                 "the index does not say that \"c\" is in it");
}

static void of_tensors(void **state)
{
    (void)state;
    struct cc_error e;
    struct cc_net *net;
    size_t dim[] = {3, 10};
    struct cc_tensor_info list[2] = {{.name = "a", .shape = cc_shape_flat(10)}, {.name = "b"}};
    assert_int_equal(cc_shape_make(dim, 2, &list[1].shape, &e), CC_OK);
    assert_int_equal(cc_net_of("mine", list, 2, &net, &e), CC_OK);
    assert_string_equal(net->name, "mine");
    assert_true(net->count == 2 && net->values == 40 && net->largest == 30 && net->compute_s == 0);
    assert_true(net->share[0] == 0.25 && net->share[1] == 0.75);
    assert_ptr_not_equal(net->tensors[0].name, list[0].name);
    assert_string_equal(net->tensors[0].name, "a");
    assert_int_equal(net->tensors[1].shape.ndim, 2);
    cc_net_free(net);
    list[1].name = "a";
    assert_int_equal(cc_net_of("mine", list, 2, &net, &e), CC_FAIL);
    assert_contains(e.text, "two tensors are named \"a\"");
    list[1] = (struct cc_tensor_info){.name = "none", .shape = cc_shape_flat(0)};
    assert_int_equal(cc_net_of("mine", list, 2, &net, &e), CC_FAIL);
    assert_contains(e.text, "tensor \"none\" has no values");
    assert_int_equal(cc_net_of("mine", list, 0, &net, &e), CC_FAIL);
    assert_contains(e.text, "no tensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in),
        cmocka_unit_test(resnet110),
        cmocka_unit_test(shares),
        cmocka_unit_test(papers),
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(of_tensors),
        cmocka_unit_test_setup_teardown(opens, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(several_files, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
