/* Tables of fields: a struct and its JSON, described field by field. One table parses an object,
 * writes it, frees it and (tests/netsim/test_job.c) documents it, so that a new field of the job or
 * of a report is one line. Parsing is strict: a key that is missing, unknown or out of range is an
 * error that names it. */
#ifndef CC_NETSIM_JOB_FIELDS_H
#define CC_NETSIM_JOB_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/format/json.h"

/* An object and the objects that contain it: of a list item, those that have the list. Conditions,
 * lengths, ranges and checks read the fields that come before theirs. */
struct cc_scope {
    void *self;
    const struct cc_scope *outer; /* NULL for the document's root */
};

enum cc_field_type {
    CC_FIELD_TEXT,   /* char *, not empty; high: the most bytes, 0: any number */
    CC_FIELD_BOOL,   /* bool: true or false */
    CC_FIELD_FLAG,   /* bool: 0 or 1, in lists of numbers */
    CC_FIELD_NUMBER, /* double */
    CC_FIELD_FLOAT,  /* float */
    CC_FIELD_SIZE,   /* size_t, below 2^53, as all whole numbers here */
    CC_FIELD_INT,    /* int, or an enum without words */
    CC_FIELD_UINT32, /* uint32_t */
    CC_FIELD_UINT64, /* uint64_t */
    CC_FIELD_WORD,   /* an enum: one of the words, in its order */
    CC_FIELD_SHAPE,  /* struct cc_shape: a list of its dimensions */
    CC_FIELD_OBJECT, /* a struct within the struct, with a table of its own */
    CC_FIELD_LIST,   /* a pointer to an array, whose items have a table */
    CC_FIELD_GROUPS  /* the same as a list of lists, all equally long and one after the other in
                        memory: length() lists, of *count items each */
};

/* How a table's struct is written. */
enum cc_table_form {
    CC_FORM_OBJECT, /* {"key": value, ...} */
    CC_FORM_TUPLE,  /* [value, ...], in the table's order */
    CC_FORM_FLAT,   /* value, ...: items of a list without brackets */
    CC_FORM_SCALAR  /* value: the table's only field, which has no key */
};

struct cc_field;

struct cc_table {
    const char *title; /* in the documentation: "A tensor" */
    const struct cc_field *field;
    size_t fields;
    size_t bytes; /* the struct's size */
    enum cc_table_form form;
    const char *tag;      /* a key that the caller reads and writes itself; or NULL */
    const void *defaults; /* the root's: the struct before it is parsed; NULL: zeros */
};

struct cc_field {
    const char *key; /* NULL in tables of scalars */
    enum cc_field_type type;
    size_t offset;
    double low, high;         /* numbers: the range; lists: how many items (high 0: any number) */
    const char *const *words; /* end with NULL */

    const struct cc_table *table; /* an object's, or an item's */
    const char *item;             /* the word for an item in messages: "tensor" */
    size_t count;                 /* offset of the array's size_t; unused where length() is set */
    size_t (*length)(const struct cc_scope *s); /* how many items there must be; or NULL */

    /* A field with a condition can only be there where that holds: "can only be there in a replay".
     * There it must be there, unless it is optional; then it is written unless it has its default.
     * An optional field can still be required somewhere: "it must be there without data". */
    bool (*when)(const struct cc_scope *s);
    const char *condition;
    bool optional;
    bool (*required)(const struct cc_scope *s);
    const char *requirement;

    void (*range)(const struct cc_scope *s, double *low, double *high); /* instead of low, high */
    /* Called once the field is parsed, and not if it is missing: how it fits those before it. */
    int (*check)(const struct cc_scope *s, struct cc_error *e);
    const char *help; /* one line of Markdown */
};

/* For tables: the offset of a member that must have the given type, and a list of fields. */
#define CC_MEMBER(type, of, member)                                                                \
    (offsetof(of, member) + 0 * sizeof(_Generic(&((of *)0)->member, type * : 0)))
/* The beginning of a field whose key is the name of a member of `of`. */
#define CC_NUMBER(of, member) #member, CC_FIELD_NUMBER, CC_MEMBER(double, of, member)
#define CC_SIZE(of, member)   #member, CC_FIELD_SIZE, CC_MEMBER(size_t, of, member)
#define CC_INT(of, member)    #member, CC_FIELD_INT, CC_MEMBER(int, of, member)
#define CC_BOOL(of, member)   #member, CC_FIELD_BOOL, CC_MEMBER(bool, of, member)
#define CC_TEXT(of, member)   #member, CC_FIELD_TEXT, CC_MEMBER(char *, of, member)
#define CC_MOST_FIELDS        64
#define CC_FIELD_COUNT(list)                                                                       \
    (sizeof(list) / sizeof(list)[0] +                                                              \
     0 * sizeof(char[sizeof(list) / sizeof(list)[0] <= CC_MOST_FIELDS ? 1 : -1]))
#define CC_FIELDS(list) .field = (list), .fields = CC_FIELD_COUNT(list)
/* A table of objects. */
#define CC_TABLE(name, list, type)                                                                 \
    {                                                                                              \
        .title = (name), CC_FIELDS(list), .bytes = sizeof(type)                                    \
    }

/* A table of scalars, numbers up to `most`. */
#define CC_SCALARS(kind, ctype, most)                                                              \
    {                                                                                              \
        .field = &(const struct cc_field){.type = (kind), .high = (most)}, .fields = 1,            \
        .bytes = sizeof(ctype), .form = CC_FORM_SCALAR                                             \
    }

/* Items of lists: whole numbers up to 2^53 - 1, as uint64_t. */
extern const struct cc_table cc_whole_numbers;

/* Fills in *out, which is as the table's defaults have it. Free it with cc_fields_free, also after
 * an error. */
int cc_fields_parse(const struct cc_table *t, const cJSON *object, void *out, struct cc_error *e);
/* Writes the object and a newline. With `lines`, each field of the root and each item that is an
 * object begins a line; else all is one line. tag_text: the value of the table's tag. Fails only
 * for want of memory; the caller checks `f`. */
int cc_fields_write(const struct cc_table *t, const void *in, const char *tag_text, bool lines,
                    FILE *f, struct cc_error *e);
/* Frees the texts and arrays that the table names and sets their pointers to NULL and counts to 0.
 */
void cc_fields_free(const struct cc_table *t, void *object);

#endif
