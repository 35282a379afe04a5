"""commcomp.torch.capture: stored gradients against those that PyTorch computes, on 1 to 3 ranks."""

import copy
import json
import os
import struct

import pytest
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import digits
import ranks
from commcomp.torch import capture

TYPES = {"F32": torch.float32, "BF16": torch.bfloat16}


def read(folder, step, rank=None):
    """The metadata and the tensors of a step; a reader of its own."""
    name = f"pull-step{step:06d}" if rank is None else f"push-step{step:06d}-rank{rank}"
    with open(os.path.join(folder, name + ".safetensors"), "rb") as f:
        length, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(length)), bytearray(f.read())
    meta = header.pop("__metadata__")
    assert list(header) == meta["order"].split("\n")
    tensors = {}
    for key, t in header.items():
        begin, end = t["data_offsets"]
        tensors[key] = torch.frombuffer(data[begin:end], dtype=TYPES[t["dtype"]]).view(t["shape"])
    return meta, tensors


def grads(model):
    return {n: p.grad.detach().clone() for n, p in model.named_parameters() if p.grad is not None}


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def train_plain(folder, model, steps, use_optimizer=True, **options):
    """Trains, and returns what the optimizer saw in each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if use_optimizer:
        options["optimizer"] = optimizer
    recorder = capture(model, folder, range(2, 4), **options)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)  # wraps the optimizer's step once more
    seen = []
    for x, y in digits.batches(steps, 8, 0, 1):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        seen.append(grads(model))
        if not use_optimizer:
            recorder.step()
        optimizer.step()
        schedule.step()
    return recorder, seen


@pytest.mark.parametrize("use_optimizer", [True, False])
def test_plain(tmp_path, use_optimizer):
    recorder, seen = train_plain(tmp_path, digits.mlp(), 6, use_optimizer)
    assert sorted(os.listdir(tmp_path)) == [f"push-step00000{s}-rank0.safetensors" for s in (2, 3)]
    for step in (2, 3):
        meta, tensors = read(tmp_path, step, 0)
        assert meta["direction"] == "push" and meta["rank"] == "0" and meta["step"] == str(step)
        assert equal(tensors, seen[step])
    assert (recorder.captured, recorder.skipped, recorder.count) == ([2, 3], [], 6)


def test_pulls_are_the_changes_of_the_model(tmp_path):
    model = digits.mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    capture(model, tmp_path, range(3), optimizer=optimizer, pulls=True)
    for step, (x, y) in enumerate(digits.batches(3, 8, 0, 1)):
        before = {n: p.detach().clone() for n, p in model.named_parameters()}
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        meta, tensors = read(tmp_path, step)
        assert meta["direction"] == "pull" and meta["rank"] == "-1"
        assert equal(tensors, {n: p.detach() - before[n] for n, p in model.named_parameters()})


class Odd(nn.Module):
    """A tied parameter, one that some steps do not use, a sparse gradient, a frozen parameter."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8, sparse=True)
        self.tied = nn.Linear(8, 8)
        self.again = self.tied
        self.unused = nn.Linear(8, 8)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.out = nn.Linear(8, 3)

    def forward(self, words, use):
        x = self.again(self.frozen(self.tied(self.embed(words).mean(1))))
        return self.out(self.unused(x) if use else x)


ODD_NAMES = ["embed.weight", "tied.weight", "tied.bias", "unused.weight", "unused.bias", "out.weight",
             "out.bias"]


def test_tied_unused_sparse_and_frozen_parameters(tmp_path):
    torch.manual_seed(1)
    model = Odd()
    recorder = capture(model, tmp_path, range(2))
    for step in range(2):
        model.zero_grad(set_to_none=True)
        model(torch.tensor([[1, 2], [2, 7]]), step == 1).sum().backward()
        recorder.step()
        _, tensors = read(tmp_path, step, 0)
        assert list(tensors) == ODD_NAMES
        assert torch.equal(tensors["embed.weight"], model.embed.weight.grad.to_dense())
        assert torch.equal(tensors["tied.weight"], model.tied.weight.grad)
        unused = model.unused.weight.grad if step == 1 else torch.zeros(8, 8)
        assert torch.equal(tensors["unused.weight"], unused)


def test_bfloat16_stays_bfloat16(tmp_path):
    model = digits.mlp().bfloat16()
    recorder = capture(model, tmp_path, [0])
    model(torch.rand(4, 1, 8, 8).bfloat16()).float().sum().backward()
    recorder.step()
    _, tensors = read(tmp_path, 0, 0)
    assert all(t.dtype == torch.bfloat16 for t in tensors.values())
    assert equal(tensors, grads(model))


class Scaler(torch.cuda.amp.GradScaler):
    """A GradScaler that works without a GPU, which PyTorch 1.13 has none for: scales, and leaves out
    steps that are not finite."""

    def __init__(self, scale):
        super().__init__(enabled=False)
        self.value = scale

    def get_scale(self):
        return self.value

    def step(self, optimizer):
        found = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        for g in found:
            g.div_(self.value)
        if all(torch.isfinite(g).all() for g in found):
            optimizer.step()


def test_mixed_precision_is_unscaled_and_steps_that_are_not_finite_are_counted(tmp_path):
    model = digits.mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = Scaler(1024.0)
    recorder = capture(model, tmp_path, range(1, 5), optimizer=optimizer, scaler=scaler)
    want = {}
    for step, (x, y) in enumerate(digits.batches(6, 8, 0, 1)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) * (float("inf") if step in (2, 5) else 1)
        (loss * scaler.get_scale()).backward()
        scaler.step(optimizer)
        want[step] = grads(model)
    assert (recorder.captured, recorder.skipped, recorder.count) == ([1, 3, 4], [2], 6)
    assert all(equal(read(tmp_path, s, 0)[1], want[s]) for s in (1, 3, 4))


def own_gradients(model, batch):
    """This rank's own gradient by a copy of the model without DDP."""
    same = copy.deepcopy(model.module)
    same.zero_grad()
    for x, y in batch:
        F.cross_entropy(same(x), y).backward()
    return grads(same)


def train_ddp(rank, world, folder, bucket_mb):
    """Compares with DDP without a hook, to the bit, and with the gradients of a copy of the model.
    Returns the averaged gradients of each step. The third step accumulates two batches."""
    model = digits.mlp()
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(bucket_mb * 2**20)
    plain = DDP(copy.deepcopy(model), bucket_cap_mb=bucket_mb)
    model = DDP(model, bucket_cap_mb=bucket_mb)
    if folder is not None:
        recorder = capture(model, folder, range(1, 4))
    batch = list(digits.batches(6, 8, rank, world))
    taken, means, own = [batch[0:1], batch[1:2], batch[2:4], batch[4:5], batch[5:6]], [], []
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, plain)]
    for part in taken:
        own.append(own_gradients(model, part))
        for m, optimizer in zip((model, plain), optimizers):
            optimizer.zero_grad()
            for x, y in part[:-1]:
                with m.no_sync():
                    F.cross_entropy(m(x), y).backward()
            F.cross_entropy(m(part[-1][0]), part[-1][1]).backward()
        assert equal(grads(model.module), grads(plain.module))
        means.append(grads(model.module))
        for optimizer in optimizers:
            optimizer.step()
    assert (recorder.captured, recorder.count) == ([1, 2, 3], 5)
    return means, own


@pytest.mark.parametrize("world,bucket_mb", [(2, 25), (3, 0.01)])  # one bucket; several
def test_ddp_stores_each_ranks_own_gradients(commcomp, tmp_path, world, bucket_mb):
    found = ranks.run(world, train_ddp, str(tmp_path), bucket_mb)
    for step in (1, 2, 3):
        stored = [read(tmp_path, step, rank)[1] for rank in range(world)]
        for rank in range(world):
            assert all(torch.allclose(stored[rank][n], g, rtol=1e-5, atol=1e-7)
                       for n, g in found[rank][1][step].items())
        for name, mean in found[0][0][step].items():
            sums = sum(s[name] for s in stored) / world
            assert torch.allclose(sums, mean, rtol=1e-5, atol=1e-8)
        assert not torch.equal(stored[0]["1.weight"], stored[1]["1.weight"])
    table = commcomp("bench", "--trace", tmp_path, "--scheme", "3lc", "--passes", "1").decode()
    assert "3lc" in table


def train_odd_ddp(rank, world, folder):
    torch.manual_seed(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 100
    model = DDP(Odd(), find_unused_parameters=True, bucket_cap_mb=0.0001)
    recorder = capture(model, folder, range(3))
    for step in range(3):
        model.zero_grad(set_to_none=True)
        model(torch.tensor([[1 + rank, 2], [2, 7]]), step == 1).sum().backward()
        _, tensors = read(folder, step, rank)
        assert list(tensors) == ODD_NAMES
        assert bool(tensors["unused.weight"].any()) == (step == 1)
        mean = {n: t.clone() for n, t in tensors.items()}
        for t in mean.values():
            dist.all_reduce(t)
        for name, p in model.module.named_parameters():
            if p.grad is not None:
                want = p.grad.to_dense() if p.grad.is_sparse else p.grad
                assert torch.allclose(mean[name] / world, want, rtol=1e-5, atol=1e-7), name
    return recorder.captured


def test_ddp_tied_unused_and_sparse_parameters(tmp_path):
    assert ranks.run(2, train_odd_ddp, str(tmp_path)) == [[0, 1, 2]] * 2


def train_scaled_ddp(rank, world, folder):
    """Step 1 is infinite on rank 1 only: both ranks leave it out."""
    model = DDP(nn.Conv2d(1, 4, 3).to(memory_format=torch.channels_last))
    scaler = Scaler(256.0)
    recorder = capture(model, folder, range(3), scaler=scaler)
    for step, (x, _) in enumerate(digits.batches(3, 4, rank, world)):
        model.zero_grad()
        scale = float("inf") if (step, rank) == (1, 1) else scaler.get_scale()
        (model(x).square().mean() * scale).backward()
    return recorder.captured, recorder.skipped, own_square(model, rank, world)


def own_square(model, rank, world):
    same = nn.Conv2d(1, 4, 3)
    same.load_state_dict(model.module.state_dict())
    *_, (x, _) = digits.batches(3, 4, rank, world)
    same(x).square().mean().backward()
    return grads(same)


def test_ddp_mixed_precision_and_channels_last(tmp_path):
    for rank, (captured, skipped, own) in enumerate(ranks.run(2, train_scaled_ddp, str(tmp_path))):
        assert (captured, skipped) == ([0, 2], [1])
        _, tensors = read(tmp_path, 2, rank)
        assert all(torch.allclose(tensors[n], own[n], rtol=1e-4, atol=1e-7) for n in own)


def test_refusals(tmp_path):
    model = digits.mlp()
    with pytest.raises(ValueError, match="optimizer="):
        capture(model, tmp_path / "a", range(3), pulls=True)
    with pytest.raises(ValueError, match="scaler= needs optimizer="):
        capture(model, tmp_path / "a", range(3), scaler=Scaler(2.0))
    with pytest.raises(ValueError, match="DistributedDataParallel"):
        capture(model, tmp_path / "a", range(3), hook=(None, None))
    capture(model, tmp_path / "b", [0]).step()
    with pytest.raises(FileExistsError, match="remove it"):
        capture(model, tmp_path / "b", [0])
