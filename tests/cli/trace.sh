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

finish
