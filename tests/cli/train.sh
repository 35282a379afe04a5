#!/bin/sh
# `commcomp train`.
. "$(dirname "$0")/lib.sh"

t="train -q --net mlp:32 --steps 20 --batch 16"

# --- options ---

for wrong in '--net mlp3:' '--data digit' '--exchange rign' '--exchange mpi' '--dense-bits 4' '--exchange dsar-split --dense-bits 5' '--workers 0' \
    '--steps 0' '--batch 0' '--rate 0' '--momentum 1' '--optimizer adam --momentum 0.5' \
    '--shards by-class' '--shards by-class:0' '--rate 0.1,' '--rate 0.1,0.1' '--rate 0.1,x' '--via allgather' '--recipe 3cl' '--target 2' '--input 16' '--bw 10' '--latency 1ms' \
    '--compute 1s' '--schedule linear' '--pull both' '--exchange ring --pull mean' \
    '--exchange ring --pull-scheme fp32' '--pull-scheme fp32,int8' '--pull-scheme 3cl' \
    '--last-rate 1.2' '--last-rate -1' '--last-rate 0.01 --schedule step' '--warmup 21' '--weight-decay 1' '--threads 0' '--data synthetic:classes=x'; do
    t 2 train -q --net mlp:32 --steps 20 $wrong
    err "$(echo "$wrong" | sed 's/^--exchange ring //; s/^--exchange dsar-split //; s/^--optimizer adam //; s/ .*//; s/^--//; s/^net$//; s/^data$/data set\\|no number\\|not a/')"
done
t 1 train -q --net mlp:32 --batch 1000
err '2999 samples are too few for 4 workers with batches of 1000'

t 2 $t --bw none
err '--bw none goes with --on run'

# --- the rate ---

# A cosine that ends where it begins is a constant rate, and one that ends at 0 the usual one.
weights() { # weights OPTIONS...: those after the last step
    q 0 $t --scheme int8 --warmup 2 "$@" --format json
    python3 -c 'import json; print(json.load(open("out"))["rows"][3]["weights"])'
}
[ "$(weights --last-rate 100%)" = "$(weights --schedule constant)" ] || bad "a cosine from 0.1 to 0.1 is not constant"
[ "$(weights --last-rate 0)" = "$(weights)" ] || bad "a cosine ends elsewhere than at 0"
[ "$(weights --last-rate 50%)" != "$(weights)" ] || bad "--last-rate changes nothing"

# --- rows ---

# Without loss, sums in the same order are the same to the last bit.
for exchange in ps allgather recdouble; do
    q 0 $t --workers 3 --exchange $exchange --scheme fp32,exponent,exponent:coder=window,zstd --format json
    json 'len({r["weights"] for r in d["rows"] if r["kind"] == "eval" and r["step"] == 20}) == 1'
    json '[r["bits_push"] < 26 for r in d["rows"] if r["step"] == 20 and r["kind"] == "eval"] == [False, True, True, True]'
done

q 0 $t --scheme fp32,3lc --seeds 2 --format json
json '[r["kind"] for r in d["rows"]] == ["eval"] * 16 + ["summary"] * 2'
json '[r["step"] for r in d["rows"]] == [5, 10, 15, 20] * 4 + [20, 20]'
json '[r["seed"] for r in d["rows"]] == ([1] * 4 + [2] * 4) * 2 + [None] * 2'
json 'all(r["values"] == 64 * 32 + 32 + 320 + 10 and r["workers"] == 4 and r["exchange"] == "ps" for r in d["rows"])'
json 'all(0 < r["accuracy"] < 1 and r["loss"] > 0 and r["time_s"] > 0 and r["clock"] == "process" for r in d["rows"])'
json 'all(r["bits_push"] == 32 and r["bits_pull"] == 32 and r["ratio"] == 1 for r in d["rows"] if r["scheme"] == "fp32")'
json 'all(0.1 < r["bits_push"] < 1.7 and r["pull"] == "delta" and r["pull_scheme"] == "3lc" for r in d["rows"] if r["scheme"] == "3lc")'
# A worker has pushed and pulled 4 bytes a value each way in each step.
json 'all(r["bytes"] == 8 * r["values"] * r["step"] for r in d["rows"] if r["scheme"] == "fp32")'
# Summaries are means over the seeds, and differences are paired.
json 'all(abs(s["accuracy"] - sum(r["accuracy"] for r in d["rows"] if r["scheme"] == s["scheme"] and r["step"] == 20 and r["kind"] == "eval") / 2) < 1e-12 for s in d["rows"][16:])'
json 'abs(d["rows"][17]["difference"] - (d["rows"][17]["accuracy"] - d["rows"][16]["accuracy"])) < 1e-12 and d["rows"][16]["difference"] == 0'
# Student's t of one degree of freedom: 12.706 times half the distance of the two.
json 'abs((d["rows"][16]["accuracy_high"] - d["rows"][16]["accuracy"]) / (abs(d["rows"][3]["accuracy"] - d["rows"][7]["accuracy"]) / 2) - 12.706) < 0.001'
json 'all(0 < r["residual"] < 9 and 0 < r["residual_pull"] < 9 for r in d["rows"] if r["scheme"] == "3lc") and all(r["residual"] is None for r in d["rows"] if r["scheme"] == "fp32")'
json 'any("2999 samples to train and 1797 to test with, 1x8x8" in n for n in d["notes"])'
cp out one.json
for over in steps bytes time; do
    q 0 plot -q one.json --over $over --format script
    out 'with linespoints lt 1'
    out "set label .* 'fp32'"
    out 'filledcurves lt 2'
done
out 'time of the process that plays all workers'
t 0 plot one.json --kind loss --format script
out 'loss on the test samples'
t 2 plot one.json --kind step --over bytes
err '--over goes with --kind accuracy, loss, train-loss and bits, not with --kind step'
# The same weights, with any number of threads and on every instruction set; without fp32, too.
q 0 $t --scheme 3lc --seeds 2 --threads 1 --format json
json '[r["weights"] for r in d["rows"]] == [r["weights"] for r in json.load(open("one.json"))["rows"][8:16] + [{"weights": None}]]'
json 'd["rows"][-1]["difference"] is None and d["rows"][-1]["speedup"] is None'
COMMCOMP_ISA=scalar
export COMMCOMP_ISA
t 0 $t --scheme 3lc --seeds 2 --format json
json 'd["rows"][3]["weights"] == json.load(open("one.json"))["rows"][11]["weights"]'
unset COMMCOMP_ISA

# --- rates and recipes ---

q 0 $t --scheme fp32,3lc --seeds 2 --rate 0.01,0.1,1000 --warmup 0 --format json
cp out rates.json
json '[(r["scheme"], r["rate"]) for r in d["rows"] if r["kind"] == "summary"] == [(s, x) for x in (0.01, 0.1, 1000) for s in ("fp32", "3lc")]'
# The rates are trained as by themselves, and compared with fp32 at the same rate and at its best.
q 0 $t --scheme fp32,3lc --seeds 2 --warmup 0 --format json
json '[r["weights"] for r in d["rows"] if r["kind"] == "eval"] == [r["weights"] for r in json.load(open("rates.json"))["rows"] if r["kind"] == "eval" and r["rate"] == 0.1]'
json 'all(r["best_rate"] is None and r["difference_best"] is None for r in d["rows"])'
cp rates.json out
json 'all(abs(r["difference"] - (r["accuracy"] - next(f["accuracy"] for f in d["rows"] if f["kind"] == "summary" and f["scheme"] == "fp32" and f["rate"] == r["rate"]))) < 1e-12 for r in d["rows"] if r["kind"] == "summary" and r["difference"] is not None)'
json 'all(sum(r["best_rate"] for r in d["rows"] if r["kind"] == "summary" and r["scheme"] == s) == 1 for s in ("fp32", "3lc"))'
json 'all(r["accuracy"] == max(x["accuracy"] or 0 for x in d["rows"] if x["kind"] == "summary" and x["scheme"] == r["scheme"] and not x["diverged"]) for r in d["rows"] if r["best_rate"])'
json 'all(abs(r["difference_best"] - r["accuracy"] + next(f["accuracy"] for f in d["rows"] if f["best_rate"] and f["scheme"] == "fp32")) < 1e-12 for r in d["rows"] if r["kind"] == "summary" and r["accuracy"] is not None)'
json 'any("rate 1000, seed 1: diverged in step" in n for n in d["notes"])'
q 0 train -q --recipe perceptron --steps 3 --seeds 1 --scheme fp32 --format json
json 'd["rows"][0]["net"] == "mlp:128" and d["rows"][0]["rate"] == 0.1 and d["rows"][-1]["step"] == 3'
json 'any(n.startswith("recipe perceptron: --net mlp:128") and "--steps 3" in n and "--seeds 1" in n for n in d["notes"])'
q 0 train -q --recipe 3lc --net mlp:8 --steps 2 --optimizer adam --exchange ring --scheme fp32 --format json
json 'len(d["rows"]) == 11 and d["rows"][0]["momentum"] is None and d["rows"][0]["exchange"] == "ring"'
q 0 train -q --recipe qsgd --net mlp:8 --steps 4 --seeds 1 --format json
json '[r["scheme"] for r in d["rows"] if r["kind"] == "summary"] == ["fp32", "qsgd:bits=8", "qsgd", "qsgd:bucket=8192", "qsgd:bits=2,bucket=128", "qsgd:bits=2,bucket=64"]'
json 'd["rows"][0]["exchange"] == "allgather" and d["rows"][0]["workers"] == 8'
# The second stage's bits change what is summed of pairs, not of floats.
for bits in 4 32; do
    q 0 train -q --recipe sparcml --net mlp:8 --steps 4 --seeds 1 --dense-bits $bits --scheme fp32,topk --format json
    cp out $bits.json
done
json '[r["weights"] == o["weights"] for r, o in zip(d["rows"], json.load(open("4.json"))["rows"]) if r["kind"] == "eval" and r["step"] == 4] == [True, False]'
q 0 train -q --recipe sparcml --net mlp:8 --steps 4 --seeds 1 --scheme fp32,topk --format json
json '[r["weights"] for r in d["rows"]] == [r["weights"] for r in json.load(open("4.json"))["rows"]]'
q 0 train -q --recipe sparcml --exchange ps --net mlp:8 --steps 4 --seeds 1 --scheme fp32 --format json
json 'd["rows"][0]["exchange"] == "ps" and not any("dense-bits" in n for n in d["notes"])'

# --- exchanges ---

# One worker receives its own gradient: over any exchange the same weights.
for x in ps ring recdouble rabenseifner allgather; do
    pull=''
    [ $x != ps ] || pull='--pull mean --pull-scheme fp32'
    q 0 $t --workers 1 --exchange $x $pull --scheme fp32,qsgd --format json
    cp out $x.json
done
json '[r["bits_pull"] for r in d["rows"]] == [None] * 10 and d["rows"][0]["pull"] is None'
json 'len({json.load(open(x + ".json"))["rows"][3]["weights"] for x in ("ps", "ring", "recdouble", "rabenseifner", "allgather")}) == 1'
# recdouble draws other random numbers.
json 'len({json.load(open(x + ".json"))["rows"][7]["weights"] for x in ("ps", "ring", "rabenseifner", "allgather")}) == 1'
# Sparse exchanges give one worker its own gradient's pairs, and refuse what they cannot merge.
for x in allgather ssar-recdouble ssar-split ssar-rabenseifner dsar-split ssar-auto; do
    q 0 $t --workers 1 --exchange $x --scheme fp32,topk --format json
    cp out $x.json
done
json 'len({(json.load(open(x + ".json"))["rows"][3]["weights"], json.load(open(x + ".json"))["rows"][7]["weights"]) for x in ("allgather", "ssar-recdouble", "ssar-split", "ssar-rabenseifner", "dsar-split", "ssar-auto")}) == 1'
t 2 $t --exchange ssar-split --scheme 3lc
err 'ssar-split takes .*topk'
# Several servers do what one does with fp32, and pull as many bytes.
q 0 $t --servers 3 --scheme fp32,3lc --format json
json 'd["rows"][0]["servers"] == 3 and d["rows"][0]["bits_pull"] == 32 and d["rows"][3]["weights"] == json.load(open("one.json"))["rows"][3]["weights"]'
# Momentum of a scheme's own is not applied twice, and what the server sends is not compressed by it.
q 0 $t --scheme dgc --format json
json 'all(r["momentum"] == 0 and r["pull_scheme"] == "fp32" and r["bits_pull"] == 32 for r in d["rows"])'
json 'any("dgc applies momentum 0.9 itself" in n for n in d["notes"])'
# Small tensors raw: the two biases.
q 0 $t --scheme int8:ef=0 --min-size 100 --format json
json 'd["rows"][0]["payload_bytes"] > 4 * 42 + 2048 + 320'

# --- a network ---

q 0 $t --scheme fp32,int8 --bw 10mbps,1gbps --latency 0 --overhead none --compute 10ms --target 20% --format json
json '[r["bw_bps"] for r in d["rows"] if r["kind"] == "summary"] == [1e7, 1e7, 1e9, 1e9]'
# fp32 over 10 Mbit/s: four pushes and four pulls of 4 bytes a value through the server's port.
json 'abs(d["rows"][0]["comm_s"] - 2 * 4 * 32 * 2410 / 1e7) < 1e-6 and d["rows"][0]["compute_s"] == 0.01'
json 'all(abs(r["step_s"] - r["compute_s"] - r["codec_s"] - r["comm_s"]) < 1e-9 for r in d["rows"])'
json 'all(abs(r["time_s"] / (r["step_s"] * r["step"]) - 1) < 0.2 for r in d["rows"] if r["kind"] == "summary")'
json 'abs(d["rows"][9]["speedup"] - d["rows"][8]["step_s"] / d["rows"][9]["step_s"]) < 1e-9 and 2.3 < d["rows"][9]["speedup"] < 2.9'
json 'all((s["target_step"], s["target_s"], s["target_bytes"]) == next((r["step"], r["time_s"], r["bytes"]) for r in d["rows"][k:k + 4] if r["accuracy"] >= 0.2) for s, k in [(d["rows"][8], 0), (d["rows"][9], 4)])'
json 'all(abs(d["rows"][i]["target_speedup"] - d["rows"][8]["target_s"] / d["rows"][i]["target_s"]) < 1e-9 for i in (8, 9)) and d["rows"][9]["target_speedup"] > 1'
json 'not any("--target" in n for n in d["notes"])'
json 'd["rows"][0]["weights"] == d["rows"][10]["weights"] and all(r["clock"] == "model" for r in d["rows"])'

# A target that is not reached: by no seed, and by one of two (the best evaluations are the rows').
q 0 $t --scheme fp32,topk --seeds 2 --target 99.9% --format json
json 'all(r["target_s"] is None and r["target_speedup"] is None for r in d["rows"])'
json 'all(any(n == "--target 99.9%%: not reached by %s with 2 of 2 seeds (the best evaluation has %.2f%%)" % (s, 100 * max(r["accuracy"] for r in d["rows"] if r["scheme"] == s and r["kind"] == "eval")) for n in d["notes"]) for s in ("fp32", "topk"))'
between=$(python3 -c 'import json
a = sorted(max(r["accuracy"] for r in json.load(open("out"))["rows"] if r["scheme"] == "topk" and r["seed"] == k) for k in (1, 2))
print((a[0] + a[1]) / 2)')
q 0 $t --scheme topk --seeds 2 --target "$between" --format json
json 'any("not reached by topk with 1 of 2 seeds (" in n for n in d["notes"])'
# ssar-auto chooses by a link, and without --bw by one of 1 Gbit/s.
t="train -q --net mlp:16 --steps 2 --workers 8 --batch 8"
q 0 $t --exchange ssar-auto --scheme topk --format json
json 'any(n.startswith("ssar-auto: chose by the formulas of a link of 1 Gbit/s and 50 us, which is assumed") for n in d["notes"])'
q 0 $t --exchange ssar-auto --scheme topk --bw 10mbps,1gbps --compute 1ms --format json
json 'any("a link of 10 Mbit/s and 50 us, the first of those given" in n for n in d["notes"])'
t="train -q --net mlp:32 --steps 20 --batch 16"

# --- checkpoints ---

c='train -q --net mlp:32 --scheme fp32,3lc:s=1.75,local:inner=(3lc) --seeds 2 --threads 2 --columns scheme,seed,step,loss,accuracy,residual,bits_pull,weights'
q 0 $c --steps 3000 --eval-every 500
cp out whole
end_case
# Killed as soon as every training has a checkpoint.
case='killed, then --resume' good=1
"$program" $c --steps 3000 --eval-every 500 --checkpoint kept --checkpoint-every 40 >killed 2>&1 &
pid=$!
while [ "$(ls kept 2>/dev/null | grep -c 'safetensors$')" -lt 2 ] && kill -0 $pid 2>/dev/null; do
    sleep 0.01
done
kill -9 $pid
wait $pid 2>/dev/null
[ ! -s killed ] || bad "was not killed in time"
q 0 $c --steps 3000 --eval-every 500 --checkpoint kept --checkpoint-every 40 --resume
out '^resumed: from step'
grep -v '^resumed: ' out >resumed
same resumed whole
rm resumed
left 'kept/*.safetensors' 'kept/3lc_s=1.75-seed1.safetensors kept/3lc_s=1.75-seed2.safetensors kept/fp32-seed1.safetensors kept/fp32-seed2.safetensors kept/local_inner=3lc-seed1.safetensors kept/local_inner=3lc-seed2.safetensors '
t 1 $c --steps 3000 --checkpoint kept
err 'kept/fp32-seed1.safetensors: a checkpoint is there already; --resume continues from it'
t 1 $c --steps 3000 --eval-every 500 --rate 0.05 --checkpoint kept --resume
err "kept/.*: it is the checkpoint of another training, with 'rate 0.1' and not 'rate 0.05'"
head -c 9000 kept/fp32-seed2.safetensors >cut && cp cut kept/fp32-seed2.safetensors
t 1 $c --steps 3000 --eval-every 500 --checkpoint kept --resume
err 'kept/fp32-seed2.safetensors: tensor "weights.fc1.weight": its data_offsets \[0, 8192\] do not lie within'
# The rows of those that have ended are kept beside the error.
t 1 $c --steps 3000 --eval-every 500 --checkpoint kept --resume --format json
json '{("fp32", 1)} <= set((r["scheme"], r["seed"]) for r in d["rows"]) and "fp32-seed2" in d["error"]'
json 'all((r["scheme"], r["seed"]) != ("fp32", 2) and (r["scheme"], r["kind"]) != ("fp32", "summary") for r in d["rows"])'
json 'any(n.startswith("resumed: from step 3000: fp32 seed 1") and "fp32 seed 2" not in n for n in d["notes"])'
t 2 $c --resume
err '--resume goes with --checkpoint DIR'
t 2 $c --checkpoint kept --resume --capture resumed
err '--capture: not with --resume, which does not repeat the steps before a checkpoint'
no_file resumed
# Each of several rates has a checkpoint of its own.
q 0 $t --scheme fp32,3lc --rate 0.1,0.2,0.00001 --format json
cp out several.json
q 0 $t --scheme fp32,3lc --rate 0.1,0.2,0.00001 --checkpoint rates
left 'rates/*' 'rates/3lc-rate0.1-seed1.safetensors rates/3lc-rate0.2-seed1.safetensors rates/3lc-rate1e-05-seed1.safetensors rates/fp32-rate0.1-seed1.safetensors rates/fp32-rate0.2-seed1.safetensors rates/fp32-rate1e-05-seed1.safetensors '
q 0 $t --scheme fp32,3lc --rate 0.1,0.2,0.00001 --checkpoint rates --resume --format json
json '[(r["rate"], r["weights"]) for r in d["rows"]] == [(r["rate"], r["weights"]) for r in json.load(open("several.json"))["rows"]]'
# A note says which trainings had a checkpoint; a folder that is not there is an error.
q 0 $t --scheme fp32 --rate 0.1,0.2 --seeds 2 --checkpoint rates --resume --format json
json '"resumed: from step 20: fp32 rate 0.1 seed 1, fp32 rate 0.2 seed 1; from the beginning, without a checkpoint: fp32 rate 0.1 seed 2, fp32 rate 0.2 seed 2" in d["notes"]'
t 1 $t --checkpoint raets --resume
err 'raets: No such file or directory; --resume continues from the checkpoints in that folder'
no_file raets
# The first option that differs is named in its own words.
q 0 $t --scheme fp32 --exchange ring --checkpoint words
for other in '--momentum 0.5|momentum 0.9|momentum 0.5' '--optimizer nesterov|optimizer sgd|optimizer nesterov' \
    '--optimizer adamw|optimizer sgd|optimizer adamw' '--schedule step|schedule cosine|schedule step' \
    '--last-rate 50%|last rate of cosine 0|last rate of cosine 0.05' \
    '--weight-decay 0.01|weight decay 0|weight decay 0.01' '--via allgather|via hops|via allgather' \
    '--shards by-class:2|shards iid|shards by-class:2' '--flip|flip no|flip yes' '--warmup 3|warmup 2|warmup 3' \
    '--data synthetic:dims=1x8x8|training samples crc32:[0-9a-f]*|training samples crc32:[0-9a-f]*'; do
    was=${other#*|}
    t 1 $t --scheme fp32 --exchange ring ${other%%|*} --checkpoint words --resume
    err "another training, with '${was%|*}' and not '${was#*|}'; give the same options, or another --checkpoint folder"
done
# An interrupt keeps the curve and a checkpoint: SIGTERM here, as shells have background jobs ignore
# Ctrl-C.
end_case
case='interrupted, with --checkpoint --format json' good=1
"$program" $c --steps 600000 --eval-every 100 --checkpoint other --capture begun --format json >out 2>err &
pid=$!
while [ "$(ls other 2>/dev/null | grep -c 'safetensors$')" -lt 2 ] && kill -0 $pid 2>/dev/null; do
    sleep 0.01
done
kill -TERM $pid
wait $pid
json 'd["partial"] and len(d["rows"]) > 0 and any("--resume and without --capture continues from the checkpoints in other" in n for n in d["notes"])'

# --- captured traces ---

q 0 $t --scheme 3lc --capture captured --capture-steps 10:13 --format json
[ "$(ls captured | wc -l)" = 15 ] || bad "captured: $(ls captured)"
q 0 trace info captured --format json
json '[(r["stream"], r["steps"], r["first_step"]) for r in d["rows"]] == [("push %d" % i, 3, 10) for i in range(4)] + [("pull", 3, 10)]'
q 0 bench -q --trace captured --scheme 3lc --no-speed --format json
json 'd["rows"][0]["values"] == 2410'
# With fp32, one worker and a constant rate, the model delta is the push times the rate.
q 0 $t --scheme fp32 --workers 1 --momentum 0 --schedule constant --rate 0.5 --warmup 0 --capture one --capture-steps 3:4
python3 - <<'P' || bad "the pull is not the push times the rate"
import json, struct
def read(name):
    b = open("one/" + name, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    return [x for (x,) in struct.iter_unpack("<f", b[8 + n:])]
push, pull = read("push-step000003-rank0.safetensors"), read("pull-step000003.safetensors")
assert len(push) == 2410 and max(map(abs, push)) > 0.01
assert all(abs(y + 0.5 * x) < 1e-6 for x, y in zip(push, pull))
P
q 0 $t --scheme fp32,3lc --capture both --exchange ring
left 'both/*' 'both/3lc-seed1 both/fp32-seed1 '
out '^captured: steps 12 to 19, in both/fp32-seed1 (--trace); 1 more trace is beside it'
q 0 $t --scheme fp32 --rate 0.05,0.1,0.2 --seeds 2 --capture several
left 'several/*' 'several/fp32-rate0.05-seed1 several/fp32-rate0.05-seed2 several/fp32-rate0.1-seed1 several/fp32-rate0.1-seed2 several/fp32-rate0.2-seed1 several/fp32-rate0.2-seed2 '
[ "$(ls both/3lc-seed1 | wc -l)" = 32 ] || bad "$(ls both/3lc-seed1)"
t 1 $t --scheme 3lc --capture captured
err 'captured is not empty; name a new directory'
# Nothing is made before all folders are known to be empty.
mkdir -p late/fp32-seed2/old
t 1 $t --scheme 3lc,fp32 --seeds 2 --capture late
err 'late/fp32-seed2 is not empty; name a new directory'
left 'late/*' 'late/fp32-seed2 '
t 2 $t --scheme 3lc --checkpoint shared --capture ./shared/
err '--capture ./shared/: --checkpoint has the same folder'
for wrong in 5 5:5 9:21 a:2; do
    t 2 $t --scheme 3lc --capture other-steps --capture-steps $wrong
    err "--capture-steps $wrong: steps from the first to before the last, as in 0:12, of 20"
done
t 2 $t --scheme 3lc --capture-steps 1:2
err '--capture-steps goes with --capture DIR'

# --- divergence ---

q 0 $t --scheme fp32,3lc --rate 1000 --momentum 0.99 --warmup 0 --format json
json '[r["kind"] for r in d["rows"]][-2:] == ["summary"] * 2 and d["rows"][-1]["diverged"] + d["rows"][-2]["diverged"] > 0'
json 'all(r["accuracy"] is None for r in d["rows"] if r["diverged"])'
json 'any("diverged in step" in n for n in d["notes"])'

# --- data ---

q 0 $t --data synthetic:classes=3,dims=1x6x6,train=500,test=90,noise=0.3 --workers 2 --scheme fp32 --format json
json 'd["rows"][-1]["accuracy"] > 0.9 and d["rows"][0]["data"].startswith("synthetic:classes=3")'
q 0 $t --shards by-class:2 --flip --shift 1 --input 10x12 --scheme fp32 --format json
json 'd["rows"][0]["values"] == 120 * 32 + 32 + 320 + 10 and any("1x10x12 at the net" in n for n in d["notes"])'
printf '1,2,0\n3,4,1\n1,2\n' >bad.csv
t 1 $t --data bad.csv
err 'bad.csv: line 3'
printf '1,2,0\n3,"4,1\n' >bad.csv
t 1 $t --data bad.csv
err 'bad.csv: line 3, field 2: a quote that does not end, or stands within a field'
t 1 train -q --net mlp:32 --shards by-class:2 --workers 3 --batch 1000
err '2999 samples in shards by class leave a worker 999 of them, too few for a batch of 1000'
python3 - <<'P'
import random, struct, zipfile
def npy(descr, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n" % (descr, shape)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values
random.seed(1)
rows = [(i % 3, [int(100 * (i % 3) + 30 * random.random()) for _ in range(4)]) for i in range(300)]
pixels, labels = bytes(v for _, x in rows for v in x), struct.pack("<300i", *(y for y, _ in rows))
x, y = npy("|u1", "300, 2, 2", pixels), npy("<i4", "300,", labels)
open("x.npy", "wb").write(x)
open("y.npy", "wb").write(y)
with zipfile.ZipFile("set.npz", "w", zipfile.ZIP_DEFLATED) as z:
    for name, data in (("x_train", x), ("y_train", y), ("x_test", x), ("y_test", y)):
        z.writestr(name + ".npy", data)
with zipfile.ZipFile("large.npz", "w") as z:
    for name, data in (("X_train", x), ("y_train", y), ("X_val", x), ("y_val", y)):
        z.writestr(name + ".npy", data)
with zipfile.ZipFile("half.npz", "w") as z:
    z.writestr("X.npy", x)
with open("set.libsvm", "w") as f:
    for c, v in rows:
        f.write("%d %s\n" % (c - 1, " ".join("%d:%d" % (i + 1, k) for i, k in enumerate(v) if k)))
P
for set in set.npz large.npz x.npy:labels=y.npy set.libsvm:dims=1x2x2; do
    q 0 $t --data $set --scheme fp32 --workers 2 --format json
    json 'd["rows"][-1]["accuracy"] > 0.95'
    json 'any("1x2x2 at the net" in n and ("300 samples to train and 300" in n or "240 samples to train and 60" in n) for n in d["notes"])'
done
t 1 $t --data half.npz
err 'half.npz: it has an array X and no y'
mkdir empty
t 1 $t --data empty
err 'empty: the folder has neither'

# --- the default net, as outside checks call it ---

q 0 train -q --net resnet20 --data digits --workers 4 --scheme fp32,3lc --steps 4 --seed 1 --format json
json 'len(d["rows"]) == 10 and d["rows"][0]["values"] > 269000 and all(r["exchange"] == "ps" for r in d["rows"])'
q 0 $t --scheme fp32 -o out.csv
[ "$(wc -l <out.csv)" = 6 ] || bad "$(wc -l <out.csv) lines of CSV"
# Digits of a checksum that could be a number, even one beyond the range of numbers, are a text.
q 0 train -q --net mlp:128 --rate 0.025 --scheme sparse --seed 3 --steps 100 -o sparse.csv
grep -q crc32:28e98629 sparse.csv || bad "other weights than those whose checksum is 28e98629"
q 0 plot -q sparse.csv --format script
out "set label .* 'sparse'"

# The answer is of the longest training, and says the rate where there are several.
q 0 train -q --net mlp:16 --data digits --steps 20,40 --rate 0.05,0.1 --scheme fp32,fp16,bf16 -o ends.json
grep -q '^after 40 steps at rate 0.1: fp32 [0-9.]*%, fp16 .*, bf16 ' out || bad "$(head -n 1 out)"
python3 - <<'P' 2>err || bad "$(tail -n 1 err)"
import json
d = json.load(open("ends.json"))
rows = [r for r in d["rows"] if r["kind"] == "summary" and r["step"] == 40 and r["rate"] == 0.1]
ends = ["%s %.2f%%" % (r["scheme"], 100 * r["accuracy"]) for r in rows]
assert len(ends) == 3 and all(end in d["notes"][0] for end in ends), (ends, d["notes"][0])
P

# How long it would take, by a few steps of each; nothing is written.
q 0 train --dry-run --net mlp:16 --scheme fp32,3lc --steps 100000000 --seeds 2 --format json
json 'd["rows"] == [] and d["answers"] == 1'
json 'd["notes"][0].startswith("dry run: 4 trainings would take about ")'
# A step of this net takes microseconds to milliseconds.
json '1e8 * 1e-6 < [float(w[0]) * {"s": 1, "ms": 1e-3, "ks": 1e3, "Ms": 1e6}[w[1]] for w in [d["notes"][0].split("about ")[1].split()]][0] < 1e8 * 1e-2'
q 0 train --dry-run --net mlp:16 --scheme fp32 --steps 1000 --local-steps 100 --exchange allgather
q 0 train --dry-run --net mlp:16 --scheme fp32 --resume --checkpoint nothing
no_file nothing
t 2 train --dry-run --paper pipe-sgd-mlp
err '--dry-run: comparisons of frameworks, and of passes, are not estimated'
t 2 train --dry-run --on sim --bw 1gbps --scheme fp32
err '--dry-run: trainings by ranks are not estimated'
finish
