/* `commcomp show`: a stored result again, as any command prints its own. */
#include <stdlib.h>
#include <string.h>

#include "cmd/results/known.h"
#include "core/memory.h"
#include "core/nearest.h"

/* The columns are those of the command that wrote the result. */
static const struct cc_column columns[] = {{.key = NULL}};

static const struct cc_option_use options[] = {{.rows = cc_plugin_options}, {.rows = NULL}};

/* --- rows --- */

static bool is_wanted(const struct cc_args *args, const char *scheme, bool *seen)
{
    bool wanted = args->schemes.count == 0;
    for (size_t i = 0; i < args->schemes.count; i++)
        if (strcmp(args->schemes.item[i]->name, scheme) == 0)
            wanted = seen[i] = true;
    return wanted;
}

static int add_row(struct cc_record *r, const struct cc_sheet *s, size_t from, struct cc_error *e)
{
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    for (size_t k = 0; k < s->columns; k++) {
        const struct cc_column *c = cc_column_find(r->columns, s->key[k]);
        if (c != NULL)
            CC_TRY(cc_record_copy(r, row, c->key, cc_sheet_value(s, from, k), e));
    }
    return CC_OK;
}

static int add_rows(struct cc_args *args, const struct cc_sheet *s, bool *seen, struct cc_error *e)
{
    const size_t scheme = cc_sheet_column(s, "scheme");
    for (size_t i = 0; i < s->rows; i++) {
        const struct cc_value *v = scheme != CC_NO_COLUMN ? cc_sheet_value(s, i, scheme) : NULL;
        if (is_wanted(args, v != NULL && v->kind == CC_TEXT ? v->text : "", seen))
            CC_TRY(add_row(&args->record, s, i, e));
    }
    return CC_OK;
}

/* Columns that today's command does not have are not shown, which is said. */
static int note_unknown(struct cc_record *r, const struct cc_sheet *s, struct cc_error *e)
{
    char list[400] = "";
    for (size_t k = 0; k < s->columns; k++)
        if (cc_column_find(r->columns, s->key[k]) == NULL)
            cc_list_add(list, sizeof list, ", ", "%.80s", s->key[k]);
    if (list[0] == '\0')
        return CC_OK;
    return cc_record_note_once(r, e, "`%s` of this version has no column %s", r->command, list);
}

/* --- results --- */

/* Makes the record one of the command, which wrote the first result. */
static int adopt(struct cc_args *args, const struct cc_result *from, const char *name,
                 struct cc_error *e)
{
    struct cc_record *r = &args->record;
    const struct cc_command *c = cc_command_find(args->commands, name);
    const size_t width = r->width;
    const bool wide = r->wide;
    if (c == NULL || c->columns[0].key == NULL)
        return cc_fail(e, "%s: commcomp has no command '%.40s' whose results could be shown",
                       from->name, name);
    cc_record_init(r, c->name, c->columns, r->argc, r->argv);
    r->width = width;
    r->wide = wide;
    r->all_rows = true;
    if ((r->source = cc_strdup(from->text, e)) == NULL)
        return CC_FAIL;
    if (args->output.columns == NULL)
        return CC_OK;
    return cc_status_in(cc_record_choose(r, args->output.columns, e), e, "--columns");
}

/* An answer stands above the rows that it is about, if they are all there, and no others. */
static int add_note(struct cc_record *r, const char *note, bool answer, struct cc_error *e)
{
    return answer ? cc_record_note_at(r, CC_NOTE_ANSWER, e, "%s", note)
                  : cc_record_note_once(r, e, "%s", note);
}

/* Adds the rows and the notes of a result, which is shown `whole` or beside others. */
static int add_result(struct cc_args *args, const struct cc_result *from, bool whole, bool *seen,
                      struct cc_error *e)
{
    struct cc_record *r = &args->record;
    struct cc_provenance p = {.command = NULL};
    struct cc_sheet s = {.path = NULL};
    int status = CC_OK;
    CC_TRY_IN(cc_provenance_parse(from->text, from->length, &p, e), e, "%s", from->name);
    if (r->source == NULL)
        CC_TRY_OUT(adopt(args, from, p.command, e));
    else if (strcmp(p.command, r->command) != 0)
        CC_TRY_OUT(
            cc_fail(e, "%s is a result of `%.40s`, and those before it of `%s`: show them apart",
                    from->name, p.command, r->command));
    if (p.rows > 0) {
        CC_TRY_OUT(cc_sheet_parse_json(from->name, from->text, from->length, &s, e));
        CC_TRY_OUT(add_rows(args, &s, seen, e));
        CC_TRY_OUT(note_unknown(r, &s, e));
    }
    for (size_t i = 0; i < p.notes; i++)
        CC_TRY_OUT(add_note(r, p.note[i], whole && i < p.answers, e));
    r->partial = r->partial || p.partial;
    if (p.error != NULL)
        (void)snprintf(r->error, sizeof r->error, "%s", p.error);
out:
    cc_sheet_free(&s);
    cc_provenance_free(&p);
    return status;
}

static int check_seen(const struct cc_args *args, const bool *seen, struct cc_error *e)
{
    for (size_t i = 0; i < args->schemes.count; i++)
        if (!seen[i])
            return cc_usage(e, "--scheme %s: no row has this scheme", args->schemes.item[i]->name);
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_record *r = &args->record;
    struct cc_results results = {.of = NULL};
    bool *seen = NULL;
    int status = CC_OK;
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(cc_known_read(args->commands, args->operand[i], &results, e));
    CC_TRY_OUT(CC_NEW(seen, args->schemes.count + 1, e));
    const bool whole = results.count == 1 && args->schemes.count == 0;
    for (size_t i = 0; i < results.count; i++)
        CC_TRY_OUT(add_result(args, &results.of[i], whole, seen, e));
    CC_TRY_OUT(check_seen(args, seen, e));
    cc_record_title(r, "%s: %zu row%s of %s%s%s", r->command, r->row_count,
                    r->row_count == 1 ? "" : "s", args->operand[0],
                    args->operands > 1 ? " and others" : "",
                    r->partial ? ", which was interrupted" : "");
    if (results.count > 1)
        CC_TRY_OUT(cc_record_note(r, e, "JSON has the host and the command line of %s",
                                  results.of[0].name));
out:
    free(seen);
    cc_results_free(&results);
    return status;
}

const struct cc_command cc_command_show = {
    .name = "show",
    .summary = "a stored result again: as a table, CSV, JSON, Markdown or LaTeX",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Prints the rows of results that another command wrote, as that command prints them: "
        "--format and -o choose the form, --columns the columns by the keys of that command, and "
        "--scheme the rows.\n\nA FILE is a .json or .csv file, or a page of `commcomp report`; - "
        "is the standard input. Rows of several files of the same command stand below each other. "
        "JSON keeps the command line and the host of the first file.",
    .examples =
        "  commcomp show bench.json --columns scheme,ratio,nmse   # these columns\n"
        "  commcomp show bench.json -o table.tex -o table.md      # for a paper, and a page\n"
        "  commcomp show model.json --scheme fp32,3lc --wide      # rows of two schemes\n"
        "  commcomp show a.json b.json --format csv               # rows of both\n",
    .page = "docs/results.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
