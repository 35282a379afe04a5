/* The catalogue: the schemes of list.h, and those that are added while the program runs, from
 * plugins and from profiles. */
#include <ctype.h>
#include <string.h>

#include "schemes/scheme.h"

#define CC_SCHEME(name) extern const struct cc_scheme cc_scheme_##name;
#include "schemes/list.h"
#undef CC_SCHEME

#define CC_SCHEME(name) +1
enum {
    BUILT_IN = 0
#include "schemes/list.h"
    ,
    MOST_ADDED = 64
};
#undef CC_SCHEME

static const struct cc_scheme *catalogue[BUILT_IN + MOST_ADDED + 1] = {
#define CC_SCHEME(name) &cc_scheme_##name,
#include "schemes/list.h"
#undef CC_SCHEME
};
const struct cc_scheme *const *const cc_schemes = catalogue;

const struct cc_scheme *cc_scheme_find(const char *id)
{
    for (size_t i = 0; cc_schemes[i] != NULL; i++)
        if (strcmp(cc_schemes[i]->id, id) == 0)
            return cc_schemes[i];
    return NULL;
}

/* --- checks of a scheme that is added --- */

/* Names that a list of schemes on the command line can have: letters, digits, '-' and '_'. */
static bool is_word(const char *text, size_t most)
{
    size_t n = 0;
    for (; text[n] != '\0' && n <= most; n++)
        if (!isalnum((unsigned char)text[n]) && strchr("-_", text[n]) == NULL)
            return false;
    return n > 0 && n <= most && text[0] != '-';
}

static int check_id(const struct cc_scheme *s, struct cc_error *e)
{
    enum { MOST = 32 };
    if (s->id == NULL || !is_word(s->id, MOST))
        return cc_fail(
            e,
            "the id '%.40s' is not the name of a scheme: 1 to %d letters, digits, '-' and "
            "'_'",
            s->id == NULL ? "" : s->id, MOST);
    if (strcmp(s->id, "all") == 0 || strcmp(s->id, "paper") == 0)
        return cc_fail(e, "the id '%s' names a list of schemes: take another one", s->id);
    if (cc_scheme_find(s->id) != NULL)
        return cc_fail(e, "there is a scheme '%s' already: give it another id", s->id);
    return CC_OK;
}

static int check_param(const struct cc_scheme *s, const struct cc_param *p, struct cc_error *e)
{
    enum { MOST = 24 };
    const bool number = p->type == CC_REAL || p->type == CC_INT || p->type == CC_FLAG;
    const size_t bytes = p->type == CC_REAL ? sizeof(double) : sizeof(int64_t);
    if (!is_word(p->name, MOST))
        return cc_fail(e, "parameter '%.40s': a name has 1 to %d letters, digits, '-' and '_'",
                       p->name, MOST);
    if (p->help == NULL || p->unit == NULL)
        return cc_fail(e, "parameter %s: .help or .unit is missing (\"\": it has none)", p->name);
    if (p->offset > s->params_bytes || s->params_bytes - p->offset < bytes)
        return cc_fail(e, "parameter %s: its .offset is beyond .params_bytes (%zu)", p->name,
                       s->params_bytes);
    if (number && !(p->min <= p->def && p->def <= p->max))
        return cc_fail(e, "parameter %s: the default %g is not between %g and %g", p->name, p->def,
                       p->min, p->max);
    if ((p->type == CC_CHOICE && p->choices == NULL) ||
        (p->type == CC_NESTED && p->nested_default == NULL))
        return cc_fail(e, "parameter %s: .choices or .nested_default is missing", p->name);
    return number || p->type == CC_CHOICE || p->type == CC_NESTED
               ? CC_OK
               : cc_fail(e, "parameter %s: unknown .type %d", p->name, (int)p->type);
}

static int check_params(const struct cc_scheme *s, struct cc_error *e)
{
    enum { MOST = 24 };
    size_t count = 0;
    if (s->params == NULL)
        return cc_fail(e, ".params is missing: a table that ends with a row without a name");
    if (s->params_bytes == 0)
        return cc_fail(e, ".params_bytes is 0: the size of the struct of the parameters, which has "
                          "a member at least");
    for (const struct cc_param *p = s->params; p->name != NULL; p++) {
        CC_TRY(check_param(s, p, e));
        if (cc_param_find(s->params, p->name) != p)
            return cc_fail(e, "parameter %s is there twice", p->name);
        if (++count > MOST)
            return cc_fail(e, "more than %d parameters, or no row without a name at their end",
                           MOST);
    }
    return CC_OK;
}

/* Whether of these functions either all or none are there. */
static bool all_or_none(const bool *is_there, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_there[i] != is_there[0])
            return false;
    return true;
}

static int check_functions(const struct cc_scheme *s, struct cc_error *e)
{
    const bool pairs[] = {s->pair_cost != NULL, s->to_pairs != NULL};
    const bool rounds[] = {s->rounds != NULL, s->round_bytes != NULL, s->encode_round != NULL,
                           s->absorb != NULL};
    if (s->bound == NULL)
        return cc_fail(e, ".bound is missing");
    if (cc_scheme_runs(s) != (s->decode != NULL))
        return cc_fail(e, ".encode or .decode is missing");
    if (s->encode != NULL && s->encode_from != NULL)
        return cc_fail(e, "of .encode and .encode_from one is needed, not both");
    if (!all_or_none(pairs, 2) || (s->kind == CC_PAIRS && !pairs[0]))
        return cc_fail(e, "index-value pairs need .pair_cost and .to_pairs");
    if (!all_or_none(rounds, 4))
        return cc_fail(
            e, "of .rounds, .round_bytes, .encode_round and .absorb all are needed, or none");
    if (rounds[0] && s->kind == CC_SUM_F32)
        return cc_fail(e, ".rounds are not for a payload that can be summed itself (CC_SUM_F32)");
    return CC_OK;
}

static int check(const struct cc_scheme *s, struct cc_error *e)
{
    const unsigned known =
        CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED | CC_SPARSE | CC_VERBATIM;
    CC_TRY(check_id(s, e));
    if (s->title == NULL || s->reference == NULL || s->layout == NULL)
        return cc_fail(e, "%s: .title, .reference or .layout is missing", s->id);
    if ((s->flags & ~known) != 0 || (unsigned)s->kind > CC_PAIRS)
        return cc_fail(e, "%s: .flags or .kind has an unknown value", s->id);
    if ((s->flags & CC_VERBATIM) != 0 && s->kind != CC_SUM_F32)
        return cc_fail(e, "%s: CC_VERBATIM needs a payload of floats (CC_SUM_F32)", s->id);
    int status = check_params(s, e);
    if (status == CC_OK)
        status = check_functions(s, e);
    if (status != CC_OK)
        cc_error_in(e, "%s", s->id);
    return status;
}

int cc_scheme_add(const struct cc_scheme *s, struct cc_error *e)
{
    size_t count = 0;
    for (; catalogue[count] != NULL; count++)
        if (catalogue[count] == s)
            return CC_OK;
    CC_TRY(check(s, e));
    if (count == BUILT_IN + MOST_ADDED)
        return cc_fail(e, "%s: %d schemes were added, and there is no room for more", s->id,
                       MOST_ADDED);
    catalogue[count] = s;
    return CC_OK;
}
