/* Flows between the hosts of a simulated platform, all at the same time. Reads flows from stdin,
 * one a line: FROM TO BYTES. Prints for each flow, when it has arrived, its number and the time in
 * seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FLOWS 1024

/* All ranks run in one process, one at a time: the first one reads for all. */
static struct flow {
    int from, to, bytes;
} flow[FLOWS];
static int flows = -1;

static void read_flows(void)
{
    struct flow f;
    for (flows = 0; scanf("%d %d %d", &f.from, &f.to, &f.bytes) == 3 && flows < FLOWS; flows++)
        flow[flows] = f;
}

int main(int argc, char **argv)
{
    MPI_Request request[2 * FLOWS];
    int which[2 * FLOWS], count = 0, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (flows < 0)
        read_flows();
    char *buffer = SMPI_SHARED_MALLOC((size_t)1 << 30);
    for (int i = 0; i < flows; i++) {
        which[count] = i;
        if (rank == flow[i].to)
            MPI_Irecv(buffer, flow[i].bytes, MPI_BYTE, flow[i].from, i, MPI_COMM_WORLD,
                      &request[count++]);
        which[count] = -1;
        if (rank == flow[i].from)
            MPI_Isend(buffer, flow[i].bytes, MPI_BYTE, flow[i].to, i, MPI_COMM_WORLD,
                      &request[count++]);
    }
    for (int left = count; left > 0; left--) {
        int at;
        MPI_Waitany(count, request, &at, MPI_STATUS_IGNORE);
        if (which[at] >= 0)
            printf("%d %.9f\n", which[at], MPI_Wtime());
    }
    SMPI_SHARED_FREE(buffer);
    MPI_Finalize();
    return 0;
}
