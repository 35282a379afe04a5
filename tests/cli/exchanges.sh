#!/bin/sh
# Exchanges with stages, in all commands: twoshot, and schemes of their own for sums.
. "$(dirname "$0")/lib.sh"

make_profile

# --- formulas ---

# 4 workers, a million bytes, 1 Gbit/s, 1 ms: 2 ms + 2 x 3/4 x 8 ms; encodes 3/4 ms, adds 9/4 ms, encodes
# its part of the sum in 1/4 ms, decodes 2 ms. Beside transfers: 2 of 3 encodings and the own decoding.
m="model -q --profile profile.json --values 1M --workers 4 --bw 1gbps --latency 1ms --overhead none"
q 0 $m --exchange twoshot --scheme int8 --format json
json 'abs(d["rows"][0]["step_s"] - (14 + 0.75 + 2.25 + 0.25 + 2 - (0.5 + 0.5)) * 1e-3) < 1e-9'
json 'd["rows"][0]["encodings"] == 1.75 and d["rows"][0]["gather_scheme"] is None'
# Sums in fp32: four times the bytes of the second stage, and no codec.
q 0 $m --exchange twoshot --scheme int8 --gather-scheme fp32 --format json
json 'abs(d["rows"][0]["step_s"] - (2 + 6 + 24 + 0.75 + 2.25 - 0.5) * 1e-3) < 1e-9'
json 'd["rows"][0]["gather_scheme"] == "fp32" and abs(d["rows"][0]["encodings"] - 0.75) < 1e-12'
# Floats are summed as they are in both stages, and exchanges without stages have none.
q 0 $m --exchange twoshot,ring --scheme fp32,int8 --gather-scheme fp8 --format json
json '[(r["exchange"], r["scheme"], r["gather_scheme"]) for r in d["rows"]] == [("twoshot", "fp32", None), ("twoshot", "int8", "fp8"), ("ring", "fp32", None), ("ring", "int8", None)]'

t 2 $m --exchange ring --scheme int8 --gather-scheme fp8
err '--gather-scheme is for --exchange twoshot and hierarchical, which encode whole sums once'
t 2 $m --exchange ps,twoshot --scheme int8 --gather-scheme fp8
err '--gather-scheme is for --exchange twoshot and hierarchical, and servers encode sums'
t 2 $m --exchange twoshot --scheme int8 --gather-scheme fp8,int4
err '--gather-scheme fp8,int4: one scheme'
t 2 $m --exchange twoshot --scheme int8 --gather-scheme local
err '--gather-scheme local: it sends in some steps only'
t 2 $m --exchange twoshot --scheme int8 --gather-scheme fp8 --via allgather
err '--gather-scheme: by --via allgather, sums are not encoded'
t 2 $m --exchange twoshot --scheme int8 --gather-scheme nix
err "--gather-scheme: unknown scheme 'nix'"

# The halves: twoshot's stages, without and with the encoding of the sum; what they take is what the whole takes.
q 0 $m --exchange twoshot --scheme fp32,int8 --op reduce-scatter --format json
json 'abs(d["rows"][1]["step_s"] - (1 + 6 + 0.75 + 2.25 - 0.5) * 1e-3) < 1e-9 and d["rows"][1]["encodings"] == 0.75'
json 'd["rows"][1]["op"] == "reduce-scatter" and abs(d["rows"][0]["step_s"] - (1 + 24) * 1e-3) < 1e-9'
q 0 $m --exchange twoshot --scheme int8 --op all-gather --format json
json 'abs(d["rows"][0]["step_s"] - (1 + 6 + 0.25 + 2 - 0.5) * 1e-3) < 1e-9 and d["rows"][0]["encodings"] == 1'
q 0 $m --exchange ring --scheme fp32 --op reduce-scatter --format json
json 'abs(d["rows"][0]["step_s"] - (3 + 24) * 1e-3) < 1e-9'
t 2 $m --exchange recdouble --scheme fp32 --op all-gather
err '--op all-gather: of the exchanges, ring, twoshot and hierarchical have it, and recdouble has not'
t 2 $m --exchange ring --scheme fp32 --op allgather
err "did you mean 'all-gather'"
t 2 $m --exchange twoshot --scheme int8 --op reduce-scatter --gather-scheme int4
err '--gather-scheme: a reduce-scatter gathers nothing'

# --- calls ---

if command -v mpirun >/dev/null 2>&1 && [ -e "$(dirname "$program")/commcomp-rank" ]; then
    c="run -q --bw none --values 10K --workers 4 --time 10ms --scheme fp32,int8 --format json"
    q 0 $c --op reduce-scatter
    json '{(r["exchange"], r["scheme"]) for r in d["rows"]} == {(x, s) for x in ("ring", "twoshot", "hierarchical") for s in ("fp32", "int8")}'
    json 'all(r["size_bytes"] == 40000 and r["element_type"] == "float" and r["redop"] == "sum" and r["op"] == "reduce-scatter" for r in d["rows"])'
    json 'all(abs(r["busbw_gb_per_s"] - 0.75 * r["algbw_gb_per_s"]) < 1e-9 for r in d["rows"])'
    q 0 $c --op all-gather --exchange twoshot
    json 'all(r["redop"] == "none" and abs(r["busbw_gb_per_s"] - 0.75 * r["algbw_gb_per_s"]) < 1e-9 for r in d["rows"])'
    q 0 $c --exchange twoshot,hierarchical --check
    json 'all(r["check"] is True for r in d["rows"] if r["scheme"] == "fp32") and all(abs(r["busbw_gb_per_s"] - 1.5 * r["algbw_gb_per_s"]) < 1e-9 for r in d["rows"])'
else
    echo "skipped: ranks over MPI"
fi

# --- in one process ---

# Lossless, every exchange gives the same weights; sums of another scheme give others.
tr="train -q --net mlp:16 --data digits --seed 1 --steps 20 --format json --scheme"
q 0 $tr zstd --workers 3 --exchange ring
json 'd["rows"][-1]["accuracy"] > 0.1'
cp out ring
q 0 $tr zstd --workers 3 --exchange twoshot
json 'd["rows"][-1]["accuracy"] == json.load(open("ring"))["rows"][-1]["accuracy"]'
q 0 $tr zstd --workers 3 --exchange twoshot --gather-scheme mqe1bit
json 'd["rows"][-1]["accuracy"] != json.load(open("ring"))["rows"][-1]["accuracy"]'
q 0 $tr zstd --exchange hierarchical --workers 4 --per-host 2
json 'd["rows"][-1]["accuracy"] > 0.1'
t 2 train -q --net mlp:16 --data digits --scheme int8 --exchange hierarchical --workers 5 --per-host 2
err '5 workers'
t 2 train -q --net mlp:16 --data digits --scheme int8 --exchange allgather --gather-scheme int8
err '--gather-scheme is for --exchange twoshot and hierarchical'

# --- simulated ---

if command -v smpirun >/dev/null 2>&1 && [ -e "$(dirname "$program")/commcomp-rank-sim" ] && ! sanitized; then
    sed 's/"encode_ns": 1, "decode_ns": 2, "decode_add_ns": 3/"encode_ns": 0.1, "decode_ns": 0.2, "decode_add_ns": 0.3/' profile.json >fast.json
    s="sim -q --profile fast.json --values 1M --workers 3,8 --bw 1gbps --exchange twoshot"
    q 0 $s --scheme fp32,int8 --gather-scheme fp8 --errors --format json
    json 'all(abs(r["model_error"]) < 0.03 for r in d["rows"])'
    cp out on
    q 0 $s --scheme fp32,int8 --gather-scheme fp8 --data off --format json
    json '[r["wire_bytes"] for r in d["rows"]] == [r["wire_bytes"] for r in json.load(open("on"))["rows"]]'
    # The error of a sum does not grow with the workers; a ring's does.
    q 0 sim -q --profile profile.json --values 100K --workers 2,16 --exchange twoshot,ring --scheme int4 --errors --format json
    json '[e := [r["applied_error"] for r in d["rows"]]] and e[1] < 1.1 * e[0] and e[3] > 4 * e[2]'
    # Hosts of 4: a quarter of what twoshot sends leaves a host.
    h="sim -q --profile fast.json --values 1M --workers 16 --per-host 4 --intra-bw 100gbps --intra-latency 5us --bw 1gbps"
    q 0 $h --exchange hierarchical,twoshot --scheme fp32,int8 --errors --format json
    json 'all(abs(r["model_error"]) < 0.03 for r in d["rows"])'
    json '[t := {(r["exchange"], r["scheme"]): r["step_s"] for r in d["rows"]}] and t["twoshot", "fp32"] > 3.9 * t["hierarchical", "fp32"]'
    q 0 $h --exchange ring,twoshot,hierarchical --scheme fp32 --op reduce-scatter --format json
    json 'all(abs(r["model_error"]) < 0.03 for r in d["rows"])'
    t 2 $s --scheme int8 --gather-scheme 3lc --data off
    err '--gather-scheme 3lc: its payloads have different sizes'
else
    echo "skipped: simulated ranks"
fi

finish
