/* --paper: the set-up of a published table in a lab, and its figures beside the measured ones. The
 * table's unit of time is that of fp32's traffic at 10 Mbit/s, which is computed for this lab. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run/run.h"
#include "core/memory.h"
#include "models/paper/paper.h"

struct run_paper {
    struct cc_paper *paper;
    char hidden[32], residue[32]; /* as arguments of options */
    double compute;               /* compute time / time of fp32's traffic at 10 Mbit/s */
};

/* --- the set-up --- */

/* Sets the options that are part of the set-up, and refuses those that would change it. */
static int set_options(struct cc_args *args, const struct run_paper *p, struct cc_error *e)
{
    const struct {
        const char *name, *value;
    } all[] = {{"workers", "10"},    {"servers", "1"},      {"exchange", "ps"},
               {"net", "resnet110"}, {"hidden", p->hidden}, {"raw-share", p->residue},
               {"device", NULL},     {"values", NULL},      {"compute", NULL},
               {"mode", NULL},       {"calibration", NULL}, {"min-size", NULL},
               {"fuse", NULL},       {"stragglers", NULL},  {"update", NULL},
               {"system", NULL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (cc_arg(args, all[i].name) != NULL)
            return cc_usage(e, "--paper %s and --%s exclude each other: the table fixes it",
                            p->paper->id, all[i].name);
        if (all[i].value != NULL)
            cc_arg_set(args, all[i].name, all[i].value);
    }
    if (cc_arg(args, "bw") == NULL)
        cc_arg_set(args, "bw", "10mbps,100mbps,1gbps");
    return args->schemes.count == 0 ? cc_spec_list_parse("paper", &args->schemes, e) : CC_OK;
}

int cc_run_paper_open(struct cc_args *args, struct run_paper **out, struct cc_error *e)
{
    const char *name = cc_arg(args, "paper");
    if (name == NULL)
        return CC_OK;
    struct run_paper *p = cc_alloc0(sizeof *p, e);
    if (p == NULL)
        return CC_FAIL;
    *out = p;
    CC_TRY(cc_paper_open(name, &p->paper, e));
    CC_TRY(cc_paper_solve(p->paper, e));
    p->compute = cc_paper_constant_value(p->paper, "compute");
    (void)snprintf(p->hidden, sizeof p->hidden, "%.9g",
                   cc_paper_constant_value(p->paper, "overlap"));
    (void)snprintf(p->residue, sizeof p->residue, "%.9g",
                   cc_paper_constant_value(p->paper, "residue"));
    return set_options(args, p, e);
}

void cc_run_paper_free(struct run_paper *p)
{
    if (p != NULL)
        cc_paper_free(p->paper);
    free(p);
}

int cc_run_paper_scale(struct run_paper *p, struct cc_experiment_input *input, struct cc_error *e)
{
    struct cc_forecast *f = &input->forecast;
    struct cc_setting s = f->cluster.setting;
    struct cc_prediction fp32;
    CC_TRY(cc_link_parse("10mbps", &s.link, e));
    CC_TRY(cc_predict(&f->predictor, &s, &f->raw, &fp32, e));
    f->cluster.setting.timing.compute_s = p->compute * fp32.comm_s;
    f->cluster.compute_given = true;
    return CC_OK;
}

/* --- its figures --- */

void cc_run_paper_compare(const struct run *r, struct cc_measured_row *m)
{
    if (r->paper == NULL)
        return;
    const double printed =
        cc_paper_figure(r->paper->paper, cc_experiment_scheme(&r->experiment, m->row), "speedup",
                        m->setting->setting.link.bw_bps / 1e6);
    if (!(printed > 0))
        return;
    m->paper_speedup = printed;
    m->paper_error = m->speedup / printed - 1;
}

int cc_run_paper_notes(struct run *r, struct cc_error *e)
{
    const struct cc_experiment *x = &r->experiment;
    const struct run_paper *p = r->paper;
    double squares = 0, worst = 0;
    size_t figures = 0;
    if (p == NULL)
        return CC_OK;
    CC_TRY(cc_record_note(
        x->record, e,
        "paper: %s, %s. Its compute time (%.4g s here: %.4g of what fp32's traffic takes at 10 "
        "Mbit/s), the share of it beside the exchange (%.3g) and the uncompressed share (%.3g) are "
        "fitted to the table itself (`commcomp paper %s`): a fit of %zu constants to %zu figures, "
        "not a validation",
        p->paper->paper, p->paper->place, x->forecast->cluster.setting.timing.compute_s, p->compute,
        cc_paper_constant_value(p->paper, "overlap"), cc_paper_constant_value(p->paper, "residue"),
        p->paper->id, p->paper->fitted, p->paper->figures));
    for (size_t i = 0; i < x->measured_rows; i++) {
        const double error = x->measured[i].paper_error;
        if (!isfinite(error))
            continue;
        squares += error * error;
        worst = fabs(error) > fabs(worst) ? error : worst;
        figures++;
    }
    if (figures == 0)
        return CC_OK;
    return cc_record_note(x->record, e,
                          "measured speedups against the paper's: rms error %.1f%%, worst "
                          "%+.1f%%, of %zu",
                          100 * sqrt(squares / (double)figures), 100 * worst, figures);
}
