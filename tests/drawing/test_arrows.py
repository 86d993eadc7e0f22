"""Pairs of numbers as arrows: hands of clocks, and vectors that turn."""

import math

import pytest
import torch
from matplotlib.patches import PathPatch, Wedge
from pictures.arrows import arrows
from torch.testing import assert_close

from tests.helpers.drawings import letter_faults
from tformer_lite import rotate, sinusoids

HANDS = sinusoids(9, 6).unflatten(1, (-1, 2)).transpose(0, 1)  # (3, 9, 2)
Q = rotate(torch.tensor([[3.0, 1.0]]).expand(6, 2))
K = rotate(torch.tensor([[1.0, -2.0]]).expand(6, 2))


def drawn(figure) -> torch.Tensor:
    """The arrows of a page, from tail to tip: to the right, and up."""
    (outlines,) = (p for p in figure.axes[0].patches if type(p) is PathPatch)
    corners = outlines.get_path().vertices.reshape(-1, 8, 2)
    tails, tips = corners[:, [0, 6]].mean(1), corners[:, 3]
    return torch.tensor((tips - tails) * (1, -1))


@pytest.mark.slow
def test_each_arrow_goes_where_its_numbers_say():
    picture = arrows(HANDS, 2 * HANDS.flip(0))
    both = torch.stack((HANDS, 2 * HANDS.flip(0)), dim=2).flatten(0, 2)
    for figure in picture.figure, picture.narrow:
        found = drawn(figure)
        scale = found.norm(dim=1).max() / 2
        assert_close(found / scale, both.double(), atol=1e-5, rtol=0)


def test_two_that_move_on_together_keep_the_angle_and_its_colour():
    picture = arrows(Q[[2, 3, 5, 5]], K[[0, 1, 3, 1]], titles=["q", "k"])
    wedges = [p for p in picture.figure.axes[0].patches if type(p) is Wedge]
    angles = [wedge.theta2 - wedge.theta1 for wedge in wedges]
    between = math.degrees(math.acos(Q[2] @ K[0] / Q[2].norm() / K[0].norm()))
    assert_close(angles[:3], [between] * 3, atol=1e-3, rtol=0)
    assert max(angles) <= 180
    colours = [wedge.get_facecolor() for wedge in wedges]
    assert len({*colours[:3]}) == 1
    assert colours[3] != colours[0]
    assert picture.text.count(f"product {Q[2] @ K[0]:.2f}") == 3
    assert f"q · k = {Q[5] @ K[1]:.2f}".replace("-", "−") in picture.svg()


@pytest.mark.slow
def test_words_have_room():
    rows = [f"channels {i}, {i + 1}\none turn: {9**i}" for i in range(3)]
    assert letter_faults(arrows(HANDS, rows=rows)) == []
    many = HANDS.repeat(1, 3, 1)
    assert letter_faults(arrows(many, rows=rows)) == []
    labels = [f"q at {i}, k at {i + 2}\n2 apart" for i in range(6)]
    assert letter_faults(arrows(Q, K, titles=["q", "k"], columns=labels)) == []
    assert (
        letter_faults(arrows(Q[:1], titles=["hand"], columns=["x" * 30])) == []
    )
    assert letter_faults(arrows(0 * Q[:2], 0 * K[:2], titles=["q", "k"])) == []


@pytest.mark.parametrize(
    ("points", "rule"),
    [
        ([], "0 tensors"),
        ([Q, K, Q], "3 tensors"),
        ([torch.zeros(4, 3)], "shows two numbers"),
        ([torch.zeros(2)], "shows two numbers"),
        ([Q, K[:2]], "needs its counterpart"),
        ([Q / 0], "not real and finite"),
    ],
)
def test_what_are_no_pairs_is_refused(points, rule):
    with pytest.raises(ValueError, match=rule):
        arrows(*points)


def test_as_many_labels_as_circles():
    with pytest.raises(ValueError, match="2 labels for 6 circles"):
        arrows(Q, columns=["a", "b"])
