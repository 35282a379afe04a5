/* Floats of one message that are summed over the workers as they are. A scheme may need several
 * sums in a step, one after the other (PowerSGD: P, then Q): one for each round of its pack that
 * has bytes. All ranks have the same rounds of the same size.
 *
 * Where the payload is the gradient itself (fp32), nothing is encoded: the exchange sends from the
 * gradient, and the sum is added to the model when it is complete. Libraries leave that to the
 * optimizer, so its time counts as the update's. */
#ifndef CC_NETSIM_EXCHANGE_FLOAT_ROUNDS_H
#define CC_NETSIM_EXCHANGE_FLOAT_ROUNDS_H

#include "netsim/exchange/message_pack.h"

struct cc_float_rounds {
    struct cc_rank_state *rank_state;
    struct cc_pack *pack;
    struct cc_range range; /* the message's values */
    struct cc_range whole; /* of these, those of which this rank gets the sum: set before the first
                              sum is taken, where it is not all */
    size_t round;          /* the scheme's round */
    const uint8_t *own;    /* this rank's floats; NULL without data */
    uint8_t *sum;          /* room for the sum: `own`, or, where that is the gradient, a buffer */
    size_t bytes;          /* 0: nothing is left to sum in this step */
    uint8_t *unused;       /* what a rank that only contributes decodes sums to, as its codecs'
                              states depend on them; otherwise NULL */
};

/* Close it also after an error; all zeros are nothing to close. */
int cc_float_rounds_open(struct cc_float_rounds *f, struct cc_rank_state *s, struct cc_range range,
                         struct cc_error *e);
/* Encodes the step's gradient, up to the first round that has bytes. */
int cc_float_rounds_start(struct cc_float_rounds *f, struct cc_error *e);
/* Whether the sum completes the step's. */
bool cc_float_rounds_last(const struct cc_float_rounds *f);
/* Takes the sum, which is at f->sum or, of a single worker, still at f->own: adds what it completes
 * to the model, as the mean over the workers, and encodes up to the next round that has bytes.
 * Refuses sums of gradients that are not finite. */
int cc_float_rounds_next(struct cc_float_rounds *f, const uint8_t *sum, struct cc_error *e);
void cc_float_rounds_close(struct cc_float_rounds *f);

#endif
