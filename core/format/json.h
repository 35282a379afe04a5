/* Strict JSON on top of cJSON, which alone accepts too much: here the text must be RFC 8259's
 * grammar, valid UTF-8 without NUL, nested at most 32 deep, of at most CC_JSON_VALUES values, and
 * no object may have a key twice. */
#ifndef CC_CORE_FORMAT_JSON_H
#define CC_CORE_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* What must be there and within low .. high. */
int cc_json_need_number(const cJSON *object, const char *key, double low, double high, double *out,
                        struct cc_error *e);
int cc_json_need_size(const cJSON *object, const char *key, size_t low, size_t high, size_t *out,
                      struct cc_error *e);
int cc_json_need_bool(const cJSON *object, const char *key, bool *out, struct cc_error *e);
/* One of the words of a list that ends with NULL: its place there. */
int cc_json_need_word(const cJSON *object, const char *key, const char *const *words, int *out,
                      struct cc_error *e);
/* A list of at least one; `of` says of what. */
int cc_json_need_list(const cJSON *object, const char *key, const char *of, const cJSON **out,
                      size_t *count, struct cc_error *e);

/* --- writing --- */

#define CC_NUMBER_CAP 32

/* The shortest decimal that reads back as the same double; whole numbers up to 2^53 in full, minus
 * zero as -0.0 (a reader would take -0 for the integer). v is finite. */
void cc_number_print(double v, char out[CC_NUMBER_CAP]);
void cc_json_put_number(FILE *f, double v);
/* In quotes and escaped, NULL as ""; bytes that are not UTF-8, as file names may have them, become
 * '?'. Fails only for want of memory. */
int cc_json_put_text(FILE *f, const char *text, struct cc_error *e);

/* Whether text[0, length) is valid UTF-8; *where is the first bad byte otherwise. */
bool cc_utf8_valid(const uint8_t *text, size_t length, size_t *where);

#endif
