/* The columns that a recipe sets: those of its cases, what it computes from others, and published
 * figures, with their comparison. */
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/recipe/recipe.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/units.h"
#include "models/link.h"
#include "models/paper/paper.h"

/* The key of this name, which the record has. */
static const struct cc_result_key *key_of(const char *name)
{
    const struct cc_result_key *key = cc_result_keys;
    while (strcmp(key->name, name) != 0)
        key++;
    return key;
}

static double number_of(const struct cc_record *r, size_t row, const char *key)
{
    const struct cc_value *v = cc_record_value(r, row, key_of(key));
    return v->kind == CC_NUMBER ? v->number : (double)NAN;
}

int cc_recipe_set_value(struct cc_record *r, size_t row, const struct cc_result_key *key,
                        const cJSON *value, struct cc_error *e)
{
    if (cJSON_IsString(value))
        return cc_record_text(r, row, key, value->valuestring, e);
    if (cJSON_IsBool(value))
        cc_record_bool(r, row, key, cJSON_IsTrue(value) != 0);
    else if (cJSON_IsNumber(value))
        cc_record_number(r, row, key, value->valuedouble);
    else
        return cc_fail(e, "\"%s\" is neither a text, a number nor a truth value", key->name);
    return CC_OK;
}

static int set_values(struct cc_record *r, size_t row, const cJSON *values, struct cc_error *e)
{
    for (const cJSON *v = cc_recipe_first(values); v != NULL; v = v->next)
        CC_TRY(cc_recipe_set_value(r, row, key_of(v->string), v, e));
    return CC_OK;
}

int cc_recipe_rows_of_call(const struct cc_recipe_call *call, struct cc_record *r, size_t first,
                           struct cc_error *e)
{
    for (size_t i = 0; i < CC_RECIPE_AXES; i++)
        for (size_t row = first; row < r->row_count && call->of[i] != NULL; row++)
            CC_TRY(set_values(r, row, cc_recipe_get(call->of[i], "row"), e));
    return CC_OK;
}

/* --- conditions --- */

static double largest(const struct cc_record *r, const char *key)
{
    double most = NAN;
    for (size_t row = 0; row < r->row_count; row++)
        most = fmax(most, number_of(r, row, key));
    return most;
}

static bool matches_value(const struct cc_record *r, size_t row, const cJSON *want)
{
    const struct cc_value *v = cc_record_value(r, row, key_of(want->string));
    if (cJSON_IsString(want) && strcmp(want->valuestring, "known") == 0)
        return v->kind != CC_NULL;
    if (v->kind == CC_TEXT)
        return cJSON_IsString(want) && strcmp(v->text, want->valuestring) == 0;
    if (v->kind == CC_BOOL)
        return cJSON_IsBool(want) && (v->number != 0) == (cJSON_IsTrue(want) != 0);
    if (v->kind != CC_NUMBER)
        return false;
    if (cJSON_IsString(want))
        return strcmp(want->valuestring, "largest") == 0 && v->number == largest(r, want->string);
    return cJSON_IsNumber(want) && v->number == want->valuedouble;
}

static bool matches(const struct cc_record *r, size_t row, const cJSON *where)
{
    for (const cJSON *want = cc_recipe_first(where); want != NULL; want = want->next)
        if (!matches_value(r, row, want))
            return false;
    return true;
}

/* --- computing --- */

static double factor(const struct cc_record *r, size_t row, const cJSON *f)
{
    if (cJSON_IsNumber(f))
        return f->valuedouble;
    if (cJSON_IsString(f))
        return number_of(r, row, f->valuestring);
    for (size_t other = 0; other < r->row_count; other++) {
        bool same = matches(r, other, cc_recipe_get(f, "where"));
        for (const cJSON *k = cc_recipe_first(cc_recipe_get(f, "same")); k != NULL && same;
             k = k->next)
            same = cc_value_same(cc_record_value(r, other, key_of(k->valuestring)),
                                 cc_record_value(r, row, key_of(k->valuestring)));
        if (same)
            return number_of(r, other, cc_recipe_text(f, "key"));
    }
    return NAN;
}

static void compute(struct cc_record *r, const cJSON *computation)
{
    for (size_t row = 0; row < r->row_count; row++) {
        if (!matches(r, row, cc_recipe_get(computation, "where")))
            continue;
        double value = 1;
        for (const cJSON *f = cc_recipe_first(cc_recipe_get(computation, "product")); f != NULL;
             f = f->next)
            value *= factor(r, row, f);
        for (const cJSON *f = cc_recipe_first(cc_recipe_get(computation, "over")); f != NULL;
             f = f->next)
            value /= factor(r, row, f);
        cc_record_number(r, row, key_of(cc_recipe_text(computation, "key")), value);
    }
}

/* --- published figures --- */

/* A figure of a table about a scheme, over a link of that rate where the table has several. */
static double figure(const struct cc_paper *p, const char *quantity, const char *scheme,
                     double bw_bps)
{
    const struct cc_paper_row *row = cc_paper_row_of(p, scheme);
    const bool accuracy = strcmp(quantity, "accuracy") == 0;
    if (accuracy && strcmp(scheme, CC_RAW_SCHEME) == 0)
        return p->baseline_accuracy / 100;
    if (accuracy || strcmp(quantity, "difference") == 0)
        return row != NULL ? (row->accuracy - (accuracy ? 0 : p->baseline_accuracy)) / 100
                           : (double)NAN;
    const double of_link = cc_paper_figure(p, scheme, quantity, bw_bps / 1e6);
    return isnan(of_link) ? cc_paper_figure(p, scheme, quantity, NAN) : of_link;
}

static int publish_table(struct cc_record *r, const cJSON *of, struct cc_error *e)
{
    struct cc_paper *p;
    CC_TRY(cc_paper_open(cc_recipe_text(of, "table"), &p, e));
    for (size_t row = 0; row < r->row_count; row++) {
        const struct cc_value *scheme = cc_record_value(r, row, CC_KEY(scheme));
        if (scheme->kind == CC_TEXT && matches(r, row, cc_recipe_get(of, "where")))
            cc_record_number(r, row, key_of(cc_recipe_text(of, "key")),
                             figure(p, cc_recipe_text(of, "quantity"), scheme->text,
                                    number_of(r, row, "bw_bps")));
    }
    cc_paper_free(p);
    return CC_OK;
}

static int publish(struct cc_record *r, const cJSON *of, struct cc_error *e)
{
    if (cc_recipe_get(of, "table") != NULL)
        return publish_table(r, of, e);
    for (size_t row = 0; row < r->row_count; row++)
        if (matches(r, row, cc_recipe_get(of, "where"))) {
            CC_TRY(set_values(r, row, cc_recipe_get(of, "set"), e));
            for (const cJSON *v = cc_recipe_first(cc_recipe_get(of, "set")); v != NULL; v = v->next)
                cc_record_origin(r, row, key_of(v->string), CC_ORIGIN_PUBLISHED);
        }
    return CC_OK;
}

/* Sets the errors against the published figures, and notes them. */
static int compare(struct cc_record *r, const cJSON *how, struct cc_error *e)
{
    double squares = 0, worst = 0;
    size_t figures = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const double printed = number_of(r, row, cc_recipe_text(how, "paper"));
        const double error = number_of(r, row, cc_recipe_text(how, "key")) / printed - 1;
        cc_record_number(r, row, key_of(cc_recipe_text(how, "error")), error);
        if (!isfinite(error))
            continue;
        squares += error * error;
        worst = fabs(error) > fabs(worst) ? error : worst;
        figures++;
    }
    if (figures == 0)
        return CC_OK;
    return cc_record_note(r, e, "%s: rms error %.1f%%, worst %+.1f%%, of %zu",
                          cc_recipe_text(how, "note"), 100 * sqrt(squares / (double)figures),
                          100 * worst, figures);
}

/* --- all of it --- */

/* Empties the columns that the recipe does not keep. */
static void keep(struct cc_record *r, const cJSON *keys)
{
    for (size_t c = 0; c < r->column_count; c++) {
        const bool kept = cc_recipe_has(keys, r->columns[c].key->name);
        for (size_t row = 0; row < r->row_count && !kept; row++)
            cc_record_number(r, row, r->columns[c].key, NAN);
    }
}

int cc_recipe_rows_complete(const struct cc_recipe_command *c, struct cc_record *r,
                            struct cc_error *e)
{
    if (c->keys != NULL)
        keep(r, c->keys);
    for (const cJSON *one = cc_recipe_first(c->computed); one != NULL; one = one->next)
        compute(r, one);
    for (const cJSON *one = cc_recipe_first(c->published); one != NULL; one = one->next)
        CC_TRY(publish(r, one, e));
    return c->compare != NULL ? compare(r, c->compare, e) : CC_OK;
}

/* --- crossings --- */

/* The points of an axis, ascending. */
struct axis {
    const char *key;
    double *at;
    size_t count;
};

/* Removes rows in which the axis, a share of the column `of`, stands for less than one of these;
 * says so once. */
static int leave_out_least(struct cc_record *r, const char *along, const char *of,
                           struct cc_error *e)
{
    const size_t before = r->row_count;
    char values[CC_NUMBER_CAP];
    double least = NAN;
    for (size_t row = r->row_count; row-- > 0;) {
        const double all = number_of(r, row, of), at = number_of(r, row, along);
        if (!(at * all < 1 - 1e-9))
            continue;
        least = all;
        cc_record_remove(r, row);
    }
    if (r->row_count == before)
        return CC_OK;
    cc_number_print(least, values);
    return cc_record_note(r, e, "densities of less than one of %s values are left out", values);
}

static int read_axis(const struct cc_record *r, struct axis *a, struct cc_error *e)
{
    double *all;
    size_t n = 0;
    CC_TRY(CC_NEW(all, r->row_count, e));
    for (size_t row = 0; row < r->row_count; row++)
        if (!isnan(number_of(r, row, a->key)))
            all[n++] = number_of(r, row, a->key);
    gsl_sort(all, 1, n);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || all[i] > all[a->count - 1])
            all[a->count++] = all[i];
    a->at = all;
    return CC_OK;
}

static bool same_place(const struct cc_record *r, size_t a, size_t b)
{
    static const char *const keys[] = {"workers", "bw_bps", "latency_s"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!cc_value_same(cc_record_value(r, a, key_of(keys[i])),
                           cc_record_value(r, b, key_of(keys[i]))))
            return false;
    return true;
}

/* The column `by` in the place of a row where `key` has the word; a row without a value on the axis
 * holds for all of it. */
static double find_value(const struct cc_record *r, size_t place, const char *key, const char *word,
                         const struct axis *a, double at, const char *by)
{
    for (size_t row = 0; row < r->row_count; row++) {
        const struct cc_value *v = cc_record_value(r, row, key_of(key));
        const double here = number_of(r, row, a->key);
        if (same_place(r, row, place) && v->kind == CC_TEXT && strcmp(v->text, word) == 0 &&
            (isnan(here) || here == at))
            return number_of(r, row, by);
    }
    return NAN;
}

/* The point between two neighbours at which the logarithm of the ratio is 0: straight lines between
 * points on logarithmic axes. */
static double crossing(double from, double ahead_from, double to, double ahead_to)
{
    return exp(log(from) + ahead_from / (ahead_from - ahead_to) * (log(to) - log(from)));
}

/* Writes where the first of a pair is less than the second: "up to 1%", "from 0.1% to 1%", ... */
static void write_range(const struct cc_record *r, size_t place, const char *key, const cJSON *pair,
                        const struct axis *a, const char *by, char *out, size_t cap)
{
    const char *x = pair->child->valuestring, *y = pair->child->next->valuestring;
    size_t ahead_at = 0;
    double before = NAN;
    out[0] = '\0';
    for (size_t i = 0; i < a->count; i++) {
        const double at = a->at[i], last = i > 0 ? a->at[i - 1] : at;
        const double ahead =
            log(find_value(r, place, key, y, a, at, by) / find_value(r, place, key, x, a, at, by));
        const bool from = before <= 0 && ahead > 0, to = before > 0 && ahead <= 0;
        ahead_at += ahead > 0;
        if (from || to)
            cc_list_add(out, cap, from ? ", " : " ", "%s %.2g%%", from ? "from" : "up to",
                        100 * crossing(last, before, at, ahead));
        before = ahead;
    }
    if (out[0] == '\0')
        (void)snprintf(out, cap,
                       isnan(before)  ? "where is not known"
                       : ahead_at > 0 ? "everywhere"
                                      : "nowhere");
}

/* Notes on a pair in the place of a row. */
static int note_pair(const cJSON *how, struct cc_record *r, size_t place, const cJSON *pair,
                     const struct axis *a, struct cc_error *e)
{
    char rate[32], text[400] = "";
    cc_print_rate(number_of(r, place, "bw_bps"), rate, sizeof rate);
    for (const cJSON *by = cc_recipe_get(how, "by")->child; by != NULL; by = by->next) {
        char range[80];
        write_range(r, place, cc_recipe_text(how, "key"), pair, a, by->string, range, sizeof range);
        cc_list_add(text, sizeof text, ", ", "%s %s", range, by->valuestring);
    }
    return cc_record_note(r, e, "%s, %.0f workers: %s is faster than %s %s", rate,
                          number_of(r, place, "workers"), pair->child->valuestring,
                          pair->child->next->valuestring, text);
}

int cc_recipe_crossings(const struct cc_recipe_command *c, struct cc_record *r, struct cc_error *e)
{
    const cJSON *how = c->crossings;
    int status = CC_OK;
    if (how == NULL)
        return CC_OK;
    struct axis a = {.key = cc_recipe_text(how, "along")};
    CC_TRY(leave_out_least(r, a.key, cc_recipe_text(how, "of"), e));
    CC_TRY(read_axis(r, &a, e));
    for (size_t row = 0; row < r->row_count && a.count > 1; row++) {
        bool first = true;
        for (size_t k = 0; k < row; k++)
            first = first && !same_place(r, k, row);
        for (const cJSON *p = cc_recipe_get(how, "pairs")->child; p != NULL && first; p = p->next)
            CC_TRY_OUT(note_pair(how, r, row, p, &a, e));
    }
out:
    free(a.at);
    return status;
}

/* --- checking --- */

/* The key is that of one column, and not a list of keys, which cc_record_choose takes. */
static int check_key(struct cc_record *r, const char *key, struct cc_error *e)
{
    CC_TRY(cc_record_choose(r, key, e));
    return strchr(key, ',') == NULL ? CC_OK : cc_fail(e, "'%.60s' is not one column", key);
}

/* The keys of an object's members, or of a list. */
static int check_keys(struct cc_record *r, const cJSON *of, struct cc_error *e)
{
    for (const cJSON *k = cc_recipe_first(of); k != NULL; k = k->next)
        CC_TRY(check_key(r, k->string != NULL ? k->string : k->valuestring, e));
    return CC_OK;
}

/* The same of values that are set: a column with a unit, or that prints a number, takes numbers. */
static int check_values(struct cc_record *r, const cJSON *of, struct cc_error *e)
{
    CC_TRY(check_keys(r, of, e));
    for (const cJSON *v = cc_recipe_first(of); v != NULL; v = v->next) {
        const struct cc_result_key *key = key_of(v->string);
        const bool number =
            key->unit[0] != '\0' || (key->format != NULL && (strcmp(key->format, CC_RATE) == 0 ||
                                                             strchr(key->format, '%') != NULL));
        if (number && !cJSON_IsNumber(v))
            return cc_fail(e, "the column \"%s\" has numbers, and is set to something else",
                           key->name);
    }
    return CC_OK;
}

/* The figures of a table are of this quantity: that of a column, or of its rows. */
static int check_quantity(const struct cc_paper *p, const char *quantity, struct cc_error *e)
{
    bool known = false;
    for (size_t i = 0; i < p->columns; i++)
        known = known || strcmp(p->column[i].quantity, quantity) == 0;
    if (strcmp(quantity, "accuracy") == 0 || strcmp(quantity, "difference") == 0)
        known = !isnan(p->baseline_accuracy);
    return known ? CC_OK : cc_fail(e, "the table %s has no quantity \"%.60s\"", p->id, quantity);
}

static int check_objects(struct cc_record *r, const cJSON *list, struct cc_error *e);

/* An object of "computed", "published", "compare" or "crossings", or a factor: its columns, and its
 * table. */
static int check_object(struct cc_record *r, const cJSON *object, struct cc_error *e)
{
    static const char *const texts[] = {"key", "paper", "error", "along", "of"};
    static const char *const lists[] = {"where", "by", "same"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (cc_recipe_text(object, texts[i]) != NULL)
            CC_TRY(check_key(r, cc_recipe_text(object, texts[i]), e));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        CC_TRY(check_keys(r, cc_recipe_get(object, lists[i]), e));
    CC_TRY(check_values(r, cc_recipe_get(object, "set"), e));
    CC_TRY(check_objects(r, cc_recipe_get(object, "product"), e));
    CC_TRY(check_objects(r, cc_recipe_get(object, "over"), e));
    if (cc_recipe_text(object, "table") == NULL)
        return CC_OK;
    struct cc_paper *p;
    CC_TRY(cc_paper_open(cc_recipe_text(object, "table"), &p, e));
    const int status = check_quantity(p, cc_recipe_text(object, "quantity"), e);
    cc_paper_free(p);
    CC_TRY(status);
    CC_TRY(check_key(r, "scheme", e));
    return check_key(r, "bw_bps", e);
}

/* Objects, or factors: these may also be columns, or numbers. */
static int check_objects(struct cc_record *r, const cJSON *list, struct cc_error *e)
{
    for (const cJSON *one = cc_recipe_first(list); one != NULL; one = one->next)
        if (cJSON_IsString(one))
            CC_TRY(check_key(r, one->valuestring, e));
        else
            CC_TRY(check_object(r, one, e));
    return CC_OK;
}

static int check_all(const struct cc_recipe_command *c, struct cc_record *r, struct cc_error *e)
{
    CC_TRY(check_keys(r, c->columns, e));
    CC_TRY(check_keys(r, c->keys, e));
    for (const cJSON *axis = cc_recipe_first(c->each); axis != NULL; axis = axis->next)
        for (const cJSON *one = axis->child; one != NULL; one = one->next)
            CC_TRY(check_values(r, cc_recipe_get(one, "row"), e));
    CC_TRY(check_objects(r, c->computed, e));
    CC_TRY(check_objects(r, c->published, e));
    CC_TRY(check_object(r, c->crossings, e));
    CC_TRY(check_object(r, c->compare, e));
    if (c->compare == NULL)
        return CC_OK;
    const char *key = cc_recipe_text(c->compare, "key"),
               *paper = cc_recipe_text(c->compare, "paper"),
               *error = cc_recipe_text(c->compare, "error");
    return strcmp(key, paper) != 0 && strcmp(key, error) != 0 && strcmp(paper, error) != 0
               ? CC_OK
               : cc_fail(e, "\"compare\": \"key\", \"paper\" and \"error\" are three columns");
}

/* "computing": its table has the constants, and `run` the rate that it needs. */
static int check_computing(const struct cc_recipe_command *c, struct cc_error *e)
{
    static const char *const keys[] = {"constant", "hidden"};
    const bool run = strcmp(c->command, "run") == 0;
    struct cc_paper *p;
    if (!run && strcmp(c->command, "train") != 0)
        return cc_fail(e, "\"computing\" is for run and train");
    if (run && cc_recipe_get(c->computing, "bw") == NULL)
        return cc_fail(e, "\"computing\": \"bw\" is missing, which run needs");
    CC_TRY(cc_paper_open(cc_recipe_text(c->computing, "table"), &p, e));
    int status = cc_paper_solve(p, e);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == CC_OK; i++) {
        const char *name = cc_recipe_text(c->computing, keys[i]);
        if (name != NULL && isnan(cc_paper_constant_value(p, name)))
            status =
                cc_fail(e, "\"computing\": the table %s has no constant \"%.60s\"", p->id, name);
    }
    cc_paper_free(p);
    return status;
}

static int check_passes(const struct cc_recipe_command *c, struct cc_error *e)
{
    struct cc_link link;
    for (const cJSON *l = cc_recipe_first(cc_recipe_get(c->passes, "links")); l != NULL;
         l = l->next)
        if (cc_link_parse(l->valuestring, &link, e) != CC_OK)
            return cc_status_in(CC_FAIL, e, "\"passes\": \"links\"");
    return CC_OK;
}

int cc_recipe_rows_check(const struct cc_recipe_command *c, const struct cc_command *command,
                         struct cc_error *e)
{
    struct cc_record r;
    if ((c->frameworks != NULL || c->passes != NULL) && strcmp(c->command, "train") != 0)
        return cc_fail(e, "\"%s\" is for train", c->frameworks != NULL ? "frameworks" : "passes");
    if (c->calls != NULL && strcmp(c->command, "sim") != 0)
        return cc_fail(e, "\"calls\" is for sim");
    if (c->computing != NULL)
        CC_TRY(check_computing(c, e));
    if (c->passes != NULL)
        CC_TRY(check_passes(c, e));
    cc_record_init(&r, command->name, command->columns, 0, NULL);
    const int status = check_all(c, &r, e);
    cc_record_free(&r);
    return status;
}
