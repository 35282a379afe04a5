/* Waiting in the simulated world: a test takes no time there, so that who polls polls forever. */
#include <limits.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/mpi/exchange.h"
#include "netsim/mpi/world.h"

struct timer {
    int dummy;
};

int cc_waits_open(struct cc_waits *w, struct cc_error *e)
{
    (void)w;
    (void)e;
    return CC_OK;
}

void cc_waits_close(struct cc_waits *w)
{
    (void)w;
}

/* --- what is complete --- */

/* Complete are those that the last wait found, and those that have become so while the rank worked:
 * only then has the clock gone on. A collective's are complete once they were tested. */
int cc_requests_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    int flag = 0, status = CC_OK;
    if (r->request[i] != MPI_REQUEST_NULL && (r->collective || cc_world_now() > r->waits->looked))
        status = cc_mpi_check(MPI_Test(&r->request[i], &flag, &r->status[i]), "MPI_Test", e);
    *over = flag != 0 || r->request[i] == MPI_REQUEST_NULL;
    r->over[i] = false;
    return status;
}

int cc_requests_some(struct cc_requests *r, int *count, int *which, struct cc_error *e)
{
    (void)e;
    *count = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->over[i]) {
            r->over[i] = false;
            r->status[*count] = r->status[i];
            which[(*count)++] = (int)i;
        }
    return CC_OK;
}

/* --- waiting --- */

/* All that is under way, in one list. */
struct list {
    MPI_Request *request;
    MPI_Status *status;
    int *which;
    struct place {
        struct cc_requests *of;
        size_t i;
    } * place;
    size_t count;
    bool collective; /* collectives too */
};

static int take_list(const struct cc_waits *w, struct list *l, struct cc_error *e)
{
    size_t room = 0, n = 0;
    *l = (struct list){.collective = false};
    for (struct cc_requests *r = w->first; r != NULL; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            room += r->request[i] != MPI_REQUEST_NULL;
    l->request = cc_alloc(room * sizeof(MPI_Request), e);
    l->status = cc_alloc(room * sizeof *l->status, e);
    l->which = cc_alloc(room * sizeof *l->which, e);
    l->place = cc_alloc(room * sizeof *l->place, e);
    if (l->request == NULL || l->status == NULL || l->which == NULL || l->place == NULL)
        return CC_FAIL;
    for (struct cc_requests *r = w->first; r != NULL; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            if (r->request[i] != MPI_REQUEST_NULL) {
                l->collective |= r->collective;
                l->place[n] = (struct place){r, i};
                l->request[n++] = r->request[i];
            }
    l->count = n;
    return CC_OK;
}

static void drop_list(struct list *l)
{
    free(l->request);
    free(l->status);
    free(l->which);
    free(l->place);
}

static int wait_some(struct list *l, struct cc_error *e)
{
    int count = 0;
    int code = MPI_Waitsome((int)l->count, l->request, &count, l->which, l->status);
    if (cc_mpi_check(code, "MPI_Waitsome", e) != CC_OK)
        return CC_FAIL;
    for (int k = 0; k < count; k++) {
        const struct place *p = &l->place[l->which[k]];
        p->of->request[p->i] = MPI_REQUEST_NULL;
        p->of->status[p->i] = l->status[k];
        p->of->over[p->i] = true;
    }
    return CC_OK;
}

int cc_world_wait(struct cc_waits *w, bool nap, double since, double until, struct cc_error *e)
{
    struct list l;
    (void)nap;
    (void)since;
    if (w->more) {
        w->more = false;
        return CC_OK;
    }
    int status = take_list(w, &l, e);
    if (status == CC_OK && l.count == 0)
        status = cc_fail(e, "a rank waits, and nothing is under way to it");
    if (status == CC_OK)
        status = wait_some(&l, e);
    (void)until;
    w->looked = cc_world_now();
    drop_list(&l);
    return status;
}

int cc_world_meet(MPI_Comm comm, bool nap, struct cc_error *e)
{
    (void)nap;
    return cc_mpi_check(MPI_Barrier(comm), "MPI_Barrier", e);
}
