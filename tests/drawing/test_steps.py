"""An attention step by step: what its four panels show, say and frame."""

import math

import pytest
import torch
from matplotlib.colors import to_hex

from tests.helpers.drawings import letter_faults, texts_on
from tformer_lite import (
    attention_steps,
    running_example,
    running_model,
    running_trace,
    trace,
)
from tformer_lite.drawing.surface.palette import RIM

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
    small, large = picture.figures
    return [*small.axes[1:4], large.axes[1]]


def patches(ax, hatched: bool) -> list:
    """The hatching on some axes, or the frames."""
    edge = None if hatched else RIM[0]
    return [
        patch
        for patch in ax.patches
        if bool(patch.get_hatch()) == hatched
        and edge in (None, to_hex(patch.get_edgecolor()))
    ]


def test_the_letters_are_those_of_the_sequences_also_where_t_is_not_s():
    model, example = running_model(), running_example()
    seen = trace(
        model,
        example.src[:, :6],
        example.tgt[:, :5],
        dims={"B": 2, "S": 6, "T": 5, "H": 3, "D": 4, "C": 12},
        keep=True,
    )
    rows, columns = list("abcde"), list("uvwxyz")
    words = [columns] * 2, [rows] * 2, (rows, columns)
    letters, sizes = ("SS", "TT", "TS"), ((6, 6), (5, 5), (5, 6))
    for found, named, letter, size in zip(
        seen.attention(), words, letters, sizes, strict=True
    ):
        matrices = [
            x.matrix for x in attention_steps(found, (1, 2), *named).panels
        ]
        for matrix in matrices:
            assert "".join(matrix.axes).replace("~", "") == letter
            assert matrix.values.shape == size
        for matrix, values in zip(
            (*matrices[:1], *matrices[2:]), found[2:5], strict=True
        ):
            assert matrix.values.equal(values[1, 2])


def test_percent_are_written_from_5_on_and_only_where_nothing_is_hidden(
    decoder, picture
):
    weights = (100 * decoder.weights[1, 1]).round().int().flatten().tolist()
    drawn = [text.get_text() for text in cells(picture)[3].texts]
    assert [text for text in drawn if text] == [
        str(value) for value in weights if value >= 5
    ]
    assert {text.get_size() for text in cells(picture)[3].texts} == {11}
    assert not any(ax.texts for ax in cells(picture)[:3])


def test_one_row_is_framed_in_all_panels_and_said(picture):
    for ax in cells(picture):
        (frame,) = patches(ax, hatched=False)
        assert frame.get_bbox().bounds == (0, 3, 8, 1)
    first = picture.text.split("\n\n")[0]
    assert first == (
        "1 scores, 2 mask, 3 masked and 4 weights in percent (8, 8): rows T "
        "(target position), columns T (target position). 31 of 64 cells are "
        "masked. "
        "Row 3 (saw देख्यो) is framed. Largest in it: 82 % in row 3 (saw "
        "देख्यो), column 2 (कुकुरले)."
    )


def test_hidden_cells_are_hatched_and_an_open_mask_is_empty(picture):
    def areas(ax) -> float:
        boxes = [
            path.get_extents()
            for patch in patches(ax, hatched=True)
            for path in patch.get_path().to_polygons(closed_only=False)
            for path in [type(patch.get_path())(path)]
        ]
        return sum(box.width * box.height for box in boxes)

    assert list(map(areas, cells(picture))) == [0, 31, 31, 31]
    cross = running_trace().attention()[2]
    free = attention_steps(cross)
    assert list(map(areas, cells(free))) == [0, 0, 0, 0]
    assert free.panels[1].matrix.values.all()
    assert len(free.panels) == 4
    assert "masked." not in free.text


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
    assert hidden(torch.tensor([0.0, 1.0, 2.0])) == [0, 0, 0, 0]
    (plain,) = trace(
        lambda q: (q @ q.mT).softmax(-1) @ q, q, keep=True
    ).attention()
    assert attention_steps(plain, at=(0, 1)).panels[1].matrix.values.all()


def test_letters_are_11_pixels_fit_a_phone_and_do_not_meet(picture):
    assert letter_faults(picture) == []
    for figure in picture.figures:
        assert min(text.get_size() for text in texts_on(figure)) >= 11
    drawn = [x.get_text() for x in texts_on(picture.figures[0])]
    assert drawn.count(WRITES[0]) == 2  # the mask's rows are those beside it


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
