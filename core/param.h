/* Tables of parameters: the only source for parsing, checking, help, the man page, `commcomp
 * schemes` and canonical names. A table is an array of rows that ends with a row without a name;
 * each row describes a field of a plain struct by its offset. */
#ifndef CC_CORE_PARAM_H
#define CC_CORE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

enum cc_param_type {
    CC_REAL,   /* double */
    CC_INT,    /* int64_t, with an optional suffix as in 25M or 1Mi; negative only if min is */
    CC_FLAG,   /* int64_t, 0 or 1 */
    CC_CHOICE, /* int64_t, an index into choices */
    CC_NESTED, /* struct cc_spec *, owned: a scheme with parameters of its own */
};

struct cc_param {
    const char *name;
    const char *help;           /* one line, no full stop */
    const char *unit;           /* "" if it has none; shown after the range */
    const char *const *choices; /* CC_CHOICE: names, ending with NULL */
    const char *nested_default; /* CC_NESTED: the default, as it would be written */
    double def, min, max;       /* min, max: of CC_REAL and CC_INT; def: not of CC_NESTED */
    size_t offset;
    enum cc_param_type type;
    bool min_open, max_open; /* the bound itself is not allowed */
};

/* Rows for field `field` of struct `st`: default d, range lo to hi, unit u, help text. */
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

/* Sets all fields of the struct at `out` to their defaults, except CC_NESTED ones. Cannot fail. */
void cc_param_defaults(const struct cc_param *table, void *out);

/* Parses `text` into the field of the struct at `out`. A real number is rounded to the 9 digits
 * that cc_param_print shows, so that a name tells exactly what was used. Text after the value and
 * values out of range are usage errors that name the parameter and its range; the field is then
 * unchanged. Not for CC_NESTED. */
int cc_param_set(const struct cc_param *p, const char *text, void *out, struct cc_error *e);

/* The row with this name, or NULL. */
const struct cc_param *cc_param_find(const struct cc_param *table, const char *name);

/* Print the field of the struct at `in`, or the default: "%.9g", or the name of the choice; at most
 * cap bytes. Not for a CC_NESTED field; its default is printed. */
void cc_param_print(const struct cc_param *p, const void *in, char *out, size_t cap);
void cc_param_print_default(const struct cc_param *p, char *out, size_t cap);

/* Whether the field of the struct at `in` has its default. Not for CC_NESTED. */
bool cc_param_is_default(const struct cc_param *p, const void *in);

/* Prints the range: "1 <= s < 2", "0 or 1", "max|l2"; at most cap bytes. */
void cc_param_print_range(const struct cc_param *p, char *out, size_t cap);

#endif
