"""commcomp.torch.trial: gradients against a plain loop over codecs and the ranks of DDP; what it restores,
refuses and resumes."""

import copy
import json
import math
import random

import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import digits
import ranks
from commcomp import Codec
from commcomp.torch import State, hook
from trials import IMAGES, LABELS, Net, batches, losses, loss_fn, net, perceptron, quick, sgd, summary


# --- gradients: a plain loop over codecs ---

def plain_mean(codecs, grads, rounds, step):
    """The mean that workers' codecs deliver, from whole payloads or sums of rounds."""
    world = len(grads)
    if rounds == 0:
        payloads = [c.encode(g.numpy(), step=step) for c, g in zip(codecs, grads)]
        decoded = [c.decode(p, step=step, rank=w) for w, (c, p) in enumerate(zip(codecs, payloads))]
        return torch.from_numpy(np.mean(decoded, 0, dtype=np.float64).astype(np.float32))
    means = [np.zeros(codecs[0].shape, np.float32) for _ in codecs]
    for k in range(rounds):
        total = np.sum([c.encode_round(k, g.numpy(), step=step) for c, g in zip(codecs, grads)], 0, dtype=np.float32)
        for c, mean in zip(codecs, means):
            c.absorb(k, total, mean, 1 / world, step=step)
    return torch.from_numpy(means[0])


def plain_losses(scheme, steps, world, schedule, clip, flat):
    """The training of a scheme, as a loop: a codec for each tensor of at least 200 values, or one for all."""
    model = perceptron()
    named = list(model.named_parameters())
    optimizer, found = sgd(model.parameters()), []
    shapes = [(sum(p.numel() for p in model.parameters()),)] if flat else [p.shape for _, p in named]
    codecs = [[Codec(scheme, tuple(s), seed=1, rank=w, tensor=i) for w in range(world)]
              if math.prod(s) >= 200 and scheme != "fp32" else None for i, s in enumerate(shapes)]
    for step in range(steps):
        x, y = batches(step)
        n, grads, loss = len(x) // world, [], 0
        for w in range(world):
            model.zero_grad(set_to_none=True)
            one = F.cross_entropy(model(x[w * n:(w + 1) * n]), y[w * n:(w + 1) * n])
            one.backward()
            loss += one.item() / world
            parts = [p.grad.clone() for _, p in named]
            grads.append([torch.cat([g.flatten() for g in reversed(parts)])] if flat else parts)
        means = []
        for i, coded in enumerate(codecs):
            mine = [g[i] for g in grads]
            means.append(torch.stack(mine).mean(0) if coded is None
                         else plain_mean(coded, mine, coded[0].rounds, step))
        if flat:
            sizes = [p.numel() for _, p in reversed(named)]
            means = [m.view(p.shape) for m, (_, p) in zip(means[0].split(sizes), reversed(named))][::-1]
        for mean, (_, p) in zip(means, named):
            p.grad = mean.clone()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        angle = {"cosine": math.pi * step / steps, "cut": math.pi * step / steps / 4, "constant": 0}[schedule]
        optimizer.param_groups[0]["lr"] = 0.05 * (1 + math.cos(angle)) / 2
        optimizer.step()
        found.append(loss)
    return found


def clipped(model, optimizer):
    nn.utils.clip_grad_norm_(model.parameters(), 0.2)
    optimizer.step()


@pytest.mark.parametrize("scheme,schedule,clip,granularity", [
    ("3lc", "cosine", None, "hook"), ("qsgd:bits=2", "cut", None, "hook"),
    ("powersgd:rank=2", "constant", None, "hook"),
    ("randk:density=0.1", "cosine", None, "hook"), ("topk:k=32", "constant", 0.2, "hook"),
    ("topk:k=32", "cosine", None, "bucket"), ("local:every=3", "constant", None, "hook"),
    ("fp16", "cosine", 0.2, "hook")])
def test_a_plain_loop_trains_alike(tmp_path, scheme, schedule, clip, granularity):
    """Workers, residuals, random numbers and rates; step_fn clips the mean that is delivered."""
    quick(schemes=[scheme], schedule=schedule, step_fn=clipped if clip else None, granularity=granularity,
          output=tmp_path / "t.json")
    for name in (scheme, "fp32"):
        name = Codec(name, 1).scheme
        want = plain_losses(name, 12, 3, schedule, clip, granularity == "bucket")
        np.testing.assert_allclose(losses(tmp_path / "t.json.arms", name), want, rtol=2e-5)


def test_repeats_have_other_batches(tmp_path):
    quick(repeats=2, output=tmp_path / "t.json")
    first = [losses(tmp_path / "t.json.arms", "fp32", r)[0] for r in range(2)]
    want = [loss_fn(perceptron(), batches(step)).item() for step in (0, 12)]
    assert first == pytest.approx(want, rel=1e-5)


def test_micro_batches(tmp_path):
    quick(micro_batch=4, output=tmp_path / "t.json")
    x, y = batches(0)
    assert losses(tmp_path / "t.json.arms", "fp32")[0] == pytest.approx(loss_fn(perceptron(), (x[:12], y[:12])).item())


# --- the ranks of DDP: the same losses as played ---

TWINS = ("3lc", "qsgd:bits=2", "powersgd:rank=2", "local:every=2")


def by_ranks(rank, world, folder):
    model = net()
    ddp = DDP(model)
    before = copy.deepcopy(model.state_dict())
    result = quick(ddp, TWINS, output=f"{folder}/ranks.json")
    same = all(torch.equal(a, b) for a, b in zip(before.values(), model.state_dict().values()))
    again = quick(ddp, TWINS, output=f"{folder}/ranks.json")  # all trainings are there
    state = State("3lc", model=ddp)  # the user's DDP still takes a hook, and trains
    ddp.register_comm_hook(state, hook)
    loss_fn(ddp, batches(rank)).backward()
    return same, model.first.weight.grad.abs().sum().item(), result.changes == again.changes, str(result)


def test_ranks_train_as_played_workers_do(tmp_path):
    """Dropout's masks are the worker's, batch normalization's statistics those of rank 0, payloads the hook's."""
    played = quick(net(), TWINS, workers=2, output=tmp_path / "played.json")
    found = ranks.run(2, by_ranks, str(tmp_path))
    assert [f[0] and f[2] for f in found] == [True, True] and found[0][1] == found[1][1] > 0
    assert found[0][3] == found[1][3]
    for scheme in ("fp32", "fp16", *TWINS):
        scheme = Codec(scheme, 1).scheme
        want = losses(tmp_path / "played.json.arms", scheme)
        np.testing.assert_allclose(losses(tmp_path / "ranks.json.arms", scheme), want, rtol=1e-4)
    rows = json.loads((tmp_path / "ranks.json").read_text())["rows"]
    for row, other in zip(rows, played.rows):
        assert row["workers"] == 2 and row["bits_push"] == pytest.approx(other["bits_push"], rel=1e-3)


def broken(rank, world):
    """Rank 1's gradient is infinite in the sixth step of the third training."""
    calls = [0]

    def failing(model, batch):
        calls[0] += 1
        return loss_fn(model, batch) * (math.inf if rank == 1 and calls[0] == 30 else 1)

    return [(k, quick(DDP(perceptron()), [k], loss_fn=failing).reasons.get(k)) for k in ("3lc",)]


def test_a_rank_with_infinite_gradients_ends_a_scheme():
    for ((_, reason),) in ranks.run(2, broken):
        assert reason == "gradients of rank 1 are NaN or infinite in step 6"


# --- everything as it was ---

def everything(model, optimizer):
    return copy.deepcopy({
        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
        "grads": [None if p.grad is None else p.grad for p in model.parameters()],
        "frozen": [p.requires_grad for p in model.parameters()], "modes": [m.training for m in model.modules()],
        "hooks": [len(m._forward_hooks) for m in model.modules()],
        "random": (random.getstate(), np.random.get_state(), torch.get_rng_state())})


def alike(a, b):
    if isinstance(a, (torch.Tensor, np.ndarray)):
        return bool((a == b).all())
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    return a == b


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ZeroDivisionError])
def test_everything_is_as_it_was(error):
    model = net()
    model.last.bias.requires_grad_(False)
    model.norm.eval()
    user = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
    for step in range(3):
        user.zero_grad()
        loss_fn(model, batches(step)).backward()
        user.step()
    before, calls = everything(model, user), [0]
    ids = [id(p.grad) for p in model.parameters()], [id(b) for b in model.buffers()]

    def disturbing(m, batch):
        calls[0] += 1
        random.random(), np.random.rand(), m.last.register_forward_hook(lambda *_: None)
        m.drop.eval()
        m.first.bias.requires_grad_(False)
        if error is not None and calls[0] == 3 * 12 + 7:
            raise error
        return loss_fn(m, batch)

    def run():
        return quick(model, ["dgc:density=0.1"], loss_fn=disturbing, optimizer_factory=lambda _: user)

    if error is None:
        run()
    else:
        pytest.raises(error, run)
    assert alike(before, everything(model, user)) and calls[0] > 40
    assert ids == ([id(p.grad) for p in model.parameters()], [id(b) for b in model.buffers()])


def test_an_optimizer_of_ones_own_begins_with_its_state(tmp_path):
    """Its momentum moves the first step of every scheme."""
    model = perceptron()
    user = sgd(model.parameters())
    loss_fn(model, batches(99)).backward()
    user.step()
    quick(model, optimizer_factory=lambda _: user, output=tmp_path / "t.json")
    quick(model, ["pairs"], optimizer_factory=lambda _: user, output=tmp_path / "same.json")
    lossless, fp32 = (losses(tmp_path / "same.json.arms", s) for s in ("pairs", "fp32"))
    np.testing.assert_allclose(lossless, fp32, rtol=1e-5)  # after two others that have changed the state
    loss, follow = [], copy.deepcopy(model)
    follower = sgd(follow.parameters())
    follower.load_state_dict(user.state_dict())
    for step in range(2):
        follow.zero_grad()
        one = loss_fn(follow, batches(step))
        one.backward()
        follower.step()
        loss.append(one.item())
    assert losses(tmp_path / "t.json.arms", "fp32")[:2] == pytest.approx(loss, rel=1e-5)


# --- traps ---

def test_dgc_takes_the_momentum_and_no_adam():
    seen = []

    def recording(model, optimizer):
        seen.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()

    quick(schemes=["dgc:density=0.1", "dgc:density=0.1,momentum=0"], step_fn=recording)
    assert seen == 24 * [0.9] + 12 * [0.0] + 12 * [0.9]
    calls = []
    with pytest.raises(ValueError, match="dgc:density=0.1 applies momentum itself.*Adam"):
        quick(schemes=["dgc:density=0.1"], optimizer_factory=torch.optim.Adam,
              loss_fn=lambda m, b: calls.append(1) or loss_fn(m, b))
    assert calls == []


def test_gradients_that_are_not_finite_end_a_scheme(commcomp, tmp_path):
    calls = [0]

    def failing(model, batch):
        calls[0] += 1
        return loss_fn(model, batch) * (math.nan if calls[0] == 3 * (12 + 12 + 5) - 1 else 1)

    result = quick(schemes=["3lc", "int8"], loss_fn=failing, metric=digits.accuracy, output=tmp_path / "t.json")
    row = summary(result, "3lc")
    assert row["ended_step"] == row["step"] == 5 and (row["seeds"], row["diverged"]) == (0, 1)
    assert row["loss_end"] is row["loss_change"] is row["accuracy"] is None and row["verdict"] == "costs"
    assert result.reasons["3lc"] == "gradients of rank 1 are NaN or infinite in step 5"
    assert len(losses(tmp_path / "t.json.arms", "int8")) == 12
    assert b"diverged" in commcomp("advise", "--accuracy", tmp_path / "t.json", "--scheme", "3lc,int8", "--net",
                                   "resnet50", "--bw", "1gbps", "--workers", "8", "--device", "a100")
    with pytest.raises(ValueError, match="fp32 itself does not train: .* in step 1"):
        quick(loss_fn=lambda m, b: loss_fn(m, b) * math.inf)


class Scaler:
    """As torch.cuda.amp.GradScaler, which does nothing without a GPU."""

    def __init__(self, overflow_at=()):
        self.value, self.calls, self.overflow_at, self.values = 1024.0, 0, overflow_at, []

    def get_scale(self):
        return self.value

    def scale(self, loss):
        self.calls += 1
        return loss * (math.inf if self.calls in self.overflow_at else self.value)

    def step(self, optimizer):
        self.values.append(self.value)
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        self.finite = all(bool(torch.isfinite(g).all()) for g in grads)
        for g in grads:
            g.mul_(1 / self.value)
        if self.finite:
            optimizer.step()

    def update(self):
        self.value *= 1 if self.finite else 0.5

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


def test_a_scaler(tmp_path):
    """Residuals are unscaled, a step that overflows is skipped in one scheme, and the scale is put back."""
    quick(schemes=["3lc", "powersgd"], output=tmp_path / "without.json")
    quick(schemes=["3lc", "powersgd"], scaler=Scaler(), output=tmp_path / "with.json")
    for scheme in ("fp32", "3lc", "powersgd"):
        assert losses(tmp_path / "with.json.arms", scheme) == losses(tmp_path / "without.json.arms", scheme)
    scaler = Scaler(overflow_at=[3 * 24 + 3 * 5 + 1])  # the sixth step of 3lc
    result = quick(schemes=["3lc", "int8"], scaler=scaler, output=tmp_path / "over.json")
    want, found = (losses(tmp_path / f"{name}.json.arms", "3lc") for name in ("without", "over"))
    assert found[:6] == want[:6] and found[6] != want[6] and result.verdicts["3lc"] != "costs"
    assert scaler.values == 30 * [1024] + 6 * [512] + 12 * [1024] and scaler.value == 1024
    with pytest.raises(ValueError, match="fp32 itself does not train: gradients of 21 steps in a row"):
        quick(steps=30, scaler=Scaler(overflow_at=range(1, 1000)))


def test_statistics_are_those_of_rank_0():
    """Batch normalization's after two steps, and a buffer that the module replaces: the third of the samples."""
    class Counting(Net):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen = self.seen + x.sum()
            return super().forward(x)

    torch.manual_seed(3)
    model, seen = Counting(), []

    def watching(m, optimizer):
        if not seen:
            m.want = 0.1 * nn.functional.linear(batches(0)[0][:16].flatten(1), m.first.weight, m.first.bias).mean(0)
        elif len(seen) == 1:
            m.want = 0.9 * m.want + 0.1 * nn.functional.linear(batches(1)[0][:16].flatten(1), m.first.weight,
                                                              m.first.bias).mean(0)
        seen.append((m.want.detach().clone(), m.norm.running_mean.clone(), m.seen.item()))
        optimizer.step()

    before = model.seen
    quick(model, [], step_fn=watching)
    for step, (want, mean, total) in enumerate(seen[:2]):
        torch.testing.assert_close(mean, want)
        assert total == pytest.approx(sum(float(batches(k)[0][:16].sum()) for k in range(step + 1)), rel=1e-5)
    assert seen[12][2] == seen[0][2] and model.seen is before and before == 0  # fp16 began with zeros, too


def test_autocast_within_the_loss():
    def mixed(model, batch):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(batch[0]).float(), batch[1])

    assert abs(quick(loss_fn=mixed, schemes=["int8"]).changes["int8"].mean) < 0.1


def test_frozen_half_sparse_and_unused_parameters():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(300, 8, sparse=True)
            self.wide, self.last = nn.Linear(8, 40).bfloat16(), nn.Linear(40, 10).double()
            self.unused, self.frozen = nn.Linear(20, 20), nn.Linear(20, 20).requires_grad_(False)

        def forward(self, x):
            inputs = (x.flatten(1) * 4).long() + torch.arange(64) % 60 * 5
            return self.last(self.wide(self.table(inputs).mean(1).bfloat16()).double())

    model, seen = Odd(), []

    def compared(m, optimizer):
        """The mean of equal shares is the gradient of the whole batch."""
        if not seen:
            wants = torch.autograd.grad(loss_fn(m, batches(0)), [m.table.weight, m.wide.weight, m.last.weight])
            seen.extend(zip([m.table.weight.grad, m.wide.weight.grad, m.last.weight.grad], wants))
            assert m.unused.weight.grad is None
            for found, want in seen:
                assert found.dtype == want.dtype
                torch.testing.assert_close(found.to_dense().float(), want.to_dense().float(), rtol=0.02, atol=1e-3)
        optimizer.step()

    result = quick(model, ["int8"], optimizer_factory=lambda ps: torch.optim.SGD(ps, lr=0.1), step_fn=compared)
    assert len(seen) == 3
    assert abs(result.changes["int8"].mean) < 0.1
    assert summary(result, "fp32")["values"] == 300 * 8 + 9 * 40 + 41 * 10 + 21 * 20


# --- arguments ---

@pytest.mark.parametrize("options,error,message", [
    ({"batches": iter([])}, TypeError, "function of the step"),
    ({"batches": lambda step, n=[0]: n.append(0) or batches(len(n))}, ValueError, "other samples the second time"),
    ({"workers": 5}, ValueError, "48 samples, which 5 workers cannot share equally"),
    ({"micro_batch": 17}, ValueError, "3 workers need 51 samples, and batches.step. returned 48"),
    ({"batches": lambda step: (IMAGES[:30], LABELS[:24])}, ValueError, "tensors of 24 and 30 samples"),
    ({"schedule": "linear"}, ValueError, "cosine, cut, constant"),
    ({"schemes": ["3lb"]}, ValueError, "unknown scheme '3lb'"),
    ({"min_size": 10**6}, ValueError, "no tensor of the model has as many values"),
    ({"limit": 0}, ValueError, "limit=0"), ({"steps": 3}, ValueError, "12 at least"),
    ({"metric": lambda model: 97.5}, ValueError, "97.5: an accuracy is from 0 to 1"),
    ({"limit": 1e-9}, ValueError, "limit=1e-09 is below the noise: fp16.*Take more steps"),
    ({"loss_fn": lambda m, b: m(b[0])}, ValueError, "a tensor of one value")])
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        quick(**options)


# --- resumed ---

def test_an_interrupted_trial_goes_on(tmp_path):
    whole = quick(schemes=["3lc", "qsgd", "int8"], output=tmp_path / "whole.json")
    calls, stop_at = [0], [3 * 12 * 3 + 20]

    def counted(model, batch):
        calls[0] += 1
        if calls[0] == stop_at[0]:
            raise KeyboardInterrupt
        return loss_fn(model, batch)

    def go(**options):
        options = {"schemes": ["3lc", "qsgd", "int8"], "loss_fn": counted, "output": tmp_path / "t.json", **options}
        calls[0] = 0
        return quick(**options)

    pytest.raises(KeyboardInterrupt, go)
    arms = tmp_path / "t.json.arms"
    assert not (tmp_path / "t.json").exists() and len(arms.read_text().split("\n")) == 5
    with open(arms, "a") as f:
        f.write('{"scheme": "qsgd", "rep')  # cut by a power failure
    for options, key in (({"steps": 13}, "steps: 12 there, 13 here"), ({"workers": 4}, "workers: 3"),
                         ({"optimizer_factory": torch.optim.Adam}, "optimizer: SGD there, Adam here"),
                         ({"model": digits.mlp(21)}, "parameters"),
                         ({"batches": lambda s: batches(s + 1)}, "first batch")):
        with pytest.raises(ValueError, match=f"trainings of another trial that is not done .*{key}.*resume=False"):
            go(**options)
    stop_at[0] = None
    result = go()
    assert calls[0] == 2 * 3 * 12 and result.changes == whole.changes and result.verdicts == whole.verdicts
    rows = [json.loads((tmp_path / f).read_text())["rows"] for f in ("t.json", "whole.json")]
    assert [dict(r, time_s=0) for r in rows[0]] == [dict(r, time_s=0) for r in rows[1]]
    again = go(schemes=["int8", "natural"], limit=20.0)
    assert calls[0] == 3 * 12 and set(again.verdicts) == {"fp32", "fp16", "int8", "natural"}
    go(steps=13)  # the trial before is done
    assert calls[0] == 5 * 3 * 13 and len(arms.read_text().split("\n")) == 8
    calls[0], stop_at[0] = 0, 20
    pytest.raises(KeyboardInterrupt, go, resume=False)
    stop_at[0] = None
    pytest.raises(ValueError, go, steps=13)
    go(steps=13, resume=False)
    arms.write_text("notes\n")
    with pytest.raises(ValueError, match="not a file of trainings"):
        go()
