/* The calls of MPI with counts of size_t: more elements than an int counts are refused before
 * anything is sent, and a gather puts elements of any size in the order of the ranks. */
#include <mpi.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/transport/mpi_calls.h"

static long failures;

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "FAILED: %s\n", what);
    failures++;
}

static void check_refused(int status, struct cc_error *e, const char *what)
{
    check(status == CC_FAIL && strstr(e->text, "2147483648 elements") != NULL, what);
    e->text[0] = '\0';
}

static void refuse_counts(int rank)
{
    const size_t most = INT_MAX, count = most + 1;
    float list[1] = {0}, *all;
    struct cc_error e = {""};
    int n;
    check(cc_mpi_count(most, &n, &e) == CC_OK && n == INT_MAX, "the largest count");
    check_refused(cc_mpi_count(count, &n, &e), &e, "a count");
    check_refused(cc_mpi_reduce(MPI_COMM_SELF, list, count, MPI_FLOAT, MPI_SUM, &e), &e, "reduce");
    check_refused(cc_mpi_allreduce(MPI_COMM_SELF, list, count, MPI_FLOAT, MPI_SUM, &e), &e,
                  "allreduce");
    check_refused(cc_mpi_broadcast(MPI_COMM_SELF, list, count, MPI_FLOAT, &e), &e, "broadcast");
    check_refused(cc_mpi_move(MPI_COMM_SELF, rank, true, list, count, MPI_FLOAT, &e), &e, "send");
    check_refused(cc_mpi_move(MPI_COMM_SELF, rank, false, list, count, MPI_FLOAT, &e), &e,
                  "receive");
    check_refused(CC_MPI_GATHER(MPI_COMM_SELF, list, count, all, &e), &e, "gather");
    check(all == NULL, "gather after an error");
}

static void gather(int rank, int ranks)
{
    struct element {
        double x;
        char c;
    } own[2] = {{rank, 'a'}, {rank + 0.5, 'b'}}, *all;
    struct cc_error e = {""};
    check(CC_MPI_GATHER(MPI_COMM_WORLD, own, 2, all, &e) == CC_OK, "gather");
    check((all != NULL) == (rank == 0), "gather: who has the elements");
    for (int i = 0; i < ranks && all != NULL; i++)
        check(all[2 * i].x == i && all[2 * i].c == 'a' && all[2 * i + 1].x == i + 0.5 &&
                  all[2 * i + 1].c == 'b',
              "gather: the elements");
    free(all);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    refuse_counts(rank);
    gather(rank, ranks);
    if (rank == 0)
        printf("MPI's calls between %d ranks: %ld failures\n", ranks, failures);
    MPI_Finalize();
    return failures > 0;
}
