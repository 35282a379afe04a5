#!/bin/sh
# Exchanges with stages, in all commands: twoshot, and schemes of their own for sums.
. "$(dirname "$0")/lib.sh"

make_profile

# --- formulas ---

# 4 workers, a million bytes, 1 Gbit/s, 1 ms: 2 ms + 2 x 3/4 x 8 ms; encodes 3/4 ms, adds 9/4 ms, encodes
# its part of the sum in 1/4 ms, decodes 2 ms, of which 1/2 beside transfers. Payloads of 2 ms that begin at 1/4, 1/2
# and 3/4 and share the port are there at 6.625, 7.125 and 7.25 ms, and added in 3/4 ms each: at 8.875.
m="model -q --profile profile.json --values 1M --workers 4 --bw 1gbps --latency 1ms --overhead none"
q 0 $m --exchange twoshot --scheme int8 --format json
json 'abs(d["rows"][0]["step_s"] - (8.875 + 0.25 + 1 + 6 + 2 - 0.5) * 1e-3) < 1e-9'
json 'd["rows"][0]["encodings"] == 1.75 and d["rows"][0]["gather_scheme"] is None'
# Sums in fp32: four times the bytes of the second stage, and no codec.
q 0 $m --exchange twoshot --scheme int8 --gather-scheme fp32 --format json
json 'abs(d["rows"][0]["step_s"] - (8.875 + 1 + 24) * 1e-3) < 1e-9'
json 'd["rows"][0]["gather_scheme"] == "fp32" and abs(d["rows"][0]["encodings"] - 0.75) < 1e-12'
# Floats are summed as they are in both stages, and exchanges without stages have none.
q 0 $m --exchange twoshot,ring --scheme fp32,int8 --gather-scheme fp8 --format json
json '[(r["exchange"], r["scheme"], r["gather_scheme"]) for r in d["rows"]] == [("twoshot", "fp32", None), ("twoshot", "int8", "fp8"), ("ring", "fp32", None), ("ring", "int8", None)]'

# Inside hosts of two, fp32: 1 ms + 2 MB at 10 Gbit/s; between them 1 + 4 ms each way by int8, of whose quarter
# encoding takes 1/4 ms and adding 3/4; sums go back inside in 1.4 ms, encoded in 1/4 ms and decoded in 2, of which half
# goes on beside that.
i="$m --per-host 2 --intra-bw 10gbps --intra-latency 1ms --exchange hierarchical --scheme int8"
q 0 $i --intra-scheme fp32 --chunks 1 --format json
json 'abs(d["rows"][0]["step_s"] - (2.6 + 5 + 5 + 1.4 + 0.25 + 0.75 + 0.25 + 1) * 1e-3) < 1e-9'
json 'd["rows"][0]["intra_scheme"] == "fp32" and abs(d["rows"][0]["encodings"] - 1.5) < 1e-12'
json 'abs(d["rows"][0]["bits_push"] - (32 / 2 + 8 / 4 + 8 / 4)) < 1e-9'
q 0 $m --per-host 2 --exchange hierarchical,twoshot --scheme fp32,int8 --intra-scheme int4 --gather-scheme bf16 --format json
json '{(r["exchange"], r["scheme"]): r["intra_scheme"] for r in d["rows"]} == {("hierarchical", "int8"): "int4", ("hierarchical", "fp32"): None, ("twoshot", "int8"): None, ("twoshot", "fp32"): None}'
t 2 $m --exchange twoshot --scheme int8 --intra-scheme fp8
err '--intra-scheme is for --exchange hierarchical, which adds inside hosts first'
t 2 $m --exchange hierarchical --scheme int8 --intra-scheme fp8
err 'hosts have one worker each, so that nothing is added inside them: give --per-host'
t 2 $i --intra-scheme fp8,int4
err '--intra-scheme fp8,int4: one scheme'
t 2 $i --intra-scheme local
err '--intra-scheme local: it sends in some steps only'
t 2 $i --intra-scheme fp8 --via allgather
err '--intra-scheme: by --via allgather, nothing is added inside hosts'
t 2 $i --intra-scheme fp8 --op all-gather
err '--intra-scheme: an all-gather reduces nothing'
# Round a ring between three hosts: two latencies of 1 ms, and half of what goes inside in two messages.
r="model -q --profile profile.json --values 1M --workers 6 --per-host 2 --bw 1gbps --latency 1ms --overhead none --intra-bw 10gbps --intra-latency 1ms --exchange hierarchical --chunks 1 --scheme fp32,int8 --format json"
q 0 $r --outer-exchange ring
cp out rings
q 0 $r
json '[b := json.load(open("rings"))["rows"]] and all(abs(y["step_s"] - x["step_s"] - 2e-3) < 1e-9 for x, y in zip(d["rows"], b)) and abs(b[1]["encodings"] - 2.5) < 1e-12'
t 2 $m --exchange ring,twoshot --op reduce-scatter --chunks 2
err '--chunks is of an allreduce that encodes on its way: leave out --op'
t 2 $m --exchange twoshot --via allgather --chunks 2
err 'leave out --via allgather'
t 2 $m --exchange twoshot --chunks 65
q 0 $m --exchange ring,ps --scheme int8 --chunks 2 --format json
json '{r["exchange"]: r["chunks"] for r in d["rows"]} == {"ring": 2, "ps": None}'
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
json 'abs(d["rows"][1]["step_s"] - 8.875e-3) < 1e-9 and d["rows"][1]["encodings"] == 0.75'
json 'd["rows"][1]["op"] == "reduce-scatter" and abs(d["rows"][0]["step_s"] - (1 + 24) * 1e-3) < 1e-9'
q 0 $m --exchange twoshot --scheme int8 --op all-gather --format json
json 'abs(d["rows"][0]["step_s"] - (1 + 6 + 0.25 + 2 - 0.5) * 1e-3) < 1e-9 and d["rows"][0]["encodings"] == 1 and d["rows"][0]["bits_per_value"] == 8'
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
    # Payload bytes are those of all values, floats and codecs alike, though a worker sends its part.
    json 'all(abs(r["bits_per_value"] - {"fp32": 32, "int8": 8}[r["scheme"]]) < 0.02 for r in d["rows"])'
    q 0 $c --op all-gather --exchange twoshot
    json 'all(abs(r["bits_per_value"] - {"fp32": 32, "int8": 8}[r["scheme"]]) < 0.02 for r in d["rows"])'
    json 'all(r["redop"] == "none" and abs(r["busbw_gb_per_s"] - 0.75 * r["algbw_gb_per_s"]) < 1e-9 for r in d["rows"])'
    q 0 $c --exchange twoshot,hierarchical --check
    json 'all(r["check"] is True for r in d["rows"] if r["scheme"] == "fp32") and all(abs(r["busbw_gb_per_s"] - 1.5 * r["algbw_gb_per_s"]) < 1e-9 for r in d["rows"])'
    # A part of the sum on each rank, and every rank's part on all: whatever is sent as it is or decoded once.
    for op in reduce-scatter all-gather; do
        for workers in 1 3 4; do
            q 0 run -q --bw none --op $op --values 100003 --workers $workers --time 10ms --scheme fp32,exponent,int8 --check --format json
            json 'len(d["rows"]) == 9 and [r["check"] for r in d["rows"]] == 3 * [True, True, None]'
        done
        q 0 run -q --bw none --op $op --dtype bf16 --values 100003 --workers 3 --time 10ms --scheme bf16 --check --format json
        json '[(r["check"], r["element_type"], round(r["ratio"], 6)) for r in d["rows"]] == 3 * [(True, "bfloat16", 1)]'
    done
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
cp out ring
q 0 $tr zstd --exchange hierarchical --workers 4 --per-host 2 --intra-scheme mqe1bit
json 'd["rows"][-1]["accuracy"] != json.load(open("ring"))["rows"][-1]["accuracy"]'
t 2 train -q --net mlp:16 --data digits --scheme int8 --exchange hierarchical --workers 5 --per-host 2
err '5 workers'
t 2 train -q --net mlp:16 --data digits --scheme int8 --exchange allgather --gather-scheme int8
err '--gather-scheme is for --exchange twoshot and hierarchical'

# --- simulated ---

if command -v smpirun >/dev/null 2>&1 && [ -e "$(dirname "$program")/commcomp-rank-sim" ] && ! sanitized; then
    sed 's/"encode_ns": 1, "decode_ns": 2, "decode_add_ns": 3/"encode_ns": 0.1, "decode_ns": 0.2, "decode_add_ns": 0.3/' profile.json |
        sed '/"int4"/s/"bits_per_value": 8/"bits_per_value": 4.25/' >fast.json
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
    for data in on off; do
        q 0 $h --exchange hierarchical --scheme int4 --intra-scheme int8 --gather-scheme fp8 --data $data --format json
        json 'all(abs(r["model_error"]) < 0.03 for r in d["rows"])'
        cp out $data
    done
    json '[x := json.load(open("on"))["rows"][0]] and all(abs(d["rows"][0][k] / x[k] - 1) < 1e-6 for k in ("step_s", "wire_bytes", "bits_push"))'
    for of in "ring twoshot" "twoshot ring" "ring ring"; do
        q 0 $h --exchange hierarchical --scheme fp32,int8 --inner-exchange ${of% *} --outer-exchange ${of#* } --errors --format json
        json 'all(abs(r["model_error"]) < 0.03 for r in d["rows"]) and d["rows"][0]["applied_error"] < 1e-12'
    done
    # In chunks: inside hosts, between them, and the codecs at the same time; the same sums.
    p="sim -q --profile fast.json --values 1M --workers 8 --per-host 4 --intra-bw 2gbps --intra-latency 5us --bw 1gbps --exchange hierarchical --mode sequential --scheme fp32,int8 --format json"
    q 0 $p --chunks 1 --errors
    cp out whole
    for data in "on --errors" off; do
        q 0 $p --chunks 4 --data $data
        json 'all(abs(r["model_error"]) < 0.05 for r in d["rows"])'
        json '[w := json.load(open("whole"))["rows"]] and all(a["step_s"] < 0.85 * b["step_s"] and abs(a["wire_bytes"] / b["wire_bytes"] - 1) < 1e-3 for a, b in zip(d["rows"], w))'
        json '[w := json.load(open("whole"))["rows"]] and all(a["applied_error"] is None or a["applied_error"] < 1.2 * b["applied_error"] + 1e-12 for a, b in zip(d["rows"], w))'
    done
    q 0 sim -q --profile fast.json --values 100K --workers 6 --per-host 3 --bw 1gbps --exchange hierarchical,ring,recdouble --scheme fp32,3lc --chunks 3 --data off --format json
    json 'len(d["rows"]) == 6'
    q 0 $h --exchange ring,twoshot,hierarchical --scheme fp32 --op reduce-scatter --format json
    json 'all(abs(r["model_error"]) < 0.03 for r in d["rows"])'
    # Communication that nothing hides: by the formulas, and by the simulated ranks' clocks.
    x="--profile profile.json --net resnet20 --workers 4 --bw 1gbps --scheme fp32,int8 --compute 5ms --format json"
    for of in "ring,twoshot --mode sequential" "ring --mode overlap --fuse 400K" "ps --mode overlap --fuse 400K"; do
        q 0 model -q $x --exchange $of
        cp out formula
        q 0 sim -q $x --exchange $of
        json '[f := json.load(open("formula"))["rows"]] and all(abs(a["exposed_s"] / b["exposed_s"] - 1) < 0.12 and 0 < a["exposed_s"] <= a["added_s"] + 1e-6 for a, b in zip(d["rows"], f))'
    done
    # Trees: in one piece the formula is that of the ranks; between 2 hosts also in as many chunks as it takes to be best,
    # which ranks use.
    x="--profile fast.json --values 1M --workers 8 --bw 1gbps --scheme fp32,int8 --format json"
    q 0 sim -q $x --exchange tree --chunks 1
    json 'len(d["rows"]) == 2 and all(abs(r["model_error"]) < 0.03 and r["chunks"] is None for r in d["rows"])'
    cp out one
    x="$x --per-host 4 --intra-bw 100gbps --intra-latency 5us"
    q 0 model -q $x --exchange tree,ring
    json 'any(n.startswith("formulas may be off") and " tree (by up to 17%)" in n for n in d["notes"])'
    q 0 model -q $x --exchange tree --chunks 1
    json 'not any(n.startswith("formulas may be off") for n in d["notes"])'
    # Overlapped, messages queue at every hop of a ring over hosts of several workers.
    q 0 model -q $x --exchange ring --compute 10ms
    json 'any(n.startswith("formulas may be off") and ": ring (by up to 12%);" in n for n in d["notes"])'
    q 0 model -q $x --exchange tree
    cp out formula
    q 0 sim -q $x --exchange tree
    json '[f := json.load(open("formula"))["rows"]] and all(abs(r["model_error"]) < 0.03 and r["chunks"] > 1 and m["chunks"] > 1 for r, m in zip(d["rows"], f, strict=True))'
    json 'd["rows"][0]["step_s"] < 0.6 * json.load(open("one"))["rows"][0]["step_s"]'
    # hierarchical: the choice is within 3% of the best of others.
    for chunks in 1 8 32 auto; do
        q 0 sim -q $x --exchange hierarchical --chunks $chunks
        cp out chunks.$chunks
    done
    json '[of := [json.load(open("chunks." + k))["rows"] for k in ("1", "8", "32")]] and all(r["step_s"] < 1.03 * min(o[i]["step_s"] for o in of) for i, r in enumerate(d["rows"]))'
    # Codec and network are parts of a step in the same way: adding floats is the network's, hidden or not.
    x="--profile profile.json --values 4M --workers 8 --per-host 4 --intra-bw 20gbps --bw 10gbps --compute 5ms --mode sequential --format json"
    for of in "ring --scheme fp32,int8" "hierarchical --outer-exchange ring --scheme fp32"; do
        q 0 model -q $x --exchange $of
        cp out formula
        q 0 sim -q $x --exchange $of
        json '[f := json.load(open("formula"))["rows"]] and all(abs(a[k] - b[k]) < 0.03 * b["step_s"] for a, b in zip(d["rows"], f, strict=True) for k in ("codec_s", "comm_s", "comm_busy_s", "reduce_s"))'
        json '(lambda f: d["rows"][0]["codec_s"] == f[0]["codec_s"] == 0 and all(abs(r["comm_busy_s"] / r["comm_s"] - 1) < 0.01 for r in d["rows"] + f))(json.load(open("formula"))["rows"])'
        json '(lambda f: all((r["inner_exchange"], r["outer_exchange"]) == ((None, None) if r["exchange"] == "ring" else ("twoshot", "ring")) for r in d["rows"] + f))(json.load(open("formula"))["rows"])'
    done
    t 2 $s --scheme int8 --gather-scheme 3lc --data off
    err '--gather-scheme 3lc: its payloads have different sizes'
    t 2 $h --exchange hierarchical --scheme int8 --intra-scheme 3lc --data off
    err '--intra-scheme 3lc: its payloads have different sizes'
else
    echo "skipped: simulated ranks"
fi

finish
