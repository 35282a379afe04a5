"""Containers: what Python writes the command reads, and the reverse, byte for byte."""

import numpy
import pytest

import commcomp as package
from commcomp import Codec, Container, Error, Trace, TraceWriter, write_container

SCHEMES = [s.id for s in package.schemes()]
SENDER = {"seed": 5, "rank": 2, "direction": "push", "step": 9}


@pytest.fixture(name="tensors")
def fixture_tensors():
    """Tensors of several shapes, one without values among them."""
    generator = numpy.random.default_rng(1)
    shapes = {"conv.weight": (8, 3, 3, 3), "conv.bias": (8,), "scale": (), "none": (0, 4), "größe": (40, 30)}
    return {name: numpy.array(generator.standard_normal(shape), "f") for name, shape in shapes.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_files_are_those_of_encode(commcomp, tmp_path, tensors, scheme):
    with TraceWriter(tmp_path / "trace") as writer:
        writer.write(9, tensors, rank=2)
    commcomp("encode", "--scheme", scheme, "--seed", 5, tmp_path / "trace/push-step000009-rank2.safetensors",
             tmp_path / "theirs.cc")  # fmt: skip
    write_container(tmp_path / "ours.cc", scheme, tensors, **SENDER)
    theirs, ours = Container(tmp_path / "theirs.cc"), Container(tmp_path / "ours.cc")
    for c in theirs, ours:
        assert (c.scheme, c.seed, c.rank, c.direction, c.step) == (Codec(scheme, 1).scheme, 5, 2, "push", 9)
        assert list(c) == list(tensors) and len(c) == len(tensors)
    commcomp("decode", tmp_path / "ours.cc", tmp_path / "ours.safetensors")
    decoded = Trace(tmp_path / "ours.safetensors")
    for i, (name, x) in enumerate(tensors.items()):
        assert ours.shape(name) == x.shape
        assert ours.payload(name) == theirs.payload(name) == Codec(scheme, x.shape).encode(x, **SENDER, tensor=i)
        (number,) = decoded.steps()
        assert ours[name].tobytes() == theirs[name].tobytes() == decoded.load(name, number).tobytes()


def test_damaged_files_and_those_of_others_are_refused(tmp_path, tensors):
    path = tmp_path / "x.cc"
    write_container(path, "3lc:s=1.75", tensors)
    good = path.read_bytes()

    def refused(data, text, **limits):
        path.write_bytes(data)
        with pytest.raises(Error, match=text):
            dict(Container(path, **limits))

    refused(good[:8] + b"\2" + good[9:], "x.cc: byte 8: the format has version 2; this program reads version 1")
    refused(b"NOTCC" + good[5:], "byte 0: this is not a file that `commcomp encode` wrote")
    refused(good[:-1], "the file ends at byte|is damaged")
    refused(good[:100] + bytes([good[100] ^ 1]) + good[101:], "damaged|checksum")
    refused(good, "the limit is 100: if that is right, allow max_values", max_values=100)
    refused(b"", "the header needs")
    with pytest.raises(Error, match="nothing.cc"):
        Container(tmp_path / "nothing.cc")
    path.write_bytes(good)
    with pytest.raises(KeyError):
        Container(path)["other"]


def test_a_scheme_that_is_not_known_is_refused(tmp_path, tensors):
    """As a file of a newer version may have, with checksums that hold."""
    zlib = pytest.importorskip("zlib")
    path = tmp_path / "x.cc"
    write_container(path, "int8", {"conv.bias": tensors["conv.bias"]})
    data = bytearray(path.read_bytes())
    head = data.index(b"int8") + 4 + 4
    data[data.index(b"int8") : data.index(b"int8") + 4] = b"int9"
    data[head : head + 4] = zlib.crc32(bytes(data[:head])).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(Error, match="byte 44: unknown scheme 'int9'"):
        Container(path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, tensors):
    infinite = numpy.full(3, numpy.inf, numpy.float32)
    for bad, text in [
        ({"a": tensors["scale"], "b": infinite}, "tensor 'b': the value at index 0 is infinite"),
        ({"a": tensors["scale"], "b": numpy.zeros(3)}, r"tensor 'b': an array of float64; call .astype"),
        ({"": tensors["scale"]}, "name is empty"),
        ({"b": numpy.ma.array(infinite)}, r"tensor 'b': a masked array; call .filled\(0\), or"),
    ]:
        with pytest.raises(Error, match=text):
            write_container(tmp_path / "x.cc", "3lc", bad)
    with pytest.raises(Error, match="unknown scheme"):
        write_container(tmp_path / "x.cc", "4lc", tensors)
    assert not list(tmp_path.iterdir())
