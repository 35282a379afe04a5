/* The options that commands share with every other, and the list of a command's options. */
#include <assert.h>
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
#define SCHEME_ROW(brief_, help_)                                                                  \
    {.name = "scheme", .value = "SCHEME", .group = CC_GROUP_SEND, .brief = brief_, .help = help_}
#define PARAMETER_ROW                                                                              \
    {.name = "NAME", .value = "VALUE", .group = CC_GROUP_SEND,                                     \
     .help = "sets parameter NAME of the schemes of the last --scheme: --scheme 3lc --s 1.75. "    \
             "`commcomp schemes` lists them"}
static const struct cc_option one_scheme[] = {
    SCHEME_ROW("a scheme, as 3lc:s=1.75", "a scheme with its parameters, as 3lc:s=1.75"), PARAMETER_ROW,
    {.name = NULL},
};
static const struct cc_option several_schemes[] = {
    SCHEME_ROW("schemes: 3lc:s=1.75,int8, a sweep 3lc:s=1.0/1.9, or all",
               "a scheme with its parameters (3lc:s=1.75), a list of them (3lc:s=1.5,zre=0,int8), a "
               "sweep (3lc:s=1.0/1.5/1.9), `all` (the catalogue) or `paper` (the ten rows of 3LC's "
               "Table 1); may be repeated"),
    PARAMETER_ROW,
    {.name = NULL},
};

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
     .brief = "table, csv, json, md or latex on stdout",
     .help = "what to print on stdout: table, csv, json, md (Markdown) or latex (a tabular for "
             "booktabs)"},
    {.name = "output",
     CC_OPTION_AT(struct cc_output_options, output),
     .group = CC_GROUP_OUTPUT,
     .brief = "also write FILE: .csv, .json, .md, .tex or .txt",
     .letter = 'o',
     .adds_up = true,
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help =
         "also write the result to FILE, whole or not at all; the suffix says how: .csv, .json, "
         ".txt, .md or .tex; a pipe or device without one gets --format; may be repeated"},
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
     .help = "all columns, rows and notes, also where the terminal is narrower"},
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
     .may_name_option = true,
     .group = CC_GROUP_OUTPUT,
     .help = "explain this command; `--help all`: with all its options and columns; `--help "
             "OPTION`: one of them"},
    {.name = NULL},
};

/* --- a command's options --- */

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
    o.brief = own->brief != NULL ? own->brief : o.brief;
    o.group = own->group != CC_NO_GROUP ? own->group : o.group;
    return o;
}

static void add(struct cc_option_list *list, const struct cc_option *row,
                const struct cc_option *own)
{
    if (cc_option_find(list, row->name, strlen(row->name)) != SIZE_MAX)
        return;
    assert(list->count < CC_MAX_OPTIONS);
    list->row[list->count] = row;
    list->option[list->count++] = merge(row, own);
}

static void add_table(struct cc_option_list *list, const struct cc_option *rows)
{
    static const struct cc_option as_it_is = {.name = NULL};
    for (; rows->name != NULL; rows++)
        add(list, rows, &as_it_is);
}

/* Adds the rows of these names. */
static void add_named(struct cc_option_list *list, const struct cc_option_use *use)
{
    for (const char *name = use->names; *name != '\0'; name += strspn(name, " ")) {
        const size_t n = strcspn(name, " ");
        const struct cc_option *row = use->rows;
        while (strlen(row->name) != n || strncmp(row->name, name, n) != 0)
            row++;
        add(list, row, &use->own);
        name += n;
    }
}

void cc_option_list(const struct cc_command *c, bool schemes, struct cc_option_list *out)
{
    *out = (struct cc_option_list){.count = 0};
    if (schemes && c->takes_schemes != CC_NO_SCHEME)
        add_table(out, c->takes_schemes == CC_ONE_SCHEME ? one_scheme : several_schemes);
    out->schemes = out->count;
    for (const struct cc_option_use *use = c->options; use->rows != NULL; use++)
        if (use->names != NULL)
            add_named(out, use);
        else
            add_table(out, use->rows);
    out->own = out->count;
    if (!c->own_output)
        add_table(out, cc_record_options);
    add_table(out, cc_common_options);
}

size_t cc_option_find(const struct cc_option_list *list, const char *name, size_t n)
{
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->option[i].name) == n && strncmp(list->option[i].name, name, n) == 0)
            return i;
    return SIZE_MAX;
}
