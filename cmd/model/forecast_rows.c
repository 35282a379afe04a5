/* The rows of a forecast: a setting, and what is predicted of a scheme in it. */
#include <math.h>

#include "cmd/model/forecast.h"

double cc_forecast_speedup(double plain_step_s, double step_s)
{
    return plain_step_s == step_s ? 1 : plain_step_s / step_s; /* both may be 0 */
}

double cc_forecast_scaling(int workers, double compute_s, double step_s)
{
    return compute_s > 0 ? workers * compute_s / step_s : NAN;
}

static void setting_numbers(struct cc_record *r, size_t row, const struct cc_setting *s)
{
    const struct cc_local_timing *local = &s->timing.local;
    const bool several = cc_cluster_per_host(&s->cluster) > 1;
    const bool asymmetric = cc_link_asymmetric(&s->link), sites = s->cluster.sites > 1;
    const struct cc_number_column all[] = {
        {CC_KEY(values), (double)s->net->values},
        {CC_KEY(local_steps), local->steps > 0 ? (double)(local->steps * local->parts) : NAN},
        {CC_KEY(stream_parts), local->parts > 1 ? (double)local->parts : NAN},
        {CC_KEY(workers), s->cluster.workers},
        {CC_KEY(per_host), several ? (double)s->cluster.per_host : NAN},
        {CC_KEY(nics), s->cluster.nics > 1 ? (double)s->cluster.nics : NAN},
        {CC_KEY(servers),
         cc_exchange_has(s->exchange, CC_X_SERVERS) ? (double)s->cluster.servers : NAN},
        {CC_KEY(keep), s->cluster.keep > 0 ? s->cluster.keep : NAN},
        {CC_KEY(chunks), s->cluster.chunks > 1 ? (double)s->cluster.chunks : NAN},
        {CC_KEY(bw_bps), s->link.bw_bps},
        {CC_KEY(bw_up_bps), asymmetric ? cc_link_up_bps(&s->link) : NAN},
        {CC_KEY(bw_down_bps), asymmetric ? cc_link_down_bps(&s->link) : NAN},
        {CC_KEY(latency_s), s->link.latency_s},
        {CC_KEY(intra_bw_bps), several ? s->cluster.intra.bw_bps : NAN},
        {CC_KEY(intra_latency_s), several ? s->cluster.intra.latency_s : NAN},
        {CC_KEY(sites), sites ? (double)s->cluster.sites : NAN},
        {CC_KEY(wan_bw_bps), sites && s->cluster.wan_bps > 0 ? s->cluster.wan_bps : NAN},
        {CC_KEY(wan_latency_s), sites ? s->cluster.wan_latency_s : NAN}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

/* The network's time that nothing hides, as in run and sim; up to rounding, all of it where nothing
 * overlaps. */
static double comm_s(const struct cc_prediction *p)
{
    const double room = p->step_s - p->compute_s - p->codec_s;
    return p->comm_s <= room + 1e-12 * p->step_s ? p->comm_s : fmax(0, room);
}

static void prediction_numbers(struct cc_record *r, size_t row, const struct cc_setting *s,
                               const struct cc_prediction *p, double plain_step_s)
{
    const struct cc_number_column all[] = {
        {CC_KEY(chunks), p->chunks > 1 ? (double)p->chunks : NAN},
        {CC_KEY(payload_bytes), p->payload_bytes},
        {CC_KEY(bits_per_value), p->bits_push},
        {CC_KEY(ratio), 8 * (double)cc_element_bytes[s->dtype] / p->bits_push},
        {CC_KEY(bits_push), p->bits_push},
        {CC_KEY(bits_pull), cc_exchange_has(s->exchange, CC_X_SERVERS) ? p->bits_pull : NAN},
        {CC_KEY(compute_s), p->compute_s},
        {CC_KEY(codec_s), p->codec_s},
        {CC_KEY(comm_s), comm_s(p)},
        {CC_KEY(comm_busy_s), fmin(p->busy_s, p->step_s)},
        {CC_KEY(exposed_s), p->exposed_s},
        {CC_KEY(added_s), p->step_s - p->compute_s},
        {CC_KEY(step_s), p->step_s},
        {CC_KEY(cu), cc_step_utilization(p->compute_s, p->step_s)},
        {CC_KEY(step_s_sd), s->timing.straggler != CC_STEADY ? p->step_sd : NAN},
        {CC_KEY(speedup), cc_forecast_speedup(plain_step_s, p->step_s)},
        {CC_KEY(scaling), cc_forecast_scaling(s->cluster.workers, p->compute_s, p->step_s)}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

void cc_forecast_error_columns(const struct cc_forecast *f, struct cc_record *r, size_t row,
                               size_t scheme, const struct cc_setting *s)
{
    const struct cc_accuracy a = cc_forecast_accuracy(f, s, scheme);
    const struct cc_number_column all[] = {{CC_KEY(error), a.error},
                                           {CC_KEY(error_low), a.low},
                                           {CC_KEY(error_high), a.high},
                                           {CC_KEY(encodings), a.encodings},
                                           {CC_KEY(sum_error), cc_accuracy_sum_error(&a)}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

int cc_forecast_row(const struct cc_forecast *f, struct cc_record *r, size_t scheme,
                    const struct cc_setting *s, const struct cc_prediction *p, double plain_step_s,
                    size_t *out, struct cc_error *e)
{
    const enum cc_consistency how = s->timing.consistency;
    const struct cc_spec *inner = cc_forecast_inner(f, s, scheme);
    const bool staged =
        cc_exchange_has(s->exchange, CC_X_INSIDE) && cc_cluster_per_host(&s->cluster) > 1;
    const struct cc_text_column texts[] = {
        {CC_KEY(scheme), cc_forecast_scheme(f, scheme)},
        {CC_KEY(system), s->system->name},
        {CC_KEY(net), s->net->name},
        {CC_KEY(exchange), cc_exchange_names[s->exchange]},
        {CC_KEY(dtype), cc_element_names[s->dtype]},
        {CC_KEY(gather_scheme), cc_forecast_takes_gather(f, scheme) ? s->cluster.gather : NULL},
        {CC_KEY(intra_scheme), inner != NULL ? inner->name : NULL},
        {CC_KEY(inner_exchange),
         staged ? cc_stage_exchange_names[s->cluster.inner_exchange] : NULL},
        {CC_KEY(outer_exchange),
         staged ? cc_stage_exchange_names[s->cluster.outer_exchange] : NULL},
        {CC_KEY(op), s->cluster.op != CC_ALLREDUCE ? cc_operation_names[s->cluster.op] : NULL},
        {CC_KEY(mode), cc_step_names[s->timing.mode]},
        {CC_KEY(consistency), how == CC_BULK ? NULL : cc_consistency_names[how]},
        {CC_KEY(link), s->link.name},
        {CC_KEY(link_class), s->link.of_class != NULL ? s->link.of_class->name : NULL},
        {CC_KEY(bottleneck), p != NULL ? cc_bottleneck_names[p->bottleneck] : NULL}};
    CC_TRY(cc_record_add(r, out, e));
    const size_t row = *out;
    setting_numbers(r, row, s);
    if (!cc_scheme_runs(f->schemes->item[scheme]->scheme))
        cc_record_bool(r, row, CC_KEY(profiled), true);
    if (s->cluster.colocated)
        cc_record_bool(r, row, CC_KEY(colocated), true);
    if (cc_consistency_is_bounded(how))
        cc_record_number(r, row, CC_KEY(staleness), s->timing.staleness);
    if (f->cluster.source.skip)
        cc_record_number(r, row, CC_KEY(skipped_steps),
                         (double)cc_trace_skipped(f->cluster.trace, NULL));
    if (p != NULL) {
        prediction_numbers(r, row, s, p, plain_step_s);
        CC_TRY(cc_forecast_sharded_columns(f, r, row, scheme, s, p->collective_s, e));
    }
    return cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}
