/* Schemes as written on the command line: `3lc:s=1.75,zre=0`, and lists of them.
 *
 * Every function that can fail returns CC_OK, CC_USAGE for text that is wrong (the message says
 * what is allowed or meant), or CC_FAIL without memory. */
#ifndef CC_SCHEMES_SPEC_H
#define CC_SCHEMES_SPEC_H

#include "schemes/scheme.h"

/* A scheme with checked parameters, and its canonical name: the id, then the parameters that differ
 * from their defaults in the order of the table ("%.9g"); a nested scheme with parameters stands in
 * parentheses. Free with cc_spec_free. */
struct cc_spec {
    const struct cc_scheme *scheme;
    void *params;   /* scheme->params_bytes, owned */
    uint64_t given; /* bit i: parameter i of the table was set explicitly */
    char name[192];
};

/* The scheme that sends values as they are: others are compared with it, and tensors that are not
 * worth compressing travel under it. */
#define CC_RAW_SCHEME "fp32"

bool cc_spec_is_raw(const struct cc_spec *s);

/* The scheme that a wrapper sends through, or NULL. It belongs to s. */
const struct cc_spec *cc_spec_inner(const struct cc_spec *s);

/* The scheme's flags; a wrapper is also CC_STOCHASTIC if the scheme inside is. */
unsigned cc_spec_flags(const struct cc_spec *s);

/* Whether a residual keeps what is not sent and adds it to the next gradient: CC_FEEDBACK without
 * ef=0. For a wrapper the scheme inside decides. */
bool cc_spec_has_feedback(const struct cc_spec *s);

/* Owns its items. All zeros is an empty list; free with cc_spec_list_free. */
struct cc_spec_list {
    struct cc_spec **item;
    size_t count, capacity;
};

/* s may be NULL. */
void cc_spec_free(struct cc_spec *s);

/* Parses exactly one scheme: "3lc:s=1.75". *out is set on success only, and belongs to the caller.
 */
int cc_spec_parse(const char *text, struct cc_spec **out, struct cc_error *e);

/* Parses a comma-separated list and appends it: a word with '=' sets a parameter of the scheme
 * before it, which may be done once, a word without begins the next scheme. A parameter may be a
 * sweep (s=1.0/1.5/1.75: one scheme for each value, the last parameter fastest). "all" is the
 * catalogue with its defaults, "paper" the ten rows of 3LC's Table 1. Schemes already in the list
 * are not added again. After an error the list may have grown. */
int cc_spec_list_parse(const char *text, struct cc_spec_list *list, struct cc_error *e);

/* Whether a parameter of this name can be set: also `density` of a scheme that sends k values of a
 * bucket or chunk. */
bool cc_scheme_takes(const struct cc_scheme *s, const char *name);

/* Sets a parameter of every scheme in the list, as `--scheme 3lc --s 1.75` does. The value may be a
 * sweep. If one of the schemes has no such parameter, that is an error and the list stays as it
 * was. Combinations of parameters are checked later, by cc_spec_list_move. */
int cc_spec_list_set(struct cc_spec_list *list, const char *name, const char *value,
                     struct cc_error *e);

/* Checks the schemes of `from` and moves them to the end of `list`, except those already in it.
 * `from` is empty afterwards, also after an error. */
int cc_spec_list_move(struct cc_spec_list *list, struct cc_spec_list *from, struct cc_error *e);

/* Frees the items and makes the list empty. */
void cc_spec_list_free(struct cc_spec_list *list);

#endif
