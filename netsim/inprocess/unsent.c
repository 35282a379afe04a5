/* The sums of squares are over whole steps, the gradients' and what is left of their total. */
#include "netsim/inprocess/unsent.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/reduce.h"

int cc_unsent_open(struct cc_unsent *u, size_t workers, size_t values, struct cc_error *e)
{
    *u = (struct cc_unsent){.values = values, .workers = workers};
    CC_TRY(CC_NEW(u->total, values, e));
    return CC_NEW(u->mean, values, e);
}

void cc_unsent_close(struct cc_unsent *u)
{
    free(u->total);
    free(u->mean);
    *u = (struct cc_unsent){0};
}

void cc_unsent_begin(struct cc_unsent *u, const float *const *gradient)
{
    const float scale = 1.0f / (float)u->workers;
    for (size_t i = 0; i < u->values; i++)
        u->mean[i] = scale * gradient[0][i];
    for (size_t k = 1; k < u->workers; k++)
        for (size_t i = 0; i < u->values; i++)
            u->mean[i] += scale * gradient[k][i];
    for (size_t i = 0; i < u->values; i++)
        u->total[i] += u->mean[i];
    u->gradient_sq += k_reduce()->sum_sq(u->mean, u->values);
}

void cc_unsent_arrive(struct cc_unsent *u, size_t from, size_t to, const float *mean)
{
    for (size_t i = from; i < to; i++)
        u->total[i] -= mean[i - from];
}

void cc_unsent_end(struct cc_unsent *u)
{
    u->total_sq += k_reduce()->sum_sq(u->total, u->values);
}

double cc_unsent_ratio(struct cc_unsent *u)
{
    const double ratio = u->gradient_sq > 0 ? sqrt(u->total_sq / u->gradient_sq) : (double)NAN;
    u->total_sq = u->gradient_sq = 0;
    return ratio;
}
