"""GRACE's compressors and memories for PyTorch (grace_dl.dist of github.com/sands-lab/grace)."""

import importlib
import sys
from pathlib import Path

import torch

from measure import Pair, Side, matrix, timed
from own import OwnCodec, OwnRounds
from pytorch import one_process

RANK = 4

# A method's name, GRACE's parameters, and schemes. Without a memory there is no error feedback, which
# these schemes do not have either.
METHODS = [
    ("fp16", {"compressor": "fp16"}, ["fp16"]),
    ("top 1%", {"compressor": "topk", "compress_ratio": 0.01, "memory": "residual"},
     ["sparse:density=0.01,select=exact,index=u32", "topk:k=5"]),
    ("random 1%", {"compressor": "randomk", "compress_ratio": 0.01, "memory": "residual"},
     ["randk:density=0.01", "randk:density=0.01,draw=strata"]),
    ("threshold 4.6", {"compressor": "threshold", "threshold": 4.6, "memory": "residual"}, ["threshold:tau=4.6"]),
    ("DGC 1%", {"compressor": "dgc", "compress_ratio": 0.01, "memory": "dgc"}, ["dgc:density=0.01"]),
    ("QSGD, 127 levels", {"compressor": "qsgd", "quantum_num": 127, "bucket_size": 128},
     ["qsgd:bits=8,bucket=128,norm=l2"]),
    ("TernGrad", {"compressor": "terngrad"}, ["ternary:clip=2.5"]),
    ("1 bit", {"compressor": "onebit", "memory": "residual"}, ["mqe1bit"]),
    ("signSGD", {"compressor": "signsgd"}, ["signsgd"]),
    ("EF-signSGD", {"compressor": "efsignsgd", "memory": "efsignsgd", "lr": 1.0}, ["efsign"]),
]


class Grace(Side):
    """A compressor with its memory. Encoding is all that GRACE does before it sends: it adds the residual,
    compresses, and computes the residual itself, for which it decompresses."""

    def __init__(self, compressor, memory, values, threads, shape=None):
        super().__init__(values)
        self.compressor, self.memory, self.threads = compressor, memory, threads
        self.gradient = torch.from_numpy(self.x).view(shape or (values,))
        self.sum = torch.zeros_like(self.gradient)

    def _encode(self):
        tensor = self.memory.compensate(self.gradient, "x")
        self.sent, self.context = self.compressor.compress(tensor, "x")
        self.memory.update(tensor, "x", self.compressor, self.sent, self.context)

    def _decode(self):
        return self.compressor.decompress(self.sent, self.context)

    def encode(self):
        torch.set_num_threads(self.threads)
        self.sent = self.context = None
        taken = timed(self._encode)
        self.bits = 8 * sum(t.numel() * t.element_size() for t in self.sent) / self.x.size
        return taken

    def decode(self):
        torch.set_num_threads(self.threads)
        return timed(self._decode)

    def decode_add(self):
        torch.set_num_threads(self.threads)
        return timed(lambda: self.sum.add_(self._decode()))


class GracePower(Grace):
    """PowerSGD, whose compressor takes part in two sums."""

    def __init__(self, values, threads):
        from grace_dl.dist.compressor.powersgd import PowerSGDCompressor
        from grace_dl.dist.memory.powersgd import PowerSGDMemory
        compressor = PowerSGDCompressor(rank=RANK, use_memory=True, world_size=1)
        super().__init__(compressor, PowerSGDMemory(compressor.q_memory, RANK), values, threads, matrix(values))
        self.bits = 32 * RANK * sum(matrix(values)) / values

    def step(self):
        torch.set_num_threads(self.threads)
        with one_process():
            return timed(lambda: (self._encode(), self._decode()))


def pairs(checkout):
    """Those that run on a CPU: GRACE's natural compression needs CuPy."""
    if not (Path(checkout) / "grace_dl/dist").is_dir():
        raise SystemExit(f"peers: {checkout} has no grace_dl/dist: --grace names a checkout of "
                         "github.com/sands-lab/grace")
    sys.path.insert(0, str(checkout))
    helper = importlib.import_module("grace_dl.dist.helper")

    def make(method, parameters, scheme):
        def peer(values, threads):
            way = helper.grace_from_params(dict(parameters, communicator="allgather", world_size=1))
            return Grace(way.compressor, way.memory, values, threads)

        return Pair("GRACE", method, scheme, peer, lambda n, t: OwnCodec(scheme, n, t))

    return [make(method, parameters, scheme) for method, parameters, schemes in METHODS for scheme in schemes] + [
        Pair("GRACE", f"PowerSGD, rank {RANK}", f"powersgd:rank={RANK}", GracePower,
             lambda n, t: OwnRounds(f"powersgd:rank={RANK}", n, t), ("step",))]
