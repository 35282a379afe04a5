/* The fields of struct cc_job_sharded, in a job. */
#include "netsim/job/job_table.h"

#define WORD(of, member) #member, CC_FIELD_WORD, offsetof(of, member)

static const struct cc_field collective_fields[] = {
    {WORD(struct cc_collective, what), .words = cc_moved_names, .help = "What is moved."},
    {WORD(struct cc_collective, op), .words = cc_operation_names, .help = "The operation."},
    {WORD(struct cc_collective, among), .words = cc_among_names,
     .help = "Among all workers, those of a host, or those of equal local number on all hosts."},
    {WORD(struct cc_collective, when), .words = cc_when_names,
     .help = "After the update, before a unit's forward or backward pass, or once its gradients "
             "are computed."},
    {WORD(struct cc_collective, role), .words = cc_scheme_role_names,
     .help = "Values as they are, by the row's scheme, or by that of parameters."},
    {CC_BOOL(struct cc_collective, levels), .optional = true,
     .help = "Whether encoded gradients are added inside hosts first."},
    {CC_BOOL(struct cc_collective, follows), .optional = true,
     .help = "Whether a unit's message waits for that of the collective before."},
    {CC_BOOL(struct cc_collective, ahead), .optional = true,
     .help = "After the update: whether a unit waits for its own parameters only."},
    {CC_BOOL(struct cc_collective, last), .optional = true,
     .help = "Whether gradients are exchanged in the last micro-step only."},
};
static const struct cc_table collective_table =
    CC_TABLE("A collective", collective_fields, struct cc_collective);

static const struct cc_field fields[] = {
    {"collectives", CC_FIELD_LIST,
     CC_MEMBER(struct cc_collective *, struct cc_job_sharded, collective), 1, CC_MOST_COLLECTIVES,
     .table = &collective_table, .item = "collective",
     .count = CC_MEMBER(size_t, struct cc_job_sharded, collectives),
     .help = "What is exchanged, each unit by unit."},
    {CC_TEXT(struct cc_job_sharded, weights), .optional = true,
     .help = "The scheme of parameters that are gathered; missing: as they are."},
};
const struct cc_table cc_job_sharded_table = CC_TABLE("`sharded`", fields, struct cc_job_sharded);

int cc_job_check_sharded(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job *job = s->self;
    const struct cc_job_sharded *x = &job->sharded;
    for (size_t i = 0; i < x->collectives; i++)
        if (x->collective[i].follows && i == 0)
            return cc_fail(e, "collective 0 follows none");
    return job->via == CC_VIA_HOPS ? CC_OK : cc_fail(e, "\"sharded\": \"via\" must be \"hops\"");
}

/* A training's list: a gathering before the forward pass, perhaps another before the backward pass,
 * and a reduce-scatter of gradients, all among the same workers; and, inside hosts, an allreduce
 * across hosts behind it. */
int cc_job_check_divided(const struct cc_job *job, struct cc_error *e)
{
    const struct cc_job_sharded *x = &job->sharded;
    const struct cc_collective *c = x->collective;
    const size_t gathers = x->collectives > 1 && c[1].op == CC_ALL_GATHER ? 2 : 1;
    if (x->collectives == 0)
        return CC_OK;
    const bool inside = c[0].among == CC_AMONG_HOST;
    bool fits = x->collectives == gathers + (inside ? 2 : 1) && c[0].when == CC_WHEN_FORWARD &&
                (gathers == 1 || c[1].when == CC_WHEN_BACKWARD);
    for (size_t i = 0; i < gathers && fits; i++)
        fits = c[i].op == CC_ALL_GATHER && c[i].what == CC_MOVES_PARAMETERS &&
               c[i].role == CC_ROLE_WEIGHT && c[i].among == c[0].among &&
               c[i].among != CC_AMONG_HOSTS;
    for (size_t i = gathers; i < x->collectives && fits; i++)
        fits = c[i].what == CC_MOVES_GRADIENTS && c[i].when == CC_WHEN_COMPUTED &&
               c[i].role == CC_ROLE_GRADIENT && !c[i].levels && c[i].follows == (i > gathers) &&
               c[i].op == (i > gathers ? CC_ALLREDUCE : CC_REDUCE_SCATTER) &&
               c[i].among == (i > gathers ? CC_AMONG_HOSTS : c[0].among);
    if (!fits)
        return cc_fail(e, "\"sharded\": a training gathers parameters before the forward pass, and "
                          "again before the backward pass or not, and reduces gradients by a "
                          "reduce-scatter among the same workers, and inside hosts then by an "
                          "allreduce across hosts");
    if (job->training.shards == CC_SHARDS_NONE || job->exchange != CC_TWOSHOT ||
        job->micro_steps > 1)
        return cc_fail(e,
                       "\"sharded\" with a training: it has \"shards\", the exchange twoshot, and "
                       "one micro-step");
    return CC_OK;
}
