"""quality.py PROGRAM: the errors that `bench` prints for the first steps of a trace, from the files that `encode` and
`decode` write, and for some schemes late and noise, and for one the sizes, once they have settled. Error feedback is done here: a scheme with a
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


def write(path, tensors, step, shapes=SHAPES):
    head, at = {"__metadata__": {"schema": "commcomp-trace/1", "direction": "push", "rank": "0", "step": str(step),
                                 "order": "\n".join(shapes)}}, 0
    for name, values in tensors.items():
        head[name] = {"dtype": "F32", "shape": shapes[name], "data_offsets": [at, at + 4 * len(values)]}
        at += 4 * len(values)
    head = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        for values in tensors.values():
            values.tofile(f)


def read(path, shapes=SHAPES):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: array.array("f", body[slice(*head[name]["data_offsets"])]) for name in shapes}


def commcomp(*words):
    return subprocess.check_output([sys.argv[1], *words])


def through(scheme, tensors, step, shapes=SHAPES):
    """The tensors that a receiver has, and the bytes of their payloads, tensor by tensor."""
    write("x.safetensors", tensors, step, shapes)
    rows = json.loads(commcomp("encode", "-q", "--force", "--scheme", scheme, "--step", str(step), "x.safetensors", "x.cc",
                               "--per-tensor", "--format", "json"))["rows"]
    commcomp("decode", "-q", "x.cc", "y.safetensors")
    return read("y.safetensors", shapes), [row["payload_bytes"] for row in rows]


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

    def __init__(self, scheme, plain, shapes=SHAPES):
        self.scheme, self.plain, self.step, self.shapes = plain or scheme, plain, 0, shapes
        self.residual = {name: array.array("f", bytes(4 * math.prod(shape))) for name, shape in shapes.items()}

    def send(self, g):
        """The decoded tensors of one step, and the bytes of its payloads."""
        x = {name: plus(g[name], self.residual[name]) for name in g} if self.plain else g
        y, each = through(self.scheme, x, self.step, self.shapes)
        if self.plain:
            self.residual = {name: plus(x[name], y[name], -1) for name in g}
        self.step += 1
        return y, each

    def one_pass(self):
        """Pairs of gradient and decoded one by step, and the bytes of all steps, tensor by tensor."""
        pairs, sizes = [], [0] * len(SHAPES)
        for g in trace:
            y, each = self.send(g)
            sizes = [a + b for a, b in zip(sizes, each)]
            pairs.append((g, y))
        return pairs, sizes


def products(pairs):
    """sum <u, g>, sum <g, g> and sum <u, u> of pairs (g, u) of values."""
    return [math.fsum(x) for x in zip(*((u * g, g * g, u * u) for g, u in pairs))]


def late_and_noise(dot, gradient, update):
    """The part of u along g is a g; the rest is orthogonal to g."""
    along = dot / gradient
    return {"late": abs(1 - along), "noise": update / gradient - along * along}


def values_of(g, u):
    return [pair for name in g for pair in zip(g[name], u[name])]


def settled(scheme, plain, copies, warm, steps):
    """late and noise over `steps` steps after `warm` others, of copies of all tensors. In every pass rows and columns
    have random signs, those of each copy its own."""
    shapes = {"%s%d" % (name, k): shape for k in range(copies) for name, shape in SHAPES.items()}
    sender, signs, sums = Sender(scheme, plain, shapes), {}, [0, 0, 0]
    for step in range(warm + steps):
        g = {}
        for name, shape in shapes.items():
            width = shape[1] if len(shape) > 1 else 1
            if step % STEPS == 0:
                signs[name] = [[random.choice((-1, 1)) for _ in range(n)] for n in (shape[0], width)]
            row, column = signs[name]
            g[name] = array.array("f", [row[i // width] * column[i % width] * x for i, x in enumerate(trace[step % STEPS][name[0]])])
        u, _ = sender.send(g)
        if step >= warm:
            sums = [a + b for a, b in zip(sums, products(values_of(g, u)))]
    return late_and_noise(*sums)


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

# late and noise: two windows of 32 steps, of which 22 are the first; signs do not matter to these schemes.
rows = dict(zip(SCHEMES, bench[1, False]))
for scheme in "int8", "bf16", "signsgd", "topk:k=16,bucket=512,ef=0":
    by_step = [products(values_of(g, u)) for g, u in Sender(scheme, None).one_pass()[0]]
    want = late_and_noise(*(sum((22 if s == 0 else 21) * sums[k] for s, sums in enumerate(by_step)) for k in range(3)))
    for key, value in want.items():
        if abs(rows[scheme][key] - value) > 1e-6 * value + 1e-12:
            wrong.append("%s: %s is %s, and should be %s" % (scheme, key, rows[scheme][key], value))
# The others by chance: the mean over random numbers, and over steps once the residual has settled.
for scheme, warm, steps in (("qsgd", 0, 6), ("ternary", 0, 6), ("topk", 45, 15), ("3lc", 45, 15)):
    want = settled(scheme, SCHEMES[scheme], 4, warm, steps)
    if abs(rows[scheme]["late"] - want["late"]) > 0.1 or not 0.8 < rows[scheme]["noise"] / want["noise"] < 1.25:
        wrong.append("%s: late %s, noise %s, and should be %s" % (scheme, rows[scheme]["late"], rows[scheme]["noise"], want))

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
