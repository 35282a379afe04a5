"""Traces: recorded gradients, as `commcomp --trace` reads them (docs/traces.md)."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np

from . import _library
from ._arrays import DTYPES, address, dtype_of, shape_of, values
from ._library import Error, alone, check, direction_number, number, path_of, text


class Trace:
    """A recorded trace: a file (.safetensors, .npy, .npz, .csv) or a directory of them.

        trace = Trace("captured")
        for step in trace.steps():
            for name in trace.tensors:
                gradient = trace.load(name, step)

    A trace has senders, each of which is a direction and a rank: ("push", 0), ("push", 1), ...,
    ("pull", -1). All steps of all senders have the same tensors. Values are read when they are
    loaded, so a trace may be larger than memory; values that are not finite are passed through.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._library = library = _library.traces()
        self._handle = handle = _library.make(library.commcomp_trace_open, path_of(path))
        weakref.finalize(self, library.commcomp_trace_close, handle)
        self._index: dict[str, int] = {}
        self._tensors: dict[str, tuple[int, ...]] = {}
        for i in range(library.commcomp_trace_tensors(handle)):
            name = library.commcomp_trace_name(handle, i).decode(errors="surrogateescape")
            self._index[name] = i
            self._tensors[name] = _library.shape_from(library.commcomp_trace_shape, handle, i)
        self._streams: dict[tuple[str, int], tuple[int, dict[int, int]]] = {}
        for i in range(library.commcomp_trace_streams(handle)):
            direction = _library.DIRECTIONS[library.commcomp_trace_direction(handle, i)]
            count = library.commcomp_trace_steps(handle, i)
            numbers = {int(library.commcomp_trace_step_number(handle, i, s)): s for s in range(count)}
            self._streams[direction, int(library.commcomp_trace_rank(handle, i))] = (i, numbers)

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The tensors' shapes by their names, in the trace's order."""
        return dict(self._tensors)

    @property
    def senders(self) -> list[tuple[str, int]]:
        """The senders: pushes by rank, then pulls."""
        return list(self._streams)

    def _stream(self, direction: str, rank: int | None) -> tuple[int, dict[int, int]]:
        direction_number(direction)
        if rank is None:
            rank = 0 if direction == "push" else -1
        try:
            return self._streams[direction, rank]
        except KeyError:
            there = ", ".join(f"{d} {r}" for d, r in self._streams)
            raise Error(f"the trace has no {direction} of rank {rank}; it has {there}") from None

    def steps(self, direction: str = "push", rank: int | None = None) -> list[int]:
        """The numbers of a sender's steps, increasing. rank: by default 0, and of pulls the server, -1."""
        return list(self._stream(direction, rank)[1])

    def load(
        self, name: str, step: int, direction: str = "push", rank: int | None = None, out: Any = None
    ) -> Any:
        """The values of a tensor in the step of this number, as float32; `out`, or a new array."""
        stream, numbers = self._stream(direction, rank)
        if name not in self._index:
            raise Error(f"the trace has no tensor {name!r}")
        if step not in numbers:
            there = f"{len(numbers)} from {min(numbers)} to {max(numbers)}"
            raise Error(f"the trace has no step {step}; it has {there}")
        shape = self._tensors[name]
        if out is None:
            out = np.empty(shape, np.float32)
        begin = values(out, "out", shape, written=True)
        check(self._library.commcomp_trace_load, self._handle, stream, numbers[step], self._index[name], begin)
        return out


class TraceWriter:
    """Writes steps to a directory that `commcomp bench --trace` and Trace read.

        with TraceWriter("captured") as writer:
            for step in range(100, 112):
                ...
                writer.write(step, {"fc.weight": gradient, "fc.bias": other}, rank=rank)

    Every step has the same tensors, in the same order, shapes and types: float32, float16, float64,
    or bfloat16 (of PyTorch), which are stored as they are. They are contiguous arrays or CPU
    tensors. Each step of a sender is a file, which appears when it is complete; one that is there
    already is an Error. The directory is made if it is missing, and processes of several ranks may
    write to the same.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._library = library = _library.codecs()
        self._handle = _library.make(library.commcomp_trace_writer_new, path_of(directory))
        self._close = weakref.finalize(self, library.commcomp_trace_writer_free, self._handle)
        self._turn, self._called = threading.Lock(), f"trace writer of '{os.fspath(directory)}'"
        self._tensors: list[tuple[str, tuple[int, ...], str]] = []

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @alone
    def close(self) -> None:
        """Releases the memory; nothing can be written any more."""
        self._close()

    def _declare(self, tensors: list[tuple[str, tuple[int, ...], str]]) -> None:
        for name, shape, dtype in tensors:
            check(
                self._library.commcomp_trace_writer_tensor,
                self._handle,
                text(name, "the tensor's name"),
                _library.dims_of(shape),
                len(shape),
                list(DTYPES).index(dtype),
            )
            self._tensors.append((name, shape, dtype))

    def _difference(self, tensors: list[tuple[str, tuple[int, ...], str]]) -> str:
        """The first tensor that is not the one of the steps before."""
        for old, new in zip(self._tensors, tensors):
            if old != new:
                return (
                    f"{new[0]!r} of shape {new[1]} and type {new[2]}, which was {old[0]!r} of {old[1]}, "
                    f"{old[2]}"
                )
        return f"{len(tensors)} tensors, which were {len(self._tensors)}"

    @alone
    def write(
        self, step: int, tensors: Mapping[str, Any], *, direction: str = "push", rank: int | None = None
    ) -> None:
        """Writes one step of a sender. rank: by default 0, and of pulls the server, -1."""
        if not self._close.alive:
            raise Error("the writer is closed")
        described = []
        for name, x in tensors.items():
            text(name, "the tensor's name")
            if dtype_of(x) not in DTYPES:
                raise Error(f"tensor {name!r}: values of {dtype_of(x)}; convert them to float32 first")
            address(x, f"tensor {name!r}", dtype_of(x))
            described.append((name, shape_of(x.shape), dtype_of(x)))
        if not self._tensors:
            self._declare(described)
        elif described != self._tensors:
            raise Error(f"step {step} differs from those before: {self._difference(described)}")
        if rank is None:
            rank = 0 if direction == "push" else -1
        check(
            self._library.commcomp_trace_writer_step,
            self._handle,
            direction_number(direction),
            number(rank, "the rank", -1, 2**63 - 1),
            number(step, "the step"),
        )
        try:
            for (name, shape, dtype), x in zip(described, tensors.values()):
                begin = address(x, f"tensor {name!r}", dtype)
                size = math.prod(shape) * DTYPES[dtype]
                check(self._library.commcomp_trace_writer_values, self._handle, begin, size)
        except BaseException:
            self._library.commcomp_trace_writer_end_step(self._handle, None)  # incomplete, so without a file
            raise
        check(self._library.commcomp_trace_writer_end_step, self._handle)

