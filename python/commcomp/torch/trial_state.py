"""What a training changes in the user's process, kept to begin every training alike and to put it back."""
from __future__ import annotations

import copy
import hashlib
import random
import zlib
from typing import Any, Callable

import numpy as np
import torch

# The dicts in which a module keeps its hooks.
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def seed_all(*what: Any) -> None:
    """Seeds the random numbers of python, numpy and torch by these words and numbers."""
    digest = hashlib.blake2b(repr(what).encode(), digest_size=4).digest()
    seed = int.from_bytes(digest, "little")
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():  # torch.manual_seed() without a GPU takes longer than a small model's step
        torch.cuda.manual_seed_all(seed)


def _checksum(tensor: torch.Tensor, crc: int = 0) -> int:
    raw = tensor.detach().cpu().contiguous().reshape(-1)
    return zlib.crc32(raw.view(torch.uint8).numpy() if raw.numel() else b"", crc)


def checksum(value: Any) -> int:
    """Of all tensors, arrays and numbers in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return _checksum(value.to_dense() if value.is_sparse else value)
    if isinstance(value, np.ndarray):
        return zlib.crc32(np.ascontiguousarray(value).tobytes())
    if isinstance(value, dict):
        value = [part for pair in sorted(value.items(), key=lambda pair: str(pair[0])) for part in pair]
    if isinstance(value, (tuple, list)):
        return zlib.crc32(repr([checksum(part) for part in value]).encode())
    return zlib.crc32(repr(value).encode())


class Buffers:
    """The buffers of a module (batch normalization's statistics), as they are now."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._modules = list(module.modules())
        self._kept = [(m, key, b, b.detach().clone()) for m in self._modules
                      for key, b in m._buffers.items() if b is not None]

    @torch.no_grad()
    def put_back(self) -> None:
        for module, key, tensor, values in self._kept:
            tensor.copy_(values)
            module._buffers[key] = tensor  # some modules put a new one in its place

    def checksum(self) -> int:
        return checksum([values for _, _, _, values in self._kept])


class _Random:
    """The states of all generators of random numbers."""

    def __init__(self) -> None:
        self._python, self._numpy, self._torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None

    def put_back(self) -> None:
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        torch.set_rng_state(self._torch)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)


class Start:
    """The user's process before the first training.

    begin()     the model, a new optimizer and the scaler as they were, for a training to begin with
    put_back()  everything as it was: also gradients, random states, modes, hooks, requires_grad
    """

    def __init__(self, module: torch.nn.Module, factory: Callable[..., torch.optim.Optimizer],
                 scaler: Any) -> None:
        self._random = _Random()
        self._module, self._factory, self._scaler = module, factory, scaler
        self._parameters = [(p, p.detach().clone(), p.requires_grad, p.grad) for p in module.parameters()]
        self._buffers = Buffers(module)
        self._modes = [(m, m.training) for m in module.modules()]
        hooks = [getattr(m, name) for m in module.modules() for name in HOOKS if hasattr(m, name)]
        self._hooks = [(now, now.copy()) for now in hooks]
        self._scale = copy.deepcopy(scaler.state_dict()) if hasattr(scaler, "state_dict") else None
        try:
            self._optimizer = factory(module.parameters())
            self._state = copy.deepcopy(self._optimizer.state_dict())
        except BaseException:
            self._random.put_back()
            raise

    def options(self) -> list[dict[str, Any]]:
        """Of the optimizer's groups: rate, momentum, betas ..."""
        return [{k: v for k, v in group.items() if k != "params"} for group in self._state["param_groups"]]

    def identity(self) -> dict[str, Any]:
        """By which a later call is known to begin alike."""
        named = list(self._module.named_parameters())
        return {
            "model": type(self._module).__name__,
            "parameters": checksum([(n, tuple(p.shape), values, p.requires_grad) for (n, p), (_, values, _, _)
                                    in zip(named, self._parameters)]),
            "buffers": self._buffers.checksum(),
            "optimizer": type(self._optimizer).__name__,
            "optimizer's options": repr(self.options()),
            "optimizer's state": checksum(self._state["state"]),
        }

    @torch.no_grad()
    def _model_as_it_was(self) -> None:
        for p, values, requires_grad, _ in self._parameters:
            p.copy_(values)
            p.requires_grad_(requires_grad)
            p.grad = None
        self._buffers.put_back()
        for module, mode in self._modes:
            module.training = mode

    def _scaler_as_it_was(self) -> None:
        if self._scale is not None:
            self._scaler.load_state_dict(copy.deepcopy(self._scale))

    def begin(self) -> torch.optim.Optimizer:
        self._model_as_it_was()
        if not self._module.training:
            self._module.train()
        self._scaler_as_it_was()
        self._optimizer = self._factory(self._module.parameters())
        self._optimizer.load_state_dict(copy.deepcopy(self._state))
        return self._optimizer

    def put_back(self) -> None:
        self._model_as_it_was()
        for p, _, _, grad in self._parameters:
            p.grad = grad
        self._scaler_as_it_was()
        self._optimizer.load_state_dict(copy.deepcopy(self._state))  # the factory may give the user's own
        for now, before in self._hooks:
            now.clear()
            now.update(before)
        self._random.put_back()
