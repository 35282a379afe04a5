/* The independent witness: every scheme once more, value by value, from docs/payloads.md alone. It
 * shares no code with schemes/ or core/reduce.h, and nobody should make it fast.
 *
 * Where the page settles what an encoder writes, the reference writes it too and the bytes must be
 * equal. Where the encoder has a choice, the reference checks what the page demands of it. */
#ifndef CC_TESTS_LIB_REFERENCE_H
#define CC_TESTS_LIB_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemes/spec.h"

/* One codec's view of a tensor over the steps. */
struct ref;

/* Whether the scheme is known here. */
bool ref_knows(const char *id);

/* `spec` must outlive it. Ends the program if the scheme is not known or there is no memory. */
struct ref *ref_new(const struct cc_spec *spec, const struct cc_shape *shape);
void ref_free(struct ref *r);

/* One step: what the codec encodes, from this gradient. False if it must be refused; the sequence
 * ends there. */
bool ref_begin(struct ref *r, const struct cc_context *ctx, const float *gradient);

/* The rest of the step: whether `payload` is what the page demands. NULL if so, else why not. */
const char *ref_finish(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                       size_t len);

/* The residual (n values) after the steps so far, zeros for schemes that keep none; NULL if the
 * scheme's state is something else. */
const float *ref_residual(const struct ref *r);

/* Whether the payload is one, and its values. Any bytes may be given. */
bool ref_decode(const struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                size_t len, float *y);

/* As core/random.h says. */
uint32_t ref_random(const struct cc_context *ctx, int64_t rank, uint64_t stream, uint64_t index);

#endif
