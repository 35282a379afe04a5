/* What sim is going to simulate: clusters, steps, jobs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/file.h"
#include "core/memory.h"
#include "netsim/launch/platform_read.h"
#include "netsim/message/sizes.h"

/* --- settings --- */

/* What SMPI adds to every message: tag, destination, communicator. */
#define ENVELOPE 16.0

/* Workers whose payloads are made where nobody says whether to. */
enum { FEW = 16 };

static bool wants_data(const struct sim *s, const struct cc_setting *setting)
{
    if (s->options.data != CC_DATA_AUTO)
        return s->options.data == CC_DATA_ON;
    if (setting->exchange == CC_MPI || s->options.codec_time == CC_CODEC_MEASURED)
        return true;
    return setting->cluster.workers <= FEW &&
           cc_experiment_bytes(setting) < cc_memory_available() / 2;
}

static enum cc_formula formula(const struct sim_options *o)
{
    const struct cc_platform_config *h = &o->config;
    if (o->platform != NULL)
        return o->linked ? CC_FORMULA_ELSEWHERE : CC_NO_FORMULA;
    return h->topology == CC_TOPOLOGY_SWITCH && h->slow_links == 0 && h->slow_hosts == 0
               ? CC_FORMULA_HOLDS
               : CC_FORMULA_ELSEWHERE;
}

void cc_sim_complete(void *arg, struct cc_experiment_setting *s)
{
    const struct sim *sim = arg;
    struct cc_link *l = &s->setting.link;
    l->burst_bytes = 0; /* nothing shapes a simulated link */
    l->message_bytes = ENVELOPE;
    s->formula = formula(&sim->options);
    s->data = wants_data(sim, &s->setting);
    if (s->formula == CC_NO_FORMULA)
        (void)snprintf(l->name, sizeof l->name, "%s", "the platform's own links");
}

/* --- steps --- */

/* Real seconds of codecs that run in a step: of all ranks, one after the other; or of those whose
 * payloads' sizes stand for all, before the simulation. */
static double codecs_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const struct cc_prediction *p = &row->forecast;
    const struct cc_cluster *c = &s->setting.cluster;
    double worker = p->encode_s + p->hop_codec_s + p->decode_s;
    if (s->data)
        return c->workers * worker + c->servers * p->server_codec_s;
    double few = fmin(c->workers, FEW);
    return few * worker + few / c->workers * p->server_codec_s;
}

/* Simulated time is exact: steps that are alike need not be counted twice, and sequential ones
 * leave nothing behind. Where sizes depend on data, no two steps are alike, and residuals fill
 * first. The same with data and without, and on every machine. */
int cc_sim_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e)
{
    enum { FILLED = 32, DIFFERENT = 16, DRAWS = 10, MEASURED = 3 };
    const struct sim *sim = arg;
    const struct cc_spec *spec = sim->plan.args->schemes.item[row->scheme];
    const struct cc_codec codec = {.scheme = spec->scheme,
                                   .params = spec->params,
                                   .shape = cc_shape_flat(s->setting.net->values)};
    size_t warm = s->setting.timing.mode != CC_SEQUENTIAL, count = 1;
    bool fixed;
    if (cc_sizes_fixed(spec, &fixed, e) != CC_OK)
        return CC_FAIL;
    row->fills = !fixed && cc_state_bytes(&codec) > 0;
    if (row->fills)
        warm = FILLED;
    if (sim->options.codec_time == CC_CODEC_MEASURED)
        count = MEASURED;
    if (s->setting.timing.straggler != CC_STEADY)
        count = DRAWS;
    if (!fixed && count * row->period < DIFFERENT)
        count = (DIFFERENT + row->period - 1) / row->period;
    row->warmup = row->period * warm;
    row->steps = row->period * count;
    return CC_OK;
}

/* Steps that ranks go through before those that count. Without data residuals fill beforehand,
 * where the sizes come from; but stragglers' draws are by step, and what is left of overlapped
 * steps meets the next ones. */
static size_t simulated_warmup(const struct cc_experiment_setting *s,
                               const struct cc_experiment_row *row)
{
    const struct cc_timing *t = &s->setting.timing;
    return s->data || t->straggler != CC_STEADY || t->mode != CC_SEQUENTIAL ? row->warmup : 0;
}

/* As measured; SimGrid looks at all ranks for some of them. */
static double messages_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const struct cc_cluster *c = &s->setting.cluster;
    double each = 20e-6 + 0.1e-6 * cc_experiment_ranks(&s->setting);
    double of_worker = s->setting.exchange == CC_PS ? 2.0 * c->servers : row->forecast.messages;
    return each * c->workers * of_worker;
}

static double all_codecs_s(const struct cc_experiment_setting *s,
                           const struct cc_experiment_row *row)
{
    return (double)(row->warmup + row->steps) * codecs_s(s, row);
}

double cc_sim_row_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    double steps = (double)(simulated_warmup(s, row) + row->steps);
    return steps * messages_s(s, row) + (s->data ? all_codecs_s(s, row) : 0);
}

double cc_sim_sizes_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    return s->data ? 0 : all_codecs_s(s, row);
}

/* --- platforms --- */

int cc_sim_platform(const struct sim *s, const struct cc_experiment_setting *planned,
                    struct cc_platform *out, struct cc_error *e)
{
    const struct cc_platform_config config = cc_sim_shape(s, &planned->setting);
    if (s->options.platform == NULL)
        return cc_platform_make(&config, out, e);
    int status = cc_platform_read(s->options.platform, config.workers, config.servers, out, e);
    if (status != CC_OK)
        cc_error_in(e, "--platform");
    return status;
}

static int write_platform(const struct cc_platform *p, const char *path, struct cc_error *e)
{
    struct cc_outfile file;
    if (cc_file_create(&file, path, e) != CC_OK)
        return CC_FAIL;
    if (fputs(p->xml, file.f) != EOF)
        return cc_file_commit(&file, e);
    cc_file_abort(&file);
    return cc_fail(e, "%s: cannot be written", path);
}

int cc_sim_platforms(const struct sim *s, struct cc_error *e)
{
    const struct sim_options *o = &s->options;
    int status = CC_OK;
    if (s->plan.settings > 1 && (o->write_platform != NULL || o->paje != NULL))
        return cc_usage(e, "--%s is of one setting, and the lists of the options make %zu",
                        o->write_platform != NULL ? "write-platform" : "paje", s->plan.settings);
    for (size_t i = 0; i < s->plan.settings && status == CC_OK; i++) {
        struct cc_platform p;
        status = cc_sim_platform(s, &s->plan.setting[i], &p, e);
        if (status != CC_OK)
            return status;
        if (o->write_platform != NULL)
            status = write_platform(&p, o->write_platform, e);
        cc_platform_free(&p);
    }
    return status;
}

/* --- jobs --- */

/* By which factor a run took longer than the profile says; NAN where the profile says nothing. */
static double factor(double took, double said)
{
    return said > 0 ? took / said : NAN;
}

/* `instead` where the profile says nothing. */
static double scaled(double cost, double by, double instead)
{
    return isfinite(by) ? cost * by : instead;
}

/* Costs by which each place takes as long as it took in a run: a worker's encoding and the hops
 * together (their formulas do not tell the first encoding from those on the way), a server, and a
 * worker's decoding. Where the profile says nothing, tensors share in it by their values. */
static void scale(const struct cc_experiment_setting *s, const struct cc_experiment_row *row,
                  const struct cc_step_payloads *p, struct cc_job_cost *cost)
{
    const struct cc_prediction *said = &row->forecast;
    const struct cc_codec_times *took = &row->took;
    const struct cc_cluster *c = &s->setting.cluster;
    bool ps = s->setting.exchange == CC_PS, hops = said->hop_codec_s > 0;
    double encode = hops ? factor(took->encode_s + took->hop_s, said->encode_s + said->hop_codec_s)
                         : factor(took->encode_s, said->encode_s);
    double server = factor(took->server_s, said->server_codec_s),
           decode = factor(took->decode_s, said->decode_s);
    double push = ps ? server : hops && s->setting.exchange == CC_RECDOUBLE ? encode : decode;
    for (size_t i = 0; i < p->count; i++) {
        double part = p->each[i].values / p->total.values, loud = part * (double)p->period;
        double decoding = loud * took->decode_s;
        cost[i].encode_s = scaled(cost[i].encode_s, encode, part * took->encode_s);
        cost[i].decode_s = scaled(cost[i].decode_s, push, ps ? 0 : decoding);
        cost[i].add_s = scaled(cost[i].add_s, hops ? encode : push, ps ? 0 : decoding / c->workers);
        cost[i].pull_encode_s =
            scaled(cost[i].pull_encode_s, server, loud * took->server_s * c->servers);
        cost[i].pull_decode_s = scaled(cost[i].pull_decode_s, decode, decoding);
    }
}

static int add_costs(struct sim *s, const struct cc_experiment_setting *planned, size_t at,
                     struct cc_job_row *out, struct cc_error *e)
{
    const struct cc_experiment_row *row = &planned->row[at];
    const struct cc_step_payloads *p = &s->plan.forecast.payloads[row->scheme];
    out->cost = cc_alloc(p->count * sizeof *out->cost, e);
    if (out->cost == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < p->count; i++) {
        const struct cc_payload_cost *t = &p->each[i];
        out->cost[i] = (struct cc_job_cost){.encode_s = t->push_encode_s,
                                            .decode_s = t->push_decode_s,
                                            .add_s = t->push_add_s,
                                            .pull_encode_s = t->pull_encode_s,
                                            .pull_decode_s = t->pull_decode_s};
    }
    if (row->timed)
        scale(planned, row, p, out->cost);
    return CC_OK;
}

/* What adding a byte of floats takes; as it took in a run, where some row of it sums. */
static double reduce_byte_s(const struct cc_experiment_setting *s, const struct cc_job *job)
{
    const struct cc_cluster *c = &s->setting.cluster;
    double times = s->setting.exchange == CC_RECDOUBLE ? log2(c->workers) : 1 - 1.0 / c->workers;
    for (size_t i = 0; i < s->rows && s->setting.exchange != CC_PS; i++) {
        const struct cc_experiment_row *row = &s->row[i];
        const struct cc_prediction *said = &row->forecast;
        if (row->timed && job->row[i].sums && times > 0)
            return scaled(c->reduce_byte_s,
                          factor(row->took.hop_s, said->hop_codec_s + said->reduce_s),
                          row->took.hop_s / (times * said->payload_bytes));
    }
    return c->reduce_byte_s;
}

/* Steps before those that are simulated leave their mark on the sizes, and are not needed beside.
 */
static int add_sizes(const struct cc_experiment_setting *planned, struct cc_sizes_config *config,
                     struct cc_job *job, struct cc_error *e)
{
    size_t *before = cc_alloc(job->rows * sizeof *before, e);
    if (before == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < job->rows; i++) {
        size_t simulated = simulated_warmup(planned, &planned->row[i]);
        before[i] = job->row[i].warmup - simulated;
        job->row[i].warmup = simulated;
    }
    config->before = before;
    int status = cc_sizes_fill(job, config, e);
    free(before);
    return status;
}

int cc_sim_job(struct sim *s, const struct cc_experiment_setting *planned,
               bool (*on_tick)(void *arg, size_t row, double done), void *arg, struct cc_job *out,
               struct cc_error *e)
{
    struct cc_sizes_config config = {.on_tick = on_tick, .arg = arg};
    int status = cc_experiment_job(&s->plan, planned, out, e);
    if (status != CC_OK)
        return status;
    out->data = planned->data;
    out->reduce_byte_s = reduce_byte_s(planned, out);
    bool timed = s->options.codec_time == CC_CODEC_MEASURED;
    for (size_t i = 0; i < out->rows && status == CC_OK && !timed; i++)
        status = add_costs(s, planned, i, &out->row[i], e);
    if (status != CC_OK || out->data)
        return status;
    return add_sizes(planned, &config, out, e);
}

/* --- a dry run --- */

int cc_sim_dry(struct sim *s, struct cc_error *e)
{
    struct cc_record *record = s->plan.record;
    double seconds = 0;
    int ranks = 0;
    for (size_t i = 0; i < s->plan.settings; i++) {
        const struct cc_experiment_setting *p = &s->plan.setting[i];
        ranks = (int)fmax(ranks, cc_experiment_ranks(&p->setting));
        for (size_t k = 0; k < p->rows; k++) {
            size_t at = cc_experiment_dry_row(&s->plan, p, &p->row[k], e);
            if (at == SIZE_MAX || cc_sim_place_columns(s, at, p, e) != CC_OK)
                return CC_FAIL;
            double row_s = cc_sim_row_s(p, &p->row[k]) + cc_sim_sizes_s(p, &p->row[k]);
            cc_record_number(record, at, "sim_wall_s", row_s);
            seconds += row_s;
        }
    }
    return cc_record_note(
        record, e, "dry run: simulating %zu row%s of up to %d ranks would take about %.0f s",
        record->row_count, record->row_count == 1 ? "" : "s", ranks, ceil(seconds));
}
