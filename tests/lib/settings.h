/* The schemes, with the parameters under which tests and fuzzing run them. */
#ifndef CC_TESTS_LIB_SETTINGS_H
#define CC_TESTS_LIB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "schemes/spec.h"

/* The settings as written on the command line; ends with NULL. Seeds of the fuzzer refer to them by
 * index: append, never insert. */
extern const char *const settings[];

/* Parses a setting; the caller frees it. NULL if the catalogue has no such scheme; a setting that
 * the scheme refuses ends the program with its message. */
struct cc_spec *setting_open(const char *text);

/* Whether some setting is of this scheme. */
bool setting_covers(const char *id);

/* A parameter's value, by its name on the command line; the program ends if there is none. */
double setting_real(const struct cc_spec *s, const char *name);
int64_t setting_int(const struct cc_spec *s, const char *name);
bool setting_is(const struct cc_spec *s, const char *name, const char *choice);
const struct cc_spec *setting_nested(const struct cc_spec *s, const char *name);

/* Whether the scheme has that parameter. */
bool setting_has(const struct cc_spec *s, const char *name);

#endif
