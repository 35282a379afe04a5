#!/bin/sh
# Encodes small tensors under every scheme, and under variants of its parameters, and compares the
# values that `commcomp decode` and container_reader.py find in them. The latter is written from
# docs/container.md and docs/payloads.md alone.
#
#     COMMCOMP=build/bin/commcomp tests/container_reader.sh

commcomp=${COMMCOMP:-build/bin/commcomp}
reader=$(dirname "$0")/container_reader.py

if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3"
    echo "0 passed, 0 failed"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$work/log"
}

# check INPUT [encode's options]: the reader agrees with the decoder
check() {
    input=$1
    shift
    what="$* $(basename "$input")"
    rm -f "$work/a.cc" "$work/a.safetensors"
    if ! { "$commcomp" encode --force -q "$@" "$input" "$work/a.cc" &&
           "$commcomp" decode -q "$work/a.cc" "$work/a.safetensors"; } >"$work/log" 2>&1; then
        fail "$what"
        return
    fi
    python3 "$reader" --compare "$work/a.cc" "$work/a.safetensors" >"$work/log" 2>&1
    case $? in
        0) passed=$((passed + 1)) ;;
        77) echo "skipped: $what: $(cat "$work/log")" ;;
        *) fail "$what" ;;
    esac
}

# inputs: a synthetic trace, a mixture of shapes and edge cases, and the largest floats
if ! { "$commcomp" trace synth -q --values 5000 --steps 1 "$work/flat" &&
       "$commcomp" schemes --format csv -o "$work/schemes.csv" &&
       python3 - "$work"; } >"$work/log" 2>&1 <<'PYTHON'
import json, random, struct, sys

def write(name, tensors, metadata={}):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for key, (shape, values) in tensors.items():
        part = struct.pack("<%df" % len(values), *values)
        header[key] = {"dtype": "F32", "shape": shape,
                       "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open("%s/%s" % (sys.argv[1], name), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)

rng = random.Random(1)
gauss = lambda n, scale: [rng.gauss(0, scale) * (rng.random() < 0.8) for _ in range(n)]
write("mixed.safetensors", {
    "embedding": ([64, 48], gauss(3072, 0.01)), "conv": ([16, 8, 3, 3], gauss(1152, 0.1)),
    "wide": ([3, 700], gauss(2100, 0.02)), "bias": ([37], gauss(37, 1)),
    "sparse": ([40, 50], [x if rng.random() < 0.02 else 0.0 for x in gauss(2000, 0.1)]),
    "scalar": ([], [-0.75]), "none": ([0], []), "no rows": ([0, 5], []), "one": ([1], [2.5]),
    "zeros": ([30, 30], [0.0] * 900), "minus zeros": ([9], [-0.0] * 9),
    "ties": ([24, 25], [rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0]) for _ in range(600)]),
    "e4m3": ([3000], [rng.randint(-15, 15) * 2.0 ** rng.choice([-9, -8, -7, -6, -4]) for _ in range(3000)]),
    "e5m2": ([70, 90], [rng.choice([-7, -5, 1, 3]) * 2.0 ** rng.randint(-14, -3) for _ in range(6300)]),
    "bf16": ([3000], [rng.randint(-255, 255) * 2.0 ** rng.randint(-9, -5) for _ in range(3000)]),
    "tiny": ([31], gauss(31, 1e-30)), "subnormal": ([10, 10], gauss(100, 1e-40)),
    "d\u00e9j\u00e0 \"vu\"\\": ([2, 1, 3, 1, 2, 1, 1, 5], gauss(60, 1e-3))},
    {"step": "0", "na\u00efve \"key\"": "\u20ac\n", "empty": ""})
huge = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
write("huge.safetensors", {"huge": ([50], [huge, -huge] + gauss(48, 1e36))})
with open(sys.argv[1] + "/example.cc", "wb") as f:        # of docs/container.md
    f.write(bytes.fromhex("""
        43434f4d500d0a1a 01000000 01000000 0100000000000000 0000000000000000 0000000000000000
        00000000 03000000336c63 00000000 b71efdfe 0100000061 01000000 0500000000000000
        0500000000000000 0000803f61 f268af26"""))
PYTHON
then
    fail "making the inputs"
    echo "$passed passed, $failed failed"
    exit 1
fi
for file in "$work"/flat/*.safetensors; do
    flat=$file
done
mixed=$work/mixed.safetensors
schemes=$(tail -n +2 "$work/schemes.csv" | cut -d , -f 1 | uniq | tr '\n' ' ')

# the example of the documentation; and a difference that the reader must report
if "$commcomp" decode -q "$work/example.cc" "$work/example.safetensors" >"$work/log" 2>&1 &&
   python3 "$reader" --compare "$work/example.cc" "$work/example.safetensors" >>"$work/log" 2>&1
then
    passed=$((passed + 1))
else
    fail "the example of container.md"
fi
"$commcomp" encode --force -q --scheme fp16 "$mixed" "$work/a.cc" >"$work/log" 2>&1
if python3 "$reader" --compare "$work/a.cc" "$mixed" >"$work/log" 2>&1 || ! [ -s "$work/log" ]; then
    fail "a difference is not seen"
else
    passed=$((passed + 1))
fi

for scheme in $schemes; do
    for input in "$flat" "$mixed" "$work/huge.safetensors"; do
        case $scheme-$input in
            powersgd-*huge* | demo-*huge*) ;; # refuse such large values
            *) check "$input" --scheme "$scheme" ;;
        esac
    done
done

for scheme in \
    "fp8:format=e5m2" "fp8:block=32,rounding=random" "mxfp4:rounding=nearest" "fp4:format=e3m0" "fp4:format=e3m0,block=128,rounding=nearest" "int4:rounding=nearest" \
    "int8:ef=1" "ternary:zre=1" "ternary:clip=2.5" "ternary:clip=1,zre=1,ef=1" \
    "mqe1bit:block=100" "signsgd:block=100" "efsign:block=7" "mqe1bit:block=1,ef=0" \
    "sparse:index=u32" "sparse:select=exact,density=0.2" "sparse:density=1,index=u32" \
    "topk:k=4,bucket=64" "topk:k=1,bucket=1" "topk:k=100,bucket=65536,ef=0" \
    "chunktopk:k=500,index=rice" "chunktopk:ef=0,k=1" "demo:signs=1,index=rice" "demo:side=7,k=3" \
    "randk:ef=0" "randk:density=0.3" "randk:density=1" \
    "threshold:tau=0.001" "threshold:tau=1e-05,ef=0" "dgc:density=0.05" "dgc:warmup=10" \
    "3lc:s=1.75,zre=0" "3lc:s=1.9" "3lc:ef=0" "3lc:ef=bf16" \
    "qsgd:bits=8,bucket=64,norm=l2,code=elias" "qsgd:levels=3,bucket=0" \
    "qsgd:bits=2,bucket=7,norm=l2" "qsgd:bits=16,bucket=1000" "qsgd:levels=5,bucket=1" \
    "qsgd:levels=32767,code=elias" "qsgd:bits=2,bucket=0,norm=l2,code=elias" \
    "powersgd:rank=2" "powersgd:rank=1,ef=0" "powersgd:rank=1024" \
    "local:every=1,inner=topk" "local:every=1,inner=(local:every=1,inner=(randk:density=0.2))" \
    "exponent:coder=window" "exponent:type=fp32" \
    "zstd:level=-5" "zstd:level=19" "lz4:level=20" "zfp:tolerance=1e-06" "zfp:tolerance=0.5"
do
    case " $schemes" in
        *" ${scheme%%:*} "*) ;;
        *) echo "skipped: $scheme: not in this build"; continue ;;
    esac
    check "$mixed" --scheme "$scheme"
done

# values of 16 bits, of which the exponents are coded as such
for type in bf16 fp16; do
    if "$commcomp" encode --force -q --scheme $type "$mixed" "$work/a.cc" >"$work/log" 2>&1 &&
        "$commcomp" decode -q "$work/a.cc" "$work/$type.safetensors" >>"$work/log" 2>&1
    then
        for coder in cascade window; do
            check "$work/$type.safetensors" --scheme "exponent:coder=$coder"
        done
    else
        fail "values of $type"
    fi
done

for step in 0 1 2 3; do
    check "$mixed" --scheme "local:every=2,inner=(3lc:s=1.5)" --step $step
    check "$mixed" --scheme "local:every=2,inner=(local:every=4,inner=int8)" --step $step
done

# the inputs of random numbers, also above 32 bits
for options in "--seed 0" "--seed 9007199254740991" "--seed 4294967297 --step 5" \
    "--step 1000000007" "--step 1099511627777" "--worker 3" "--worker 2147483647" \
    "--direction pull" "--direction pull --worker 2 --step 7" "--direction push --worker -1"
do
    # shellcheck disable=SC2086
    check "$mixed" --scheme "randk:density=0.1" $options
    # shellcheck disable=SC2086
    check "$mixed" --scheme "local:every=1,inner=(randk:ef=0)" $options
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
