/* Simulated ranks that end as they should, or fail, as the environment variable TALKER requests
 * (tests/netsim/test_smpirun_real.c). Their reports are written by hand. */
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <xbt/sysdep.h>

static void say(const char *line)
{
    printf("%s\n", line);
    fflush(stdout);
}

/* Sends `bytes` from rank 0 to 1, both beginning at the next second, and reports the time that it
 * took. */
static void send_one(int rank, size_t bytes)
{
    char *buffer = calloc(1, bytes);
    double now = MPI_Wtime();
    /* A clock may be slightly before a second. */
    sg_actor_sleep_for((double)((long)(now + 0.001) + 1) - now);
    double began = MPI_Wtime();
    if (rank == 0)
        MPI_Send(buffer, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        printf("{\"report\": \"size\",\"bytes\":%zu,\"seconds\":[%.12g],\"send_s\":0}\n", bytes,
               MPI_Wtime() - began);
    fflush(stdout);
    free(buffer);
}

/* Ends the simulation when its parent ends or no longer reads. */
static void die_with_parent(void)
{
    struct pollfd out = {.fd = 1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0)
        raise(SIGKILL);
}

static void misbehave(int rank, const char *config)
{
    if (strcmp(config, "deadlock") == 0)
        MPI_Recv(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(config, "complain") == 0 && rank == 1) {
        say("{\"report\": \"error\",\"rank\":1,\"text\":\"no luck today\"}");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (strcmp(config, "crash") == 0 && rank == 1)
        raise(SIGSEGV);
    if (strcmp(config, "huge") == 0)
        xbt_free(xbt_malloc((size_t)1 << 60));
    while (strcmp(config, "spin") == 0)
        ;
}

int main(int argc, char **argv)
{
    const char *config = getenv("TALKER");
    int rank;
    die_with_parent();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        say("{\"report\": \"hello\",\"text\":\"a talker\"}");
    MPI_Barrier(MPI_COMM_WORLD);
    if (config != NULL)
        misbehave(rank, config);
    for (size_t bytes = 8; bytes <= 8000000; bytes *= 1000)
        send_one(rank, bytes);
    sg_actor_sleep_for(2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        say("{\"report\": \"done\"}");
    MPI_Finalize();
    return 0;
}
