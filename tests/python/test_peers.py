"""tools/peers, without the peers: a stand-in for BytePS is compiled, PyTorch is there."""

import csv
import shutil
import statistics
import sys

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools/peers"))
import byteps  # noqa: E402
import compare  # noqa: E402
import measure  # noqa: E402
from commcomp import Codec  # noqa: E402

N = 10_000

# A compressor that sends every second value, and the names of BytePS that byteps.cc uses.
REGISTRY = """
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
namespace byteps { namespace common {
enum DataType { BYTEPS_FLOAT32 = 0 };
namespace compressor {
struct tensor_t {
    char *data; size_t size;
    tensor_t(void *data = nullptr, size_t size = 0, int = 0) : data((char *)data), size(size) {}
};
using kwargs_t = std::unordered_map<std::string, std::string>;
struct Compressor {
    std::vector<float> half, whole;
    bool feedback;
    Compressor(size_t bytes, bool feedback) : half(bytes / 8), whole(bytes / 4), feedback(feedback) {}
    tensor_t Compress(tensor_t x)
    {
        for (size_t i = 0; i < half.size(); i++)
            half[i] = ((float *)x.data)[2 * i] + feedback;
        return tensor_t(half.data(), 4 * half.size());
    }
    tensor_t Decompress(tensor_t payload)
    {
        for (size_t i = 0; i < whole.size(); i++)
            whole[i] = i % 2 ? 0 : ((float *)payload.data)[i / 2];
        return tensor_t(whole.data(), 4 * whole.size());
    }
};
struct CompressorRegistry {
    static std::unique_ptr<Compressor> Create(const kwargs_t &words, size_t size, DataType)
    {
        return std::unique_ptr<Compressor>(new Compressor(size, words.count("ef_type")));
    }
};
}}}
"""
REDUCER = """
namespace byteps { namespace common {
struct CpuReducer {
    CpuReducer(void *) {}
    void sum(void *to, const void *from, size_t bytes, DataType)
    {
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)to)[i] += ((const float *)from)[i];
    }
};
}}
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """The library of a checkout that is not BytePS."""
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("byteps")
    common = folder / "byteps/common"
    (common / "compressor/impl").mkdir(parents=True)
    (common / "compressor/compressor_registry.h").write_text(REGISTRY)
    (common / "cpu_reducer.h").write_text(REDUCER)
    for name in "common.cc", "cpu_reducer.cc", "logging.cc":
        (common / name).write_text("#include <Python.h>\n")
    path = byteps.compile_library(folder, "-O0", folder / "build")
    assert byteps.compile_library(folder, "-O0", folder / "build") == path
    assert [p.name for p in (folder / "build").iterdir()] == [path.name]
    return byteps.load(path)


def test_byteps_side(stand_in):
    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    for words, added in ("a 1 ef_type vanilla", 1), ("a 1", 0):
        side = byteps.Byteps(stand_in, words, N, 1)
        side.x[:] = x
        wanted = np.where(np.arange(N) % 2 == 0, x + np.float32(added), 0)
        assert side.encode() > 0 and side.decode() > 0
        assert side.bits == 32 * (-(-N // 32) * 16) / N
        np.testing.assert_array_equal(side.decoded()[:N], wanted)
        assert side.decode_add() > 0 and side.decode_add() > 0
        np.testing.assert_array_equal(side.sum[:N], 2 * wanted)
        side.close()


def test_own_side_beside_it(stand_in):
    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    side, codec = byteps.Own(stand_in, "randk:density=0.1", N, 2), Codec("randk:density=0.1", N)
    for step in 1, 2:  # the residual goes on
        side.x[:] = x
        assert side.encode() > 0 and side.decode() > 0 and side.decode_add() > 0
        payload = codec.encode(x, step=step)
        assert bytes(side.payload[:side.used.value]) == payload and side.bits == 8 * len(payload) / N
        np.testing.assert_array_equal(side.y, codec.decode(payload, step=step))
    assert side.sum.any()
    side.x[0] = np.nan
    with pytest.raises(ValueError, match="index 0 is NaN"):
        side.encode()


class Fake(measure.Side):
    """Says that it takes `seconds`, and notes the calls."""

    bits = 8.0

    def __init__(self, name, seconds, calls):
        super().__init__(4)
        self.name, self.seconds, self.calls = name, iter(seconds), calls

    def encode(self):
        self.calls.append(self.name)
        return next(self.seconds)

    def close(self):
        self.calls.append("close " + self.name)


def test_rounds_take_turns(monkeypatch):
    """The first round, and the first of the calls in a row, are not counted."""
    calls = []
    monkeypatch.setattr(measure, "CALLS", 2)
    peer = Fake("peer", [9, 9, 9, 6, 9, 8, 9, 10, 9, 12], calls)
    own = Fake("own", [9, 9, 9, 2, 9, 4, 9, 2, 9, 2], calls)
    pair = measure.Pair("P", "method", "fp32", lambda n, t: peer, lambda n, t: own, ("encode",))
    (row,) = measure.compare(pair, measure.Gradients(4), 4, 1, rounds=4, seconds=100)
    turn = ["own", "own", "peer", "peer", "peer", "peer", "own", "own"]
    assert calls == 2 * turn + turn[:4] + ["close peer", "close own"]
    assert row["rounds"] == 4 and row["peer_s_median"] == 9 and row["own_s_median"] == 2
    ratios = [6 / 2, 8 / 4, 10 / 2, 12 / 2]
    assert [row[f"ratio_{q}"] for q in ("q1", "median", "q3")] == statistics.quantiles(ratios, method="inclusive")
    assert measure.summary([row]).splitlines()[-1] == "| P: method | `fp32` | 8 / 8 | 4 |"


def test_gradients_are_the_same_values_in_another_order():
    gradients, out = measure.Gradients(N), [np.zeros(N, np.float32) for _ in range(2)]
    for turn in range(2):
        gradients.copy(out[turn], turn)
    assert (out[0] != out[1]).any()
    np.testing.assert_array_equal(np.sort(out[0]), np.sort(out[1]))
    assert abs(np.abs(out[0]).mean() - 1) < 0.05


@pytest.mark.parametrize("values, shape", [(65536, (256, 256)), (10_000, (100, 100)), (12, (3, 4)), (7, (1, 7))])
def test_matrix(values, shape):
    assert measure.matrix(values) == shape


def test_hooks_compress_as_in_a_training():
    torch = pytest.importorskip("torch")
    import own
    import pytorch
    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    cast = pytorch.pairs()[0]
    for side in cast.peer(N, 1), cast.own(N, 1):
        side.x[:] = x
        assert side.step() > 0 and side.bits == 16
        np.testing.assert_array_equal(side.x, x.astype(np.float16).astype(np.float32))
    power, best = pytorch.pairs()[2], torch.linalg.svdvals(torch.from_numpy(x).view(100, 100))[4:].norm()
    for side in power.peer(N, 1), power.own(N, 1):
        for _ in range(3):
            side.x[:] = x
            assert side.step() > 0
        assert np.linalg.matrix_rank(side.x.reshape(100, 100)) == 4 and side.bits == 32 * 4 * 200 / N
    side = own.OwnRounds("powersgd:rank=4,ef=0", N, 1)
    for _ in range(100):  # power iteration on a matrix that stays as it is
        side.x[:] = x
        side.step()
    assert np.linalg.norm(x - side.x) < 1.01 * float(best)


def test_command_line(tmp_path, capsys):
    pytest.importorskip("torch")
    out = tmp_path / "peers.csv"
    compare.main(["--values", "10000,400", "--threads", "1", "--rounds", "2", "--only", "FP16 hook", "-o", str(out)])
    printed = capsys.readouterr().out
    assert "PyTorch: fp16 hook | commcomp: fp16" in printed and "2 ratios, " in printed
    with open(out, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert [(r["peer"], r["scheme"], r["values"], r["operation"], r["rounds"], r["own_bits"]) for r in rows] == [
        ("PyTorch", "fp16", values, "step", "2", "16.0") for values in ("10000", "400")]


@pytest.mark.parametrize("words, text", [
    (["--byteps", "."], "has no byteps/common/compressor: --byteps names a checkout of github.com/bytedance/byteps"),
    (["--grace", "."], "has no grace_dl/dist: --grace names a checkout of github.com/sands-lab/grace"),
    (["--only", "nothing of this name"], "--only 'nothing of this name' leaves no pair"),
])
def test_refused(words, text, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=text):
        compare.main(words)


@pytest.mark.parametrize("words, text", [
    (["--values", "0"], "'0' is not a whole number above 0"),
    (["--values", "1e6"], "'1e6' is not a whole number above 0"),
    (["--threads", "1,"], "'' is not a whole number above 0"),
    (["--rounds", "-1"], "'-1' is not a whole number above 0"),
    (["-o", "no/such/peers.csv"], "-o no/such/peers.csv: there is no such folder"),
])
def test_usage(words, text, capsys):
    with pytest.raises(SystemExit):
        compare.main(words)
    assert text in capsys.readouterr().err


def test_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit, match="name checkouts by --byteps and --grace, or install python3-torch"):
        compare.main([])
    with pytest.raises(SystemExit, match="GRACE needs PyTorch: install python3-torch"):
        compare.main(["--grace", "."])
