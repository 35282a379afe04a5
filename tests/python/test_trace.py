"""Traces: what Python writes the command reads, and the reverse."""

import json

import numpy
import pytest

from commcomp import Error, Trace, TraceWriter

SHAPES = {"conv.weight": (4, 3, 3, 3), "conv.bias": (4,), "scale": (), "none": (0, 2)}


def gradients(seed):
    """A step's tensors."""
    generator = numpy.random.default_rng(seed)
    return {name: generator.standard_normal(shape).astype("f").reshape(shape) for name, shape in SHAPES.items()}


def test_what_is_written_is_read(commcomp, tmp_path):
    path = tmp_path / "captured"
    with TraceWriter(path) as writer:
        for step in (100, 103):
            for rank in (0, 1):
                writer.write(step, gradients(10 * step + rank), rank=rank)
            writer.write(step, gradients(step), direction="pull")
    trace = Trace(path)
    assert trace.senders == [("push", 0), ("push", 1), ("pull", -1)]
    assert trace.steps() == trace.steps("push", 1) == trace.steps("pull") == [100, 103]
    assert trace.tensors == SHAPES and list(trace.tensors) == list(SHAPES)
    for name in SHAPES:
        assert (trace.load(name, 103, rank=1) == gradients(1031)[name]).all()
        out = numpy.empty(SHAPES[name], numpy.float32)
        assert trace.load(name, 100, "pull", out=out) is out and (out == gradients(100)[name]).all()
    commcomp("trace", "convert", "--compress", path, tmp_path / "small")
    small = Trace(tmp_path / "small")
    assert small.senders == trace.senders and small.tensors == SHAPES and small.steps("pull") == [100, 103]
    for name in SHAPES:
        assert (small.load(name, 103, rank=1) == gradients(1031)[name]).all()
    rows = json.loads(commcomp("trace", "info", path, "--format", "json"))["rows"]
    assert rows
    bench = ["bench", "--trace", path, "--scheme", "fp32", "--passes", 1, "--format", "json"]
    (row,) = json.loads(commcomp(*bench))["rows"]
    assert row["values"] == sum(x.size for x in gradients(0).values()) and row["nmse"] == 0


def test_types_are_kept(tmp_path):
    torch = pytest.importorskip("torch")
    x = gradients(1)["conv.weight"]
    tensors = {
        "a": torch.from_numpy(x).bfloat16(),
        "b": x.astype(numpy.float16),
        "c": torch.from_numpy(x),
        "d": x.astype(numpy.float64),
    }
    with TraceWriter(tmp_path / "captured") as writer:
        writer.write(0, tensors)
    (file,) = (tmp_path / "captured").iterdir()
    data = file.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert [header[name]["dtype"] for name in "abcd"] == ["BF16", "F16", "F32", "F64"]
    trace = Trace(tmp_path / "captured")
    assert (trace.load("a", 0) == tensors["a"].float().numpy()).all()
    assert (trace.load("b", 0) == tensors["b"].astype("f")).all()
    assert (trace.load("c", 0) == x).all() and (trace.load("d", 0) == x).all()


def test_files_of_others_are_read(tmp_path):
    """numpy's own files, in all formats; .npz is read by libzip, and CSV by libcsv."""
    x = gradients(1)["conv.weight"]
    numpy.save(tmp_path / "x.npy", x)
    numpy.savez_compressed(tmp_path / "y.npz", a=x, b=x[0])
    numpy.savetxt(tmp_path / "z.csv", x.reshape(4, -1), delimiter=",", fmt="%.9g")
    for name, shapes in [
        ("x.npy", {"values": x.shape}),
        ("y.npz", {"a": x.shape, "b": x[0].shape}),
        ("z.csv", {"values": (4, 27)}),
    ]:
        trace = Trace(tmp_path / name)
        assert trace.tensors == shapes and trace.steps() == [0]
        first = next(iter(shapes))
        assert (trace.load(first, 0).reshape(-1) == x.reshape(-1)).all()


def test_steps_that_differ_and_files_that_are_there_are_refused(tmp_path):
    path = tmp_path / "captured"
    writer = TraceWriter(path)
    writer.write(0, gradients(0))
    for tensors, text in [
        ({**gradients(1), "more": numpy.zeros(3, "f")}, "step 1 differs .*: 5 tensors, which were 4"),
        ({**gradients(1), "scale": numpy.zeros(3, "f")}, r"'scale' of shape \(3,\) .*, which was 'scale'"),
        ({**gradients(1), "scale": numpy.zeros(())}, "type float64"),
        ({**gradients(1), "scale": numpy.zeros((), int)}, "values of int64; convert"),
        ({**gradients(1), "conv.weight": gradients(1)["conv.weight"].T}, "numpy.ascontiguousarray"),
        (
            {**gradients(1), "conv.weight": numpy.ma.array(gradients(1)["conv.weight"])},
            r"^tensor 'conv.weight': a masked array; call .filled\(0\), or with another value, first$",
        ),
    ]:
        with pytest.raises(Error, match=text):
            writer.write(1, tensors)
    with pytest.raises(Error, match="push-step000000-rank0.safetensors: is there already; name a new directory"):
        writer.write(0, gradients(0))
    with pytest.raises(Error, match="a worker pushes, and the server"):
        writer.write(1, gradients(1), direction="pull", rank=3)
    writer.write(1, gradients(1))
    writer.close()
    with pytest.raises(Error, match="closed"):
        writer.write(2, gradients(2))
    assert sorted(f.name for f in path.iterdir()) == [f"push-step00000{i}-rank0.safetensors" for i in range(2)]
    with pytest.raises(Error, match="a step of no tensors"):
        TraceWriter(path).write(5, {})
    for tensors, text in [
        ({"a\0b": numpy.zeros(3, "f")}, "name 'a.x00b' has a zero character"),
        ({3: numpy.zeros(3, "f")}, "name 3 is not a string"),
        ({"a": 3.0}, "tensor 'a': values of float; convert"),
    ]:
        with pytest.raises(Error, match=text):
            TraceWriter(path).write(5, tensors)
    with pytest.raises(Error, match="zero character"):
        TraceWriter(f"{path}\0more")
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="cannot be made"):
        TraceWriter(tmp_path / "file/captured")


def test_what_a_trace_lacks_is_an_error(tmp_path):
    with TraceWriter(tmp_path) as writer:
        writer.write(3, gradients(0))
    trace = Trace(tmp_path)
    for call, text in [
        (lambda: Trace(tmp_path / "nothing"), "nothing: "),
        (lambda: trace.load("conv", 3), "no tensor 'conv'"),
        (lambda: trace.load("scale", 4), "no step 4; it has 1 from 3 to 3"),
        (lambda: trace.load("scale", 3, "pull"), "no pull of rank -1; it has push 0"),
        (lambda: trace.load("scale", 3, out=numpy.empty((), "d")), "call .astype"),
    ]:
        with pytest.raises(Error, match=text):
            call()
