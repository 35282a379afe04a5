/* The candidates of advise: schemes by what deploys them, with the plan, the error, and why one may
 * be ruled out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/model/advise.h"
#include "core/memory.h"
#include "core/units.h"
#include "models/sharded.h"

const char *cc_advise_time(double seconds, char text[32])
{
    cc_print_si(seconds, "s", text, 32);
    return text;
}

const char *cc_advise_error_text(const struct advise *a, const struct candidate *c, char text[96])
{
    const bool alone = a->forecast.payloads[c->scheme].period > 1;
    char error[16] = "not predicted";
    if (!isnan(c->error))
        (void)snprintf(error, sizeof error, "%.2g", c->error);
    (void)snprintf(text, 96, "sum_error %s%s", error,
                   alone ? " (without the effect of local steps)" : "");
    return text;
}

bool cc_advise_is_baseline(const struct advise *a, const struct candidate *c)
{
    return strcmp(cc_forecast_scheme(&a->forecast, c->scheme),
                  cc_forecast_baseline(&a->forecast)) == 0;
}

bool cc_advise_decides(const struct advise *a, const struct ranking *r)
{
    return !a->deployed || !r->fits || r->s->cluster.workers == 1 || r->s->timing.compute_s > 0 ||
           a->forecast.cluster.compute_given;
}

void cc_advise_pays(const struct cc_paying *p, char text[80])
{
    char from[32], below[32];
    cc_print_si(p->from_bps, "bit/s", from, sizeof from);
    cc_print_si(p->below_bps, "bit/s", below, sizeof below);
    if (!p->ever)
        (void)snprintf(text, 80, "never");
    else if (p->from_bps == 0 && isinf(p->below_bps))
        (void)snprintf(text, 80, "always");
    else if (p->from_bps == 0)
        (void)snprintf(text, 80, "below %s", below);
    else if (isinf(p->below_bps))
        (void)snprintf(text, 80, "from %s", from);
    else
        (void)snprintf(text, 80, "%s to %s", from, below);
}

/* --- one candidate --- */

int cc_advise_sum_payloads(struct advise *a, struct cc_error *e)
{
    const struct cc_forecast *f = &a->forecast;
    CC_TRY(CC_NEW(a->summed, f->schemes->count, e));
    for (size_t i = 0; i < f->schemes->count; i++) {
        a->summed[i] = f->payloads[i];
        a->summed[i].reduction = CC_REDUCE_SUM;
    }
    return CC_OK;
}

const struct cc_step_payloads *cc_advise_payloads(const struct advise *a,
                                                  const struct cc_deployment *by, size_t scheme)
{
    const bool plain =
        strcmp(cc_forecast_scheme(&a->forecast, scheme), cc_forecast_baseline(&a->forecast)) == 0;
    /* Where gradients are added in levels, those that are encoded are decoded to be added. */
    const bool levels = by->id == CC_BY_ZEROPP || by->id == CC_BY_SDP4BIT;
    const bool sums =
        by->exchange == CC_EXCHANGE_COUNT && by->id != CC_BY_OWN && (plain || !levels);
    return sums ? &a->summed[scheme] : cc_forecast_payloads(&a->forecast, scheme, by->on_host);
}

/* The payloads of parameters that a deployment's system encodes; NULL: it sends them as they are.
 */
static int weights_of(struct advise *a, const struct cc_deployment *by,
                      const struct cc_step_payloads **out, struct cc_error *e)
{
    struct cc_forecast_weights *w = &a->weights[by->id];
    const char *scheme = by->id != CC_BY_OWN ? cc_systems[by->system].weight_scheme : NULL;
    *out = NULL;
    if (scheme == NULL)
        return CC_OK;
    if (w->spec.count == 0) {
        CC_TRY(cc_spec_list_parse(scheme, &w->spec, e));
        CC_TRY(cc_forecast_weights_load(&a->forecast, &w->spec, w, e));
    }
    *out = &w->payloads;
    return CC_OK;
}

int cc_advise_candidate(struct advise *a, const struct cc_setting *setting,
                        const struct cc_deployment *by, size_t scheme, struct candidate *c,
                        struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    struct cc_setting with = *setting;
    const struct cc_setting *const s = &with;
    if (by->id != CC_BY_OWN)
        CC_TRY(weights_of(a, by, &with.sharded.weights, e));
    const struct cc_verdict_limits *limits = &f->limits;
    *c = (struct candidate){
        .scheme = scheme, .plan = {by, 0}, .payloads = cc_advise_payloads(a, by, scheme)};
    cc_plan_apply(&c->plan, s, &c->s);
    const struct cc_accuracy accuracy = cc_forecast_accuracy(f, &c->s, scheme);
    c->error = cc_accuracy_sum_error(&accuracy);
    c->lost = isnan(accuracy.lost) ? 0 : accuracy.lost;
    c->compared = c->payloads->period > 1 ? (double)NAN : c->error;
    c->ruling = cc_verdict_rule(limits, &accuracy);
    c->uncertain = cc_verdict_uncertain(limits, &accuracy);
    cc_input_carries_print(&c->s, f->schemes->item[scheme], c->refused, sizeof c->refused);
    struct cc_error why;
    if (c->refused[0] == '\0' && cc_sharded_check(&c->s, &why) != CC_OK)
        (void)snprintf(c->refused, sizeof c->refused, "not modelled in this setting");
    if (c->refused[0] != '\0')
        return CC_OK;
    if (by->id == CC_BY_OWN)
        CC_TRY(cc_predict(&f->predictor, s, c->payloads, &c->p, e));
    else
        CC_TRY(cc_plan_best(&f->predictor, s, c->payloads, by, &c->plan, &c->p, e));
    cc_plan_apply(&c->plan, s, &c->s);
    cc_ruling_print(c->ruling, limits, &accuracy, c->refused, sizeof c->refused);
    if (by->id == CC_BY_SDP4BIT && c->refused[0] == '\0')
        (void)snprintf(c->refused, sizeof c->refused, "no package has it; `commcomp run` does");
    return CC_OK;
}

/* --- memory --- */

/* Language models train with Adam in mixed precision, others by SGD with momentum. */
static struct cc_memory_plan states_of(const struct advise *a)
{
    const bool attends = cc_evidence_attends(a->forecast.cluster.net);
    return (struct cc_memory_plan){.type_bytes = attends ? 2 : 4,
                                   .moments = attends ? CC_MOMENTS_ADAM : CC_MOMENTS_MOMENTUM,
                                   .group = 1};
}

/* The bytes of a worker's states by a plan, or by the system's collectives where it has them. */
static double states_bytes(const struct cc_setting *s, const struct cc_memory_plan *plan)
{
    return s->sharded.collectives.count > 0 ? cc_sharded_states(s, plan->moments, 0).total
                                            : cc_memory_states((double)s->net->values, plan).total;
}

void cc_advise_memory(const struct advise *a, struct ranking *r)
{
    const struct cc_device *d = a->forecast.cluster.accelerator;
    const struct cc_memory_plan plan = states_of(a);
    r->states_bytes = states_bytes(r->s, &plan);
    r->fits = d == NULL || r->states_bytes <= cc_device_memory_bytes(d);
}

/* Refuses a deployment whose states do not fit the device. */
static void check_memory(const struct advise *a, const struct ranking *r, struct candidate *c)
{
    const struct cc_device *d = a->forecast.cluster.accelerator;
    struct cc_memory_plan plan = states_of(a);
    if (r->fits || d == NULL)
        return;
    plan.sharding = cc_plan_sharding(c->plan.by);
    plan.group = plan.sharding == CC_SHARDING_NONE        ? 1
                 : cc_systems[c->plan.by->system].in_host ? cc_cluster_per_host(&r->s->cluster)
                                                          : r->s->cluster.workers;
    double bytes = c->plan.by->id == CC_BY_OWN
                       ? states_bytes(r->s, &plan)
                       : cc_memory_states((double)r->s->net->values, &plan).total;
    if (c->plan.by->id != CC_BY_OWN && cc_systems[c->plan.by->system].secondary)
        bytes += (double)r->s->net->values * plan.type_bytes / cc_cluster_per_host(&r->s->cluster);
    if (bytes > cc_device_memory_bytes(d))
        (void)snprintf(c->refused, sizeof c->refused, "states take %.3g GB of %.3g", bytes / 1e9,
                       cc_device_memory_bytes(d) / 1e9);
}

/* --- the list --- */

/* Whether accelerators have fp8 as torchft's kernels send it (compute capability 9.0). */
static bool has_fp8(const struct advise *a, const struct cc_setting *s)
{
    const struct cc_device *d = a->forecast.cluster.accelerator;
    if (d == NULL)
        return strcmp(s->cluster.intra.name, "nvlink4") == 0;
    return strcmp(d->name, "h100") == 0 || strcmp(d->name, "h200") == 0;
}

/* Whether a deployment is a candidate in the setting. */
static bool is_tried(const struct advise *a, const struct ranking *r, const struct cc_deployment *d)
{
    const enum cc_system_id system = a->forecast.cluster.system.id;
    if (!a->deployed)
        return d->id == CC_BY_OWN;
    const bool sharded = cc_plan_sharding(d) != CC_SHARDING_NONE;
    const struct cc_cluster *c = &r->s->cluster;
    if (d->id == CC_BY_OWN || (sharded ? CC_SYSTEM_DDP : d->system) != system ||
        (d->needs_device && !c->accelerated))
        return false;
    const bool inside = d->id == CC_BY_HSDP || d->id == CC_BY_ZEROPP || d->id == CC_BY_SDP4BIT;
    if (inside && (cc_cluster_per_host(c) == 1 || cc_cluster_hosts(c) == 1))
        return false;
    if (sharded)
        return !r->fits;
    return d->id != CC_BY_TORCHFT || (!a->system_given && has_fp8(a, r->s));
}

int cc_advise_list(struct advise *a, struct ranking *r, struct cc_error *e)
{
    const struct cc_spec_list *schemes = a->forecast.schemes;
    CC_TRY(CC_NEW(r->c, CC_DEPLOYMENTS * schemes->count, e));
    for (const struct cc_deployment *d = cc_deployments; d < cc_deployments + CC_DEPLOYMENTS; d++) {
        if (!is_tried(a, r, d))
            continue;
        for (size_t i = 0; i < schemes->count; i++) {
            const bool plain = strcmp(cc_forecast_scheme(&a->forecast, i),
                                      cc_forecast_baseline(&a->forecast)) == 0;
            if (!cc_plan_takes(d, schemes->item[i]->scheme->id, plain))
                continue;
            struct candidate *c = &r->c[r->count++];
            CC_TRY(cc_advise_candidate(a, r->s, d, i, c, e));
            if (c->refused[0] == '\0')
                check_memory(a, r, c);
        }
    }
    return CC_OK;
}

/* --- the schemes --- */

/* Codecs of libraries for processors: lossless ones that exponent beats in size and speed, and one
 * that int8 does. They are measured where everything is asked for. */
static bool is_slow(const struct cc_spec *s)
{
    static const char *const ids[] = {"zstd", "lz4", "pairs", "zfp"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (strcmp(s->scheme->id, ids[i]) == 0)
            return true;
    return false;
}

/* Whether our own trainings might admit a scheme in some exchange. */
static bool may_be_admitted(const struct advise *a, const struct cc_spec *s)
{
    static const enum cc_exchange exchanges[] = {CC_ALLGATHER, CC_PS};
    const struct cc_verdict_limits *l = &a->forecast.limits;
    if (l->by != CC_BY_EVIDENCE || (s->scheme->flags & CC_LOSSY) == 0)
        return true;
    for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++) {
        struct cc_evidence found;
        if (cc_evidence_find(&a->forecast.evidence, exchanges[i], s->name, &found) &&
            (found.lost <= l->lost || found.low <= l->lost))
            return true;
    }
    return false;
}

static int add_scheme(const char *name, struct cc_spec_list *list, struct cc_error *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i]->name, name) == 0)
            return CC_OK;
    return cc_spec_list_parse(name, list, e);
}

int cc_advise_default_schemes(struct advise *a, bool all, struct cc_error *e)
{
    struct cc_spec_list *list = a->forecast.schemes;
    const struct cc_evidence_list *evidence = &a->forecast.evidence;
    const char *path = a->forecast.profile_args.path;
    struct cc_profile known = {0};
    if (path != NULL)
        CC_TRY(cc_profile_read(path, &known, e));
    int status = CC_OK;
    for (size_t i = 0; a->deployed && i < evidence->sheet.rows && status == CC_OK; i++)
        if (path == NULL || cc_profile_find(&known, evidence->row[i].scheme) != NULL)
            status = add_scheme(evidence->row[i].scheme, list, e);
    cc_profile_free(&known);
    CC_TRY(status);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct cc_spec *s = list->item[i];
        if (all || !a->deployed || (may_be_admitted(a, s) && !is_slow(s)))
            list->item[kept++] = s;
        else
            cc_spec_free(s);
    }
    list->count = kept;
    return CC_OK;
}
