/* Piece by piece, so that only one piece's codecs are in memory, in the order of
 * schemes/sum_order.h. */
#include "bench/sum_sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "core/trace/trace_check.h"
#include "schemes/sum_order.h"

/* The codecs of a piece. */
enum { PUSH = 0, HOP = CC_SUM_WORKERS, PULL = 2 * CC_SUM_WORKERS, CODECS = PULL + CC_SUM_POINTS };

/* Bytes of all pieces together, in the steps before those that count, and in these. */
enum { EARLY, LATE, TIMES };
struct totals {
    double pull[CC_SUM_POINTS][TIMES], hop[CC_SUM_POINTS][TIMES];
};

struct summing {
    const struct cc_sum_sizes_config *config;
    size_t scheme, at; /* piece */
    size_t step;       /* being encoded */
    size_t n;          /* its values */
    size_t stream;     /* the encoded gradient's */
    struct cc_codec_set set;
    float *sum, *mean, *partial;
    struct cc_piece_sums *out;
    struct totals *totals;
};

static void close_piece(struct summing *s)
{
    cc_codec_set_free(&s->set);
    free(s->sum);
    free(s->mean);
    free(s->partial);
}

static int open_piece(struct summing *s, struct cc_error *e)
{
    const struct cc_sample_piece *p = &s->config->sample->piece[s->at];
    CC_TRY(cc_codec_set_init(&s->set, CODECS, e));
    for (size_t i = 0; i < CODECS; i++)
        s->set.item[i] =
            cc_codec_item(cc_bench_spec(s->config->bench, s->scheme, p->tensor), &p->shape);
    CC_TRY(cc_codec_set_allocate(&s->set, &cc_memory_in_turn, e));
    s->n = p->shape.n;
    CC_TRY(CC_NEW(s->sum, s->n, e));
    CC_TRY(CC_NEW(s->mean, s->n, e));
    return CC_NEW(s->partial, s->n, e);
}

/* Encodes x by codec number `codec` and adds what is decoded to `to`, unless that is NULL. *bytes:
 * of the payload. */
static int through(struct summing *s, size_t codec, const float *x, float *to, double *bytes,
                   struct cc_error *e)
{
    struct cc_codec_item *item = &s->set.item[codec];
    struct cc_context ctx =
        cc_bench_context(s->config->bench, s->config->sample->piece[s->at].tensor, s->step);
    size_t len;
    ctx.rank = codec < PULL ? (int64_t)(codec % CC_SUM_WORKERS) : -1;
    ctx.direction = codec < PULL ? CC_PUSH : CC_PULL;
    CC_TRY(cc_encode(&item->codec, &ctx, x, item->payload, item->bound, &len, e));
    *bytes = (double)len;
    return to != NULL ? cc_decode_add(&item->codec, &ctx, item->payload, len, 1, to, e) : CC_OK;
}

/* Adds a payload to the mean, if the step counts, and to the total, unless that is NULL. */
static void count(const struct summing *s, double bytes, double *mean, double total[TIMES])
{
    const struct cc_sum_sizes_config *c = s->config;
    const bool late = s->step + c->counted >= c->steps;
    if (late)
        *mean += bytes / (double)c->counted;
    if (total != NULL && s->step + 2 * c->counted >= c->steps)
        total[late ? LATE : EARLY] += bytes;
}

static int gradient_of(void *arg, size_t w, const float **x, struct cc_error *e)
{
    struct summing *s = arg;
    const struct cc_sum_sizes_config *c = s->config;
    struct cc_bench_config bench = *c->bench;
    struct cc_sample *sample = &c->sample[w % c->streams];
    bench.stream = w % c->streams;
    CC_TRY(cc_sample_step(&bench, sample, &sample->piece[s->at], s->step, x, e));
    s->stream = bench.stream;
    return CC_OK;
}

static int push(void *arg, size_t w, const float *x, struct cc_error *e)
{
    struct summing *s = arg;
    double bytes;
    CC_TRY(through(s, PUSH + w, x, s->sum, &bytes, e));
    count(s, bytes / CC_SUM_WORKERS, &s->out->push, NULL);
    if (w == 0)
        count(s, bytes, &s->out->first, NULL);
    return CC_OK;
}

/* The point of as many workers as a power of two; CC_SUM_POINTS: of no other number. */
static size_t point_of(size_t workers)
{
    size_t point = 0;
    while (point < CC_SUM_POINTS && workers != (size_t)1 << point)
        point++;
    return point;
}

static int hop(void *arg, size_t w, float *sum, struct cc_error *e)
{
    struct summing *s = arg;
    const size_t point = point_of(w + 1);
    double bytes;
    memcpy(s->mean, sum, s->n * sizeof *s->mean);
    memset(sum, 0, s->n * sizeof *sum);
    CC_TRY(through(s, HOP + w, s->mean, sum, &bytes, e));
    if (point < CC_SUM_POINTS)
        count(s, bytes, &s->out->sums.hop[point], s->totals->hop[point]);
    return CC_OK;
}

/* The pull of the mean of 1, 2, 4, ... workers. */
static int pull(void *arg, size_t pushes, struct cc_error *e)
{
    struct summing *s = arg;
    const size_t point = point_of(pushes);
    double bytes;
    if (point == CC_SUM_POINTS)
        return CC_OK;
    const float scale = 1.0F / (float)(1U << point);
    for (size_t i = 0; i < s->n; i++)
        s->mean[i] = scale * s->sum[i];
    CC_TRY(through(s, PULL + point, s->mean, NULL, &bytes, e));
    count(s, bytes, &s->out->sums.pull[point], s->totals->pull[point]);
    return CC_OK;
}

static int run_step(struct summing *s, size_t step, struct cc_error *e)
{
    const struct cc_sum_order order = {.workers = CC_SUM_WORKERS,
                                       .gradient = gradient_of,
                                       .push = push,
                                       .hop = hop,
                                       .pull = pull,
                                       .arg = s};
    s->step = step;
    memset(s->sum, 0, s->n * sizeof *s->sum);
    return cc_sum_order_step(&order, s->partial, s->n, e);
}

/* Fails, as other readers of traces do, if a value of the gradient is not finite. */
static int check_finite(const struct cc_bench_config *bench, size_t step, size_t tensor,
                        struct cc_error *e)
{
    float *x;
    CC_TRY(CC_NEW(x, cc_trace_tensor(bench->trace, tensor)->shape.n, e));
    step %= cc_trace_steps(bench->trace, bench->stream);
    const int status = cc_trace_load_finite(bench->trace, bench->stream, step, tensor, x, e);
    free(x);
    return status;
}

static int run_piece(struct summing *s, struct cc_error *e)
{
    struct cc_bench_config bench = *s->config->bench;
    int status = CC_OK;
    CC_TRY_OUT(open_piece(s, e));
    for (size_t step = 0; step < s->config->steps && !cc_interrupted(); step++) {
        status = run_step(s, step, e);
        if (status != CC_OK) {
            bench.stream = s->stream;
            if (check_finite(&bench, step, s->config->sample->piece[s->at].tensor, e) == CC_OK)
                cc_bench_error_in(&bench, step % bench.steps, bench.schemes->item[s->scheme]->name,
                                  e);
            goto out;
        }
    }
out:
    close_piece(s);
    return status;
}

static bool is_calm(const double total[TIMES])
{
    return fabs(total[LATE] - total[EARLY]) <= CC_SUM_SIZES_CALM * total[LATE];
}

int cc_sum_sizes_measure(const struct cc_sum_sizes_config *config, size_t scheme,
                         struct cc_piece_sums *out, bool *settled, struct cc_error *e)
{
    struct totals totals = {.pull = {{0}}};
    for (size_t i = 0; i < config->sample->count; i++) {
        struct summing s = {
            .config = config, .scheme = scheme, .at = i, .out = &out[i], .totals = &totals};
        out[i] = (struct cc_piece_sums){.first = 0};
        CC_TRY(run_piece(&s, e));
    }
    *settled = true;
    for (size_t i = 0; i < CC_SUM_POINTS && config->steps >= 2 * config->counted; i++)
        *settled = *settled && is_calm(totals.pull[i]) && is_calm(totals.hop[i]);
    return CC_OK;
}
