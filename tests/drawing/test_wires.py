"""Curves from ids to rows, and from a word to its query, key and value."""

import pytest
import torch
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch
from pictures.look_up import look_up
from pictures.projections import projections

from tests.helpers.drawings import letter_faults
from tformer_lite import (
    FusedAttention,
    MultiHeadAttention,
    running_example,
)
from tformer_lite.drawing.surface.palette import RIM

TABLE = torch.arange(60.0).view(20, 3)
IDS = torch.tensor([2, 0, 9, 0])
WORDS = ["[SOS]", "mouth", "is", "empty"]


def rows(figure) -> dict[tuple, list[float]]:
    """The place of each row of cells, and its numbers."""
    meshes = [c for c in figure.axes[0].collections if isinstance(c, QuadMesh)]
    found = {}
    for mesh in meshes:
        corners = mesh.get_coordinates()
        (left, top), (right, low) = corners[0, 0], corners[-1, -1]
        values = mesh.get_array().flatten().tolist()
        found[left, right, (top + low) / 2] = values
    return found


@pytest.mark.slow
def test_each_wire_leads_through_the_row_that_the_id_has():
    picture = look_up(IDS, TABLE, WORDS)
    for figure in picture.figure, picture.narrow:
        drawn = rows(figure)
        wires = [
            patch.get_path().vertices
            for patch in figure.axes[0].patches
            if isinstance(patch, PathPatch)
        ]
        arrives = sorted(wires[1::2], key=lambda wire: wire[-1, 1])
        ends = {(left, y): v for (left, _, y), v in drawn.items()}
        starts = {(right, y): v for (_, right, y), v in drawn.items()}
        for wire, id_ in zip(arrives, IDS.tolist()):
            # From its row of the table to the same row among the fetched.
            assert starts[tuple(wire[0])] == TABLE[id_].tolist()
            assert ends[tuple(wire[-1])] == TABLE[id_].tolist()


@pytest.mark.slow
def test_two_words_with_one_id_are_marked():
    picture = look_up(IDS, TABLE, WORDS)
    assert "4 ids fetch 3 of 20 rows: mouth, empty fetch row 0." in (
        picture.text
    )
    patches = picture.figure.axes[0].patches
    marked = [
        patch
        for patch in patches
        if isinstance(patch, PathPatch)
        and to_hex(patch.get_edgecolor()) == RIM[0]
    ]
    assert len(marked) == 4  # two to the row, two from it


@pytest.mark.slow
def test_the_rows_of_a_word_are_what_the_layer_makes_of_it():
    layer = MultiHeadAttention(12, 3)
    x = torch.randn(12)
    picture = projections(x, layer, "not")
    values = torch.cat(
        [torch.tensor(v) for v in rows(picture.figure).values()]
    )
    parts = layer.query, layer.key, layer.value
    expected = torch.cat(
        [x, *(t for p in parts for t in (p.weight.flatten(), p(x)))]
    )
    torch.testing.assert_close(values, expected)
    assert "in 3, 3 and 3 heads of 4 channels" in picture.text


@pytest.mark.full
def test_words_of_wires_have_room():
    example, table = running_example(), torch.randn(1024, 12)
    assert (
        letter_faults(look_up(example.src[0], table, example.src_words[0]))
        == []
    )
    ids, long = torch.arange(0, 40000, 2000), ["internationalisation"] * 20
    assert letter_faults(look_up(ids, torch.randn(40000, 30), long)) == []
    grouped = MultiHeadAttention(24, 8, n_kv_heads=2)
    assert letter_faults(projections(torch.randn(24), grouped, long[0])) == []
    assert (
        letter_faults(projections(torch.randn(4), MultiHeadAttention(4, 1)))
        == []
    )


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([[0]], "one sentence"),
        ([], "one sentence"),
        ([20], "id 20 is outside"),
    ],
)
def test_ids_without_a_row_are_refused(ids, said):
    with pytest.raises(ValueError, match=said):
        look_up(torch.tensor(ids, dtype=torch.long), TABLE)


def test_a_layer_without_three_matrices_and_many_words_are_refused():
    with pytest.raises(ValueError, match="FusedAttention has no query"):
        projections(torch.ones(12), FusedAttention(12, 3))
    with pytest.raises(ValueError, match="one word's vector"):
        projections(torch.ones(2, 12), MultiHeadAttention(12, 3))
