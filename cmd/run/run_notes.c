/* What run says under its table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/run/run.h"
#include "results/machine_info.h"

/* --- the model --- */

/* How far the model may be off before it says so: what was found on the way (docs/run.md). */
static double tolerance(const struct cc_setting *s)
{
    if (s->exchange != CC_PS)
        return 0.15;
    return s->link.bw_bps >= 1e9 ? 0.08 : 0.03;
}

static const char *suspect(const struct run *r, const struct cc_experiment_setting *s,
                           double worst_burst)
{
    if (!r->options.hosts.lab)
        return "other traffic, or links that are not what --bw says: `commcomp calibrate` measures "
               "them";
    if (worst_burst > 0.05)
        return "the burst (below)";
    if (s->setting.exchange == CC_MPI)
        return "the library's own exchange: the model takes the fastest that it might choose";
    if (s->setting.timing.straggler != CC_STEADY)
        return "stragglers: the model has their mean, the run a few draws; more --steps tell";
    if (s->oversubscribed)
        return "more busy ranks than cores: what they compute and code takes turns, and the "
               "network "
               "waits for them";
    if (s->setting.link.bw_bps >= 1e9)
        return "the cores: they carry every byte of this network several times";
    return "few steps, or TCP: more --steps tell";
}

/* The largest burst_share of the rows that are off. */
static double worst_burst(const struct cc_record *r, size_t first, double limit)
{
    double worst = 0;
    for (size_t i = first; i < r->row_count; i++)
        if (fabs(cc_experiment_number(r, i, "model_error")) > limit)
            worst = fmax(worst, cc_experiment_number(r, i, "burst_share"));
    return worst;
}

static int note_model(struct run *r, const struct cc_experiment_setting *s, size_t first,
                      struct cc_error *e)
{
    struct cc_record *record = r->plan.record;
    double limit = tolerance(&s->setting);
    struct cc_experiment_off off;
    char where[160];
    cc_experiment_off(&r->plan, first, limit, &off);
    if (off.count == 0 || record->note_count >= CC_EXPERIMENT_MOST_NOTES)
        return CC_OK;
    cc_forecast_place(&s->setting, where, sizeof where);
    return cc_record_note(
        record, e, "%s: measured and model differ by more than %.0f%%: %s; suspect: %s", where,
        100 * limit, off.text, suspect(r, s, worst_burst(record, first, limit)));
}

int cc_run_setting_notes(struct run *r, const struct cc_experiment_setting *s, size_t first,
                         struct cc_error *e)
{
    if (first == r->plan.record->row_count)
        return CC_OK;
    int status = cc_forecast_fastest(&r->plan.forecast, first, &s->setting, e);
    return status == CC_OK ? note_model(r, s, first, e) : status;
}

/* --- under all rows --- */

static int note_burst(struct run *r, struct cc_error *e)
{
    const struct cc_record *rows = r->plan.record;
    size_t count = 0, worst = 0;
    for (size_t i = 0; i < rows->row_count; i++) {
        double share = cc_experiment_number(rows, i, "burst_share");
        count += share > 0.05;
        if (share > fmax(0, cc_experiment_number(rows, worst, "burst_share")))
            worst = i;
    }
    if (count == 0)
        return CC_OK;
    return cc_record_note(
        r->plan.record, e,
        "in %zu row%s the links' buckets let pass more than 5%% of a phase at once (%.0f%% with %s "
        "over %s at %s): a network without them would be slower; a --burst below %.0f B tells",
        count, count == 1 ? "" : "s",
        100 * fmin(1, cc_experiment_number(rows, worst, "burst_share")),
        cc_record_value(rows, worst, "scheme")->text,
        cc_record_value(rows, worst, "exchange")->text, cc_record_value(rows, worst, "link")->text,
        cc_experiment_number(rows, worst, "burst_bytes"));
}

static int note_crowd(struct run *r, struct cc_error *e)
{
    const struct cc_experiment_setting *most = NULL;
    struct cc_machine_info host;
    for (size_t i = 0; i < r->plan.settings; i++)
        if (r->plan.setting[i].oversubscribed &&
            (most == NULL || r->plan.setting[i].ranks_per_core > most->ranks_per_core))
            most = &r->plan.setting[i];
    if (most == NULL)
        return CC_OK;
    cc_machine_info_read(&host);
    return cc_record_note(r->plan.record, e,
                          "oversubscribed: up to %.0f busy ranks on %d cores; their codec times "
                          "count the turns they wait for, which hosts of their own would not",
                          most->ranks_per_core * host.cores, host.cores);
}

static int note_lab(struct run *r, struct cc_error *e)
{
    const struct cc_value *congestion = cc_record_value(r->plan.record, 0, "congestion");
    if (r->plan.record->mpi[0] == '\0')
        return CC_OK;
    int name = (int)strcspn(r->plan.record->mpi, ","); /* JSON has all of it */
    if (congestion->kind != CC_TEXT)
        return cc_record_note(r->plan.record, e, "ran over %.*s", name, r->plan.record->mpi);
    return cc_record_note(r->plan.record, e,
                          "ran over %.*s in a lab on this machine, congestion control %s", name,
                          r->plan.record->mpi, congestion->text);
}

int cc_run_notes(struct run *r, struct cc_error *e)
{
    int status = cc_run_paper_notes(r, e);
    if (status == CC_OK)
        status = note_burst(r, e);
    if (status == CC_OK)
        status = note_crowd(r, e);
    if (status == CC_OK && r->plan.record->row_count > 0)
        status = note_lab(r, e);
    if (status == CC_OK)
        status = cc_experiment_note_gradients(&r->plan, e);
    return status == CC_OK ? cc_forecast_sources(&r->plan.forecast, e) : status;
}
