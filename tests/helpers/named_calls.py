"""Functions of every kind, called under names of every kind."""

from functools import partial, reduce

import torch
from torch import nn
from torch.nn.functional import gelu


def total(x, times=2):
    x = x * times
    x = x.sum(0, keepdim=True)
    assert x.ndim == 2
    return x


def both(x):
    square = x @ x.mT
    return square, x * 2


def early(x, stop=True):
    doubled = torch.cat([x, x])
    if stop:
        return x
    return doubled


def late(x, stop=False):
    if stop:
        return x * 2
    return x.sum()


def raised(x):
    x = x[:1]
    x += 1
    assert x.ndim == 2
    return x


def pieces(x):
    yield x * 2
    return x[0]


class Half:
    def step(self, x):
        return x[: len(x) // 2]


class Whole(Half):
    def step(self, x):
        return x * 2


def turned(x):
    x = x * 2
    x.t_()
    return x


def shorter(x):
    return x[1:]


def checked(x):
    assert (x * 0).sum() == 0


@torch.no_grad()
def quiet(x):
    return x.mean(-1)


def unused(tuple):  # noqa: A002
    return tuple


def twice(f, x):
    return f(f(x))


thrice = partial(total, times=3)


class Named(nn.Module):
    """Call functions in every way; give all variables."""

    def __init__(self):
        super().__init__()
        self.total, self.act = total, gelu
        self.other = total
        self.add = lambda x: x[:, 0] + x[:, 1]
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    @property
    def first(self):
        return self.layers[0].weight * 2

    def forward(self, x):
        own = self.other(x)
        f = total
        alias = f(x)
        third = thrice(x)
        inline = partial(total, times=4)(x)
        attribute = self.add(x)
        g = lambda u: u.sum(-1)  # noqa: E731
        named = g(x)
        called = (lambda u: u.sum(-1))(x)
        square, double = both(x)
        wide, head = (lambda u: (u * 2, u[0]))(x)
        kept, sign = (lambda u: (u, u.sign()))(x)
        boxed = (lambda u: [u * 2])(x)
        silent = quiet(x)
        checked(silent)
        weight = self.first
        for layer in self.layers:
            active = self.act(layer(x))
        for _ in range(2):
            x = shorter(x)
        last = late(x)
        more = raised(x * 1)
        for piece in pieces(double):
            given = early(piece)
        for part in (Half(), Whole()):
            stepped = part.step(double)
        transposed = turned(double)
        least = reduce(torch.minimum, [double, double, double])
        halved = twice(shorter, double)
        listed = tuple(map(shorter, [double, double]))
        mapped = torch.vmap(lambda u: u[1:])(double)
        several = sum([double, double, double])
        return locals()
