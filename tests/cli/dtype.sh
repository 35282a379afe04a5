#!/bin/sh
# Element types: what gradients are, in model, sim, run and train.
. "$(dirname "$0")/lib.sh"

# Codec times per value in ns, by hand; bf16's own times are not used where gradients are bf16.
cat >codecs.json <<'END'
{"schema": "commcomp-profile/1", "codecs": [
 {"scheme": "fp32", "points": [
  {"values": 1e6, "bits_per_value": 32, "encode_ns": 0, "decode_ns": 0.5, "decode_add_ns": 0.25}]},
 {"scheme": "bf16", "points": [
  {"values": 1e6, "bits_per_value": 16, "encode_ns": 1, "decode_ns": 1, "decode_add_ns": 1}]},
 {"scheme": "int8", "points": [
  {"values": 1e6, "bits_per_value": 8, "encode_ns": 1, "decode_ns": 1, "decode_add_ns": 1}]}]}
END
of="-q --values 1M --profile codecs.json --latency 0s --overhead none --bw 1gbps --format json"

# --- model ---

# A ring of 4 sends 2 x 3/4 of the payload. Gradients of bf16 are 2 MB: 24 ms, no codec, and 3/4 of the values are added.
q 0 model $of --exchange ring --workers 4 --dtype bf16 --scheme fp32,bf16,int8
json '[r["scheme"] for r in d["rows"]] == ["fp32", "bf16", "int8"] and all(r["dtype"] == "bf16" for r in d["rows"])'
json '[round(r["ratio"], 9) for r in d["rows"]] == [0.5, 1, 2] and [r["bits_per_value"] for r in d["rows"]] == [32, 16, 8]'
json 'abs(d["rows"][1]["step_s"] - (0.024 + 0.75e6 * 0.25e-9)) < 1e-12 and d["rows"][1]["codec_s"] == 0'
json 'd["rows"][1]["speedup"] == 1'
json 'abs(d["rows"][0]["speedup"] - d["rows"][1]["step_s"] / d["rows"][0]["step_s"]) < 1e-12 and d["rows"][0]["speedup"] < 0.51'
json 'd["rows"][1]["speedup_best"] <= 1 and abs(d["rows"][2]["speedup_best"] * d["rows"][2]["step_s"] - d["rows"][1]["speedup_best"] * d["rows"][1]["step_s"]) < 1e-12'
# Of fp32 gradients, bf16 is a codec.
q 0 model $of --exchange ring --workers 4 --scheme fp32,bf16
json '[r["ratio"] for r in d["rows"]] == [1, 2] and d["rows"][0]["speedup"] == 1 and d["rows"][1]["codec_s"] > 0.002'
json 'all(r["dtype"] == "fp32" for r in d["rows"])'
# A server: two payloads of a worker each way through its port, and no codec but adding.
q 0 model $of --exchange ps --workers 2 --dtype fp16 --scheme fp16
json 'abs(d["rows"][0]["comm_s"] - 0.064) < 1e-12 and d["rows"][0]["ratio"] == 1'
# Tensors that are left raw are sent as they are.
q 0 model $of --exchange allgather --workers 2 --dtype bf16 --scheme int8 --min-size 2M
json 'd["rows"][0]["payload_bytes"] == 2e6'
# Sums that keep more bits are not rounded again where gradients travel as they are.
q 0 model $of --exchange twoshot --workers 4 --dtype bf16 --scheme bf16,int8 --gather-scheme bf16
json '[r["gather_scheme"] for r in d["rows"]] == [None, "bf16"]'
# NCCL sums 16 bits as well as 32: half the bytes of a ring.
q 0 model $of --exchange nccl --workers 4 --dtype bf16 --scheme fp32,bf16
json 'd["rows"][1]["nccl_choice"] == "ring Simple" and d["rows"][1]["wire_bytes"] == 3e6 == d["rows"][0]["wire_bytes"] / 2'
# Where only float32 is summed, speedup refers to that, and the best to gradients as they are elsewhere.
q 0 model $of --exchange mpi,ssar-split --workers 4 --dtype bf16 --scheme fp32
json '[r["speedup"] for r in d["rows"]] == [1, 1] and all(r["speedup_best"] < 0.6 for r in d["rows"])'
# Nets say their type: language models bf16, those of the papers fp32; a file as well; --dtype wins.
t 0 model -q --profile codecs.json --net gpt2 --scheme int8 --format json
json 'd["rows"][0]["dtype"] == "bf16" and d["rows"][0]["ratio"] == 2'
t 0 model -q --profile codecs.json --net resnet50 --scheme int8 --format json
json 'd["rows"][0]["dtype"] == "fp32" and d["rows"][0]["ratio"] == 4'
t 0 model -q --profile codecs.json --net gpt2 --dtype fp32 --scheme int8 --format json
json 'd["rows"][0]["dtype"] == "fp32" and d["rows"][0]["ratio"] == 4'
echo '{"schema": "commcomp-net/1", "name": "x", "dtype": "fp16", "tensors": [{"name": "a", "shape": [1000]}]}' >x.json
q 0 model -q --profile codecs.json --net x.json --scheme int8 --format json
json 'd["rows"][0]["dtype"] == "fp16"'
echo '{"schema": "commcomp-net/1", "name": "x", "dtype": "f16", "tensors": [{"name": "a", "shape": [1000]}]}' >y.json
t 1 model --net y.json
err '"dtype": "f16" is not one of fp32, bf16, fp16'
t 2 model --dtype bf
err '--dtype'
# On a device, a pass reads gradients of their own size: int8's two, 2 bytes a value less at 0.7 of 2,039 GB/s.
for type in fp32 bf16; do
    q 0 model -q --profile codecs.json --codec-on device --values 1M --compute 50ms --device a100 --exchange allgather --workers 2 --dtype $type --scheme int8 --format json
    cp out $type.json
done
json 'abs((json.load(open("fp32.json"))["rows"][0]["encode_s"] - d["rows"][0]["encode_s"]) / (2 * 2 * d["rows"][0]["values"] / (0.7 * 2039e9)) - 1) < 1e-6'

# A profile of another type is used, and said to be; of the same one, nothing is. Files of the schema before are of fp32.
one="-q --values 1M --exchange ring --workers 4 --bw 1gbps --scheme int8 --format json"
sed 's/"schema": "commcomp-profile.1"/"schema": "commcomp-profile\/2", "dtype": "bf16"/' codecs.json >codecs16.json
q 0 model $one --profile codecs.json --dtype bf16
json 'any("codec times are of encoding fp32, as codecs.json has them, and gradients are bf16" in n for n in d["notes"])'
q 0 model $one --profile codecs16.json --dtype bf16
json 'not any("codec times are of encoding" in n for n in d["notes"])'
q 0 model $one --profile codecs16.json
json 'any("codec times are of encoding bf16" in n and "gradients are fp32" in n for n in d["notes"])'

# This machine's profile of bf16 is measured on bf16, and a ring of 2 encodes half of the gradient and half of the sum:
# the mean of its time and that of fp32.
XDG_CACHE_HOME=$PWD/own && export XDG_CACHE_HOME
q 0 model -q --values 10 --exchange ring --workers 2 --bw 1gbps --latency 0s --scheme int8 --dtype bf16 --format json
cp out ring.json
q 0 model -q --values 10 --exchange allgather --workers 2 --bw 1gbps --latency 0s --scheme int8 --dtype bf16 --format json
ls own/commcomp/profile-*-bf16-*.json own/commcomp/profile-*-fp32-*.json >/dev/null || bad "a profile for each type"
json '(lambda p: (lambda at: abs(d["rows"][0]["encode_s"] / (10e-9 * at("bf16")["encode_ns"]) - 1) < 1e-6 and
  abs(json.load(open("ring.json"))["rows"][0]["hop_codec_s"] / (10e-9 * (0.5 * at("bf16")["encode_ns"] + 0.5 * at("fp32")["encode_ns"] + 0.5 * at("bf16")["decode_add_ns"])) - 1) < 1e-6)
  (lambda t: next(c["points"][0] for c in json.load(open(__import__("glob").glob("own/commcomp/profile-*-%s-*" % t)[0]))["codecs"] if c["scheme"] == "int8")))(0)'
# With a codec that takes 50 times as long from bf16, ranks that charged it for sums would be far from the formula.
if command -v smpirun >/dev/null; then
    q 0 model -q --values 51200 --exchange ring --workers 5 --scheme int8 --dtype bf16
    python3 -c 'import glob, json
path, = glob.glob("own/commcomp/profile-*-bf16-*.json")
d = json.load(open(path))
for c in d["codecs"]:
    for p in c["points"]:
        p["encode_ns"] *= 50
json.dump(d, open(path, "w"))'
    one="-q --values 51200 --exchange ring,twoshot,rabenseifner --workers 5 --bw 10gbps --latency 0s --scheme int8 --dtype bf16 --format json"
    q 0 model $one
    cp out model.json
    q 0 sim $one
    json 'all(abs(m["step_s"] / r["step_s"] - 1) < 0.03 for m, r in zip(json.load(open("model.json"))["rows"], d["rows"], strict=True))'
fi
sed -i 's/"dtype": "bf16"/"dtype": "fp16"/' own/commcomp/profile-*-bf16-*.json
t 0 model --values 10 --exchange allgather --workers 2 --bw 1gbps --scheme int8 --dtype bf16
err 'of another type of gradients'
unset XDG_CACHE_HOME

# Sizes are those of gradients of the type. By hand, 16,384 values between 1 and 2 by exponent: the size of a block, and in
# each of 2 blocks a byte, 5 counts, 64 bases, 2 bits a value and the rest of a value: a byte of bf16, 3 of fp32.
python3 -c 'import random, struct
head = "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (16384,)}".ljust(117) + "\n"
values = [1 + 0.9 * random.Random(i).random() for i in range(16384)]
open("ones.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<16384f", *values))'
one="-q --workers 2 --exchange allgather --bw 1gbps --scheme exponent --format json"
for type in bf16,1 fp32,3; do
    q 0 model $one --trace ones.npy --dtype ${type%,*}
    json "d['rows'][0]['payload_bytes'] == 4 + 2 * (1 + 10 + 8192 / 128 + 8192 / 4 + 8192 * ${type#*,})"
done
# Drawn ones are kept by type; they are the gradients that bench draws, whose exponents have 2.7 bits of entropy.
for type in fp32 bf16 fp16 bf16; do
    q 0 model $one --values 50k --dtype $type
    cp out model.json
    q 0 bench -q --values 50k --dtype $type --scheme exponent --no-speed --format json
    json 'd["rows"][0]["bits_per_value"] == json.load(open("model.json"))["rows"][0]["bits_per_value"]'
done
json '10.6 < d["rows"][0]["entropy_bits"] < d["rows"][0]["bits_per_value"] < 10.9'

# --- advise ---

q 0 advise -q --via hops --values 25M --compute 50ms --profile codecs.json --workers 8 --bw 10gbps --dtype bf16 --scheme int8 --format json
json '{r["scheme"] for r in d["rows"]} == {"bf16", "int8"} and any("use bf16 (" in n for n in d["notes"])'
json 'all(r["ratio"] == (1 if r["scheme"] == "bf16" else 2) for r in d["rows"])'

# --- train ---

# Gradients are rounded before they are sent: bf16 then sends them as they are, with the weights of a lossless scheme.
# A training with float32 is another.
weights='[r["weights"] for r in d["rows"] if r["weights"]]'
g='train -q --net mlp:32 --data digits --steps 6 --workers 3 --exchange allgather --scheme bf16,exponent --format json'
q 0 $g --dtype bf16 --min-size 100
json "len($weights) == 2 and len(set($weights)) == 1"
json 'all(r["ratio"] == 1 and r["dtype"] == "bf16" and r["bits_per_value"] == 16 for r in d["rows"] if r["scheme"] == "bf16")'
cp out local.json
q 0 $g --min-size 100
json "$weights[1] not in [r['weights'] for r in json.load(open('local.json'))['rows']] and d['rows'][0]['dtype'] == 'fp32'"
q 0 $g --dtype bf16 --local-steps 2
json "len(set($weights)) == 1"
t 2 train --dtype f16
err "did you mean 'fp16'"
# The settings of a row are those of other commands.
q 0 train -q --net mlp:32 --data digits --steps 2 --workers 4 --per-host 2 --exchange hierarchical --scheme fp32,int8 --gather-scheme fp8 --intra-scheme bf16 --bw 1gbps --intra-bw pcie4 --format json
json 'all(r["per_host"] == 2 and r["intra_bw_bps"] == 252e9 and r["latency_s"] == 50e-6 for r in d["rows"])'
json 'all((r["gather_scheme"], r["intra_scheme"]) == (("fp8", "bf16") if r["scheme"] == "int8" else (None, None)) for r in d["rows"])'

# --- sim and run ---

if [ -e "$(dirname "$program")/commcomp-rank-sim" ] && command -v smpirun >/dev/null 2>&1; then
    # What ranks send is what the formula says: half of fp32's bytes; with the heads and envelopes of messages.
    s="sim $of --exchange ring,twoshot,hierarchical,recdouble,ps --workers 4 --dtype bf16"
    q 0 $s --scheme fp32,bf16,int8
    json 'all(r["dtype"] == "bf16" for r in d["rows"])'
    json '[r["scheme"] for r in d["rows"][:3]] == ["bf16", "fp32", "int8"]'
    json 'all(abs(r["model_error"]) < 0.005 and r["ratio"] == 1 and r["speedup"] == 1 for r in d["rows"] if r["scheme"] == "bf16")'
    json 'all(0 <= r["wire_bytes"] - {"ring": 3e6, "twoshot": 3e6, "hierarchical": 3e6, "recdouble": 4e6, "ps": 8e6}[r["exchange"]] < 2000 for r in d["rows"] if r["scheme"] == "bf16")'
    json 'all(0.49 < r["speedup"] < 0.51 for r in d["rows"] if r["scheme"] == "fp32")'
    # Without data, the same sizes.
    cp out data.json
    q 0 $s --scheme fp32,bf16,int8 --data off
    json 'all(abs(r["wire_bytes"] / w["wire_bytes"] - 1) < 1e-3 and r["ratio"] == w["ratio"] for r, w in zip(d["rows"], json.load(open("data.json"))["rows"]))'
    # A raw tensor beside tensors that are decoded travels as it is, among pairs as float32.
    q 0 $s --scheme int8 --min-size 2M
    json 'all(r["payload_bytes"] == 2e6 for r in d["rows"])'
    # What is applied is the mean of the rounded gradients, up to rounding sums.
    q 0 sim $of --exchange allgather --workers 4 --dtype bf16 --scheme bf16 --errors
    json 'd["rows"][0]["applied_error"] < 1e-12'
    q 0 sim $of --exchange twoshot --workers 4 --dtype bf16 --scheme bf16 --errors
    json '1e-7 < d["rows"][0]["applied_error"] < 1e-5'
    # Ranks train as one process does, also where each tensor is rounded as it is ready.
    for mode in sequential overlap; do
        q 0 $g --dtype bf16 --min-size 100 --on sim --mode $mode --bw 1gbps --compute 1ms
        json "$weights == [r['weights'] for r in json.load(open('local.json'))['rows'] if r['weights']]"
    done
else
    echo "skipped: simulated ranks"
fi
if command -v mpirun >/dev/null 2>&1 && [ -e "$(dirname "$program")/commcomp-rank" ]; then
    # Sums of 16 bits against float32's, within what rounding at every hop explains.
    for type in bf16 fp16; do
        q 0 run -q --bw none --dtype $type --exchange ring,recdouble,twoshot,ps --scheme $type --workers 3 --values 10007 --time 10ms --check --format json
        json 'all(r["check"] is True and r["ratio"] == 1 and r["size_bytes"] == 20014 for r in d["rows"])'
    done
else
    echo "skipped: ranks over MPI"
fi
finish
