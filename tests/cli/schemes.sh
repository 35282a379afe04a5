#!/bin/sh
# `commcomp schemes`: the catalogue.
. "$(dirname "$0")/lib.sh"

q 0 schemes
out '^scheme'
expected table
q 0 schemes 3lc local
out '^3lc: '
out '^  s: .*1 <= s < 2; default 1'
out '^local: '
expected 3lc-local
t 2 schemes 3lcc
err "unknown scheme '3lcc'; did you mean '3lc'?"
q 0 schemes --format json
json 'd["schema"] == "commcomp/2" and d["command"] == "schemes" and "error" not in d'
json '{"fp32", "3lc"} <= {r["scheme"] for r in d["rows"]}'
json 'all(r["parameter"] is None or r["default"] is not None for r in d["rows"])'

finish
