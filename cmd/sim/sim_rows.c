/* Rows of sim, and what it says under them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/sim/sim.h"

/* --- rows --- */

int cc_sim_place_columns(struct sim *s, size_t at, const struct cc_experiment_setting *planned,
                         struct cc_error *e)
{
    const struct sim_options *o = &s->options;
    struct cc_record *r = s->plan.record;
    int status = cc_record_text(r, at, "fidelity", cc_fidelity_names[o->fidelity], e);
    if (status == CC_OK)
        status = o->platform != NULL
                     ? cc_record_text(r, at, "platform", o->platform, e)
                     : cc_record_text(r, at, "topology", cc_topology_names[o->config.topology], e);
    if (status == CC_OK)
        status = cc_record_text(r, at, "codec_time", cc_codec_time_names[o->codec_time], e);
    cc_record_bool(r, at, "data", planned->data);
    return status;
}

/* What the library's own exchange sends, only the model says. */
static double wire_bytes(const struct cc_experiment_setting *s, const struct cc_report_row *got,
                         const struct cc_prediction *model)
{
    if (s->setting.exchange == CC_MPI)
        return model->wire_bytes;
    return got->given_bytes * (1 + s->setting.link.overhead);
}

int cc_sim_add_row(struct sim *s, const struct cc_experiment_setting *planned, size_t row,
                   const struct cc_report_row *got, double wall_s, struct cc_error *e)
{
    struct cc_measured_row m;
    int status = cc_experiment_add_row(&s->plan, planned, row, got, &m, e);
    if (status != CC_OK)
        return status;
    const struct cc_number_column all[] = {
        {"wire_bytes", wire_bytes(planned, got, &m.model)},
        {"sim_wall_s", wall_s},
        {"sim_memory_bytes", got->peak_bytes > 0 ? got->peak_bytes : NAN}};
    cc_forecast_numbers(s->plan.record, m.at, all, sizeof all / sizeof all[0]);
    return cc_sim_place_columns(s, m.at, planned, e);
}

/* --- notes --- */

/* What the formula leaves out, or the simulation adds. */
static const char *suspect(const struct sim *s, const struct cc_setting *setting, double worst)
{
    if (s->options.fidelity == CC_FIDELITY_TCP)
        return "the simulated TCP: factors by message size, windows, acknowledgements";
    if (setting->exchange == CC_MPI)
        return "the library's own exchange: the model takes the fastest that it might choose";
    if (setting->timing.straggler != CC_STEADY)
        return "stragglers: the model has their mean, the simulation a few draws; more --steps "
               "tell";
    if (setting->timing.mode != CC_SEQUENTIAL)
        return "the composition: what goes on at once, message by message";
    if (worst < 0)
        return "codecs and network that go on at once: the formula has one after the other";
    if (s->options.fidelity == CC_FIDELITY_TC)
        return "messages in blocks, each with a latency of its own";
    return "chunks or payloads that are not all as large: everyone waits for the largest, and the "
           "formula has their mean";
}

static const char *elsewhere(const struct sim *s)
{
    const struct cc_platform_config *h = &s->options.config;
    if (s->options.platform != NULL)
        return "the platform's own links and hosts";
    switch (h->topology) {
    case CC_TOPOLOGY_FAT_TREE:
        return "racks share their links upwards";
    case CC_TOPOLOGY_TORUS:
        return "messages pass through other hosts' links";
    case CC_TOPOLOGY_SITES:
        return "the WAN between the sites";
    case CC_TOPOLOGY_SWITCH:
        break;
    }
    if (h->slow_links > 0 && h->slow_hosts > 0)
        return "slow links and slow hosts hold up the others";
    return h->slow_links > 0 ? "slow links hold up the others" : "slow hosts hold up the others";
}

int cc_sim_setting_notes(struct sim *s, const struct cc_experiment_setting *planned, size_t first,
                         struct cc_error *e)
{
    struct cc_record *r = s->plan.record;
    const double limit = 0.01;
    struct cc_experiment_off off;
    char where[160];
    if (first == r->row_count)
        return CC_OK;
    int status = cc_forecast_fastest(&s->plan.forecast, first, &planned->setting, e);
    cc_experiment_off(&s->plan, first, limit, &off);
    if (status != CC_OK || off.count == 0 || r->note_count >= CC_EXPERIMENT_MOST_NOTES)
        return status;
    cc_forecast_place(&planned->setting, where, sizeof where);
    if (planned->formula == CC_FORMULA_ELSEWHERE)
        return cc_record_note(r, e,
                              "%s: the formula has equal hosts on one switch, and the simulation "
                              "not: %s. The difference: %s",
                              where, elsewhere(s), off.text);
    return cc_record_note(r, e,
                          "%s: simulation and model differ by more than %.0f%%: %s; suspect: %s",
                          where, 100 * limit, off.text, suspect(s, &planned->setting, off.worst));
}

int cc_sim_notes(struct sim *s, struct cc_error *e)
{
    struct cc_record *r = s->plan.record;
    int status = CC_OK;
    if (r->mpi[0] != '\0')
        status = cc_record_note(r, e, "simulated by %.*s", (int)strcspn(r->mpi, ","), r->mpi);
    if (status == CC_OK)
        status = cc_experiment_note_gradients(&s->plan, e);
    return status == CC_OK ? cc_forecast_sources(&s->plan.forecast, e) : status;
}
