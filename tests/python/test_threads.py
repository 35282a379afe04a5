"""Threads that share a codec, a container or a writer: errors, and never anything wrong."""

import contextlib
import threading

import numpy
import pytest

import commcomp as package
from commcomp import Codec, Container, Error, TraceWriter, write_container

SCHEMES = [s.id for s in package.schemes()] + ["3lc:s=1.75", "qsgd:code=elias", "powersgd:rank=2"]
SHAPE = (100, 300)
IN_USE = "in use by another thread: give each thread one of its own, or let them take turns"


def gradient(seed=1):
    return numpy.random.default_rng(seed).standard_normal(SHAPE).astype(numpy.float32)


def run(work, count=4):
    """work(i) in threads; raises what one of them has raised."""
    errors = []

    def guarded(i):
        try:
            work(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Pause:
    """A step's number that stops the call which asks for it."""

    def __init__(self):
        self.asked, self.go_on = threading.Event(), threading.Event()

    def __index__(self):
        self.asked.set()
        assert self.go_on.wait(60)
        return 0


@contextlib.contextmanager
def stopped(call):
    """While call(step), in a thread of its own, stops; it has come to its end afterwards."""
    pause, ended = Pause(), []
    thread = threading.Thread(target=lambda: ended.append([call(pause)]))
    thread.start()
    try:
        assert pause.asked.wait(60)
        yield
    finally:
        pause.go_on.set()
        thread.join()
    assert ended


CALLS = {
    "encode": lambda c, x, data, step: c.encode(x, step=step),
    "decode": lambda c, x, data, step: c.decode(data, step=step),
    "decode_add": lambda c, x, data, step: c.decode_add(data, x.copy(), step=step),
    "encode_round": lambda c, x, data, step: c.encode_round(0, x, step=step),
    "absorb": lambda c, x, data, step: c.absorb(0, x.reshape(-1), x.copy(), step=step),
}
OTHERS = {
    **CALLS,
    "reset": lambda c, x, data, step: c.reset(),
    "state": lambda c, x, data, step: c.state(),
    "restore": lambda c, x, data, step: c.restore(Codec("fp32", SHAPE).state()),
    "threads": lambda c, x, data, step: setattr(c, "threads", 1),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_codec_in_use_refuses_every_call(call):
    """Also before the library is called: here a thread stops at the step's number."""
    x, codec = gradient(), Codec("fp32", SHAPE)
    data = codec.encode(x)
    floats = codec.encode_round(0, x)
    assert floats.tobytes() == data
    with stopped(lambda step: CALLS[call](codec, x, data, step)):
        for other in OTHERS.values():
            with pytest.raises(Error, match=f"codec 'fp32' is {IN_USE}"):
                other(codec, x, data, 0)
        assert codec.scheme == "fp32" and codec.bound == len(data)  # anyone may ask what it is
    for other in OTHERS.values():
        other(codec, x, data, 0)


def test_a_call_that_fails_gives_the_codec_back():
    codec = Codec("3lc", SHAPE)
    for _ in range(2):
        with pytest.raises(Error, match="the payload ends within its scale"):
            codec.decode(b"123")
        with pytest.raises(Error, match="is not a whole number"):
            codec.encode(gradient(), step="one")
    assert codec.decode(codec.encode(gradient())).shape == SHAPE


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_codec_gives_errors_but_nothing_wrong(scheme):
    """Each thread decodes another rank's payload, and names the rank; two also encode."""
    steps = range(12)
    sent = [Codec(scheme, SHAPE).encode(gradient(rank), rank=rank, step=5) for rank in range(4)]
    want = [Codec(scheme, SHAPE).decode(data, rank=rank, step=5).tobytes() for rank, data in enumerate(sent)]
    serial = Codec(scheme, SHAPE)
    encoded = sorted(serial.encode(gradient(), rank=9, step=5) for _ in steps for _ in range(2))
    codec, got = Codec(scheme, SHAPE), []

    def until_it_works(function):
        for _ in range(500_000):
            try:
                return function()
            except Error as e:
                assert IN_USE in str(e)
        raise AssertionError("the codec stays in use")

    def work(rank):
        out = numpy.empty(SHAPE, numpy.float32)
        x = gradient()
        for _ in steps:
            until_it_works(lambda: codec.decode(sent[rank], out, rank=rank, step=5))
            assert out.tobytes() == want[rank]
            if rank < 2:
                got.append(until_it_works(lambda: codec.encode(x, rank=9, step=5)))

    run(work)
    assert sorted(got) == encoded


def test_a_shared_codec_is_found_in_use_sooner_or_later():
    """As users would see it, without a pause: long calls, until two of them meet."""
    codec, x, refused = Codec("zstd", 1_000_000), numpy.ones(1_000_000, numpy.float32), []

    def work(_):
        for _ in range(500):
            if refused:
                break
            try:
                codec.encode(x)
            except Error as e:
                refused.append(str(e))

    run(work)
    assert refused and f"codec 'zstd' is {IN_USE}" == refused[0]


def test_a_container_of_several_threads(tmp_path):
    x = {f"t{i}": gradient(i)[: 100 - i] for i in range(4)}
    write_container(tmp_path / "x.cc", "zstd", x)
    container, right = Container(tmp_path / "x.cc"), []

    def work(i):
        for _ in range(50):
            try:
                assert container[f"t{i}"].tobytes() == x[f"t{i}"].tobytes()
                right.append(i)
            except Error as e:
                assert f"container of 'zstd' is {IN_USE}" in str(e)

    run(work)
    assert right


def test_a_trace_writer_in_use_refuses(tmp_path):
    writer, x = TraceWriter(tmp_path), {"a": gradient()}
    with stopped(lambda step: writer.write(step, x)):
        for call in [lambda: writer.write(1, x), writer.close]:
            with pytest.raises(Error, match=f"trace writer of '{tmp_path}' is {IN_USE}"):
                call()
    writer.write(1, x)
    writer.close()
    assert sorted(package.Trace(tmp_path).steps()) == [0, 1]
