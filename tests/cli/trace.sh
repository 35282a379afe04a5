#!/bin/sh
# `commcomp trace`: synth, info, convert.
. "$(dirname "$0")/lib.sh"

make_tensors
q 0 trace info net
expected info-net
q 0 trace info --per-tensor five.csv
expected info-five
q 0 encode --scheme int8 --payload x.npy x.payload

t 1 trace synth net
err 'net is not empty'
left 'net*' 'net '
t 1 trace synth x.npy
err 'x.npy'
mkdir empty
q 0 trace synth empty/ --values 100 --steps 2 --synthetic laplace
left 'empty*' 'empty '
[ "$(ls empty | wc -l)" = 2 ] || bad "2 files"
t 2 trace synth other --synthetic laplac
err "did you mean 'laplace'?"
t 2 trace synth other --net resnet1100
err 'resnet110'
t 2 trace synth other --net resnet20 --values 5
err 'exclude each other'
t 2 trace synth other --values 0
err '--values'
t 2 trace synth other --values 10Mfoo
err '--values'
t 2 trace synth other --steps 0
err '--steps'
no_file other
q 0 trace synth a --values 1000 --seed 5
q 0 trace synth b --values 1000 --seed 5
diff -r a b >/dev/null || bad "the same seed, other values"
q 0 trace synth c --values 1000 --seed 6
! diff -r a c >/dev/null || bad "another seed, the same values"
q 0 trace info net --format json
json '[r["stream"] for r in d["rows"]] == ["push 0", "push 1", "pull"]'
json 'all(r["steps"] == 3 and r["tensors"] == 59 and r["values"] == 269722 for r in d["rows"])'
q 0 trace info --per-tensor five.csv --format json
json 'd["rows"][0]["max_abs"] == 1 and d["rows"][0]["zero_fraction"] == 0.2'
json 'abs(d["rows"][0]["rms"] - (1.49 / 5) ** 0.5) < 1e-6'
q 0 trace info --per-tensor nan.npy --format json
json 'd["rows"][0]["nonfinite"] == 1 and d["rows"][0]["max_abs"] == 4'
t 1 trace info missing
err 'missing'
t 1 trace info x.payload
err 'x.payload'
head -c 100 "$step" >cut.safetensors
t 1 trace info cut.safetensors
err 'cut.safetensors'
q 0 trace convert x.npy y.csv
q 0 trace convert y.csv y.safetensors
q 0 trace convert y.safetensors y.npy
same x.npy y.npy
# Files of 16 bits say so, and give the values that float32 rounds to.
q 0 trace synth bf --values 500 --steps 1 --dtype bf16
q 0 trace synth wide --values 500 --steps 1
q 0 trace info bf --format json
json 'd["rows"][0]["dtype"] == "bf16"'
q 0 trace info --per-tensor wide --format json
json 'd["rows"][0]["dtype"] == "fp32"'
one=push-step000000-rank0.safetensors
q 0 trace convert bf/$one bf.csv
q 0 trace convert --dtype bf16 wide/$one rounded.csv
same bf.csv rounded.csv
q 0 trace convert --dtype fp16 bf/$one bf.npy
q 0 trace info bf.npy --format json
json 'd["rows"][0]["dtype"] == "fp16"'
size bf.npy 1128
# Compressed: smaller, read by all commands, with values, types and metadata as they were.
q 0 trace convert --compress bf bf.small
left 'bf.small/*' "bf.small/push-step000000-rank0.cc "
q 0 trace info bf.small --format json
json 'd["rows"][0]["dtype"] == "bf16" and d["rows"][0]["values"] == 500'
q 0 trace convert --dtype bf16 bf.small bf.back
same bf/$one bf.back/$one
[ "$(stat -c %s bf.small/*)" -lt "$(stat -c %s bf/$one)" ] || bad "a compressed trace is larger"
q 0 trace convert --compress net net.small
q 0 trace convert net.small net.back
diff -r net net.back || bad "a trace that was compressed is another one"
q 0 bench -q --trace net --scheme int8,3lc --no-speed --format csv
sed 's/,net,/,net.small,/' out >want
q 0 bench -q --trace net.small --scheme int8,3lc --no-speed --format csv
cmp -s out want || bad "bench of a compressed trace"
q 0 trace convert --compress x.npy x.cc
q 0 decode x.cc x.back.npy
same x.npy x.back.npy
q 0 trace convert x.cc x.again.safetensors
"$program" trace info - --format csv <x.cc | grep -q ',5000,fp32,' || bad "a compressed trace by a pipe"
t 2 trace convert --compress x.npy y.npy
err 'y.npy: with --compress a file.s name ends with .cc'
t 2 trace convert x.npy y.cc
err 'y.cc: .cc files are written by .commcomp encode'
q 0 trace convert --compress nan.npy nan.cc
q 0 decode nan.cc nan.back.npy
same nan.npy nan.back.npy
head -c 1000 x.cc >cut.cc
t 1 trace info cut.cc
err 'cut.cc: '
python3 - <<'END'
b = bytearray(open("x.cc", "rb").read())
b[-100] ^= 1
open("bad.cc", "wb").write(b)
END
t 1 trace info bad.cc
err 'bad.cc: .*checksum'
python3 - <<'END' || bad "bf16 is not the nearest"
import struct
def values(path, form):
    b = open(path, "rb").read()
    return struct.unpack("<500%s" % form, b[8 + struct.unpack("<Q", b[:8])[0]:])
one = "push-step000000-rank0.safetensors"
for half, x in zip(values("bf/" + one, "H"), values("wide/" + one, "f")):
    near = [struct.unpack("<f", struct.pack("<I", (half + d) << 16))[0] for d in (-1, 0, 1)]
    assert abs(near[1] - x) <= min(abs(near[0] - x), abs(near[2] - x)), (half, x)
END
q 0 trace convert net net2
diff -r net net2 >/dev/null || bad "net and net2 differ"
q 0 trace convert "$step" step.safetensors
same "$step" step.safetensors
t 1 trace convert net net2
err 'net2 is not empty'
t 2 trace convert "$step" z.npy
err 'holds one tensor'
t 2 trace convert x.npy x.xyz
err '\.safetensors'
t 2 trace convert x.npy link.npy
err 'are the same file'
left '*.tmp*' ''

# --- the same gradients on all ranks, and values that are not finite ---
python3 - <<'P'
import json, os, random, struct
def save(path, tensors):
    header, data = {}, b''
    for name, values in tensors.items():
        raw = struct.pack('<%df' % len(values), *values)
        header[name] = {'dtype': 'F32', 'shape': [len(values)], 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'wb').write(struct.pack('<Q', len(text)) + text + data)
random.seed(1)
for step in range(6):
    mean = [random.gauss(0, 1) for _ in range(100)]
    for rank in range(3):
        own = [x + random.gauss(0, 1) for x in mean]
        name = '/push-step%06d-rank%d.safetensors' % (step, rank)
        save('averaged' + name, {'zero': [0] * 9, 'w': mean})
        save('own' + name, {'zero': [0] * 9, 'w': own})
        save('some' + name, {'zero': [0] * 9, 'w': mean if rank == 2 or rank == 0 else own})
        if (step, rank) == (2, 1):
            own[5] = float('nan')
        if (step, rank) == (4, 0):
            own[99] = float('-inf')
        save('overflow' + name, {'zero': [0] * 9, 'w': own})
        save('hopeless' + name, {'zero': [0] * 9, 'w': [float('inf')]})
        if rank == 0: # all zeros tell nothing
            save('nothing' + name, {'w': [0] * 9})
            save('nothing' + name.replace('rank0', 'rank1'), {'w': [0] * 9})
P
q 0 trace info averaged
out '^the gradients of 2 other workers are bit for bit those of push 0: they were captured after averaging'
q 0 trace info some
out '^the gradients of 1 other worker are'
for trace in own nothing overflow net; do
    q 0 trace info $trace
    if grep -q 'bit for bit' out; then bad "the ranks of $trace differ"; fi
done
q 0 bench --trace averaged --scheme int8 --no-speed
out 'captured after averaging'
t 1 bench --trace overflow --scheme int8 --no-speed --stream push
err 'step 4, int8: tensor .w.: the value at index 99 is infinite'
q 0 bench --trace overflow --scheme int8 --no-speed --stream push --skip-nonfinite --format json
json 'len(d["rows"]) == 3 and all(r["steps"] == 4 and r["skipped_steps"] == 2 for r in d["rows"])'
json '"2 steps with values that are not finite are skipped: 2, 4" in d["notes"]'
cp out skipped.json
mkdir clean
cp overflow/*step00000[0135]* clean
q 0 bench --trace clean --scheme int8 --no-speed --stream push --format json
python3 - <<'P' || bad 'other steps were skipped'
import json, sys
a, b = (json.load(open(f))['rows'] for f in ('skipped.json', 'out'))
sys.exit(any(x['nmse'] != y['nmse'] or x['payload_bytes'] != y['payload_bytes'] for x, y in zip(a, b)))
P
q 0 bench --trace own --scheme int8 --no-speed --skip-nonfinite
out 'skipped 0$'
t 1 bench --trace hopeless --scheme int8 --no-speed --skip-nonfinite
err 'hopeless: no step is left without values that are not finite'
q 0 bench --trace own --stream all --scheme 3lc --no-speed
[ "$(grep -c 'the error still changed' out)" -le 1 ] || bad 'a note is repeated for each stream'
for command in bench model 'sim --dry-run' 'run --dry-run' 'validate --dry-run'; do
    t 2 $command --skip-nonfinite
    err 'is for the steps of --trace'
done
t 2 run --bw none --skip-nonfinite
err '--skip-nonfinite is of training steps'

# The others count them, too, and have the same rows as without these steps.
same_rows() {
    python3 - "$@" <<'P'
import json, sys
a, b = (json.load(open(f))['rows'] for f in ('skipped.json', 'out'))
sys.exit(any(x['skipped_steps'] != 2 or y['skipped_steps'] is not None or
             any(x[k] != y[k] for k in sys.argv[1:]) for x, y in zip(a, b, strict=True)))
P
}
make_run_profile
of='--profile run.json --workers 3 --bw 100mbps --scheme fp32,3lc:s=1.5 --format json'
t 1 model -q --trace overflow $of
err 'overflow, push 0, step 4, fp32: tensor .w.: the value at index 99 is infinite'
q 0 model -q --trace overflow --skip-nonfinite $of
cp out skipped.json
q 0 model -q --trace clean $of
same_rows bits_per_value error || bad 'model skips other steps'
q 0 validate -q --dry-run --trace overflow --skip-nonfinite $of
json 'all(r["skipped_steps"] == 2 for r in d["rows"])'
missing=$(why_no_sim)
if [ -n "$missing" ]; then
    echo "skipped: steps that sim leaves out: $missing"
else
    # Also in steps that are not taken, and of other workers than the first, whose sizes are measured.
    mkdir second
    cp clean/* second
    cp overflow/*step000002* second
    for steps in 1 9; do
        t 1 sim -q --trace second --steps $steps $of
        err 'second, push 1, step 2, tensor .w.: the value at index 5 is NaN; --skip-nonfinite'
    done
    t 1 sim -q --trace second --data off --steps 1 $of
    err 'second, push 1, step 2, tensor .w.: the value at index 5 is NaN'
    q 0 sim -q --trace clean --steps 1 --warmup 1 $of
    json 'any(n.startswith("gradients: clean, the first 2 of its 4 steps") for n in d["notes"])'
    t 1 sim -q --trace overflow --steps 12 $of
    err 'overflow, push 0, step 4, fp32: tensor .w.: the value at index 99 is infinite'
    for data in on off; do
        q 0 sim -q --data $data --trace overflow --skip-nonfinite --steps 9 $of
        cp out skipped.json
        q 0 sim -q --data $data --trace clean --steps 9 $of
        same_rows payload_bytes step_s || bad "sim --data $data skips other steps"
    done
fi
missing=$(why_no_lab)
if [ -n "$missing" ]; then
    echo "skipped: steps that run leaves out: $missing"
else
    q 0 run -q --trace overflow --skip-nonfinite --steps 9 --warmup 0 $of
    cp out skipped.json
    q 0 run -q --trace clean --steps 9 --warmup 0 $of
    same_rows payload_bytes || bad 'run skips other steps'
fi

finish
