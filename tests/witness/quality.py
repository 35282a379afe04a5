"""quality.py PROGRAM: the errors that `bench` prints for the first steps of a trace, from the files that `encode` and
`decode` write, and for one scheme the sizes once they have settled. Error feedback is done here: a scheme with a
residual is the same scheme without one, on the sum of gradient and residual, in float32."""
import array
import json
import math
import os
import random
import struct
import subprocess
import sys

STEPS = 3
SHAPES = {"a": [30, 40], "b": [700], "c": [1]}
# Schemes, and what they are without error feedback.
SCHEMES = {"int8": None, "qsgd": None, "natural": None, "bf16": None, "signsgd": None, "ternary": None,
           "topk:k=16,bucket=512,ef=0": None, "zfp": None, "fp8:rounding=random": None, "randk:density=0.1,ef=0": None,
           "int8:ef=1": "int8", "ternary:ef=1": "ternary", "3lc": "3lc:ef=0", "3lc:s=1.75": "3lc:s=1.75,ef=0",
           "topk": "topk:ef=0", "mqe1bit": "mqe1bit:ef=0", "sparse:select=exact": "sparse:select=exact,ef=0",
           "threshold:tau=0.3": "threshold:tau=0.3,ef=0", "mxfp4:ef=1": "mxfp4", "int4:ef=1": "int4"}
wrong = []


def write(path, tensors, step):
    head, at = {"__metadata__": {"schema": "commcomp-trace/1", "direction": "push", "rank": "0", "step": str(step),
                                 "order": "\n".join(SHAPES)}}, 0
    for name, values in tensors.items():
        head[name] = {"dtype": "F32", "shape": SHAPES[name], "data_offsets": [at, at + 4 * len(values)]}
        at += 4 * len(values)
    head = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        for values in tensors.values():
            values.tofile(f)


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: array.array("f", body[slice(*head[name]["data_offsets"])]) for name in SHAPES}


def commcomp(*words):
    return subprocess.check_output([sys.argv[1], *words])


def through(scheme, tensors, step):
    """The tensors that a receiver has, and the bytes of their payloads, tensor by tensor."""
    write("x.safetensors", tensors, step)
    rows = json.loads(commcomp("encode", "-q", "--force", "--scheme", scheme, "--step", str(step), "x.safetensors", "x.cc",
                               "--per-tensor", "--format", "json"))["rows"]
    commcomp("decode", "-q", "x.cc", "y.safetensors")
    return read("y.safetensors"), [row["payload_bytes"] for row in rows]


def plus(x, y, sign=1):
    return array.array("f", [a + sign * b for a, b in zip(x, y)])


def figures(pairs, names):
    """nmse, cosine, ... of the tensors, of pairs (g, y) by step."""
    flat = [(g, y) for step in pairs for name in names for g, y in zip(step[0][name], step[1][name])]
    raw = math.fsum(g * g for g, _ in flat)
    output = math.fsum(y * y for _, y in flat)
    late = due = 0
    for name in names:
        for i in range(len(pairs[0][0][name])):
            late += math.fsum(step[1][name][i] - step[0][name][i] for step in pairs) ** 2
            due += math.fsum(step[0][name][i] for step in pairs) ** 2
    return {"nmse": math.fsum((y - g) ** 2 for g, y in flat) / raw,
            "cosine": math.fsum(y * g for g, y in flat) / math.sqrt(output * raw) if output else None,
            "max_abs_error": max(abs(y - g) for g, y in flat), "nmse_cumulative": late / due}


def compare(row, want, what):
    for key, value in want.items():
        found, tolerance = row[key], 1e-4 if key == "nmse_cumulative" else 1e-6
        if found is None or value is None:
            good = found is value
        else:
            good = abs(found - value) <= tolerance * abs(value) + (1e-12 if key == "nmse_cumulative" else 0)
        if not good:
            wrong.append("%s: %s is %s, and should be %s" % (what, key, found, value))


def rows_of(*words):
    return json.loads(commcomp("bench", "-q", "--trace", "trace", "--no-speed", "--format", "json", "--scheme",
                               ",".join(SCHEMES), *words))["rows"]


class Sender:
    """A worker with a residual, if the scheme is `plain` with error feedback."""

    def __init__(self, scheme, plain):
        self.scheme, self.plain, self.step = plain or scheme, plain, 0
        self.residual = {name: array.array("f", bytes(4 * math.prod(shape))) for name, shape in SHAPES.items()}

    def one_pass(self):
        """Pairs of gradient and decoded one by step, and the bytes of all steps, tensor by tensor."""
        pairs, sizes = [], [0] * len(SHAPES)
        for g in trace:
            x = {name: plus(g[name], self.residual[name]) for name in SHAPES} if self.plain else g
            y, each = through(self.scheme, x, self.step)
            if self.plain:
                self.residual = {name: plus(x[name], y[name], -1) for name in SHAPES}
            self.step += 1
            sizes = [a + b for a, b in zip(sizes, each)]
            pairs.append((g, y))
        return pairs, sizes


random.seed(3)
os.mkdir("trace")
trace = []
for step in range(STEPS):
    trace.append({name: array.array("f", [random.gauss(0, 1 + step) ** 3 / (1 + k % 7) for k in range(math.prod(shape))])
                  for name, shape in SHAPES.items()})
    write("trace/push-step%06d-rank0.safetensors" % step, trace[step], step)
bench = {(passes, tensors): rows_of("--passes", str(passes), *(["--per-tensor"] if tensors else []))
         for passes in (1, 2) for tensors in (False, True)}
for at, (scheme, plain) in enumerate(SCHEMES.items()):
    sender = Sender(scheme, plain)
    for passes in (1, 2):
        pairs, sizes = sender.one_pass()
        compare(bench[passes, False][at], dict(figures(pairs, SHAPES), payload_bytes=sum(sizes) / STEPS), "%s, pass %d" % (scheme, passes))
        for k, name in enumerate(SHAPES):
            row = bench[passes, True][at * len(SHAPES) + k]
            assert row["tensor"] == name
            compare(row, figures(pairs, [name]), "%s, pass %d, tensor %s" % (scheme, passes, name))

# Sizes settle once 40 steps or more, in whole passes, send as much to 1% as those before. Their means, of each tensor
# to a byte in a pass, are reported, and the errors of one more pass.
SETTLES, VALUES = "3lc", sum(map(math.prod, SHAPES.values()))
sender, passes, window = Sender(SETTLES, SCHEMES[SETTLES]), [], math.ceil(40 / STEPS)
late, early = 1, 0
while abs(late - early) > 0.01 * late:
    passes.append(sender.one_pass()[1])
    if len(passes) >= 2 * window:
        late, early = (sum(map(sum, part)) for part in (passes[-window:], passes[-2 * window:-window]))
size = sum(math.floor(sum(of) / window + 0.5) for of in zip(*passes[-window:])) / STEPS
row = rows_of("--passes", "auto")[list(SCHEMES).index(SETTLES)]
compare(row, dict(figures(sender.one_pass()[0], SHAPES), passes=len(passes) + 1, payload_bytes=size,
                  bits_per_value=8 * size / VALUES, settled=True), SETTLES + ", settled")
print("\n".join(wrong[:20]))
sys.exit(len(wrong) > 0)
