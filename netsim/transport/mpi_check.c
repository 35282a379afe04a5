#include "netsim/transport/mpi_check.h"

#include <mpi.h>

int cc_mpi_check(int code, const char *what, struct cc_error *e)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return CC_OK;
    MPI_Error_string(code, text, &length);
    return cc_fail(e, "%s: %.300s", what, text);
}
