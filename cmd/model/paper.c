/* `commcomp paper`: published tables, each figure beside the model's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "cmd/input/trainings.h"
#include "core/memory.h"
#include "core/stats.h"
#include "models/paper/paper.h"

static const struct cc_option options[] = {
    {.name = "accuracy",
     .value = "FILE",
     .file = CC_READS_FILE,
     .help =
         "a result of `commcomp train` (.csv or .json): the accuracies that a table prints, and "
         "their differences to fp32, stand beside those of these trainings"},
    {.name = "all",
     .brief = "`paper reality`: every figure",
     .help = "with `reality`: every figure, and not a row for each table"},
    {.name = NULL},
};

static const struct cc_column columns[] = {
    CC_COLUMN(table, CC_SETTING),
    CC_COLUMN(paper, CC_SETTING),
    CC_COLUMN(printed_in, CC_MAIN),
    CC_COLUMN(caption, CC_SETTING),
    CC_COLUMN(reference, CC_SETTING),
    CC_COLUMN(row, CC_SETTING),
    CC_COLUMN(column, CC_SETTING),
    CC_COLUMN(scheme, CC_SETTING,
              .note = "here the one of `commcomp schemes` that the row is about, if it is one"),
    CC_COLUMN(net, CC_SETTING),
    CC_COLUMN(quantity, CC_SETTING,
              .note =
                  "speedup, comm_speedup, ratio, bits, values, a time, accuracy, its difference to "
                  "fp32, or a statement, which is 1 where it holds and 0 where not"),
    CC_COLUMN(unit, CC_SETTING),
    CC_COLUMN(figure_paper, CC_ANSWER),
    CC_COLUMN(figure_model, CC_ANSWER),
    CC_COLUMN(figure_trained, CC_ANSWER),
    CC_COLUMN(trained_low, CC_PART),
    CC_COLUMN(trained_high, CC_PART),
    CC_COLUMN(speedup_paper, CC_DETAIL, .hidden = true,
              .note = "where the figure is a speedup of the step"),
    CC_COLUMN(speedup, CC_DETAIL, .hidden = true,
              .note = "the model's, where the figure is a speedup of the step"),
    CC_COLUMN(paper_error, CC_ANSWER),
    CC_COLUMN(cause, CC_DETAIL, .note = "where a measured system is off by more than 10%"),
    CC_COLUMN(held_out, CC_DETAIL),
    CC_COLUMN(figures, CC_PART),
    CC_COLUMN(fitted, CC_PART),
    CC_COLUMN(rms_error, CC_ANSWER),
    CC_COLUMN(worst_error, CC_MAIN),
    {.key = NULL},
};

/* --- the list --- */

/* The number of a table's figures and of what was fitted to them, and its errors. */
static void put_totals(struct cc_record *r, size_t row, const struct cc_paper *p)
{
    cc_record_number(r, row, CC_KEY(figures), (double)p->figures);
    cc_record_number(r, row, CC_KEY(fitted), (double)p->fitted);
    cc_record_number(r, row, CC_KEY(rms_error), p->rms_error);
    cc_record_number(r, row, CC_KEY(worst_error), p->worst_error);
}

static int list_row(struct cc_record *r, const struct cc_paper *p, struct cc_error *e)
{
    const struct cc_text_column texts[] = {{CC_KEY(table), p->id},
                                           {CC_KEY(paper), p->paper},
                                           {CC_KEY(printed_in), p->place},
                                           {CC_KEY(caption), p->caption},
                                           {CC_KEY(reference), p->reference}};
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    put_totals(r, row, p);
    return cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* --- a table --- */

/* The error of a measured system from which on it is worth a word. */
#define FAR_OFF 0.1

static int figure_row(struct cc_record *r, const struct cc_paper *p, size_t i, size_t k,
                      struct cc_error *e)
{
    const struct cc_paper_row *from = &p->row[i];
    const struct cc_paper_column *column = &p->column[k];
    const struct cc_text_column texts[] = {
        {CC_KEY(table), p->id},
        {CC_KEY(row), from->name},
        {CC_KEY(column), column->name},
        {CC_KEY(scheme), from->scheme},
        {CC_KEY(net), from->net != NULL ? from->net->name : NULL},
        {CC_KEY(quantity), column->quantity},
        {CC_KEY(unit), column->unit}};
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    cc_record_number(r, row, CC_KEY(figure_paper), from->figure[k]);
    cc_record_number(r, row, CC_KEY(figure_model), from->model[k]);
    if (strcmp(column->quantity, "speedup") == 0) {
        cc_record_number(r, row, CC_KEY(speedup_paper), from->figure[k]);
        cc_record_number(r, row, CC_KEY(speedup), from->model[k]);
    }
    const double off = from->model[k] / from->figure[k] - 1;
    cc_record_number(r, row, CC_KEY(paper_error), off);
    if (fabs(off) > FAR_OFF && from->cause != NULL)
        CC_TRY(cc_record_text(r, row, CC_KEY(cause), from->cause, e));
    if (p->held_out)
        cc_record_bool(r, row, CC_KEY(held_out), true);
    return cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* --- accuracies --- */

/* A figure that trainings stand beside. `trained`: NaN if there is none. */
static int accuracy_row(struct cc_record *r, const struct cc_paper *p, const char *name,
                        const char *scheme, const char *quantity, double printed,
                        const double trained[3], struct cc_error *e)
{
    const struct cc_text_column texts[] = {
        {CC_KEY(table), p->id},
        {CC_KEY(row), name},
        {CC_KEY(column), quantity},
        {CC_KEY(scheme), scheme},
        {CC_KEY(quantity), quantity},
        {CC_KEY(unit), strcmp(quantity, "accuracy") == 0 ? "%" : "points"}};
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    const struct cc_number_column all[] = {{CC_KEY(figure_paper), printed},
                                           {CC_KEY(figure_trained), trained[0]},
                                           {CC_KEY(trained_low), trained[1]},
                                           {CC_KEY(trained_high), trained[2]}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
    return cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* Accuracy, and difference to the baseline, of a table's row. */
static int accuracy_rows(struct cc_record *r, const struct cc_paper *p, const char *name,
                         const char *scheme, double printed, const struct cc_trainings *t,
                         struct cc_error *e)
{
    static const struct cc_trained none = {.accuracy = (double)NAN,
                                           .difference = (double)NAN,
                                           .low = (double)NAN,
                                           .high = (double)NAN};
    const struct cc_trained *found = scheme != NULL ? cc_trainings_find(t, scheme) : NULL;
    const struct cc_trained *of = found != NULL ? found : &none;
    const double accuracy[] = {100 * of->accuracy, NAN, NAN};
    const double difference[] = {100 * of->difference, 100 * of->low, 100 * of->high};
    if (isnan(printed))
        return CC_OK;
    CC_TRY(accuracy_row(r, p, name, scheme, "accuracy", printed, accuracy, e));
    return cc_trainings_find(t, CC_RAW_SCHEME) == found
               ? CC_OK
               : accuracy_row(r, p, name, scheme, "difference", printed - p->baseline_accuracy,
                              difference, e);
}

/* Reads trainings, which have to have accuracies. */
static int read_accuracies(const char *path, struct cc_trainings *out, struct cc_error *e)
{
    CC_TRY(cc_trainings_read(path, out, e));
    if (cc_trained_by_loss(out->by))
        return cc_fail(e,
                       "%s: its trainings have losses, as language models do, and the table has "
                       "accuracies: give trainings of classifiers",
                       path);
    return CC_OK;
}

static int check_accuracies(const struct cc_paper *p, struct cc_error *e)
{
    if (isnan(p->baseline_accuracy))
        return cc_fail(e, "%s: the table prints no accuracies; 3lc-table1 does", p->id);
    return CC_OK;
}

static int print_accuracies(struct cc_record *r, const struct cc_paper *p,
                            const struct cc_trainings *t, struct cc_error *e)
{
    double seeds = INFINITY;
    CC_TRY(accuracy_rows(r, p, "baseline", CC_RAW_SCHEME, p->baseline_accuracy, t, e));
    for (size_t i = 0; i < p->rows; i++)
        CC_TRY(accuracy_rows(r, p, p->row[i].name, p->row[i].scheme, p->row[i].accuracy, t, e));
    for (size_t i = 0; i < t->count; i++)
        seeds = fmin(seeds, t->of[i].seeds);
    return cc_record_note(
        r, e,
        "accuracy: trained is %s (%s), means of %g seed%s or more; the paper's is "
        "another net on other data, so compare the differences to fp32, in "
        "points, and their order",
        t->about, t->path, seeds, seeds == 1 ? "" : "s");
}

static int note_constant(struct cc_record *r, const struct cc_paper_constant *c, struct cc_error *e)
{
    char deviation[48] = "";
    if (c->deviation > 0)
        (void)snprintf(deviation, sizeof deviation, " +- %.2g", c->deviation);
    return cc_record_note(r, e, "  %s = %.4g%s%s%s, %s: %s", c->name, c->value, deviation,
                          c->unit[0] != '\0' ? " " : "", c->unit, cc_paper_origins[c->origin],
                          c->source);
}

static int note_grid(struct cc_record *r, const struct cc_paper *p, struct cc_error *e)
{
    size_t equal, near;
    if (!cc_paper_on_grid(p, &equal, &near))
        return CC_OK;
    return cc_record_note(r, e,
                          "grid: %zu of %zu figures are the same point of the table's grid, %zu "
                          "that or a neighbour",
                          equal, p->figures, near);
}

/* Notes the table's source, its errors, the model with its constants, assumptions and limits. */
static int add_notes(struct cc_record *r, const struct cc_paper *p, struct cc_error *e)
{
    size_t by_hand = 0;
    for (size_t i = 0; i < p->constants; i++)
        by_hand += p->constant[i].by_hand;
    CC_TRY(cc_record_note(r, e, "%s: %s, %s: \"%s\"", p->id, p->reference, p->place, p->caption));
    CC_TRY(cc_record_note_at(r, CC_NOTE_ANSWER, e,
                             "errors: rms %.1f%%, worst %+.1f%%, of %zu figures; %zu constant%s "
                             "fitted%s",
                             100 * p->rms_error, 100 * p->worst_error, p->figures, p->fitted,
                             p->fitted == 1 ? " was" : "s were",
                             by_hand > 0     ? ", by hand"
                             : p->fitted > 0 ? ", by least squares of log(model / paper)"
                                             : ""));
    CC_TRY(note_grid(r, p, e));
    CC_TRY(cc_record_note(r, e, "model: %s", p->model));
    for (size_t i = 0; i < p->constants; i++)
        CC_TRY(note_constant(r, &p->constant[i], e));
    for (size_t i = 0; i < p->assumptions; i++)
        CC_TRY(cc_record_note(r, e, "assumed: %s", p->assumption[i]));
    for (size_t i = 0; i < p->limits; i++)
        CC_TRY(cc_record_note(r, e, "limit: %s", p->limit[i]));
    return CC_OK;
}

static int print_table(struct cc_record *r, struct cc_paper *p, const struct cc_trainings *t,
                       struct cc_error *e)
{
    CC_TRY(cc_paper_solve(p, e));
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; k < p->columns; k++)
            if (!isnan(p->row[i].model[k]))
                CC_TRY(figure_row(r, p, i, k, e));
    if (t != NULL)
        CC_TRY(print_accuracies(r, p, t, e));
    return add_notes(r, p, e);
}

/* --- all measured systems --- */

/* "reality", in the place of a table: the tables of measured trainings. */
#define REALITY         "reality"
#define REALITY_FORMULA "training"

/* Errors of predicted figures: those to which no constant was fitted. */
struct errors {
    double *off; /* absolute */
    size_t count, far;
};

static int add_errors(struct errors *x, const struct cc_paper *p, struct cc_error *e)
{
    size_t capacity = x->count;
    CC_TRY(CC_GROW(x->off, &capacity, x->count + p->rows * p->columns, e));
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; k < p->columns; k++) {
            const double off = fabs(p->row[i].model[k] / p->row[i].figure[k] - 1);
            if (isnan(off) || (p->fitted > 0 && p->column[k].fit))
                continue;
            x->off[x->count++] = off;
            x->far += off > FAR_OFF;
        }
    return CC_OK;
}

static int note_errors(struct cc_record *r, const struct errors *x, const char *of,
                       struct cc_error *e)
{
    if (x->count == 0)
        return CC_OK;
    const struct cc_stats s = cc_stats_of(x->off, x->count);
    return cc_record_note(r, e,
                          "%s: median error %.1f%%, worst %.1f%%, %zu of %zu figures off by more "
                          "than %.0f%%; figures that constants were fitted to are not counted",
                          of, 100 * s.median, 100 * s.max, x->far, x->count, 100 * FAR_OFF);
}

static int note_causes(struct cc_record *r, const struct cc_paper *p, struct cc_error *e)
{
    for (size_t i = 0; i < p->rows; i++) {
        double worst = 0;
        for (size_t k = 0; k < p->columns; k++) {
            const double off = p->row[i].model[k] / p->row[i].figure[k] - 1;
            worst = fabs(off) > fabs(worst) ? off : worst;
        }
        if (fabs(worst) > FAR_OFF && p->row[i].cause != NULL)
            CC_TRY(cc_record_note(r, e, "%s, %s, %+.1f%%: %s", p->id, p->row[i].name, 100 * worst,
                                  p->row[i].cause));
    }
    return CC_OK;
}

static int reality_table(struct cc_record *r, const struct cc_paper *p, bool all,
                         struct cc_error *e)
{
    size_t row;
    for (size_t k = 0; all && k < p->rows * p->columns; k++)
        if (!isnan(p->row[k / p->columns].model[k % p->columns]))
            CC_TRY(figure_row(r, p, k / p->columns, k % p->columns, e));
    if (all)
        return CC_OK;
    CC_TRY(cc_record_add(r, &row, e));
    put_totals(r, row, p);
    cc_record_bool(r, row, CC_KEY(held_out), p->held_out);
    return cc_record_text(r, row, CC_KEY(table), p->id, e);
}

/* The answer, in the first line: how far the model is from what was measured. */
static void set_answer(struct cc_record *r, const struct errors *known, const struct errors *held)
{
    const struct cc_stats k = cc_stats_of(known->off, known->count),
                          h = cc_stats_of(held->off, held->count);
    cc_record_title(
        r, "measured trainings: median error %.1f%%, worst %.1f%%; held out: %.1f%%, %.1f%%",
        100 * k.median, 100 * k.max, 100 * h.median, 100 * h.max);
}

static int print_reality(struct cc_record *r, bool all, struct cc_error *e)
{
    struct errors known = {.count = 0}, held = {.count = 0};
    struct cc_paper *p = NULL;
    int status = CC_OK;
    for (size_t i = 0; cc_paper_names[i] != NULL; i++) {
        cc_paper_free(p);
        p = NULL;
        CC_TRY_OUT(cc_paper_open(cc_paper_names[i], &p, e));
        if (strcmp(p->formula, REALITY_FORMULA) != 0)
            continue;
        CC_TRY_OUT(cc_paper_solve(p, e));
        CC_TRY_OUT(reality_table(r, p, all, e));
        CC_TRY_OUT(add_errors(p->held_out ? &held : &known, p, e));
        CC_TRY_OUT(note_causes(r, p, e));
    }
    set_answer(r, &known, &held);
    CC_TRY_OUT(note_errors(r, &known, "measured systems", e));
    CC_TRY_OUT(note_errors(r, &held, "held out, by which nothing was chosen", e));
out:
    cc_paper_free(p);
    free(known.off);
    free(held.off);
    return status;
}

/* --- the command --- */

static int list_all(struct cc_record *r, struct cc_error *e)
{
    for (size_t i = 0; cc_paper_names[i] != NULL; i++) {
        struct cc_paper *p;
        CC_TRY(cc_paper_open(cc_paper_names[i], &p, e));
        int status = cc_paper_solve(p, e);
        if (status == CC_OK)
            status = list_row(r, p, e);
        cc_paper_free(p);
        CC_TRY(status);
    }
    cc_record_title(r,
                    "%zu published tables; `commcomp paper 3lc-table1` sets the figures of one "
                    "beside the model's",
                    r->row_count);
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_paper *p[CC_MAX_OPERANDS] = {NULL};
    struct cc_trainings trainings = {.count = 0};
    const char *accuracy = cc_arg(args, "accuracy");
    const bool all = cc_arg(args, "all") != NULL;
    const bool reality = args->operands == 1 && strcmp(args->operand[0], REALITY) == 0;
    int status = CC_OK;
    if (all && !reality)
        return cc_usage(e, "--all goes with `commcomp paper " REALITY "`");
    if (accuracy != NULL && reality)
        return cc_usage(e, "--accuracy goes with one table: `commcomp paper 3lc-table1`");
    if (args->operands == 0 && accuracy != NULL)
        return cc_usage(e, "--accuracy goes with a table: `commcomp paper 3lc-table1`");
    if (args->operands == 0)
        return list_all(&args->record, e);
    if (reality)
        return print_reality(&args->record, all, e);
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(cc_paper_open(args->operand[i], &p[i], e));
    for (int i = 0; i < args->operands && accuracy != NULL; i++)
        CC_TRY_OUT(check_accuracies(p[i], e));
    if (accuracy != NULL)
        CC_TRY_OUT(read_accuracies(accuracy, &trainings, e));
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(print_table(&args->record, p[i], accuracy != NULL ? &trainings : NULL, e));
out:
    cc_trainings_free(&trainings);
    for (int i = 0; i < args->operands; i++)
        cc_paper_free(p[i]);
    return status;
}

const struct cc_command cc_command_paper = {
    .name = "paper",
    .summary = "published tables: each figure beside the model's",
    .operands = "[TABLE ...]",
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Lists the published tables that the program contains, and how closely a model "
        "reproduces each. With operands, prints each figure of a table with the model's and the "
        "error; and in notes the model, its constants with their sources (given in the paper, "
        "assumed, or fitted in this run), its assumptions, and the figures that it does not "
        "reproduce, with the reasons. A .json file has a table of your own "
        "(docs/papers.md). `paper reality` has all measured trainings, with their errors and, "
        "where these "
        "are above 10%, the cause, if it is known.\n\nFitted constants are physical quantities, "
        "found by least squares "
        "in each run.",
    .examples =
        "  commcomp paper                       # the tables, with their errors\n"
        "  commcomp paper reality               # measured trainings, held against the model\n"
        "  commcomp paper 3lc-table1            # one of them\n"
        "  commcomp paper 3lc-table1 -o t.csv   # for programs\n"
        "  commcomp paper 3lc-table1 --accuracy train.csv\n",
    .page = "docs/papers.md",
    .options = (const struct cc_option_use[]){{.rows = options}, {.rows = NULL}},
    .columns = columns,
    .run = run,
};
