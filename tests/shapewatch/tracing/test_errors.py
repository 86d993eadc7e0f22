"""A failing call raises its own error, with what it was given."""

import re

import pytest
import torch
from torch import nn

from tformer_lite import trace

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
        "  k: (B, S, C), made by k = self.key(source)"
    ]
    *_, last = str(caught.value.trace).splitlines()
    assert last.startswith("  q @ k ")
    assert last.endswith(" (B, T, C), (B, S, C) -> failed")
    assert len(caught.value.trace) == 3


def by_if(x):
    if x > 0:
        x = x / 2


def by_while(x):
    while x.abs() > 0:
        x = x / 2


def by_choice(x):
    return 1 if x > 0 else 2


def by_not(x):
    return not x


@pytest.mark.parametrize(
    ("ask", "call", "operand"),
    [
        (by_if, "bool(x > 0)", "x > 0"),
        (by_while, "bool(x.abs() > 0)", "x.abs() > 0"),
        (by_choice, "bool(x > 0)", "x > 0"),
        (by_not, "not x", "input"),
    ],
)
def test_a_tensor_that_is_asked_for_yes_or_no_is_named(ask, call, operand):
    """Python 3.11 and later ones tell different places of a condition."""
    with pytest.raises(RuntimeError, match="ambiguous") as caught:
        trace(ask, torch.ones(2, 3))
    assert caught.value.__notes__[0].startswith(
        f"in outside every module: {call}\n  {operand}: (2"
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
    pattern = r"T is known by its size.* as T=(\d+) .*: (\d+) is not 8\)"
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
