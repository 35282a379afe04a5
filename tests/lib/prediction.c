#include "tests/lib/prediction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

static const char two_tensors[] =
    "{\"schema\":\"commcomp-net/1\",\"name\":\"two\",\"compute_s\":0.3,\"tensors\":["
    "{\"name\":\"a\",\"shape\":[1000],\"compute\":1},{\"name\":\"b\",\"shape\":[3000],"
    "\"compute\":2}]}";

static const char four_tensors[] =
    "{\"schema\":\"commcomp-net/1\",\"name\":\"four\",\"tensors\":["
    "{\"name\":\"a\",\"shape\":[250000]},{\"name\":\"b\",\"shape\":[250000]},"
    "{\"name\":\"c\",\"shape\":[250000]},{\"name\":\"d\",\"shape\":[250000]}]}";

static void open_net(const char *text, struct fixture *w)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(cc_net_parse(text, strlen(text), &w->net, NULL), CC_OK);
    cc_setting_defaults(w->net, &w->s);
}

void open_fixture(struct fixture *w)
{
    open_net(two_tensors, w);
    w->s.link = (struct cc_link){.bw_bps = 8e6, .latency_s = 0.001};
    w->s.cluster.workers = 4;
}

void open_four_tensors(struct fixture *w)
{
    open_net(four_tensors, w);
}

void close_fixture(struct fixture *w)
{
    cc_predictor_free(&w->p);
    cc_net_free(w->net);
}

struct cc_prediction predict(struct fixture *w, const struct cc_codec_model *codec_model,
                             size_t min_size)
{
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    struct cc_step_payloads payloads;
    struct cc_prediction out;
    struct cc_error e = {""};
    bool is_raw[512];
    assert_true(w->net->count <= sizeof is_raw);
    for (size_t i = 0; i < w->net->count; i++)
        is_raw[i] = w->net->tensors[i].shape.n < min_size;
    assert_int_equal(cc_step_payloads_make(w->net, codec_model, &raw, is_raw, &payloads, NULL),
                     CC_OK);
    if (cc_predict(&w->p, &w->s, &payloads, &out, &e) != CC_OK)
        fail_msg("%s", e.text);
    cc_step_payloads_free(&payloads);
    return out;
}
