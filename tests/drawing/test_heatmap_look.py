"""How a heatmap looks: its height, its colours, what lies over what."""

import pytest
import torch

from tests.helpers.drawings import ENGLISH, NEPALI, SCORES, texts
from tformer_lite import curves, heatmap
from tformer_lite.drawing.heatmaps import HEAD


@pytest.mark.parametrize(("rows", "row"), [(1, 0.3), (20, 0.3), (24, 0.25)])
def test_a_figure_is_as_high_as_its_rows_and_headings(rows, row):
    one, two = torch.rand(rows, 4), torch.rand(2 * rows, 3)
    assert high(one) == pytest.approx(HEAD + rows * row)
    each = min(row, 3 / rows)
    assert high(one, two) == pytest.approx(2 * HEAD + 3 * rows * each)


def high(*matrices, **options) -> float:
    """The height of a drawing, in inches."""
    figure = heatmap(*matrices, titles=["x"] * len(matrices), **options).figure
    return figure.get_figheight()


def test_a_row_of_a_figure_is_as_high_as_it_says():
    for rows, row in ((4, 0.3), (24, 0.25), (60, 0.1)):
        figure = heatmap(torch.rand(rows, 4)).figure
        (ax,) = figure.axes
        size = ax.get_position().height * figure.get_figheight()
        assert size == pytest.approx(rows * row)


def test_scores_of_zero_alone_are_white():
    for scores in (torch.zeros(2, 3), torch.zeros(2, 3).log()[:1].clone()):
        drawn = heatmap(scores, kind="scores").figure
        drawn.canvas.draw()
        (ax,) = drawn.axes
        assert (ax.collections[0].get_facecolors() == 1).all()


def test_up_to_24_rows_and_12_columns_have_numbers():
    for rows, columns, numbers in (
        (24, 12, True),
        (25, 12, False),
        (24, 13, False),
    ):
        picture = heatmap(torch.rand(rows, columns), titles=["x"])
        drawn = texts(picture.svg())
        assert any("." in text for text in drawn) is numbers


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.half, torch.int8])
@pytest.mark.parametrize("kind", ["scores", "weights"])
def test_a_matrix_of_any_type_is_drawn_as_its_numbers_are(dtype, kind):
    for mask in (None, torch.tensor([[True, False, True, True]])):
        values = (SCORES[:, :3] * 8).to(dtype)
        values = torch.cat((values, values[:, :1]), dim=1)
        options = {"kind": kind, "mask": mask, "titles": ["x"]}
        drawn, wanted = (
            heatmap(x, **options).figure.axes[0].collections[0].get_array()
            for x in (values, values.double())
        )
        assert (drawn == wanted).all()


def test_hatching_lies_over_the_colour_and_under_the_number():
    (ax,) = heatmap(SCORES).figure.axes
    assert len(ax.patches) == 4
    (cells,) = ax.collections
    for patch in ax.patches:
        assert cells.get_zorder() < patch.get_zorder()
        assert patch.get_zorder() < min(text.get_zorder() for text in ax.texts)
        assert not patch.get_clip_on()


@pytest.mark.parametrize(
    ("columns", "turned"),
    [
        (["a"] * 4, 0),
        (["sixsix"] * 4, 0),  # 0.54 of 0.55 inches
        (["sevenyy"] * 4, 45),
        (["short", "", "", "and a long one"], 45),
        (ENGLISH, 0),
        (NEPALI, 0),
    ],
)
def test_labels_are_slanted_where_they_would_meet(columns, turned):
    (ax,) = heatmap(SCORES, columns=columns).figure.axes
    angles = {label.get_rotation() for label in ax.get_xticklabels()}
    assert angles == {turned}
    assert {label.get_rotation() for label in ax.get_yticklabels()} == {0}


def test_slanted_labels_get_room_above_the_next_matrix():
    level, slanted = ["a"] * 4, ["ten letters"[:10]] * 4
    extra = high(SCORES, SCORES, columns=slanted) - high(
        SCORES, SCORES, columns=level
    )
    assert extra == pytest.approx(10 * 0.065 - 0.1)
    picture = heatmap(SCORES, SCORES, columns=slanted, titles=["x", "y"])
    picture.figure.canvas.draw()
    upper, lower = picture.figure.axes
    lowest = min(x.get_window_extent().y0 for x in upper.get_xticklabels())
    assert lowest > lower.title.get_window_extent().y1


DOLLARS = ["$5 $6", "$$", r"$\frac$", r"\$"]


def test_a_dollar_is_a_word_and_no_formula():
    drawn = texts(heatmap(SCORES, columns=DOLLARS, titles=["x['$a'] $"]).svg())
    assert {*DOLLARS, "x['$a'] $ (4, 4)"} <= set(drawn)
    names = ["$a$", r"$\frac$"]
    lines = curves(SCORES[:, 0], SCORES[:, 1], titles=names)
    assert set(names) <= set(texts(lines.svg()))
    assert lines.png()


def test_characters_that_cannot_be_drawn_are_written_as_python_does():
    labels = ["\n", "\x00\t", "a\ud800", "क\u094d\u200dष"]
    picture = heatmap(SCORES, rows=labels, columns=labels, titles=["x"])
    shown = [r"\n", r"\x00\t", r"a\ud800", labels[3]]
    assert set(shown) <= set(texts(picture.svg()))
    assert len(picture.text.split("\n\n")[1].splitlines()) == 2 + 4
    assert "3" in texts(heatmap(SCORES, columns=[0, 1, 2, 3]).svg())
