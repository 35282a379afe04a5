#!/bin/sh
# `commcomp train --consistency`: stale synchronous and asynchronous steps, by simulated clocks and by
# ranks.
. "$(dirname "$0")/lib.sh"

t="train -q --net mlp:32 --steps 20 --batch 16 --momentum 0"
mixed="$t --stragglers gamma --spread 1"

# --- options ---

t 2 $t --consistency stael
err '--consistency stael: bulk, stale, async, or several of them'
t 2 $t --consistency stale,async,stale
err 'stale is there twice'
t 2 $t --consistency stale --staleness -1
err "--staleness: '-1' is not a count"
for exchange in ring allgather ssar-split; do
    t 2 $t --consistency stale --exchange $exchange --scheme topk
    err "--consistency stale needs a server that answers at any time: --exchange ps, not $exchange"
done
t 2 $t --consistency async --pull mean
err '--consistency async goes with --pull delta'
t 2 $t --consistency bulk,async --checkpoint there
err '--checkpoint is of steps that all workers end together: --consistency bulk, not async'
t 2 $t --consistency stale --capture there
err '--capture is of steps that all workers end together'
t 2 $t --consistency async --bw 1gbps
err '--consistency async with --bw needs --compute'
t 2 $t --consistency async --compute 0s
err 'computing takes more than 0 s'
t 2 $t --consistency stale --mode pipe
err '--mode pipe has gradients of one age: --consistency bulk, not stale'
t 2 $t --communicate norm:2
err '--communicate goes with --consistency stale or async'
t 2 $t --staleness 2
err '--staleness goes with --consistency stale'
t 2 $t --consistency stale,async --communicate bound
err '--communicate bound: --consistency async has none, only stale has'
for wrong in norm norm: norm:x norm:-1 norm:nan never; do
    t 2 $t --consistency stale --communicate $wrong
    err "--communicate $wrong: "
done
t 2 $t --consistency stale --communicate norm:2 --scheme fp32,local
err '--communicate: local chooses its steps itself'
t 2 model --communicate bound
err '--communicate'

# --- order ---

# Without a lead, and with equal workers, the server has the sum of a step's updates when any worker
# computes the next step: bulk synchronous steps but for rounding.
q 0 $t --scheme fp32 --consistency bulk,stale,async --staleness 0 --format json
json '[r["consistency"] for r in d["rows"]] == ["bulk"] * 4 + ["stale"] * 4 + ["async"] * 4 + ["bulk", "stale", "async"]'
json 'all(abs(a["loss"] - b["loss"]) < 1e-6 for a, b in zip(d["rows"][:4], d["rows"][4:8]))'
json 'all(abs(a["loss"] - b["loss"]) > 1e-4 for a, b in zip(d["rows"][:4], d["rows"][8:12]))'
json 'all(r["staleness"] == 0 and r["staleness_mean"] == 1.5 and r["staleness_p95"] == 3 for r in d["rows"][4:8])'
json 'all(r["staleness"] is None and r["staleness_mean"] is None and r["communicate"] is None for r in d["rows"][:4])'
json 'all(r["bound_wait_s"] is None and r["updates_per_s"] is None and r["clock"] == "process" for r in d["rows"])'
# An update of a worker comes between two of any other one.
json 'd["rows"][11]["staleness_mean"] == 3 - 6 / 80 and d["rows"][11]["staleness_p95"] == 3'
json 'all(r["bits_push"] == 32 for r in d["rows"])'
q 0 $t --scheme fp32 --format json
cp out bulk.json
json 'all(r["consistency"] == "bulk" for r in d["rows"])'

# The order follows from the options and the seed alone.
q 0 $mixed --scheme fp32,3lc,dgc --consistency stale,async --seeds 2 --format json
cp out threads.json
q 0 $mixed --scheme fp32,3lc,dgc --consistency stale,async --seeds 2 --threads 1 --format json
json '[r["weights"] for r in d["rows"]] == [r["weights"] for r in json.load(open("threads.json"))["rows"]]'
json 'len({r["weights"] for r in d["rows"] if r["weights"]}) == 12'
json 'all(0 < r["accuracy"] < 1 and 0 < r["staleness_mean"] < 4 for r in d["rows"])'
json 'all(0.1 < r["bits_pull"] < 1.7 for r in d["rows"] if r["scheme"] == "3lc")'

# --- times ---

# A worker that computes 10 ms: 4 times 100 updates a second, at each evaluation of each training.
q 0 $t --scheme fp32 --consistency async --compute 10ms --eval-every 6 --seeds 2 --format json
json 'all(r["clock"] == "clocks" and r["bound_wait_s"] == 0 for r in d["rows"])'
json '[r["step"] for r in d["rows"]] == [6, 12, 18, 20] * 2 + [20]'
json 'all(abs(r["time_s"] - r["step"] / 100) < 1e-9 and abs(r["updates_per_s"] - 400) < 1e-6 for r in d["rows"])'
q 0 $mixed --scheme fp32 --consistency stale,async --staleness 0 --compute 10ms --format json
json 'd["rows"][8]["bound_wait_s"] > 0.005 and d["rows"][9]["bound_wait_s"] == 0'
json 'd["rows"][8]["step_s"] > 1.2 * d["rows"][9]["step_s"]'
# The mean wait is the same after one evaluation as after four.
cp out four.json
q 0 $mixed --scheme fp32 --consistency stale,async --staleness 0 --compute 10ms --eval-every 20 --format json
json 'all(abs(r["bound_wait_s"] - f["bound_wait_s"]) < 1e-12 for f in [json.load(open("four.json"))["rows"][3]] for r in (d["rows"][0], d["rows"][2]))'
# Over each link there is a training of its own. At 1 Mbit/s with 66 B of headers for 1,448 a server's
# half of 4 pushes of 4 x 2,410 B takes 161 ms, and the first pull does not wait for the last push.
q 0 $t --scheme fp32 --consistency async --compute 1ms --bw 1mbps,1gbps --mode overlap --servers 2 --format json
json '[r["bw_bps"] for r in d["rows"]] == [1e6] * 5 + [1e9] * 5'
json '0.161 < d["rows"][3]["step_s"] < 0.161 + 0.041 and 0.001 < d["rows"][8]["step_s"] < 0.0013'
json 'all(r["codec_s"] is None for r in d["rows"])'

# --- withheld gradients ---

# Every sixth step, and the last one: pushes in steps 6, 12, 18 and 20.
q 0 $t --scheme fp32 --consistency stale --staleness 5 --communicate bound --eval-every 20 --format json
json 'abs(d["rows"][0]["bits_push"] - 32 * 4 / 20) < 1e-9 and d["rows"][0]["communicate"] == "bound"'
# No norm is below 0 times another one, and none is 1,000 times as large.
q 0 $mixed --scheme fp32 --consistency async --communicate norm:0 --format json
json 'd["rows"][3]["bits_push"] == 32'
cp out all.json
q 0 $mixed --scheme fp32 --consistency async --format json
json '[r["weights"] for r in d["rows"]] == [r["weights"] for r in json.load(open("all.json"))["rows"]]'
q 0 $mixed --scheme 3lc --consistency async --communicate norm:1000 --eval-every 20 --format json
json 'abs(d["rows"][0]["bits_push"] * 20) < 1.7 and d["rows"][0]["communicate"] == "norm:1000"'
q 0 $mixed --scheme fp32 --consistency stale --communicate norm:2 --format json
json '8 <= d["rows"][4]["bits_push"] <= 20'
q 0 $t --scheme local --consistency stale --eval-every 20 --format json
json 'abs(d["rows"][0]["bits_push"] - 16) < 1e-9'

t 0 $t --scheme fp32 --consistency async --rate 1000
out 'diverged in step 2'

# --- by ranks ---

command -v mpirun >/dev/null && command -v smpirun >/dev/null || {
    end_case
    echo 'skipped: --consistency by ranks; mpirun and smpirun are needed'
    case=
    finish
}
ranks="train -q --net mlp:16 --batch 8 --momentum 0"
t="$ranks --steps 6 --eval-every 3 --workers 3"
sim='--on sim --bw 1gbps --compute 2ms'

# Without a lead, bulk synchronous steps but for rounding, whatever the order of the workers.
q 0 $t --scheme fp32 --format json
cp out bulk.json
for place in "$sim --servers 2 --mode overlap" '--on run --bw none'; do
    q 0 $t $place --scheme fp32 --consistency stale --staleness 0 --format json
    json 'all(abs(r["loss"] - b["loss"]) < 1e-5 for r, b in zip(d["rows"], json.load(open("bulk.json"))["rows"]))'
    json 'all(r["consistency"] == "stale" and r["staleness"] == 0 and r["communicate"] == "step" for r in d["rows"])'
    json 'all(r["bits_push"] == r["bits_pull"] == 32 for r in d["rows"])'
    # Before a push in a step, each of the others has had one of that step or none.
    json 'all(0 <= r["staleness_mean"] <= 2 and r["staleness_p95"] <= 2 and r["updates_per_s"] > 0 for r in d["rows"])'
done
# By the profile, simulated times are the same in every call, and so are the order and the weights.
make_profile
for i in 1 2; do
    q 0 $t $sim --codec-time profile --profile profile.json --servers 2 --placement lpt --mode overlap --stragglers gamma \
        --spread 1 --scheme fp32,3lc --consistency stale,async --staleness 1 --format json
    json '[(r["consistency"], r["scheme"]) for r in d["rows"] if r["kind"] == "summary"] == [(c, s) for c in ("stale", "async") for s in ("fp32", "3lc")]'
    json 'all(0 < r["staleness_mean"] < 3 and (r["bound_wait_s"] or 0) >= 0 for r in d["rows"])'
    python3 -c 'import json; print([(r["weights"], r["time_s"]) for r in json.load(open("out"))["rows"]])' >order$i
done
cmp order1 order2 || bad 'weights differ from call to call with --codec-time profile'
# Pushes in steps 4 and 6.
q 0 $ranks $sim --steps 6 --scheme fp32 --consistency stale --staleness 3 --communicate bound --eval-every 6 --format json
json 'abs(d["rows"][0]["bits_push"] - 32 * 2 / 6) < 1e-9 and d["rows"][0]["communicate"] == "bound"'
for file in checkpoint capture; do
    t 2 $t $sim --consistency async --$file there
    err "--$file is of steps that all workers end together"
done

# A worker that is killed ends the command, although the others need not wait for it.
end_case
case='a worker killed under async' good=1
"$program" $ranks --on run --bw none --workers 2 --steps 1000000 --eval-every 1000000 --scheme fp32 --consistency async \
    >out 2>err </dev/null &
pid=$!
rank=
while [ -z "$rank" ] && kill -0 $pid 2>/dev/null; do
    sleep 0.05
    # The program starts mpirun, that a process for each rank, and that the rank: one that has computed for half a second.
    children=$pid
    for generation in mpirun watchers ranks; do
        children=$(for p in $children; do cat "/proc/$p"/task/*/children 2>/dev/null; done)
    done
    for child in $children; do
        if [ "$(cat "/proc/$child/comm" 2>/dev/null)" = commcomp-rank ] && [ "$(cut -d' ' -f14 "/proc/$child/stat")" -ge 50 ]; then
            rank=$child
            break
        fi
    done
done
kill -9 "$rank"
wait $pid
[ $? = 1 ] || bad 'the exit status is not 1'
err "process $rank on node .*, exited on signal 9 (Killed)"
[ ! -s out ] || bad 'there is an output'

finish
