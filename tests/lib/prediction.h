/* Predictions of a small net's step, for tests that work its time out by hand. */
#ifndef CC_TESTS_LIB_PREDICTION_H
#define CC_TESTS_LIB_PREDICTION_H

#include "models/predict.h"

struct fixture {
    struct cc_net *net;
    struct cc_setting s;
    struct cc_predictor p;
};

/* Tensors a and b of 1000 and 3000 values, which take 0.3 s to compute, a third of it for a; four
 * workers at 1 MB/s and 1 ms, everything else by default. */
void open_fixture(struct fixture *w);

/* Four tensors of 250,000 values that take no time to compute, everything else by default. */
void open_four_tensors(struct fixture *w);

void close_fixture(struct fixture *w);

/* The prediction for the setting; tensors of fewer values than min_size are sent as floats. */
struct cc_prediction predict(struct fixture *w, const struct cc_codec_model *codec_model,
                             size_t min_size);

#endif
