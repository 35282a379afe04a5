/* Strict JSON on top of cJSON, which by itself accepts more: here the text must follow the grammar
 * of RFC 8259, be valid UTF-8 without NUL, nest at most 32 deep, hold at most CC_JSON_VALUES
 * values, and have no key twice in an object. Also a writer of numbers and texts. */
#ifndef CC_CORE_FORMAT_JSON_H
#define CC_CORE_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "core/error.h"

#define CC_JSON_VALUES (1 << 22)

/* Parses text[0, length), which need not end with a NUL. Release *out with cJSON_Delete. Messages
 * name the byte. */
int cc_json_parse(const char *text, size_t length, cJSON **out, struct cc_error *e);

/* Converts a document; sets *out on success only. */
typedef int cc_json_reader(const cJSON *root, void *out, struct cc_error *e);
/* Parse a text, or a file, and pass the document to the reader. Messages about a file begin with
 * its path. */
int cc_json_parse_as(const char *text, size_t length, cc_json_reader *reader, void *out,
                     struct cc_error *e);
int cc_json_read_as(const char *path, cc_json_reader *reader, void *out, struct cc_error *e);

/* Whether the item is a whole number, 0 <= number < 2^53, as doubles hold exactly; sets *out. */
bool cc_json_size(const cJSON *item, size_t *out);

/* For readers that know every key of an object. Messages name the key; the caller adds the object.
 */

/* Fails unless the root is an object whose key "schema" has this value; `help` is part of the
 * message: what writes such files, or which page describes them. */
int cc_json_schema(const cJSON *root, const char *schema, const char *help, struct cc_error *e);
/* Fails if the object has a key that is not in the list, which ends with NULL; the message suggests
 * the nearest one. */
int cc_json_keys(const cJSON *object, const char *const *allowed, struct cc_error *e);
/* An optional string; NULL if it is missing. It belongs to the object. */
int cc_json_text(const cJSON *object, const char *key, const char **out, struct cc_error *e);
/* A required string, not empty. */
int cc_json_need_text(const cJSON *object, const char *key, const char **out, struct cc_error *e);
/* An optional number from 0 to 1e30; *out keeps its value if it is missing. */
int cc_json_amount(const cJSON *object, const char *key, double *out, struct cc_error *e);

/* A member of an object, and where in a struct its value goes. */
enum cc_json_kind {
    CC_JSON_TEXT,        /* const char *; by cc_json_text */
    CC_JSON_NEED_TEXT,   /* const char *; by cc_json_need_text */
    CC_JSON_AMOUNT,      /* double; by cc_json_amount */
    CC_JSON_NEED_AMOUNT, /* the same, and it may not be missing */
    CC_JSON_OTHER        /* read by the caller */
};
struct cc_json_member {
    const char *key;
    enum cc_json_kind kind;
    size_t at; /* offset in the struct */
};
/* CC_JSON_AT(struct point, x, CC_JSON_AMOUNT): the member "x", for point.x. CC_JSON_KEY("x"): one
 * that the caller reads. */
#define CC_JSON_AT(type, member, how)                                                              \
    {                                                                                              \
        .key = #member, .kind = how, .at = offsetof(type, member)                                  \
    }
#define CC_JSON_KEY(name)                                                                          \
    {                                                                                              \
        .key = name, .kind = CC_JSON_OTHER                                                         \
    }
/* Reads an object that may have these members, whose list ends with one without a key, and no
 * others; fails if it is not an object. */
int cc_json_members(const cJSON *object, const struct cc_json_member *members, void *out,
                    struct cc_error *e);
/* Calls read(element, out, e) for each element of a list; messages then begin with "WHAT i". */
int cc_json_each(const cJSON *list, const char *what, cc_json_reader *read, void *out,
                 struct cc_error *e);

/* A required boolean. */
int cc_json_need_bool(const cJSON *object, const char *key, bool *out, struct cc_error *e);
/* A required string out of a list that ends with NULL; *out is its index there. */
int cc_json_need_word(const cJSON *object, const char *key, const char *const *words, int *out,
                      struct cc_error *e);
/* A required array of at least one element; `of` names the elements in the message. */
int cc_json_need_list(const cJSON *object, const char *key, const char *of, const cJSON **out,
                      size_t *count, struct cc_error *e);

/* --- writing --- */

#define CC_NUMBER_CAP 32

/* Prints the shortest decimal number that reads back as the same double; whole numbers up to 2^53
 * in full, minus zero as -0.0 (readers take -0 for an integer). v is finite. */
void cc_number_print(double v, char out[CC_NUMBER_CAP]);
void cc_json_put_number(FILE *f, double v);
/* Writes the text in quotes and escaped, NULL as "". Bytes that are not UTF-8, which file names may
 * have, become '?'. Fails only without memory. */
int cc_json_put_text(FILE *f, const char *text, struct cc_error *e);

#endif
