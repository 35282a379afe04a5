#!/bin/sh
# `commcomp model`: predictions that can be worked out by hand, and refusals.
. "$(dirname "$0")/lib.sh"

make_profile

m="model -q --profile profile.json"

q 0 $m --bw 10mbps,1gbps --scheme fp32,int8,3lc --exchange ps
expected ps
q 0 $m --exchange ring,allgather,ssar-split --bw 1gbps --scheme fp32,topk
expected exchanges

# One million values, 8 Mbit/s and no headers: 1 byte a microsecond, 4 workers.
q 0 $m --values 1M --bw 8mbps --latency 1ms --overhead none --workers 4 --scheme fp32,int8 --exchange ps --format json
json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"]'
json 'abs(d["rows"][0]["step_s"] - 2 * (0.001 + 16)) < 1e-9'
json 'abs(d["rows"][1]["comm_s"] - 2 * (0.001 + 4)) < 1e-9'
json 'abs(d["rows"][1]["codec_s"] - (0.001 + 4 * 0.003 + 0.001 + 0.002)) < 1e-12'
json 'abs(d["rows"][1]["speedup"] - d["rows"][0]["step_s"] / d["rows"][1]["step_s"]) < 1e-9'
# fp32 at its best halves and doubles: 2 x 2 x 1 ms + 2 x 3/4 x 4 s.
json 'abs(d["rows"][1]["speedup_best"] - 6.004 / d["rows"][1]["step_s"]) < 1e-9'
json '"nothing here is faster than fp32 at its best (rabenseifner, sequential: 6 s a step)" in d["notes"][0]'
json 'd["rows"][1]["payload_bytes"] == 1e6 and d["rows"][1]["wire_bytes"] == 4e6'
json 'd["rows"][1]["bottleneck"] == "server port" and d["rows"][1]["bits_pull"] == 8'
q 0 $m --values 1M --bw 8mbps --latency 1ms --overhead none --workers 4 --scheme fp32,int8 --codec-speed 2 --exchange ps --format json
json 'abs(d["rows"][1]["codec_s"] - (0.001 + 4 * 0.003 + 0.001 + 0.002) / 2) < 1e-12'
q 0 $m --values 1M --bw 8mbps --latency 1ms --overhead none --workers 4 --scheme fp32 --baseline int8 --exchange ps --format json
json 'd["rows"][0]["speedup"] == 1 and d["rows"][0]["speedup_best"] < 0.1'
# The speedup is against fp32 also where that is not asked for.
q 0 $m --values 1M --bw 8mbps --scheme int8 --format json
json '3.9 < d["rows"][0]["speedup"] < 4'
# The defaults: today's DDP, also in sim; options of servers choose the papers' server, and steps that hide a share of
# the computing are sequential.
q 0 $m --scheme fp32 --format json
usual='[(r["system"], r["exchange"], r["mode"], r["workers"]) for r in d["rows"]] == [("ddp", "ring", "overlap", 10)]'
json "$usual"
q 0 sim -q --profile profile.json --dry-run --scheme fp32 --format json
json "$usual"
for words in '--servers 2' '--colocate' '--pulls forward' '--placement lpt' '--consistency async' '--exchange ps'; do
    q 0 $m --scheme fp32 $words --format json
    json 'd["rows"][0]["system"] == d["rows"][0]["exchange"] == "ps"'
done
for words in '--hidden 0.2' '--exchange mpi'; do
    q 0 $m --scheme fp32 $words --format json
    json 'd["rows"][0]["system"] == "ddp" and d["rows"][0]["mode"] == "sequential"'
    q 0 $m --scheme fp32 $words
    out "sequential steps for $(echo $words | sed 's/ 0.2//')"
done
t 2 $m --scheme fp32 --hidden 0.2 --system ddp
err '--hidden goes with --mode sequential'
# Every scheme.
q 0 $m --exchange ps --format json
json 'len(d["rows"]) >= 20 and {r["net"] for r in d["rows"]} == {"resnet110"}'
json 'all(r["workers"] == 10 and r["servers"] == 1 and r["exchange"] == "ps" for r in d["rows"])'
json 'all(r["latency_s"] == 50e-6 and abs(r["overhead"] - 66 / 1448) < 1e-12 for r in d["rows"])'
json 'all(r["compute_s"] == 1.33 and r["mode"] == "sequential" for r in d["rows"])'
json 'all(r["profile"] == "profile.json" for r in d["rows"])'
# Systems: what each chooses, and options that replace a part of it.
x="$m --net resnet50 --scheme fp32,int8 --compute 250ms --bw 10gbps --workers 4,16"
q 0 $x --system ddp --format json
json 'all(r["system"] == "ddp" and r["exchange"] == "ring" and r["mode"] == "overlap" for r in d["rows"])'
json 'all(r["messages"] == d["rows"][i // 2 * 2]["messages"] for i, r in enumerate(d["rows"]))' # of gradients
cp out ddp.json
q 0 $x --system horovod --format json
json 'd["rows"][0]["messages"] < json.load(open("ddp.json"))["rows"][0]["messages"]'
q 0 $x --system byteps --format json
json '[r["servers"] for r in d["rows"]] == [4, 4, 16, 16] and d["rows"][0]["exchange"] == "ps"'
json 'all(r["colocated"] for r in d["rows"])'
q 0 $x --exchange ps,ring --servers 4 --colocate --format json
json 'all((r.get("colocated") or False) == (r["exchange"] == "ps") for r in d["rows"])'
t 2 $x --exchange ring --colocate
err '--colocate places parameter servers'
t 2 $x --exchange ps --servers 5 --colocate
err 'no more servers than workers'
t 2 $x --exchange ps --servers 2 --colocate --consistency async --mode sequential
err 'servers on hosts of their own'
t 2 $m --workers 64 --servers 17 --placement lpt --mode overlap --colocate
err 'at most 16 servers'
q 0 $x --system byteps --servers 3 --mode sequential --format json
json 'all(r["servers"] == 3 and r["mode"] == "sequential" for r in d["rows"])'
q 0 $x --system 3lc --format json
json 'all(r["servers"] == 1 and r["mode"] == "overlap" for r in d["rows"])'
q 0 $x --system ddp --exchange rabenseifner --fuse 1T
out "^system: ddp (PyTorch's DistributedDataParallel: a ring, overlapped, buckets of 25 MiB, the first of 1 MiB), changed by --exchange rabenseifner, --fuse 1T$"
t 2 $x --system horovo
err "--system horovo: did you mean 'horovod'?"
q 0 $m --wide --exchange ps
out '^system: ps, a parameter server and sequential st'
out 'codec profile: profile.json (made up, x, scalar, 2026'
out 'compute time: 1330 ms, the preset of resnet110'
q 0 $m --net resnet18 --scheme fp16
out 'compute time: 0'
# Published throughputs of accelerators instead of --compute.
q 0 $m --net resnet50 --device v100 --scheme fp16 --format json
json 'abs(d["rows"][0]["compute_s"] - 256 / 833) < 1e-12'
json 'any(n.startswith("compute time: 307 ms: 256 images at 833 a second on NVIDIA V100 (16 GB), mixed fp16 (Lambda, ") for n in d["notes"])'
q 0 $m --net resnet50 --device a100 --batch 256 --scheme fp16 --format json
json 'abs(d["rows"][0]["compute_s"] - 256 / 1582) < 1e-12'
t 2 $m --net vgg16 --device h100
err '--device h100: no published throughput of training vgg16 on NVIDIA H100 (80 GB, SXM5) is known, only of resnet50, bert-base, gpt2, llama2-7b, llama3-8b: give --compute'
t 2 $m --net resnet50 --device h100 --compute 1s --batch 3
err '--batch and --compute exclude each other'
# Codecs on the accelerator: 7.5 us a pass, and 0.7 of 2,039 GB/s for what they read and write; of 10 million values,
# fp16 is encoded and decoded over 60 MB, and added over 100 MB. One server adds 4 payloads.
device='model -q --values 10M --device a100 --compute 1ms --workers 4 --exchange ps --format json'
q 0 $device --scheme fp16
json 'abs(d["rows"][0]["codec_s"] / (3 * (7.5e-6 + 60e6 / (0.7 * 2039e9)) + 4 * (7.5e-6 + 100e6 / (0.7 * 2039e9))) - 1) < 1e-6'
json 'd["rows"][0]["compute_s"] == 1e-3'
json 'any(n.startswith("codecs: assumed to run on NVIDIA A100 (80 GB, SXM4), 7.5 us for each pass and 0.7 of its memory") for n in d["notes"])'
on_device=$(python3 -c 'import json; print(json.load(open("out"))["rows"][0]["codec_s"])')
q 0 $device --scheme fp16 --codec-on cpu
json 'd["rows"][0]["codec_s"] > 5 * '"$on_device"' and not any("assumed to run" in n for n in d["notes"])'
q 0 $device --scheme fp16 --profile profile.json
json 'd["rows"][0]["codec_s"] > 5 * '"$on_device"
# int8 reads its values twice; zstd stays on the host.
q 0 $device --scheme int8,zstd
json '3.5 < d["rows"][0]["codec_s"] * 1e6 / 100 < 5.5 and d["rows"][1]["codec_s"] > 0.05'
json 'any(n.startswith("codecs: ") and "on the host, over PCIe at 32 GB/s: zstd;" in n for n in d["notes"])'
t 2 model -q --values 1000 --scheme int8 --codec-on device
err '--codec-on device: give --device'
t 2 model -q --values 1000 --device h200 --scheme int8
err 'only of no net: give --compute as well'
t 2 $m --batch 3
err '--batch goes with --device'
t 2 $m --device h10
err "--device h10: did you mean 'h100'?"
# Lists give rows.
q 0 $m --scheme fp32,fp16 --bw 10mbps,wan,infiniband --latency 1us,1ms --workers 2,3 --servers 1,2 \
    --exchange ps,ring --format json
json 'len(d["rows"]) == 2 * 3 * 2 * 2 * (2 + 1)' # of servers, where there are any
json '{r["bw_bps"] for r in d["rows"]} == {1e7, 1e8, 1e11} and {r["latency_s"] for r in d["rows"]} == {1e-6, 1e-3}'
json 'all((r["servers"] is None) == (r["exchange"] == "ring") for r in d["rows"])'
q 0 $m --bw wan,1gbps --scheme fp16 --format json
json '[r["latency_s"] for r in d["rows"]] == [0.025, 50e-6] and d["rows"][0]["link"] == "wan"'
# Modes: nothing is slower for hiding something.
for mode in sequential overlap pipe; do
    q 0 $m --bw 100mbps --exchange ps --scheme int8 --mode $mode --format json
    cp out $mode.json
done
python3 -c "
import json
s, o, p = [json.load(open(f))['rows'][0]['step_s'] for f in ('sequential.json', 'overlap.json', 'pipe.json')]
assert s > o >= 1.33 and s > p >= 1.33, (s, o, p)" || bad 'modes'
# The network takes longer than computing: what does not fit under it is added.
q 0 $m --bw 100mbps --scheme fp32 --mode overlap --format json
json 'all(r["comm_s"] < r["comm_busy_s"] and abs(r["compute_s"] + r["codec_s"] + r["comm_s"] - r["step_s"]) < 1e-9 for r in d["rows"])'
q 0 $m --bw 10gbps --scheme fp32 --exchange ring --mode overlap --system ps --format json
json '0 <= d["rows"][0]["comm_s"] < 0.1 * d["rows"][0]["comm_busy_s"]'
q 0 $m --bw 100mbps --scheme int8 --mode overlap --pulls forward --exchange ps --format json
json 'json.load(open("overlap.json"))["rows"][0]["step_s"] < d["rows"][0]["step_s"] < json.load(open("sequential.json"))["rows"][0]["step_s"]'
t 2 $m --pulls later
err '--pulls later: it is one of ready, forward'
q 0 $m --bw 100mbps --scheme int8 --mode pipe --depth 1 --exchange ps --format json
json 'd["rows"][0]["step_s"] == json.load(open("sequential.json"))["rows"][0]["step_s"]'
q 0 $m --scheme int8 --servers 4 --placement lpt --mode overlap --fuse 1M --format json
json 'd["rows"][0]["imbalance"] >= 1'
q 0 $m --scheme int8 --stragglers gamma --consistency stale --staleness 2 --workers 4 --format json
json 'd["rows"][0]["step_s_sd"] > 0 and d["rows"][0]["straggler_wait_s"] > 0'
cp out once
q 0 $m --scheme int8 --stragglers gamma --consistency stale --staleness 2 --workers 4 --format json
json 'd["rows"] == json.load(open("once"))["rows"]'
# Exchanges and the schemes that they allow.
q 0 $m --exchange ssar-split --format json
json '{r["scheme"] for r in d["rows"]} == {"fp32", "sparse", "topk", "chunktopk", "randk", "threshold", "dgc", "pairs", "powersgd", "local"}'
json 'any("left out: ssar-split merges index-value pairs" in n for n in d["notes"])'
# Index sets: measured on correlated gradients they have more in common than uniform ones.
# --- what sums keep ---

sparse="model -q --bw 1gbps --workers 4 --net resnet20 --exchange ssar-split"
t 2 model -q --bw 1gbps --exchange ring --keep 1%
err '--keep re-sparsifies sums of index-value pairs: give --exchange ssar-split'
t 2 $sparse --keep 0
err "--keep: '0' of 269722 values: more than none, and fewer than all"
t 2 $sparse --keep 300K
err "'300K' of 269722 values"
t 2 $sparse --keep 100%
err "'100%' of 269722 values"
t 2 $sparse --keep 200%
err "--keep: '200%' is not a share"
t 2 $sparse --keep some
err "--keep: 'some' is not a share"
for scheme in pairs randk topk:ef=0 'local:inner=(sparse:ef=0)'; do
    t 2 $sparse --keep 1% --scheme $scheme
    err "back to a residual, and ${scheme%%:*}.* has none for index-value pairs; ssar-split with --keep takes fp32, sparse, topk, chunktopk, threshold, dgc"
done
t 2 $sparse --keep 1% --min-size 500 --scheme topk
err 'leave out --min-size and --raw-share'
t 2 model -q --bw 1gbps --exchange dsar-split --keep 1% --dense-bits 4 --scheme topk
err 'nothing gives back the error of --dense-bits 4'
# A number of values is a share of the step's; other exchanges keep everything.
q 0 $sparse,ring --keep 2K --scheme fp32,topk,'local:inner=(dgc)' --format json
json '[round(r["keep"] * 269722) if r["exchange"] == "ssar-split" else r["keep"] for r in d["rows"]] == 3 * [2000] + 3 * [None]'
q 0 $sparse --keep 1% --scheme topk --union disjoint --format json
json 'd["rows"][0]["sum_error"] is None and d["rows"][0]["keep"] == 0.01'
cp out kept.json
# Their errors are known, those of the sums are not: no verdict names the schemes.
q 0 $sparse --keep 1% --scheme fp32,topk,dgc --format json
json 'd["rows"][1]["error"] > 0 and "no admitted scheme is faster than fp32 at its best (" in d["notes"][0] and "; fp32, the fastest of them, takes " in d["notes"][0]'
json 'd["notes"][1] == "ssar-split, 4 workers: ruled out: topk (lost 3.97 points), dgc (lost 6.65 points)"'
q 0 $sparse --scheme topk --union disjoint --format json
# There are 4 x 0.0336 N pairs (16 of 512, more of small tensors); the allgather has 0.01 N.
json '1 < (d["rows"][0]["wire_bytes"] - json.load(open("kept.json"))["rows"][0]["wire_bytes"]) / (0.75 * (4 * 0.1344 + 1 / 8 - (6 * 0.01 + 1 / 16384)) * 269722) < 1.07'

sed 's/"3lc"/"sparse:density=0.1,index=u32"/' profile.json >pairs.json
sparse="model -q --profile pairs.json --exchange ssar-split --scheme sparse:density=0.1,index=u32 --values 100K --workers 1,2,4,64"
q 0 $sparse --format json
json 'all(1 <= r["fill_in"] <= 1.02 * r["fill_in_uniform"] for r in d["rows"])'
json '1.5 < d["rows"][1]["fill_in"] < 0.99 * d["rows"][1]["fill_in_uniform"] and any("measured on the synthetic" in n for n in d["notes"])'
q 0 $sparse --union expected --format json
json 'all(r["fill_in"] == r["fill_in_uniform"] for r in d["rows"]) and not any("measured on the synthetic" in n for n in d["notes"])'
# ssar-auto says which exchange it takes: the one that is fastest by itself.
for values in 1K 30M; do
    q 0 model -q --profile pairs.json --scheme sparse:density=0.1,index=u32,fp32 --dense-bits 4 --bw 1gbps,50gbps --workers 2,8 \
        --exchange ssar-auto,ssar-recdouble,ssar-split,ssar-rabenseifner,dsar-split --values $values --format json
    key='(r["scheme"], r["bw_bps"], r["workers"])'
    json 'all(r["chose"] is None for r in d["rows"] if r["exchange"] != "ssar-auto")'
    json "all((lambda of: of[r['chose'].removesuffix(' 1')] == r['comm_s'] == min(of.values()))({o['exchange']: o['comm_s'] for o in d['rows'] if o is not r and (o['scheme'], o['bw_bps'], o['workers']) == $key}) for r in d['rows'] if r['exchange'] == 'ssar-auto')"
    cp out auto-$values.json
done
json '{None, "ssar-recdouble 1", "dsar-split 1"} <= {r["chose"] for v in ("1K", "30M") for r in json.load(open(f"auto-{v}.json"))["rows"]}'
q 0 model -q --profile pairs.json --scheme fp32,sparse:density=0.1,index=u32 --net resnet20 --mode overlap --exchange ssar-auto --dense-bits 4 --workers 1,2 --system ps --format json
json '[r["chose"] for r in d["rows"][:2]] == [None, None] and all(sum(int(c.split()[1]) for c in r["chose"].split(", ")) == 59 for r in d["rows"][2:])'
json 'any("," in r["chose"] for r in d["rows"][2:])'
# Sums are summed, also inside local: in the mean half of fp32's bytes, where 64 workers gathering
# them would have 32 times as many. powersgd sums twice: twice the latencies of a ring.
q 0 $m --exchange mpi --workers 64 --compute 100ms --scheme fp32,local,powersgd --format json
json 'd["rows"][1]["speedup"] > 1 and d["rows"][2]["speedup"] > 1'
q 0 $m --exchange ring --system ps --workers 4 --latency 1ms --scheme fp32,powersgd --format json
json 'abs(d["rows"][0]["alpha_s"] - 0.006) < 1e-12 and abs(d["rows"][1]["alpha_s"] - 0.012) < 1e-12'
q 0 $m --exchange ring --workers 4 --latency 1ms --scheme fp32,local --format json
json 'd["rows"][0]["hop_codec_s"] == 0 and d["rows"][1]["hop_codec_s"] == 0'
t 2 $m --exchange dsar-split --scheme int8
err 'int8 sends none: exchange it by ps, allgather or ring; dsar-split takes fp32, sparse, local, topk, chunktopk, randk, threshold, dgc, pairs, powersgd'
# NCCL by its constants: of 25 M values on 8 hosts 14 steps between hosts, (8.4 + 14 x 14) x 1.4 us and 10^8 bytes at
# 12.5 GB/s x 8/14; on one host inside; nothing of it runs.
t 0 model --values 25M --exchange nccl --workers 8 --bw 100gbps --overhead none --latency 1us --scheme fp32 --format json
json 'abs(d["rows"][0]["comm_s"] - ((8.4 + 14 * 14) * 1.4e-6 + 1e8 / (12.5e9 * 8 / 14))) < 1e-9'
json 'd["rows"][0]["nccl_choice"] == "ring Simple"'
# A bare rate inside is NVLink's, as for `check`; --intra-latency scales NCCL's hops: 14 of 3.4 us become 14 of 6.8.
nccl='model -q --values 250M --exchange nccl --workers 8 --per-host 8 --scheme fp32 --format json --device a100 --compute 1s'
t 0 $nccl --intra-bw nvlink3
json 'd["rows"][0]["nccl_choice"] == "ring Simple" and abs(d["rows"][0]["comm_s"] - (8.4e-6 + 14 * 3.4e-6 + 1e9 * 14 / 8 / 240e9)) < 1e-9'
t 0 $nccl --intra-bw 2400gbps
json 'abs(d["rows"][0]["comm_s"] - (8.4e-6 + 14 * 3.4e-6 + 1e9 * 14 / 8 / 240e9)) < 1e-9'
t 0 $nccl --intra-bw nvlink3 --intra-latency 6.8us
json 'abs(d["rows"][0]["comm_s"] - (8.4e-6 + 14 * 6.8e-6 + 1e9 * 14 / 8 / 240e9)) < 1e-9'
t 0 $nccl --intra-bw pcie4 --intra-latency 11.4us
json 'd["rows"][0]["nccl_choice"] == "ring Simple" and abs(d["rows"][0]["comm_s"] - (8.4e-6 + 14 * 11.4e-6 + 1e9 * 14 / 8 * (1 + 24 / 256) / 31.5e9)) < 1e-9'
t 0 model --values 100 --exchange nccl,ring --workers 8 --per-host 8 --scheme fp32,int8 --format json
json '[r["nccl_choice"] for r in d["rows"]] == ["ring LL", "ring LL", None, None]'
json 'abs(d["rows"][0]["comm_s"] - (6.6 + 14 * 0.6) * 1e-6 - 400 / (60e9 * 8 / 14)) < 1e-12'
json 'abs(d["rows"][1]["comm_s"] - (6.6 + 7 * 0.6) * 1e-6 - 8 * d["rows"][1]["payload_bytes"] / (80e9 * 8 / 7)) < 1e-12'
for command in sim run validate train 'run --bw none'; do
    t 2 $command --exchange nccl --workers 2
    err '--exchange nccl: its times come from formulas alone'
done
for exchange in ps ring recdouble rabenseifner allgather mpi; do
    q 0 $m --scheme all --exchange $exchange --workers 7 --format json
    json 'all(r["exchange"] == "'$exchange'" and r["step_s"] > 1.33 for r in d["rows"])'
done
q 0 $m --scheme int8 --exchange ring --via hops --format json
json 'd["rows"][0]["hop_codec_s"] > 0'
q 0 $m --scheme int8 --exchange ring --via allgather --format json
json 'd["rows"][0]["hop_codec_s"] == 0'

# Token buckets: a million bytes at one a microsecond; the server's port needs 4 s each way, less
# the bucket's 0.5 s.
q 0 $m --values 1M --bw 8mbps --latency 0 --overhead none --workers 4 --burst 500k --scheme int8 --exchange ps --format json
json 'abs(d["rows"][0]["comm_s"] - 2 * 3.5) < 1e-9 and d["rows"][0]["burst_bytes"] == 500000'
json 'd["rows"][0]["wire_bytes"] == 4e6'
t 2 $m --burst 5x
err "--burst: '5x' is not"
# Half of the computation beside the exchange, which takes 8.014 s.
q 0 $m --values 1M --bw 8mbps --latency 0 --overhead none --workers 4 --compute 2s --hidden 0.5 --scheme int8 --exchange ps --format json
json 'abs(d["rows"][0]["step_s"] - (1 + 0.001 + 8.015)) < 1e-9 and d["rows"][0]["compute_s"] == 2'
t 2 $m --hidden 2
err '--hidden: a share of the compute time, from 0 to 1'
t 2 $m --hidden 0.5 --mode overlap
err '--hidden goes with --mode sequential'
# A share that is sent as fp32: 36,864 values and smaller ones up to 5% of 1,727,962.
q 0 $m --raw-share 0.05 --scheme int8 --format json
json '0.0499 < d["rows"][0]["raw_share"] <= 0.05 and d["rows"][0]["min_size"] == 0'
json 'abs(d["rows"][0]["bits_push"] - (8 + 24 * d["rows"][0]["raw_share"])) < 1e-9'
q 0 $m --raw-share 1 --scheme int8 --format json
json 'd["rows"][0]["bits_push"] == 32 and d["rows"][0]["speedup"] == 1'
t 2 $m --raw-share 1.5
err '--raw-share: a share of the values, from 0 to 1'

# Pulls of their own size.
sed 's/"bits_per_value": 8,/"bits_per_value": 2,/' profile.json >pull.json
q 0 $m --pull-profile pull.json --scheme int8 --exchange ps --format json
json 'd["rows"][0]["bits_push"] == 8 and d["rows"][0]["bits_pull"] == 2'
json '3.9 < d["rows"][0]["push_s"] / d["rows"][0]["pull_s"] < 4'
t 1 $m --pull-profile missing.json
err '--pull-profile: missing.json'

# Bad input.
t 2 $m --net resnet1100
err "net 'resnet1100' is not known: did you mean 'resnet110'?"
q 0 $m --net ResNet-50 --scheme fp32 --format json
json 'd["rows"][0]["net"] == "resnet50"'
q 0 $m --net RESNET_50 --scheme fp32
q 0 $m --scheme fp32 --bw '10MBps,10mbps,10 Mbit/s' --format json
json '[r["bw_bps"] for r in d["rows"]] == [80e6, 10e6, 10e6]'
json '[r["link"] for r in d["rows"]] == ["80 Mbit/s", "10 Mbit/s", "10 Mbit/s"]'
t 2 $m --bw 10M
err "^commcomp: --bw: '10M' may mean bits or bytes: write 10Mbit/s or 10MB/s (80 Mbit/s)$"
t 2 $m --workers 2147483648
err '--workers: 2147483648 is not between 1 and 2147483647'
t 2 $m --workers 4 --workers 8
err '--workers is given twice: 4, then 8'
t 2 $m --bw 0mbps
err "--bw: '0mbps' is not a rate above zero"
t 2 $m --bw etherent
err "did you mean 'ethernet'?"
t 2 $m --bw 10mbps,,1gbps
err 'a list of words with commas between them'
t 2 $m --workers=
err "--workers '': a list of counts with commas between them"
t 2 $m --workers ,
err '--workers ,: a list of counts'
t 2 $m --scheme ''
err "--scheme: unknown scheme ''"
t 2 $m --latency -5us
err "--latency: '-5us' is not a time such as 50us"
t 2 $m --overhead 66
err "'66' is not tc, ethernet"
t 2 $m --overhead 4294967297/1
err "'4294967297/1' is not tc, ethernet"
q 0 $m --scheme int8 --overhead 1000000/1000000 --format json
json 'd["rows"][0]["overhead"] == 1'
t 2 $m --bw 1e-300bps
err '--bw'
t 2 $m --latency 1e300s
err '--latency'
sed 's/"bits_per_value": 8,/"bits_per_value": 0,/' profile.json >zero.json
t 1 model -q --profile zero.json --scheme int8
err 'int8: 0 bits per value'
t 2 $m --workers 0
err '--workers: 0 is not between 1 and 2147483647'
t 2 $m --workers 2000000
err '--workers: from 1 to 1000000'
t 2 $m --exchange rign
err "'rign' is not an exchange; did you mean 'ring'?"
t 2 $m --compute 5
err "--compute: '5' is not a time"
t 2 $m --depth 0
err '--depth: 0 is not between 1 and'
t 2 $m --consistency async --exchange ring
err '--consistency async needs a server'
t 2 $m --consistency stale --mode overlap
err 'with --mode sequential only'
t 2 $m --stragglers uniform --spread 0.9
err 'a uniform factor of mean 1 has at most 0.577'
t 2 $m --spread x
err "--spread: 'x' is not a number"
t 2 $m --remeasure
err '--profile and --remeasure exclude each other'
t 1 model --profile missing.json
err '--profile: missing.json: '
t 1 $m --scheme 3lc:s=1.3
err 'profile.json: the profile has no 3lc:s=1.3: it has '
err 'measure it with `commcomp bench --scheme 3lc:s=1.3 --profile-out'
# Nothing to compute, nothing to send: identical steps of 0 s, and no speedup but 1.
q 0 $m --values 1000 --exchange ring --workers 1 --compute 0 --scheme fp32,fp16 --format json
json '[r["speedup"] for r in d["rows"]] == [1, 1] and d["rows"][0]["bits_pull"] is None'
json 'all("0.00 times" not in n for n in d["notes"])'
# The note leaves out facts that the profile does not have.
sed 's/"made up"/""/; s/"scalar"/""/; s/"cpu": "x"/"cpu": ""/; s/"2026[^"]*"/""/' profile.json >plain.json
q 0 model -q --profile plain.json --scheme fp16 --format json
json '"codec profile: plain.json" in d["notes"]'
# Local steps wait only in steps that send; asynchronous ones never. A million workers are drawn
# quickly.
q 0 $m --bw 1000000gbps --latency 0 --compute 1s --workers 16 --stragglers lognormal --spread 0.5 \
    --scheme local --values 1000 --exchange ring --format json
json '1.1 < d["rows"][0]["step_s"] < 1.9'
q 0 $m --bw 1000000gbps --latency 0 --compute 1s --workers 16 --stragglers lognormal --spread 0.5 \
    --scheme local --values 1000 --consistency async --format json
json '0.97 < d["rows"][0]["step_s"] < 1.03'
q 0 $m --workers 1000000 --stragglers lognormal --scheme fp16 --format json
json 'd["rows"][0]["step_s"] > 1.33'
net() { echo '{"schema":"commcomp-net/1","name":"n","tensors":[{"name":"a"'"$1"'}]}' >bad.json; }
net ''
t 1 $m --net bad.json
err '--net: bad.json: tensor 0: "a": "shape" must be a list of dimensions'
net ',"shape":[9007199254740991,9007199254740991,2]'
t 1 $m --net bad.json
err 'bad.json: tensor 0: "a": '
net ',"shape":[0]'
t 1 $m --net bad.json
err 'dimensions are whole numbers from 1'
net ',"shape":[12]'
q 0 $m --net bad.json --compute 1ms --scheme int8 --format json
json 'd["rows"][0]["values"] == 12'

# Calibration files.
link() { echo '{"schema":"commcomp-link/1","name":"lab"'"$1"'}' >link.json; }
link ',"bw_bps":95.6e6,"latency_s":120e-6,"overhead":0,"source":"ping-pong"'
q 0 $m --calibration link.json --scheme int8 --format json
json 'd["rows"][0]["bw_bps"] == 95.6e6 and d["rows"][0]["link"] == "lab" and d["rows"][0]["overhead"] == 0'
t 2 $m --calibration link.json --bw 1gbps
err '--bw and --calibration exclude each other'
link ',"bw_bps":8e6,"latency_s":0,"burst_bytes":500000,"reduce_byte_s":1e-8'
q 0 $m --calibration link.json --values 1M --workers 4 --scheme int8,fp32 --exchange ps --format json
json 'abs(d["rows"][0]["comm_s"] - 2 * 3.5) < 1e-9 and d["rows"][0]["burst_bytes"] == 500000'
q 0 $m --calibration link.json --burst 0 --values 1M --workers 4 --scheme int8 --exchange ps --format json
json 'abs(d["rows"][0]["comm_s"] - 2 * 4) < 1e-9'
q 0 $m --calibration link.json --values 1M --workers 4 --exchange ring --scheme fp32 --format json
json 'abs(d["rows"][0]["reduce_s"] - 0.75 * 4e6 * 1e-8) < 1e-12'
link ',"latency_s":0'
t 1 $m --calibration link.json
err '--calibration: link.json: "bw_bps" must be there and above 0'
link ',"bw_bps":1e9'
t 1 $m --calibration link.json
err '"latency_s" is missing'
link ',"bw_bps":1e9,"latency":1'
t 1 $m --calibration link.json
err 'unknown key "latency": did you mean "latency_s"?'
link ',"bw_bps":1e9,"latency_s":-1'
t 1 $m --calibration link.json
err '"latency_s" is not a number'

# The profile of this machine: measured once and kept; later only missing schemes are measured.
XDG_CACHE_HOME=$dir/cache
export XDG_CACHE_HOME
t 0 model --scheme fp16 --format json
err 'measuring the speed of 2 schemes'
json 'd["rows"][0]["codec_s"] > 0 and "measured on this machine" in d["rows"][0]["profile"]'
quiet
q 0 model --scheme fp16 --format json
t 0 model --scheme fp16,bf16 --format json
err 'measuring the speed of 1 scheme '
left 'cache/commcomp/[!f]*' "$(ls cache/commcomp/profile-*.json) "
[ "$(ls cache/commcomp/figures-* | wc -l)" = 2 ] || bad "sizes and errors of each scheme are kept once"
# On synthetic gradients sizes are those of bench; on a trace, its own tensors'.
q 0 model -q --net resnet20 --scheme 3lc,qsgd,powersgd,zstd --exchange ps --format json
cp out modelled
q 0 bench -q --net resnet20 --scheme 3lc,qsgd,powersgd,zstd --no-speed --format json
json 'all(abs(r["bits_per_value"] / m["bits_push"] - 1) < 1e-3 and r["error"] == m["error"] for r, m in zip(d["rows"], json.load(open("modelled"))["rows"]))'
json 'd["rows"][0]["settled"] and d["rows"][0]["bits_per_value"] > 0.6'
make_tensors
q 0 model -q --trace net --scheme 3lc,qsgd --exchange ps --format json
json 'any("on 3 steps of net" in n for n in d["notes"]) and d["rows"][0]["net"] == "net"'
cp out modelled
q 0 bench -q --trace net --scheme 3lc,qsgd --no-speed --format json
json 'all(abs(r["bits_per_value"] / m["bits_push"] - 1) < 1e-3 and r["error"] == m["error"] for r, m in zip(d["rows"], json.load(open("modelled"))["rows"]))'
t 1 model -q --net resnet110 --trace net --scheme 3lc
err "it has 59 tensors, and resnet110 has"
q 0 trace synth pulls --net resnet20 --steps 2 --pulls
rm pulls/push-*
t 1 model -q --net resnet20 --trace pulls --scheme 3lc
err "pulls has pulls only.*give a trace with pushes"
# Sizes up to the net's largest tensor; larger ones when they are needed; fp32 at all.
kept=$(ls cache/commcomp/profile-*.json)
sizes() { # sizes SCHEME: the largest size that is kept
    python3 -c "import json; print([c['points'][-1]['values'] for c in json.load(open('$kept'))['codecs'] if c['scheme'] == '$1'][0])"
}
quiet
t 0 model --values 1000 --scheme int8
err 'measuring the speed of 1 scheme on this machine, which happens once'
[ "$(sizes int8)" = 1000 ] || bad "int8 is measured up to $(sizes int8) values"
[ "$(sizes fp32)" = 10000000 ] || bad "fp32 is measured up to $(sizes fp32) values"
quiet
t 0 model --values 900 --scheme int8
err 'measuring sizes and errors of 1 scheme on synthetic:mixture:900, which happens once'
! grep -q 'the speed of' err || bad 'int8 is measured up to 1000 values'
q 0 model --values 900 --scheme int8
quiet
t 0 model --values 1001 --scheme int8
err 'measuring the speed of 1 scheme '
[ "$(sizes int8)" = 10000 ] || bad "int8 is measured up to $(sizes int8) values"
# A figure from a busy machine is measured again when it is quiet, and said to be so until then.
sed 's/"load": [0-9.e-]*/"load": 0.9/' "$kept" >busy && cp busy "$kept"
t 0 model --values 1000 --scheme int8 --format json
json '"while it was busy" in d["rows"][0]["profile"] or "again" in open("err").read() or "busy when" in open("err").read()'
# Processes that measure at the same time keep each other's figures.
rm "$kept"
for s in fp16 bf16 int8 ternary signsgd trunc16 natural efsign; do
    "$program" model -q --values 100 --scheme $s >/dev/null &
done
wait
python3 -c "import json; assert len(json.load(open('$kept'))['codecs']) == 9" || bad 'figures of other processes are lost'
# Without the other cells, --remeasure replaces its own.
t 0 model --values 100 --scheme fp16 --remeasure
python3 -c "import json; assert len(json.load(open('$kept'))['codecs']) == 9" || bad '--remeasure loses figures'
# An interrupt keeps the sizes that were complete, and measuring goes on with the others.
rm "$kept"
"$program" model -q --values 10M --scheme all >/dev/null 2>interrupted &
while [ ! -s "$kept" ]; do sleep 0.01; done
kill -TERM $!
wait $!
[ $? = 130 ] || bad 'an interrupt is not exit 130'
grep -q 'interrupted' interrupted || bad "no word of the interrupt: $(cat interrupted)"
[ "$(sizes int8)" = 10 ] || [ "$(sizes int8)" = 100 ] || bad "kept after an interrupt: $(sizes int8)"
# A profile that cannot be read is neither used nor overwritten, unless it is to be measured again.
echo '{' >"$kept"
t 0 model --values 100 --scheme fp16
err 'the kept profile is neither used nor changed (--remeasure replaces it): .*byte'
[ "$(cat "$kept")" = '{' ] || bad 'a damaged profile is overwritten'
t 0 model --values 100 --scheme fp16 --remeasure
[ "$(sizes fp16)" = 100 ] || bad '--remeasure does not replace a damaged profile'
rm "$kept"
mkfifo "$kept"
case='with a FIFO as profile'
timeout 60 "$program" model --values 100 --scheme fp16 >/dev/null 2>err || bad "exit $?"
err 'neither used nor changed'
timeout 60 "$program" model --values 100 --scheme fp16 --remeasure >/dev/null 2>err || bad "exit $?"
err 'is not a regular file'
rm "$kept"
XDG_CACHE_HOME=/dev/null
t 0 model --values 100 --scheme fp16 --format json
err 'the profile could not be saved'
unset XDG_CACHE_HOME

# Hosts with several workers, links that differ by direction, and sites.
m='model -q --net resnet20 --scheme fp32'
t 2 $m --workers 8 --per-host 3
err '8 workers leave a host part empty; take 6 or 9 workers'
t 2 $m --workers 2 --per-host 4
err 'a host has more accelerators than there are workers, 2'
t 2 $m --workers 8 --bw 1gbps --bw-up 20mbps --bw-down 100mbps
err '--bw-up and --bw-down are both directions: leave out --bw'
t 2 $m --intra-bw nvlink4
err '--intra-bw is of hosts with several accelerators: give --per-host'
t 2 $m --workers 8 --per-host 4 --intra-bw nvlnk4
err "did you mean 'nvlink4'?"
t 2 $m --workers 8 --per-host 4 --colocate --exchange ps
err 'servers are on hosts of their own: leave out either'
t 2 $m --workers 3 --sites 4
err 'each needs a worker, and there are 3'
t 0 $m --workers 8 --per-host 4 --intra-bw pcie4 --exchange recdouble --format json
json 'd["rows"][0]["per_host"] == 4 and d["rows"][0]["intra_bw_bps"] == 252e9 and d["rows"][0]["intra_latency_s"] == 5.7e-6'
json 'd["rows"][0]["bytes_inter"] == d["rows"][0]["wire_bytes"] and d["rows"][0]["bytes_intra"] > 0'
# A server's port receives at one rate and sends at another: 8 pushes at 100 Mbit/s, 8 pulls at 20.
t 0 $m --workers 8 --bw-up 20mbps --bw-down 100mbps --latency 0us --exchange ps --format json
json 'd["rows"][0]["bw_up_bps"] == 2e7 and d["rows"][0]["bw_down_bps"] == 1e8 and d["rows"][0]["bw_bps"] == 2e7'
json 'abs(d["rows"][0]["comm_s"] / (269722 * 32 * 1514 / 1448 * (8 / 1e8 + 8 / 2e7)) - 1) < 1e-6'

# Of a codec that takes longer than the network, a share of the chunks is better sent plain.
t 0 model -q --net resnet20 --workers 8 --exchange ring --bw 100gbps --codec-speed 0.01 --scheme fp32,int8 --format json
json 'd["rows"][0].get("plain_share") is None and 0 < d["rows"][1]["plain_share"] < 1'
json 'abs((1 - d["rows"][1]["plain_share"]) * d["rows"][1]["codec_s"] + d["rows"][1]["plain_share"] * d["rows"][0]["codec_s"] - d["rows"][1]["mixed_s"]) < 1e-9'
json '(lambda net: abs((1 - d["rows"][1]["plain_share"]) * net(1) + d["rows"][1]["plain_share"] * net(0) - d["rows"][1]["mixed_s"]) < 1e-9)(lambda i: sum(d["rows"][i][k] for k in ("alpha_s", "transfer_s", "reduce_s")))'

# Ports whose rates differ by a million: times as by hand, 4 MB out of each host, where what is left of a fast
# message takes less than a double of the time can tell apart.
q 0 model -q --profile profile.json --values 1M --compute 10ms --exchange hierarchical --mode sequential --workers 16 --per-host 8 --bw 1mbps --intra-bw 5000gbps --scheme fp32 --format json
json 'abs(d["rows"][0]["comm_s"] / (4e6 * 8 * 1514 / 1448 / 1e6) - 1) < 1e-3'

finish
