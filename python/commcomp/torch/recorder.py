"""Captures gradients, and the model's deltas, of a training as a trace that `commcomp` reads."""
from __future__ import annotations

import atexit
import functools
import os
import re
import sys
import threading
import types
import weakref
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DataParallel, DistributedDataParallel

from commcomp import TraceWriter

from .worker import Worker, deliver


def unwrap(model):
    """The model that the user wrote, without what was put around it: names have no `module.`."""
    while True:
        if isinstance(model, (DistributedDataParallel, DataParallel)):
            model = model.module
        elif hasattr(model, "_orig_mod"):  # a model from torch.compile
            model = model._orig_mod
        else:
            return model


def average(bucket, group, worker):
    """Averages a bucket as DDP does without a hook, to the bit. Returns the future of the mean, which
    the worker's thread completes."""
    buffer, size = bucket.buffer(), dist.get_world_size(group)
    if buffer.is_sparse:
        buffer.div_(size)
    else:
        buffer.mul_(1.0 / size)
    sum_ = dist.all_reduce(buffer, group=group, async_op=True).get_future()
    if buffer.is_cuda:  # complete at once, for work that follows on the same stream
        return sum_.then(lambda done: done.value()[0])
    mean = torch.futures.Future()
    result = mean.then(deliver)
    worker.put(_hand_on, sum_, mean)
    return result


def _hand_on(sum_, mean):
    try:
        mean.set_result(sum_.wait()[0])
    except Exception as e:
        mean.set_result(e)


def _finite(tensor):
    if tensor.is_sparse:
        tensor = tensor._values()
    return bool(torch.isfinite(tensor).all())


def _dense(p):
    """Whether strides order the values without gaps, as channels_last does: DDP then has the gradient
    in this order in its bucket."""
    step = 1
    for stride, size in sorted((s, n) for s, n in zip(p.stride(), p.shape) if n != 1):
        if stride != step:
            return False
        step *= size
    return True


def _observe(owner, method, before, after):
    """Has owner.method call before(*args) first and after(*args) at the end."""
    inner = getattr(owner, method)

    @functools.wraps(inner)
    def observed(self, *args, **kwargs):
        before(*args)
        result = inner(*args, **kwargs)
        after(*args)
        return result

    setattr(owner, method, types.MethodType(observed, owner))  # a method: schedulers wrap it again


class Capture:
    """Stores the steps of a training; made by capture(), which says how to use it.

    captured  the numbers of the steps that were stored
    skipped   the numbers of the steps that were not, as a gradient was NaN or infinite
    count     how many steps there were so far
    """

    def __init__(self, model, folder, steps, optimizer, scaler, pulls, rank, hook):
        inner = unwrap(model)
        if type(model).__name__ == "FullyShardedDataParallel" or not isinstance(model, torch.nn.Module):
            raise TypeError("capture needs a model whose ranks have whole tensors: a torch.nn.Module, "
                            "also within DistributedDataParallel; not " + type(model).__name__)
        ddp = isinstance(model, DistributedDataParallel)
        if hook is not None and not ddp:
            raise ValueError("hook= is for models in DistributedDataParallel")
        if pulls and optimizer is None:
            raise ValueError("pulls=True needs optimizer=, whose step changes the model")
        if scaler is not None and optimizer is None and not ddp:
            raise ValueError("scaler= needs optimizer=, which sees unscaled gradients; or leave it out, and "
                             "call scaler.unscale_() before step()")
        self._group = model.process_group if ddp else None
        if rank is None:
            rank = dist.get_rank(self._group) if dist.is_available() and dist.is_initialized() else 0
        self.folder, self.rank = os.fspath(folder), rank
        self.steps = steps if isinstance(steps, range) else frozenset(steps)
        self.count, self.captured, self.skipped = 0, [], []
        self._names = {p: n for n, p in inner.named_parameters() if p.requires_grad}
        self._scaler, self._pulls = scaler, pulls and rank == 0
        self._grads, self._before = {}, None
        self._open_folder()
        self._writer = TraceWriter(self.folder)
        if ddp:
            self._hook = hook
            self._lock, self._pending, self._worker = threading.Lock(), 0, Worker()
            model.register_comm_hook(self, _hook)
        self._ddp = ddp
        if optimizer is not None:
            _observe(optimizer, "step", self._optimizer_begins, self._optimizer_ends)
            if scaler is not None and not ddp:
                self._count_before = 0
                _observe(scaler, "step", self._scaler_begins, self._scaler_ends)
        atexit.register(_tell_missing, weakref.ref(self))

    def _open_folder(self):
        """Files of an earlier capture would mix with ours."""
        os.makedirs(self.folder, exist_ok=True)
        ours = rf"push-step\d+-rank{self.rank}\.safetensors"
        if self.rank == 0:
            ours += r"|pull-step\d+\.safetensors"
        old = next((f for f in sorted(os.listdir(self.folder)) if re.fullmatch(ours, f)), None)
        if old is not None:
            raise FileExistsError(f"{self.folder} has a trace already ({old}): "
                                  "remove it, or capture to another folder")

    def step(self) -> None:
        """Stores the gradients as they are now: to be called between backward() and the optimizer's
        step, for a model without DDP that was captured without optimizer=."""
        if self._ddp:
            raise RuntimeError("under DistributedDataParallel, capture sees every step itself")
        if self.count in self.steps:
            self._grads = {p: p.grad for p in self._names if p.grad is not None}
            finite = all(_finite(g) for g in self._grads.values())
            self._grads = {p: self._copy(g) for p, g in self._grads.items()} if finite else {}
            self._store(finite)
        self.count += 1

    # --- files ---

    @staticmethod
    def _copy(grad):
        return (grad.to_dense() if grad.is_sparse else grad).detach().to("cpu", copy=True).contiguous()

    def _store(self, finite):
        """Writes this step's gradients; parameters without one have zeros, so that every file has
        the same tensors."""
        grads, self._grads = self._grads, {}
        if not finite:
            self.skipped.append(self.count)
            return
        tensors = {}
        for p, name in self._names.items():
            g = grads.get(p)
            tensors[name] = torch.zeros(p.shape, dtype=p.dtype) if g is None else g
        self._writer.write(self.count, tensors, rank=self.rank)
        self.captured.append(self.count)

    # --- DDP ---

    def _bucket(self, bucket):
        """The communication hook: keeps this rank's gradients, then averages as always."""
        recording = self.count in self.steps
        if recording:
            self._keep(bucket)
        if self._hook is None:
            mean = average(bucket, self._group, self._worker)
        else:
            state, function = self._hook
            mean = function(state, bucket)
        last = bucket.is_last()
        if recording:
            if bucket.index() == 0:
                self._finite, self._pending, self._all = True, 0, False
            with self._lock:
                self._pending += 1
                self._all = last
            mean = mean.then(self._averaged)
        elif last:
            self.count += 1
        return mean

    def _keep(self, bucket):
        unscale = 1.0 if self._scaler is None else 1.0 / self._scaler.get_scale()
        buffer = bucket.buffer()
        if buffer.is_sparse:
            grads = [buffer]
        else:
            grads = [g.as_strided(p.shape, p.stride()) if _dense(p) else g
                     for p, g in zip(bucket.parameters(), bucket.gradients())]
        for p, g in zip(bucket.parameters(), grads):
            copy = self._copy(g)
            self._grads[p] = copy if unscale == 1.0 else copy.mul_(unscale)

    def _averaged(self, future):
        """Runs when a bucket's mean is there. The means are the same on all ranks, so that all of
        them skip a step or none."""
        mean = future.value()
        finite = _finite(mean)
        with self._lock:
            self._finite = self._finite and finite
            self._pending -= 1
            if self._pending == 0 and self._all:
                self._store(self._finite)
                self.count += 1
        return mean

    # --- the optimizer and the scaler ---

    def _optimizer_begins(self, *_):
        if not self._ddp:
            self.step()
        done = self.count - 1
        if self._pulls and done in self.steps and done not in self.skipped:
            self._before = {p: p.detach().clone() for p in self._names}

    def _optimizer_ends(self, *_):
        if self._before is not None:
            deltas = {name: self._copy(p - self._before[p]) for p, name in self._names.items()}
            self._before = None
            self._writer.write(self.count - 1, deltas, direction="pull")

    def _scaler_begins(self, *_):
        self._count_before = self.count

    def _scaler_ends(self, *_):
        if self.count == self._count_before:  # it found infinite gradients and left the step out
            if self.count in self.steps:
                self.skipped.append(self.count)
            self.count += 1


def _hook(state, bucket):
    return state._bucket(bucket)


def _tell_missing(reference):
    """At the program's end, says on standard error if steps are missing."""
    c = reference()
    if c is not None and len(c.captured) + len(c.skipped) < len(c.steps):
        seen = f"the training had {c.count} steps" if c.count > 0 else (
            "it saw no step: pass optimizer=, or call its step() after backward()")
        print(f"commcomp.torch.capture: {len(c.captured)} of {len(c.steps)} steps were stored in "
              f"{c.folder}; {seen}", file=sys.stderr)


def capture(model: torch.nn.Module, folder: str | os.PathLike[str], steps: Iterable[int], *,
            optimizer: torch.optim.Optimizer | None = None, scaler: Any = None, pulls: bool = False,
            rank: int | None = None, hook: tuple[Any, Any] | None = None) -> Capture:
    """Stores the gradients of some steps of a training in `folder`, one file for each step and rank,
    as `commcomp --trace FOLDER` reads them.

    A model in DistributedDataParallel: a communication hook stores this rank's own gradients before
    they are averaged, and averages them as DDP does. With hook=(state, function), that hook is
    called instead of averaging. Steps in no_sync() add up to one.

    Any other model: give the optimizer, whose step() is observed; or call step() of the returned
    object between backward() and the optimizer's step.

    steps      the numbers of the steps to store, counted from 0 in this call: range(100, 112)
    scaler     the GradScaler of mixed precision: gradients are stored unscaled. Steps whose
               gradients are not finite are left out and counted
    pulls      also store the change of the parameters in each step (needs optimizer=)
    rank       the number of this worker, if torch.distributed does not know it

    Gradients are stored in the parameter's type: float32, bfloat16, float16 or float64. Tied
    parameters are stored once, sparse gradients densely, and unused parameters as zeros.
    """
    return Capture(model, folder, steps, optimizer, scaler, pulls, rank, hook)
