/* The settings, platforms and steps of sim, and how long their simulation takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/sim/sim.h"
#include "core/memory.h"
#include "core/unions.h"
#include "netsim/exchange/pack/sizes.h"
#include "netsim/launch/platform_read.h"

const char *const cc_codec_time_names[] = {"profile", "measured", "none", NULL};

/* --- settings --- */

/* Bytes that SMPI adds to every message: tag, destination, communicator. */
#define ENVELOPE 16.0

/* Whether the scheme of a stage has payloads of different sizes, which only encoding tells. */
static bool is_variable(const struct cc_spec_list *stage)
{
    bool fixed = true;
    return stage->count > 0 && (cc_sizes_fixed(stage->item[0], &fixed, NULL) != CC_OK || !fixed);
}

static bool needs_data(const struct sim *s, const struct cc_setting *setting)
{
    if (s->options.data != CC_DATA_AUTO)
        return s->options.data == CC_DATA_ON;
    if (cc_exchange_has(setting->exchange, CC_X_LIBRARY) ||
        s->options.codec_time == CC_CODEC_MEASURED || s->experiment.input->errors ||
        s->experiment.forecast->cluster.consistency.communicate.when != CC_EVERY_STEP ||
        is_variable(&s->experiment.forecast->cluster.gather) ||
        is_variable(&s->experiment.forecast->cluster.inner) ||
        is_variable(&s->experiment.forecast->cluster.sharded.weights))
        return true;
    return cc_experiment_need_code(s->experiment.input, "data", NULL) == CC_OK &&
           setting->cluster.workers <= CC_SIM_FEW_WORKERS &&
           cc_experiment_bytes(setting) < cc_memory_available() / 2;
}

/* Whether the formulas know the topology: a switch, or two classes of links. */
static bool known(const struct cc_platform_config *config)
{
    return cc_topology_infos[config->topology]->difference == NULL ||
           config->topology == CC_TOPOLOGY_SITES;
}

static enum cc_formula formula(const struct sim *s)
{
    const struct cc_platform_config *config = &s->options.config;
    const struct cc_cluster_args *c = &s->experiment.forecast->cluster;
    if (s->options.platform != NULL)
        return cc_given(&c->network, &c->network.bw) != NULL || c->network.calibration != NULL
                   ? CC_FORMULA_ELSEWHERE
                   : CC_NO_FORMULA;
    return known(config) && config->slow_links == 0 && config->slow_hosts == 0
               ? CC_FORMULA_HOLDS
               : CC_FORMULA_ELSEWHERE;
}

void cc_sim_complete(void *arg, struct cc_experiment_setting *s)
{
    const struct sim *sim = arg;
    struct cc_link *l = &s->setting.link;
    l->burst_bytes = 0; /* nothing shapes a simulated link */
    l->message_bytes = ENVELOPE;
    s->setting.cluster.intra.message_bytes = ENVELOPE;
    s->formula = formula(sim);
    s->data = needs_data(sim, &s->setting);
    if (s->formula == CC_NO_FORMULA)
        (void)snprintf(l->name, sizeof l->name, "%s", "the platform's own links");
}

/* --- platforms --- */

/* SimGrid takes the share of headers off all links alike, that of the network's. */
static void use_hosts(const struct cc_setting *s, struct cc_platform_config *config)
{
    const struct cc_link *intra = &s->cluster.intra;
    config->per_host = s->cluster.per_host;
    config->nics = s->cluster.nics;
    config->intra_bps = intra->bw_bps * (1 + s->link.overhead) / (1 + intra->overhead);
    config->intra_latency_s = intra->latency_s;
}

struct cc_platform_config cc_sim_platform_config(const struct sim *s,
                                                 const struct cc_setting *setting)
{
    struct cc_platform_config config = s->options.config;
    if (setting->cluster.sites > 1)
        config.topology = CC_TOPOLOGY_SITES;
    config.sites = setting->cluster.sites;
    config.wan_bps = setting->cluster.wan_bps;
    config.wan_latency_s = setting->cluster.wan_latency_s;
    config.workers = setting->cluster.workers;
    config.servers =
        setting->cluster.colocated ? 0 : cc_experiment_ranks(setting) - setting->cluster.workers;
    config.bw_bps = cc_link_up_bps(&setting->link);
    config.down_bps = cc_link_asymmetric(&setting->link) ? cc_link_down_bps(&setting->link) : 0;
    if (cc_cluster_per_host(&setting->cluster) > 1)
        use_hosts(setting, &config);
    /* A sender's time is a part of the latency; the ranks spend it (smpi/ois). */
    config.latency_s = fmax(0, setting->link.latency_s - setting->link.message_s);
    return config;
}

int cc_sim_platform(const struct sim *s, const struct cc_experiment_setting *setting,
                    struct cc_platform *out, struct cc_error *e)
{
    const struct cc_platform_config config = cc_sim_platform_config(s, &setting->setting);
    if (s->options.platform == NULL)
        return cc_platform_make(&config, out, e);
    const int status =
        cc_platform_read(s->options.platform, config.workers, config.servers, out, e);
    if (status != CC_OK)
        cc_error_in(e, "--platform");
    return status;
}

/* --- steps --- */

/* Steps, at least, for residuals to fill, and that differ; and values that are encoded, at most. */
enum { LEAST_FILLING = 32, LEAST_DIFFERENT = 16 };
#define MOST_ENCODED 5e9

/* The number of steps, or fewer if they would take too long. */
static size_t affordable(const struct cc_experiment_setting *s, size_t steps, size_t least)
{
    const double workers = fmin(s->setting.cluster.workers, CC_SIM_FEW_WORKERS);
    const double can = MOST_ENCODED / (workers * (double)s->setting.net->values);
    return cc_larger(least, (size_t)fmin((double)steps, can));
}

/* Simulated time is exact: equal steps need not be counted twice, and sequential ones leave nothing
 * behind for the next. Where payload sizes depend on data, though, no two steps are equal, and
 * residuals fill first; where only the sums of index-value pairs do, there are as many steps as the
 * formulas' unions are counted over. The choice is the same with and without data, and on every
 * machine. */
int cc_sim_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e)
{
    enum { DRAWS = 10, MEASURED = 3, STALE = 200 };
    const struct sim *sim = arg;
    const struct cc_spec *spec = sim->experiment.forecast->schemes->item[row->scheme];
    const bool merges = cc_reduction(spec->scheme, spec->params) == CC_REDUCE_PAIRS &&
                        cc_exchange_has(s->setting.exchange, CC_X_MERGES);
    const struct cc_codec codec = {.scheme = spec->scheme,
                                   .params = spec->params,
                                   .shape = cc_shape_flat(s->setting.net->values)};
    size_t warm = s->setting.timing.mode != CC_SEQUENTIAL, count = 1;
    bool fixed;
    CC_TRY(cc_sizes_fixed(spec, &fixed, e));
    row->fills = !fixed && cc_state_bytes(&codec) > 0;
    if (row->fills)
        warm = cc_experiment_periods(affordable(s, row->filling, LEAST_FILLING), row->period);
    if (fixed && merges) {
        warm = cc_state_bytes(&codec) > 0 ? CC_UNION_STEPS / 2 : warm;
        count = CC_UNION_STEPS - CC_UNION_STEPS / 2;
    }
    if (sim->options.codec_time == CC_CODEC_MEASURED)
        count = cc_larger(count, MEASURED);
    if (s->setting.timing.straggler != CC_STEADY)
        count = DRAWS;
    if (s->setting.timing.consistency != CC_BULK)
        count = affordable(s, STALE, DRAWS);
    if (!fixed)
        count = cc_larger(count, cc_experiment_periods(affordable(s, row->settled, LEAST_DIFFERENT),
                                                       row->period));
    row->warmup = row->period * warm;
    row->steps = row->period * count;
    return CC_OK;
}

/* Without data, residuals fill before the simulation, while the sizes are found out. But stragglers
 * are drawn per step, and overlapped steps pass their unfinished transfers on to the next. */
size_t cc_sim_warmup(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const struct cc_timing *t = &s->setting.timing;
    return s->data || t->straggler != CC_STEADY || t->mode != CC_SEQUENTIAL ||
                   t->consistency != CC_BULK
               ? row->warmup
               : 0;
}

/* --- how long it takes --- */

/* Real seconds that codecs run in a step: of all ranks, one after the other; or, without data, of
 * the few whose payloads stand for all. */
static double codecs_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const struct cc_prediction *p = &row->forecast;
    const struct cc_cluster *c = &s->setting.cluster;
    const double worker = p->encode_s + p->hop_codec_s + p->decode_s;
    if (s->data)
        return c->workers * worker + c->servers * p->server_codec_s;
    const double few = fmin(c->workers, CC_SIM_FEW_WORKERS);
    const double values = (double)s->setting.net->values;
    const double part = values > CC_SIZES_WHOLE ? CC_SIZES_PART / values : 1;
    return part * (few * worker + few / c->workers * p->server_codec_s);
}

/* Real seconds of a step's messages, as measured; part of SimGrid's work grows with the ranks. */
static double messages_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const struct cc_cluster *c = &s->setting.cluster;
    /* Where a rank has several messages under way, every flow shares ports with many others. */
    const bool direct = cc_exchange_has(s->setting.exchange, CC_X_MERGES) &&
                        row->forecast.rounds < row->forecast.messages;
    const double each = 20e-6 + (direct ? 1.5e-6 : 0.1e-6) * cc_experiment_ranks(&s->setting);
    const double per_worker = cc_exchange_has(s->setting.exchange, CC_X_SERVERS)
                                  ? 2.0 * c->servers
                                  : row->forecast.messages;
    return each * c->workers * per_worker;
}

static double all_codecs_s(const struct cc_experiment_setting *s,
                           const struct cc_experiment_row *row)
{
    return (double)(row->warmup + row->steps) * codecs_s(s, row);
}

double cc_sim_row_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const double steps = (double)(cc_sim_warmup(s, row) + row->steps);
    return steps * messages_s(s, row) + (s->data ? all_codecs_s(s, row) : 0);
}

double cc_sim_sizes_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    return s->data ? 0 : all_codecs_s(s, row);
}

double cc_sim_all_s(const struct sim *s)
{
    const struct cc_experiment *x = &s->experiment;
    double seconds = 0;
    for (size_t i = 0; i < x->settings; i++)
        for (size_t k = 0; k < x->setting[i].rows; k++)
            seconds += cc_sim_share(s, &x->setting[i]) *
                           cc_sim_row_s(&x->setting[i], &x->setting[i].row[k]) +
                       cc_sim_sizes_s(&x->setting[i], &x->setting[i].row[k]);
    return seconds;
}

void cc_sim_free(struct sim *s)
{
    cc_experiment_free(&s->experiment);
    free(s->program);
    free(s->encode_s);
}
