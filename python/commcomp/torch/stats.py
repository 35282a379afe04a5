"""Statistics of the communication hook: bytes sent and times taken, step by step."""

from __future__ import annotations

import collections
import csv
import dataclasses
import os
import threading
import time
from typing import Any

# How many steps are kept.
KEPT = 10_000

# The columns of the CSV, as those of `commcomp run`.
COLUMNS = ["scheme", "workers", "steps", "values", "bits_per_value", "ratio", "compute_s", "codec_s",
           "comm_s", "step_s"]


@dataclasses.dataclass
class Step:
    """One step of this rank. Times are in seconds.

    payload_bytes  what this rank encoded, raw tensors included
    sent_bytes     the same with what belongs to messages: lengths, and room that stayed unused
    codec_s        encoding and decoding
    comm_s         exchanging, with waiting for slower ranks
    compute_s      the step without the time at its end that it waits for the hook
    step_s         from the end of the step before to this one's; the first has no beginning: NaN
    """

    step: int
    values: int = 0
    payload_bytes: int = 0
    sent_bytes: int = 0
    codec_s: float = 0.0
    comm_s: float = 0.0
    compute_s: float = float("nan")
    step_s: float = float("nan")

    @property
    def bits_per_value(self) -> float:
        return 8 * self.payload_bytes / self.values


class Stats:
    """The last steps (`steps`, at most 10,000), and their means."""

    def __init__(self, scheme, workers):
        self.scheme, self.workers = scheme, workers
        self.steps = collections.deque(maxlen=KEPT)
        self._lock, self._ended = threading.Lock(), None

    def begin(self, step):
        self._now, self._open, self._last = Step(step), 0, None

    def bucket_begins(self, values, last):
        """Buckets of a step begin one after the other; they may end in any order, in any thread."""
        with self._lock:
            self._now.values += values
            self._open += 1
            if last:
                self._last = time.perf_counter()

    def bucket_ends(self, payload_bytes, sent_bytes, codec_s, comm_s):
        with self._lock:
            now = self._now
            now.payload_bytes += payload_bytes
            now.sent_bytes += sent_bytes
            now.codec_s += codec_s
            now.comm_s += comm_s
            self._open -= 1
            if self._last is None or self._open > 0:
                return
            end = time.perf_counter()
            if self._ended is not None:
                now.step_s = end - self._ended
                now.compute_s = now.step_s - (end - self._last)
            self._ended = end
            self.steps.append(now)

    def mean(self, skip: int = 1) -> dict[str, Any]:
        """The row of the CSV, a dict, over the kept steps but the first `skip`."""
        steps = list(self.steps)[skip:]
        if not steps:
            raise ValueError(f"{len(self.steps)} steps were taken: {skip + 1} are needed for a mean")
        mean = {key: sum(getattr(s, key) for s in steps) / len(steps)
                for key in ("values", "bits_per_value", "compute_s", "codec_s", "comm_s", "step_s")}
        return dict(mean, scheme=self.scheme, workers=self.workers, steps=len(steps),
                    values=round(mean["values"]), ratio=32 / mean["bits_per_value"])

    def write(self, path: str | os.PathLike[str], skip: int = 1) -> None:
        """Appends the row to a CSV file, which gets its heading first: the rows of several trainings
        make the bars of `commcomp plot --kind step`."""
        row = self.mean(skip)
        with open(path, "a", newline="", encoding="utf-8") as f:
            writer = csv.DictWriter(f, COLUMNS)
            if os.fstat(f.fileno()).st_size == 0:
                writer.writeheader()
            writer.writerow(row)
