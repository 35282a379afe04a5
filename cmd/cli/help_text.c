#include <string.h>

#include "cmd/cli/help.h"

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

bool cc_option_hidden(const struct cc_command *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(cc_option_at(c, k)->name, cc_option_at(c, i)->name) == 0)
            return true;
    return false;
}

void cc_option_title(const struct cc_option *o, char *out, size_t cap)
{
    int used = o->letter != 0 ? snprintf(out, cap, "-%c, --%s", o->letter, o->name)
                              : snprintf(out, cap, "--%s", o->name);
    if (o->value != NULL)
        (void)snprintf(out + used, cap - (size_t)used, " %s", o->value);
}

void cc_option_text(const struct cc_option *o, char *out, size_t cap)
{
    if (o->def != NULL)
        (void)snprintf(out, cap, "%s (default %s)", o->help, o->def);
    else
        (void)snprintf(out, cap, "%s", o->help);
}

/* Whether the table shows the value in another unit than CSV and JSON do. */
static bool scaled(const struct cc_column *c)
{
    return cc_column_shown(c) && c->key->scale != 1;
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
    if (c->note != NULL)
        used += snprintf(out + used, cap - (size_t)used, "; %s", c->note);
    if (scaled(c) && unit[0] != '\0')
        (void)snprintf(out + used, cap - (size_t)used, " (in the table: %s in %s)", head, unit);
    else if (cc_column_shown(c) && strcmp(head, c->key->name) != 0)
        (void)snprintf(out + used, cap - (size_t)used, " (in the table: %s)", head);
}
