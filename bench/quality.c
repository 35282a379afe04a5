#include "bench/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/reduce.h"

/* Traces of more steps than this are not kept mapped: the system limits the number of mappings. */
enum { MOST_MAPPED = 1024 };

/* What one tensor needs while it is measured. */
struct work {
    float *load, *decoded, *cumulative; /* n each */
    uint8_t *payload, *state, *scratch;
    size_t payload_cap;
};

static void work_free(struct work *w)
{
    free(w->load);
    free(w->decoded);
    free(w->cumulative);
    free(w->payload);
    free(w->state);
    free(w->scratch);
}

static int work_alloc(struct work *w, size_t n, struct cc_error *e)
{
    *w = (struct work){.load = cc_alloc(n * sizeof(float), e),
                       .decoded = cc_alloc(n * sizeof(float), e),
                       .cumulative = cc_alloc(n * sizeof(float), e)};
    return w->load == NULL || w->decoded == NULL || w->cumulative == NULL ? CC_FAIL : CC_OK;
}

/* The codec's own memory, allocated for it alone: the largest tensor decides the peak. */
static int codec_memory(struct work *w, struct cc_codec *c, struct cc_error *e)
{
    free(w->payload);
    free(w->state);
    free(w->scratch);
    w->payload_cap = cc_bound(c);
    w->payload = cc_alloc(w->payload_cap, e);
    w->state = cc_alloc(cc_state_bytes(c), e);
    w->scratch = cc_alloc(cc_scratch_bytes(c), e);
    c->state = w->state;
    c->scratch = w->scratch;
    if (w->payload == NULL || w->state == NULL || w->scratch == NULL)
        return CC_FAIL;
    if (c->shape.n > 0)
        cc_codec_reset(c);
    return CC_OK;
}

/* The sum of the squares of what the steps add up to. */
static int raw_cumulative(const struct cc_bench_config *p, struct work *w, size_t tensor,
                          size_t steps, double *out, struct cc_error *e)
{
    size_t n = cc_trace_tensor(p->trace, tensor)->shape.n;
    memset(w->cumulative, 0, n * sizeof(float));
    for (size_t i = 0; i < steps && !cc_interrupted(); i++) {
        const float *g;
        int status = cc_trace_load(p->trace, p->stream, i % p->steps, tensor, w->load, &g, e);
        if (status != CC_OK)
            return status;
        for (size_t k = 0; k < n; k++)
            w->cumulative[k] += g[k];
        if (p->steps > MOST_MAPPED)
            cc_trace_release(p->trace, p->stream, i % p->steps);
    }
    *out = k_reduce()->sum_sq(w->cumulative, n);
    return CC_OK;
}

/* One step of the last pass: encode, decode, compare. Earlier passes only encode. */
static int one_step(const struct cc_bench_config *p, struct work *w, const struct cc_codec *c,
                    size_t scheme, size_t tensor, size_t index, uint64_t step, bool last_pass,
                    struct cc_quality *q, struct cc_error *e)
{
    struct cc_context ctx = cc_bench_context(p, tensor, step);
    const float *g;
    size_t len;
    int status = cc_trace_load(p->trace, p->stream, index % p->steps, tensor, w->load, &g, e);
    if (status == CC_OK)
        status = cc_encode(c, &ctx, g, w->payload, w->payload_cap, &len, e);
    if (status == CC_OK && last_pass)
        status = cc_decode(c, &ctx, w->payload, len, w->decoded, e);
    struct cc_compared sums = {0};
    if (status == CC_OK && last_pass)
        k_compare()->compare(w->decoded, g, w->cumulative, c->shape.n, &sums);
    if (p->steps > MOST_MAPPED)
        cc_trace_release(p->trace, p->stream, index % p->steps);
    if (status != CC_OK)
        cc_bench_error_in(p, index % p->steps, cc_bench_spec(p, scheme, tensor)->name, e);
    if (status != CC_OK || !last_pass)
        return status;
    q->payload_bytes += len;
    q->error_sq += sums.error_sq;
    q->raw_sq += sums.raw_sq;
    q->output_sq += sums.output_sq;
    q->dot += sums.dot;
    q->max_error = fmax(q->max_error, sums.max_error);
    return CC_OK;
}

static int one_tensor(const struct cc_bench_config *p, size_t scheme, size_t tensor, size_t passes,
                      struct work *w, struct cc_quality *q, struct cc_error *e)
{
    struct cc_codec c = cc_bench_codec(p, scheme, tensor);
    size_t steps = cc_bench_steps(p, scheme);
    uint64_t step = 0;
    *q = (struct cc_quality){.values = c.shape.n, .steps = steps};
    int status = codec_memory(w, &c, e);
    memset(w->cumulative, 0, c.shape.n * sizeof(float));
    for (size_t pass = 0; pass < passes && status == CC_OK; pass++)
        for (size_t i = 0; i < steps && status == CC_OK && !cc_interrupted(); i++)
            status = one_step(p, w, &c, scheme, tensor, i, step++, pass + 1 == passes, q, e);
    q->cumulative_error_sq = k_reduce()->sum_sq(w->cumulative, c.shape.n);
    return status;
}

void cc_quality_add(struct cc_quality *a, const struct cc_quality *b)
{
    a->values += b->values;
    a->steps = b->steps;
    a->payload_bytes += b->payload_bytes;
    a->error_sq += b->error_sq;
    a->raw_sq += b->raw_sq;
    a->output_sq += b->output_sq;
    a->dot += b->dot;
    a->max_error = fmax(a->max_error, b->max_error);
    a->cumulative_error_sq += b->cumulative_error_sq;
    a->cumulative_raw_sq += b->cumulative_raw_sq;
}

/* The most that any tensor needs under any scheme. */
static int check_memory(const struct cc_bench_config *p, struct cc_error *e)
{
    size_t most = 0;
    for (size_t t = 0; t < cc_trace_tensors(p->trace); t++)
        for (size_t s = 0; s < p->schemes->count; s++) {
            struct cc_codec c = cc_bench_codec(p, s, t);
            size_t need = 3 * c.shape.n * sizeof(float) + cc_state_bytes(&c);
            size_t bound = cc_bound(&c), scratch = cc_scratch_bytes(&c);
            need = bound > SIZE_MAX - need ? SIZE_MAX : need + bound;
            need = scratch > SIZE_MAX - need ? SIZE_MAX : need + scratch;
            most = need > most ? need : most;
        }
    return cc_memory_check(most, "the largest tensor", e);
}

/* The sums of squares of what the steps of a tensor add up to, by tensor: the same for all schemes
 * that take as many steps. */
struct raw {
    double *cumulative_sq;
    size_t steps; /* for which cumulative_sq is known; 0: for none */
};

/* One scheme over all tensors. */
static int one_scheme(const struct cc_bench_config *p, size_t scheme, size_t passes,
                      struct raw *raw, struct cc_quality *out, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(p->trace), steps = cc_bench_steps(p, scheme), seen = 0;
    double all = (double)cc_trace_values(p->trace) * (double)p->schemes->count;
    double before = (double)cc_trace_values(p->trace) * (double)scheme;
    bool known = raw->steps == steps;
    int status = CC_OK;
    for (size_t t = 0; t < tensors && status == CC_OK && !cc_interrupted(); t++) {
        size_t n = cc_trace_tensor(p->trace, t)->shape.n;
        struct work w;
        if (p->progress != NULL)
            p->progress(p->progress_arg, "sizes and errors", (before + (double)seen) / all);
        status = work_alloc(&w, n, e);
        if (status == CC_OK && !known)
            status = raw_cumulative(p, &w, t, steps, &raw->cumulative_sq[t], e);
        if (status == CC_OK)
            status = one_tensor(p, scheme, t, passes, &w, &out[t], e);
        out[t].cumulative_raw_sq = raw->cumulative_sq[t];
        work_free(&w);
        seen += n;
    }
    raw->steps = status == CC_OK && !cc_interrupted() ? steps : 0;
    return status;
}

int cc_quality_measure(const struct cc_bench_config *p, const size_t *passes,
                       struct cc_quality *out, size_t *done, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(p->trace);
    struct raw raw = {.cumulative_sq = cc_alloc0(tensors * sizeof(double), e)};
    int status = raw.cumulative_sq == NULL ? CC_FAIL : check_memory(p, e);
    for (*done = 0; *done < p->schemes->count && status == CC_OK; (*done)++) {
        size_t s = *done;
        if (!cc_bench_failed(p, s))
            (void)one_scheme(p, s, passes[s], &raw, &out[s * tensors], &p->failed[s]);
        if (cc_interrupted())
            break; /* this scheme is not complete */
    }
    free(raw.cumulative_sq);
    return status;
}

/* --- how long residuals take to settle --- */

/* What a pass sent, and the error it left. */
struct pass {
    double bytes, error_sq;
};

static int settle_step(struct cc_codec_set *b, struct work *w, size_t index, size_t tensor,
                       struct pass *sums, struct cc_error *e)
{
    const struct cc_bench_config *p = b->plan;
    struct cc_context ctx = cc_bench_context(p, tensor, b->step);
    struct cc_codec c = b->codec[tensor];
    struct cc_compared compared = {0};
    const float *g;
    size_t len;
    c.scratch = w->scratch;
    int status = cc_trace_load(p->trace, p->stream, index, tensor, w->load, &g, e);
    if (status == CC_OK)
        status = cc_encode(&c, &ctx, g, w->payload, w->payload_cap, &len, e);
    if (status == CC_OK)
        status = cc_decode(&c, &ctx, w->payload, len, w->decoded, e);
    if (status != CC_OK) {
        cc_bench_error_in(p, index, cc_bench_spec(p, b->scheme, tensor)->name, e);
        return status;
    }
    k_compare()->compare(w->decoded, g, w->cumulative, c.shape.n, &compared);
    sums->bytes += (double)len;
    sums->error_sq += compared.error_sq;
    return CC_OK;
}

static int settle_pass(struct cc_codec_set *b, struct work *w, struct pass *sums,
                       struct cc_error *e)
{
    const struct cc_bench_config *p = b->plan;
    size_t tensors = cc_trace_tensors(p->trace), steps = cc_bench_steps(p, b->scheme);
    *sums = (struct pass){0};
    for (size_t i = 0; i < steps; i++, b->step++) {
        for (size_t t = 0; t < tensors && !cc_interrupted(); t++) {
            int status = settle_step(b, w, i % p->steps, t, sums, e);
            if (status != CC_OK)
                return status;
        }
        cc_trace_release(p->trace, p->stream, i % p->steps);
    }
    return CC_OK;
}

static int settle_memory(const struct cc_codec_set *b, struct work *w, struct cc_error *e)
{
    size_t largest = cc_trace_largest(b->plan->trace), payload = 0;
    int status = work_alloc(w, largest, e);
    for (size_t t = 0; t < cc_trace_tensors(b->plan->trace); t++) {
        size_t bound = cc_bound(&b->codec[t]);
        payload = bound > payload ? bound : payload;
    }
    if (status != CC_OK)
        return status;
    memset(w->cumulative, 0, largest * sizeof(float));
    w->payload_cap = payload;
    w->payload = cc_alloc(payload, e);
    w->scratch = cc_alloc(b->scratch_bytes, e);
    return w->payload == NULL || w->scratch == NULL ? CC_FAIL : CC_OK;
}

/* The mean of WINDOW passes against that of the WINDOW before them. */
enum { WINDOW = 5 };

static bool settled(const struct pass *pass, size_t passes)
{
    struct pass late = {0}, early = {0};
    if (passes < 2 * WINDOW)
        return false;
    for (size_t i = 0; i < WINDOW; i++) {
        late.bytes += pass[passes - 1 - i].bytes;
        late.error_sq += pass[passes - 1 - i].error_sq;
        early.bytes += pass[passes - 1 - WINDOW - i].bytes;
        early.error_sq += pass[passes - 1 - WINDOW - i].error_sq;
    }
    return fabs(late.bytes - early.bytes) <= 0.01 * late.bytes &&
           fabs(late.error_sq - early.error_sq) <= 0.05 * late.error_sq;
}

static int settle(struct cc_codec_set *b, struct work *w, size_t most, size_t *passes,
                  struct cc_error *e)
{
    const struct cc_bench_config *p = b->plan;
    struct pass *pass = cc_alloc(most * sizeof *pass, e);
    int status = pass == NULL ? CC_FAIL : CC_OK;
    *passes = 0;
    while (status == CC_OK && *passes < most && !settled(pass, *passes) && !cc_interrupted()) {
        status = settle_pass(b, w, &pass[(*passes)++], e);
        if (p->progress != NULL)
            p->progress(p->progress_arg, "until residuals settle", (double)*passes / (double)most);
    }
    free(pass);
    return status;
}

int cc_quality_settle(const struct cc_bench_config *p, size_t scheme, size_t most, size_t *passes,
                      struct cc_error *e)
{
    struct cc_codec_set b;
    struct work w;
    *passes = 1;
    int status = cc_codec_set_open(p, scheme, &b, e);
    if (status != CC_OK)
        return status;
    if (b.state_bytes > 0) {
        status = settle_memory(&b, &w, e);
        if (status == CC_OK)
            status = settle(&b, &w, most, passes, e);
        work_free(&w);
    }
    cc_codec_set_close(&b);
    return status;
}
