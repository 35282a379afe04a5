"""By how much a scheme's loss differs from fp32's in a short training, how sure that is, and the verdict."""
from __future__ import annotations

import dataclasses
import math
import re
from typing import Sequence

import numpy as np

from ..catalogue import schemes
from ..codec import Codec

# The interval of one training's steps is too narrow for another seed's mean: measured, by this factor. It
# cannot see a difference that stays the same over the steps, and is therefore never narrower than this share
# of the interval of fp32's own mean: pairing made differences five times as small at best, where measured.
WIDENING, LEAST = 2.5, 0.2
RESAMPLES = 2000
# A scheme is far behind that has not come as far as fp32 in this part of the steps.
BEHIND = 3
# From so many repeats on, they give the interval, and the steps do not.
REPEATS = 3
# From so many steps on, a scheme with bias and without feedback shows its loss.
BIASED_STEPS = 400
# Student's t for a two-sided interval of 95%, by degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
           2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
           2.045, 2.042)  # fmt: skip
# They round to the nearest, over a range that holds all gradients.
ROUNDED = ("fp16", "bf16")


@dataclasses.dataclass(frozen=True)
class Change:
    """loss / fp32's loss - 1, and its 95% interval."""

    mean: float
    low: float
    high: float


def last_third(losses: Sequence[float]) -> np.ndarray:
    return np.asarray(losses, float)[len(losses) - max(1, len(losses) // 3):]


def _resampled(pairs: np.ndarray, seed: int) -> np.ndarray:
    """Changes of the mean over blocks of neighbouring steps that are drawn with replacement."""
    n = len(pairs)
    length = math.ceil(math.sqrt(n))
    random = np.random.Generator(np.random.PCG64(seed))
    begins = random.integers(0, n, (RESAMPLES, math.ceil(n / length)))
    steps = (begins[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, :n] % n
    sums = pairs[steps].sum(1)
    return sums[:, 0] / sums[:, 1] - 1


def _own(losses: np.ndarray) -> float:
    """Half the relative interval of a mean loss by itself, around the line on which losses fall."""
    steps = np.arange(len(losses))
    if len(steps) < 3:
        return 0.0
    off = losses - np.polyval(np.polyfit(steps, losses, 1), steps)
    return 1.96 * float(off.std(ddof=2)) / math.sqrt(len(steps)) / float(losses.mean())


def change(losses: Sequence[Sequence[float]], fp32: Sequence[Sequence[float]]) -> Change:
    """Of the last third of the steps that both have; a list of losses for each repeat."""
    pairs = []
    for mine, theirs in zip(losses, fp32):
        pair = np.stack([last_third(mine), last_third(theirs[:len(mine)])], 1)
        pairs.append(pair[np.isfinite(pair).all(1)])  # a step that a scaler skips may have no loss
    each = np.array([pair[:, 0].mean() / pair[:, 1].mean() - 1 for pair in pairs])
    mean = float(each.mean())
    if len(each) >= REPEATS:
        t = STUDENT[min(len(each) - 1, len(STUDENT)) - 1]
        half = t * float(each.std(ddof=1)) / math.sqrt(len(each))
        return Change(mean, mean - half, mean + half)
    drawn = np.mean([_resampled(pair, seed) for seed, pair in enumerate(pairs)], 0)
    low, high = np.quantile(drawn, (0.025, 0.975))
    least = LEAST * sum(_own(pair[:, 1]) for pair in pairs) / len(pairs) ** 1.5
    return Change(mean, mean - max(least, WIDENING * (mean - float(low))),
                  mean + max(least, WIDENING * (float(high) - mean)))


def is_lost(losses: Sequence[float], fp32: Sequence[float], most: float) -> bool:
    """Whether a scheme has lost more than this, for sure, and is far behind. A scheme that is merely late,
    because its residuals had to fill, also has a much larger loss while losses fall steeply, and makes up for it."""
    late = np.nanmean(last_third(losses)) > np.nanmean(last_third(fp32[:len(losses) // BEHIND]))
    return bool(late) and change([losses], [fp32]).low > most


def noise(null: Change) -> float:
    """The change below which nothing can be told: the null arm differs from fp32 by chance alone."""
    return max(abs(null.low), abs(null.high))


def looks_better(scheme: str) -> bool:
    """Whether the scheme has a bias that no residual repays: short trainings flatter those."""
    inner = re.search(r"inner=\(?([^()]*)\)?", scheme)
    if scheme.startswith("local"):  # it sends later what it does not send now, by its inner scheme
        return inner is not None and looks_better(inner.group(1))
    codec, ids = Codec(scheme, 1), {s.id: s for s in schemes()}
    known = ids[codec.scheme.split(":")[0]]
    if not known.lossy or codec.has_feedback or known.id in ROUNDED:
        return False
    clipped = re.search(r"clip=|rounding=nearest", codec.scheme) is not None
    return clipped or not (known.unbiased or "rounding=random" in codec.scheme)


def verdict(scheme: str, change: Change, limit: float, steps: int) -> tuple[str, str | None]:
    """keeps, costs or open, and why it is open."""
    if change.low > limit:
        return "costs", None
    if change.high > limit:
        return "open", f"the limit of {limit:.3g} lies within its interval: more steps, or repeats=3, narrow it"
    if steps < BIASED_STEPS and looks_better(scheme):
        return "open", ("it has a bias that no residual repays, which looks better in a short training than it is: "
                        f"steps={BIASED_STEPS} decides")
    return "keeps", None
