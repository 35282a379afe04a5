"""The schemes that the library has."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

from . import _library


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a scheme."""

    name: str
    help: str
    range: str  # "1 <= s < 2"
    default: str


@dataclasses.dataclass(frozen=True)
class Scheme:
    """A scheme of the catalogue."""

    id: str  # as in Codec("id", ...)
    title: str
    reference: str  # publication and section
    parameters: tuple[Parameter, ...]
    lossy: bool  # decoded values can differ from encoded ones
    stochastic: bool  # draws random numbers
    feedback: bool  # keeps the unsent part in a residual, unless ef=0
    unbiased: bool  # the expectation of a decoded value is the encoded one (with ef=0, rounding=random)
    sparse: bool  # the payload names the values it keeps
    kind: str  # "opaque": bytes to be decoded; "sum": float32 that an allreduce may sum; "pairs"


# By their bit, and by their number, in the library.
_FLAGS = ("lossy", "stochastic", "feedback", "unbiased", "sparse")
_KINDS = ("opaque", "sum", "pairs")


def _print(function: Any, scheme: int, parameter: int) -> str:
    text = ctypes.create_string_buffer(256)
    function(scheme, parameter, text, len(text))
    return text.value.decode()


def _parameter(library: Any, scheme: int, i: int) -> Parameter:
    return Parameter(
        library.commcomp_parameter_name(scheme, i).decode(),
        library.commcomp_parameter_help(scheme, i).decode(),
        _print(library.commcomp_parameter_range, scheme, i),
        _print(library.commcomp_parameter_default, scheme, i),
    )


def _scheme(library: Any, i: int) -> Scheme:
    flags = library.commcomp_scheme_flags(i)
    return Scheme(
        id=library.commcomp_scheme_id(i).decode(),
        title=library.commcomp_scheme_title(i).decode(),
        reference=library.commcomp_scheme_reference(i).decode(),
        parameters=tuple(_parameter(library, i, p) for p in range(library.commcomp_parameters(i))),
        kind=_KINDS[library.commcomp_scheme_kind(i)],
        **{name: bool(flags >> bit & 1) for bit, name in enumerate(_FLAGS)},
    )


def schemes() -> list[Scheme]:
    """The schemes, in the order of `commcomp schemes`."""
    library = _library.codecs()
    return [_scheme(library, i) for i in range(library.commcomp_schemes())]


def version() -> str:
    """The library's version, as `commcomp --version` has it."""
    return _library.codecs().commcomp_version().decode()
