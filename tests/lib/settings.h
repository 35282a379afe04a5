/* The schemes with the parameters that tests and fuzzing go through. */
#ifndef CC_TESTS_LIB_SETTINGS_H
#define CC_TESTS_LIB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "schemes/spec.h"

/* As written on the command line; ends with NULL. Seeds of the fuzzer name them by their index:
 * append, never insert. */
extern const char *const settings[];

/* Parsed; to be freed. NULL if the catalogue has no such scheme; a setting that it refuses ends the
 * program with its message. */
struct cc_spec *setting_open(const char *text);

/* Whether some setting is of this scheme. */
bool setting_covers(const char *id);

/* A parameter's value whatever its name on the C side; the program ends if there is none. */
double setting_real(const struct cc_spec *s, const char *name);
int64_t setting_int(const struct cc_spec *s, const char *name);
bool setting_is(const struct cc_spec *s, const char *name, const char *choice);
const struct cc_spec *setting_nested(const struct cc_spec *s, const char *name);

/* Whether the scheme has that parameter. */
bool setting_has(const struct cc_spec *s, const char *name);

#endif
