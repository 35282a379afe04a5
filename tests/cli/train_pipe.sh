#!/bin/sh
# `commcomp train --mode pipe`: Pipe-SGD, in one process and with ranks. tests/netsim/test_training_pipe.c
# holds its updates against the paper's algorithm, and tests/python/test_train_pipe.py against NumPy.
. "$(dirname "$0")/lib.sh"

s='train -q --net mlp:16 --batch 8'
t="$s --steps 12 --eval-every 5 --mode pipe"

# --- options ---

t 2 $t --depth 0
err "--depth"
t 2 $t --depth 1
err "--depth 1 is synchronous: take --mode sequential"
t 2 $t --depth 13
err "--depth 13: more steps under way than the 12 of the training"
t 2 $s --mode pipe --depth 65 --steps 100
err "--depth: 65 is not between 1 and 64"
t 2 $s --mode pipe --steps 4,12 --depth 5
err "--depth 5: more steps under way than the 4 of the training"
t 2 $t --sync-steps 13
err "--sync-steps 13: the training has 12 steps"
t 2 $s --mode overlap --depth 3
err "--depth goes with --mode pipe"
t 2 $s --sync-steps 3
err "--sync-steps goes with --mode pipe"
t 2 $t --consistency async
err "--mode pipe has gradients of one age: --consistency bulk, not async"
t 2 $t --on sim --bw 1gbps --capture captured
err "--capture: with --mode pipe, servers are under way between the steps; take --on local"

# --- time ---

# fp32 over a ring of 4: 1.5 times the gradient's bits over 10 Mbit/s, beside 2 ms of computing; and
# before the pipeline, both.
link='--exchange ring --scheme fp32 --bw 10mbps --latency 0 --overhead none'
q 0 $t $link --compute 2ms --format json
json 'all(abs(r["step_s"] / (1.5 * 32 * r["values"] / 1e7) - 1) < 0.02 for r in d["rows"])'
q 0 $t $link --compute 20ms --format json
json 'all(abs(r["step_s"] - 0.02) < 1e-3 for r in d["rows"])'
q 0 $t $link --compute 2ms --sync-steps 6 --format json
json '[round(r["step_s"] * 1e7 / (48 * r["values"]) - n * 0.002 * 1e7 / (48 * r["values"]), 1) for r, n in zip(d["rows"], (1, 0.2, 0))] == [1.0, 1.0, 1.0]'
# The simulated clock stands still for evaluations, with what is under way.
make_profile
for every in 12 2; do
    q 0 $s --mode pipe --steps 12 $link --compute 2ms --eval-every $every --on sim --codec-time profile --profile profile.json --format json
    python3 -c 'import json; print([r["time_s"] for r in json.load(open("out"))["rows"] if r["kind"] == "summary"][0])' >>times
done
json 'max(map(float, open("times"))) / min(map(float, open("times"))) < 1.02'

# --- with ranks: the same, bit for bit ---

command -v mpirun >/dev/null && command -v smpirun >/dev/null || {
    echo 'skipped: mpirun and smpirun are needed for the others'
    finish
}
same='[[r[k] for k in ("scheme", "kind", "step", "loss", "accuracy", "accuracy_workers", "train_loss", "payload_bytes", "bits_pull", "bytes", "weights")] for r in d["rows"]] == [[r[k] for k in ("scheme", "kind", "step", "loss", "accuracy", "accuracy_workers", "train_loss", "payload_bytes", "bits_pull", "bytes", "weights")] for r in json.load(open("local.json"))["rows"]]'
for more in '--exchange ring --scheme trunc16,3lc' '--exchange ps --depth 3 --scheme int8,local' \
    '--exchange allgather --depth 5 --scheme int8 --sync-steps 3'; do
    q 0 $t --workers 3 $more --checkpoint local-kept --format json
    cp out local.json
    q 0 $t --workers 3 $more --on run --bw none --checkpoint run-kept --checkpoint-every 2 --format json
    json "$same"
    # Without a time for it, computing is done in parts.
    q 0 $t --workers 3 $more --on sim --bw 100mbps --checkpoint sim-kept --checkpoint-every 4 --format json
    json "$same"
    rm -r local-kept run-kept sim-kept
done

# Killed and resumed, in each way in turn.
k='train -q --net resnet8:width=2 --batch 4 --workers 2 --mode pipe --exchange ring --scheme 3lc --eval-every 50'
q 0 $k --depth 3 --steps 250 --format json
cp out local.json
end_case
case='killed, then --resume' good=1
kill_trainings "$k --depth 3 --steps 250 --checkpoint-every 7" \
    '--on run --bw none' '--on sim --bw 1gbps --compute 2ms' '--on local'
q 0 $k --depth 3 --steps 250 --on run --bw none --checkpoint killed --checkpoint-every 50 --resume --format json
json "$same"
t 1 $k --depth 2 --steps 250 --checkpoint killed --resume
err "another training, with 'depth 3' and not 'depth 2'"
finish
