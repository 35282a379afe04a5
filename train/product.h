/* Products of matrices by several threads. */
#ifndef CC_TRAIN_PRODUCT_H
#define CC_TRAIN_PRODUCT_H

#include "train/kernels/dense.h"

/* The fewest multiply-additions that are worth a thread. */
#define CC_TRAIN_PART_WORK ((size_t)256 * 1024)

void cc_product_run(const struct cc_product *product, int threads);

#endif
