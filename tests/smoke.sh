#!/bin/sh
# One small run over shaped links and one small simulation of the same setting: whether the whole
# chain from the command line to the ranks works here. COMMCOMP is the program.
. "$(dirname "$0")/cli/lib.sh"
make_profile
setting='--exchange ps --profile profile.json --values 20K --workers 2 --bw 100mbps --scheme fp32,int8 --steps 2 --format json'

missing=$(why_no_lab)
if [ -n "$missing" ]; then
    echo "skipped: commcomp run: $missing"
else
    q 0 run -q $setting
    json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"] and 3.9 < d["rows"][1]["ratio"] <= 4'
    json 'all(0.001 < r["step_s"] < 1 for r in d["rows"])'
fi

missing=$(why_no_sim)
if [ -n "$missing" ]; then
    echo "skipped: commcomp sim: $missing"
else
    # Two pushes and two pulls of 80 kB with 4.56% of headers at 100 Mbit/s.
    q 0 sim -q $setting
    json 'abs(d["rows"][0]["step_s"] / (2 * (50e-6 + 2 * 80e3 * 8 * (1514 / 1448) / 1e8)) - 1) < 0.01'
    json 'all(abs(r["model_error"]) < 0.01 for r in d["rows"])'
fi

finish
