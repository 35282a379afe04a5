"""The workers of a trial: played in turn by this process, or the ranks of DistributedDataParallel.

Both encode as the communication hook does, the first with the buckets of exchange.py, one for each
worker, whose messages this process hands around; the second with the hook itself.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .._library import Error
from .exchange import COMPRESSED, Bucket, Tensor, is_compressed
from .recorder import unwrap
from .state import State, hook, is_finite
from .trial_state import Buffers, seed_all

# The sizes of DDP's first bucket and of the others, in bytes.
FIRST_BUCKET, OTHER_BUCKETS = 1 << 20, 25 << 20


@dataclasses.dataclass
class Task:
    """What is trained, and how many workers do it."""

    model: torch.nn.Module
    loss_fn: Callable[..., torch.Tensor]
    workers: int
    micro_batch: int | None  # samples of a worker; None: its share of the batch
    min_size: int
    granularity: str
    scaler: Any
    group: Any = None  # of the ranks; None: workers are played

    @property
    def module(self) -> torch.nn.Module:
        return unwrap(self.model)

    @property
    def rank(self) -> int:
        return 0 if self.group is None else dist.get_rank(self.group)

    def scale(self) -> float:
        return 1.0 if self.scaler is None else self.scaler.get_scale()


@dataclasses.dataclass
class Gradients:
    """The result of a step's backward passes: the parameters have the mean gradient."""

    loss: float  # the workers' mean
    payload_bytes: float  # of a worker
    refused: str | None = None  # why there is no mean
    skipped: bool = False  # gradients are not finite, and the scaler skips the step


# --- batches ---

def _leaves(batch: Any) -> list[Any]:
    if isinstance(batch, (torch.Tensor, np.ndarray)):
        return [batch] if batch.ndim > 0 else []
    parts = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (tuple, list)) else ()
    return [leaf for part in parts for leaf in _leaves(part)]


def samples(batch: Any) -> int:
    """The number of samples, the first dimension of all tensors of a batch."""
    sizes = sorted({len(leaf) for leaf in _leaves(batch)})
    if len(sizes) != 1:
        found = " and ".join(map(str, sizes)) or "no"
        raise ValueError(f"batches(step) returned tensors of {found} samples: it returns a tensor, or a tuple, list "
                         "or dict of tensors, whose first dimension counts the samples of all workers together")
    return sizes[0]


def share(batch: Any, begin: int, end: int) -> Any:
    """The samples from begin to end."""
    if isinstance(batch, (torch.Tensor, np.ndarray)):
        return batch[begin:end] if batch.ndim > 0 else batch
    if isinstance(batch, dict):
        return type(batch)((key, share(part, begin, end)) for key, part in batch.items())
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(share(part, begin, end) for part in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(share(part, begin, end) for part in batch)
    return batch


def worker_samples(task: Task, batch: Any) -> int:
    """How many samples of a batch each worker has."""
    count = samples(batch)
    if task.micro_batch is not None:
        if task.micro_batch * task.workers > count:
            raise ValueError(f"micro_batch={task.micro_batch}: {task.workers} workers need "
                             f"{task.micro_batch * task.workers} samples, and batches(step) returned {count}")
        return task.micro_batch
    if count % task.workers != 0:
        raise ValueError(f"batches(step) returned {count} samples, which {task.workers} workers cannot share equally")
    return count // task.workers


def _loss(task: Task, model: torch.nn.Module, batch: Any, worker: int) -> torch.Tensor:
    n = worker_samples(task, batch)
    loss = task.loss_fn(model, share(batch, worker * n, (worker + 1) * n))
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise ValueError("loss_fn(model, batch) returns the mean loss of the batch's samples, a tensor of one value")
    return loss


def _backward(task: Task, loss: torch.Tensor) -> None:
    (loss if task.scaler is None else task.scaler.scale(loss)).backward()


# --- played ---

class Played:
    """All workers, one after the other; made for one training."""

    def __init__(self, task: Task, scheme: str, seed: int) -> None:
        self._task, self._scheme, self._seed = task, scheme, seed
        self._named = [(i, n, p) for i, (n, p) in enumerate(task.module.named_parameters()) if p.requires_grad]
        self._flat: torch.Tensor | None = None

    def gradients(self, step: int, batch: Any) -> Gradients:
        task, losses = self._task, []
        buffers = Buffers(task.module)
        self._rest: list[torch.Tensor] = []
        self._has = [False] * len(self._named)
        for worker in reversed(range(task.workers)):  # the last one is rank 0, whose buffers stay, as in DDP
            buffers.put_back()
            for _, _, p in self._named:
                p.grad = None
            seed_all(self._seed, step, worker)
            loss = _loss(task, task.module, batch, worker)
            _backward(task, loss)
            losses.append(loss.detach().reshape(()))
            self._take(worker)
        mean = float(torch.stack(losses).double().mean())
        return self._mean(step, mean)

    def values(self) -> int:
        return sum(p.numel() for _, _, p in self._named)

    # --- gradients of a worker ---

    def _lay_out(self) -> None:
        """By the first gradients: which values travel through buckets, and in which order."""
        dense = [(i, n, p) for i, n, p in self._named
                 if p.dtype in COMPRESSED and (p.grad is None or not p.grad.is_sparse)]
        if self._task.granularity == "bucket":
            dense.reverse()
        self._dense = [p for _, _, p in dense]
        inside = set(self._dense)
        self._others = [p for _, _, p in self._named if p not in inside]
        self._flat = torch.zeros(self._task.workers, sum(p.numel() for p in self._dense))
        pieces = _buckets(self._dense) if self._task.granularity == "bucket" else dense
        self._coded = any(is_compressed(p, self._scheme, self._task.min_size) for _, _, p in pieces)
        self._buckets = [self._bucket(pieces, worker) for worker in range(self._task.workers)] if self._coded else []

    def _bucket(self, pieces: list[tuple[int, str, Any]], worker: int) -> Bucket:
        options = {"scheme": self._scheme, "seed": self._seed, "threads": 1}
        tensors = [(Tensor(n, i, p.shape, options, worker) if is_compressed(p, self._scheme, self._task.min_size)
                    else None, p) for i, n, p in pieces]
        return Bucket(tensors, None, world=self._task.workers)

    def _take(self, worker: int) -> None:
        if self._flat is None:
            self._lay_out()
        parts = []
        for i, (_, _, p) in enumerate(self._named):
            self._has[i] = self._has[i] or p.grad is not None
        for p in self._dense:
            parts.append(torch.zeros_like(p).reshape(-1) if p.grad is None else p.grad.reshape(-1).float())
        if parts:
            self._flat[worker].copy_(torch.cat(parts))
        # Sums of what DDP averages in its own type: double precision, sparse gradients.
        self._rest = self._rest or [None] * len(self._others)
        for i, p in enumerate(self._others):
            if p.grad is not None:
                self._rest[i] = p.grad if self._rest[i] is None else self._rest[i] + p.grad

    # --- their mean ---

    def _mean(self, step: int, loss: float) -> Gradients:
        task, flat = self._task, self._flat
        scale, payload = task.scale(), 4.0 * flat.shape[1] + sum(8 * p.numel() for p in self._others)
        if scale != 1.0:
            flat.mul_(1.0 / scale)
        bad = next((w for w, x in enumerate(flat) if not is_finite(x)), None)
        if bad is None and any(g is not None and not is_finite(g.coalesce().values() if g.is_sparse else g)
                               for g in self._rest):
            bad = 0
        if bad is not None and task.scaler is None:
            return Gradients(loss, payload, f"gradients of rank {bad} are NaN or infinite")
        if bad is not None:
            flat[0].fill_(math.nan)
        elif self._coded:
            try:
                payload += self._exchange(step) - 4.0 * flat.shape[1]
            except Error as e:
                return Gradients(loss, payload, str(e))
        else:
            flat[0] = flat.mul_(1.0 / task.workers).sum(0)
        if scale != 1.0:
            flat[0].mul_(scale)
        self._give(flat[0])
        return Gradients(loss, payload, skipped=bad is not None)

    def _give(self, mean: torch.Tensor) -> None:
        at = 0
        used = {p for (_, _, p), has in zip(self._named, self._has) if has}
        for p in self._dense:
            part = mean[at:at + p.numel()].view(p.shape)
            p.grad = part.to(p.device, p.dtype) if p in used else None
            at += p.numel()
        for p, total in zip(self._others, self._rest):
            p.grad = None if total is None else total / self._task.workers

    def _exchange(self, step: int) -> float:
        """The first worker's values become the mean, as on all ranks. Returns a worker's payload bytes."""
        buckets, first = self._buckets, self._buckets[0]
        payload = 0
        for bucket, x in zip(buckets, self._flat):
            bucket.see(x)
        if first.rounds > 0:
            for k, total in enumerate(first.sums):
                payload += sum(bucket.encode_round(k, step) for bucket in buckets)
                for bucket in buckets[1:]:
                    total += bucket.sums[k]
                for bucket in buckets:
                    bucket.absorb(k, total, step)
        else:
            for bucket in buckets:
                payload += bucket.encode(step) - bucket.head_bytes
                if bucket.error is not None:
                    raise bucket.error
            raw = torch.stack([bucket.raw_sum for bucket in buckets]).sum(0)
            heads, messages = [bucket.head.tolist() for bucket in buckets], [bucket.message for bucket in buckets]
            first.decode(heads, messages, raw, step)
        return payload / len(buckets) + 4 * first.raw_values

    def end(self) -> None:
        """There is nothing to be ended."""


def _buckets(parameters: list[torch.nn.Parameter]) -> list[tuple[int, str, torch.Tensor]]:
    """DDP's buckets of the first step: number, name and a tensor of that many values."""
    found, size = [], 0
    for i, p in enumerate(parameters):
        size += p.numel()
        limit = OTHER_BUCKETS if found else FIRST_BUCKET
        if 4 * size >= limit or i == len(parameters) - 1:
            found.append((len(found), f"bucket {len(found)}", torch.empty(size, device="meta")))
            size = 0
    return found


# --- ranks ---

class Ranks:
    """This rank of DDP, with the hook. DDP takes one hook, which stays: the trial wraps the user's module
    once more for each training."""

    def __init__(self, task: Task, scheme: str, seed: int) -> None:
        user = task.model
        self._task, self._scheme, self._seed = task, scheme, seed
        self._ddp = DistributedDataParallel(
            user.module, device_ids=user.device_ids, output_device=user.output_device,
            broadcast_buffers=user.broadcast_buffers, process_group=user.process_group,
            find_unused_parameters=user.find_unused_parameters, gradient_as_bucket_view=user.gradient_as_bucket_view,
            static_graph=user.static_graph)
        self._state = State(scheme, model=self._ddp, min_size=task.min_size, seed=seed, scaler=task.scaler,
                            group=task.group)
        self._ddp.register_comm_hook(self._state, hook)
        self._parameters = [p for p in user.module.parameters() if p.requires_grad]

    def values(self) -> int:
        return sum(p.numel() for p in self._parameters)

    def gradients(self, step: int, batch: Any) -> Gradients:
        task = self._task
        for p in self._parameters:
            p.grad = None
        seed_all(self._seed, step, task.rank)
        loss = _loss(task, self._ddp, batch, task.rank)
        refused = None
        try:
            _backward(task, loss)
        except RuntimeError:
            refused = self._state.refused
            if refused is None:
                raise
        finite = refused is None and all(
            is_finite(p.grad.coalesce().values() if p.grad.is_sparse else p.grad)
            for p in self._parameters if p.grad is not None)
        if refused is None and not finite and task.scaler is None:
            refused = "gradients are NaN or infinite"
        steps = self._state.stats.steps
        found = [torch.empty(2, dtype=torch.float64) for _ in range(task.workers)]
        mine = torch.tensor([float(loss.detach()), steps[-1].payload_bytes if steps else 0.0], dtype=torch.float64)
        dist.all_gather(found, mine, group=task.group)
        loss_mean, payload = torch.stack(found).mean(0).tolist()
        return Gradients(loss_mean, payload, refused, skipped=refused is None and not finite)

    def end(self) -> None:
        """Waits for the hook's thread."""
        self._state._worker.end()


def workers_of(task: Task, scheme: str, seed: int) -> Played | Ranks:
    return Played(task, scheme, seed) if task.group is None else Ranks(task, scheme, seed)
