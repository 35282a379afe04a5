/* The simulated runtime: waiting, with and without a time limit.
 *
 * A test takes no simulated time, so a rank that only polled would poll forever: ranks must wait.
 * But SMPI has no wait with a time limit. The limit is therefore a message: the rank sends itself
 * as many bytes as take until then to arrive, and waits for that message and its other requests
 * together (MPI_Waitany). Messages within a host share their link with nothing, so their time is a
 * linear function of their size; measure_timer finds it when a rank opens its waits.
 *
 * A timer message cannot be withdrawn. One that is still under way is used again if it arrives no
 * later than the new limit. Where it would arrive later, where the time is too short for a message,
 * or where message times are not linear (a platform without a loopback link), the rank sleeps in
 * slices and tests its requests in between.
 *
 * A wait completes one request at a time and marks it in its owner's list (cc_mpi_requests.over).
 * The test functions only read these marks. */
#include <limits.h>
#include <math.h>
#include <simgrid/barrier.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

/* --- reading what waits have completed --- */

/* Does not ask MPI: a request that completes while the rank works is found by its next wait, which
 * then returns at once. */
int cc_runtime_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    (void)e;
    const struct cc_mpi_requests *m = cc_mpi_requests(r);
    *over = m->request[i] == MPI_REQUEST_NULL;
    m->over[i] = false;
    return CC_OK;
}

int cc_runtime_some(struct cc_requests *r, int *count, int *which, struct cc_error *e)
{
    (void)e;
    const struct cc_mpi_requests *m = cc_mpi_requests(r);
    *count = 0;
    for (size_t i = 0; i < r->count; i++)
        if (m->over[i]) {
            m->over[i] = false;
            m->status[*count] = m->status[i];
            which[(*count)++] = (int)i;
        }
    return CC_OK;
}

/* --- the timer --- */

struct timer {
    MPI_Request receive, send;
    double at; /* when the message under way arrives */
    /* A message of n >= least bytes takes latency_s + n * byte_s. byte_s is 0 where messages cannot
     * measure time. */
    double latency_s, byte_s;
    int least;
};

static int start_timer_message(struct timer *t, int bytes, struct cc_error *e)
{
    uint8_t *any = cc_runtime_scratch();
    int code = MPI_Irecv(any, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &t->receive);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(any, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &t->send);
    return cc_mpi_check(code, "a message to oneself", e);
}

static int finish_timer_message(struct timer *t, struct cc_error *e)
{
    int code = MPI_Wait(&t->receive, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&t->send, MPI_STATUS_IGNORE);
    return cc_mpi_check(code, "a message to oneself", e);
}

/* Fits the line through the two largest of a few sizes; `least` becomes the smallest size that lies
 * on it. */
static int measure_timer(struct timer *t, struct cc_error *e)
{
    enum { SIZES = 4 };
    static const int bytes[SIZES] = {1 << 10, 1 << 17, 1 << 20, 1 << 23};
    double s[SIZES];
    for (int i = 0; i < SIZES; i++) {
        const double since = cc_runtime_now();
        CC_TRY(start_timer_message(t, bytes[i], e));
        CC_TRY(finish_timer_message(t, e));
        s[i] = cc_runtime_now() - since;
    }
    t->byte_s = (s[SIZES - 1] - s[SIZES - 2]) / (bytes[SIZES - 1] - bytes[SIZES - 2]);
    t->latency_s = s[SIZES - 1] - t->byte_s * bytes[SIZES - 1];
    int i = SIZES - 2;
    while (i > 0 && fabs(t->latency_s + t->byte_s * bytes[i - 1] - s[i - 1]) <= 1e-3 * s[i - 1])
        i--;
    t->least = bytes[i];
    if (i > 1 || t->latency_s < -CC_INSTANT_S)
        t->byte_s = 0;
    return CC_OK;
}

int cc_waits_open(struct cc_mpi_transport *t, struct cc_error *e)
{
    if (cc_runtime_scratch() == NULL)
        return cc_fail(e, "no memory that ranks share");
    CC_TRY(CC_NEW(t->timer, 1, e));
    t->timer->receive = t->timer->send = MPI_REQUEST_NULL;
    return measure_timer(t->timer, e);
}

void cc_waits_close(struct cc_mpi_transport *t)
{
    struct cc_error e;
    if (t->timer != NULL)
        (void)finish_timer_message(t->timer, &e);
    free(t->timer);
    t->timer = NULL;
}

/* *set: a timer message is under way that arrives by `until`; starts one if none is under way. */
static int set_timer(struct timer *t, double until, bool *set, struct cc_error *e)
{
    *set = false;
    if (t == NULL || t->byte_s <= 0)
        return CC_OK;
    if (t->receive != MPI_REQUEST_NULL) {
        *set = t->at - until < CC_INSTANT_S;
        return CC_OK;
    }
    const double now = cc_runtime_now();
    const double bytes = fmin((until - now - t->latency_s) / t->byte_s, INT_MAX);
    if (bytes < t->least)
        return CC_OK;
    *set = true;
    t->at = now + t->latency_s + t->byte_s * (int)bytes;
    return start_timer_message(t, (int)bytes, e);
}

/* --- waiting --- */

/* All requests of all owners in one array, as MPI_Waitany needs them; the timer last, if it is
 * set. */
struct request_list {
    MPI_Request *request;
    struct origin {
        struct cc_requests *of; /* NULL: the timer */
        size_t i;
    } * origin;
    size_t count;
};

static int list_requests(const struct cc_transport *t, struct request_list *l, struct cc_error *e)
{
    size_t capacity = 1; /* for the timer */
    for (const struct cc_requests *r = t->first; r != NULL; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            capacity += cc_mpi_requests(r)->request[i] != MPI_REQUEST_NULL;
    *l = (struct request_list){.request = cc_alloc(capacity * sizeof(MPI_Request), e),
                               .origin = cc_alloc(capacity * sizeof *l->origin, e)};
    if (l->request == NULL || l->origin == NULL)
        return CC_FAIL;
    for (struct cc_requests *r = t->first; r != NULL; r = r->next)
        for (size_t i = 0; i < r->count; i++)
            if (cc_mpi_requests(r)->request[i] != MPI_REQUEST_NULL) {
                l->origin[l->count] = (struct origin){r, i};
                l->request[l->count++] = cc_mpi_requests(r)->request[i];
            }
    return CC_OK;
}

static void mark_complete(const struct request_list *l, int which, const MPI_Status *state)
{
    const struct origin *p = &l->origin[which];
    const struct cc_mpi_requests *m = cc_mpi_requests(p->of);
    m->request[p->i] = MPI_REQUEST_NULL;
    m->status[p->i] = *state;
    m->over[p->i] = true;
}

/* Completes one request. MPI_Waitsome would complete several, but tests each of them, and SimGrid
 * 3.32 slows down with each test that finds a message. */
static int wait_any(const struct request_list *l, struct timer *t, struct cc_error *e)
{
    MPI_Status state;
    int which = 0;
    CC_TRY(cc_mpi_check(MPI_Waitany((int)l->count, l->request, &which, &state), "MPI_Waitany", e));
    if (t != NULL && l->origin[which].of == NULL) {
        t->receive = MPI_REQUEST_NULL;
        return finish_timer_message(t, e);
    }
    mark_complete(l, which, &state);
    return CC_OK;
}

static int sleep_and_test(const struct request_list *l, double until, struct cc_error *e)
{
    const double slice = fmin(200e-6, fmax((until - cc_runtime_now()) / 16, CC_INSTANT_S));
    MPI_Status state;
    int found = 0, which = MPI_UNDEFINED;
    while (!found && until - cc_runtime_now() >= CC_INSTANT_S) {
        cc_runtime_sleep(fmin(slice, until - cc_runtime_now()));
        int code = MPI_Testany((int)l->count, l->request, &which, &found, &state);
        CC_TRY(cc_mpi_check(code, "MPI_Testany", e));
        found = found && which != MPI_UNDEFINED;
    }
    if (found)
        mark_complete(l, which, &state);
    return CC_OK;
}

static int wait_until(struct cc_mpi_transport *t, struct request_list *l, double until,
                      struct cc_error *e)
{
    bool set = false;
    if (!isfinite(until))
        return l->count > 0 ? wait_any(l, NULL, e)
                            : cc_fail(e, "a rank waits, and nothing is under way to it");
    CC_TRY(set_timer(t->timer, until, &set, e));
    if (!set)
        return sleep_and_test(l, until, e);
    l->origin[l->count] = (struct origin){NULL, 0};
    l->request[l->count++] = t->timer->receive;
    return wait_any(l, t->timer, e);
}

int cc_runtime_wait(struct cc_mpi_transport *t, bool yield_when_idle, double since, double until,
                    struct cc_error *e)
{
    struct request_list l = {0};
    int status = CC_OK;
    (void)yield_when_idle;
    (void)since;
    if (t->end.more || until - cc_runtime_now() < CC_INSTANT_S) {
        t->end.more = false;
        return CC_OK;
    }
    CC_TRY_OUT(list_requests(&t->end, &l, e));
    CC_TRY_OUT(wait_until(t, &l, until, e));
out:
    free(l.request);
    free(l.origin);
    return status;
}

bool cc_runtime_simulates(void)
{
    return true;
}

int cc_runtime_barrier(MPI_Comm comm, bool yield_when_idle, struct cc_error *e)
{
    static sg_bar_t all; /* shared by all ranks */
    int ranks = 0;
    (void)yield_when_idle;
    CC_TRY(cc_mpi_check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size", e));
    if (all == NULL)
        all = sg_barrier_init((unsigned)ranks);
    (void)sg_barrier_wait(all);
    return CC_OK;
}

int cc_runtime_begin(MPI_Comm comm, bool yield_when_idle, double pause_s, double *at,
                     struct cc_error *e)
{
    (void)pause_s;
    CC_TRY(cc_runtime_barrier(comm, yield_when_idle, e));
    *at = cc_runtime_now();
    return CC_OK;
}
