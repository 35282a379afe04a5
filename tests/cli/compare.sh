#!/bin/sh
# `commcomp compare`: results written by hand, whose ratios are known.
. "$(dirname "$0")/lib.sh"

# result FILE COMMAND HOST ARGV ROWS: a document of a command.
result() {
    printf '{"schema": "commcomp/1", "command": "%s", "argv": ["commcomp", %s], "host": {%s}, "rows": [%s]}' \
        "$2" "$4" "$3" "$5" >"$1"
}
# They are of commcomp/1, which is read as commcomp/2 is.
row() { # row SCHEME WORKERS BW STEP SPEEDUP
    printf '{"scheme": "%s", "workers": %s, "bw_bps": %s, "step_s": %s, "speedup": %s, "bottleneck": "codec"}' "$@"
}
here='"cpu": "one", "cores": 2, "isa": "avx2"'
there='"cpu": "other", "cores": 2, "isa": "avx2", "mpi": "some"'
result a.json model "$here" '"model"' \
    "$(row fp32 4 1e9 2 1),$(row 3lc 4 1e9 1 2),$(row fp32 8 1e9 4 1),$(row int8 8 1e9 0 null)"
result b.json model "$there" '"model", "--bw", "10gbps"' \
    "$(row 3lc 4 1e10 0.5 2),$(row fp32 4 1e10 1 1),$(row fp32 8 1e10 8 1),$(row qsgd 8 1e10 3 0.3)"
q 0 compare a.json b.json
expected two
q 0 compare a.json b.json --format json
json 'len(d["rows"]) == 9 and d["rows"][0]["quantity"] == "step_s"'
json '[r["b_over_a"] for r in d["rows"][:5]] == [0.5, 0.5, 2, None, None]'
json '[(r["a"], r["b"]) for r in d["rows"][3:5]] == [(0, None), (None, 3)]'
json 'any("geometric mean of 3 rows" in n and "0.7937" in n for n in d["notes"])' # (1/2 1/2 2)^(1/3)
q 0 compare a.json a.json
if grep -q 'differs\|only in' out; then bad 'a result differs from itself'; fi
q 0 compare a.json b.json --quantities speedup --format csv
[ "$(cut -d, -f1 out | sort -u | tr '\n' ' ')" = 'quantity speedup ' ] || bad 'only speedup'
q 0 compare a.json b.json --quantities all -o x.md
grep -q '^| step (ms) | fp32 | workers 4 | 2000 | 1000 | ' x.md || bad "$(cat x.md)"
end_case
case='compare - b.json' good=1
"$program" compare - b.json <a.json >piped 2>err || bad "exit $?"
q 0 compare a.json b.json
[ "$(grep -v '^model: A ' piped)" = "$(grep -v '^model: A ' out)" ] || bad 'the standard input gives something else'

# Rows that nothing tells apart belong together in their order.
result twins.json model "$here" '"model"' "$(row fp32 4 1e9 2 1),$(row fp32 4 1e9 3 1)"
result other.json model "$here" '"model"' "$(row fp32 4 1e9 4 1),$(row fp32 4 1e9 9 1),$(row fp32 4 1e9 5 1)"
q 0 compare twins.json other.json --quantities step_s --columns a,b,b_over_a --format csv
[ "$(cat out)" = "$(printf 'a,b,b_over_a\n2,4,2\n3,9,3\n,5,')" ] || bad "$(cat out)"

# --- what cannot be compared ---
result bench.json bench "$here" '"bench"' "$(row fp32 4 1e9 2 1)"
t 1 compare a.json bench.json
err 'a.json is a result of `model`, and bench.json of `bench`'
result new.json train2 "$here" '"x"' "$(row fp32 4 1e9 2 1)"
t 1 compare new.json new.json
err "no command 'train2'"
sed 's|commcomp/1|commcomp/3|' a.json >two.json
t 1 compare a.json two.json
err 'two.json: '
result none.json model "$here" '"model"' ''
t 1 compare a.json none.json
err 'none.json: it has no rows'
t 1 compare a.json missing.json
err 'missing.json: .*No such file'
t 2 compare a.json b.csv
err 'b.csv: a .csv file does not say which command wrote it'
t 2 compare a.json
t 2 compare a.json b.json --quantities stepp_s
err "did you mean 'step_s'?"
t 2 compare a.json b.json --quantities bottleneck
err "the column 'bottleneck' has no numbers here"
sed 's|"rows"|"partial": true, "rows"|' b.json >partial.json
q 0 compare a.json partial.json
out '^B is not complete: its command was interrupted$'

finish
