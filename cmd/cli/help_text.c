/* The texts about options and columns that --help and the man page share. */
#include <string.h>

#include "cmd/cli/help.h"
#include "core/memory.h"
#include "core/nearest.h"

const char cc_program_summary[] =
    "which gradient-compression scheme to use on your network, and whether to trust the number";

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

void cc_put_option(const struct cc_option *o, cc_put_item *put, FILE *out)
{
    const char *def = o->otherwise != NULL ? o->otherwise : o->def;
    char title[96] = "", text[1024];
    if (o->letter != 0)
        cc_append(title, sizeof title, "-%c, ", o->letter);
    cc_append(title, sizeof title, "--%s", o->name);
    if (o->value != NULL)
        cc_append(title, sizeof title, " %s", o->value);
    cc_option_help(o, text, sizeof text);
    if (def != NULL && def[0] != '\0')
        cc_append(text, sizeof text, " (default %s)", def);
    put(out, title, text);
}

static void put_column(const struct cc_column *c, cc_put_item *put, FILE *out)
{
    const char *head = cc_column_head(c), *unit = c->key->unit;
    const enum cc_origin own = c->origin != CC_ORIGIN_UNKNOWN ? c->origin : c->key->origin;
    char title[96] = "", text[1024] = "";
    cc_append(title, sizeof title, "%s", c->key->name);
    if (unit[0] != '\0' && c->key->scale == 1)
        cc_append(title, sizeof title, " [%s]", unit);
    cc_list_add(text, sizeof text, "; ", "%s", c->key->help);
    if (c->note != NULL)
        cc_list_add(text, sizeof text, "; ", "%s", c->note);
    cc_append(text, sizeof text, " (%s", c->by_row ? "as the row says" : cc_origin_word(own));
    if (c->key->scale != 1)
        cc_append(text, sizeof text, "; in the table: %s in %s", head, unit);
    else if (cc_column_shown(c) && strcmp(head, c->key->name) != 0)
        cc_append(text, sizeof text, "; in the table: %s", head);
    cc_append(text, sizeof text, ")");
    put(out, title, text);
}

void cc_put_columns(const struct cc_column *table, cc_put_item *put, FILE *out)
{
    for (; table->key != NULL; table++)
        put_column(table, put, out);
}
