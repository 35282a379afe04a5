/* Products of matrices by several threads. */
#ifndef CC_TRAIN_PRODUCT_H
#define CC_TRAIN_PRODUCT_H

#include "train/kernels/dense.h"

void cc_product_run(const struct cc_product *product, int threads);

#endif
