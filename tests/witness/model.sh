#!/bin/sh
# Step times of `commcomp model` by the formulas of docs/model.md, written again in Python (model.py).
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || { echo 'skipped: no python3'; finish; }
make_profile
sed 's/"bits_per_value": 32, "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0/"bits_per_value": 32, "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0.4/' \
    profile.json >own.json
XDG_CACHE_HOME="$dir/cache" python3 -B "$tests/witness/model.py" "$program" "$dir/own.json"
