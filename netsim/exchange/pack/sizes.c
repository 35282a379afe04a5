/* For each row:
 *
 * 1. Over an allreduce of floats, sizes follow from the shapes: nothing is encoded.
 * 2. Zeros and then one gradient are encoded. If all payloads are as long as their bounds both
 *    times, the sizes are fixed. (A payload that can be shorter is so for zeros, which contain no
 *    information, or for a real gradient, which is not the worst case.)
 * 3. Otherwise steps are replayed as the ranks would run them, with one pack of the whole step for
 *    each worker, one for the servers, and one for each worker's partial sums, so that residuals
 *    and random numbers are the ranks' own:
 *      pushes, pulls and partial sums are made in the order of schemes/sum_order.h; of partial
 *              sums, the lengths for 1, 2, 4, ... workers are kept;
 *      pairs:  where index-value pairs are merged, the indices of 1, 2, 4, ... workers together
 *              are counted: means over all groups of that many consecutive workers.
 *    The payload length of every tensor goes into the tables of struct cc_job_sizes. Tables hold a
 *    limited number of steps, used in turn, and later steps replace earlier ones: their sizes have
 *    settled.
 *
 * Gradients are drawn or read once for all rows if a quarter of the free memory can hold them, or,
 * of a part of a step, KEPT_OF_PART bytes. */
#include "netsim/exchange/pack/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "core/unions.h"
#include "netsim/exchange/pack/gradients.h"
#include "netsim/exchange/pack/pack.h"
#include "netsim/exchange/pack/sizes_part.h"
#include "schemes/sum_order.h"

/* Workers and steps beyond these have the sizes of those before. All rows together have at most
 * MOST_NUMBERS sizes, as the job is read as JSON. */
enum { MOST_STREAMS = CC_UNION_WORKERS, MOST_STEPS = 128, MOST_NUMBERS = 3 << 20 };
enum { KEPT_OF_PART = 1 << 28 };

/* The gradients, for all rows. */
struct gradient_cache {
    struct cc_gradients *gradients;
    size_t values;  /* values of a step */
    size_t streams; /* workers with gradients of their own */
    size_t steps;   /* different ones */
    float *kept;    /* [streams][steps][values], loaded when first needed; NULL: no memory for it */
    bool *loaded;   /* [streams][steps] */
    float *buffer;  /* one step, where nothing is kept */
};

/* The work on one row. */
struct encoding {
    const struct cc_job *job;   /* with data; a part of the next */
    const struct cc_job *whole; /* the same unless the step is too large */
    const struct cc_job_row *row;
    const struct cc_sizes_config *config;
    struct gradient_cache *cache;
    struct cc_job_sizes *out;
    size_t before; /* steps before the job's first */
    size_t step;   /* being encoded */
    struct cc_spec *spec, *raw;
    struct cc_slice *slice; /* the whole step */
    size_t slices;
    struct cc_pack **push, *pull, **hop; /* push and hop: for each worker */
    float *sum;
    uint8_t *payload;
    /* Where pairs are merged: those of one worker, and for each sum the indices of the group under
     * way and how many all groups of the step have together. */
    struct cc_index_value *pair;
    uint64_t *seen[CC_UNION_POINTS];
    uint64_t *counted[CC_UNION_POINTS]; /* [tensors] */
};

/* --- gradients --- */

static void close_cache(struct gradient_cache *c)
{
    cc_gradients_close(c->gradients);
    free(c->kept);
    free(c->loaded);
    free(c->buffer);
}

/* Opens the gradients of the job, or of a part of it if `part` has any. `trace`: as in struct
 * cc_sizes_config. */
static int open_gradients(const struct cc_job *job, const struct cc_sizes_part *part,
                          struct cc_trace *trace, struct cc_gradients **out, struct cc_error *e)
{
    return part->job.tensors == 0
               ? cc_gradients_open(job, trace, out, e)
               : cc_gradients_open_part(job, &part->job, part->origin, trace, out, e);
}

static int open_cache(const struct cc_job *job, const struct cc_sizes_part *part,
                      struct cc_trace *trace, struct gradient_cache *c, struct cc_error *e)
{
    const bool is_part = part->job.tensors > 0;
    const size_t values = cc_job_values(is_part ? &part->job : job);
    const size_t workers = (size_t)job->workers, each = values * sizeof(float);
    size_t available = cc_memory_available() / 4, bytes;
    *c = (struct gradient_cache){.values = values};
    /* As many streams as steps fit: each has a residual besides. */
    c->streams = available / each < 1 ? 1 : available / each;
    c->streams = c->streams < workers ? c->streams : workers;
    c->streams = c->streams < MOST_STREAMS ? c->streams : MOST_STREAMS;
    c->steps = job->trace_steps < MOST_STEPS ? job->trace_steps : MOST_STEPS;
    CC_TRY(open_gradients(job, part, trace, &c->gradients, e));
    if (is_part)
        available = cc_smaller(available, KEPT_OF_PART);
    CC_TRY(CC_NEW(c->loaded, c->streams * c->steps, e));
    CC_TRY(CC_NEW(c->buffer, values, e));
    if (!cc_mul(c->streams * c->steps, each, &bytes) || bytes > available)
        return CC_OK;
    c->kept = cc_alloc(bytes, e);
    return c->kept != NULL ? CC_OK : CC_FAIL;
}

/* Points *out to the worker's gradient of a step, which stays valid until the next call. */
static int load(struct gradient_cache *c, size_t worker, size_t step, const float **out,
                struct cc_error *e)
{
    const size_t at = step % cc_gradients_steps(c->gradients, (int)worker);
    const size_t place = worker * c->steps + at;
    const bool keep = c->kept != NULL && at < c->steps;
    float *to = keep ? c->kept + place * c->values : c->buffer;
    *out = to;
    if (keep && c->loaded[place])
        return CC_OK;
    CC_TRY(cc_gradients_load(c->gradients, (int)worker, at, to, e));
    if (keep)
        c->loaded[place] = true;
    return CC_OK;
}

/* --- packs --- */

/* Reports progress; called before anything that may take seconds. */
static int report_progress(const struct encoding *n, double done, struct cc_error *e)
{
    const struct cc_sizes_config *config = n->config;
    const size_t row = (size_t)(n->row - n->job->row);
    return config->on_tick != NULL && config->on_tick(config->arg, row, done)
               ? cc_fail(e, "stopped")
               : CC_OK;
}

/* A pack of the whole step. */
static int make_pack(const struct encoding *n, enum cc_direction direction, int64_t rank,
                     struct cc_pack **out, struct cc_error *e)
{
    const struct cc_pack_config config = {.job = n->job,
                                          .row = n->row,
                                          .spec = n->spec,
                                          .raw = n->raw,
                                          .seed = n->job->seed,
                                          .rank = rank,
                                          .direction = direction};
    return cc_pack_make(&config, n->slice, n->slices, out, e);
}

static void close_encoding(struct encoding *n)
{
    for (size_t i = 0; n->push != NULL && n->hop != NULL && i < n->out->workers; i++) {
        cc_pack_free(n->push[i]);
        cc_pack_free(n->hop[i]);
    }
    cc_pack_free(n->pull);
    cc_spec_free(n->spec);
    cc_spec_free(n->raw);
    free(n->push);
    free(n->hop);
    free(n->slice);
    free(n->sum);
    free(n->payload);
    free(n->pair);
    for (size_t k = 0; k < CC_UNION_POINTS; k++) {
        free(n->seen[k]);
        free(n->counted[k]);
    }
}

/* Opens all but the packs. */
static int open_encoding(struct encoding *n, struct cc_error *e)
{
    const size_t values = cc_job_values(n->job);
    struct cc_pack *one;
    CC_TRY(cc_spec_parse(n->row->scheme, &n->spec, e));
    CC_TRY(cc_spec_parse(cc_job_row_raw(n->job, n->row), &n->raw, e));
    CC_TRY(cc_slices(n->job, 0, values, &n->slice, &n->slices, e));
    CC_TRY(make_pack(n, CC_PUSH, 0, &one, e));
    n->payload = cc_alloc(cc_pack_bound(one), e);
    cc_pack_free(one);
    if (n->payload == NULL)
        return CC_FAIL;
    return CC_NEW(n->sum, values, e);
}

/* --- fixed sizes --- */

/* Whether the first payloads of x that are sent are all as long as their bounds: a head of one
 * byte. */
static int fills_bounds(const struct encoding *n, const float *x, bool *out, struct cc_error *e)
{
    struct cc_pack *p;
    size_t len, head;
    CC_TRY(make_pack(n, CC_PUSH, 0, &p, e));
    const int status = cc_pack_encode(p, n->row->period - 1, x, n->payload, &len, &head, e);
    *out = status == CC_OK && head == 1;
    cc_pack_free(p);
    return status;
}

static int find_fixed(struct encoding *n, struct cc_error *e)
{
    const float *x;
    CC_TRY(report_progress(n, 0, e));
    CC_TRY(fills_bounds(n, n->sum, &n->out->fixed, e)); /* zeros */
    if (!n->out->fixed)
        return CC_OK;
    CC_TRY(report_progress(n, 0, e));
    CC_TRY(load(n->cache, 0, 0, &x, e));
    return fills_bounds(n, x, &n->out->fixed, e);
}

/* --- sizes that depend on data --- */

static size_t log2_floor(size_t n)
{
    size_t k = 0;
    while (n >>= 1)
        k++;
    return k;
}

/* Allocates what counting unions of index sets takes. */
static int open_unions(struct encoding *n, struct cc_error *e)
{
    const size_t values = n->cache->values;
    if (cc_job_values(n->whole) >= UINT32_MAX)
        return cc_fail(
            e,
            "a step of %zu values: indices of pairs, which are counted for a whole step, "
            "have 32 bits",
            cc_job_values(n->whole));
    n->pair = cc_alloc(cc_pack_pairs_bound(n->push[0]) * sizeof *n->pair, e);
    if (n->pair == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < n->out->sums; k++) {
        CC_TRY(CC_NEW(n->seen[k], (values + 63) / 64, e));
        CC_TRY(CC_NEW(n->counted[k], n->job->tensors, e));
    }
    return CC_OK;
}

/* Chooses how many workers, sums and steps (whole periods) have sizes of their own, and allocates
 * the tables and the packs. */
static int open_tables(struct encoding *n, struct cc_error *e)
{
    struct cc_job_sizes *s = n->out;
    const size_t period = n->row->period, all = n->row->warmup + n->row->steps;
    const size_t most = MOST_NUMBERS / n->job->rows / n->whole->tensors;
    size_t steps = all < MOST_STEPS ? all : MOST_STEPS, streams = n->cache->streams;
    while (streams > 1 && steps * streams > most)
        streams /= 2;
    steps = steps < most ? steps : most;
    s->steps = steps / period > 0 ? steps / period * period : period;
    s->workers = streams;
    const bool hops = cc_job_row_hops(n->job, n->row), merges = cc_job_row_merges(n->job, n->row);
    s->sums = hops || merges ? log2_floor(streams) + 1 : 0;

    const size_t each = s->steps * n->job->tensors;
    const bool pulls = n->job->servers > 0;
    CC_TRY(CC_NEW(s->push, s->workers * each, e));
    if (pulls)
        CC_TRY(CC_NEW(s->pull, each, e));
    if (hops) /* one for lengths not kept */
        CC_TRY(CC_NEW(s->hop, (s->sums + 1) * each, e));
    if (merges)
        CC_TRY(CC_NEW(s->pairs, s->sums * each, e));
    CC_TRY(CC_NEW(n->push, streams, e));
    CC_TRY(CC_NEW(n->hop, streams, e));
    for (size_t i = 0; i < streams; i++) {
        CC_TRY(report_progress(n, 0, e));
        CC_TRY(make_pack(n, CC_PUSH, (int64_t)i, &n->push[i], e));
        if (hops)
            CC_TRY(make_pack(n, CC_PUSH, (int64_t)i, &n->hop[i], e));
    }
    if (pulls)
        CC_TRY(make_pack(n, CC_PULL, -1, &n->pull, e));
    return merges ? open_unions(n, e) : CC_OK;
}

/* The step's line of table[steps][tensors]. */
static uint64_t *line_of(const struct encoding *n, uint64_t *table, size_t step)
{
    const size_t steps = n->out->steps;
    return table + (step + steps - n->before % steps) % steps * n->job->tensors;
}

/* Encodes x and writes the tensors' payload lengths into the step's line. */
static int encode(struct encoding *n, struct cc_pack *p, size_t step, const float *x, size_t *len,
                  uint64_t *table, struct cc_error *e)
{
    const size_t tensors = n->job->tensors;
    uint64_t *size = line_of(n, table, step);
    size_t head;
    CC_TRY(cc_pack_encode(p, step, x, n->payload, len, &head, e));
    memset(size, 0, tensors * sizeof *size);
    cc_pack_count(p, size);
    return CC_OK;
}

/* The number of steps to encode: those before the job's first, the warm-up, and counted steps until
 * the tables are full of them. */
static size_t steps_to_encode(const struct encoding *n)
{
    const size_t counted = n->row->steps < n->out->steps ? n->row->steps : n->out->steps;
    return n->before + n->row->warmup + counted;
}

static double done_share(const struct encoding *n, size_t step, size_t worker)
{
    const double workers = (double)n->out->workers;
    return ((double)step + (double)worker / workers) / (double)steps_to_encode(n);
}

/* Adds the indices that worker w has just encoded to those of its group, of every size. */
static int count_pairs(struct encoding *n, size_t w, size_t step, size_t len, struct cc_error *e)
{
    const size_t words = (n->cache->values + 63) / 64;
    size_t count;
    CC_TRY(cc_pack_to_pairs(n->push[w], step, n->payload, len, n->pair, &count, e));
    for (size_t k = 0; k < n->out->sums; k++) {
        const size_t group = (size_t)1 << k;
        size_t tensor = 0;
        if (w / group >= n->out->workers / group) /* the last workers, too few for a group */
            continue;
        if (w % group == 0)
            memset(n->seen[k], 0, words * sizeof *n->seen[k]);
        for (size_t i = 0; i < count; i++) {
            while (n->pair[i].index >= n->job->offset[tensor + 1])
                tensor++;
            n->counted[k][tensor] += cc_index_add(n->seen[k], n->pair[i].index);
        }
    }
    return CC_OK;
}

/* Writes the means over the groups into the step's lines. */
static void keep_pairs(const struct encoding *n, size_t step)
{
    const struct cc_job_sizes *s = n->out;
    for (size_t k = 0; k < s->sums && s->workers >> k > 0; k++) {
        const size_t groups = s->workers >> k;
        uint64_t *line = line_of(n, s->pairs + k * s->steps * n->job->tensors, step);
        for (size_t i = 0; i < n->job->tensors; i++)
            line[i] = (n->counted[k][i] + groups / 2) / groups;
    }
}

static int gradient_of(void *arg, size_t w, const float **x, struct cc_error *e)
{
    struct encoding *n = arg;
    CC_TRY(report_progress(n, done_share(n, n->step, w), e));
    return load(n->cache, w, n->step, x, e);
}

static int push(void *arg, size_t w, const float *x, struct cc_error *e)
{
    struct encoding *n = arg;
    const struct cc_job_sizes *s = n->out;
    size_t len;
    CC_TRY(encode(n, n->push[w], n->step, x, &len, s->push + w * s->steps * n->job->tensors, e));
    if (s->pairs != NULL)
        return count_pairs(n, w, n->step, len, e);
    return s->pull != NULL ? cc_pack_decode_add(n->push[w], n->step, n->payload, len,
                                                (float)(1.0 / (double)s->workers), n->sum, e)
                           : CC_OK;
}

/* The pull of the mean of all pushes. */
static int pull(void *arg, size_t pushes, struct cc_error *e)
{
    struct encoding *n = arg;
    size_t len;
    return pushes == n->out->workers ? encode(n, n->pull, n->step, n->sum, &len, n->out->pull, e)
                                     : CC_OK;
}

static int hop(void *arg, size_t w, float *sum, struct cc_error *e)
{
    struct encoding *n = arg;
    const struct cc_job_sizes *s = n->out;
    const size_t k = log2_floor(w + 1);
    const bool kept = k < s->sums && w + 1 == (size_t)1 << k;
    uint64_t *table = s->hop + (kept ? k : s->sums) * s->steps * n->job->tensors;
    size_t len;
    CC_TRY(encode(n, n->hop[w], n->step, sum, &len, table, e));
    memset(sum, 0, n->cache->values * sizeof *sum);
    return cc_pack_decode_add(n->hop[w], n->step, n->payload, len, 1, sum, e);
}

/* Servers and hops exclude each other: `sum` is the servers', or the workers' partial one. */
static int encode_step(struct encoding *n, size_t step, struct cc_error *e)
{
    const struct cc_job_sizes *s = n->out;
    const struct cc_sum_order order = {.workers = s->workers,
                                       .gradient = gradient_of,
                                       .push = push,
                                       .hop = s->hop != NULL ? hop : NULL,
                                       .pull = s->pull != NULL ? pull : NULL,
                                       .arg = n};
    n->step = step;
    memset(n->sum, 0, n->cache->values * sizeof *n->sum);
    for (size_t k = 0; s->pairs != NULL && k < s->sums; k++)
        memset(n->counted[k], 0, n->job->tensors * sizeof *n->counted[k]);
    CC_TRY(cc_sum_order_step(&order, n->sum, n->cache->values, e));
    if (s->pairs != NULL)
        keep_pairs(n, step);
    return CC_OK;
}

/* --- rows --- */

static int fill_row(const struct cc_job *whole, const struct cc_sizes_part *part, size_t at,
                    const struct cc_sizes_config *config, struct gradient_cache *cache,
                    struct cc_error *e)
{
    const bool is_part = part->job.tensors > 0;
    const struct cc_job *job = is_part ? &part->job : whole;
    struct cc_job_row *row = &job->row[at];
    int status = CC_OK;
    struct encoding n = {.job = job,
                         .whole = whole,
                         .row = row,
                         .config = config,
                         .cache = cache,
                         .out = &row->sizes,
                         .before = config->before != NULL ? config->before[at] : 0};
    CC_TRY_OUT(open_encoding(&n, e));
    if (!cc_job_row_merges(job, row))
        CC_TRY_OUT(find_fixed(&n, e));
    if (row->sizes.fixed)
        goto out;
    CC_TRY_OUT(open_tables(&n, e));
    for (size_t i = 0; i < steps_to_encode(&n); i++)
        CC_TRY_OUT(encode_step(&n, i, e));
    if (is_part)
        status = cc_sizes_part_expand(part, whole, row, e);
out:
    close_encoding(&n);
    return status;
}

/* Whether the row's payloads are only ever summed as floats: the sizes of rounds follow from the
 * shapes. */
static bool is_summed(const struct cc_job *job, const struct cc_job_row *row)
{
    return row->reduction == CC_REDUCE_SUM && cc_exchange_has(job->exchange, CC_X_SUMS);
}

/* Whether the row's payloads can be encoded. Schemes without code have no parameters. */
static bool has_code(const struct cc_job_row *row)
{
    const struct cc_scheme *s = cc_scheme_find(row->scheme);
    return s == NULL || cc_scheme_runs(s);
}

int cc_sizes_fill(struct cc_job *job, const struct cc_sizes_config *config, struct cc_error *e)
{
    struct cc_job with_data = *job;
    const size_t most = config->whole > 0 ? config->whole : CC_SIZES_WHOLE;
    const bool captured = config->trace != NULL || job->trace != NULL;
    struct gradient_cache cache = {0};
    struct cc_sizes_part part = {.origin = NULL};
    int status = CC_OK;
    with_data.data = true;
    if (cc_job_values(job) > most)
        CC_TRY_OUT(cc_sizes_part_make(&with_data, captured, CC_SIZES_PART, &part, e));
    CC_TRY_OUT(open_cache(&with_data, &part, config->trace, &cache, e));
    for (size_t i = 0; i < job->rows; i++) {
        struct cc_job_row *row = &job->row[i];
        const double began = cc_now();
        if (!has_code(row))
            continue;
        cc_job_sizes_free(&row->sizes);
        if (is_summed(job, row))
            row->sizes.fixed = true;
        else
            status = fill_row(&with_data, &part, i, config, &cache, e);
        row->sizes.took_s = cc_now() - began;
        if (status != CC_OK) {
            cc_error_in(e, "the payload sizes of %s", row->scheme);
            goto out;
        }
    }
out:
    close_cache(&cache);
    cc_sizes_part_free(&part);
    return status;
}

int cc_sizes_fixed(const struct cc_spec *spec, bool *out, struct cc_error *e)
{
    /* A job of one tensor. */
    const size_t dims[] = {64, 64};
    struct cc_job_tensor tensor = {.name = NULL};
    size_t offset[] = {0, dims[0] * dims[1]};
    struct cc_job_row row = {.scheme = cc_strdup(spec->name, e),
                             .period = cc_period(spec->scheme, spec->params),
                             .steps = 1};
    struct cc_job job = {.workers = 1,
                         .distribution = CC_MIXTURE,
                         .trace_steps = 1,
                         .tensor = &tensor,
                         .offset = offset,
                         .tensors = 1,
                         .row = &row,
                         .rows = 1};
    const struct cc_sizes_config config = {.on_tick = NULL};
    int status = CC_OK;
    *out = true;
    if (!cc_scheme_runs(spec->scheme))
        goto out;
    tensor.name = cc_strdup("t", e);
    if (row.scheme == NULL || tensor.name == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(cc_shape_make(dims, 2, &tensor.shape, e));
    CC_TRY_OUT(cc_sizes_fill(&job, &config, e));
    *out = row.sizes.fixed;
out:
    cc_job_sizes_free(&row.sizes);
    free(tensor.name);
    free(row.scheme);
    return status;
}
