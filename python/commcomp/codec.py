"""Codecs: a compression scheme applied to one tensor, with the state that it keeps from step to step."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from ctypes import byref, c_size_t, create_string_buffer
from typing import Any

import numpy as np

from . import _library
from ._arrays import flat, gradient, payload, shape_of, values
from ._library import Error, alone, number, text


class Codec:
    """A scheme with parameters for one tensor.

        codec = Codec("3lc:s=1.75", gradient.shape)
        for step in range(steps):
            data = codec.encode(gradient, step=step)   # bytes: those of `commcomp encode --payload`
            codec.decode_add(data, total, scale=1 / workers, step=step)

    Values are contiguous float32 arrays of numpy, or CPU tensors of PyTorch; they are read and
    written in place, without a copy. Their shape is the codec's, or one of the two is flat.
    Anything else is an Error that says what to call. Arrays that a call returns are numpy's.

    Payloads of schemes that draw random numbers depend on `seed`, `rank`, `direction` ("push" or
    "pull"), `tensor` (the tensor's index in the step) and the step's number: give every step its
    own number, every tensor of a step its own index and every worker its own rank. These are
    attributes that may be set at any time, and encode, decode, decode_add, encode_round and absorb
    take them as keywords for one call. `randk` and `local` must be told the same when they decode.
    Decoding neither uses nor changes the state, so that one codec may decode the payloads of all
    ranks, one after the other.

    A codec is used by one thread at a time: in any other, calls raise Error meanwhile and change
    nothing. Calls release the GIL, so codecs in several threads run at once. `threads` lets one call
    use several for a large tensor; results do not depend on it.

    Codecs can be pickled and copied (copy.copy, copy.deepcopy) with their state.
    """

    def __init__(
        self,
        scheme: str,
        shape: int | Sequence[int],
        *,
        seed: int = 1,
        rank: int = 0,
        direction: str = "push",
        tensor: int = 0,
        name: str | None = None,
        threads: int = 1,
    ) -> None:
        self._library = library = _library.codecs()
        self._turn = threading.Lock()
        self._shape = shape_of(shape)
        self._handle = _library.make(
            library.commcomp_codec_new, text(scheme, "the scheme"), _library.dims_of(self._shape), len(self._shape)
        )
        weakref.finalize(self, library.commcomp_codec_free, self._handle)
        self.seed, self.rank, self.direction, self.tensor, self.name = seed, rank, direction, tensor, name
        self._sender: tuple[Any, ...] = (1, 0, "push")  # as the library has it from the start
        self._place: tuple[Any, ...] = (0, None)
        self._threads = 1
        self._error = create_string_buffer(_library.ERROR_BYTES)
        self._bound = int(library.commcomp_codec_bound(self._handle))
        self._room: np.ndarray | None = None
        self.threads = threads

    def __repr__(self) -> str:
        return f"Codec({self.scheme!r}, {self._shape})"

    # --- properties ---

    @property
    def scheme(self) -> str:
        """The canonical name: the id, then the parameters that differ from their defaults."""
        return self._library.commcomp_codec_name(self._handle).decode()

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's dimensions."""
        return self._shape

    @property
    def values(self) -> int:
        """The number of values of the tensor."""
        return int(self._library.commcomp_codec_values(self._handle))

    @property
    def bound(self) -> int:
        """The size of the largest payload, in bytes."""
        return self._bound

    @property
    def stochastic(self) -> bool:
        """Whether the codec draws random numbers: a decoder must then be told who sent the payload."""
        return bool(self._library.commcomp_codec_flags(self._handle) & _library.STOCHASTIC)

    @property
    def has_feedback(self) -> bool:
        """Whether what is not sent is kept in a residual and added to the next gradient."""
        return bool(self._library.commcomp_codec_has_feedback(self._handle))

    @property
    def period(self) -> int:
        """After how many steps the pattern of empty and non-empty payloads repeats; 1: every step sends."""
        return int(self._library.commcomp_codec_period(self._handle))

    @property
    def threads(self) -> int:
        """How many threads a call may use."""
        return self._threads

    @threads.setter
    @alone
    def threads(self, threads: int) -> None:
        threads = number(threads, "the number of threads", most=2**31 - 1)
        if threads != self._threads:
            self._call(self._library.commcomp_codec_threads, threads)
            self._threads = threads

    # --- steps ---

    @property
    def _called(self) -> str:
        return f"codec '{self.scheme}'"

    def _call(self, function: Any, *arguments: Any) -> None:
        """As _library.check, without making a buffer for the text each time."""
        if function(self._handle, *arguments, self._error) != 0:
            raise Error(self._error.value.decode(errors="replace"))

    def _begin(self, step: Any, seed: Any, rank: Any, direction: Any, tensor: Any) -> int:
        """Tells the library who sends, if that has changed; returns the step's number."""
        sender = (
            self.seed if seed is None else seed,
            self.rank if rank is None else rank,
            self.direction if direction is None else direction,
        )
        if sender != self._sender:
            self._call(
                self._library.commcomp_codec_sender,
                number(sender[0], "the seed"),
                number(sender[1], "the rank", -1, 2**63 - 1),
                _library.direction_number(sender[2]),
            )
            self._sender = sender
        place = (self.tensor if tensor is None else tensor, self.name)
        if place != self._place:
            name = None if self.name is None else text(self.name, "the tensor's name")
            index = number(place[0], "the tensor's index")
            self._call(self._library.commcomp_codec_tensor, index, name)
            self._place = place
        return number(step, "the step")

    @alone
    def encode(
        self,
        x: Any,
        out: Any = None,
        *,
        step: int = 0,
        seed: int | None = None,
        rank: int | None = None,
        direction: str | None = None,
        tensor: int | None = None,
    ) -> Any:
        """Encodes the values x, all of which must be finite.

        They are float32, float16 or, of PyTorch, bfloat16: the payload of 16 bits is that of the values
        widened to float32, which need not be made.

        Returns the payload as bytes. With `out`, a uint8 array or tensor of at least `bound` bytes,
        the payload is written to its beginning, and the part that it takes is returned; the rest of
        out[:bound] is unspecified. After an Error, but for that of a codec in use by another thread,
        the state is unspecified: reset or restore it.
        """
        step = self._begin(step, seed, rank, direction, tensor)
        dtype, begin = gradient(x, "x", self._shape)
        if out is None and self._room is None:
            self._room = np.empty(self._bound, np.uint8)
        room = self._room if out is None else out
        at, size = flat(room, "out", "uint8", written=True)
        used = c_size_t()
        self._call(self._library.commcomp_encode_from, step, dtype, begin, at, size, byref(used))
        return room[: used.value].tobytes() if out is None else room[: used.value]

    @alone
    def decode(
        self,
        data: Any,
        out: Any = None,
        *,
        step: int = 0,
        seed: int | None = None,
        rank: int | None = None,
        direction: str | None = None,
        tensor: int | None = None,
    ) -> Any:
        """Decodes a payload: bytes, a uint8 array or tensor, or another buffer. Returns `out`, or a new array.

        Any payload either decodes or raises Error, and `out` is then unspecified.
        """
        step = self._begin(step, seed, rank, direction, tensor)
        if out is None:
            out = np.empty(self._shape, np.float32)
        begin = values(out, "out", self._shape, written=True)
        at, size = payload(data)
        self._call(self._library.commcomp_decode, step, at, size, begin)
        return out

    @alone
    def decode_add(
        self,
        data: Any,
        out: Any,
        scale: float = 1.0,
        *,
        step: int = 0,
        seed: int | None = None,
        rank: int | None = None,
        direction: str | None = None,
        tensor: int | None = None,
    ) -> Any:
        """Adds scale * the decoded values to `out`, and returns it."""
        step = self._begin(step, seed, rank, direction, tensor)
        begin = values(out, "out", self._shape, written=True)
        at, size = payload(data)
        self._call(self._library.commcomp_decode_add, step, at, size, scale, begin)
        return out

    # --- rounds of an allreduce ---

    @property
    def rounds(self) -> int:
        """How many allreduces of floats a step takes instead of exchanging payloads.

        0 if payloads must be decoded, 1 for fp32 and randk, 2 for powersgd. In each round every
        worker encodes floats, an allreduce sums them element by element, and every worker absorbs
        the sum before the next round:

            for i in range(codec.rounds):
                floats = codec.encode_round(i, gradient, step=step)
                torch.distributed.all_reduce(torch.from_numpy(floats))
                codec.absorb(i, floats, mean, scale=1 / workers, step=step)   # mean begins with zeros
        """
        return int(self._library.commcomp_rounds(self._handle))

    def round_bytes(self, i: int) -> int:
        """The size of round i in bytes: a multiple of 4, possibly 0."""
        return int(self._library.commcomp_round_bytes(self._handle, number(i, "the round")))

    @alone
    def encode_round(
        self,
        i: int,
        x: Any,
        out: Any = None,
        *,
        step: int = 0,
        seed: int | None = None,
        rank: int | None = None,
        direction: str | None = None,
        tensor: int | None = None,
    ) -> Any:
        """The floats of round i, as a float32 array; x is the same in all rounds of a step.

        With `out`, a flat float32 array or tensor that has room for them, they are written to its
        beginning, and the part that they take is returned.
        """
        step, i = self._begin(step, seed, rank, direction, tensor), number(i, "the round")
        begin = values(x, "x", self._shape)
        if out is None:
            out = np.empty(self.round_bytes(i) // 4, np.float32)
        at, count = flat(out, "out", written=True)
        used = c_size_t()
        self._call(self._library.commcomp_encode_round, step, i, begin, at, 4 * count, byref(used))
        return out[: used.value // 4]

    @alone
    def absorb(
        self,
        i: int,
        total: Any,
        out: Any,
        scale: float = 1.0,
        *,
        step: int = 0,
        seed: int | None = None,
        rank: int | None = None,
        direction: str | None = None,
        tensor: int | None = None,
    ) -> Any:
        """Absorbs the sum of all workers' floats of round i; scale * total is their mean.

        In the last round the decoded mean is added to `out`. Returns `out`.
        """
        step, i = self._begin(step, seed, rank, direction, tensor), number(i, "the round")
        begin = values(out, "out", self._shape, written=True)
        at, count = flat(total, "the sum")
        self._call(self._library.commcomp_absorb, step, i, at, 4 * count, scale, begin)
        return out

    # --- state ---

    @alone
    def reset(self) -> None:
        """Sets the state to that of a new tensor."""
        if self._library.commcomp_reset(self._handle) != 0:
            raise Error(f"codec '{self}' is in use by another thread")

    @alone
    def state(self) -> bytes:
        """The state that the codec keeps from step to step: its residual, above all.

        The bytes also have the scheme, the shape and a checksum.
        """
        room = np.empty(self._library.commcomp_state_bytes(self._handle), np.uint8)
        self._call(self._library.commcomp_state_save, room.ctypes.data, room.size)
        return room.tobytes()

    @alone
    def restore(self, state: Any) -> None:
        """Sets the state to one that state() has returned.

        Error if it is damaged or of another scheme or shape; the state is then as it was.
        """
        at, size = payload(state)
        self._call(self._library.commcomp_state_restore, at, size)

    def __reduce__(self) -> tuple[Any, ...]:
        context = {
            "seed": self.seed,
            "rank": self.rank,
            "direction": self.direction,
            "tensor": self.tensor,
            "name": self.name,
            "threads": self._threads,
        }
        return _rebuild, (self.scheme, self._shape, context, self.state())


def _rebuild(scheme: str, shape: tuple[int, ...], context: dict[str, Any], state: bytes) -> Codec:
    codec = Codec(scheme, shape, **context)
    codec.restore(state)
    return codec

