/* Sharing a layer's work among threads. */
#ifndef CC_TRAIN_SHARE_H
#define CC_TRAIN_SHARE_H

#include "train/layer.h"

/* Calls work(l, p, from, to) for ranges that make up 0 .. n, on the pass' threads. Each range, but
 * one that is all, has at least CC_TRAIN_PART_WORK / cost units, and begins at a multiple of
 * `multiple`. `cost`: about the multiply-additions of a unit. */
void cc_share(struct cc_layer *l, const struct cc_pass *p, size_t n, size_t cost, size_t multiple,
              void (*work)(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to));

/* The fewest multiply-additions that are worth a thread. */
#define CC_TRAIN_PART_WORK ((size_t)256 * 1024)

#endif
