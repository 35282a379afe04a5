/* Payload sizes of sums: against those that are found for a job of ranks without data, by other
 * code; and whether they have settled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sum_sizes.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "netsim/exchange/pack/sizes.h"
#include "tests/lib/bench_config.h"
#include "tests/lib/jobs.h"

enum { TENSORS = 3, TRACE_STEPS = 4, ALL_STEPS = 12, COUNTED = 4 };

static struct cc_error ignored;

/* The samples of all workers' streams. */
struct streams {
    struct cc_sample sample[CC_SUM_WORKERS];
    size_t count;
};

static void open_streams(struct fixture *f, size_t count, struct streams *out)
{
    static const struct cc_sample_limits limits = {
        .values = SIZE_MAX, .largest = SIZE_MAX, .steps = SIZE_MAX, .kept = SIZE_MAX};
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        f->config.stream = i;
        assert_int_equal(cc_sample_open(&f->config, &limits, &out->sample[i], &ignored), CC_OK);
    }
    f->config.stream = 0;
}

static void close_streams(struct streams *s)
{
    for (size_t i = 0; i < s->count; i++)
        cc_sample_free(&s->sample[i]);
}

static void measure(struct fixture *f, struct streams *s, size_t steps, size_t counted,
                    struct cc_piece_sums *out, bool *settled)
{
    const struct cc_sum_sizes_config config = {.bench = &f->config,
                                               .sample = s->sample,
                                               .streams = s->count,
                                               .steps = steps,
                                               .counted = counted};
    struct cc_error e = {""};
    if (cc_sum_sizes_measure(&config, 0, out, settled, &e) != CC_OK)
        fail_msg("%s", e.text);
}

static struct cc_trace *mixture(size_t ranks)
{
    const size_t wide[] = {60, 50};
    struct cc_tensor_info tensors[TENSORS] = {
        {.name = "w"}, {"f", cc_shape_flat(3000)}, {"b", cc_shape_flat(40)}};
    const struct cc_synth config = {
        .distribution = CC_MIXTURE, .seed = 9, .steps = TRACE_STEPS, .ranks = ranks, .decay = 0.1};
    struct cc_trace *t;
    assert_int_equal(cc_shape_make(wide, 2, &tensors[0].shape, &ignored), CC_OK);
    assert_int_equal(cc_trace_synth(&config, tensors, TENSORS, "test", &t, &ignored), CC_OK);
    return t;
}

/* --- against a job's sizes --- */

/* The sizes of a job of this number of workers on the fixture's trace. */
static void job_sizes(struct fixture *f, enum cc_exchange x, size_t workers,
                      struct cc_job_sizes *out)
{
    const struct cc_spec *spec = f->schemes.item[0];
    const struct cc_sizes_config config = {.trace = f->config.trace};
    struct cc_job_row row = {.scheme = cc_strdup(spec->name, &ignored),
                             .reduction = cc_reduction(spec->scheme, spec->params),
                             .period = cc_period(spec->scheme, spec->params),
                             .warmup = ALL_STEPS - COUNTED,
                             .steps = COUNTED};
    struct cc_job job = {.kind = CC_JOB_REPLAY,
                         .exchange = x,
                         .workers = (int)workers,
                         .per_host = 1,
                         .servers = x == CC_PS ? 1 : 0,
                         .seed = f->config.seed,
                         .trace_steps = TRACE_STEPS,
                         .row = &row,
                         .rows = 1};
    struct cc_error e = {""};
    for (size_t i = 0; i < TENSORS; i++) {
        const struct cc_tensor_info *info = cc_trace_tensor(f->config.trace, i);
        jobs_add(&job, &info->shape, f->config.raw_tensor[i]);
        free(job.tensor[i].name);
        job.tensor[i].name = cc_strdup(info->name, &ignored);
    }
    if (cc_sizes_fill(&job, &config, &e) != CC_OK)
        fail_msg("%s", e.text);
    *out = row.sizes;
    assert_int_equal(out->steps, ALL_STEPS);
    free(row.scheme);
    job.row = NULL;
    jobs_free(&job);
}

/* The mean over the counted steps of a tensor in line `line` of a table. */
static double mean_of(const struct cc_job_sizes *s, const uint64_t *table, size_t line,
                      size_t tensor)
{
    double sum = 0;
    for (size_t step = ALL_STEPS - COUNTED; step < ALL_STEPS; step++)
        sum += (double)table[(line * s->steps + step) * TENSORS + tensor];
    return sum / COUNTED;
}

static void assert_bytes(const char *what, size_t point, size_t tensor, double is, double want)
{
    /* Rounding of means can move a value over a threshold. */
    if (fabs(is - want) > 0.002 * want + 0.5)
        fail_msg("%s, point %zu, tensor %zu: %g bytes, not %g", what, point, tensor, is, want);
}

/* Residuals, random numbers, a raw tensor and steps that are silent. */
static void as_ranks_do(void **state)
{
    (void)state;
    static const char *const schemes[] = {"3lc",
                                          "3lc:s=1.75",
                                          "threshold",
                                          "qsgd:code=elias",
                                          "local:every=2,inner=(3lc)",
                                          "sparse:density=0.1"};
    static const bool raw[TENSORS] = {false, false, true};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct fixture f;
        struct streams s;
        struct cc_piece_sums piece[TENSORS];
        struct cc_job_sizes sizes;
        bool settled;
        open_config(&f, mixture(CC_SUM_WORKERS), schemes[i]);
        f.config.raw_tensor = raw;
        open_streams(&f, CC_SUM_WORKERS, &s);
        measure(&f, &s, ALL_STEPS, COUNTED, piece, &settled);
        for (size_t k = 1; k < CC_SUM_POINTS; k++) {
            job_sizes(&f, CC_PS, (size_t)1 << k, &sizes);
            for (size_t t = 0; t < TENSORS; t++) {
                assert_bytes(schemes[i], k, t, piece[t].sums.pull[k],
                             mean_of(&sizes, sizes.pull, 0, t));
                assert_bytes(schemes[i], k, t, piece[t].first, mean_of(&sizes, sizes.push, 0, t));
            }
            cc_job_sizes_free(&sizes);
        }
        job_sizes(&f, CC_RING, CC_SUM_WORKERS, &sizes);
        for (size_t t = 0; t < TENSORS; t++) {
            double sum = 0;
            for (size_t k = 0; k < CC_SUM_POINTS; k++)
                assert_bytes(schemes[i], k, t, piece[t].sums.hop[k],
                             mean_of(&sizes, sizes.hop, k, t));
            for (size_t w = 0; w < CC_SUM_WORKERS; w++)
                sum += mean_of(&sizes, sizes.push, w, t);
            assert_bytes(schemes[i], 0, t, piece[t].push, sum / CC_SUM_WORKERS);
            assert_true(piece[t].sums.hop[0] == piece[t].first);
        }
        cc_job_sizes_free(&sizes);
        close_streams(&s);
        close_config(&f);
    }
}

/* --- settling --- */

/* A residual that fills for good has not settled. */
static void unsettled(void **state)
{
    (void)state;
    struct fixture f;
    struct streams s;
    struct cc_piece_sums piece[TENSORS];
    bool settled;
    open_config(&f, mixture(2), "threshold:tau=0.1");
    open_streams(&f, 2, &s);
    measure(&f, &s, ALL_STEPS, COUNTED, piece, &settled);
    assert_false(settled);
    close_streams(&s);
    close_config(&f);
    open_config(&f, mixture(2), "int8");
    open_streams(&f, 2, &s);
    measure(&f, &s, ALL_STEPS, COUNTED, piece, &settled);
    assert_true(settled);
    close_streams(&s);
    close_config(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_ranks_do),
        cmocka_unit_test(unsettled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
