/* What run and sim say under their tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "core/trace/synth.h"

double cc_experiment_number(const struct cc_record *r, size_t row, const char *key)
{
    const struct cc_value *v = cc_record_value(r, row, key);
    return v->kind == CC_NUMBER ? v->number : NAN;
}

/* The list ends with "..." where there is no more room. */
static void add(struct cc_experiment_off *l, size_t *used, const char *scheme, double percent)
{
    char item[96];
    int n =
        snprintf(item, sizeof item, "%s%.60s %+.1f%%", l->count > 0 ? ", " : "", scheme, percent);
    l->count++;
    if (*used + (size_t)n + 5 < sizeof l->text)
        *used += (size_t)snprintf(l->text + *used, sizeof l->text - *used, "%s", item);
    else if (strstr(l->text, " ...") == NULL)
        (void)snprintf(l->text + *used, sizeof l->text - *used, " ...");
}

void cc_experiment_off(const struct cc_experiment *p, size_t first, double limit,
                       struct cc_experiment_off *out)
{
    size_t used = 0;
    *out = (struct cc_experiment_off){.count = 0};
    for (size_t i = first; i < p->record->row_count; i++) {
        double error = cc_experiment_number(p->record, i, "model_error");
        if (!(fabs(error) > limit))
            continue;
        add(out, &used, cc_record_value(p->record, i, "scheme")->text, 100 * error);
        out->worst = fabs(error) > fabs(out->worst) ? error : out->worst;
    }
}

int cc_experiment_note_gradients(struct cc_experiment *p, struct cc_error *e)
{
    const struct cc_experiment_options *o = &p->options;
    if (o->trace != NULL)
        return cc_record_note(p->record, e, "gradients: %s", o->trace);
    return cc_record_note(p->record, e, "gradients: synthetic, %s (--trace: your own)",
                          cc_distribution_names[o->distribution]);
}
