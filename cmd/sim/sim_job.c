/* The job of a setting for the simulated ranks: the experiment's job, with the time that each codec
 * call takes, and, without data, the size of each payload.
 *
 * Codec times are the profile's. validate has measured those of a run of the same row, per place:
 * on the worker, between hops, on the server. Then the profile's times are multiplied, place by
 * place, by measured time / profile's time, so that the simulated places take as long as the
 * measured ones. */
#include <math.h>
#include <stdlib.h>

#include "cmd/sim/sim.h"
#include "core/memory.h"
#include "netsim/exchange/pack/sizes.h"

/* --- codec times --- */

/* Measured / expected time; NAN if nothing was expected. */
static double factor(double measured, double expected)
{
    return expected > 0 ? measured / expected : NAN;
}

/* The cost times a factor; `instead` if there is none. */
static double scaled(double cost, double by, double instead)
{
    return isfinite(by) ? cost * by : instead;
}

/* The factor by which a cost was scaled; 1 where there was none. */
static double in_proportion(double scaled, double cost)
{
    return cost > 0 ? scaled / cost : 1;
}

/* Scales the costs to the times measured in a run. The formulas of hops do not tell the first
 * encoding from those between hops: these share a factor. Where the profile has no time for a
 * place, tensors share the measured one by their values. */
static void scale_costs(const struct cc_experiment_setting *s, const struct cc_experiment_row *row,
                        const struct cc_step_payloads *p, struct cc_job_cost *cost)
{
    const struct cc_prediction *expected = &row->forecast;
    const struct cc_codec_times *measured = &row->codec;
    const struct cc_cluster *c = &s->setting.cluster;
    const bool ps = cc_exchange_has(s->setting.exchange, CC_X_SERVERS),
               hops = expected->hop_codec_s > 0;
    const double encode = hops ? factor(measured->encode_s + measured->hop_s,
                                        expected->encode_s + expected->hop_codec_s)
                               : factor(measured->encode_s, expected->encode_s);
    const double server = factor(measured->server_s, expected->server_codec_s);
    const double decode = factor(measured->decode_s, expected->decode_s);
    const double push = ps                                                         ? server
                        : hops && cc_exchange_has(s->setting.exchange, CC_X_WHOLE) ? encode
                                                                                   : decode;
    for (size_t i = 0; i < p->count; i++) {
        const double part =
            p->each[i].values / p->total.values * (double)cc_experiment_turn(&s->setting);
        const double sending = part * (double)p->period; /* in the period's one step that sends */
        const double decoding = sending * measured->decode_s;
        cost[i].encode_s = scaled(cost[i].encode_s, encode, part * measured->encode_s);
        cost[i].decode_s = scaled(cost[i].decode_s, push, ps ? 0 : decoding);
        cost[i].add_s = scaled(cost[i].add_s, hops ? encode : push, ps ? 0 : decoding / c->workers);
        cost[i].pull_encode_s =
            scaled(cost[i].pull_encode_s, server, sending * measured->server_s * c->servers);
        cost[i].pull_decode_s = scaled(cost[i].pull_decode_s, decode, decoding);
    }
}

/* Whether encoding a sum takes another time than encoding a gradient. */
static bool sums_differ(const struct cc_step_payloads *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->each[i].sum_more_s != 0)
            return true;
    return false;
}

static int add_costs(const struct sim *s, const struct cc_experiment_setting *setting, size_t at,
                     struct cc_job_row *out, struct cc_error *e)
{
    const struct cc_experiment_row *row = &setting->row[at];
    const struct cc_step_payloads *p = &s->experiment.forecast->payloads[row->scheme];
    CC_TRY(CC_NEW(out->cost, p->count, e));
    for (size_t i = 0; i < p->count; i++) {
        const struct cc_payload_cost *t = &p->each[i];
        out->cost[i] = (struct cc_job_cost){.encode_s = t->push_encode_s,
                                            .decode_s = t->push_decode_s,
                                            .add_s = t->push_add_s,
                                            .pull_encode_s = t->pull_encode_s,
                                            .pull_decode_s = t->pull_decode_s};
    }
    if (row->codec_measured)
        scale_costs(setting, row, p, out->cost);
    if (sums_differ(p)) {
        CC_TRY(CC_NEW(out->sum_encode_s, p->count, e));
        for (size_t i = 0; i < p->count; i++) {
            const struct cc_payload_cost *t = &p->each[i];
            out->sum_encode_s[i] = (t->push_encode_s + t->sum_more_s) *
                                   in_proportion(out->cost[i].encode_s, t->push_encode_s);
        }
    }
    CC_TRY(cc_experiment_job_weight_costs(setting->setting.sharded.weights, out, e));
    if (setting->setting.cluster.intra_scheme == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(out->inner_cost, p->count, e));
    for (size_t i = 0; i < p->count; i++) {
        const struct cc_payload_cost *t = &p->each[i];
        const struct cc_job_cost *scaled = &out->cost[i];
        out->inner_cost[i] = (struct cc_job_inner_cost){
            .encode_s = t->inner_encode_s * in_proportion(scaled->encode_s, t->push_encode_s),
            .add_s = t->inner_add_s * in_proportion(scaled->add_s, t->push_add_s)};
    }
    return CC_OK;
}

/* Seconds to add a byte of floats: as measured in a run if one of its rows sums, or the setting's.
 */
static double reduce_byte_s(const struct cc_experiment_setting *s, const struct cc_job *job)
{
    const struct cc_cluster *c = &s->setting.cluster;
    const double sums =
        cc_exchange_has(s->setting.exchange, CC_X_WHOLE) ? log2(c->workers) : 1 - 1.0 / c->workers;
    for (size_t i = 0; i < s->rows && !cc_exchange_has(s->setting.exchange, CC_X_SERVERS); i++) {
        const struct cc_experiment_row *row = &s->row[i];
        const struct cc_prediction *expected = &row->forecast;
        if (row->codec_measured && job->row[i].reduction == CC_REDUCE_SUM && sums > 0)
            return scaled(c->reduce_byte_s,
                          factor(row->codec.hop_s, expected->hop_codec_s + expected->reduce_s),
                          row->codec.hop_s / (sums * expected->payload_bytes));
    }
    return c->reduce_byte_s;
}

/* Seconds to add a byte of a mean to the model where nothing is decoded: those that a run's update
 * took beyond --update. 0 without a run: the formulas count it as part of the update, too. */
static double apply_byte_s(const struct sim *s, const struct cc_experiment_setting *setting)
{
    const double turn = (double)cc_experiment_turn(&setting->setting);
    const double update_s =
        setting->setting.timing.local.steps > 0 ? 0 : setting->setting.timing.update_s;
    for (size_t i = 0; i < setting->rows; i++) {
        const struct cc_experiment_row *row = &setting->row[i];
        const struct cc_payload_cost *p = &s->experiment.forecast->payloads[row->scheme].total;
        if (row->codec_measured && p->verbatim == p->values)
            return turn * fmax(0, row->update_s - update_s) / p->push_bytes;
    }
    return 0;
}

/* --- payload sizes --- */

/* Finds out the sizes of all payloads. Warm-up steps that are not simulated still change the sizes:
 * they are encoded before the others. */
static int add_sizes(const struct cc_experiment_setting *setting, struct cc_sizes_config *config,
                     struct cc_job *job, struct cc_error *e)
{
    size_t *before;
    CC_TRY(CC_NEW(before, job->rows, e));
    for (size_t i = 0; i < job->rows; i++) {
        const size_t simulated = cc_sim_warmup(setting, &setting->row[i]);
        before[i] = job->row[i].warmup - simulated;
        job->row[i].warmup = simulated;
    }
    config->before = before;
    const int status = cc_sizes_fill(job, config, e);
    free(before);
    return status;
}

/* The list of a profile's payload sizes in whole bytes: of pushes, or of pulls to a number of
 * workers. */
static int list_sizes(const struct cc_step_payloads *p, int pulls, uint64_t **out,
                      struct cc_error *e)
{
    CC_TRY(CC_NEW(*out, p->count, e));
    for (size_t i = 0; i < p->count; i++) {
        const double bytes = pulls > 0 ? cc_pull_bytes(&p->each[i], pulls) : p->each[i].push_bytes;
        (*out)[i] = (uint64_t)ceil(bytes - 1e-6);
    }
    return CC_OK;
}

/* The sizes of a scheme without code are those of its profile, the same in every step and of every
 * worker. */
static int add_profiled_sizes(const struct sim *s, const struct cc_experiment_setting *setting,
                              size_t at, struct cc_job *job, struct cc_error *e)
{
    const struct cc_forecast *f = s->experiment.forecast;
    const size_t scheme = setting->row[at].scheme;
    const struct cc_step_payloads *p = &f->payloads[scheme];
    struct cc_job_row *row = &job->row[at];
    if (cc_scheme_runs(f->schemes->item[scheme]->scheme))
        return CC_OK;
    row->sizes = (struct cc_job_sizes){.workers = 1, .steps = 1};
    CC_TRY(list_sizes(p, 0, &row->sizes.push, e));
    if (job->servers > 0)
        CC_TRY(list_sizes(p, job->workers, &row->sizes.pull, e));
    if (!cc_job_row_hops(job, row))
        return CC_OK;
    row->sizes.sums = 1;
    return list_sizes(p, 0, &row->sizes.hop, e);
}

/* --- all of it --- */

int cc_sim_job(const struct sim *s, const struct cc_experiment_setting *setting,
               bool (*on_tick)(void *arg, size_t row, double done), void *arg, struct cc_job *out,
               struct cc_error *e)
{
    struct cc_sizes_config config = {
        .trace = s->experiment.forecast->cluster.trace, .on_tick = on_tick, .arg = arg};
    CC_TRY(cc_experiment_job(&s->experiment, setting, out, e));
    out->data = setting->data;
    out->reduce_byte_s = reduce_byte_s(setting, out);
    out->merge_byte_s = setting->setting.cluster.merge_byte_s;
    out->apply_byte_s = apply_byte_s(s, setting);
    if (s->options.codec_time != CC_CODEC_MEASURED)
        for (size_t i = 0; i < out->rows; i++)
            CC_TRY(add_costs(s, setting, i, &out->row[i], e));
    for (size_t i = 0; i < out->rows && !out->data; i++)
        CC_TRY(add_profiled_sizes(s, setting, i, out, e));
    CC_TRY(cc_smpirun_check_memory(out, e));
    return out->data ? CC_OK : add_sizes(setting, &config, out, e);
}
