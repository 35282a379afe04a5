/* `commcomp paper`: published tables, each figure beside the model's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "cmd/input/trainings.h"
#include "models/paper/paper.h"

static const struct cc_option options[] = {
    {.name = "accuracy",
     .value = "FILE",
     .file = CC_READS_FILE,
     .help =
         "a result of `commcomp train` (.csv or .json): the accuracies that a table prints, and "
         "their differences to fp32, stand beside those of these trainings"},
    {.name = NULL},
};

static const struct cc_column columns[] = {
    {"table", "table", "", NULL, 0, "the name, as the command takes it", CC_SETTING},
    {"paper", "paper", "", NULL, 0, "the paper, in short", CC_SETTING},
    {"place", "place", "", NULL, 0, "the table or figure, or where in the text", CC_MAIN},
    {"caption", NULL, "", NULL, 0, "the caption, as printed", CC_SETTING},
    {"reference", NULL, "", NULL, 0, "the paper in full", CC_SETTING},
    {"row", "row", "", NULL, 0, "the row, as the table names it", CC_SETTING},
    {"column", "column", "", NULL, 0, "the column", CC_SETTING},
    {"scheme", "scheme", "", NULL, 0, "which of `commcomp schemes` the row is about, if it is one",
     CC_SETTING},
    {"net", "net", "", NULL, 0, "which of `commcomp nets` the row is about", CC_SETTING},
    {"quantity", NULL, "", NULL, 0,
     "what is compared: speedup, comm_speedup, ratio, bits, values, a time, accuracy, its "
     "difference to fp32, or a statement, which is 1 where it holds and 0 where not",
     CC_SETTING},
    {"unit", "unit", "", NULL, 0, "unit of the figure", CC_SETTING},
    {"figure_paper", "paper's", "", "%.4g", 0, "the figure as printed", CC_ANSWER},
    {"figure_model", "model's", "", "%.4g", 0, "the model's", CC_ANSWER},
    {"figure_trained", "trained", "", "%.4g", 0,
     "--accuracy: that of the trainings, mean over seeds", CC_ANSWER},
    {"trained_low", "low", "", "%.4g", 0,
     "difference to fp32: lower end of its 95% interval; empty with one seed", CC_PART},
    {"trained_high", "high", "", "%.4g", 0, "upper end", CC_PART},
    {"speedup_paper", NULL, "", "%.4g", 0, "the paper's figure where it is a speedup of the step",
     CC_DETAIL},
    {"speedup", NULL, "", "%.4g", 0, "the model's, likewise", CC_DETAIL},
    {"error", "error", "%", "%+.1f", 100, "the model's / the paper's - 1", CC_ANSWER},
    {"figures", "figures", "", "%.0f", 0, "number of figures that are compared, of a table",
     CC_PART},
    {"fitted", "fitted", "", "%.0f", 0, "number of constants that are fitted to them, of a table",
     CC_PART},
    {"rms_error", "rms error", "%", "%.1f", 100, "root of the mean square of a table's errors",
     CC_ANSWER},
    {"worst_error", "worst", "%", "%+.1f", 100, "a table's error of greatest magnitude", CC_MAIN},
    {.key = NULL},
};

/* Sets columns of texts, pairs of key and text; those that are NULL or empty stay null. */
static int set_texts(struct cc_record *r, size_t row, const char *const (*pairs)[2], size_t count,
                     struct cc_error *e)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i][1] != NULL && pairs[i][1][0] != '\0')
            CC_TRY(cc_record_text(r, row, pairs[i][0], pairs[i][1], e));
    return CC_OK;
}

/* --- the list --- */

static int list_row(struct cc_record *r, const struct cc_paper *p, struct cc_error *e)
{
    const char *const texts[][2] = {{"table", p->id},
                                    {"paper", p->paper},
                                    {"place", p->place},
                                    {"caption", p->caption},
                                    {"reference", p->reference}};
    size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    cc_record_number(r, row, "figures", (double)p->figures);
    cc_record_number(r, row, "fitted", (double)p->fitted);
    cc_record_number(r, row, "rms_error", p->rms_error);
    cc_record_number(r, row, "worst_error", p->worst_error);
    return set_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* --- a table --- */

static int figure_row(struct cc_record *r, const struct cc_paper *p, size_t i, size_t k,
                      struct cc_error *e)
{
    const struct cc_paper_row *from = &p->row[i];
    const struct cc_paper_column *column = &p->column[k];
    const char *const texts[][2] = {{"table", p->id},
                                    {"row", from->name},
                                    {"column", column->name},
                                    {"scheme", from->scheme},
                                    {"net", from->net != NULL ? from->net->name : NULL},
                                    {"quantity", column->quantity},
                                    {"unit", column->unit}};
    size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    cc_record_number(r, row, "figure_paper", from->figure[k]);
    cc_record_number(r, row, "figure_model", from->model[k]);
    if (strcmp(column->quantity, "speedup") == 0) {
        cc_record_number(r, row, "speedup_paper", from->figure[k]);
        cc_record_number(r, row, "speedup", from->model[k]);
    }
    cc_record_number(r, row, "error", from->model[k] / from->figure[k] - 1);
    return set_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* --- accuracies --- */

/* A figure that trainings stand beside. `trained`: NaN if there is none. */
static int accuracy_row(struct cc_record *r, const struct cc_paper *p, const char *name,
                        const char *scheme, const char *quantity, double printed,
                        const double trained[3], struct cc_error *e)
{
    const char *const texts[][2] = {
        {"table", p->id},       {"row", name},
        {"column", quantity},   {"scheme", scheme},
        {"quantity", quantity}, {"unit", strcmp(quantity, "accuracy") == 0 ? "%" : "points"}};
    const size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    const struct cc_number_column all[] = {{"figure_paper", printed},
                                           {"figure_trained", trained[0]},
                                           {"trained_low", trained[1]},
                                           {"trained_high", trained[2]}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
    return set_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
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

/* A table that prints accuracies, as --accuracy needs it. */
static int check_accuracies(const struct cc_paper *p, struct cc_error *e)
{
    if (isnan(p->baseline_accuracy))
        return cc_fail(e, "%s: the table prints no accuracies; 3lc-table1 does", p->id);
    return CC_OK;
}

/* The accuracies that the table prints, beside those of trainings. */
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

/* Notes the table's source, its errors, the model with its constants, assumptions and limits. */
static int add_notes(struct cc_record *r, const struct cc_paper *p, struct cc_error *e)
{
    CC_TRY(cc_record_note(r, e, "%s: %s, %s: \"%s\"", p->id, p->reference, p->place, p->caption));
    CC_TRY(cc_record_note(r, e,
                          "errors: rms %.1f%%, worst %+.1f%%, of %zu figures; %zu constants were "
                          "fitted%s",
                          100 * p->rms_error, 100 * p->worst_error, p->figures, p->fitted,
                          p->fitted > 0 ? ", by least squares of log(model / paper)" : ""));
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
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_paper *p[CC_MAX_OPERANDS] = {NULL};
    struct cc_trainings trainings = {.count = 0};
    const char *accuracy = cc_arg(args, "accuracy");
    int status = CC_OK;
    if (args->operands == 0 && accuracy != NULL)
        return cc_usage(e, "--accuracy goes with a table: `commcomp paper 3lc-table1`");
    if (args->operands == 0)
        return list_all(&args->record, e);
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(cc_paper_open(args->operand[i], &p[i], e));
    for (int i = 0; i < args->operands && accuracy != NULL; i++)
        CC_TRY_OUT(check_accuracies(p[i], e));
    if (accuracy != NULL)
        CC_TRY_OUT(cc_trainings_read(accuracy, &trainings, e));
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
        "(docs/papers.md).\n\nFitted constants are physical quantities, found by least squares "
        "in each run.",
    .examples = "  commcomp paper                       # the tables, with their errors\n"
                "  commcomp paper 3lc-table1            # one of them\n"
                "  commcomp paper 3lc-table1 -o t.csv   # for programs\n"
                "  commcomp paper 3lc-table1 --accuracy train.csv\n",
    .options = options,
    .columns = columns,
    .run = run,
};
