#!/bin/sh
# Every scheme gives the same bytes from every compiler and every instruction set: encodes two steps
# of a synthetic trace with each program named in COMMCOMP and COMMCOMP_OTHERS, under each value of
# COMMCOMP_ISA that the machine has, and compares the containers with the first.
set -u
COMMCOMP=${COMMCOMP:-build/bin/commcomp}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
passed=0
failed=0

"$COMMCOMP" trace synth "$dir/trace" --net resnet20 --steps 2 -q >/dev/null || exit 1
tensors="$dir/trace/push-step000001-rank0.safetensors"
variants="3lc:s=1.75,zre=0 ternary:zre=1 ternary:ef=1 int8:ef=1 mqe1bit:block=512 qsgd:norm=l2
qsgd:bits=8,code=elias,norm=l2 qsgd:bits=3,bucket=100 qsgd:bucket=0,levels=100 sparse:select=exact,index=u32
topk:k=4,bucket=64 randk:ef=0 threshold:tau=0.001 dgc:density=0.01 powersgd:rank=2
local:every=2,inner=(3lc:s=1.5)"
schemes=$("$COMMCOMP" schemes --format csv | tail -n +2 | cut -d, -f1 | uniq)
for scheme in $schemes $variants; do
    first=
    for program in "$COMMCOMP" ${COMMCOMP_OTHERS:-}; do
        for isa in scalar avx2 avx512; do
            COMMCOMP_ISA=$isa "$program" encode --scheme "$scheme" "$tensors" "$dir/out.cc" \
                >/dev/null 2>"$dir/err"
            if grep -q 'this machine has no' "$dir/err"; then
                [ "$scheme" != fp32 ] || echo "skipped: $isa, which this machine lacks"
                continue
            fi
            sum=$(cksum <"$dir/out.cc")
            first=${first:-$sum}
            if [ "$sum" = "$first" ]; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
                echo "$scheme: $program with $isa gives other bytes"
            fi
            rm -f "$dir/out.cc"
        done
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
