"""Blocks keep their colour wherever an operation moves them."""

import pytest
import torch
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from pictures.blocks import blocks

from tests.helpers.drawings import letter_faults
from tformer_lite.drawing.surface.palette import WRONG

X = torch.arange(24).view(2, 12)
HEADS = X.view(2, 3, 4).transpose(0, 1)
WORDS = ["mouth", "is"]


def coloured(figure) -> list[str]:
    """The colours of all blocks, in reading order."""
    meshes = [c for c in figure.axes[0].collections if isinstance(c, QuadMesh)]
    return [
        to_hex(mesh.cmap(mesh.norm(value)))
        for mesh in meshes
        for value in mesh.get_array().flatten()
    ]


def digits(figure) -> list[int]:
    """The channels written in the blocks, in reading order."""
    texts = [text.get_text() for text in figure.axes[0].texts]
    return [int(text) for text in texts if text.isdigit()]


@pytest.mark.slow
@pytest.mark.parametrize("moved", [HEADS, X.view(3, 2, 4), HEADS.flatten()])
def test_an_element_keeps_its_colour_and_its_channel(moved):
    picture = blocks(X, moved, words=WORDS, n_heads=3)
    for figure in picture.figure, picture.narrow:
        colours, channels = coloured(figure), digits(figure)
        assert len(set(colours[:24])) == 6  # two words, three heads
        numbers = moved.flatten().tolist()
        assert colours[24:] == [colours[number] for number in numbers]
        assert channels[24:] == [number % 12 for number in numbers]


def test_words_that_do_not_belong_there_are_marked():
    picture = blocks(X, HEADS, X.view(3, 2, 4), words=WORDS)
    texts = picture.figure.axes[0].texts
    said = [t.get_text() for t in texts if t.get_color() == WRONG[0]]
    assert said == ["mouth", "is", "8 of 24 elements in their place"]
    picture = blocks(HEADS, HEADS.reshape(2, 12), of=X, words=WORDS)
    assert "HEADS.reshape(2, 12) (2, 12): 8 of 24 elements" in picture.text
    assert "mouth 0 1 2 3 is 0 1 2 3 mouth 4 5 6 7" in picture.text


@pytest.mark.full
def test_words_have_room_in_any_size():
    for rows, columns, n_heads in [(2, 12, 3), (8, 12, 3), (3, 64, 8)]:
        x = torch.arange(rows * columns).view(rows, columns)
        right = x.unflatten(-1, (n_heads, -1)).transpose(0, 1)
        words = ["Donaudampfschifffahrt", "मुख", *"abcdef"][:rows]
        wrong = x.view(right.shape)
        assert letter_faults(blocks(x, right, wrong, words=words)) == []
        assert letter_faults(blocks(right, right.reshape(x.shape), of=x)) == []
    assert letter_faults(blocks(X.flatten(), HEADS.flatten(), of=X)) == []


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ([X, X + 1], "24, which is no address"),
        ([X // 2], "stands in two places"),
        ([X[None]], r"\(1, 2, 12\): give a tensor of addresses"),
        ([X, X.view(1, 2, 3, 4)], "choose one sentence"),
        ([torch.arange(130).view(2, 65)], "room for 20 words of 64 channels"),
        ([], "0 tensors"),
    ],
)
def test_what_are_no_addresses_is_refused(tensors, said):
    with pytest.raises(ValueError, match=said):
        blocks(*tensors)
