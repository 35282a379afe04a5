/* The fields of struct cc_job_consistency, in a job. */
#include "netsim/job/job_table.h"

#define MOST_AHEAD  1000000
#define MOST_GROWTH 1e6

/* clang-format off */
CC_JOB_CONDITION(is_stale, cc_consistency_is_bounded(job->consistency.how))
CC_JOB_CONDITION(at_norm, job->consistency.communicate == CC_AT_NORM)
CC_JOB_CHECK(check_communicate, job->consistency.communicate != CC_AT_BOUND || is_stale(s),
             "\"communicate\" cannot be \"bound\" where \"how\" is \"%s\": only "
             "\"stale\" has a bound", cc_consistency_names[job->consistency.how])
/* clang-format on */

static const struct cc_field fields[] = {
    {"how", CC_FIELD_WORD, offsetof(struct cc_job_consistency, how), .words = cc_consistency_names,
     .help = "Which updates the parameters have with which a worker computes: those of all workers "
             "up to its step (`bulk`); at least those of all workers up to `staleness` steps "
             "before (`stale`); or any (`async`)."},
    {CC_INT(struct cc_job_consistency, staleness), 0, MOST_AHEAD, .when = is_stale,
     .condition = "if `how` is `stale`",
     .help = "Steps by which a worker may be ahead of the slowest."},
    {"communicate", CC_FIELD_WORD, offsetof(struct cc_job_consistency, communicate),
     .words = cc_communicate_names, .check = check_communicate, .optional = true,
     .help = "After which steps a worker pushes the sum of its gradients since its last push, and "
             "pulls: every `step`; at the `bound`; or as the `norm` of the sum has grown, and at "
             "the bound."},
    {CC_NUMBER(struct cc_job_consistency, growth), 0, MOST_GROWTH, .when = at_norm,
     .condition = "if `communicate` is `norm`",
     .help = "A worker pushes when the norm of the sum is at least `growth` times the mean norm of "
             "its gradients."},
};

const struct cc_table cc_job_consistency_table =
    CC_TABLE("`consistency`", fields, struct cc_job_consistency);

int cc_job_check_consistency(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job *job = s->self;
    const struct cc_job_training *t = &job->training;
    const struct {
        bool is_wrong;
        const char *why;
    } rules[] = {
        {job->servers == 0, ", which needs servers: \"exchange\" \"ps\""},
        {job->mode == CC_PIPE, ", and \"mode\" \"pipe\" is bulk synchronous"},
        {job->pulls == CC_PULL_FORWARD, ": pulls leave as they are \"ready\", for a server's steps "
                                        "have no end at which to order them"},
        {job->errors || job->calls.limit_s > 0,
         ": \"errors\" and \"calls\" need workers that are in the same step: \"bulk\""},
        {t->local.steps > 0, ": all workers exchange \"local_steps\" together"},
        {t->net != NULL && !t->deltas,
         ": the servers apply the optimizer, so \"training\" must have \"deltas\""},
        {t->checkpoint != NULL || t->capture != NULL,
         ": checkpoints and captures are of \"bulk\" steps alone"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!cc_job_bulk(job) && rules[i].is_wrong)
            return cc_fail(e, "\"consistency\" is \"%s\"%s",
                           cc_consistency_names[job->consistency.how], rules[i].why);
    return CC_OK;
}
