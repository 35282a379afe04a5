"""commcomp for PyTorch: capturing gradients, and compressing them under DistributedDataParallel."""

from .profile import profile
from .recorder import capture
from .state import State, hook

__all__ = ["State", "capture", "hook", "profile"]
