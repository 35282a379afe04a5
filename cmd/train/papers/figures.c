/* The time of computing that a recipe gives as a share of that of fp32's traffic, and its notes. */
#include <math.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/times/times.h"
#include "core/units.h"
#include "models/paper/paper.h"

/* The value of a constant of the table that the recipe names. */
static double constant(const struct cc_train *t, const char *key)
{
    return cc_paper_constant_value(t->paper, cc_recipe_text(t->args->recipe->computing, key));
}

/* Whether the recipe sets the time of computing. */
static bool sets_compute(const struct cc_train *t)
{
    return t->args->recipe != NULL && t->args->recipe->computing != NULL && t->options.links > 0 &&
           cc_arg(t->args, "compute") == NULL;
}

/* The time of a step's communication with fp32: of 3LC over a link of the recipe's rate, and of
 * Pipe-SGD in D-Sync, over the fastest link. */
static int raw_comm_s(const struct cc_train *t, double *out, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    const char *bw = cc_recipe_text(t->args->recipe->computing, "bw");
    struct cc_train sync = *t;
    struct cc_link link = o->link[0];
    for (size_t i = 1; i < o->links && bw == NULL; i++)
        if (o->link[i].bw_bps > link.bw_bps)
            link = o->link[i];
    if (bw != NULL) {
        CC_TRY(cc_parse_rate(bw, &link.bw_bps, e));
    } else {
        sync.options.training.exchange = CC_RING;
        sync.options.training.mode = CC_SEQUENTIAL;
    }
    return cc_train_raw_comm_s(&sync, &link, out, e);
}

int cc_train_paper_open(struct cc_train *t, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    double comm_s;
    if (!sets_compute(t))
        return CC_OK;
    CC_TRY(cc_paper_open(cc_recipe_text(t->args->recipe->computing, "table"), &t->paper, e));
    CC_TRY(cc_paper_solve(t->paper, e));
    CC_TRY(raw_comm_s(t, &comm_s, e));
    if (t->frameworks != NULL) { /* the table has traffic over computing */
        o->compute_s = comm_s / constant(t, "constant");
        return CC_OK;
    }
    o->compute_s = constant(t, "constant") * comm_s;
    if (o->training.mode == CC_SEQUENTIAL &&
        cc_recipe_text(t->args->recipe->computing, "hidden") != NULL)
        o->hidden_share = constant(t, "hidden");
    return CC_OK;
}

void cc_train_paper_free(struct cc_train *t)
{
    cc_paper_free(t->paper);
}

int cc_train_paper_notes(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    char compute[32];
    if (t->args->recipe == NULL)
        return CC_OK;
    const cJSON *notes = t->args->recipe->notes;
    for (const cJSON *n = notes != NULL ? notes->child : NULL; n != NULL; n = n->next)
        CC_TRY(cc_record_note(t->record, e, "%s", n->valuestring));
    if (!sets_compute(t))
        return CC_OK;
    cc_print_si(o->compute_s, "s", compute, sizeof compute);
    if (t->frameworks != NULL)
        return cc_record_note(
            t->record, e,
            "computing takes %s: D-Sync's traffic with fp32 over the fastest link takes %.3g times "
            "as long, a proportion that is fitted to the paper's speedups (`commcomp paper %s`); "
            "--compute changes that",
            compute, constant(t, "constant"), t->paper->id);
    return cc_record_note(
        t->record, e,
        "computing takes %s, %.2f%% of what fp32's traffic takes at 10 Mbit/s, and %.0f%% of it "
        "goes on beside the exchange: the paper's proportions, which are fitted to its %s "
        "(`commcomp paper %s`); --compute changes that",
        compute, 100 * constant(t, "constant"), 100 * o->hidden_share, t->paper->place,
        t->paper->id);
}
