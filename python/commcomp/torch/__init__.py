"""commcomp for PyTorch: capturing gradients, and compressing them under DistributedDataParallel."""

from .profile import profile
from .recorder import capture
from .state import State, hook
from .trial import Trial, trial

__all__ = ["State", "Trial", "capture", "hook", "profile", "trial"]
