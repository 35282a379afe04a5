/* The error of a scheme's updates: by hand, against plain loops over long traces, and on short
 * pieces of one trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sample.h"
#include "bench/update_error.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace_write.h"
#include "tests/lib/bench_config.h"
#include "tests/lib/scratch.h"

static void measure(struct fixture *f, struct cc_update_error *out)
{
    struct cc_error e = {""};
    if (cc_update_errors(&f->config, out, &e) != CC_OK)
        fail_msg("%s", e.text);
    for (size_t s = 0; s < f->schemes.count; s++)
        assert_string_equal(f->config.failed[s].text, "");
}

/* A mixture over three tensors, whose steps have the correlation `decay`. */
static struct cc_trace *mixture(size_t steps, double decay)
{
    const size_t wide[] = {40, 100}, square[] = {32, 32};
    struct cc_tensor_info tensors[3] = {{.name = "w"}, {.name = "s"}, {"b", cc_shape_flat(50)}};
    const struct cc_synth config = {
        .distribution = CC_MIXTURE, .seed = 5, .steps = steps, .ranks = 1, .decay = decay};
    struct cc_trace *t;
    struct cc_error e = {""};
    assert_int_equal(cc_shape_make(wide, 2, &tensors[0].shape, &e), CC_OK);
    assert_int_equal(cc_shape_make(square, 2, &tensors[1].shape, &e), CC_OK);
    if (cc_trace_synth(&config, tensors, 3, "test", &t, &e) != CC_OK)
        fail_msg("%s", e.text);
    return t;
}

/* The same in files. */
static struct cc_trace *captured(void **state, size_t steps, double decay)
{
    char name[32];
    uint64_t files, bytes;
    struct cc_error e = {""};
    struct cc_trace *t = mixture(steps, decay);
    (void)snprintf(name, sizeof name, "%zu", steps);
    const char *path = scratch_path(state, name);
    if (cc_trace_write(t, path, NULL, NULL, NULL, NULL, &files, &bytes, &e) != CC_OK)
        fail_msg("%s", e.text);
    cc_trace_close(t);
    return open_trace(path);
}

/* --- by hand --- */

/* The sum of the gradients' squares, with the first step and the others so many times. */
static double raw_sq(int first, int others)
{
    double raw = 0;
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < VALUES; i++)
            raw += (s == 0 ? first : others) * (double)gradients[s][i] * (double)gradients[s][i];
    return raw;
}

/* Errors of single steps are those of the fixture; what is sent does not depend on chance. */
static void int8_by_hand(void **state)
{
    struct fixture f;
    struct cc_update_error r;
    const double raw = raw_sq(1, 1);
    open_gradients(&f, state, "int8");
    measure(&f, &r);
    assert_true(fabs(r.bias / ((0.0625 + 0.25 + 0.25 + 0.0625) / raw) - 1) < 1e-12);
    assert_true(r.variance == 0 && isnan(r.delay) && r.settled);
    assert_true(r.low < r.error && r.error < r.high);
    close_config(&f);
}

/* Late and noise of the two windows' 64 steps: 22 times the first, 21 times the others. Halves
 * round to even: int8 delivers 1, -2, 4 and 0 for 1.25, -2.5, 3.5 and 0.25. */
static void late_by_hand(void **state)
{
    struct fixture f;
    struct cc_update_error r;
    const double raw = raw_sq(22, 21);
    open_gradients(&f, state, "int8");
    measure(&f, &r);
    const double missed = 22 * (0.25 * 1.25 + 0.5 * 2.5 - 0.5 * 3.5 + 0.25 * 0.25) / raw;
    assert_true(fabs(r.late / fabs(missed) - 1) < 1e-9);
    assert_true(fabs(r.noise / (22 * 0.625 / raw - missed * missed) - 1) < 1e-9);
    close_config(&f);
}

/* Gradients that are all 2^k times as large have the same late and noise. */
static void any_scale(void **state)
{
    static const char of[] = "int8,topk:k=2,3lc,signsgd,ternary,randk:density=0.3,fp32";
    struct fixture f;
    struct cc_update_error r[7], scaled[7];
    open_gradients(&f, state, of);
    measure(&f, r);
    close_config(&f);
    for (int s = 0; s < STEPS; s++) {
        float x[VALUES];
        for (int i = 0; i < VALUES; i++)
            x[i] = ldexpf(gradients[s][i], -20);
        write_step(state, "push", 3, 10 * (s + 1), x);
    }
    open_config(&f, open_trace(*state), of);
    measure(&f, scaled);
    for (int s = 0; s < 7; s++)
        assert_true(r[s].late == scaled[s].late && r[s].noise == scaled[s].noise);
    assert_true(r[6].late == 0 && r[3].late > 0.1);
    close_config(&f);
}

/* Sending nothing loses everything; local steps send all of it at the end of a period, which
 * CC_ERROR_WINDOW steps contain whole; lossless schemes are exact. */
static void extremes(void **state)
{
    (void)state;
    struct fixture f;
    struct cc_update_error r[6];
    open_config(&f, mixture(8, 0),
                "threshold:tau=1e30,ef=0,fp32,local:every=2,local:every=3,threshold:tau=1e30,"
                "dgc:density=1");
    measure(&f, r);
    assert_true(r[0].error == 1 && r[0].bias == 1 && r[0].variance == 0 && r[0].nmse == 1);
    assert_true(r[1].error == 0 && r[1].bias == 0 && r[1].high == 0 && r[1].settled);
    assert_true(r[2].error < 1e-12 && r[2].nmse > 0.5);
    assert_true(r[3].error < 1e-12);
    assert_true(fabs(r[0].late - 1) < 1e-12 && r[0].noise < 1e-12);
    assert_true(r[1].late == 0 && r[1].noise == 0);
    assert_true(fabs(r[4].late - 1) < 1e-12 && r[4].noise < 1e-12);
    /* Momentum changes no gradient: dgc sends all of it, and has no velocity left. */
    assert_true(r[5].late == 0 && r[5].noise == 0 && r[5].error > 0.1);
    /* The residual keeps everything: at the ends of windows 5 to 8, 6.5 windows' gradients. */
    assert_true(r[4].error == 1 && fabs(r[4].delay / sqrt(6.5 * CC_ERROR_WINDOW) - 1) < 0.1);
    close_config(&f);
}

/* Tensors that were not drawn count by those that were. */
static void sampled(void **state)
{
    (void)state;
    struct fixture f;
    struct cc_update_error r[2];
    struct cc_tensor_info tensors[400];
    for (size_t i = 0; i < 400; i++)
        tensors[i] = (struct cc_tensor_info){"v", cc_shape_flat(1000)};
    open_config(&f, make_trace(tensors, 400, 2), "threshold:tau=1e30,ef=0,signsgd");
    measure(&f, r);
    assert_true(fabs(r[0].late - 1) < 1e-12 && r[0].noise < 1e-12);
    assert_true(fabs((r[1].late * r[1].late + r[1].noise) / r[1].nmse - 1) < 1e-12);
    close_config(&f);
}

static void one_step(void **state)
{
    (void)state;
    struct fixture f;
    struct cc_update_error r[2];
    open_config(&f, mixture(1, 0), "qsgd,3lc");
    measure(&f, r);
    for (int s = 0; s < 2; s++)
        assert_true(r[s].error > 0 && isnan(r[s].low) && isnan(r[s].high));
    close_config(&f);
}

/* --- by plain loops over steps that all differ --- */

struct sums {
    double error, raw, residual, gradient, dot, updates;
};

/* Runs a scheme over all steps of a trace; windows count from step `from` on. */
static void plain_loop(const struct fixture *f, size_t scheme, size_t tensor, size_t from,
                       struct sums *out)
{
    const struct cc_tensor_info *info = cc_trace_tensor(f->config.trace, tensor);
    const size_t n = info->shape.n;
    struct cc_codec_set set = {0};
    float *x = cc_alloc(n * sizeof *x, NULL), *y = cc_alloc(n * sizeof *y, NULL);
    double *lack = calloc(n, sizeof *lack), *due = calloc(n, sizeof *due),
           *total = calloc(n, sizeof *total);
    assert_int_equal(
        cc_codec_set_single(&set, f->schemes.item[scheme], &info->shape, &cc_memory_in_turn, NULL),
        CC_OK);
    for (size_t step = 0; step < f->config.steps; step++) {
        const struct cc_context ctx = {.seed = 9, .step = step, .tensor = tensor};
        size_t len;
        assert_int_equal(cc_trace_load(f->config.trace, 0, step, tensor, x, NULL), CC_OK);
        assert_int_equal(
            cc_encode(&set.item->codec, &ctx, x, set.item->payload, set.item->bound, &len, NULL),
            CC_OK);
        assert_int_equal(cc_decode(&set.item->codec, &ctx, set.item->payload, len, y, NULL), CC_OK);
        for (size_t i = 0; i < n; i++) {
            lack[i] += (double)y[i] - (double)x[i];
            due[i] += (double)x[i];
            total[i] += (double)y[i] - (double)x[i];
            out->gradient += step >= from ? (double)x[i] * (double)x[i] : 0;
            out->dot += step >= from ? (double)y[i] * (double)x[i] : 0;
            out->updates += step >= from ? (double)y[i] * (double)y[i] : 0;
        }
        if ((step + 1) % CC_ERROR_WINDOW != 0)
            continue;
        for (size_t i = 0; i < n && step >= from; i++) {
            out->error += lack[i] * lack[i];
            out->raw += due[i] * due[i];
            out->residual += total[i] * total[i] * CC_ERROR_WINDOW;
        }
        memset(lack, 0, n * sizeof *lack);
        memset(due, 0, n * sizeof *due);
    }
    cc_codec_set_free(&set);
    free(x);
    free(y);
    free(lack);
    free(due);
    free(total);
}

static const char schemes[] = "qsgd,ternary,signsgd,3lc,topk,sparse,mqe1bit,randk:density=0.1,"
                              "powersgd:rank=1,local:inner=qsgd,3lc:s=1.5";
enum { SCHEMES = 11, FIRST_STATE = 3, LOW_RANK = 8, WRAPPER = 9 };
enum { SLOW = 10 }; /* takes thousands of steps */

/* The error of 16 steps is close to that of 1,024, by its interval. */
static void against_long_traces(void **state)
{
    struct fixture few, many;
    struct cc_update_error r[SCHEMES];
    open_config(&few, captured(state, 16, 0), schemes);
    open_config(&many, captured(state, 1024, 0), schemes);
    measure(&few, r);
    for (size_t s = 0; s < SLOW; s++) {
        struct sums all = {0};
        for (size_t t = 0; t < 3; t++)
            plain_loop(&many, s, t, 256, &all);
        const double error = all.error / all.raw;
        if (r[s].error > 1.5 * error || r[s].error < error / 1.5 || r[s].low > error ||
            r[s].high < error)
            fail_msg("%s: %g (%g to %g), and %g", many.schemes.item[s]->name, r[s].error, r[s].low,
                     r[s].high, error);
        const double share = all.dot / all.gradient;
        const double noise = all.updates / all.gradient - share * share;
        if (fabs(r[s].late - fabs(1 - share)) > 0.06 || fabs(r[s].noise / noise - 1) > 0.25)
            fail_msg("%s: late %g and noise %g; of all steps %g and %g", many.schemes.item[s]->name,
                     r[s].late, r[s].noise, fabs(1 - share), noise);
        if (!isnan(r[s].delay))
            assert_true(fabs(r[s].delay / sqrt(all.residual / all.gradient) - 1) < 0.4);
        assert_int_equal(isnan(r[s].delay), s < FIRST_STATE || s == WRAPPER);
    }
    /* Without feedback an unbiased step keeps its variance; signs are biased, and nothing else. */
    assert_true(r[0].bias < 0.02 * r[0].variance && r[1].bias < 0.02 * r[1].variance);
    assert_true(fabs(r[0].error / r[0].variance - 1) < 0.1);
    assert_true(r[2].variance == 0 && fabs(r[2].error / r[2].bias - 1) < 0.1);
    close_config(&few);
    close_config(&many);
}

/* Late and noise are of the gradients without the scheme's own momentum. */
static void own_momentum(void **state)
{
    (void)state;
    struct fixture few, many;
    struct cc_update_error r;
    struct sums all = {0};
    open_config(&few, mixture(16, 0), "dgc:density=0.3");
    open_config(&many, mixture(1024, 0), "dgc:density=0.3");
    measure(&few, &r);
    for (size_t t = 0; t < 3; t++)
        plain_loop(&many, 0, t, 256, &all);
    const double share = all.dot / all.gradient;
    assert_true(fabs(r.late - fabs(1 - share)) < 0.05);
    assert_true(fabs(r.noise / (all.updates / all.gradient - share * share) - 1) < 0.2);
    close_config(&few);
    close_config(&many);
}

/* The first steps of a trace give what all of it gives. */
static void any_length(void **state)
{
    struct fixture f;
    struct cc_update_error all[SCHEMES], r[SCHEMES];
    open_config(&f, captured(state, 64, 0.1), schemes);
    measure(&f, all);
    for (size_t steps = 2; steps < 64; steps *= 2) {
        f.config.steps = steps;
        measure(&f, r);
        for (size_t s = 0; s < SCHEMES; s++)
            if (r[s].low > all[s].error || r[s].high < all[s].error)
                fail_msg("%s, %zu steps: %g (%g to %g), and %g of 64", f.schemes.item[s]->name,
                         steps, r[s].error, r[s].low, r[s].high, all[s].error);
        /* WRAPPER sends in every second step, always the same ones of the trace. */
        for (size_t s = 0; s < WRAPPER; s++)
            if (fabs(r[s].late - all[s].late) > 0.07 || fabs(r[s].noise / all[s].noise - 1) > 0.25)
                fail_msg("%s, %zu steps: late %g and noise %g, and %g and %g of 64",
                         f.schemes.item[s]->name, steps, r[s].late, r[s].noise, all[s].late,
                         all[s].noise);
    }
    close_config(&f);
}

/* The same number, or no number in both. */
static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The same numbers with any number of threads. */
static void threads(void **state)
{
    struct fixture f;
    struct cc_update_error one[SCHEMES], three[SCHEMES];
    open_config(&f, captured(state, 4, 0.1), schemes);
    measure(&f, one);
    f.config.threads = 3;
    measure(&f, three);
    for (size_t s = 0; s < SCHEMES; s++) {
        const struct cc_update_error *a = &one[s], *b = &three[s];
        assert_true(same(a->error, b->error) && same(a->low, b->low) && same(a->high, b->high));
        assert_true(same(a->nmse, b->nmse) && same(a->delay, b->delay));
        assert_true(same(a->bias, b->bias) && same(a->variance, b->variance));
        assert_true(same(a->late, b->late) && same(a->noise, b->noise));
        assert_int_equal(a->settled, b->settled);
    }
    close_config(&f);
}

/* Drawn matrices tell no error of a scheme that depends on their singular values; the others' are
 * those of the same values in files. */
static void drawn(void **state)
{
    struct fixture f, files;
    struct cc_update_error r[SCHEMES + 1], of_files[SCHEMES + 1];
    char all[256];
    (void)snprintf(all, sizeof all, "%s,local:inner=powersgd", schemes);
    open_config(&f, mixture(4, 0.1), all);
    open_config(&files, captured(state, 4, 0.1), all);
    measure(&f, r);
    measure(&files, of_files);
    for (size_t s = 0; s <= SCHEMES; s++) {
        const bool unknown = s == LOW_RANK || s == SCHEMES;
        assert_true(!isnan(of_files[s].error));
        assert_true(same(r[s].error, unknown ? NAN : of_files[s].error));
        assert_true(isnan(r[s].nmse) == unknown && isnan(r[s].low) == unknown);
    }
    close_config(&f);
    close_config(&files);
    /* Vectors are no matrices. */
    const struct cc_tensor_info flat = {"b", cc_shape_flat(50)};
    open_config(&f, make_trace(&flat, 1, 3), "powersgd");
    measure(&f, r);
    assert_true(r[0].error == 0);
    close_config(&f);
}

static void one_fails(void **state)
{
    struct fixture f;
    struct cc_update_error r[3];
    struct cc_error e = {""};
    open_huge(&f, state, "fp32,local,int8");
    assert_int_equal(cc_update_errors(&f.config, r, &e), CC_OK);
    assert_true(r[0].error == 0 && isnan(r[1].error));
    assert_string_not_equal(f.failed[1].text, "");
    close_config(&f);
}

/* --- the sample --- */

/* 60 matrices of different sizes and 60 vectors; two are very large. */
static struct cc_trace *large_net(void)
{
    struct cc_tensor_info tensors[120];
    for (size_t i = 0; i < 120; i++) {
        const size_t dim[] = {i / 2 == 30 || i / 2 == 31 ? 4000 : 50 + i, 20};
        tensors[i].name = i % 2 == 0 ? "m" : "v";
        if (i % 2 == 0)
            assert_int_equal(cc_shape_make(dim, 2, &tensors[i].shape, NULL), CC_OK);
        else
            tensors[i].shape = cc_shape_flat(100);
    }
    return make_trace(tensors, 120, 3);
}

static void sample(void **state)
{
    (void)state;
    const struct cc_sample_limits limits = {
        .values = 50000, .largest = 10000, .steps = 64, .kept = SIZE_MAX};
    const struct cc_sample_limits enough = {
        .values = SIZE_MAX, .largest = SIZE_MAX, .steps = 64, .kept = SIZE_MAX};
    struct fixture f;
    struct cc_sample s, all;
    struct cc_error e = {""};
    double matrices = 0, vectors = 0;
    open_config(&f, large_net(), "fp32");
    assert_int_equal(cc_sample_open(&f.config, &limits, &s, &e), CC_OK);
    assert_int_equal(cc_sample_open(&f.config, &enough, &all, &e), CC_OK);
    assert_int_equal(all.count, 120);
    assert_in_range(s.values, 30000, 70000);
    for (size_t i = 0; i < s.count; i++) {
        const struct cc_sample_piece *p = &s.piece[i], *whole = &all.piece[p->tensor];
        const struct cc_shape *shape = &cc_trace_tensor(f.config.trace, p->tensor)->shape;
        *(shape->ndim > 1 ? &matrices : &vectors) += p->weight;
        assert_int_equal(p->shape.n, shape->n > 10000 ? 10000 : shape->n);
        assert_int_equal(p->rows * p->columns, p->shape.n);
        for (size_t step = 0; step < 3; step++)
            assert_memory_equal(p->x + step * p->shape.n, whole->x + step * shape->n,
                                p->shape.n * sizeof(float));
    }
    assert_true(fabs(matrices - 60) < 1e-9 && fabs(vectors - 60) < 1e-9);
    cc_sample_free(&s);
    cc_sample_free(&all);
    close_config(&f);
}

/* A later pass has the same magnitudes, and signs of rows times signs of columns; passes are
 * uncorrelated. */
static void signs(void **state)
{
    (void)state;
    const struct cc_sample_limits enough = {
        .values = SIZE_MAX, .largest = SIZE_MAX, .steps = 64, .kept = SIZE_MAX};
    struct fixture f;
    struct cc_sample s;
    struct cc_error e = {""};
    enum { PASSES = 40 };
    open_config(&f, mixture(2, 0), "fp32");
    assert_int_equal(cc_sample_open(&f.config, &enough, &s, &e), CC_OK);
    const struct cc_sample_piece *p = &s.piece[0];
    const size_t n = p->shape.n;
    float *sign = malloc((p->rows + p->columns) * sizeof *sign);
    float *x[PASSES];
    for (size_t i = 0; i < PASSES; i++) {
        x[i] = malloc(n * sizeof(float));
        cc_sample_gradient(&s, p, 1, 2 * i, sign, x[i]);
    }
    assert_memory_equal(x[0], p->x, n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const size_t row = i / p->columns * p->columns, column = i % p->columns;
        assert_true(fabsf(x[1][i]) == fabsf(p->x[i]));
        const float quotient = x[1][i] / p->x[i] * (x[1][0] / p->x[0]);
        assert_true(quotient == x[1][row] / p->x[row] * (x[1][column] / p->x[column]));
    }
    double together = 0, alone = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < PASSES; k++)
            sum += (double)x[k][i];
        together += sum * sum;
        alone += (double)(p->x[i] * p->x[i]);
    }
    assert_true(fabs(together / (PASSES * alone) - 1) < 0.1);
    for (size_t i = 0; i < PASSES; i++)
        free(x[i]);
    free(sign);
    cc_sample_free(&s);
    close_config(&f);
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(int8_by_hand),   IN_SCRATCH(late_by_hand),
        IN_SCRATCH(any_scale),      cmocka_unit_test(extremes),
        cmocka_unit_test(sampled),  cmocka_unit_test(own_momentum),
        cmocka_unit_test(one_step), IN_SCRATCH(against_long_traces),
        IN_SCRATCH(any_length),     IN_SCRATCH(threads),
        IN_SCRATCH(drawn),          IN_SCRATCH(one_fails),
        cmocka_unit_test(sample),   cmocka_unit_test(signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
