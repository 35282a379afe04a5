#!/bin/sh
# `commcomp run` and `validate` on a machine that other programs keep busy: they say so, and blame nothing else.
. "$(dirname "$0")/lib.sh"

make_run_profile
missing=$(why_no_lab)
if [ -n "$missing" ]; then
    echo "skipped: a run on a busy machine: $missing"
    finish
fi

loops=''
trap 'kill $loops 2>/dev/null; rm -rf "$dir"' EXIT
for _ in $(seq "$(nproc)"); do
    while :; do :; done &
    loops="$loops $!"
done

row="--values 100K --workers 4 --exchange ring --bw 1gbps --compute 0s --scheme fp32 --steps 60"
q 0 run -q --profile run.json $row --format json
json 'd["rows"][0]["other_cores"] > 0.2 and d["rows"][0]["core_wait_s"] > 0'
# In no step does the rank that waits longest wait for more than the step, but for what its beginning takes.
json 'd["rows"][0]["core_wait_s"] < 1.5 * d["rows"][0]["step_s"]'
# Two answers may differ by any factor here.
t '0 1' validate -q --profile run.json $row --smpirun ./none --tolerance 0.9 --format json
json 'd["rows"][0]["agree"] == (abs(d["rows"][0]["model_error"]) <= 0.9)'
json 'all(abs(r["model_error_q25"] - (1 - r["step_s_model"] / r["step_s_q25"])) < 1e-9 for r in d["rows"])'
kill $loops
finish
