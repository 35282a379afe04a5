#include "cmd/model/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "models/required.h"

/* --- options --- */

static const char *const quantities[] = {"nothing", "bw", NULL};

/* "90" or "90%"; a number up to 1 is more likely a share than so few percent. */
static int parse_utilization(const char *text, void *member, struct cc_error *e)
{
    double *cu = member;
    char *end;
    const double percent = strtod(text, &end);
    const bool sign = end != text && strcmp(end, "%") == 0;
    if (end == text || (*end != '\0' && !sign) || !(percent > 0 && percent < 100))
        return cc_usage(e, "'%s': percent of the time, above 0 and below 100, as in 90", text);
    if (!sign && percent < 1)
        return cc_usage(e, "'%s': percent of the time; did you mean %g?", text, 100 * percent);
    *cu = percent / 100;
    return CC_OK;
}

/* clang-format off */
const struct cc_option cc_solve_options[] = {
    {.name = "solve", CC_OPTION_AT(struct cc_solve_options, solve), .value = "WHAT",
     .choices = quantities, .def = "nothing", .otherwise = "nothing", .group = CC_GROUP_RUN,
     .help = "bw: instead of the step at --bw, the least bandwidth at which workers compute the "
             "share --cu of the time"},
    {.name = "cu", CC_OPTION_LIST(struct cc_solve_options, cu, cus), .parse = parse_utilization,
     .value = "PERCENT", .def = "50,80,90,95,99", .group = CC_GROUP_RUN,
     .help = "--solve bw: compute / step that is wanted, in percent; a list gives a row for each"},
    {.name = NULL},
};
/* clang-format on */

int cc_solve_parse(const struct cc_args *args, const struct cc_forecast *f,
                   struct cc_solve_options *out, struct cc_error *e)
{
    CC_TRY(cc_options_read(args, cc_solve_options, out, e));
    if (out->solve == CC_SOLVE_NOTHING)
        return cc_given(out, &out->cu) == NULL ? CC_OK : cc_usage(e, "--cu goes with --solve bw");
    if (f->cluster.links > 1)
        return cc_usage(e,
                        "--solve bw finds the bandwidth: --bw names the link that it is of, one");
    if (f->cluster.setting.timing.compute_s + f->cluster.setting.timing.update_s <= 0)
        return cc_usage(e, "--solve bw: without compute time nothing is utilized: give --compute "
                           "or --device");
    return CC_OK;
}

/* --- rows --- */

static int add_row(struct cc_forecast *f, struct cc_solve_options *o, struct cc_record *r,
                   size_t scheme, const struct cc_setting *given, double cu, struct cc_error *e)
{
    struct cc_setting s = *given;
    struct cc_prediction p, plain;
    bool found;
    size_t row;
    CC_TRY(cc_required_bandwidth(&f->predictor, &s, &f->payloads[scheme], cu, &found, &p, e));
    o->not_found += !found;
    CC_TRY(cc_predict(&f->predictor, &s, cc_forecast_plain(f, &s), &plain, e));
    CC_TRY(cc_forecast_row(f, r, scheme, &s, found ? &p : NULL, plain.step_s, &row, e));
    const struct cc_number_column all[] = {{CC_KEY(cu_wanted), cu},
                                           {CC_KEY(bw_bps), NAN},
                                           {CC_KEY(bw_up_bps), NAN},
                                           {CC_KEY(bw_down_bps), NAN},
                                           {CC_KEY(bw_required_bps), found ? s.link.bw_bps : NAN}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
    return CC_OK;
}

int cc_solve_rows(struct cc_forecast *f, struct cc_solve_options *o, struct cc_record *r,
                  size_t scheme, const struct cc_setting *s, struct cc_error *e)
{
    for (size_t i = 0; i < o->cus; i++)
        CC_TRY(add_row(f, o, r, scheme, s, o->cu[i], e));
    return CC_OK;
}

/* The row of the first --cu that needs the least bandwidth, or the most; SIZE_MAX without any. Sets
 * *rows to the number of these rows with the scheme, or, if it is NULL, of all. */
static size_t extreme_of(const struct cc_solve_options *o, const struct cc_record *r, bool most,
                         const char *scheme, size_t *rows)
{
    size_t found = SIZE_MAX;
    *rows = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct cc_value *bw = cc_record_value(r, i, CC_KEY(bw_required_bps));
        if (bw->kind == CC_NULL || cc_record_value(r, i, CC_KEY(cu_wanted))->number != o->cu[0] ||
            (scheme != NULL && strcmp(cc_record_value(r, i, CC_KEY(scheme))->text, scheme) != 0))
            continue;
        ++*rows;
        const double now = bw->number,
                     best = found == SIZE_MAX
                                ? now
                                : cc_record_value(r, found, CC_KEY(bw_required_bps))->number;
        if (found == SIZE_MAX || (most ? now > best : now < best))
            found = i;
    }
    return found;
}

/* "200 Mbit/s (int8)" */
static const char *print_row(const struct cc_record *r, size_t row, char out[96])
{
    char rate[32];
    cc_print_rate(cc_record_value(r, row, CC_KEY(bw_required_bps))->number, rate, sizeof rate);
    (void)snprintf(out, 96, "%s (%.50s)", rate, cc_record_value(r, row, CC_KEY(scheme))->text);
    return out;
}

static int answer(const struct cc_solve_options *o, const struct cc_forecast *f,
                  struct cc_record *r, struct cc_error *e)
{
    const char *name = cc_element_names[f->cluster.setting.dtype];
    char low[96], high[96];
    size_t rows, same;
    const size_t least = extreme_of(o, r, false, NULL, &rows);
    const size_t most = extreme_of(o, r, true, NULL, &rows);
    if (least == SIZE_MAX)
        return cc_record_note_at(r, CC_NOTE_ANSWER, e,
                                 "no bandwidth is enough to compute %.4g%% of the time",
                                 100 * o->cu[0]);
    print_row(r, least, low);
    const size_t plain = extreme_of(o, r, false, name, &same);
    (void)extreme_of(o, r, false, cc_record_value(r, least, CC_KEY(scheme))->text, &rows);
    if (rows > 1) /* settings differ */
        return cc_record_note_at(r, CC_NOTE_ANSWER, e,
                                 "to compute %.4g%% of the time takes %s to %s, by the setting",
                                 100 * o->cu[0], low, print_row(r, most, high));
    return cc_record_note_at(r, CC_NOTE_ANSWER, e, "to compute %.4g%% of the time takes %s%s%s",
                             100 * o->cu[0], low, plain != SIZE_MAX && plain != least ? "; " : "",
                             plain != SIZE_MAX && plain != least ? print_row(r, plain, high) : "");
}

int cc_solve_note(const struct cc_solve_options *o, const struct cc_forecast *f,
                  struct cc_record *r, struct cc_error *e)
{
    if (o->solve == CC_SOLVE_BW && r->row_count > 0)
        CC_TRY(answer(o, f, r, e));
    if (o->not_found == 0)
        return CC_OK;
    return cc_record_note(r, e,
                          "no bandwidth is enough for %zu row%s: latencies, codecs and adding take "
                          "too long by themselves",
                          o->not_found, o->not_found == 1 ? "" : "s");
}
