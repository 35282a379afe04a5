"""Payloads of the 16-bit schemes against numpy's and PyTorch's conversions."""

import numpy
import pytest


@pytest.fixture(name="values")
def fixture_values(tmp_path):
    """Values of all magnitudes that half precision has, subnormal ones and ties included."""
    generator = numpy.random.default_rng(1)
    x = generator.standard_normal(5000).astype("<f4")
    x *= numpy.float32(2) ** generator.integers(-26, 14, len(x)).astype("<f4")
    x[:4] = 0, -0.0, 1 + 2**-8, 1 + 2**-11  # the last two lie midway between two values of a format
    numpy.save(tmp_path / "x.npy", x)
    return x


def payload(commcomp, folder, scheme):
    commcomp("encode", "--payload", "--scheme", scheme, folder / "x.npy", folder / scheme)
    return (folder / scheme).read_bytes()


def test_fp32_is_the_values(commcomp, tmp_path, values):
    assert payload(commcomp, tmp_path, "fp32") == values.tobytes()


def test_fp16_rounds_as_numpy(commcomp, tmp_path, values):
    assert payload(commcomp, tmp_path, "fp16") == values.astype("<f2").tobytes()


def test_bf16_rounds_as_torch(commcomp, tmp_path, values):
    torch = pytest.importorskip("torch")
    rounded = torch.from_numpy(values).to(torch.bfloat16).view(torch.int16).numpy()
    assert payload(commcomp, tmp_path, "bf16") == rounded.astype("<i2").tobytes()
