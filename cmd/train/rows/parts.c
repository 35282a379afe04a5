#include "cmd/train/rows/parts.h"

#include <math.h>
#include <string.h>

#include "cmd/train/plan/plan.h"
#include "cmd/train/rows/rows.h"
#include "train/linear/linear.h"

void cc_train_sum(struct cc_train_sums *s, const struct cc_evaluation *v)
{
    const double steps = (double)(v->step - s->step);
    s->bytes += steps * (v->push_bytes + v->pull_bytes);
    s->objective += v->objective;
    s->updates += steps * v->updates;
    s->wait_s += steps * v->wait_s;
    s->step = v->step;
    s->evals++;
}

struct cc_train_unsynced cc_train_unsynced(const struct cc_train *t, size_t variant,
                                           const struct cc_training_result *of,
                                           const struct cc_train_sums *sums)
{
    const bool local = t->options.on == CC_TRAIN_LOCAL;
    const struct cc_evaluation *v = &of->eval[sums->evals - 1];
    struct cc_train_unsynced u = {NAN, NAN, NAN, NAN};
    if (cc_train_consistency(t, variant) == CC_BULK)
        return u;
    u.mean = v->staleness;
    u.p95 = v->staleness_p95;
    if (!local || !isnan(t->options.compute_s)) {
        u.wait_s = sums->wait_s / (double)v->step;
        u.updates_per_s = sums->updates / (local ? v->clock_s : v->wall_s);
    }
    return u;
}

static const char *clock_of(const struct cc_train *t, size_t variant, const struct cc_link *link)
{
    if (t->options.on != CC_TRAIN_LOCAL)
        return cc_train_places[t->options.on];
    if (cc_train_consistency(t, variant) != CC_BULK && !isnan(t->options.compute_s))
        return "clocks";
    return link != NULL ? "model" : "process";
}

int cc_train_put_clock(struct cc_record *r, size_t row, const char *clock, struct cc_error *e)
{
    const bool simulated = strcmp(clock, "sim") == 0 || strcmp(clock, "clocks") == 0;
    r->rows[row].origin = simulated                     ? CC_ORIGIN_SIMULATED
                          : strcmp(clock, "model") == 0 ? CC_ORIGIN_COMPUTED
                                                        : CC_ORIGIN_MEASURED;
    return cc_record_text(r, row, CC_KEY(clock), clock, e);
}

int cc_train_new_row(const struct cc_train *t, size_t variant, const struct cc_link *link,
                     const char *kind, size_t *row, struct cc_error *e)
{
    struct cc_record *r = t->record;
    const struct cc_training_config *c = &t->options.training;
    const struct cc_spec *spec = cc_train_spec(t, variant);
    const bool servers = cc_exchange_has(c->exchange, CC_X_SERVERS);
    const bool own = cc_own_momentum(spec->scheme, spec->params) > 0;
    const struct cc_local_config *l = &c->local;
    const bool local = l->steps > 0;
    const enum cc_consistency how = cc_train_consistency(t, variant);
    const struct cc_link *intra = &t->options.cluster.setting.cluster.intra;
    const bool shards = c->shards != CC_SHARDS_NONE;
    const bool hosts = c->per_host > 1, asymmetric = link != NULL && cc_link_asymmetric(link);
    const bool inside = hosts && cc_exchange_has(c->exchange, CC_X_INSIDE);
    const bool decoded = cc_reduction(spec->scheme, spec->params) != CC_REDUCE_SUM;
    const struct cc_number_column all[] = {
        {CC_KEY(values), (double)t->net->values},
        {CC_KEY(per_host), hosts ? (double)c->per_host : NAN},
        {CC_KEY(chunks), c->parts > 1 ? (double)c->parts : NAN},
        {CC_KEY(bw_up_bps), asymmetric ? cc_link_up_bps(link) : NAN},
        {CC_KEY(bw_down_bps), asymmetric ? cc_link_down_bps(link) : NAN},
        {CC_KEY(intra_bw_bps), hosts && link != NULL ? intra->bw_bps : NAN},
        {CC_KEY(intra_latency_s), hosts && link != NULL ? intra->latency_s : NAN},
        {CC_KEY(workers), (double)c->task.workers},
        {CC_KEY(servers), servers ? (double)c->servers : (double)NAN},
        {CC_KEY(batch), (double)c->task.batch},
        {CC_KEY(rate), cc_train_rate(t, variant)},
        {CC_KEY(staleness),
         cc_consistency_is_bounded(how) ? t->options.consistency.staleness : (double)NAN},
        {CC_KEY(momentum), c->optimizer.kind == CC_ADAM || c->optimizer.kind == CC_ADAMW ? NAN
                           : own && !local                                               ? 0
                                           : t->options.momentum},
        {CC_KEY(local_steps), local ? (double)(l->steps * l->parts) : NAN},
        {CC_KEY(stream_parts), local ? (double)l->parts : NAN},
        {CC_KEY(depth), c->mode == CC_PIPE ? (double)c->depth : NAN},
        {CC_KEY(bw_bps), link != NULL ? link->bw_bps : NAN},
        {CC_KEY(latency_s), link != NULL ? link->latency_s : NAN}};
    const struct cc_text_column texts[] = {
        {CC_KEY(scheme), spec->name},
        {CC_KEY(net), c->task.net},
        {CC_KEY(data), t->data->name},
        {CC_KEY(exchange), cc_exchange_names[c->exchange]},
        {CC_KEY(dtype), cc_element_names[c->dtype]},
        {CC_KEY(system), shards ? cc_train_systems[t->options.system] : NULL},
        {CC_KEY(weight_scheme), shards ? c->gather : NULL},
        {CC_KEY(gathered), shards ? cc_shards_names[c->shards] : NULL},
        {CC_KEY(gather_scheme), decoded && !shards ? c->gather : NULL},
        {CC_KEY(intra_scheme), decoded && hosts ? c->intra_scheme : NULL},
        {CC_KEY(inner_exchange), inside ? cc_stage_exchange_names[c->inner_exchange] : NULL},
        {CC_KEY(outer_exchange), inside ? cc_stage_exchange_names[c->outer_exchange] : NULL},
        {CC_KEY(mode), cc_step_names[c->mode]},
        {CC_KEY(kind), kind},
        {CC_KEY(outer), local ? cc_train_outer(&t->options) : NULL},
        {CC_KEY(framework), t->framework_name},
        {CC_KEY(pull), !servers    ? NULL
                       : c->deltas ? "delta"
                                   : "mean"},
        {CC_KEY(pull_scheme), servers ? cc_train_pull(t, spec)->name : NULL}};
    CC_TRY(cc_record_add(r, row, e));
    cc_record_numbers(r, *row, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_texts(r, *row, texts, sizeof texts / sizeof texts[0], e));
    CC_TRY(cc_train_put_clock(r, *row, clock_of(t, variant, link), e));
    return servers ? cc_train_put_consistency(t, *row, how, e) : CC_OK;
}

/* Values of the tensors that travel as fp32. */
static double raw_values(const struct cc_train *t)
{
    double values = 0;
    for (size_t i = 0; i < t->net->count; i++)
        values += t->is_raw[i] ? (double)t->net->tensors[i].shape.n : 0;
    return values;
}

void cc_train_put_sizes(const struct cc_train *t, size_t row, const struct cc_spec *spec,
                        double push, double pull)
{
    const double values = (double)t->net->values, bits = 8 * push / values;
    const double type_bits = 8.0 * (double)cc_element_bytes[t->options.training.dtype];
    const bool decoded = cc_reduction(spec->scheme, spec->params) == CC_REDUCE_DECODED;
    const double raw_bits = decoded ? type_bits : 32;
    const bool pulls = cc_exchange_has(t->options.training.exchange, CC_X_SERVERS) ||
                       t->options.training.shards != CC_SHARDS_NONE;
    const double once = pull / cc_train_gathers(&t->options.training);
    const double both = pulls ? (push + once) / 2 : push, raw = raw_values(t);
    const struct cc_number_column all[] = {
        {CC_KEY(payload_bytes), push},
        {CC_KEY(bits_per_value), bits},
        {CC_KEY(ratio), type_bits / bits},
        {CC_KEY(bits_push), bits},
        {CC_KEY(bits_pull), pulls ? 8 * pull / values : NAN},
        {CC_KEY(bits_compressed), (8 * both - raw_bits * raw) / (values - raw)}};
    cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
}

void cc_train_put_linear(const struct cc_train *t, size_t row, double objective,
                         double objective_mean, double distance, const struct cc_train_step *step)
{
    const bool known = t->optimum.w != NULL;
    const double epoch = (double)t->epoch;
    const struct cc_number_column all[] = {
        {CC_KEY(objective), objective},
        {CC_KEY(suboptimality), known ? objective - t->optimum.value : NAN},
        {CC_KEY(suboptimality_mean), known ? objective_mean - t->optimum.value : NAN},
        {CC_KEY(distance), distance},
        {CC_KEY(pass_s), epoch * step->step_s},
        {CC_KEY(pass_comm_s), epoch * (step->codec_s + step->comm_s)}};
    if (cc_linear_is(t->options.training.task.net))
        cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
}

void cc_train_put_bits(const struct cc_train *t, size_t row, double loss, double workers)
{
    if (t->data->context == 0)
        return;
    const double bits = cc_data_tokens_a_byte(t->data) / log(2);
    cc_record_number(t->record, row, CC_KEY(bits_per_byte), loss * bits);
    cc_record_number(t->record, row, CC_KEY(bits_per_byte_workers), workers * bits);
}
