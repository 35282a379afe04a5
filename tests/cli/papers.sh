#!/bin/sh
# `commcomp papers`: the inventory, its page in docs/papers.md, and a cheap point of what is kept.
. "$(dirname "$0")/lib.sh"

q 0 papers --format json
json 'len({(r["paper"], r["item"]) for r in d["rows"]}) == len(d["rows"]) > 50'
json '{r["paper"] for r in d["rows"]} == {"3LC", "SparCML", "thesis", "Pipe-SGD", "QSGD", "DiLoCo"}'
json 'all(r["state"] in "RP-" and (r["cause"] is None) == (r["shown_by"] is None) == (r["state"] == "R") for r in d["rows"])'
json 'all((r["reproduced"] == r["figures"]) == (r["state"] == "R") for r in d["rows"] if r["figures"])'
json 'all(r["command"] and r["published"] is not None for r in d["rows"] if r["ours"] is not None)'
# Figures of formulas are of this run; the others say when, where and how they were made.
json 'all((r["kept_on"] is None) == r["command"].startswith("commcomp paper ") or r["item"] == "Lemma 4.3" for r in d["rows"] if r["ours"] is not None)'
json 'all(r["kept_version"] and r["kept_machine"] for r in d["rows"] if r["kept_on"])'
cp out inventory.json

# The answer counts the states; without a paper, items that are reproduced, also partly, are left out, with one all are
# shown, and causes and commands below them.
q 0 papers
python3 - <<'P' || bad "the answer is not the count of the states"
import json
rows = [r for r in json.load(open("inventory.json"))["rows"] if not r["changes"]]
n = [sum(r["state"] == s for r in rows) for s in "RP-"]
lines = open("out").read().splitlines()
shown = sum(r["shown_by"] == "experiment" for r in rows)
assert lines[0] == "%d of %d items of 6 papers are reproduced (R), %d partly (P), %d not (-); an experiment shows the cause of %d of the other %d" % (n[0], len(rows), n[1], n[2], shown, n[1] + n[2]), lines[0]
assert len([x for x in lines[2:] if x.split() and x.split()[0] in {r["paper"] for r in rows}]) == n[2]
P
COLUMNS=80 q 0 papers
[ "$(awk 'NR < 30 { print length }' out | sort -n | tail -1)" -le 80 ] || bad "wider than 80 columns"
out 'hold  of  cause by'
q 0 papers pipe-sgd
out 'Equations 2 to 7'
out 'Figure 4, speedups: commcomp paper pipe-sgd'
q 0 papers --figures THESIS --format json
json 'len(d["rows"]) > 20 and {r["paper"] for r in d["rows"]} == {"thesis"}'
json '[(r["ours"], r["published"], round(r["paper_error"], 4)) for r in d["rows"] if r["item"] == "Figure 5.8, text"] == [(1.01, 2.33, -0.5665)]'
t 2 papers QSDG
err "did you mean QSGD"

# A table's worst figure is the one that `paper` says.
q 0 paper sparcml-table2 --format json
json 'abs(max((r["paper_error"] for r in d["rows"]), key=abs) - next(r["paper_error"] for r in json.load(open("inventory.json"))["rows"] if r["paper"] == "SparCML" and r["item"] == "Table 2")) < 1e-9'

# Every command can be run: those that take no time are; of the others the options are read, until
# their output turns out to be in a folder that is not there.
python3 - <<'P' >commands
import json
for c in sorted({r["command"][9:] for r in json.load(open("inventory.json"))["rows"] if r["command"]}):
    print(c)
P
[ "$(wc -l <commands)" -gt 25 ] || bad "few commands"
while read -r line; do
    case $line in
        paper\ * | schemes\ *) t 0 $line ;;
        *)
            t 1 $line -o missing/x.csv
            err 'missing/x'
            err '.csv: cannot be written: No such file or directory'
            ;;
    esac
done <commands

# The page has what the program prints: COMMCOMP_TEST_UPDATE=1 writes it.
page=$tests/../docs/papers.md
q 0 papers --columns paper,item,state,figure,ours,published,reproduced,figures,fitted,shown_by,cause,command,takes_s,kept_on --format md --wide
grep '^|' out >table.md
if [ -n "${COMMCOMP_TEST_UPDATE:-}" ]; then
    awk '/^<!-- inventory -->/ { print; print ""; while ((getline l < "table.md") > 0) print l; print ""; skip = 1 }
         /^<!-- end of the inventory -->/ { skip = 0 } !skip && !/^<!-- inventory -->/' "$page" >page.md
    cp page.md "$page"
fi
sed -n '/^<!-- inventory -->/,/^<!-- end of the inventory -->/p' "$page" | grep '^|' >page.table
cmp -s table.md page.table || bad "docs/papers.md differs: $(diff page.table table.md | head -5)"

# A point of what is kept, recomputed: trainings are the same bit for bit on every machine.
point() { # point ITEM EXPRESSION COMMAND...: of the JSON of the command, a figure that the item keeps
    item=$1 value=$2
    shift 2
    t 0 "$@" -q --format json
    python3 - "$item" "$value" <<'P' || bad "$item: it differs from what is kept"
import json, sys
d = json.load(open("out"))
kept = json.load(open("figures.json"))["rows"]
name, ours = eval(sys.argv[2], {"d": d, "of": lambda **w: next(r for r in d["rows"] if all(r[k] == v for k, v in w.items()))})
wanted = next(r["ours"] for r in kept if r["item"] == sys.argv[1] and r["figure"] == name)
if abs(ours - wanted) > 0.006 * abs(wanted) + 1e-12:
    sys.exit("%s: %g, kept %g" % (name, ours, wanted))
P
}
q 0 papers --figures --format json
cp out figures.json
[ "${COMMCOMP_TEST:-}" = quick ] || point 'Table 2, bits, images shifted' '("3lc:s=1.9", of(kind="summary")["bits_compressed"])' \
    train --recipe 3lc --seeds 1 --evaluations 20 --scheme 3lc:s=1.9 --shift 2
point 'Table 2, bits trained' '("3lc:zre=0", of(kind="summary")["bits_compressed"])' \
    train --paper 3lc-table2 --seeds 1 --steps 8 --scheme 3lc:zre=0
point 'Table 1, speedups trained' '("int8, 10 Mbit/s", of(kind="summary", scheme="int8", bw_bps=1e7)["speedup"])' \
    train --paper 3lc-table1 --seeds 1 --steps 8 --scheme fp32,int8
point 'Equations 2 to 7' '("a step of K = 2: the longer of computing and communication", d["rows"][0]["step_s"] * 1000)' \
    model --net resnet110 --workers 4 --exchange ring --bw 1gbps --compute 50ms --mode pipe --depth 2 --fuse 1M --scheme fp32 --overhead none
[ "${COMMCOMP_TEST:-}" = quick ] || point 'Theorem 4.2' '("dsar at 0.0001%, 50 Gbit/s", of(exchange="dsar-split", bw_bps=5e10)["call_s"] * 1000)' \
    sim --paper sparcml-figure4 --nonzeros 0.0001%
point 'Lemma 3.1' '("variance, s = 10", d["rows"][0]["nmse"])' \
    bench --values 100 --steps 200 --synthetic gaussian --scheme qsgd:levels=10,bucket=0,norm=l2,code=elias --no-speed
point 'Corollary 3.3' '("bits a value, n = 1,000,000", d["rows"][0]["bits_per_value"])' \
    bench --values 1M --synthetic gaussian --scheme qsgd:levels=1000,bucket=0,norm=l2,code=elias --no-speed
point '4: variance, buckets of 512' '("4 bits", d["rows"][0]["nmse"])' bench --values 1M --scheme qsgd:levels=16,norm=l2 --samples 1
point '3.1: stochastic and feedback' '("mlp:128: training fails to converge", float(of(kind="summary")["diverged"] == 1))' \
    train --net mlp:128 --data digits --evaluations 1 --scheme ternary:ef=1
point 'Figure 1.1, text' '("Inception-v4 on 4 machines is slower than on one", float(4 * of(net="inception-v4")["compute_s"] < of(net="inception-v4")["step_s"]))' \
    model --net inception-v4 --compute 680.272ms --workers 4 --servers 4 --colocate --exchange ps --mode sequential --placement lpt --scheme fp32 --bw 1gbps --overhead ethernet
convex='train --threads 1 --net logreg --data synthetic-sparse:features=100,train=2000,test=500,nonzeros=20 --weight-decay 0.01 --momentum 0 --schedule constant --warmup 0 --optimum'
point 'Theorem 2.1' '("mean above the optimum, T = 4,000", of(kind="summary")["suboptimality_mean"])' \
    $convex --exchange allgather --batch 1 --eval-every 1 --seeds 3 --workers 1 --steps 4000 --rate 0.0945 --scheme fp32
point 'Theorem 3.4, s = sqrt n' '("mean above the optimum, K = 4, T = 2,000", of(kind="summary")["suboptimality_mean"])' \
    $convex --exchange allgather --batch 1 --eval-every 1 --seeds 3 --workers 4 --steps 2000 --rate 0.185 --scheme qsgd:levels=10,bucket=0,norm=l2
point '3.3: convex, 8 F L sqrt(K / T)' '("mean above the optimum, K = 2, T = 64,000", of(kind="summary")["suboptimality_mean"])' \
    $convex --exchange ring --scheme fp32 --mode pipe --depth 2 --batch 1 --steps 64000 --rate 0.01186 --eval-every 16
point '5: sizes' '("4 bits over 2 bits", d["rows"][0]["bits_per_value"] / d["rows"][1]["bits_per_value"])' \
    bench --values 1M --scheme qsgd:bits=4,qsgd:bits=2,bucket=128 --samples 1
point 'Corollary 2.2' '("mean above the optimum, K = 4, T = 1,000", of(kind="summary")["suboptimality_mean"])' \
    $convex --exchange allgather --batch 1 --eval-every 1 --seeds 3 --workers 4 --steps 1000 --rate 0.352 --scheme fp32

finish
