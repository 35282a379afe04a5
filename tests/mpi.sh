#!/bin/sh
# The exchanges over MPI, with 1 to 9 ranks on this machine. Words on the command line go to the test
# (a scheme, an exchange); COMMCOMP_TEST_ALL=1 tries every scheme with a million values;
# COMMCOMP_TEST_RANKS="2 3" only so many ranks.
set -u
program=$(dirname "${COMMCOMP:-build/bin/commcomp}")/../tests/mpi/test_exchange
if ! command -v mpirun >/dev/null 2>&1; then
    echo "skipped: the exchanges over MPI; there is no mpirun"
    exit 0
fi
limit=120
[ "${COMMCOMP_TEST_ALL:-0}" = 0 ] || limit=3600
# mpirun refuses root unless it is told that this is meant.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI itself leaves memory behind.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"
export OMP_NUM_THREADS=1
failed=0
for ranks in ${COMMCOMP_TEST_RANKS:-1 2 3 4 5 6 7 8 9}; do
    timeout -k 5 "$limit" mpirun -np "$ranks" --oversubscribe --bind-to none \
        --mca mpi_yield_when_idle 1 --mca btl "${COMMCOMP_TEST_BTL:-self,vader}" \
        "$program" "$@" </dev/null || failed=1
done
exit $failed
