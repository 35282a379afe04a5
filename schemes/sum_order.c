#include "schemes/sum_order.h"

#include <string.h>

int cc_sum_order_step(const struct cc_sum_order *o, float *partial, size_t n, struct cc_error *e)
{
    for (size_t w = 0; w < o->workers; w++) {
        const float *x;
        CC_TRY(o->gradient(o->arg, w, &x, e));
        CC_TRY(o->push(o->arg, w, x, e));
        if (o->hop != NULL && w == 0)
            memcpy(partial, x, n * sizeof *partial);
        for (size_t i = 0; o->hop != NULL && w > 0 && i < n; i++)
            partial[i] = partial[i] + x[i];
        if (o->hop != NULL)
            CC_TRY(o->hop(o->arg, w, partial, e));
        if (o->pull != NULL)
            CC_TRY(o->pull(o->arg, w + 1, e));
    }
    return CC_OK;
}
