/* Whether an exchange can carry a scheme's payloads. */
#ifndef CC_CMD_INPUT_CARRIES_H
#define CC_CMD_INPUT_CARRIES_H

#include "models/predict.h"
#include "schemes/spec.h"

/* CC_USAGE, with the schemes that the setting's exchange carries, if it cannot. An exchange whose
 * sums do not keep everything carries schemes with a residual, and fp32, whose sums keep it. */
int cc_input_carries(const struct cc_setting *s, const struct cc_spec *spec, struct cc_error *e);
/* Writes the reason in few words, as a column has room for: "not for ssar-split"; empty if it can.
 */
void cc_input_carries_print(const struct cc_setting *s, const struct cc_spec *spec, char *out,
                            size_t cap);

#endif
