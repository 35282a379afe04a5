/* Tensors of SHORT and of LONG values are timed in turn with the codecs' samples, and the
 * difference counts. */
#include "bench/l1.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/stats.h"

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

struct cc_l1 {
    const struct cc_bench_config *config;
    size_t largest; /* the tensor */
    float *x, *y;   /* the gradient; decoded values */
    double *sorted; /* room for the samples of a call */
    struct l1_scheme *scheme;
};

static int open_scheme(struct cc_l1 *l, size_t scheme, size_t most, struct cc_error *e)
{
    static const struct cc_codec_memory memory = {
        .state = true, .scratch = CC_SHARED, .payload = CC_SHARED};
    static const size_t values[2] = {SHORT, LONG};
    const struct cc_spec *spec = cc_bench_spec(l->config, scheme, l->largest);
    struct l1_scheme *s = &l->scheme[scheme];
    s->unknown = cc_period(spec->scheme, spec->params) > 1 ||
                 cc_sum_rounds(spec->scheme, spec->params) > 1; /* matrices (powersgd) */
    for (int i = 0; i < 2; i++) {
        const struct cc_shape shape = cc_shape_flat(values[i]);
        CC_TRY(cc_codec_set_single(&s->size[i].codec, spec, &shape, &memory, e));
    }
    s->clock = cc_alloc(most * sizeof *s->clock, e);
    for (int c = 0; c < CC_CALLS; c++) {
        s->seconds[c] = cc_alloc(most * sizeof *s->seconds[c], e);
        if (s->seconds[c] == NULL)
            return CC_FAIL;
    }
    return s->clock != NULL ? CC_OK : CC_FAIL;
}

int cc_l1_open(const struct cc_bench_config *config, size_t largest, size_t most,
               struct cc_l1 **out, struct cc_error *e)
{
    const size_t values = LONG + STARTS * START_VALUES;
    int status = CC_OK;
    *out = NULL;
    if (config->threads > 1 || cc_trace_tensor(config->trace, largest)->shape.n < values)
        return CC_OK;
    struct cc_l1 *l = cc_alloc0(sizeof *l, e);
    if (l == NULL)
        return CC_FAIL;
    *l = (struct cc_l1){.config = config,
                        .largest = largest,
                        .x = cc_alloc(values * sizeof *l->x, e),
                        .y = cc_alloc0(LONG * sizeof *l->y, e),
                        .sorted = cc_alloc(most * sizeof *l->sorted, e),
                        .scheme = cc_alloc0(config->schemes->count * sizeof *l->scheme, e)};
    if (l->x == NULL || l->y == NULL || l->sorted == NULL || l->scheme == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (size_t s = 0; s < config->schemes->count; s++)
        CC_TRY_OUT(open_scheme(l, s, most, e));
    CC_TRY_OUT(cc_trace_load_first(config->trace, config->stream, 0, largest, values, l->x, e));
    *out = l;
out:
    if (status != CC_OK)
        cc_l1_free(l);
    return status;
}

void cc_l1_free(struct cc_l1 *l)
{
    if (l == NULL)
        return;
    for (size_t s = 0; l->scheme != NULL && s < l->config->schemes->count; s++) {
        for (int c = 0; c < CC_CALLS; c++)
            free(l->scheme[s].seconds[c]);
        for (int i = 0; i < 2; i++)
            cc_codec_set_free(&l->scheme[s].size[i].codec);
        free(l->scheme[s].clock);
    }
    free(l->scheme);
    free(l->x);
    free(l->y);
    free(l->sorted);
    free(l);
}

/* Seconds of TURNS calls, after one more; -1 after a failure. */
static double seconds_of(const struct cc_l1 *l, const struct l1_scheme *s, struct size *size,
                         enum cc_call call)
{
    const struct cc_codec_item *item = size->codec.item;
    struct cc_error error, *e = &error;
    int status = CC_OK;
    double begin = 0;
    for (size_t i = 0; i <= TURNS && status == CC_OK; i++) {
        const uint64_t step = s->step + (call == CC_ENCODE ? i : TURNS);
        const struct cc_context ctx = cc_bench_context(l->config, l->largest, step);
        const float *x = l->x + i % STARTS * START_VALUES;
        if (i == 1) /* the call before has brought the data into the cache */
            begin = cc_thread_now();
        if (call == CC_ENCODE)
            status = cc_encode(&item->codec, &ctx, x, item->payload, item->bound, &size->len, e);
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

void cc_l1_sample(struct cc_l1 *l, size_t scheme, size_t sample)
{
    struct l1_scheme *s = &l->scheme[scheme];
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

static double median(struct cc_l1 *l, const double *of, size_t samples)
{
    memcpy(l->sorted, of, samples * sizeof *l->sorted);
    return cc_stats_of(l->sorted, samples).median;
}

double cc_l1_speed(struct cc_l1 *l, size_t scheme, enum cc_call call, size_t samples)
{
    const struct l1_scheme *s = &l->scheme[scheme];
    const double seconds = samples > 0 && !s->unknown ? median(l, s->seconds[call], samples) : 0;
    return seconds > 0 ? 4e-9 / seconds : 0;
}

double cc_l1_clock(struct cc_l1 *l, size_t scheme, size_t samples)
{
    return samples > 0 ? 1e-9 * median(l, l->scheme[scheme].clock, samples) : 0;
}
