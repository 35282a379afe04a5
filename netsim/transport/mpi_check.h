/* Turns the error codes of MPI into messages. */
#ifndef CC_NETSIM_TRANSPORT_MPI_CHECK_H
#define CC_NETSIM_TRANSPORT_MPI_CHECK_H

#include "core/error.h"

/* CC_OK for MPI_SUCCESS; otherwise CC_FAIL with "what: " and MPI's own text. The communicator's
 * error handler must be MPI_ERRORS_RETURN. */
int cc_mpi_check(int code, const char *what, struct cc_error *e);

#endif
