"""QSVRG of `commcomp train` against its definition in numpy, with the same rows drawn."""
import json
import pathlib
import struct
import sys

import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from container_reader import random_key, random_number  # noqa: E402

ROWS, FEATURES, WORKERS, SEED, STREAM = 50, 20, 3, 5, 0x53565247


def captured(folder, step, rank):
    file = (folder / f"push-step{step:06d}-rank{rank}.safetensors").read_bytes()
    size = struct.unpack("<Q", file[:8])[0]
    begin, end = json.loads(file[8:8 + size])["weight"]["data_offsets"]
    return np.frombuffer(file[8 + size:][begin:end], np.float32)


@pytest.mark.parametrize("exchange", [["ring"], ["ps", "--pull", "mean"]])
@pytest.mark.parametrize("batch", [1, 4])
def test_svrg(commcomp, tmp_path, exchange, batch):
    random = np.random.default_rng(1)
    x = np.where(random.random((ROWS, FEATURES)) < 0.4, random.normal(size=(ROWS, FEATURES)), 0).astype(np.float32)
    b = np.where(random.random(ROWS) < 0.5, -1, 1)
    path, folder = tmp_path / "data.libsvm", tmp_path / "vectors"
    path.write_text("".join(f"{c:+d} " + " ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(row) if v) + "\n"
                            for c, row in zip(b, x)))
    x = x.astype(float)
    epochs, steps, rate, l2 = 3, 7, 0.2, 0.05
    found = json.loads(commcomp(
        "train", "-q", "--net", "logreg", "--data", f"{path}:features={FEATURES},test={path}", "--workers", WORKERS,
        "--optimizer", "svrg", "--svrg-steps", steps, "--steps", epochs * steps, "--rate", rate, "--weight-decay", l2,
        "--batch", batch, "--seed", SEED, "--scheme", "fp32", "--exchange", *exchange, "--optimum",
        "--capture", folder, "--capture-steps", f"0:{epochs * steps}", "--format", "json"))["rows"]

    def gradient(w, rows):
        return (-b[rows] / (1 + np.exp(b[rows] * (x[rows] @ w)))) @ x[rows] / len(rows) + l2 * w

    w = np.zeros(FEATURES)
    for epoch in range(epochs):
        y, full, points = w, gradient(w, np.arange(ROWS)), []
        for step in range(epoch * steps, (epoch + 1) * steps):
            keys = [random_key(SEED, k, 0, step, 0, STREAM, 0) for k in range(WORKERS)]
            drawn = [[random_number(key, i) * ROWS >> 32 for i in range(batch)] for key in keys]
            sent = [gradient(w, j) - gradient(y, j) + full for j in drawn]
            for rank in range(WORKERS):
                assert np.allclose(captured(folder, step, rank), sent[rank], rtol=0, atol=2e-6)
            points.append(w)
            w = w - rate * np.mean(sent, 0)
        w = np.mean(points, 0)
        value = np.log1p(np.exp(-b * (x @ w))).mean() + l2 / 2 * w @ w
        assert np.isclose(found[epoch]["objective"], value, rtol=1e-6, atol=0)
    assert 0 < found[-1]["suboptimality"] < found[0]["suboptimality"]
    assert 0 < found[-1]["distance"] < 0.9 * found[0]["distance"]
