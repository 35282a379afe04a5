#!/bin/sh
# Trains the settings of cmd/input/evidence.csv and writes that file anew: tools/evidence.sh PROGRAM FASHION.
# FASHION is the folder of Fashion-MNIST (Debian: dataset-fashion-mnist). It takes about an hour on two cores.
set -eu
program=$1 fashion=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
schemes="fp32,fp16,int8,fp8,int4,mxfp4,qsgd:bits=8/4/2,natural,ternary,3lc:s=1/1.5/1.75/1.9,mqe1bit,efsign,signsgd,sparse,\
topk:k=16/5,randk:density=0.1/0.05,dgc:density=0.01/0.001,powersgd:rank=4/2/1,local:every=2/8,bf16,trunc16,randk,zfp"
perceptron="--net mlp:128 --min-size 200"
clothing="$perceptron --data $fashion --input 16x16 --workers 8 --rate 0.025 --steps 1000 --seeds 3"
digits="$perceptron --data digits --workers 4 --steps 375 --seeds 8"
transformer="--net transformer:width=32 --data digits --min-size 100 --optimizer adam --rate 0.003 --workers 4 --steps 600 --seeds 3"
convolutions="--net resnet8 --min-size 100 --workers 4 --steps 400 --seeds 3"
convolutions_clothing="--net resnet8 --min-size 100 --workers 4 --steps 400 --seeds 6 --data $fashion --input 16x16 --rate 0.1"

# train NAME OPTIONS: the settings of a kind in the order in which they are to be found.
train() {
    name=$1
    shift
    "$program" train -q "$@" --batch 32 --evaluations 1 --scheme "$schemes" -o "$work/$name.json" >/dev/null
}
train 1 $convolutions_clothing
train 2 $convolutions --data digits --rate 0.05
train 3 $transformer
train 4 $clothing
train 5 $clothing --exchange allgather
train 6 $digits --rate 0.1
train 7 $digits --rate 0.025
train 8 $digits --rate 0.1 --exchange allgather
train 9 $convolutions_clothing --exchange allgather
train a $transformer --exchange allgather
python3 "$root/tools/evidence.py" "$work"/*.json >"$root/cmd/input/evidence.csv"
