"""Small GPTs whose queries and keys are rotated: right, and wrong."""

from functools import partial

import torch

from tests.helpers.heads import Own
from tests.helpers.places import Nameless


def angles(x, sign=1, start=0, halves=True):
    """Angles for all channels of x (B, H, T, D): (T, D)."""
    t, d = x.shape[-2:]
    speeds = 100 ** (-torch.arange(0, d, 2) / d)
    steps = sign * torch.arange(start, start + t)[:, None] * speeds
    return steps.repeat(1, 2) if halves else steps.repeat_interleave(2, -1)


def halves(x, **how):
    """Rotate channels i and i + D/2."""
    a, (one, other) = angles(x, **how), x.chunk(2, -1)
    return x * a.cos() + torch.cat((-other, one), -1) * a.sin()


back = partial(halves, sign=-1)


def neighbours(x, **how):
    """Rotate channels 2i and 2i + 1."""
    a, one, other = angles(x, halves=False, **how), x[..., ::2], x[..., 1::2]
    across = torch.stack((-other, one), -1).flatten(-2)
    return x * a.cos() + across * a.sin()


def partly(x, **how):
    """Half of the channels are not rotated."""
    one, other = x.chunk(2, -1)
    return torch.cat((halves(one, **how), other), -1)


def growing(x, by=1.1):
    """xPos: queries grow with their position, and keys shrink."""
    return halves(x) * by ** torch.arange(x.shape[-2])[:, None]


def as_it_is(x, **how):
    return x


class Turned(Own):
    """Queries and keys are changed, each in its own way."""

    def __init__(self, q=halves, k=halves, fused=True):
        super().__init__(heads=2, fused=fused)
        self.turn = q, k

    def split(self, x):
        q, k, v = super().split(x)
        return self.turn[0](q), self.turn[1](k), v


class OfValues(Turned):
    def split(self, x):
        q, k, v = super().split(x)
        return q, k, halves(v)


def turning(*q_and_k, kind=Turned, **options):
    """GPTs with such attention, and no other positions."""
    return partial(Nameless, partial(kind, *q_and_k, **options))
