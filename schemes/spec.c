/* Parsing schemes. A spec is a scheme with a struct of its parameters and its canonical name. A
 * list is read word by word at commas: a word with '=' changes the specs that the last word without
 * one began, and a value with slashes makes a copy of each for every value. Wrappers hold a spec of
 * their own for the scheme inside. */
#include "schemes/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "schemes/plugin_call.h"

static const char paper_rows[] = "fp32,int8,ternary,mqe1bit,sparse,local,3lc:s=1/1.5/1.75/1.9";

static struct cc_spec **nested_at(const struct cc_param *p, const void *params)
{
    return (struct cc_spec **)(void *)((const char *)params + p->offset);
}

void cc_spec_free(struct cc_spec *s)
{
    if (s == NULL)
        return;
    for (const struct cc_param *p = s->scheme->params; p->name != NULL; p++)
        if (p->type == CC_NESTED && s->params != NULL)
            cc_spec_free(*nested_at(p, s->params));
    free(s->params);
    free(s);
}

bool cc_spec_is_raw(const struct cc_spec *s)
{
    return strcmp(s->name, CC_RAW_SCHEME) == 0;
}

const struct cc_spec *cc_spec_inner(const struct cc_spec *s)
{
    for (const struct cc_param *p = s->scheme->params; p->name != NULL; p++)
        if (p->type == CC_NESTED)
            return *nested_at(p, s->params);
    return NULL;
}

unsigned cc_spec_flags(const struct cc_spec *s)
{
    const struct cc_spec *inner = cc_spec_inner(s);
    return s->scheme->flags | (inner != NULL ? cc_spec_flags(inner) & CC_STOCHASTIC : 0);
}

bool cc_spec_has_feedback(const struct cc_spec *s)
{
    const struct cc_param *ef = cc_param_find(s->scheme->params, "ef");
    const struct cc_spec *inner = cc_spec_inner(s);
    if (inner != NULL)
        return cc_spec_has_feedback(inner);
    if ((s->scheme->flags & CC_FEEDBACK) == 0)
        return false;
    return ef == NULL ||
           *(const int64_t *)(const void *)((const char *)s->params + ef->offset) != 0;
}

static int unknown_scheme(const char *id, struct cc_error *e)
{
    const char *names[128] = {"all", "paper"};
    size_t n = 2;
    for (size_t i = 0; cc_schemes[i] != NULL && n + 1 < sizeof names / sizeof names[0]; i++)
        names[n++] = cc_schemes[i]->id;
    const char *near = cc_nearest(id, names);
    if (near != NULL)
        return cc_usage(e, "unknown scheme '%s'; did you mean '%s'?", id, near);
    return cc_usage(e,
                    "unknown scheme '%s'; `commcomp schemes` lists them, and --plugin FILE loads "
                    "one of your own",
                    id);
}

static int unknown_param(const struct cc_scheme *scheme, const char *name, struct cc_error *e)
{
    const char *names[32] = {NULL};
    char list[256] = "";
    size_t n = 0;
    for (const struct cc_param *p = scheme->params; p->name != NULL && n < 31; p++) {
        names[n++] = p->name;
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, n == 1 ? "%s" : ", %s", p->name);
    }
    const char *near = cc_nearest(name, names);
    if (near != NULL)
        return cc_usage(e, "scheme %s has no parameter '%s'; did you mean '%s'?", scheme->id, name,
                        near);
    if (n == 0)
        return cc_usage(e, "scheme %s has no parameter '%s'; it has none", scheme->id, name);
    return cc_usage(e, "scheme %s has no parameter '%s'; it has %s", scheme->id, name, list);
}

/* Parses a nested scheme, which may stand in parentheses. */
static int set_nested(const struct cc_param *p, const char *value, void *params, struct cc_error *e)
{
    size_t n = strlen(value);
    char inner[192];
    size_t parens = n >= 2 && value[0] == '(' && value[n - 1] == ')';
    if (n >= sizeof inner)
        return cc_usage(e, "%s=%s: too long", p->name, value);
    memcpy(inner, value + parens, n - 2 * parens);
    inner[n - 2 * parens] = '\0';
    struct cc_spec *s = NULL;
    int status = cc_spec_parse(inner, &s, e);
    if (status != CC_OK) {
        cc_error_in(e, "%s=%s", p->name, value);
        return status;
    }
    cc_spec_free(*nested_at(p, params));
    *nested_at(p, params) = s;
    return CC_OK;
}

static const char density_name[] = "density";

/* In `given`: k follows from a density. */
static const uint64_t BY_DENSITY = UINT64_C(1) << 63;

/* density=1% of a scheme that sends k values of each bucket, or of a chunk: sets k to that share of
 * it, of 512 to 6. Names have k. */
static int set_density(struct cc_spec *s, const struct cc_param *k, const char *value,
                       struct cc_error *e)
{
    const struct cc_param *bucket = cc_param_find(s->scheme->params, "bucket");
    const struct cc_param share[] = {
        {.name = density_name, .unit = "", .min = 0, .max = 1, .min_open = true, .type = CC_REAL}};
    double density;
    char count[32];
    CC_TRY(cc_param_set(share, value, &density, e));
    const double of =
        bucket != NULL
            ? (double)*(const int64_t *)(const void *)((char *)s->params + bucket->offset)
            : k->max;
    (void)snprintf(count, sizeof count, "%.0f", ceil(density * of * (1 - 1e-12)));
    s->given |= BY_DENSITY;
    return cc_param_set(k, count, s->params, e);
}

/* The parameter that a density sets; NULL if the scheme has none, or a density of its own. */
static const struct cc_param *param_of_density(const struct cc_scheme *s)
{
    const struct cc_param *k = cc_param_find(s->params, "k");
    return k != NULL && strcmp(k->unit, "values") == 0 &&
                   cc_param_find(s->params, density_name) == NULL
               ? k
               : NULL;
}

bool cc_scheme_takes(const struct cc_scheme *s, const char *name)
{
    return cc_param_find(s->params, name) != NULL ||
           (strcmp(name, density_name) == 0 && param_of_density(s) != NULL);
}

static int set_param(struct cc_spec *s, const char *name, const char *value, struct cc_error *e)
{
    const struct cc_param *p = cc_param_find(s->scheme->params, name);
    const struct cc_param *k = param_of_density(s->scheme);
    const bool by_density = p == NULL && strcmp(name, density_name) == 0 && k != NULL;
    if (by_density)
        p = k;
    if (p == NULL)
        return unknown_param(s->scheme, name, e);
    if (strcmp(name, "bucket") == 0 && (s->given & BY_DENSITY) != 0)
        return cc_usage(e, "scheme %s: write bucket before density, which is a share of it",
                        s->scheme->id);
    const uint64_t bit = UINT64_C(1) << (p - s->scheme->params);
    if ((s->given & bit) != 0)
        return cc_usage(e, "scheme %s: %s is given twice", s->scheme->id,
                        p == k && (s->given & BY_DENSITY) != 0 ? "k or density" : name);
    s->given |= bit;
    int status = by_density             ? set_density(s, k, value, e)
                 : p->type == CC_NESTED ? set_nested(p, value, s->params, e)
                                        : cc_param_set(p, value, s->params, e);
    if (status != CC_OK)
        cc_error_in(e, "scheme %s", s->scheme->id);
    return status;
}

static bool is_default(const struct cc_param *p, const void *params, const char *value)
{
    if (p->type != CC_NESTED)
        return cc_param_is_default(p, params);
    return strcmp(value, p->nested_default) == 0;
}

/* Writes the canonical name. */
static int set_name(struct cc_spec *s, struct cc_error *e)
{
    size_t used = (size_t)snprintf(s->name, sizeof s->name, "%s", s->scheme->id);
    char mark = ':';
    for (const struct cc_param *p = s->scheme->params; p->name != NULL; p++) {
        char value[192];
        bool parens = false;
        if (p->type == CC_NESTED) {
            (void)snprintf(value, sizeof value, "%s", (*nested_at(p, s->params))->name);
            parens = strchr(value, ':') != NULL;
        } else {
            cc_param_print(p, s->params, value, sizeof value);
        }
        if (is_default(p, s->params, value))
            continue;
        if (used < sizeof s->name)
            used += (size_t)snprintf(s->name + used, sizeof s->name - used,
                                     parens ? "%c%s=(%s)" : "%c%s=%s", mark, p->name, value);
        mark = ',';
    }
    if (used >= sizeof s->name)
        return cc_usage(e, "scheme %s: the parameters are too long", s->scheme->id);
    return CC_OK;
}

static int check(const struct cc_spec *s, struct cc_error *e)
{
    const int call = cc_scheme_enter(s->scheme, "check", 0);
    int status = s->scheme->check == NULL ? CC_OK : s->scheme->check(s->params, e);
    cc_plugin_leave(call);
    if (status == CC_OK && cc_period(s->scheme, s->params) < 1)
        status = cc_fail(e, "with these parameters its period is 0, and the least is 1: a fault "
                            "of the plugin");
    if (status != CC_OK)
        cc_error_in(e, "scheme %s", s->scheme->id);
    return status;
}

static struct cc_spec *new_spec(const struct cc_scheme *scheme, struct cc_error *e)
{
    struct cc_spec *s = cc_alloc0(sizeof *s, e);
    if (s == NULL)
        return NULL;
    s->scheme = scheme;
    s->params = cc_alloc0(scheme->params_bytes, e);
    int status = s->params != NULL ? CC_OK : CC_FAIL;
    if (status != CC_OK)
        goto out;
    cc_param_defaults(scheme->params, s->params);
    for (const struct cc_param *p = scheme->params; p->name != NULL; p++)
        if (p->type == CC_NESTED)
            CC_TRY_OUT(cc_spec_parse(p->nested_default, nested_at(p, s->params), e));
    status = set_name(s, e);
out:
    if (status == CC_OK)
        return s;
    cc_spec_free(s);
    return NULL;
}

/* NULL without memory. */
static struct cc_spec *copy_spec(const struct cc_spec *s, struct cc_error *e)
{
    struct cc_spec *copy = cc_alloc(sizeof *copy, e);
    if (copy == NULL)
        return NULL;
    *copy = *s;
    copy->params = cc_alloc(s->scheme->params_bytes, e);
    bool ok = copy->params != NULL;
    if (ok)
        memcpy(copy->params, s->params, s->scheme->params_bytes);
    for (const struct cc_param *p = s->scheme->params; p->name != NULL && copy->params != NULL; p++)
        if (p->type == CC_NESTED) {
            *nested_at(p, copy->params) = ok ? copy_spec(*nested_at(p, s->params), e) : NULL;
            ok = ok && *nested_at(p, copy->params) != NULL;
        }
    if (ok)
        return copy;
    cc_spec_free(copy);
    return NULL;
}

/* --- lists and sweeps --- */

/* The end of the word that starts at p: one of `stops` outside parentheses, or the text's end. */
static const char *word_end(const char *p, const char *stops)
{
    int depth = 0;
    for (; *p != '\0'; p++) {
        if (depth == 0 && strchr(stops, *p) != NULL)
            return p;
        depth += (*p == '(') - (*p == ')');
    }
    return p;
}

static int copy_word(const char *from, const char *to, char *out, size_t cap, struct cc_error *e)
{
    size_t n = (size_t)(to - from);
    if (n >= cap)
        return cc_usage(e, "'%.40s...' is too long", from);
    memcpy(out, from, n);
    out[n] = '\0';
    return CC_OK;
}

/* Takes over s, also after an error; drops it if the list has it already. */
static int append(struct cc_spec_list *list, struct cc_spec *s, struct cc_error *e)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->item[i]->name, s->name) == 0) {
            cc_spec_free(s);
            return CC_OK;
        }
    }
    const int status = CC_GROW(list->item, &list->capacity, list->count + 1, e);
    if (status == CC_OK)
        list->item[list->count++] = s;
    else
        cc_spec_free(s);
    return status;
}

int cc_spec_list_move(struct cc_spec_list *list, struct cc_spec_list *from, struct cc_error *e)
{
    int status = CC_OK;
    size_t i = 0;
    while (i < from->count) {
        CC_TRY_OUT(check(from->item[i], e));
        CC_TRY_OUT(append(list, from->item[i++], e));
    }
out:
    while (i < from->count)
        cc_spec_free(from->item[i++]);
    from->count = 0;
    cc_spec_list_free(from);
    return status;
}

/* Appends a copy of `s` with the parameter set to `value`. */
static int append_changed(struct cc_spec_list *list, const struct cc_spec *s, const char *name,
                          const char *value, struct cc_error *e)
{
    struct cc_spec *copy = copy_spec(s, e);
    if (copy == NULL)
        return CC_FAIL;
    int status;
    CC_TRY_OUT(set_param(copy, name, value, e));
    CC_TRY_OUT(set_name(copy, e));
    return append(list, copy, e);
out:
    cc_spec_free(copy);
    return status;
}

int cc_spec_list_set(struct cc_spec_list *list, const char *name, const char *values,
                     struct cc_error *e)
{
    struct cc_spec_list changed = {0};
    int status = CC_OK;
    for (size_t i = 0; i < list->count; i++) {
        const char *p = values, *end;
        do {
            char value[192];
            end = word_end(p, "/");
            CC_TRY_OUT(copy_word(p, end, value, sizeof value, e));
            CC_TRY_OUT(append_changed(&changed, list->item[i], name, value, e));
            p = end + 1;
        } while (*end != '\0');
    }
    cc_spec_list_free(list);
    *list = changed;
    return CC_OK;
out:
    cc_spec_list_free(&changed);
    return status;
}

static int append_default(const char *id, struct cc_spec_list *list, struct cc_error *e)
{
    const struct cc_scheme *scheme = cc_scheme_find(id);
    if (scheme == NULL)
        return unknown_scheme(id, e);
    struct cc_spec *s = new_spec(scheme, e);
    return s == NULL ? CC_FAIL : append(list, s, e);
}

/* Takes a word "name=value[/value...]" for the schemes of the list. */
static int set_from_word(const char *word, struct cc_spec_list *list, struct cc_error *e)
{
    char name[64];
    const char *equals = strchr(word, '=');
    if (equals == NULL)
        return cc_usage(e, "'%s': write parameters as name=value", word);
    CC_TRY(copy_word(word, equals, name, sizeof name, e));
    if (list->count == 0)
        return cc_usage(e, "'%s': a parameter before any scheme", word);
    return cc_spec_list_set(list, name, equals + 1, e);
}

static int parse_words(const char *text, struct cc_spec_list *out, struct cc_error *e);

/* Takes a word that names a scheme, for *latest, which is empty, or a group of schemes, for *out.
 */
static int append_from_word(const char *word, struct cc_spec_list *latest, struct cc_spec_list *out,
                            struct cc_error *e)
{
    if (strcmp(word, "paper") == 0)
        return parse_words(paper_rows, out, e);
    if (strcmp(word, "all") != 0)
        return append_default(word, latest, e);
    for (size_t i = 0; cc_schemes[i] != NULL; i++)
        CC_TRY(append_default(cc_schemes[i]->id, out, e));
    return CC_OK;
}

static int parse_words(const char *text, struct cc_spec_list *out, struct cc_error *e)
{
    struct cc_spec_list latest = {0}; /* the latest scheme; several after a sweep */
    int status = CC_OK;
    const char *p = text, *end;
    do {
        char word[192];
        end = word_end(p, ",:");
        CC_TRY_OUT(copy_word(p, end, word, sizeof word, e));
        if (*word_end(word, "=") == '=') {
            CC_TRY_OUT(set_from_word(word, &latest, e));
        } else {
            CC_TRY_OUT(cc_spec_list_move(out, &latest, e));
            CC_TRY_OUT(append_from_word(word, &latest, out, e));
            if (*end == ':' && strchr(end + 1, '=') == NULL)
                CC_TRY_OUT(cc_usage(e, "'%s': after ':' come parameters, as in 3lc:s=1.75", text));
        }
        p = end + 1;
    } while (*end != '\0');
    status = cc_spec_list_move(out, &latest, e);
out:
    cc_spec_list_free(&latest);
    return status;
}

int cc_spec_list_parse(const char *text, struct cc_spec_list *list, struct cc_error *e)
{
    return parse_words(text, list, e);
}

void cc_spec_list_free(struct cc_spec_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        cc_spec_free(list->item[i]);
    free(list->item);
    *list = (struct cc_spec_list){0};
}

int cc_spec_parse(const char *text, struct cc_spec **out, struct cc_error *e)
{
    struct cc_spec_list list = {0};
    int status = CC_OK;
    if (strcmp(text, "all") == 0 || strcmp(text, "paper") == 0)
        return cc_usage(e, "'%s' is a list; give one scheme here", text);
    CC_TRY_OUT(cc_spec_list_parse(text, &list, e));
    if (list.count != 1)
        CC_TRY_OUT(cc_usage(e, "'%s': give one scheme here", text));
    *out = list.item[0];
    list.count = 0;
out:
    cc_spec_list_free(&list);
    return status;
}
