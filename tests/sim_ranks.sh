#!/bin/sh
# The exchanges as tests/mpi.sh tries them, simulated by SimGrid: the same files, the
# same reference, the same bits. As there, arguments choose a test, and
# COMMCOMP_TEST_RANKS numbers of ranks. The tests report simulated seconds.
set -u
programs=$(dirname "${COMMCOMP:-build/bin/commcomp}")/../tests/sim
for tool in smpicc smpirun; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "skipped: the exchanges between simulated ranks; there is no $tool"
        exit 0
    fi
done
export OMP_NUM_THREADS=1
hosts=8
failed=0
only=${1:-}
[ $# -eq 0 ] || shift
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$dir/platform.xml" <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="all" prefix="host" suffix="" radical="0-$((hosts - 1))" speed="1Gf" bw="125MBps"
           lat="20us" loopback_bw="1GBps" loopback_lat="0us"/>
</platform>
XML
for i in $(seq 0 $((hosts - 1))); do
    echo "host$i"
done >"$dir/hosts"

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
        timeout -k 5 400 smpirun -no-privatize -np "$n" -platform "$dir/platform.xml" \
            -hostfile "$dir/hosts" --cfg=network/model:CM02 --cfg=network/crosstraffic:0 \
            --cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1Gf --cfg=smpi/test:0 \
            --cfg=smpi/iprobe:0 --cfg=smpi/wtime:0 --cfg=smpi/init:0 \
            --cfg=smpi/shared-malloc:local --log=root.thresh:warning \
            "$programs/$program" "$@" </dev/null || {
            echo "FAILED: $program between $n simulated ranks"
            failed=1
        }
    done
}

on "2 3 7 8" test_exchange "$@"
on "3 8" test_rounds "$@"
on "2 3 8" test_ps "$@"
on "2 5 8" test_ps_stale "$@"
on 2 test_waits "$@"
on 2 test_source "$@"
on 4 test_loop "$@"
exit $failed
