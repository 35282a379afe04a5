/* The notes under validate's table: how many rows agree, each suspected cause with its remedy, and
 * which answers are missing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/validate/validate.h"

/* --- remedies --- */

static const struct {
    enum cc_cause_kind kind;
    const char *remedy;
} remedies[] = {
    {CC_CAUSE_BYTES, "the order in which floats are added decides the last bits of sums, and with "
                     "them, for some schemes, the payload: try another --exchange"},
    {CC_CAUSE_SCATTER, "repeat with more --steps"},
    {CC_CAUSE_PROTOCOL, "--exchange ring, recdouble and rabenseifner are the same in all three"},
    {CC_CAUSE_BURST, "repeat with a smaller --burst"},
    {CC_CAUSE_REPEATS, "a longer --limit of the queues, or another --congestion"},
    {CC_CAUSE_LATENCY, "`commcomp calibrate` measures it: pass the result with --calibration"},
    {CC_CAUSE_OVERSUBSCRIBED, "fewer --workers, a machine with more cores, or hosts of their own "
                              "(--hostfile)"},
    {CC_CAUSE_WAKING, "fewer ranks than cores need less, and longer steps hide it"},
    {CC_CAUSE_CORES, "a lower --bw, fewer --workers, or hosts of their own (--hostfile)"},
    {CC_CAUSE_LINKS, "`commcomp calibrate` measures them: pass the result with --calibration; "
                     "--topology sets how they are connected"},
    {CC_CAUSE_STRAGGLERS, "more --steps come nearer to the mean"},
    {CC_CAUSE_CONTENTION, "trust sim and run; docs/model.md has what the formula takes for "
                          "granted"},
    {CC_CAUSE_COMPOSITION, "trust sim and run; docs/model.md has what the formula takes for "
                           "granted"},
    {CC_CAUSE_TOPOLOGY, "trust sim and run"},
    {CC_CAUSE_FIDELITY, "trust the run; --fidelity tc is as the lab, tcp as SimGrid takes TCP for"},
    {CC_CAUSE_SIZES, "a --profile of gradients like these (`bench --profile-out`), and --warmup "
                     "32 where residuals have to fill"},
    {CC_CAUSE_CODECS, "in a step codecs run once, after a pause, and not in a loop; for large "
                      "tensors, --remeasure them on a quiet machine"},
    {CC_CAUSE_UNCLEAR, "repeat on a quiet machine with more --steps"},
};

static const char *remedy_of(enum cc_cause_kind kind)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].kind == kind)
            return remedies[i].remedy;
    return "";
}

/* --- causes --- */

/* The row where a cause explains the largest difference, and the number of rows that have it. */
struct worst {
    const struct validated *row;
    const char *why;
    double off;
    size_t count;
};

static void add_cause(struct worst *w, const struct validated *row, const struct cc_cause *cause,
                      double off)
{
    w->count++;
    if (w->row != NULL && !(fabs(off) > fabs(w->off)))
        return;
    w->row = row;
    w->why = cause->why;
    w->off = off;
}

static double largest(const struct cc_differences *d)
{
    return fmax(fabs(d->model_run), fmax(fabs(d->sim_run), fabs(d->model_sim)));
}

static int note_worst(struct validate *v, enum cc_cause_kind kind, const struct worst *w,
                      const char *what, struct cc_error *e)
{
    char place[160];
    if (w->count == 0)
        return CC_OK;
    cc_forecast_place(&w->row->setting->setting, place, sizeof place);
    return cc_record_note(v->record, e, "suspect%s: %s, in %zu row%s%s %s, %s: %s; %s", what,
                          cc_cause_names[kind], w->count, w->count == 1 ? "" : "s",
                          w->count == 1 ? ":" : ", most in",
                          cc_forecast_scheme(&v->input.forecast, w->row->row->scheme), place,
                          w->why, remedy_of(kind));
}

static int note_cause(struct validate *v, enum cc_cause_kind kind, struct cc_error *e)
{
    struct worst answers = {.count = 0}, forecasts = {.count = 0};
    for (size_t i = 0; i < v->rows; i++) {
        const struct validated *row = &v->row[i];
        const struct cc_diagnosis *diagnosis = &row->diagnosis;
        for (size_t k = 0; k < 2; k++)
            if (diagnosis->cause[k].kind == kind)
                add_cause(&answers, row, &diagnosis->cause[k],
                          largest(diagnosis->adds ? &diagnosis->added : &diagnosis->off));
        if (diagnosis->forecast.kind == kind)
            add_cause(&forecasts, row, &diagnosis->forecast, diagnosis->off.forecast);
    }
    CC_TRY(note_worst(v, kind, &answers, "", e));
    return note_worst(v, kind, &forecasts, " of the forecast", e);
}

/* --- all of them --- */

static int note_agreement(struct validate *v, struct cc_error *e)
{
    size_t agree = 0, forecasts = 0, all = 0;
    char of_forecasts[96] = "";
    double worst = 0, worst_added = NAN, worst_forecast = NAN;
    size_t small = 0;
    char of_added[96] = "";
    for (size_t i = 0; i < v->rows; i++) {
        const struct cc_diagnosis *diagnosis = &v->row[i].diagnosis;
        if (diagnosis->answers < 2)
            continue;
        all++;
        agree += diagnosis->agree;
        worst = fmax(worst, largest(&diagnosis->off));
        small += !diagnosis->adds;
        if (diagnosis->adds)
            worst_added = fmax(worst_added, largest(&diagnosis->added));
        forecasts += fabs(diagnosis->off.forecast) <= v->tolerance;
        worst_forecast = fmax(worst_forecast, fabs(diagnosis->off.forecast));
    }
    if (all == 0)
        return CC_OK;
    if (isfinite(worst_forecast))
        (void)snprintf(of_forecasts, sizeof of_forecasts,
                       "; of the forecasts, %zu %s within it (the farthest is off by %.1f%%)",
                       forecasts, forecasts == 1 ? "is" : "are", 100 * worst_forecast);
    if (isfinite(worst_added))
        (void)snprintf(of_added, sizeof of_added,
                       " of the step, %.1f%% of what network and codecs add", 100 * worst_added);
    CC_TRY(cc_record_note(v->record, e,
                          "%zu of %zu row%s %s within %.3g%% (the largest difference of two "
                          "answers is %.1f%%%s)%s",
                          agree, all, all == 1 ? "" : "s", agree == 1 ? "agrees" : "agree",
                          100 * v->tolerance, 100 * worst, of_added, of_forecasts));
    if (small == 0)
        return CC_OK;
    return cc_record_note(
        v->record, e,
        "%zu row%s little about network and codecs, which add less than %.3g%% of "
        "the step: --compute 0s leaves them alone",
        small, small == 1 ? " says" : "s say", 100 * v->tolerance);
}

static int note_missing(struct validate *v, const char *answer, const struct cc_experiment *x,
                        const struct cc_error *why, struct cc_error *e)
{
    if (why->text[0] == '\0')
        return CC_OK;
    return cc_record_note(v->record, e, "%s %s: %s",
                          x->measured_rows > 0 ? "not every row has a" : "without a", answer,
                          why->text);
}

static int note_answers(struct validate *v, struct cc_error *e)
{
    const struct cc_experiment *run = &v->run.experiment, *sim = &v->sim.experiment;
    const int name = (int)strcspn(run->mpi, ","); /* JSON has all of it */
    if (run->measured_rows > 0)
        CC_TRY(cc_record_note(v->record, e,
                              "run: over %.*s%s; model and sim have its payload sizes and codec "
                              "times, the forecast the profile's",
                              name, run->mpi,
                              v->run.options.hosts.lab ? " in a lab on this machine" : ""));
    if (sim->measured_rows > 0)
        CC_TRY(cc_record_note(v->record, e, "sim: SimGrid, --fidelity %s, the same job%s",
                              cc_fidelity_names[v->sim.options.fidelity],
                              run->measured_rows > 0 ? " as the run's"
                                                     : "; model has its payload sizes"));
    return CC_OK;
}

int cc_validate_notes(struct validate *v, struct cc_error *e)
{
    CC_TRY(note_agreement(v, e));
    for (int s = CC_CAUSE_NOTHING + 1; s <= CC_CAUSE_UNCLEAR; s++)
        CC_TRY(note_cause(v, (enum cc_cause_kind)s, e));
    CC_TRY(note_missing(v, "run", &v->run.experiment, &v->no_run, e));
    CC_TRY(note_missing(v, "sim", &v->sim.experiment, &v->no_sim, e));
    CC_TRY(note_answers(v, e));
    CC_TRY(cc_experiment_note_gradients(&v->input, v->record, e));
    return cc_forecast_note_sources(&v->input.forecast, v->record, e);
}
