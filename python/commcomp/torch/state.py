"""The DDP communication hook: gradients travel as a scheme's payloads."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist

import commcomp
from commcomp import Codec

from .exchange import FAILED, NOT_FINITE, Bucket, Tensor, Timer, is_compressed
from .recorder import average, unwrap
from .staging import Staging
from .stats import Stats
from .worker import Worker, deliver

# The form of state_dict().
FORMAT = 1

# Bytes of what ranks tell each other about themselves.
TEXT_BYTES = 512


def hook(state, bucket):  # without types: DDP would compare their texts with its classes
    """Averages a bucket's gradients; the hook for register_comm_hook, beside a State."""
    return state.submit(bucket)


def group_timeout(group):
    """How long the operations of the model's group may take, for those of the hook. PyTorch has no
    public function for this."""
    options = getattr(group or dist.distributed_c10d._get_default_group(), "options", None)
    return getattr(options, "_timeout", dist.default_pg_timeout)


def is_finite(x):
    """Whether all values are finite."""
    return bool(torch.isfinite(x.sum())) or bool(torch.isfinite(x).all())  # the sum may overflow


class State:
    """The state of the hook: one for each DDP model, made on all ranks at the same time, as they agree
    on what follows.

        state = commcomp.torch.State("3lc:s=1.75", model=ddp)
        ddp.register_comm_hook(state, commcomp.torch.hook)

    scheme    as on the command line
    model     gives tensors their names, in messages and in state_dict(); without it they are numbered
              in the order of the first step
    min_size  tensors of fewer values are sent raw, as are those of whole numbers and of float64
    warmup    for this many steps at first, everything is sent raw
    seed      of schemes that draw random numbers
    threads   how many a codec may use
    scaler    the GradScaler of mixed precision: residuals are kept unscaled, and a step whose gradients
              are not finite leaves them as they were. Without it, such a step is an error
    group     for a model whose process group is not all ranks: another group of the same ranks, for
              nothing else, which can move tensors of the CPU (gloo, MPI)

    `stats` has what was sent and how long it took. An error in one rank is raised in all of them,
    unless that rank is dead: then as by DDP, when its connections end or time out.
    """

    def __init__(self, scheme: str, *, model: torch.nn.Module | None = None, min_size: int = 1000,
                 warmup: int = 0, seed: int = 1, threads: int = 1, scaler: Any = None,
                 group: dist.ProcessGroup | None = None) -> None:
        if not dist.is_initialized():
            raise RuntimeError("State needs torch.distributed.init_process_group() first")
        self._ddp_group = getattr(model, "process_group", None)
        if group is None:
            group = dist.new_group(backend="mpi" if dist.get_backend() == "mpi" else "gloo",
                                   timeout=group_timeout(self._ddp_group))
        if dist.get_world_size(group) != dist.get_world_size(self._ddp_group):
            raise ValueError(f"the model has {dist.get_world_size(self._ddp_group)} ranks, and the group "
                             f"{dist.get_world_size(group)}: make one of the same ranks, and pass group=")
        self.min_size, self.warmup, self._scaler, self._group = min_size, warmup, scaler, group
        try:
            self.scheme = Codec(scheme, 1).scheme
        except ValueError as e:  # the other ranks wait to hear what this one has
            self._agree(str(e))
            raise
        self._options = {"scheme": self.scheme, "seed": seed, "threads": threads}
        self.stats = Stats(self.scheme, dist.get_world_size(group))
        self.step = 0
        self._names = {} if model is None else {
            p: (i, n) for i, (n, p) in enumerate(unwrap(model).named_parameters())}
        self._tensors = {}  # by parameter; None: sent raw
        self._restored = {}  # states of load_state_dict() for tensors that have not come yet
        self._buckets = {}  # by the parameters in them
        self._worker, self._error = Worker(), None
        self.refused = None  # why the ranks together gave a step up
        self._spoiled = -1  # the step whose gradients are not finite
        self._agree(f"commcomp {commcomp.version()}, {self.scheme}, min_size={min_size}, "
                    f"warmup={warmup}, seed={seed}, scaler={'yes' if scaler is not None else 'no'}")

    # --- checkpoints ---

    def state_dict(self) -> dict[str, Any]:
        """This rank's residuals and other state; to be called between steps, and saved by each rank."""
        states = {t.name: torch.frombuffer(bytearray(t.codec.state()), dtype=torch.uint8)
                  for t in self._tensors.values() if t is not None}
        return {"format": FORMAT, "scheme": self.scheme, "rank": dist.get_rank(self._group),
                "step": self.step, "tensors": {**self._restored, **states}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from the state_dict() of the same rank; before the first step, or between steps."""
        rank = dist.get_rank(self._group)
        if state.get("format") != FORMAT:
            raise ValueError(f"this is not a state of commcomp.torch.State of format {FORMAT}")
        for key, mine in (("scheme", self.scheme), ("rank", rank)):
            if state[key] != mine:
                raise ValueError(f"the state is of {key} {state[key]}, and this is {key} {mine}: every "
                                 "rank saves and loads its own")
        self._restored = dict(state["tensors"])
        for tensor in self._tensors.values():
            if tensor is not None:
                self._restore(tensor)
        self.step = state["step"]

    def _restore(self, tensor):
        saved = self._restored.pop(tensor.name, None)
        if saved is not None:
            tensor.codec.restore(saved)

    # --- agreement of the ranks ---

    def _agree(self, text):
        """Fails on all ranks if they do not say the same."""
        raw = text.encode()[:TEXT_BYTES]
        mine = torch.zeros(TEXT_BYTES, dtype=torch.uint8)
        mine[:len(raw)] = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
        found = [torch.empty_like(mine) for _ in range(dist.get_world_size(self._group))]
        dist.all_gather(found, mine, group=self._group)
        texts = [bytes(t.tolist()).rstrip(b"\0").decode() for t in found]
        if len(set(texts)) > 1:
            raise ValueError("ranks differ, so that they cannot exchange gradients:\n"
                             + "\n".join(f"  rank {r}: {t}" for r, t in enumerate(texts)))

    # --- in the thread of the backward pass ---

    def submit(self, bucket):
        """The hook: returns the future of the bucket's mean."""
        if bucket.index() == 0:
            self.stats.begin(self.step)
            self._forget_buckets()
        step, buffer = self.step, bucket.buffer()
        self.stats.bucket_begins(buffer.numel(), bucket.is_last())
        if bucket.is_last():
            self.step += 1
        if step < self.warmup or buffer.is_sparse:
            return self._average(bucket)
        ours = self._bucket_of(bucket)
        if not ours.coded:
            return self._average(bucket)
        ours.used = step
        if ours.staging is None or not ours.staging.fits(buffer):
            ours.staging = Staging(buffer)
        ours.staging.begin(buffer)
        future = torch.futures.Future(devices=ours.staging.devices)
        result = future.then(deliver)
        self._worker.put(self._handle, step, ours, buffer, future)
        return result

    def _average(self, bucket):
        """As DDP without a hook, also in its order."""
        begin = time.perf_counter()
        buffer = bucket.buffer()
        size = (buffer._nnz() if buffer.is_sparse else buffer.numel()) * buffer.element_size()

        def ended(future):
            self.stats.bucket_ends(size, size, 0.0, time.perf_counter() - begin)
            return future.value()

        return average(bucket, self._ddp_group, self._worker).then(ended)

    def _bucket_of(self, bucket):
        parameters = tuple(bucket.parameters())
        key = tuple(map(id, parameters))
        if key not in self._buckets:
            self._buckets[key] = Bucket([(self._tensor_of(p), p) for p in parameters], self._group)
        return self._buckets[key]

    def _tensor_of(self, p):
        if p not in self._tensors:
            count = len(self._tensors)
            index, name = self._names.get(p, (count, str(count)))
            tensor = None
            if is_compressed(p, self.scheme, self.min_size):
                tensor = Tensor(name, index, p.shape, self._options, dist.get_rank(self._group))
                self._restore(tensor)
            self._tensors[p] = tensor
        return self._tensors[p]

    def _forget_buckets(self):
        """Forgets the buckets from before DDP rebuilt them."""
        for key in [k for k, b in self._buckets.items() if b.coded and b.used < self.step - 1]:
            del self._buckets[key]

    # --- in the thread of the exchange ---

    def _handle(self, step, bucket, buffer, future):
        with bucket.staging.context():
            try:
                if self._error is not None:
                    raise RuntimeError(f"the hook has failed before: {self._error}")
                result = self._exchange(step, bucket, buffer)
            except Exception as e:  # it is raised in the thread of the backward pass
                self._error = self._error or e
                result = e
            future.set_result(result)

    def _exchange(self, step, bucket, buffer):
        timer = Timer()
        if not bucket.agreed:
            self._agree(f"step {step}: a bucket of {bucket.text}")
            bucket.agreed = True
        x = bucket.staging.values(buffer)
        scale = 1.0 if self._scaler is None else self._scaler.get_scale()
        if scale != 1.0:
            x.mul_(1.0 / scale)
        if self._scaler is not None:
            for tensor, _, _ in bucket.coded:
                tensor.before = (step, tensor.codec.state())
        flags, payload, sent = bucket.exchange(x, step, is_finite(x), timer)
        if any(flags):
            self._refuse(step, flags, bucket)
            self._spoiled = step
            x.fill_(float("nan"))
        if self._spoiled == step:
            self._undo(step)
        if scale != 1.0:
            x.mul_(scale)
        bucket.staging.end(buffer)
        timer.codec()
        self.stats.bucket_ends(payload, sent, timer.codec_s, timer.comm_s)
        return buffer

    def _refuse(self, step, flags, bucket):
        """Raises an error, on all ranks, unless gradients are not finite and a scaler expects it."""
        me = dist.get_rank(self._group)
        if FAILED in flags:
            rank = flags.index(FAILED)
            self.refused = f"rank {rank} cannot encode its gradients"
            raise RuntimeError(f"step {step}: {self.refused}"
                               + (f": {bucket.error}" if rank == me else ", and says why"))
        if self._scaler is None:
            self.refused = f"gradients of rank {flags.index(NOT_FINITE)} are NaN or infinite"
            raise ValueError(f"step {step}: {self.refused}; with mixed precision, pass scaler=")

    def _undo(self, step):
        """Sets the tensors of this step back: the optimizer does not see it."""
        for tensor in self._tensors.values():
            if tensor is not None and tensor.before is not None and tensor.before[0] == step:
                tensor.codec.restore(tensor.before[1])
