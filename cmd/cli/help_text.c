/* The texts about options and columns that --help and the man page share. */
#include <string.h>

#include "cmd/cli/help.h"
#include "core/nearest.h"

const char cc_program_summary[] =
    "which gradient-compression scheme to use on your network, and whether to trust the number";

#define PARAMETER_OPTION                                                                           \
    {                                                                                              \
        .name = "NAME", .value = "VALUE", .group = CC_GROUP_SEND, .often = true,                   \
        .help = "sets parameter NAME of the schemes of the last --scheme: --scheme 3lc --s 1.75. " \
                "`commcomp schemes` lists them"                                                    \
    }

const struct cc_option *cc_scheme_options(const struct cc_command *c)
{
    static const struct cc_option none[] = {{.name = NULL}};
    static const struct cc_option one[] = {
        {.name = "scheme",
         .value = "SCHEME",
         .group = CC_GROUP_SEND,
         .often = true,
         .help = "a scheme with its parameters, as 3lc:s=1.75"},
        PARAMETER_OPTION,
        {.name = NULL},
    };
    static const struct cc_option several[] = {
        {.name = "scheme",
         .value = "SCHEME",
         .group = CC_GROUP_SEND,
         .often = true,
         .help = "a scheme with its parameters (3lc:s=1.75), a list of them "
                 "(3lc:s=1.5,zre=0,int8), a sweep (3lc:s=1.0/1.5/1.9), `all` (the catalogue) or "
                 "`paper` (the ten rows of 3LC's Table 1); may be repeated"},
        PARAMETER_OPTION,
        {.name = NULL},
    };
    return c->takes_schemes == CC_NO_SCHEME    ? none
           : c->takes_schemes == CC_ONE_SCHEME ? one
                                               : several;
}

void cc_option_list(const struct cc_command *c, struct cc_option_list *out)
{
    *out = (struct cc_option_list){.count = 0};
    for (const struct cc_option *o = cc_scheme_options(c); o->name != NULL; o++)
        out->option[out->schemes++] = *o;
    out->count = out->schemes;
    for (size_t i = 0; i < cc_option_count(c); i++) {
        const struct cc_option o = cc_option_at(c, i);
        size_t k = out->schemes;
        while (k < out->count && strcmp(out->option[k].name, o.name) != 0)
            k++;
        if (k == out->count)
            out->option[out->count++] = o;
    }
}

void cc_option_title(const struct cc_option *o, char *out, size_t cap)
{
    int used = o->letter != 0 ? snprintf(out, cap, "-%c, --%s", o->letter, o->name)
                              : snprintf(out, cap, "--%s", o->name);
    if (o->value != NULL)
        (void)snprintf(out + used, cap - (size_t)used, " %s", o->value);
}

/* Replaces the mark, if it is in the text, by a list. */
static void replace(char *text, size_t cap, const char *mark, const char *list)
{
    char rest[1024];
    char *at = strstr(text, mark);
    if (at == NULL)
        return;
    (void)snprintf(rest, sizeof rest, "%s", at + strlen(mark));
    (void)snprintf(at, cap - (size_t)(at - text), "%s%s", list, rest);
}

void cc_option_help(const struct cc_option *o, char *out, size_t cap)
{
    const char *const *words = o->choices != NULL ? o->choices : o->words;
    char list[512] = "";
    (void)snprintf(out, cap, "%s", o->help);
    if (words != NULL)
        cc_word_list(words, list, sizeof list);
    replace(out, cap, "{words}", list);
    cc_exchange_list(o->exchanges, list, sizeof list);
    replace(out, cap, "{exchanges}", list);
}

void cc_option_text(const struct cc_option *o, char *out, size_t cap)
{
    const char *def = o->otherwise != NULL ? o->otherwise : o->def;
    cc_option_help(o, out, cap);
    const size_t used = strlen(out);
    if (def != NULL && def[0] != '\0')
        (void)snprintf(out + used, cap - used, " (default %s)", def);
}

void cc_column_title(const struct cc_column *c, char *out, size_t cap)
{
    const bool unit = c->key->unit[0] != '\0' && c->key->scale == 1;
    (void)snprintf(out, cap, unit ? "%s [%s]" : "%s", c->key->name, c->key->unit);
}

void cc_column_text(const struct cc_column *c, char *out, size_t cap)
{
    const char *head = cc_column_head(c), *unit = c->key->unit;
    int used = snprintf(out, cap, "%s", c->key->help);
    if (c->note != NULL && used < (int)cap)
        used += snprintf(out + used, cap - (size_t)used, "; %s", c->note);
    char table[128] = "";
    if (c->key->scale != 1)
        (void)snprintf(table, sizeof table, "; in the table: %s in %s", head, unit);
    else if (cc_column_shown(c) && strcmp(head, c->key->name) != 0)
        (void)snprintf(table, sizeof table, "; in the table: %s", head);
    const enum cc_origin own = c->origin != CC_ORIGIN_UNKNOWN ? c->origin : c->key->origin;
    const char *origin = c->by_row ? "as the row says" : cc_origin_word(own);
    if (used < (int)cap)
        (void)snprintf(out + used, cap - (size_t)used, " (%s%s)", origin, table);
}
