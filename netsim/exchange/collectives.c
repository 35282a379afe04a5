#include "netsim/exchange/collectives.h"

#include <stdio.h>
#include <string.h>

#include "core/element.h"
#include "schemes/spec.h"

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
static int set_scheme(struct cc_rank_collective *c, const struct cc_rank_state *s,
                      const struct cc_collective_sizes *sizes, struct cc_job_cost *no_cost,
                      bool plain, struct cc_error *e)
{
    const char *own = plain ? NULL : s->job->sharded.weights;
    (void)snprintf(c->scheme, sizeof c->scheme, "%s", cc_element_names[s->job->dtype]);
    c->row.scheme = own != NULL ? s->job->sharded.weights : c->scheme;
    CC_TRY(cc_spec_parse(c->row.scheme, &c->spec, e));
    c->row.reduction = cc_reduction(c->spec->scheme, c->spec->params);
    CC_TRY(cc_spec_parse(cc_job_row_raw(&c->job, &c->row), &c->raw, e));
    if (s->row->cost != NULL)
        c->row.cost = own != NULL && s->row->weight_cost != NULL ? s->row->weight_cost : no_cost;
    c->row.inner_cost = NULL;
    c->row.sum_encode_s = NULL;
    c->s.sizes = own != NULL ? sizes->weights : sizes->plain;
    c->s.spec = c->s.pull = c->spec;
    c->s.raw = c->raw;
    c->s.inner = NULL;
    c->s.inner_sizes = NULL;
    return CC_OK;
}

int cc_rank_collective_open(struct cc_rank_collective *c, const struct cc_collective *of, int i,
                            const struct cc_rank_state *s, const struct cc_collective_sizes *sizes,
                            struct cc_job_cost *no_cost, struct cc_error *e)
{
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
        CC_TRY(set_scheme(c, s, sizes, no_cost, of->role == CC_ROLE_PLAIN, e));
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

void cc_rank_collective_close(struct cc_rank_collective *c)
{
    cc_spec_free(c->spec);
    cc_spec_free(c->raw);
    c->spec = c->raw = NULL;
}

bool cc_collective_leads(const struct cc_collectives *list, int i)
{
    return i + 1 < list->count && list->item[i + 1].follows;
}

void cc_rank_collective_collect(struct cc_rank_collective *of, struct cc_counters *total)
{
    struct cc_counters *c = &of->s.counters;
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
    if (of->job.training.net != NULL && of->job.op == CC_ALL_GATHER && of->s.group.first == 0)
        total->gathered_bytes += c->payload_bytes;
    *c = (struct cc_counters){.tensor_bytes = c->tensor_bytes};
}
