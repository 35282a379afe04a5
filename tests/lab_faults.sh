#!/bin/sh
# Failures in the middle of a run in the lab: the run ends in time with a message that names the
# cause, rows measured before are kept, and nothing of the lab remains. Needs root, to enter the lab.
# COMMCOMP is the program, with commcomp-rank beside it.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
program=$(realpath "${COMMCOMP:-$root/build/bin/commcomp}") || exit 1

skip() {
    echo "faults in the lab: SKIPPED: $1"
    exit 0
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
for tool in ip tc nsenter mpirun pgrep python3; do
    command -v $tool >/dev/null || skip "needs $tool"
done
[ -x "$(dirname "$program")/commcomp-rank" ] || skip "there is no commcomp-rank"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
export XDG_CACHE_HOME="$dir"
passed=0 failed=0

check() { # NAME STATUS: counts a check by its exit status
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        head -n 20 err
        head -c 2000 out
    fi
}

# start: starts a run of two settings. The first is short; a step of the second takes 3.3 s. Returns
# when the second has begun; $launcher is the program and $init the first process of its lab.
start() {
    "$program" run -q --exchange ps --workers 2 --values 25K --scheme fp32 --bw 100mbps,1mbps \
        --steps 3 --warmup 0 --format json >out 2>err &
    launcher=$!
    for _ in $(seq 600); do
        init=$(pgrep -P $launcher commcomp | tail -n 1) # a lab has two processes while it is opened
        [ -n "$init" ] && inside tc qdisc show 2>/dev/null | grep -q 'rate 1Mbit' &&
            inside pgrep commcomp-rank >/dev/null 2>&1 && break
        sleep 0.1
    done
    sleep 1.5
}

inside() { # COMMAND...: in the lab
    nsenter -t "$init" -m -n -p "$@"
}

gone() { # whether the lab's first process has ended; it may be unreaped
    ! grep -Eq "State:\s+[^Z]" /proc/"$init"/status 2>/dev/null
}

# ends NAME TEXT SECONDS: the run fails within that time with the text, and its results are printed.
ends() {
    began=$(date +%s)
    wait $launcher
    code=$?
    took=$(($(date +%s) - began))
    [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -qE -- "$2" err
    check "$1" $?
    [ $took -le "$3" ]
    check "$1: after $took s" $?
    python3 -c "
import json
d = json.load(open('out'))
assert 'error' in d
assert [r['bw_bps'] for r in d['rows']] == [1e8] and d['rows'][0]['step_s'] > 0" 2>>err
    check "$1: rows are kept" $?
    gone
    check "$1: the lab is gone" $?
}

start
inside ip -n h1 link set data down
# The step of 3.3 s has at most 1.8 s left; the run must end 10 s after that.
ends "a link that goes down" "nothing moves any more: step [0-9] of row 1 \(fp32\)" 14

start
inside sh -c 'kill -STOP $(pgrep -x commcomp-rank | head -n 1)'
ends "a rank that is stopped" "commcomp-rank of rank [0-9], process [0-9]+, has been stopped \(SIGSTOP\) for 1[0-9] s" 25

start
rank=$(inside pgrep -x commcomp-rank | head -n 1)
inside kill -KILL "$rank"
ends "a rank that is killed" "rank [0-9] \(a (worker|server)\), process $rank on node h[0-9], exited on signal 9" 10

start
inside sh -c 'kill -KILL $(pgrep -x mpirun)'
ends "mpirun that is killed" "mpirun was killed by signal 9" 10

start
kill -KILL "$launcher"
wait $launcher
for _ in $(seq 50); do
    gone && break
    sleep 0.1
done
gone
check "the launcher that is killed: the lab is gone" $?

echo "faults in the lab: $passed passed, $failed failed"
[ $failed -eq 0 ]
