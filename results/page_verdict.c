/* The verdict of a page in words. Commands that give one write it into their notes; for the others,
 * and for rows without notes, sentences are made of the rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/memory_text.h"
#include "results/page.h"
#include "results/text.h"

/* Settings with more verdicts than this are counted instead. */
enum { MOST_SENTENCES = 12 };

bool cc_note_is_verdict(const char *note)
{
    /* advise, model, run, sim; bench; validate; compare; nets; calibrate. */
    static const char *const within[] = {": use ",
                                         " is fastest, ",
                                         ": nothing here is faster than ",
                                         ": no admitted scheme is faster than ",
                                         " agree within ",
                                         " agrees within ",
                                         " of the step; the farthest is ",
                                         ": the same in all rows",
                                         ": B/A is ",
                                         " MB as float32."};
    static const char *const first[] = {"fastest of the exchanges compared: ",
                                        "faster: ",
                                        "smaller error of sums: ",
                                        "bottleneck with ",
                                        "smallest ",
                                        "fastest ",
                                        "least error ",
                                        "bandwidth: ",
                                        "latency: "};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        if (strncmp(note, first[i], strlen(first[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
        if (strstr(note, within[i]) != NULL)
            return true;
    return false;
}

/* --- values of the record --- */

size_t cc_page_column(const struct cc_page_part *p, const struct cc_result_key *key)
{
    size_t c = 0;
    while (c < p->record.column_count && strcmp(p->column[c].key->name, key->name) != 0)
        c++;
    return c;
}

static const struct cc_value *value(const struct cc_page_part *p, size_t row,
                                    const struct cc_result_key *key)
{
    const size_t c = cc_page_column(p, key);
    return c < p->record.column_count ? &p->record.rows[row].value[c] : NULL;
}

static double number(const struct cc_page_part *p, size_t row, const struct cc_result_key *key)
{
    const struct cc_value *v = value(p, row, key);
    return v != NULL && v->kind != CC_NULL && v->kind != CC_TEXT ? v->number : (double)NAN;
}

static bool has(const struct cc_page_part *p, const struct cc_result_key *key)
{
    return cc_page_column(p, key) < p->record.column_count;
}

static const char *text(const struct cc_page_part *p, size_t row, const struct cc_result_key *key)
{
    const struct cc_value *v = value(p, row, key);
    return v != NULL && v->kind == CC_TEXT ? v->text : "";
}

/* Prints a value with its unit as the command's tables have it. */
static void put_value(const struct cc_page_part *p, size_t row, const struct cc_result_key *key,
                      FILE *out)
{
    const size_t c = cc_page_column(p, key);
    char buffer[CC_VALUE_CAP];
    if (c == p->record.column_count)
        return;
    const char *unit = p->column[c].key->unit;
    (void)fprintf(out, "%s%s%s",
                  cc_value_text(&p->record.rows[row].value[c], &p->column[c], buffer),
                  unit[0] != '\0' ? " " : "", unit);
}

static void end_sentence(FILE *out)
{
    (void)fputc('\0', out);
}

/* Prints a ratio with three digits, or all before the point. */
static const char *ratio_text(double x, char out[32])
{
    (void)snprintf(out, 32, x >= 1000 ? "%.0f" : "%.3g", x);
    return out;
}

static bool is_fp32(const struct cc_page_part *p, size_t row)
{
    return strcmp(text(p, row, CC_KEY(scheme)), "fp32") == 0;
}

/* --- settings --- */

/* Whether rows are calls of an exchange alone, which compare exchanges and schemes. */
static bool are_calls(const struct cc_page_part *p)
{
    return has(p, CC_KEY(scheme)) && has(p, CC_KEY(call_s)) && !isnan(number(p, 0, CC_KEY(call_s)));
}

/* Whether rows are in different settings if they differ in the column. */
static bool is_setting(const struct cc_page_part *p, size_t column)
{
    const struct cc_result_key *const not_these[] = {
        CC_KEY(scheme), CC_KEY(pull_scheme), CC_KEY(link),   CC_KEY(rank), CC_KEY(kind),
        CC_KEY(seed),   CC_KEY(step),        CC_KEY(warmup), CC_KEY(steps)};
    for (size_t i = 0; i < sizeof not_these / sizeof not_these[0]; i++)
        if (strcmp(p->column[column].key->name, not_these[i]->name) == 0)
            return false;
    if (strcmp(p->column[column].key->name, CC_KEY(exchange)->name) == 0 && are_calls(p))
        return false;
    return p->column[column].role == CC_SETTING;
}

static bool same_setting(const struct cc_page_part *p, size_t a, size_t b)
{
    for (size_t c = 0; c < p->record.column_count; c++)
        if (is_setting(p, c) &&
            !cc_value_same(&p->record.rows[a].value[c], &p->record.rows[b].value[c]))
            return false;
    return true;
}

/* Prints the settings of a row that differ between rows, and ": "; nothing if none does. */
static void put_setting(const struct cc_page_part *p, size_t row, FILE *out)
{
    bool any = false;
    for (size_t c = 0; c < p->record.column_count; c++) {
        bool differs = false;
        for (size_t i = 1; i < p->record.row_count && !differs && is_setting(p, c); i++)
            differs = !cc_value_same(&p->record.rows[0].value[c], &p->record.rows[i].value[c]);
        if (!differs || p->record.rows[row].value[c].kind == CC_NULL)
            continue;
        (void)fprintf(out, "%s%s ", any ? ", " : "", cc_column_head(&p->column[c]));
        put_value(p, row, p->column[c].key, out);
        any = true;
    }
    (void)fputs(any ? ": " : "", out);
}

/* --- kinds of verdicts; each does nothing without its columns --- */

/* advise */
static void recommended(const struct cc_page_part *p, FILE *out)
{
    for (size_t row = 0; row < p->record.row_count; row++) {
        if (!(number(p, row, CC_KEY(recommended)) > 0))
            continue;
        put_setting(p, row, out);
        (void)fprintf(out, "recommended: %s", text(p, row, CC_KEY(scheme)));
        if (text(p, row, CC_KEY(exchange))[0] != '\0')
            (void)fprintf(out, " over %s", text(p, row, CC_KEY(exchange)));
        if (has(p, CC_KEY(step_s))) {
            (void)fputs(", ", out);
            put_value(p, row, CC_KEY(step_s), out);
            (void)fputs(" a step", out);
        }
        end_sentence(out);
    }
}

/* model, run, sim: the fastest row of each setting whose error is not above that of sending
 * nothing. */
static void fastest(const struct cc_page_part *p, const struct cc_result_key *time, FILE *out)
{
    const size_t rows = p->record.row_count;
    size_t said = 0;
    char times[32];
    for (size_t row = 0; row < rows; row++) {
        size_t best = rows, before = 0;
        while (before < row && !same_setting(p, before, row))
            before++;
        if (before < row)
            continue; /* this setting had its turn */
        for (size_t i = row; i < rows; i++)
            if (same_setting(p, row, i) && !(number(p, i, CC_KEY(sum_error)) > 1) &&
                !isnan(number(p, i, time)) &&
                (best == rows || number(p, i, time) < number(p, best, time)))
                best = i;
        if (best == rows || said++ >= MOST_SENTENCES)
            continue;
        put_setting(p, best, out);
        (void)fputs(text(p, best, CC_KEY(scheme)), out);
        if (are_calls(p) && text(p, best, CC_KEY(exchange))[0] != '\0')
            (void)fprintf(out, " over %s", text(p, best, CC_KEY(exchange)));
        (void)fputs(" is fastest, ", out);
        put_value(p, best, time, out);
        if (!isnan(number(p, best, CC_KEY(speedup))) && !is_fp32(p, best))
            (void)fprintf(out, ", %s times as fast as fp32",
                          ratio_text(number(p, best, CC_KEY(speedup)), times));
        end_sentence(out);
    }
    if (said > MOST_SENTENCES) {
        (void)fprintf(out, "... and of %zu more settings, which the table has",
                      said - MOST_SENTENCES);
        end_sentence(out);
    }
}

/* train: the end of each scheme's trainings. */
static void trained(const struct cc_page_part *p, FILE *out)
{
    char times[32];
    for (size_t row = 0; row < p->record.row_count; row++) {
        if (strcmp(text(p, row, CC_KEY(kind)), "summary") != 0)
            continue;
        put_setting(p, row, out);
        (void)fprintf(out, "%s ends with ", text(p, row, CC_KEY(scheme)));
        if (isnan(number(p, row, CC_KEY(accuracy))))
            (void)fputs("no accuracy: it diverged", out);
        else
            (void)fprintf(out, "%.2f%% of the test samples correct",
                          100 * number(p, row, CC_KEY(accuracy)));
        const double difference = 100 * number(p, row, CC_KEY(difference)),
                     low = 100 * number(p, row, CC_KEY(difference_low)),
                     high = 100 * number(p, row, CC_KEY(difference_high));
        if (!isnan(difference) && !is_fp32(p, row)) {
            (void)fprintf(out, ", %+.2f points against fp32", difference);
            if (!isnan(low) && !isnan(high))
                (void)fprintf(out, " (95%% interval %+.2f to %+.2f)", low, high);
        }
        if (number(p, row, CC_KEY(ratio)) > 1)
            (void)fprintf(out, ", sending %s times fewer bits",
                          ratio_text(number(p, row, CC_KEY(ratio)), times));
        end_sentence(out);
    }
}

/* bench: the row with the most in a column. The least error names none: schemes with
 * local steps are not compared by it, and rows do not say which these are. */
static void leader(const struct cc_page_part *p, const struct cc_result_key *key, const char *what,
                   FILE *out)
{
    size_t best = SIZE_MAX, rivals = 0;
    for (size_t row = 0; row < p->record.row_count; row++) {
        const double x = number(p, row, key);
        rivals += isnan(x) ? 0 : 1;
        if (!isnan(x) && (best == SIZE_MAX || x > number(p, best, key)))
            best = row;
    }
    if (rivals < 2)
        return;
    (void)fprintf(out, "%s: %s, ", what, text(p, best, CC_KEY(scheme)));
    if (key == CC_KEY(ratio))
        (void)fprintf(out, "%s ", key->name);
    put_value(p, best, key, out);
    if (has(p, CC_KEY(tensor)) && text(p, best, CC_KEY(tensor))[0] != '\0')
        (void)fprintf(out, " (%s)", text(p, best, CC_KEY(tensor)));
    end_sentence(out);
}

/* paper, validate: how many rows hold. */
static void agreement(const struct cc_page_part *p, FILE *out)
{
    size_t rows = 0, close = 0, worst = 0;
    const bool paper = has(p, CC_KEY(figure_paper));
    for (size_t row = 0; row < p->record.row_count; row++) {
        const double x = number(p, row, paper ? CC_KEY(paper_error) : CC_KEY(agree));
        if (isnan(x))
            continue;
        close += paper ? fabs(x) <= 0.1 : x > 0;
        if (rows++ == 0 || fabs(x) > fabs(number(p, worst, CC_KEY(paper_error))))
            worst = row;
    }
    if (rows == 0)
        return;
    if (paper)
        (void)fprintf(out,
                      "%zu of %zu figures are within 10%% of the paper's; the farthest is off by "
                      "%.3g%%",
                      close, rows, 100 * fabs(number(p, worst, CC_KEY(paper_error))));
    else
        (void)fprintf(out, "the answers agree in %zu of %zu rows", close, rows);
    end_sentence(out);
}

/* paper without a table: how far the models are from the tables. */
static void tables(const struct cc_page_part *p, FILE *out)
{
    size_t close = 0, worst = 0;
    for (size_t row = 0; row < p->record.row_count; row++) {
        const double x = number(p, row, CC_KEY(rms_error));
        close += x <= 0.1;
        if (isnan(number(p, worst, CC_KEY(rms_error))) || x > number(p, worst, CC_KEY(rms_error)))
            worst = row;
    }
    if (isnan(number(p, worst, CC_KEY(rms_error))))
        return;
    (void)fprintf(out,
                  "the model is within 10%% of %zu of %zu tables, in the root of the mean square; "
                  "the farthest is %s, by %.3g%%",
                  close, p->record.row_count, text(p, worst, CC_KEY(table)),
                  100 * number(p, worst, CC_KEY(rms_error)));
    end_sentence(out);
}

/* encode: the file's size, which all rows have. */
static void encoded(const struct cc_page_part *p, FILE *out)
{
    char times[32];
    const double before = number(p, 0, CC_KEY(input_bytes)),
                 after = number(p, 0, CC_KEY(output_bytes));
    if (isnan(before) || isnan(after))
        return;
    (void)fprintf(out, "%s: %.0f bytes became %.0f, %s times fewer", text(p, 0, CC_KEY(scheme)),
                  before, after, ratio_text(before / after, times));
    end_sentence(out);
}

/* A single row: its answers. */
static void single(const struct cc_page_part *p, FILE *out)
{
    bool any = false;
    for (size_t c = 0; c < p->record.column_count; c++) {
        if (p->column[c].role != CC_ANSWER || p->record.rows[0].value[c].kind == CC_NULL)
            continue;
        (void)fprintf(out, "%s%s ", any ? ", " : "", cc_column_head(&p->column[c]));
        put_value(p, 0, p->column[c].key, out);
        any = true;
    }
    if (!any)
        (void)fputs("one row, which the table has", out);
    end_sentence(out);
}

static void from_rows(const struct cc_page_part *p, FILE *out)
{
    if (has(p, CC_KEY(recommended))) {
        recommended(p, out);
    } else if (has(p, CC_KEY(table)) && !isnan(number(p, 0, CC_KEY(rms_error)))) {
        tables(p, out);
    } else if (has(p, CC_KEY(agree)) || has(p, CC_KEY(figure_paper))) {
        agreement(p, out);
    } else if (has(p, CC_KEY(input_bytes)) && has(p, CC_KEY(output_bytes))) {
        encoded(p, out);
    } else if (has(p, CC_KEY(kind)) && has(p, CC_KEY(accuracy))) {
        trained(p, out);
    } else if (are_calls(p)) {
        fastest(p, CC_KEY(call_s), out);
    } else if (has(p, CC_KEY(scheme)) && has(p, CC_KEY(step_s))) {
        fastest(p, CC_KEY(step_s), out);
    } else if (has(p, CC_KEY(scheme)) && has(p, CC_KEY(encode_gb_per_s))) {
        leader(p, CC_KEY(ratio), "smallest", out);
        leader(p, CC_KEY(encode_gb_per_s), "encodes fastest", out);
    } else if (p->record.row_count == 1) {
        single(p, out);
    }
}

void cc_page_verdict(const struct cc_page_part *p, FILE *out)
{
    size_t notes = 0;
    for (size_t i = 0; i < p->from.notes; i++)
        if (cc_note_is_verdict(p->from.note[i])) {
            (void)fputs(p->from.note[i], out);
            end_sentence(out);
            notes++;
        }
    if (notes == 0 && p->record.row_count > 0)
        from_rows(p, out);
}
