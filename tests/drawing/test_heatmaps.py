"""What a heatmap says and shows, in each of its faces."""

import math
import re

import pytest
import torch

from tests.helpers.drawings import ENGLISH, NEPALI, SCORES, texts
from tformer_lite import curves, heatmap
from tformer_lite.drawing.surface.palette import EDGE, GREY, HATCH, INK, SHADE

MASK = torch.tensor([[True, True, False, False]])
DOLLARS = ["$5 $6", "$$", r"$\frac$", r"\$"]


def cells_axes(picture, panel: int = 0):
    """The axes of a panel's cells."""
    return picture.figures[panel].axes[1]


def fills(svg: str) -> list[str]:
    """The light colours of the cells (those with an edge), in order."""
    cell = re.compile(rf"fill: (#\w+); fill: [^;]*; stroke: {EDGE[0]}")
    return cell.findall(svg)


def test_every_number_and_label_stands_in_the_drawing_as_text():
    drawn = texts(heatmap(SCORES, rows=NEPALI, columns=ENGLISH).svg())
    numbers = ["−∞" if x == -math.inf else f"{x:.2f}" for x in SCORES.ravel()]
    numbers = [x.replace("-0.00", "0.00").replace("-", "−") for x in numbers]
    assert {*NEPALI, *ENGLISH, *numbers} <= {*drawn}
    assert drawn.count("−∞") == 4


def test_the_description_names_tensor_index_shape_and_largest_cell():
    """Which is never a masked one."""
    hidden = torch.tensor([[False, True]])
    text = heatmap(torch.tensor([[9.0, 1.0]]), mask=hidden).text
    assert "Largest: 1.00 in row 0 (0), column 1 (1)" in text
    weights = torch.zeros(2, 3, 4, 4)
    weights[0, 1, 2] = torch.tensor([0.1, 0.2, 0.7, 0.0])
    text = repr(heatmap(weights[0, 1], rows=NEPALI, columns=ENGLISH))
    first, table = text.split("\n\n")
    assert first == (
        "weights[0, 1] (4, 4): rows T (target position), columns S "
        "(source position). Largest: 0.70 in row 2 (थिएन), column 2 "
        "(is)."
    )
    assert table.splitlines()[0] == "weights[0, 1]"
    row = table.splitlines()[4].split()
    assert row == ["थिएन", "0.10", "0.20", "0.70", "0.00"]


@pytest.mark.slow
def test_axes_are_named():
    picture = heatmap(torch.zeros(8, 4), axes="beam S", titles=["x"])
    assert "rows beam, columns S (source position)." in picture.text
    assert {"x", "beam × S", "(8, 4)"} <= {*texts(picture.svg())}


@pytest.mark.parametrize(
    ("matrix", "mask", "hidden"),
    [
        (SCORES[:, :3], None, 0),
        (SCORES, None, 4),
        (SCORES.softmax(-1), MASK, 8),
        (MASK, None, 2),
    ],
)
def test_masked_cells_are_grey_and_hatched_below_their_digits(
    matrix, mask, hidden
):
    picture = heatmap(matrix, mask=mask)
    said = f"{hidden} of {matrix.numel()} cells are masked"
    assert (said in picture.text) is bool(hidden)
    patches, svg = cells_axes(picture).patches, picture.svg()
    assert len(patches) == 2 * bool(hidden)
    assert (SHADE[0] in svg) is (HATCH[0] in svg) is bool(hidden)
    ax = cells_axes(picture)
    for patch in patches:
        box = patch.get_path().get_extents()
        assert box.width * box.height == hidden
        assert ax.collections[0].get_zorder() < patch.get_zorder()
        assert patch.get_zorder() < min(x.get_zorder() for x in ax.texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        (SCORES, "scores"),
        (torch.tensor([[0.5, 0.5], [0.0, 0.0]]), "weights"),
        (torch.tensor([[1.5, -0.5]]), "scores"),
        (torch.eye(3) > 0, "mask"),
    ],
)
def test_the_kind_is_read_off_the_values(matrix, kind):
    assert heatmap(matrix).svg() == heatmap(matrix, kind=kind).svg()


@pytest.mark.slow
def test_weights_keep_one_scale_and_scores_share_one_centred_on_zero():
    assert fills(heatmap(torch.eye(2)).svg())[:2] == ["#f2a65e", "#ffffff"]
    half = fills(heatmap(torch.tensor([[0.5, 0.5]])).svg())
    assert {*half}.isdisjoint({"#f2a65e", "#ffffff"})
    scores = torch.tensor([[-2.0, 0.0, 2.0]])
    three = ["#84b8e6", "#ffffff", "#f2a65e"]
    assert fills(heatmap(scores).svg()) == three
    both = fills(heatmap(scores, 2 * scores).svg())
    assert both[3:] == three != both[:3]
    assert fills(heatmap(0 * scores, kind="scores").svg()) == ["#ffffff"] * 3
    endless = heatmap(torch.tensor([[math.inf, 2.0]]), kind="scores")
    assert cells_axes(endless).collections[0].get_clim() == (-2, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "fits"), [((24, 8), True), ((25, 8), False), ((8, 16), False)]
)
def test_digits_stand_where_they_fit_and_else_a_scale_below(shape, fits):
    matrix = torch.rand(shape, generator=torch.manual_seed(0))
    matrix[0, 0] = 1
    drawn = texts(heatmap(matrix).svg())
    assert sum("." in text for text in drawn) == (matrix.numel() * fits or 2)
    assert ("−1.00" in drawn) is not fits


@pytest.mark.slow
def test_long_tables_are_images_with_honest_ticks():
    table = torch.linspace(-1, 1, 64)[:, None].expand(64, 128)
    mask = torch.ones(64, 128).tril().bool()
    for hidden in (None, mask):
        picture = heatmap(table, axes="C S", titles=["x"], mask=hidden)
        assert len(picture.svg()) < 30_000
    ax = cells_axes(heatmap(table, axes="C S", titles=["x"]))
    (image,) = ax.images
    colours = image.get_array()
    assert colours.shape == (64, 128, 4)
    assert colours[[0, 31, 63], 0, 3].tolist() == [255, 4, 255]
    assert (colours[0, 0] != colours[63, 0]).any()
    assert image.get_extent() == [0, 128, 64, 0]
    for tick, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        assert tick == int(text.get_text()) + 0.5


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.half, torch.int8])
def test_a_matrix_of_any_type_is_drawn_as_its_numbers_are(dtype):
    for kind in "scores", "weights":
        values = (SCORES[:, :3] * 8).to(dtype)
        drawn, wanted = (
            cells_axes(heatmap(x, kind=kind)).collections[0].get_array()
            for x in (values, values.double())
        )
        assert (drawn == wanted).all()


@pytest.mark.slow
def test_arrays_lists_whole_numbers_and_masks_of_ones_are_drawn_too():
    assert heatmap(SCORES.numpy()).svg()
    drawn = heatmap([[1, 0]], kind="mask")
    assert {"True", "False"} <= set(texts(drawn.svg()))
    assert "1 of 2 cells are masked" in drawn.text
    assert "5.00" not in texts(heatmap(torch.arange(6).view(2, 3)).svg())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "turned"),
    [
        (["level"] * 4, 0),
        (NEPALI, 0),
        (["turned over"] * 4, 60),
        (["short", "", "", "and a long one"], 60),
    ],
)
def test_words_below_are_turned_where_they_would_meet(columns, turned):
    written = cells_axes(heatmap(SCORES, columns=columns)).get_xticklabels()
    assert [text.get_text() for text in written] == columns
    assert {text.get_rotation() for text in written} == {turned}


def test_a_framed_row_of_scores_alone_has_digits_the_largest_bold():
    both = [*ENGLISH[:3], *NEPALI[:3]]
    framed = {"row": 2, "diagonal": 1, "columns": both}
    picture = heatmap(SCORES[:, :3], SCORES[:, :3], **framed)
    written = [x for x in cells_axes(picture).texts if x.get_text()]
    looks = [(x.get_text(), x.get_weight()) for x in written]
    assert looks[0] == ("3.00", "bold")
    assert looks[1:] == [("−3.46", "normal"), ("0.50", "normal")]
    boxes = [x.get_bbox().bounds for x in cells_axes(picture).patches]
    assert boxes == [(0, 2, 3, 1), *((i, i + 1, 1, 1) for i in range(3))]
    assert [w for x in picture.panels for w in x.matrix.labels[1]] == both


def test_padding_is_grey():
    words = ["[PAD]", "a", "b", "[SOS]"]
    ax = cells_axes(heatmap(SCORES, rows=words, columns=words))
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        padding = text.get_text() == "[PAD]"
        assert text.get_color() == (GREY if padding else INK)[0]


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
