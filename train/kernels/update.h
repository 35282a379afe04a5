/* The optimizers' updates of weights, value by value: each operation rounds by itself. */
#ifndef CC_TRAIN_KERNELS_UPDATE_H
#define CC_TRAIN_KERNELS_UPDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/isa.h"

/* One step's constants, as the optimizer's formulas in optimizer.h have them. */
struct cc_update {
    float rate, momentum, decay;
    float beta[2], rest[2]; /* rest: 1 - beta */
    float unbias[2];        /* 1 / (1 - beta^t) */
    float small;
    float keep; /* AdamW, signum: 1 - rate x decay; Adam: 1 */
};

struct k_update {
    void (*plain)(const struct cc_update *u, const float *g, float *w, size_t n);
    void (*momentum)(const struct cc_update *u, bool nesterov, const float *g, float *w, float *v,
                     size_t n);
    /* m, v: running means of the gradient and of its square. */
    void (*adam)(const struct cc_update *u, const float *g, float *w, float *m, float *v, size_t n);
    /* v: the momentum; NULL: there is none. */
    void (*signum)(const struct cc_update *u, const float *g, float *w, float *v, size_t n);
};
CC_KERNELS(k_update)

#endif
