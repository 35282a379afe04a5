"""Codec against the command line, which is another caller of the same schemes: bit for bit."""

import copy
import json
import pickle
import threading

import numpy
import pytest

import commcomp as package
from commcomp import Codec, Error

SCHEMES = [s.id for s in package.schemes()] + [
    "3lc:s=1.75",
    "3lc:zre=0",
    "qsgd:code=elias",
    "topk:k=3",
    "powersgd:rank=2",
    "chunktopk:k=200,index=rice",
    "demo:side=16,k=20,signs=1",
    "local:every=2,inner=(3lc:s=1.75)",
]
SENDERS = [
    {"seed": 1, "rank": 0, "direction": "push", "step": 0},
    {"seed": 5, "rank": 3, "direction": "pull", "step": 7},
]


MASKED = r"a masked array; call .filled\(0\), or with another value, first$"


def gradient(shape, seed=1):
    """Normal values with a scale that differs by row, some of them zero."""
    generator = numpy.random.default_rng(seed)
    x = generator.standard_normal(shape).astype(numpy.float32) * numpy.float32(1e-2)
    x[generator.random(shape) < 0.1] = 0
    return x


def options(sender):
    """The command's options for a sender."""
    rank = {} if sender["direction"] == "pull" else {"--worker": sender["rank"]}
    named = {"--seed": sender["seed"], "--direction": sender["direction"], "--step": sender["step"], **rank}
    return [str(word) for pair in named.items() for word in pair]


@pytest.mark.parametrize("shape", [(1000,), (8, 3, 5, 5), (1,)], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_payloads_and_values_are_the_commands(commcomp, tmp_path, scheme, shape):
    x = gradient(shape)
    numpy.save(tmp_path / "x.npy", x)
    for i, sender in enumerate(SENDERS):
        if sender["direction"] == "pull":
            sender = {**sender, "rank": -1}
        file, back = tmp_path / f"{i}.bin", tmp_path / f"{i}.npy"
        bare = ["--payload", "--scheme", scheme, *options(sender)]
        commcomp("encode", *bare, tmp_path / "x.npy", file)
        want = file.read_bytes()
        codec = Codec(scheme, shape)
        assert codec.encode(x, **sender) == want
        commcomp("decode", *bare, "--shape", "x".join(map(str, shape)), file, back)
        decoded = numpy.load(back)
        assert codec.decode(want, **sender).tobytes() == decoded.tobytes()
        total = numpy.ones(shape, numpy.float32)
        assert codec.decode_add(want, total, 0.5, **sender) is total
        assert (total == 1 + numpy.float32(0.5) * decoded).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_halves_give_the_payload_of_the_widened_values(scheme):
    """Several steps, so that residuals meet both, and types that take turns on one codec."""
    codec, wide, turns = (Codec(scheme, (8, 3, 5, 5)) for _ in range(3))
    for step in range(3):
        half = gradient((8, 3, 5, 5), step).astype(numpy.float16)
        want = wide.encode(half.astype(numpy.float32), step=step)
        assert codec.encode(half, step=step) == want
        assert turns.encode(half if step == 1 else half.astype(numpy.float32), step=step) == want
    assert codec.state() == wide.state() == turns.state()


def test_bfloat16_tensors_are_read():
    torch = pytest.importorskip("torch")
    for scheme in SCHEMES:
        codec, wide = Codec(scheme, (8, 3, 5, 5)), Codec(scheme, (8, 3, 5, 5))
        for step in range(2):
            half = torch.from_numpy(gradient((8, 3, 5, 5), step)).to(torch.bfloat16)
            assert codec.encode(half, step=step) == wide.encode(half.float(), step=step)
        assert codec.state() == wide.state()


def test_a_number_of_values_is_a_flat_shape():
    x = gradient(1000)
    assert Codec("3lc:s=1.75", 1000).encode(x) == Codec("3lc:s=1.75", (1000,)).encode(x)
    assert Codec("int8", 1000).encode(x.reshape(10, 100)) == Codec("int8", (10, 100)).encode(x)
    assert Codec("int8", ()).encode(numpy.full((), 2, "f")) == Codec("int8", 1).encode(numpy.full(1, 2, "f"))
    assert Codec("int8", (0, 5)).encode(numpy.empty((0, 5), "f")) == b""


def test_attributes_are_the_default_of_each_call():
    x = gradient(500)
    codec = Codec("qsgd", 500, seed=3, rank=2, tensor=4)
    assert codec.encode(x, step=9) == Codec("qsgd", 500).encode(x, seed=3, rank=2, tensor=4, step=9)
    assert codec.encode(x, rank=0, step=9) == Codec("qsgd", 500).encode(x, seed=3, tensor=4, step=9)
    codec.tensor = 0
    assert codec.encode(x, rank=0, step=9) == Codec("qsgd", 500).encode(x, seed=3, step=9)
    assert len({codec.encode(x, step=step) for step in range(5)}) == 5


def continued(codec, steps):
    """The payloads of some steps; the gradients differ by step."""
    return [codec.encode(gradient(codec.shape, step + 1), step=step) for step in steps]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_copy_in_mid_training_continues_identically(scheme):
    codec = Codec(scheme, (16, 40), seed=7, rank=1, name="fc.weight")
    continued(codec, range(5))
    copies = [pickle.loads(pickle.dumps(codec)), copy.copy(codec), copy.deepcopy(codec)]
    restored = Codec(scheme, (16, 40), seed=7, rank=1)
    restored.restore(codec.state())
    want = continued(codec, range(5, 10))
    for other in [*copies, restored]:
        assert continued(other, range(5, 10)) == want
    if codec.has_feedback:
        assert continued(Codec(scheme, (16, 40), seed=7, rank=1), range(5, 10)) != want
    codec.reset()
    assert continued(codec, range(5)) == continued(Codec(scheme, (16, 40), seed=7, rank=1), range(5))


def test_states_of_others_and_damaged_ones_are_refused():
    codec = Codec("3lc:s=1.75", (4, 10))
    codec.encode(gradient((4, 10)))
    before = codec.state()
    for other in ["3lc", (10, 4)]:
        scheme, shape = (other, (4, 10)) if isinstance(other, str) else ("3lc:s=1.75", other)
        with pytest.raises(Error, match="belongs to a tensor of .*; this codec is 3lc:s=1.75 of shape 4x10"):
            codec.restore(Codec(scheme, shape).state())
    for at in range(len(before)):
        with pytest.raises(Error, match="not the state|of version|damaged"):
            codec.restore(before[:at] + bytes([before[at] ^ 1]) + before[at + 1 :])
    with pytest.raises(Error, match="version 2; this library reads version 1"):
        codec.restore(before[:8] + b"\2" + before[9:])
    for size in range(len(before)):
        with pytest.raises(Error):
            codec.restore(before[:size])
    assert codec.state() == before


def test_rounds_of_several_workers_are_the_mean_of_sums():
    """The sums of both rounds, by numpy; every worker ends with the same mean."""
    x = [gradient((30, 20), seed) for seed in range(3)]
    for scheme, rounds in [("powersgd:rank=2", 2), ("fp32", 1), ("randk:density=0.2,ef=0", 1)]:
        codecs = [Codec(scheme, (30, 20), rank=rank) for rank in range(3)]
        means = [numpy.zeros((30, 20), numpy.float32) for _ in x]
        assert codecs[0].rounds == rounds
        for i in range(rounds):
            floats = [c.encode_round(i, g) for c, g in zip(codecs, x)]
            assert all(f.nbytes == codecs[0].round_bytes(i) for f in floats)
            total = sum(floats)
            for c, mean in zip(codecs, means):
                c.absorb(i, total, mean, 1 / 3)
        assert all((mean == means[0]).all() for mean in means)
        if scheme == "fp32":
            numpy.testing.assert_allclose(means[0], sum(x) / 3, rtol=1e-6, atol=1e-10)
        assert 0 < abs(means[0]).max()
    assert Codec("3lc", 10).rounds == 0
    with pytest.raises(Error, match="cannot be summed, but must be decoded"):
        Codec("3lc", 10).encode_round(0, gradient(10))


def test_rounds_out_of_order_are_refused():
    codec, x = Codec("powersgd:rank=2", (30, 20)), gradient((30, 20))
    with pytest.raises(Error, match="round 99: a step of powersgd:rank=2 has 2, counted from 0"):
        codec.encode_round(99, x)
    with pytest.raises(Error, match="round 1 of step 3 cannot be encoded now: each round of a step, from 0, is"):
        codec.encode_round(1, x, step=3)
    floats = codec.encode_round(0, x, step=3)
    with pytest.raises(Error, match="round 0 of step 4 cannot be absorbed now"):
        codec.absorb(0, floats, numpy.zeros((30, 20), "f"), step=4)


def test_payloads_from_and_into_buffers():
    x = gradient(300)
    codec = Codec("3lc:s=1.75", 300)
    want = Codec("3lc:s=1.75", 300).encode(x)
    room = numpy.zeros(codec.bound + 9, numpy.uint8)
    data = codec.encode(x, out=room)
    assert data.tobytes() == want and data.base is room
    y = codec.decode(want)
    for buffer in [bytearray(want), memoryview(want), data, numpy.frombuffer(want, numpy.uint8)]:
        assert (codec.decode(buffer) == y).all()
    out = numpy.empty((3, 100), numpy.float32)
    assert codec.decode(want, out=out) is out and (out.reshape(-1) == y).all()


def test_tensors_of_pytorch_are_read_and_written_in_place():
    torch = pytest.importorskip("torch")
    x = gradient((20, 30))
    want = Codec("3lc:s=1.75", (20, 30)).encode(x)
    codec = Codec("3lc:s=1.75", (20, 30))
    room = torch.zeros(codec.bound, dtype=torch.uint8)
    data = codec.encode(torch.from_numpy(x), out=room)
    assert bytes(data.numpy()) == want and data.data_ptr() == room.data_ptr()
    out = torch.empty(20, 30)
    assert codec.decode(data, out=out) is out
    assert (out.numpy() == codec.decode(want)).all()
    for bad, text in [
        (torch.empty(20, 30, dtype=torch.float64), r"float64; call .to\(torch.float32\) first"),
        (torch.empty(20, 30, dtype=torch.int16), r"int16; call .to\(torch.float32\) first"),
        (torch.empty(30, 20, dtype=torch.bfloat16), r"shape 30x20, but the codec's is 20x30"),
        (torch.empty(30, 20, dtype=torch.bfloat16).T, r"not contiguous; call .contiguous\(\) first"),
        (torch.empty(30, 20).t(), r"not contiguous; call .contiguous\(\) first"),
        (torch._neg_view(torch.ones(20, 30)), r"negated view; call .resolve_neg\(\) first"),
        (torch.empty(20, 30).to_sparse(), r"call .to_dense\(\) first"),
        (torch.empty(20, 30, device="meta"), r"on meta; call .cpu\(\) first"),
    ]:
        with pytest.raises(Error, match=text):
            codec.encode(bad)


def test_errors_say_what_to_do():
    codec = Codec("3lc:s=1.75", (4, 5), name="fc.weight")
    x = gradient((4, 5))
    frozen = x.copy()
    frozen.flags.writeable = False
    infinite = x.copy()
    infinite[1, 2] = numpy.inf
    for call, text in [
        (lambda: Codec("3lb", 5), "did you mean '3lc'"),
        (lambda: Codec("3lc:s=3", 5), "allowed is 1 <= s < 2"),
        (lambda: Codec("3lc\0:s=3", 5), "the scheme .* has a zero character"),
        (lambda: Codec("3lc\udcff", 5), "the scheme .* has characters that UTF-8 does not have"),
        (lambda: Codec(3, 5), "the scheme 3 is not a string"),
        (lambda: Codec("3lc", 5, name=3).encode(gradient(5)), "the tensor's name 3 is not a string"),
        (lambda: Codec("3lc", -1), "the dimension -1 is not from 0"),
        (lambda: Codec("3lc", (1,) * 9), "at most 8"),
        (lambda: Codec("3lc", 2.5), "neither a number of values nor a sequence"),
        (lambda: Codec("3lc", 5, threads=0), "at least 1"),
        (lambda: codec.encode(x.astype(numpy.float64)), r"float64; call .astype\(numpy.float32\) first"),
        (lambda: codec.encode(x.astype(">f4")), r">f4; call .astype\(numpy.float32\) first|float32; call .astype"),
        (lambda: codec.encode(gradient((5, 4)).T), r"not contiguous; call numpy.ascontiguousarray\(x\) first"),
        (
            lambda: codec.encode(numpy.frombuffer(bytes(4 * 20 + 1), "u1", offset=1).view("f4")),
            r"does not begin at a multiple of 4 bytes; call .copy\(\) first",
        ),
        (lambda: codec.encode(gradient((5, 4))), "shape 5x4, but the codec's is 4x5"),
        (lambda: codec.encode([1.0] * 20), r"call numpy.asarray\(x, numpy.float32\) first"),
        (lambda: codec.encode(numpy.ma.masked_less(x, 0)), "^x: " + MASKED),
        (lambda: codec.encode(numpy.ma.array(x.astype("f8"))), "^x: " + MASKED),
        (lambda: codec.decode(codec.encode(x), out=numpy.ma.array(x)), "^out: " + MASKED),
        (lambda: codec.decode_add(codec.encode(x), numpy.ma.array(x)), "^out: " + MASKED),
        (lambda: codec.decode(numpy.ma.array(bytearray(codec.encode(x)), "u1")), "^the payload: " + MASKED),
        (lambda: codec.encode(infinite), "tensor 'fc.weight': the value at index 7 is infinite"),
        (lambda: codec.encode(x, out=numpy.empty(3, numpy.uint8)), "room for 3 bytes"),
        (lambda: codec.encode(x, step=-1), "the step -1 is not from 0"),
        (lambda: codec.encode(x, step=1.5), "the step 1.5 is not a whole number"),
        (lambda: codec.encode(x, rank=-2), "the rank -2 is not from -1"),
        (lambda: codec.encode(x, direction="up"), "neither 'push' nor 'pull'"),
        (lambda: codec.decode(b"123"), "payload, byte 3: the payload ends within its scale"),
        (lambda: codec.decode(codec.encode(x), out=frozen), r"cannot be written to; call .copy\(\) first"),
        (lambda: codec.decode("text"), "not a contiguous buffer of bytes"),
        (lambda: codec.restore(b"nothing"), "not the state of a codec"),
    ]:
        with pytest.raises(Error, match=text):
            call()


def test_codecs_of_several_threads_work_at_once():
    x = gradient(200_000)
    want = continued(Codec("3lc:s=1.75", 200_000), range(3))
    results = {}

    def work(i):
        results[i] = continued(Codec("3lc:s=1.75", 200_000, threads=2), range(3))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results[i] == want for i in range(4)) and len(x) == 200_000


def test_the_catalogue_is_the_commands(commcomp):
    rows = json.loads(commcomp("schemes", "--format", "json"))["rows"]
    ids = list(dict.fromkeys(row["scheme"].split(":")[0] for row in rows))
    assert [s.id for s in package.schemes()] == ids
    scheme = {s.id: s for s in package.schemes()}
    assert scheme["3lc"].feedback and scheme["qsgd"].stochastic and not scheme["fp32"].lossy
    assert scheme["fp32"].kind == "sum" and scheme["topk"].kind == "pairs"
    (s,) = [p for p in scheme["3lc"].parameters if p.name == "s"]
    assert (s.range, s.default) == ("1 <= s < 2", "1")
    assert commcomp("--version").decode().strip() == f"commcomp {package.version()}"
