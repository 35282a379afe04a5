/* Checking a trace by reading all of it: steps with values that are not finite are named or left
 * out of all streams, pushes of different ranks that are equal are counted, and the values'
 * statistics. */
#include "core/trace/trace_check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "core/trace/trace_impl.h"

/* --- values that are not finite --- */

static int refuse_nonfinite(const struct cc_trace *t, size_t stream, size_t step, size_t tensor,
                            const float *x, struct cc_error *e)
{
    const bool pull = cc_trace_stream(t, stream).direction == CC_PULL;
    char name[32];
    size_t at = 0;
    while (cc_finite(x[at]))
        at++;
    cc_trace_stream_name(t, stream, name, sizeof name);
    return cc_fail(e,
                   "%s, %s%s, step %llu, tensor '%s': the value at index %zu is %s; "
                   "--skip-nonfinite leaves out such steps",
                   t->name, pull ? "the " : "", name,
                   (unsigned long long)cc_trace_step_number(t, stream, step),
                   t->tensors[tensor].name, at, x[at] != x[at] ? "NaN" : "infinite");
}

int cc_trace_load_finite(struct cc_trace *t, size_t stream, size_t step, size_t tensor, float *x,
                         struct cc_error *e)
{
    CC_TRY(cc_trace_load(t, stream, step, tensor, x, e));
    return cc_finite_bits(k_reduce()->absmax(x, t->tensors[tensor].shape.n))
               ? CC_OK
               : refuse_nonfinite(t, stream, step, tensor, x, e);
}

/* --- steps with such values --- */

/* Numbers of steps, sorted and distinct. */
struct numbers {
    uint64_t *list;
    size_t count, capacity;
};

static size_t place_of(const struct numbers *s, uint64_t number)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->list[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_number(const struct numbers *s, uint64_t number)
{
    const size_t at = place_of(s, number);
    return at < s->count && s->list[at] == number;
}

static int add_number(struct numbers *s, uint64_t number, struct cc_error *e)
{
    if (has_number(s, number))
        return CC_OK;
    CC_TRY(CC_GROW(s->list, &s->capacity, s->count + 1, e));
    const size_t at = place_of(s, number);
    memmove(s->list + at + 1, s->list + at, (s->count - at) * sizeof *s->list);
    s->list[at] = number;
    s->count++;
    return CC_OK;
}

static int is_finite_step(struct cc_trace *t, size_t stream, size_t step, float *x, bool *out,
                          struct cc_error *e)
{
    *out = true;
    for (size_t i = 0; i < t->count && *out; i++) {
        if (cc_interrupted())
            return cc_fail(e, "interrupted");
        CC_TRY(cc_trace_load(t, stream, step, i, x, e));
        *out = cc_finite_bits(k_reduce()->absmax(x, t->tensors[i].shape.n));
    }
    return CC_OK;
}

static int find_nonfinite(struct cc_trace *t, struct numbers *out, struct cc_error *e)
{
    float *x;
    int status = CC_OK;
    CC_TRY(CC_NEW(x, t->largest, e));
    for (size_t s = 0; s < t->stream_count; s++)
        for (size_t k = 0; k < t->steps[s] && status == CC_OK; k++) {
            bool finite = true;
            status = is_finite_step(t, s, k, x, &finite, e);
            if (status == CC_OK && !finite)
                status = add_number(out, cc_trace_step_number(t, s, k), e);
        }
    free(x);
    return status;
}

/* Leaves each stream the other steps, and takes over the list of the numbers. */
static int keep_others(struct cc_trace *t, struct numbers *skipped, struct cc_error *e)
{
    int status = CC_OK;
    size_t *left = NULL, **kept = NULL;
    CC_TRY_OUT(CC_NEW(left, t->stream_count, e));
    CC_TRY_OUT(CC_NEW(kept, t->stream_count, e));
    for (size_t s = 0; s < t->stream_count; s++) {
        CC_TRY_OUT(CC_NEW(kept[s], t->steps[s], e));
        for (size_t k = 0; k < t->steps[s]; k++)
            if (!has_number(skipped, cc_trace_step_number(t, s, k)))
                kept[s][left[s]++] = k;
        if (left[s] == 0)
            CC_TRY_OUT(
                cc_fail(e, "%s: no step is left without values that are not finite", t->name));
    }
    memcpy(t->steps, left, t->stream_count * sizeof *left);
    t->kept = kept;
    t->skip = skipped->list;
    t->skipped = skipped->count;
    skipped->list = NULL;
    kept = NULL;
out:
    for (size_t s = 0; kept != NULL && s < t->stream_count; s++)
        free(kept[s]);
    free(kept);
    free(left);
    return status;
}

/* Leaves out the steps that were collected with this status, and frees the list. */
static int skip(struct cc_trace *t, struct numbers *skipped, int status, struct cc_error *e)
{
    if (status == CC_OK && skipped->count > 0)
        status = keep_others(t, skipped, e);
    free(skipped->list);
    return status;
}

int cc_trace_skip_nonfinite(struct cc_trace *t, struct cc_error *e)
{
    struct numbers skipped = {.list = NULL};
    return skip(t, &skipped, find_nonfinite(t, &skipped, e), e);
}

int cc_trace_skip(struct cc_trace *t, const uint64_t *numbers, size_t count, struct cc_error *e)
{
    struct numbers skipped = {.list = NULL};
    int status = CC_OK;
    for (size_t i = 0; i < count && status == CC_OK; i++)
        status = add_number(&skipped, numbers[i], e);
    return skip(t, &skipped, status, e);
}

/* --- streams that are the same --- */

enum { COMPARED = 4096 };

/* Sets *step to the first step of the stream with this number; false if it has none. */
static bool find_step(const struct cc_trace *t, size_t stream, uint64_t number, size_t *step)
{
    for (size_t k = 0; k < t->steps[stream]; k++)
        if (cc_trace_step_number(t, stream, k) == number) {
            *step = k;
            return true;
        }
    return false;
}

static bool has_nonzero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return true;
    return false;
}

/* Whether a stream of pushes begins like the first, with something other than zeros. x has room for
 * twice COMPARED values. */
static int is_same(struct cc_trace *t, size_t stream, float *x, bool *out, struct cc_error *e)
{
    size_t step = 0, other = 0;
    bool same = false, nonzero = false;
    while (step < t->steps[0] &&
           !(same = find_step(t, stream, cc_trace_step_number(t, 0, step), &other)))
        step++;
    for (size_t i = 0; i < t->count && same; i++) {
        const size_t all = t->tensors[i].shape.n, n = all < COMPARED ? all : COMPARED;
        CC_TRY(cc_trace_load_first(t, 0, step, i, n, x, e));
        CC_TRY(cc_trace_load_first(t, stream, other, i, n, x + COMPARED, e));
        same = memcmp(x, x + COMPARED, n * sizeof *x) == 0;
        nonzero = nonzero || has_nonzero(x, n);
    }
    *out = same && nonzero;
    return CC_OK;
}

int cc_trace_same_pushes(struct cc_trace *t, size_t *same, struct cc_error *e)
{
    float *x;
    int status = CC_OK;
    *same = 0;
    CC_TRY(CC_NEW(x, 2 * COMPARED, e));
    for (size_t s = 1; s < t->stream_count && status == CC_OK; s++) {
        bool is = false;
        if (t->streams[s].direction != CC_PUSH)
            break; /* pushes come first */
        status = is_same(t, s, x, &is, e);
        *same += is;
    }
    free(x);
    return status;
}

/* --- statistics of the values --- */

/* For values of which some are not finite: counts these, and returns the sum of the squares of the
 * others; *max gets the bits of their largest magnitude. */
static double finite_part(struct cc_tensor_stats *s, const float *x, size_t n, uint32_t *max)
{
    double squares = 0;
    *max = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(x[i]) & 0x7fffffffu;
        if (cc_finite_bits(bits)) {
            *max = bits > *max ? bits : *max;
            squares += (double)x[i] * (double)x[i];
        } else {
            s->not_finite++;
        }
    }
    return squares;
}

/* Adds one step. s->rms holds the sum of the squares until all steps are added. */
static void add_step(struct cc_tensor_stats *s, const float *x, size_t n)
{
    uint32_t max = k_reduce()->absmax(x, n);
    s->values += n;
    for (size_t i = 0; i < n; i++)
        s->zeros += x[i] == 0;
    s->rms += cc_finite_bits(max) ? k_reduce()->sum_sq(x, n) : finite_part(s, x, n, &max);
    s->max_abs = fmaxf(s->max_abs, cc_bits_f32(max));
}

int cc_trace_stats(struct cc_trace *t, size_t stream, void (*progress)(void *context, double done),
                   void *context, struct cc_tensor_stats *out, struct cc_error *e)
{
    size_t count = cc_trace_tensors(t), steps = cc_trace_steps(t, stream);
    float *x;
    int status = CC_OK;
    CC_TRY(CC_NEW(x, cc_trace_largest(t), e));
    for (size_t i = 0; i < count; i++)
        out[i] = (struct cc_tensor_stats){0};
    for (size_t k = 0; k < steps; k++) {
        if (progress != NULL)
            progress(context, (double)k / (double)steps);
        for (size_t i = 0; i < count; i++) {
            if (cc_interrupted())
                CC_TRY_OUT(cc_fail(e, "interrupted"));
            CC_TRY_OUT(cc_trace_load(t, stream, k, i, x, e));
            add_step(&out[i], x, cc_trace_tensor(t, i)->shape.n);
        }
    }
    for (size_t i = 0; i < count; i++)
        out[i].rms = sqrt(out[i].rms / (double)(out[i].values - out[i].not_finite));
out:
    free(x);
    return status;
}
