/* A codec and the results of its last step, to be compared with those of another one that must be
 * the same: with other threads, or another instruction set. */
#ifndef CC_TESTS_LIB_SIDE_H
#define CC_TESTS_LIB_SIDE_H

#include "schemes/codec_set.h"

struct side {
    struct cc_spec *spec;
    struct cc_codec_set set;
    struct cc_codec codec;
    struct cc_context ctx;
    uint8_t *payload; /* `len` bytes */
    size_t len;
    float *room, *y, *sum; /* y: decoded, begins `shift` values after room */
    struct cc_error e;
};

/* Opens a codec for tensor "w", with zeros in `sum`; fails the test if the scheme is not valid. */
void side_open(struct side *s, const char *scheme, struct cc_shape shape, size_t shift);
void side_close(struct side *s);

/* Fails the test, naming the scheme and the data, unless payload, values, sums and state are the
 * same. */
void side_expect_same(const struct side *a, const struct side *b, const char *data);

#endif
