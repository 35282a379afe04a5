"""Containers: the files of `commcomp encode` and `commcomp decode`."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from ctypes import byref, c_size_t, string_at
from typing import Any

import numpy as np

from . import _library
from ._arrays import address, shape_of
from ._library import check, direction_number, number, path_of, text


def write_container(
    path: str | os.PathLike[str],
    scheme: str,
    tensors: Mapping[str, Any],
    *,
    seed: int = 1,
    rank: int = 0,
    direction: str = "push",
    step: int = 0,
) -> None:
    """Encodes tensors, each from a fresh residual, to a file that `commcomp decode` reads.

    The tensors are float32 arrays or CPU tensors of PyTorch by name; each one's index is its place
    in the mapping. The file appears when it is complete, or not at all.
    """
    library = _library.codecs()
    writer = _library.make(
        library.commcomp_container_begin,
        path_of(path),
        text(scheme, "the scheme"),
        number(seed, "the seed"),
        number(rank, "the rank", -1, 2**63 - 1),
        direction_number(direction),
        number(step, "the step"),
        len(tensors),
    )
    try:
        for name, x in tensors.items():
            encoded = text(name, "the tensor's name")
            begin = address(x, f"tensor {name!r}")
            shape = shape_of(x.shape)
            check(library.commcomp_container_add, writer, encoded, _library.dims_of(shape), len(shape), begin)
    except BaseException:
        library.commcomp_container_abandon(writer)
        raise
    check(library.commcomp_container_finish, writer)


class Container(Mapping[str, np.ndarray]):
    """A file of `commcomp encode`: a mapping from the tensors' names to their decoded values.

        tensors = dict(Container("step7.cc"))

    The file is read and its checksums are verified at once; one that is damaged, of another
    version, or with a scheme that this library does not have is an Error. So is one that claims
    more than `max_values` values, by default 2^26, or 4,096 for each of its bytes if that is more:
    a small file from elsewhere cannot fill memory.
    """

    def __init__(self, path: str | os.PathLike[str], max_values: int | None = None) -> None:
        self._library = library = _library.codecs()
        limit = 0 if max_values is None else number(max_values, "max_values", 1)
        self._handle = _library.make(library.commcomp_container_open, path_of(path), limit)
        weakref.finalize(self, library.commcomp_container_close, self._handle)
        count = library.commcomp_container_tensors(self._handle)
        names = (library.commcomp_container_name(self._handle, i).decode() for i in range(count))
        self._index = {name: i for i, name in enumerate(names)}

    @property
    def scheme(self) -> str:
        """The scheme by its canonical name."""
        return self._library.commcomp_container_scheme(self._handle).decode()

    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
        return int(self._library.commcomp_container_seed(self._handle))

    @property
    def rank(self) -> int:
        """The worker that encoded it; -1: the server."""
        return int(self._library.commcomp_container_rank(self._handle))

    @property
    def direction(self) -> str:
        """ "push" or "pull"."""
        return _library.DIRECTIONS[self._library.commcomp_container_direction(self._handle)]

    @property
    def step(self) -> int:
        """The step that was encoded."""
        return int(self._library.commcomp_container_step(self._handle))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return _library.shape_from(self._library.commcomp_container_shape, self._handle, self._index[name])

    def payload(self, name: str) -> bytes:
        """The payload of a tensor, as it is in the file."""
        size = c_size_t()
        at = self._library.commcomp_container_payload(self._handle, self._index[name], byref(size))
        return string_at(at, size.value)

    def __getitem__(self, name: str) -> np.ndarray:
        out = np.empty(self.shape(name), np.float32)
        check(self._library.commcomp_container_decode, self._handle, self._index[name], out.ctypes.data)
        return out

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

