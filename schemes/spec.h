/* Schemes as people write them: `3lc:s=1.75,zre=0`, and lists of them. */
#ifndef CC_SCHEMES_SPEC_H
#define CC_SCHEMES_SPEC_H

#include "schemes/scheme.h"

/* A scheme with checked parameters, and its canonical name: the id, then the parameters that are
 * not the default in the order of the table, "%.9g"; a nested scheme with parameters stands in
 * parentheses. */
struct cc_spec {
    const struct cc_scheme *scheme;
    void *params;
    char name[192];
};

/* The scheme that sends values as they are: others are compared with it, and tensors that are not
 * worth compressing travel under it. */
#define CC_RAW_SCHEME "fp32"

bool cc_spec_is_raw(const struct cc_spec *s);

struct cc_spec_list {
    struct cc_spec **item;
    size_t count, capacity;
};

void cc_spec_free(struct cc_spec *s);

/* One scheme, no sweep, no list: "3lc:s=1.75". *out is set on success only. */
int cc_spec_parse(const char *text, struct cc_spec **out, struct cc_error *e);

/* Appends what `text` says: a comma-separated list (after a comma, a word with '=' goes on with the
 * parameters, one without begins the next scheme), sweeps (s=1.0/1.5/1.75: one scheme each, the
 * last parameter fastest), "all" (the catalogue with its defaults), "paper" (the ten rows of 3LC's
 * Table 1). A scheme that is in the list already is not added again. */
int cc_spec_list_parse(const char *text, struct cc_spec_list *list, struct cc_error *e);

/* Sets a parameter of every scheme of the list: `--scheme 3lc --s 1.75`. The value may be a sweep.
 * An error, and the list as it was, if one of them has no such parameter. What involves several
 * parameters is checked by cc_spec_list_move, once all are set. */
int cc_spec_list_set(struct cc_spec_list *list, const char *name, const char *value,
                     struct cc_error *e);

/* Checks the schemes of `from` and moves them to the end of `list`, without those that are there
 * already. `from` is empty afterwards, also after an error. */
int cc_spec_list_move(struct cc_spec_list *list, struct cc_spec_list *from, struct cc_error *e);

void cc_spec_list_free(struct cc_spec_list *list);

#endif
