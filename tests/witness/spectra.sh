#!/bin/sh
# Singular values of captured and synthetic gradients, computed in Python, against powersgd's errors; and that there
# are none without a trace, as the batch alone changes them more than tenfold (docs/traces.md).
. "$(dirname "$0")/../cli/lib.sh"

for batch in 4 32 128; do
    q 0 train -q --net mlp:24 --batch $batch --workers 1 --steps 60 --scheme fp32 --evaluations 1 \
        --capture batch$batch --capture-steps 50:56
    q 0 bench -q --trace batch$batch --no-speed --scheme powersgd --format json
    cp out error$batch.json
done
json 'd["rows"][0]["error"] > 10 * json.load(open("error4.json"))["rows"][0]["error"] > 0'
json 'not any("no error without --trace" in n for n in d.get("notes", []))'
net=batch4/push-step000050-rank0.safetensors
q 0 trace synth drawn --net $net --steps 6

# No matrix of a rank is nearer than the singular values allow, and powersgd's are not much further.
for trace in batch32 batch128 drawn; do
    for rank in 1 2 4; do
        q 0 bench -q --trace $trace --no-speed --passes 1 --per-tensor --scheme powersgd:ef=0,rank=$rank --format json
        python3 "$tests/witness/spectra.py" $trace out $rank >left 2>err || bad "$(cat err)"
        cp left left-$trace-$rank
    done
done
python3 -c 'import sys; a, b, c = (float(open("left-%s-4" % n).read()) for n in ("batch32", "batch128", "drawn")); sys.exit(not 5 * max(a, b) < c)' ||
    bad "beyond rank 4: $(cat left-*-4)"

# Where values are drawn: an error of none but the schemes that do not depend on the shape.
q 0 bench -q --net $net --no-speed --scheme powersgd,local:inner=powersgd,int8,fp32 --format json
json '[r["error"] is None for r in d["rows"]] == [True, True, False, False] and all(r["nmse"] is not None for r in d["rows"])'
json 'any(n.startswith("powersgd, local:inner=powersgd: no error without --trace") for n in d["notes"])'
# Vectors are sent as they are.
q 0 bench -q --values 1000 --no-speed --scheme powersgd --format json
json 'd["rows"][0]["error"] == 0 and len(d["notes"]) == 1'
cat >profile.json <<'P'
{"schema": "commcomp-profile/1", "codecs": [
 {"scheme": "fp32", "points": [{"values": 1000, "bits_per_value": 32, "encode_ns": 1, "decode_ns": 1, "decode_add_ns": 1}]},
 {"scheme": "int8", "points": [{"values": 1000, "bits_per_value": 8, "encode_ns": 1, "decode_ns": 1, "decode_add_ns": 1}]},
 {"scheme": "powersgd", "points": [{"values": 1000, "bits_per_value": 8, "encode_ns": 1, "decode_ns": 1, "decode_add_ns": 1}]}]}
P
set -- -q --profile profile.json --scheme powersgd --bw 1mbps --workers 4 --format json
reason='singular values depend on the gradients: needs --trace'
q 0 advise --via hops --net $net --max-nmse 1 "$@"
json '[(r["left_out"], r["error"], r["recommended"]) for r in d["rows"] if r["scheme"] == "powersgd"] == [("'"$reason"'", None, False)]'
q 0 advise --via hops --trace batch4 --max-nmse 1 "$@"
json '[(r["left_out"], r["error"], r["recommended"]) for r in d["rows"] if r["scheme"] == "powersgd"] == [(None, json.load(open("error4.json"))["rows"][0]["error"], True)]'
q 0 model --net $net --exchange ring "$@" --scheme int8
json '[r["error"] is None for r in d["rows"]] == [True, False] and not any("ruled out" in n for n in d["notes"])'
finish
