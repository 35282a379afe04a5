#include "netsim/mpi/exchange/exchange.h"

#include <string.h>

#include "core/memory.h"

extern const struct cc_exchange_ops cc_exchange_ops_ps, cc_exchange_ops_ring,
    cc_exchange_ops_recdouble, cc_exchange_ops_rabenseifner, cc_exchange_ops_allgather,
    cc_exchange_ops_mpi;

static const struct cc_exchange_ops *const exchangers[] = {
    &cc_exchange_ops_ps,
    &cc_exchange_ops_ring,
    &cc_exchange_ops_recdouble,
    &cc_exchange_ops_rabenseifner,
    &cc_exchange_ops_allgather,
    &cc_exchange_ops_mpi,
    NULL,
};

const struct cc_exchange_ops *cc_exchange_ops_find(const char *name)
{
    for (size_t i = 0; exchangers[i] != NULL; i++)
        if (strcmp(exchangers[i]->name, name) == 0)
            return exchangers[i];
    return NULL;
}

void cc_charge(struct cc_rank_state *s, enum cc_phase phase, struct cc_work_timer since,
               double cost_s)
{
    const double now = cc_work_end(since, cost_s);
    s->counters.phase_s[phase] += now - since.began;
    cc_event_log_codec(s->events, phase, s->step, since.began, now);
}

static void note(struct cc_rank_state *s, bool came, size_t index, int peer, size_t bytes)
{
    if (s->events == NULL)
        return;
    const struct cc_flow_event p = {.at = cc_runtime_now(),
                                    .came = came,
                                    .peer = (uint32_t)peer,
                                    .message = (uint32_t)index,
                                    .step = (uint32_t)s->step,
                                    .bytes = bytes};
    cc_event_log_passage(s->events, &p);
}

void cc_note_sent(struct cc_rank_state *s, size_t index, int peer, size_t bytes)
{
    note(s, false, index, peer, bytes);
}

void cc_note_came(struct cc_rank_state *s, size_t index, int peer, size_t bytes)
{
    note(s, true, index, peer, bytes);
}

bool cc_silent(const struct cc_rank_state *s, const struct cc_job_message *m)
{
    if ((s->step + 1) % s->row->period == 0)
        return false;
    for (size_t i = m->first; i <= m->last; i++)
        if (s->job->tensor[i].raw)
            return false;
    return true;
}

int cc_data_alloc(const struct cc_rank_state *s, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = s->job->data ? cc_alloc(bytes, e) : NULL;
    return *out == NULL && s->job->data ? CC_FAIL : CC_OK;
}

void *cc_mpi_buffer(const uint8_t *bytes)
{
    return bytes != NULL ? (void *)bytes : cc_runtime_scratch();
}

int cc_mpi_check(int code, const char *what, struct cc_error *e)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return CC_OK;
    MPI_Error_string(code, text, &length);
    return cc_fail(e, "%s: %.300s", what, text);
}
