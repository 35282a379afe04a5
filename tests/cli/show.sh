#!/bin/sh
# `commcomp show`: a stored result again, in every form; and several -o.
. "$(dirname "$0")/lib.sh"

# A result written by hand, of another host.
printf '%s' '{"schema": "commcomp/2", "command": "model", "argv": ["commcomp", "model", "--bw", "1gbps"],
 "host": {"cpu": "other", "cores": 3, "isa": "avx2", "kernel": "k", "compiler": "c", "version": "v", "time": "2026-01-01T00:00:00Z"},
 "rows": [{"scheme": "fp32", "workers": 4, "ratio": 1, "step_s": 2, "speedup": 1, "payload_bytes": 123456789012, "wrong": 1, "compute_s": 1, "codec_s": 0, "comm_s": 1, "bits_push": 32, "bits_pull": 32},
          {"scheme": "3lc:s=1.75", "workers": 4, "ratio": 31.5, "step_s": 0.5, "speedup": 4, "payload_bytes": 12, "wrong": null, "compute_s": 1, "codec_s": 0.1, "comm_s": 0.2, "bits_push": 2, "bits_pull": 3}],
 "origins": {"scheme": "given", "workers": "given", "ratio": "measured", "step_s": "simulated", "speedup": "computed", "payload_bytes": "computed"},
 "notes": ["a note"]}' >model.json

q 0 show model.json
out '^model: 2 rows of model.json$'
out '^3lc:s=1.75 .*4\.00'
out '^a note$'
out 'no column wrong$'
q 0 show model.json --columns scheme,speedup --format csv
[ "$(cat out)" = "$(printf 'scheme,speedup\nfp32,1\n3lc:s=1.75,4')" ] || bad 'two columns'
q 0 show model.json --scheme 3lc --s 1.75 --columns scheme,step_s --format csv
[ "$(cat out)" = "$(printf 'scheme,step_s\n3lc:s=1.75,0.5')" ] || bad 'one row'
# The document keeps its command, arguments, host, origins.
q 0 show model.json --format json
json 'd["command"] == "model" and d["argv"][2] == "--bw" and d["host"]["cpu"] == "other"'
json 'd["rows"][0]["payload_bytes"] == 123456789012 and d["origins"]["step_s"] == "simulated"'
json 'd["rows"][1]["speedup"] == 4 and d["rows"][1]["cu"] is None'
# Several -o, each by its suffix; LaTeX has five columns.
q 0 show model.json -o a.csv -o b.md --output=c.tex -o d.json
[ "$(head -n 1 a.csv | cut -d, -f1)" = scheme ] || bad 'no CSV'
grep -q '^| fp32 | ' b.md || bad 'no Markdown'
[ "$(grep '^fp32 & ' c.tex | tr -cd '&' | wc -c)" = 4 ] || bad "not five columns: $(cat c.tex)"
q 0 show model.json --format latex --wide
[ "$(grep '^fp32 & ' out | tr -cd '&' | wc -c)" -gt 4 ] || bad '--wide has five columns, too'
q 0 show d.json --columns scheme,speedup --format csv
cp out again
q 0 show model.json --columns scheme,speedup --format csv
same out again
q 0 show a.csv --columns scheme,speedup --format csv
same out again
# Two files of a command stand below each other; of two commands not.
q 0 show model.json d.json --columns scheme --format csv
[ "$(wc -l <out)" = 5 ] || bad 'rows of both'
sed 's/"model"/"bench"/' model.json >bench.json
t 1 show model.json bench.json
err 'bench.json is a result of `bench`, and those before it of `model`: show them apart'
t 2 show model.json --columns scheme,spedup
err "did you mean 'speedup'?"
t 2 show model.json --scheme int8
err 'no row has this scheme'
t 2 show model.json -o x.csv -o x.csv
err 'same file'
t 2 show model.json -o x.csv -o x.doc
err 'unknown suffix'
[ ! -e x.csv ] || bad 'x.csv was written'
# An answer stands first again, unless some of its rows are missing, or others are there.
sed 's/"notes": \[/"answers": 1, "notes": ["take this", /' model.json >answered.json
q 0 show answered.json
[ "$(head -n 1 out)" = 'take this' ] || bad 'the answer is not the first line'
q 0 show answered.json --format md
[ "$(head -n 1 out)" = 'take this' ] || bad 'the answer is not the first line of Markdown'
q 0 show answered.json --scheme fp32
[ "$(head -n 1 out)" != 'take this' ] || bad 'an answer about other rows'
q 0 show answered.json model.json
[ "$(head -n 1 out)" != 'take this' ] || bad 'an answer about some rows'
for wrong in 3 -1 0.5 '"1"'; do
    sed "s/\"answers\": 1/\"answers\": $wrong/" answered.json >wrong.json
    t 1 show wrong.json
    err 'answers: it should be a whole number from 0 to 2, the number of notes'
done
sed 's/"notes"/"partial": true, "notes"/' model.json >half.json
q 0 show half.json
out 'which was interrupted'
t 1 show missing.json
finish
