/* Flows between the hosts of a simulated platform, all of them at once: for each one, in the order
 * of their ends, its number and the second in which it was there.
 *
 * route FROM TO BYTES [FROM TO BYTES ...] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FLOWS 256

int main(int argc, char **argv)
{
    MPI_Request request[2 * FLOWS];
    int flow[2 * FLOWS], count = 0, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = SMPI_SHARED_MALLOC((size_t)1 << 30);
    const double begin = MPI_Wtime();
    for (int i = 0; 3 * i + 3 < argc && i < FLOWS; i++) {
        const int from = atoi(argv[3 * i + 1]), to = atoi(argv[3 * i + 2]);
        const int bytes = atoi(argv[3 * i + 3]);
        flow[count] = i;
        if (rank == to)
            MPI_Irecv(buffer, bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, &request[count++]);
        flow[count] = -1;
        if (rank == from)
            MPI_Isend(buffer, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &request[count++]);
    }
    for (int left = count; left > 0; left--) {
        int which;
        MPI_Waitany(count, request, &which, MPI_STATUS_IGNORE);
        if (flow[which] >= 0)
            printf("%d %.9f\n", flow[which], MPI_Wtime() - begin);
    }
    SMPI_SHARED_FREE(buffer);
    MPI_Finalize();
    return 0;
}
