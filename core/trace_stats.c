#include "core/trace_stats.h"

#include <math.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"

/* Adds one step. Until the end s->rms is the sum of the squares, s->peak the sum of *peaks peaks.
 */
static void add_step(struct cc_tensor_stats *s, size_t *peaks, const float *x, size_t n)
{
    double squares = 0;
    float low = INFINITY, high = -INFINITY;
    size_t values = 0;
    for (size_t i = 0; i < n; i++) {
        if (!cc_finite(x[i]))
            continue;
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        s->zeros += x[i] == 0;
        values++;
        squares += (double)x[i] * (double)x[i];
    }
    s->not_finite += n - values;
    if (values == 0)
        return;
    s->min = s->values == 0 || low < s->min ? low : s->min;
    s->max = s->values == 0 || high > s->max ? high : s->max;
    s->values += values;
    s->rms += squares;
    if (squares > 0) {
        s->peak += (double)(high > -low ? high : -low) / sqrt(squares / (double)values);
        ++*peaks;
    }
}

int cc_trace_stats(struct cc_trace *t, size_t stream, struct cc_tensor_stats *out,
                   struct cc_error *e)
{
    size_t count = cc_trace_tensors(t);
    float *buffer = cc_alloc(cc_trace_largest(t) * sizeof *buffer, e);
    size_t *peaks = cc_alloc0(count * sizeof *peaks, e);
    int status = buffer != NULL && peaks != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0; i < count; i++)
        out[i] = (struct cc_tensor_stats){0};
    for (size_t k = 0; k < cc_trace_steps(t, stream) && status == CC_OK; k++) {
        for (size_t i = 0; i < count && status == CC_OK; i++) {
            const float *x;
            status = cc_trace_load(t, stream, k, i, buffer, &x, e);
            if (status == CC_OK)
                add_step(&out[i], &peaks[i], x, cc_trace_tensor(t, i)->shape.n);
        }
        cc_trace_release(t, stream, k);
    }
    for (size_t i = 0; i < count && status == CC_OK; i++) {
        out[i].rms = out[i].values > 0 ? sqrt(out[i].rms / (double)out[i].values) : 0;
        out[i].peak = peaks[i] > 0 ? out[i].peak / (double)peaks[i] : 0;
    }
    free(peaks);
    free(buffer);
    return status;
}
