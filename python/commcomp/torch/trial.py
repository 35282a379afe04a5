"""Which schemes keep a training's loss? Short trainings of the user's own model, one for each scheme.

All of them begin with the same parameters and random numbers, see the same batches at the same rates, and
differ in how gradients travel. trial_workers.py computes and exchanges gradients, trial_state.py puts
everything back, trial_statistics.py judges, trial_file.py writes.
"""
from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import sys
import time
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ..catalogue import version
from ..codec import Codec
from .exchange import RAW, is_compressed
from .state import group_timeout
from .trial_file import Arm, Kept, document, points, row, write_whole
from .trial_state import Start, checksum, seed_all
from .trial_statistics import Change, change, is_lost, last_third, noise, verdict
from .trial_workers import Task, worker_samples, workers_of

# The arm that shows the noise: what it changes is far below what training notices.
NULL = "fp16"

SCHEMES = ("3lc", "3lc:s=1.75", "int8", "int8:ef=1", "qsgd:bits=4", "efsign", "topk:k=5", "powersgd:rank=4")

SCHEDULES = ("cosine", "cut", "constant")

# The limit for which the default of `halving` was found; with a larger one, more has to be lost.
LIMIT = 0.05

# No scheme ends early before so many steps: residuals have to fill first.
EARLIEST = 50

# A training is given up after so many steps in a row that its scaler skips.
MOST_SKIPPED = 20


def factor(schedule: str, step: int, steps: int) -> float:
    """The rate of a step over the first one's. "cut" is the first quarter of a cosine of four times the steps."""
    if schedule == "constant":
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * step / (steps if schedule == "cosine" else 4 * steps)))


@dataclasses.dataclass
class Trial:
    """The result. `verdicts` and `changes` are by scheme, `reasons` says why one is open or diverged; `rows` and
    `notes` are those of the file. print() shows a table."""

    rows: list[dict[str, Any]]
    notes: list[str]
    noise: float
    verdicts: dict[str, str]
    changes: dict[str, Change | None]
    reasons: dict[str, str]

    def __str__(self) -> str:
        wide = max(len(s) for s in self.verdicts)
        lines = [f"{'scheme':<{wide}}  verdict  loss change       interval       bits/value  ended"]
        for r in self.rows:
            if r["kind"] != "summary":
                continue
            c, ended = self.changes[r["scheme"]], r["ended_step"]
            text = (f"{100 * c.mean:>+9.2f}%   {100 * c.low:>+8.2f} to {100 * c.high:>+8.2f}%" if c is not None
                    else f"{'diverged':>10}{'':24}")
            lines.append(f"{r['scheme']:<{wide}}  {r['verdict']:<7}  {text}  {r['bits_push']:>9.3f}  "
                         + ("-" if ended is None else f"step {ended}"))
        return "\n".join(lines + [""] + self.notes)


def trial(
    model: torch.nn.Module,
    loss_fn: Callable[[torch.nn.Module, Any], torch.Tensor],
    batches: Callable[[int], Any],
    optimizer_factory: Callable[..., torch.optim.Optimizer],
    schemes: Sequence[str] = SCHEMES,
    workers: int = 4,
    micro_batch: int | str = "global/workers",
    steps: int = 200,
    schedule: str = "cosine",
    limit: float = LIMIT,
    metric: Callable[[torch.nn.Module], float] | None = None,
    repeats: int = 1,
    halving: Sequence[float] = (0.2, 0.1),
    step_fn: Callable[[torch.nn.Module, torch.optim.Optimizer], Any] | None = None,
    min_size: int = 1000,
    granularity: str = "hook",
    scaler: Any = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: bool = True,
) -> Trial:
    """Trains the model with fp32, with the null arm fp16 and with each scheme for some steps, and compares losses.

    model              in a DistributedDataParallel, the ranks train with the hook; otherwise this process
                       plays `workers` workers, which share each batch
    loss_fn            (model, batch) -> the mean loss of the batch's samples; autocast belongs into it
    batches            step -> the batch of all workers together, the same whenever it is asked; repeat r
                       has the steps from r * steps on
    optimizer_factory  parameters -> the optimizer. One that gives your own optimizer begins with its state
    schemes            as on the command line
    micro_batch        samples of a worker, by default its share of the batch
    schedule           of the rate: "cosine" to 0; "cut", the first quarter of a longer cosine; "constant"
    limit              of the relative change of the loss
    metric             (model) -> held-out accuracy from 0 to 1, after each training
    repeats            with other batches and random numbers; 3 or more give the intervals
    halving            ends a scheme that has lost more, for sure, and has not come as far as fp32 in a third of
                       the steps: at equal distances in the first half of the steps, from 50 on; () trains all
                       of them to the end. With a limit above 0.05, these grow with it
    step_fn            (model, optimizer) -> a step by the mean gradients, such as one that clips; by default
                       optimizer.step(), or the scaler's
    min_size           tensors of fewer values are sent raw
    granularity        "hook": each tensor is encoded, as by commcomp.torch.hook; "bucket": DDP's buckets are
    scaler             the GradScaler
    output             the result's file, for `commcomp advise --accuracy`. Next to it, OUTPUT.arms has the finished
                       trainings: a later call with the same arguments (other schemes, limit, repeats) goes on
                       with them, unless resume=False
    progress           on standard error, if that is a terminal

    The model, the optimizer, random numbers and all else are then as they were, also after an exception.
    It proves no final accuracy.
    """
    schemes = _checked_schemes(schemes)
    _check_numbers(steps, schedule, limit, repeats, halving, granularity)
    task = _task(model, loss_fn, workers, micro_batch, min_size, granularity, scaler)
    if not callable(batches):
        raise TypeError("batches is a function of the step, batches(step): an iterator would give each scheme other "
                        "samples")
    start = Start(task.module, optimizer_factory, scaler)
    try:
        study = _Study(task, start, batches, step_fn, metric, schemes, steps, schedule, repeats, tuple(halving),
                       limit, _Progress(progress and task.rank == 0))
        study.check()
        if output is not None:
            study.keep(os.fspath(output) + ".arms", resume)
        result = study.run()
    finally:
        start.put_back()
    if output is not None and task.rank == 0:
        text = json.dumps(document(result.rows, result.notes), indent=1, allow_nan=False)
        write_whole(os.fspath(output), text + "\n")
        study.kept.done()
    return result


# --- arguments ---

def _checked_schemes(schemes: Sequence[str]) -> list[str]:
    """Canonical names, without fp32 and the null arm, which are always there."""
    words = [schemes] if isinstance(schemes, str) else list(schemes)
    names = list(dict.fromkeys(Codec(word, 1).scheme for word in words))
    return [name for name in names if name not in (RAW, NULL)]


def _check_numbers(steps: int, schedule: str, limit: float, repeats: int, halving: Sequence[float],
                   granularity: str) -> None:
    if steps < 12:
        raise ValueError(f"steps={steps}: a trial takes 12 at least, and says little below 100")
    if repeats < 1:
        raise ValueError(f"repeats={repeats}: 1 or more")
    if not 0 < limit < math.inf:
        raise ValueError(f"limit={limit}: a relative change of the loss above 0, such as 0.05")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule={schedule!r}: one of {', '.join(SCHEDULES)}")
    if granularity not in ("hook", "bucket"):
        raise ValueError(f"granularity={granularity!r}: hook or bucket")
    if any(not h > 0 for h in halving):
        raise ValueError(f"halving={tuple(halving)}: changes of the loss above 0")


def _task(model: torch.nn.Module, loss_fn: Callable[..., torch.Tensor], workers: int, micro_batch: int | str,
          min_size: int, granularity: str, scaler: Any) -> Task:
    if micro_batch != "global/workers" and not (isinstance(micro_batch, int) and micro_batch > 0):
        raise ValueError(f"micro_batch={micro_batch!r}: a number of samples, or 'global/workers'")
    micro = micro_batch if isinstance(micro_batch, int) else None
    task = Task(model, loss_fn, workers, micro, min_size, granularity, scaler)
    if dist.is_available() and dist.is_initialized() and isinstance(model, DistributedDataParallel):
        if granularity != "hook":
            raise ValueError("granularity='bucket': the ranks of DistributedDataParallel encode as the hook does")
        if dist.get_world_size(model.process_group) != dist.get_world_size():
            raise ValueError("a trial needs a DistributedDataParallel of all ranks")
        task.group = dist.new_group(backend="mpi" if dist.get_backend() == "mpi" else "gloo",
                                    timeout=group_timeout(model.process_group))
        task.workers = dist.get_world_size(task.group)
    if task.workers < 1:
        raise ValueError(f"workers={workers}: 1 or more")
    if not any(is_compressed(p, NULL, min_size) for p in task.module.parameters() if p.requires_grad):
        raise ValueError(f"min_size={min_size}: no tensor of the model has as many values, so all would be sent raw")
    return task


def _dgc_momentum(scheme: str) -> bool:
    """Whether the scheme applies momentum itself."""
    return re.search(r"\bdgc\b(?!.*\bmomentum=0\b(?!\.))", scheme) is not None


# --- progress ---

class _Progress:
    """A line on a terminal's standard error."""

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()
        self._began = self._last = time.monotonic()
        self._spent = self.todo = 0

    def step(self, text: str) -> None:
        self._spent += 1
        self.todo -= 1
        now = time.monotonic()
        if self._shown and now - self._last >= 0.25:
            self._last = now
            left = round((now - self._began) / self._spent * max(0, self.todo))
            sys.stderr.write(f"\r\033[K{text}, {left // 60}:{left % 60:02d} left")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


# --- trainings ---

@dataclasses.dataclass
class _Study:
    task: Task
    start: Start
    batches: Callable[[int], Any]
    step_fn: Callable[..., Any] | None
    metric: Callable[..., float] | None
    schemes: list[str]
    steps: int
    schedule: str
    repeats: int
    halving: tuple[float, ...]
    limit: float
    progress: _Progress

    def __post_init__(self) -> None:
        self.arms: dict[tuple[str, int], Arm] = {}
        self.kept: Kept | None = None
        self.rate = self.start.options()[0].get("lr")

    # --- before the first one ---

    def batch(self, step: int, repeat: int = 0) -> Any:
        seed_all(repeat, step, "batch")
        return self.batches(repeat * self.steps + step)

    def check(self) -> None:
        first, again = self.batch(0), self.batch(0)
        self.samples, self.data = worker_samples(self.task, first), checksum(first)
        if checksum(again) != self.data:
            raise ValueError("batches(0) returned other samples the second time: it is a function of the step, so that "
                             "all schemes see the same")
        for scheme in self.schemes:
            if _dgc_momentum(scheme) and any("betas" in group for group in self.start.options()):
                raise ValueError(f"{scheme} applies momentum itself, and would do so beside that of Adam: use an "
                                 "optimizer whose momentum can be 0, or leave it out")

    def identity(self) -> dict[str, Any]:
        task = self.task
        return {
            "commcomp": version(), **self.start.identity(), "first batch": self.data, "workers": task.workers,
            "ranks": task.group is not None, "samples of a worker": self.samples, "steps": self.steps,
            "schedule": self.schedule, "min_size": task.min_size, "granularity": task.granularity,
            "scaler": task.scaler is not None,
            "loss_fn": _name(task.loss_fn), "step_fn": _name(self.step_fn), "metric": _name(self.metric),
        }  # fmt: skip

    def keep(self, path: str, resume: bool) -> None:
        """All ranks go on with the trainings that the first one finds."""
        error, found = None, [None, []]
        if self.task.rank == 0:
            try:
                self.kept = Kept(path, self.identity(), resume)
                found = [None, self.kept.arms]
            except (ValueError, OSError) as e:
                found, error = [str(e), []], e
        if self.task.group is not None:
            dist.broadcast_object_list(found, src=dist.get_global_rank(self.task.group, 0), group=self.task.group)
        if found[0] is not None:
            raise error if error is not None else ValueError(found[0])
        self.arms = {(arm.scheme, arm.repeat): arm for arm in found[1]}
        self.arms = {key: arm for key, arm in self.arms.items() if arm.ended != "lost" or self.is_lost(arm)}

    # --- all of them ---

    def run(self) -> Trial:
        order = [(scheme, r) for scheme in (RAW, NULL) for r in range(self.repeats)]
        order += [(scheme, r) for scheme in self.schemes for r in range(self.repeats)]
        self.progress.todo = self.steps * sum(arm not in self.arms for arm in order)
        try:
            for i, (scheme, repeat) in enumerate(order):
                if i == 2 * self.repeats:
                    self.check_noise()
                if (scheme, repeat) in self.arms:
                    continue
                if repeat > 0 and self.arms[(scheme, 0)].ended != "whole":
                    self.progress.todo -= self.steps
                    continue
                arm = self.train(scheme, repeat, f"{scheme}, training {i + 1} of {len(order)}")
                self.progress.todo -= self.steps - arm.steps
                self.arms[(scheme, repeat)] = arm
                if self.kept is not None:
                    self.kept.add(arm)
                if scheme == RAW and arm.ended != "whole":
                    raise ValueError(f"fp32 itself does not train: {arm.reason} in step {arm.steps}")
        finally:
            self.progress.end()
        self.check_noise()
        return self.result()

    def of(self, scheme: str) -> list[Arm]:
        found = [self.arms.get((scheme, r)) for r in range(self.repeats)]
        return [arm for arm in found if arm is not None]

    def change(self, scheme: str) -> Change | None:
        """None if a training diverged."""
        arms = self.of(scheme)
        if any(arm.ended == "diverged" for arm in arms):
            return None
        return change([arm.losses for arm in arms], [self.arms[(RAW, arm.repeat)].losses for arm in arms])

    def check_noise(self) -> None:
        null = self.change(NULL)
        if null is None:
            raise ValueError(f"{NULL}, which shows the noise, does not train: {self.of(NULL)[-1].reason}")
        self.noise = noise(null)
        if self.limit < self.noise:
            raise ValueError(f"limit={self.limit:g} is below the noise: {NULL}, which changes next to nothing, differs "
                             f"from fp32 by {100 * null.mean:+.2f}% ({100 * null.low:+.2f} to {100 * null.high:+.2f}%) "
                             f"in these {self.steps} steps. Take more steps, repeats=3, or a limit above "
                             f"{self.noise:.2g}")

    # --- one of them ---

    def train(self, scheme: str, repeat: int, text: str) -> Arm:
        began = time.perf_counter()
        optimizer = self.start.begin()
        if _dgc_momentum(scheme):
            for group in optimizer.param_groups:
                if "momentum" in group:
                    group["momentum"] = 0.0
        rates = [group["lr"] for group in optimizer.param_groups]
        workers = workers_of(self.task, scheme, 1 + repeat)
        arm, payload, skipped = Arm(scheme, repeat, [], 0.0, workers.values(), 0.0), 0.0, 0
        try:
            for step in range(self.steps):
                for group, rate in zip(optimizer.param_groups, rates):
                    group["lr"] = rate * factor(self.schedule, step, self.steps)
                found = workers.gradients(step, self.batch(step, repeat))
                arm.losses.append(found.loss)
                payload += found.payload_bytes
                skipped = skipped + 1 if found.skipped else 0
                arm.reason = found.refused or self.divergence(found.loss, skipped)
                if arm.reason is not None:
                    arm.ended = "diverged"
                    break
                seed_all(1 + repeat, step, "step")
                self.apply(optimizer)
                self.progress.step(f"{text}, step {step + 1} of {self.steps}")
                if self.is_lost(arm):
                    arm.ended = "lost"
                    break
        finally:
            workers.end()
        if arm.ended == "whole" and not any(map(math.isfinite, last_third(arm.losses))):
            arm.ended, arm.reason = "diverged", "no loss of the last third is finite"
        arm.payload_bytes = payload / arm.steps
        if self.metric is not None and arm.ended == "whole":
            arm.accuracy = self.accuracy()
        arm.seconds = time.perf_counter() - began
        return arm

    def divergence(self, loss: float, skipped: int) -> str | None:
        if skipped > MOST_SKIPPED:
            return f"gradients of {skipped} steps in a row are not finite"
        if self.task.scaler is None and not math.isfinite(loss):
            return "the loss is not finite"
        return None

    def apply(self, optimizer: torch.optim.Optimizer) -> None:
        if self.step_fn is not None:
            self.step_fn(self.task.module, optimizer)
        elif self.task.scaler is not None:
            self.task.scaler.step(optimizer)
            self.task.scaler.update()
        else:
            optimizer.step()

    def is_lost(self, arm: Arm) -> bool:
        """Whether the scheme is worse by more than this step allows, for sure."""
        if arm.scheme in (RAW, NULL) or arm.repeat > 0 or arm.steps == self.steps:
            return False
        for i, most in enumerate(self.halving):
            if arm.steps == max(EARLIEST * (i + 1), self.steps * (i + 1) // (2 * len(self.halving))):
                return is_lost(arm.losses, self.arms[(RAW, 0)].losses, most * max(1.0, self.limit / LIMIT))
        return False

    def accuracy(self) -> float:
        module = self.task.module
        modes = [(m, m.training) for m in module.modules()]
        module.eval()
        try:
            with torch.no_grad():
                found = float(self.metric(module))
        finally:
            for m, mode in modes:
                m.training = mode
        if not 0 <= found <= 1:
            raise ValueError(f"metric(model) returned {found:g}: an accuracy is from 0 to 1")
        return found

    # --- the result ---

    def result(self) -> Trial:
        rows: list[dict[str, Any]] = []
        notes = [f"noise: a change of the loss below {100 * self.noise:.2f}% cannot be told from none "
                 f"({NULL} against fp32)", "a trial proves no final accuracy"]
        verdicts, changes, reasons = {}, {}, {}
        for scheme in [RAW, NULL, *self.schemes]:
            for arm in self.of(scheme):
                at = points(arm, self.steps)
                for i, (step, loss) in enumerate(at):
                    last = arm.ended == "whole" and i == len(at) - 1
                    rows.append(self.row(arm, kind="eval", seed=1 + arm.repeat, step=step, train_loss=loss,
                                         accuracy=arm.accuracy if last else None))
        for scheme in [RAW, NULL, *self.schemes]:
            changes[scheme], verdicts[scheme], reason = self.judged(scheme)
            if reason is not None:
                reasons[scheme] = reason
                notes.append(f"{scheme}: {verdicts[scheme]}: {reason}")
            rows.append(self.summary(scheme, changes[scheme], verdicts[scheme]))
        return Trial(rows, notes, self.noise, verdicts, changes, reasons)

    def judged(self, scheme: str) -> tuple[Change | None, str, str | None]:
        if scheme == RAW:
            return Change(0.0, 0.0, 0.0), "keeps", None
        found = self.change(scheme)
        bad = next((arm for arm in self.of(scheme) if arm.ended == "diverged"), None)
        if found is None:
            return None, "costs", f"{bad.reason} in step {bad.steps}"
        if any(arm.ended == "lost" for arm in self.of(scheme)):
            return found, "costs", None
        return found, *verdict(scheme, found, self.limit, self.steps)

    def row(self, arm: Arm, **more: Any) -> dict[str, Any]:
        bits = 8 * arm.payload_bytes / arm.values
        own = {
            "scheme": arm.scheme, "net": type(self.task.module).__name__, "data": "user's", "values": arm.values,
            "exchange": "allgather", "workers": self.task.workers, "batch": self.samples, "rate": self.rate,
            "trial_schedule": self.schedule, "payload_bytes": arm.payload_bytes, "bits_per_value": bits,
            "ratio": 32 / bits if bits > 0 else None, "bits_push": bits, "clock": "process",
        }  # fmt: skip
        return row(**{**own, **more})

    def summary(self, scheme: str, found: Change | None, judged: str) -> dict[str, Any]:
        arms = self.of(scheme)
        whole = [arm for arm in arms if arm.ended != "diverged"]
        payload = sum(arm.payload_bytes for arm in arms) / len(arms)
        losses = [float(x) for arm in whole for x in last_third(arm.losses) if math.isfinite(x)]
        accuracies = [arm.accuracy for arm in arms if arm.accuracy is not None]
        accuracy = sum(accuracies) / len(accuracies) if accuracies else None
        pairs = [arm.accuracy - self.arms[(RAW, arm.repeat)].accuracy for arm in arms if arm.accuracy is not None]
        ended = next((arm.steps for arm in arms if arm.ended != "whole"), None)
        return self.row(
            dataclasses.replace(arms[0], payload_bytes=payload), kind="summary", seeds=len(whole),
            diverged=len(arms) - len(whole), step=ended or self.steps, ended_step=ended,
            loss_end=sum(losses) / len(losses) if found is not None and losses else None,
            accuracy=accuracy, difference=sum(pairs) / len(pairs) if pairs else None,
            loss_change=found.mean if found else None, loss_change_low=found.low if found else None,
            loss_change_high=found.high if found else None, loss_limit=self.limit, verdict=judged,
            time_s=sum(arm.seconds for arm in arms))


def _name(function: Any) -> str:
    return "none" if function is None else getattr(function, "__qualname__", type(function).__name__)
