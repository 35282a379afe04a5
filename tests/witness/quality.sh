#!/bin/sh
# The errors that `bench` prints (nmse, cosine, max_abs_error, nmse_cumulative, delay), recomputed in Python.
. "$(dirname "$0")/../cli/lib.sh"

case='errors from files' good=1
: >out
python3 "$tests/witness/quality.py" "$program" >err 2>&1 || bad "$(cat err)"

# A scheme that never sends lacks all gradients so far. Those of 64 steps cancel out, and those of the first half are
# left at its end: signs of later passes do not matter, and half of the windows end with each.
python3 - <<'P'
import json, math, os, struct
n = 50
g = [[1 + (s * s + 3 * i * s + i * i) % 9 for i in range(n)] for s in range(32)]
g += [[-v for v in row] for row in reversed(g)]
os.mkdir("back")
for s, values in enumerate(g):
    head = json.dumps({"__metadata__": {"schema": "commcomp-trace/1", "direction": "push", "rank": "0", "step": str(s),
                                        "order": "x"}, "x": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4 * n]}}).encode()
    with open("back/push-step%06d-rank0.safetensors" % s, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + struct.pack("<%df" % n, *values))
half = sum(sum(row[i] for row in g[:32]) ** 2 for i in range(n))
print(math.sqrt(half / 2 / (sum(v * v for row in g for v in row) / len(g))), file=open("delay", "w"))
P
q 0 bench -q --trace back --scheme threshold:tau=1e30,int8 --no-speed --format json
json "abs(d['rows'][0]['delay'] / $(cat delay) - 1) < 1e-6 and d['rows'][0]['error'] == 1 and d['rows'][1]['delay'] is None"

finish
