#include "tests/lib/paper_powersgd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/reference.h"

static double *room(size_t n)
{
    double *p = calloc(n, sizeof *p);
    if (p == NULL)
        abort();
    return p;
}

struct paper paper_open(size_t workers, size_t rows, size_t cols, size_t rank, bool feedback)
{
    struct paper s = {
        .workers = workers, .rows = rows, .cols = cols, .rank = rank, .feedback = feedback};
    const struct cc_context first = {.name = NULL};
    s.m = room(workers * rows * cols);
    s.p = room(rows * rank);
    s.q = room(cols * rank);
    for (size_t i = 0; i < cols * rank; i++)
        s.q[i] = 2 * ((ref_random(&first, -1, 0, i) >> 8) * 0x1p-24) - 1;
    return s;
}

void paper_close(struct paper *s)
{
    free(s->m);
    free(s->p);
    free(s->q);
}

/* P = the mean over the workers of M Q. */
static void mean_p(struct paper *s)
{
    memset(s->p, 0, s->rows * s->rank * sizeof *s->p);
    for (size_t w = 0; w < s->workers; w++)
        for (size_t i = 0; i < s->rows; i++)
            for (size_t j = 0; j < s->cols; j++)
                for (size_t k = 0; k < s->rank; k++)
                    s->p[i * s->rank + k] += s->m[(w * s->rows + i) * s->cols + j] *
                                             s->q[j * s->rank + k] / (double)s->workers;
}

/* P = ORTHOGONALIZE(P). */
static void orthogonalize(struct paper *s)
{
    for (size_t k = 0; k < s->rank; k++) {
        double norm = 0;
        for (size_t l = 0; l < k; l++) {
            double c = 0;
            for (size_t i = 0; i < s->rows; i++)
                c += s->p[i * s->rank + l] * s->p[i * s->rank + k];
            for (size_t i = 0; i < s->rows; i++)
                s->p[i * s->rank + k] -= c * s->p[i * s->rank + l];
        }
        for (size_t i = 0; i < s->rows; i++)
            norm += s->p[i * s->rank + k] * s->p[i * s->rank + k];
        for (size_t i = 0; i < s->rows && norm > 0; i++)
            s->p[i * s->rank + k] /= sqrt(norm);
    }
}

/* Q = the mean over the workers of transpose(M) P. */
static void mean_q(struct paper *s)
{
    memset(s->q, 0, s->cols * s->rank * sizeof *s->q);
    for (size_t w = 0; w < s->workers; w++)
        for (size_t i = 0; i < s->rows; i++)
            for (size_t j = 0; j < s->cols; j++)
                for (size_t k = 0; k < s->rank; k++)
                    s->q[j * s->rank + k] += s->m[(w * s->rows + i) * s->cols + j] *
                                             s->p[i * s->rank + k] / (double)s->workers;
}

void paper_step(struct paper *s, const float *const *gradient, double *decoded)
{
    size_t n = s->rows * s->cols;
    for (size_t w = 0; w < s->workers; w++)
        for (size_t i = 0; i < n; i++)
            s->m[w * n + i] = (double)gradient[w][i] + (s->feedback ? s->m[w * n + i] : 0);
    mean_p(s);
    orthogonalize(s);
    mean_q(s);
    memset(decoded, 0, n * sizeof *decoded);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->rank; k++)
            decoded[i] += s->p[i / s->cols * s->rank + k] * s->q[i % s->cols * s->rank + k];
    for (size_t w = 0; w < s->workers; w++)
        for (size_t i = 0; i < n; i++)
            s->m[w * n + i] -= decoded[i];
}
