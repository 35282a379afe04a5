"""Arrays of numpy and tensors of PyTorch as memory of the library, without copies."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from ._library import MAX_DIMS, Error, number

# numpy has no bfloat16; tensors of PyTorch have.
DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}  # bytes; in the order of the library

_FLOAT32 = np.dtype(np.float32)
_UINT8 = np.dtype(np.uint8)
_byte_of = c_char.from_buffer


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple: of a number of values, or of dimensions."""
    if hasattr(shape, "__index__"):
        shape = (shape,)
    try:
        dims = tuple(number(d, "the dimension", most=2**58) for d in shape)
    except TypeError:
        raise Error(f"shape {shape!r} is neither a number of values nor a sequence of dimensions") from None
    if len(dims) > MAX_DIMS:
        raise Error(f"a shape of {len(dims)} dimensions; at most {MAX_DIMS} are supported")
    return dims


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of PyTorch, which is not imported for this."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def dtype_of(x: Any) -> str:
    """The name of the values' type: "float32"; of what has none, of its own type."""
    return str(getattr(x, "dtype", type(x).__name__)).removeprefix("torch.")


def _check_tensor(x: Any, what: str, dtype: str) -> None:
    if x.layout is not sys.modules["torch"].strided:
        raise Error(f"{what}: a tensor of layout {x.layout}; call .to_dense() first")
    if x.device.type != "cpu":
        raise Error(f"{what}: the tensor is on {x.device}; call .cpu() first")
    if dtype_of(x) != dtype:
        raise Error(f"{what}: a tensor of {dtype_of(x)}; call .to(torch.{dtype}) first")
    if not x.is_contiguous():
        raise Error(f"{what}: the tensor is not contiguous; call .contiguous() first")
    if x.is_neg():
        raise Error(f"{what}: the tensor is a negated view; call .resolve_neg() first")


def _check_mask(x: Any, what: str) -> None:
    """The library sees the values alone, so those that are masked would be taken as any other."""
    if isinstance(x, np.ma.MaskedArray):
        raise Error(f"{what}: a masked array; call .filled(0), or with another value, first")


def _check_array(x: Any, what: str, dtype: str, written: bool) -> None:
    if not isinstance(x, np.ndarray):
        raise Error(
            f"{what}: a {type(x).__name__} is neither a numpy array nor a tensor of PyTorch; call "
            f"numpy.asarray(x, numpy.{dtype}) first"
        )
    _check_mask(x, what)
    if x.dtype != np.dtype(dtype):
        raise Error(f"{what}: an array of {x.dtype}; call .astype(numpy.{dtype}) first")
    if not x.flags.c_contiguous:
        raise Error(f"{what}: the array is not contiguous; call numpy.ascontiguousarray(x) first")
    if not x.flags.aligned:
        raise Error(f"{what}: the array does not begin at a multiple of {x.itemsize} bytes; call .copy() first")
    if written and not x.flags.writeable:
        raise Error(f"{what}: the array cannot be written to; call .copy() first")


def address(x: Any, what: str, dtype: str = "float32", written: bool = False) -> int:
    """Where the values of a contiguous array or CPU tensor begin.

    Error for any other, which says what to call.
    """
    if is_tensor(x):
        _check_tensor(x, what, dtype)
        return x.data_ptr()
    _check_array(x, what, dtype, written)
    return x.ctypes.data


def _print(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) if shape else "()"


def _check_shape(x: Any, what: str, shape: tuple[int, ...]) -> None:
    own = tuple(x.shape)
    if own != shape:
        if math.prod(own) != math.prod(shape) or (len(own) != 1 and len(shape) != 1):
            raise Error(f"{what}: shape {_print(own)}, but the codec's is {_print(shape)}")


def values(x: Any, what: str, shape: tuple[int, ...], written: bool = False) -> int:
    """The same for the float32 values of a tensor of this shape; either may also be flat."""
    if type(x) is np.ndarray and x.dtype == _FLOAT32 and x.shape == shape and x.flags.carray and x.size > 0:
        return addressof(_byte_of(x))  # the usual case, in a quarter of the time
    begin = address(x, what, written=written)
    _check_shape(x, what, shape)
    return begin


def gradient(x: Any, what: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """The number of the dtype, and the same, for values of float32, float16 or, of PyTorch, bfloat16."""
    dtype = dtype_of(x)
    if dtype != "float16" and not (dtype == "bfloat16" and is_tensor(x)):
        return 0, values(x, what, shape)
    begin = address(x, what, dtype)
    _check_shape(x, what, shape)
    return list(DTYPES).index(dtype), begin


def flat(x: Any, what: str, dtype: str = "float32", written: bool = False) -> tuple[int, int]:
    """The address and the number of elements of a flat array or tensor."""
    begin = address(x, what, dtype, written)
    if len(x.shape) != 1:
        raise Error(f"{what}: {len(x.shape)} dimensions, not one; call .reshape(-1) first")
    return begin, len(x)


def payload(data: Any) -> tuple[Any, int]:
    """The address and the size of bytes: of a bytes object, a uint8 array or tensor, or another buffer."""
    if isinstance(data, bytes):
        return data, len(data)
    if type(data) is np.ndarray and data.dtype == _UINT8 and data.ndim == 1 and data.flags.carray and data.size > 0:
        return addressof(_byte_of(data)), data.size  # often, in a third of the time
    if is_tensor(data):
        return address(data, "the payload", "uint8"), data.numel()
    _check_mask(data, "the payload")
    try:
        array = np.frombuffer(data, np.uint8) if len(memoryview(data)) > 0 else np.empty(0, np.uint8)
    except (TypeError, ValueError, BufferError) as e:
        raise Error(f"the payload is not a contiguous buffer of bytes ({e}); call bytes(payload) first") from None
    return array.ctypes.data, array.size
