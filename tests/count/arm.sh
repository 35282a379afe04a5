#!/bin/sh
# Prints, as a table in Markdown, how many aarch64 instructions a value each scheme takes, in scalar code
# and with NEON, as counted by qemu in tensors of 2^18 values: `make count-arm`.
#
#   arm.sh RUN PLUGIN PROGRAM     RUN: qemu and its options
set -u
out=$(mktemp)
trap 'rm -f "$out"' EXIT INT TERM
# shellcheck disable=SC2086 # RUN is a command with arguments
if ! $1 -plugin "$2" "$3" 262144 fp32 fp16 bf16 int8 int8:ef=1 natural qsgd qsgd:bits=8 qsgd:code=elias ternary \
    3lc 3lc:s=1.75 mqe1bit signsgd sparse topk randk threshold dgc powersgd fp8 mxfp4 int4 2>"$out"; then
    cat "$out" >&2
    exit 1
fi
awk '
    NF == 4 { scheme = $1; isa = $2; what = $3; values = $4; first = 1; next }
    first { before = $1; first = 0; next }
    {
        per[scheme, isa, what] = ($1 - before) / values
        if (!(scheme in seen)) { seen[scheme] = 1; name[++count] = scheme }
    }
    END {
        split("encode decode add", whats, " ")
        print "| scheme | encode: scalar | NEON | decode: scalar | NEON | add: scalar | NEON |"
        print "|---|---|---|---|---|---|---|"
        for (i = 1; i <= count; i++) {
            line = "| `" name[i] "` |"
            for (w = 1; w <= 3; w++)
                line = line sprintf(" %.1f | %.1f |", per[name[i], "scalar", whats[w]],
                                    per[name[i], "neon", whats[w]])
            print line
        }
    }' "$out"
