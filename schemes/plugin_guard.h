/* A plugin's scheme behind functions that hold the plugin to what it promises: they call its own,
 * watched (plugin_call.h), and check what these return. */
#ifndef CC_SCHEMES_PLUGIN_GUARD_H
#define CC_SCHEMES_PLUGIN_GUARD_H

#include <stdbool.h>

#include "schemes/scheme.h"

struct cc_plugin {
    char *path;                  /* absolute */
    const struct cc_scheme *own; /* as the file defines it */
    struct cc_scheme guarded;    /* what the catalogue has; codecs point to it */
    uint32_t checksum;           /* of the file */
    bool tested;                 /* the self-test is over: calls may take longer */
};

/* Sets p->guarded by p->own. The plugin must not move afterwards. */
void cc_plugin_guard(struct cc_plugin *p);

/* Where calls are timed, values are not looked at: that would be counted as the plugin's time. What
 * is timed has been called and looked at before. */
void cc_plugin_timed(bool on);

/* Checks a payload's length: `most`, or less where it need not have just as many. */
int cc_plugin_check_length(const struct cc_codec *c, size_t len, size_t most, struct cc_error *e);
/* Checks that values are finite. */
int cc_plugin_check_values(const float *y, size_t n, struct cc_error *e);

#endif
