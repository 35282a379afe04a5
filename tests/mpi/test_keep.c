/* Sums that are re-sparsified (a job's `keep`), over MPI against the serial reference: for every
 * sparse exchange and every scheme that takes values back, the models after every step to the last
 * bit, the values kept, the bytes; and that nothing is lost: after 13 steps, what was applied and
 * what the workers hold back is what they have computed. Where sums are exact (whole numbers), to
 * the last bit. In step 5 the threshold is far too low, in step 9 far too high.
 *
 * Usage: test_keep [SCHEME [EXCHANGE]]: only that. */
#include <mpi.h>

#include <stdio.h>

#include "tests/mpi/trial.h"

static const char *const schemes[] = {
    "topk:k=4,bucket=64",
    "sparse:density=0.05,select=exact",
    "sparse:density=0.05,select=exact,index=u32",
    "threshold:tau=2",
    "dgc:density=0.05,momentum=0.5",
    "local:every=2,inner=(topk:k=4,bucket=64)",
};

static const struct way ways[] = {
    {.exchange = "ssar-recdouble", .keep = 0.03},
    {.exchange = "ssar-split", .keep = 0.03},
    {.exchange = "ssar-rabenseifner", .keep = 0.03},
    {.exchange = "dsar-split", .dense_bits = 32, .keep = 0.03},
    {.exchange = "ssar-auto", .dense_bits = 32, .keep = 0.03},
    {.exchange = "ssar-split", .wire = CC_WIRE_PAIRS, .keep = 0.001},
    {.exchange = "ssar-recdouble", .keep = 0.9},
};

int main(int argc, char **argv)
{
    struct ranks_here w = {.scheme = argc > 1 ? argv[1] : NULL,
                           .exchange = argc > 2 ? argv[2] : NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    const double since = MPI_Wtime();
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
            trial_attempt(&w, schemes[i], &ways[k], TRIAL_WHOLE);
            /* Every second one beyond four ranks, which share few cores. */
            if (w.ranks <= 4 || (i + k + (size_t)w.ranks) % 2 == 0)
                trial_attempt(&w, schemes[i], &ways[k], TRIAL_REAL);
        }
    if (w.rank == 0)
        printf("%d ranks: %ld cases, %ld failed, %.1f s\n", w.ranks, w.cases, w.failures,
               MPI_Wtime() - since);
    MPI_Finalize();
    return w.failures > 0;
}
