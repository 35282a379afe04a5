/* The options that commands share with every other, and the list of a command's options. */
#include <stdio.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "schemes/plugin_load.h"

const char *const cc_option_group_names[CC_OPTION_GROUPS] = {
    [CC_NO_GROUP] = "Options",        [CC_GROUP_TRAIN] = "The training",
    [CC_GROUP_SEND] = "What to send", [CC_GROUP_CLUSTER] = "The cluster",
    [CC_GROUP_STEP] = "The step",     [CC_GROUP_RUN] = "The run",
    [CC_GROUP_OUTPUT] = "Output",
};

/* clang-format off */
const struct cc_option cc_plugin_options[] = {
    {.name = "plugin", .value = "FILE", .file = CC_READS_FILE, .group = CC_GROUP_SEND,
     .repeats = true, .before = cc_plugin_load,
     .help = "a scheme of your own, compiled to a shared object (docs/plugins.md), which is then "
             "used as those of the catalogue; may be repeated. Its code is run: load only what "
             "you trust"},
    {.name = NULL},
};
/* clang-format on */

const struct cc_option cc_record_options[] = {
    {.name = "format",
     CC_OPTION_AT(struct cc_output_options, format),
     .group = CC_GROUP_OUTPUT,
     .value = "FORMAT",
     .def = "table",
     .choices = cc_format_names,
     .help = "what to print on stdout: table, csv, json, md (Markdown) or latex (a tabular for "
             "booktabs)"},
    {.name = "output",
     CC_OPTION_AT(struct cc_output_options, output),
     .group = CC_GROUP_OUTPUT,
     .often = true,
     .letter = 'o',
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help =
         "also write the result to FILE, whole or not at all; the suffix says how: .csv, .json, "
         ".txt, .md or .tex; a pipe or device without one gets --format"},
    {.name = "columns",
     CC_OPTION_AT(struct cc_output_options, columns),
     .group = CC_GROUP_OUTPUT,
     .value = "KEY,...",
     .help =
         "these columns of the result in tables and CSV, in this order, by their keys (the list "
         "below)"},
    {.name = "wide",
     CC_OPTION_AT(struct cc_output_options, wide),
     .group = CC_GROUP_OUTPUT,
     .help = "all columns of the table, also where the terminal is narrower"},
    {.name = "notes",
     CC_OPTION_AT(struct cc_output_options, notes),
     .group = CC_GROUP_OUTPUT,
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help = "also write the lines below the table to FILE, for CSV, which has none"},
    {.name = NULL},
};

const struct cc_option cc_common_options[] = {
    {.name = "quiet",
     .letter = 'q',
     .group = CC_GROUP_OUTPUT,
     .help = "no progress bar and no remarks on stderr"},
    {.name = "help",
     .letter = 'h',
     .may_follow = "all",
     .group = CC_GROUP_OUTPUT,
     .help = "explain this command; `--help all`: with all its options and columns"},
    {.name = NULL},
};

/* --- a command's options --- */

/* The row of a table by its name, of which `name` has the first n bytes. */
static const struct cc_option *find_row(const struct cc_option *rows, const char *name, size_t n)
{
    while (rows->name != NULL && (strlen(rows->name) != n || strncmp(rows->name, name, n) != 0))
        rows++;
    return rows->name != NULL ? rows : NULL;
}

/* The i-th row that the command takes from a table, or NULL. */
static const struct cc_option *row_at(const struct cc_option_use *use, size_t i)
{
    const char *name = use->names;
    if (name == NULL) {
        const struct cc_option *row = use->rows;
        while (i > 0 && row->name != NULL) {
            row++;
            i--;
        }
        return row->name != NULL ? row : NULL;
    }
    for (; i > 0 && *name != '\0'; i--) {
        name += strcspn(name, " ");
        name += strspn(name, " ");
    }
    return *name != '\0' ? find_row(use->rows, name, strcspn(name, " ")) : NULL;
}

/* The row with what the command has of its own. */
static struct cc_option merge(const struct cc_option *row, const struct cc_option *own)
{
    struct cc_option o = *row;
    if (own->def != NULL || own->otherwise != NULL) {
        o.def = own->def != NULL && own->def[0] != '\0' ? own->def : NULL;
        o.otherwise = own->otherwise;
    }
    o.value = own->value != NULL ? own->value : o.value;
    o.help = own->help != NULL ? own->help : o.help;
    o.choices = own->choices != NULL ? own->choices : own->words != NULL ? NULL : o.choices;
    o.words = own->words != NULL ? own->words : o.words;
    o.max = own->max > 0 ? own->max : o.max;
    o.often = o.often || own->often;
    o.group = own->group != CC_NO_GROUP ? own->group : o.group;
    return o;
}

/* Calls each() for the options of a command until it returns true; returns the index of that one,
 * or their number. */
typedef bool each_option(void *arg, const struct cc_option_use *use, const struct cc_option *row);

static size_t visit(const struct cc_command *c, bool all, each_option *each, void *arg)
{
    const struct cc_option_use common[] = {{.rows = c->own_output ? NULL : cc_record_options},
                                           {.rows = cc_common_options}};
    size_t index = 0;
    for (const struct cc_option_use *use = c->options; use->rows != NULL; use++) {
        const struct cc_option *row;
        for (size_t i = 0; (row = row_at(use, i)) != NULL; i++, index++)
            if (each != NULL && each(arg, use, row))
                return index;
    }
    for (size_t t = 0; all && t < sizeof common / sizeof common[0]; t++)
        for (const struct cc_option *row = common[t].rows; row != NULL && row->name != NULL;
             row++, index++)
            if (each != NULL && each(arg, &common[t], row))
                return index;
    return index;
}

size_t cc_option_own(const struct cc_command *c)
{
    return visit(c, false, NULL, NULL);
}

size_t cc_option_count(const struct cc_command *c)
{
    return visit(c, true, NULL, NULL);
}

/* An option that is looked for: the one at an index, or of a row. */
struct wanted {
    size_t left;
    const struct cc_option *row;
    struct cc_option found;
};

static bool is_wanted(void *arg, const struct cc_option_use *use, const struct cc_option *row)
{
    struct wanted *w = arg;
    if (w->row != NULL ? w->row != row : w->left-- > 0)
        return false;
    w->found = merge(row, &use->own);
    return true;
}

struct cc_option cc_option_at(const struct cc_command *c, size_t i)
{
    struct wanted w = {.left = i};
    (void)visit(c, true, is_wanted, &w);
    return w.found;
}

size_t cc_option_find_row(const struct cc_command *c, const struct cc_option *row,
                          struct cc_option *out)
{
    struct wanted w = {.row = row};
    const size_t at = visit(c, true, is_wanted, &w);
    if (w.found.name == NULL)
        return SIZE_MAX;
    *out = w.found;
    return at;
}
