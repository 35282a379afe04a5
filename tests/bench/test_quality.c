/* Payload sizes and errors: sums by hand and plain loops, passes, small tensors, whole periods,
 * schemes that fail, settling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/config.h"
#include "bench/quality.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/trace/trace.h"
#include "tests/lib/bench_config.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* The quality of every scheme by a plan, with the passes that it took; the caller frees it. */
static struct cc_quality *measure_plan(const struct cc_bench_config *p,
                                       const struct cc_quality_plan *plan,
                                       struct cc_settled *settled)
{
    size_t done = 0, schemes = p->schemes->count;
    struct cc_quality *q = calloc(schemes * cc_trace_tensors(p->trace), sizeof *q);
    struct cc_error e = {""};
    assert_non_null(q);
    if (cc_quality_measure(p, plan, q, settled, &done, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_int_equal(done, schemes);
    return q;
}

static struct cc_quality *measure(const struct cc_bench_config *p, size_t passes)
{
    const struct cc_quality_plan plan = {.passes = passes};
    struct cc_settled settled[16];
    return measure_plan(p, &plan, settled);
}

/* --- by hand --- */

static void fp32_by_hand(void **state)
{
    struct fixture f;
    open_gradients(&f, state, "fp32");
    struct cc_quality *q = measure(&f.config, 1), all = q[0];
    double raw = 0, sums = 0;
    for (int i = 0; i < VALUES; i++) {
        double sum = 0;
        for (int s = 0; s < STEPS; s++) {
            raw += (double)gradients[s][i] * (double)gradients[s][i];
            sum += (double)gradients[s][i];
        }
        sums += sum * sum;
    }
    cc_quality_add(&all, &q[1]);
    assert_int_equal(all.values, VALUES);
    assert_int_equal(all.steps, STEPS);
    assert_int_equal(all.payload_bytes, STEPS * VALUES * 4);
    assert_true(all.sums.error_sq == 0 && all.cumulative_error_sq == 0 && all.sums.max_error == 0);
    assert_true(all.sums.raw_sq == raw && all.sums.output_sq == raw && all.sums.dot == raw);
    assert_true(all.cumulative_raw_sq == sums);
    free(q);
    close_config(&f);
}

static void int8_by_hand(void **state)
{
    struct fixture f;
    open_gradients(&f, state, "int8");
    struct cc_quality *q = measure(&f.config, 1);
    assert_int_equal(q[0].payload_bytes, STEPS * (4 + WEIGHTS));
    assert_int_equal(q[1].payload_bytes, STEPS * (4 + BIAS));
    /* 1.25 decodes to 1, -2.5 to -2, 3.5 to 4 and 0.25 to 0. */
    const double weights = 0.0625 + 0.25 + 0.25;
    assert_true(q[0].sums.error_sq == weights && q[1].sums.error_sq == 0.0625);
    assert_true(q[0].cumulative_error_sq == weights && q[1].cumulative_error_sq == 0.0625);
    assert_true(q[0].sums.max_error == 0.5 && q[1].sums.max_error == 0.25);
    assert_true(q[0].sums.dot ==
                q[0].sums.raw_sq + 1.25 * (1 - 1.25) - 2.5 * (-2 + 2.5) + 3.5 * (4 - 3.5));
    assert_true(q[1].sums.output_sq == q[1].sums.raw_sq - 0.0625 &&
                q[1].sums.dot == q[1].sums.output_sq);
    cc_quality_add(&q[0], &q[1]);
    assert_true(q[0].sums.max_error == 0.5 && q[0].sums.error_sq == weights + 0.0625);
    /* Without a residual a second pass equals the first. */
    struct cc_quality *again = measure(&f.config, 2);
    assert_memory_equal(&again[1], &q[1], sizeof q[1]);
    free(again);
    free(q);
    close_config(&f);
}

/* The first step sends nothing, the second the sum; the third begins a period that is not whole. */
static void local_by_hand(void **state)
{
    struct fixture f;
    open_gradients(&f, state, "local:every=2");
    assert_int_equal(cc_bench_steps(&f.config, 0), 2);
    struct cc_quality *q = measure(&f.config, 1);
    double first = 0, sums = 0, dot = 0, most = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        const double a = (double)gradients[0][i], b = (double)gradients[1][i];
        first += a * a;
        sums += (a + b) * (a + b);
        dot += b * (a + b);
        most = fmax(most, fabs(a));
    }
    assert_int_equal(q[0].steps, 2);
    assert_int_equal(q[0].payload_bytes, 4 * WEIGHTS);
    assert_true(q[0].sums.error_sq == 2 * first); /* -a, then (a + b) - b */
    assert_true(q[0].sums.max_error == most && q[0].sums.dot == dot && q[0].sums.output_sq == sums);
    assert_true(q[0].cumulative_error_sq == 0 && q[0].cumulative_raw_sq == sums);
    free(q);
    /* With a period longer than the trace, the trace begins again. */
    f.config.steps = 1;
    assert_int_equal(cc_bench_steps(&f.config, 0), 2);
    q = measure(&f.config, 1);
    assert_int_equal(q[0].payload_bytes, 4 * WEIGHTS);
    assert_true(q[0].sums.error_sq == 2 * first && q[0].sums.raw_sq == 2 * first);
    assert_true(q[0].sums.dot == 2 * first && q[0].sums.output_sq == 4 * first);
    assert_true(q[0].cumulative_raw_sq == 4 * first && q[0].cumulative_error_sq == 0);
    free(q);
    close_config(&f);
}

static void whole_periods(void **state)
{
    struct fixture f;
    open_gradients(&f, state, "fp32,local:every=3,local:every=5,local:every=1");
    assert_int_equal(cc_bench_steps(&f.config, 0), 3);
    assert_int_equal(cc_bench_steps(&f.config, 1), 3);
    assert_int_equal(cc_bench_steps(&f.config, 2), 5);
    assert_int_equal(cc_bench_steps(&f.config, 3), 3);
    f.config.steps = 2;
    assert_int_equal(cc_bench_steps(&f.config, 0), 2);
    assert_int_equal(cc_bench_steps(&f.config, 1), 3);
    struct cc_quality *q = measure(&f.config, 1);
    assert_int_equal(q[4].steps, 5);
    assert_int_equal(q[4].payload_bytes, 4 * WEIGHTS);
    free(q);
    close_config(&f);
}

/* --- by plain loops --- */

struct loop {
    struct cc_codec_set set;
    struct cc_codec codec;
    float *load, *y, *cumulative, *sum;
    uint8_t *payload;
};

static struct loop loop_new(const struct cc_spec *s, struct cc_shape shape)
{
    struct loop w = {.set = {.item = NULL}};
    assert_int_equal(cc_codec_set_single(&w.set, s, &shape, &cc_memory_in_turn, NULL), CC_OK);
    w.codec = w.set.item->codec;
    w.payload = w.set.item->payload;
    w.load = cc_alloc(shape.n * sizeof(float), NULL);
    w.y = cc_alloc(shape.n * sizeof(float), NULL);
    w.cumulative = calloc(shape.n, sizeof(float));
    w.sum = calloc(shape.n, sizeof(float));
    return w;
}

static void loop_free(struct loop *w)
{
    cc_codec_set_free(&w->set);
    free(w->load);
    free(w->y);
    free(w->cumulative);
    free(w->sum);
}

static void loop_add(struct loop *w, const float *g, size_t len, struct cc_quality *q)
{
    q->payload_bytes += len;
    for (size_t i = 0; i < w->codec.shape.n; i++) {
        const double y = (double)w->y[i], x = (double)g[i];
        q->sums.error_sq += (y - x) * (y - x);
        q->sums.raw_sq += x * x;
        q->sums.output_sq += y * y;
        q->sums.dot += y * x;
        q->sums.max_error = fmax(q->sums.max_error, (double)fabsf(w->y[i] - g[i]));
        w->cumulative[i] += w->y[i] - g[i];
        w->sum[i] += g[i];
    }
}

/* The sums of one tensor over the last pass, with residuals kept from the first. */
static struct cc_quality loop_measure(const struct cc_bench_config *p, size_t scheme, size_t tensor,
                                      size_t passes)
{
    const struct cc_tensor_info *info = cc_trace_tensor(p->trace, tensor);
    const struct cc_trace_sender stream = cc_trace_stream(p->trace, p->stream);
    const size_t steps = cc_bench_steps(p, scheme);
    struct loop w = loop_new(p->schemes->item[scheme], info->shape);
    struct cc_quality q = {.values = info->shape.n, .steps = steps};
    struct cc_error e = {""};
    for (size_t step = 0; step < passes * steps; step++) {
        const struct cc_context ctx = {.seed = p->seed,
                                       .rank = stream.rank,
                                       .direction = stream.direction,
                                       .step = step,
                                       .tensor = tensor,
                                       .name = info->name};
        const float *g = w.load;
        size_t len;
        if (cc_trace_load(p->trace, p->stream, step % steps % p->steps, tensor, w.load, &e) !=
                CC_OK ||
            cc_encode(&w.codec, &ctx, g, w.payload, cc_bound(&w.codec), &len, &e) != CC_OK ||
            cc_decode(&w.codec, &ctx, w.payload, len, w.y, &e) != CC_OK)
            fail_msg("%s", e.text);
        if (step >= (passes - 1) * steps)
            loop_add(&w, g, len, &q);
    }
    for (size_t i = 0; i < info->shape.n; i++) {
        q.cumulative_error_sq += (double)w.cumulative[i] * (double)w.cumulative[i];
        q.cumulative_raw_sq += (double)w.sum[i] * (double)w.sum[i];
    }
    loop_free(&w);
    return q;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static bool alike(const struct cc_quality *a, const struct cc_quality *b)
{
    return a->values == b->values && a->steps == b->steps && a->payload_bytes == b->payload_bytes &&
           close_to(a->sums.error_sq, b->sums.error_sq) &&
           close_to(a->sums.raw_sq, b->sums.raw_sq) &&
           close_to(a->sums.output_sq, b->sums.output_sq) && close_to(a->sums.dot, b->sums.dot) &&
           a->sums.max_error == b->sums.max_error &&
           close_to(a->cumulative_error_sq, b->cumulative_error_sq) &&
           close_to(a->cumulative_raw_sq, b->cumulative_raw_sq);
}

static void compare_with_loops(const struct cc_bench_config *p, size_t passes)
{
    const size_t tensors = cc_trace_tensors(p->trace);
    struct cc_quality *q = measure(p, passes);
    for (size_t s = 0; s < p->schemes->count; s++) {
        if (cc_bench_failed(p, s))
            fail_msg("%s", p->failed[s].text);
        for (size_t t = 0; t < tensors; t++) {
            const struct cc_quality expected = loop_measure(p, s, t, passes);
            if (!alike(&q[s * tensors + t], &expected))
                fail_msg("%s, tensor %zu, %zu passes, %s", p->schemes->item[s]->name, t, passes,
                         cc_isa_name(cc_isa()));
        }
    }
    free(q);
}

static const char catalogue[] = "int8,int8:ef=1,3lc,3lc:s=1.75,ternary:ef=1,randk,dgc,powersgd,"
                                "local:every=2,inner=3lc,qsgd,efsign";

static void files_by_loops(void **state)
{
    struct fixture f;
    open_gradients(&f, state, catalogue);
    for (size_t passes = 1; passes <= 3; passes++)
        compare_with_loops(&f.config, passes);
    f.config.steps = 1;
    compare_with_loops(&f.config, 2);
    close_config(&f);
}

/* Tensors longer than a block of sums, and tails that fill no register; on every instruction
 * set. */
static void blocks_by_loops(void **state)
{
    (void)state;
    const struct cc_tensor_info tensors[] = {{"long", cc_shape_flat(9001)},
                                             {"odd", cc_shape_flat(37)},
                                             {"one", cc_shape_flat(1)},
                                             {"block", cc_shape_flat(4096)}};
    struct fixture f;
    open_config(&f, make_trace(tensors, sizeof tensors / sizeof tensors[0], 2), catalogue);
    const enum cc_isa best = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        compare_with_loops(&f.config, 2);
    }
    cc_isa_force(best);
    close_config(&f);
}

/* Schemes with residuals keep them from pass to pass. */
static void passes(void **state)
{
    struct fixture f;
    open_gradients(&f, state, "3lc,int8");
    struct cc_quality *one = measure(&f.config, 1), *two = measure(&f.config, 2);
    assert_false(alike(&one[0], &two[0]));
    assert_true(one[0].sums.raw_sq == two[0].sums.raw_sq);
    assert_true(one[0].cumulative_raw_sq == two[0].cumulative_raw_sq);
    assert_memory_equal(&one[2], &two[2], 2 * sizeof *one);
    free(one);
    free(two);
    close_config(&f);
}

/* --- configurations --- */

static void min_size(void **state)
{
    struct fixture f;
    open_gradients(&f, state, "int8");
    f.config.min_size = BIAS + 1;
    assert_ptr_equal(cc_bench_spec(&f.config, 0, 0), f.schemes.item[0]);
    assert_ptr_equal(cc_bench_spec(&f.config, 0, 1), f.raw);
    struct cc_quality *q = measure(&f.config, 1);
    assert_int_equal(q[0].payload_bytes, STEPS * (4 + WEIGHTS));
    assert_int_equal(q[1].payload_bytes, STEPS * 4 * BIAS);
    assert_true(q[0].sums.error_sq > 0 && q[1].sums.error_sq == 0);
    free(q);
    f.config.min_size = BIAS; /* the size of the bias */
    assert_ptr_equal(cc_bench_spec(&f.config, 0, 1), f.schemes.item[0]);
    close_config(&f);
}

static void contexts_and_names(void **state)
{
    struct fixture f;
    char name[32];
    write_step(state, "pull", -1, 10, gradients[1]);
    open_gradients(&f, state, "fp32");
    cc_trace_stream_name(f.config.trace, f.config.stream, name, sizeof name);
    assert_string_equal(name, "push 3");
    struct cc_context c = cc_bench_context(&f.config, 1, 7);
    assert_true(c.seed == 42 && c.rank == 3 && c.direction == CC_PUSH && c.step == 7);
    assert_true(c.tensor == 1 && c.offset == 0 && strcmp(c.name, "bias") == 0);
    f.config.stream = 1;
    f.config.steps = 1;
    cc_trace_stream_name(f.config.trace, f.config.stream, name, sizeof name);
    assert_string_equal(name, "pull");
    c = cc_bench_context(&f.config, 0, 0);
    assert_true(c.rank == -1 && c.direction == CC_PULL);
    struct cc_quality *q = measure(&f.config, 1);
    double raw = 0;
    for (int i = 0; i < WEIGHTS; i++)
        raw += (double)gradients[1][i] * (double)gradients[1][i];
    assert_true(q[0].sums.raw_sq == raw);
    free(q);
    close_config(&f);
}

/* --- schemes that fail --- */

static void one_scheme_fails(void **state)
{
    struct fixture f, alone;
    open_huge(&f, state, "fp32,local,int8");
    struct cc_quality *q = measure(&f.config, 2);
    assert_gave_up(&f, *state, 1);
    open_config(&alone, open_trace(*state), "fp32,int8");
    struct cc_quality *expected = measure(&alone.config, 2);
    assert_memory_equal(&q[0], &expected[0], 2 * sizeof *q);
    assert_memory_equal(&q[4], &expected[2], 2 * sizeof *q);
    free(expected);
    free(q);
    close_config(&alone);
    close_config(&f);
}

static void settle_fails(void **state)
{
    const struct cc_quality_plan plan = {.settle.passes = 60};
    struct cc_settled settled[3];
    struct fixture f;
    open_huge(&f, state, "fp32,local,local:every=1");
    free(measure_plan(&f.config, &plan, settled));
    assert_gave_up(&f, *state, 1);
    assert_true(settled[0].settled && settled[2].settled && !settled[1].settled);
    close_config(&f);
}

/* --- settling --- */

/* 14 passes of 3 steps have 40 steps or more; local's passes have 2 steps. */
static void settling(void **state)
{
    const struct cc_quality_plan plan = {.settle.passes = 1000}, early = {.settle.passes = 4};
    struct cc_settled settled[4];
    struct fixture f;
    open_gradients(&f, state, "3lc,int8,local:every=2,int8:ef=1");
    struct cc_quality *q = measure_plan(&f.config, &plan, settled);
    assert_in_range(settled[0].passes, 29, 1000);
    assert_true(settled[0].settled && settled[0].steps == 3 * (settled[0].passes - 1));
    assert_true(settled[1].passes == 1 && settled[1].settled);
    assert_true(settled[2].passes == 41 && settled[2].settled); /* every pass sends the same */
    assert_true(settled[3].passes == 29 && settled[3].settled); /* every payload is as long */
    assert_int_equal(q[6].payload_bytes, STEPS * (4 + WEIGHTS));
    free(q);
    q = measure_plan(&f.config, &early, settled);
    assert_true(settled[0].passes == 5 && !settled[0].settled && !settled[0].unknown);
    assert_true(settled[1].passes == 1 && settled[1].settled);
    free(q);
    /* A given number of passes says nothing about a scheme with a state. */
    const struct cc_quality_plan given = {.passes = 2};
    q = measure_plan(&f.config, &given, settled);
    assert_true(settled[0].passes == 2 && !settled[0].settled && settled[0].unknown);
    assert_true(settled[1].settled && !settled[1].unknown);
    free(q);
    close_config(&f);
}

/* The mean of the last 40 steps or more by a plain loop, and the errors of one more pass. */
static void settled_by_loops(void **state)
{
    (void)state;
    enum { SETTLED_STEPS = 8, WINDOW = 5 };
    const struct cc_tensor_info tensors[] = {{"a", cc_shape_flat(5000)}, {"b", cc_shape_flat(37)}};
    const struct cc_quality_plan plan = {.settle.passes = 1000};
    struct cc_settled settled[2];
    struct fixture f;
    open_config(&f, make_trace(tensors, 2, SETTLED_STEPS), "3lc,topk:k=3,bucket=64");
    struct cc_quality *q = measure_plan(&f.config, &plan, settled);
    for (size_t s = 0; s < 2; s++)
        for (size_t t = 0; t < 2; t++) {
            double bytes = 0;
            for (size_t pass = settled[s].passes - WINDOW; pass < settled[s].passes; pass++)
                bytes += (double)loop_measure(&f.config, s, t, pass).payload_bytes;
            struct cc_quality last = loop_measure(&f.config, s, t, settled[s].passes);
            last.payload_bytes = q[2 * s + t].payload_bytes;
            assert_true(fabs((double)last.payload_bytes - bytes / WINDOW) <= 0.5);
            assert_true(alike(&q[2 * s + t], &last));
        }
    free(q);
    close_config(&f);
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(fp32_by_hand),
        IN_SCRATCH(int8_by_hand),
        IN_SCRATCH(local_by_hand),
        IN_SCRATCH(whole_periods),
        IN_SCRATCH(files_by_loops),
        cmocka_unit_test(blocks_by_loops),
        IN_SCRATCH(passes),
        IN_SCRATCH(min_size),
        IN_SCRATCH(contexts_and_names),
        IN_SCRATCH(one_scheme_fails),
        IN_SCRATCH(settle_fails),
        IN_SCRATCH(settling),
        cmocka_unit_test(settled_by_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
