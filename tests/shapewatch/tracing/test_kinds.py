"""Data types and devices are said where they change, and only there."""

import json

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace


def said(function, *inputs) -> list[tuple[str, ...]]:
    """What is said of what each call makes."""
    return [row.types for row in trace(function, *inputs).table.rows]


X, IDS = torch.randn(3, 4), torch.tensor([[0, 1, 2]])


@pytest.mark.parametrize(
    ("function", "inputs", "types"),
    [
        (lambda x: x + 1, [X], ""),
        (lambda x: x > 0, [X], "bool"),
        (lambda ids, x: x[ids], [IDS, X], ""),
        (lambda ids: ids.float(), [IDS], "float32"),
        (lambda ids: ids / 2, [IDS], "float32"),
        (lambda x: x.half(), [X], "float16"),
        (lambda x: x.to(torch.bfloat16), [X], "bfloat16"),
        (lambda x: x.to("meta"), [X], "on meta"),
        (lambda x: x.to("meta", torch.int8), [X], "int8 on meta"),
        (lambda x: x.masked_fill(x.bool(), 0), [X.bool()], ""),
        (lambda x: torch.fft.fft(x), [X], "complex64"),
        (lambda x: x.double() * 1, [X.double()], ""),
        (lambda ids: ids.new_ones(3), [IDS], ""),
    ],
)
def test_what_comes_out_is_named_where_nothing_like_it_went_in(
    function, inputs, types
):
    assert said(function, *inputs)[-1] == (types,)


def test_each_of_several_outputs_has_its_own():
    seen = trace(lambda x: x.max(-1), X)
    assert seen.table.rows[0].types == ("", "int64")
    assert str(seen).endswith("-> (3?), (3?) int64")
    assert "</span>, <span" in seen._repr_html_()
    assert "</span> int64" in seen._repr_html_()


def test_what_is_made_of_nothing_is_named_where_it_is_not_usual():
    def steps(x):
        return torch.zeros(4) + x, torch.arange(4), torch.ones(2).bool()

    assert said(steps, X) == [("",), ("",), ("int64",), ("",), ("bool",)]


def test_in_a_model_of_half_the_size_what_is_not_is_named():
    def steps(x):
        y = (x + 1) * 2 - x
        return y + torch.zeros(4), torch.zeros(4, dtype=torch.bfloat16)

    *_, zeros, sums, halves = said(steps, X.bfloat16())
    assert (zeros, sums, halves) == (("float32",), ("",), ("",))


def test_under_autocast_the_changes_there_and_back_are_named():
    layer = nn.Linear(4, 4)

    def steps(x):
        with torch.autocast("cpu", torch.bfloat16):
            return layer(x).float()

    assert said(steps, X) == [("bfloat16",), ("float32",)]


def test_the_json_has_them_for_each_tensor():
    text = trace(lambda x: (x > 0).to("meta"), X).to_json()
    first, last = json.loads(text)["steps"]
    tensors = [*first["inputs"], *first["outputs"], *last["outputs"]]
    found = [(tensor["dtype"], tensor["device"]) for tensor in tensors]
    assert found == [("float32", "cpu"), ("bool", "cpu"), ("bool", "meta")]


def test_a_tensor_that_changes_its_type_is_named_as_it_was_each_time():
    def steps(x):
        y = x * 1
        y.data = y.data.double()
        return y + 1

    seen = trace(steps, X.clone())
    assert seen.table.rows[-1].types == ("",)
    assert seen.steps[-1].makes[0].dtype == torch.float64
