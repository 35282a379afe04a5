/* The notes under validate's table: how many rows agree, each suspected cause with its remedy, and
 * which answers are missing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/validate/validate.h"

/* --- remedies --- */

static const char *const remedies[CC_CAUSE_UNCLEAR + 1] = {
    [CC_CAUSE_BUSY] = "a quiet machine; until then, compare the lower quartile",
    [CC_CAUSE_BYTES] =
        "the order in which floats are added decides the last bits of sums, and with "
        "them, for some schemes, the payload: try another --exchange",
    [CC_CAUSE_REPEATS] = "a longer --limit of the queues, or another --congestion",
    [CC_CAUSE_LATENCY] = "`commcomp calibrate` measures it: pass the result with --calibration",
    [CC_CAUSE_OVERSUBSCRIBED] = "fewer --workers, a machine with more cores, or hosts of their own "
                                "(--hostfile)",
    [CC_CAUSE_WAKING] = "fewer ranks than cores need less, and longer steps hide it",
    [CC_CAUSE_CORES] = "a lower --bw, fewer --workers, or hosts of their own (--hostfile)",
    [CC_CAUSE_LINKS] = "`commcomp calibrate` measures them: pass the result with --calibration; "
                       "--topology sets how they are connected",
    [CC_CAUSE_STRAGGLERS] = "none is needed: ten times the --steps come three times nearer to the "
                            "mean",
    [CC_CAUSE_CONTENTION] = "trust sim and run; docs/model.md has what the formula takes for "
                            "granted",
    [CC_CAUSE_COMPOSITION] = "trust sim and run; docs/model.md has what the formula takes for "
                             "granted",
    [CC_CAUSE_TOPOLOGY] = "trust sim and run",
    [CC_CAUSE_FIDELITY] =
        "trust the run; --fidelity tc is as the lab, tcp as SimGrid takes TCP for",
    [CC_CAUSE_SIZES] = "a --profile of gradients like these (`bench --profile-out`), and --warmup "
                       "32 where residuals have to fill",
    [CC_CAUSE_CODECS] =
        "none for small tensors, whose codecs run once a step, after a pause, and not "
        "in a loop; for large ones, --remeasure on a quiet machine",
    [CC_CAUSE_UNCLEAR] = "none is known; if a quiet machine gives the same, trust the run",
};

/* Writes the steps with which twice the mean's standard error lies within the tolerance. */
static void scatter_remedy(const struct validate *v, const struct validated *row, char *out,
                           size_t cap)
{
    const struct cc_measured_row *m = row->run;
    const double base_s = row->diagnosis.adds ? m->step_s - m->compute_s : m->step_s;
    const double wanted = 2 * m->step_s_sd / (v->options.tolerance * base_s);
    const size_t period = m->row->period * cc_experiment_round(&m->setting->setting);
    (void)snprintf(out, cap, "--steps %.0f", ceil(wanted * wanted) * (double)period);
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

/* Exchanges whose protocol is the same in all three. */
static void protocol_remedy(char *out, size_t cap)
{
    char exchanges[96];
    cc_exchange_list(CC_X_RECODES, exchanges, sizeof exchanges);
    (void)snprintf(out, cap, "--exchange %s are the same in all three", exchanges);
}

static int note_worst(struct validate *v, enum cc_cause_kind kind, const struct worst *w,
                      const char *what, struct cc_error *e)
{
    char place[160], remedy[160];
    if (w->count == 0)
        return CC_OK;
    if (kind == CC_CAUSE_BURST)
        cc_run_burst_remedy(w->row->run, remedy, sizeof remedy);
    else if (kind == CC_CAUSE_SCATTER)
        scatter_remedy(v, w->row, remedy, sizeof remedy);
    else if (kind == CC_CAUSE_PROTOCOL)
        protocol_remedy(remedy, sizeof remedy);
    else
        (void)snprintf(remedy, sizeof remedy, "%s", remedies[kind]);
    cc_forecast_place(&w->row->setting->setting, place, sizeof place);
    return cc_record_warn(
        v->record, e, "suspect%s: %s, in %zu row%s%s %s, %s: %s. Remedy: %s", what,
        cc_cause_names[kind], w->count, w->count == 1 ? "" : "s", w->count == 1 ? ":" : ", most in",
        cc_forecast_scheme(&v->input.forecast, w->row->row->scheme), place, w->why, remedy);
}

static int note_cause(struct validate *v, enum cc_cause_kind kind, struct cc_error *e)
{
    struct worst answers = {.count = 0}, forecasts = {.count = 0};
    for (size_t i = 0; i < v->rows; i++) {
        const struct validated *row = &v->row[i];
        const struct cc_diagnosis *diagnosis = &row->diagnosis;
        /* If both causes are of this kind, the first is that of the larger gap. */
        const struct cc_cause *cause = &diagnosis->cause[diagnosis->cause[0].kind == kind ? 0 : 1];
        if (cause->kind == kind)
            add_cause(&answers, row, cause,
                      largest(diagnosis->adds ? &diagnosis->added : &diagnosis->off));
        if (diagnosis->forecast.kind == kind)
            add_cause(&forecasts, row, &diagnosis->forecast, diagnosis->off.forecast);
    }
    CC_TRY(note_worst(v, kind, &answers, "", e));
    return note_worst(v, kind, &forecasts, " for the forecast", e);
}

/* --- all of them --- */

/* Agreement of the answers; the largest differences are fractions. */
struct agreement {
    size_t rows, agree, small; /* small: network and codecs add too little to say much */
    double worst, worst_added; /* between two answers: the step's; that of what is added, or NAN */
    size_t forecasts;          /* within the tolerance */
    double worst_forecast;     /* NAN: there is none */
};

static struct agreement sum_up(const struct validate *v)
{
    struct agreement a = {.worst_added = NAN, .worst_forecast = NAN};
    for (size_t i = 0; i < v->rows; i++) {
        const struct cc_diagnosis *diagnosis = &v->row[i].diagnosis;
        if (diagnosis->answers < 2)
            continue;
        a.rows++;
        a.agree += diagnosis->agree;
        a.worst = fmax(a.worst, largest(&diagnosis->off));
        a.small += !diagnosis->adds;
        if (diagnosis->adds)
            a.worst_added = fmax(a.worst_added, largest(&diagnosis->added));
        a.forecasts += fabs(diagnosis->off.forecast) <= v->options.tolerance;
        a.worst_forecast = fmax(a.worst_forecast, fabs(diagnosis->off.forecast));
    }
    return a;
}

static int note_agreement(struct validate *v, struct cc_error *e)
{
    const struct agreement a = sum_up(v);
    const double limit = 100 * v->options.tolerance;
    const char *s = a.rows == 1 ? "" : "s";
    char added[80] = "";
    if (a.rows == 0)
        return CC_OK;
    if (isfinite(a.worst_added))
        (void)snprintf(added, sizeof added,
                       " of the step, and %.1f%% of what network and codecs add",
                       100 * a.worst_added);
    CC_TRY(cc_record_note_at(
        v->record, CC_NOTE_ANSWER, e,
        "%zu of %zu row%s %s within %.3g%%; the largest difference of two answers "
        "is %.1f%%%s",
        a.agree, a.rows, s, a.agree == 1 ? "agrees" : "agree", limit, 100 * a.worst, added));
    if (isfinite(a.worst_forecast))
        CC_TRY(cc_record_note(v->record, e,
                              "%zu of %zu forecast%s %s within %.3g%% of the step; the farthest is "
                              "off by %.1f%%",
                              a.forecasts, a.rows, s, a.forecasts == 1 ? "is" : "are", limit,
                              100 * a.worst_forecast));
    if (a.small == 0)
        return CC_OK;
    return cc_record_note(
        v->record, e,
        "%zu row%s little about network and codecs, which add less than %.3g%% of "
        "the step: --compute 0s leaves them alone",
        a.small, a.small == 1 ? " says" : "s say", limit);
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
    CC_TRY(cc_experiment_note_gradients(v->run.experiment.measured_rows > 0 ? &v->run.experiment
                                                                            : &v->sim.experiment,
                                        v->record, e));
    return cc_forecast_note_sources(&v->input.forecast, v->record, e);
}
