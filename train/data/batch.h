/* Batches: samples as the input of a network, normalized, augmented and at the network's size. */
#ifndef CC_TRAIN_DATA_BATCH_H
#define CC_TRAIN_DATA_BATCH_H

#include <stdbool.h>

#include "train/data/data.h"

/* Random changes of training images. A sample's change in an epoch depends on seed, epoch and
 * sample only. */
struct cc_augment {
    bool flip;    /* left and right, of every second image */
    size_t shift; /* the most pixels in each direction; the channel's mean fills the edge */
    uint64_t seed, epoch;
};

/* The samples index[0, count) of d->train or d->test as floats, [count][channels][height][width]
 * with the given height and width, and their labels. augment may be NULL. `room` has
 * cc_data_values(d) floats. */
void cc_batch(const struct cc_data *d, const struct cc_samples *from, const uint32_t *index,
              size_t count, const struct cc_augment *augment, size_t height, size_t width,
              float *room, float *out, int32_t *label);

/* Text: the samples index[0, count) as floats, [count][context], and the label of each byte, the
 * next one. In training, samples of an epoch begin `shift` bytes later, up to the context. */
void cc_batch_text(const struct cc_data *d, const struct cc_samples *from, const uint32_t *index,
                   size_t count, size_t shift, float *out, int32_t *label);
/* The shift of an epoch, by the seed and epoch alone. */
size_t cc_text_shift(const struct cc_data *d, uint64_t seed, uint64_t epoch);

#endif
