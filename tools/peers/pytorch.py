"""PyTorch's communication hooks, as if they ran in one process: their sums are of one tensor alone and take
no time, so that what is timed is all they do with a gradient but for the exchange."""

import contextlib

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

from measure import Pair, Side, matrix, timed
from own import OwnCodec, OwnRounds

RANK = 4


class Done:
    """The result of dist.all_reduce with async_op, once it is done."""

    def __init__(self, tensor):
        self.tensor = tensor

    def get_future(self):
        future = torch.futures.Future()
        future.set_result([self.tensor])
        return future


@contextlib.contextmanager
def one_process():
    """dist.all_reduce leaves its tensor as it is, within this."""
    kept = dist.all_reduce
    dist.all_reduce = lambda tensor, *_, **named: Done(tensor) if named.get("async_op") else None
    try:
        yield
    finally:
        dist.all_reduce = kept


class Group:
    """A process group of one process."""

    def size(self):
        return 1


class Bucket:
    """DDP's bucket of one tensor."""

    def __init__(self, values, shape):
        self._values, self._shape = values, shape

    def buffer(self):
        return self._values

    def gradients(self):
        return [self._values.view(self._shape)]

    def index(self):
        return 0

    def is_last(self):
        return True


class Hook(Side):
    """A hook, and how many of the first steps it sends as they are."""

    def __init__(self, hook, state, bits, values, threads, first=0):
        super().__init__(values)
        self.hook, self.state, self.bits, self.threads = hook, state, bits, threads
        self.bucket = Bucket(torch.from_numpy(self.x), matrix(values))
        for _ in range(first):
            self.step()

    def step(self):
        torch.set_num_threads(self.threads)
        with one_process():
            return timed(lambda: self.hook(self.state, self.bucket).wait())


def make_powersgd(values, threads):
    state = powerSGD_hook.PowerSGDState(Group(), RANK, start_powerSGD_iter=2)
    bits = 32 * RANK * sum(matrix(values)) / values
    return Hook(powerSGD_hook.powerSGD_hook, state, bits, values, threads, first=2)


def pairs():
    def cast(name, scheme, hook):
        return Pair("PyTorch", name, scheme, lambda n, t: Hook(hook, Group(), 16, n, t),
                    lambda n, t: OwnCodec(scheme, n, t), ("step",))

    return [
        cast("fp16 hook", "fp16", default_hooks.fp16_compress_hook),
        cast("bf16 hook", "bf16", default_hooks.bf16_compress_hook),
        Pair("PyTorch", f"PowerSGD hook, rank {RANK}", f"powersgd:rank={RANK}", make_powersgd,
             lambda n, t: OwnRounds(f"powersgd:rank={RANK}", n, t), ("step",)),
    ]
