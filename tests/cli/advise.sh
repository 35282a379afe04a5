#!/bin/sh
# `commcomp advise`: verdicts that can be worked out by hand, and refusals.
. "$(dirname "$0")/lib.sh"

make_profile

# A server, ten workers, a million values: int8 saves 2 x 10 x 24 Mbit and costs 15 ms, so that it
# pays below 32 Gbit/s; headers (tc's) move that by 1514/1448 = 1.0456.
cat >hand.json <<'P'
{"schema": "commcomp-profile/1", "codecs": [
 {"scheme": "fp32", "points": [{"values": 1000000, "bits_per_value": 32,
  "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0}]},
 {"scheme": "int8", "points": [{"values": 1000000, "bits_per_value": 8,
  "encode_ns": 2, "decode_ns": 1, "decode_add_ns": 1}]},
 {"scheme": "ternary", "points": [{"values": 1000000, "bits_per_value": 1.6,
  "encode_ns": 2, "decode_ns": 1, "decode_add_ns": 1}]},
 {"scheme": "3lc", "points": [{"values": 1000000, "bits_per_value": 31,
  "encode_ns": 2, "decode_ns": 1, "decode_add_ns": 1}]},
 {"scheme": "zstd", "points": [{"values": 1000000, "bits_per_value": 30,
  "encode_ns": 9, "decode_ns": 9, "decode_add_ns": 9}]}]}
P
hand='--profile hand.json --values 1M --compute 100ms --latency 0s --scheme int8,ternary,3lc,zstd'
# In a ring, fp32 takes 57.6 ms and int8 14.4 ms and 3.9 ms of codec, after the pass of the one tensor:
# 43.2 Mbit less in 3.9 ms. They take as long at 3.9 / 43.2 of the codec's speed.
q 0 advise -q $hand --bw 1gbps --overhead none
expected ddp
q 0 advise -q $hand --bw 1gbps --overhead none --format json
json '[r["scheme"] for r in d["rows"]] == ["int8", "fp32", "zstd", "ternary", "3lc"]'
json '[r["rank"] for r in d["rows"]] == [1, 2, 3, None, None]'
json '[r["recommended"] for r in d["rows"]] == [True] + 4 * [False]'
json 'abs(d["rows"][0]["step_s"] - 0.1183) < 1e-9 and abs(d["rows"][1]["step_s"] - 0.1576) < 1e-9'
json 'all(abs(r["speedup_best"] - 0.1576 / r["step_s"]) < 1e-9 for r in d["rows"])'
json 'abs(d["rows"][0]["pays_below_bps"] / (43.2e6 / 3.9e-3) - 1) < 1e-5'
json 'd["notes"][0].startswith("ring at 1 Gbit/s, 10 workers: use int8: a step takes 118 ms, 1.33 times as fast as fp32 at its best (ring, overlapped: 158 ms a step); it pays below 11.1 Gbit/s")'
json 'any("less than 0.0903 times its speed" in n for n in d["notes"])'
q 0 advise -q $hand --bw 1gbps --overhead none --codec-speed 0.5 --format json
json 'abs(d["rows"][0]["codec_s"] - 7.8e-3) < 1e-12 and any("less than 0.0903 times its speed" in n for n in d["notes"])'
q 0 advise -q $hand --bw 25gbps --overhead none --format json
json 'd["notes"][0].startswith("ring at 25 Gbit/s, 10 workers: use fp32 (ring, overlapped: 102 ms a step): no scheme pays here; int8, the fastest of the others, takes 104 ms; it pays below 11.1 Gbit/s")'
json '[r["scheme"] for r in d["rows"] if r["recommended"]] == ["fp32"]'
# Through a server, fp32 is far from its best. int8 saves 2 x 10 x 24 Mbit against fp32 there and costs
# 15 ms, but fp32 in a ring is faster still.
ps="$hand --system ps"
q 0 advise -q $ps --bw 1gbps --overhead none
expected ps
q 0 advise -q $ps --bw 1gbps --overhead none --format json
json '[r["scheme"] for r in d["rows"]] == ["int8", "3lc", "fp32", "zstd", "ternary"]'
json 'abs(d["rows"][0]["step_s"] - 0.275) < 1e-9 and abs(d["rows"][2]["step_s"] - 0.74) < 1e-9'
json 'abs(d["rows"][0]["speedup"] - 0.74 / 0.275) < 1e-9 and abs(d["rows"][0]["speedup_best"] - 0.1576 / 0.275) < 1e-9'
json 'd["rows"][0]["pays"] == "never" and [r["scheme"] for r in d["rows"] if r["recommended"]] == ["fp32"]'
json 'd["rows"][2]["workers_enough"] == 3 and d["rows"][0]["nmse"] > 0 and d["rows"][3]["nmse"] == 0'
json 'd["rows"][4]["left_out"] == "error above 1" and d["rows"][4]["error"] > 3'
json 'all(r["error_low"] <= r["error"] <= r["error_high"] for r in d["rows"])'
json 'd["notes"][0].startswith("ps at 1 Gbit/s, 10 workers: use fp32 (ring, sequential: 158 ms a step): no scheme pays here")'
json 'any(n.startswith("another exchange: --exchange ring with int8 takes 118 ms") and n.endswith("fp32 takes 158 ms there") for n in d["notes"])'
json 'all(r["encodings"] == (1 if r["scheme"] == "fp32" else 2) for r in d["rows"])'
json 'all(r["sum_error"] == r["error"] * r["encodings"] for r in d["rows"])'
json 'any("errors: settled, on 8 steps of synthetic:mixture:1M" in n for n in d["notes"]) and any("hand.json" in n for n in d["notes"])'
# The same error as in bench.
q 0 advise -q --net resnet20 --scheme 3lc,qsgd,powersgd,int8 --profile profile.json --format json
cp out advised
q 0 bench -q --net resnet20 --scheme 3lc,qsgd,powersgd,int8 --no-speed --format json
json '{r["scheme"]: r["error"] for r in d["rows"]} == {r["scheme"]: r["error"] for r in json.load(open("advised"))["rows"] if r["scheme"] != "fp32"}'
# Several exchanges: the best of all.
q 0 advise -q $hand --bw 1gbps --overhead none --exchange ps,ring --format json
json '"best of all exchanges: ring at 1 Gbit/s, 10 workers, with int8: 118 ms a step" in d["notes"]'
# Another baseline, added to the schemes; and of steps within 3% the most exact one.
q 0 advise -q $hand --bw 1gbps --overhead none --baseline int8 --format json
json '"use int8 (" in d["notes"][0] and [r["scheme"] for r in d["rows"] if r["recommended"]] == ["int8"]'
sed 's/"ternary", "points": \[{"values": 1000000, "bits_per_value": 1.6/"signsgd", "points": [{"values": 1000000, "bits_per_value": 7.9/' hand.json >close.json
q 0 advise -q --profile close.json --values 1M --compute 100ms --scheme int8,signsgd --max-nmse 1e9 --bw 1gbps --baseline zstd --format json
json '[r["scheme"] for r in d["rows"]].count("zstd") == 1'
json '[r["scheme"] for r in d["rows"] if r["recommended"]] == ["int8"]'
t 2 advise -q $hand --codec-speed 0
err '--codec-speed: a factor above 0'
t 2 advise -q $hand --baseline int9
err '--baseline: '
t 2 advise -q $hand --baseline int8,fp16
err 'one scheme to compare with'
# More encodings on the way, more error; and without compute time no number of workers.
q 0 advise -q $ps --bw 1gbps --exchange ring --workers 9 --format json
json '{r["encodings"] for r in d["rows"] if r["scheme"] == "int8"} == {5}'
q 0 advise -q --profile hand.json --values 1M --scheme int8 --bw 1gbps --format json
json 'all(r["workers_enough"] is None for r in d["rows"]) and "step'"'"'s communication" in d["notes"][0]'
json 'any(n.startswith("compute time: 0") for n in d["notes"])'
# Without --system it is ddp's, unless other options ask for servers.
d='advise -q --profile hand.json --values 1M --compute 100ms --bw 1gbps --scheme int8 --format json'
q 0 $d
json 'all(r["system"] == "ddp" and r["exchange"] == "ring" and r["mode"] == "overlap" for r in d["rows"])'
q 0 $d --exchange allgather
json 'all(r["system"] == "ddp" and r["exchange"] == "allgather" for r in d["rows"])'
for ask in '--servers 2' '--exchange ps' '--pulls forward' '--placement lpt' '--consistency stale'; do
    q 0 $d $ask
    json 'all(r["system"] == "ps" and r["exchange"] == "ps" and r["mode"] == "sequential" for r in d["rows"])'
done
# The size of a threshold scheme depends on the gradients.
q 0 advise -q --profile profile.json --scheme threshold,int8 --format json
json '[r["left_out"] for r in d["rows"]][2] == "tau depends on the gradients: needs --trace"'
q 0 advise -q $hand --bw 1gbps --lossless --format json
json '[r["scheme"] for r in d["rows"] if r["rank"]] == ["fp32", "zstd"]'
json '[r["left_out"] for r in d["rows"]][2:] == ["lossy"] * 3'
q 0 advise -q $hand --bw 1gbps,100gbps --max-nmse 1e-9 --format json
json 'len(d["rows"]) == 10 and d["rows"][2]["left_out"] == "error above 1e-09"'
t 2 advise --max-nmse many
err "--max-nmse: 'many' is not a number"
t 2 advise --max-nmse -1
err '\--max-nmse'
t 2 advise --net resnet5
err 'resnet50'
t 2 advise --bw 0mbps
err '\--bw'
t 1 advise -q --profile hand.json --scheme fp16
err 'fp16'
t 1 advise -q --profile hand.json --scheme int8 --trace missing
err 'missing'

finish
