"""Measures a compressor of one's own, on any device, for `commcomp model`, `advise` and `sim`."""

from __future__ import annotations

import collections.abc
import datetime
import json
import math
import os
import platform
import re
import statistics
import time
from typing import Any, Callable, Iterable, Sequence

import numpy as np
import torch

from .._library import Error
from ..catalogue import schemes
from ..trace import Trace

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)

# A window of the error, windows that count, and the most of them (docs/errors.md).
WINDOW, USED, MOST_WINDOWS, CALM = 32, 4, 16, 0.05
# The most values that errors are measured on, and the most of one tensor.
MOST_VALUES, MOST_OF_TENSOR = 300_000, 1 << 16
SYNTHETIC_STEPS = 8

Compress = Callable[[torch.Tensor], Any]
Decompress = Callable[[Any, torch.Size], torch.Tensor]


def profile(
    compress: Compress,
    decompress: Decompress,
    name: str = "mine",
    sizes: Sequence[int] = SIZES,
    trace: str | os.PathLike[str] | None = None,
    device: str | torch.device = "cpu",
    *,
    path: str | os.PathLike[str] | None = None,
    feedback: bool = False,
    seconds: float = 0.3,
    seed: int = 1,
) -> dict[str, Any]:
    """Times a compressor on its device, measures its sizes and errors, and writes a codec profile.

    compress(x)               returns the payload of a float32 tensor on `device`: a tensor, numpy
                              array or bytes, or a tuple, list or dict of such and of numbers. All
                              of their bytes count, 8 for a number
    decompress(payload, shape) returns the values again, a tensor of that shape
    name       under which `--scheme` has it: letters, digits, - and _, and none of the catalogue
    sizes      of the tensors that are timed, in values
    trace      captured gradients (commcomp.torch.capture): sizes and errors are of their pushes;
               without it, of values drawn from a Laplace distribution
    device     where the values are: times are those of CUDA events on "cuda", else of the clock
    path       of the file; by default NAME.json
    feedback   what a payload leaves out is kept in a residual for each tensor and added to the next
               gradient, and the time for that counts as encoding
    seconds    for each size

    Returns the document that was written: `commcomp model --profile mine.json` reads it.
    """
    device = torch.device(device)
    _check_name(name)
    pair = _Pair(compress, decompress, feedback)
    steps = _Steps(trace, device, seed)
    points = [_point(pair, steps, n, seconds) for n in _checked_sizes(sizes)]
    errors = _errors(pair, steps)
    document = {
        "schema": "commcomp-profile/1",
        "trace": steps.name,
        "cpu": _device_name(device),
        "time": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "threads": min(torch.get_num_threads(), 1024) if device.type == "cpu" else 1,
        "codecs": [
            {"scheme": name, "lossy": errors["max_abs_error"] > 0, "errors": errors, "points": points}
        ],
    }
    _write(document, os.fspath(path if path is not None else f"{name}.json"))
    return document


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,31}", name):
        raise Error(f"name={name!r}: 1 to 32 letters, digits, - and _")
    if name in {s.id for s in schemes()} | {"all", "paper"}:
        raise Error(f"name={name!r} is a scheme of the catalogue: choose another one")


def _checked_sizes(sizes: Sequence[int]) -> list[int]:
    ascending = sorted({int(n) for n in sizes})
    if not ascending or ascending[0] < 1:
        raise Error("sizes: one at least, each 1 or more")
    return ascending


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine() if device.type == "cpu" else str(device)


def _write(document: dict[str, Any], path: str) -> None:
    """Writes the file whole or not at all."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as f:
            json.dump(document, f, indent=1, allow_nan=False)
            f.write("\n")
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def payload_bytes(payload: Any) -> int:
    """The bytes of what compress() returned."""
    if isinstance(payload, torch.Tensor):
        return payload.numel() * payload.element_size()
    if isinstance(payload, (np.ndarray, np.generic, memoryview)):
        return payload.nbytes
    if isinstance(payload, (bytes, bytearray)):
        return len(payload)
    if isinstance(payload, (bool, int, float)):
        return 8
    if payload is None:
        return 0
    if isinstance(payload, collections.abc.Mapping):
        return sum(payload_bytes(part) for part in payload.values())
    if isinstance(payload, (tuple, list)):
        return sum(payload_bytes(part) for part in payload)
    raise Error(f"compress() returned a {type(payload).__name__}: return tensors, arrays, bytes or numbers, "
                "or a tuple, list or dict of them, so that their bytes can be counted")


class _Pair:
    """The two functions, with residuals where they are asked for."""

    def __init__(self, compress: Compress, decompress: Decompress, feedback: bool) -> None:
        self.compress, self.feedback, self._decompress = compress, feedback, decompress

    def decompress(self, payload: Any, like: torch.Tensor) -> torch.Tensor:
        y = self._decompress(payload, like.shape)
        if not isinstance(y, torch.Tensor) or y.shape != like.shape or y.dtype != torch.float32:
            got = f"{y.dtype} of shape {tuple(y.shape)}" if isinstance(y, torch.Tensor) else type(y).__name__
            raise Error(f"decompress() returned {got}: return a float32 tensor of the shape that it is given, "
                        f"here {tuple(like.shape)}")
        if y.device != like.device:
            raise Error(f"decompress() returned a tensor on {y.device}, and the values are on {like.device}")
        return y

    def encode(self, x: torch.Tensor, residual: torch.Tensor | None) -> Any:
        """The payload; the residual, where there is one, becomes what it leaves out."""
        if residual is None:
            return self.compress(x)
        residual += x
        payload = self.compress(residual.clone())
        residual -= self.decompress(payload, residual)
        return payload

    def residual(self, like: torch.Tensor) -> torch.Tensor | None:
        return torch.zeros_like(like) if self.feedback else None


class _Steps:
    """Gradients by step: of a trace's first worker, or drawn."""

    def __init__(self, trace: str | os.PathLike[str] | None, device: torch.device, seed: int) -> None:
        self.device = device
        self._random = torch.Generator().manual_seed(seed)
        self._trace = Trace(trace) if trace is not None else None
        self.name = os.path.basename(os.path.abspath(os.fspath(trace))) if trace is not None else "synthetic:laplace"
        if self._trace is None:
            self.count = SYNTHETIC_STEPS
            self._shapes = [(256, 256), (256,), (64, 576), (64,)]
            self._steps = [[self._draw(shape) for shape in self._shapes] for _ in range(self.count)]
            return
        numbers = self._trace.steps()
        self.count = len(numbers)
        self._steps = [list(self._load(number)) for number in numbers]

    def _draw(self, shape: Sequence[int]) -> torch.Tensor:
        u = torch.rand(tuple(shape), generator=self._random).sub_(0.5).clamp_(-0.4999999, 0.4999999)
        return (-u.sign() * torch.log1p(-2 * u.abs()) * 1e-3).to(self.device)

    def _load(self, number: int) -> Iterable[torch.Tensor]:
        """A sample of the step's tensors, at equal distances in the net's order."""
        names = [n for n, shape in self._trace.tensors.items() if math.prod(shape) > 0]
        whole = sum(min(math.prod(self._trace.tensors[n]), MOST_OF_TENSOR) for n in names)
        every = max(1, math.ceil(whole / MOST_VALUES))
        for name in names[::every]:
            x = torch.from_numpy(self._trace.load(name, number))
            if not torch.isfinite(x).all():
                raise Error(f"the trace's step {number}: tensor {name!r} has values that are not finite")
            if x.dim() > 0 and x.numel() > MOST_OF_TENSOR:
                x = x[: max(1, MOST_OF_TENSOR // (x.numel() // len(x)))]
            yield x.to(self.device)

    def step(self, step: int) -> list[torch.Tensor]:
        """The gradients of a step. Later passes have the signs of rows and columns changed at
        random: repeated as they are, gradients would add up as those of a training do not."""
        part = self._steps[step % self.count]
        if step < self.count:
            return part
        random = torch.Generator().manual_seed(step // self.count)
        return [self._flip(x, random) for x in part]

    def _flip(self, x: torch.Tensor, random: torch.Generator) -> torch.Tensor:
        rows = x.reshape(len(x), -1) if x.dim() > 1 else x.reshape(-1, 1)
        sign = [torch.randint(0, 2, (n,), generator=random).mul_(2).sub_(1).to(x.device) for n in rows.shape]
        return (rows * sign[0][:, None] * sign[1]).reshape(x.shape)

    def values(self, n: int) -> list[torch.Tensor]:
        """Tensors of n values: of the trace's, one after the other, or drawn."""
        if self._trace is None:
            return [self._draw((n,)) for _ in range(4 if n < 1_000_000 else 2)]
        flat = [torch.cat([x.reshape(-1) for x in part]) for part in self._steps[:4]]
        return [x.repeat(math.ceil(n / len(x)))[:n] for x in flat]


def _clock(device: torch.device) -> Callable[[Callable[[], Any]], tuple[float, Any]]:
    """A function that calls another one, and returns its seconds and its result."""
    wait = getattr(getattr(torch, device.type, None), "synchronize", lambda: None)

    def on_cuda(call: Callable[[], Any]) -> tuple[float, Any]:
        with torch.cuda.device(device):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            result = call()
            end.record()
            end.synchronize()
        return 1e-3 * begin.elapsed_time(end), result

    def on_clock(call: Callable[[], Any]) -> tuple[float, Any]:
        wait()
        begin = time.perf_counter()
        result = call()
        wait()
        return time.perf_counter() - begin, result

    return on_cuda if device.type == "cuda" else on_clock


def _spread(samples: list[float]) -> float:
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle if middle > 0 else 0.0


def _point(pair: _Pair, steps: _Steps, n: int, seconds: float) -> dict[str, float]:
    """One size: medians of the calls' times, and the mean size once residuals have settled."""
    least, most, settling = 5, 200, WINDOW if pair.feedback else 3
    values, clock = steps.values(n), _clock(steps.device)
    residual, into = pair.residual(values[0]), torch.zeros_like(values[0])
    encode: list[float] = []
    decode: list[float] = []
    add: list[float] = []
    bits: list[float] = []
    began, i = time.perf_counter(), 0
    while len(encode) < least or (len(encode) < most and time.perf_counter() - began < seconds):
        x = values[i % len(values)]
        if i >= len(values):  # as in _Steps.step: otherwise residuals fill with the same values
            x = x * float(1 - 2 * ((i // len(values)) % 2))
        took, payload = clock(lambda: pair.encode(x, residual))
        if i >= settling:
            encode.append(took)
            decode.append(clock(lambda: pair.decompress(payload, into))[0])
            add.append(clock(lambda: into.add_(pair.decompress(payload, into)))[0])
            bits.append(8 * payload_bytes(payload) / n)
        i += 1
    return {
        "values": n,
        "bits_per_value": statistics.fmean(bits),
        "encode_ns": 1e9 * statistics.median(encode) / n,
        "decode_ns": 1e9 * statistics.median(decode) / n,
        "decode_add_ns": 1e9 * statistics.median(add) / n,
        "spread": max(_spread(encode), _spread(decode), _spread(add)),
    }


class _Run:
    """The compressor over all tensors, step by step."""

    def __init__(self, pair: _Pair, steps: _Steps) -> None:
        self.pair, self.steps, self.next = pair, steps, 0
        self.residuals = [pair.residual(x) for x in steps.step(0)]

    def step(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The gradient and the update of each tensor, in double precision."""
        out = []
        for x, residual in zip(self.steps.step(self.next), self.residuals):
            y = self.pair.decompress(self.pair.encode(x.clone(), residual), x)
            if not torch.isfinite(y).all():
                raise Error("decompress() returned values that are not finite")
            out.append((x.double(), y.double()))
        self.next += 1
        return out


def _square(tensors: Iterable[torch.Tensor]) -> float:
    return sum(float(t.square().sum()) for t in tensors)


def _ratio(a: float, b: float) -> float:
    return 0.0 if a == 0 else a / b if b > 0 else math.inf


def _first_pass(run: _Run) -> dict[str, float]:
    """The errors of the first pass over the steps, from empty residuals, as `bench --passes 1` has them."""
    error = raw = dot = update = largest = 0.0
    lacks: list[torch.Tensor] | None = None
    due: list[torch.Tensor] = []
    for _ in range(run.steps.count):
        pairs = run.step()
        d = [y - g for g, y in pairs]
        error, raw = error + _square(d), raw + _square(g for g, _ in pairs)
        update += _square(y for _, y in pairs)
        dot += sum(float((g * y).sum()) for g, y in pairs)
        largest = max([largest, *(float(t.abs().max()) for t in d)])
        lacks = d if lacks is None else [a + b for a, b in zip(lacks, d)]
        due = [a + g for a, (g, _) in zip(due, pairs)] if due else [g for g, _ in pairs]
    return {
        "nmse": _ratio(error, raw),
        "nmse_cumulative": _ratio(_square(lacks or []), _square(due)),
        "cosine": dot / math.sqrt(raw * update) if raw * update > 0 else 0.0,
        "max_abs_error": largest,
    }


def _window(run: _Run) -> tuple[float, float]:
    """The squares of the window's sums of u - g and of g."""
    lacks = [torch.zeros_like(x, dtype=torch.double) for x in run.steps.step(0)]
    due = [t.clone() for t in lacks]
    for _ in range(WINDOW):
        for i, (g, y) in enumerate(run.step()):
            lacks[i] += y - g
            due[i] += g
    return _square(lacks), _square(due)


def _errors(pair: _Pair, steps: _Steps) -> dict[str, float]:
    """The errors of the profile: docs/errors.md, without the interval."""
    run = _Run(pair, steps)
    errors = _first_pass(run)
    windows: list[tuple[float, float]] = []

    def mean(part: list[tuple[float, float]]) -> float:
        return _ratio(sum(w[0] for w in part), sum(w[1] for w in part))

    while len(windows) < MOST_WINDOWS:
        windows.append(_window(run))
        late, before = windows[-USED:], windows[-2 * USED : -USED]
        if not pair.feedback and len(windows) == USED:
            break
        if len(before) == USED and abs(mean(late) - mean(before)) <= CALM * mean(late):
            break
    return {"error": mean(windows[-USED:]), **errors}
