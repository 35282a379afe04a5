#!/bin/sh
# The exchanges over MPI, with 1 to 13 ranks on this machine, and the rank program. With
# arguments, only the test of that name, with the other arguments (a scheme, an exchange):
# tests/mpi.sh test_exchange 3lc ring. COMMCOMP_TEST_EVERY=1 tries every scheme over every
# exchange with any number of ranks, COMMCOMP_TEST_ALL=1 also with a million values;
# COMMCOMP_TEST_RANKS="2 3" chooses the numbers of ranks.
set -u
programs=$(dirname "${COMMCOMP:-build/bin/commcomp}")/../tests/mpi
if ! command -v mpirun >/dev/null 2>&1; then
    echo "skipped: the exchanges over MPI; there is no mpirun"
    exit 0
fi
if ! command -v mpicc >/dev/null 2>&1; then
    echo "skipped: the exchanges over MPI; there is no mpicc to build them with"
    exit 0
fi
limit=240
[ "${COMMCOMP_TEST_EVERY:-0}" = 0 ] || limit=600
[ "${COMMCOMP_TEST_ALL:-0}" = 0 ] || limit=3600
# mpirun refuses root unless these variables allow it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI itself leaks memory.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
export OMP_NUM_THREADS=1
failed=0
only=${1:-}
[ $# -eq 0 ] || shift

# on RANKS TEST [WORD...]: once with each number of ranks.
on() {
    ranks=$1
    program=$2
    shift 2
    [ -z "$only" ] || [ "$only" = "$program" ] || return 0
    for n in $ranks; do
        case " ${COMMCOMP_TEST_RANKS:-$ranks} " in
        *" $n "*) ;;
        *) continue ;;
        esac
        timeout -k 5 "$limit" mpirun -np "$n" --oversubscribe --bind-to none \
            --mca mpi_yield_when_idle 1 --mca btl "${COMMCOMP_TEST_BTL:-self,vader}" \
            "$programs/$program" "$@" </dev/null || failed=1
    done
}

on "1 2 3 4 5 6 7 8 9" test_exchange "$@"
on "1 2 3 4 6" test_operations "$@"
on "1 2 3 4 7" test_keep "$@"
on "1 2 3 4 5 6 7 8 9" test_rounds "$@"
on "2 3 4 5 6 8 13" test_ps "$@"
on "2 3 6" test_ps_stale "$@"
on 1 test_inprocess "$@"
on 1 test_conserved "$@"
on 2 test_waits "$@"
on "1 3" test_mpi_calls "$@"
on 2 test_source "$@"
on 4 test_loop "$@"
on "2 3 5" test_calls "$@"
# The test of the rank program starts mpirun itself.
if [ -z "$only" ] || [ "$only" = test_rank ]; then
    COMMCOMP_RANK=$programs/../../bin/commcomp-rank "$programs/test_rank" || failed=1
fi
exit $failed
