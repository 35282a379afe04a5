/* `commcomp compare`: two results of a command side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/results/known.h"
#include "core/infile.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"
#include "results/page_data.h"

static const struct cc_column columns[] = {
    CC_COLUMN(quantity, CC_DETAIL, .note = "the column, by its key"),
    CC_COLUMN(heading, CC_SETTING),
    CC_COLUMN(scheme, CC_SETTING),
    CC_COLUMN(setting, CC_SETTING),
    CC_COLUMN(a, CC_DETAIL),
    CC_COLUMN(b, CC_DETAIL),
    CC_COLUMN(a_text, CC_ANSWER),
    CC_COLUMN(b_text, CC_ANSWER),
    CC_COLUMN(b_over_a, CC_ANSWER),
    {.key = NULL},
};

struct compare_options {
    struct cc_given given;
    const char *quantities;
};

#define MEMBER(m) CC_OPTION_AT(struct compare_options, m)
static const struct cc_option own_options[] = {
    {.name = "quantities",
     MEMBER(quantities),
     .value = "KEY,...",
     .otherwise = "the main ones of the command",
     .help = "which columns to compare, by their keys; `all`: all that hold numbers"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {{.rows = own_options}, {.rows = NULL}};

/* A file: its rows, and what else it says. */
struct side {
    const char *path;
    struct cc_sheet sheet;
    struct cc_provenance from;
};

/* The rows of both files that belong together. */
struct match {
    size_t *at[2]; /* by column of the command: that of the file, or CC_NO_COLUMN */
    size_t *key;   /* the settings that tell rows apart, by column of the command */
    size_t key_count;
    size_t *partner; /* by row of the first file: the row of the second, or SIZE_MAX */
    size_t *alone;   /* rows of the second without a partner */
    size_t alone_count;
};

struct compare {
    struct cc_args *args;
    struct side side[2];
    const struct cc_command *command; /* wrote them */
    struct match match;
    struct {
        double sum, low, high; /* sums over the logarithms of the ratios */
        size_t count;
    } ratios;      /* those of the quantity that is compared now */
    size_t answer; /* the note of the quantity that differs most, */
    double most;   /* and by how much: the logarithm of its mean ratio */
};

/* --- matching rows: those of each file are sorted by their settings, and equal ones are joined ---
 */

/* The value of a row of sheet 0 or 1 in a column of the command; NULL if the sheet lacks it. */
static const struct cc_value *match_value(const struct compare *c, int which, size_t row,
                                          size_t column)
{
    const size_t at = c->match.at[which][column];
    return at != CC_NO_COLUMN ? cc_sheet_value(&c->side[which].sheet, row, at) : NULL;
}

/* A row of sheet 0 or 1. */
struct place {
    int which;
    size_t row;
};

static int order_of(const struct compare *c, struct place a, struct place b)
{
    for (size_t i = 0; i < c->match.key_count; i++) {
        const struct cc_value *x = match_value(c, a.which, a.row, c->match.key[i]),
                              *y = match_value(c, b.which, b.row, c->match.key[i]);
        const int order = x->kind != y->kind   ? (x->kind > y->kind) - (x->kind < y->kind)
                          : x->kind == CC_TEXT ? strcmp(x->text, y->text)
                                               : (x->number > y->number) - (x->number < y->number);
        if (order != 0)
            return order;
    }
    return 0;
}

static int by_key(const void *x, const void *y, void *match)
{
    const struct place *a = x, *b = y;
    const int order = order_of(match, *a, *b);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

static int sort_rows(struct compare *c, int which, struct place **out, struct cc_error *e)
{
    const size_t rows = c->side[which].sheet.rows;
    CC_TRY(CC_NEW(*out, rows, e));
    for (size_t i = 0; i < rows; i++)
        (*out)[i] = (struct place){which, i};
    qsort_r(*out, rows, sizeof **out, by_key, c);
    return CC_OK;
}

/* Sets *out to how many different rows the key tells apart in the two sheets. */
static int count_distinct(struct compare *c, size_t *out, struct cc_error *e)
{
    *out = 0;
    for (int which = 0; which < 2; which++) {
        struct place *list;
        CC_TRY(sort_rows(c, which, &list, e));
        for (size_t i = 0; i < c->side[which].sheet.rows; i++)
            *out += i == 0 || order_of(c, list[i - 1], list[i]) != 0;
        free(list);
    }
    return CC_OK;
}

static int choose_key(struct compare *c, struct cc_error *e)
{
    size_t best = 2; /* a row of each sheet: nothing tells others apart from it */
    for (size_t k = 0; c->command->columns[k].key != NULL; k++) {
        size_t distinct;
        if (c->command->columns[k].role != CC_SETTING || c->match.at[0][k] == CC_NO_COLUMN ||
            c->match.at[1][k] == CC_NO_COLUMN)
            continue;
        c->match.key[c->match.key_count++] = k;
        CC_TRY(count_distinct(c, &distinct, e));
        if (distinct > best)
            best = distinct;
        else
            c->match.key_count--;
    }
    return CC_OK;
}

static int join(struct compare *c, struct cc_error *e)
{
    const size_t rows[2] = {c->side[0].sheet.rows, c->side[1].sheet.rows};
    struct place *a = NULL, *b = NULL;
    bool *taken = NULL;
    int status = CC_OK;
    CC_TRY_OUT(sort_rows(c, 0, &a, e));
    CC_TRY_OUT(sort_rows(c, 1, &b, e));
    CC_TRY_OUT(CC_NEW(taken, rows[1], e));
    for (size_t i = 0, k = 0; i < rows[0]; i++) {
        while (k < rows[1] && order_of(c, b[k], a[i]) < 0)
            k++;
        const bool found = k < rows[1] && order_of(c, b[k], a[i]) == 0;
        c->match.partner[a[i].row] = found ? b[k].row : SIZE_MAX;
        if (found)
            taken[b[k++].row] = true;
    }
    for (size_t i = 0; i < rows[1]; i++)
        if (!taken[i])
            c->match.alone[c->match.alone_count++] = i;
out:
    free(a);
    free(b);
    free(taken);
    return status;
}

/* Finds the settings (CC_SETTING) that tell the rows of either file apart: in the order of the
 * columns, each that tells more of them apart than those before it. Rows with the same values of
 * these belong together; of several alike, the first ones, the second ones and so on. */
static int match_rows(struct compare *c, struct cc_error *e)
{
    const struct cc_column *columns_of = c->command->columns;
    const size_t count = cc_columns_count(columns_of);
    CC_TRY(CC_NEW(c->match.key, count, e));
    CC_TRY(CC_NEW(c->match.partner, c->side[0].sheet.rows, e));
    CC_TRY(CC_NEW(c->match.alone, c->side[1].sheet.rows, e));
    for (int which = 0; which < 2; which++) {
        CC_TRY(CC_NEW(c->match.at[which], count, e));
        for (size_t k = 0; k < count; k++)
            c->match.at[which][k] = cc_sheet_column(&c->side[which].sheet, columns_of[k].key->name);
    }
    CC_TRY(choose_key(c, e));
    return join(c, e);
}

/* --- reading --- */

static int parse_side(const char *text, size_t length, struct side *out, struct cc_error *e)
{
    CC_TRY_IN(cc_provenance_parse(text, length, &out->from, e), e, "%s", out->path);
    return cc_sheet_parse_json(out->path, text, length, &out->sheet, e);
}

static int read_side(const char *path, struct side *out, struct cc_error *e)
{
    struct cc_bytes file = {0};
    struct cc_results page;
    const char *suffix = strrchr(path, '.');
    out->path = path;
    if (suffix != NULL && strcmp(suffix, ".csv") == 0)
        return cc_usage(e,
                        "%s: a .csv file does not say which command wrote it, on which host: "
                        "compare reads the .json that -o FILE.json writes",
                        path);
    CC_TRY(cc_file_read(path, &file, e));
    const char *text = (const char *)file.data;
    int status = CC_OK;
    if (!cc_page_is_path(path)) {
        status = parse_side(text, file.size, out, e);
    } else if ((status = cc_page_read_one(path, text, file.size, &page, e)) == CC_OK) {
        status = parse_side(page.of[0].text, page.of[0].length, out, e);
        cc_results_free(&page);
    }
    cc_bytes_free(&file);
    return status;
}

static int read_both(struct compare *c, struct cc_error *e)
{
    const struct cc_provenance *a = &c->side[0].from, *b = &c->side[1].from;
    for (int i = 0; i < 2; i++)
        CC_TRY(read_side(c->args->operand[i], &c->side[i], e));
    if (strcmp(a->command, b->command) != 0)
        return cc_fail(e,
                       "%s is a result of `%.40s`, and %s of `%.40s`: only results of the same "
                       "command can be compared",
                       c->side[0].path, a->command, c->side[1].path, b->command);
    c->command = cc_command_find(c->args->commands, a->command);
    if (c->command == NULL || c->command->columns[0].key == NULL)
        return cc_fail(e, "%s: commcomp has no command '%.40s' whose results could be compared",
                       c->side[0].path, a->command);
    return match_rows(c, e);
}

/* --- rows --- */

static bool has_numbers(const struct compare *c, size_t column)
{
    return cc_sheet_has(&c->side[0].sheet, c->match.at[0][column], CC_NUMBER) ||
           cc_sheet_has(&c->side[1].sheet, c->match.at[1][column], CC_NUMBER);
}

static double number(const struct compare *c, int which, size_t row, size_t column)
{
    const struct cc_value *v = row != SIZE_MAX ? match_value(c, which, row, column) : NULL;
    return v != NULL && v->kind == CC_NUMBER ? v->number : NAN;
}

/* b / a; NaN where it says nothing. */
static double ratio_of(double a, double b)
{
    if (a == b)
        return 1;
    return a != 0 ? b / a : (double)NAN;
}

static void count_ratio(struct compare *c, double ratio)
{
    if (!(ratio > 0))
        return;
    const double log_ratio = log(ratio);
    c->ratios.low = c->ratios.count == 0 ? log_ratio : fmin(c->ratios.low, log_ratio);
    c->ratios.high = c->ratios.count == 0 ? log_ratio : fmax(c->ratios.high, log_ratio);
    c->ratios.sum += log_ratio;
    c->ratios.count++;
}

/* --- the names of columns and values, as tables have them --- */

/* "4", "10 Gbit/s" or "50 us"; "none" for a value that is not there. */
static void put_value(const struct cc_column *c, const struct cc_value *v, char *out, size_t cap)
{
    char buffer[CC_VALUE_CAP];
    if (v == NULL || v->kind == CC_NULL)
        (void)snprintf(out, cap, "none");
    else
        (void)snprintf(out, cap, "%s%s%s", cc_value_text(v, c, buffer),
                       c->key->unit[0] != '\0' ? " " : "", c->key->unit);
}

/* Whether the column is the link's name, which is its bandwidth where it has no other. */
static bool repeats_bandwidth(const struct compare *c, size_t column)
{
    if (c->command->columns[column].key != CC_KEY(link))
        return false;
    for (int i = 0; i < 2; i++)
        for (size_t row = 0; row < c->side[i].sheet.rows; row++) {
            const struct cc_value *name = match_value(c, i, row, column);
            const size_t at = cc_sheet_column(&c->side[i].sheet, "bw_bps");
            const struct cc_value *bw =
                at != CC_NO_COLUMN ? cc_sheet_value(&c->side[i].sheet, row, at) : NULL;
            char rate[64];
            if (name == NULL || bw == NULL || name->kind != CC_TEXT || bw->kind != CC_NUMBER)
                continue;
            cc_print_rate(bw->number, rate, sizeof rate);
            if (strcmp(name->text, rate) != 0)
                return false;
        }
    return true;
}

/* The settings but the scheme that tell a row apart: "workers 4, bandwidth 1 Gbit/s". */
static int set_setting(struct compare *c, size_t at, int which, size_t row, struct cc_error *e)
{
    char text[1024] = "", value[CC_VALUE_CAP + 32];
    for (size_t i = 0; i < c->match.key_count; i++) {
        const struct cc_column *column = &c->command->columns[c->match.key[i]];
        if (column->key == CC_KEY(scheme))
            continue;
        put_value(column, match_value(c, which, row, c->match.key[i]), value, sizeof value);
        cc_list_add(text, sizeof text, ", ", "%s %s", cc_column_head(column), value);
    }
    return text[0] != '\0' ? cc_record_text(&c->args->record, at, CC_KEY(setting), text, e) : CC_OK;
}

/* Sets a number, and its text by the column that it is from. */
static int set_number(struct compare *c, size_t at, size_t column, const struct cc_result_key *key,
                      const struct cc_result_key *text_key, double v, struct cc_error *e)
{
    const struct cc_value value = {.kind = CC_NUMBER, .number = v};
    char buffer[CC_VALUE_CAP];
    if (isnan(v))
        return CC_OK;
    cc_record_number(&c->args->record, at, key, v);
    return cc_record_text(&c->args->record, at, text_key,
                          cc_value_text(&value, &c->command->columns[column], buffer), e);
}

/* --- rows of the record --- */

/* Adds the row for a column of rows a and b, one of which may be SIZE_MAX. */
static int add_row(struct compare *c, size_t column, size_t a, size_t b, struct cc_error *e)
{
    struct cc_record *r = &c->args->record;
    const int which = a != SIZE_MAX ? 0 : 1;
    const size_t row = which == 0 ? a : b;
    const double of_a = number(c, 0, a, column), of_b = number(c, 1, b, column);
    if (isnan(of_a) && isnan(of_b))
        return CC_OK;
    size_t at;
    CC_TRY(cc_record_add(r, &at, e));
    char title[128];
    const struct cc_sheet *sheet = &c->side[which].sheet;
    const size_t scheme_at = cc_sheet_column(sheet, CC_KEY(scheme)->name);
    const struct cc_value *scheme =
        scheme_at != CC_NO_COLUMN ? cc_sheet_value(sheet, row, scheme_at) : NULL;
    cc_known_heading(c->command->columns[column].key, title, sizeof title);
    CC_TRY(cc_record_text(r, at, CC_KEY(quantity), c->command->columns[column].key->name, e));
    CC_TRY(cc_record_text(r, at, CC_KEY(heading), title, e));
    if (scheme != NULL && scheme->kind == CC_TEXT)
        CC_TRY(cc_record_text(r, at, CC_KEY(scheme), scheme->text, e));
    const double ratio = ratio_of(of_a, of_b);
    CC_TRY(set_setting(c, at, which, row, e));
    CC_TRY(set_number(c, at, column, CC_KEY(a), CC_KEY(a_text), of_a, e));
    CC_TRY(set_number(c, at, column, CC_KEY(b), CC_KEY(b_text), of_b, e));
    cc_record_number(r, at, CC_KEY(b_over_a), ratio);
    count_ratio(c, ratio);
    return CC_OK;
}

static int add_quantity(struct compare *c, size_t column, struct cc_error *e)
{
    struct cc_record *r = &c->args->record;
    char title[128];
    cc_known_heading(c->command->columns[column].key, title, sizeof title);
    c->ratios.sum = 0;
    c->ratios.count = 0;
    for (size_t row = 0; row < c->side[0].sheet.rows; row++)
        CC_TRY(add_row(c, column, row, c->match.partner[row], e));
    for (size_t i = 0; i < c->match.alone_count; i++)
        CC_TRY(add_row(c, column, SIZE_MAX, c->match.alone[i], e));
    if (c->ratios.count == 0)
        return CC_OK;
    const double all = c->ratios.sum / (double)c->ratios.count, mean = exp(all);
    if (r->note_count == 0 || fabs(all) > c->most) {
        c->answer = r->note_count;
        c->most = fabs(all);
    }
    if (c->ratios.low == 0 && c->ratios.high == 0)
        return cc_record_note(r, e, "%s: the same in %s", title,
                              c->ratios.count == 1 ? "the only row of both" : "all rows");
    if (c->ratios.count == 1)
        return cc_record_note(r, e, "%s: B/A is %.4g in the only row of both", title, mean);
    return cc_record_note(r, e,
                          "%s: B/A is %.4g in the geometric mean of %zu rows, from %.4g to %.4g",
                          title, mean, c->ratios.count, exp(c->ratios.low), exp(c->ratios.high));
}

static int add_named(struct compare *c, const char *names, struct cc_error *e)
{
    const struct cc_column *list = c->command->columns;
    enum { MOST = 128 };
    const char *known[MOST + 1] = {NULL};
    char *copy = cc_strdup(names, e), *rest = copy, *name;
    int status = copy != NULL ? CC_OK : CC_FAIL;
    for (size_t k = 0; k < MOST && list[k].key != NULL; k++)
        known[k] = list[k].key->name;
    while (status == CC_OK && (name = strsep(&rest, ",")) != NULL) {
        const int k = cc_word_find(known, name);
        const char *near = cc_nearest(name, known);
        if (k >= 0 && has_numbers(c, (size_t)k))
            status = add_quantity(c, (size_t)k, e);
        else if (k >= 0)
            status = cc_usage(e, "--quantities: the column '%s' has no numbers here", name);
        else
            status =
                cc_usage(e,
                         near != NULL ? "--quantities: `%s` has no column '%s'; did you mean '%s'?"
                                      : "--quantities: `%s` has no column '%s'",
                         c->command->name, name, near);
    }
    free(copy);
    return status;
}

static int add_rows(struct compare *c, struct cc_error *e)
{
    struct compare_options o = {.quantities = NULL};
    CC_TRY(cc_options_read(c->args, own_options, &o, e));
    const char *names = o.quantities;
    const bool all = names != NULL && strcmp(names, "all") == 0;
    if (names != NULL && !all)
        return add_named(c, names, e);
    for (size_t k = 0; c->command->columns[k].key != NULL; k++) {
        const enum cc_role role = c->command->columns[k].role;
        if ((role == CC_ANSWER || (all && role != CC_SETTING)) && has_numbers(c, k))
            CC_TRY(add_quantity(c, k, e));
    }
    return CC_OK;
}

/* --- what differs --- */

static int note_difference(struct compare *c, const char *what, const char *a, const char *b,
                           struct cc_error *e)
{
    return cc_record_warn(&c->args->record, e, "differs: %s: A %s, B %s", what,
                          a != NULL ? a : "(none)", b != NULL ? b : "(none)");
}

static int note_host(struct compare *c, struct cc_error *e)
{
    const struct cc_provenance *a = &c->side[0].from, *b = &c->side[1].from;
    char what[128];
    for (size_t i = 0; i < a->host_count; i++) {
        const char *other = cc_provenance_host(b, a->host[i].key);
        (void)snprintf(what, sizeof what, "host's %.100s", a->host[i].key);
        if (other == NULL || strcmp(a->host[i].value, other) != 0)
            CC_TRY(note_difference(c, what, a->host[i].value, other, e));
    }
    for (size_t i = 0; i < b->host_count; i++) {
        (void)snprintf(what, sizeof what, "host's %.100s", b->host[i].key);
        if (cc_provenance_host(a, b->host[i].key) == NULL)
            CC_TRY(note_difference(c, what, NULL, b->host[i].value, e));
    }
    return strcmp(a->argv, b->argv) != 0 ? note_difference(c, "command line", a->argv, b->argv, e)
                                         : CC_OK;
}

/* Whether the column is the same in all rows of a file, that of its first. */
static bool is_constant(const struct compare *c, int which, size_t column)
{
    const struct cc_value *first = match_value(c, which, 0, column);
    for (size_t row = 1; row < c->side[which].sheet.rows; row++)
        if (!cc_value_same(first, match_value(c, which, row, column)))
            return false;
    return true;
}

/* Settings that are the same in all rows of a file, and others in the other file. */
static int note_settings(struct compare *c, struct cc_error *e)
{
    char of_a[CC_VALUE_CAP + 32], of_b[CC_VALUE_CAP + 32];
    for (size_t k = 0; c->command->columns[k].key != NULL; k++) {
        const struct cc_column *column = &c->command->columns[k];
        const struct cc_value *a = match_value(c, 0, 0, k), *b = match_value(c, 1, 0, k);
        if (column->role != CC_SETTING || a == NULL || b == NULL || cc_value_same(a, b) ||
            !is_constant(c, 0, k) || !is_constant(c, 1, k) || repeats_bandwidth(c, k))
            continue;
        put_value(column, a, of_a, sizeof of_a);
        put_value(column, b, of_b, sizeof of_b);
        CC_TRY(note_difference(c, cc_column_head(column), of_a, of_b, e));
    }
    return CC_OK;
}

static int note_alone(struct compare *c, struct cc_error *e)
{
    size_t alone = 0;
    for (size_t row = 0; row < c->side[0].sheet.rows; row++)
        alone += c->match.partner[row] == SIZE_MAX;
    if (alone > 0)
        CC_TRY(cc_record_warn(&c->args->record, e, "%zu row%s only in A", alone,
                              alone > 1 ? "s are" : " is"));
    if (c->match.alone_count > 0)
        CC_TRY(cc_record_warn(&c->args->record, e, "%zu row%s only in B", c->match.alone_count,
                              c->match.alone_count > 1 ? "s are" : " is"));
    for (int i = 0; i < 2; i++)
        if (c->side[i].from.partial || c->side[i].from.error != NULL)
            CC_TRY(cc_record_warn(&c->args->record, e, "%s is not complete: its command %s",
                                  i == 0 ? "A" : "B",
                                  c->side[i].from.error != NULL ? "failed" : "was interrupted"));
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct compare c = {.args = args};
    int status = CC_OK;
    CC_TRY_OUT(read_both(&c, e));
    cc_record_title(&args->record, "%s: A %s, B %s", c.command->name, c.side[0].path,
                    c.side[1].path);
    CC_TRY_OUT(add_rows(&c, e));
    if (args->record.note_count > 0)
        args->record.note_place[c.answer] = CC_NOTE_ANSWER;
    else
        CC_TRY_OUT(
            cc_record_note_at(&args->record, CC_NOTE_ANSWER, e,
                              "nothing to compare: no row of A has the settings of one of B"));
    CC_TRY_OUT(note_alone(&c, e));
    CC_TRY_OUT(note_settings(&c, e));
    CC_TRY_OUT(note_host(&c, e));
out:
    free(c.match.at[0]);
    free(c.match.at[1]);
    free(c.match.key);
    free(c.match.partner);
    free(c.match.alone);
    for (int i = 0; i < 2; i++) {
        cc_sheet_free(&c.side[i].sheet);
        cc_provenance_free(&c.side[i].from);
    }
    return status;
}

const struct cc_command cc_command_compare = {
    .name = "compare",
    .summary = "two results of a command side by side, with ratios",
    .operands = "A.json B.json",
    .min_operands = 2,
    .max_operands = 2,
    .description =
        "Reads two .json files that the same command wrote, or pages of `commcomp report` that "
        "hold one, and matches their rows by the settings "
        "that tell them apart, such as scheme and workers. Prints the numbers of both with their "
        "ratio B/A, rows that only one of them has with a gap, and in notes what differs in "
        "settings, host and command line.",
    .examples = "  commcomp compare before.json after.json\n"
                "  commcomp compare a.json b.json --quantities encode_gb_per_s,nmse -o ab.md\n"
                "  commcomp compare a.json b.json --quantities all --format csv\n",
    .page = "docs/results.md",
    .options = options,
    .columns = columns,
    .run = run,
};
