/* Payload sizes for jobs without data: against codecs that encode tensor by tensor as ranks would;
 * virtual packs against real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "netsim/exchange/pack/gradients.h"
#include "netsim/exchange/pack/pack.h"
#include "netsim/exchange/pack/size_index.h"
#include "netsim/exchange/pack/sizes.h"
#include "tests/lib/jobs.h"
#include "tests/lib/text.h"

enum { TENSORS = 5, WORKERS = 5, STEPS = 6, TRACE_STEPS = 4 };

struct codecs {
    struct cc_codec codec[TENSORS];
};

struct kit {
    struct cc_size_index *size_index;
    struct cc_job job;
    struct cc_spec *spec, *raw;
    size_t values;
    float *gradient, *sum;
    uint8_t *payload;
};

static struct cc_error ignored;

/* --- a job of one row --- */

static void begin(struct kit *k, const char *exchange, const char *scheme)
{
    const size_t matrix[] = {60, 50}, flat[] = {3000, 40, 0, 1700};
    struct cc_shape shape;
    memset(k, 0, sizeof *k);
    jobs_add_flat(&k->job, flat[0], false);
    jobs_add_flat(&k->job, flat[1], true);
    jobs_add_flat(&k->job, flat[2], false);
    assert_int_equal(cc_shape_make(matrix, 2, &shape, &ignored), CC_OK);
    jobs_add(&k->job, &shape, false);
    jobs_add_flat(&k->job, flat[3], false);
    assert_int_equal(cc_spec_parse(scheme, &k->spec, &ignored), CC_OK);
    assert_int_equal(cc_spec_parse("fp32", &k->raw, &ignored), CC_OK);
    k->job.exchange = (enum cc_exchange)cc_exchange_find(exchange);
    k->job.workers = WORKERS;
    k->job.servers = strcmp(exchange, "ps") == 0 ? 1 : 0;
    k->job.seed = 77;
    k->job.distribution = CC_LAPLACE;
    k->job.trace_steps = TRACE_STEPS;
    k->job.data = false;
    k->job.rows = 1;
    k->job.row = cc_alloc0(sizeof *k->job.row, &ignored);
    *k->job.row = (struct cc_job_row){.scheme = cc_strdup(scheme, &ignored),
                                      .reduction = cc_reduction(k->spec->scheme, k->spec->params),
                                      .period = cc_period(k->spec->scheme, k->spec->params),
                                      .warmup = 0,
                                      .steps = STEPS};
    k->values = cc_job_values(&k->job);
    k->gradient = cc_alloc(k->values * sizeof(float), &ignored);
    k->sum = cc_alloc0(k->values * sizeof(float), &ignored);
    k->payload = cc_alloc(32 * k->values + 4096, &ignored);
}

static void end(struct kit *k)
{
    struct cc_job_row *row = k->job.row;
    cc_size_index_free(k->size_index);
    cc_job_sizes_free(&row->sizes);
    free(row->scheme);
    free(row->cost);
    free(row);
    k->job.row = NULL;
    jobs_free(&k->job);
    cc_spec_free(k->spec);
    cc_spec_free(k->raw);
    free(k->gradient);
    free(k->sum);
    free(k->payload);
}

static void fill(struct kit *k)
{
    struct cc_error e = {""};
    if (cc_sizes_fill(&k->job, &(struct cc_sizes_config){0}, &e) != CC_OK)
        fail_msg("%s", e.text);
}

/* --- codecs by hand --- */

static void make_codecs(const struct kit *k, struct codecs *c)
{
    for (size_t i = 0; i < TENSORS; i++) {
        const struct cc_spec *s = k->job.tensor[i].raw ? k->raw : k->spec;
        struct cc_codec *codec = &c->codec[i];
        *codec = (struct cc_codec){
            .scheme = s->scheme, .params = s->params, .shape = k->job.tensor[i].shape};
        codec->state = cc_alloc0(cc_state_bytes(codec) + 1, &ignored);
        codec->scratch = cc_alloc(cc_scratch_bytes(codec) + 1, &ignored);
        cc_codec_reset(codec);
    }
}

static void free_codecs(struct codecs *c)
{
    for (size_t i = 0; i < TENSORS; i++) {
        free(c->codec[i].state);
        free(c->codec[i].scratch);
    }
}

/* Encodes one tensor of x, adds scale times the decoded values to y, and returns the payload's
 * bytes. */
static size_t through(const struct kit *k, const struct codecs *c, size_t i, int64_t rank,
                      enum cc_direction direction, uint64_t step, const float *x, float scale,
                      float *y)
{
    const struct cc_context ctx = {.seed = k->job.seed,
                                   .rank = rank,
                                   .direction = direction,
                                   .step = step,
                                   .tensor = i,
                                   .name = "t"};
    const struct cc_codec *codec = &c->codec[i];
    const size_t at = k->job.offset[i];
    struct cc_error e = {""};
    size_t len;
    if (cc_encode(codec, &ctx, x + at, k->payload, cc_bound(codec), &len, &e) != CC_OK ||
        (y != NULL && cc_decode_add(codec, &ctx, k->payload, len, scale, y + at, &e) != CC_OK))
        fail_msg("%s", e.text);
    return len;
}

static void make_index(struct kit *k);

static void load(const struct kit *k, int worker, size_t step)
{
    struct cc_gradients *g;
    assert_int_equal(cc_gradients_open(&k->job, NULL, &g, &ignored), CC_OK);
    assert_int_equal(
        cc_gradients_load(g, worker, step % cc_gradients_steps(g, worker), k->gradient, &ignored),
        CC_OK);
    cc_gradients_close(g);
}

/* --- tables --- */

static void assert_size(const uint64_t *table, size_t line, size_t step, size_t tensor, size_t want)
{
    const uint64_t is = table[(line * STEPS + step) * TENSORS + tensor];
    if (is != want)
        fail_msg("line %zu, step %zu, tensor %zu: %llu bytes, not %zu", line, step, tensor,
                 (unsigned long long)is, want);
}

/* Every worker encodes its gradient; the server encodes the mean of the decoded values for the way
 * back. */
static void check_ps(const char *scheme)
{
    struct kit k;
    struct codecs push[WORKERS], pull;
    begin(&k, "ps", scheme);
    fill(&k);
    const struct cc_job_sizes *s = &k.job.row->sizes;
    assert_false(s->fixed);
    assert_int_equal(s->workers, WORKERS);
    assert_int_equal(s->steps, STEPS);
    assert_null(s->hop);
    for (int w = 0; w < WORKERS; w++)
        make_codecs(&k, &push[w]);
    make_codecs(&k, &pull);
    for (size_t step = 0; step < STEPS; step++) {
        memset(k.sum, 0, k.values * sizeof(float));
        for (int w = 0; w < WORKERS; w++) {
            load(&k, w, step);
            for (size_t i = 0; i < TENSORS; i++)
                assert_size(s->push, (size_t)w, step, i,
                            through(&k, &push[w], i, w, CC_PUSH, step, k.gradient,
                                    (float)(1.0 / WORKERS), k.sum));
        }
        for (size_t i = 0; i < TENSORS; i++)
            assert_size(s->pull, 0, step, i,
                        through(&k, &pull, i, -1, CC_PULL, step, k.sum, 0, NULL));
    }
    for (int w = 0; w < WORKERS; w++)
        free_codecs(&push[w]);
    free_codecs(&pull);
    end(&k);
}

static void pushes_and_pulls(void **state)
{
    (void)state;
    check_ps("3lc:s=1.75");
    check_ps("sparse:density=0.1,select=exact");
    check_ps("threshold:tau=0.01");
    check_ps("local:every=2,inner=(3lc)");
    check_ps("qsgd:code=elias");
    check_ps("zstd");
}

/* A chain of workers: each encodes the sum of the received values and its own. */
static void sums_on_their_way(void **state)
{
    (void)state;
    struct kit k;
    struct codecs hop[WORKERS];
    begin(&k, "ring", "3lc:s=1.5");
    fill(&k);
    const struct cc_job_sizes *s = &k.job.row->sizes;
    assert_int_equal(s->sums, 3); /* 1, 2 and 4 of 5 */
    assert_null(s->pull);
    for (int w = 0; w < WORKERS; w++)
        make_codecs(&k, &hop[w]);
    for (size_t step = 0; step < STEPS; step++) {
        float *received = cc_alloc0(k.values * sizeof(float), &ignored);
        for (int w = 0; w < WORKERS; w++) {
            load(&k, w, step);
            for (size_t i = 0; i < k.values; i++)
                k.gradient[i] += received[i];
            memset(received, 0, k.values * sizeof(float));
            for (size_t i = 0; i < TENSORS; i++) {
                size_t len = through(&k, &hop[w], i, w, CC_PUSH, step, k.gradient, 1, received);
                if (w == 0 || w == 1 || w == 3)
                    assert_size(s->hop, w == 3 ? 2 : (size_t)w, step, i, len);
            }
        }
        free(received);
    }
    for (int w = 0; w < WORKERS; w++)
        free_codecs(&hop[w]);
    end(&k);
}

/* How many values of a tensor are not 0 in any of the steps sent[workers][k->values]. */
static size_t united(const struct kit *k, const float *sent, size_t workers, size_t tensor)
{
    size_t count = 0;
    for (size_t v = k->job.offset[tensor]; v < k->job.offset[tensor + 1]; v++) {
        size_t w = 0;
        while (w < workers && sent[w * k->values + v] == 0)
            w++;
        count += w < workers;
    }
    return count;
}

/* Sums of merged pairs: the values that any worker of a group sends, found in what is decoded;
 * means over the groups of one, two and four consecutive workers. The fifth is in no group of two
 * or four. */
static void merged_pairs(void **state)
{
    (void)state;
    struct kit k;
    struct codecs push[WORKERS];
    begin(&k, "ssar-split", "topk:k=2,bucket=100");
    fill(&k);
    const struct cc_job_sizes *s = &k.job.row->sizes;
    assert_false(s->fixed);
    assert_null(s->hop);
    assert_int_equal(s->sums, 3);
    float *sent = cc_alloc0(WORKERS * k.values * sizeof(float), &ignored);
    for (int w = 0; w < WORKERS; w++)
        make_codecs(&k, &push[w]);
    for (size_t step = 0; step < STEPS; step++) {
        memset(sent, 0, WORKERS * k.values * sizeof(float));
        for (int w = 0; w < WORKERS; w++) {
            load(&k, w, step);
            for (size_t i = 0; i < TENSORS; i++)
                through(&k, &push[w], i, w, CC_PUSH, step, k.gradient, 1,
                        sent + (size_t)w * k.values);
        }
        for (size_t sum = 0; sum < 3; sum++)
            for (size_t i = 0; i < TENSORS; i++) {
                const size_t size = (size_t)1 << sum, groups = WORKERS / size;
                size_t count = 0;
                for (size_t group = 0; group < groups; group++)
                    count += united(&k, sent + group * size * k.values, size, i);
                assert_size(s->pairs, sum, step, i, (2 * count + groups) / (2 * groups));
            }
    }
    for (int w = 0; w < WORKERS; w++)
        free_codecs(&push[w]);
    free(sent);
    end(&k);
}

/* Unions of uniform sets, as they were counted for up to four workers: any number of workers has
 * the expectation, any part of a tensor its part, and no sum more pairs than values. */
static void sums_of_any_number(void **state)
{
    (void)state;
    enum { EACH = 100000, SETS = 3 };
    struct kit k;
    double whole[SETS];
    begin(&k, "ssar-recdouble", "topk");
    struct cc_job_sizes *s = &k.job.row->sizes;
    *s = (struct cc_job_sizes){.workers = 1, .steps = 1, .sums = SETS};
    s->push = cc_alloc0(TENSORS * sizeof *s->push, &ignored);
    s->pairs = cc_alloc0(SETS * TENSORS * sizeof *s->pairs, &ignored);
    /* Larger tensors, so that rounding to whole pairs does not matter. */
    for (size_t i = 0; i < TENSORS; i++) {
        k.job.tensor[i].shape = cc_shape_flat(EACH * (i + 1));
        k.job.tensor[i].raw = i == 1;
    }
    assert_int_equal(cc_job_lay_out(&k.job, &ignored), CC_OK);
    for (int sum = 0; sum < SETS; sum++)
        for (size_t i = 0; i < TENSORS; i++) {
            const double n = (double)EACH * (double)(i + 1);
            whole[sum] = i == 1 ? n : n * (1 - pow(0.99, 1 << sum));
            s->pairs[sum * TENSORS + (int)i] = (uint64_t)round(whole[sum]);
        }
    make_index(&k);
    for (int workers = 1; workers < 300; workers += workers < 20 ? 1 : 31) {
        const size_t *at = k.job.offset;
        const double share = 1 - pow(0.99, workers);
        const struct {
            size_t from, to;
            double pairs;
        } list[] = {
            {at[2], at[3], 3 * EACH * share},
            {at[2] + EACH, at[4] + 7, (6 * EACH + 7) * share},
            {at[1], at[2], 2 * EACH},
            {at[1] + 5, at[1] + 9, 4},
            {at[5], at[5], 0},
        };
        for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
            const double is =
                (double)cc_size_index_pairs(k.size_index, workers, 0, list[i].from, list[i].to);
            if (fabs(is - list[i].pairs) > 1 + 0.002 * list[i].pairs)
                fail_msg("%d workers, range %zu: %g pairs, not %g", workers, i, is, list[i].pairs);
        }
    }
    end(&k);
}

static void fixed_ones_are_told(void **state)
{
    (void)state;
    const struct {
        const char *scheme;
        bool fixed;
    } list[] = {{"fp32", true},          {"int8", true},
                {"ternary", true},       {"ternary:zre=1", false},
                {"mqe1bit", true},       {"sparse", false},
                {"local:every=3", true}, {"local:every=2,inner=(3lc)", false},
                {"3lc", false},          {"3lc:zre=0", true},
                {"qsgd", true},          {"qsgd:code=elias", false},
                {"topk", true},          {"bf16", true},
                {"signsgd", true},       {"randk", true},
                {"threshold", false},    {"dgc", false},
                {"powersgd", true},      {"lz4", false}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct kit k;
        bool fixed;
        begin(&k, "ps", list[i].scheme);
        fill(&k);
        assert_int_equal(cc_sizes_fixed(k.spec, &fixed, &ignored), CC_OK);
        if (k.job.row->sizes.fixed != list[i].fixed || fixed != list[i].fixed)
            fail_msg("%s", list[i].scheme);
        assert_true(k.job.row->sizes.fixed == (k.job.row->sizes.push == NULL));
        end(&k);
    }
}

/* --- parts of large steps --- */

/* The sum of a line of tensors. */
static double total(const uint64_t *line, size_t tensors)
{
    double sum = 0;
    for (size_t i = 0; i < tensors; i++)
        sum += (double)line[i];
    return sum;
}

/* A net of several kinds of tensors, two of them alike, with about 3.7 million values. */
static void begin_large(struct kit *k, const char *exchange, const char *scheme)
{
    const size_t dims[][3] = {{900, 1100, 0}, {900, 1100, 0}, {3000, 300, 0}, {64, 128, 90}};
    begin(k, exchange, scheme);
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        struct cc_shape shape;
        assert_int_equal(cc_shape_make(dims[i], dims[i][2] > 0 ? 3 : 2, &shape, &ignored), CC_OK);
        jobs_add(&k->job, &shape, i == 3);
    }
    jobs_add_flat(&k->job, 123456, false);
    k->job.data = false;
    k->job.row->steps = 4;
    k->job.workers = 4;
}

/* Lengths of all lines of a part's tables are within `off` of the whole step's, in total. */
static void check_part(const char *exchange, const char *scheme, double off)
{
    struct kit k[2];
    struct cc_error e = {""};
    for (size_t i = 0; i < 2; i++) {
        const struct cc_sizes_config config = {.whole = i == 0 ? 0 : 1000};
        begin_large(&k[i], exchange, scheme);
        if (cc_sizes_fill(&k[i].job, &config, &e) != CC_OK)
            fail_msg("%s", e.text);
    }
    const struct cc_job_sizes *a = &k[0].job.row->sizes, *b = &k[1].job.row->sizes;
    const size_t tensors = k[0].job.tensors;
    assert_true(a->fixed == b->fixed && a->steps == b->steps && a->workers == b->workers);
    assert_true(a->sums == b->sums);
    const struct {
        const uint64_t *whole, *part;
        size_t lines;
    } table[] = {{a->push, b->push, a->workers * a->steps},
                 {a->pull, b->pull, a->steps},
                 {a->hop, b->hop, a->sums * a->steps},
                 {a->pairs, b->pairs, a->sums * a->steps}};
    for (size_t t = 0; t < 4; t++)
        for (size_t line = 0; line < table[t].lines && table[t].whole != NULL; line++) {
            const double want = total(table[t].whole + line * tensors, tensors);
            const double is = total(table[t].part + line * tensors, tensors);
            if (!(fabs(is / want - 1) <= off))
                fail_msg("%s, %s, table %zu, line %zu: %g, and of the whole step %g", exchange,
                         scheme, t, line, is, want);
            /* Tensors that travel as fp32 are exact in any part. */
            const size_t raw = tensors - 2;
            if (t < 3)
                assert_int_equal(table[t].part[line * tensors + raw], 4 * 64 * 128 * 90);
        }
    make_index(&k[1]); /* takes no size beyond a bound */
    end(&k[0]);
    end(&k[1]);
}

static void parts_stand_for_the_whole(void **state)
{
    (void)state;
    check_part("ps", "3lc:s=1.75", 0.02);
    check_part("ps", "qsgd:code=elias", 0.02);
    check_part("ring", "3lc", 0.03);
    check_part("ring", "threshold:tau=0.0003", 0.25); /* by the scale of each tensor */
    check_part("ssar-split", "topk:k=2,bucket=100", 0.03);
    check_part("ps", "zstd", 0.02);
    check_part("ps", "powersgd", 0);
}

/* A trace's gradients, of which a piece has the first rows. */
static void parts_of_captured_gradients(void **state)
{
    (void)state;
    double bytes[2];
    struct cc_error e = {""};
    for (int part = 0; part < 2; part++) {
        struct kit k;
        struct cc_trace *t = NULL;
        begin_large(&k, "ps", "3lc:s=1.75");
        struct cc_tensor_info *info = cc_alloc0(k.job.tensors * sizeof *info, &ignored);
        for (size_t i = 0; i < k.job.tensors; i++)
            info[i] = (struct cc_tensor_info){k.job.tensor[i].name, k.job.tensor[i].shape};
        const struct cc_synth config = {.distribution = CC_LAPLACE,
                                        .seed = 5,
                                        .steps = TRACE_STEPS,
                                        .ranks = WORKERS,
                                        .decay = 0.1};
        assert_int_equal(cc_trace_synth(&config, info, k.job.tensors, "t", &t, &ignored), CC_OK);
        const struct cc_sizes_config sizes = {.whole = part ? 1000 : 0, .trace = t};
        if (cc_sizes_fill(&k.job, &sizes, &e) != CC_OK)
            fail_msg("%s", e.text);
        bytes[part] = total(k.job.row->sizes.push, k.job.tensors);
        cc_trace_close(t);
        free(info);
        end(&k);
    }
    if (fabs(bytes[1] / bytes[0] - 1) > 0.02)
        fail_msg("%g, and of the whole step %g", bytes[1], bytes[0]);
}

/* 70 billion values take the memory of their part: a whole step would be 280 GB. */
static void parts_of_any_size(void **state)
{
    (void)state;
    struct kit k;
    struct cc_error e = {""};
    const size_t rows[] = {8192, (size_t)1 << 23, 3}, columns[] = {28672, 8192, (size_t)1 << 30};
    begin(&k, "ps", "3lc");
    for (size_t i = 0; i < 3; i++) {
        struct cc_shape shape;
        assert_int_equal(cc_shape_make((size_t[]){rows[i], columns[i]}, 2, &shape, &ignored),
                         CC_OK);
        jobs_add(&k.job, &shape, false);
    }
    k.job.data = false;
    k.job.row->steps = 2;
    if (cc_sizes_fill(&k.job, &(struct cc_sizes_config){0}, &e) != CC_OK)
        fail_msg("%s", e.text);
    const size_t tensors = k.job.tensors;
    for (size_t i = TENSORS; i < tensors; i++) {
        const double n = (double)k.job.tensor[i].shape.n;
        const double bits = 8 * (double)k.job.row->sizes.push[i] / n;
        assert_true(bits > 0.1 && bits < 1.6);
    }
    make_index(&k);
    end(&k);
}

/* A table that begins at a later step is part of a table of all steps; tables of more steps than
 * fit hold the counted ones. */
static void steps_before_leave_their_mark(void **state)
{
    (void)state;
    enum { BEFORE = 140, FIT = 128 };
    const size_t before = BEFORE;
    const struct cc_sizes_config config = {.before = &before};
    struct cc_error e = {""};
    for (int warm = 0; warm < 2; warm++) {
        struct kit k;
        begin(&k, "ps", "3lc:s=1.75");
        k.job.row->warmup = warm ? BEFORE : 0;
        if (cc_sizes_fill(&k.job, warm ? &(struct cc_sizes_config){0} : &config, &e) != CC_OK)
            fail_msg("%s", e.text);
        /* Sizes by hand, from the first step on. */
        struct codecs push;
        const struct cc_job_sizes *s = &k.job.row->sizes;
        assert_int_equal(s->steps, warm ? FIT : STEPS);
        make_codecs(&k, &push);
        for (size_t step = 0; step < BEFORE + STEPS; step++) {
            load(&k, 0, step);
            for (size_t i = 0; i < TENSORS; i++) {
                size_t len = through(&k, &push, i, 0, CC_PUSH, step, k.gradient, 0, NULL);
                const size_t at = warm ? step % FIT : step - BEFORE;
                if (step >= BEFORE)
                    assert_int_equal(s->push[at * TENSORS + i], len);
            }
        }
        free_codecs(&push);
        end(&k);
    }
}

static bool third(void *arg, size_t row, double done)
{
    int *calls = arg;
    assert_int_equal(row, 0);
    assert_true(done >= 0 && done < 1);
    return ++*calls == 3;
}

static void stops_when_told_to(void **state)
{
    (void)state;
    struct kit k;
    struct cc_error e = {""};
    int calls = 0;
    const struct cc_sizes_config config = {.on_tick = third, .arg = &calls};
    begin(&k, "ps", "3lc");
    assert_int_equal(cc_sizes_fill(&k.job, &config, &e), CC_FAIL);
    assert_int_equal(calls, 3);
    assert_contains(e.text, "the payload sizes of 3lc: stopped");
    end(&k);
}

/* --- packs --- */

/* Makes a real and a virtual pack of the same values. */
static void make_pair(const struct kit *k, size_t from, size_t to, struct cc_pack *out[2])
{
    struct cc_slice *slice;
    size_t slices;
    struct cc_job with = k->job;
    with.data = true;
    assert_int_equal(cc_slices(&k->job, from, to, &slice, &slices, &ignored), CC_OK);
    for (int i = 0; i < 2; i++) {
        const struct cc_pack_config config = {.job = i == 0 ? &with : &k->job,
                                              .row = k->job.row,
                                              .sizes = k->size_index,
                                              .spec = k->spec,
                                              .raw = k->raw,
                                              .seed = k->job.seed,
                                              .rank = 2,
                                              .direction = CC_PUSH};
        assert_int_equal(cc_pack_make(&config, slice, slices, &out[i], &ignored), CC_OK);
    }
    free(slice);
}

static void make_index(struct kit *k)
{
    struct cc_error e = {""};
    if (cc_size_index_make(&k->job, k->job.row, &k->size_index, &e) != CC_OK)
        fail_msg("%s", e.text);
}

/* Encodes the same tensors with both packs, which must report the same numbers. */
static void check_packs(const char *scheme, size_t first, size_t last, bool part)
{
    struct kit k;
    struct cc_pack *c[2];
    begin(&k, "allgather", scheme);
    fill(&k);
    make_index(&k);
    const size_t from = k.job.offset[first] + (part ? 512 : 0);
    make_pair(&k, from, k.job.offset[last + 1] - (part ? 100 : 0), c);
    assert_int_equal(cc_pack_bound(c[0]), cc_pack_bound(c[1]));
    for (size_t step = 0; step < STEPS; step++) {
        size_t len[2], head[2];
        uint64_t bytes[2][TENSORS] = {{0}};
        load(&k, 2, step);
        assert_int_equal(
            cc_pack_encode(c[0], step, k.gradient, k.payload, &len[0], &head[0], &ignored), CC_OK);
        assert_int_equal(cc_pack_encode(c[1], step, NULL, NULL, &len[1], &head[1], &ignored),
                         CC_OK);
        cc_pack_count(c[0], bytes[0]);
        cc_pack_count(c[1], bytes[1]);
        if (len[0] != len[1] || head[0] != head[1])
            fail_msg("%s, step %zu: %zu bytes, %zu of them head; without data %zu, %zu", scheme,
                     step, len[0], head[0], len[1], head[1]);
        assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
        assert_int_equal(cc_pack_size(c[1], 2, step), len[0]);
        assert_int_equal(cc_pack_decode(c[1], step, NULL, len[1], NULL, &ignored), CC_OK);
        assert_int_equal(cc_pack_decode_add(c[1], step, NULL, len[1], 1, NULL, &ignored), CC_OK);
    }
    struct cc_error e = {""};
    size_t pairs;
    assert_int_equal(cc_pack_to_pairs(c[1], 0, NULL, 0, NULL, &pairs, &e), CC_FAIL);
    assert_string_equal(e.text, "a pack without data has no pairs");
    cc_pack_give_back(c[1], &(struct cc_index_value){0, 1}, 1);
    cc_pack_free(c[0]);
    cc_pack_free(c[1]);
    end(&k);
}

static void virtual_packs_equal_real_ones(void **state)
{
    (void)state;
    const char *const list[] = {"fp32",   "3lc",    "local:every=2", "local:every=2,inner=(3lc)",
                                "sparse", "mqe1bit"};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        check_packs(list[i], 0, TENSORS - 1, false);
        check_packs(list[i], 1, 3, false);
        check_packs(list[i], 2, 2, false);
    }
    /* Parts of tensors are allowed only where sizes do not depend on the data. */
    check_packs("mqe1bit", 0, TENSORS - 1, true);
    check_packs("local:every=3", 0, 0, true);
    check_packs("3lc:zre=0", 0, 4, true);
}

/* The parts of tensors add up to the tensors, in proportion to their values; payloads may have more
 * bytes than values. */
static void check_parts_of_tensors(const char *scheme)
{
    struct kit k;
    begin(&k, "ring", scheme);
    fill(&k);
    make_index(&k);
    const size_t cut[] = {0, 700, 2900, 3030, 3041, 5000, 7740}, parts = 6;
    const struct cc_payload_id of = {.direction = CC_PUSH, .workers = 3, .rank = 1};
    const uint64_t *hop = k.job.row->sizes.hop + STEPS * TENSORS; /* between two workers */
    for (uint64_t step = 0; step < STEPS; step++) {
        size_t sum = 0, whole = 0;
        for (size_t i = 0; i < parts; i++) {
            struct cc_value_range s = {.from = cut[i], .to = cut[i + 1]};
            while (k.job.offset[s.first + 1] <= s.from)
                s.first++;
            s.last = s.first;
            while (k.job.offset[s.last + 1] < s.to)
                s.last++;
            struct cc_payload_size w = {0};
            cc_size_index_add(k.size_index, &of, step, &s, &w);
            sum += w.payload;
            if (i == 0)
                assert_int_equal(w.payload, (size_t)hop[step * TENSORS] * 700 / 3000);
        }
        for (size_t i = 0; i < TENSORS; i++)
            whole += hop[step * TENSORS + i];
        assert_int_equal(cut[parts], k.values);
        assert_int_equal(sum, whole);
    }
    end(&k);
}

static void parts_add_up(void **state)
{
    (void)state;
    check_parts_of_tensors("3lc");
    check_parts_of_tensors("zstd");
}

static void rounds_are_known(void **state)
{
    (void)state;
    const char *const list[] = {"fp32", "randk", "powersgd:rank=2", "local:every=2"};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct kit k;
        struct cc_pack *c[2];
        begin(&k, "ring", list[i]);
        fill(&k);
        assert_true(k.job.row->sizes.fixed); /* no other size is requested */
        make_index(&k);
        make_pair(&k, 0, k.values, c);
        assert_int_equal(cc_pack_rounds(c[0]), cc_pack_rounds(c[1]));
        for (size_t step = 0; step < 4; step++)
            for (size_t round = 0; round < cc_pack_rounds(c[0]); round++) {
                size_t len[2];
                uint64_t bytes[2][TENSORS] = {{0}};
                load(&k, 2, step);
                assert_int_equal(cc_pack_encode_round(c[0], step, round, k.gradient, k.payload,
                                                      &len[0], &ignored),
                                 CC_OK);
                assert_int_equal(
                    cc_pack_encode_round(c[1], step, round, NULL, NULL, &len[1], &ignored), CC_OK);
                assert_int_equal(len[0], len[1]);
                cc_pack_count(c[0], bytes[0]);
                cc_pack_count(c[1], bytes[1]);
                assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
                for (int w = 0; w < 2; w++)
                    assert_int_equal(
                        cc_pack_absorb(c[w], step, round, k.payload, len[0], 1, k.sum, &ignored),
                        CC_OK);
            }
        cc_pack_free(c[0]);
        cc_pack_free(c[1]);
        end(&k);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct kit k;
    struct cc_error e = {""};
    begin(&k, "allgather", "3lc");
    fill(&k);
    k.job.row->sizes.push[3] = 4 + 601; /* 3,000 values have a bound of 4 + 600 */
    assert_int_equal(cc_size_index_make(&k.job, k.job.row, &k.size_index, &e), CC_FAIL);
    assert_contains(e.text, "tensor 't3': a payload of 605 bytes, and 3lc has 604 at most");
    k.size_index = NULL;
    end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_and_pulls),
        cmocka_unit_test(sums_on_their_way),
        cmocka_unit_test(merged_pairs),
        cmocka_unit_test(sums_of_any_number),
        cmocka_unit_test(fixed_ones_are_told),
        cmocka_unit_test(parts_stand_for_the_whole),
        cmocka_unit_test(parts_of_any_size),
        cmocka_unit_test(parts_of_captured_gradients),
        cmocka_unit_test(steps_before_leave_their_mark),
        cmocka_unit_test(stops_when_told_to),
        cmocka_unit_test(virtual_packs_equal_real_ones),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(rounds_are_known),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
