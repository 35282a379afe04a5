/* The command that wrote a result, by its columns; and reading files of results. */
#include <stdint.h>
#include <stdio.h>

#include "cmd/results/known.h"

/* The number of the command's columns if all of the sheet's are among them, else 0. `old`: also by
 * their names in commcomp/1. */
static size_t matches(const struct cc_command *c, const struct cc_sheet *s, bool old)
{
    for (size_t i = 0; i < s->columns; i++)
        if (cc_column_find(c->columns, old ? cc_key_renamed(c->name, s->key[i]) : s->key[i]) ==
            NULL)
            return 0;
    return cc_columns_count(c->columns);
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

static int add_csv(const struct cc_command *const *commands, const char *path, const char *text,
                   size_t length, struct cc_results *out, struct cc_error *e)
{
    struct cc_sheet sheet;
    CC_TRY(cc_sheet_parse_csv(path, text, length, &sheet, e));
    const char *command;
    int status = cc_known_writer(commands, &sheet, &command, e);
    if (status == CC_OK)
        status = cc_results_add_sheet(out, &sheet, command, e);
    cc_sheet_free(&sheet);
    return status;
}

int cc_known_read(const struct cc_command *const *commands, const char *path,
                  struct cc_results *out, struct cc_error *e)
{
    struct cc_bytes file;
    enum cc_result_form form;
    CC_TRY(cc_result_read(path, ".json or .csv", &file, &form, e));
    const char *text = (const char *)file.data;
    const char *name = cc_infile_is_stdin(path) ? "standard-input" : path;
    const int status = form == CC_RESULT_PAGE   ? cc_page_read(path, text, file.size, out, e)
                       : form == CC_RESULT_JSON ? cc_results_add(out, name, text, file.size, e)
                                                : add_csv(commands, name, text, file.size, out, e);
    cc_bytes_free(&file);
    return status;
}

void cc_known_heading(const struct cc_result_key *key, char *out, size_t cap)
{
    (void)snprintf(out, cap, key->unit[0] != '\0' ? "%s (%s)" : "%s%s",
                   key->head != NULL ? key->head : key->name, key->unit);
}
