"""Wires from each head of queries to the head of keys that it uses."""

import pytest
import torch
from matplotlib.patches import FancyBboxPatch, PathPatch
from pictures.head_wires import head_wires

from tests.helpers.drawings import letter_faults
from tformer_lite import share_heads


def served(keys: int, queries: int) -> torch.Tensor:
    """What the module's own code gives to each head of queries."""
    numbers = torch.arange(keys)[None, :, None, None]
    return share_heads(numbers, queries).flatten()


def wired(figure) -> list[int]:
    """The key heads at which the wires end, counted from the left."""
    patches = figure.axes[0].patches
    ends = [
        patch.get_path().vertices[-1].tolist()
        for patch in patches
        if isinstance(patch, PathPatch)
    ]
    boxes = [patch for patch in patches if isinstance(patch, FancyBboxPatch)]
    keys = sorted(b.get_x() for b in boxes if b.get_y() == ends[0][1])
    return [sum(key < x for key in keys) - 1 for x, _ in ends]


@pytest.mark.parametrize("keys", [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 0]])
def test_each_wire_ends_at_the_key_head_that_was_measured(keys):
    picture = head_wires(torch.tensor(keys))
    assert wired(picture.figure) == wired(picture.narrow) == keys


@pytest.mark.slow
def test_it_says_who_shares_and_what_the_cache_costs():
    picture = head_wires(served(2, 8), titles=["grouped"])
    assert "grouped: 8 heads of queries share 2 heads of keys" in picture.text
    assert "key head  0  0  0  0  1  1  1  1" in picture.text
    assert "1/4 of the cache" in picture.svg()


@pytest.mark.slow
def test_words_have_room():
    kinds = served(8, 8), served(2, 8), served(1, 8)
    names = ["multi-head", "grouped-query", "multi-query"]
    assert letter_faults(head_wires(*kinds, titles=names)) == []
    assert letter_faults(head_wires(served(1, 1), titles=["x" * 99])) == []
    assert letter_faults(head_wires(served(8, 32), served(3, 3))) == []


@pytest.mark.parametrize("keys", [[[0]], [], [-1], [0.5], [0] * 33])
def test_what_are_no_heads_is_refused(keys):
    with pytest.raises(ValueError, match="has (shape|numbers)"):
        head_wires(torch.tensor(keys))
