"""commcomp for PyTorch: capturing gradients of a training."""

from .recorder import capture

__all__ = ["capture"]
