#!/bin/sh
# `commcomp nets`: the built-in nets, and nets from files.
. "$(dirname "$0")/lib.sh"

make_tensors

q 0 nets
expected table
q 0 nets resnet20
expected resnet20

q 0 nets --format json
json 'len(d["rows"]) == 25 and all(r["values"] > 0 and r["reference"] for r in d["rows"])'
json '{r["net"]: r["values"] for r in d["rows"]}["llama2-7b"] == 6738415616'
json '"QSGD, table 1: 25M" in {r["net"]: r["papers"] for r in d["rows"]}["resnet50"]'
q 0 nets llama2-7b --format json
json 'sum(r["values"] for r in d["rows"]) == 6738415616 and len(d["rows"]) == 291'
json 'abs(sum(r["compute_share"] for r in d["rows"]) - 1) < 1e-9'
q 0 nets mnist-mlp-500
out 'Pipe-SGD'
t 2 nets vgg20
err "did you mean 'vgg16'?"
t 1 nets net/missing.safetensors
err 'net/missing.safetensors'
q 0 nets net/push-step000000-rank0.safetensors --format csv
[ "$(wc -l <out)" = 60 ] || bad "59 tensors"
if [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -lt 60000000 ]; then
    t 1 bench --net llama2-7b --scheme 3lc,mqe1bit,topk
    err 'GB of memory are needed'
fi

finish
