"""How to train: steps, learning rates and their schedules."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything about a training but its model and its data.

    `steps` batches of `batch_size` rows are learned from. AdamW (Loshchilov
    and Hutter, 2019) takes `betas` and `weight_decay`; its learning rate
    climbs to `lr` in `warmup` steps and then follows `schedule`: the name of
    one, or a function of the step (from 1 up) and the recipe that gives a
    factor for `lr`. The names: constant, cosine, noam, wsd.

    `smoothing` is the share of a label's probability that all tokens get;
    `clip` the largest norm of all gradients together. The losses are noted
    each `every` steps; after `patience` notes without a lower validation
    loss training stops. `seed` shuffles the data and drives dropout.

    Raises ValueError for a count below 1, for a number below 0, for betas
    that are not from 0 to below 1, and for an unknown schedule.
    """

    steps: int
    batch_size: int = 32
    lr: float = 3e-4
    warmup: int = 0
    schedule: str | Callable[[int, "Recipe"], float] = "cosine"
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.0
    smoothing: float = 0.0
    clip: float = 1.0
    every: int = 100
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for what cannot be meant."""
        for name in ("steps", "batch_size", "every", "patience"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise ValueError(f"{name}={count}: every count is 1 or more.")
        for name in ("lr", "warmup", "weight_decay", "smoothing", "clip"):
            value = getattr(self, name)
            if not value >= 0:
                raise ValueError(f"{name}={value}: it is 0 or more.")
        if self.smoothing > 1:
            raise ValueError(f"smoothing={self.smoothing}: a share is 0 to 1.")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(
                f"betas={self.betas}: each is 0 or more, and below 1."
            )
        if not callable(self.schedule) and self.schedule not in SCHEDULES:
            raise ValueError(
                f"schedule={self.schedule!r} is unknown: choose one of "
                f"{', '.join(SCHEDULES)}, or give a function of your own."
            )

    def rate(self, step: int) -> float:
        """Give the learning rate of a step, the first being 1."""
        name = self.schedule
        schedule = SCHEDULES[name] if isinstance(name, str) else name
        return self.lr * schedule(step, self)


def constant(step: int, recipe: Recipe) -> float:
    """Climb from 0 to 1 in `warmup` steps, and stay there."""
    return min(1.0, step / max(recipe.warmup, 1))


def cosine(step: int, recipe: Recipe) -> float:
    """Climb as `constant` does, then fall to 0 along half a cosine.

    Loshchilov and Hutter (2017), equation 5, without restarts: the 0 is
    where the step after the last would be.
    """
    if step <= recipe.warmup:
        return constant(step, recipe)
    done = (step - 1 - recipe.warmup) / max(recipe.steps - recipe.warmup, 1)
    return (1 + math.cos(math.pi * min(done, 1.0))) / 2


def noam(step: int, recipe: Recipe) -> float:
    """Climb as `constant` does, then fall with the root of the step.

    Vaswani et al. (2017), equation 3, whose peak is at a learning rate of
    1 / sqrt(d_model * warmup).
    """
    warmup = max(recipe.warmup, 1)
    return min(step / warmup, math.sqrt(warmup / max(step, 1)))


def wsd(step: int, recipe: Recipe) -> float:
    """Climb as `constant` does, stay there, and fall to 0 in a straight line
    over the last third: warm up, stay, decay.

    Hu et al. (2024) gave it the name; the straight line is one of those
    that Hägele et al. (2024) compare. The 0 is where the step after the
    last would be.
    """
    left = max(recipe.steps + 1 - step, 0)
    return min(constant(step, recipe), 3 * left / recipe.steps)


SCHEDULES = {one.__name__: one for one in (constant, cosine, noam, wsd)}
