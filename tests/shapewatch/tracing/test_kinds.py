"""Data types and devices are said where they change, and only there."""

import pytest
import torch

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
        (lambda x: x.half(), [X], "float16"),
        (lambda x: x.to("meta"), [X], "on meta"),
        (lambda x: x.to("meta", torch.int8), [X], "int8 on meta"),
        (lambda x: x.masked_fill(x.bool(), 0), [X.bool()], ""),
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
