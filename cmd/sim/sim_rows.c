/* Rows of sim, and the notes under its table. */
#include <math.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "models/paper/paper.h"
#include "netsim/exchange/pack/sizes.h"

/* --- rows --- */

/* The columns that tell a setting's platform and data. */
static int print_setting(const struct sim *s, size_t at,
                         const struct cc_experiment_setting *setting, struct cc_error *e)
{
    const struct sim_options *o = &s->options;
    struct cc_record *r = s->experiment.record;
    const struct cc_text_column texts[] = {
        {CC_KEY(fidelity), cc_fidelity_names[o->fidelity]},
        {CC_KEY(platform), o->platform},
        {CC_KEY(topology), o->platform == NULL ? cc_topology_names[o->config.topology] : NULL},
        {CC_KEY(codec_time), cc_codec_time_names[o->codec_time]}};
    cc_record_bool(r, at, CC_KEY(data_moved), setting->data);
    if (s->experiment.forecast->cluster.source.shares > 0)
        cc_record_number(r, at, CC_KEY(nonzeros), cc_experiment_nonzeros(s->experiment.input));
    return cc_record_texts(r, at, texts, sizeof texts / sizeof texts[0], e);
}

int cc_sim_dry(const struct sim *s, struct cc_error *e)
{
    const struct cc_experiment *x = &s->experiment;
    struct cc_record *record = x->record;
    int ranks = 0;
    for (size_t i = 0; i < x->settings; i++) {
        const struct cc_experiment_setting *p = &x->setting[i];
        ranks = (int)fmax(ranks, cc_experiment_ranks(&p->setting));
        for (size_t k = 0; k < p->rows; k++) {
            size_t at;
            CC_TRY(cc_experiment_print_dry_row(x, record, p, &p->row[k], &at, e));
            CC_TRY(print_setting(s, at, p, e));
            const double row_s =
                cc_sim_share(s, p) * cc_sim_row_s(p, &p->row[k]) + cc_sim_sizes_s(p, &p->row[k]);
            cc_record_number(record, at, CC_KEY(sim_wall_s), row_s);
            cc_record_origin(record, at, CC_KEY(sim_wall_s), CC_ORIGIN_COMPUTED);
        }
    }
    return cc_record_note_at(
        record, CC_NOTE_ANSWER, e,
        "dry run: simulating %zu row%s of up to %d ranks would take about %.0f s",
        record->row_count, record->row_count == 1 ? "" : "s", ranks, ceil(cc_sim_all_s(s)));
}

/* The columns of a call, which begins with encoded gradients: as simulated, by the formulas of the
 * ranks' exchanges, and by those that SparCML prints. */
static void print_call(const struct sim *s, size_t at, const struct cc_measured_row *m)
{
    const struct cc_setting *c = &m->setting->setting;
    const double values = (double)c->net->values;
    const bool pairs = s->experiment.forecast->cluster.source.shares > 0;
    struct cc_link plain = c->link;
    plain.message_bytes = 0; /* SMPI's, which the paper does not know */
    const struct cc_number_column all[] = {
        {CC_KEY(call_s), m->step_s},
        {CC_KEY(call_s_model), m->row->forecast.step_s},
        {CC_KEY(call_s_paper),
         cc_paper_sparcml_s(c->exchange, c->cluster.workers, &plain, values,
                            pairs ? values * cc_experiment_nonzeros(s->experiment.input) : 0)},
        {CC_KEY(encode_s), s->encode_s[m->row->scheme]}};
    cc_record_numbers(s->experiment.record, at, all, sizeof all / sizeof all[0]);
}

int cc_sim_add_row(struct sim *s, const struct cc_experiment_setting *setting,
                   const struct cc_report_row *got, double wall_s, struct cc_error *e)
{
    struct cc_measured_row *m;
    CC_TRY(cc_experiment_add_measured(&s->experiment, setting, got, &m, e));
    /* No rank counts the transfers of the library's own exchange. */
    m->wire_bytes = cc_exchange_has(setting->setting.exchange, CC_X_LIBRARY)
                        ? m->model.wire_bytes
                        : got->given_bytes * (1 + setting->setting.link.overhead);
    m->wall_s = wall_s;
    if (got->peak_bytes > 0)
        m->peak_bytes = got->peak_bytes;
    if (s->experiment.record == NULL)
        return CC_OK;
    const struct cc_cluster *c = &setting->setting.cluster;
    const bool hosts = cc_cluster_per_host(c) > 1;
    const struct cc_number_column all[] = {
        {CC_KEY(wire_bytes), round(m->wire_bytes)},
        {CC_KEY(bytes_inter), hosts ? round(m->wire_bytes) : NAN},
        {CC_KEY(bytes_intra), hosts ? round(got->intra_bytes * (1 + c->intra.overhead)) : NAN},
        {CC_KEY(sim_wall_s), m->wall_s},
        {CC_KEY(sim_memory_bytes), m->peak_bytes}};
    size_t at;
    CC_TRY(cc_experiment_print_row(&s->experiment, m, &at, e));
    cc_record_numbers(s->experiment.record, at, all, sizeof all / sizeof all[0]);
    if (s->encode_s != NULL)
        print_call(s, at, m);
    return print_setting(s, at, setting, e);
}

/* --- notes --- */

/* How the platform differs from equal hosts on one switch. */
static const char *platform_difference(const struct sim *s)
{
    const struct cc_platform_config *config = &s->options.config;
    if (s->options.platform != NULL)
        return "the platform has its own links and hosts";
    const char *of_topology = cc_topology_infos[config->topology]->difference;
    if (of_topology != NULL)
        return of_topology;
    if (config->slow_links > 0 && config->slow_hosts > 0)
        return "slow links and slow hosts hold up the others";
    return config->slow_links > 0 ? "slow links hold up the others"
                                  : "slow hosts hold up the others";
}

/* The likeliest cause of a difference: a part that the formula leaves out, or the simulation adds.
 */
const char *cc_sim_cause(void *arg, const struct cc_experiment_setting *of, size_t first,
                         double worst)
{
    const struct sim *s = arg;
    const struct cc_setting *setting = &of->setting;
    (void)first;
    if (of->formula == CC_FORMULA_ELSEWHERE)
        return platform_difference(s);
    if (s->options.fidelity == CC_FIDELITY_TCP)
        return "the simulated TCP: factors by message size, windows, acknowledgements";
    if (cc_exchange_has(setting->exchange, CC_X_LIBRARY))
        return "the library's own exchange: the model takes the fastest that it might choose";
    if (setting->timing.straggler != CC_STEADY)
        return "stragglers: the model has their mean, the simulation a few draws; repeat with "
               "more --steps";
    if (setting->timing.mode != CC_SEQUENTIAL)
        return "the composition: what happens at the same time, message by message";
    if (setting->exchange == CC_TREE)
        return "chunks and the two trees wait for each other, which the formula leaves out";
    if (cc_cluster_two_classes(&setting->cluster) &&
        !cc_exchange_has(setting->exchange, CC_X_NEIGHBOUR) &&
        !cc_exchange_has(setting->exchange, CC_X_SERVERS))
        return "workers that are ahead share a link with those behind; the formula has their "
               "rounds one after the other";
    if (worst < 0)
        return "codecs and network overlap; the formula adds them up";
    if (s->options.fidelity == CC_FIDELITY_TC)
        return "messages in blocks, each with a latency of its own";
    return "chunks or payloads that are not all as large: everyone waits for the largest, and the "
           "formula has their mean";
}

/* Notes whether payload sizes are those of a part of the step. */
static int note_part(const struct sim *s, struct cc_error *e)
{
    const struct cc_experiment *x = &s->experiment;
    const size_t values = x->forecast->cluster.net->values;
    bool without = false;
    for (size_t i = 0; i < x->settings; i++)
        without = without || !x->setting[i].data;
    if (!without || values <= CC_SIZES_WHOLE)
        return CC_OK;
    return cc_record_note(x->record, e,
                          "without data: payload sizes that depend on values are those of about %d "
                          "of %zu values, a piece of a tensor of each shape",
                          CC_SIZES_PART, values);
}

int cc_sim_notes(struct sim *s, struct cc_error *e)
{
    const struct cc_experiment *x = &s->experiment;
    CC_TRY(cc_forecast_note_winners(x->forecast, x->record, e));
    if (x->mpi[0] != '\0')
        CC_TRY(
            cc_record_note(x->record, e, "simulated by %.*s", (int)strcspn(x->mpi, ","), x->mpi));
    CC_TRY(cc_experiment_note_gradients(x, x->record, e));
    CC_TRY(note_part(s, e));
    if (s->extrapolated)
        CC_TRY(
            cc_record_note(x->record, e,
                           "extrapolated: a ring of more than %d workers is simulated twice with "
                           "few, whose chunks are as large, and continued along a line, as all "
                           "ranks do the same (--full 0: all are simulated; docs/sim.md)",
                           s->options.full));
    return cc_forecast_note_sources(x->forecast, x->record, e);
}
