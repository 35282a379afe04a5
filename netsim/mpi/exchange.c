#include "netsim/mpi/exchange.h"

#include <string.h>
#include <unistd.h>

#include "core/clock.h"

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

double cc_charge(struct cc_station *s, enum cc_phase phase, double since)
{
    double now = cc_now();
    s->tally.phase_s[phase] += now - since;
    return now;
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

/* A nap is a 32nd of the wait so far, so that it lengthens what is waited for by 3% at most; no
 * longer than sockets can buffer what arrives meanwhile. */
enum { LEAST_NAP_US = 10, MOST_NAP_US = 200 };

void cc_idle(const struct cc_station *s, double since)
{
    double us = (cc_now() - since) * 1e6 / 32;
    if (!s->job->nap)
        return;
    usleep(us < LEAST_NAP_US ? LEAST_NAP_US : us > MOST_NAP_US ? MOST_NAP_US : (useconds_t)us);
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
