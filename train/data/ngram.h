/* N-grams as a measure for language models: what counting the training text alone predicts of the
 * test text. */
#ifndef CC_TRAIN_DATA_NGRAM_H
#define CC_TRAIN_DATA_NGRAM_H

#include "train/data/data.h"

enum { CC_NGRAM_MOST = 5 };

/* bits[n - 1]: the mean bits of a byte of the test text by n-grams, each byte after the n - 1
 * before it. Probabilities are interpolated with those of shorter contexts as in I. Witten and T.
 * Bell, The zero-frequency problem, 1991, method C: a context seen N times with T bytes after it
 * gives (count + T shorter) / (N + T), and no context 1/256. */
int cc_ngram_bits(const struct cc_data *text, double bits[CC_NGRAM_MOST], struct cc_error *e);

#endif
