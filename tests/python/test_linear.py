"""Linear models of `commcomp train` against their definitions in numpy, from the same batches."""
import json
import pathlib
import struct
import sys

import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from container_reader import random_key, random_number  # noqa: E402

ROWS, FEATURES, WORKERS, SEED = 60, 40, 3, 5
ORDER, SHARDS = 0x64617461, 0x64617462  # streams of random numbers


@pytest.fixture
def data(tmp_path):
    """A file, its rows as a matrix, and the classes -1 and 1."""
    random = np.random.default_rng(1)
    x = np.where(random.random((ROWS, FEATURES)) < 0.2, random.normal(size=(ROWS, FEATURES)), 0).astype(np.float32)
    y = np.where(random.random(ROWS) < 0.5, -1, 1)
    lines = [f"{c:+d} " + " ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(row) if v) for c, row in zip(y, x)]
    path = tmp_path / "data.libsvm"
    path.write_text("\n".join(lines) + "\n")
    return f"{path}:features={FEATURES},test={path}", x.astype(float), y


def shuffle(items, rank, epoch, stream):
    """Fisher and Yates, as train/data/order.c has it."""
    key = random_key(SEED, rank, 0, epoch, 0, stream, 0)
    for i in range(len(items), 1, -1):
        k = random_number(key, i) * i >> 32
        items[i - 1], items[k] = items[k], items[i - 1]
    return items


def train(commcomp, folder, source, net, *options):
    """The evaluations, and the parameters where there is a checkpoint."""
    found = json.loads(commcomp("train", "-q", "--net", net, "--data", source, "--workers", WORKERS, "--seed", SEED,
                                "--schedule", "constant", "--warmup", 0, "--scheme", "pairs", "--format", "json",
                                *options))
    kept = list(folder.glob("*.safetensors"))
    if not kept:
        return found["rows"], None
    file = kept[0].read_bytes()
    size = struct.unpack("<Q", file[:8])[0]
    begin, end = json.loads(file[8:8 + size])["weights.weight"]["data_offsets"]
    return found["rows"], np.frombuffer(file[8 + size:][begin:end], np.float32)


def objective(net, x, y, w, l2):
    margin = y * (x @ w)
    loss = np.log1p(np.exp(-margin)) if net == "logreg" else np.maximum(0, 1 - margin)
    return loss.mean() + l2 / 2 * w @ w


@pytest.mark.parametrize("exchange", ["ps", "ssar-split"])
@pytest.mark.parametrize("net", ["logreg", "svm"])
def test_sgd(commcomp, tmp_path, data, net, exchange):
    source, x, y = data
    steps, batch, rate, momentum, l2 = 25, 6, 0.3, 0.5, 0.01
    rows, weights = train(commcomp, tmp_path, source, net, "--exchange", exchange, "--steps", steps, "--batch", batch,
                          "--rate", rate, "--momentum", momentum, "--weight-decay", l2, "--checkpoint", tmp_path)
    w, v = np.zeros(FEATURES), np.zeros(FEATURES)
    epoch = ROWS // (batch * WORKERS)
    for step in range(steps):
        order = shuffle(list(range(ROWS)), -1, step // epoch, ORDER)
        at = order[step % epoch * batch * WORKERS:][:batch * WORKERS]
        margin = y[at] * (x[at] @ w)
        slope = -y[at] / (1 + np.exp(margin)) if net == "logreg" else -y[at] * (margin < 1)
        v = momentum * v + slope @ x[at] / len(at) + l2 * w
        w = w - rate * v
    assert np.abs(w).max() > 0.1
    assert np.allclose(weights, w, rtol=0, atol=3e-6)
    assert np.isclose(rows[-1]["objective"], objective(net, x, y, w, l2), rtol=1e-6, atol=0)


@pytest.mark.parametrize("exchange", ["ps", "allgather", "ssar-recdouble"])
def test_scd(commcomp, tmp_path, data, exchange):
    source, x, y = data
    steps, count, rate, l2 = 17, 2, 0.7, 0.01
    rows, _ = train(commcomp, tmp_path, source, "logreg", "--exchange", exchange, "--steps", steps, "--batch", 4,
                    "--eval-every", 1, "--optimizer", "scd", "--coordinates", count, "--rate", rate,
                    "--weight-decay", l2)
    slices = [list(range(FEATURES * k // WORKERS, FEATURES * (k + 1) // WORKERS))
              for k in shuffle(list(range(WORKERS)), -1, 0, SHARDS)]
    epoch = min(map(len, slices)) // count
    w, bound = np.zeros(FEATURES), (x ** 2).sum(0) / (4 * ROWS) + l2
    for step in range(steps):
        taken = [j for k, s in enumerate(slices)
                 for j in shuffle(list(s), k, step // epoch, ORDER)[step % epoch * count:][:count]]
        slope = (-y / (1 + np.exp(y * (x @ w)))) @ x / ROWS + l2 * w
        w[taken] -= rate * (slope / bound)[taken]
        assert np.isclose(rows[step]["objective"], objective("logreg", x, y, w, l2), rtol=1e-6, atol=0)
    assert rows[steps - 1]["objective"] < 0.6
