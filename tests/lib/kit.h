/* One codec with its buffers, for tests that compare with bytes computed by hand. */
#ifndef CC_TESTS_LIB_KIT_H
#define CC_TESTS_LIB_KIT_H

#include "schemes/codec_set.h"

struct kit {
    struct cc_spec *spec;
    struct cc_codec_set set; /* holds the memory */
    struct cc_codec codec;
    struct cc_context ctx; /* tensor "w", step 0; set what else a test needs */
    uint8_t *payload;      /* the last encode's */
    size_t bound, len;     /* bytes of a payload: the bound, and those of the last */
    float *y;              /* the last decode's */
    struct cc_error e;
};

/* Opens a codec. Fails the test if the scheme is not valid. Release with kit_close. */
struct kit kit_open(const char *scheme, struct cc_shape shape);
void kit_close(struct kit *k);

/* Encode or decode, and return the status of the call. The payload to decode is copied to memory of
 * exactly its length at an odd address, so that sanitizers detect reads beyond it. */
int kit_encode(struct kit *k, const float *x);
int kit_decode(struct kit *k, const void *payload, size_t len);

/* y += scale * decoded, on the y of the call before. */
int kit_decode_add(struct kit *k, const void *payload, size_t len, float scale);

/* Fail the test unless the last payload is these bytes, and y these floats (to the last bit). */
void kit_expect(const struct kit *k, const void *bytes, size_t len);
void kit_expect_values(const struct kit *k, const float *values);

/* Fail the test unless encoding, or decoding, is refused with a message that contains `message`. */
void kit_expect_encode_refusal(struct kit *k, const float *x, const char *message);
void kit_expect_refusal(struct kit *k, const void *payload, size_t len, const char *message);

/* A matrix of rows x cols. */
struct cc_shape kit_matrix(size_t rows, size_t cols);

/* Runs a group of tests once for each instruction set of the machine. Returns the sum of
 * failures. */
#define kit_run(tests) kit_run_group(tests, sizeof(tests) / sizeof(tests)[0])
struct CMUnitTest;
int kit_run_group(const struct CMUnitTest *tests, size_t count);

#endif
