/* Calls of MPI whose error codes become messages. The communicator's error handler must be
 * MPI_ERRORS_RETURN. */
#ifndef CC_NETSIM_TRANSPORT_MPI_CALLS_H
#define CC_NETSIM_TRANSPORT_MPI_CALLS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* CC_OK for MPI_SUCCESS; otherwise CC_FAIL with "what: " and MPI's own text. */
int cc_mpi_check(int code, const char *what, struct cc_error *e);

/* The machine and the network that a rank runs on, so that ranks can tell whether they share cores,
 * memory and interfaces. Hashes: equal numbers mean the same machine, or the same network
 * namespace. The hosts of a lab are one machine with several networks. 0 where the system does not
 * tell. */
struct cc_host_id {
    uint64_t machine, network;
};
struct cc_host_id cc_host_id_here(void);

/* This process's rank, and the number of ranks. */
int cc_mpi_place(MPI_Comm comm, int *rank, int *ranks, struct cc_error *e);
/* A count as MPI takes it; fails beyond INT_MAX, as all calls below do. */
int cc_mpi_count(size_t count, int *out, struct cc_error *e);
/* Reduces a list of all ranks in place: on rank 0 (on the others it stays), or on all. */
int cc_mpi_reduce(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, MPI_Op op,
                  struct cc_error *e);
int cc_mpi_allreduce(MPI_Comm comm, void *list, size_t count, MPI_Datatype type, MPI_Op op,
                     struct cc_error *e);
/* Puts own[count] of each rank on rank 0, one after the other, and sets the pointer `all` to them;
 * NULL on the other ranks. The caller frees them, also after an error. The compound literals reject
 * pointers to anything but the same elements. */
#define CC_MPI_GATHER(comm, own, count, all, e)                                                    \
    cc_mpi_gather_elements(comm, (const __typeof__(*(all)) *){own}, count, sizeof *(all),          \
                           (__typeof__(*(all)) **){&(all)}, e)
int cc_mpi_gather_elements(MPI_Comm comm, const void *own, size_t count, size_t element_bytes,
                           void *all, struct cc_error *e);
/* Gives all ranks rank 0's list. */
int cc_mpi_broadcast(MPI_Comm comm, void *list, size_t count, MPI_Datatype type,
                     struct cc_error *e);
/* Sends a list to a rank, or receives it from there. */
int cc_mpi_move(MPI_Comm comm, int peer, bool sends, void *list, size_t count, MPI_Datatype type,
                struct cc_error *e);

#endif
