/* What validate says under its table: how many rows agree, each suspicion with what to do about it,
 * and which answers are missing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/validate/validate.h"

/* --- what to do --- */

static const struct {
    enum cc_suspect suspect;
    const char *remedy;
} remedies[] = {
    {CC_CAUSE_BYTES, "the order in which floats are added decides the last bits of sums, and with "
                     "them, for some schemes, the payload: try another --exchange"},
    {CC_CAUSE_SCATTER, "more --steps tell"},
    {CC_CAUSE_PROTOCOL, "--exchange ring, recdouble and rabenseifner are the same in all three"},
    {CC_CAUSE_BURST, "a smaller --burst tells"},
    {CC_CAUSE_REPEATS, "a longer --limit of the queues, or another --congestion"},
    {CC_CAUSE_LATENCY, "`commcomp calibrate` measures it, and --calibration tells model and sim"},
    {CC_CAUSE_CROWD, "fewer --workers, a machine with more cores, or hosts of their own "
                     "(--hostfile)"},
    {CC_CAUSE_WAKING, "fewer ranks than cores need less, and longer steps hide it"},
    {CC_CAUSE_CORES, "a lower --bw, fewer --workers, or hosts of their own (--hostfile)"},
    {CC_CAUSE_LINKS, "`commcomp calibrate` measures them, --calibration tells model and sim, and "
                     "--topology what lies between them"},
    {CC_CAUSE_STRAGGLERS, "more --steps come nearer to the mean"},
    {CC_CAUSE_CONTENTION, "trust sim and run; docs/model.md says what the formula takes for "
                          "granted"},
    {CC_CAUSE_COMPOSITION, "trust sim and run; docs/model.md says what the formula takes for "
                           "granted"},
    {CC_CAUSE_TOPOLOGY, "trust sim and run"},
    {CC_CAUSE_FIDELITY, "trust the run; --fidelity tc is as the lab, tcp as SimGrid takes TCP for"},
    {CC_CAUSE_SIZES, "a --profile of gradients like these (`bench --profile-out`), and --warmup "
                     "32 where residuals have to fill"},
    {CC_CAUSE_CODECS, "in a step codecs run once, after a pause, and not in a loop; for large "
                      "tensors, --remeasure them on a quiet machine"},
    {CC_CAUSE_UNCLEAR, "again on a quiet machine, with more --steps"},
};

static const char *remedy_of(enum cc_suspect suspect)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].suspect == suspect)
            return remedies[i].remedy;
    return "";
}

/* --- suspicions --- */

/* Where a suspicion is gravest, and in how many rows it occurs. */
struct gravest {
    const struct validated *row;
    const char *why;
    double off;
    size_t count;
};

static void consider(struct gravest *g, const struct validated *row, const struct cc_cause *s,
                     double off)
{
    g->count++;
    if (g->row != NULL && !(fabs(off) > fabs(g->off)))
        return;
    g->row = row;
    g->why = s->why;
    g->off = off;
}

static double largest(const struct cc_differences *d)
{
    return fmax(fabs(d->model_run), fmax(fabs(d->sim_run), fabs(d->model_sim)));
}

static int note_suspicion(struct validate *v, enum cc_suspect suspect, const struct gravest *g,
                          const char *what, struct cc_error *e)
{
    char place[160];
    if (g->count == 0)
        return CC_OK;
    cc_forecast_place(&g->row->setting->setting, place, sizeof place);
    return cc_record_note(v->record, e, "suspect%s: %s, in %zu row%s%s %s, %s: %s; %s", what,
                          cc_suspect_names[suspect], g->count, g->count == 1 ? "" : "s",
                          g->count == 1 ? ":" : ", most in",
                          cc_experiment_scheme(&v->run.plan, g->row->row), place, g->why,
                          remedy_of(suspect));
}

static int note_suspicions(struct validate *v, enum cc_suspect suspect, struct cc_error *e)
{
    struct gravest answers = {.count = 0}, forecasts = {.count = 0};
    for (size_t i = 0; i < v->rows; i++) {
        const struct validated *row = &v->row[i];
        const struct cc_diagnosis *diagnosis = &row->diagnosis;
        for (size_t k = 0; k < 2; k++)
            if (diagnosis->cause[k].suspect == suspect)
                consider(&answers, row, &diagnosis->cause[k], largest(&diagnosis->off));
        if (diagnosis->forecast.suspect == suspect)
            consider(&forecasts, row, &diagnosis->forecast, diagnosis->off.forecast);
    }
    int status = note_suspicion(v, suspect, &answers, "", e);
    return status == CC_OK ? note_suspicion(v, suspect, &forecasts, " of the forecast", e) : status;
}

/* --- all of them --- */

static int note_agreement(struct validate *v, struct cc_error *e)
{
    size_t agree = 0, forecasts = 0, all = 0;
    char of_forecasts[96] = "";
    double worst = 0, worst_forecast = NAN;
    for (size_t i = 0; i < v->rows; i++) {
        const struct cc_diagnosis *diagnosis = &v->row[i].diagnosis;
        if (diagnosis->answers < 2)
            continue;
        all++;
        agree += diagnosis->agree;
        worst = fmax(worst, largest(&diagnosis->off));
        forecasts += fabs(diagnosis->off.forecast) <= v->tolerance;
        worst_forecast = fmax(worst_forecast, fabs(diagnosis->off.forecast));
    }
    if (all == 0)
        return CC_OK;
    if (isfinite(worst_forecast))
        (void)snprintf(of_forecasts, sizeof of_forecasts,
                       "; of the forecasts, %zu are within it (the farthest is off by %.1f%%)",
                       forecasts, 100 * worst_forecast);
    return cc_record_note(v->record, e,
                          "%zu of %zu row%s within %.3g%% (the largest difference of two "
                          "answers is %.1f%%)%s",
                          agree, all, all == 1 ? " agrees" : "s agree", 100 * v->tolerance,
                          100 * worst, of_forecasts);
}

static int note_missing(struct validate *v, struct cc_error *e)
{
    int status = CC_OK;
    if (v->no_run.text[0] != '\0')
        status = cc_record_note(v->record, e, "%s run: %s",
                                v->measured.row_count > 0 ? "not every row has a" : "without a",
                                v->no_run.text);
    if (status == CC_OK && v->no_sim.text[0] != '\0')
        status = cc_record_note(v->record, e, "%s sim: %s",
                                v->simulated.row_count > 0 ? "not every row has a" : "without a",
                                v->no_sim.text);
    return status;
}

static int note_answers(struct validate *v, struct cc_error *e)
{
    const struct cc_record *r = &v->measured;
    int name = (int)strcspn(r->mpi, ","); /* JSON has all of it */
    int status = CC_OK;
    if (r->row_count > 0)
        status = cc_record_note(v->record, e,
                                "run: over %.*s%s; model and sim have its payload sizes and codec "
                                "times, the forecast the profile's",
                                name, r->mpi,
                                v->run.options.hosts.lab ? " in a lab on this machine" : "");
    if (status == CC_OK && v->simulated.row_count > 0)
        status =
            cc_record_note(v->record, e, "sim: SimGrid, --fidelity %s, the same job%s",
                           cc_fidelity_names[v->sim.options.fidelity],
                           r->row_count > 0 ? " as the run's" : "; model has its payload sizes");
    return status;
}

int cc_validate_notes(struct validate *v, struct cc_error *e)
{
    int status = note_agreement(v, e);
    for (int s = CC_CAUSE_NOTHING + 1; s <= CC_CAUSE_UNCLEAR && status == CC_OK; s++)
        status = note_suspicions(v, (enum cc_suspect)s, e);
    if (status == CC_OK)
        status = note_missing(v, e);
    if (status == CC_OK)
        status = note_answers(v, e);
    if (status == CC_OK)
        status = cc_experiment_note_gradients(&v->run.plan, e);
    return status == CC_OK ? cc_forecast_sources(&v->run.plan.forecast, e) : status;
}
