/* The notes under run's table: the fastest scheme of each setting, where model and measurement
 * differ and why, and the circumstances of the measurement. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/run/run.h"
#include "models/diagnosis.h"
#include "models/paper/paper.h"
#include "results/machine_info.h"

/* A share of a phase's bytes that passes at once and is worth a word. */
#define BURST_SHARE 0.05
/* The same of a step for which a rank waits for a core that another program has. */
#define BUSY_SHARE 0.05

/* --- on a setting --- */

/* docs/run.md has the differences that were found. */
double cc_run_limit(const struct cc_setting *s)
{
    if (!cc_exchange_has(s->exchange, CC_X_SERVERS))
        return 0.15;
    return s->link.bw_bps >= 1e9 ? 0.08 : 0.03;
}

/* The largest burst_share of the rows whose model_error is beyond the limit. */
static double worst_burst(const struct cc_experiment *x, size_t first, double limit)
{
    double worst = 0;
    for (size_t i = first; i < x->measured_rows; i++)
        if (fabs(x->measured[i].model_error) > limit)
            worst = fmax(worst, x->measured[i].burst_share);
    return worst;
}

/* Whether other programs delayed the ranks of a row. */
static bool delayed(const struct cc_measured_row *m)
{
    return m->other_cores > CC_BUSY_CORES && m->core_wait_s > BUSY_SHARE * m->step_s;
}

/* Whether they did so in a row whose model_error is beyond the limit. */
static bool any_delayed(const struct cc_experiment *x, size_t first, double limit)
{
    for (size_t i = first; i < x->measured_rows; i++)
        if (fabs(x->measured[i].model_error) > limit && delayed(&x->measured[i]))
            return true;
    return false;
}

const char *cc_run_cause(void *arg, const struct cc_experiment_setting *s, size_t first,
                         double worst)
{
    const struct run *r = arg;
    (void)worst;
    if (!r->options.hosts.lab)
        return "other traffic, or links other than --bw describes: `commcomp calibrate` measures "
               "them";
    if (any_delayed(&r->experiment, first, cc_run_limit(&s->setting)))
        return "other programs (below)";
    if (worst_burst(&r->experiment, first, cc_run_limit(&s->setting)) > BURST_SHARE)
        return "the burst (below)";
    if (cc_exchange_has(s->setting.exchange, CC_X_LIBRARY))
        return "the library's own exchange: the model takes the fastest that it might choose";
    if (s->setting.timing.straggler != CC_STEADY)
        return "stragglers: the model has the mean over all draws, the run those of its --steps";
    if (s->oversubscribed)
        return "more busy ranks than cores: they compute and encode by turns, and the network "
               "waits for them";
    if (s->setting.link.bw_bps >= 1e9)
        return "the cores: they carry every byte of this network several times";
    return "the scatter of few steps, or TCP: `commcomp validate` tells them apart";
}

/* --- on all rows --- */

/* Bytes of the busiest link in a phase; INFINITY: not known. */
static double phase_bytes(const struct cc_measured_row *m)
{
    return m->burst_share > 0 ? m->setting->setting.link.burst_bytes / m->burst_share
                              : (double)INFINITY;
}

void cc_run_burst_remedy(const struct cc_measured_row *m, char *out, size_t cap)
{
    const double enough = m != NULL ? floor(0.9 * BURST_SHARE * phase_bytes(m)) : INFINITY;
    if (isinf(enough))
        (void)snprintf(out, cap, "--burst 1 takes the buckets out of the formula");
    else if (enough >= CC_LAB_FRAME)
        (void)snprintf(out, cap, "--burst %.0f lets less than %.0f%% pass at once", enough,
                       100 * BURST_SHARE);
    else
        (void)snprintf(out, cap,
                       "none: buckets hold a frame at least, which is much of so few bytes; the "
                       "model takes them into account");
}

static int note_burst(struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    const struct cc_measured_row *worst = NULL, *least = NULL; /* by share; by bytes of a phase */
    size_t count = 0;
    char remedy[160];
    for (size_t i = 0; i < x->measured_rows; i++) {
        const struct cc_measured_row *m = &x->measured[i];
        if (!(m->burst_share > BURST_SHARE))
            continue;
        count++;
        if (worst == NULL || m->burst_share > worst->burst_share)
            worst = m;
        if (least == NULL || phase_bytes(m) < phase_bytes(least))
            least = m;
    }
    if (worst == NULL)
        return CC_OK;
    const struct cc_setting *s = &worst->setting->setting;
    cc_run_burst_remedy(least, remedy, sizeof remedy);
    return cc_record_warn(
        x->record, e,
        "in %zu row%s the links' buckets let pass more than %.0f%% of a phase at once (%.0f%% with "
        "%s over %s at %s): a network without them would be slower. Remedy: %s",
        count, count == 1 ? "" : "s", 100 * BURST_SHARE, 100 * fmin(1, worst->burst_share),
        cc_experiment_scheme(x, worst->row), cc_exchange_names[s->exchange], s->link.name, remedy);
}

static int note_oversubscription(struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    double most = 0;
    struct cc_machine_info host;
    for (size_t i = 0; i < x->settings; i++)
        if (x->setting[i].oversubscribed)
            most = fmax(most, x->setting[i].ranks_per_core);
    if (most == 0)
        return CC_OK;
    cc_machine_info_read(&host);
    return cc_record_warn(
        x->record, e,
        "oversubscribed: up to %.0f busy ranks share %d cores; codec times include "
        "waiting for a core, and would be shorter on separate hosts",
        most * host.cores, host.cores);
}

/* Whether other programs delayed the ranks, in the row whose steps waited longest. */
static int note_busy(struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    const struct cc_measured_row *worst = NULL;
    for (size_t i = 0; i < x->measured_rows; i++) {
        const struct cc_measured_row *m = &x->measured[i];
        if (delayed(m) &&
            (worst == NULL || m->core_wait_s / m->step_s > worst->core_wait_s / worst->step_s))
            worst = m;
    }
    if (worst == NULL)
        return CC_OK;
    return cc_record_warn(
        x->record, e,
        "this machine was busy: with %s, other programs had %.2g cores, and a rank waited for one "
        "for %.0f%% of a step. Remedy: a quiet machine; step_s_q25 has the steps that were "
        "delayed least",
        cc_experiment_scheme(x, worst->row), worst->other_cores,
        100 * fmin(1, worst->core_wait_s / worst->step_s));
}

static int note_network(struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    if (x->measured_rows == 0 || x->mpi[0] == '\0')
        return CC_OK;
    const int name = (int)strcspn(x->mpi, ","); /* JSON has all of it */
    if (r->congestion[0] == '\0')
        return cc_record_note(x->record, e, "ran over %.*s", name, x->mpi);
    return cc_record_note(x->record, e,
                          "ran over %.*s in a lab on this machine, congestion control %s", name,
                          x->mpi, r->congestion);
}

static int note_paper(const struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    const struct cc_paper *p = r->paper;
    if (p == NULL)
        return CC_OK;
    return cc_record_note(
        x->record, e,
        "paper: %s, %s. Its compute time (%.4g s here: %.4g of what fp32's traffic takes at 10 "
        "Mbit/s), the share of it beside the exchange (%.3g) and the uncompressed share (%.3g) are "
        "fitted to the table itself (`commcomp paper %s`): a fit of %zu constants to %zu figures, "
        "not a validation",
        p->paper, p->place, x->forecast->cluster.setting.timing.compute_s, r->compute,
        cc_paper_constant_value(p, "overlap"), cc_paper_constant_value(p, "residue"), p->id,
        p->fitted, p->figures);
}

int cc_run_notes(struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    CC_TRY(cc_forecast_note_winners(x->forecast, x->record, e));
    CC_TRY(note_paper(r, e));
    CC_TRY(note_burst(r, e));
    CC_TRY(note_oversubscription(r, e));
    CC_TRY(note_busy(r, e));
    CC_TRY(note_network(r, e));
    CC_TRY(cc_experiment_note_gradients(x, x->record, e));
    return cc_forecast_note_sources(x->forecast, x->record, e);
}
