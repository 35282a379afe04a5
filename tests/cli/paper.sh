#!/bin/sh
# `commcomp paper`: published tables beside the formulas.
. "$(dirname "$0")/lib.sh"

q 0 paper
expected table
q 0 paper 3lc-table1
expected 3lc-table1
q 0 paper sparcml-table3
expected sparcml-table3

q 0 paper --format json
json 'len(d["rows"]) == 11 and all(r["rms_error"] < 2 for r in d["rows"])'
json '[r["fitted"] for r in d["rows"] if r["table"] == "3lc-table1"] == [4]'
q 0 paper 3lc-table1 --format json
json 'len(d["rows"]) == 27 and all(abs(r["error"]) <= 0.11 for r in d["rows"])'
json '(sum(r["error"] ** 2 for r in d["rows"]) / 27) ** 0.5 <= 0.05'
json 'all(abs(r["speedup"] / r["speedup_paper"] - 1 - r["error"]) < 1e-12 for r in d["rows"])'
json 'sum(" fitted: " in n for n in d["notes"]) == 4'
json '[r["scheme"] for r in d["rows"]][-1] == "3lc:s=1.9" and d["rows"][-1]["speedup_paper"] == 1.55'
q 0 paper thesis-table1.1
out 'DenseNet-40 with growth 18'
q 0 paper sparcml-table3 --format csv
t 2 paper 3lc-table3
err "did you mean '3lc-table"
t 2 paper 3lc-table1 qsgd-tabel1
err "did you mean 'qsgd-table1'?"
t 2 paper --format jsn
awk '/^```json/ { on = 1; next } /^```/ { on = 0 } on' "$tests/../docs/papers.md" >mine.json
q 0 paper mine.json --format json
json 'd["rows"][0]["speedup"] > 2.49 and d["rows"][0]["speedup"] < 2.51'
sed 's/"comm_gain"/"comm_gian"/' mine.json >typo.json
t 1 paper typo.json
err 'did you mean "comm_gain"'
t 1 paper missing.json
err 'missing.json'

finish
