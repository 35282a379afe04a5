/* Residuals that are not kept as floats, for schemes whose state is a residual and nothing else.
 *
 * ef=bf16: the state has n bf16 numbers. A step widens them to binary32 in scratch memory, which
 * codecs share, lets the scheme encode with that as its state, and rounds what it leaves back, up
 * or down at random: rounded to the nearest, a residual would stop growing once gradients are below
 * half a unit of its last place. Randomness: stream CC_RESIDUAL_STREAM of the step.
 *
 * ef=loco: a moving average of the error instead of its sum, of 8 bits, which is forgotten from
 * time to time (Xie et al., LoCo: Low-bit communication adaptor for large-scale model training,
 * 2024, section 3). With x = gradient + e: e <- 0.8 e + 0.2 (x - decoded); in every 1,024th step,
 * from the first, e is 0 before. The two numbers are from elsewhere: settings of LoCo in DeepSpeed
 * (err_beta, reset_T). The state has a binary32 scale for each CC_LOCO_BLOCK values, max|e| / 127,
 * and a byte for each value, e / scale to the nearest. Not all of what is not sent is in e, so that
 * values cannot be given back to it. */
#ifndef CC_SCHEMES_RESIDUAL_H
#define CC_SCHEMES_RESIDUAL_H

#include "core/memory.h"
#include "schemes/scheme.h"

#define CC_RESIDUAL_STREAM 0xb16

enum { CC_LOCO_BLOCK = 256, CC_LOCO_RESET = 1024 };

/* The parameter ef of a scheme whose state, where it is not 0, is a residual of n floats: none,
 * binary32, bf16, a moving average. Such a scheme's struct params begins with the member `int64_t
 * ef`. */
struct cc_feedback {
    int64_t ef;
};
extern const char *const cc_feedback_names[];
#define CC_PARAM_EF(d, text) CC_PARAM_CHOICE(struct cc_feedback, ef, d, cc_feedback_names, text)

/* The descriptor's functions of such a scheme: traffic of one pass, or of two. */
size_t cc_ef_state_bytes(const void *params, const struct cc_shape *shape);
size_t cc_ef_residual_at(const void *params, const struct cc_shape *shape);
struct cc_traffic cc_ef_once(const void *params);
struct cc_traffic cc_ef_twice(const void *params);

/* The residual that its encode updates; NULL: none. */
float *cc_ef_residual(const struct cc_codec *c);

/* Whether the codec's residual is not of floats. */
bool cc_residual_is_narrow(const struct cc_scheme *s, const void *params);

/* Bytes of such a state of n values, a multiple of 4, and of the scratch memory beyond the
 * scheme's own; SIZE_MAX on overflow. */
size_t cc_residual_state_bytes(const struct cc_scheme *s, const void *params, size_t n);
size_t cc_residual_scratch_bytes(size_t own, size_t n);

/* As cc_encode, of a codec with such a residual. */
int cc_residual_encode(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e);

/* As cc_give_back; sums are rounded to the nearest. */
void cc_residual_give_back(const struct cc_codec *c, uint32_t base,
                           const struct cc_index_value *pair, size_t count);

#endif
