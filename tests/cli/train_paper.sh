#!/bin/sh
# `commcomp train`: several lengths, and the trainings of a paper's figures.
. "$(dirname "$0")/lib.sh"

t="train -q --net mlp:8 --batch 16"

# --- lengths ---

for wrong in '--steps 10,10' '--steps 10,' '--steps 0,10' '--steps 10x'; do
    t 2 $t $wrong
    err '--steps 1*0'
done
t 2 $t --steps 10,20 --eval-every 5
err '--eval-every: trainings of several --steps are evaluated at their ends'
t 2 $t --steps 10,20 --capture x
err '--capture is of one length'
t 2 $t --steps 10,20 --warmup 11
err 'warmup'
# Each length has a schedule of its own, as by itself, and is evaluated at its end.
q 0 $t --scheme fp32,3lc --seeds 2 --steps 20,10 --rate 0.05,0.1 --format json
cp out both.json
json '[(r["kind"], r["step"]) for r in d["rows"]] == [("eval", 10)] * 8 + [("eval", 20)] * 8 + [("summary", 10)] * 4 + [("summary", 20)] * 4'
for steps in 10 20; do
    q 0 $t --scheme fp32,3lc --seeds 2 --steps $steps --rate 0.05,0.1 --eval-every $steps --format json
    json "[(r['scheme'], r['rate'], r['weights'], r['accuracy'], r['difference'], r['difference_best'], r['best_rate']) for r in d['rows']] == [(r['scheme'], r['rate'], r['weights'], r['accuracy'], r['difference'], r['difference_best'], r['best_rate']) for r in json.load(open('both.json'))['rows'] if r['step'] == $steps]"
done
q 0 $t --scheme fp32 --steps 10,20 --checkpoint kept
left 'kept/*' 'kept/fp32-steps10-seed1.safetensors kept/fp32-steps20-seed1.safetensors '
q 0 $t --scheme fp32 --steps 10,30 --checkpoint kept --resume --format json
json '"resumed: from step 10: fp32 steps 10 seed 1; from the beginning, without a checkpoint: fp32 steps 30 seed 1" in d["notes"]'
q 0 $t --scheme fp32 --steps 10,20 --rate 1000 --warmup 0 --momentum 0.99 --target 99% --format json
json 'sum(r["diverged"] or 0 for r in d["rows"] if r["kind"] == "eval") > 0'
json 'sum(n.startswith("fp32, rate 1000, %d steps, seed 1: diverged in step" % s) for n in d["notes"] for s in (10, 20)) == sum(r["diverged"] or 0 for r in d["rows"] if r["kind"] == "eval")'
q 0 $t --scheme fp32 --steps 10,20 --target 99% --format json
json 'all(any(n.startswith("--target 99%%: not reached by fp32, %d steps (" % s) for n in d["notes"]) for s in (10, 20))'

# --- figures ---

p="train -q --net mlp:8 --min-size 50 --threads 1 --seeds 2"
t 2 train --paper 3lc-figure2
err "did you mean '3lc-figure"
t 2 train --paper 3lc-table1 --recipe 3lc
err '--paper 3lc-table1 and --recipe exclude each other: it has the recipe 3lc'
t 2 train --paper 3lc-table1 --on sim
err '--on sim: --paper 3lc-table1 has local'
t 2 train --paper 3lc-figure3 --steps 3
err '--steps 3: --quarters trains with quarters of them'

q 0 $p --paper 3lc-figure3 --steps 9 --format json
cp out figure3.json
json 'sum(r["kind"] == "eval" for r in d["rows"]) == 10 * 4 * 2 * 3 and [r["step"] for r in d["rows"] if r["kind"] == "summary" and r["scheme"] == "int8"] == [2, 4, 6, 9] * 3'
# The paper's numbers, as it prints them, beside trainings of all steps alone.
json '[(r["bw_bps"], round(r["accuracy_paper"], 9), round(r["difference_paper"], 9), r["speedup_paper"], r["bits_paper"]) for r in d["rows"] if r["scheme"] == "3lc:s=1.75" and r["accuracy_paper"]] == [(1e7, 0.9351, 0.0014, 22.8, 0.298), (1e8, 0.9351, 0.0014, 9.04, 0.298), (1e9, 0.9351, 0.0014, 1.53, 0.298)]'
json 'all(r["accuracy_paper"] is None for r in d["rows"] if r["step"] != 9 or r["kind"] != "summary")'
json '[round(r["accuracy_paper"], 9) for r in d["rows"] if r["scheme"] == "fp32" and r["accuracy_paper"]] == [0.9337] * 3'
# The proportions of the paper: traffic at 10 Mbit/s, K, is what a step takes but computing that
# is not beside it; computing is 0.0115 K, and 37% of it are beside the exchange.
json 'all(abs(r["compute_s"] / (r["step_s"] - (1 - 0.374) * r["compute_s"]) - 0.0115) < 0.0005 for r in d["rows"] if r["scheme"] == "fp32" and r["bw_bps"] == 1e7)'
json 'any("1.15% of what fp32" in n and "37% of it goes on beside the exchange" in n for n in d["notes"])'
q 0 $p --paper 3lc-figure3 --steps 9 --compute 1ms --scheme fp32 --bw 1gbps --format json
json 'all(r["compute_s"] == 0.001 for r in d["rows"]) and len(d["rows"]) == 12 and not any("fitted" in n for n in d["notes"])'
cp figure3.json out
# The longest trainings are the ones that count.
q 0 paper 3lc-table1 --accuracy figure3.json --format json
json 'any("4 workers, 9 steps" in n for n in d["notes"])'
json 'all(abs(r["figure_trained"] - 100 * next(s["accuracy"] for s in json.load(open("figure3.json"))["rows"] if s["kind"] == "summary" and s["step"] == 9 and s["scheme"] == r["scheme"])) < 1e-9 for r in d["rows"] if r["quantity"] == "accuracy")'
q 0 plot -q figure3.json --over time --format script
out "set label [0-9]* '3lc:s=1.9' at screen"
out '1 Gbit/s'

# Tables have the figure's rows and columns; CSV has all.
q 0 $p --paper 3lc-figure5 --steps 8 -o figure5.csv
q 0 $p --paper 3lc-figure5 --steps 8
out '^3LC, Figure 5: time and accuracy'
out '^scheme  *seeds  diverged  at step  '
end_case
case='lines of the table' good=1
[ "$(grep -c '^3lc' out)" = 16 ] || bad "$(cat out)"
[ "$(wc -l <figure5.csv)" = 49 ] || bad "$(wc -l <figure5.csv) lines of CSV"
end_case
q 0 $p --paper 3lc-figure5 --steps 8 --columns scheme,kind,step --format csv
[ "$(sort -u out | wc -l)" = 33 ] || bad "$(sort -u out)"

# Sizes of the compressed tensors: 512 and 80 values in 103 + 16 bytes with 4 bytes of scale each,
# and 18 values as fp32.
q 0 $p --paper 3lc-table2 --steps 4 --format json
json '[r["scheme"] for r in d["rows"] if r["kind"] == "summary"] == ["3lc:zre=0", "3lc", "3lc:s=1.5", "3lc:s=1.75", "3lc:s=1.9"]'
json 'all(r["payload_bytes"] == 127 + 72 and abs(r["bits_compressed"] - 8 * 127 / 592) < 1e-12 for r in d["rows"] if r["scheme"] == "3lc:zre=0")'
json 'all(abs(592 * r["bits_compressed"] - 610 * (r["bits_push"] + r["bits_pull"]) / 2 + 32 * 18) < 1e-9 for r in d["rows"])'
json 'len({r["weights"] for r in d["rows"] if r["scheme"] in ("3lc", "3lc:zre=0") and r["seed"] == 1}) == 1'
json '[r["bits_paper"] for r in d["rows"] if r["kind"] == "summary"] == [1.6, 0.812, 0.451, 0.298, 0.2]'

# Figures of evaluations have their means over the seeds, of the loss too.
q 0 $p --paper 3lc-figure4 --steps 40 --format json
json 'sum(r["kind"] == "mean" for r in d["rows"]) == 6 * 20'
json 'all(abs(m[k] - sum(r[k] for r in d["rows"] if r["kind"] == "eval" and (r["scheme"], r["step"]) == (m["scheme"], m["step"])) / 2) < 1e-9 for m in d["rows"] if m["kind"] == "mean" for k in ("loss", "accuracy", "train_loss", "bits_push", "bits_pull", "bytes"))'
cp out figure4.json
q 0 plot -q figure4.json --kind train-loss --format script
out 'loss on the training batches'
q 0 $p --paper 3lc-figure6 --steps 40
end_case
case='lines of the table' good=1
[ "$(grep -c '^3lc' out)" = 80 ] || bad "$(cat out)"
end_case
q 0 plot -q figure4.json --kind bits --over bytes --format script
out 'push'
out 'pull'
q 0 $p --paper 3lc-table1 --steps 4 --format json
json '[r["kind"] for r in d["rows"]] == (["eval"] * 20 + ["summary"] * 10) * 3'

# --- Pipe-SGD's frameworks ---

f="train -q --paper pipe-sgd-mlp --net mlp:8 --threads 1"
for set in '--exchange ring' '--mode pipe' '--checkpoint kept' '--capture kept' '--servers 2' '--scheme fp32' '--steps 10,20'; do
    t 2 $f $set
    err '--paper pipe-sgd-mlp'
done
q 0 $f --steps 40 --seeds 2 --momentum 0.9 --target 30% --format json
cp out frameworks.json
json '[(r["framework"], r["exchange"], r["mode"], r["depth"], r["scheme"]) for r in d["rows"] if r["kind"] == "summary" and r["bw_bps"] == 1e9] == [("PS-Sync", "ps", "sequential", None, "fp32")] + [("D-Sync", "ring", "sequential", None, s) for s in ("fp32", "trunc16", "int8")] + [("Pipe-SGD", "ring", "pipe", 2, s) for s in ("fp32", "trunc16", "int8")]'
json '[round(r["accuracy_paper"], 9) for r in d["rows"] if r["kind"] == "summary" and r["bw_bps"] == 1e9] == [0.9833, 0.9833, 0.9834, 0.983, 0.9834, 0.9836, 0.9833]'
json 'sum(r["kind"] == "eval" for r in d["rows"]) == 7 * 2 * 2 * 20'
# Speedups are ratios of step times, and differences are paired by seed.
json 'all(abs(r["speedup_sync"] * r["step_s"] / s["step_s"] - 1) < 1e-9 and abs(r["speedup_ps"] * r["step_s"] / p["step_s"] - 1) < 1e-9 for b in (1e9, 1e10) for R in [[r for r in d["rows"] if r["kind"] == "summary" and r["bw_bps"] == b]] for p, s in [R[:2]] for r in R)'
json 'all(abs(r["difference_sync"] - r["accuracy"] + s["accuracy"]) < 1e-9 and abs(r["target_speedup_sync"] * r["target_s"] / s["target_s"] - 1) < 1e-9 for b in (1e9, 1e10) for R in [[r for r in d["rows"] if r["kind"] == "summary" and r["bw_bps"] == b]] for s in [R[1]] for r in R if r["target_s"])'
# Computing is in the paper's proportion to D-Sync's traffic over the fastest link.
json 'all(abs((r["step_s"] - r["compute_s"] - r["codec_s"]) / r["compute_s"] - 2.2) < 0.01 for r in d["rows"] if r["framework"] == "D-Sync" and r["scheme"] == "fp32" and r["bw_bps"] == 1e10)'
json 'any("4.0 to 5.4 times as fast as PS-Sync" in n for n in d["notes"]) and sum("2.2 times as long" in n for n in d["notes"]) == 1'
# The same trainings one by one.
for one in 'PS-Sync:--exchange ps' 'D-Sync:' 'Pipe-SGD:--mode pipe'; do
    q 0 train -q --recipe pipe-sgd-mlp --net mlp:8 --threads 1 --steps 40 --seeds 2 --momentum 0.9 --eval-every 2 --scheme fp32 ${one#*:} --format json
    json "[r['weights'] for r in d['rows'] if r['weights']] * 2 == [r['weights'] for r in json.load(open('frameworks.json'))['rows'] if r['weights'] and r['scheme'] == 'fp32' and r['framework'] == '${one%:*}']"
done
# Deep nets begin synchronously, with a tenth of the steps unless it is given.
for sync in '' '--sync-steps 2'; do
    q 0 train -q --paper pipe-sgd-resnet --net mlp:8 --steps 20 --seeds 1 --threads 1 --depth 3 $sync --format json
    json '{r["depth"] for r in d["rows"]} == {None, 3}'
    python3 -c 'import json; print([r["weights"] for r in json.load(open("out"))["rows"] if r["weights"]])' >>weights
done
[ "$(sort -u weights | wc -l)" = 1 ] || bad "a tenth of 20 steps is not 2"

# The thesis: bulk and stale steps of fp32 and the largest 1%, evaluated 20 times.
h="train -q --net mlp:8 --threads 1 --seeds 2 --steps 40 --target 15%"
q 0 $h --paper thesis-5.7 --format json
json '[(r["consistency"], r["scheme"][:4]) for r in d["rows"] if r["kind"] == "summary"] == [("bulk", "fp32"), ("bulk", "spar"), ("stale", "fp32"), ("stale", "spar")]'
json 'len([r for r in d["rows"] if r["kind"] == "mean"]) == 4 * 20'
json 'all((r["staleness"], r["communicate"]) == (5, "step") for r in d["rows"] if r["consistency"] == "stale")'
q 0 $h --paper thesis-5.8 --format json
json 'd["rows"][-4]["speedup_bulk"] == 1 and d["rows"][-4]["target_speedup_bulk"] == 1'
json 'abs(d["rows"][-2]["target_speedup_bulk"] - d["rows"][-4]["target_s"] / d["rows"][-2]["target_s"]) < 1e-9'
json 'abs(d["rows"][-1]["speedup_bulk"] - d["rows"][-4]["step_s"] / d["rows"][-1]["step_s"]) < 1e-9'
json 'any("within 43%" in n for n in d["notes"])'
cp out against
# Against sequential steps of fp32: all else is Figure 5.8's.
q 0 $h --paper thesis-5.8-traditional --format json
json '[(r["consistency"], r["mode"], r["scheme"][:4]) for r in d["rows"] if r["kind"] == "summary"] == [("bulk", "sequential", "fp32"), ("stale", "overlap", "spar")]'
python3 - <<'P' || bad "thesis-5.8-traditional changes more than the steps of fp32"
import json
of = lambda name: [r for r in json.load(open(name))["rows"] if r["kind"] == "summary"]
(overlapped, _, _, before), (sequential, stale) = of("against"), of("out")
assert abs(stale["target_speedup_bulk"] - sequential["target_s"] / stale["target_s"]) < 1e-9
assert (stale["target_s"], sequential["accuracy"]) == (before["target_s"], overlapped["accuracy"])
P
json 'sum("within 43%" in n for n in d["notes"]) == 1'

finish
