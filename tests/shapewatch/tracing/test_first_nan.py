"""The first NaN is found where it is made, and usual infinity is none; a
failing call raises its own error, with what it was given."""

import math
import re

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace

torch.manual_seed(0)
X, NAN = torch.randn(3, 4), float("nan")
ROWS = torch.ones(3, 3).tril() > 0
NO_ROW = torch.tensor([[1, 0, 0], [0, 0, 0], [1, 1, 1]]) > 0


def attend(x, mask):
    scores = x @ x.mT
    scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ x


def written(x, mask):
    y = x * 2
    y[0] = NAN
    return y + 1


def log_in_place(x, mask):
    y = x.clone()
    y.log_()
    return y.exp()


def overflow(x, mask):
    large = x.half() * 1000
    scores = large @ large.mT
    scores = scores - scores.amax(-1, keepdim=True)
    return scores.softmax(-1)


# Of (x, mask): the variable that is named, and what the text says.
FIRST = {
    attend: (NO_ROW, "weights", "3 NaN in 9 numbers"),
    log_in_place: (ROWS, "", "y: from -"),
    overflow: (ROWS, "scores", "It becomes NaN outside"),
    written: (ROWS, "", "something has written into", "y: from"),
}


@pytest.mark.parametrize("model", FIRST, ids=lambda f: f.__name__)
def test_the_call_that_makes_it_is_named_with_what_it_reads(model):
    mask, variable, *said = FIRST[model]
    first = trace(model, X, mask).first_nan()
    assert first
    assert first.row.variable == variable
    assert "test_first_nan.py:" in first.line
    assert [text for text in said if text not in str(first)] == []


def test_the_text_says_where_and_of_what():
    sizes = {"T": 3, "D": 4}
    seen = trace(attend, X, NO_ROW, dims=sizes, axes=["T D", "T T"])
    line = attend.__code__.co_firstlineno + 3
    assert str(seen.first_nan()).splitlines() == [
        f"The first NaN is made outside every module, "
        f"test_first_nan.py:{line}:",
        "  weights = scores.softmax(-1)        (T, T) -> (T, T)",
        "It makes 3 NaN in 9 numbers. It reads:",
        f"  scores: from -inf to {(X @ X.mT)[NO_ROW].max():.3g}",
    ]


MEANT = {
    "filled in": attend,
    "added": lambda x, mask: x @ x.mT + torch.full((3, 3), -math.inf).triu(1),
    "not chosen": lambda x, mask: torch.where(x > 0, x.clamp(min=0).log(), 0),
    "given": lambda x, mask: torch.tensor([1.0, math.inf]) + 1,
    "log": lambda x, mask: (x @ x.mT + mask.float().log()).softmax(-1),
}


@pytest.mark.parametrize("model", MEANT.values(), ids=MEANT)
def test_infinity_that_masks_is_not_found(model):
    first = trace(model, X, ROWS).first_nan()
    assert not first
    assert str(first).startswith("None of ")


def test_infinity_that_reaches_the_result_is_found():
    first = trace(lambda p: p.log() * 2, torch.tensor([0.0, 1.0])).first_nan()
    assert first.row.expression == "p.log()"
    assert "numbers from -inf to 0" in str(first)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        return self.layers(x + self.shift)


@pytest.mark.parametrize("name", ["layers.1.weight", "shift", "x"])
def test_nan_that_comes_in_is_named(name):
    model, x = Net(), X.clone()
    with torch.no_grad():
        tensors = {**model.state_dict(keep_vars=True), "x": x}
        tensors[name][..., 0] = NAN
    first = trace(model, x).first_nan()
    assert str(first).startswith(
        f"NaN comes in with {name}, before any call. It is first read in"
    )
    assert first.row.path == ("layers.1" if "1" in name else "(Net)")
    assert ", and " in str(first)


def test_a_run_that_stops_is_searched_as_far_as_it_gets():
    def run(x, stop):
        y = (x * 0).sqrt().div(0) if stop else x + 1
        raise ArithmeticError(y.shape)

    for stop, said in (True, ".div(0)"), (False, "(then it stopped: Arith"):
        with pytest.raises(ArithmeticError) as error:
            trace(run, X, stop)
        assert said in str(error.value.trace.first_nan())


# --- calls that fail -----------------------------------------------------


DIMS = {"B": 2, "T": 8, "S": 8, "C": 12}


class Twisted(nn.Module):
    """Forget to transpose the keys."""

    def __init__(self, C):
        super().__init__()
        self.query, self.key = nn.Linear(C, C), nn.Linear(C, C)

    def forward(self, x, source):
        q = self.query(x)
        k = self.key(source)
        return q @ k


def twisted(B, T, S, C):
    return Twisted(C), (torch.randn(B, T, C), torch.randn(B, S, C))


def test_the_note_names_the_operands_and_the_lines_that_made_them():
    with pytest.raises(RuntimeError) as caught:
        trace(build=twisted, dims=DIMS)
    assert caught.value.__notes__ == [
        "in Twisted: q @ k\n"
        "  q: (B, T, C), made by q = self.query(x)\n"
        "  k: (B, S, C), made by k = self.key(source)\n"
        "  where B=2, T=8, S=8, C=12"
    ]
    *_, last = str(caught.value.trace).splitlines()
    assert last.startswith("  q @ k ")
    assert last.endswith(" (B, T, C), (B, S, C) -> failed")
    assert len(caught.value.trace) == 3


def by_if(x):
    if x > 0:
        x = x / 2


@pytest.mark.parametrize(
    ("ask", "call", "operand"),
    [
        (by_if, "bool(x > 0)", "x > 0"),
        (lambda x: 1 if x + 1 > 0 else 2, "bool(x + 1 > 0)", "x + 1 > 0"),
        (lambda x: not x, "not x", "input"),
    ],
)
def test_a_tensor_that_is_asked_for_yes_or_no_is_named(ask, call, operand):
    """Python 3.11 and later ones tell different places of a condition."""
    with pytest.raises(RuntimeError, match="ambiguous") as caught:
        trace(ask, torch.ones(2, 3))
    assert caught.value.__notes__[0].startswith(
        f"outside every module: {call}\n  {operand}: (2"
    )
    *_, last = str(caught.value.trace).splitlines()
    assert last.strip().startswith(f"{call} ")


def test_an_error_that_is_caught_or_no_torch_calls_has_no_note():
    def careful(x):
        try:
            return x @ x
        except RuntimeError:
            return x @ x.mT

    def wrong(x):
        raise ValueError(f"{(x * 2).shape} is not what I wanted")

    seen = trace(careful, torch.randn(2, 3))
    assert seen.steps[-1].makes
    assert seen.result.shape == (2, 2)
    with pytest.raises(ValueError, match="not what I wanted") as caught:
        trace(wrong, torch.randn(2, 3))
    assert not hasattr(caught.value, "__notes__")
    assert len(caught.value.trace) == 1


def test_probes_that_are_refused_are_noted():
    def picky(B, T):
        def double(x):
            if x.shape[1] != 8:
                raise ValueError(f"{x.shape[1]} is not 8")
            return x * 2

        return double, (torch.randn(B, T),)

    seen = trace(build=picky, dims={"B": 3, "T": 8})
    (note,) = seen.notes
    pattern = r"T is known only by its size.* as T=(\d+) .*: (\d+) is not 8\)"
    refused = re.fullmatch(pattern, note)
    assert refused[1] == refused[2] != "8"
    ((((batch, time),), _),) = seen.axes
    assert (batch.name, batch.proof) == ("B", "proved")
    assert (time.name, time.proof) == ("T", "value")


def test_methods_and_keywords_are_operands_and_what_a_layer_reads_is_not():
    def stacked(x, y):
        return torch.cat((x, y), dim=0).matmul(other=y)

    with pytest.raises(RuntimeError) as caught:
        trace(stacked, torch.randn(2, 3), torch.randn(4, 3), dims={"C": 3})
    note = caught.value.__notes__[0]
    assert "  torch.cat((x, y), dim=0): (6?, C~), made by torch.cat" in note
    assert "  y: (4?, C~)" in note
    layer = nn.Sequential(nn.Linear(3, 4, bias=False))
    with pytest.raises(RuntimeError) as caught:
        trace(layer, torch.ones(2, 5), dims={"B": 2}, axes=["B _"])
    assert "input: (B, 5)" in caught.value.__notes__[0]
