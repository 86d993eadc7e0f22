"""Masks that broadcasting repeats until they fit each other."""

import pytest
import torch
from matplotlib.collections import QuadMesh
from pictures.broadcast import broadcast

from tests.helpers.drawings import letter_faults
from tformer_lite import (
    causal_mask,
    padding_mask,
    running_example,
    window_mask,
)

EXAMPLE = running_example()
PADDING, CAUSAL = padding_mask(EXAMPLE.tgt, pad=1), causal_mask(8)


@pytest.mark.slow
def test_what_is_stored_is_filled_and_all_that_is_hidden_is_hatched():
    picture = broadcast(PADDING, CAUSAL, words=EXAMPLE.tgt_words)
    axes = picture.figure.axes[0]
    meshes = [c for c in axes.collections if isinstance(c, QuadMesh)]
    sizes = [mesh.get_array().size for mesh in meshes]
    assert sizes == [8, 8, 64, 64, 64]  # two rows, a square, and two
    together = torch.stack(
        [torch.tensor(mesh.get_array().tolist()) for mesh in meshes[3:]]
    )
    hatched = sum(
        len(p.get_path()) // 5 for p in axes.patches if p.get_hatch()
    )
    assert together.bool().equal((PADDING & CAUSAL)[:, 0])
    every = [m.expand(2, 1, 8, 8) for m in (PADDING, CAUSAL, PADDING & CAUSAL)]
    assert hatched == sum((~mask).sum().item() for mask in every)


@pytest.mark.slow
def test_it_says_what_is_stored_and_what_is_allowed():
    text = broadcast(PADDING, CAUSAL).text
    assert "PADDING stores 16 of 128 places" in text
    assert "together 56 of 128 places are allowed" in text
    assert "\n1 1 . . . . . .\n" in text


@pytest.mark.slow
def test_words_beside_masks_have_room():
    assert (
        letter_faults(broadcast(PADDING, CAUSAL, words=EXAMPLE.tgt_words))
        == []
    )
    wide = causal_mask(20), window_mask(20, 3)
    assert letter_faults(broadcast(*wide)) == []
    assert letter_faults(broadcast(CAUSAL, titles=["x" * 99])) == []


@pytest.mark.parametrize(
    ("masks", "said"),
    [
        ([PADDING, causal_mask(5)], "do not fit each other"),
        ([PADDING[0]], "give booleans of shape"),
        ([PADDING.float()], "give booleans of shape"),
        ([causal_mask(21)], "there is room for"),
        ([], "0 masks"),
    ],
)
def test_masks_that_cannot_be_drawn_are_refused(masks, said):
    with pytest.raises(ValueError, match=said):
        broadcast(*masks)
