"""An attention step by step: what its four panels show, say and frame."""

import math

import pytest
import torch
from matplotlib.colors import to_hex

from tests.helpers.drawings import letter_faults, texts_on
from tformer_lite import attention_steps, running_example, running_trace, trace
from tformer_lite.drawing.surface.palette import HIGHLIGHT, RIM, SHUT

WRITES = "hungry भोको,dog कुकुरले,Hari हरिलाई,saw देख्यो,।,[EOS],[PAD],[PAD]"
WRITES = WRITES.split(",")


@pytest.fixture(scope="module")
def decoder():
    """The decoder's attention to itself, in the running example."""
    return running_trace().attention()[1]


@pytest.fixture(scope="module")
def picture(decoder):
    words = running_example().tgt_words[1]
    return attention_steps(decoder, (1, 1), WRITES, words, row="saw देख्यो")


def cells(picture) -> list:
    """The axes of the four panels."""
    return [ax for figure in picture.figures for ax in figure.axes[1:]]


def areas(picture, look: str) -> list[float]:
    """How many cells of each panel are of a colour, or hatched."""
    found = []
    for ax in cells(picture):
        paths = [
            x.get_patch_transform().transform_path(x.get_path())
            for x in ax.patches
            if look in (x.get_hatch(), to_hex(x.get_facecolor()))
        ]
        boxes = [b for x in paths for b in x.to_polygons(closed_only=False)]
        found.append(sum((b.max(0) - b.min(0)).prod() for b in boxes))
    return found


def test_the_letters_are_those_of_the_sequences_also_where_t_is_not_s():
    model, example = running_trace().model, running_example()
    src, tgt = example.src[:, :6], example.tgt[:, :5]
    dims = {"B": 2, "S": 6, "T": 5, "H": 3, "D": 4, "C": 12}
    seen = trace(model, src, tgt, dims=dims, keep=True)
    rows, columns = list("abcde"), list("uvwxyz")
    words = [columns] * 2, [rows] * 2, (rows, columns)
    letters, sizes = ("SS", "TT", "TS"), ((6, 6), (5, 5), (5, 6))
    for found, named, letter, size in zip(
        seen.attention(), words, letters, sizes, strict=True
    ):
        panels = attention_steps(found, (1, 2), *named).panels
        matrices = [x.matrix for x in panels]
        for matrix in matrices:
            assert "".join(matrix.axes).replace("~", "") == letter
            assert matrix.values.shape == size
        wanted = [x[1, 2] for x in found[2:5]]
        # Something is hidden in the decoder alone.
        del (matrices if letter == "TT" else wanted)[1]
        for matrix, values in zip(matrices, wanted, strict=True):
            assert matrix.values.equal(values)


def test_percent_are_written_from_5_on_and_only_where_nothing_is_hidden(
    decoder, picture
):
    weights = (100 * decoder.weights[1, 1]).round().int().flatten().tolist()
    drawn = [text.get_text() for text in cells(picture)[3].texts]
    written = [str(value) for value in weights if value >= 5]
    assert [*filter(None, drawn)] == written
    assert {text.get_size() for text in cells(picture)[3].texts} == {11}
    assert not any(ax.texts for ax in cells(picture)[:3])


def test_a_band_leads_one_row_through_all_panels_and_is_said(picture):
    for figure in picture.figures:
        page, *axes = figure.axes
        bands = [(to_hex(x.get_facecolor()), x) for x in page.patches]
        band = dict(bands)[HIGHLIGHT[0]].get_window_extent()
        for ax in axes:
            (x, top), (right, low) = ax.transData.transform([[0, 3], [8, 4]])
            assert band.x0 < x < right <= band.x1
            assert low <= band.y0 + 1 < band.y1 <= top + 1
        frame = axes[1].patches[-1]
        assert to_hex(frame.get_edgecolor()) == RIM[0]
        assert (frame.get_y(), frame.get_height()) == (3, 1)
        seen = frame.get_window_extent()
        assert (seen.x0, seen.x1) == pytest.approx((band.x0, band.x1), abs=1)
    first = picture.text.split("\n\n")[0]
    assert first == (
        "scores, mask, masked and weights (8, 8): rows T (target position), "
        "columns T (target position). 31 of 64 cells are masked. "
        "Row 3 (saw देख्यो) is framed. Largest in it: 82 % in row 3 (saw "
        "देख्यो), column 2 (कुकुरले)."
    )


def test_hidden_cells_are_dark_then_hatched_and_no_open_mask_is_drawn(picture):
    assert areas(picture, SHUT[0]) == [0, 31, 0, 0]
    assert areas(picture, "////") == [0, 0, 31, 31]
    free = attention_steps(running_trace().attention()[2])
    assert areas(free, SHUT[0]) == areas(free, "////") == [0] * 2
    assert [x.matrix.title for x in free.panels] == ["scores", "weights"]
    assert "mask" not in free.text


def test_a_large_number_hides_as_infinity_does_and_no_mask_hides_nothing():
    q = torch.randn(1, 2, 3, 4, generator=torch.manual_seed(0))

    def attend(q, penalty):
        return (q @ q.mT + penalty).softmax(-1) @ q

    def hidden(penalty) -> list[int]:
        (found,) = trace(attend, q, penalty, keep=True).attention()
        panels = attention_steps(found, at=(0, 1)).panels
        return [x.matrix.hidden.sum().item() for x in panels]

    assert hidden(torch.tensor([0.0, 0.0, -1e9])) == [0, 3, 3, 3]
    assert hidden(torch.tensor([0.0, 0.0, -math.inf])) == [0, 3, 3, 3]
    assert hidden(torch.tensor([0.0, 1.0, 2.0])) == [0, 0]
    (plain,) = trace(
        lambda q: (q @ q.mT).softmax(-1) @ q, q, keep=True
    ).attention()
    assert len(attention_steps(plain, at=(0, 1)).panels) == 2


def test_letters_are_11_pixels_fit_a_phone_and_do_not_meet(picture):
    assert letter_faults(picture) == []
    for figure in picture.figures:
        assert min(text.get_size() for text in texts_on(figure)) >= 11
    drawn = [x.get_text() for x in map(texts_on, picture.figures) for x in x]
    assert drawn.count(WRITES[0]) == 2  # once in each line of a phone
    assert [x for x in drawn if x in "1+2=3→4"] == [*"12+34→"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"row": "cat"}, "row 'cat': known are .*dog कुकुरले"),
        ({"at": (2, 0)}, r"at=\(2, 0\) must choose one of \(2, 3\)"),
        ({"rows": WRITES[:5]}, "5 labels for an axis of size 8"),
    ],
)
def test_a_row_or_place_that_is_none_is_refused(decoder, options, error):
    with pytest.raises(ValueError, match=error):
        attention_steps(decoder, **{"rows": WRITES} | options)
