#include "netsim/transport/mpi_calls.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"

int cc_mpi_check(int code, const char *what, struct cc_error *e)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return CC_OK;
    MPI_Error_string(code, text, &length);
    return cc_fail(e, "%s: %.300s", what, text);
}

int cc_mpi_place(MPI_Comm comm, int *rank, int *ranks, struct cc_error *e)
{
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, rank), "MPI_Comm_rank", e));
    return cc_mpi_check(MPI_Comm_size(comm, ranks), "MPI_Comm_size", e);
}

int cc_mpi_count(size_t count, int *out, struct cc_error *e)
{
    *out = (int)count;
    return count <= INT_MAX
               ? CC_OK
               : cc_fail(e, "%zu elements at once: MPI's calls take at most %d", count, INT_MAX);
}

int cc_mpi_reduce(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, MPI_Op op,
                  struct cc_error *e)
{
    int rank = 0, n;
    CC_TRY(cc_mpi_count(count, &n, e));
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e));
    const void *own = rank == 0 ? MPI_IN_PLACE : list;
    return cc_mpi_check(MPI_Reduce(own, list, n, type, op, 0, comm), "MPI_Reduce", e);
}

int cc_mpi_allreduce(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, MPI_Op op,
                     struct cc_error *e)
{
    int n;
    CC_TRY(cc_mpi_count(count, &n, e));
    return cc_mpi_check(MPI_Allreduce(MPI_IN_PLACE, list, n, type, op, comm), "MPI_Allreduce", e);
}

int cc_mpi_gather_elements(MPI_Comm comm, const void *own, size_t count, size_t element_bytes,
                           void *all, struct cc_error *e)
{
    void *to = NULL;
    int rank = 0, ranks = 0, n;
    MPI_Datatype type;
    memcpy(all, &to, sizeof to); /* as in cc_grow_bytes */
    CC_TRY(cc_mpi_count(count, &n, e));
    CC_TRY(cc_mpi_place(comm, &rank, &ranks, e));
    if (rank == 0 && (to = cc_alloc((size_t)ranks * count * element_bytes, e)) == NULL)
        return CC_FAIL;
    memcpy(all, &to, sizeof to);
    CC_TRY(cc_mpi_check(MPI_Type_contiguous((int)element_bytes, MPI_BYTE, &type),
                        "MPI_Type_contiguous", e));
    int code = MPI_Type_commit(&type);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(own, n, type, to, n, type, 0, comm);
    (void)MPI_Type_free(&type);
    return cc_mpi_check(code, "MPI_Gather", e);
}

int cc_mpi_broadcast(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, struct cc_error *e)
{
    int n;
    CC_TRY(cc_mpi_count(count, &n, e));
    return cc_mpi_check(MPI_Bcast(list, n, type, 0, comm), "MPI_Bcast", e);
}

int cc_mpi_move(MPI_Comm comm, int peer, bool sends, void *list, size_t count, MPI_Datatype type,
                struct cc_error *e)
{
    int n;
    CC_TRY(cc_mpi_count(count, &n, e));
    return sends ? cc_mpi_check(MPI_Send(list, n, type, peer, 0, comm), "MPI_Send", e)
                 : cc_mpi_check(MPI_Recv(list, n, type, peer, 0, comm, MPI_STATUS_IGNORE),
                                "MPI_Recv", e);
}

/* FNV-1a. */
static uint64_t hash(uint64_t h, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
    return h;
}

struct cc_host_id cc_host_id_here(void)
{
    struct cc_host_id here = {0};
    char text[128];
    /* Host names differ between hosts of a lab, which are one machine. */
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f == NULL)
        return here;
    here.machine = hash(0xcbf29ce484222325, text, fread(text, 1, sizeof text, f));
    (void)fclose(f);
    ssize_t length = readlink("/proc/self/ns/net", text, sizeof text);
    here.network = hash(here.machine, text, length > 0 ? (size_t)length : 0);
    return here;
}
