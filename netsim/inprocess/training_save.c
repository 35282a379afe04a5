/* Checkpoints of trainings. The arrays are the workers' parameters, the server's, the optimizer's
 * state, running statistics, the residual that is measured, and the states of all codecs. The order
 * of the samples and random numbers follow from seed and step, and need no state. Ranks write the
 * same arrays (netsim/rank/checkpoint.c), but for that residual. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "netsim/inprocess/training_arrays.h"
#include "netsim/inprocess/training_impl.h"

/* --- arrays --- */

static int add_states(const struct cc_training *s, struct cc_checkpoint *c, struct cc_error *e)
{
    struct cc_pack_state state;
    for (int rank = 0; rank < s->job.workers + s->job.servers; rank++) {
        const struct cc_pack_list *l = s->layers != NULL ? cc_training_layers_packs(s, rank)
                                                         : cc_inprocess_packs(s->exchange, rank);
        for (size_t k = 0; k < l->count; k++)
            for (size_t i = 0; cc_pack_state(l->pack[k], i, &state); i++)
                CC_TRY(cc_training_add_state(c, &s->job, rank, k, &state, e));
    }
    return CC_OK;
}

static int list_arrays(const struct cc_training *s, struct cc_checkpoint *c, struct cc_error *e)
{
    const size_t delayed = cc_job_delayed(&s->job, s->job.row, s->log.step);
    const bool shards = s->shard.weights != NULL;
    const struct cc_learner_config *learner = shards ? &s->shard.config : &s->learner.config;
    float *results[CC_JOB_DEPTH];
    const struct cc_training_arrays arrays = {
        .weights = s->weights,
        .server = s->server,
        .optimizer = shards ? s->shard.state : s->learner.state,
        .stats = s->worker_stats,
        .own = s->own,
        .unsent = s->measures_push ? s->unsent.total : NULL,
        .optimizer_count = cc_optimizer_state(&learner->optimizer, s->values),
        .stat_count = s->layout->stats,
        .own_count = s->own != NULL ? cc_local_floats(&s->local) : 0,
        .delayed = results,
        .delayed_count = delayed};
    for (size_t i = 0; i < delayed; i++)
        results[i] = s->delayed[(s->log.step - delayed + i) % (s->config->depth - 1)];
    CC_TRY(cc_training_add_arrays(c, &s->job, &arrays, e));
    return add_states(s, c, e);
}

/* --- saving and loading --- */

int cc_training_save(struct cc_training *s, struct cc_error *e)
{
    struct cc_checkpoint c = {0};
    char *settings = NULL;
    int status = CC_OK;
    s->log.unsent_sq = s->measures_push ? s->unsent.total_sq : NAN;
    s->log.gradient_sq = s->measures_push ? s->unsent.gradient_sq : NAN;
    if (s->layers != NULL)
        cc_training_layers_save(s);
    CC_TRY_OUT(list_arrays(s, &c, e));
    CC_TRY_OUT(cc_training_settings(s->config, &settings, e));
    CC_TRY_OUT(cc_training_log_save(&s->log, settings, &c, s->config->checkpoint, e));
    s->saved = s->log.step;
out:
    free(settings);
    cc_checkpoint_free(&c);
    return status;
}

/* Ranks have not measured the residual, of which what is missing cannot be known any more. */
static int load(struct cc_training *s, const struct cc_checkpoint_file *f, struct cc_error *e)
{
    struct cc_checkpoint c = {0};
    char *settings = NULL;
    int status = CC_OK;
    CC_TRY_OUT(cc_training_settings(s->config, &settings, e));
    CC_TRY_OUT(cc_training_log_read(f, settings, s->config->steps, &s->log, e));
    s->measures_push = s->measures_push && !isnan(s->log.gradient_sq);
    CC_TRY_OUT(list_arrays(s, &c, e));
    CC_TRY_OUT(cc_checkpoint_load(f, &c, e));
    s->unsent.total_sq = s->log.unsent_sq;
    s->unsent.gradient_sq = s->log.gradient_sq;
    s->saved = s->log.step;
    s->applied = s->log.step - cc_job_delayed(&s->job, s->job.row, s->log.step);
out:
    free(settings);
    cc_checkpoint_free(&c);
    return status;
}

int cc_training_load(struct cc_training *s, struct cc_error *e)
{
    struct cc_checkpoint_file f;
    struct stat st;
    if (stat(s->config->checkpoint, &st) != 0 && errno == ENOENT)
        return CC_OK;
    CC_TRY(cc_checkpoint_open(s->config->checkpoint, &f, e));
    const int status = load(s, &f, e);
    cc_checkpoint_close(&f);
    return status;
}
