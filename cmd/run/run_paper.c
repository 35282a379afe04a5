/* A recipe whose time of computing is a share of that of fp32's traffic: its table is the one of
 * `commcomp paper` that the share is fitted to. */
#include "cmd/run/run.h"
#include "core/units.h"
#include "models/paper/paper.h"

static const char *text_of(const struct cc_recipe_command *c, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(c->computing, key)->valuestring;
}

int cc_run_paper_scale(struct run *r, const struct cc_recipe_command *c,
                       struct cc_experiment_input *input, struct cc_error *e)
{
    struct cc_forecast *f = &input->forecast;
    struct cc_setting s = f->cluster.setting;
    struct cc_prediction fp32;
    if (c == NULL || c->computing == NULL)
        return CC_OK;
    CC_TRY(cc_paper_open(text_of(c, "table"), &r->paper, e));
    CC_TRY(cc_paper_solve(r->paper, e));
    CC_TRY(cc_link_parse(text_of(c, "bw"), &s.link, e));
    CC_TRY(cc_predict(&f->predictor, &s, &f->raw, &fp32, e));
    r->compute = cc_paper_constant_value(r->paper, text_of(c, "constant"));
    f->cluster.setting.timing.compute_s = r->compute * fp32.comm_s;
    f->cluster.compute_given = true;
    return CC_OK;
}

int cc_run_paper_notes(const struct run *r, struct cc_error *e)
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

void cc_run_paper_free(struct run *r)
{
    cc_paper_free(r->paper);
}
