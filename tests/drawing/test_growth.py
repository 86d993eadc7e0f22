"""Tables that grow: what is new is framed, what was there is faded."""

import pytest
import torch
from matplotlib.patches import Rectangle
from pictures.growth import growth

from tests.helpers.drawings import NEPALI, letter_faults
from tformer_lite import cached, running_example, running_model
from tformer_lite.drawing.surface.palette import RIM

TABLE = torch.randn(20, 4, generator=torch.manual_seed(0))
GROWING = [TABLE[:n] for n in range(1, 5)]


def framed(picture) -> list[int]:
    """How many frames each page has, and how many rows are in them."""
    found = []
    for figure in picture.figure, picture.narrow:
        patches = [p for p in figure.axes[0].patches if type(p) is Rectangle]
        ours = [
            p
            for p in patches
            if p.get_edgecolor()[:3]
            == tuple(int(RIM[0][i : i + 2], 16) / 255 for i in (1, 3, 5))
        ]
        found.append(round(sum(p.get_height() for p in ours) / 15))
    return found


@pytest.mark.slow
def test_what_a_cache_computes_is_framed_once():
    example, keeper = running_example(), cached(running_model())
    memory, keys, source_keys = keeper.encode(example.src), [], []
    block = keeper.decoder.blocks[0]
    for t in range(1, 5):
        keeper.decode(example.tgt[:, :t], memory, example.src)
        keys.append(block.self_attention.keys[0, 0])
        source_keys.append(block.cross_attention.keys[0, 0])
    assert framed(growth(keys, keys)) == [8, 8]
    assert framed(growth(source_keys)) == [8, 8]  # in the first step alone


@pytest.mark.slow
def test_rows_that_changed_are_framed_again():
    other = GROWING[2].clone()
    other[0] += 1
    assert framed(growth([*GROWING[:2], other])) == [4, 4]


@pytest.mark.slow
def test_it_says_how_many_numbers_there_are():
    picture = growth(GROWING, GROWING, rows=NEPALI, titles=["k", "v"])
    assert (
        "k, v grow over 4 steps: after step 1 (1, 4), (1, 4);" in picture.text
    )
    first = " ".join(f"{x:.2f}" for x in TABLE[3].tolist())
    assert f"step 4, v of ।: {first}" in picture.text
    assert "4 × 2 × 4 = 32" in picture.svg()


@pytest.mark.slow
def test_words_have_room():
    assert letter_faults(growth(GROWING, GROWING, rows=NEPALI)) == []
    five = [TABLE[:n] for n in range(1, 6)]
    assert letter_faults(growth(five, five, titles=["k", "v"])) == []
    many = [TABLE[:n].repeat(1, 4) for n in range(1, 21)]
    assert letter_faults(growth(many, titles=["keys of memory, all"])) == []
    assert (
        letter_faults(growth(GROWING[-1:], rows=["mathematician"] * 4)) == []
    )


@pytest.mark.parametrize(
    ("tables", "rule"),
    [
        ([], "steps"),
        ([GROWING, GROWING[:2]], "after .2, 4. steps"),
        ([[TABLE[0]]], "shows a matrix"),
        ([[TABLE, TABLE[:, :2]]], "columns"),
    ],
)
def test_tables_that_do_not_grow_are_refused(tables, rule):
    with pytest.raises(ValueError, match=rule):
        growth(*tables)
