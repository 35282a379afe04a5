/* Limits of memory. A scheme's calls become patterns from its traffic and the size of its payload:
 * encoding reads and updates streams and writes the payload, decoding reads the payload and writes
 * or updates values, for sparse payloads only the lines that they touch. Each sample times the
 * pattern beside the codec, and the best median is the limit. */
#include "bench/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/roofline.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/trace/trace_dtype.h"
#include "core/stats.h"

const char *const cc_limit_place_names[] = {"cache", "L2", "memory"};

enum { LINE_VALUES = CC_ALIGN / sizeof(float) };

/* The patterns of a scheme's calls. */
struct patterns {
    bool known;
    size_t index[CC_CALLS]; /* in the roofline; SIZE_MAX: none */
    bool lists[CC_CALLS];   /* it depends on a list of lines, which differs from step to step */
};

struct cc_limits {
    const struct cc_bench_config *config;
    struct cc_roofline *roofline;
    struct patterns *pattern; /* one per scheme */
    enum cc_limit_place place;
    size_t largest; /* the largest tensor */
    uint32_t *line; /* its lines that are not all zero, as decoded last */
    size_t lines;
    /* the limit of instructions: */
    struct l1_scheme *l1; /* one per scheme; NULL: not measured */
    struct cc_elements x; /* the gradient, which is owned */
    float *y;             /* decoded values */
    double *sorted;       /* room for the samples of a call */
};

/* The scheme that the largest tensor travels under. */
static const struct cc_spec *spec_of(const struct cc_limits *l, size_t scheme)
{
    return cc_bench_spec(l->config, scheme, l->largest);
}

/* --- the limit of the codec's own instructions --- */

/* The speed of the same calls where data stay in the first-level cache, without the cost of the
 * call itself.
 *
 * Tensors of SHORT and of LONG values are timed in each call, directly one after the other, and the
 * difference is what LONG - SHORT values take. Both sizes leave the same remainder in the blocks
 * that kernels work on, and the longer tensor, its residual and its payload fit into 32 KiB (with
 * dgc's momentum they do not). Its values are the first ones of the trace's largest tensor; they
 * begin elsewhere in each call, so that residuals and branches do not meet the same values again
 * and again. */

/* LONG - SHORT is a multiple of 512 (buckets) and of 320 (blocks of five times 64 trits). */
enum { SHORT = 512, LONG = 3072, STARTS = 16, START_VALUES = 16 };
enum { TURNS = 32, CLOCK_STEPS = 1 << 14 };

struct size {
    struct cc_codec_set codec;
    size_t len;
};

struct l1_scheme {
    struct size size[2];
    uint64_t step;
    double *seconds[CC_CALLS]; /* by sample: seconds of a value */
    double *clock;             /* by sample: Hz */
    bool unknown;              /* a call failed, or few values tell nothing: no speeds */
};

static int open_scheme(const struct cc_limits *l, size_t scheme, size_t most, struct cc_error *e)
{
    static const size_t values[2] = {SHORT, LONG};
    const struct cc_spec *spec = spec_of(l, scheme);
    struct l1_scheme *s = &l->l1[scheme];
    s->unknown = cc_period(spec->scheme, spec->params) > 1 ||
                 cc_sum_rounds(spec->scheme, spec->params) > 1; /* matrices (powersgd) */
    for (int i = 0; i < 2; i++) {
        const struct cc_shape shape = cc_shape_flat(values[i]);
        CC_TRY(cc_codec_set_init(&s->size[i].codec, 1, e));
        s->size[i].codec.item[0] = cc_codec_item(spec, &shape);
        s->size[i].codec.item[0].codec.input = cc_trace_element(l->config->trace);
        CC_TRY(cc_codec_set_allocate(&s->size[i].codec, &cc_memory_in_turn, e));
    }
    for (int c = 0; c < CC_CALLS; c++)
        CC_TRY(CC_NEW(s->seconds[c], most, e));
    return CC_NEW(s->clock, most, e);
}

/* Rounds the gradient of n values to its type. */
static int keep_as(struct cc_limits *l, enum cc_element type, size_t n, struct cc_error *e)
{
    uint16_t *half;
    if (type == CC_ELEMENT_FP32)
        return CC_OK;
    CC_TRY(CC_NEW(half, n, e));
    cc_narrow(type, l->x.at, n, half);
    free((void *)(uintptr_t)l->x.at);
    l->x = (struct cc_elements){half, type};
    return CC_OK;
}

/* Leaves l->l1 NULL if the largest tensor is too small, or if there are several threads. */
static int open_l1(struct cc_limits *l, size_t most, struct cc_error *e)
{
    const struct cc_bench_config *config = l->config;
    const size_t values = LONG + STARTS * START_VALUES;
    if (config->threads > 1 || cc_trace_tensor(config->trace, l->largest)->shape.n < values)
        return CC_OK;
    float *x;
    CC_TRY(CC_NEW(x, values, e));
    l->x = cc_elements_f32(x);
    CC_TRY(CC_NEW(l->y, LONG, e));
    CC_TRY(CC_NEW(l->sorted, most, e));
    CC_TRY(CC_NEW(l->l1, config->schemes->count, e));
    for (size_t s = 0; s < config->schemes->count; s++)
        CC_TRY(open_scheme(l, s, most, e));
    CC_TRY(cc_trace_load_first(config->trace, config->stream, 0, l->largest, values, x, e));
    return keep_as(l, cc_trace_element(config->trace), values, e);
}

static void free_l1(struct cc_limits *l)
{
    for (size_t s = 0; l->l1 != NULL && s < l->config->schemes->count; s++) {
        for (int c = 0; c < CC_CALLS; c++)
            free(l->l1[s].seconds[c]);
        for (int i = 0; i < 2; i++)
            cc_codec_set_free(&l->l1[s].size[i].codec);
        free(l->l1[s].clock);
    }
    free(l->l1);
    free((void *)(uintptr_t)l->x.at);
    free(l->y);
    free(l->sorted);
}

/* Seconds of TURNS calls, after one more; -1 after a failure. */
static double seconds_of(const struct cc_limits *l, const struct l1_scheme *s, struct size *size,
                         enum cc_call call)
{
    const struct cc_codec_item *item = size->codec.item;
    struct cc_error error, *e = &error;
    int status = CC_OK;
    double begin = 0;
    for (size_t i = 0; i <= TURNS && status == CC_OK; i++) {
        const uint64_t step = s->step + (call == CC_ENCODE ? i : TURNS);
        const struct cc_context ctx = cc_bench_context(l->config, l->largest, step);
        const struct cc_elements x = cc_elements_from(l->x, i % STARTS * START_VALUES);
        if (i == 1) /* the call before has brought the data into the cache */
            begin = cc_thread_now();
        if (call == CC_ENCODE)
            status =
                cc_encode_from(&item->codec, &ctx, x, item->payload, item->bound, &size->len, e);
        else if (call == CC_DECODE)
            status = cc_decode(&item->codec, &ctx, item->payload, size->len, l->y, e);
        else
            status = cc_decode_add(&item->codec, &ctx, item->payload, size->len, 0.5F, l->y, e);
    }
    return status == CC_OK ? cc_thread_now() - begin : -1;
}

/* Rotations that each need the one before take a cycle each on every processor. */
static double clock_hz(void)
{
    uint64_t x = 1;
    const double begin = cc_thread_now();
    for (int i = 0; i < CLOCK_STEPS; i++) {
#define ROTATE                                                                                     \
    x = x << 7 | x >> 57;                                                                          \
    __asm__ volatile("" : "+r"(x));
        ROTATE ROTATE ROTATE ROTATE ROTATE ROTATE ROTATE ROTATE
#undef ROTATE
    }
    return 8 * CLOCK_STEPS / (cc_thread_now() - begin);
}

static void sample_l1(struct cc_limits *l, size_t scheme, size_t sample)
{
    struct l1_scheme *s = &l->l1[scheme];
    for (int c = 0; c < CC_CALLS && !s->unknown; c++) {
        double seconds[2] = {0};
        for (int i = 0; i < 2 && !s->unknown; i++) {
            seconds[i] = seconds_of(l, s, &s->size[i], (enum cc_call)c);
            s->unknown = seconds[i] < 0;
        }
        s->seconds[c][sample] = (seconds[1] - seconds[0]) / (TURNS * (LONG - SHORT));
    }
    s->step += TURNS + 1;
    s->clock[sample] = clock_hz();
}

static double median(struct cc_limits *l, const double *of, size_t samples)
{
    memcpy(l->sorted, of, samples * sizeof *l->sorted);
    return cc_stats_of(l->sorted, samples).median;
}

/* --- the limits of memory --- */

/* A decode_add that touches fewer bytes than this is not limited by memory, or the second-level
 * cache, but by the cost of the call itself. */
enum { LEAST_BYTES = 1 << 20, LEAST_BYTES_IN_L2 = 1 << 14 };

static size_t largest_tensor(const struct cc_trace *trace)
{
    size_t largest = 0;
    for (size_t t = 1; t < cc_trace_tensors(trace); t++)
        if (cc_trace_tensor(trace, t)->shape.n > cc_trace_tensor(trace, largest)->shape.n)
            largest = t;
    return largest;
}

enum cc_limit_place cc_limits_place(const struct cc_trace *trace)
{
    const double all = (double)cc_trace_values(trace);
    const size_t most = cc_trace_largest(trace);
    size_t large = 0;
    for (size_t t = 0; t < cc_trace_tensors(trace); t++) {
        const size_t n = cc_trace_tensor(trace, t)->shape.n;
        large += cc_memory_limits(n) ? n : 0;
    }
    if (large > 0 && (double)large >= 0.9 * all)
        return CC_IN_MEMORY;
    if (all <= (double)cc_l2_values() && most >= cc_l2_values() / 8 && (double)most >= 0.9 * all)
        return CC_IN_L2;
    return CC_IN_CACHE;
}

int cc_limits_open(const struct cc_bench_config *config, size_t most, struct cc_limits **out,
                   struct cc_error *e)
{
    *out = NULL;
    const enum cc_limit_place place = cc_limits_place(config->trace);
    if (place == CC_IN_CACHE)
        return CC_OK;
    const size_t largest = largest_tensor(config->trace),
                 values = cc_trace_tensor(config->trace, largest)->shape.n;
    struct cc_limits *l;
    int status = CC_OK;
    CC_TRY(CC_NEW(l, 1, e));
    l->config = config;
    l->place = place;
    l->largest = largest;
    CC_TRY_OUT(CC_NEW(l->pattern, config->schemes->count, e));
    CC_TRY_OUT(CC_NEW(l->line, values / LINE_VALUES + 1, e));
    const bool cold = place == CC_IN_MEMORY;
    l->roofline = cc_roofline_new(
        values, cold ? config->threads : cc_parts(config->threads, values, CC_PART_VALUES),
        cold ? 0 : cc_batch_values(values) / values + 1, most, e);
    CC_TRY_OUT(l->roofline == NULL ? CC_FAIL : open_l1(l, most, e));
    *out = l;
    l = NULL;
out:
    cc_limits_free(l);
    return status;
}

void cc_limits_free(struct cc_limits *l)
{
    if (l == NULL)
        return;
    cc_roofline_free(l->roofline);
    free_l1(l);
    free(l->pattern);
    free(l->line);
    free(l);
}

void cc_limits_on_decoded(void *limits, size_t tensor, const float *decoded)
{
    struct cc_limits *l = limits;
    if (tensor != l->largest)
        return;
    size_t n = cc_trace_tensor(l->config->trace, tensor)->shape.n;
    l->lines = 0;
    for (size_t i = 0; i < n; i += LINE_VALUES) {
        bool changes = false;
        for (size_t k = i; k < n && k < i + LINE_VALUES; k++)
            changes |= decoded[k] != 0;
        l->line[l->lines] = (uint32_t)(i / LINE_VALUES);
        l->lines += changes;
    }
}

/* The bytes that encode must move; no passes: the scheme does not tell. */
static struct cc_traffic traffic_of(const struct cc_limits *l, size_t scheme)
{
    const struct cc_spec *s = spec_of(l, scheme);
    return s->scheme->traffic != NULL ? s->scheme->traffic(s->params)
                                      : (struct cc_traffic){.passes = 0};
}

/* If more than an eighth of the lines are all zero, decoding is held against a loop that writes
 * zeros there. */
static void list_zero_lines(const struct cc_limits *l, struct cc_pattern *decode)
{
    size_t all = cc_trace_tensor(l->config->trace, l->largest)->shape.n / LINE_VALUES;
    if (l->lines > all / 8 * 7)
        return;
    decode->line = l->line;
    decode->lines = l->lines;
}

static int find_patterns(struct cc_limits *l, size_t scheme, double bytes, struct cc_error *e)
{
    struct patterns *found = &l->pattern[scheme];
    struct cc_traffic t = traffic_of(l, scheme);
    double payload = bytes / (double)cc_trace_values(l->config->trace);
    const struct cc_pattern encode =
        cc_pattern_encode(&t, cc_trace_element(l->config->trace), payload);
    struct cc_pattern decode = cc_pattern_decode(false, payload),
                      add = cc_pattern_decode(true, payload);
    list_zero_lines(l, &decode);
    if ((spec_of(l, scheme)->scheme->flags & CC_SPARSE) != 0) {
        add.line = l->line;
        add.lines = l->lines;
    }
    CC_TRY(cc_roofline_add(l->roofline, &encode, &found->index[CC_ENCODE], e));
    CC_TRY(cc_roofline_add(l->roofline, &decode, &found->index[CC_DECODE], e));
    found->index[CC_DECODE_ADD] = SIZE_MAX;
    const double least = l->place == CC_IN_L2 ? LEAST_BYTES_IN_L2 : LEAST_BYTES;
    if (add.line == NULL || bytes + CC_ALIGN * (double)add.lines > least)
        CC_TRY(cc_roofline_add(l->roofline, &add, &found->index[CC_DECODE_ADD], e));
    found->lists[CC_DECODE] = decode.line != NULL;
    found->lists[CC_DECODE_ADD] = add.line != NULL && found->index[CC_DECODE_ADD] != SIZE_MAX;
    found->known = true;
    return CC_OK;
}

static int renew_lists(struct cc_limits *l, const struct patterns *p, struct cc_error *e)
{
    for (int call = 0; call < CC_CALLS; call++)
        if (p->lists[call])
            CC_TRY(cc_roofline_renew(l->roofline, p->index[call], l->line, l->lines, e));
    return CC_OK;
}

bool cc_limits_wants_decoded(const struct cc_limits *l, size_t scheme)
{
    const struct patterns *p = &l->pattern[scheme];
    return !p->known || p->lists[CC_DECODE] || p->lists[CC_DECODE_ADD];
}

int cc_limits_sample(struct cc_limits *l, size_t scheme, double bytes, size_t sample,
                     struct cc_error *e)
{
    struct patterns *p = &l->pattern[scheme];
    if (cc_bench_failed(l->config, scheme))
        return CC_OK;
    if (l->l1 != NULL)
        sample_l1(l, scheme, sample);
    if (traffic_of(l, scheme).passes == 0)
        return CC_OK;
    CC_TRY(p->known ? renew_lists(l, p, e) : find_patterns(l, scheme, bytes, e));
    for (int call = 0; call < CC_CALLS; call++)
        if (p->index[call] != SIZE_MAX)
            cc_roofline_sample(l->roofline, p->index[call], sample);
    return CC_OK;
}

struct cc_scheme_limits cc_limits_of(struct cc_limits *l, size_t scheme, size_t samples)
{
    struct cc_scheme_limits out = {.clock = 0};
    for (int c = 0; c < CC_CALLS; c++)
        out.call[c].moved = (double)NAN;
    if (l == NULL || samples == 0)
        return out;
    const struct patterns *p = &l->pattern[scheme];
    for (int c = 0; c < CC_CALLS && p->known; c++)
        if (p->index[c] != SIZE_MAX) {
            out.call[c].memory = cc_roofline_limit(l->roofline, p->index[c], samples);
            out.call[c].moved = cc_roofline_bytes(l->roofline, p->index[c]);
        }
    if (l->l1 == NULL)
        return out;
    const struct l1_scheme *s = &l->l1[scheme];
    for (int c = 0; c < CC_CALLS && !s->unknown; c++) {
        const double seconds = median(l, s->seconds[c], samples);
        out.call[c].l1 = seconds > 0 ? 4e-9 / seconds : 0;
    }
    out.clock = 1e-9 * median(l, s->clock, samples);
    return out;
}
