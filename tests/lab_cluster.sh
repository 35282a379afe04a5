#!/bin/sh
# `commcomp run` on a cluster. The hosts are network namespaces; a small agent of this script takes
# the place of ssh, through mpirun's options. Needs root; everything happens in namespaces that end
# with this script. COMMCOMP is the program, with commcomp-rank beside it.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
program=$(realpath "${COMMCOMP:-$root/build/bin/commcomp}") || exit 1

skip() {
    echo "cluster of namespaces: SKIPPED: $1"
    exit 0
}

if [ "${1:-}" != inside ]; then
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    for tool in ip tc unshare mpirun pgrep python3; do
        command -v $tool >/dev/null || skip "needs $tool"
    done
    [ -x "$(dirname "$program")/commcomp-rank" ] || skip "there is no commcomp-rank"
    unshare --net --mount --pid --fork --mount-proc true 2>/dev/null || skip "needs namespaces"
    dir=$(mktemp -d) || exit 1
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 130' INT TERM
    COMMCOMP=$program unshare --net --mount --pid --fork --mount-proc --kill-child \
        "$0" inside "$dir"
    exit $?
fi

# --- inside: three hosts on two networks, 10.98.0.* for mpirun and 10.99.0.* for the ranks ---

dir=$2
cd "$dir" || exit 1
mount --make-rprivate / && mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/netns || exit 1
mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 1 # for what is left when all processes are killed
ip link set lo up
ip link add control type bridge && ip link set control up && ip addr add 10.98.0.100/24 dev control
ip link add data type bridge && ip link set data up
for i in 1 2 3; do
    ip netns add n$i
    ip -n n$i link set lo up
    ip link add c$i type veth peer name eth0 netns n$i && ip link set c$i master control up
    ip link add d$i type veth peer name eth7 netns n$i && ip link set d$i master data up
    ip -n n$i addr add 10.98.0.$i/24 dev eth0 && ip -n n$i link set eth0 up
    ip -n n$i addr add 10.99.0.$i/24 dev eth7 && ip -n n$i link set eth7 up
    ip netns exec n$i sysctl -qw net.ipv4.tcp_congestion_control=reno
    echo "10.98.0.$i n$i" >>hosts
    echo "n$i slots=1" >>hostfile
done
echo "127.0.0.1 localhost" >>hosts
mount --bind hosts /etc/hosts
cat >agent <<'EOF'
#!/bin/sh
host=$1
shift
[ -e /run/netns/$host ] || { echo "agent: no route to $host" >&2; exit 255; }
mkdir -p /run/$host
exec ip netns exec $host unshare --uts sh -c "hostname $host; TMPDIR=/run/$host exec $*"
EOF
chmod +x agent
export XDG_CACHE_HOME="$dir" HOME="$dir" TMPDIR="$dir"
passed=0 failed=0

args="--allow-run-as-root --mca plm_rsh_agent $dir/agent --mca plm_rsh_no_tree_spawn 1 \
--mca oob_tcp_if_include 10.98.0.0/24 --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self"
over="--mca btl_tcp_if_include 10.99.0.0/24"

# run ARGUMENTS...: 2 workers and a server, with bytes for about a second; $mpi holds further options
# for mpirun, and $steps is the number of steps.
mpi="$args $over" steps=2
run() {
    timeout -k 5 100 "$program" run -q --exchange ps --workers 2 --values 250K --scheme fp32 \
        --steps "$steps" --mpirun-args "$mpi" --format json "$@" >out 2>err
}

check() { # NAME STATUS: counts a check by its exit status
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        head -c 3000 out
        head -n 20 err
    fi
}

# ok NAME CONDITION: the last run succeeded, and the condition holds for its JSON document d.
ok() {
    code=$?
    [ $code -eq 0 ] && python3 -c "import json; d = json.load(open('out')); assert $2" 2>>err
    check "$1" $?
}

# fails NAME TEXT: the last run failed, with one line on stderr that contains the text.
fails() {
    code=$?
    [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$2" err
    check "$1" $?
}

plain() { # whether no host is shaped
    for i in 1 2 3; do
        ip netns exec n$i tc qdisc show | grep -Eq "tbf|ingress" && return 1
        ip -n n$i -br link | grep -q ccifb && return 1
    done
    return 0
}

shaped() { # the number of shaped hosts
    for i in 1 2 3; do
        ip netns exec n$i tc qdisc show dev eth7 | grep "tbf cc0c: root"
    done | wc -l
}

soon() { # COMMAND...: whether it succeeds within 10 s
    for _ in $(seq 100); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
all_shaped() { [ "$(shaped)" -eq 3 ]; }

run --hosts n1,n2,n3 --bw 1gbps
ok "hosts by name" 'd["rows"][0]["step_s"] > 0 and d["rows"][0]["wire_bytes"] is None'
run --hostfile hostfile --bw 1gbps
ok "hosts from a file" 'd["rows"][0]["step_s"] > 0'

run --hosts n1,n2 --bw 1gbps
fails "too few hosts" "There are not enough slots available in the system to satisfy the 3 slots"
run --hosts n1,n2,n4 --bw 1gbps
fails "a host that is not there" "agent: no route to n4"
mpi="--mca plm_rsh_agent $dir/agent"
run --hosts n1,n2,n3 --bw 1gbps
fails "root needs --allow-run-as-root" "--mpirun-args --allow-run-as-root"
mpi="$args $over"

# A megabyte of each of two workers passes the server's port each way: 2 MB at 100 Mbit/s.
run --hosts n1,n2,n3 --bw 100mbps --tc-dev eth7
ok "shaped" 'd["rows"][0]["model_error"] > -0.1 and 0.3 < d["rows"][0]["step_s"] < 1'
ok "bytes are counted" '2e6 < d["rows"][0]["wire_bytes"] < 2.3e6'
plain
check "nothing of it remains" $?

# MPI is told to use the other network, which is not shaped.
mpi="$args --mca btl_tcp_if_include 10.98.0.0/24"
run --hosts n1,n2,n3 --bw 100mbps --tc-dev eth7
fails "bytes went elsewhere" "MPI used another interface"
plain
check "nothing of that remains" $?
mpi="$args $over"

run --hosts n1:2,n2 --bw 100mbps --tc-dev eth7
[ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF "hosts with one rank each, and here they have 2" err
check "two ranks on a host" $?
run --hosts n1,n2,n3 --bw 100mbps --tc-dev eth9
fails "no such interface" "there is no interface eth9"

# The launcher is killed: mpirun and the ranks end, and the shaping is undone.
steps=100 run --hosts n1,n2,n3 --bw 10mbps --tc-dev eth7 &
runner=$!
soon all_shaped
check "shaped while it runs" $?
kill -9 "$(pgrep -x -f "$program run .*" | head -n 1)"
wait $runner
soon plain
check "undone when the launcher is killed" $?
soon sh -c '! pgrep commcomp-rank >/dev/null'
check "no rank remains" $?

# killed PROGRAM: kills a process of that name, $process on $node, in the middle of a run.
killed() {
    steps=100 run --hosts n1,n2,n3 --bw 10mbps --tc-dev eth7 &
    runner=$!
    soon all_shaped
    process=$(pgrep -x "$1" | head -n 1)
    node=$(ip netns identify "$process")
    kill -9 "$process"
    wait $runner
}

# A rank is killed: it is named, whatever becomes of the others when their connections are reset. The
# same if the process is killed that waits for it, and takes it with it; then mpirun knows the end. A
# peer that aborts over its lost connection may reach mpirun first, which is rare: in three runs it is
# named at least once.
killed commcomp-rank
fails "a killed rank is named" "process $process on node $node, exited on signal 9 (Killed)"
soon plain
check "undone when a rank is killed" $?
for try in 1 2 3; do
    killed commcomp-watch
    ended=$?
    grep -qF "PID $process on node $node exited on signal 9" err && break
done
(exit $ended)
fails "a killed watcher is named" "PID $process on node $node exited on signal 9"

# All processes are killed at once, also the guards: the next run undoes their shaping.
steps=100 run --hosts n1,n2,n3 --bw 10mbps --tc-dev eth7 &
runner=$!
soon all_shaped
[ $$ -eq 1 ] && kill -9 -1 # all processes of this PID namespace except this shell, its first one
wait $runner
all_shaped
check "left shaped" $?
run --hosts n1,n2,n3 --bw 100mbps --tc-dev eth7
ok "the next run" '0.3 < d["rows"][0]["step_s"] < 1'
plain
check "undone by the next run" $?

echo "cluster of namespaces: $passed passed, $failed failed"
[ $failed -eq 0 ]
