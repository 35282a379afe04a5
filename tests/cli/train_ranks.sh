#!/bin/sh
# `commcomp train` with ranks: under MPI and in simulations the same training as in one process, bit
# for bit. COMMCOMP_TEST_ALL=1 goes through all exchanges and schemes, with a residual net and 50
# steps, in some ten minutes.
. "$(dirname "$0")/lib.sh"

command -v mpirun >/dev/null && command -v smpirun >/dev/null || {
    echo 'skipped: mpirun and smpirun are needed'
    exit 0
}

if [ -n "${COMMCOMP_TEST_ALL:-}" ]; then
    t="train -q --net resnet8 --steps 50 --eval-every 25 --batch 8 --rate 0.01"
    pairs=fp32,topk,powersgd
    all=fp32,int8,3lc,qsgd,topk,powersgd
    cases="ps:$all ring:$all recdouble:$all rabenseifner:$all allgather:$all ssar-recdouble:$pairs
        ssar-split:$pairs ssar-rabenseifner:$pairs dsar-split:$pairs"
else
    t="train -q --net mlp:16 --steps 5 --eval-every 3 --batch 8"
    cases="ps:3lc,local ring:fp32,powersgd ssar-split:topk"
fi
run='--on run --bw none' sim='--on sim --bw 1gbps --compute 2ms'

# The evaluations and sizes are those of local.json.
same='[[r[k] for k in ("scheme", "kind", "seed", "step", "loss", "accuracy", "accuracy_workers", "loss_workers", "train_loss", "train_accuracy", "payload_bytes", "bits_push", "bits_pull", "bytes", "weights")] for r in d["rows"]] == [[r[k] for k in ("scheme", "kind", "seed", "step", "loss", "accuracy", "accuracy_workers", "loss_workers", "train_loss", "train_accuracy", "payload_bytes", "bits_push", "bits_pull", "bytes", "weights")] for r in json.load(open("local.json"))["rows"]]'

# The checkpoints in two folders have the same arrays; only one process measures a residual.
cat >checkpoints.py <<'P'
import glob, json, os, struct, sys
def arrays(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    head = json.loads(b[8:8 + n])
    texts = head.pop("__metadata__")
    of = {k: b[8 + n:][slice(*v["data_offsets"])] for k, v in head.items() if k != "unsent"}
    return of, texts["settings"], texts["step"]
names = sorted(os.path.basename(p) for p in glob.glob(sys.argv[1] + "/*"))
assert names and all(n.endswith(".safetensors") for n in names), names
for n in names:
    a, b = arrays(sys.argv[1] + "/" + n), arrays(sys.argv[2] + "/" + n)
    assert a[1:] == b[1:], n
    assert len(a[0]) > 4 and a[0].keys() == b[0].keys(), n
    assert [k for k in a[0] if a[0][k] != b[0][k]] == [], n
P
same_files() {
    python3 checkpoints.py local-kept kept || bad "the checkpoints of --on $1 differ from those of --on local"
    diff -r local-captured captured || bad "the trace of --on $1 differs from that of --on local"
    rm -r kept captured
}

for c in $cases; do
    for mode in sequential overlap; do
        [ -z "${COMMCOMP_TEST_ALL:-}" ] || [ $mode = sequential ] || continue
        rm -rf local-kept local-captured
        q 0 $t --exchange ${c%:*} --scheme ${c#*:} --mode $mode --workers 3 --checkpoint local-kept --capture local-captured --capture-steps 1:4 --format json
        json 'all(r["weights"] is not None for r in d["rows"] if r["kind"] == "eval" and r["step"] in (5, 50))'
        [ -z "${COMMCOMP_TEST_ALL:-}" ] || printf '%s\n' "${c%:*}: $(python3 -c 'import json; print(*["%s %s" % (r["scheme"], r["weights"]) for r in json.load(open("out"))["rows"] if r["weights"]])')"
        cp out local.json
        q 0 $t --exchange ${c%:*} --scheme ${c#*:} --mode $mode --workers 3 $run --checkpoint kept --checkpoint-every 2 --capture captured --capture-steps 1:4 --format json
        json "$same"
        same_files run
        json 'all(r["clock"] == "run" and r["time_s"] > 0 and r["step_s"] > 0 and r["bw_bps"] is None for r in d["rows"])'
        q 0 $t --exchange ${c%:*} --scheme ${c#*:} --mode $mode --workers 3 $sim --checkpoint kept --checkpoint-every 2 --capture captured --capture-steps 1:4 --format json
        json "$same"
        same_files sim
        json 'all(r["clock"] == "sim" and r["bw_bps"] == 1e9 for r in d["rows"])'
        json 'all(r["step_s"] > 0.002 - 1e-9 for r in d["rows"] if r["scheme"] != "local" or r["kind"] == "summary")'
        json 'any(r["sim_memory_bytes"] and r["sim_memory_bytes"] > 1e7 for r in d["rows"])'
    done
done

# Several servers, which cut tensors; a quantized second stage; an exchange that is chosen by the link.
for more in '--servers 2 --scheme 3lc' '--exchange dsar-split --dense-bits 4 --scheme topk' \
    '--exchange ssar-auto --scheme topk' '--servers 2 --placement lpt --fuse 1000 --mode overlap --scheme 3lc' \
    '--exchange ring --fuse 5000 --stragglers gamma --scheme 3lc'; do
    q 0 $t --workers 3 --bw 1gbps --compute 2ms $more --format json
    cp out local.json
    q 0 $t --workers 3 --bw 1gbps --compute 2ms $more --on sim --format json
    json "$same"
done

# Rings inside and between hosts, in chunks, which encode other blocks than the whole: the ranks of a run
# do it as the process alone.
h='--workers 9 --per-host 3 --exchange hierarchical --scheme int8'
for how in '' '--inner-exchange ring' '--outer-exchange ring' '--chunks 3'; do
    q 0 $t $h $how --format json
    grep '"weights":.*crc32' out
done | sort -u >weights
[ "$(wc -l <weights)" = 4 ] || bad 'rings or chunks do not change the weights'
q 0 $t $h --inner-exchange ring --chunks 3 --format json
json 'all((r["inner_exchange"], r["outer_exchange"], r["chunks"]) == ("ring", "twoshot", 3) for r in d["rows"])'
cp out local.json
q 0 $t $h --inner-exchange ring --chunks 3 $run --format json
json "$same"
t 2 $t --exchange tree --chunks auto
err '--chunks auto: schemes encode each chunk by itself'
t 2 $t --exchange ring --outer-exchange ring
err '--outer-exchange is for hierarchical, not for ring'
t 2 $t --exchange twoshot --system zero1 --chunks 2
err '--chunks: with --system zero1 each owner has one piece'

# --- killed and resumed ---

# Batch normalization, Adam, and two servers with parts of its state; killed between two evaluations,
# and resumed in each way in turn, with what the way before has done.
k='train -q --net resnet8:width=2 --batch 4 --workers 2 --servers 2 --scheme 3lc --optimizer adam --rate 0.01 --eval-every 100'
q 0 $k --steps 250 --format json
cp out local.json
end_case
case='killed ranks, then --resume' good=1
kill_trainings "$k --steps 250 --checkpoint-every 20" "$run" "$sim" '--on local'
q 0 $k --steps 250 $run --checkpoint killed --checkpoint-every 20 --resume --format json
json "$same"
json 'any(n.startswith("resumed: from step ") for n in d["notes"])'
json 'any(n.startswith("resumed: times until a checkpoint are those of the call that wrote it") for n in d["notes"])'
# A complete one is only read.
q 0 $k --steps 250 $sim --checkpoint killed --checkpoint-every 20 --resume --format json
json "$same"
t 1 $k --steps 250 --warmup 3 $run --checkpoint killed --resume
err "another training, with 'warmup 25' and not 'warmup 3'"

# --- time ---

# Simulated links and computing: fp32 over 1 Mbit/s, four pushes and four pulls of 4 bytes a value.
q 0 $t --on sim --bw 1mbps --latency 0 --overhead none --compute 20ms --scheme fp32 --format json
json 'all(abs(r["compute_s"] - 0.02) < 1e-4 for r in d["rows"])'
json 'all(abs(r["step_s"] - 0.02 - 2 * 4 * 32 * r["values"] / 1e6) < 0.05 * r["step_s"] for r in d["rows"])'
json 'any("on the simulated clock, with codec times as measured in the simulation and --compute 20 ms" in n for n in d["notes"])'

# Each of several links has a training, all with the same weights.
q 0 $t --on sim --bw 1mbps,2mbps --latency 0 --overhead none --compute 20ms --scheme fp32,3lc --format json
json '{(r["scheme"], r["weights"]) for r in d["rows"] if r["weights"]}.__len__() == 2'
json '[r["bw_bps"] for r in d["rows"]] == [1e6] * 6 + [2e6] * 6'
json 'all(abs((a["step_s"] - 0.02) / (b["step_s"] - 0.02) - 2) < 0.1 for a, b in zip(d["rows"], d["rows"][6:]) if a["scheme"] == "fp32")'
json 'all(r["accuracy"] == s["accuracy"] for r, s in zip(d["rows"], d["rows"][6:]))'
for file in checkpoint capture; do
    t 2 $t --on sim --bw 1mbps,2mbps --$file several
    err "--$file with --on sim is of one training, and each link has one"
done
# Codec times of a profile: the simulated times are the same in every call. int8 takes a worker 1 ns a
# value to encode and 2 to decode, and the server 3 to add each of four pushes, and 1 to encode; the
# three small tensors take as long as 1000 values, the fewest that the profile has.
make_profile
for i in 1 2; do
    q 0 $t --on sim --bw 10mbps --compute 2ms --codec-time profile --profile profile.json --scheme fp32,int8 --format json
    python3 -c 'import json; print([r["time_s"] for r in json.load(open("out"))["rows"]])' >times$i
done
cmp times1 times2 || bad "times differ from call to call with --codec-time profile"
json 'all(abs(r["codec_s"] - (1 + 4 * 3 + 1 + 2) * 1e-9 * (1024 + 3 * 1000)) < 1e-3 * r["codec_s"] for r in d["rows"] if r["scheme"] == "int8")'
json 'any("profile and --compute 2 ms" in n for n in d["notes"])'
# Stragglers: a step waits for the slowest of 8 workers, whose times are uniform between 5 and 15 ms:
# 13.9 ms in the mean.
q 0 train -q --net mlp:16 --steps 100 --batch 8 --workers 8 --on sim --bw 1gbps --compute 10ms --codec-time profile --profile profile.json --stragglers uniform --spread 0.2887 --scheme fp32 --format json
json '[0.0133 < r["step_s"] < 0.0152 for r in d["rows"] if r["kind"] == "summary"] == [True]'
t 2 $t --on sim --stragglers uniform
err '--stragglers with --on sim vary the time of --compute'
t 2 $t --stragglers gamma
err '--stragglers goes with --bw'
t 2 $t --spread 0.1
err '--spread goes with --stragglers'
t 2 $t --placement lpt
err '--placement goes with --servers 2 or more'
t 2 $t --on sim --codec-time profile
err '--codec-time profile goes with --compute TIME'
t 2 $t --codec-time profile
err '--codec-time goes with --on sim'
t 2 $t --on sim --profile profile.json
err '--profile goes with --codec-time profile'

# More busy ranks than cores.
cores=$(nproc)
q 0 $t $run --workers 1 --scheme fp32 --format json
json 'not any(n.startswith("oversubscribed") for n in d["notes"])'
[ "$cores" -gt 8 ] || {
    q 0 $t $run --workers $((cores + 1)) --scheme fp32 --format json
    json "any(n.startswith('oversubscribed: $((cores + 1)) busy ranks share $cores cores; codec and compute times') for n in d['notes'])"
}

# --- divergence and refusals ---

q 0 train -q --net mlp:16 --steps 20 --batch 8 --workers 2 $run --scheme fp32,3lc --rate 1000 --momentum 0.99 --warmup 0 --format json
json '[r["diverged"] for r in d["rows"]] == [1] * 4 and all(r["accuracy"] is None for r in d["rows"])'
json 'any("diverged in step 2: a loss of" in n for n in d["notes"])'
t 2 $t --hosts a,b
err '--hosts goes with --on run'
t 2 $t --topology torus
err '--topology goes with --on sim'
for place in '--on run --bw none' '--on sim'; do
    t 2 $t $place --threads 2
    err '--threads goes with --on local'
done
for of in '--latency 1ms' '--overhead none' '--message-cost 1ms' '--limit 10k' --lab; do
    t 2 $t --on run --bw none $of
    err "${of%% *} is of a network's links, which --bw none does without"
done
for of in '--overhead none' '--message-cost 1ms'; do
    t 2 $t --on run --bw 1mbps $of
    err "${of%% *} is of formulas and simulations"
done
t 1 $t --on sim --topology torus --torus 2x2
err '4 workers and 1 server need 5'
t 2 $t --mode pip
err "did you mean\|sequential"

# --- a rank that ends ---

cat >rank.sh <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-0}" = 1 ] && (sleep 1; kill -9 $$) &
exec "$COMMCOMP_RANK_REAL" "$@"
END
chmod +x rank.sh
COMMCOMP_RANK_REAL=$(dirname "$program")/commcomp-rank
COMMCOMP_RANK=$dir/rank.sh
export COMMCOMP_RANK_REAL COMMCOMP_RANK
t 1 train -q --net mlp:16 --steps 100000 --batch 8 --workers 2 --exchange ring --scheme fp32 $run
err 'rank 1'
unset COMMCOMP_RANK

# --- Ctrl-C keeps the curve ---

end_case
case='train --on run, interrupted' good=1
timeout --foreground -s INT 5 "$program" train -q --net mlp:16 --steps 1000000 --eval-every 50 --batch 8 --workers 2 --scheme fp32 $run --format json >out 2>err </dev/null
err 'interrupted'
json 'len(d["rows"]) >= 1 and d["rows"][0]["step"] == 50 and d["rows"][0]["weights"] is None and d["partial"]'

document out

finish
