"""Norms: that each position has a mean square of 1 after them."""

import re
from typing import NamedTuple

import torch
from torch import Tensor, nn

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.reach import Call, calls
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    failing,
    once,
)

LOOK = "Look at the axis of its mean and variance, and at the square root."
# Their statistics are meant to run over other axes than the last.
OTHERS = nn.modules.batchnorm._NormBase, nn.GroupNorm
NONE = re.compile("No(n|ne)?(?=[A-Z_])")  # such as NoNorm, which scales only
OFFSETS, GAINS = ("bias", "beta"), ("weight", "gamma")


class Gains(NamedTuple):
    """What a norm does after normalising an axis: gains and offsets (C)."""

    gain: Tensor
    offset: Tensor
    axis: int

    def undone(self, x: Tensor) -> Tensor:
        """Take them out of what a norm gave; a gain of 0 gave nothing."""
        x = (x.movedim(self.axis, -1) - self.offset) / self.gain
        return x.where(self.gain != 0, 0).movedim(-1, self.axis)


@check
def norm_statistics(subject: Subject) -> Verdict:
    """See whether each norm gives each position a mean square of 1, apart
    from its own gains and offsets.

    Ba et al. (2016), equation 4. Norms are known by the name of their class.
    A norm that falls short is asked alone, with rows of all sizes: there may
    be little to normalise, or gains that are not called weight.
    """
    seen, unusual = [], ""
    for path, part, _, gave in norm_calls(subject):
        if not gave or gave[0].ndim < 3:
            continue
        x, gains = without_gains(part, gave[0]), norms_alone(subject)[path]
        seen.append(squares := x.square().mean(-1))
        least = 0.9 * (1 - 1 / x.shape[-1])  # an unbiased norm's is below 1
        wrong = ~((squares > least) & (squares < 1.1))
        if not wrong.any() or (gains and is_own(part, gains)):
            continue
        b, t, *_ = wrong.nonzero()[0].tolist()
        size = squares[wrong][0].item()
        says = f"After {path}, position {t} of row {b} has a mean square of "
        says += f"{size:.2f}, not 1."
        if not gains:
            return False, f"{says} {LOOK}", squares
        unusual = unusual or f"{says} It has gains that are no parameter."
    if not seen:
        raise NotJudgedError("No module's class has the name of a norm.")
    if unusual:
        return False, unusual, seen[0], UNUSUAL
    says = "After each norm, each position has a mean square of 1."
    return True, says, seen[0]


@once
def norm_calls(subject: Subject) -> list[Call]:
    """List what each norm of a run is given and gives."""
    return calls(subject, of=is_norm)


def is_norm(part: nn.Module) -> bool:
    """Whether a module is a norm of positions, and does not only hold one."""
    kind = type(part)
    if isinstance(part, OTHERS) or NONE.match(kind.__name__):
        return False
    if kind.__module__.startswith("torch.nn.utils"):
        return False
    inner = [type(p).__name__.lower() for p in part.modules()]
    return "norm" in inner[0] and not any("norm" in x for x in inner[1:])


def without_gains(norm: nn.Module, x: Tensor) -> Tensor:
    """Take a norm's offsets and gains, by name, out of what it gave. Each
    head may have its own, such as (H, 1, D) of (B, H, T, D)."""
    for name in OFFSETS + GAINS:
        own = getattr(norm, name, None)
        if isinstance(own, Tensor) and fits(own, x):
            x = x - own.detach() if name in OFFSETS else x / own.detach()
    return x


def fits(own: Tensor, x: Tensor) -> bool:
    """Whether a gain or an offset has all channels of x (..., C), and for
    its other axes 1 or as many as x."""
    pairs = [*zip(own.shape[::-1], x.shape[::-1])]
    same = all(n in (1, m) for n, m in pairs) and own.ndim <= x.ndim
    return same and own.shape[-1:] == x.shape[-1:]


@once
def norms_alone(subject: Subject) -> dict[str, Gains | None]:
    """Find the gains and offsets of each norm, by its path, by asking it
    alone; None for what does not normalise."""
    found = norm_calls(subject)

    def ask() -> dict[str, Gains | None]:
        return {
            path: gains_of(part, given[0]) if given else None
            for path, part, given, _ in found
        }

    return subject.call(ask, ())


def gains_of(norm: nn.Module, like: Tensor) -> Gains | None:
    """Find the gains of a norm: of rows with mean 0 and mean square 1, and of
    several sizes, it makes gain * row + offset. None where it does not."""
    own = {len(p) for p in norm.parameters(recurse=False) if p.ndim == 1}
    last = like.ndim == 3 and like.shape[-1] in own
    axis = 1 if like.shape[1] in own and not last else -1
    rows = standard_rows(like.movedim(axis, -1))
    sizes = torch.arange(rows[..., 0].numel()).view(rows[..., :1].shape) % 3
    loud = (rows * 10.0**sizes).movedim(-1, axis).to(like)
    try:
        with failing():
            made = [norm(x) for x in (loud, -loud)]
        one, other = (x.movedim(axis, -1) for x in made)
        odd, even = (one - other) / 2, (one + other) / 2
        whole = (x.flatten(0, -2) for x in (odd / rows, even))
        gain, offset = (x.median(0).values for x in whole)
        right = torch.allclose(gain * rows + offset, one, 0.02, 0.02)
    except (FailedError, RuntimeError, AttributeError):  # of another kind
        return None
    return Gains(gain, offset, axis) if right else None


def standard_rows(like: Tensor) -> Tensor:
    """Draw rows with mean 0 and mean square 1: (..., C)."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(like.shape, generator=draw).to(like)
    rows = rows - rows.mean(-1, keepdim=True)
    return rows / rows.square().mean(-1, keepdim=True).sqrt()


def is_own(norm: nn.Module, gains: Gains) -> bool:
    """Whether gains are the norm's own parameters, or those and 1, or 1."""
    own = [p.detach() for p in norm.parameters(recurse=False)]
    names = [1.0 + 0 * gains.gain, *own, *(1 + p for p in own)]
    return any(
        torch.allclose(gains.gain, x.expand_as(gains.gain), 0.05, 1e-3)
        for x in names
        if x.ndim == 0 or x.shape in ((1,), gains.gain.shape)
    )
