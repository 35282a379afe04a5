#include "netsim/rank/queues.h"

#include <stdlib.h>

#include "core/memory.h"

/* --- opening --- */

int cc_queues_open(struct cc_queues *q, const struct cc_rank_state *s,
                   const struct cc_collective_sizes *sizes, struct cc_error *e)
{
    *q = (struct cc_queues){.list = cc_job_collectives(s->job), .units = s->row->messages};
    q->messages = (size_t)q->list.count * q->units;
    CC_TRY(CC_NEW(q->no_cost, s->job->tensors, e));
    CC_TRY(CC_NEW(q->pending, q->messages, e));
    CC_TRY(CC_NEW(q->item, CC_COLLECTIVE_QUEUES * q->messages, e));
    CC_TRY(CC_NEW(q->since, q->messages, e));
    for (int i = 0; i < q->list.count; i++)
        CC_TRY(cc_rank_collective_open(&q->of[i], &q->list.item[i], i, s, sizes, q->no_cost, e));
    const int micro_steps = s->job->micro_steps;
    return cc_step_plan_make(&q->list, q->units, micro_steps > 1 ? micro_steps : 1,
                             s->job->mode == CC_OVERLAP, &q->plan, e);
}

void cc_queues_close(struct cc_queues *q)
{
    for (int i = 0; i < q->list.count; i++)
        cc_rank_collective_close(&q->of[i]);
    free(q->no_cost);
    free(q->pending);
    free(q->item);
    free(q->since);
    cc_step_plan_free(&q->plan);
    *q = (struct cc_queues){.units = 0};
}

/* --- messages --- */

const struct cc_message *cc_queues_unit(const struct cc_queues *q, const struct cc_job_row *row,
                                        size_t message)
{
    return &row->message[q->units - 1 - message % q->units];
}

struct cc_rank_state *cc_queues_state(struct cc_queues *q, size_t message)
{
    return &q->of[message / q->units].s;
}

void cc_queues_take_step(struct cc_queues *q, const struct cc_rank_state *s,
                         const struct cc_source_buffers *b)
{
    for (int i = 0; i < q->list.count; i++) {
        struct cc_rank_state *c = &q->of[i].s;
        const bool follows = q->list.item[i].follows, gathers = c->job->op == CC_ALL_GATHER;
        c->step = s->step;
        c->gradient = gathers && b->parameters != NULL ? b->parameters
                      : follows && b->partial != NULL  ? b->partial
                                                       : b->gradient;
        c->model = gathers && b->gathered != NULL                           ? b->gathered
                   : cc_collective_leads(&q->list, i) && b->partial != NULL ? b->partial
                                                                            : b->result;
        c->events = s->events;
    }
}

void cc_queues_collect(struct cc_queues *q, size_t message, struct cc_counters *total)
{
    cc_rank_collective_collect(&q->of[message / q->units], total);
}

/* --- queues --- */

static int queue_of(const struct cc_queues *q, size_t message)
{
    return cc_collective_queue(&q->list.item[message / q->units]);
}

void cc_queues_push(struct cc_queues *q, size_t message)
{
    const int k = queue_of(q, message);
    q->pending[message] = true;
    q->item[(size_t)k * q->messages + (q->first[k] + q->count[k]++) % q->messages] = message;
}

bool cc_queues_begin(struct cc_queues *q, double now, size_t *message)
{
    for (int k = 0; k < CC_COLLECTIVE_QUEUES; k++) {
        const size_t next = q->item[(size_t)k * q->messages + q->first[k]];
        if (q->busy[k] || q->count[k] == 0)
            continue;
        if (q->list.item[next / q->units].follows && q->pending[next - q->units])
            continue;
        q->first[k] = (q->first[k] + 1) % q->messages;
        q->count[k]--;
        q->busy[k] = true;
        q->since[next] = now;
        *message = next;
        return true;
    }
    return false;
}

void cc_queues_end(struct cc_queues *q, size_t message, double now)
{
    q->busy[queue_of(q, message)] = false;
    q->pending[message] = false;
    q->collective_s[message / q->units] += now - q->since[message];
}
