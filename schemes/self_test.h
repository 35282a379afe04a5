/* The test of a plugin when it is loaded: small tensors of its scheme, encoded and decoded. */
#ifndef CC_SCHEMES_SELF_TEST_H
#define CC_SCHEMES_SELF_TEST_H

#include "schemes/scheme.h"

/* Fails, and says how, if the scheme with its defaults breaks a promise that a few calls show:
 * sizes, period, the ends of its buffers, the same payload and values every time, sums, lossless
 * values, pairs, rounds. Defaults that the scheme's own `check` refuses are not tested. The scheme
 * is in the catalogue. */
int cc_scheme_self_test(const struct cc_scheme *s, struct cc_error *e);

#endif
