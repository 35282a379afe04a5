/* Waiting in the simulated world. A test takes no time there: who only polls polls forever.
 *
 * SMPI has no wait that ends in time. So a rank sends itself a message as well, of so many bytes
 * that it is there when the time is over: what carries messages within a host is shared with
 * nobody. Where that does not work, it sleeps in slices and tests in between. */
#include <limits.h>
#include <math.h>
#include <simgrid/barrier.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/mpi/exchange/exchange.h"
#include "netsim/mpi/runtime/runtime.h"

/* --- what is complete --- */

/* What becomes complete while the rank works is found by its next wait, at once. */
int cc_requests_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    (void)e;
    *over = r->request[i] == MPI_REQUEST_NULL;
    r->over[i] = false;
    return CC_OK;
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

/* --- the timer --- */

struct timer {
    MPI_Request come, go;
    double at; /* when `come` is there */
    /* A message of n bytes takes begin_s + n * byte_s, from `least` bytes on. 0: messages are no
     * measure of time. */
    double begin_s, byte_s;
    int least;
};

static int send_oneself(struct timer *t, int bytes, struct cc_error *e)
{
    uint8_t *any = cc_runtime_scratch();
    int code = MPI_Irecv(any, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &t->come);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(any, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &t->go);
    return cc_mpi_check(code, "a message to oneself", e);
}

static int end_timer(struct timer *t, struct cc_error *e)
{
    int code = MPI_Wait(&t->come, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&t->go, MPI_STATUS_IGNORE);
    return cc_mpi_check(code, "a message to oneself", e);
}

/* From the two largest of a few sizes; `least` is the smallest that is on their line. */
static int measure(struct timer *t, struct cc_error *e)
{
    enum { SIZES = 4 };
    static const int bytes[SIZES] = {1 << 10, 1 << 17, 1 << 20, 1 << 23};
    double s[SIZES];
    for (int i = 0; i < SIZES; i++) {
        const double since = cc_runtime_now();
        if (send_oneself(t, bytes[i], e) != CC_OK || end_timer(t, e) != CC_OK)
            return CC_FAIL;
        s[i] = cc_runtime_now() - since;
    }
    t->byte_s = (s[SIZES - 1] - s[SIZES - 2]) / (bytes[SIZES - 1] - bytes[SIZES - 2]);
    t->begin_s = s[SIZES - 1] - t->byte_s * bytes[SIZES - 1];
    int i = SIZES - 2;
    while (i > 0 && fabs(t->begin_s + t->byte_s * bytes[i - 1] - s[i - 1]) <= 1e-3 * s[i - 1])
        i--;
    t->least = bytes[i];
    if (i > 1 || t->begin_s < -CC_INSTANT_S)
        t->byte_s = 0;
    return CC_OK;
}

int cc_waits_open(struct cc_waits *w, struct cc_error *e)
{
    if (cc_runtime_scratch() == NULL)
        return cc_fail(e, "no memory that ranks share");
    w->timer = cc_alloc0(sizeof *w->timer, e);
    if (w->timer == NULL)
        return CC_FAIL;
    w->timer->come = w->timer->go = MPI_REQUEST_NULL;
    return measure(w->timer, e);
}

void cc_waits_close(struct cc_waits *w)
{
    struct cc_error e;
    if (w->timer != NULL)
        (void)end_timer(w->timer, &e);
    free(w->timer);
    w->timer = NULL;
}

/* One that is under way when another is wanted is used if it comes no later. */
static int set_timer(struct timer *t, double until, bool *set, struct cc_error *e)
{
    *set = false;
    if (t == NULL || t->byte_s <= 0)
        return CC_OK;
    if (t->come != MPI_REQUEST_NULL) {
        *set = t->at - until < CC_INSTANT_S;
        return CC_OK;
    }
    const double now = cc_runtime_now();
    const double bytes = fmin((until - now - t->begin_s) / t->byte_s, INT_MAX);
    if (bytes < t->least)
        return CC_OK;
    *set = true;
    t->at = now + t->begin_s + t->byte_s * (int)bytes;
    return send_oneself(t, (int)bytes, e);
}

/* --- waiting --- */

/* All that is under way, in one list; the timer last, if it is. */
struct list {
    MPI_Request *request;
    struct place {
        struct cc_requests *of; /* NULL: the timer */
        size_t i;
    } * place;
    size_t count;
};

static int make_list(const struct cc_waits *w, struct list *l, struct cc_error *e)
{
    size_t room = 1;
    for (const struct cc_requests *r = w->first; r != NULL; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            room += r->request[i] != MPI_REQUEST_NULL;
    *l = (struct list){.request = cc_alloc(room * sizeof(MPI_Request), e),
                       .place = cc_alloc(room * sizeof *l->place, e)};
    if (l->request == NULL || l->place == NULL)
        return CC_FAIL;
    for (struct cc_requests *r = w->first; r != NULL; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            if (r->request[i] != MPI_REQUEST_NULL) {
                l->place[l->count] = (struct place){r, i};
                l->request[l->count++] = r->request[i];
            }
    return CC_OK;
}

static void drop_list(struct list *l)
{
    free(l->request);
    free(l->place);
}

static void add_timer(struct list *l, const struct timer *t)
{
    l->place[l->count] = (struct place){NULL, 0};
    l->request[l->count++] = t->come;
}

/* Tells its owner that one is complete. */
static void tell(const struct list *l, int which, const MPI_Status *state)
{
    const struct place *p = &l->place[which];
    p->of->request[p->i] = MPI_REQUEST_NULL;
    p->of->status[p->i] = *state;
    p->of->over[p->i] = true;
}

/* One after the other: MPI_Waitsome tests them, and with each test that finds a message,
 * SimGrid 3.32 gets slower. */
static int wait_any(const struct list *l, struct timer *t, struct cc_error *e)
{
    MPI_Status state;
    int which = 0, code = MPI_Waitany((int)l->count, l->request, &which, &state);
    int status = cc_mpi_check(code, "MPI_Waitany", e);
    if (status != CC_OK)
        return status;
    if (t != NULL && l->place[which].of == NULL) {
        t->come = MPI_REQUEST_NULL;
        return end_timer(t, e);
    }
    tell(l, which, &state);
    return CC_OK;
}

/* For times that the timer cannot measure. */
static int test_in_slices(const struct list *l, double until, struct cc_error *e)
{
    const double most = fmin(200e-6, fmax((until - cc_runtime_now()) / 16, CC_INSTANT_S));
    MPI_Status state;
    int found = 0, which = MPI_UNDEFINED, status = CC_OK;
    while (!found && status == CC_OK && until - cc_runtime_now() >= CC_INSTANT_S) {
        cc_runtime_sleep(fmin(most, until - cc_runtime_now()));
        int code = MPI_Testany((int)l->count, l->request, &which, &found, &state);
        status = cc_mpi_check(code, "MPI_Testany", e);
        found = found && which != MPI_UNDEFINED;
    }
    if (status == CC_OK && found)
        tell(l, which, &state);
    return status;
}

static int wait_for(struct cc_waits *w, struct list *l, double until, struct cc_error *e)
{
    bool set = false;
    if (!isfinite(until))
        return l->count > 0 ? wait_any(l, NULL, e)
                            : cc_fail(e, "a rank waits, and nothing is under way to it");
    int status = set_timer(w->timer, until, &set, e);
    if (status != CC_OK)
        return status;
    if (!set)
        return test_in_slices(l, until, e);
    add_timer(l, w->timer);
    return wait_any(l, w->timer, e);
}

int cc_runtime_wait(struct cc_waits *w, bool yield_when_idle, double since, double until,
                    struct cc_error *e)
{
    struct list l;
    (void)yield_when_idle;
    (void)since;
    if (w->more || until - cc_runtime_now() < CC_INSTANT_S) {
        w->more = false;
        return CC_OK;
    }
    int status = make_list(w, &l, e);
    if (status == CC_OK)
        status = wait_for(w, &l, until, e);
    drop_list(&l);
    return status;
}

bool cc_runtime_collectives(void)
{
    return false;
}

int cc_runtime_barrier(MPI_Comm comm, bool yield_when_idle, struct cc_error *e)
{
    static sg_bar_t all; /* of all ranks that there are */
    int ranks = 0;
    (void)yield_when_idle;
    if (cc_mpi_check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size", e) != CC_OK)
        return CC_FAIL;
    if (all == NULL)
        all = sg_barrier_init((unsigned)ranks);
    (void)sg_barrier_wait(all);
    return CC_OK;
}
