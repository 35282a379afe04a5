/* A plugin's scheme behind functions that hold the plugin to what it promises: they call its own,
 * watched (plugin_call.h), and check what these return. */
#ifndef CC_SCHEMES_PLUGIN_GUARD_H
#define CC_SCHEMES_PLUGIN_GUARD_H

#include <stdbool.h>

#include "schemes/plugin_call.h"
#include "schemes/scheme.h"

/* Sets p->guarded by p->own. */
void cc_plugin_guard(struct cc_plugin *p);

/* Where calls are timed, values are not looked at: that would be counted as the plugin's time. What
 * is timed has been called and looked at before. */
void cc_plugin_timed(bool on);

/* Checks a payload's length: `most`, or less where it need not have just as many. */
int cc_plugin_check_length(const struct cc_codec *c, size_t len, size_t most, struct cc_error *e);
/* Checks that values are finite. */
int cc_plugin_check_values(const float *y, size_t n, struct cc_error *e);

#endif
