#!/bin/sh
# `commcomp train --system`: sharded states, in one process, under MPI and in simulations, with the same weights.
. "$(dirname "$0")/lib.sh"

t='train -q --net mlp:16 --steps 6 --eval-every 3 --batch 8 --optimizer adamw --rate 0.01'
s='--system sdp4bit --per-host 2 --scheme int4:block=128,hadamard=32'

# --- what is refused ---

t 2 $t --weight-scheme int8
err '--weight-scheme goes with --system zero1, zero2 or sdp4bit'
t 2 $t --weight-differences
err '--weight-differences goes with --system'
t 2 $t --system zero9
err 'zero1'
t 2 $t --system zero1 --exchange ring
err '--system zero1: by twoshot and hierarchical, where each sum has an owner, not by --exchange ring'
t 2 $t --system zero1 --exchange twoshot --via allgather
err '--system zero1: by --via allgather, no sum has an owner'
t 2 $t --system zero1 --gather-scheme int8
err '--gather-scheme: with --system zero1 no sums are gathered; give --weight-scheme'
t 2 $t --system zero1 --workers 1
err 'one worker has nothing to share out'
t 2 $t --system zero1 --mode pipe
err '--system zero1: not with --mode pipe'
t 2 $t --system zero1 --local-steps 3
err '--system zero1: not with --local-steps'
t 2 $t --system zero1 --weight-scheme int8,int4
err '--weight-scheme int8,int4: one scheme'
t 2 $t --system zero1 --weight-scheme local
err '--weight-scheme local: it sends in some steps only'
t 2 $t --system zero1 --weight-scheme int4:ef=1
err '--weight-scheme int4:ef=1: its residual has no use here'
t 2 $t --system zero1 --scheme local
err 'local: not with --system zero1, which takes a gradient in every step'
t 2 $t --system zero1 --clip 1 --mode overlap --scheme fp32
err '--clip: not with --mode overlap'

# --- what it says ---

q 0 $t --system zero1 --scheme fp32,int8 --format json
json 'all((r["system"], r["exchange"], r["weight_scheme"], r["gathered"]) == ("zero1", "twoshot", "fp32", "weights") for r in d["rows"])'
json 'all(r["bits_pull"] == 32 and r["gather_scheme"] is None for r in d["rows"])'
json 'all(abs(r["bits_push"] - 24) < 0.1 for r in d["rows"] if r["scheme"] == "fp32")'
# ZeRO-2 has the weights of ZeRO-1, and with fp32 those of a two-shot exchange without shards.
weights='[r["weights"] for r in d["rows"]] == [r["weights"] for r in json.load(open("zero1.json"))["rows"]]'
cp out zero1.json
q 0 $t --system zero2 --scheme fp32,int8 --format json
json "$weights"
json 'all((r["system"], r["gathered"]) == ("zero2", "weights") for r in d["rows"])'
q 0 $t --exchange twoshot --scheme fp32 --format json
json 'd["rows"][-1]["weights"] in [r["weights"] for r in json.load(open("zero1.json"))["rows"] if r["scheme"] == "fp32"]'
q 0 $t $s --format json
json 'all((r["system"], r["exchange"], r["weight_scheme"], r["gathered"], r["intra_scheme"]) == ("sdp4bit", "hierarchical", "int4:block=2048,rounding=nearest", "differences", "int8:block=512,hadamard=32") for r in d["rows"])'
json 'all(4 <= r["bits_pull"] < 4.5 for r in d["rows"])'
q 0 $t --system zero1 --bw 1gbps --compute 2ms --scheme int8 --format json
json 'all(r["step_s"] > 0.002 and r["comm_s"] > 0 for r in d["rows"])'

# --- the same weights everywhere ---

same='[[r[k] for k in ("step", "loss", "loss_workers", "train_loss", "bits_push", "bits_pull", "bytes", "weights")] for r in d["rows"]] == [[r[k] for k in ("step", "loss", "loss_workers", "train_loss", "bits_push", "bits_pull", "bytes", "weights")] for r in json.load(open("local.json"))["rows"]]'
no_sim=$(why_no_sim) no_lab=$(why_no_lab)
sanitized && no_lab=sanitized
command -v mpirun >/dev/null || no_lab='no mpirun'
[ -z "$no_sim" ] || echo "skipped: train --on sim: $no_sim"
[ -z "$no_lab" ] || echo "skipped: train --on run: $no_lab"
for more in "$s --clip 0.5" '--system zero1 --weight-scheme int8 --mode overlap --scheme fp32' \
    '--system zero1 --workers 3 --weight-differences --scheme int8:ef=1 --clip 0.1'; do
    q 0 $t $more --format json
    cp out local.json
    [ -n "$no_sim" ] || { q 0 $t $more --on sim --bw 1gbps --compute 2ms --format json && json "$same"; }
    [ -n "$no_lab" ] || { q 0 $t $more --on run --bw none --format json && json "$same"; }
done

# --- killed and resumed: each way goes on with the parts that the way before has gathered ---

k="train -q --net resnet8:width=2 --batch 4 --workers 4 --optimizer adamw --rate 0.01 --eval-every 100 --clip 1 $s"
q 0 $k --steps 250 --format json
cp out local.json
end_case
case='killed, then --resume' good=1
ways='--on local'
[ -n "$no_sim" ] || ways="$ways;--on sim --bw 1gbps --compute 2ms"
[ -n "$no_lab" ] || ways="$ways;--on run --bw none"
IFS=';'
for way in $ways; do
    unset IFS
    rm -rf kept
    "$program" $k --steps 250 $way --checkpoint kept --checkpoint-every 20 >killed 2>&1 &
    pid=$!
    until ls kept/*.safetensors >/dev/null 2>&1 || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill -9 $pid
    wait $pid 2>/dev/null
    [ ! -s killed ] || bad "$way: it was not killed in time"
    for next in '--on local' "$way"; do
        rm -rf again
        cp -r kept again
        q 0 $k --steps 250 $next --checkpoint again --resume --format json
        json "$same"
        json 'any(n.startswith("resumed: from step ") for n in d["notes"])'
    done
done
t 1 $k --steps 250 --weight-scheme int8 --checkpoint kept --resume
err "another training, with 'gather scheme int4:block=2048,rounding=nearest' and not 'gather scheme int8'"
finish
