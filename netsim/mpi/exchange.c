#include "netsim/mpi/exchange.h"

#include <string.h>

#include "core/memory.h"

extern const struct cc_exchanger cc_exchanger_ps, cc_exchanger_ring, cc_exchanger_recdouble,
    cc_exchanger_rabenseifner, cc_exchanger_allgather, cc_exchanger_mpi;

static const struct cc_exchanger *const exchangers[] = {
    &cc_exchanger_ps,
    &cc_exchanger_ring,
    &cc_exchanger_recdouble,
    &cc_exchanger_rabenseifner,
    &cc_exchanger_allgather,
    &cc_exchanger_mpi,
    NULL,
};

const struct cc_exchanger *cc_exchanger_find(const char *name)
{
    for (size_t i = 0; exchangers[i] != NULL; i++)
        if (strcmp(exchangers[i]->name, name) == 0)
            return exchangers[i];
    return NULL;
}

void cc_charge(struct cc_station *s, enum cc_phase phase, struct cc_stint since, double cost_s)
{
    const double now = cc_world_end(since, cost_s);
    s->tally.phase_s[phase] += now - since.began;
    cc_moments_codec(s->moments, phase, s->step, since.began, now);
}

static void note(struct cc_station *s, bool came, size_t index, int peer, size_t bytes)
{
    if (s->moments == NULL)
        return;
    const struct cc_passage p = {.at = cc_world_now(),
                                 .came = came,
                                 .peer = (uint32_t)peer,
                                 .message = (uint32_t)index,
                                 .step = (uint32_t)s->step,
                                 .bytes = bytes};
    cc_moments_passage(s->moments, &p);
}

void cc_note_sent(struct cc_station *s, size_t index, int peer, size_t bytes)
{
    note(s, false, index, peer, bytes);
}

void cc_note_came(struct cc_station *s, size_t index, int peer, size_t bytes)
{
    note(s, true, index, peer, bytes);
}

bool cc_quiet(const struct cc_station *s, const struct cc_job_message *m)
{
    if ((s->step + 1) % s->row->period == 0)
        return false;
    for (size_t i = m->first; i <= m->last; i++)
        if (s->job->tensor[i].raw)
            return false;
    return true;
}

int cc_room(const struct cc_station *s, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = s->job->data ? cc_alloc(bytes, e) : NULL;
    return *out == NULL && s->job->data ? CC_FAIL : CC_OK;
}

void *cc_wire(const uint8_t *bytes)
{
    return bytes != NULL ? (void *)bytes : cc_world_scratch();
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
