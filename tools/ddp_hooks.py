#!/usr/bin/python3
"""Trains ResNet-20 on the project's digits with DDP over gloo on this machine, once for each way to
exchange gradients, and compares loss, accuracy, bits per value and the time of a step.

  tools/ddp_hooks.py --ranks 2 --steps 400                     trainings, one after the other
  tools/ddp_hooks.py --ranks 2 --time 8                        times: 8 rounds of 5 steps each, in turn
  tools/ddp_hooks.py ... ddp fp32 3lc:s=1.75 torch:powersgd    these only

`ddp` is DDP without a hook, `torch:` begins PyTorch's own hooks, `grace:` compressors of GRACE
(github.com/sands-lab/grace), whose folder --grace names; all else are schemes. Results are printed by
rank 0, and appended as CSV to -o FILE. Needs python3-torch; run it as PYTHONPATH=python.
"""
import argparse
import csv
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel as DDP

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "tests/python")]
import digits  # noqa: E402
from commcomp.torch import State, hook  # noqa: E402

WAYS = ["ddp", "fp32", "3lc", "3lc:s=1.75", "int8", "topk:k=5", "powersgd:rank=4", "torch:fp16",
        "torch:powersgd", "grace:fp16", "grace:qsgd", "grace:terngrad", "grace:topk", "grace:powersgd"]


# PyTorch's PowerSGD begins the second of its sums in another thread than the first: with two buckets,
# over gloo, their order differs between ranks, which then end with an error. It gets one.
FIRST_BUCKET, ONE_BUCKET = dist._DEFAULT_FIRST_BUCKET_BYTES, 25 * 2**20


class Grace:
    """GRACE's exchange of each gradient after the backward pass."""

    PARAMETERS = {
        "fp16": {"compressor": "fp16", "communicator": "allreduce"},
        "qsgd": {"compressor": "qsgd", "quantum_num": 127, "communicator": "allgather"},
        "terngrad": {"compressor": "terngrad", "communicator": "allgather"},
        "topk": {"compressor": "topk", "compress_ratio": 0.01, "memory": "residual",
                 "communicator": "allgather"},
    }

    def __init__(self, name, model):
        from grace_dl.dist import helper
        self.model, self.bytes = model, 0
        if name == "powersgd":  # the helper passes no rank to the compressor
            from grace_dl.dist.communicator.allreduce import Allreduce
            from grace_dl.dist.compressor.powersgd import PowerSGDCompressor
            from grace_dl.dist.memory.powersgd import PowerSGDMemory
            compressor = PowerSGDCompressor(rank=4, use_memory=True, world_size=dist.get_world_size())
            self.grace = Allreduce(compressor, PowerSGDMemory(compressor.q_memory, 4),
                                   dist.get_world_size())
        else:
            self.grace = helper.grace_from_params(
                dict(self.PARAMETERS[name], world_size=dist.get_world_size()))
        inner = self.grace.compressor.compress

        def compress(tensor, key):
            tensors, ctx = inner(tensor, key)
            found = list(tensors) + (list(ctx[:2]) if name == "powersgd" and ctx else [])
            self.bytes += sum(t.numel() * t.element_size() for t in found)
            return tensors, ctx

        self.grace.compressor.compress = compress

    def step(self):
        self.bytes = 0
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.grad.copy_(self.grace.step(p.grad.clone(), name))


class Training:
    """A model on its way, with one way to exchange gradients."""

    def __init__(self, way, options):
        torch.manual_seed(options.seed)
        self.way, self.state, self.grace = way, None, None
        kind, _, name = way.partition(":")
        self.inner = self.model = digits.ResNet(20)
        if kind == "grace":
            self.grace = Grace(name, self.inner)
        else:
            dist._DEFAULT_FIRST_BUCKET_BYTES = ONE_BUCKET if way == "torch:powersgd" else FIRST_BUCKET
            self.model = DDP(self.inner)
        if kind == "torch":
            self.power = powerSGD_hook.PowerSGDState(None, 4, start_powerSGD_iter=2)
            self.model.register_comm_hook(
                *((None, default_hooks.fp16_compress_hook) if name == "fp16"
                  else (self.power, powerSGD_hook.powerSGD_hook)))
        elif kind not in ("ddp", "grace"):
            self.state = State(way, model=self.model)
            self.model.register_comm_hook(self.state, hook)
        self.optimizer = torch.optim.SGD(self.inner.parameters(), lr=options.rate, momentum=0.9,
                                         weight_decay=1e-4)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, options.steps)
        self.batches = digits.batches(options.steps, options.batch, dist.get_rank(),
                                      dist.get_world_size(), options.seed)
        self.loss = None

    def step(self):
        x, y = next(self.batches)
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        if self.grace is not None:
            self.grace.step()
        self.optimizer.step()
        self.schedule.step()
        self.loss = loss.item() if self.loss is None else 0.95 * self.loss + 0.05 * loss.item()

    def bits(self):
        values = sum(p.numel() for p in self.inner.parameters())
        if self.state is not None:
            return self.state.stats.mean()["bits_per_value"]
        if self.grace is not None:
            return 8 * self.grace.bytes / values
        if self.way == "torch:powersgd":
            return 32 * self.power.compression_stats()[2] / self.power.compression_stats()[1]
        return 16 if self.way == "torch:fp16" else 32


def train(way, options):
    torch.manual_seed(options.seed)
    training = Training(way, options)
    for _ in range(options.steps):
        training.step()
    return {"scheme": way, "workers": dist.get_world_size(), "steps": options.steps,
            "loss": training.loss, "accuracy": 100 * digits.accuracy(training.inner),
            "bits_per_value": training.bits()}


def time_steps(ways, options):
    """The ways take turns, so that all of them see the same machine."""
    block = 5
    options.steps = block * (options.time + 1)
    trainings = [Training(way, options) for way in ways]
    seconds = {way: [] for way in ways}
    for turn in range(options.time + 1):  # the first is not counted
        for t in trainings:
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(block):
                t.step()
            if turn > 0:
                seconds[t.way].append((time.perf_counter() - begin) / block)
    for t in trainings:
        row = {"scheme": t.way, "workers": dist.get_world_size(), "bits_per_value": t.bits(),
               "step_s": statistics.median(seconds[t.way])}
        if t.state is not None:
            row.update((k, t.state.stats.mean()[k]) for k in ("codec_s", "comm_s"))
        yield row


def rank_main(rank, folder, options):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    if options.grace:
        sys.path.insert(0, options.grace)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank,
                            world_size=options.ranks)
    rows = time_steps(options.ways, options) if options.time else (train(w, options) for w in options.ways)
    for row in rows:
        if rank == 0:
            print("  ".join(f"{k}={v:.5g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()),
                  flush=True)
            if options.output:
                with open(options.output, "a", newline="") as f:
                    writer = csv.DictWriter(f, row)
                    if f.tell() == 0:
                        writer.writeheader()
                    writer.writerow(row)
    dist.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ways", nargs="*", metavar="WAY")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32, help="images of a rank")
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time", type=int, help="rounds to time, instead of training")
    parser.add_argument("--grace", help="the folder that has grace_dl")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    options.ways = options.ways or [w for w in WAYS if options.grace or not w.startswith("grace:")]
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(rank_main, (folder, options), nprocs=options.ranks)


if __name__ == "__main__":
    main()
