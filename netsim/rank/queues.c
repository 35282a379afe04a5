#include "netsim/rank/queues.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/memory.h"
#include "schemes/spec.h"

/* --- opening --- */

static struct cc_rank_group group_of(const struct cc_rank_state *s, const struct cc_collective *c)
{
    const int per_host = cc_job_per_host(s->job);
    if (c->among == CC_AMONG_HOST)
        return (struct cc_rank_group){per_host, s->rank - s->rank % per_host, 1};
    if (c->among == CC_AMONG_HOSTS)
        return (struct cc_rank_group){s->job->workers / per_host, s->rank % per_host, per_host};
    return (struct cc_rank_group){.size = 0};
}

/* Parameters have a scheme of their own, or none. */
static int set_scheme(struct cc_queues *q, struct cc_rank_collective *c,
                      const struct cc_rank_state *s, const struct cc_queue_sizes *sizes, bool plain,
                      struct cc_error *e)
{
    const char *own = plain ? NULL : s->job->sharded.weights;
    (void)snprintf(c->scheme, sizeof c->scheme, "%s", cc_element_names[s->job->dtype]);
    c->row.scheme = own != NULL ? s->job->sharded.weights : c->scheme;
    CC_TRY(cc_spec_parse(c->row.scheme, &c->spec, e));
    c->row.reduction = cc_reduction(c->spec->scheme, c->spec->params);
    CC_TRY(cc_spec_parse(cc_job_row_raw(&c->job, &c->row), &c->raw, e));
    if (s->row->cost != NULL)
        c->row.cost = own != NULL && s->row->weight_cost != NULL ? s->row->weight_cost : q->no_cost;
    c->row.inner_cost = NULL;
    c->row.sum_encode_s = NULL;
    c->s.sizes = own != NULL ? sizes->weights : sizes->plain;
    c->s.spec = c->s.pull = c->spec;
    c->s.raw = c->raw;
    c->s.inner = NULL;
    c->s.inner_sizes = NULL;
    return CC_OK;
}

static int open_collective(struct cc_queues *q, int i, const struct cc_rank_state *s,
                           const struct cc_queue_sizes *sizes, struct cc_error *e)
{
    const struct cc_collective *of = &q->list.item[i];
    struct cc_rank_collective *c = &q->of[i];
    const int per_host = cc_job_per_host(s->job);
    c->job = *s->job;
    c->row = *s->row;
    c->s = *s;
    c->job.op = of->op;
    c->job.gather = NULL;
    c->job.parts = 0;
    c->s.counters = (struct cc_counters){0};
    c->s.second = NULL;
    c->s.second_sizes = NULL;
    if (of->role != CC_ROLE_GRADIENT)
        CC_TRY(set_scheme(q, c, s, sizes, of->role == CC_ROLE_PLAIN, e));
    const bool coded = (c->s.spec->scheme->flags & CC_VERBATIM) == 0 &&
                       strcmp(c->row.scheme, cc_element_names[s->job->dtype]) != 0;
    c->job.exchange = cc_collective_exchange(of, s->job->exchange, per_host > 1, coded);
    c->s.group = group_of(s, of);
    c->s.collective = i;
    if (of->among == CC_AMONG_HOSTS) {
        c->s.part = (size_t)(s->rank % per_host);
        c->s.parts = (size_t)per_host;
    }
    /* A row's payload is that of its gradients, encoded by the first of their collectives. */
    if (of->what == CC_MOVES_GRADIENTS && !of->follows)
        c->s.counters.tensor_bytes = s->counters.tensor_bytes;
    c->s.job = &c->job;
    c->s.row = &c->row;
    return CC_OK;
}

int cc_queues_open(struct cc_queues *q, const struct cc_rank_state *s,
                   const struct cc_queue_sizes *sizes, struct cc_error *e)
{
    *q = (struct cc_queues){.list = cc_job_collectives(s->job), .units = s->row->messages};
    q->messages = (size_t)q->list.count * q->units;
    CC_TRY(CC_NEW(q->no_cost, s->job->tensors, e));
    CC_TRY(CC_NEW(q->pending, q->messages, e));
    CC_TRY(CC_NEW(q->item, CC_COLLECTIVE_QUEUES * q->messages, e));
    CC_TRY(CC_NEW(q->since, q->messages, e));
    for (int i = 0; i < q->list.count; i++)
        CC_TRY(open_collective(q, i, s, sizes, e));
    const int micro_steps = s->job->micro_steps;
    return cc_step_plan_make(&q->list, q->units, micro_steps > 1 ? micro_steps : 1,
                             s->job->mode == CC_OVERLAP, &q->plan, e);
}

void cc_queues_close(struct cc_queues *q)
{
    for (int i = 0; i < q->list.count; i++) {
        cc_spec_free(q->of[i].spec);
        cc_spec_free(q->of[i].raw);
    }
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

void cc_queues_take_step(struct cc_queues *q, const struct cc_rank_state *s)
{
    for (int i = 0; i < q->list.count; i++) {
        struct cc_rank_state *c = &q->of[i].s;
        c->step = s->step;
        c->gradient = s->gradient;
        c->model = s->model;
        c->events = s->events;
    }
}

void cc_queues_collect(struct cc_queues *q, size_t message, struct cc_counters *total)
{
    struct cc_counters *c = &q->of[message / q->units].s.counters;
    for (int i = 0; i < CC_PHASES; i++) {
        total->phase_s[i] += c->phase_s[i];
        total->work_s[i] += c->work_s[i];
    }
    total->exchange_update_s += c->exchange_update_s;
    total->sent_bytes += c->sent_bytes;
    total->messages += c->messages;
    total->intra_bytes += c->intra_bytes;
    total->send_s += c->send_s;
    if (c->tensor_bytes != NULL) {
        total->payload_bytes += c->payload_bytes;
        total->head_bytes += c->head_bytes;
    }
    *c = (struct cc_counters){.tensor_bytes = c->tensor_bytes};
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
