"""commcomp.torch.trial: changes of the loss and their intervals by hand, verdicts, and the file."""

import importlib
import json
import math
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
import torch

import digits
from commcomp import Codec
from commcomp.torch import trial
from trials import batches, loss_fn, losses, quick, summary

statistics_ = importlib.import_module("commcomp.torch.trial_statistics")
trial_ = importlib.import_module("commcomp.torch.trial")


def test_the_change_of_the_last_third():
    mine, fp32 = np.arange(30.0, 0, -1), np.full(30, 4.0)
    found = statistics_.change([mine], [fp32])
    assert found.mean == pytest.approx(5.5 / 4 - 1)  # the last ten are 10, 9, ... 1
    cut = statistics_.change([mine[:15]], [np.linspace(1, 2, 30)])  # ended early: fp32's same five steps
    assert cut.mean == pytest.approx(18 / np.linspace(1, 2, 30)[10:15].mean() - 1)
    same = statistics_.change([1.25 * fp32], [fp32])
    assert (same.mean, same.low, same.high) == pytest.approx((0.25, 0.25, 0.25))
    skipped = statistics_.change([[1.0] * 20 + [math.nan] + [3.0] * 9], [fp32[:30] / 2])
    assert skipped.mean == pytest.approx(0.5)


def test_the_interval_of_one_training():
    """Against the error of a mean of independent steps, and a slow bootstrap of dependent ones."""
    random_ = np.random.default_rng(5)
    fp32 = np.full(1200, 2.0)
    found = statistics_.change([fp32 + random_.normal(0, 0.4, 1200)], [fp32])
    assert (found.high - found.low) / 2 == pytest.approx(2.5 * 1.96 * 0.4 / 2 / math.sqrt(400), rel=0.15)
    steady = np.repeat(random_.normal(0, 0.4, 300), 4) + fp32
    found, last = statistics_.change([steady], [fp32]), steady[800:]
    means = []
    for _ in range(2000):
        steps = []
        while len(steps) < 400:
            begin = random_.integers(400)
            steps += [(begin + i) % 400 for i in range(20)]
        means.append(last[steps].mean() / 2 - 1)
    low, high = np.quantile(means, (0.025, 0.975))
    assert (found.high - found.low) == pytest.approx(2.5 * (high - low), rel=0.1)


def test_the_narrowest_interval():
    """Losses that fall by a line and 0.1 up and down around it; a scheme that always loses 1% more."""
    fp32 = np.linspace(3, 1, 90) + np.tile([0.1, -0.1], 45)
    last = fp32[60:]
    found = statistics_.change([1.01 * fp32], [fp32])
    half = 0.2 * 1.96 * 0.1 * math.sqrt(30 / 28) / math.sqrt(30) / last.mean()
    assert found.mean == pytest.approx(0.01) and found.high - 0.01 == pytest.approx(half, rel=0.01)
    assert 0.01 - found.low == pytest.approx(half, rel=0.01)
    two = statistics_.change([1.01 * fp32] * 2, [fp32] * 2)
    assert two.high - 0.01 == pytest.approx(half / math.sqrt(2), rel=0.01)


def test_the_interval_of_repeats():
    """Changes of 1, 2 and 6%: mean 3, standard deviation 2.6458, t(2) = 4.303."""
    fp32 = [np.full(30, 2.0 + r) for r in range(3)]
    found = statistics_.change([f * c for f, c in zip(fp32, (1.01, 1.02, 1.06))], fp32)
    assert found.mean == pytest.approx(0.03)
    assert found.high - found.mean == pytest.approx(4.303 * 0.026458 / math.sqrt(3), rel=1e-4)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


def test_verdicts():
    def of(low, high, scheme="3lc", steps=200):
        return statistics_.verdict(scheme, statistics_.Change((low + high) / 2, low, high), 0.05, steps)[0]

    assert [of(-0.1, 0.04), of(0.04, 0.06), of(0.051, 0.06)] == ["keeps", "open", "costs"]
    assert [of(-0.1, 0.04, "signsgd", s) for s in (200, 399, 400)] == ["open", "open", "keeps"]
    assert of(0.051, 0.06, "signsgd") == "costs"
    flattered = ["signsgd", "int8", "topk:k=5,ef=0", "trunc16", "ternary:clip=2.5", "mxfp4:rounding=nearest", "fp8",
                 "local:inner=signsgd"]
    honest = ["fp16", "bf16", "3lc", "int8:ef=1", "qsgd", "ternary", "natural", "fp8:rounding=random", "powersgd",
              "dgc", "local:every=4", "pairs", "randk"]
    assert [s for s in flattered + honest if statistics_.looks_better(Codec(s, 1).scheme)] == flattered


def test_a_scheme_is_lost_for_sure():
    """+30% at a quarter of the steps, with a wide and a narrow interval; +15% there and at half of them."""
    fp32 = [2.0] * 200
    steep = [2.0 ** (-i / 20) for i in range(200)]

    def of(steps, by, noise=0.0, scheme="3lc", repeat=0, limit=0.02):
        study = types.SimpleNamespace(halving=(0.2, 0.1), steps=200, limit=limit,
                                      arms={("fp32", 0): types.SimpleNamespace(losses=fp32)})
        noisy = [loss * by * (1 + noise * (-1) ** (i // 8)) for i, loss in enumerate(fp32[:steps])]
        return trial_._Study.is_lost(study, trial_.Arm(scheme, repeat, noisy, 0, 1, 0))

    assert [of(50, 1.3), of(50, 1.3, 0.3), of(49, 1.3), of(51, 1.3)] == [True, False, False, False]
    assert [of(50, 1.15), of(100, 1.15), of(100, 1.09), of(200, 9)] == [False, True, False, False]
    assert [of(50, 1.3, limit=0.07), of(50, 1.3, limit=0.08), of(100, 1.15, limit=0.08)] == [True, False, False]
    assert [statistics_.is_lost(steep[:100 - late], steep, 0.2) for late in (0,)] == [False]
    assert [statistics_.is_lost([1.0] * late + steep[:100 - late], steep, 0.2) for late in (50, 72)] == [False, True]
    assert statistics_.change([[1.0] * 50 + steep[:50]], [steep]).low > 4  # and yet it is late only
    assert [of(50, 1.3, scheme="fp16"), of(50, 1.3, repeat=1)] == [False, False]


LOSING = "topk:k=1,ef=0"


def lenient(path, loss=loss_fn, limit=5.0):
    """A trial that is long enough for a scheme to end early."""
    torch.manual_seed(1)
    return trial(digits.mlp(64), loss, batches, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                 schemes=[LOSING, "qsgd:bits=8"], workers=3, steps=120, limit=limit, metric=digits.accuracy,
                 output=path)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("trial") / "t.json"
    return path, lenient(path, limit=0.05)


def test_lost_schemes_end_early(file, tmp_path):
    _, result = file
    assert summary(result, LOSING)["ended_step"] == 100 and result.verdicts[LOSING] == "costs"
    assert summary(result, "qsgd:bits=8")["ended_step"] is None and result.verdicts["qsgd:bits=8"] == "keeps"
    assert LOSING in str(result) and "step 100" in str(result)
    payload = 2 * len(Codec(LOSING, (64, 64)).encode(np.ones((64, 64), np.float32))) + 4 * (8970 - 2 * 64 * 64)
    assert summary(result, LOSING)["bits_push"] == pytest.approx(8 * payload / 8970)
    calls, path = [0], tmp_path / "t.json"
    shutil.copy(file[0].with_name("t.json.arms"), tmp_path)

    def counted(model, batch):
        calls[0] += 1
        return loss_fn(model, batch)

    counted.__qualname__ = loss_fn.__qualname__
    again = lenient(path, counted)  # with a limit of 500%, it goes on
    assert calls[0] == 3 * 120 and summary(again, LOSING)["ended_step"] is None
    whole = quick(digits.mlp(32), [LOSING], steps=60, halving=())
    assert summary(whole, LOSING)["ended_step"] is None


def test_the_file(file):
    path, result = file
    document = json.loads(path.read_text())
    rows = document["rows"]
    assert rows == result.rows and document["command"] == "train" and document["host"]["isa"]
    points = [r for r in rows if r["kind"] == "eval" and r["scheme"] == "qsgd:bits=8"]
    per_step = losses(path.with_name("t.json.arms"), "qsgd:bits=8")
    assert [r["step"] for r in points] == list(range(15, 121, 15))
    assert points[2]["train_loss"] == pytest.approx(np.mean(per_step[30:45]))
    one, fp32 = summary(result, "qsgd:bits=8"), summary(result, "fp32")
    assert one["loss_end"] == pytest.approx(np.mean(per_step[80:]))
    assert one["loss_change"] == pytest.approx(one["loss_end"] / fp32["loss_end"] - 1)
    assert one["difference"] == pytest.approx(one["accuracy"] - fp32["accuracy"]) and fp32["difference"] == 0
    wide = 2 * 64 * 64  # of 8970 values: the others are in tensors below min_size
    assert one["values"] == 8970 and fp32["bits_push"] == 32
    assert one["bits_push"] == pytest.approx((8.06 * wide + 32 * (8970 - wide)) / 8970, rel=0.01)
    assert (one["workers"], one["batch"], one["rate"], one["step"], one["seeds"]) == (3, 16, 0.1, 120, 1)
    done = subprocess.run([sys.executable, digits.FOLDER + "/../../../tests/check_json.py", path], capture_output=True)
    assert done.returncode in (0, 77), done.stderr


def test_commands_take_the_file(commcomp, file, tmp_path):
    path = file[0]
    text = commcomp("advise", "--accuracy", path, "--scheme", f"qsgd:bits=8,{LOSING}", "--net", "resnet50", "--bw",
                    "1gbps", "--workers", "8", "--device", "a100").decode()
    assert "accuracy" in text and "qsgd:bits=8" in text
    assert b"qsgd:bits=8" in commcomp("compare", path, path)
    row = next(line for line in text.splitlines() if LOSING in line)
    assert row.endswith("costs accuracy in the trial")
    commcomp("plot", path)
    commcomp("report", path, "-o", tmp_path / "report.html")
    assert LOSING in (tmp_path / "report.html").read_text()


def test_progress_is_for_terminals(monkeypatch, capsys):
    quick()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(trial_.time, "monotonic", iter(range(10_000)).__next__)
    quick()
    text = capsys.readouterr().err
    assert "fp16, training 2 of 3, step 12 of 12, 0:12 left" in text and text.endswith("\033[K")
    quick(progress=False)
    assert capsys.readouterr().err == ""
