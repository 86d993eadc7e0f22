"""Tensors that are none of the usual run traced as they run untraced; and a
trace says what cannot be seen."""

import re
import warnings
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close
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


# --- compiled code, and code out of Python's sight -----------------------


NEEDS_2_6 = pytest.mark.skipif(
    not hasattr(torch.compiler, "set_stance"), reason="needs torch 2.6"
)


def whole():
    return torch.compile(nn.Linear(3, 4), backend="eager")


def within():
    return nn.Sequential(nn.Linear(3, 3), whole())


def in_place():
    layer = nn.Linear(3, 4)
    layer.compile(backend="eager")
    return layer


def function():
    return torch.compile(lambda x: (x + 1) * 2, backend="eager")


@pytest.mark.slow
@NEEDS_2_6
@pytest.mark.parametrize("make", [whole, within, in_place, function])
def test_compiled_code_is_traced_line_by_line_and_stays_compiled(
    make, recwarn
):
    model, x = make(), torch.randn(2, 3)
    cold = trace(model, x, dims={"B": 2}, axes=["B _"])
    expected = model(x)
    warm = trace(model, x, dims={"B": 2}, axes=["B _"])
    assert_close(warm.result, expected)
    assert cold.notes == warm.notes == []
    assert str(cold) == str(warm)
    assert "(B, 3)" in str(warm)
    assert ("outside every module" in str(warm)) is (make is function)
    assert torch._dynamo.eval_frame._stance.stance == "default"
    assert not recwarn.list


def as_script(part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(part)


SCRIPT = as_script(nn.ReLU())
TWICE = torch.compile(doubled, backend="eager", fullgraph=True)
SCRIPTED = nn.Sequential(nn.Linear(4, 4), SCRIPT)
HIDDEN = {
    "script": (SCRIPTED, "script"),
    "its function": (lambda x: SCRIPT.forward(x) + 1, "script"),
    "compiled": (lambda x: TWICE(x), "mul"),
}


@NEEDS_2_6
@pytest.mark.parametrize("name", HIDDEN)
def test_script_is_one_call_and_compiled_code_is_seen(name):
    model, call = HIDDEN[name]
    seen = trace(model, X, keep=True)
    assert call in [step.name.strip("_") for step in seen.steps]
    assert_close(seen.result, model(X), rtol=0, atol=0)
    assert seen.flops().rows


UNSEEN = {
    "script": (SCRIPTED, "out of Python's sight"),
}


@NEEDS_2_6
@pytest.mark.parametrize("name", UNSEEN)
def test_what_cannot_be_seen_is_noted_once(name):
    model, text = UNSEEN[name]
    seen = trace(model, X)
    (note,) = seen.notes
    assert re.search(text, note)
    assert f"note: {note}" in str(seen)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_what_runs_out_of_sight_is_refused():
    layer, x = nn.Linear(3, 4), torch.randn(2, 3)
    with pytest.raises(TypeError, match=r"trace its \.module\(\)"):
        trace(torch.export.export(layer, (x,)), x)
    with pytest.raises(TypeError, match="TopLevelTracedModule runs out of"):
        trace(torch.jit.trace(layer, (x,)), x)
    with pytest.raises(TypeError, match="ScriptFunction runs out of"):
        trace(torch.jit.trace(lambda x: x + 1, (x,)), x)
    assert len(trace(torch.export.export(layer, (x,)).module(), x)) == 1
