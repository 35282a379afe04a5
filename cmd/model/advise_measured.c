/* --measured: steps of the user's own job, to which the formulas' unknowns are fitted by least
 * squares: the share of the line rate that is reached, the share of what overlapping saves that is
 * lost all the same, and the compute time if it is not given. With fewer steps than unknowns, the
 * first ones alone are fitted. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/model/advise.h"
#include "core/memory.h"
#include "core/units.h"
#include "models/fit.h"
#include "results/sheet.h"

enum { MOST_STEPS = sizeof((struct advise *)0)->measured / sizeof(struct measured_step) };

/* A fit that misses its steps by more than this, rms of the relative residuals, says that they are
 * of another job. */
#define WORST_FIT 0.3

/* --- reading --- */

static int add_step(struct advise *a, const char *scheme, double step_s, struct cc_error *e)
{
    struct cc_spec *spec;
    CC_TRY(cc_spec_parse(scheme, &spec, e));
    int status = CC_OK;
    if (a->measured_count == MOST_STEPS)
        status = cc_usage(e, "at most %d steps", MOST_STEPS);
    else if (!(step_s > 0))
        status = cc_usage(e, "%s: a step takes more than 0 s", scheme);
    for (size_t i = 0; i < a->measured_count && status == CC_OK; i++)
        if (strcmp(a->measured[i].scheme, spec->name) == 0)
            status = cc_usage(e, "%s has two steps: give one, the mean", spec->name);
    if (status == CC_OK) {
        struct measured_step *m = &a->measured[a->measured_count++];
        (void)snprintf(m->scheme, sizeof m->scheme, "%.63s", spec->name);
        m->step_s = step_s;
    }
    cc_spec_free(spec);
    return status;
}

/* Parses "fp32=869ms,powersgd:rank=4=526ms": a time follows the last "=" of each item. */
static int parse_list(const char *text, struct advise *a, struct cc_error *e)
{
    char *copy = cc_strdup(text, e), *rest = copy, *item;
    int status = copy != NULL ? CC_OK : CC_FAIL;
    while (status == CC_OK && (item = strsep(&rest, ",")) != NULL) {
        char *equals = strrchr(item, '=');
        double seconds = 0;
        if (equals == NULL) {
            status = cc_usage(e, "'%s' is not SCHEME=TIME, as in fp32=869ms", item);
            break;
        }
        *equals = '\0';
        status = cc_parse_time(equals + 1, &seconds, e);
        if (status == CC_OK)
            status = add_step(a, item, seconds, e);
    }
    free(copy);
    return status;
}

/* Reads the rows of a file that commcomp's hook wrote, or `run`: scheme and step_s. */
static int read_file(const char *path, struct advise *a, struct cc_error *e)
{
    struct cc_sheet sheet = {0};
    CC_TRY(cc_sheet_read(path, &sheet, e));
    const size_t scheme = cc_sheet_column(&sheet, "scheme");
    const size_t step = cc_sheet_column(&sheet, "step_s");
    int status = CC_OK;
    if (scheme == SIZE_MAX || step == SIZE_MAX)
        status = cc_usage(e, "%s: it has no columns scheme and step_s", path);
    for (size_t i = 0; i < sheet.rows && status == CC_OK; i++) {
        const char *name = cc_sheet_value(&sheet, i, scheme)->text;
        double seconds = 0;
        status = cc_sheet_number(&sheet, i, step, &seconds, e);
        if (status == CC_OK && name != NULL)
            status = add_step(a, name, seconds, e);
    }
    cc_sheet_free(&sheet);
    return status;
}

static bool is_file(const char *text)
{
    const size_t n = strlen(text);
    return (n > 4 && strcmp(text + n - 4, ".csv") == 0) ||
           (n > 5 && strcmp(text + n - 5, ".json") == 0);
}

int cc_advise_parse_measured(const char *text, struct advise *a, struct cc_error *e)
{
    CC_TRY_IN(is_file(text) ? read_file(text, a, e) : parse_list(text, a, e), e, "--measured");
    return CC_OK;
}

/* --- fitting --- */

struct problem {
    struct advise *a;
    const struct cc_setting *s;
    struct candidate of[MOST_STEPS]; /* the deployment and payloads of each step */
    bool computes;                   /* the compute time is one of the unknowns */
    size_t constants;
};

enum { SHARE, UNHIDDEN, COMPUTE };

/* The constants in the order in which few steps determine them. */
static size_t order(const struct problem *q, size_t i)
{
    static const size_t with[] = {COMPUTE, SHARE, UNHIDDEN}, without[] = {SHARE, UNHIDDEN, COMPUTE};
    return q->computes ? with[i] : without[i];
}

static void set_constants(const struct problem *q, const double *x, struct cc_setting *out)
{
    *out = *q->s;
    assert(q->constants <= 3);
    for (size_t i = 0; i < q->constants; i++) {
        if (order(q, i) == SHARE) {
            out->link.achieved = x[i];
            out->cluster.wan_bps *= x[i];
        } else if (order(q, i) == UNHIDDEN) {
            out->timing.unhidden = x[i];
        } else {
            out->timing.compute_s = x[i];
        }
    }
}

/* Predicts the steps with a setting; NaN where that fails. */
static void predict_all(struct problem *q, const struct cc_setting *s, double *step_s)
{
    for (size_t i = 0; i < q->a->measured_count; i++) {
        struct cc_setting there;
        struct cc_prediction p;
        cc_plan_apply(&q->of[i].plan, s, &there);
        step_s[i] =
            cc_predict(&q->a->forecast.predictor, &there, q->of[i].payloads, &p, NULL) == CC_OK
                ? p.step_s
                : NAN;
    }
}

static void residuals(void *arg, const double *x, double *residual)
{
    struct problem *q = arg;
    struct cc_setting s;
    set_constants(q, x, &s);
    predict_all(q, &s, residual);
    for (size_t i = 0; i < q->a->measured_count; i++)
        residual[i] = residual[i] / q->a->measured[i].step_s - 1;
}

/* Finds the deployment by which a scheme's step was measured: the first that takes it, as it comes.
 */
static int find_deployment(struct advise *a, const struct cc_setting *s, const char *scheme,
                           struct candidate *out, struct cc_error *e)
{
    const struct cc_spec_list *schemes = a->forecast.schemes;
    size_t at = 0;
    while (at < schemes->count && strcmp(schemes->item[at]->name, scheme) != 0)
        at++;
    if (at == schemes->count)
        return cc_usage(e, "--measured: %s is not among the schemes of --scheme", scheme);
    const bool plain = strcmp(scheme, cc_forecast_baseline(&a->forecast)) == 0;
    for (const struct cc_deployment *d = cc_deployments; d < cc_deployments + CC_DEPLOYMENTS; d++) {
        const bool suits = a->deployed
                               ? d->system == a->forecast.cluster.system.id &&
                                     (!d->needs_device || s->cluster.accelerated) &&
                                     cc_plan_sharding(d) == CC_SHARDING_NONE && d->id != CC_BY_OWN
                               : d->id == CC_BY_OWN;
        if (!suits || !cc_plan_takes(d, schemes->item[at]->scheme->id, plain))
            continue;
        *out = (struct candidate){
            .scheme = at, .plan = {d, 0}, .payloads = cc_advise_payloads(a, d, at)};
        return CC_OK;
    }
    return cc_usage(e, "--measured: nothing here exchanges %s", scheme);
}

int cc_advise_fit(struct advise *a, struct cc_setting *s, struct measured_fit *out,
                  struct cc_error *e)
{
    static const struct cc_fit_constant bounds[] = {[SHARE] = {.min = 1e-3, .max = 1.2},
                                                    [UNHIDDEN] = {.min = 1e-3, .max = 1},
                                                    [COMPUTE] = {.min = 1e-6, .max = 1e4}};
    const struct cc_setting given = *s;
    struct problem q = {.a = a, .s = &given, .computes = s->timing.compute_s == 0};
    struct cc_fit_constant x[3];
    double found[3] = {0}, rms;
    *out = (struct measured_fit){.count = a->measured_count};
    if (a->measured_count == 0)
        return CC_OK;
    if (q.computes && a->measured_count == 1)
        return cc_usage(e, "--measured: one step does not tell computing from the network: give "
                           "the step of a second scheme, too, or --compute");
    for (size_t i = 0; i < a->measured_count; i++)
        CC_TRY(find_deployment(a, s, a->measured[i].scheme, &q.of[i], e));
    const size_t unknown =
        (q.computes ? 1u : 0u) + 1 + (s->timing.mode == CC_OVERLAP || a->deployed);
    q.constants = unknown < a->measured_count ? unknown : a->measured_count;
    for (size_t i = 0; i < q.constants; i++)
        x[i] = bounds[order(&q, i)];
    CC_TRY_IN(cc_fit(residuals, &q, a->measured_count, x, q.constants, &rms, e), e, "--measured");
    for (size_t i = 0; i < q.constants; i++)
        found[i] = x[i].value;
    set_constants(&q, found, s);
    if (rms > WORST_FIT)
        return cc_fail(e,
                       "--measured: the formulas miss these steps by %.0f%% (rms) however fast "
                       "computing and links are; are they of this net, cluster and batch?",
                       100 * rms);
    out->constants = q.constants;
    out->rms = rms;
    out->share = 1;
    for (size_t i = 0; i < q.constants; i++) {
        double *const value[] = {&out->share, &out->unhidden, &out->compute_s};
        double *const sd[] = {&out->share_sd, &out->unhidden_sd, &out->compute_sd};
        *value[order(&q, i)] = x[i].value;
        *sd[order(&q, i)] = x[i].deviation;
    }
    predict_all(&q, s, out->predicted);
    return CC_OK;
}
