"""Printing live: each step as it runs, with named axes, and nothing left."""

import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack as modes

import shapewatch
from tformer_lite import MultiHeadAttention, print_shapes

NAMES = {"dims": {"H": 3, "D": 4, "C": "H*D"}, "axes": ["B T C", "B S C"]}


def attention():
    """A layer, and what asks and what answers."""
    inputs = torch.randn(2, 8, 12), torch.randn(2, 8, 12)
    return MultiHeadAttention(12, 3), inputs


def printed(capsys, model, *inputs, **options) -> list[str]:
    with print_shapes(model, **options):
        model(*inputs)
    return capsys.readouterr().out.splitlines()


def test_a_module_s_line_has_the_names_of_its_axes(capsys):
    layer, inputs = attention()
    assert printed(capsys, layer, *inputs, **NAMES) == [
        "query Linear        (B, T, C~) -> (B, T, C~)",
        "key Linear          (B, S, C~) -> (B, S, C~)",
        "value Linear        (B, S, C~) -> (B, S, C~)",
        "dropout Dropout     (B, H~, T, S) -> (B, H~, T, S)",
        "output Linear       (B, T, C~) -> (B, T, C~)",
        "MultiHeadAttention  (B, T, C~), (B, S, C~) -> (B, T, C~)",
    ]
    assert printed(capsys, layer, *inputs)[3:5] == [
        "dropout Dropout     (2, 3, 8, 8) -> (2, 3, 8, 8)",
        "output Linear       (2, 8, 12) -> (2, 8, 12)",
    ]


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(6, 7)

    def forward(self, x):
        return self.second(self.first(x))


def test_modules_that_ran_before_an_error_are_printed(capsys):
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        printed(capsys, Broken(), torch.ones(2, 4), axes=["B _"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["first Linear   (B, 4) -> (B, 5)"]


@pytest.mark.parametrize("names", [{}, NAMES])
def test_the_run_is_the_unprinted_one_and_nothing_is_left(names):
    layer, inputs = attention()
    layer.dropout.p = 0.5
    torch.manual_seed(7)
    expected, after = layer(*inputs), torch.random.get_rng_state()
    before = nn.Module._call_impl, modes()
    torch.manual_seed(7)
    with print_shapes(layer, **names):
        result = layer(*inputs)
    assert torch.equal(result, expected)
    assert torch.equal(torch.random.get_rng_state(), after)
    assert before == (nn.Module._call_impl, modes())
    parts = layer.modules()
    assert not any(p._forward_hooks or p._forward_pre_hooks for p in parts)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)

    def forward(self, ids):
        return self.embed(ids)[:, 1:]


@pytest.mark.parametrize("dims", [None, {"V": 7}, {"B": 2, "T": 5}])
def test_axes_alone_name_each_call_at_whatever_size(capsys, dims):
    model = Reader()
    with print_shapes(model, axes="B T", dims=dims):
        for shape in ((2, 5), (3, 5), (1, 2)):
            model(torch.zeros(shape, dtype=torch.long))
    lines = [x for x in capsys.readouterr().out.splitlines() if "->" in x]
    assert len(lines) == 6
    assert lines[:2] == lines[2:4] == lines[4:]
    assert lines[1].endswith("-> (B, T-1, 4)")


@pytest.mark.parametrize("names", [{}, NAMES])
def test_without_with_it_prints_from_then_on(names, capsys):
    layer, inputs = attention()
    lines = printed(capsys, layer, *inputs, **names)
    shapewatch.print_shapes(layer, **names)
    layer(*inputs)
    assert capsys.readouterr().out.splitlines() == lines != []
