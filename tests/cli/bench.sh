#!/bin/sh
# `commcomp bench`: sizes, errors, speeds, profiles; JSON of the commands on traces.
. "$(dirname "$0")/lib.sh"

make_tensors
q 0 bench -q --trace net --scheme 3lc,int8,topk --no-speed
expected no-speed

q 0 bench -q --values 10k --steps 2 --scheme 3lc,int8 --no-speed --format json
json '[r["scheme"] for r in d["rows"]] == ["3lc", "int8"]'
json 'abs(d["rows"][1]["bits_per_value"] - 8.0032) < 1e-9 and d["rows"][1]["values"] == 10000'
# The scheme has a parameter of that name, too.
q 0 bench -q --values 1k --steps 2 --scheme fp8:format=e5m2 --no-speed --format json
json '[r["scheme"] for r in d["rows"]] == ["fp8:format=e5m2"]'
q 0 bench -q --trace net --stream pull --scheme fp32 --no-speed --format json
json 'd["rows"][0]["ratio"] == 1 and d["rows"][0]["nmse"] == 0'
t 2 bench --scheme fp32 --trace net --net resnet20
err '--trace and --net exclude each other'
t 2 bench --scheme fp32 --net resnet1100
err 'resnet110'
t 1 bench --scheme fp32 --trace missing --format json
json '"missing" in d["error"]'
t 2 bench --scheme 3lc:s=1.5,int9
err "did you mean 'int8'?"
q 0 bench -q --trace net --scheme 3lc,int8 --no-speed --format csv
cp out once.csv
q 0 bench -q --trace net --scheme 3lc,int8 --no-speed --passes 2 --format csv
grep '^int8,' once.csv | sed 's/,3,1,/,3,2,/' >want
grep '^int8,' out | cmp -s - want || bad "int8 has no residual, but its second pass differs"
grep '^3lc,' once.csv | sed 's/,3,1,/,3,2,/' >want
! grep '^3lc,' out | cmp -s - want || bad "the second pass of 3lc is as the first"
q 0 bench -q --values 1k --steps 2 --scheme 3lc,int8,efsign --no-speed --passes auto --format json
json '[r["passes"] >= 10 for r in d["rows"]] == [True, False, True]'
json 'd["rows"][1]["passes"] == 1'
# --passes N does not ask whether sizes have settled.
q 0 bench -q --values 1k --steps 2 --scheme 3lc,int8,efsign --no-speed --passes 1 --format json
json '[r["settled"] for r in d["rows"]] == [None, True, None]'
json 'any(n.startswith("not known to be settled: the sizes of 3lc, efsign, of pass 1 by --passes") for n in d["notes"])'
# The best: not those that are worse than sending nothing, and all that have the least error.
q 0 bench -q --values 10k --steps 4 --scheme fp32,int8,3lc:s=1.9,sparse,zstd,zstd:level=5 --no-speed --format json
json '{r["scheme"]: r["error"] for r in d["rows"]}["3lc:s=1.9"] > 1'
json 'any(n.startswith("smallest     sparse: 2.6") and " bits a value pushed (" in n for n in d["notes"])'
json 'any(n.startswith("smaller, but with an error of 1, that of sending nothing, or more: 3lc:s=1.9 (0.") for n in d["notes"])'
json 'any(n.startswith("least error  zstd: ") and n.endswith("; the same error: zstd:level=5") for n in d["notes"])'
# late and noise: nothing of fp32, all of what is never sent, half of what is sent every second step; of tensors none.
q 0 bench -q --trace net --scheme fp32,threshold:tau=1e30,local,qsgd,signsgd --no-speed --passes 1 --format json
json 'd["rows"][0]["late"] == d["rows"][0]["noise"] == 0 and abs(d["rows"][1]["late"] - 1) < 1e-9 and d["rows"][1]["noise"] < 1e-9'
json '0.3 < d["rows"][2]["late"] < 0.7 and d["rows"][3]["late"] < 0.01 < d["rows"][3]["noise"] and 0.4 < d["rows"][4]["late"] < 0.6'
json 'sum(n.startswith("late: the share of a gradient that misses its own step") for n in d["notes"]) == 1'
q 0 bench -q --trace net --scheme int8,3lc --no-speed --passes 1 --per-tensor --format json
json 'all(r["late"] is r["noise"] is None for r in d["rows"])'
# Gradients of 16 bits: ratio by their bytes; a cast to their own type, and a tensor below --min-size, are exact.
q 0 bench -q --net resnet20 --steps 2 --scheme fp32,bf16,fp16,int8 --dtype bf16 --passes 1 --no-speed --format json
json '[r["ratio"] for r in d["rows"]][:3] == [0.5, 1, 1] and 1.99 < d["rows"][3]["ratio"] < 2 and {r["dtype"] for r in d["rows"]} == {"bf16"}'
json 'd["rows"][0]["nmse"] == d["rows"][1]["nmse"] == 0 < d["rows"][2]["nmse"] < 1e-4'
q 0 bench -q --net resnet20 --steps 1 --scheme int8 --dtype fp16 --no-speed --min-size 1M --format json
json 'd["rows"][0]["ratio"] == 1 and d["rows"][0]["bits_per_value"] == 16 and d["rows"][0]["nmse"] == 0'
q 0 trace synth halves --net resnet20 --steps 1 --dtype fp16
q 0 bench -q --trace halves --scheme fp16,int8 --no-speed --format json
json 'd["rows"][0]["dtype"] == "fp16" and d["rows"][0]["ratio"] == 1 and d["rows"][0]["nmse"] == 0'
q 0 bench -q --trace halves --scheme fp16 --dtype fp32 --no-speed --format json
json 'd["rows"][0]["dtype"] == "fp32" and d["rows"][0]["ratio"] == 2'
# Speeds of encoding are of 2 bytes a value, those of decoding of 4.
q 0 bench -q --values 3000 --steps 1 --scheme fp16 --dtype bf16 --samples 3 --format json
json 'd["rows"][0]["encode_gb_per_s"] > 0 and d["rows"][0]["decode_gb_per_s"] > 0'
t 2 bench --dtype bf15
err "did you mean 'bf16'?"
t 2 bench --passes 0
err '--passes'
q 0 bench -q --net resnet20 --steps 1 --scheme int8 --no-speed --min-size 100 --format json
json 'd["rows"][0]["min_size"] == 100 and 269722 + 2000 < d["rows"][0]["payload_bytes"] < 280000'
q 0 bench -q --net resnet20 --steps 1 --scheme int8 --no-speed --min-size 1M --format json
json 'd["rows"][0]["ratio"] == 1 and d["rows"][0]["nmse"] == 0 and d["rows"][0]["scheme"] == "int8"'
q 0 bench -q --net resnet20 --steps 2 --scheme paper --samples 2 --discard 0 --format json
json 'all(r["encode_gb_per_s"] > 0 and r["decode_gb_per_s"] > 0 for r in d["rows"])'
json 'len(d["rows"]) == 10 and all(r["samples"] == 2 and r["tensor"] is None for r in d["rows"])'
json 'all(r["encode_roofline"] is None for r in d["rows"])'
json 'any(n.startswith("no limits: ") and "--values l2,cache" in n for n in d["notes"])'
q 0 bench -q --values cache --steps 1 --scheme fp32 --no-speed --format json
json 'd["rows"][0]["values"] >= 1e5 and d["rows"][0]["trace"].endswith(":cache")'
json '"notes" not in d or not any("no limits" in n for n in d["notes"])'
q 0 bench -q --net resnet20 --steps 2 --scheme fp32,3lc --samples 2 --threads 2 --format json
json 'all(r["threads"] == 2 and r["encode_gb_per_s"] > 0 for r in d["rows"])'
json 'all(r["decode_add_gb_per_s"] > 0 for r in d["rows"])'
q 0 bench -q --values 300k --steps 1 --scheme 3lc --samples 2 --threads 2 --format json
json 'd["rows"][0]["threads"] == 2 and d["rows"][0]["decode_add_gb_per_s"] > 0'
q 0 bench -q --values l2 --steps 2 --scheme int8,zstd --samples 2 --threads 1,2,1 --format json
json '[(r["scheme"], r["threads"]) for r in d["rows"]] == [(s, t) for t in (1, 2, 1) for s in ("int8", "zstd")]'
json 'all(r["place"] == "L2" and r["encode_speedup"] > 0 for r in d["rows"])'
json 'all(r["encode_speedup"] == r["decode_speedup"] == 1 for r in d["rows"][:2])'
json 'abs(d["rows"][2]["decode_speedup"] * d["rows"][0]["decode_gb_per_s"] / d["rows"][2]["decode_gb_per_s"] - 1) < 1e-9'
json '[r["encode_roofline"] is None for r in d["rows"]] == [False, True] * 3'
json '[r["clock_ghz"] is None for r in d["rows"]] == [False, False, True, True, False, False]'
json 'all(r["encode_l1_gb_per_s"] is r["encode_l1_share"] is None for r in d["rows"][2:4])'
# A busy machine may hide some of these speeds.
json 'any(r["encode_l1_share"] for r in d["rows"])'
json 'all(abs(r["encode_l1_share"] * r["encode_l1_gb_per_s"] / r["encode_gb_per_s"] - 1) < 1e-9 for r in d["rows"] if r["encode_l1_share"])'
json 'all(abs(r["encode_moved_gb_per_s"] / r["encode_gb_per_s"] - 9 / 4) < 1e-9 for r in d["rows"][::2])'
# Gaussian and Laplace exponents have 2.4 to 3 bits of entropy beside 24 for sign and mantissa.
q 0 bench -q --values 100k --steps 2 --scheme exponent,zstd --no-speed --format json
json 'd["rows"][1]["entropy_bits"] is d["rows"][1]["of_limit"] is None'
json 'all(26.4 < r["entropy_bits"] < 27 and abs(r["of_limit"] * r["bits_per_value"] / r["entropy_bits"] - 1) < 1e-9 for r in d["rows"][:1])'
json 'all(0.98 < r["of_limit"] <= 1.01 for r in d["rows"][:1])'
# The limits are of what is sent.
q 0 bench -q --values l2 --steps 1 --scheme int8,zstd --samples 1 --min-size 1M --format json
json 'all(abs(r["encode_moved_gb_per_s"] / r["encode_gb_per_s"] - 8 / 4) < 1e-9 for r in d["rows"])'
t 2 bench --values 1k --threads 1,0
err '--threads: 0 is not between 1 and 1024'
t 2 bench --values 1k --threads 1,2 --no-speed
err '--threads 1,2 and --no-speed exclude each other'
t 2 bench --values 1k --threads 1,2 --profile-out profile.json
err '--threads 1,2 and --profile-out exclude each other'
q 0 bench -q --values 10,1K,100k --steps 2 --scheme fp32,int8 --samples 2 --format csv
[ "$(cut -d, -f1,5,10 out | tail -n +2 | tr '\n' ' ')" = \
    "fp32,10,40 int8,10,14 fp32,1000,4000 int8,1000,1004 fp32,100000,400000 int8,100000,100004 " ] ||
    bad "rows of several sizes"
[ ! -s err ] || bad "several sizes: messages"
q 0 bench -q --values 1.00000000000000000000000000000K,1.001K --steps 1 --scheme int8 --no-speed --format json
json '[r["values"] for r in d["rows"]] == [1000, 1001]'
# A density is a share of a bucket, of 512 to 6, in either form.
q 0 bench -q --trace net --scheme topk --density 1% --no-speed --steps 1 --format json
json 'd["rows"][0]["scheme"] == "topk:k=6"'
q 0 bench -q --trace net --scheme fp32 --no-speed --steps 99 --format json
json 'd["rows"][0]["steps"] == 3 and "--steps 99: the trace has 3, which are used" in d["notes"]'
q 0 bench -q --trace net --scheme fp32 --no-speed --steps 3 --format json
json '[n.split(":")[0] for n in d["notes"]] == ["fp32"]'
# Values whose squares are sums beyond the range of doubles, and no NaN in the notes.
python3 -c "
import struct
head = \"{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }\".ljust(117) + '\n'
open('most.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<f', 3.4028235e38) * 1000)"
t 0 bench -q --trace most.npy --scheme int8,3lc,trunc16 --no-speed
! grep -qi nan out || bad "prints NaN"
t 2 bench --values 1k,,2k
err '--values'
t 2 bench --values 1k,0
err '--values: 0 is not between 1'
t 2 bench --values l2,l1
err "--values: 'l1' is neither a count such as 25M nor l2 or cache"
t 2 bench --trace net --values 1k,2k
err '--trace and --values exclude each other'
t 2 bench --net resnet20 --values 1k
err '--net and --values exclude each other'
q 0 bench -q --values 10k,100 --steps 2 --scheme fp32,int8 --samples 2 --profile-out profile.json
grep -q '"schema": "commcomp-profile/2"' profile.json || bad "profile: schema"
grep -q '{"values": 100, "bits_per_value": 8.32, "encode_ns": [0-9.e-]*, "decode_ns"' profile.json ||
    bad "profile: points"
q 0 bench -q --trace net --steps 1 --scheme fp32 --samples 1 --threads 2 --profile-out profile.json
python3 - profile.json <<'EOF' || bad "profile of a trace"
import json, sys
p = json.load(open(sys.argv[1]))
points = p["codecs"][0]["points"]
assert p["trace"] == "net" and p["threads"] == 2 and p["codecs"][0]["scheme"] == "fp32"
assert all(a["values"] < b["values"] for a, b in zip(points, points[1:])) and len(points) > 1
assert all(q["bits_per_value"] == 32 and q["decode_add_ns"] > 0 for q in points)
EOF
t 2 bench --profile-out profile.json --no-speed
err 'exclude each other'
t 2 bench --trace net --stream all --scheme fp32 --profile-out profile.json
err 'a profile is of one stream'
t 1 bench --values 1k --profile-out missing/profile.json
err 'missing/profile.json'
q 0 bench -q --net resnet20 --steps 1 --scheme 3lc,int8 --per-tensor --samples 1 --format json
json 'len(d["rows"]) == 118 and len({r["tensor"] for r in d["rows"]}) == 59'
json 'sum(r["values"] for r in d["rows"]) == 2 * 269722'
json 'sum(r["payload_bytes"] for r in d["rows"][59:]) == 269722 + 59 * 4'
json 'all(r["encode_gb_per_s"] > 0 and r["decode_gb_per_s"] > 0 for r in d["rows"])'
q 0 bench -q --net resnet20 --steps 1 --scheme 3lc --per-tensor --no-speed --format json
json 'len(d["rows"]) == 59 and all(r["encode_gb_per_s"] is None for r in d["rows"])'
q 0 bench -q --trace net --scheme fp16 --no-speed --stream all --format json
json '[r["stream"] for r in d["rows"]] == ["push 0", "push 1", "pull"]'
json 'len({r["nmse"] for r in d["rows"]}) == 3'
q 0 bench -q --trace net --scheme fp16 --no-speed --stream push --format json
json '[r["stream"] for r in d["rows"]] == ["push 0", "push 1"]'
t 1 bench --trace five.csv --scheme fp16 --stream pull --format json
err "five.csv has no stream 'pull'"
json 'd["rows"] == [] and "no stream" in d["error"]'
for distribution in laplace gaussian student mixture; do
    q 0 bench -q --values 10k --steps 1 --scheme int8 --no-speed --synthetic $distribution \
        --format json
    json 'd["rows"][0]["trace"] == "synthetic:'$distribution':10k" and d["rows"][0]["nmse"] > 0'
done
mkdir huge
echo 3e38 | tee huge/1.csv >huge/2.csv
t 1 bench -q --trace huge --scheme fp32,local,int8 --no-speed --format json -o huge.json
err 'huge, push 0, step 1, local: '
json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"] and "step 1, local" in d["error"]'
document huge.json # the rows of those that did not fail
same out huge.json
q 0 bench -q --values 1k --steps 1 --scheme int8 --no-speed -o int8.json
document int8.json
q 0 encode --scheme int8 x.npy x.cc --format json
json 'd["command"] == "encode" and d["rows"][0]["payload_bytes"] == 5004'
q 0 decode x.cc x.out.npy --format json
json 'd["command"] == "decode" and d["rows"][0]["payload_bytes"] == 5004'
t 1 encode --scheme int8 missing.npy y.cc --format json
json '"missing.npy" in d["error"]'
t 1 trace info missing --format json
json '"missing" in d["error"]'

finish
