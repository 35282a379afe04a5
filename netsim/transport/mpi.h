/* The transport over MPI: Open MPI's, or SMPI's in a simulation. Both programs post the same
 * messages in the same order; runtime.h has what differs between them. */
#ifndef CC_NETSIM_TRANSPORT_MPI_H
#define CC_NETSIM_TRANSPORT_MPI_H

#include <mpi.h>

#include "netsim/transport/transport.h"

/* One rank's end. cc_mpi_transport sets it up. */
struct cc_mpi_transport {
    struct cc_transport end;
    MPI_Comm comm;
    struct timer *timer; /* limits how long a wait takes; simulated runtime only */
};

struct cc_mpi_transport cc_mpi_transport(MPI_Comm comm);

/* That of a rank's end, which must be of this transport. */
static inline struct cc_mpi_transport *cc_mpi_of(struct cc_transport *end)
{
    return (struct cc_mpi_transport *)end;
}

/* The requests of a struct cc_requests. Those of MPI are tested by the runtime alone: a wait of any
 * owner may already have completed some. */
struct cc_mpi_requests {
    MPI_Request *request; /* MPI_REQUEST_NULL: complete, or not under way */
    MPI_Status *status;   /* by request that is complete */
    bool *over;           /* complete, but not yet reported; simulated runtime only */
};

static inline struct cc_mpi_requests *cc_mpi_requests(const struct cc_requests *r)
{
    return r->request;
}

#endif
