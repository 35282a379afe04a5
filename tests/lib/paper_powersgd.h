/* PowerSGD as Vogels et al. (NeurIPS 2019) print it, algorithms 1 and 2, for all workers at once:
 * plain loops in double, from the paper alone, except for the first Q, which docs/payloads.md
 * defines. */
#ifndef CC_TESTS_LIB_PAPER_POWERSGD_H
#define CC_TESTS_LIB_PAPER_POWERSGD_H

#include <stdbool.h>
#include <stddef.h>

struct paper {
    size_t workers, rows, cols, rank;
    bool feedback;
    double *m;     /* for each worker, rows x cols: gradient plus error, then the error */
    double *p, *q; /* rows x rank and cols x rank, shared by all workers */
};

/* Ends the program if there is no memory. */
struct paper paper_open(size_t workers, size_t rows, size_t cols, size_t rank, bool feedback);
void paper_close(struct paper *s);

/* Runs one step: gradient[w] is worker w's; `decoded` receives the result, which is the same for
 * all workers. Both are rows x cols. */
void paper_step(struct paper *s, const float *const *gradient, double *decoded);

#endif
