#include "netsim/message/size_index.h"

#include <stdlib.h>

#include "core/memory.h"
#include "schemes/spec.h"

/* Of all tensors before one. */
struct sum {
    uint64_t payload;
    uint32_t table, shorter;
};

/* A line has the sums before each tensor, and at the end. */
struct cc_size_index {
    const struct cc_job_tensor *tensor;
    const size_t *offset;
    size_t tensors;
    const struct cc_job_row *row;
    struct cc_spec *spec, *raw;
    struct sum *bound;             /* all payloads as long as can be */
    struct sum *quiet;             /* a step in which raw tensors alone are sent */
    struct sum *push, *pull, *hop; /* a line for each of the row's sizes; NULL without */
};

/* --- single payloads --- */

/* The codec of values [from, to) of tensor i. */
static struct cc_codec codec_of(const struct cc_size_index *l, size_t i, size_t from, size_t to)
{
    const struct cc_job_tensor *t = &l->tensor[i];
    const struct cc_spec *spec = t->raw ? l->raw : l->spec;
    return (struct cc_codec){
        .scheme = spec->scheme,
        .params = spec->params,
        .shape = to - from == t->shape.n ? t->shape : cc_shape_flat(to - from),
    };
}

static size_t bound_of(const struct cc_size_index *l, size_t i, size_t from, size_t to)
{
    const struct cc_codec c = codec_of(l, i, from, to);
    return cc_bound(&c);
}

static struct cc_payload_size weight_of(size_t len, size_t bound)
{
    return (struct cc_payload_size){
        .payload = len, .table = cc_leb_bytes(len), .shorter = len < bound ? 1 : 0};
}

/* floor(size * v / n) for size < 2^32, v <= n <= 2^40. */
static uint64_t portion(uint64_t size, uint64_t v, uint64_t n)
{
    const unsigned half = 20;
    const uint64_t high = size * (v >> half), low = size * (v & ((1u << half) - 1));
    return ((high / n) << half) + (((high % n) << half) + low) / n;
}

/* Of a part of a tensor whose payload has `size` bytes where `most` are the most. */
static struct cc_payload_size part_of(const struct cc_size_index *l, size_t i, size_t from,
                                      size_t to, uint64_t size, uint64_t most)
{
    const size_t n = l->tensor[i].shape.n, bound = bound_of(l, i, from, to);
    if (size == most)
        return weight_of(bound, bound);
    const size_t len = (size_t)(portion(size, to, n) - portion(size, from, n));
    return weight_of(len < bound ? len : bound, bound);
}

/* --- lines --- */

static const struct sum *line_of(const struct cc_size_index *l, const struct sum *table,
                                 size_t line)
{
    return table + line * (l->tensors + 1);
}

static struct cc_payload_size plus(struct cc_payload_size a, struct cc_payload_size b)
{
    return (struct cc_payload_size){a.payload + b.payload, a.table + b.table,
                                    a.shorter + b.shorter};
}

/* Tensors first .. end - 1. */
static struct cc_payload_size whole(const struct sum *line, size_t first, size_t end)
{
    const struct sum *a = &line[first], *b = &line[end];
    return (struct cc_payload_size){(size_t)(b->payload - a->payload), b->table - a->table,
                                    b->shorter - a->shorter};
}

/* What [from, to) of tensor i, of which it has some values, weighs. */
static struct cc_payload_size one(const struct cc_size_index *l, const struct sum *line, size_t i,
                                  size_t from, size_t to)
{
    const size_t begin = l->offset[i], end = l->offset[i + 1];
    from = from > begin ? from : begin;
    to = to < end ? to : end;
    if (from == begin && to == end)
        return whole(line, i, i + 1);
    return part_of(l, i, from - begin, to - begin, whole(line, i, i + 1).payload,
                   whole(l->bound, i, i + 1).payload);
}

static struct cc_payload_size weigh(const struct cc_size_index *l, const struct sum *line,
                                    const struct cc_value_range *s)
{
    if (s->first == s->last)
        return one(l, line, s->first, s->from, s->to);
    return plus(plus(one(l, line, s->first, s->from, s->to), whole(line, s->first + 1, s->last)),
                one(l, line, s->last, s->from, s->to));
}

/* --- asking --- */

static bool is_quiet(const struct cc_size_index *l, uint64_t step)
{
    return (step + 1) % l->row->period != 0;
}

/* The logarithm to base 2, rounded down. */
static size_t doublings(int workers)
{
    size_t n = 0;
    for (; workers > 1; workers /= 2)
        n++;
    return n;
}

struct cc_payload_size cc_size_index_lookup(const struct cc_size_index *l,
                                            const struct cc_payload_id *of, uint64_t step,
                                            const struct cc_value_range *s)
{
    const struct cc_job_sizes *sizes = &l->row->sizes;
    if (sizes->fixed)
        return weigh(l, is_quiet(l, step) ? l->quiet : l->bound, s);
    const size_t at = (size_t)(step % sizes->steps);
    const struct sum *table = l->push;
    size_t which = 0;
    if (of->direction == CC_PULL) {
        table = l->pull;
    } else if (of->workers > 1) {
        const size_t sum = doublings(of->workers);
        table = l->hop;
        which = sum < sizes->sums ? sum : sizes->sums - 1;
    } else if (of->rank > 0) {
        which = (size_t)of->rank % sizes->workers;
    }
    return weigh(l, line_of(l, table, which * sizes->steps + at), s);
}

struct cc_payload_size cc_size_index_bound(const struct cc_size_index *l,
                                           const struct cc_value_range *s)
{
    return weigh(l, l->bound, s);
}

size_t cc_size_index_rounds(const struct cc_size_index *l, const struct cc_value_range *s)
{
    for (size_t i = s->first; i <= s->last; i++)
        if (!l->tensor[i].raw)
            return cc_sum_rounds(l->spec->scheme, l->spec->params);
    return 1; /* of floats as they are */
}

size_t cc_size_index_round_bytes(const struct cc_size_index *l, size_t round, uint64_t step,
                                 const struct cc_value_range *s)
{
    const bool quiet = is_quiet(l, step);
    size_t bytes = 0;
    for (size_t i = s->first; i <= s->last; i++) {
        const size_t begin = l->offset[i], end = l->offset[i + 1];
        const size_t from = s->from > begin ? s->from : begin, to = s->to < end ? s->to : end;
        const struct cc_codec c = codec_of(l, i, from - begin, to - begin);
        if (to > from && (!quiet || l->tensor[i].raw))
            bytes += cc_round_bytes(&c, round);
    }
    return bytes;
}

/* --- making --- */

/* What the payload of tensor i can be at most; 0 without values. */
static size_t most_of(const struct cc_size_index *l, size_t i)
{
    return l->tensor[i].shape.n > 0 ? bound_of(l, i, 0, l->tensor[i].shape.n) : 0;
}

static int put(struct cc_size_index *l, struct sum *line, size_t i, size_t len, size_t most,
               struct cc_error *e)
{
    const struct sum *last = &line[i];
    const struct cc_payload_size w = weight_of(len, most);
    const bool is = l->tensor[i].shape.n > 0; /* crates leave out what has no values */
    if (len > most)
        return cc_fail(e, "tensor '%.200s': a payload of %zu bytes, and %s has %zu at most",
                       l->tensor[i].name, len, l->row->scheme, most);
    line[i + 1] = (struct sum){.payload = last->payload + (is ? w.payload : 0),
                               .table = last->table + (uint32_t)(is ? w.table : 0),
                               .shorter = last->shorter + (uint32_t)(is ? w.shorter : 0)};
    return line[i + 1].payload < (uint64_t)1 << 60
               ? CC_OK
               : cc_fail(e, "the payloads of %zu tensors have no bound that fits into memory",
                         l->tensors);
}

/* So many lines, each of a size for every tensor. */
static int make_lines(struct cc_size_index *l, size_t lines, const uint32_t *size, struct sum **out,
                      struct cc_error *e)
{
    int status = CC_OK;
    if (size == NULL)
        return CC_OK;
    *out = cc_alloc0(lines * (l->tensors + 1) * sizeof **out, e);
    if (*out == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < lines; k++)
        for (size_t i = 0; i < l->tensors && status == CC_OK; i++)
            status = put(l, *out + k * (l->tensors + 1), i, size[k * l->tensors + i],
                         (size_t)whole(l->bound, i, i + 1).payload, e);
    return status;
}

static int make_bounds(struct cc_size_index *l, struct cc_error *e)
{
    int status = CC_OK;
    l->bound = cc_alloc0((l->tensors + 1) * sizeof *l->bound, e);
    l->quiet = cc_alloc0((l->tensors + 1) * sizeof *l->quiet, e);
    if (l->bound == NULL || l->quiet == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < l->tensors && status == CC_OK; i++) {
        const size_t most = most_of(l, i);
        status = put(l, l->bound, i, most, most, e);
        if (status == CC_OK)
            status = put(l, l->quiet, i, l->tensor[i].raw ? most : 0, most, e);
    }
    return status;
}

static int make(struct cc_size_index *l, struct cc_error *e)
{
    const struct cc_job_sizes *s = &l->row->sizes;
    if (cc_spec_parse(l->row->scheme, &l->spec, e) != CC_OK ||
        cc_spec_parse(CC_RAW_SCHEME, &l->raw, e) != CC_OK || make_bounds(l, e) != CC_OK ||
        make_lines(l, s->workers * s->steps, s->push, &l->push, e) != CC_OK ||
        make_lines(l, s->steps, s->pull, &l->pull, e) != CC_OK)
        return CC_FAIL;
    return make_lines(l, s->sums * s->steps, s->hop, &l->hop, e);
}

int cc_size_index_make(const struct cc_job *job, const struct cc_job_row *row,
                       struct cc_size_index **out, struct cc_error *e)
{
    struct cc_size_index *l = cc_alloc0(sizeof *l, e);
    if (l == NULL)
        return CC_FAIL;
    *l = (struct cc_size_index){
        .tensor = job->tensor, .offset = job->offset, .tensors = job->tensors, .row = row};
    int status = make(l, e);
    if (status == CC_OK)
        *out = l;
    else
        cc_size_index_free(l);
    return status;
}

void cc_size_index_free(struct cc_size_index *l)
{
    if (l == NULL)
        return;
    cc_spec_free(l->spec);
    cc_spec_free(l->raw);
    free(l->bound);
    free(l->quiet);
    free(l->push);
    free(l->pull);
    free(l->hop);
    free(l);
}

int cc_size_indexes_make(const struct cc_job *job, struct cc_size_index ***out, struct cc_error *e)
{
    *out = NULL;
    if (job->data || job->kind != CC_JOB_REPLAY)
        return CC_OK;
    struct cc_size_index **list = cc_alloc0(job->rows * sizeof(struct cc_size_index *), e);
    if (list == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < job->rows; i++) {
        const int status = cc_size_index_make(job, &job->row[i], &list[i], e);
        if (status != CC_OK) {
            cc_error_in(e, "row %zu", i);
            cc_size_indexes_free(list, job->rows);
            return status;
        }
    }
    *out = list;
    return CC_OK;
}

void cc_size_indexes_free(struct cc_size_index **list, size_t rows)
{
    for (size_t i = 0; list != NULL && i < rows; i++)
        cc_size_index_free(list[i]);
    free(list);
}
