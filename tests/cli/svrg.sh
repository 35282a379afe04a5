#!/bin/sh
# `commcomp train --optimizer svrg` and `--optimum`.
. "$(dirname "$0")/lib.sh"

t='train -q --net logreg --data synthetic-sparse:features=50,train=400,test=50,nonzeros=10'

printf -- '-1\n+1\n' >zeros.libsvm
while IFS='|' read -r options message; do
    t 2 $options
    err "$message"
done <<W
train -q --optimizer svrg|--optimizer svrg is of --net logreg
train -q --net svm --optimizer svrg|--optimizer svrg is of --net logreg
$t --svrg-steps 10|--svrg-steps goes with --optimizer svrg
$t --optimizer svrg --svrg-steps 1|--svrg-steps: 1 is not between 2 and
$t --optimizer svrg --momentum 0.5|--momentum: svrg has none
$t --optimizer svrg --schedule cosine|--schedule: the rate of svrg is constant
$t --optimizer svrg --checkpoint kept|--checkpoint: svrg continues from
$t --optimizer svrg --exchange ps|with --pull mean
$t --optimizer svrg --on sim --bw 1gbps|--optimizer svrg goes with --on local
$t --optimizer svrg --mode overlap|with --mode sequential
$t --optimizer svrg --svrg-steps 10 --steps 25|--steps: with --optimizer svrg a multiple of the steps of an epoch
$t --optimizer svrg --svrg-steps 10 --steps 40 --eval-every 5|--eval-every: with --optimizer svrg
$t --optimum|--weight-decay above 0
train -q --net logreg --data zeros.libsvm:features=3,test=zeros.libsvm --optimizer svrg|all training rows are zeros
train -q --net mlp:8 --optimum|--optimum is of --net logreg
train -q --net logreg --weight-decay 0.1 --optimum|up to 2048 features, and there are 100000
$t --optimizer scd --local-steps 4 --steps 8 --coordinates 2|--local-steps: coordinate descent
W

# An epoch is 2 n / (workers x batch) steps of one row each, after a full gradient as fp32.
q 0 $t --weight-decay 0.05 --optimizer svrg --optimum --scheme fp32,qsgd:bits=2 --steps 1000 --format json
json '[r["step"] for r in d["rows"] if r["kind"] == "eval"] == [200, 400, 600, 800, 1000] * 2'
json 'all(r["bytes"] == 200 * (r["step"] + r["step"] / 200) for r in d["rows"] if r["scheme"] == "fp32" and r["kind"] == "eval")'
json 'all(r["bytes"] < 0.12 * 200 * r["step"] for r in d["rows"] if r["scheme"] == "qsgd:bits=2")'
# Each epoch is nearer to the optimum by a factor, quantized or not, and no other method knows how near.
json 'all(b["suboptimality"] < 0.3 * a["suboptimality"] and b["distance"] < 0.6 * a["distance"] for a, b in zip(d["rows"][:9], d["rows"][1:10]) if a["scheme"] == b["scheme"])'
json 'all(0 < r["suboptimality"] < 1e-6 for r in d["rows"] if r["step"] == 1000)'
json 'any(n.startswith("svrg: epochs of 200 steps; smoothness L = 0.3, convexity l at least 0.05") for n in d["notes"])'
json 'any(n.startswith("optimum: 0.") and "Newton" in n for n in d["notes"])'
# The optimum at the distance R, and the mean over the evaluations of each training, which a summary has, too.
json 'any("; R = 1." in n and n.endswith("smoothness L = 0.3") for n in d["notes"])'
json 'all(abs(5 * r["suboptimality_mean"] - sum(e["suboptimality"] for e in d["rows"] if e["kind"] == "eval" and e["scheme"] == r["scheme"])) < 1e-12 for r in d["rows"] if r["step"] == 1000)'
json 'd["rows"][0]["suboptimality_mean"] == d["rows"][0]["suboptimality"] > d["rows"][4]["suboptimality_mean"] > d["rows"][4]["suboptimality"]'
cp out svrg.json
q 0 $t --weight-decay 0.05 --optimizer sgd --momentum 0 --batch 1 --rate 0.33 --schedule constant --warmup 0 --optimum --scheme fp32 --exchange allgather --steps 1000 --format json
json 'd["rows"][-1]["suboptimality"] > 1e-4 and d["rows"][0]["bits_push"] == 32'
# Sums over the evaluations of each of four trainings: fp32 takes 200 bytes a step, and an evaluation of `pairs` has the
# mean of its own steps. The target is reached at the first.
q 0 $t --weight-decay 0.05 --momentum 0 --batch 4 --optimum --exchange allgather --scheme fp32,pairs --seeds 2 --steps 10 --eval-every 4 --show means --target 50% --format json
json '[r["bytes"] for r in d["rows"] if r["scheme"] == "fp32"] == [800, 1600, 2000] * 3 + [2000]'
json 'all([r["bytes"] for r in R] == [4 * a, 4 * a + 4 * b, 4 * a + 4 * b + 2 * c] and a != b for R in (d["rows"][6:9], d["rows"][9:12]) for a, b, c in [[r["payload_bytes"] for r in R]])'
json '[m["bytes"] for m in d["rows"][15:18]] == [(a["bytes"] + b["bytes"]) / 2 for a, b in zip(d["rows"][6:9], d["rows"][9:12])]'
json 'all(abs(R[i]["suboptimality_mean"] - sum(r["suboptimality"] for r in R[:i + 1]) / (i + 1)) < 1e-15 for k in (0, 3, 6, 9) for R in [d["rows"][k:k + 3]] for i in range(3))'
json 'all(abs(s["suboptimality_mean"] - (d["rows"][k]["suboptimality_mean"] + d["rows"][k + 3]["suboptimality_mean"]) / 2) < 1e-15 for s, k in zip(d["rows"][18:], (2, 8)))'
json '[[s["target_step"], s["target_bytes"]] for s in d["rows"][18:]] == [[4, 800], [4, d["rows"][15]["bytes"]]]'
# Quantized vectors end at the same objective with a server that sends the mean.
q 0 $t --weight-decay 0.05 --optimizer svrg --scheme qsgd:bits=2 --steps 1000 --exchange ps --pull mean --pull-scheme fp32 --format json
json 'abs(d["rows"][-1]["objective"] - json.load(open("svrg.json"))["rows"][9]["objective"]) < 1e-7'
finish
