#!/bin/sh
# Links: which latency and headers a rate has, in the commands that take one.
. "$(dirname "$0")/lib.sh"

cat >codecs.json <<'END'
{"schema": "commcomp-profile/1", "codecs": [
 {"scheme": "fp32", "points": [
  {"values": 1e6, "bits_per_value": 32, "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0}]}]}
END
of="--values 1M --scheme fp32 --profile codecs.json -q --format json"

# A rate above 10 Gbit/s is RDMA, with 14 us and 82 bytes of headers for each 4,096; TCP below it: 50 us, 66 for 1,448.
q 0 model $of --exchange ring --bw 10gbps,25gbps,100gbps,infiniband
json '[r["latency_s"] for r in d["rows"]] == [50e-6, 14e-6, 14e-6, 1.5e-6]'
json '[r["link_class"] for r in d["rows"]] == ["tcp", "rdma", "rdma", None]'
json '[r["overhead"] for r in d["rows"]] == [66 / 1448, 82 / 4096, 82 / 4096, 26 / 4096]'
json 'abs(d["rows"][2]["comm_s"] - 18 * (14e-6 + 4e5 * 8 * (1 + 82 / 4096) / 100e9)) < 1e-12'
json 'any("RDMA over Ethernet, with 14 us (--latency) and 2.0% of headers (--overhead)" in n for n in d["notes"])'
# --latency and --overhead replace them, each alone.
q 0 model $of --exchange ring --bw 100gbps --latency 4ms
json '[(r["latency_s"], r["overhead"]) for r in d["rows"]] == [(0.004, 82 / 4096)]'
json 'any("Ethernet, with 2.0%" in n for n in d["notes"])'
q 0 model $of --exchange ring --bw 100gbps --overhead tc
json '[(r["latency_s"], r["overhead"]) for r in d["rows"]] == [(14e-6, 66 / 1448)]'
# Two directions: the class of the slower one.
q 0 model $of --exchange ring --bw-up 1gbps --bw-down 100gbps
json '[(r["latency_s"], r["link_class"]) for r in d["rows"]] == [(50e-6, "tcp")]'
# Parameter servers without a system are those of the papers; a system has the class.
q 0 model $of --exchange ps --bw 100gbps
json '[(r["latency_s"], r["link_class"]) for r in d["rows"]] == [(50e-6, None)]'
q 0 model $of --system ps --bw 100gbps
json '[(r["latency_s"], r["link_class"]) for r in d["rows"]] == [(14e-6, "rdma")]'
q 0 model $of --system byteps --bw 100gbps
json 'd["rows"][0]["link_class"] == "rdma"'
q 0 sim $of --exchange ring --bw 100gbps --workers 2 --dry-run
json 'd["rows"][0]["latency_s"] == 14e-6'
# The links of a lab are the kernel's.
q 0 run $of --exchange ring --bw 100gbps --workers 2 --dry-run
json 'd["rows"][0]["latency_s"] == 50e-6'
q 0 run $of --exchange ring --bw 100gbps --workers 2 --hosts a,b --dry-run
json 'd["rows"][0]["latency_s"] == 14e-6'
finish
