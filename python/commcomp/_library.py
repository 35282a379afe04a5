"""Finds libcommcomp and declares its functions for ctypes.

binding/commcomp.h says what each function does. ctypes releases the GIL while one runs.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any, TypeVar, cast

ERROR_BYTES = 512
MAX_DIMS = 8
DIRECTIONS = ("push", "pull")  # by their number in the library
STOCHASTIC = 2  # a bit of commcomp_codec_flags


class Error(ValueError):
    """The library, or this package, refuses something; the text names the fault and the remedy."""


_dims = POINTER(c_size_t)
_out = POINTER(c_void_p)
_bytes = POINTER(c_size_t)

# The result and the arguments; a trailing "!" in the name: a status, with `char *error` at the end.
_CODECS: dict[str, tuple[Any, ...]] = {
    "commcomp_version": (c_char_p,),
    "commcomp_schemes": (c_size_t,),
    "commcomp_scheme_id": (c_char_p, c_size_t),
    "commcomp_scheme_title": (c_char_p, c_size_t),
    "commcomp_scheme_reference": (c_char_p, c_size_t),
    "commcomp_scheme_flags": (c_uint, c_size_t),
    "commcomp_scheme_kind": (c_int, c_size_t),
    "commcomp_parameters": (c_size_t, c_size_t),
    "commcomp_parameter_name": (c_char_p, c_size_t, c_size_t),
    "commcomp_parameter_help": (c_char_p, c_size_t, c_size_t),
    "commcomp_parameter_range": (None, c_size_t, c_size_t, c_char_p, c_size_t),
    "commcomp_parameter_default": (None, c_size_t, c_size_t, c_char_p, c_size_t),
    "commcomp_codec_new!": (c_char_p, _dims, c_int, _out),
    "commcomp_codec_free": (None, c_void_p),
    "commcomp_codec_name": (c_char_p, c_void_p),
    "commcomp_codec_values": (c_size_t, c_void_p),
    "commcomp_codec_flags": (c_uint, c_void_p),
    "commcomp_codec_kind": (c_int, c_void_p),
    "commcomp_codec_has_feedback": (c_int, c_void_p),
    "commcomp_codec_period": (c_size_t, c_void_p),
    "commcomp_codec_bound": (c_size_t, c_void_p),
    "commcomp_codec_sender!": (c_void_p, c_uint64, c_int64, c_int),
    "commcomp_codec_tensor!": (c_void_p, c_uint64, c_char_p),
    "commcomp_codec_threads!": (c_void_p, c_int),
    "commcomp_encode!": (c_void_p, c_uint64, c_void_p, c_void_p, c_size_t, _bytes),
    "commcomp_encode_from!": (c_void_p, c_uint64, c_int, c_void_p, c_void_p, c_size_t, _bytes),
    "commcomp_decode!": (c_void_p, c_uint64, c_void_p, c_size_t, c_void_p),
    "commcomp_decode_add!": (c_void_p, c_uint64, c_void_p, c_size_t, c_float, c_void_p),
    "commcomp_rounds": (c_size_t, c_void_p),
    "commcomp_round_bytes": (c_size_t, c_void_p, c_size_t),
    "commcomp_encode_round!": (c_void_p, c_uint64, c_size_t, c_void_p, c_void_p, c_size_t, _bytes),
    "commcomp_absorb!": (c_void_p, c_uint64, c_size_t, c_void_p, c_size_t, c_float, c_void_p),
    "commcomp_reset": (c_int, c_void_p),
    "commcomp_state_bytes": (c_size_t, c_void_p),
    "commcomp_state_save!": (c_void_p, c_void_p, c_size_t),
    "commcomp_state_restore!": (c_void_p, c_void_p, c_size_t),
    "commcomp_container_begin!": (c_char_p, c_char_p, c_uint64, c_int64, c_int, c_uint64, c_size_t, _out),
    "commcomp_container_add!": (c_void_p, c_char_p, _dims, c_int, c_void_p),
    "commcomp_container_finish!": (c_void_p,),
    "commcomp_container_abandon": (None, c_void_p),
    "commcomp_container_open!": (c_char_p, c_uint64, _out),
    "commcomp_container_close": (None, c_void_p),
    "commcomp_container_scheme": (c_char_p, c_void_p),
    "commcomp_container_seed": (c_uint64, c_void_p),
    "commcomp_container_rank": (c_int64, c_void_p),
    "commcomp_container_direction": (c_int, c_void_p),
    "commcomp_container_step": (c_uint64, c_void_p),
    "commcomp_container_tensors": (c_size_t, c_void_p),
    "commcomp_container_name": (c_char_p, c_void_p, c_size_t),
    "commcomp_container_shape": (c_int, c_void_p, c_size_t, _dims),
    "commcomp_container_payload": (c_void_p, c_void_p, c_size_t, _bytes),
    "commcomp_container_decode!": (c_void_p, c_size_t, c_void_p),
    "commcomp_trace_writer_new!": (c_char_p, _out),
    "commcomp_trace_writer_tensor!": (c_void_p, c_char_p, _dims, c_int, c_int),
    "commcomp_trace_writer_step!": (c_void_p, c_int, c_int64, c_uint64),
    "commcomp_trace_writer_values!": (c_void_p, c_void_p, c_size_t),
    "commcomp_trace_writer_end_step!": (c_void_p,),
    "commcomp_trace_writer_free": (None, c_void_p),
}

_TRACES: dict[str, tuple[Any, ...]] = {
    "commcomp_trace_open!": (c_char_p, _out),
    "commcomp_trace_close": (None, c_void_p),
    "commcomp_trace_streams": (c_size_t, c_void_p),
    "commcomp_trace_direction": (c_int, c_void_p, c_size_t),
    "commcomp_trace_rank": (c_int64, c_void_p, c_size_t),
    "commcomp_trace_steps": (c_size_t, c_void_p, c_size_t),
    "commcomp_trace_step_number": (c_uint64, c_void_p, c_size_t, c_size_t),
    "commcomp_trace_tensors": (c_size_t, c_void_p),
    "commcomp_trace_name": (c_char_p, c_void_p, c_size_t),
    "commcomp_trace_shape": (c_int, c_void_p, c_size_t, _dims),
    "commcomp_trace_load!": (c_void_p, c_size_t, c_size_t, c_size_t, c_void_p),
}


def _candidates(file: str) -> list[str]:
    """Where the library may be, the first that exists is taken; the last is left to the loader."""
    named = os.environ.get("COMMCOMP_LIBRARY")
    if named:
        folder = Path(named) if os.path.isdir(named) else Path(named).parent
        return [str(folder / file)]
    package = Path(__file__).resolve().parent
    places = [package / file, package.parent.parent / "build" / file]
    return [str(place) for place in places if place.exists()] + [file]


def _load(file: str, functions: dict[str, tuple[Any, ...]]) -> ctypes.CDLL:
    path = _candidates(file)[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"{e}. Build it with `make`, install it with `make install`, or let COMMCOMP_LIBRARY name "
            f"the folder that has {file}"
        ) from None
    for name, types in functions.items():
        try:
            function = getattr(library, name.rstrip("!"))
        except AttributeError:
            raise ImportError(
                f"{path} has no {name.rstrip('!')}: it is not the library of this package's version. Install "
                "both again, or let COMMCOMP_LIBRARY name the folder of the right one"
            ) from None
        if name.endswith("!"):
            function.restype, function.argtypes = c_int, [*types, c_char_p]
        else:
            function.restype, function.argtypes = types[0], types[1:]
    return library


@functools.lru_cache(maxsize=None)
def codecs() -> ctypes.CDLL:
    """libcommcomp, loaded at the first call."""
    return _load("libcommcomp.so.0", _CODECS)


@functools.lru_cache(maxsize=None)
def traces() -> ctypes.CDLL:
    """libcommcomp-traces, which reads traces."""
    return _load("libcommcomp-traces.so.0", _TRACES)


_Method = TypeVar("_Method", bound=Callable[..., Any])


def alone(method: _Method) -> _Method:
    """Lets one thread at a time into the methods of an object that have this: Error in any other.

    The library's handles refuse a second thread as well, but a method makes several calls. The
    object has a lock, `_turn`, and `_called`, a text for messages.
    """

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._turn.acquire(False):
            raise Error(
                f"{self._called} is in use by another thread: give each thread one of its own, or let them take turns"
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            self._turn.release()

    return cast(_Method, call)


def check(function: Any, *arguments: Any) -> None:
    """Calls a function that returns a status; raises Error with the library's text."""
    text = ctypes.create_string_buffer(ERROR_BYTES)
    if function(*arguments, text) != 0:
        raise Error(text.value.decode(errors="replace"))


def make(function: Any, *arguments: Any) -> c_void_p:
    """The same for a function that makes a handle, its last argument."""
    handle = c_void_p()
    check(function, *arguments, byref(handle))
    return handle


def text(value: Any, what: str) -> bytes:
    """A string in UTF-8, as the library takes it, for which it would end at a zero character."""
    if not isinstance(value, str):
        raise Error(f"{what} {value!r} is not a string")
    if "\0" in value:
        raise Error(f"{what} {value!r} has a zero character")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise Error(f"{what} {value!r} has characters that UTF-8 does not have") from None


def path_of(path: str | os.PathLike[str]) -> bytes:
    """A path, for which the same holds."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise Error(f"the path {path!r} has a zero character")
    return encoded


def dims_of(shape: tuple[int, ...]) -> Any:
    """The dimensions as an array for the library."""
    return (c_size_t * len(shape))(*shape)


def shape_from(function: Any, *arguments: Any) -> tuple[int, ...]:
    """The shape that a function writes to its last argument."""
    dims = (c_size_t * MAX_DIMS)()
    return tuple(dims[: function(*arguments, dims)])


def direction_number(direction: str) -> int:
    """The number of "push" or "pull"."""
    if direction not in DIRECTIONS:
        raise Error(f"direction {direction!r} is neither 'push' nor 'pull'")
    return DIRECTIONS.index(direction)


def number(value: Any, what: str, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number in a range, which ctypes would cut silently."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Error(f"{what} {value!r} is not a whole number")
    value = value.__index__()
    if not least <= value <= most:
        raise Error(f"{what} {value} is not from {least} to {most}")
    return value
