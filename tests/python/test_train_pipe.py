"""`commcomp train --mode pipe` against Pipe-SGD's Algorithm 1 in NumPy, on a linear classifier.

Every step has all samples, so that their order does not matter."""
import json
import struct

import numpy as np
import pytest

STEPS, WORKERS, SAMPLES, FEATURES, CLASSES = 30, 2, 40, 6, 3
RATE, MOMENTUM = 0.2, 0.8


def read_weights(folder):
    data = next(folder.glob("*.safetensors")).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = [(k, v) for k, v in json.loads(data[8:8 + size]).items() if k.startswith("weights.")]
    return [np.frombuffer(data, "<f4", np.prod(v["shape"]), 8 + size + v["data_offsets"][0])
            .reshape(v["shape"]).astype(float) for _, v in tensors]


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(1)
    y = np.arange(SAMPLES) % CLASSES
    return random.normal(size=(SAMPLES, FEATURES)) + np.eye(CLASSES, FEATURES)[y], y


@pytest.fixture
def train(commcomp, samples, tmp_path):
    x, y = samples
    path = tmp_path / "samples.csv"
    np.savetxt(path, np.column_stack([x, y]), fmt=["%.17g"] * FEATURES + ["%d"], delimiter=",")

    def call(name, *words):
        folder = tmp_path / name
        commcomp("train", "-q", "--net", "mlp", "--data", f"{path}:test={path}", "--workers", WORKERS, "--batch",
                 SAMPLES // WORKERS, "--momentum", MOMENTUM, "--schedule", "constant", "--warmup", 0,
                 "--scheme", "fp32", "--exchange", "ring", "--checkpoint", folder, *words)
        return read_weights(folder)

    return call


def gradient(x, y, w, b):
    z = np.exp(x @ w.T + b)
    d = (z / z.sum(1, keepdims=True) - np.eye(CLASSES)[y]) / len(y)
    return [d.T @ x, d.sum(0)]


def pipe_sgd(x, y, w, b, depth):
    """Algorithm 1: w[t] = w[t - 1] - rate v[t], v[t] = momentum v[t - 1] + g[t - K]."""
    p, v, g = [w, b], [0 * w, 0 * b], {}
    for t in range(1, STEPS + depth + 1):  # the last K are applied, too
        if t > depth:
            v = [MOMENTUM * old + new for old, new in zip(v, g[t - depth])]
            p = [old - RATE * new for old, new in zip(p, v)]
        g[t] = gradient(x, y, *p)
    return p


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_delay(train, samples, depth):
    x, y = samples
    x = (x - x.mean(0)) / x.std(0)  # each feature is a channel
    begin = train("begin", "--steps", 1, "--rate", 1e-30)
    mode = ["--mode", "pipe", "--depth", depth] if depth > 1 else []
    got = train("end", "--steps", STEPS, "--rate", RATE, *mode)
    want, other = pipe_sgd(x, y, *begin, depth), pipe_sgd(x, y, *begin, depth + 1)
    for a, b, c in zip(got, want, other):
        assert np.abs(a - b).max() < 2e-6 * np.abs(b).max()
        assert np.abs(a - c).max() > 1e-3 * np.abs(c).max()
