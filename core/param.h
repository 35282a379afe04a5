/* Tables of self-describing parameters: the only source for parsing, checking, help, the man page,
 * `commcomp schemes` and canonical names. A table is an array that ends with a row without a name;
 * it describes the fields of a plain struct, given by their offsets. */
#ifndef CC_CORE_PARAM_H
#define CC_CORE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum cc_param_type {
    CC_REAL,   /* double */
    CC_INT,    /* int64_t; written with a suffix as in 25M or 1Mi, if one likes;
                  below zero only where min is */
    CC_FLAG,   /* int64_t, 0 or 1 */
    CC_CHOICE, /* int64_t, an index into choices */
    CC_NESTED, /* struct cc_spec *, owned: a scheme with parameters of its own */
};

struct cc_param {
    const char *name;
    const char *help;           /* one line, no full stop */
    const char *unit;           /* "" if it has none */
    const char *const *choices; /* CC_CHOICE: names, ending with NULL */
    const char *nested_default; /* CC_NESTED: the default, as it would be written */
    double def, min, max;       /* of CC_REAL and CC_INT; def also of CC_FLAG and CC_CHOICE */
    size_t offset;
    enum cc_param_type type;
    bool min_open, max_open; /* the bound itself is not allowed */
};

#define CC_PARAM_REAL(st, field, d, lo, hi, u, text, ...)                                          \
    {                                                                                              \
        .name = #field, .help = text, .unit = u, .def = d, .min = lo, .max = hi,                   \
        .offset = offsetof(st, field), .type = CC_REAL, __VA_ARGS__                                \
    }
#define CC_PARAM_INT(st, field, d, lo, hi, u, text)                                                \
    {                                                                                              \
        .name = #field, .help = text, .unit = u, .def = d, .min = lo, .max = hi,                   \
        .offset = offsetof(st, field), .type = CC_INT                                              \
    }
#define CC_PARAM_FLAG(st, field, d, text)                                                          \
    {                                                                                              \
        .name = #field, .help = text, .unit = "", .def = d, .min = 0, .max = 1,                    \
        .offset = offsetof(st, field), .type = CC_FLAG                                             \
    }
#define CC_PARAM_CHOICE(st, field, d, names, text)                                                 \
    {                                                                                              \
        .name = #field, .help = text, .unit = "", .choices = names, .def = d,                      \
        .offset = offsetof(st, field), .type = CC_CHOICE                                           \
    }

/* Sets every field but CC_NESTED ones to its default. */
void cc_param_defaults(const struct cc_param *table, void *out);

/* Parses `text` into the field; refuses trailing rubbish and values out of range, naming the
 * parameter and what is allowed. Not for CC_NESTED. */
int cc_param_set(const struct cc_param *p, const char *text, void *out, struct cc_error *e);

/* The row of that name, or NULL. */
const struct cc_param *cc_param_find(const struct cc_param *table, const char *name);

/* The value as text ("%.9g", or the choice's name); the default likewise. */
void cc_param_print(const struct cc_param *p, const void *in, char *out, size_t cap);
void cc_param_print_default(const struct cc_param *p, char *out, size_t cap);

/* Whether the field has its default. Not for CC_NESTED. */
bool cc_param_is_default(const struct cc_param *p, const void *in);

/* What is allowed, in words: "1 <= s < 2", "0 or 1", "max|l2". */
void cc_param_print_range(const struct cc_param *p, char *out, size_t cap);

/* The word of the list nearest to `word` (edit distance at most a third of its length, at least
 * one), or NULL; the list ends with NULL. For "did you mean". */
const char *cc_nearest(const char *word, const char *const *list);

#endif
