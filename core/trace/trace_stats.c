#include "core/trace/trace_stats.h"

#include <math.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/reduce.h"

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
    float *x = cc_alloc(cc_trace_largest(t) * sizeof *x, e);
    int status = CC_OK;
    if (x == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < count; i++)
        out[i] = (struct cc_tensor_stats){0};
    for (size_t k = 0; k < steps; k++) {
        if (progress != NULL)
            progress(context, (double)k / (double)steps);
        for (size_t i = 0; i < count; i++) {
            if (cc_interrupted()) {
                status = cc_fail(e, "interrupted");
                goto out;
            }
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
