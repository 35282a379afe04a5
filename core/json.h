/* Strict JSON on top of cJSON, which alone accepts too much: here the text must be RFC 8259's
 * grammar, valid UTF-8 without NUL, nested at most 32 deep, of at most CC_JSON_VALUES values, and
 * no object may have a key twice. */
#ifndef CC_CORE_JSON_H
#define CC_CORE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "core/error.h"

#define CC_JSON_VALUES (1 << 22)

/* Parses text[0, length), which need not end with a NUL. Free with cJSON_Delete. Messages say the
 * byte. */
int cc_json_parse(const char *text, size_t length, cJSON **out, struct cc_error *e);

/* Makes something of a document: sets *out on success only. */
typedef int cc_json_reader(const cJSON *root, void *out, struct cc_error *e);
/* Parses a text, or a file, and hands it to the reader. Messages about a file name it. */
int cc_json_parse_as(const char *text, size_t length, cc_json_reader *reader, void *out,
                     struct cc_error *e);
int cc_json_read_as(const char *path, cc_json_reader *reader, void *out, struct cc_error *e);

/* Whether it is a number without a fraction, 0 <= number < 2^53 (what a double holds exactly), and
 * which. */
bool cc_json_size(const cJSON *item, size_t *out);

/* For readers that know every key. Messages name the key and not the object. */

/* Refuses what is no object, or has another "schema"; `help` says what makes such files, or what
 * describes them. */
int cc_json_schema(const cJSON *root, const char *schema, const char *help, struct cc_error *e);
/* Refuses keys that are not in the list, which ends with NULL; the nearest is named. */
int cc_json_keys(const cJSON *object, const char *const *allowed, struct cc_error *e);
/* A string that may be missing; *out is then NULL. It belongs to the object. */
int cc_json_text(const cJSON *object, const char *key, const char **out, struct cc_error *e);
/* A string that is there and not empty. */
int cc_json_need_text(const cJSON *object, const char *key, const char **out, struct cc_error *e);
/* A number from 0 to 1e30 that may be missing; *out is then left as it is. */
int cc_json_amount(const cJSON *object, const char *key, double *out, struct cc_error *e);

/* Whether text[0, length) is valid UTF-8; *where is the first bad byte otherwise. */
bool cc_utf8_valid(const uint8_t *text, size_t length, size_t *where);

#endif
