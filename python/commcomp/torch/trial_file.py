"""The files of a trial: its result, as `commcomp train` writes it, and the trainings that are done."""
from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import platform
import sys
from typing import Any, Sequence

import torch

from ..catalogue import version

FORMAT = "commcomp-trial/1"
DONE = '{"done": true}'

# How many rows of a training show its losses.
POINTS = 8

# Where the keys of a row come from, in their order.
ORIGINS = {
    "scheme": "given", "kind": "given", "net": "given", "data": "given", "values": "given", "exchange": "given",
    "workers": "given", "servers": "given", "batch": "given", "rate": "given", "trial_schedule": "given",
    "seed": "given", "seeds": "trained", "diverged": "trained", "step": "given", "ended_step": "trained",
    "train_loss": "trained", "loss_end": "trained", "loss": "trained", "accuracy": "trained", "difference": "trained",
    "loss_change": "trained",
    "loss_change_low": "trained", "loss_change_high": "trained", "loss_limit": "given", "verdict": "trained",
    "payload_bytes": "measured", "bits_per_value": "measured", "ratio": "measured", "bits_push": "measured",
    "bits_pull": "measured", "time_s": "measured", "clock": "given", "bw_bps": "given", "latency_s": "given",
    "compute_s": "measured", "codec_s": "measured", "comm_s": "measured", "step_s": "measured",
    "speedup": "measured",
}  # fmt: skip


@dataclasses.dataclass
class Arm:
    """A training of the trial.

    losses   of its steps, the workers' mean before the step
    ended    how it ended: "whole"; "lost", early; "diverged", with the reason
    """

    scheme: str
    repeat: int
    losses: list[float]
    payload_bytes: float
    values: int
    seconds: float
    ended: str = "whole"
    reason: str | None = None
    accuracy: float | None = None

    @property
    def steps(self) -> int:
        return len(self.losses)


def write_whole(path: str, text: str) -> None:
    """Writes the file whole or not at all."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


class Kept:
    """Finished trainings in a file, a line of JSON for each, after one that says of what they are. A last line says
    that the trial is done; without it, no other trial takes the file's place."""

    def __init__(self, path: str, identity: dict[str, Any], resume: bool) -> None:
        self._path, self._head = path, {"format": FORMAT, **identity}
        self.arms: list[Arm] = []
        if resume and os.path.exists(path):
            self._read()
        self._write()  # also without a last line that an interrupt has cut

    def _read(self) -> None:
        with open(self._path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        try:
            head = json.loads(lines[0])
        except ValueError:
            head = None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise ValueError(f"{self._path} is not a file of trainings of a trial ({FORMAT}): move it away, or give "
                             "resume=False, which replaces it")
        differing = [key for key in self._head if head.get(key) != self._head[key]]
        if differing and DONE in lines:
            return
        if differing:
            was = "; ".join(f"{key}: {head.get(key)} there, {self._head[key]} here" for key in differing)
            raise ValueError(f"{self._path} has trainings of another trial that is not done ({was}): give another output=, or "
                             "resume=False, which begins anew")
        for line in lines[1:-1]:  # whole lines
            if line == DONE:
                continue
            arm = Arm(**json.loads(line))
            arm.losses = [math.nan if loss is None else loss for loss in arm.losses]
            self.arms.append(arm)

    def _write(self) -> None:
        write_whole(self._path, "".join(json.dumps(line) + "\n" for line in [self._head, *map(_plain, self.arms)]))

    def add(self, arm: Arm) -> None:
        self.arms.append(arm)
        self._append(json.dumps(_plain(arm), allow_nan=False))

    def done(self) -> None:
        self._append(DONE)

    def _append(self, line: str) -> None:
        with open(self._path, "a", encoding="utf-8") as f:
            f.write(line + "\n")
            f.flush()
            os.fsync(f.fileno())


def _plain(arm: Arm) -> dict[str, Any]:
    fields = dataclasses.asdict(arm)
    fields["losses"] = [loss if math.isfinite(loss) else None for loss in arm.losses]
    return fields


def points(arm: Arm, steps: int) -> list[tuple[int, float]]:
    """Some steps of a training, and the mean loss of those before it, since the last point."""
    found = []
    for k in range(1, POINTS + 1):
        begin, end = steps * (k - 1) // POINTS, min(steps * k // POINTS, arm.steps)
        part = [loss for loss in arm.losses[begin:end] if math.isfinite(loss)]
        if part:
            found.append((end, sum(part) / len(part)))
    return found


def row(**values: Any) -> dict[str, Any]:
    """A row with all keys."""
    return {key: values.pop(key, None) for key in ORIGINS}


def _cpu() -> tuple[str, str]:
    """The processor's name, and the widest instruction set of codecs that it has."""
    name, flags = platform.processor() or platform.machine() or "unknown", ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            text = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].split("\n") if ":" in line)
        fields = {key.strip(): value.strip() for key, value in text.items()}
        name, flags = fields.get("model name", name), fields.get("flags", fields.get("Features", ""))
    except OSError:
        pass
    words = set(flags.split())
    isa = ("avx512" if {"avx512f", "avx512bw", "avx512vl"} <= words else "avx2" if "avx2" in words
           else "neon" if "asimd" in words else "scalar")
    return name, os.environ.get("COMMCOMP_ISA", isa)


def document(rows: Sequence[dict[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    name, isa = _cpu()
    origins = {key: origin for key, origin in ORIGINS.items() if any(r[key] is not None for r in rows)}
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "schema": "commcomp/2",
        "command": "train",
        "argv": ["commcomp.torch.trial", *sys.argv[:1]],
        "host": {
            "cpu": name,
            "cores": os.cpu_count() or 1,
            "isa": isa,
            "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
            "compiler": f"Python {platform.python_version()}, PyTorch {torch.__version__}",
            "version": version(),
            "time": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "rows": list(rows),
        "origins": origins,
        "notes": list(notes),
    }
