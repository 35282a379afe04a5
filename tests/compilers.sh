#!/bin/sh
# Every scheme gives the same results from every compiler and every instruction set: each program
# named in COMMCOMP and COMMCOMP_OTHERS, under each value of COMMCOMP_ISA that the machine has,
# - encodes one step of a synthetic trace: the containers must be equal byte for byte;
# - benches three steps of one, residuals carried from step to step: the rows of sizes and errors
#   must be equal to the last digit. COMMCOMP_TEST=quick leaves these out.
# An instruction set that the machine lacks is skipped with a message; any other failure counts.
set -u
COMMCOMP=${COMMCOMP:-build/bin/commcomp}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
passed=0
failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    sed 's/^/    /' "$dir/err" | head -n 5
}

# The instruction sets that each program finds, as lines PROGRAM ISA.
for program in "$COMMCOMP" ${COMMCOMP_OTHERS:-}; do
    for isa in scalar avx2 avx512 neon; do
        if COMMCOMP_ISA=$isa "$program" schemes >"$dir/out" 2>"$dir/err"; then
            echo "$program $isa" >>"$dir/sets"
        elif ! grep -q 'this machine has no' "$dir/err"; then
            fail "$program with $isa"
        elif ! grep -q -e 'no neon; its best is avx' -e 'no avx.*its best is neon' "$dir/err"; then
            echo "skipped: $program with $isa, which this machine lacks"
        fi
    done
done

# compare WHAT: compares $dir/out with the first output of WHAT.
compare() {
    if ! [ -s "$dir/out" ]; then
        fail "$1: no output"
    elif ! [ -e "$dir/first" ]; then
        mv "$dir/out" "$dir/first" || exit 1
        passed=$((passed + 1))
    elif cmp -s "$dir/out" "$dir/first"; then
        passed=$((passed + 1))
    else
        diff "$dir/out" "$dir/first" >"$dir/err" 2>&1
        fail "$1 differs from the first"
    fi
}

# for_each FUNCTION ARGUMENT: calls FUNCTION PROGRAM ISA ARGUMENT for each program and instruction
# set.
for_each() {
    rm -f "$dir/first"
    while read -r program isa <&3; do
        rm -f "$dir/out" "$dir/err"
        "$1" "$program" "$isa" "$2"
    done 3<"$dir/sets"
}

encode() {
    if COMMCOMP_ISA=$2 "$1" encode --force --scheme "$3" "$tensors" "$dir/out" >/dev/null 2>"$dir/err"; then
        compare "$3: $1 with $2"
    else
        fail "$3: $1 with $2: encode exits $?"
    fi
}

# The document without the fields that differ between programs and runs; one row a line.
rows='
import json, sys
d = json.load(sys.stdin)
assert d["rows"] and "error" not in d
for r in d["rows"]:
    print(json.dumps(r))'

bench() {
    if COMMCOMP_ISA=$2 "$1" bench -q --scheme "$3" --net resnet20 --steps 3 --no-speed \
        --format json >"$dir/json" 2>"$dir/err" &&
        python3 -c "$rows" <"$dir/json" >"$dir/out" 2>>"$dir/err"; then
        compare "bench $3: $1 with $2"
    else
        fail "bench $3: $1 with $2 exits $?"
    fi
}

"$COMMCOMP" trace synth "$dir/trace" --net resnet20 --steps 2 -q >/dev/null || exit 1
tensors="$dir/trace/push-step000001-rank0.safetensors"
variants="3lc:s=1.75,zre=0 ternary:zre=1 ternary:ef=1 int8:ef=1 mqe1bit:block=512 qsgd:norm=l2
qsgd:bits=8,code=elias,norm=l2 qsgd:bits=3,bucket=100 qsgd:bucket=0,levels=100 sparse:select=exact,index=u32
topk:k=4,bucket=64 randk:ef=0 threshold:tau=0.001 dgc:density=0.01 powersgd:rank=2
local:every=2,inner=(3lc:s=1.5)"
schemes=$("$COMMCOMP" schemes --format csv | tail -n +2 | cut -d, -f1 | uniq)
for scheme in $schemes $variants; do
    for_each encode "$scheme"
done
if [ "${COMMCOMP_TEST:-}" = quick ]; then
    : # containers are enough to tell that the bytes are the same
elif command -v python3 >/dev/null; then
    for_each bench all
    for_each bench "$(echo $variants | tr ' ' ,)"
else
    echo "skipped: the benches are not compared, there is no python3"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
