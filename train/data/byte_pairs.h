/* Byte-pair encoding of a text in the values of a byte that it does not use: the most frequent pair
 * of tokens becomes a token of its own, again and again. Tokens stay bytes, so a net that predicts
 * bytes learns from them as it is, and its context and each of its steps reach further.
 *
 * Source: Gage, A New Algorithm for Data Compression, 1994; for language models: Sennrich, Haddow,
 * Birch, Neural Machine Translation of Rare Words with Subword Units, 2016, whose pairs end at
 * words. */
#ifndef CC_TRAIN_DATA_BYTE_PAIRS_H
#define CC_TRAIN_DATA_BYTE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum { CC_TOKENS_MOST = 256, CC_TOKEN_PAIRS = CC_TOKENS_MOST * CC_TOKENS_MOST };

struct cc_byte_pair {
    uint8_t token, left, right;
};

/* In the order in which they were found: those of a pair are bytes, or tokens before it. */
struct cc_byte_pairs {
    size_t count;
    struct cc_byte_pair pair[CC_TOKENS_MOST];
};

/* Finds the pairs of text[0, n) with which it has `tokens` tokens, or as many as there are pairs
 * that occur twice, and encodes it. used: the bytes that this text, or another that is to be
 * encoded, has; the others become tokens, the lowest first. Of pairs that are as frequent the
 * lowest is first. count: room to count them. Returns the length of the encoded text. */
size_t cc_byte_pairs_learn(struct cc_byte_pairs *p, uint8_t *text, size_t n,
                           const bool used[CC_TOKENS_MOST], size_t tokens,
                           uint32_t count[CC_TOKEN_PAIRS]);

/* Encodes a text in place; returns its length. */
size_t cc_byte_pairs_encode(const struct cc_byte_pairs *p, uint8_t *text, size_t n);

/* Writes the bytes that a token stands for to out[0, cap), as far as there is room; returns how
 * many they are. */
size_t cc_byte_pairs_decode(const struct cc_byte_pairs *p, uint8_t token, uint8_t *out, size_t cap);

#endif
