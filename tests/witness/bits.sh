#!/bin/sh
# The sizes that `bench` prints, against the files that `encode --payload` writes: every scheme, with the settings
# of the unit tests, on a matrix, a vector and a single value, in the first steps, when residuals are empty.
. "$(dirname "$0")/../cli/lib.sh"

sed -n '/^const char \*const settings/,/^};/s/^ *"\(.*\)",$/\1/p' "$tests/lib/settings.c" >settings
case='every scheme has a setting' good=1
: >out
"$program" schemes --format csv | tail -n +2 | cut -d, -f1 | sort -u >schemes
cut -d: -f1 settings | sort -u | comm -23 schemes - >err
[ ! -s err ] || bad "none of $(cat err)"

python3 - <<'P' # values of 1/8: floats of few digits, some of them equal, most of them small
import random, struct
random.seed(7)
for name, shape in (("matrix", (60, 70)), ("vector", (3001,)), ("value", (1,))):
    n = shape[0] * (shape[1] if len(shape) > 1 else 1)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    x = [round(random.gauss(0, 1) ** 3 * 4) / 8 for _ in range(n)]
    open(name + ".npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                                    struct.pack("<%df" % n, *x))
P
cat >files.py <<'P'
"""files.py PROGRAM NAME: encodes NAME.npy with every setting, and compares the rows of `bench` with the files."""
import json, os, subprocess, sys
program, name = sys.argv[1:]
values = {"matrix": 4200, "vector": 3001, "value": 1}[name]
wrong, compared = [], 0

def near(is_, want):
    return is_ == want or (is_ is not None and want and abs(is_ / want - 1) < 1e-12)
def ratio(size):
    return 4 * values / size if size else None
def encode(setting, step):
    """The size of the file, after what is printed about it."""
    if os.path.exists("file"):
        os.remove("file")
    of = json.loads(subprocess.check_output([program, "encode", "-q", "--payload", "--scheme", setting, "--step", str(step),
                                             name + ".npy", "file", "--format", "json"]))["rows"][0]
    size = os.path.getsize("file")
    if not (of["payload_bytes"] == of["output_bytes"] == size and of["input_bytes"] == os.path.getsize(name + ".npy") and
            of["values"] == values and near(of["bits_per_value"], 8 * size / values) and
            near(of["ratio"], ratio(size)) and near(of["file_ratio"], ratio(size))):
        wrong.append("encode, %s: %d bytes, and %s" % (setting, size, of))
    return size

rows = json.load(open("out"))["rows"]
settings = open("settings").read().split("\n")[:-1]
assert len(rows) == len(settings) > 60
for row, setting in zip(rows, settings):
    sizes = [encode(setting, step) for step in range(row["steps"])] # those of a period
    # A step that has others' residuals in it, or their sum, is not in a file of its own.
    if row["steps"] > 1 and "inner" in setting and "powersgd" not in setting:
        continue
    compared += 1
    mean = sum(sizes) / len(sizes)
    if not (near(row["payload_bytes"], mean) and near(row["bits_per_value"], 8 * mean / values) and
            near(row["ratio"], ratio(mean)) and row["values"] == values):
        wrong.append("bench, %s: %s bytes, %s bits, %s times, and its files have %s bytes" % (
            setting, row["payload_bytes"], row["bits_per_value"], row["ratio"], sizes))
print("%d settings" % compared, *wrong[:10], sep="\n")
sys.exit(len(wrong) > 0 or compared < 60)
P
for file in matrix vector value; do
    q 0 bench -q --trace $file.npy --scheme "$(tr '\n' , <settings | sed 's/,$//')" --passes 1 --no-speed --format json
    python3 files.py "$program" $file >err 2>&1 || bad "$(cat err)"
done

# Settled sizes of schemes whose payload has the same size whatever the values.
fixed=fp32,fp16,int8:ef=1,mxfp4:ef=1,int4:ef=1,topk,topk:k=5,bucket=64,sparse:select=exact,index=u32,mqe1bit,efsign,powersgd
q 0 bench -q --trace matrix.npy --scheme $fixed --no-speed --format json
cp out settled.json
q 0 bench -q --trace matrix.npy --scheme $fixed --no-speed --passes 1 --format json
json '[(r["scheme"], r["payload_bytes"]) for r in d["rows"]] == [(r["scheme"], r["payload_bytes"]) for r in __import__("json").load(open("settled.json"))["rows"]]'

finish
