/* Requests over MPI; tests and waits differ between a machine and a simulation (runtime.h). */
#include "netsim/transport/mpi.h"

#include <limits.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

static double now(const struct cc_transport *t)
{
    (void)t;
    return cc_runtime_now();
}

static void free_requests(struct cc_mpi_requests *m)
{
    free(m->request);
    free(m->status);
    free(m->over);
    free(m);
}

static int open_requests(struct cc_requests *r, struct cc_error *e)
{
    struct cc_mpi_requests *m;
    CC_TRY(CC_NEW(m, 1, e));
    if (CC_NEW(m->request, r->count, e) != CC_OK || CC_NEW(m->status, r->count, e) != CC_OK ||
        CC_NEW(m->over, r->count, e) != CC_OK) {
        free_requests(m);
        return CC_FAIL;
    }
    for (size_t i = 0; i < r->count; i++)
        m->request[i] = MPI_REQUEST_NULL;
    r->request = m;
    return CC_OK;
}

/* Requests are still under way only after an error, and then the program ends. */
static void close_requests(struct cc_requests *r)
{
    struct cc_mpi_requests *m = cc_mpi_requests(r);
    for (size_t i = 0; i < r->count; i++)
        if (m->request[i] != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(&m->request[i]);
            (void)MPI_Request_free(&m->request[i]);
        }
    free_requests(m);
}

/* The memory to hand to MPI for the bytes of a message: without data, the runtime's scratch memory,
 * whose content nobody reads. */
static void *buffer_of(const struct cc_parcel *p)
{
    return p->at != NULL ? p->at : cc_runtime_scratch();
}

/* A count of bytes as MPI takes it. Messages without data may have more than an int counts: they
 * are counted in elements of the largest type, and rounded up to one. */
static int count_bytes(size_t bytes, int *count, MPI_Datatype *type, struct cc_error *e)
{
    int unit;
    *type = MPI_BYTE;
    *count = (int)bytes;
    if (bytes <= INT_MAX)
        return CC_OK;
    *type = MPI_C_LONG_DOUBLE_COMPLEX;
    CC_TRY(cc_mpi_check(MPI_Type_size(*type, &unit), "MPI_Type_size", e));
    const size_t size = (size_t)unit, elements = (bytes + size - 1) / size;
    *count = (int)elements;
    return elements <= INT_MAX
               ? CC_OK
               : cc_fail(e,
                         "a message of %zu bytes, and %zu can be sent at once: cut the step into "
                         "more messages, or take more servers",
                         bytes, size * INT_MAX);
}

static int begin(struct cc_requests *r, size_t i, const struct cc_parcel *p, bool sends,
                 struct cc_error *e)
{
    const MPI_Comm comm = cc_mpi_of(r->transport)->comm;
    MPI_Request *q = &cc_mpi_requests(r)->request[i];
    void *at = buffer_of(p);
    MPI_Datatype type;
    int n;
    CC_TRY(count_bytes(p->bytes, &n, &type, e));
    /* SMPI takes the size of a large message for an int when it decides whether to buffer it. */
    if (sends && p->bytes > INT_MAX)
        return cc_mpi_check(MPI_Issend(at, n, type, p->peer, p->tag, comm, q), "MPI_Issend", e);
    return sends ? cc_mpi_check(MPI_Isend(at, n, type, p->peer, p->tag, comm, q), "MPI_Isend", e)
                 : cc_mpi_check(MPI_Irecv(at, n, type, p->peer, p->tag, comm, q), "MPI_Irecv", e);
}

static size_t received_bytes(const struct cc_requests *r, size_t i)
{
    int bytes = 0;
    (void)MPI_Get_count(&cc_mpi_requests(r)->status[i], MPI_BYTE, &bytes);
    return (size_t)bytes;
}

struct cc_mpi_transport cc_mpi_transport(MPI_Comm comm)
{
    static const struct cc_transport_ops ops = {.now = now,
                                                .work_begin = cc_runtime_work_begin,
                                                .work_end = cc_runtime_work_end,
                                                .work_took = cc_runtime_work_took,
                                                .open = open_requests,
                                                .close = close_requests,
                                                .begin = begin,
                                                .test = cc_runtime_test,
                                                .some = cc_runtime_some,
                                                .bytes = received_bytes};
    return (struct cc_mpi_transport){.end = {.ops = &ops}, .comm = comm};
}
