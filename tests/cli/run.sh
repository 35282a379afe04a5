#!/bin/sh
# `commcomp run`: plans, refusals and measurements.
. "$(dirname "$0")/lib.sh"

make_run_profile
m="model -q --profile profile.json"
r="run -q --profile run.json"

# --- the plan ---

# One million values, 8 Mbit/s and no headers: 1 byte a microsecond; four workers push and pull
# through one port. Buckets of a byte save nothing.
plan="$r --dry-run --values 1M --bw 8mbps --overhead none --burst 1 --workers 4"
q 0 $plan --scheme int8,fp32 --exchange ps --format json
json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"] and len({r["exchange"] for r in d["rows"]}) == 1'
json 'abs(d["rows"][0]["step_s_forecast"] - 2 * (50e-6 + 16)) < 1e-5'
json 'all(r["steps"] == 1 and r["warmup"] == 0 for r in d["rows"])'
json 'abs(d["rows"][0]["row_s"] - 32) < 0.01 and d["rows"][0]["row_bytes"] == 32e6 and d["rows"][1]["row_bytes"] == 8e6'
json 'd["rows"][0]["bits_pull"] == 32 and d["rows"][1]["ratio"] == 4 and d["rows"][1]["payload_bytes"] == 1e6'
json 'all(r["step_s"] is None and r["speedup"] is None and r["codec_s"] is None and r["wire_bytes"] is None for r in d["rows"])'
json 'd["rows"][0]["oversubscribed"] == (4 > d["host"]["cores"]) and "mpi" not in d["host"]'
json '40 < sum(r["row_s"] for r in d["rows"]) < 41 and any("dry run: 2 rows would take about 4" in n and ", 2 s of it to start the ranks, and move 40 MB over" in n for n in d["notes"])'
# The model gives the same forecast.
q 0 $m --values 1M --bw 8mbps --overhead none --burst 1 --workers 4 --scheme int8 --format json
cp out plan.json
q 0 $plan --scheme int8 --format json
json 'd["rows"][0]["step_s_forecast"] == json.load(open("plan.json"))["rows"][0]["step_s"] == d["rows"][0]["step_s_model"]'
# Steps are whole periods; a row takes the sum of its steps, each after a pause of 2 ms; short steps are repeated often and
# warmed up.
q 0 $plan --scheme fp32,local --steps 5 --warmup 1 --exchange ps --format json
json '[(r["steps"], r["warmup"]) for r in d["rows"]] == [(5, 1), (6, 2)]'
json 'abs(d["rows"][0]["row_s"] - 6 * (d["rows"][0]["step_s_forecast"] + 2e-3)) < 1e-9'
json 'd["rows"][0]["row_bytes"] == 6 * 32e6 and d["rows"][1]["row_bytes"] == 8 * 8e6'
q 0 $r --dry-run --values 1000 --bw 1gbps --scheme fp32 --workers 2 --format json
json 'd["rows"][0]["steps"] == 200 and d["rows"][0]["warmup"] > 0'
q 0 $r --dry-run --values 100K --bw 10mbps,100mbps --scheme fp32,int8 --workers 2 --compute 1500ms --exchange ps --format json
json 'all(2 <= r["steps"] <= 4 and r["row_s"] < 20 for r in d["rows"])'
json '[r["warmup"] for r in d["rows"]][1::2] == [0, 0]'
# Residuals on which the payload's size depends fill first, in steps that do not compute: a second for
# each of 3 + 1 steps, and little for the 103 before them.
sed 's/\("3lc", "points": \[{"values": 1000, "bits_per_value": \)8/\10.5/' run.json >small.json
q 0 run -q --profile small.json --dry-run --values 100K --bw 100mbps --workers 2 --scheme fp32,3lc --compute 1s --format json
json '[(r["warmup"], r["steps"]) for r in d["rows"]] == [(1, 3), (104, 3)] and 4 < d["rows"][1]["row_s"] < 5'
# The buckets of the lab suit the rate, and --burst stands for them.
q 0 $r --dry-run --bw 10mbps,1gbps --scheme fp32 --format json
json '0 < d["rows"][0]["burst_bytes"] < d["rows"][1]["burst_bytes"]'
q 0 $r --dry-run --bw 10mbps,1gbps --burst 7000 --scheme fp32 --format json
json '{r["burst_bytes"] for r in d["rows"]} == {7000}'
# The order and the number of rows; every exchange carries every scheme.
q 0 $r --dry-run --exchange ps,ring --servers 1,2 --workers 2,3 --bw 10mbps,100mbps --scheme fp32,fp16 --format json
json 'len(d["rows"]) == 24 and [r["exchange"] for r in d["rows"]] == ["ps"] * 16 + ["ring"] * 8'
json '[r["bw_bps"] for r in d["rows"][:4]] == [1e7, 1e7, 1e8, 1e8]'
q 0 $r --dry-run --exchange mpi,allgather --format json
json 'len(d["rows"]) >= 40 and d["rows"][0]["scheme"] == "fp32"'
# The ten designs of the paper in a few minutes.
q 0 $r --dry-run --scheme paper --bw 10mbps,100mbps,1gbps --exchange ps --format json
json 'len(d["rows"]) == 30 and 300 < sum(r["row_s"] for r in d["rows"]) < 600'

# --- a trace ---
q 0 trace synth gradients --net resnet20 --steps 2 --ranks 2
q 0 $r --dry-run --trace gradients --scheme fp32 --format json
json 'd["rows"][0]["net"] == "gradients" and d["rows"][0]["values"] > 200000 and "gradients: gradients, 2 steps" in d["notes"]'
q 0 $r --dry-run --trace gradients --net resnet20 --scheme fp32 --format json
json 'd["rows"][0]["net"] == "resnet20"'
t 1 $r --dry-run --trace missing --scheme fp32
err 'missing'
t 2 $r --dry-run --trace gradients --synthetic laplace
err '--trace and --synthetic exclude each other'
t 2 $r --dry-run --trace gradients --values 5
err '--trace and --values exclude each other'

# --- a paper's table ---
q 0 $r --dry-run --paper 3lc-table1 --format json
json 'len(d["rows"]) == 30 and {r["bw_bps"] for r in d["rows"]} == {1e7, 1e8, 1e9}'
json '{(r["workers"], r["servers"], r["net"]) for r in d["rows"]} == {(10, 1, "resnet110")}'
# 0.0287 of the values stay floats; the compute time is 0.01153 of what fp32's traffic takes.
json 'all(abs(r["bits_push"] - (8 * (1 - 0.0287) + 32 * 0.0287)) < 0.02 for r in d["rows"] if r["scheme"] == "int8")'
json 'any("a fit of 4 constants to 27 figures" in n for n in d["notes"]) and all("preset" not in n for n in d["notes"])'
q 0 $r --dry-run --paper 3lc-table1 --bw 100mbps --scheme fp32,3lc --format json
json '[r["scheme"] for r in d["rows"]] == ["fp32", "3lc"]'
t 2 $r --dry-run --paper 3lc-table1 --workers 4
err '--paper 3lc-table1 and --workers exclude each other'
t 2 $r --dry-run --paper 3lc-table2
err "--paper 3lc-table2: did you mean '3lc-table1'?"

# --- options of the model alone ---
t 2 $r --exchange ps,ssar-split
err 'ssar-split merges index-value pairs, and'
t 2 $r --exchange dsar-split --dense-bits 3
err '--dense-bits 3: only `commcomp model` takes any; in a run 32, 8, 4 or 2'
t 2 $r --consistency async --exchange ring
err '--consistency async needs a server that answers at any time: --exchange ps'
t 2 $r --consistency stale --staleness -1
err "--staleness: '-1' is not"
t 2 $r --communicate bound
err '--communicate goes with --consistency stale or async'
t 2 $r --staleness 2
err '--staleness goes with --consistency stale'
t 2 $r --mode pipe --depth 3
err 'a run has two steps under way: --depth 2'
t 2 $r --mode pipe --unlimited
err '--unlimited is predicted only'
t 2 $r --sync 1ms
err '--sync is predicted only'
t 2 $r --colocate --hosts a,b --tc-dev eth0 --workers 2
err 'shapes hosts with one rank each'
t 2 $r --workers 1000
err '--workers 1000: a lab has at most'
t 2 $r --net resnet20 --compute 0s --stragglers gamma
err 'give --compute'
# Options of a lab and of a cluster.
t 2 $r --mpirun /usr/bin/mpirun
err 'on which hosts?'
for option in '--limit 1M' '--congestion reno' --keep-lab --lab '--burst 5K'; do
    t 2 $r --hosts a,b $option
    err "${option%% *} is of"
done
t 2 $r --hosts a,b --hostfile f
err '--hostfile and --hosts exclude each other'
# Workers, and those of a host, are what hosts have room for: without an option, and of an allocation of Slurm.
hosts() { # hosts WORKERS PER_HOST OPTION ...
    w=$1 g=$2
    shift 2
    q 0 $r --dry-run --values 1000 --scheme fp32 --format json "$@"
    json "(d['rows'][0]['workers'], d['rows'][0]['per_host']) == ($w, $g)"
}
hosts 16 8 --exchange ring --hosts a:8,b:8
hosts 16 8 --exchange ring --hosts a:8,b:8 --workers 16
hosts 2 None --exchange ring --hosts a:8,b:8 --workers 2
hosts 8 4 --exchange ring --hosts a:8,b:3,c:9 --per-host 4
hosts 4 2 --exchange ps --hosts a:2,b:2,c
hosts 3 None --exchange ps --hosts a,b,c,d
hosts 10 None --exchange ring --hosts a:*,b
printf 'a slots=4\nb slots=4\n' >four
hosts 8 4 --exchange ring --hostfile four
t 2 $r --exchange ring --hosts a:4,b:3 --scheme fp32
err 'hosts have room for 3 to 4 ranks.* give --per-host 3, or --workers'
t 2 $r --exchange ring --hosts a:4,b:3 --per-host 5 --scheme fp32
err '--per-host 5: no host has room for so many'
t 2 $r --hosts a,b --launcher srun
err '--launcher srun: it starts ranks inside an allocation of Slurm'
export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[01-03],m' SLURM_TASKS_PER_NODE='2(x4)'
hosts 8 2 --exchange ring
hosts 6 2 --exchange ps
t 2 $r --lab --launcher srun
err '--lab is of a lab on this machine'
# srun gets the hosts, and the job on standard input, which goes to rank 0 alone.
printf '#!/bin/sh\necho "$@" >srun.words\nhead -c 100 >srun.job\nexit 3\n' >srun
chmod +x srun
t 1 $r --exchange ring --values 1000 --scheme fp32 --launcher srun --mpirun ./srun
err 'srun ended with exit code 3'
grep -q -- '^--ntasks 8 --nodes 4 --ntasks-per-node 2 --distribution block --mpi pmix --input 0 .*commcomp-rank -$' srun.words ||
    bad "srun's words: $(cat srun.words)"
grep -q '"kind": *"replay"' srun.job || bad "srun does not get the job"
SLURM_TASKS_PER_NODE='2(x3)'
t 1 $r --exchange ring
err "SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE.*is of 3 hosts, and the list of nodes has 4"
unset SLURM_JOB_ID SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE
# mpirun passes names of hosts to ssh, which would take these as options.
t 2 $r --hosts '-oProxyCommand=touch ssh-ran'
err "host 1: '-oProxyCommand=touch ssh-ran' is not the name of a host"
t 2 $r --hosts 'a:2,[::1],b@-c'
err "host 3: 'b@-c' is not the name of a host"
printf 'a slots=2 # one\n\n-oX\n' >options
t 1 $r --hostfile options
err "options: line 3: '-oX' is not the name of a host"
printf 'a slots=2\nb user=-oX\n' >options
t 1 $r --hostfile options
err "options: line 2: 'user=-oX' could be taken for an option of ssh"
q 0 $r --dry-run --hosts 'me@a.b-c:2,[fe80::1%eth0]:2,10.0.0.1,+n1' --workers 2 --values 1000 --scheme fp32
q 0 $r --dry-run --hosts a,b --workers 2 --values 1000 --scheme fp32 --format json
json 'd["rows"][0]["oversubscribed"] is None and d["rows"][0]["burst_bytes"] == 0'
t 2 $r --hosts a,b --tc-dev a234567890123456
err 'is not an interface: names have at most 15 bytes'
t 2 $r --burst 0
err '--burst: at least 1 byte'
t 2 $r --steps 0
err '--steps: 0 is not between 1'
COMMCOMP_RANK=$dir/no_rank
export COMMCOMP_RANK
t 1 $r --values 1000 --workers 2 --scheme fp32
err "COMMCOMP_RANK: there is no file $dir/no_rank"
unset COMMCOMP_RANK

# --- real runs, where this machine allows them ---
missing=$(why_no_lab)
if [ -n "$missing" ]; then
    echo "skipped: commcomp run over shaped links: $missing"
else
    q 0 $r --workers 2 --values 100K --bw 100mbps --scheme fp32,int8,3lc --steps 3 --exchange ps --format json
    json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8", "3lc"] and len(d["host"]["mpi"]) > 3'
    json 'd["rows"][0]["ratio"] == 1 and 3.9 < d["rows"][1]["ratio"] <= 4 and d["rows"][2]["ratio"] > 15'
    json 'd["rows"][0]["bits_pull"] == 32 and all(r["steps"] == 3 and r["step_s_sd"] is not None for r in d["rows"])'
    json 'all(r["step_s_q25"] <= r["step_s"] <= r["step_s_q75"] for r in d["rows"])'
    json 'd["rows"][0]["model_error"] > -0.25 and d["rows"][0]["speedup"] == 1 and d["rows"][1]["speedup"] > 2'
    # Two pushes and two pulls of 400 kB at 100 Mbit/s are 67 ms each, less the bucket.
    # A busy machine makes steps longer, but not several times.
    json '0.1 < d["rows"][0]["step_s"] < 0.5'
    json 'all(abs(r["wire_bytes"] / r["wire_bytes_model"] - 1) < 0.1 for r in d["rows"][:2])'
    json 'all(abs(r["model_error"] - (1 - r["step_s_model"] / r["step_s"])) < 1e-9 for r in d["rows"])'
    # Two hosts of two workers round a ring of 6 rounds: one sends through memory, the other over the link, which
    # sends at one rate and receives at another.
    q 0 $r --workers 4 --per-host 2 --values 100K --bw-up 50mbps --bw-down 200mbps --exchange ring --scheme fp32 --steps 3 --format json
    json 'd["rows"][0]["bytes_intra"] == 6e5 and abs(d["rows"][0]["bytes_inter"] / (6e5 * 1514 / 1448) - 1) < 0.05'
    json '0.09 < d["rows"][0]["step_s"] < 0.4 and d["rows"][0]["bytes_inter"] == d["rows"][0]["wire_bytes"]'
    json 'all(abs(r["comm_s"] + r["codec_s"] + r["compute_s"] - r["step_s"]) < 1e-6 for r in d["rows"] if r["comm_s"] > 0)'
    json 'all(r["congestion"] == "reno" and r["limit_bytes"] > 0 for r in d["rows"])'
    # The advice on buckets ends when it is followed once, or says that there is none.
    burst="$r --values 20K --workers 2 --bw 100mbps --steps 2 --warmup 0 --format json"
    q 0 $burst --scheme fp32
    json 'd["rows"][0]["burst_share"] > 0.05 and any("Remedy: --burst " in n for n in d["notes"])'
    q 0 $burst --scheme fp32 --burst $(sed -n 's/.*Remedy: --burst \([0-9]*\) lets.*/\1/p' out)
    json 'd["rows"][0]["burst_share"] < 0.05 and not any("bucket" in n for n in d["notes"])'
    q 0 $burst --scheme 3lc
    json 'any("Remedy: none: buckets hold a frame at least" in n for n in d["notes"])'
    # Servers on the workers' hosts: half of a message stays there, and no link sees it.
    q 0 $r --workers 2 --servers 2 --colocate --values 100K --bw 100mbps --scheme fp32 --steps 3 --format json
    json 'd["rows"][0]["colocated"] and d["rows"][0]["messages"] == 2'
    json '400e3 < d["rows"][0]["wire_bytes"] < 480e3 and abs(d["rows"][0]["wire_bytes"] / d["rows"][0]["wire_bytes_model"] - 1) < 0.1'
    # Two interfaces a host: of a ring, each host's first worker gets messages over its first one, and the last one
    # sends over the second.
    end_case
    case='run --nics' good=1
    mkfifo enter
    "$program" $r --keep-lab --workers 4 --per-host 2 --nics 2 --exchange ring --values 100K --bw 100mbps \
        --scheme fp32 --steps 3 --format json <enter >out 2>err &
    exec 3>enter
    i=0
    until grep -q 'until Enter' err || [ $((i += 1)) -gt 300 ]; do sleep 0.1; done
    init=$(sed -n 's/.*nsenter -t \([0-9]*\) .* bash$/\1/p' err | head -n 1)
    awk '/-data/ { print $1, $2, $10 }' "/proc/$init/net/dev" >counters
    echo >&3
    exec 3>&-
    wait $! || bad "it ends with $?"
    awk '$1 ~ /data:/ { got += $3; acked += $2 } $1 ~ /data1:/ { sent += $2; acked += $3 }
        END { exit !(NR == 5 && sent > 10 * acked && sent < 1.02 * got && got < 1.02 * sent) }' counters ||
        bad "bytes of the interfaces: $(cat counters)"
    json 'd["rows"][0]["nics"] == 2 and abs(d["rows"][0]["wire_bytes"] / d["rows"][0]["wire_bytes_model"] - 1) < 0.1'
    # A trace, as CSV; and an exchange without servers.
    q 0 $r --workers 3 --trace gradients --exchange ring --bw 1gbps --scheme fp32,int8 --steps 2 -o ring.csv
    [ "$(head -n 1 ring.csv | cut -d, -f1-4)" = scheme,net,values,exchange ] || bad 'CSV header'
    [ "$(wc -l <ring.csv)" = 3 ] || bad "CSV has $(wc -l <ring.csv) lines"
    # A step of several messages, each of which waits for its pull before the next one leaves.
    q 0 $r --workers 2 --trace gradients --fuse 1 --pulls forward --bw 1gbps --scheme fp32 --steps 1 --format json
    json 'd["rows"][0]["messages"] > 1'
    # Interrupted: fp32 is there, the thousand local steps are not.
    end_case
    case='run, interrupted' good=1
    timeout --foreground -s INT 12 "$program" $r --workers 2 --values 10K --compute 50ms --bw 100mbps \
        --scheme fp32,local:every=1000 --steps 1 --timeline t.json --format json >out 2>err </dev/null
    json 'd["partial"] and [r["scheme"] for r in d["rows"]] == ["fp32"] and d["rows"][0]["step_s"] > 0.05'
    python3 "$tests/timeline_reader.py" t.json 't.other["partial"] and len(t.rows) == 1' ||
        bad 'the timeline'
    err 'interrupted'
    document out
    rm -f t.json
fi

finish
