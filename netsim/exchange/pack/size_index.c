/* The index is a set of lines of prefix sums. Entry i of a line sums the payloads of the tensors
 * before tensor i: their bytes, the bytes of their entries in a pack's table of lengths, and how
 * many are shorter than their bounds. There is a line for the bounds, one for silent steps (in
 * which only raw tensors are sent), and, unless all payloads have fixed sizes, one for every
 * worker, sum and step of the job's sizes. Numbers of merged pairs have lines of their own.
 *
 * A range of values is the rest of its first tensor, whole tensors, and the beginning of its last
 * tensor. Whole tensors are the difference of two entries. A part [from, to) of a tensor of n
 * values and s bytes has floor(s to / n) - floor(s from / n) bytes, so that the parts of a tensor
 * add up to it; if the tensor's payload is as long as its bound, so is the part's. */
#include "netsim/exchange/pack/size_index.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/unions.h"
#include "schemes/spec.h"

/* Totals over all tensors before one. */
struct sum {
    uint64_t payload;
    uint32_t table, shorter;
};

struct cc_size_index {
    const struct cc_job_tensor *tensor;
    const size_t *offset;
    size_t tensors;
    const struct cc_job_row *row;
    struct cc_spec *spec, *raw;
    struct sum *bound, *silent;    /* one line each: tensors + 1 entries */
    struct sum *push, *pull, *hop; /* a line for each of the row's sizes, in their order; or NULL */
    uint64_t *pairs;               /* likewise, of pairs */
};

/* --- single payloads --- */

/* The codec of values [from, to) of tensor i. */
static struct cc_codec codec_of(const struct cc_size_index *index, size_t i, size_t from, size_t to)
{
    const struct cc_job_tensor *t = &index->tensor[i];
    const struct cc_spec *spec = t->raw ? index->raw : index->spec;
    return (struct cc_codec){
        .scheme = spec->scheme,
        .params = spec->params,
        .shape = to - from == t->shape.n ? t->shape : cc_shape_flat(to - from),
    };
}

static size_t bound_of(const struct cc_size_index *index, size_t i, size_t from, size_t to)
{
    const struct cc_codec c = codec_of(index, i, from, to);
    return cc_bound(&c);
}

static struct cc_payload_size size_of_payload(size_t len, size_t bound)
{
    return (struct cc_payload_size){
        .payload = len, .table = cc_leb_bytes(len), .shorter = len < bound ? 1 : 0};
}

/* floor(size * v / n) for size < 2^60, v <= n <= 2^40, and a result below 2^64. */
static uint64_t portion(uint64_t size, uint64_t v, uint64_t n)
{
    const unsigned half = 20;
    const uint64_t whole = size / n * v, rest = size % n;
    const uint64_t high = rest * (v >> half), low = rest * (v & ((1u << half) - 1));
    return whole + ((high / n) << half) + (((high % n) << half) + low) / n;
}

/* A part of tensor i, whose whole payload has `size` bytes and may have `most`. */
static struct cc_payload_size size_of_part(const struct cc_size_index *index, size_t i, size_t from,
                                           size_t to, uint64_t size, uint64_t most)
{
    const size_t n = index->tensor[i].shape.n, bound = bound_of(index, i, from, to);
    if (size == most)
        return size_of_payload(bound, bound);
    const size_t len = (size_t)(portion(size, to, n) - portion(size, from, n));
    return size_of_payload(len < bound ? len : bound, bound);
}

/* --- lines --- */

static void add(struct cc_payload_size *sum, struct cc_payload_size s)
{
    sum->payload += s.payload;
    sum->table += s.table;
    sum->shorter += s.shorter;
}

/* The whole tensors first .. end - 1. */
static struct cc_payload_size size_of_tensors(const struct sum *line, size_t first, size_t end)
{
    const struct sum *a = &line[first], *b = &line[end];
    return (struct cc_payload_size){(size_t)(b->payload - a->payload), b->table - a->table,
                                    b->shorter - a->shorter};
}

/* The values of tensor i that are in the range; there are some. */
static struct cc_payload_size size_in_tensor(const struct cc_size_index *index,
                                             const struct sum *line, size_t i,
                                             const struct cc_value_range *range)
{
    const size_t begin = index->offset[i];
    const struct cc_value_range part = cc_range_in_tensor(range, index->offset, (uint32_t)i);
    const struct cc_payload_size whole = size_of_tensors(line, i, i + 1);
    if (part.from == begin && part.to == index->offset[i + 1])
        return whole;
    return size_of_part(index, i, part.from - begin, part.to - begin, whole.payload,
                        size_of_tensors(index->bound, i, i + 1).payload);
}

static void add_line(const struct cc_size_index *index, const struct sum *line,
                     const struct cc_value_range *range, struct cc_payload_size *sum)
{
    const size_t first = range->first, last = range->last;
    add(sum, size_in_tensor(index, line, first, range));
    if (first == last)
        return;
    add(sum, size_of_tensors(line, first + 1, last));
    add(sum, size_in_tensor(index, line, last, range));
}

/* --- lookup --- */

static bool is_silent(const struct cc_size_index *index, uint64_t step)
{
    return (step + 1) % index->row->period != 0;
}

/* The line of the payloads in a step. */
static const struct sum *line_of(const struct cc_size_index *index, const struct cc_payload_id *id,
                                 uint64_t step)
{
    const struct cc_job_sizes *sizes = &index->row->sizes;
    const struct sum *table = index->push;
    size_t which = 0;
    if (id == NULL)
        return index->bound;
    if (sizes->fixed)
        return is_silent(index, step) ? index->silent : index->bound;
    if (id->direction == CC_PULL) {
        table = index->pull;
    } else if (id->workers > 1) {
        table = index->hop;
        for (int n = id->workers; n > 1 && which + 1 < sizes->sums; n /= 2)
            which++;
    } else if (id->rank > 0) {
        which = (size_t)id->rank % sizes->workers;
    }
    const size_t line = which * sizes->steps + (size_t)(step % sizes->steps);
    return table + line * (index->tensors + 1);
}

void cc_size_index_add(const struct cc_size_index *index, const struct cc_payload_id *id,
                       uint64_t step, const struct cc_value_range *range,
                       struct cc_payload_size *sum)
{
    add_line(index, line_of(index, id, step), range, sum);
}

size_t cc_size_index_rounds(const struct cc_size_index *index, const struct cc_value_range *range)
{
    for (size_t i = range->first; i <= range->last; i++)
        if (!index->tensor[i].raw)
            return cc_sum_rounds(index->spec->scheme, index->spec->params);
    return 1; /* raw tensors are summed as they are */
}

size_t cc_size_index_round_bytes(const struct cc_size_index *index, size_t round, uint64_t step,
                                 const struct cc_value_range *range)
{
    const bool silent = is_silent(index, step);
    size_t bytes = 0;
    for (uint32_t i = range->first; i <= range->last; i++) {
        const struct cc_value_range part = cc_range_in_tensor(range, index->offset, i);
        if (part.to == part.from || (silent && !index->tensor[i].raw))
            continue;
        const struct cc_codec c =
            codec_of(index, i, part.from - index->offset[i], part.to - index->offset[i]);
        bytes += cc_round_bytes(&c, round);
    }
    return bytes;
}

/* --- merged pairs --- */

size_t cc_tensor_at(const size_t *offset, size_t tensors, size_t value)
{
    size_t low = 0, high = tensors;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (offset[mid + 1] <= value)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Pairs before a value, of a line; a part of a tensor has its part of them. */
static double pairs_before(const struct cc_size_index *index, const uint64_t *line, size_t value)
{
    const size_t i = cc_tensor_at(index->offset, index->tensors, value);
    if (i == index->tensors)
        return (double)line[i];
    const size_t begin = index->offset[i], end = index->offset[i + 1];
    return (double)line[i] +
           (double)(line[i + 1] - line[i]) * (double)(value - begin) / (double)(end - begin);
}

size_t cc_size_index_pairs(const struct cc_size_index *index, int workers, uint64_t step,
                           size_t from, size_t to)
{
    const struct cc_job_sizes *s = &index->row->sizes;
    struct cc_unions u = {.points = s->sums < CC_UNION_POINTS ? s->sums : CC_UNION_POINTS};
    const double values = (double)(to - from);
    double all;
    for (size_t k = 0; k < u.points; k++) {
        const size_t at = k * s->steps + (size_t)(step % s->steps);
        const uint64_t *line = index->pairs + at * (index->tensors + 1);
        u.size[k] = pairs_before(index, line, to) - pairs_before(index, line, from);
    }
    if (u.points > 1)
        all = u.size[0] * cc_unions_growth(&u, workers);
    else
        all = values * (1 - pow(1 - u.size[0] / fmax(values, 1), workers));
    return (size_t)round(fmin(all, values));
}

/* --- making --- */

/* Sets entry i + 1 of a line: the payload of tensor i has `len` bytes, where `most` are allowed. */
static int add_tensor(const struct cc_size_index *index, struct sum *line, size_t i, size_t len,
                      size_t most, struct cc_error *e)
{
    line[i + 1] = line[i];
    if (len > most)
        return cc_fail(e, "tensor '%.200s': a payload of %zu bytes, and %s has %zu at most",
                       index->tensor[i].name, len, index->row->scheme, most);
    if (index->tensor[i].shape.n == 0) /* packs leave it out */
        return CC_OK;
    const struct cc_payload_size s = size_of_payload(len, most);
    line[i + 1].payload += s.payload;
    line[i + 1].table += (uint32_t)s.table;
    line[i + 1].shorter += (uint32_t)s.shorter;
    return line[i + 1].payload < (uint64_t)1 << 60
               ? CC_OK
               : cc_fail(e, "the payloads of %zu tensors have no bound that fits into memory",
                         index->tensors);
}

static int make_bounds(struct cc_size_index *index, struct cc_error *e)
{
    CC_TRY(CC_NEW(index->bound, index->tensors + 1, e));
    CC_TRY(CC_NEW(index->silent, index->tensors + 1, e));
    for (size_t i = 0; i < index->tensors; i++) {
        const size_t n = index->tensor[i].shape.n, most = n > 0 ? bound_of(index, i, 0, n) : 0;
        CC_TRY(add_tensor(index, index->bound, i, most, most, e));
        CC_TRY(add_tensor(index, index->silent, i, index->tensor[i].raw ? most : 0, most, e));
    }
    return CC_OK;
}

/* Makes the lines of a list of the job: size[lines][tensors]. */
static int make_lines(const struct cc_size_index *index, size_t lines, const uint64_t *size,
                      struct sum **out, struct cc_error *e)
{
    const size_t tensors = index->tensors;
    if (size == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(*out, lines * (tensors + 1), e));
    for (size_t k = 0; k < lines; k++)
        for (size_t i = 0; i < tensors; i++)
            CC_TRY(add_tensor(index, *out + k * (tensors + 1), i, size[k * tensors + i],
                              size_of_tensors(index->bound, i, i + 1).payload, e));
    return CC_OK;
}

/* Makes the lines of merged pairs. */
static int make_pair_lines(struct cc_size_index *index, const struct cc_job_sizes *s,
                           struct cc_error *e)
{
    const size_t lines = s->sums * s->steps, tensors = index->tensors;
    if (s->pairs == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(index->pairs, lines * (tensors + 1), e));
    for (size_t k = 0; k < lines; k++)
        for (size_t i = 0; i < tensors; i++) {
            uint64_t *line = index->pairs + k * (tensors + 1);
            const size_t pairs = s->pairs[k * tensors + i];
            if (pairs > index->tensor[i].shape.n)
                return cc_fail(e, "tensor '%.200s': %zu pairs of %zu values", index->tensor[i].name,
                               pairs, index->tensor[i].shape.n);
            line[i + 1] = line[i] + pairs;
        }
    return CC_OK;
}

int cc_size_index_make(const struct cc_job *job, const struct cc_job_row *row,
                       struct cc_size_index **out, struct cc_error *e)
{
    const struct cc_job_sizes *s = &row->sizes;
    int status = CC_OK;
    struct cc_size_index *index;
    CC_TRY(CC_NEW(index, 1, e));
    index->tensor = job->tensor;
    index->offset = job->offset;
    index->tensors = job->tensors;
    index->row = row;
    CC_TRY_OUT(cc_spec_parse(row->scheme, &index->spec, e));
    CC_TRY_OUT(cc_spec_parse(cc_job_row_raw(job, row), &index->raw, e));
    CC_TRY_OUT(make_bounds(index, e));
    CC_TRY_OUT(make_lines(index, s->workers * s->steps, s->push, &index->push, e));
    CC_TRY_OUT(make_lines(index, s->steps, s->pull, &index->pull, e));
    CC_TRY_OUT(make_lines(index, s->sums * s->steps, s->hop, &index->hop, e));
    CC_TRY_OUT(make_pair_lines(index, s, e));
    *out = index;
out:
    if (status != CC_OK)
        cc_size_index_free(index);
    return status;
}

void cc_size_index_free(struct cc_size_index *index)
{
    if (index == NULL)
        return;
    cc_spec_free(index->spec);
    cc_spec_free(index->raw);
    free(index->bound);
    free(index->silent);
    free(index->push);
    free(index->pull);
    free(index->hop);
    free(index->pairs);
    free(index);
}
