"""What a heatmap says and shows, in each of its faces."""

import math
import re

import pytest
import torch

from tests.helpers.colours import contrast, rgb
from tests.helpers.drawings import ENGLISH, NEPALI, SCORES, texts
from tformer_lite import heatmap
from tformer_lite.drawing.surface.palette import AXES, EDGE, INK, KINDS, PAPER


def test_every_number_and_label_stands_in_the_drawing_as_text():
    svg = heatmap(SCORES, rows=NEPALI, columns=ENGLISH).svg()
    drawn = texts(svg)
    for label in NEPALI + ENGLISH:
        assert label in drawn
    for row in SCORES.tolist():
        for value in row:
            number = "-∞" if value == -math.inf else f"{value:.2f}"
            number = "0.00" if number == "-0.00" else number
            assert number.replace("-", "−") in drawn
    assert drawn.count("−∞") == 8  # on a page and on a phone


@pytest.mark.slow
def test_beside_channels_a_position_is_of_no_query_and_of_no_key():
    named = {
        "T S": "query position",
        "S D": "key position",
        "T C": "position",
        "S V": "position",
    }
    for axes, name in named.items():
        picture = heatmap(torch.zeros(8, 4), axes=axes)
        assert f"rows {axes[0]} ({name})" in picture.text


@pytest.mark.slow
def test_whole_numbers_have_no_decimals():
    places = torch.arange(6).view(2, 3)
    assert "5.00" not in texts(heatmap(places).svg())
    assert "5.00" in texts(heatmap(places.float()).svg())


def test_the_description_names_tensor_index_shape_and_largest_cell():
    weights = torch.zeros(2, 3, 4, 4)
    weights[0, 1, 2] = torch.tensor([0.1, 0.2, 0.7, 0.0])
    text = repr(heatmap(weights[0, 1], rows=NEPALI, columns=ENGLISH))
    first, table = text.split("\n\n")
    assert first == (
        "weights[0, 1] (4, 4): rows T (query position), columns S "
        "(key position). Largest: 0.70 in row 2 (थिएन), column 2 "
        "(is)."
    )
    assert table.splitlines()[0] == "weights[0, 1]"
    assert table.splitlines()[4].split() == [
        "थिएन", "0.10", "0.20", "0.70", "0.00",
    ]  # fmt: skip


@pytest.mark.slow
def test_masked_cells_are_hatched_and_counted():
    plain, masked = heatmap(SCORES[:, :3]), heatmap(SCORES)
    assert "pattern" not in plain.svg()
    assert "4 of 16 cells are masked" in masked.text
    weights = SCORES.softmax(-1)
    hidden = heatmap(weights, mask=torch.tensor([[True, True, False, False]]))
    assert "8 of 16 cells are masked" in hidden.text
    for picture, boxes in ((masked, 4), (hidden, 8)):
        for figure in (picture.figure, picture.narrow):
            (hatched,) = figure.axes[1].patches
            assert len(hatched.get_path().vertices) == 5 * boxes


def test_a_masked_cell_is_never_called_the_largest():
    scores = torch.tensor([[9.0, 1.0]])
    text = heatmap(scores, mask=torch.tensor([[False, True]])).text
    assert "Largest: 1.00 in row 0 (0), column 1 (1)" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        (SCORES, "scores"),
        (torch.eye(3), "weights"),
        (torch.tensor([[0.5, 0.5], [0.0, 0.0]]), "weights"),
        (torch.tensor([[0.5, 0.4]]), "scores"),
        (torch.tensor([[1.5, -0.5]]), "scores"),
        (torch.eye(3) > 0, "mask"),
        (torch.tensor([[1, 0], [0, 1]]), "weights"),
    ],
)
def test_the_kind_is_read_off_the_values(matrix, kind):
    assert heatmap(matrix).svg() == heatmap(matrix, kind=kind).svg()


def fills(svg: str) -> list[str]:
    """The light colours of the cells (those with an edge), in order."""
    cell = re.compile(rf"fill: (#\w+); fill: [^;]*; stroke: {EDGE[0]}")
    return cell.findall(svg.partition('class="narrow"')[0])


@pytest.mark.slow
def test_weights_keep_one_scale_and_scores_are_centred_on_zero():
    half = torch.tensor([[0.5, 0.5]])
    sure = torch.tensor([[1.0, 0.0]])
    assert fills(heatmap(sure).svg()) == ["#f2a65e", "#ffffff"]
    assert fills(heatmap(half).svg())[0] not in ("#f2a65e", "#ffffff")
    scores = torch.tensor([[-2.0, 0.0, 2.0]])
    assert fills(heatmap(scores).svg()) == ["#84b8e6", "#ffffff", "#f2a65e"]


@pytest.mark.slow
def test_panels_of_scores_share_one_scale():
    small, large = torch.tensor([[1.0, -1.0]]), torch.tensor([[4.0, -4.0]])
    together = fills(heatmap(small, large).svg())
    assert together[:2] != fills(heatmap(small).svg())
    assert together[2:] == fills(heatmap(large).svg())


@pytest.mark.parametrize("theme", [0, 1])
def test_text_can_be_read_on_every_cell_in_both_themes(theme):
    for kind in KINDS.values():
        for pair in kind.counterparts().items():
            assert contrast(rgb(INK[theme]), rgb(pair[theme])) >= 4.5
    for _, colours in AXES.values():
        assert contrast(rgb(colours[theme]), rgb(PAPER[theme])) >= 4.5


def test_what_cannot_be_drawn_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"\(2, 3, 8, 8\).*choose one"):
        heatmap(torch.zeros(2, 3, 8, 8))
    for nothing in (torch.zeros(0, 3), torch.zeros(3, 0), [[]]):
        with pytest.raises(ValueError, match=r", \d\), and no number in it"):
            heatmap(nothing)
    with pytest.raises(ValueError, match=r"is torch.complex64, .* \.real"):
        heatmap(SCORES + 1j)
    with pytest.raises(ValueError, match="3 labels for an axis of size 4"):
        heatmap(SCORES[:, :3], rows=NEPALI[:3])
    with pytest.raises(ValueError, match="'logits': known are scores"):
        heatmap(SCORES, kind="logits")
    with pytest.raises(ValueError, match="'Q': known are B, T"):
        heatmap(SCORES, axes="T Q")
    with pytest.raises(ValueError, match="two names"):
        heatmap(SCORES, axes="T")


def test_a_mask_that_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="torch.float32"):
        heatmap(SCORES, mask=torch.ones(1, 4))
    with pytest.raises(ValueError, match="axis 1"):
        heatmap(SCORES, mask=torch.ones(4, 3).bool())


@pytest.mark.slow
def test_arrays_and_lists_and_masks_of_ones_and_zeros_are_drawn_too():
    assert heatmap(SCORES.numpy()).svg()
    drawn = heatmap([[1, 0]], kind="mask")
    assert {"True", "False"} <= set(texts(drawn.svg()))
    assert "1 of 2 cells are masked" in drawn.text


def test_each_matrix_has_one_title():
    with pytest.raises(ValueError, match="2 matrices, 1 titles"):
        heatmap(SCORES, SCORES, titles=["one"])
    with pytest.raises(ValueError, match="0 matrices"):
        heatmap()
    assert repr(heatmap(*[SCORES])).startswith("matrix (4, 4)")


@pytest.mark.slow
def test_titles_can_be_given():
    picture = heatmap(SCORES, SCORES, titles=["before", "after"])
    assert {"before", "after"} <= set(texts(picture.svg()))


def test_a_score_without_end_leaves_the_scale_to_the_others():
    scores = torch.tensor([[float("inf"), 2.0], [1.0, -1.0]])
    _, ax = heatmap(scores, kind="scores").figure.axes
    assert ax.collections[0].get_clim() == (-2, 2)
