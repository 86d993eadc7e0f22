"""One query with its digits, and alignments as ribbons."""

import math

import pytest
import torch
from pictures.alignment import ribbons
from pictures.mixing import one_query
from pictures.weave import THIN, WIDEST, Weave

from tests.helpers.drawings import ENGLISH, NEPALI, texts
from tformer_lite.drawing.surface.page import NARROW, WIDE

ROW = torch.tensor([0.5, -1.25, 2.0, 0.25])
V = torch.tensor([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0], [9.0, 9.0]])
MASK = torch.tensor([True, True, True, False])
WEIGHTS = torch.tensor([[0.6, 0.3, 0.07, 0.03], [0.0, 0.0, 0.0, 1.0]])


@pytest.mark.slow
def test_one_query_shows_the_numbers_of_every_step():
    weights = ROW.masked_fill(~MASK, -math.inf).softmax(0)
    picture = one_query(ROW, V, MASK, ENGLISH, "of थिएन")
    drawn = texts(picture.svg())
    output = weights @ V
    numbers = [*ROW.tolist(), *weights.tolist(), *output.tolist()]
    for value in [*numbers, (weights[2] * V[2, 0]).item()]:
        assert f"{value:.2f}".replace("-", "−") in drawn
    assert drawn.count("−∞") == 2
    assert {*ENGLISH, "score", "weight", "output"} <= set(drawn)
    assert "Masked: .." in picture.text
    assert "is that of is." in picture.text


@pytest.mark.slow
def test_without_a_mask_its_row_is_left_out_and_the_page_is_lower():
    plain, masked = one_query(ROW, V), one_query(ROW, V, MASK)
    assert "+ mask" not in texts(plain.svg())
    heights = [p.figure.get_figheight() for p in (plain, masked)]
    assert heights[0] < heights[1]
    hidden = one_query(ROW.masked_fill(~MASK, -math.inf), V)
    assert "weights" in hidden.text
    assert hidden.text.count("-∞") == masked.text.count("-∞") == 1


@pytest.mark.slow
def test_a_long_query_and_many_channels_stay_within_the_page():
    words = ["internationally"] * 20
    picture = one_query(torch.randn(20), torch.randn(20, 64), words=words)
    for figure, width in ((picture.figure, WIDE), (picture.narrow, NARROW)):
        assert figure.get_figwidth() * 72 == width
        assert figure.get_figheight() * 72 < 500


def test_ribbons_are_as_wide_as_weights_and_lie_side_by_side():
    picture = ribbons(WEIGHTS, rows=NEPALI[:2], columns=ENGLISH)
    assert picture.text.startswith(
        "WEIGHTS: ribbons as wide as weights, (2, 4). [SOS] attends to [SOS] "
        "(0.60). मुख attends to . (1.00)."
    )
    matrix = picture_matrix()
    weave = Weave(matrix, False, (0, 9), [50, 150, 250, 350], [100, 300])
    bands = list(weave.bands())
    shares = [0.6, 0.3, 1.0]  # those below THIN have none
    assert THIN == 0.1
    assert [wide for *_, wide in bands] == pytest.approx(
        [share * WIDEST for share in shares]
    )
    (_, _, first, wide), (_, _, second, _), *_ = bands
    assert second == pytest.approx(first + wide)
    assert first + 0.45 * WIDEST == pytest.approx(100)


def picture_matrix():
    """The weights, as ribbons have them."""
    from tformer_lite.drawing.surface.matrix import Matrix

    return Matrix("w", WEIGHTS, ("T", "S"), [None, None], None, "weights")


def test_heads_stand_beside_each_other_and_one_row_is_lit():
    picture = ribbons(
        WEIGHTS, WEIGHTS.flip(0), WEIGHTS,
        titles=["head 0", "head 1", "head 2"], row=1,
    )  # fmt: skip
    first = picture.text.split("\n\n")[0]
    assert (
        "head 1: ribbons as wide as weights, (2, 4). 1 attends to 0" in first
    )
    assert first.count("attends to") == 3
    wide, narrow = picture.figure, picture.narrow
    assert narrow.get_figheight() > 2 * wide.get_figheight()
    lit = [p.get_facecolor() for p in wide.axes[0].patches]
    assert len(set(lit)) == 2


def test_what_cannot_be_mixed_or_woven_is_refused():
    with pytest.raises(ValueError, match=r"scores \(1, 4\).*choose one"):
        one_query(ROW[None], V)
    with pytest.raises(ValueError, match="mask"):
        one_query(ROW, V, MASK[:2])
    with pytest.raises(ValueError, match="negative"):
        ribbons(-WEIGHTS)
    with pytest.raises(ValueError, match="row='x' is none of"):
        ribbons(WEIGHTS, row="x")
    with pytest.raises(ValueError, match="1 matrices, 2 titles"):
        ribbons(WEIGHTS, titles=["a", "b"])
