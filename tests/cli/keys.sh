#!/bin/sh
# `commcomp keys`: the table, its page docs/keys.md, and the origins that documents have.
. "$(dirname "$0")/lib.sh"

q 0 keys --format json
json 'all(r["key"] and r["meaning"] and r["commands"] for r in d["rows"])'
json 'len({r["key"] for r in d["rows"]}) == len(d["rows"]) > 300'
json 'not {r["origin"] for r in d["rows"]} - {"given", "measured", "computed", "simulated", "published", "trained"}'
q 0 keys step_s error --format csv
[ "$(cut -d, -f1-3 out)" = "$(printf 'key,heading,origin\nstep_s,step (ms),computed\nerror,error,measured')" ] || bad "$(cat out)"
q 0 keys encode
[ "$(grep -c . out)" -gt 10 ] || bad "$(cat out)"
t 2 keys step_z
err "unknown key 'step_z'; did you mean 'step_s'?"

# The page has what the program prints: COMMCOMP_TEST_UPDATE=1 writes it.
page=$tests/../docs/keys.md
q 0 keys --format md
if [ -n "${COMMCOMP_TEST_UPDATE:-}" ]; then
    sed '/^| key |/,$d' "$page" >page.md
    cat out >>page.md
    cp page.md "$page"
fi
sed -n '/^| key |/,$p' "$page" >table.md
cmp -s table.md out || bad "docs/keys.md differs: $(diff table.md out | head -5)"

# The same key of several commands has the origin that it has there.
origin() { # origin KEY WORD: of the result on stdout
    json "d[\"origins\"][\"$1\"] == \"$2\""
}
small='--net resnet20 --compute 5ms --workers 2 --scheme fp32,int8 --bw 1gbps'
make_profile # measuring what is not kept yet says so on stderr
t 0 model $small --profile profile.json --format json
origin step_s computed
origin compute_s given
origin payload_bytes measured
q 0 train --net mlp:8 --steps 4 --workers 2 --scheme fp32 --format json
origin accuracy trained
origin time_s measured
origin workers given
q 0 train --net mlp:8 --steps 4 --workers 2 --scheme fp32 --bw 1gbps --format json
origin time_s computed
q 0 paper 3lc-table1 --format json
origin figure_paper published
origin figure_model computed
origin paper_error computed
if command -v smpirun >/dev/null; then
    t 0 sim $small --profile profile.json --steps 2 --format json
    origin step_s simulated
    origin step_s_model computed
    origin bits_push measured
    origin workers given
fi

finish
