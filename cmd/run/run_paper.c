/* --paper: a published table's set-up in a lab, and its figures beside what is measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run/run.h"
#include "core/memory.h"
#include "models/paper/paper.h"

struct run_paper {
    struct cc_paper *paper;
    char hidden[32], residue[32], time[32]; /* as options */
    double compute;                         /* in units of fp32's traffic at 10 Mbit/s */
    double squares, worst;                  /* of the errors so far */
    size_t cells;
};

/* --- the set-up --- */

static double constant(const struct cc_paper *p, const char *name)
{
    for (size_t i = 0; i < p->constants; i++)
        if (strcmp(p->constant[i].name, name) == 0)
            return p->constant[i].value;
    return NAN;
}

/* Options that are part of the set-up. */
static int set_options(struct cc_args *args, const struct run_paper *p, struct cc_error *e)
{
    const struct {
        const char *name, *value;
    } all[] = {{"workers", "10"},     {"servers", "1"},      {"exchange", "ps"},
               {"net", "resnet110"},  {"hidden", p->hidden}, {"raw-share", p->residue},
               {"values", NULL},      {"compute", NULL},     {"mode", NULL},
               {"calibration", NULL}, {"min-size", NULL},    {"fuse", NULL},
               {"stragglers", NULL},  {"update", NULL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (cc_arg(args, all[i].name) != NULL)
            return cc_usage(e, "--paper %s and --%s exclude each other: the table says it",
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
    int status = cc_paper_open(name, &p->paper, e);
    if (status == CC_OK)
        status = cc_paper_solve(p->paper, e);
    if (status != CC_OK)
        return status;
    p->compute = constant(p->paper, "compute");
    (void)snprintf(p->hidden, sizeof p->hidden, "%.9g", constant(p->paper, "overlap"));
    (void)snprintf(p->residue, sizeof p->residue, "%.9g", constant(p->paper, "residue"));
    return set_options(args, p, e);
}

void cc_run_paper_free(struct run_paper *p)
{
    if (p != NULL)
        cc_paper_free(p->paper);
    free(p);
}

/* The table's unit of time is what fp32's traffic takes at 10 Mbit/s, here in this lab. */
int cc_run_paper_scale(struct run *r, struct cc_error *e)
{
    struct cc_forecast *f = &r->plan.forecast;
    struct cc_setting s = f->cluster.setting;
    struct cc_prediction p;
    if (r->paper == NULL)
        return CC_OK;
    int status = cc_link_parse("10mbps", &s.link, e);
    if (status == CC_OK)
        status = cc_predict(&f->predictor, &s, &f->raw, &p, e);
    if (status != CC_OK)
        return status;
    f->cluster.setting.timing.compute_s = r->paper->compute * p.comm_s;
    (void)snprintf(r->paper->time, sizeof r->paper->time, "%.9gs", r->paper->compute * p.comm_s);
    cc_arg_set(r->plan.args, "compute", r->paper->time);
    return CC_OK;
}

/* --- its figures --- */

static double figure(const struct cc_paper *p, const char *scheme, double bw_bps)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; k < p->columns; k++)
            if (p->row[i].scheme != NULL && strcmp(p->row[i].scheme, scheme) == 0 &&
                p->column[k].inputs.count == 1 && p->column[k].inputs.item[0].value * 1e6 == bw_bps)
                return p->row[i].figure[k];
    return NAN;
}

void cc_run_paper_row(struct run *r, size_t row, const struct cc_setting *s, const char *scheme)
{
    struct run_paper *p = r->paper;
    const struct cc_value *speedup = cc_record_value(r->plan.record, row, "speedup");
    double printed = p != NULL ? figure(p->paper, scheme, s->link.bw_bps) : NAN;
    if (p == NULL || !(printed > 0))
        return;
    cc_record_number(r->plan.record, row, "speedup_paper", printed);
    if (speedup->kind != CC_NUMBER)
        return;
    double error = speedup->number / printed - 1;
    cc_record_number(r->plan.record, row, "error", error);
    p->squares += error * error;
    p->worst = fabs(error) > fabs(p->worst) ? error : p->worst;
    p->cells++;
}

int cc_run_paper_notes(struct run *r, struct cc_error *e)
{
    const struct run_paper *p = r->paper;
    if (p == NULL)
        return CC_OK;
    int status = cc_record_note(
        r->plan.record, e,
        "paper: %s, %s. Its compute time (%.4g s here: %.4g of what fp32's traffic takes at 10 "
        "Mbit/s), the share of it beside the exchange (%.3g) and the uncompressed share (%.3g) are "
        "fitted to the table itself (`commcomp paper %s`): a fit of %zu constants to %zu figures, "
        "not a validation",
        p->paper->paper, p->paper->place, r->plan.forecast.cluster.setting.timing.compute_s,
        p->compute, constant(p->paper, "overlap"), constant(p->paper, "residue"), p->paper->id,
        p->paper->fitted, p->paper->figures);
    if (status == CC_OK && p->cells > 0)
        status =
            cc_record_note(r->plan.record, e,
                           "measured speedups against the paper's: rms error %.1f%%, worst "
                           "%+.1f%%, of %zu",
                           100 * sqrt(p->squares / (double)p->cells), 100 * p->worst, p->cells);
    return status;
}
