#!/bin/sh
# `commcomp train` with linear models on sparse rows: the same objective over every exchange, in one
# process and with ranks; coordinate descent; and what is refused.
. "$(dirname "$0")/lib.sh"

set=synthetic-sparse:train=400,test=100,features=3000,nonzeros=15
t="train -q --data $set --workers 3 --batch 20 --momentum 0 --schedule constant --warmup 0"

# --- a pass over every exchange ---

# 400 rows in steps of 60: a pass has 6 steps. The objective is that of fp32 over ps.
q 0 $t --net logreg --rate 20 --steps 6 --eval-every 3 --scheme fp32 --format json
json 'd["rows"][1]["objective"] < d["rows"][0]["objective"] < 0.69 and d["rows"][1]["epoch"] == 1'
cp out ps.json
near='all(abs(r["objective"] / json.load(open("ps.json"))["rows"][1]["objective"] - 1) < 1e-6 for r in d["rows"] if r["step"] == 6)'
for x in 'ps --pull mean' 'ps --servers 2' ring recdouble rabenseifner allgather ssar-recdouble ssar-split \
    ssar-rabenseifner dsar-split ssar-auto; do
    q 0 $t --net logreg --rate 20 --steps 6 --eval-every 3 --scheme fp32,pairs --exchange $x --format json
    json "$near"
    json 'all(r["bits_push"] < 10 for r in d["rows"] if r["scheme"] == "pairs")'
done
# Pairs lose nothing: where floats are added in the same order, the weights are the same bits.
q 0 $t --net svm --rate 5 --steps 8 --scheme fp32,pairs --exchange ps --weight-decay 0.001 --format json
json 'len({r["weights"] for r in d["rows"] if r["weights"]}) == 1'
json 'all(r["objective"] > 0 for r in d["rows"])'

# --- times ---

q 0 $t --net logreg --rate 20 --steps 8 --scheme pairs --exchange ssar-split --bw 1gbps --compute 3ms --format json
json 'all(abs(r["pass_s"] - 6 * r["step_s"]) < 1e-12 and abs(r["pass_comm_s"] - 6 * (r["step_s"] - 0.003)) < 1e-12 for r in d["rows"])'
q 0 train -q --net mlp:4 --steps 1 --workers 1 --batch 4 --scheme fp32 --bw 1gbps --format json
json 'all(r["pass_s"] is None and r["pass_comm_s"] is None and r["objective"] is None for r in d["rows"])'

# By the formulas, 60 pairs travel in a fraction of the time of 25,000 floats.
q 0 train -q --net mlp:300 --steps 1 --batch 4 --scheme fp32,topk:k=1,bucket=2000 --exchange ssar-split --bw 10mbps --format json
json 'all(a["comm_s"] > 50 * b["comm_s"] > 0 for a, b in [d["rows"][:2], d["rows"][2:]])'
# Rows that are the same have the same non-zeros, so that the sum has no more of them than one: it
# takes twice the time of one worker's pairs, as the first stage does.
python3 -c 'print("\n".join("%d %s" % (i % 2, " ".join("%d:%d" % (j * 40 + 1, i + j + 1) for j in range(500))) for i in range(40)))' >same.libsvm
python3 -c 'print("\n".join("%d %s" % (i % 2, " ".join("%d:%d" % (j * 40 + i + 1, i + j + 1) for j in range(500))) for i in range(40)))' >apart.libsvm
for name in same apart; do
    q 0 train -q --net logreg --data $name.libsvm:features=20000,test=$name.libsvm --workers 4 --batch 10 --steps 1 --scheme pairs --exchange ssar-split --bw 10mbps --latency 0 --overhead none --format json
    cp out $name.json
done
# docs/model.md: 3 of 4 parts, each with heads of 32 bytes, of 500 pairs and of the sum's; or of
# 5,000 and 20,000 of 20,000, which bitmaps and floats take less room for.
byte=8e-7
json "abs(json.load(open('same.json'))['rows'][0]['comm_s'] / ($byte * 3 * (64 + (3001.2 + 3001.2) / 4)) - 1) < 0.02"
json "abs(d['rows'][0]['comm_s'] / ($byte * 3 * (64 + (22500 + 80000) / 4)) - 1) < 0.02"

# --- SparCML's Table 2 ---

q 0 train -q --paper sparcml-table2 --batch 2 --format json
json 'len(d["rows"]) == 26 and [r["scheme"] for r in d["rows"]] == ["fp32", "pairs"] * 13'
json 'all(abs(b["speedup"] - a["pass_s"] / b["pass_s"]) < 1e-9 for a, b in zip(d["rows"][::2], d["rows"][1::2]))'
json 'all(abs(r["pass_s"] - r["step_s"] * {16609143: 350000, 3231961: 2396130}[r["values"]] / (2 * r["workers"])) < 1e-9 * r["pass_s"] for r in d["rows"][:24])'
json 'all(r["pass_s"] == r["step_s"] * (3231961 // 8 // 100) for r in d["rows"][24:])'
json 'all(abs(r["pass_comm_s"] / r["pass_s"] - (r["codec_s"] + r["comm_s"]) / r["step_s"]) < 1e-9 for r in d["rows"])'
json '[[round(d["rows"][i][k], 9) for k in ("pass_paper_s", "pass_comm_paper_s")] for i in (0, 10, 24, 25)] == [[2.4, 2.16], [1.98, 1.93], [49, 24], [26, 4.5]]'
json '[r["speedup_paper"] for r in d["rows"][:4]] == [1, 3.53, 1, 3.56]'
# The dense baseline: 2 (P - 1) / P of 4 N bytes at 1 Gbit/s, 2 x 3 messages of 50 us, and sums.
json 'all(0 <= r["comm_s"] - (1.75 * 32 * r["values"] / 1e9 + 6 * 50e-6) < 0.05 * r["comm_s"] + 0.2 for r in d["rows"] if r["bw_bps"] == 1e9 and r["scheme"] == "fp32")'
for option in '--net svm' '--recipe 3lc' '--scheme fp32' '--workers 4' '--bw 1gbps'; do
    t 2 train --paper sparcml-table2 $option
    err "--paper sparcml-table2 and ${option%% *} exclude each other"
done

# One change after the other: dense exchanges at the rates that the table fits, the paper's computing, and the fitted
# 2 ns a value in place of the codec over the first and the third link.
cat >changes.json <<'E'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "train",
 "options": {"batch": 2, "workers": 8, "coordinates": 10},
 "passes": {"links": ["1gbps", "1gbps", "1gbps", "1gbps"],
            "data": {"Webspam": "features=30000,nonzeros=9", "URL": "features=20000,nonzeros=9"}, "descent": "descent",
            "dense": ["daint8_gbps", "daint32_gbps", "ib_gbps", "gige_gbps"], "computing": 25,
            "codec": ["pass_ns", 0, "pass_ns", 3]}}]}
E
q 0 --recipe changes.json -q --format json
json '[round(d["rows"][i]["bw_bps"] / 1e9, 1) for i in (0, 12, 16, 20, 24)] == [6.3, 13.0, 10.2, 0.5, 13.0]'
json 'all(r["bw_bps"] == 1e9 for r in d["rows"] if r["scheme"] == "pairs")'
json 'all(abs(r["pass_s"] - r["pass_comm_s"] - r["pass_paper_s"] + r["pass_comm_paper_s"]) < 1e-6 for r in d["rows"][:24:2])'
json 'all(abs(r["pass_s"] - r["pass_comm_s"] - 25) < 1e-6 for r in d["rows"][24:])'
json '[round(1e9 * r["codec_s"] / r["values"], 2) for r in d["rows"][13:24:2]] == [2, 2, 2, 2, 3, 3]'
json 'd["rows"][24]["codec_s"] == 0 < d["rows"][25]["codec_s"]'
while IFS='|' read -r edit message; do
    sed "$edit" changes.json >wrong.json
    t 1 --recipe wrong.json
    err "$message"
done <<'E'
s/ib_gbps/ib_mbps/|"passes": "dense": the table sparcml-table2 has no constant "ib_mbps"
s/"computing": 25/"computing": -1/|"computing": not a time in seconds
s/"computing": 25/"computing": 1e999/|"computing": not a time in seconds
s/"pass_ns", 3/"pass_ns", -3/|neither nanoseconds a value nor a constant
E

# --- ranks ---

same='[[r[k] for k in ("scheme", "kind", "step", "loss", "objective", "accuracy", "bits_push", "weights")] for r in d["rows"]] == [[r[k] for k in ("scheme", "kind", "step", "loss", "objective", "accuracy", "bits_push", "weights")] for r in json.load(open("local.json"))["rows"]]'
if command -v mpirun >/dev/null && command -v smpirun >/dev/null; then
    for how in '--exchange ssar-split' '--exchange allgather --optimizer scd'; do
        u="train -q --data $set --net logreg --workers 3 --steps 5 --eval-every 3 --scheme pairs $how --weight-decay 0.001"
        q 0 $u --format json
        cp out local.json
        q 0 $u --on run --bw none --format json
        json "$same"
        [ -n "$(ls -d "$(dirname "$program")"/commcomp-rank-sim 2>/dev/null)" ] || continue
        q 0 $u --on sim --bw 1gbps --compute 2ms --format json
        json "$same"
    done
    # Ranks have the same default data.
    q 0 train -q --net logreg --workers 2 --steps 1 --scheme pairs --exchange ssar-split --on run --bw none --format json
    json 'd["rows"][0]["values"] == 100000'
else
    echo 'skipped: mpirun and smpirun are needed'
fi

# --- coordinate descent ---

s="train -q --data $set --net logreg --workers 3 --optimizer scd --schedule constant --warmup 0 --rate 1 --scheme pairs"
# Ten coordinates of each worker at a time: three passes of 100 steps. Every evaluation is lower.
q 0 $s --coordinates 10 --steps 300 --eval-every 50 --exchange allgather --weight-decay 0.0001 --format json
json 'all(a["objective"] > b["objective"] for a, b in zip(d["rows"][:5], d["rows"][1:6]))'
json 'd["rows"][5]["epoch"] == 3 and d["rows"][5]["objective"] < 0.4'
# A feature that no row has does not change.
json 'all(0 < r["bits_push"] <= 64 * 10 / 3000 for r in d["rows"])'
t 2 $s --coordinates 1001
err '--coordinates 1001: 3000 features cut into slices for 3 workers give each 1000 of them'
t 2 $s --momentum 0.5
err '--momentum is of sgd, nesterov and signum, not of scd'
t 2 $s --checkpoint .
err '--checkpoint: scd continues from the products of all rows'
t 2 train --optimizer scd --net mlp:4
err '--optimizer scd: coordinate descent is of --net logreg; mlp:4 is not a linear model'
t 2 train --optimizer scd --net svm
err 'the hinge loss of svm does not have: take --net logreg'
t 2 $s --mode pipe --exchange ring
err 'the same, latest parameters: --consistency bulk, and not --mode pipe'
t 2 $s --local-steps 4
err '--local-steps: coordinate descent has the same parameters'
t 2 train --net logreg --coordinates 10
err '--coordinates goes with --optimizer scd'

# --- files ---

printf -- '-1 1:0.5 3:2\n+1 2:1\n-1 3:1\n+1\n-1 1:1 3:1\n+1 2:0.5\n' >good.libsvm
f="train -q --net logreg --workers 1 --batch 3 --scheme pairs"
mkdir kept
q 0 $f --steps 4 --data good.libsvm:features=5,test=good.libsvm --checkpoint kept --format json
json 'd["rows"][0]["values"] == 5 and d["rows"][-1]["accuracy"] >= 4 / 6'
# The rows belong to a checkpoint's settings.
sed 's/2:0.5/2:0.25/' good.libsvm >other.libsvm
t 1 $f --steps 4 --data other.libsvm:features=5,test=good.libsvm --checkpoint kept --resume
err "kept/pairs-seed1.safetensors: it is the checkpoint of another training, with 'training samples crc32:"
while IFS='|' read -r line message; do
    printf '%s\n%b\n' '1 1:1 2:1' "$line" >bad.libsvm
    t 1 $f --data bad.libsvm:features=4 -o out.csv
    err "^commcomp: bad.libsvm: line 2, byte $message"
    no_file out.csv
done <<'X'
-1 5:1|14: index 5, and samples have 4 features
-1 2:1 1:1|18: indices should ascend
-1 2:1 2:1|18: indices should ascend
-1 2:nan|15: not a number: 'nan'
-1 2:inf|15: not a number: 'inf'
-1 2:1e39|15: a number beyond those of a float
nan 2:1|10: not a number: 'nan'
-1 2|14: a colon should follow the index
-1 2:1:1|15: not a number: '1:1'
-1 0:1|14: an index should be a whole number from 1 to 4
-1 -3:1|15: an index should be a whole number from 1 to 4
X
printf '1 1:1\n2 1:2\n3 2:1\n2 1:1\n1 2:2\n' >three.libsvm
t 1 train --net svm --workers 1 --batch 1 --data three.libsvm:test=three.libsvm
err 'svm tells two classes apart, and three.libsvm:test=three.libsvm has 3'
t 2 train --net logreg --data digits
err "'digits' has no sparse rows, which logreg and svm take"
t 2 train --net mlp:4 --data synthetic-sparse
err 'synthetic-sparse has sparse rows, which --net logreg and svm take'
for option in '--input 8x8' --flip '--shift 1'; do
    t 2 train --net logreg $option
    err "${option%% *} is of images, and logreg takes rows of features"
done

finish
