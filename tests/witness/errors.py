"""errors.py make DIR STEPS: a trace of whole numbers. errors.py check RESULT STEPS: the errors that `bench` printed
for it, against the formulas of docs/errors.md.

In step s all 64 values of the gradient are a(s), with signs of their own. A scheme that delivers the share c(s) of
them then lacks the same share of every value's sum, whatever the signs of later passes, as long as a window has
whole passes: its error is (sum (1 - c) a)^2 / (sum a)^2."""
import functools
import json
import math
import os
import struct
import sys

VALUES, WINDOW = 64, 32


def a(s):
    return 3 + (7 * s * s + 5 * s) % 31


def make(folder, steps):
    os.makedirs(folder)
    for s in range(steps):
        head = json.dumps({"__metadata__": {"schema": "commcomp-trace/1", "direction": "push", "rank": "0", "step": str(s),
                                            "order": "x"},
                           "x": {"dtype": "F32", "shape": [VALUES], "data_offsets": [0, 4 * VALUES]}}).encode()
        values = [a(s) * (1 if i * i % 7 < 3 else -1) for i in range(VALUES)]
        with open("%s/push-step%06d-rank0.safetensors" % (folder, s), "wb") as f:
            f.write(struct.pack("<Q", len(head)) + head + struct.pack("<%df" % VALUES, *values))


# --- Student's t ---


def density(t, degrees):
    return math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi) * (
        1 + t * t / degrees) ** (-(degrees + 1) / 2)


def below(t, degrees, pieces=400):
    """P(T < t) for t > 0, by Simpson's rule."""
    h = t / pieces
    inner = sum((4 if i % 2 else 2) * density(i * h, degrees) for i in range(1, pieces))
    return 0.5 + h / 3 * (density(0, degrees) + inner + density(t, degrees))


@functools.cache
def quantile(p, degrees):
    low, high = 0, 50
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle, degrees) < p else (low, middle)
    return low


# --- errors ---


def variance_of_ratio(numerators, denominators):
    """The relative variance of a ratio of sums over n parts, times n (Cochran, Sampling Techniques, 6.3)."""
    n, total = len(numerators), sum(numerators)
    if total == 0:
        return 0
    r = total / sum(denominators)
    return n * n / (n - 1) * sum((x - r * y) ** 2 for x, y in zip(numerators, denominators)) / total ** 2


def expected(steps, lost, state, settled):
    """`lost`: the share of step s that is not delivered, by the running step; `settled`: by how many windows errors
    settle. The windows that count are the last four, or two without a state."""
    windows = range(settled - (4 if state else 2), settled)
    error, raw = [], []
    for w in windows:
        of = range(w * WINDOW, (w + 1) * WINDOW)
        error.append(sum(lost(s) * a(s % steps) for s in of) ** 2)
        raw.append(sum(a(s % steps) for s in of) ** 2)
    by_step = [(0, 0)] * steps
    for s in range(windows[0] * WINDOW, settled * WINDOW):
        e, g = by_step[s % steps]
        by_step[s % steps] = (e + (lost(s) * a(s % steps)) ** 2, g + a(s % steps) ** 2)
    between = (variance_of_ratio([g for _, g in by_step], [1] * steps) if state else
               variance_of_ratio([e for e, _ in by_step], [g for _, g in by_step]))
    PRIOR, prior = 8, 0.9 if state else 0.3
    degrees = steps - 1 + PRIOR
    deviation = math.sqrt(((steps - 1) * between + PRIOR * prior ** 2) / degrees / steps +
                          variance_of_ratio(error, raw) / len(windows))
    mean = sum(error) / sum(raw)
    change = 1 + (abs(error[-1] / raw[-1] / mean - 1) if settled == 16 else 0)
    factor = math.exp(quantile(0.975, degrees) * deviation) * change
    first = range(steps)
    used = [(lost(s), a(s % steps)) for s in range(windows[0] * WINDOW, settled * WINDOW)]
    late = sum(c * x * x for c, x in used) / sum(x * x for _, x in used)
    return {"late": late, "noise": sum((c * x) ** 2 for c, x in used) / sum(x * x for _, x in used) - late * late,
            "error": mean, "error_low": mean / factor, "error_high": mean * factor, "error_settled": settled < 16,
            "nmse": sum((lost(s) * a(s)) ** 2 for s in first) / sum(a(s) ** 2 for s in first) if not state else None,
            "bias": sum((lost(s) * a(s)) ** 2 for s in first) / sum(a(s) ** 2 for s in first) if not state else None,
            "variance": None if state else 0}


def check(result, steps):
    odd = lambda s: a(s % steps) % 2 / 2
    grow = lambda s: (s // 32 + 1) / 32
    want = {"known:odd=1": (odd, False, 2), "known:odd=1,state=1": (odd, True, 8),
            "threshold:tau=1e+30": (lambda s: 1, True, 8)}
    if steps >= WINDOW: # a window is a pass, or half of one: signs do not matter
        want["known:grow=1,state=1"] = grow, True, 16
    wrong = 0
    with open(result) as f:
        rows = {r["scheme"]: r for r in json.load(f)["rows"]}
    for scheme, arguments in want.items():
        for key, value in expected(steps, *arguments).items():
            found = rows[scheme][key]
            if key == "nmse" and value is None:
                continue
            if found != value and (value is None or found is None or abs(found - value) > 1e-6 * abs(value) + 1e-9):
                print("%d steps, %s: %s is %s, and should be %s" % (steps, scheme, key, found, value))
                wrong += 1
    return wrong


assert abs(quantile(0.975, 9) - 2.262157) < 1e-6 and abs(quantile(0.975, 30) - 2.042272) < 1e-6 # as printed in tables
if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    sys.exit(check(sys.argv[2], int(sys.argv[3])) > 0)
