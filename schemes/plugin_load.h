/* Loading plugins: shared objects that define a scheme (schemes/plugin.h). */
#ifndef CC_SCHEMES_PLUGIN_LOAD_H
#define CC_SCHEMES_PLUGIN_LOAD_H

#include "schemes/spec.h"

/* Loads the file, which stays loaded, and adds its scheme to the catalogue (cc_scheme_add). One
 * that is loaded already is not loaded again. Fails, naming the file, if it is not a shared object,
 * not a plugin, a plugin for another version of the interface, or fails its self-test
 * (self_test.h). From then on its calls are watched and checked (plugin_guard.h). Runs the file's
 * code: plugins are as trusted as the program. Not while other threads use the catalogue. */
int cc_plugin_load(const char *path, struct cc_error *e);

/* The absolute path of the i-th plugin that is loaded, or NULL. */
const char *cc_plugin_path(size_t i);

/* The checksum of the plugins' files that the scheme, and those inside it, are from; 0 if the
 * program itself has them all. What is measured of a plugin holds for this file alone. */
uint32_t cc_plugin_checksum(const struct cc_spec *s);

#endif
