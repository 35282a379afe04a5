"""commcomp.torch.profile: its sizes and errors against `bench`, and what reads the file."""

import json
import shutil

import numpy
import pytest

torch = pytest.importorskip("torch")
commcomp_torch = pytest.importorskip("commcomp.torch")
from commcomp import Codec, Error, TraceWriter  # noqa: E402
from commcomp.torch.profile import payload_bytes  # noqa: E402

SHAPES = {"conv": (64, 9), "bias": (64,)}


@pytest.fixture(name="trace")
def fixture_trace(tmp_path):
    """Four steps of two tensors, of one sender."""
    random = numpy.random.default_rng(1)
    with TraceWriter(tmp_path / "captured") as writer:
        for step in range(4):
            writer.write(step, {n: random.standard_t(4, s).astype("f4") for n, s in SHAPES.items()}, rank=0)
    return tmp_path / "captured"


class OfCatalogue:
    """A scheme of the catalogue as a pair of functions, with a codec for each shape."""

    def __init__(self, scheme):
        self.scheme, self.codecs = scheme, {}

    def codec(self, shape):
        if shape not in self.codecs:
            self.codecs[shape] = Codec(self.scheme, tuple(shape))
        return self.codecs[shape]

    def compress(self, x):
        return self.codec(x.shape).encode(x.numpy(), step=0)

    def decompress(self, payload, shape):
        return torch.from_numpy(self.codec(shape).decode(payload, step=0))


def profile(pair, tmp_path, **options):
    options = {"sizes": (100, 1000), "seconds": 0.01, "path": tmp_path / "mine.json", **options}
    document = commcomp_torch.profile(*pair, **options)
    assert json.loads((tmp_path / "mine.json").read_text()) == document
    return document["codecs"][0]


@pytest.mark.parametrize("scheme, other, feedback", [
    ("fp16", "fp16", False), ("int8", "int8", False), ("topk", "topk:ef=0", True)])
def test_errors_are_those_of_bench(commcomp, tmp_path, trace, scheme, other, feedback):
    own = OfCatalogue(other)
    errors = profile((own.compress, own.decompress), tmp_path, trace=trace, feedback=feedback)["errors"]
    bench = json.loads(commcomp("bench", "--trace", trace, "--scheme", scheme, "--passes", 1, "--format", "json"))
    row = bench["rows"][0]
    for key in "nmse", "nmse_cumulative", "cosine", "max_abs_error":
        assert errors[key] == pytest.approx(row[key], rel=1e-5), key
    # Other signs of the passes, and fewer tensors than it takes for a precise mean.
    assert errors["error"] == pytest.approx(row["error"], rel=0.25)


def half(x):
    return x.half()


def whole(payload, shape):
    return payload.float().reshape(shape)


def test_the_file_is_read_by_every_command(commcomp, tmp_path):
    codec = profile((half, whole), tmp_path, sizes=(10, 100_000))
    assert [p["values"] for p in codec["points"]] == [10, 100_000]
    assert [p["bits_per_value"] for p in codec["points"]] == [16, 16]
    assert all(p[f"{call}_ns"] > 0 for p in codec["points"] for call in ("encode", "decode", "decode_add"))
    assert codec["lossy"] and 0 < codec["errors"]["error"] < 1e-6
    common = ("--profile", tmp_path / "mine.json", "--values", "20K", "--format", "json", "-q")
    four = (*common, "--workers", 4)
    for command in "model", "sim":
        if command == "sim" and shutil.which("smpirun") is None:
            continue
        rows = json.loads(commcomp(command, "--scheme", "fp32,mine", *four))["rows"]
        assert [r["scheme"] for r in rows] == ["fp32", "mine"]
        assert rows[1]["profiled"] and rows[1]["bits_push"] == 16
    rows = json.loads(commcomp("advise", "--scheme", "mine", "--bw", "10mbps", *four))["rows"]
    assert next(r for r in rows if r["scheme"] == "mine")["left_out"] == "untried"
    two = (*common, "--workers", 2, "--compute", "1ms")  # a gather of halves sends half of what a ring of floats does
    rows = json.loads(commcomp("advise", "--scheme", "mine", "--bw", "10mbps", "--max-nmse", 1, *two))["rows"]
    assert next(r for r in rows if r["scheme"] == "mine")["recommended"]


def test_what_changes_nothing_is_lossless(tmp_path, trace):
    codec = profile((lambda x: x.clone(), lambda payload, shape: payload), tmp_path, trace=trace)
    assert not codec["lossy"]
    assert codec["errors"] == {"error": 0, "nmse": 0, "nmse_cumulative": 0, "cosine": pytest.approx(1),
                               "max_abs_error": 0}


def test_sending_nothing_has_the_error_one(tmp_path, trace):
    def nothing(payload, shape):
        return torch.zeros(shape)

    codec = profile((lambda x: None, nothing), tmp_path, trace=trace)
    assert codec["errors"]["error"] == pytest.approx(1)
    assert codec["errors"]["nmse"] == pytest.approx(1)
    assert codec["points"][0]["bits_per_value"] == 0


def test_residuals_send_later_what_is_left_out(tmp_path):
    def compress(x):
        index = x.abs().flatten().topk(max(1, x.numel() // 10)).indices
        return x.flatten()[index], index.int()

    def decompress(payload, shape):
        y = torch.zeros(shape)
        y.view(-1)[payload[1].long()] = payload[0]
        return y

    with_residual = profile((compress, decompress), tmp_path, feedback=True)
    without = profile((compress, decompress), tmp_path)
    assert with_residual["points"][1]["bits_per_value"] == pytest.approx(6.4)
    assert 0 < with_residual["errors"]["error"] < 0.5 * without["errors"]["error"] < 1


def test_payloads_are_counted():
    assert payload_bytes(torch.zeros(3, dtype=torch.int16)) == 6
    assert payload_bytes({"a": numpy.zeros(2, "f8"), "b": [b"abc", 1.5, None, True]}) == 16 + 3 + 8 + 8
    with pytest.raises(Error, match="returned a str: return tensors"):
        payload_bytes(("x",))


@pytest.mark.parametrize("pair, options, message", [
    ((half, whole), {"name": "int8"}, "is a scheme of the catalogue"),
    ((half, whole), {"name": "a b"}, "1 to 32 letters"),
    ((half, lambda payload, shape: payload), {}, r"decompress\(\) returned torch.float16 of shape \(100,\)"),
    ((half, lambda payload, shape: payload.float()[1:]), {}, "of the shape that it is given"),
    ((half, lambda payload, shape: payload.float() / 0), {}, "not finite"),
    ((half, whole), {"sizes": ()}, "sizes: one at least"),
    ((half, whole), {"sizes": (0, 10)}, "each 1 or more"),
    ((half, whole), {"trace": "nowhere"}, "nowhere"),
])
def test_refusals_leave_no_file(tmp_path, pair, options, message):
    with pytest.raises(Error, match=message):
        profile(pair, tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_values_that_are_not_finite(tmp_path):
    with TraceWriter(tmp_path / "bad") as writer:
        writer.write(0, {"x": numpy.array([1, numpy.nan], "f4")}, rank=0)
    with pytest.raises(Error, match="step 0: tensor 'x' has values that are not finite"):
        profile((half, whole), tmp_path, trace=tmp_path / "bad")


def test_on_a_gpu(tmp_path, trace):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    codec = profile((half, whole), tmp_path, trace=trace, device="cuda")
    assert [p["bits_per_value"] for p in codec["points"]] == [16, 16]
    assert all(0 < p["encode_ns"] for p in codec["points"])
