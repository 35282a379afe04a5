/* Unions of index sets: how many different values several workers' sparse gradients name together.
 * Gradients of different workers have large values in common, so that their union is smaller than
 * that of independent sets. */
#ifndef CC_CORE_UNIONS_H
#define CC_CORE_UNIONS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum { CC_UNION_POINTS = 5, CC_UNION_WORKERS = 1 << (CC_UNION_POINTS - 1) };

/* Unions are counted over the last half of CC_UNION_STEPS steps: residuals, which make sets of
 * different workers more different, begin to fill in the first half. */
enum { CC_UNION_STEPS = 12 };

/* Mean numbers of indices, measured: size[i] of 2^i workers' sets together. */
struct cc_unions {
    size_t points; /* in size[]; 0: not measured */
    double size[CC_UNION_POINTS];
};

/* The union of m sets, m >= 1, in units of one set; m where nothing was measured (disjoint sets).
 *
 * Two unions of A and B indices that meet as random subsets of n_e indices would have A + B - A B /
 * n_e together. Each measured doubling gives an n_e: A^2 / (2 A - U). A number of sets between two
 * powers of two is put together from powers of two with the n_e of that doubling, and numbers
 * beyond the last with the last n_e. For independent uniform sets in N indices every n_e is N, and
 * the result the expectation N (1 - (1 - k/N)^m). */
double cc_unions_growth(const struct cc_unions *u, int m);

/* Measures unions one vector after the other: adds the indices of the values of x that are not zero
 * to a set (below) of those of sets - 1 vectors before, and after 1, 2, 4, ... the size to *u,
 * which was all zeros at first. */
void cc_unions_take(uint64_t *set, const float *x, size_t n, size_t sets, struct cc_unions *u);

/* A set of indices below n, for counting: (n + 63) / 64 words, all zero at first. Adds an index and
 * returns whether it is new. */
static inline unsigned cc_index_add(uint64_t *set, size_t index)
{
    const uint64_t bit = UINT64_C(1) << index % 64, before = set[index / 64];
    set[index / 64] = before | bit;
    return (before & bit) == 0;
}

#endif
