#include "netsim/message/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/trace/trace.h"
#include "netsim/message/pack.h"
#include "netsim/message/gradients.h"

/* Beyond these, workers and steps are like those before. A job's numbers are read as JSON. */
enum { MOST_STREAMS = 16, MOST_STEPS = 128, MOST_NUMBERS = 3 << 20 };

/* The gradients of all rows; kept, if there is room. */
struct source {
    struct cc_gradients *from;
    size_t values, streams;
    float *kept; /* a step for each worker and step, as they come to be needed; NULL: no room */
    bool *have;
    size_t steps; /* that differ */
    float *buffer;
};

struct filler {
    const struct cc_job *job; /* with data */
    const struct cc_job_row *row;
    const struct cc_sizes_config *config;
    struct cc_job_sizes *out;
    size_t before; /* steps before the job's first */
    struct cc_spec *spec, *raw;
    struct cc_slice *slice;
    size_t slices;
    struct cc_pack **push, *pull, **hop;
    float *sum;
    uint8_t *payload;
    uint64_t *bytes; /* of each tensor */
};

/* --- gradients --- */

static void close_source(struct source *s)
{
    cc_gradients_close(s->from);
    free(s->kept);
    free(s->have);
    free(s->buffer);
}

static int open_source(const struct cc_job *job, struct source *s, struct cc_error *e)
{
    const size_t values = cc_job_values(job), room = cc_memory_available() / 4;
    const size_t workers = (size_t)job->workers, each = values * sizeof(float);
    size_t bytes;
    *s = (struct source){.values = values};
    /* Each has a residual of its own besides. */
    s->streams = room / each < 1 ? 1 : room / each;
    s->streams = s->streams < workers ? s->streams : workers;
    s->streams = s->streams < MOST_STREAMS ? s->streams : MOST_STREAMS;
    if (cc_gradients_open(job, &s->from, e) != CC_OK)
        return CC_FAIL;
    s->steps = job->trace_steps < MOST_STEPS ? job->trace_steps : MOST_STEPS;
    s->have = cc_alloc0(s->streams * s->steps, e);
    s->buffer = cc_alloc(each, e);
    if (s->have == NULL || s->buffer == NULL)
        return CC_FAIL;
    if (!cc_mul(s->streams * s->steps, each, &bytes) || bytes > room)
        return CC_OK;
    s->kept = cc_alloc(bytes, e);
    return s->kept != NULL ? CC_OK : CC_FAIL;
}

static int load(struct source *s, size_t worker, size_t step, const float **out, struct cc_error *e)
{
    const size_t at = step % cc_gradients_steps(s->from, (int)worker);
    const size_t place = worker * s->steps + at;
    float *to = s->kept != NULL && at < s->steps ? s->kept + place * s->values : s->buffer;
    *out = to;
    if (to != s->buffer && s->have[place])
        return CC_OK;
    int status = cc_gradients_load(s->from, (int)worker, at, to, e);
    if (to != s->buffer && status == CC_OK)
        s->have[place] = true;
    return status;
}

/* --- making --- */

/* Called before anything that may take seconds. */
static int go_on(const struct filler *f, double done, struct cc_error *e)
{
    const struct cc_sizes_config *config = f->config;
    const size_t row = (size_t)(f->row - f->job->row);
    return config->on_tick != NULL && config->on_tick(config->arg, row, done)
               ? cc_fail(e, "stopped")
               : CC_OK;
}

static int make_crate(const struct filler *f, enum cc_direction direction, int64_t rank,
                      struct cc_pack **out, struct cc_error *e)
{
    const struct cc_pack_config config = {.job = f->job,
                                          .row = f->row,
                                          .spec = f->spec,
                                          .raw = f->raw,
                                          .seed = f->job->seed,
                                          .rank = rank,
                                          .direction = direction};
    return cc_pack_make(&config, f->slice, f->slices, out, e);
}

static int make_crates(struct filler *f, size_t streams, struct cc_error *e)
{
    const struct cc_job_sizes *s = f->out;
    int status = CC_OK;
    f->push = cc_alloc0(streams * sizeof *f->push, e);
    f->hop = cc_alloc0(streams * sizeof *f->hop, e);
    if (f->push == NULL || f->hop == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < streams && status == CC_OK; i++)
        if ((status = go_on(f, 0, e)) == CC_OK)
            status = make_crate(f, CC_PUSH, (int64_t)i, &f->push[i], e);
    if (f->job->servers > 0 && status == CC_OK)
        status = make_crate(f, CC_PULL, -1, &f->pull, e);
    for (size_t i = 0; i < streams && s->sums > 0 && status == CC_OK; i++)
        if ((status = go_on(f, 0, e)) == CC_OK)
            status = make_crate(f, CC_PUSH, (int64_t)i, &f->hop[i], e);
    return status;
}

static void close_filler(struct filler *f)
{
    for (size_t i = 0; f->push != NULL && i < f->out->workers; i++)
        cc_pack_free(f->push[i]);
    for (size_t i = 0; f->hop != NULL && i < f->out->workers; i++)
        cc_pack_free(f->hop[i]);
    cc_pack_free(f->pull);
    cc_spec_free(f->spec);
    cc_spec_free(f->raw);
    free(f->push);
    free(f->hop);
    free(f->slice);
    free(f->sum);
    free(f->payload);
    free(f->bytes);
}

/* What needs no more than one crate. */
static int open_filler(struct filler *f, struct cc_error *e)
{
    const size_t values = cc_job_values(f->job);
    struct cc_pack *one;
    if (cc_spec_parse(f->row->scheme, &f->spec, e) != CC_OK ||
        cc_spec_parse(CC_RAW_SCHEME, &f->raw, e) != CC_OK ||
        cc_slices(f->job, 0, values, &f->slice, &f->slices, e) != CC_OK ||
        make_crate(f, CC_PUSH, 0, &one, e) != CC_OK)
        return CC_FAIL;
    f->payload = cc_alloc(cc_pack_bound(one), e);
    cc_pack_free(one);
    f->sum = cc_alloc0(values * sizeof *f->sum, e);
    f->bytes = cc_alloc(f->job->tensors * sizeof *f->bytes, e);
    return f->payload != NULL && f->sum != NULL && f->bytes != NULL ? CC_OK : CC_FAIL;
}

/* --- sizes that do not depend on data --- */

/* Whether the first payloads of x that are sent are all as long as their bounds: a crate without a
 * table. */
static int fills(const struct filler *f, const float *x, bool *out, struct cc_error *e)
{
    struct cc_pack *c;
    size_t len, head;
    if (make_crate(f, CC_PUSH, 0, &c, e) != CC_OK)
        return CC_FAIL;
    int status = cc_pack_encode(c, f->row->period - 1, x, f->payload, &len, &head, e);
    *out = status == CC_OK && head == 1;
    cc_pack_free(c);
    return status;
}

/* A payload that can be short is so for zeros, which say nothing; or for gradients, as they are
 * not the worst case. */
static int find_fixed(struct filler *f, struct source *s, struct cc_error *e)
{
    const float *x;
    if (go_on(f, 0, e) != CC_OK || fills(f, f->sum, &f->out->fixed, e) != CC_OK)
        return CC_FAIL;
    if (!f->out->fixed)
        return CC_OK;
    if (go_on(f, 0, e) != CC_OK || load(s, 0, 0, &x, e) != CC_OK)
        return CC_FAIL;
    return fills(f, x, &f->out->fixed, e);
}

/* --- sizes that do --- */

static size_t doublings(size_t n)
{
    size_t k = 0;
    while (n >>= 1)
        k++;
    return k;
}

/* How many of all differ here: whole periods of steps, and workers. */
static void cut(const struct filler *f, const struct cc_job *job, size_t streams)
{
    struct cc_job_sizes *s = f->out;
    const size_t period = f->row->period, all = f->row->warmup + f->row->steps;
    const size_t most = MOST_NUMBERS / job->rows / job->tensors;
    size_t steps = all < MOST_STEPS ? all : MOST_STEPS;
    while (streams > 1 && steps * streams > most)
        streams /= 2;
    steps = steps < most ? steps : most;
    s->steps = steps / period > 0 ? steps / period * period : period;
    s->workers = streams;
    s->sums = cc_job_row_hops(job, f->row) ? doublings(streams) + 1 : 0;
}

static int make_tables(const struct filler *f, struct cc_error *e)
{
    struct cc_job_sizes *s = f->out;
    const size_t each = s->steps * f->job->tensors * sizeof *s->push;
    s->push = cc_alloc(s->workers * each, e);
    s->pull = f->job->servers > 0 ? cc_alloc(each, e) : NULL;
    s->hop = s->sums > 0 ? cc_alloc((s->sums + 1) * each, e) : NULL; /* one to spare */
    const bool ok = s->push != NULL && (f->job->servers == 0 || s->pull != NULL) &&
                    (s->sums == 0 || s->hop != NULL);
    return ok ? CC_OK : CC_FAIL;
}

/* Encodes x and notes how long everything is, in a line of a table: steps take turns, so that the
 * later ones, whose sizes matter, replace those before. */
static int measure(struct filler *f, struct cc_pack *c, size_t step, const float *x, size_t *len,
                   uint32_t *line, struct cc_error *e)
{
    const size_t tensors = f->job->tensors;
    uint32_t *size =
        line + (step + f->out->steps - f->before % f->out->steps) % f->out->steps * tensors;
    size_t head;
    if (cc_pack_encode(c, step, x, f->payload, len, &head, e) != CC_OK)
        return CC_FAIL;
    memset(f->bytes, 0, tensors * sizeof *f->bytes);
    cc_pack_count(c, f->bytes);
    for (size_t i = 0; i < tensors; i++) {
        size[i] = (uint32_t)f->bytes[i];
        if (f->bytes[i] > UINT32_MAX)
            return cc_fail(e, "tensor '%.200s': a payload of %llu bytes, and %llu are the most",
                           f->job->tensor[i].name, (unsigned long long)f->bytes[i],
                           (unsigned long long)UINT32_MAX);
    }
    return CC_OK;
}

/* So many steps are encoded: those before the first, and up to where the tables are full with steps
 * that count. */
static size_t all_steps(const struct filler *f)
{
    const size_t counted = f->row->steps < f->out->steps ? f->row->steps : f->out->steps;
    return f->before + f->row->warmup + counted;
}

static double done_of(const struct filler *f, size_t step, size_t worker)
{
    const double workers = (double)f->out->workers;
    return ((double)step + (double)worker / workers) / (double)all_steps(f);
}

/* One step's pushes, and what comes back of them. */
static int fill_pushes(struct filler *f, struct source *s, size_t step, struct cc_error *e)
{
    const struct cc_job_sizes *to = f->out;
    const size_t tensors = f->job->tensors;
    const float scale = (float)(1.0 / (double)to->workers);
    const float *x;
    size_t len;
    memset(f->sum, 0, s->values * sizeof *f->sum);
    for (size_t w = 0; w < to->workers; w++) {
        uint32_t *line = to->push + w * to->steps * tensors;
        if (go_on(f, done_of(f, step, w), e) != CC_OK || load(s, w, step, &x, e) != CC_OK ||
            measure(f, f->push[w], step, x, &len, line, e) != CC_OK ||
            cc_pack_decode_add(f->push[w], step, f->payload, len, scale, f->sum, e) != CC_OK)
            return CC_FAIL;
    }
    return to->pull != NULL ? measure(f, f->pull, step, f->sum, &len, to->pull, e) : CC_OK;
}

/* One step's sums on their way from worker to worker, as in a ring: each decodes what comes onto
 * its own gradient and encodes that. */
static int fill_hops(struct filler *f, struct source *s, size_t step, struct cc_error *e)
{
    const struct cc_job_sizes *to = f->out;
    size_t len = 0;
    for (size_t w = 0; w < to->workers && to->sums > 0; w++) {
        const size_t k = doublings(w + 1);
        const float *x;
        if (go_on(f, done_of(f, step, w), e) != CC_OK || load(s, w, step, &x, e) != CC_OK)
            return CC_FAIL;
        memcpy(f->sum, x, s->values * sizeof *f->sum);
        if (w > 0 &&
            cc_pack_decode_add(f->hop[w - 1], step, f->payload, len, 1, f->sum, e) != CC_OK)
            return CC_FAIL;
        /* What is between two doublings is overwritten by the next. */
        const size_t line = k < to->sums && w + 1 == (size_t)1 << k ? k : to->sums;
        if (measure(f, f->hop[w], step, f->sum, &len, to->hop + line * to->steps * f->job->tensors,
                    e) != CC_OK)
            return CC_FAIL;
    }
    return CC_OK;
}

static int fill_tables(struct filler *f, struct source *s, struct cc_error *e)
{
    cut(f, f->job, s->streams);
    int status = make_tables(f, e);
    if (status == CC_OK)
        status = make_crates(f, f->out->workers, e);
    for (size_t i = 0; status == CC_OK && i < all_steps(f); i++)
        if ((status = fill_pushes(f, s, i, e)) == CC_OK)
            status = fill_hops(f, s, i, e);
    return status;
}

static int fill_row(const struct cc_job *job, size_t at, const struct cc_sizes_config *config,
                    struct source *s, struct cc_error *e)
{
    struct cc_job_row *row = &job->row[at];
    struct filler f = {.job = job,
                       .row = row,
                       .config = config,
                       .out = &row->sizes,
                       .before = config->before != NULL ? config->before[at] : 0};
    int status = open_filler(&f, e);
    if (status == CC_OK)
        status = find_fixed(&f, s, e);
    if (status == CC_OK && !row->sizes.fixed)
        status = fill_tables(&f, s, e);
    close_filler(&f);
    return status;
}

/* Rounds of sums have sizes of their own, which never depend on data. */
static bool only_sums(const struct cc_job *job, const struct cc_job_row *row)
{
    return row->sums && job->servers == 0 && strcmp(job->exchange, "allgather") != 0;
}

int cc_sizes_fill(struct cc_job *job, const struct cc_sizes_config *config, struct cc_error *e)
{
    struct cc_job with = *job;
    struct source s = {0};
    with.data = true;
    int status = open_source(&with, &s, e);
    for (size_t i = 0; i < job->rows && status == CC_OK; i++) {
        struct cc_job_row *row = &job->row[i];
        const double began = cc_now();
        cc_job_sizes_free(&row->sizes);
        if (only_sums(job, row))
            row->sizes.fixed = true;
        else
            status = fill_row(&with, i, config, &s, e);
        row->sizes.took_s = cc_now() - began;
        if (status != CC_OK)
            cc_error_in(e, "the payload sizes of %s", row->scheme);
    }
    close_source(&s);
    return status;
}

/* Of a job of one tensor. */
int cc_sizes_fixed(const struct cc_spec *spec, bool *out, struct cc_error *e)
{
    const size_t dims[] = {64, 64};
    struct cc_job_tensor tensor = {.name = NULL};
    size_t offset[] = {0, dims[0] * dims[1]};
    struct cc_job_row row = {.scheme = cc_strdup(spec->name, e),
                             .period = cc_period(spec->scheme, spec->params),
                             .steps = 1};
    struct cc_job job = {.workers = 1,
                         .data = true,
                         .distribution = CC_MIXTURE,
                         .trace_steps = 1,
                         .tensor = &tensor,
                         .offset = offset,
                         .tensors = 1,
                         .row = &row,
                         .rows = 1};
    const struct cc_sizes_config config = {.on_tick = NULL};
    struct filler f = {.job = &job, .row = &row, .config = &config, .out = &row.sizes};
    struct source s = {0};
    int status = row.scheme != NULL ? CC_OK : CC_FAIL;
    if (status == CC_OK)
        status = cc_shape_make(dims, 2, &tensor.shape, e);
    if (status == CC_OK && (tensor.name = cc_strdup("t", e)) == NULL)
        status = CC_FAIL;
    if (status == CC_OK)
        status = open_source(&job, &s, e);
    if (status == CC_OK)
        status = open_filler(&f, e);
    if (status == CC_OK)
        status = find_fixed(&f, &s, e);
    *out = row.sizes.fixed;
    close_filler(&f);
    close_source(&s);
    free(tensor.name);
    free(row.scheme);
    return status;
}
