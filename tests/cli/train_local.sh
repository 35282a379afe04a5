#!/bin/sh
# `commcomp train --local-steps`.
. "$(dirname "$0")/lib.sh"

t="train -q --net mlp:16 --batch 8 --workers 3"

# --- options ---

while IFS='|' read -r options message; do
    t 2 $t --steps 24 $options
    err "$message"
done <<'W'
--outer mean|--outer goes with --local-steps
--stream-parts 2|--stream-parts goes with --local-steps
--local-steps 0|--local-steps
--local-steps 5|--steps 24: with --local-steps 5 it is a multiple of that, such as 20
--local-steps 32|such as 32
--local-steps 8 --eval-every 12|--eval-every 12: with --local-steps 8 it is a multiple of that
--local-steps 8 --checkpoint kept --checkpoint-every 12|--checkpoint-every 12: with --local-steps 8
--local-steps 8 --stream-parts 3|--stream-parts 3: the parts take turns within --local-steps 8
--local-steps 8 --stream-parts 8|mlp:16 has 4 tensors, and a part at least one
--local-steps 8 --outer nestrov|did you mean .nesterov
--local-steps 8 --outer-rate 0|--outer-rate: a number above 0
--local-steps 8 --outer-momentum 1|--outer-momentum: from 0 to less than 1
--local-steps 8 --outer mean --outer-momentum 0.9|of --outer momentum and nesterov, not of mean
--local-steps 8 --stream-delay 2|--stream-delay goes with --mode overlap
--local-steps 8 --mode overlap --stream-delay 9|--stream-delay
--local-steps 8 --mode overlap --stream-mix 1|--stream-mix: from 0 to less than 1
--local-steps 8 --mode overlap --stream-mix 0|--stream-mix 0: with --stream-delay 8 workers would drop every step
--local-steps 8 --mode pipe|--mode pipe: with --local-steps exchanges go on
--local-steps 8 --mode overlap --fuse 1000|--fuse: not with --stream-parts or with --mode overlap
--local-steps 8 --stream-parts 2 --capture kept|--capture: not with --stream-parts
--local-steps 8 --stream-parts 2 --scheme local|local: it sends in one step of several
--local-steps 8 --stream-parts 2 --exchange ssar-auto --scheme topk|--stream-parts: not with ssar-auto
--local-steps 8 --mode overlap --bw 1gbps --stragglers gamma|--stragglers: no formula
--local-steps 8 --quorum 60%|--quorum goes with --exchange allgather
--local-steps 8 --exchange allgather --quorum 0.9|--quorum 90%: of 3 workers that is all of them; give at most 66.67%
--local-steps 8 --exchange allgather --quorum 0|--quorum: a share of the workers above 0
--local-steps 8 --exchange allgather --stream-parts 2 --median-norm|--median-norm goes with
--local-steps 8 --exchange allgather --scheme local --quorum 60%|local: it sends in one step of several: not with --quorum
--local-steps 8 --exchange allgather --scheme chunktopk:decay=0.9 --outer ef --beta 0.9|--beta 0.9: chunktopk:decay=0.9 has a decay of its own
W

# --- rows ---

# Evaluations follow exchanges; a value travels once in 8 steps.
q 0 $t --steps 24 --local-steps 8 --scheme fp32,3lc --bw 10mbps --latency 10ms --compute 1ms --format json
json '[r["step"] for r in d["rows"] if r["kind"] == "eval"] == [8, 16, 24] * 2'
json 'all(r["local_steps"] == 8 and r["stream_parts"] == 1 and r["outer"] == "nesterov" for r in d["rows"])'
json 'all(r["bits_push"] == 4 and r["bits_pull"] == 4 and r["bytes"] == r["values"] * r["step"] for r in d["rows"] if r["scheme"] == "fp32" and r["kind"] == "eval")'
json 'all(r["residual"] > 0 for r in d["rows"] if r["scheme"] == "3lc")'
# A step: its computing, and an eighth of the two transfers that each take 10 ms and the bytes of 3 workers at the server's port.
json 'all(abs(r["step_s"] - (0.001 + (2 * 0.01 + 2 * 3 * 4 * r["values"] * 8 / 1e7) / 8)) < 0.05 * r["step_s"] for r in d["rows"] if r["scheme"] == "fp32" and r["kind"] == "eval")'
# As many steps without: eight times the communication.
cp out local.json
q 0 $t --steps 24 --scheme fp32 --bw 10mbps --latency 10ms --compute 1ms --format json
json 'abs(d["rows"][0]["comm_s"] / json.load(open("local.json"))["rows"][0]["comm_s"] - 8) < 0.01'
# A scheme with momentum of its own takes the place of the outer one.
q 0 $t --steps 8 --local-steps 4 --scheme dgc --format json
json 'any(n.startswith("dgc applies momentum 0.9 itself: the outer optimizer has none") for n in d["notes"])'
# Beside 8 steps of 100 ms nothing of an exchange is left, beside one of them what is longer.
q 0 $t --steps 16 --local-steps 8 --mode overlap --scheme fp32 --bw 1mbps --compute 100ms --format json
json 'all(r["step_s"] == 0.1 for r in d["rows"])'
q 0 $t --steps 16 --local-steps 8 --mode overlap --stream-delay 1 --scheme fp32 --bw 1mbps --compute 100ms --format json
json 'all(r["step_s"] == r["step_s"] and abs(r["step_s"] - (0.1 + r["comm_s"] + r["codec_s"] - 0.1 / 8)) < 1e-9 for r in d["rows"])'

# Two of three workers send, and the bytes are theirs.
q 0 $t --steps 24 --local-steps 8 --exchange allgather --scheme fp32 --quorum 60% --format json
json 'all(abs(r["bits_push"] - 4 * 2 / 3) < 1e-9 for r in d["rows"])'

# --- captured differences; the outer optimizer in Python ---

# The outer optimizer applies the mean of what the workers send, with fp32 as it is: the weights
# after 2, 3, ... exchanges follow from the differences and the weights after the first one.
common="--scheme fp32 --exchange ring --schedule constant --warmup 0 --local-steps 4"
q 0 $t $common --steps 4 --checkpoint first
q 0 $t $common --steps 24 --checkpoint last --capture differences --capture-steps 0:6
cat >outer.py <<'P'
import array, glob, json, struct
def tensors(path, prefix):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    head = json.loads(b[8:8 + n])
    head.pop("__metadata__", None)
    return {k[len(prefix):]: array.array("f", b[8 + n:][slice(*v["data_offsets"])]) for k, v in head.items() if k.startswith(prefix)}
w = tensors("first/fp32-seed1.safetensors", "weights.")
last = tensors("last/fp32-seed1.safetensors", "weights.")
sent = [[tensors(p, "") for p in sorted(glob.glob("differences/*%06d*" % r))] for r in range(6)]
assert all(len(s) == 3 for s in sent), [len(s) for s in sent]
rate, m = 0.7, 0.9
for k in w:
    v = [0] * len(w[k])
    for r in range(6):
        d = [sum(x) / 3 for x in zip(*(s[k] for s in sent[r]))]
        v = [m * a + b for a, b in zip(v, d)]
        if r > 0:
            w[k] = [a - rate * (b + m * c) for a, b, c in zip(w[k], d, v)]
    assert max(abs(a - b) for a, b in zip(w[k], last[k])) < 1e-5 * max(abs(b) for b in last[k]), k
P
python3 outer.py || bad 'the outer optimizer does not end with the weights of the checkpoint'

# --- ranks ---

command -v mpirun >/dev/null && command -v smpirun >/dev/null || finish
same='[[r[k] for k in ("scheme", "kind", "step", "loss", "accuracy", "accuracy_workers", "train_loss", "train_accuracy", "bits_push", "bits_pull", "bytes", "weights")] for r in d["rows"]] == [[r[k] for k in ("scheme", "kind", "step", "loss", "accuracy", "accuracy_workers", "train_loss", "train_accuracy", "bits_push", "bits_pull", "bytes", "weights")] for r in json.load(open("local.json"))["rows"]]'
while read -r options; do
    rm -rf kept
    q 0 $t --steps 12 --eval-every 6 $options --format json
    cp out local.json
    q 0 $t --steps 12 --eval-every 6 $options --on sim --bw 1gbps --compute 2ms --checkpoint kept --format json
    json "$same"
    q 0 $t --steps 12 --eval-every 6 $options --on run --bw none --compute 2ms --checkpoint kept --resume --format json
    json "$same"
done <<'W'
--local-steps 3 --scheme 3lc --servers 2
--local-steps 6 --stream-parts 2 --mode overlap --stream-delay 2 --scheme qsgd:bits=4 --exchange ring --optimizer adam
--local-steps 6 --stream-parts 3 --pull mean --scheme topk --outer momentum
--local-steps 3 --exchange allgather --scheme chunktopk --outer ef --quorum 60% --median-norm
W

# A simulation that is killed after a checkpoint, and continued in both other ways: workers have
# parameters and an optimizer's state of their own.
k="$t --steps 360 --eval-every 180 --local-steps 6 --stream-parts 2 --mode overlap --scheme 3lc --optimizer adam --rate 0.01"
q 0 $k --format json
cp out local.json
end_case
case='killed ranks, then --resume' good=1
"$program" $k --on sim --bw 1gbps --compute 2ms --checkpoint killed --checkpoint-every 12 >/dev/null 2>&1 </dev/null &
pid=$!
until [ -e killed/3lc-seed1.safetensors ] || ! kill -0 $pid 2>/dev/null; do
    sleep 0.02
done
kill -9 $pid
wait $pid 2>/dev/null
sleep 1
cp -r killed again
q 0 $k --on run --bw none --compute 0 --checkpoint killed --checkpoint-every 60 --resume --format json
json "$same"
json 'any(n.startswith("resumed: from step ") for n in d["notes"])'
q 0 $k --checkpoint again --checkpoint-every 60 --resume --format json
json "$same"
finish
