#!/bin/sh
# Simulations without data against those with it: the same steps to the nanosecond, and the same
# bytes. Arguments choose groups: ps, allgather, hops, near.
set -u
program=${COMMCOMP:-build/bin/commcomp}
for tool in smpicc smpirun python3; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "skipped: simulations without data; there is no $tool"
        exit 0
    fi
done
only=" $* "
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Codecs with fixed times, on any machine: microseconds for these few values.
fixed="fp32 int8 mqe1bit topk local randk powersgd 3lc:zre=0"
varied="3lc:s=1.75 sparse threshold:tau=0.02 local:inner=3lc zstd"
{
    echo '{"schema": "commcomp-profile/1", "trace": "made up", "cpu": "x", "isa": "scalar",'
    echo ' "time": "2026-01-31T12:00:00Z", "codecs": ['
    comma=
    for scheme in $fixed $varied; do
        echo "$comma"'{"scheme": "'"$scheme"'", "points": [{"values": 1000,'
        echo '"bits_per_value": 8, "encode_ns": 1.5, "decode_ns": 0.7, "decode_add_ns": 0.9}]}'
        comma=,
    done
    echo ']}'
} >"$dir/profile.json"

cat >"$dir/compare.py" <<'PYTHON'
import json, sys

near = float(sys.argv[1])
on, off = (json.load(open(f"{sys.argv[2]}/{d}.json"))["rows"] for d in ("on", "off"))
good = len(on) == len(off) > 0
for a, b in zip(on, off):
    where = " ".join(str(a[k]) for k in ("scheme", "exchange", "workers", "servers", "mode"))
    if not (a["data_moved"] is True and b["data_moved"] is False and a["scheme"] == b["scheme"]):
        print(f"{where}: not the same rows")
        good = False
    bad = []
    for key in ("payload_bytes", "bits_push", "bits_pull", "wire_bytes"):
        x, y = a[key], b[key]
        if x is not None and abs(x - y) > (near if near else 1e-12) * x:
            bad.append(f"{key} {x} and {y}")
    x, y = a["step_s"], b["step_s"]
    if not 0 < x or abs(x - y) > (near * x if near else 1e-9):
        bad.append(f"step_s {x:.12f} and {y:.12f}")
    if bad:
        print(f"{where}: with and without data: {'; '.join(bad)}")
        good = False
sys.exit(not good)
PYTHON

# same GROUP NEAR SCHEMES WORD...: compares the settings with data and without. Sizes may differ by the share NEAR.
same() {
    group=$1 near=$2 schemes=$3
    shift 3
    case "$only" in "  " | *" $group "*) ;; *) return ;; esac
    for data in on off; do
        timeout -k 5 200 "$program" sim -q --profile "$dir/profile.json" --net resnet20 \
            --compute 1ms --scheme "$schemes" --data $data --format json "$@" \
            >"$dir/$data.json" </dev/null || {
            echo "FAILED: sim --data $data $*"
            failed=1
            return
        }
    done
    python3 "$dir/compare.py" "$near" "$dir" || {
        echo "FAILED: sim without data: $*"
        failed=1
    }
}

list() {
    echo "$*" | tr ' ' ,
}

all=$(list $fixed $varied)
same ps 0 "$all" --exchange ps --workers 1,5
same ps 0 "3lc:s=1.75,fp32,local" --exchange ps --workers 4 --mode overlap --pulls forward
same ps 0 "3lc:s=1.75,fp32" --exchange ps --workers 3 --mode pipe --min-size 100
same ps 0 "3lc:s=1.75,sparse,fp32" --exchange ps --workers 4 --servers 3 --placement lpt
same ps 0 "$(list $fixed)" --exchange ps --workers 4 --servers 3
same allgather 0 "$all" --exchange allgather --workers 2,7
same allgather 0 "3lc:s=1.75" --exchange allgather --workers 6 --fidelity tc
same hops 0 "$(list $fixed)" --exchange ring,recdouble,rabenseifner --workers 2,6,8
same hops 0 "int8,fp32" --exchange recdouble,rabenseifner --workers 7 --fidelity tc
same hops 0 "3lc:s=1.75" --exchange ring,rabenseifner --workers 5 --via allgather
# Payloads that are encoded on their way and whose size depends on the data: the sizes of whole
# tensors replace those of their parts.
same near 0.25 "3lc:s=1.75,sparse,zstd" --exchange ring,recdouble,rabenseifner --workers 4,8 \
    --bw 10mbps
exit $failed
