"""How a heatmap looks: what stands beside what, and lies over what."""

import itertools

import pytest
import torch

from tests.helpers.drawings import ENGLISH, NEPALI, SCORES, texts
from tformer_lite import curves, heatmap
from tformer_lite.drawing.attention.heatmap_layout import ticks
from tformer_lite.drawing.surface.palette import INK, MUTED

PAIR = torch.randn(2, 8, 8, generator=torch.manual_seed(0))


def boxes(*matrices, **options) -> tuple[list, list]:
    """Where the cells of matrices are, on a page and on a phone."""
    picture = heatmap(*matrices, titles=["x"] * len(matrices), **options)
    places = [(panel.wide, panel.narrow) for panel in picture.panels]
    return tuple(zip(*places))


@pytest.mark.slow
def test_pairs_stand_side_by_side_and_on_a_phone_below_each_other():
    (left, right), (upper, lower) = boxes(*PAIR)
    assert left[1] == right[1]
    assert left[0] + left[2] < right[0]
    assert upper[0] == lower[0]
    assert upper[1] + upper[3] < lower[1]


@pytest.mark.slow
def test_rows_are_named_once_side_by_side_and_each_time_below():
    picture = heatmap(*PAIR, rows=[*"abcdefgh"], columns=["."] * 8)
    for figure, times in ((picture.figure, 1), (picture.narrow, 2)):
        written = [text.get_text() for text in figure.axes[0].texts]
        assert written.count("a") == times
    other = heatmap(PAIR[0], PAIR[1, :4])  # whose rows have other names
    written = [text.get_text() for text in other.figure.axes[0].texts]
    assert written.count("3") == 4


@pytest.mark.slow
def test_letters_above_sizes_head_a_matrix_and_words_can_name_its_axes():
    drawn = texts(heatmap(SCORES, axes="beam S", titles=["x"]).svg())
    wanted = ["x", "beam", "(4,", "S", "4)"]
    assert all(drawn.count(text) >= 2 for text in wanted)
    assert not any("position" in text for text in drawn)
    text = heatmap(SCORES, axes="beam S").text
    assert "rows beam, columns S (key position)." in text
    assert "beam\\S" in text


def test_padding_is_grey():
    words = ["[PAD]", "a", "b", "[SOS]"]
    for figure in both(heatmap(SCORES, rows=words, columns=words)):
        for text in figure.axes[0].texts:
            wanted = MUTED if text.get_text() == "[PAD]" else INK
            if text.get_text() in words:
                assert text.get_color() == wanted[0]


def both(picture) -> tuple:
    """The figures of a picture."""
    return picture.figure, picture.narrow


@pytest.mark.slow
def test_scores_of_zero_alone_are_white():
    for scores in (torch.zeros(2, 3), torch.zeros(2, 3).log()[:1].clone()):
        drawn = heatmap(scores, kind="scores").figure
        drawn.canvas.draw()
        _, ax = drawn.axes
        assert (ax.collections[0].get_facecolors() == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "wide", "narrow"),
    [
        ((24, 8), True, True),
        ((25, 8), False, False),
        ((8, 16), True, False),
        ((8, 24), True, False),
    ],
)
def test_digits_stand_where_they_fit_and_else_a_scale_below(
    shape, wide, narrow
):
    matrix = torch.rand(shape, generator=torch.manual_seed(0))
    matrix[0, 0] = 1
    for figure, fits in zip(both(heatmap(matrix)), (wide, narrow)):
        written = [x.get_text() for axes in figure.axes for x in axes.texts]
        assert sum("." in text for text in written) >= (
            matrix.numel() if fits else 2
        )
        assert ("−1.00" in written) is not fits


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_long_tables_are_images_with_honest_ticks(hidden):
    table = torch.linspace(-1, 1, 64)[:, None].expand(64, 128)
    mask = torch.ones(64, 128).tril().bool() if hidden else None
    picture = heatmap(table, axes="C S", titles=["x"], mask=mask)
    assert len(picture.svg()) < 30_000
    for figure in both(picture):
        (image,) = figure.axes[1].images
        colours = image.get_array()
        assert colours.shape == (64, 128, 4)
        assert colours[[0, 31, 63], 0, 3].tolist() == [255, 4, 255]
        assert (colours[0, 0] != colours[63, 0]).any()
        left, right, *_ = image.get_extent()
        written = {x.get_text(): x for x in figure.axes[0].texts}
        assert {"63", "64", "127"} <= set(written)
        for i in (64, 127):
            x = left + (right - left) * (i + 0.5) / 128
            assert written[str(i)].get_position()[0] == pytest.approx(x)


def test_ticks_have_room_and_name_the_first_and_the_last():
    assert ticks(8, 20, 12) == list(range(8))
    assert ticks(128, 2.4, 24) == [0, 16, 32, 48, 64, 80, 96, 112, 127]
    assert ticks(48, 13, 20) == [*range(0, 46, 2), 47]
    assert ticks(1, 1, 24) == [0]
    for size in range(1, 300):
        places = ticks(size, 3, 20)
        assert (places[0], places[-1]) == (0, size - 1) or size <= 7
        assert all(b - a >= 20 / 3 for a, b in itertools.pairwise(places))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.half, torch.int8])
@pytest.mark.parametrize("kind", ["scores", "weights"])
def test_a_matrix_of_any_type_is_drawn_as_its_numbers_are(dtype, kind):
    for mask in (None, torch.tensor([[True, False, True, True]])):
        values = (SCORES[:, :3] * 8).to(dtype)
        values = torch.cat((values, values[:, :1]), dim=1)
        options = {"kind": kind, "mask": mask, "titles": ["x"]}
        drawn, wanted = (
            heatmap(x, **options).figure.axes[1].collections[0].get_array()
            for x in (values, values.double())
        )
        assert (drawn == wanted).all()


def test_hatching_lies_over_the_colour_and_under_the_number():
    ax = heatmap(SCORES).figure.axes[1]
    (patch,), (cells,) = ax.patches, ax.collections
    assert cells.get_zorder() < patch.get_zorder()
    assert patch.get_zorder() < min(text.get_zorder() for text in ax.texts)
    assert not patch.get_clip_on()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "turned"),
    [
        (["a"] * 4, 0),
        (["level"] * 4, 0),
        (["turned over"] * 4, 60),
        (["short", "", "", "and a long one"], 60),
        (ENGLISH, 0),
        (NEPALI, 0),
    ],
)
def test_words_below_are_turned_where_they_would_meet(columns, turned):
    ax, *_ = heatmap(SCORES, columns=columns).figure.axes
    written = [text for text in ax.texts if text.get_text() in columns]
    assert {text.get_rotation() for text in written} == {turned}


DOLLARS = ["$5 $6", "$$", r"$\frac$", r"\$"]


@pytest.mark.slow
def test_a_dollar_is_a_word_and_no_formula():
    drawn = texts(heatmap(SCORES, columns=DOLLARS, titles=["x['$a'] $"]).svg())
    assert {*DOLLARS, "x['$a'] $"} <= set(drawn)
    names = ["$a$", r"$\frac$"]
    lines = curves(SCORES[:, 0], SCORES[:, 1], titles=names)
    assert set(names) <= set(texts(lines.svg()))
    assert lines.png()


@pytest.mark.slow
def test_characters_that_cannot_be_drawn_are_written_as_python_does():
    labels = ["\n", "\x00\t", "a\ud800", "क\u094d\u200dष"]
    picture = heatmap(SCORES, rows=labels, columns=labels, titles=["x"])
    shown = [r"\n", r"\x00\t", r"a\ud800", labels[3]]
    assert set(shown) <= set(texts(picture.svg()))
    assert len(picture.text.split("\n\n")[1].splitlines()) == 2 + 4
    assert "3" in texts(heatmap(SCORES, columns=[0, 1, 2, 3]).svg())
