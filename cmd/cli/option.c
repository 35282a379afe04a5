/* Fills structs of options by their tables. */
#include "cmd/cli/option.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "core/memory.h"
#include "core/units.h"

/* --- a value --- */

static int read_word(const struct cc_option *o, const char *text, void *member)
{
    if (o->type == CC_MEMBER_BOOL)
        *(bool *)member = true;
    else if (o->type == CC_MEMBER_TEXT)
        *(const char **)member = text;
    for (int i = 0; o->type == CC_MEMBER_INT && o->choices[i] != NULL; i++)
        if (strcmp(o->choices[i], text) == 0)
            *(int *)member = i;
    return CC_OK;
}

static int read_count(const struct cc_option *o, const char *text, void *member, struct cc_error *e)
{
    const uint64_t widest = o->type == CC_MEMBER_INT ? INT_MAX : UINT64_MAX;
    const uint64_t max = o->max > 0 ? o->max : widest;
    uint64_t v;
    CC_TRY(cc_parse_count(text, &v, e));
    if (v < o->min || v > max)
        return cc_usage(e, "%s is not between %llu and %llu", text, (unsigned long long)o->min,
                        (unsigned long long)max);
    if (o->type == CC_MEMBER_INT)
        *(int *)member = (int)v;
    else if (o->type == CC_MEMBER_DOUBLE)
        *(double *)member = (double)v;
    else
        *(uint64_t *)member = v;
    return CC_OK;
}

static int read_real(const char *text, double *out, struct cc_error *e)
{
    char *end;
    const double v = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(v))
        return cc_usage(e, "'%s' is not a number", text);
    *out = v;
    return CC_OK;
}

/* Whether the member can hold the values of the row. */
static bool fits(const struct cc_option *o)
{
    const bool word = o->type == CC_MEMBER_TEXT || (o->type == CC_MEMBER_INT && o->choices != NULL);
    if (o->at == 0 || o->parse != NULL)
        return true;
    if (o->kind == CC_TAKES_WORD)
        return o->value == NULL ? o->type == CC_MEMBER_BOOL : word;
    if (o->kind == CC_TAKES_COUNT)
        return o->type == CC_MEMBER_INT || o->type == CC_MEMBER_SIZE || o->type == CC_MEMBER_DOUBLE;
    return o->type == CC_MEMBER_DOUBLE;
}

static int read_value(const struct cc_option *o, const char *text, void *member, struct cc_error *e)
{
    if (o->parse != NULL)
        return o->parse(text, member, e);
    switch (o->kind) {
    case CC_TAKES_WORD:
        return read_word(o, text, member);
    case CC_TAKES_COUNT:
        return read_count(o, text, member, e);
    case CC_TAKES_REAL:
        return read_real(text, member, e);
    case CC_TAKES_TIME:
        return cc_parse_time(text, member, e);
    case CC_TAKES_RATE:
        return cc_parse_rate(text, member, e);
    case CC_TAKES_SHARE:
        return cc_parse_share(text, member, e);
    }
    return CC_OK;
}

/* Puts the option's name in front of an error's message, if none is there. */
static int name_option(const struct cc_option *o, int status, struct cc_error *e)
{
    if (status != CC_OK && e != NULL && strncmp(e->text, "--", 2) != 0)
        cc_error_in(e, "--%s", o->name);
    return status;
}

/* --- a list --- */

static int read_list(const struct cc_option *o, const char *text, void *options, struct cc_error *e)
{
    static const char *const of_kind[] = {
        [CC_TAKES_WORD] = "words", [CC_TAKES_COUNT] = "counts", [CC_TAKES_REAL] = "numbers",
        [CC_TAKES_TIME] = "times", [CC_TAKES_RATE] = "rates",   [CC_TAKES_SHARE] = "shares"};
    enum { WORD_CAP = 128 };
    void **items = (void **)((char *)options + o->at);
    size_t *count = (size_t *)((char *)options + o->count_at), capacity = 0;
    char word[WORD_CAP];
    assert(*items == NULL && o->type != CC_MEMBER_TEXT);
    *count = 0;
    for (const char *p = text;; p++) {
        const size_t n = strcspn(p, ",");
        if (n == 0 || n >= sizeof word)
            return cc_usage(e, "--%s %s: a list of %s with commas between them", o->name,
                            text[0] != '\0' ? text : "''", of_kind[o->kind]);
        (void)snprintf(word, sizeof word, "%.*s", (int)n, p);
        CC_TRY(cc_grow_bytes(items, &capacity, *count + 1, o->size, e));
        CC_TRY(name_option(o, read_value(o, word, (char *)*items + o->size * *count, e), e));
        ++*count;
        p += n;
        if (*p == '\0')
            return CC_OK;
    }
}

/* --- a struct --- */

int cc_option_read(const struct cc_option *o, const char *text, void *options, struct cc_error *e)
{
    if (o->count_at > 0)
        return read_list(o, text, options, e);
    return name_option(o, read_value(o, text, (char *)options + o->at, e), e);
}

int cc_options_read(const struct cc_args *args, const struct cc_option *rows, void *options,
                    struct cc_error *e)
{
    struct cc_given *given = options;
    *given = (struct cc_given){.rows = rows};
    for (size_t i = 0; rows[i].name != NULL; i++) {
        size_t at = 0;
        while (at < args->options.count && args->options.row[at] != &rows[i])
            at++;
        const bool has = at < args->options.count;
        const struct cc_option *o = has ? &args->options.option[at] : &rows[i];
        const char *text = has ? args->value[at] : NULL;
        assert(i < 8 * sizeof given->bits && fits(o));
        if (text != NULL)
            given->bits[i / 64] |= UINT64_C(1) << i % 64;
        else
            text = o->def;
        if (text != NULL && o->at > 0)
            CC_TRY(cc_option_read(o, text, options, e));
    }
    return CC_OK;
}

void cc_options_free(void *options)
{
    const struct cc_given *given = options;
    for (const struct cc_option *o = given->rows; o != NULL && o->name != NULL; o++)
        if (o->count_at > 0) {
            void **items = (void **)((char *)options + o->at);
            free(*items);
            *items = NULL;
        }
}

int cc_options_check(const struct cc_args *args, struct cc_error *e)
{
    struct scratch {
        struct cc_given given;
        void *list;
        double member[64]; /* room for one value */
        size_t count;
    };
    int status = CC_OK;
    for (size_t i = 0; i < args->options.count && status == CC_OK; i++) {
        struct cc_option rows[2] = {args->options.option[i], {.name = NULL}};
        struct scratch s = {.given = {.rows = rows}};
        if (args->value[i] == NULL || rows[0].at == 0)
            continue;
        assert(rows[0].size <= sizeof s.member);
        const bool list = rows[0].count_at > 0;
        rows[0].at = list ? offsetof(struct scratch, list) : offsetof(struct scratch, member);
        rows[0].count_at = list ? offsetof(struct scratch, count) : 0;
        status = cc_option_read(&rows[0], args->value[i], &s, e);
        cc_options_free(&s);
    }
    return status;
}

const char *cc_given(const void *options, const void *member)
{
    const struct cc_given *given = options;
    const size_t at = (size_t)((const char *)member - (const char *)options);
    for (size_t i = 0; given->rows != NULL && given->rows[i].name != NULL; i++)
        if (given->rows[i].at == at && (given->bits[i / 64] >> i % 64 & 1) != 0)
            return given->rows[i].name;
    return NULL;
}

const char *cc_given_any(const void *options)
{
    const struct cc_given *given = options;
    for (size_t i = 0; given->rows != NULL && given->rows[i].name != NULL; i++)
        if ((given->bits[i / 64] >> i % 64 & 1) != 0)
            return given->rows[i].name;
    return NULL;
}

const char *cc_given_of(const void *options, const void *const *members)
{
    const char *name = NULL;
    for (; *members != NULL && name == NULL; members++)
        name = cc_given(options, *members);
    return name;
}
