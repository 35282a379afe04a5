#!/bin/sh
# The answer of `advise` against all plans that `model` can express, over random settings.
. "$(dirname "$0")/../cli/lib.sh"

# Codecs as on a core: bits, and the time of a value in nanoseconds.
make_codecs() {
    "$program" schemes --format csv | tail -n +2 | cut -d, -f1 | sort -u | python3 -c '
import csv, json, sys
cost = {"fp32": (32, 0, 0.1, 0.15), "bf16": (16, .15, .15, .2), "fp16": (16, .15, .15, .2), "trunc16": (16, .15, .15, .2),
        "int8": (8, .25, .2, .25), "fp8": (8, .4, .3, .35), "int4": (4.5, .4, .3, .35), "qsgd": (4.06, .8, .4, .4),
        "powersgd": (0.3, 2, 1, 1), "3lc": (.6, .6, .4, .4)}
names = set(sys.stdin.read().split()) | {r["scheme"] for r in csv.DictReader(open(sys.argv[1]))}
point = lambda n: dict(zip(("bits_per_value", "encode_ns", "decode_ns", "decode_add_ns"), cost.get(n.split(":")[0], (3, 1, .6, .6))))
print(json.dumps({"schema": "commcomp-profile/1", "codecs": [{"scheme": n, "points": [{"values": 1000, **point(n)}]} for n in sorted(names)]}))
' "$tests/../cmd/input/evidence.csv" >profile.json
}
make_codecs
settings=100
[ "${COMMCOMP_TEST:-}" != quick ] || settings=20
[ "${COMMCOMP_TEST_EVERY:-0}" = 0 ] || settings=300
case="advise and model, $settings settings" good=1
: >out
python3 "$tests/witness/plans.py" "$program" $settings 31 >out 2>err || bad "$(tail -n 1 err)"
cat out
finish
