#!/bin/sh
# `commcomp train --system`: sharded states, in one process, under MPI and in simulations, with the same weights.
. "$(dirname "$0")/lib.sh"

t='train -q --net mlp:16 --steps 6 --eval-every 3 --batch 8 --optimizer adamw --rate 0.01'
s='--system sdp4bit --per-host 2 --scheme int4:block=128,hadamard=32'

# --- what is refused ---

t 2 $t --weight-scheme int8
err '--weight-scheme goes with --system fsdp, or another with sharded states'
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

t 2 $t --system fsdp --exchange ring
err '--system fsdp: by twoshot, where the owner of a part reduces and gathers it directly, not by --exchange ring'
t 2 $t --system hsdp
err 'give --per-host 2 or more, and workers of several hosts, or --system fsdp'
t 2 $t --system fsdp --fuse 1000
err '--fuse: --system fsdp gathers a layer at a time'
t 2 $t --system fsdp --stragglers gamma --bw 1gbps
err '--stragglers does not go with --system fsdp'
t 2 $t --system zero1 --keep-params
err '--keep-params goes with --system zero3, fsdp or hsdp'
t 2 $t --system fsdp --scheme fp32 --weight-scheme powersgd:ef=0
err 'it keeps a state, and with --system fsdp the same parameters are gathered several times'

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
# Parameters that are divided, too. Two workers have the weights of zero1, as a sum of two has one order, and so have
# two hosts of two; four add in another order, within rounding. They are gathered twice a step, once if they are kept.
f='train -q --net resnet8:width=2 --steps 4 --eval-every 2 --batch 4 --optimizer adamw --rate 0.01 --scheme fp32 --format json'
losses='[[r["loss"], r["loss_workers"], r["weights"]] for r in d["rows"]] == [[r["loss"], r["loss_workers"], r["weights"]] for r in json.load(open("zero1.json"))["rows"]]'
divided() { # SYSTEM's options, bits gathered of a value, workers
    q 0 $f --system zero1 $3
    cp out zero1.json
    q 0 $f --system $1 $3
    json "$losses"
    json "all(r['bits_push'] == 16 and r['bits_pull'] == $2 for r in d['rows'])"
}
divided fsdp 64 '--workers 2'
divided 'zero3 --keep-params' 32 '--workers 2'
divided hsdp 64 '--workers 4 --per-host 2'
q 0 $f --system fsdp
json 'all(0 < abs(a["loss"] - b["loss"]) < 1e-6 for a, b in zip(d["rows"], json.load(open("zero1.json"))["rows"]))'
json 'all(r["bits_push"] == 24 and r["exchange"] == "twoshot" for r in d["rows"])'
q 0 $f --system fsdp --bw 100mbps --compute 2ms
json 'all(r["step_s"] > 0.002 and r["comm_s"] > 0 for r in d["rows"])'

# --- the same weights everywhere ---

same='[[r[k] for k in ("step", "loss", "loss_workers", "train_loss", "bits_push", "bits_pull", "bytes", "weights")] for r in d["rows"]] == [[r[k] for k in ("step", "loss", "loss_workers", "train_loss", "bits_push", "bits_pull", "bytes", "weights")] for r in json.load(open("local.json"))["rows"]]'
no_sim=$(why_no_sim) no_lab=$(why_no_lab)
sanitized && no_lab=sanitized
command -v mpirun >/dev/null || no_lab='no mpirun'
[ -z "$no_sim" ] || echo "skipped: train --on sim: $no_sim"
[ -z "$no_lab" ] || echo "skipped: train --on run: $no_lab"
small='--net mlp:16 --batch 8' conv='--net resnet8:width=2 --batch 4' text='--net gpt:layers=2,width=16,heads=2,context=16 --batch 2'
t='train -q --steps 6 --eval-every 3 --optimizer adamw --rate 0.01'
for more in "$small $s --clip 0.5" "$small --system zero1 --weight-scheme int8 --mode overlap --scheme fp32" \
    "$small --system zero1 --workers 3 --weight-differences --scheme int8:ef=1 --clip 0.1" \
    "$conv --system fsdp --workers 3 --scheme int8:ef=1 --weight-scheme int8 --clip 0.1 --mode overlap" \
    "$text --system zero3 --workers 2 --scheme fp32" \
    "$conv --system hsdp --per-host 2 --scheme int8:ef=1 --weight-scheme int4 --weight-differences --clip 0.1"; do
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
