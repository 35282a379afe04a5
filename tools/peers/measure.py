"""Times two ways to do the same, in turn, and prints the results."""

import csv
import math
import os
import statistics
import time

import numpy as np

# The calls that are timed; a step is everything that a process does with a gradient but for the exchange.
OPERATIONS = ("encode", "decode", "decode_add", "step")
SETS_X = ("encode", "step")  # those that begin with a gradient
SMALL = 2**20  # values of the largest tensor that is taken to stay in the cache
CALLS = 4  # by one side in a row on such a tensor; the first is not counted

COLUMNS = ["peer", "method", "scheme", "values", "threads", "operation", "rounds", "peer_bits", "own_bits"] + [
    f"{what}_{part}" for what in ("peer_s", "own_s", "ratio") for part in ("median", "q1", "q3")]


class Side:
    """One of the two that are compared. A subclass has a method for each operation that it can do, which
    returns the seconds taken. `x` has the gradient, which encode and step may change; `bits` is what the
    last of them sends for each value."""

    bits = math.nan

    def __init__(self, values):
        self.x = np.zeros(values, np.float32)

    def run(self, operation, calls, prepare):
        """The median of the seconds of `calls` calls in a row, without the first if there are several.
        prepare() sets x, before each of them."""
        taken = []
        for _ in range(calls):
            prepare()
            taken.append(getattr(self, operation)())
        return statistics.median(taken[1:] or taken)

    def close(self):
        """Releases what is not Python's."""


class Pair:
    """A method of a peer and the scheme that is nearest to it. peer and own make a Side each for
    (values, threads)."""

    def __init__(self, library, method, scheme, peer, own, operations=OPERATIONS[:3]):
        self.library, self.method, self.scheme = library, method, scheme
        self.peer, self.own, self.operations = peer, own, operations


class Gradients:
    """Laplace values, each round in another order."""

    def __init__(self, values, seed=1):
        self._values = np.random.default_rng(seed).laplace(size=values).astype(np.float32)

    def copy(self, out, turn):
        n = self._values.size
        at = turn * 7919 * 64 % n
        out[:n - at] = self._values[at:]
        out[n - at:] = self._values[:at]


def timed(call, *arguments, **named):
    """The seconds that a call takes. Its result is released afterwards."""
    begin = time.perf_counter()
    result = call(*arguments, **named)
    taken = time.perf_counter() - begin
    del result
    return taken


def matrix(values):
    """The most square shape of two dimensions with `values` values."""
    rows = next(r for r in range(math.isqrt(values), 0, -1) if values % r == 0)
    return rows, values // rows


def compare(pair, gradients, values, threads, rounds, seconds):
    """The rows of a pair, one for each operation: at most `rounds` rounds, and at least 3, in about
    `seconds` seconds. The sides take turns, and who begins alternates."""
    sides = [pair.peer(values, threads), pair.own(values, threads)]
    calls = CALLS if values <= SMALL else 1
    samples = {operation: [] for operation in pair.operations}
    begin, turn = time.perf_counter(), 0

    def prepare(operation, side):
        if operation in SETS_X:
            gradients.copy(side.x, turn)

    try:
        for r in range(-1, rounds):  # the first is not counted
            if r >= 3 and time.perf_counter() - begin > seconds:
                break
            for operation in pair.operations:
                found = {}
                for side in sides if r % 2 == 0 else sides[::-1]:
                    found[side] = side.run(operation, calls, lambda: prepare(operation, side))
                turn += operation in SETS_X
                if r >= 0:
                    samples[operation].append([found[side] for side in sides])
        bits = [side.bits for side in sides]
    finally:
        for side in sides:
            side.close()
    return [_row(pair, values, threads, operation, bits, samples[operation]) for operation in pair.operations]


def quartiles(samples):
    """The median, and the first and third quartile."""
    return [float(np.quantile(samples, q)) for q in (0.5, 0.25, 0.75)]


def _row(pair, values, threads, operation, bits, samples):
    peer, own = zip(*samples)
    figures = quartiles(peer) + quartiles(own) + quartiles([p / o for p, o in samples])
    return dict(zip(COLUMNS, [pair.library, pair.method, pair.scheme, values, threads, operation, len(samples),
                              *bits, *figures]))


HEADING = (f"{'values':>9} {'threads':>7} {'operation':<10} {'bits/value':>15} {'peer, ms (quartiles)':>29} "
           f"{'commcomp, ms (quartiles)':>29} {'ratio (quartiles)':>24}")


def line(row):
    """A row as text, without the names of the two."""
    def milliseconds(what):
        q = [1e3 * row[f"{what}_s_{part}"] for part in ("median", "q1", "q3")]
        return f"{q[0]:.4g} ({q[1]:.4g} to {q[2]:.4g})"

    bits = f"{row['peer_bits']:.3g} / {row['own_bits']:.3g}"
    ratio = f"{row['ratio_median']:.2f} ({row['ratio_q1']:.2f} to {row['ratio_q3']:.2f})"
    return (f"{row['values']:>9} {row['threads']:>7} {row['operation']:<10} {bits:>15} {milliseconds('peer'):>29} "
            f"{milliseconds('own'):>29} {ratio:>24}")


def summary(rows):
    """The ratios of all pairs as a table in Markdown: in a cell those of one tensor and number of
    threads, in the order of OPERATIONS. Bits are those of the last one."""
    columns = list(dict.fromkeys((row["threads"], row["values"]) for row in rows))
    cells = {}
    for row in rows:
        key = (f"{row['peer']}: {row['method']}", f"`{row['scheme']}`")
        cell = cells.setdefault(key, {})
        cell["bits"] = f"{row['peer_bits']:.3g} / {row['own_bits']:.3g}"
        cell.setdefault((row["threads"], row["values"]), []).append(f"{row['ratio_median']:.3g}")
    heads = [f"{n:,} values" + (f", {t} threads" if t > 1 else "") for t, n in columns]
    lines = [["peer", "commcomp", "bits/value", *heads], ["---"] * (3 + len(heads))]
    for key, cell in cells.items():
        lines.append([*key, cell["bits"], *(" / ".join(cell.get(column, [])) for column in columns)])
    return "\n".join(f"| {' | '.join(words)} |" for words in lines)


def write_csv(path, rows):
    """Writes the whole file or nothing."""
    part = f"{path}.part"
    with open(part, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    os.replace(part, path)
