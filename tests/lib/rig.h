/* A codec with every buffer of exactly its size and next to a guard page, which is why the memory
 * is not that of a codec set. */
#ifndef CC_TESTS_LIB_RIG_H
#define CC_TESTS_LIB_RIG_H

#include <stdbool.h>

#include "schemes/codec_set.h"
#include "tests/lib/guard.h"

struct rig {
    struct cc_spec *spec;
    struct cc_codec codec;
    /* The type of the gradients that rig_encode gives to the codec, for values that it has. */
    enum cc_element input;
    /* Buffers begin behind a guard page instead of ending before one, and payloads are then at an
     * odd address. */
    bool front;
    struct guard state, scratch, x, payload, y;
    struct cc_error e; /* the last call's */
};

/* Opens a rig for a setting. False, with nothing to close, if the catalogue has no such scheme. */
bool rig_open(struct rig *r, const char *setting);
void rig_close(struct rig *r);

/* Begins a new tensor: state and scratch memory for the shape, the state initialized, the scratch
 * memory filled with arbitrary bytes. */
void rig_shape(struct rig *r, const struct cc_shape *shape);

/* Fills the scratch memory with a byte. */
void rig_dirty(struct rig *r, int byte);

/* Moves the state to another address; the old one becomes inaccessible. */
void rig_move_state(struct rig *r);

/* Encodes with room for the bound. The payload is valid until the next call to encode. Fails the
 * test if the payload is longer than the bound. */
int rig_encode(struct rig *r, const struct cc_context *ctx, const float *x, const uint8_t **payload,
               size_t *len);

/* Decode as a receiver does, with a codec that has no state. *y holds n values until the next call;
 * before the call they are arbitrary, or for decode_add 1 + i % 7. */
int rig_decode(struct rig *r, const struct cc_context *ctx, const uint8_t *payload, size_t len,
               const float **y);
int rig_decode_add(struct rig *r, const struct cc_context *ctx, const uint8_t *payload, size_t len,
                   float scale, const float **y);
float rig_before_add(size_t i);

/* The residual within the state: its beginning, or after the factor Q in powersgd's. NULL for
 * codecs without one: ef=0; local and dgc, whose state is something else; a powersgd that sends the
 * values as they are. */
const float *rig_residual(const struct rig *r);

/* A context that differs from step to step as in a run. The offset is such that chunks of more than
 * 4,096 values cross the 2^32nd value of their tensor. */
struct cc_context rig_context(uint64_t step);

/* Whether two floats are equal to the last bit, or both NaN, whose bits hardware may change. */
bool rig_same(float a, float b);

/* A test that runs for each setting of a scheme ("": of all schemes) that is in the catalogue, with
 * the setting's text as *state; or once, with scheme NULL. */
struct rig_test {
    const char *name;
    void (*run)(void **state);
    const char *scheme;
};

/* Runs the tests under the names "test setting"; with an argument, those that match it (with
 * wildcards). Returns the number of failures, for main. */
int rig_run(const char *group, const struct rig_test *tests, size_t count, int argc, char **argv);

#endif
