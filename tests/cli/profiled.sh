#!/bin/sh
# Schemes outside the catalogue, of which --profile knows sizes, times and errors.
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$dir/cache"

# 8 bits a value and 1, 2 and 3 ns, as those of every other scheme in profile.json.
make_profile
cat >mine.json <<'P'
{"schema": "commcomp-profile/1", "trace": "their gradients", "cpu": "a GPU", "codecs": [
 {"scheme": "mine", "errors": {"error": 0.01, "error_low": 0.005, "error_high": 0.02, "nmse": 0.5},
  "points": [{"values": 1000, "bits_per_value": 8, "encode_ns": 1, "decode_ns": 2, "decode_add_ns": 3}]}]}
P
sed 's/^ "time".*/&\
{"scheme": "mine", "points": [{"values": 1000, '"$point"'}]},/' profile.json >both.json

# In a profile with others: the same prediction as a scheme of the catalogue with the same figures.
for exchange in ps ring allgather; do
    t 0 model --profile both.json --values 10K --scheme fp32,mine,int8 --exchange $exchange --format json
    json '[r["scheme"] for r in d["rows"]] == ["fp32", "mine", "int8"]'
    json '[r["profiled"] for r in d["rows"]] == [None, True, None]'
    json 'all(d["rows"][1][k] == d["rows"][2][k] for k in ("step_s", "codec_s", "comm_s", "bits_push", "speedup"))'
    json 'd["rows"][1]["error"] is None and d["rows"][2]["error"] > 0'
done
t 1 model --profile both.json --values 10K --scheme mine,qsgd:bits=3
err 'both.json: the profile has no qsgd:bits=3'

# By itself: the others are those of this machine.
t 0 model --scheme mine,fp32,int8 --profile mine.json --values 1K --workers 4 --bw 10mbps --exchange ps --format json
json 'd["rows"][0]["bits_push"] == 8 and abs(d["rows"][0]["codec_s"] - (1 + 4 * 3 + 1 + 2) * 1e-6) < 1e-12'
json 'd["rows"][0]["error"] == 0.01 and d["rows"][0]["error_high"] == 0.02 and d["rows"][0]["sum_error"] == 0.02'
json 'd["rows"][2]["codec_s"] > 0 and d["rows"][2]["error"] > 0'
json 'any("profiled: sizes, times and errors of mine" in n and "mine.json (their gradients, a GPU)" in n for n in d["notes"])'
t 0 model --profile mine.json --values 1K --scheme mine,fp32
out '^scheme  profiled '
out '^mine  *yes '
sed 's/"bits_per_value": 8/"bits_per_value": 1/' mine.json >small.json
t 0 advise --profile=small.json --values 1K --workers 4 --bw 10mbps --exchange ps --scheme mine --format json
json '[r["left_out"] for r in d["rows"] if r["scheme"] == "mine"] == ["untried"]'
t 0 advise --profile=small.json --values 1K --workers 4 --bw 10mbps --exchange ps --scheme mine --max-nmse 1 --format json
json '[(r["scheme"], r["recommended"]) for r in d["rows"]] == [("mine", True), ("fp32", False)]'
json 'd["rows"][0]["nmse"] == 0.5'
sed 's/"error": 0.01, "error_low": 0.005, "error_high": 0.02, //' small.json >unknown.json
q 0 advise --profile unknown.json --values 1K --workers 4 --bw 10mbps --scheme mine --format json
json '{r["scheme"]: r["recommended"] for r in d["rows"]}["mine"] == False'
q 0 model --profile mine.json --values 1K --workers 4 --bw 10mbps --scheme fp32,int8 --baseline mine
out 'as mine at its best\|mine at its best .* takes\|faster than mine at its best'

# Simulated: the formula's time, of payloads without data.
why=$(why_no_sim)
if [ -z "$why" ]; then
    for exchange in ps ring recdouble allgather; do
        t 0 sim --profile mine.json --values 100K --workers 4 --bw 10mbps --scheme fp32,mine --exchange $exchange --format json
        json 'all(abs(r["model_error"]) < 0.02 for r in d["rows"])'
        json 'd["rows"][1]["profiled"] and d["rows"][1]["data_moved"] == False and d["rows"][1]["bits_push"] == 8'
    done
    t 0 sim --profile mine.json --net resnet20 --workers 3 --servers 2 --mode overlap --bw 10mbps --scheme mine --format json
    json 'd["rows"][0]["bits_push"] == 8'
else
    echo "profiled: sim: skipped: $why"
fi

# Where code is needed.
for command in run validate 'sim --data on' 'sim --codec-time measured' 'sim --errors' 'sim --exchange mpi'; do
    t 2 $command --profile mine.json --values 1K --scheme mine
    err 'mine is known from --profile alone, and .* needs its code'
done
for command in bench 'encode a b' 'train'; do
    t 2 $command --scheme mine
    err "unknown scheme 'mine'; .* --plugin FILE"
done
t 2 model --profile mine.json --values 1K --scheme mine --exchange ssar-split
err 'mine'
t 2 model --profile mine.json --values 1K --scheme mine:k=3
err "scheme mine has no parameter 'k'"
sed 's/"mine"/"mine:r=4"/' mine.json >named.json
t 1 model --profile named.json --values 1K
err 'named.json: "mine:r=4", a scheme outside the catalogue: the id .mine:r=4. is not the name'
t 1 model --profile nowhere.json --values 1K
err -- '--profile: nowhere.json'

finish
