/* An independent reference implementation of every scheme, value by value, from docs/payloads.md
 * alone. It shares no code with schemes/ or core/reduce.h, and is to be readable, not fast.
 *
 * Where the page determines the payload, the reference writes it too and the bytes must be equal.
 * Where the encoder has a choice, the reference checks the page's conditions. */
#ifndef CC_TESTS_LIB_REFERENCE_H
#define CC_TESTS_LIB_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemes/spec.h"

/* One codec's state for one tensor over the steps. */
struct ref;

/* Whether the reference implements the scheme. */
bool ref_knows(const char *id);

/* Opens a reference codec; `spec` must outlive it. Ends the program if the scheme is not known or
 * there is no memory. */
struct ref *ref_new(const struct cc_spec *spec, const struct cc_shape *shape);
void ref_free(struct ref *r);

/* Begins a step with this gradient. False if encoding must be refused; the sequence ends there. */
bool ref_begin(struct ref *r, const struct cc_context *ctx, const float *gradient);

/* Ends the step with the codec's payload. NULL if the payload is as the page demands, else the
 * reason why it is not. */
const char *ref_finish(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                       size_t len);

/* The residual (n values) after the steps so far, zeros for schemes that keep none; NULL if the
 * scheme's state is something else. */
const float *ref_residual(const struct ref *r);

/* Decodes a payload to y. False if it must be refused. Any bytes may be given. */
bool ref_decode(const struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                size_t len, float *y);

/* A random number, by the rules of core/random.h. */
uint32_t ref_random(const struct cc_context *ctx, int64_t rank, uint64_t stream, uint64_t index);

#endif
