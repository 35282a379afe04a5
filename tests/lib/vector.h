/* Test vectors: one codec, and the results that it must give for certain values and bytes, on every
 * instruction set of this machine. Input is copied to memory of its exact size, also at an odd
 * address. */
#ifndef CC_TESTS_LIB_VECTOR_H
#define CC_TESTS_LIB_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "schemes/codec_set.h"

struct vector {
    struct cc_spec *spec;
    struct cc_codec_set set; /* holds the memory */
    struct cc_codec codec;
    struct cc_context ctx; /* seed 1, everything else 0; tensor "t" */
};

void vector_open(struct vector *v, const char *spec, size_t n);
void vector_close(struct vector *v);

/* Expects that steps * n values, encoded one step after the other from a fresh state, give these
 * bytes, of equal length in each step. */
void vector_encodes(struct vector *v, size_t steps, const float *x, const uint8_t *want,
                    size_t len);

/* Expects that the bytes decode to these values, bit by bit (NaN to any NaN), and that decode_add
 * adds them. */
void vector_decodes(struct vector *v, const uint8_t *bytes, size_t len, const float *want);

/* Expects both: vector_encodes for one step, and vector_decodes. */
void vector_is(struct vector *v, const float *x, const uint8_t *bytes, size_t len,
               const float *decoded);

/* Expect that encoding x, or decoding and adding the bytes, fails with a message that contains the
 * text. */
void vector_refuses(struct vector *v, const float *x, const char *text);
void vector_rejects(struct vector *v, const uint8_t *bytes, size_t len, const char *text);

#endif
