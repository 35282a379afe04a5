/* The random numbers that data take: streams of core/random.h apart from those of codecs, which
 * begin at 0. */
#ifndef CC_TRAIN_DATA_DRAWS_H
#define CC_TRAIN_DATA_DRAWS_H

enum { CC_DRAW_ORDER = 0x64617461, CC_DRAW_SHARDS, CC_DRAW_AUGMENT };

#endif
