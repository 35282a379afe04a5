/* The order of samples: which of them each worker trains on in which step. It is drawn afresh in
 * every epoch, and depends on seed and epoch only. */
#ifndef CC_TRAIN_DATA_ORDER_H
#define CC_TRAIN_DATA_ORDER_H

#include "train/data/data.h"

struct cc_order_config {
    size_t workers, batch; /* samples of a worker in a step */
    /* 0: in each epoch all samples are shuffled, and step after step takes the next `batch` for
     * each worker in turn (so that P workers see in a step what one worker with P times the batch
     * does). Otherwise the samples are sorted by class and cut into workers x by_class equal
     * shards, and each worker gets by_class of them at random and for good (McMahan et al.,
     * Communication-efficient learning of deep networks from decentralized data, AISTATS 2017,
     * section 3). */
    size_t by_class;
    uint64_t seed;
};

struct cc_order;

/* Fails if an epoch has too few samples for a step. The samples must outlive it. */
int cc_order_open(const struct cc_samples *samples, const struct cc_order_config *config,
                  struct cc_order **out, struct cc_error *e);
void cc_order_close(struct cc_order *o); /* NULL is allowed */

/* The steps of an epoch; samples that do not fill a step are left out of it. */
size_t cc_order_steps(const struct cc_order *o);
/* The samples of a worker in a step, `batch` of them; valid until the next call of another epoch.
 */
const uint32_t *cc_order_batch(struct cc_order *o, size_t step, size_t worker);

#endif
