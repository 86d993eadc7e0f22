"""A reshape that keeps every size and scrambles the elements is flagged."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shapewatch.tracing.axes.names import Axis
from shapewatch.tracing.questions.scrambles import mixes_axes
from tformer_lite import join_heads, split_heads, trace


def found(model, **dims):
    """What is flagged in a function of a batch of vectors."""

    def build(B, T, H, D):
        return (lambda x: model(x, B, T, H, D)), (torch.randn(B, T, H * D),)

    sizes = {"B": 2, "T": 8, "H": 8, "D": 8, "C": "H*D"} | dims
    return trace(build=build, dims=sizes).check_axes()


def test_a_split_without_transpose_is_flagged():
    (one,) = found(lambda x, B, T, H, D: x.view(B, H, T, D))
    assert one.before == "(B, T, C)"
    assert one.after == "(B, H, T, D)"
    assert "x.view(B, H, T, D) takes (B, T, C) for (B, H, T, D)" in str(one)


def test_a_merge_without_transposing_back_is_flagged():
    def model(x, B, T, H, D):
        heads = x.view(B, T, H, D).transpose(1, 2)
        return heads.reshape(B, T, H * D)

    (one,) = found(model)
    assert one.call == "heads.reshape(B, T, H * D)"
    assert (one.before, one.after) == ("(B, H, T, D)", "(B, T, C)")


@pytest.mark.parametrize(
    "model",
    [
        lambda x, B, T, H, D: join_heads(split_heads(x, H)),
        lambda x, B, T, H, D: x.view(B, T, H, D).transpose(1, 2),
        lambda x, B, T, H, D: x.view(B, T * H, D),
        lambda x, B, T, H, D: x.flatten(),
        lambda x, B, T, H, D: torch.cat((x, x, x), -1).view(B, T, 3, H, D),
        lambda x, B, T, H, D: x.view(B, T, H * D // 2, 2),
        lambda x, B, T, H, D: x[:, :, None].view(B, T, H, D),
        lambda x, B, T, H, D: x[None].expand(2, B, T, H * D).flatten(2),
        lambda x, B, T, H, D: x.permute(2, 0, 1).reshape(H, D, B * T),
        lambda x, B, T, H, D: x[:, 1:].reshape(B * (T - 1), -1),
    ],
)
def test_what_splits_and_merges_neighbours_is_not(model):
    assert found(model) == []


def test_what_is_not_proved_is_not_judged():
    model, inputs = (lambda x: x.view(2, 3, 8, 4)), (torch.randn(2, 8, 12),)
    dims = {"B": 2, "T": 8, "H": 3, "D": 4, "C": "H*D"}
    assert trace(model, *inputs, dims=dims).check_axes() == []


@st.composite
def reshapes(draw):
    """An order of axes cut into neighbours twice, in two ways."""
    names = draw(st.permutations("ABCDE"))
    cuts = [draw(st.sets(st.integers(1, 4))) for _ in range(2)]
    sides = []
    for cut in cuts:
        edges = [0, *sorted(cut), 5]
        parts = [names[a:b] for a, b in itertools.pairwise(edges)]
        sides.append([Axis(1, "*".join(part), "proved") for part in parts])
    return names, *sides


@settings(deadline=None, derandomize=True, database=None)
@given(reshapes())
def test_any_cut_of_the_same_order_is_clean_and_another_order_is_not(case):
    names, before, after = case
    assert not mixes_axes(before, after, {})
    single = [Axis(1, name, "proved") for name in names]
    moved = [single[1], single[0], *single[2:]]
    assert mixes_axes(single, moved, {})
