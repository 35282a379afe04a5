"""`train --consistency`: the order of updates, against stale synchronous parallelism in numpy."""

import itertools
import json

import numpy
import pytest

WORKERS, FEATURES, SAMPLES, STEPS, RATE, SPREAD = 3, 5, 8, 12, 0.5, 0.5


@pytest.fixture(name="data")
def fixture_data(tmp_path):
    """A class for each worker, with `--shards by-class:1`, all of whose samples are the same, so that a
    worker has the same batch in each step."""
    x = numpy.random.RandomState(7).uniform(0.1, 1, (WORKERS, FEATURES)).astype("f4")
    lines = [f"{c} " + " ".join(f"{i + 1}:{v:.9g}" for i, v in enumerate(x[c])) for c in range(WORKERS)]
    for name, times in ("train", SAMPLES), ("test", 1):
        (tmp_path / f"{name}.libsvm").write_text("\n".join(numpy.repeat(lines, times)) + "\n")
    name = f"{tmp_path}/train.libsvm:features={FEATURES},dims=1x1x{FEATURES},test={tmp_path}/test.libsvm"
    x = x.astype("f8")
    return name, (x - x.mean()) / x.std()


def initial(folder):
    """The parameters of a checkpoint, which a step at a rate of next to nothing has not changed."""
    (path,) = folder.glob("*.safetensors")
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    layout, values = json.loads(raw[8:8 + size]), raw[8 + size:]
    return numpy.concatenate([numpy.frombuffer(values[slice(*layout[n]["data_offsets"])], "<f4")
                              for n in ("server.fc1.weight", "server.fc1.bias")]).astype("f8")


def scores(w, x):
    z = x @ w[:WORKERS * FEATURES].reshape(WORKERS, FEATURES).T + w[WORKERS * FEATURES:]
    p = numpy.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def gradient(w, x, label):
    d = scores(w, x[None])[0] - numpy.eye(WORKERS)[label]
    return numpy.concatenate([numpy.outer(d, x).ravel(), d])


def reference(w, x, label, takes, bound):
    """The loss of the server's parameters after every WORKERS updates."""
    server, copies, losses = w.copy(), [w.copy() for _ in range(WORKERS)], []
    clock, due, waiting = [0] * WORKERS, [takes[i][0] for i in range(WORKERS)], set()
    while len(losses) < STEPS:
        i = int(numpy.argmin(due))
        now, due[i] = due[i], numpy.inf
        server -= RATE / WORKERS * gradient(copies[i], x[label[i]], label[i])
        clock[i] += 1
        waiting.add(i)
        for k in [k for k in waiting if bound is None or clock[k] - min(clock) <= bound]:
            waiting.remove(k)
            copies[k] = server.copy()
            due[k] = now + takes[k][clock[k]] if clock[k] < STEPS else numpy.inf
        if sum(clock) % WORKERS == 0:
            losses.append(-numpy.log(scores(server, x)[range(WORKERS), range(WORKERS)]).mean())
    return losses


@pytest.mark.parametrize("bound", [0, 1, 3, None])
def test_order(commcomp, data, tmp_path, bound):
    name, x = data
    options = ["-q", "--net", "mlp", "--data", name, "--workers", WORKERS, "--batch", SAMPLES, "--shards",
               "by-class:1", "--momentum", 0, "--schedule", "constant", "--warmup", 0, "--scheme", "fp32", "--seed", 3,
               "--format", "json"]
    commcomp("train", *options, "--steps", 1, "--rate", "1e-30", "--checkpoint", tmp_path / "w")
    how = ["--consistency", "async"] if bound is None else ["--consistency", "stale", "--staleness", bound]
    rows = json.loads(commcomp("train", *options, *how, "--steps", STEPS, "--eval-every", 1, "--rate", RATE,
                               "--stragglers", "uniform", "--spread", SPREAD))["rows"]
    losses = [r["loss"] for r in rows if r["kind"] == "eval"]
    # The library's generator and numpy's are both the Mersenne twister of 2002, seeded by the integer.
    u = numpy.random.RandomState(3).randint(0, 2**32, WORKERS * STEPS, dtype="u4") / 2.0**32
    takes = (1 + numpy.sqrt(3) * SPREAD * (2 * u - 1)).reshape(WORKERS, STEPS)
    w = initial(tmp_path / "w")
    # Which worker has which class follows from the seed; one way fits all losses.
    off = [numpy.abs(numpy.subtract(reference(w, x, label, takes, bound), losses)).max()
           for label in itertools.permutations(range(WORKERS))]
    assert min(off) < 1e-6
    assert bound == 0 or sorted(off)[1] > 1e-4  # without a lead, the order within a step changes nothing
