#include "netsim/transport/mpi_calls.h"

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

int cc_mpi_reduce(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, MPI_Op op,
                  struct cc_error *e)
{
    int rank = 0;
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e));
    const void *own = rank == 0 ? MPI_IN_PLACE : list;
    return cc_mpi_check(MPI_Reduce(own, list, (int)count, type, op, 0, comm), "MPI_Reduce", e);
}

int cc_mpi_allreduce(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, MPI_Op op,
                     struct cc_error *e)
{
    return cc_mpi_check(MPI_Allreduce(MPI_IN_PLACE, list, (int)count, type, op, comm),
                        "MPI_Allreduce", e);
}

int cc_mpi_gather(MPI_Comm comm, const void *own, size_t bytes, void *out, struct cc_error *e)
{
    void *all = NULL;
    int rank = 0, ranks = 0;
    memcpy(out, &all, sizeof all);
    CC_TRY(cc_mpi_place(comm, &rank, &ranks, e));
    if (rank == 0 && (all = cc_alloc((size_t)ranks * bytes, e)) == NULL)
        return CC_FAIL;
    memcpy(out, &all, sizeof all);
    return cc_mpi_check(MPI_Gather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, comm),
                        "MPI_Gather", e);
}

int cc_mpi_broadcast(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, struct cc_error *e)
{
    return cc_mpi_check(MPI_Bcast(list, (int)count, type, 0, comm), "MPI_Bcast", e);
}

int cc_mpi_move(MPI_Comm comm, int peer, bool sends, void *list, size_t count, MPI_Datatype type,
                struct cc_error *e)
{
    return sends ? cc_mpi_check(MPI_Send(list, (int)count, type, peer, 0, comm), "MPI_Send", e)
                 : cc_mpi_check(MPI_Recv(list, (int)count, type, peer, 0, comm, MPI_STATUS_IGNORE),
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
