/* `commcomp papers`: every table, figure and theorem of five papers, and single ones of others, and
 * whether it is reproduced. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "models/paper/inventory.h"

struct papers_options {
    struct cc_given given;
    bool figures;
};

static const struct cc_option own[] = {
    {.name = "figures",
     CC_OPTION_AT(struct papers_options, figures),
     .help = "a row for each figure of the items, in place of the one that is farthest from the "
             "paper's"},
    {.name = NULL},
};

static const struct cc_column columns[] = {
    CC_COLUMN(paper, CC_SETTING),
    CC_COLUMN(item, CC_SETTING),
    CC_COLUMN(changes, CC_DETAIL, .hidden = true),
    CC_COLUMN(state, CC_ANSWER),
    CC_COLUMN(figure, CC_SETTING),
    CC_COLUMN(unit, CC_SETTING, .hidden = true),
    CC_COLUMN(ours, CC_ANSWER, .by_row = true),
    CC_COLUMN(ours_low, CC_PART, .by_row = true),
    CC_COLUMN(ours_high, CC_PART, .by_row = true),
    CC_COLUMN(published, CC_ANSWER),
    CC_COLUMN(
        paper_error, CC_PART,
        .note = "here of the figure in its row; empty for a statement, points, and within a bound"),
    CC_COLUMN(reproduced, CC_MAIN),
    CC_COLUMN(figures, CC_MAIN, .head = "of"), /* a table says hold 15 of 27 */
    CC_COLUMN(shown_by, CC_MAIN),
    CC_COLUMN(fitted, CC_PART),
    CC_COLUMN(takes_s, CC_PART),
    CC_COLUMN(command, CC_DETAIL),
    CC_COLUMN(kept_on, CC_DETAIL),
    CC_COLUMN(kept_version, CC_DETAIL),
    CC_COLUMN(kept_machine, CC_DETAIL),
    CC_COLUMN(cause, CC_DETAIL, .hidden = true),
    {.key = NULL},
};

/* --- rows --- */

static int put_figure(struct cc_record *r, size_t row, const struct cc_inventory_figure *f,
                      struct cc_error *e)
{
    cc_record_number(r, row, CC_KEY(ours), f->ours);
    cc_record_number(r, row, CC_KEY(ours_low), f->low);
    cc_record_number(r, row, CC_KEY(ours_high), f->high);
    cc_record_number(r, row, CC_KEY(published), f->nearest);
    cc_record_number(r, row, CC_KEY(paper_error), f->error);
    CC_TRY(cc_record_text(r, row, CC_KEY(unit), f->unit, e));
    if (f->column == NULL)
        return cc_record_text(r, row, CC_KEY(figure), f->name, e);
    char name[256];
    (void)snprintf(name, sizeof name, "%s: %s", f->name, f->column);
    return cc_record_text(r, row, CC_KEY(figure), name, e);
}

/* A row of an item, with one of its figures unless it has none. */
static int add_row(struct cc_record *r, const struct cc_inventory_item *t,
                   const struct cc_inventory_figure *f, bool detail, struct cc_error *e)
{
    const struct cc_inventory_kept *kept = t->kept;
    const struct cc_text_column texts[] = {
        {CC_KEY(paper), t->paper},
        {CC_KEY(item), t->item},
        {CC_KEY(state), cc_reproduced_words[t->state]},
        {CC_KEY(shown_by), t->cause != NULL ? cc_shown_words[t->shown_by] : NULL},
        {CC_KEY(changes), t->changes},
        {CC_KEY(command), t->command},
        {CC_KEY(kept_on), kept != NULL ? kept->on : NULL},
        {CC_KEY(kept_version), kept != NULL ? kept->version : NULL},
        {CC_KEY(kept_machine), kept != NULL ? kept->machine : NULL},
        {CC_KEY(cause), t->cause}};
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    r->rows[row].detail = detail;
    r->rows[row].origin = t->how != NULL ? cc_origin_of_word(t->how) : CC_ORIGIN_COMPUTED;
    cc_record_number(r, row, CC_KEY(reproduced), t->figures > 0 ? (double)t->reproduced : NAN);
    cc_record_number(r, row, CC_KEY(figures), t->figures > 0 ? (double)t->figures : NAN);
    cc_record_number(r, row, CC_KEY(fitted), t->fitted > 0 ? t->fitted : NAN);
    cc_record_number(r, row, CC_KEY(takes_s), t->takes_s);
    if (f != NULL)
        CC_TRY(put_figure(r, row, f, e));
    return cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* The cause and the command of an item, below the table. */
static int note_item(struct cc_record *r, const struct cc_inventory_item *t, struct cc_error *e)
{
    if (t->cause != NULL)
        CC_TRY(cc_record_note(r, e, "%s: %s", t->item, t->cause));
    if (t->command == NULL)
        return CC_OK;
    if (isnan(t->takes_s))
        return cc_record_note(r, e, "%s: %s", t->item, t->command);
    return cc_record_note(r, e, "%s (%.0f s): %s", t->item, t->takes_s, t->command);
}

static int add_item(struct cc_record *r, const struct cc_inventory_item *t, bool each, bool asked,
                    struct cc_error *e)
{
    const bool detail = !asked && (t->state != CC_REPRODUCED_NOT || t->changes != NULL);
    if (!each || t->figures == 0)
        CC_TRY(add_row(r, t, t->worst != SIZE_MAX ? &t->figure[t->worst] : NULL, detail, e));
    for (size_t i = 0; each && i < t->figures; i++)
        CC_TRY(add_row(r, t, &t->figure[i], detail, e));
    return asked ? note_item(r, t, e) : CC_OK;
}

/* --- the command --- */

static bool same_word(const char *a, const char *b)
{
    for (; *a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++, b++) {
    }
    return *a == *b;
}

enum { MOST_PAPERS = 32 };

/* The papers' names, each once. */
static size_t name_papers(const struct cc_inventory *v, const char *name[MOST_PAPERS + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < v->items; i++) {
        size_t k = 0;
        while (k < n && strcmp(name[k], v->item[i].paper) != 0)
            k++;
        if (k == n && n < MOST_PAPERS)
            name[n++] = v->item[i].paper;
    }
    name[n] = NULL;
    return n;
}

static int check_operands(const struct cc_args *args, const char *const *names, struct cc_error *e)
{
    for (int i = 0; i < args->operands; i++) {
        size_t k = 0;
        while (names[k] != NULL && !same_word(names[k], args->operand[i]))
            k++;
        if (names[k] != NULL)
            continue;
        const char *near = cc_nearest(args->operand[i], names);
        return cc_usage(e, "paper '%.80s' is not in the inventory: %s%s", args->operand[i],
                        near != NULL ? "did you mean " : "`commcomp papers` lists them",
                        near != NULL ? near : "");
    }
    return CC_OK;
}

static bool asked_for(const struct cc_args *args, const struct cc_inventory_item *t)
{
    bool found = false;
    for (int i = 0; i < args->operands; i++)
        found = found || same_word(t->paper, args->operand[i]);
    return found;
}

/* How many items of each paper are reproduced, partly, and not. */
static int note_papers(struct cc_record *r, const struct cc_inventory *v, const char *const *name,
                       struct cc_error *e)
{
    char list[1024] = "";
    for (size_t k = 0; name[k] != NULL; k++) {
        size_t count[3] = {0};
        for (size_t i = 0; i < v->items; i++)
            count[v->item[i].state] +=
                v->item[i].changes == NULL && strcmp(v->item[i].paper, name[k]) == 0;
        cc_list_add(list, sizeof list, "; ", "%.60s: %zu R, %zu P, %zu -", name[k],
                    count[CC_REPRODUCED_ALL], count[CC_REPRODUCED_PARTLY],
                    count[CC_REPRODUCED_NOT]);
    }
    CC_TRY(cc_record_note(r, e, "%s", list));
    return cc_record_note(
        r, e,
        "only what is not reproduced is shown; `commcomp papers PAPER` has all of "
        "a paper, with causes and commands");
}

static int print(struct cc_args *args, const struct cc_inventory *v, bool each, struct cc_error *e)
{
    const char *name[MOST_PAPERS + 1];
    size_t count[3] = {0}, shown = 0, items = 0, changed = 0, papers = name_papers(v, name);
    CC_TRY(check_operands(args, name, e));
    for (size_t i = 0; i < v->items; i++) {
        const bool asked = asked_for(args, &v->item[i]);
        if (args->operands > 0 && !asked)
            continue;
        CC_TRY(add_item(&args->record, &v->item[i], each, asked, e));
        if (v->item[i].changes != NULL) {
            changed++;
            continue;
        }
        items++;
        count[v->item[i].state]++;
        shown += v->item[i].cause != NULL && v->item[i].shown_by == CC_SHOWN_EXPERIMENT;
    }
    if (args->operands > 0)
        papers = (size_t)args->operands;
    if (changed > 0)
        CC_TRY(cc_record_note(&args->record, e,
                              "%zu more items repeat one of these with a change, as JSON's "
                              "`changes` says",
                              changed));
    cc_record_title(&args->record,
                    "%zu of %zu items of %zu paper%s are reproduced (R), %zu partly (P), %zu not "
                    "(-); an experiment shows the cause of %zu of the other %zu",
                    count[CC_REPRODUCED_ALL], items, papers, papers == 1 ? "" : "s",
                    count[CC_REPRODUCED_PARTLY], count[CC_REPRODUCED_NOT], shown,
                    items - count[CC_REPRODUCED_ALL]);
    return args->operands > 0 ? CC_OK : note_papers(&args->record, v, name, e);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct papers_options o = {.figures = false};
    struct cc_inventory *v = NULL;
    int status = CC_OK;
    CC_TRY(cc_options_read(args, own, &o, e));
    CC_TRY_OUT(cc_inventory_open(&v, e));
    CC_TRY_OUT(cc_inventory_solve(v, e));
    CC_TRY_OUT(print(args, v, o.figures, e));
out:
    cc_inventory_free(v);
    return status;
}

const struct cc_command cc_command_papers = {
    .name = "papers",
    .summary = "the papers item by item: reproduced, or the cause",
    .operands = "[PAPER ...]",
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Lists the tables, figures and theorems of the papers that the program is about: whether "
        "they are reproduced, the figure that is farthest from the paper's with ours beside it, "
        "and how many of the item's figures hold. R: all figures are within 10% of the paper's, "
        "or the intervals of both meet; P: some; -: none.\n\n"
        "Figures of formulas are computed in this run. Those of trainings and simulations are "
        "kept: JSON has the day, version and machine that made them, the command that makes them "
        "again, and how long it takes. With a paper's name, causes and commands stand below the "
        "table. docs/papers.md has the whole inventory.",
    .examples = "  commcomp papers                    # what is not reproduced\n"
                "  commcomp papers 3lc                # all of a paper, with causes\n"
                "  commcomp papers --figures -o f.csv # each figure\n",
    .page = "docs/papers.md",
    .options = (const struct cc_option_use[]){{.rows = own}, {.rows = NULL}},
    .columns = columns,
    .run = run,
};
