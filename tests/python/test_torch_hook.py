"""commcomp.torch.State and hook on two and three ranks: against DDP without a hook, and against sums of
what went in and came out."""

import copy
import csv
import datetime
import os
import time

import pytest
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import digits
import ranks
from commcomp.torch import State, hook

SHAPES = {"a": (40, 50), "b": (7,), "c": (16, 8, 3, 3), "d": (2512,), "e": (30, 40)}


class Given(nn.Module):
    """A model whose gradients are those that it is given. Parameters are used in another order than
    they are registered, so that DDP rebuilds its buckets after the first step."""

    def __init__(self):
        super().__init__()
        for name, shape in SHAPES.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    def forward(self, gradients):
        total = torch.zeros(())
        for name in "caebd":
            p = getattr(self, name)
            total = (total * 1 + (p * gradients[name].to(p.dtype)).sum()) * 1
        return total


def draw(step, rank):
    """The same for all steps in part, as gradients are: low-rank, with a few large values."""
    random = torch.Generator().manual_seed(1000 * step + rank)
    common = torch.Generator().manual_seed(rank)
    drawn = {}
    for name, shape in SHAPES.items():
        x = torch.randn(shape, generator=common) + torch.randn(shape, generator=random)
        drawn[name] = x * torch.rand(shape, generator=random) ** 4
    return drawn


def grads(model):
    return {n: p.grad.detach().clone() for n, p in model.named_parameters()}


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def make(scheme, model=None, bucket_mb=0.01, find_unused_parameters=False, **options):
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(bucket_mb * 2**20)
    ddp = DDP(Given() if model is None else model, bucket_cap_mb=bucket_mb,
              find_unused_parameters=find_unused_parameters)
    state = State(scheme, model=ddp, **options)
    ddp.register_comm_hook(state, hook)
    return ddp, state


def apply_hook(ddp, gradients):
    """One step; returns what the optimizer would receive."""
    ddp.zero_grad()
    ddp(gradients).backward()
    return grads(ddp.module)


def residuals(state, model):
    """The end of each tensor's state."""
    saved = state.state_dict()["tensors"]
    found = {}
    for name, p in model.named_parameters():
        if name in saved and len(saved[name]) > 4 * p.numel():
            found[name] = saved[name][-4 * p.numel():].clone().view(torch.float32).view(p.shape)
        else:
            found[name] = torch.zeros(p.shape)
    return found


# --- fp32, raw tensors and warm-up steps: as DDP without a hook, to the bit ---

def train_beside_plain(rank, world, bucket_mb, scheme, options, steps):
    torch.manual_seed(1)
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(bucket_mb * 2**20)
    plain = DDP(digits.mlp(), bucket_cap_mb=bucket_mb)
    ours, state = make(scheme, copy.deepcopy(plain.module), bucket_mb, **options)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (plain, ours)]
    same = []
    batches = list(digits.batches(2 * steps, 8, rank, world))
    for first, second in zip(batches[::2], batches[1::2]):
        for model, optimizer in zip((plain, ours), optimizers):
            optimizer.zero_grad()
            with model.no_sync():  # accumulated, as always
                F.cross_entropy(model(first[0]), first[1]).backward()
            F.cross_entropy(model(second[0]), second[1]).backward()
        same.append(equal(grads(plain.module), grads(ours.module)))
        for optimizer in optimizers:
            optimizer.step()
    return same, [s.bits_per_value for s in state.stats.steps]


@pytest.mark.parametrize("world,bucket_mb", [(2, 25), (3, 0.005)])
def test_fp32_is_ddp(world, bucket_mb):
    for same, bits in ranks.run(world, train_beside_plain, bucket_mb, "fp32", {}, 4):
        assert same == [True] * 4 and bits == [32] * 4


def test_small_tensors_and_warm_up_steps_are_sent_raw():
    for same, bits in ranks.run(2, train_beside_plain, 25, "3lc", {"warmup": 2}, 3):
        assert same == [True, True, False] and bits[:2] == [32, 32] and bits[2] < 10
    for same, _ in ranks.run(2, train_beside_plain, 25, "3lc", {"min_size": 10**6}, 2):
        assert same == [True, True]


# --- nothing is lost: the sum of what was applied, and what remains, is what was computed ---

SCHEMES = ["3lc", "3lc:s=1.75", "int8", "topk:k=8,bucket=128", "powersgd:rank=2", "efsign", "qsgd", "randk", "chunktopk:k=500",
           "local:every=2", "local:inner=(3lc)", "fp16", "mqe1bit"]
FEEDBACK = ["3lc", "3lc:s=1.75", "mqe1bit", "topk:k=8,bucket=128", "powersgd:rank=2", "efsign",
            "local:every=2", "chunktopk:k=500"]


def balance(rank, world, scheme, steps):
    """Returns computed, applied and remaining sums of this rank, and the buckets of each step."""
    ddp, state = make(scheme, min_size=100)
    seen, computed, applied = [], None, None
    for step in range(steps):
        drawn = draw(step, rank)
        mean = apply_hook(ddp, drawn)
        seen.append(sorted(tuple(tuple(p.shape) for p in b.parameters) for b in state._buckets.values()))
        computed = drawn if computed is None else {n: computed[n] + drawn[n] for n in drawn}
        applied = mean if applied is None else {n: applied[n] + mean[n] for n in mean}
    return computed, applied, residuals(state, ddp.module), seen


@pytest.mark.parametrize("world,scheme", [(2 + i % 2, s) for i, s in enumerate(FEEDBACK)])
def test_applied_and_remaining_are_what_was_computed(world, scheme):
    found = ranks.run(world, balance, scheme, 7)
    assert found[0][3][0] != found[0][3][-1]  # the buckets did change
    for name in SHAPES:
        computed = sum(f[0][name] for f in found)
        applied, remaining = world * found[0][1][name], sum(f[2][name] for f in found)
        for other in found[1:]:
            assert torch.equal(other[1][name], found[0][1][name])
        assert torch.allclose(applied + remaining, computed, atol=1e-4 * computed.abs().max().item()), name
        if name == "d" and scheme != "powersgd:rank=2":
            assert remaining.norm() > 0.01 * computed.norm()


def growing(rank, world):
    """zstd loses nothing; gradients of zeros make short payloads, and the next ones long payloads."""
    ddp, state = make("zstd")
    wrong = 0
    for step in range(4):
        drawn = [{n: g * (step % 2) for n, g in draw(step, r).items()} for r in range(world)]
        mean = apply_hook(ddp, drawn[rank])
        wrong += any(not torch.allclose(mean[n], sum(d[n] for d in drawn) / world) for n in mean)
    return wrong, [s.payload_bytes for s in state.stats.steps]


def test_messages_that_are_longer_than_those_of_the_step_before():
    for wrong, sizes in ranks.run(2, growing):
        assert wrong == 0 and sizes[1] > 5 * sizes[0] and sizes[3] > 5 * sizes[2]


# --- training: all ranks have the same weights, and learn ---

def train(rank, world, scheme, steps):
    torch.manual_seed(1)
    ddp, state = make(scheme, digits.mlp(), 25)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05, momentum=0.9)
    for x, y in digits.batches(steps, 32, rank, world):
        optimizer.zero_grad()
        F.cross_entropy(ddp(x), y).backward()
        optimizer.step()
    return {n: p.detach() for n, p in ddp.module.named_parameters()}, digits.accuracy(ddp.module)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ranks_stay_alike_and_learn(scheme):
    found = ranks.run(2, train, scheme, 150)
    assert equal(found[0][0], found[1][0])
    assert found[0][1] > (0.5 if scheme == "randk" else 0.8)


# --- checkpoints ---

def interrupted(rank, world, scheme, path):
    ddp, state = make(scheme)
    want = [apply_hook(ddp, draw(step, rank)) for step in range(6)]
    ddp, state = make(scheme)
    for step in range(3):
        apply_hook(ddp, draw(step, rank))
    torch.save(state.state_dict(), f"{path}/{rank}")
    ddp, state = make(scheme)
    state.load_state_dict(torch.load(f"{path}/{rank}"))
    again = [apply_hook(ddp, draw(step, rank)) for step in range(3, 6)]
    other = State("fp16", model=ddp)
    refused = [(state.state_dict(), "scheme"), (dict(other.state_dict(), rank=5), "rank"), ({}, "format")]
    for bad, message in refused:
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(bad)
    return all(equal(a, b) for a, b in zip(want[3:], again))


@pytest.mark.parametrize("scheme", ["3lc", "qsgd", "powersgd:rank=2", "local:every=2"])
def test_a_training_continues_from_its_state(tmp_path, scheme):
    assert ranks.run(2, interrupted, scheme, str(tmp_path)) == [True, True]


# --- types, gradients that are not finite ---

def train_half(rank, world):
    ddp, _ = make("int8", Given().half())
    drawn = draw(0, rank)
    mean = apply_hook(ddp, drawn)
    return {n: g.float() for n, g in mean.items()}, drawn, {g.dtype for g in mean.values()}


def test_half_precision_parameters():
    """Parameters of 16 bits; PyTorch 1.13 moves no bfloat16 over gloo, which DDP does at its start."""
    found = ranks.run(2, train_half)
    for name in SHAPES:
        mean = (found[0][1][name] + found[1][1][name]) / 2
        assert torch.allclose(found[0][0][name], mean, atol=0.02 * mean.abs().max().item())
    assert found[0][2] == {torch.float16}


class Scaler:
    def __init__(self, scale):
        self.scale = scale

    def get_scale(self):
        return self.scale


def overflow(rank, world, scheme, scale):
    """Step 2 is infinite on rank 1."""
    scaler = None if scale is None else Scaler(scale)
    ddp, state = make(scheme, scaler=scaler)
    means, error = [], None
    for step in range(4):
        drawn = {n: g * (scale or 1) for n, g in draw(step, rank).items()}
        if step == 2 and rank == 1:
            drawn["c"][3] = float("inf")
        try:
            means.append(apply_hook(ddp, drawn))
        except RuntimeError as e:
            return means, str(e)
    return means, None


def skipping(rank, world, scheme):
    """The same without step 2, and without a scaler; random numbers are those of the step."""
    ddp, state = make(scheme)
    means = [apply_hook(ddp, draw(step, rank)) for step in (0, 1)]
    return means + [apply_hook(ddp, draw(3, rank))]


@pytest.mark.parametrize("scheme", ["3lc", "powersgd:rank=2"])
def test_steps_that_are_not_finite(scheme):
    for means, error in ranks.run(2, overflow, scheme, None):
        assert len(means) == 2 and "step 2: gradients of rank 1 are NaN or infinite" in error
    want = ranks.run(2, skipping, scheme)
    for rank, (means, error) in enumerate(ranks.run(2, overflow, scheme, 1024.0)):
        assert error is None and bool(torch.isnan(means[2]["c"]).any())
        for mean, expected in zip(means[:2] + means[3:], want[rank]):
            assert equal({n: g / 1024 for n, g in mean.items()}, expected)


# --- ranks that differ, or die ---

def differ(rank, world):
    with pytest.raises(ValueError, match="ranks differ(.|\n)*rank 0: .*s=1.5(.|\n)*rank 1: .*s=1.75"):
        State(f"3lc:s=1.{5 if rank == 0 else 75}")
    with pytest.raises(ValueError, match="min_size=10,(.|\n)*min_size=11,"):
        State("3lc", min_size=10 + rank)
    with pytest.raises(ValueError, match="rank 0: .*3lc, (.|\n)*rank 1: unknown scheme '3lb'"):
        State("3lc" if rank == 0 else "3lb")
    with pytest.raises(ValueError, match="^unknown scheme '3lb'"):
        State("3lb")
    # DDP sees to it that ranks have the same parameters, but not to this option, which decides about
    # the buckets of the first step.
    ddp, _ = make("3lc", find_unused_parameters=rank == 1)
    with pytest.raises(RuntimeError, match="ranks differ(.|\n)*5 tensors(.|\n)*2 tensors"):
        apply_hook(ddp, draw(0, rank))
    return True


def test_ranks_that_differ_say_so():
    assert ranks.run(2, differ, limit=30) == [True, True]


def wait_for_nobody(rank, world, folder):
    """Rank 1 makes no State; the group's timeout is 2 seconds."""
    dist.destroy_process_group()
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=2))
    if rank == 0:
        with pytest.raises(RuntimeError):
            State("3lc")
    else:
        time.sleep(4)
    return True


def test_the_hook_waits_as_long_as_the_model_does(tmp_path):
    assert ranks.run(2, wait_for_nobody, str(tmp_path), limit=30) == [True, True]


def die(rank, world, scheme):
    ddp, _ = make(scheme)
    for step in range(5):
        if (step, rank) == (2, 1):
            os._exit(3)
        begin = time.monotonic()
        try:
            apply_hook(ddp, draw(step, rank))
        except RuntimeError:
            return step, time.monotonic() - begin


@pytest.mark.parametrize("world,scheme", [(2, "3lc"), (3, "powersgd:rank=2"), (2, "fp32")])
def test_a_dead_rank_ends_the_others(world, scheme):
    found = ranks.outcomes(world, die, scheme, limit=30)
    assert found[1] is None
    for rank in set(range(world)) - {1}:
        (step, seconds), error = found[rank]
        assert step == 2 and seconds < 20 and error is None


# --- statistics ---

def measured(rank, world, path):
    for scheme in ("3lc", "powersgd:rank=2", "fp32"):
        ddp, state = make(scheme)
        for step in range(4):
            apply_hook(ddp, draw(step, rank))
        if rank == 0:
            state.stats.write(path)
    return [(s.step, s.values, s.payload_bytes, s.sent_bytes) for s in state.stats.steps]


def test_statistics_and_their_plot(commcomp, tmp_path):
    path = str(tmp_path / "hook.csv")
    values = sum(torch.Size(s).numel() for s in SHAPES.values())
    steps = ranks.run(2, measured, path)[0]
    assert steps == [(s, values, 4 * values, 4 * values) for s in range(4)]
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    assert [r["scheme"] for r in rows] == ["3lc", "powersgd:rank=2", "fp32"]
    assert rows[2]["bits_per_value"] == "32.0" and float(rows[0]["bits_per_value"]) < 2
    # Factors of 40 x 50, 16 x 72 and 30 x 40 at rank 2; the vectors as they are.
    powersgd = 2 * (40 + 50 + 16 + 72 + 30 + 40) + 7 + 2512
    assert float(rows[1]["bits_per_value"]) == pytest.approx(32 * powersgd / values)
    assert all(float(r[key]) > 0 for r in rows[:2] for key in ("codec_s", "comm_s", "step_s"))
    text = commcomp("plot", path, "--kind", "step").decode()
    assert "3lc" in text and "powersgd" in text
