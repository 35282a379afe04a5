/* Bases of the discrete cosine transform (kernels/cosine.h) for the sides of a tensor's cells. */
#ifndef CC_SCHEMES_BASIS_H
#define CC_SCHEMES_BASIS_H

#include "schemes/kernels/cosine.h"

/* Sets the basis of length n, 1 to CC_BASIS: function u at value i is the float nearest to
 * sqrt((u == 0 ? 1 : 2) / n) cos(pi (2 i + 1) u / (2 n)), on every machine. */
void cc_basis_make(struct cc_basis *b, size_t n);

#endif
