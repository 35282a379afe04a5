#!/bin/sh
# The bits per value of one scheme on one net, from every command that has them: the same to 1%, since
# all of them are those of settled residuals; and those of what servers send back. docs/results.md has
# the table.
. "$(dirname "$0")/lib.sh"

make_run_profile
# One stream, which all workers send: the gradients of another worker have other sizes, by up to 9%.
# Sizes of a trace are not the profile's.
q 0 trace synth gradients --net resnet20 --steps 8
schemes=3lc,3lc:s=1.75,qsgd
asked="-q --net resnet20 --exchange ps --trace gradients --profile run.json --scheme $schemes --bw 1gbps --workers 2 --format json"

q 0 bench -q --trace gradients --scheme $schemes --no-speed --format json
cp out bench.json
q 0 model $asked
cp out model.json
q 0 advise $asked
cp out advise.json
missing=$(why_no_sim)
if [ -n "$missing" ]; then
    echo "skipped: commcomp sim beside the others: $missing"
else
    for data in on off; do
        q 0 sim $asked --data $data
        cp out sim-$data.json
    done
fi
missing=$(why_no_lab)
if [ -n "$missing" ]; then
    echo "skipped: commcomp run beside the others: $missing"
else
    q 0 run $asked
    cp out run.json
fi

end_case
case='the same bits from all commands' good=1
python3 - >out 2>err <<'P' || bad "$(cat out err)"
import json, os, sys
want = ["3lc", "3lc:s=1.75", "qsgd"]
rows, pulls = {}, {}
for name in ("bench", "model", "advise", "sim-on", "sim-off", "run"):
    if os.path.exists(name + ".json"):
        key = "bits_per_value" if name == "bench" else "bits_push"
        all = json.load(open(name + ".json"))["rows"]
        rows[name] = {r["scheme"]: r[key] for r in all}
        if name != "bench":
            pulls[name] = {r["scheme"]: r["bits_pull"] for r in all}
for which in rows, pulls:
    for name, bits in which.items():
        print(f"{name:8}", *(f"{bits[s]:8.4f}" for s in want))
off = [(n, s) for n, b in rows.items() for s in want if abs(b[s] / rows["bench"][s] - 1) > 0.01]
# run goes on for longer, and a server's residuals with it.
off += [(n, s) for n, b in pulls.items() for s in want
        if abs(b[s] / pulls["model"][s] - 1) > (0.03 if n == "run" else 0.01)]
# The mean of what workers send under s = 1.75 is mostly zeros, and has fewer large values.
if pulls["model"]["3lc:s=1.75"] > 0.8 * rows["model"]["3lc:s=1.75"]:
    off += ["pulls are as large as pushes"]
sys.exit(f"more than 1% from bench or model: {off}" if off or len(rows) < 3 else 0)
P

finish
