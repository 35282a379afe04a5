/* Evaluations of a training, its progress, and its end if it diverges. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/inprocess/training_impl.h"
#include "netsim/job/training.h"
#include "train/linear/linear.h"

void cc_training_diverge(struct cc_training *s, const char *reason)
{
    s->out->diverged = true;
    s->out->diverged_step = (size_t)s->log.step + 1;
    (void)snprintf(s->out->reason, sizeof s->out->reason, "%s", reason);
}

void cc_training_show(const struct cc_training *s, size_t steps, double loss)
{
    const struct cc_training_log *l = &s->log;
    s->config->progress(s->config->arg, s->config->spec->name, steps, loss,
                        l->evals > 0 ? l->eval[l->evals - 1].accuracy : NAN);
}

/* From the optimum, relative to its norm. */
static double distance(const struct cc_training *s)
{
    const double *to = s->config->optimum;
    double apart = 0, norm = 0;
    if (to == NULL)
        return NAN;
    for (size_t j = 0; j < s->values; j++) {
        const double d = (double)s->weights[j] - to[j];
        apart += d * d;
        norm += to[j] * to[j];
    }
    return sqrt(apart / norm);
}

/* How much the workers' gradients of a linear model have in common. */
static int measure_unions(struct cc_training *s, struct cc_error *e)
{
    uint64_t *set;
    CC_TRY(CC_NEW(set, (s->values + 63) / 64, e));
    s->out->unions = (struct cc_unions){.points = 0};
    for (size_t i = 0; i < s->config->task.workers; i++)
        cc_unions_take(set, s->gradient[i], s->values, i + 1, &s->out->unions);
    free(set);
    return CC_OK;
}

int cc_training_evaluate(struct cc_training *s, struct cc_error *e)
{
    if (cc_linear_is(s->config->task.net) && s->config->consistency == CC_BULK)
        CC_TRY(measure_unions(s, e));
    cc_mean_stats(s->worker_stats, s->config->task.workers, s->layout->stats, s->stats);
    struct cc_error why = {""};
    const double behind_sq = s->log.behind_sq, delta_sq = s->log.delta_sq;
    struct cc_evaluation v = cc_training_log_end(&s->log, s->config->task.workers);
    v.residual = s->measures_push ? cc_unsent_ratio(&s->unsent) : NAN;
    v.pull_residual = delta_sq > 0 ? sqrt(behind_sq / delta_sq) : NAN;
    v.distance = distance(s);
    const float *copy = s->weights;
    int status = s->layers != NULL ? cc_training_layers_copy(s, &copy, &why) : CC_OK;
    if (status == CC_OK)
        status = cc_training_score(s->task, copy, s->server, s->stats, &v, &why);
    if (s->layers != NULL)
        cc_training_layers_forget(s);
    if (status != CC_OK) {
        cc_training_diverge(s, why.text);
        return CC_OK;
    }
    return cc_training_log_add(&s->log, &v, e);
}
