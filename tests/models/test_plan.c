/* Plans and their intervals: what a deployment makes of a setting, the size of its messages against
 * trying all, and steps at the corners of intervals by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/interval.h"
#include "models/plan.h"
#include "models/verdict.h"

static struct cc_error e;

/* Four workers at 1 Gbit/s without latency or headers, 100 ms of computing. */
struct rig {
    struct cc_net *net;
    struct cc_setting s;
    struct cc_predictor p;
    struct cc_step_payloads raw, coded;
};

static struct rig rig_of(struct cc_net *net)
{
    struct rig r = {.net = net};
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    const struct cc_codec_model coded = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 2, 1, 1);
    raw.verbatim = true;
    cc_setting_defaults(r.net, &r.s);
    r.s.link = (struct cc_link){.bw_bps = 1e9};
    r.s.cluster.workers = 4;
    r.s.timing.compute_s = 0.1;
    assert_int_equal(cc_step_payloads_make(r.net, &raw, &raw, NULL, &r.raw, &e), CC_OK);
    assert_int_equal(cc_step_payloads_make(r.net, &coded, &raw, NULL, &r.coded, &e), CC_OK);
    return r;
}

static struct rig rig_flat(void)
{
    struct cc_net *net;
    assert_int_equal(cc_net_flat("1M", 1000000, &net, &e), CC_OK);
    return rig_of(net);
}

static void rig_close(struct rig *r)
{
    cc_step_payloads_free(&r->raw);
    cc_step_payloads_free(&r->coded);
    cc_predictor_free(&r->p);
    cc_net_free(r->net);
}

static double step_of(struct rig *r, const struct cc_setting *s,
                      const struct cc_step_payloads *payloads)
{
    struct cc_prediction p;
    assert_int_equal(cc_predict(&r->p, s, payloads, &p, &e), CC_OK);
    return p.step_s;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got / want - 1) < 1e-9))
        fail_msg("%.12g instead of %.12g", got, want);
}

static void deployments(void **state)
{
    (void)state;
    for (int i = 0; i < CC_DEPLOYMENTS; i++) {
        const struct cc_deployment *d = &cc_deployments[i];
        assert_int_equal(d->id, i);
        assert_true(strlen(d->name) > 0 && strlen(d->text) > 0);
    }
    const struct cc_deployment *ddp = &cc_deployments[CC_BY_DDP],
                               *gather = &cc_deployments[CC_BY_GATHER];
    assert_true(cc_plan_takes(ddp, "bf16", false) && !cc_plan_takes(ddp, "int8", false));
    assert_true(cc_plan_takes(ddp, "int8", true) && !cc_plan_takes(gather, "fp32", true));
    assert_true(cc_plan_takes(gather, "int8", false) && !cc_plan_takes(gather, "powersgd", false));
    /* an id is a word of the list, and not a part of one */
    assert_false(cc_plan_takes(ddp, "fp1", false) || cc_plan_takes(ddp, "p16", false));
    assert_true(cc_plan_takes(&cc_deployments[CC_BY_FSDP], "bf16", true));
    assert_false(cc_plan_takes(&cc_deployments[CC_BY_FSDP], "fp16", false));
}

static void applies(void **state)
{
    (void)state;
    struct rig r = rig_flat();
    struct cc_setting there;
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_GATHER], 0}, &r.s, &there);
    assert_true(there.exchange == CC_ALLGATHER && there.timing.mode == CC_OVERLAP);
    assert_true(there.timing.fuse_bytes == 25 * 1048576.0 &&
                there.timing.first_fuse_bytes == 1048576.0);
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_DDP], 1000}, &r.s, &there);
    assert_true(there.exchange == CC_RING && there.timing.fuse_bytes == 1000 &&
                there.timing.first_fuse_bytes < 0);
    r.s.cluster.accelerated = true;
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_DDP], 0}, &r.s, &there);
    assert_true(there.exchange == CC_NCCL);
    r.s.cluster.accelerated = false;
    /* In a ring 2 x 3/4 x 32 ms; FSDP gathers twice and reduces once, 3/4 x 32 ms each. */
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_DDP], 0}, &r.s, &there);
    assert_near(step_of(&r, &there, &r.raw), 0.148);
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_FSDP], 0}, &r.s, &there);
    assert_near(step_of(&r, &there, &r.raw), 0.172);
    /* Of what overlapping saves, which is nothing for one tensor, none can be lost. */
    there.timing.unhidden = 1;
    assert_near(step_of(&r, &there, &r.raw), 0.172);
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_OWN], 7}, &r.s, &there);
    assert_memory_equal(&there, &r.s, sizeof there);
    rig_close(&r);
}

/* A net of several tensors: no size that is tried is more than a little faster than the one found,
 * and a size other than DDP's own is worth it. */
static void sizes(void **state)
{
    (void)state;
    struct cc_net *net;
    assert_int_equal(cc_net_open("resnet50", &net, &e), CC_OK);
    struct rig r = rig_of(net);
    for (int k = 0; k < 12; k++) {
        const struct cc_deployment *by = &cc_deployments[k % 2 ? CC_BY_GATHER : CC_BY_DDP];
        const struct cc_step_payloads *payloads = k % 2 ? &r.coded : &r.raw;
        struct cc_advice_plan plan;
        struct cc_prediction p;
        struct cc_setting there;
        r.s.link.bw_bps = 1e9 * pow(4, k / 2);
        r.s.link.latency_s = k % 3 * 2e-4;
        assert_int_equal(cc_plan_best(&r.p, &r.s, payloads, by, &plan, &p, &e), CC_OK);
        cc_plan_apply(&plan, &r.s, &there);
        assert_near(step_of(&r, &there, payloads), p.step_s);
        cc_plan_apply(&(struct cc_advice_plan){by, 0}, &r.s, &there);
        const double own = step_of(&r, &there, payloads);
        assert_true(plan.fuse_bytes == 0 ? p.step_s == own : p.step_s * 1.01 < own);
        for (double bytes = 2e5; bytes < 2e8; bytes *= 1.07) {
            cc_plan_resize(&there.timing, bytes);
            assert_true(p.step_s < 1.025 * step_of(&r, &there, payloads));
        }
    }
    rig_close(&r);
}

/* The baseline of a deployment is that deployment in messages of the best size, and no other
 * exchange; and of accelerators NCCL's allreduce alone. */
static void baselines(void **state)
{
    (void)state;
    struct cc_choice all[CC_MOST_CHOICES];
    struct cc_best best;
    struct rig r = rig_flat();
    r.s.exchange = CC_RING;
    r.s.deployed = &cc_deployments[CC_BY_DDP];
    size_t count = cc_choices(&r.s, all);
    assert_true(count == 1 + CC_PLAN_SIZES);
    for (size_t i = 0; i < count; i++)
        assert_true(all[i].exchange == CC_RING);
    assert_int_equal(cc_verdict_best(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    assert_true(best.choice.cut == CC_CUT_OWN && fabs(best.p.step_s - 0.148) < 1e-12);
    r.s.deployed = NULL;
    r.s.cluster.accelerated = true;
    count = cc_choices(&r.s, all);
    for (size_t i = 1; i < count; i++)
        assert_true(all[i].exchange == CC_NCCL || all[i].exchange == CC_PS ||
                    all[i].exchange == CC_ALLGATHER);
    rig_close(&r);
}

/* fp32 takes 100 ms + 48 ms / x in a ring of links that reach x of their rate, and what is gathered
 * 106 ms + 24 ms / x; codecs take 6 ms / y. */
static void intervals(void **state)
{
    (void)state;
    struct rig r = rig_flat();
    struct cc_setting ring, gather;
    struct cc_interval step, gain;
    double turn;
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_DDP], 0}, &r.s, &ring);
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_GATHER], 0}, &r.s, &gather);
    const struct cc_step_of with = {&gather, &r.coded}, without = {&ring, &r.raw};
    const struct cc_doubt d = {{1, 0.5}, {2, 0.25}, {0.9, 1.2}, NULL, false};
    assert_int_equal(cc_interval_step(&r.p, &d, &gather, &r.coded, &step, &e), CC_OK);
    assert_near(step.low, 0.09 + 0.003 + 0.024);
    assert_near(step.high, 0.12 + 0.024 + 0.048);
    /* The least gain is where links are fast, codecs slow and computing long. */
    assert_int_equal(cc_interval_gain(&r.p, &d, &with, &without, &gain, &e), CC_OK);
    assert_near(gain.low, (0.09 + 0.048) / (0.09 + 0.024 + 0.024));
    assert_near(gain.high, (0.09 + 0.096) / (0.09 + 0.003 + 0.048));
    /* 1.2 (106 + 24 / x) = 100 + 48 / x at x = 19.2 / 27.2 */
    assert_int_equal(cc_interval_turn(&r.p, &d, 1.2, &with, &without, &turn, &e), CC_OK);
    assert_true(fabs(turn / (19.2 / 27.2) - 1) < 2e-3);
    assert_int_equal(cc_interval_turn(&r.p, &d, 1.5, &with, &without, &turn, &e), CC_OK);
    assert_true(isnan(turn));
    /* By the kind of link; what was measured, and what was fitted, leaves little. */
    assert_true(cc_doubt_of(&r.s, CC_TIME_EXACT, CC_TIME_EXACT, false).link.worst == 1);
    r.s.link.overhead = 0.04;
    r.s.link.latency_s = 50e-6;
    assert_near(cc_doubt_of(&r.s, CC_TIME_EXACT, CC_TIME_EXACT, false).link.worst, 0.7 * 1.04);
    r.s.link.latency_s = 5e-6;
    const struct cc_doubt fast = cc_doubt_of(&r.s, CC_TIME_ASSUMED, CC_TIME_EXACT, false);
    assert_near(fast.link.worst, 0.75 * 1.04);
    assert_true(fast.codec.worst == 0.5 && fast.compute.worst == 1 && fast.link.best == 1);
    assert_true(cc_doubt_of(&r.s, CC_TIME_EXACT, CC_TIME_EXACT, true).link.worst == 0.95);
    rig_close(&r);
}

/* Half of what overlapping saves is lost: the step is half-way to a sequential one. */
static void unhidden(void **state)
{
    (void)state;
    struct cc_net *net;
    assert_int_equal(cc_net_open("resnet20", &net, &e), CC_OK);
    struct rig r = rig_of(net);
    struct cc_setting there;
    cc_plan_apply(&(struct cc_advice_plan){&cc_deployments[CC_BY_DDP], 1e5}, &r.s, &there);
    const double hidden = step_of(&r, &there, &r.raw);
    there.timing.unhidden = 0.5;
    const double half = step_of(&r, &there, &r.raw);
    there.timing.mode = CC_SEQUENTIAL;
    const double whole = step_of(&r, &there, &r.raw);
    assert_true(whole > 1.05 * hidden);
    assert_near(half, (hidden + whole) / 2);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(deployments), cmocka_unit_test(applies),
                                       cmocka_unit_test(sizes),       cmocka_unit_test(baselines),
                                       cmocka_unit_test(intervals),   cmocka_unit_test(unhidden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
