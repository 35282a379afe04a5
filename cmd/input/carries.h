/* Whether an exchange can carry a scheme's payloads. */
#ifndef CC_CMD_INPUT_CARRIES_H
#define CC_CMD_INPUT_CARRIES_H

#include "core/error.h"
#include "core/exchange.h"
#include "schemes/spec.h"

/* CC_USAGE, with the schemes that x carries, if it cannot. */
int cc_input_carries(enum cc_exchange x, const struct cc_spec *spec, struct cc_error *e);

#endif
