/* The keys of a JSON object, read strictly. For the readers in models/. */
#ifndef CC_MODELS_KEYS_H
#define CC_MODELS_KEYS_H

#include "core/error.h"
#include "core/json.h"

/* Refuses keys that are not in the list, which ends with NULL, with the nearest one that is. */
int cc_keys_check(const cJSON *object, const char *const *allowed, struct cc_error *e);

/* A string that may be missing; *out is then NULL. It belongs to the object. */
int cc_keys_text(const cJSON *object, const char *key, const char **out, struct cc_error *e);
/* A string that is there and not empty. */
int cc_keys_need_text(const cJSON *object, const char *key, const char **out, struct cc_error *e);

/* A number from 0 to 1e30 that may be missing; *out is then left as it is. */
int cc_keys_amount(const cJSON *object, const char *key, double *out, struct cc_error *e);

#endif
