"""Tensors that are none of the usual run traced as they run untraced."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from shapewatch.tracing import trace

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


class Counting(torch.Tensor):
    """Counts the torch functions that it sees."""

    seen: list = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(getattr(function, "__name__", "?"))
        return super().__torch_function__(function, types, args, kwargs or {})


class Wrapped(torch.Tensor):
    """Has its numbers inside, and knows few calls."""

    seen: list = []  # noqa: RUF012
    known = "add", "mul", "mm", "t", "relu", "addmm", "add_"

    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(
            cls, inside.shape, dtype=inside.dtype
        )

    def __init__(self, inside):
        self.inside = inside

    def __repr__(self):
        return f"Wrapped({self.inside})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        cls.seen.append(name)
        if name not in cls.known:
            return NotImplemented
        args = tree_map_only(cls, lambda x: x.inside, args)
        return cls(function(*args, **kwargs or {}))


def nested(layout):
    rows = [torch.ones(2, 4), torch.ones(3, 4)]
    return torch.nested.nested_tensor(rows, layout=layout)


def doubled(x):
    y = x * 2
    y += y
    return y


def layer(x):
    torch.manual_seed(0)
    return nn.Linear(4, 4).to(x.device), x


ODD = {
    "sparse": lambda: (doubled, X.relu().to_sparse()),
    "rows": lambda: (lambda x: x @ X.T + 1, X.to_sparse_csr()),
    "of a class": lambda: (doubled, X.as_subclass(Counting)),
    "wrapped": lambda: (doubled, Wrapped(X)),
    "wrapped, and known calls": lambda: (lambda x: x @ x.t(), Wrapped(X)),
    "quantised": lambda: (
        lambda x: x.dequantize() + 1,
        torch.quantize_per_tensor(X, 0.1, 0, torch.qint8),
    ),
    "meta": lambda: layer(X.to("meta")),
    "empty": lambda: (doubled, X[:0]),
    "nested, in a layer": lambda: layer(nested(torch.strided)),
    "jagged, in a layer": lambda: layer(nested(torch.jagged)),
    "complex": lambda: (doubled, X.to(torch.complex64).conj()),
    "lazy": lambda: (nn.Sequential(nn.LazyLinear(5), nn.ReLU()), X),
    "lazy convolution": lambda: (nn.LazyConv1d(5, 2), X[None]),
    "for inference": lambda: (doubled, inferred()),
    "with a name": lambda: (partial(torch.add, other=X), X),
}


def inferred():
    with torch.inference_mode():
        return X * 2


def said(x):
    """A result as text, with every number of it."""
    if x.is_meta:
        return str(x.shape)
    if isinstance(x, Wrapped):
        return f"{type(x)} {x.inside.tolist()}"
    if x.is_nested:
        return str([row.tolist() for row in x.unbind()])
    return str(type(x)) + repr(x.layout) + str(x.to_dense().tolist())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*prototype|.*beta state|.*quantize")
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", ODD)
def test_a_traced_run_gives_what_an_untraced_one_does(name, keep):
    found = []
    for traced in (False, True):
        torch.manual_seed(0)
        model, x = ODD[name]()
        Counting.seen, Wrapped.seen = [], []
        if traced:
            seen = trace(model, x, keep=keep)
            assert len(seen) > 0
            result = seen.result
        else:
            result = model(x)
        calls = [*Counting.seen, *Wrapped.seen]
        found.append((said(result), calls if not keep else []))
        if traced:
            assert str(seen)
    assert found[0] == found[1]
