/* The command that wrote a result, by its columns. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/results/known.h"

static bool has_column(const struct cc_command *c, const char *key)
{
    for (const struct cc_column *k = c->columns; k->key != NULL; k++)
        if (strcmp(k->key->name, key) == 0)
            return true;
    return false;
}

/* The number of the command's columns if all of the sheet's are among them, else 0. `old`: also by
 * their names in commcomp/1. */
static size_t matches(const struct cc_command *c, const struct cc_sheet *s, bool old)
{
    size_t count = 0;
    for (size_t i = 0; i < s->columns; i++)
        if (!has_column(c, old ? cc_key_renamed(c->name, s->key[i]) : s->key[i]))
            return 0;
    while (c->columns[count].key != NULL)
        count++;
    return count;
}

static const struct cc_command *find_writer(const struct cc_command *const *commands,
                                            const struct cc_sheet *s, bool old)
{
    const struct cc_command *found = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; commands[i] != NULL; i++) {
        const size_t count = matches(commands[i], s, old);
        if (count == 0 || count >= least)
            continue;
        found = commands[i];
        least = count;
    }
    return found;
}

int cc_known_writer(const struct cc_command *const *commands, struct cc_sheet *s, const char **name,
                    struct cc_error *e)
{
    const struct cc_command *found = find_writer(commands, s, false);
    const bool old = found == NULL;
    if (old)
        found = find_writer(commands, s, true);
    *name = found != NULL ? found->name : "csv";
    return old && found != NULL ? cc_sheet_rename(s, found->name, e) : CC_OK;
}

void cc_known_heading(const struct cc_result_key *key, char *out, size_t cap)
{
    (void)snprintf(out, cap, key->unit[0] != '\0' ? "%s (%s)" : "%s%s",
                   key->head != NULL ? key->head : key->name, key->unit);
}
