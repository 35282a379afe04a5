#!/bin/sh
# `train --trial`: its trainings are those of `train`, its figures those that Python computes of them, and
# `advise --accuracy` takes its file.
. "$(dirname "$0")/lib.sh"

one='train --trial --net mlp:32 --min-size 100'
r="$one --steps 60 --rate 0.05"

# --- figures ---

cat >recompute.py <<'P'
"""recompute.py TRIAL TRAININGS: what was lost and its interval, of the same trainings without --trial."""
import json, math, sys
trial, plain = (json.load(open(f))["rows"] for f in sys.argv[1:3])
T = {2: 4.302653, 3: 3.182446, 4: 2.776445} # Student's t, 97.5%, by degrees of freedom
test = 1797
end = {}
for row in plain:
    if row["kind"] == "eval":
        end[row["scheme"], row["seed"]] = row["accuracy"]
seeds = sorted({seed for _, seed in end})
found = {}
for row in trial:
    if row["kind"] != "summary" or row["ended_step"] is not None or row["diverged"]:
        continue
    lost = [end["fp32", s] - end[row["scheme"], s] for s in seeds]
    n, mean = len(lost), sum(lost) / len(lost)
    if row["scheme"] == "fp32":
        half = 0
    else:
        chance = (1 - sum(end["fp32", s] for s in seeds) / n) / 2 / test
        if n >= 3:
            half = max(T[n - 1] * math.sqrt(sum((x - mean) ** 2 for x in lost) / (n - 1) / n), 1.959964 * math.sqrt(chance / n))
        else:
            half = 1.959964 * math.sqrt((chance + (0.4 * mean) ** 2) / n)
    for key, value in (("lost", mean), ("lost_low", mean - half), ("lost_high", mean + half)):
        assert abs(row[key] - value) < 1e-6, (row["scheme"], key, row[key], value)
    limit = row["lost_limit"]
    expected = "costs" if mean - half > limit else "keeps" if mean + half <= limit else "open"
    if row["scheme"] in ("signsgd", "topk:ef=0") and expected == "keeps":
        expected = "open" # too few steps for a scheme that drops the same part again and again
    assert row["verdict"] == expected, (row["scheme"], row["verdict"], expected)
    found[row["scheme"]] = row["verdict"]
print(found)
P

schemes=fp32,fp16,int8,3lc,signsgd,topk:k=5
plain="train --net mlp:32 --steps 60 --rate 0.05 --min-size 100 --evaluations 1 --scheme $schemes"
for seeds in 1 2 3; do
    q 0 $plain --seeds $seeds --format json
    cp out plain.json
    q 0 $r --scheme int8,3lc,signsgd,topk:k=5 --seeds $seeds --max-loss 3% --format json
    cp out trial.json
    python3 recompute.py trial.json plain.json >checked 2>err || bad "$(tail -n 1 err)"
    grep -q int8 checked || bad "no scheme was compared"
done
cp trial.json out
json '[x["scheme"] for x in d["rows"] if x["kind"] == "summary"] == "fp32 fp16 int8 3lc signsgd topk:k=5".split()'
json 'all(x["trial_schedule"] == "cosine" and x["lost_limit"] == 0.03 for x in d["rows"] if x["kind"] == "summary")'
# The training loss of the last third.
q 0 train --net mlp:32 --steps 60 --rate 0.05 --min-size 100 --eval-every 20 --scheme fp32,int8 --format json
cp out curve
q 0 $r --scheme int8 --format json
json '(lambda x, y: abs(x["int8"]["loss_change"] - (y["int8"] / y["fp32"] - 1)) < 1e-6 and abs(x["int8"]["loss_end"] - y["int8"]) < 1e-6)(
    {x["scheme"]: x for x in d["rows"] if x["kind"] == "summary"},
    {x["scheme"]: x["train_loss"] for x in json.load(open("curve"))["rows"] if x["kind"] == "eval" and x["step"] == 60})'

# A scheme that is far behind is ended.
q 0 $one --scheme randk:density=0.01 --rate 0.2 --steps 100 --format json
json '(lambda x: x["verdict"] == "costs" and (x["ended_step"] in (25, 50) or x["diverged"] == 1) and x["lost"] is None)(d["rows"][-1])'

# Seeds of which one was ended early: the verdict decides, and not what the others lost.
q 0 train --trial --net mlp:32 --steps 60 --recipe perceptron --scheme 3lc:s=1.75 --max-loss 10% --format json
cp out partly.json
json '(lambda x: x["verdict"] == "costs" and x["ended_step"] is not None and 0 < x["seeds"] < 8 and x["lost"] is None)(d["rows"][-1])'

# Noise above the limit, fp32 that has not learned or has diverged: no scheme keeps anything.
q 0 $r --scheme int8 --max-loss 0.1% --format json
json '[x["verdict"] for x in d["rows"] if x["kind"] == "summary"] == ["keeps", "open", "open"]'
json 'any(n.startswith("noise: fp16") for n in d["notes"])'
q 0 $one --steps 60 --rate 1e-9 --seeds 3 --scheme topk:k=5 --max-loss 9% --format json
json '[x["verdict"] for x in d["rows"] if x["kind"] == "summary"] == ["keeps", "open", "open"]'
json 'any("hardly learned" in n for n in d["notes"])'
q 0 $one --steps 60 --rate 1000 --scheme int8
grep -q 'fp32 itself diverged, so that nothing is compared' out || bad "$(head -n 1 out)"

# Over several links each scheme counts once.
q 0 $r --scheme int8 --bw 1gbps,10gbps
grep -q ' of 2 schemes keep' out || bad "$(head -n 1 out)"

# Every kind of scheme by default, and the answer first.
q 0 $r
grep -q '^trial of 60 steps: [0-9]* of 32 schemes keep' out || bad "$(head -n 1 out)"
q 0 $r --exchange ssar-split --format json
json '{"fp32", "topk"} <= {x["scheme"] for x in d["rows"]} and "int8" not in {x["scheme"] for x in d["rows"]}'

# --- refused ---

t 2 $one --steps 59
err '--trial: at least 60 --steps, not 59'
t 2 $one --rate 0.1,0.2
err '--trial: one --rate, not 2'
t 2 $r --consistency stale
err '--trial: its steps are bulk synchronous'
t 2 $r --on sim --bw 1gbps
err '--trial: in one process'
t 2 $r --checkpoint folder
err '--trial: not with --checkpoint'
t 2 $r --pull-scheme int8
err '--trial: not with --pull-scheme'
t 2 $r --max-loss 0
err '--max-loss: an accuracy above 0'
t 2 train --max-loss 1%
err '--max-loss goes with --trial'

# --- advise ---

net='advise -q --net resnet20 --workers 4 --bw 100mbps --compute 5ms'
a="$net --exchange ps"
q 0 $one --scheme int8,3lc,topk:k=5,powersgd:rank=2,randk:density=0.01 --rate 0.2 --steps 100 --max-loss 3% --format json
cp out trial.json
q 0 $a --accuracy trial.json --max-loss 3% --format json
json '{"powersgd:rank=2", "topk:k=5"} <= {x["scheme"] for x in d["rows"]}'
json '[x["left_out"] for x in d["rows"] if x["scheme"] == "randk"][0] in ("costs accuracy in the trial", "diverged in training")'
json '[x["left_out"] for x in d["rows"] if x["scheme"] == "qsgd"] == ["not trained"]'
json 'any("WARNING: the trainings are of mlp:32 and the net is resnet20" in n for n in d["notes"])'
json 'not any("exchanged by" in n for n in d["notes"])'
q 0 $net --exchange ring --accuracy trial.json --format json
json 'any("WARNING: the trainings exchanged by ps" in n for n in d["notes"])'
q 0 $a --scheme int8 --accuracy trial.json --format json
json '{x["scheme"] for x in d["rows"]} == {"fp32", "int8"}'

q 0 $a --accuracy partly.json --max-loss 10% --scheme 3lc:s=1.75 --format json
json '[x["left_out"] for x in d["rows"] if x["scheme"] == "3lc:s=1.75"] == ["costs accuracy in the trial"]'

# Rows that cannot be.
cat >change.py <<'P'
"""change.py OUT KEY VALUE...: trial.json with other values in the row of int8."""
import json, sys
d = json.load(open("trial.json"))
d["rows"] = [x for x in d["rows"] if x["kind"] == "summary"]
row = next(x for x in d["rows"] if x["scheme"] == "int8")
for key, value in zip(sys.argv[2::2], sys.argv[3::2]):
    row[key] = json.loads(value)
json.dump(d, open(sys.argv[1], "w"))
P
while read -r key value message; do
    python3 change.py damaged.json "$key" "$value"
    t 1 $a --accuracy damaged.json
    err "$message"
done <<'P'
verdict 5 column 'verdict': 'a number' is not keeps, costs or open
lost 0.5 column 'lost': 0.5 is outside of its interval
lost_high 1e308 is outside of its interval
difference 0.3 column 'lost'
seeds 0 column 'seeds': 0 trainings
P
python3 change.py alias.json scheme '"qsgd:bits=4"'
q 0 $a --scheme qsgd --accuracy alias.json --format json
json '[x["left_out"] for x in d["rows"] if x["scheme"] == "qsgd"] == [None]'
python3 change.py wide.json lost 0.005 lost_low -0.005 lost_high 0.015 difference -0.005 verdict '"keeps"'
q 0 $a --accuracy wide.json --format json
json 'any("undecided" in n and "int8 (-0.5 to 1.5 points)" in n for n in d["notes"])'
python3 change.py mixed.json net '"mlp:64"'
q 0 $a --accuracy mixed.json --format json
json 'any("trainings of several nets or exchanges" in n for n in d["notes"])'

# A trial by the loss alone, as PyTorch's without a metric: its verdicts decide.
python3 - <<'P'
import json
d = json.load(open("trial.json"))
d["rows"] = [x for x in d["rows"] if x["kind"] == "summary"]
verdict = {"fp32": "keeps", "fp16": "keeps", "int8": "open", "3lc": "keeps"}
for x in d["rows"]:
    for key in "accuracy accuracy_low accuracy_high difference difference_low difference_high lost lost_low lost_high lost_limit".split():
        x[key] = None
    x["verdict"] = verdict.get(x["scheme"], "costs")
json.dump(d, open("loss.json", "w"))
d["rows"][1]["verdict"] = "wins"
json.dump(d, open("wrong.json", "w"))
P
q 0 $a --accuracy loss.json --format json
json '[x["scheme"] for x in d["rows"] if x["recommended"]] == ["3lc"]'
json '[x["left_out"] for x in d["rows"] if x["scheme"] == "topk:k=5"] == ["costs accuracy in the trial"]'
json 'any("undecided" in n and "int8 (open in the trial)" in n for n in d["notes"])'
json 'any("may be lost to fp32. Left out" in n for n in d["notes"])'
t 1 $a --accuracy wrong.json
err "column 'verdict': 'wins' is not keeps, costs or open"
finish
